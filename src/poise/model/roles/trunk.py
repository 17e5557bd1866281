"""Hips, spine, chest, neck and head. They lie on the path from the joint carrying the legs up to the head.

The ends of that path are found by names and limbs, the joints between by their order: "Spine", "Spine1", "Chest2" and
"spine05" ... "spine01" mean other bones in other rigs.
"""

from __future__ import annotations

from collections.abc import Mapping

from poise.model.roles.figure import Candidate, Role
from poise.model.roles.vrm import SIDES
from poise.model.skeleton import Kind

# confidence in roles from the order of joints between known ends
ORDER = 0.8
# confidence in a head known by its position only
TOWER = 0.5
# confidence where a name and the tree disagree
_DOUBT = 0.6
# fraction of a leg's length: named hips further away are a root on the ground or in the chest
_FAR = 0.25


def trunk(figure: Candidate, limbs: Mapping[str, Role], sure: float) -> dict[str, Role]:
    """Find the trunk's roles from the known limbs. `confidence` is the confidence in this rig's names."""
    shoulders = _first(limbs, ("Shoulder", "UpperArm", "LowerArm"))
    chest = figure.common(shoulders) if len(shoulders) == len(SIDES) else -1
    found = _head(figure, chest, limbs, sure)
    top = found["head"].row if found else chest
    hips = _hips(figure, limbs, top, sure)
    if hips is None:
        return found
    found["hips"] = hips
    way = [row for row in figure.between(hips.row, top)[1:] if row != found.get("head", hips).row]
    above = set(way[way.index(chest) + 1 :]) if chest in way else set[int]()
    necks = [row for row in way if figure.words[row].part == "neck" or row in above]
    set_of_necks = set(necks)
    if necks:
        found["neck"] = Role(necks[0], min(sure, ORDER), "the first joint between the arms and the head")
    bones = [row for row in way if row not in set_of_necks and _is_spine(figure, row)]
    return found | _spine(_one_of_hinges(figure, bones), min(sure, ORDER))


def _first(limbs: Mapping[str, Role], roles: tuple[str, ...]) -> list[int]:
    """Find the first known joint of each side's limb. It is the one nearest to the trunk."""
    sides = [[limbs[f"{side}{role}"].row for role in roles if f"{side}{role}" in limbs] for side in SIDES]
    return [rows[0] for rows in sides if rows]


def _is_below(figure: Candidate, above: int, row: int) -> bool:
    return above >= 0 and row != above and figure.is_above(above, row)


def _is_spine(figure: Candidate, row: int) -> bool:
    word = figure.words[row]
    return figure.usable[row] and not word.helper and word.part != "hips"


def _one_of_hinges(figure: Candidate, rows: list[int]) -> list[int]:
    """Merge hinges of one joint (waist yaw, roll, pitch). The last one counts: it carries the bone."""

    def is_one_joint(row: int, after: int) -> bool:
        words = figure.words
        return figure.hinged[row] and figure.hinged[after] and words[row].part == words[after].part != ""

    pairs = zip(rows, [*rows, -1][1:], strict=True)
    return [row for row, after in pairs if after < 0 or not is_one_joint(row, after)]


def _spine(rows: list[int], sure: float) -> dict[str, Role]:
    """Assign spine, chest and upper chest.

    They are the first joint, the middle one and the last, as far as there are joints.
    """
    chosen = {"spine": rows[:1], "chest": rows[len(rows) // 2 :][:1] * (len(rows) > 1), "upperChest": rows[2:][-1:]}
    return {
        role: Role(row, sure, f"joint {rows.index(row) + 1} of {len(rows)} between the hips and the neck")
        for role, one in chosen.items()
        for row in one
    }


def _head(figure: Candidate, chest: int, limbs: Mapping[str, Role], sure: float) -> dict[str, Role]:
    """Find the head by name, else by position. It is then the top of the joints between the arms."""
    named = figure.named("head")
    named = [row for row in named if _is_below(figure, chest, row)] or named
    if named:
        words, skinned = figure.words, figure.skinned
        row = min(named, key=lambda row: (not words[row].deform, row not in skinned, figure.depth[row], row))
        return {"head": Role(row, sure, f"named {figure.skeleton.names[row]!r}")}
    ends = [one.row for one in limbs.values()]
    stands = figure.children[chest] if chest >= 0 else []
    ends = figure.places_of(ends)
    stands = [child for child in stands if not figure.is_above_any(child, ends)]
    if not stands:
        return {}
    tower = _moving(figure, _tower(figure, max(stands, key=lambda row: (figure.below[row], figure.bones[row]))))
    if len(tower) > 1 and not figure.children[tower[-1]] and _has_leaves(figure, limbs):
        tower = tower[:-1]
    return {"head": Role(tower[-1], TOWER, "the top of the joints between the arms")}


def _tower(figure: Candidate, row: int) -> list[int]:
    """Find the chain of joints from the arms upwards. It ends where it branches into eyes, jaw or hair."""
    tower = [row]
    while len(figure.children[row]) == 1:
        row = figure.children[row][0]
        tower.append(row)
    return tower


def _moving(figure: Candidate, tower: list[int]) -> list[int]:
    """Cut a robot's head chain after its last moving joint.

    Sensor frames are fixed to that joint. A chain without a moving joint is not changed.
    """
    moving = [place for place, row in enumerate(tower) if figure.skeleton.kinds[row] != Kind.FIXED]
    return tower[: moving[-1] + 1] if figure.is_robot and moving else tower


def _has_leaves(figure: Candidate, limbs: Mapping[str, Role]) -> bool:
    """Return whether this rig's bones end in leaf joints. Then the bone of the toes does so as well."""
    return any(figure.children[limbs[role].row] for role in ("leftToes", "rightToes") if role in limbs)


def _hips(figure: Candidate, limbs: Mapping[str, Role], top: int, sure: float) -> Role | None:
    """Find the hips by name, else by the tree. A named joint must carry the legs and the spine."""
    names, named = figure.skeleton.names, figure.named("hips")
    thighs = _first(limbs, ("UpperLeg", "LowerLeg"))
    fork = figure.common([*thighs, *([top] if top >= 0 else [])]) if len(thighs) == len(SIDES) else -1
    above = [row for row in named if fork < 0 or figure.is_above(row, fork)]
    if above:
        row = min(above, key=lambda row: figure.depth[row] if fork < 0 else -figure.depth[row])
        return Role(row, sure, f"named {names[row]!r}")
    if fork < 0 or not figure.usable[fork]:
        return None
    if not named:
        return Role(fork, min(sure, ORDER), "carries the legs and the spine")
    row = min(named, key=lambda row: figure.depth[row])
    if figure.distance(row, fork) > _FAR * _leg_length(figure, limbs):
        return Role(row, _DOUBT, f"named {names[row]!r}; {names[fork]!r} carries legs and spine, but far from them")
    return Role(fork, min(sure, ORDER), f"carries the legs and the spine, unlike {names[row]!r}")


def _leg_length(figure: Candidate, limbs: Mapping[str, Role]) -> float:
    """Measure a leg as twice its thigh. Feet may hang elsewhere."""
    ends = [(limbs.get(f"{side}UpperLeg"), limbs.get(f"{side}LowerLeg")) for side in SIDES]
    return max((2.0 * figure.distance(a.row, b.row) for a, b in ends if a and b), default=0.0)
