"""Hips, spine, chest, neck and head: the way from the joint that carries the legs up to the head.

The ends of that way are found by names or limbs, what lies between by its order: "Spine", "Spine1", "Chest2" and
"spine05" ... "spine01" mean other bones in other rigs.
"""

from __future__ import annotations

from poise.humanoid.figure import Figure, Found

_FAR = 0.5  # of a leg's length: a joint so far from the hips by name is a root on the ground, not the hips


def trunk(figure: Figure, legs: list[dict[str, int]], arms: list[dict[str, int]], sure: float) -> dict[str, Found]:
    """The trunk's roles, given the arms and legs that are known; `sure` is the confidence in this rig's names."""
    shoulders = figure.common([_top(arm) for arm in arms]) if len(arms) > 1 else -1
    head, found = _head(figure, shoulders, arms, sure)
    top = head if head >= 0 else shoulders
    hips = _hips(figure, legs, top, sure)
    if hips is None:
        return found
    found["hips"] = hips
    way = [row for row in figure.path(hips.row, top)[1:] if row != head] if top >= 0 else []
    necks = [
        row for row in way if figure.words[row].part == "neck" or (shoulders >= 0 and _after(figure, shoulders, row))
    ]
    if necks:
        found["neck"] = Found(necks[0], sure, "the first joint between the shoulders and the head")
    bones = [row for row in way if row not in necks and _is_spine(figure, row)]
    return found | _spine(_one_of_hinges(figure, bones), sure)


def _top(limb: dict[str, int]) -> int:
    """The first joint of a limb that is known, from the trunk out."""
    return next(iter(limb.values()))


def _after(figure: Figure, above: int, row: int) -> bool:
    return row != above and figure.is_above(above, row)


def _is_spine(figure: Figure, row: int) -> bool:
    word = figure.words[row]
    return figure.usable[row] and not word.helper and word.part != "hips"


def _one_of_hinges(figure: Figure, rows: list[int]) -> list[int]:
    """Of hinges with the same name but for their axes (waist yaw, roll, pitch), the last: it carries the bone."""
    pairs = zip(rows, [*rows[1:], -1], strict=True)
    words = figure.words
    return [
        row
        for row, after in pairs
        if after < 0 or not (figure.hinged[row] and figure.hinged[after] and words[row].part == words[after].part)
    ]


def _spine(rows: list[int], sure: float) -> dict[str, Found]:
    """Spine, chest and upper chest: the first joint, the last, and of more than two the middle one."""
    if not rows:
        return {}
    chosen = {"spine": rows[0]}
    if len(rows) > 1:
        chosen["chest"] = rows[len(rows) // 2]
    if len(rows) > 2:  # noqa: PLR2004  (there are three roles)
        chosen["upperChest"] = rows[-1]
    which = {row: place for place, row in enumerate(rows, 1)}
    return {
        role: Found(row, sure, f"joint {which[row]} of {len(rows)} between the hips and the neck")
        for role, row in chosen.items()
    }


def _head(figure: Figure, shoulders: int, arms: list[dict[str, int]], sure: float) -> tuple[int, dict[str, Found]]:
    """The head by name, else the top of the joints above the shoulders that are named as spine or neck."""
    named = [row for row in figure.named("head") if shoulders < 0 or _after(figure, shoulders, row)] or figure.named(
        "head"
    )
    if named:
        row = min(
            named, key=lambda row: (not figure.words[row].deform, row not in figure.skinned, figure.depth[row], row)
        )
        return row, {"head": Found(row, sure, f"named {figure.skeleton.names[row]!r}")}
    if shoulders < 0:
        return -1, {}
    tower = [
        row
        for part in ("spine", "neck")
        for row in figure.named(part)
        if _after(figure, shoulders, row) and not any(figure.is_above(_top(arm), row) for arm in arms)
    ]
    if not tower:
        return -1, {}
    row = max(tower, key=lambda row: (figure.words[row].deform, figure.depth[row]))
    return row, {"head": Found(row, 0.6, "the last joint of the spine above the shoulders")}


def _hips(figure: Figure, legs: list[dict[str, int]], top: int, sure: float) -> Found | None:
    """The hips: by name, if that joint carries the legs and the spine; else the one that does."""
    names = figure.skeleton.names
    named = figure.named("hips")
    thighs = [_top(leg) for leg in legs if "UpperLeg" in leg or "LowerLeg" in leg]
    fork = figure.common([*thighs, *([top] if top >= 0 else [])]) if len(thighs) > 1 else -1
    if fork < 0:
        row = min(named, key=lambda row: figure.depth[row], default=-1)
        return Found(row, sure, f"named {names[row]!r}") if row >= 0 else None
    above = [row for row in named if figure.is_above(row, fork)]
    if above:
        row = max(above, key=lambda row: figure.depth[row])
        return Found(row, sure, f"named {names[row]!r}")
    if named:
        row = min(named, key=lambda row: figure.depth[row])
        length = (
            max(figure.distance(leg["UpperLeg"], leg["Foot"]) for leg in legs if {"UpperLeg", "Foot"} <= set(leg))
            if all({"UpperLeg", "Foot"} <= set(leg) for leg in legs)
            else 0.0
        )
        if figure.distance(row, fork) > _FAR * length or not figure.usable[fork]:
            return Found(row, 0.6, f"named {names[row]!r}, though {names[fork]!r} carries the legs and the spine")
        return Found(fork, 0.8, f"carries the spine and both legs; {names[row]!r} does not")
    if not figure.usable[fork]:
        return None
    return Found(fork, 0.8, "carries the spine and both legs")
