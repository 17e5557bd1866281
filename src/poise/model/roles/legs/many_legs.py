"""Legs of insects, spiders and centipedes. They are six or more limbs standing on the ground, on both sides of a body.

Sides come from names, or from the mirror plane of the body. Along the body legs are counted from the front: front, mid,
hind; with four pairs or more front, mid 1, mid 2, ..., hind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.maths.arrays import Floats
from poise.model.roles.facing import habitual
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.legs.four_legs import FRONT, HIND, STANDS
from poise.model.roles.legs.segments import segments
from poise.model.roles.structure import sides_said, unit
from poise.model.roles.vrm import SIDES
from poise.model.roles.words import cut

_TAILS = frozenset({"tail", "abdomen", "opisthosoma", "gaster", "stinger", "telson", "metasoma"})
_HEADS = frozenset({"head", "eye", "eyes", "jaw", "mandible", "antenna", "antennae", "chelicera", "neck", "skull"})
# fraction of the body's size: nearer planes mirror it equally well
_SAME = 1e-6
# points of a body compared for its mirror plane; the time grows with the square
_MOST_POINTS = 1_000
UNEVEN = "the numbers of legs on the two sides differ"


def legs(figure: Candidate, limbs: Sequence[list[int]], up: Floats) -> dict[str, list[int]]:
    """Find the legs, "front left" first.

    Each has the rows of upper, lower, foot and, if there are any, toes; the result is empty for unequal sides.
    """
    said = sides_said(figure, limbs)
    ahead = _ahead(figure, limbs, said, up)
    left = np.cross(up, ahead)
    centre = np.mean([_places(figure, rows).mean(axis=0) for rows in limbs], axis=0)
    found: dict[str, list[list[int]]] = {side: [] for side in SIDES}
    for rows, word in zip(limbs, said, strict=True):
        place = _places(figure, rows).mean(axis=0) - centre
        found[word or ("left" if float(place @ left) > 0.0 else "right")].append(rows)
    if len(found["left"]) != len(found["right"]):
        return {}
    for side in SIDES:
        found[side].sort(key=lambda rows: -float(_places(figure, rows).mean(axis=0) @ ahead))
    return {
        f"{position} {side}": segments(figure, found[side][place])
        for place, position in enumerate(positions(len(limbs) // 2))
        for side in SIDES
    }


def positions(pairs: int) -> list[str]:
    """Name the pairs of legs from the front. Examples: front, mid, hind; front, mid 1, mid 2, hind."""
    between = pairs - 2
    return ["front", *(["mid"] if between == 1 else [f"mid {number}" for number in range(1, between + 1)]), "hind"]


def trunk(figure: Candidate, limbs: Sequence[list[int]], sure: float) -> dict[str, Role]:
    """Find the joint carrying the legs, and a head by name. Animals of this kind have no spine like ours."""
    carries = figure.common([rows[0] for rows in limbs])
    found: dict[str, Role] = {}
    if carries >= 0 and figure.usable[carries]:
        found["hips"] = Role(carries, STANDS, "carries the legs")
    inside = {place for rows in limbs for place in range(*figure.spans[rows[0]])}
    heads = [row for row in figure.named("head") if figure.spans[row][0] not in inside and row != carries]
    if heads:
        row = min(heads, key=lambda row: (figure.depth[row], row))
        found["head"] = Role(row, sure, f"named {figure.skeleton.names[row]!r}")
    return found


def _places(figure: Candidate, rows: Sequence[int]) -> Floats:
    """Return the two end points (2, 3) of a limb. The joints between them swing about."""
    return figure.positions[[rows[0], rows[-1]]]


def _ahead(figure: Candidate, limbs: Sequence[list[int]], said: Sequence[str], up: Floats) -> Floats:
    """Find the level forward direction (3,).

    It comes from left and right, the words front and hind, or the mirror plane with head or tail.
    """
    ends = np.array([_places(figure, rows).mean(axis=0) for rows in limbs])
    if all(said):
        lefts, rights = (ends[[word == side for word in said]].mean(axis=0) for side in SIDES)
        return unit(np.cross(_level(lefts - rights, up), up))
    words = [{word for row in rows for word in cut(figure.skeleton.names[row])} for rows in limbs]
    fronts, hinds = ([end for end, one in zip(ends, words, strict=True) if one & some] for some in (FRONT, HIND))
    along = _mirrored(figure, limbs, up)
    if fronts and hinds:
        hint = np.mean(fronts, axis=0) - np.mean(hinds, axis=0)
    else:
        hint = _of_the_trunk(figure, limbs, ends.mean(axis=0))
    hint = hint if abs(float(hint @ along)) > _SAME else habitual(figure, up)
    return along if float(along @ hint) >= 0.0 else -along


def _of_the_trunk(figure: Candidate, limbs: Sequence[list[int]], centre: Floats) -> Floats:
    """Find the direction from the tail to the head, by names."""
    way = np.zeros(3)
    inside = {row for rows in limbs for row in rows}
    for row, name in enumerate(figure.skeleton.names):
        words = set(cut(name))
        if row not in inside and words & (_TAILS | _HEADS):
            way += (figure.positions[row] - centre) * (1.0 if words & _HEADS else -1.0)
    return way


def _mirrored(figure: Candidate, limbs: Sequence[list[int]], up: Floats) -> Floats:
    """Find the level direction in the body's mirror plane. Of equally good planes the longest one counts."""
    points = np.concatenate([_places(figure, rows) for rows in limbs])
    legs_ = {row for rows in limbs for row in rows}
    rest = [row for row in range(len(figure.parents)) if row not in legs_ and figure.usable[row]]
    centre, trunk_points = points.mean(axis=0), figure.positions[rest]
    level = np.array([_level(point - centre, up) for point in points])
    axes = [axis for axis in (_level(axis, up) for axis in np.eye(3)) if float(np.linalg.norm(axis)) > 0.5]  # noqa: PLR2004
    axes += [unit(_level(way, up)) for way in np.linalg.svd(level)[2][:2]]
    size = max(float(np.ptp(points, axis=0).max()), 1e-300)

    def worth(axis: Floats) -> tuple[float, float]:
        across = np.cross(up, axis)
        missed = _asymmetry(points - centre, across) + _asymmetry(trunk_points - centre, across)
        return round(missed / size / 0.01), -round(float(np.abs(level @ axis).sum()) / size, 6)

    return min(map(unit, axes), key=worth)


def _asymmetry(points: Floats, across: Floats) -> float:
    """Measure the mean distance of mirrored points. Each is measured to the nearest point.

    The result is 0 for too many points to compare.
    """
    if not 0 < len(points) <= _MOST_POINTS:
        return 0.0
    other = points - 2.0 * np.outer(points @ across, across)
    return float(np.linalg.norm(points[:, None] - other[None], axis=-1).min(axis=1).mean())


def _level(vector: Floats, up: Floats) -> Floats:
    return vector - up * float(vector @ up)
