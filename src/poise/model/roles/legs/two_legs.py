"""Legs of bipeds, quadrupeds and multi-legged creatures, from structure.

For bipeds it also finds arms, and checks left against right.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.maths.arrays import Floats
from poise.model.roles.chains import ARM, LEG
from poise.model.roles.facing import Facing, facing
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.structure import Body, Pair, bones, unit, upper_bone
from poise.model.roles.vrm import SIDES

_ARM = ARM[1:]
# confidence in sides observed in the character, and in sides by the convention of the file format
SEEN, HABIT = 0.5, 0.3
# confidence factor of a named side contradicted by the feet
_CONFLICT = 0.7
# ratios of distances between partners and of bone lengths: they separate a long clavicle from an upper arm
_INSIDE, _NEARLY = 0.5, 0.8
# cosines of 2 degrees and of 0.25 degrees
_STRAIGHT, _EXACT = 0.9993, 0.99999
# length ratios: a bone in line above the first may be a part of its neighbour, above the second an equal bone
_LIKE, _AS_LONG = 0.3, 0.6
# cosine: two limbs lie clearly to the left and right
_APART = 0.5

_WHY = {"legs": "two legs of equal bones", "arms": "two arms of equal bones"}


def limbs(figure: Candidate, body: Body, named: Mapping[str, Role]) -> tuple[dict[str, Role], dict[str, str]]:
    """Find the limb segments not given by names. Also return the reasons for rejected ones.

    A limb is rejected where named joints lie elsewhere in the tree, and where it has too many bones in line.
    """
    found, left = dict[str, Role](), dict[str, str]()
    if body.legs is None or body.arms is None:
        return found, left
    legs = [list(_leg(figure, rows).values()) for rows in body.legs.limbs]
    looks = facing(figure, legs)
    said = _said_left(figure, body, looks)
    parsed = ([_leg(figure, rows) for rows in body.legs.limbs], _arms(figure, body.arms))
    for what, pair, parts in zip(_WHY, (body.legs, body.arms), parsed, strict=True):
        sides, why, is_clear = _sides(figure, pair, looks, said)
        confidence = HABIT if why == looks.source and not looks.is_seen else SEEN
        for side, part, rows in zip(sides, parts, pair.limbs, strict=True):
            limb = {f"{side}{role}": row for role, row in part.items()}
            if not all(named[role].row == row for role, row in limb.items() if role in named):
                continue
            if set(limb) <= set(named):
                continue
            if _has_more(looks.points, rows, part):
                left |= dict.fromkeys(limb, "several bones in line: the bending joint is ambiguous")
            elif why == looks.source and looks.is_blind:
                left |= dict.fromkeys(limb, "left and right are ambiguous: the rest pose shows no facing direction")
            elif not is_clear:
                left |= dict.fromkeys(limb, f"left and right are ambiguous: by {why} the {what} are not side by side")
            else:
                found |= {role: Role(row, confidence, f"{_WHY[what]}; side by {why}") for role, row in limb.items()}
    rest = {role: one for role, one in found.items() if role not in named}
    return rest, {role: why for role, why in left.items() if role not in named}


def _has_more(points: Floats, rows: list[int], part: Mapping[str, int]) -> bool:
    """Return whether a twist bone may hide the bending joint. Such a bone is in line with the limb's bones.

    This needs a long neighbouring bone in the same direction, or two exactly collinear bones and another one of equal
    length.
    """
    upper, lower, end = (rows.index(row) for row in [*part.values()]["Shoulder" in part :][:3])
    ways = np.diff(points[rows], axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    inside = "Shoulder" in part and upper == 1  # a clavicle recognized before an upper arm

    def cosine(a: int, b: int) -> float:
        return float(unit(ways[a]) @ unit(ways[b]))

    beside = [(upper - 1, upper)] if upper > 0 and not inside else []
    beside += [(end, lower)] if end < len(ways) else []
    in_line = any(lengths[a] > _LIKE * lengths[b] and cosine(a, b) > _STRAIGHT for a, b in beside)
    as_long = any(lengths[a] > _AS_LONG * lengths[b] for a, b in beside)
    return in_line or (as_long and cosine(upper, lower) > _EXACT)


def _leg(figure: Candidate, rows: list[int]) -> dict[str, int]:
    return dict(zip(LEG, rows[upper_bone(figure, rows) :], strict=False))


def _arms(figure: Candidate, pair: Pair) -> list[dict[str, int]]:
    """Assign the joints of both arms. A first bone leading outwards from the middle of the body is the clavicle."""
    arms: list[dict[str, int]] = []
    for rows, other in (pair.limbs, pair.limbs[::-1]):
        first = upper_bone(figure, rows)
        if first == 0 and _begins_inside(figure, rows, other):
            first = 1
        shoulder = {"Shoulder": rows[first - 1]} if first > 0 else {}
        arms.append(shoulder | dict(zip(_ARM, rows[first:], strict=False)))
    return arms


def _begins_inside(figure: Candidate, rows: list[int], other: list[int]) -> bool:
    """Return whether a limb begins with a clavicle.

    Its first joint is much nearer to its partner than the second, and the next two bones are long.
    """
    lengths = bones(figure, rows)
    if len(lengths) < len(_ARM):
        return False
    inside = figure.distance(rows[0], other[0]) < _INSIDE * figure.distance(rows[1], other[1])
    return inside and lengths[1] + lengths[2] > _NEARLY * (lengths[0] + lengths[1])


def _sides(figure: Candidate, pair: Pair, looks: Facing, said: Floats | None) -> tuple[tuple[str, ...], str, bool]:
    """Find the sides of two limbs. Also return the reason and its clarity.

    The last is whether the limbs lie clearly on these sides. Sides come from their names, from the names of the other
    pair (`named_left`), else from positions.
    """
    votes = _votes(figure, pair)
    if votes[0] != votes[1]:
        return (SIDES if votes[0] > votes[1] else SIDES[::-1]), "the names", True
    left, why = (looks.left, looks.source) if looks.is_seen or said is None else (said, "the names of the other limbs")
    places = [looks.points[rows[:3]].mean(axis=0) for rows in pair.limbs]
    across = unit(places[0] - places[1])
    clear = looks.is_seen or abs(float(across @ left)) > _APART
    return (SIDES if float(across @ left) >= 0.0 else SIDES[::-1]), why, clear


def _votes(figure: Candidate, pair: Pair) -> list[int]:
    """Count names saying left minus names saying right, per limb."""
    says = [[figure.words[row].side for row in rows] for rows in pair.limbs]
    return [sides.count("left") - sides.count("right") for sides in says]


def _said_left(figure: Candidate, body: Body, looks: Facing) -> Floats | None:
    """Find the direction to the left implied by names.

    A unit vector (3,) from one pair of limbs; None where no name has a side.
    """
    for pair in (body.legs, body.arms):
        votes = [0, 0] if pair is None else _votes(figure, pair)
        if pair is not None and votes[0] != votes[1]:
            a, b = (looks.points[rows[:3]].mean(axis=0) for rows in pair.limbs)
            return unit(a - b) if votes[0] > votes[1] else unit(b - a)
    return None


def checked(figure: Candidate, found: dict[str, Role], given: Mapping[str, Role]) -> dict[str, Role]:
    """Lower the confidence of sides contradicted by feet or knees. The reason says so."""
    if any(f"{side}{role}" not in found for side in SIDES for role in LEG[:3]):
        return found
    legs = [[found[f"{side}{role}"].row for role in LEG if f"{side}{role}" in found] for side in SIDES]
    looks = facing(figure, legs)
    apart = np.mean(
        [looks.points[a] - looks.points[b] for a, b in zip(*(rows[:3] for rows in legs), strict=True)], axis=0
    )
    if not looks.is_seen or float(apart @ looks.left) >= -_APART * float(np.linalg.norm(apart)):
        return found
    why = f"; but by {looks.source} this is the other side"
    doubted = [role for role in found if role.startswith(SIDES) and role not in given]
    return found | {
        role: Role(found[role].row, found[role].confidence * _CONFLICT, found[role].reason + why) for role in doubted
    }
