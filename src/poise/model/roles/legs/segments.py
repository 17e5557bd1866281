"""Thigh, shin and foot of a leg."""

from __future__ import annotations

from collections.abc import Sequence

from poise.maths.arrays import Floats
from poise.model.roles.figure import Candidate
from poise.model.roles.structure import upper_bone

_UPPER, _LOWER = frozenset({"thigh", "upperarm"}), frozenset({"shin", "forearm"})
_FOOT = frozenset({"ankle", "foot", "wrist", "hand", "palm"})
# fraction of both bones' length: a smaller offset may be a straight joint
_BENDS = 0.02


def segments(
    figure: Candidate, rows: Sequence[int], along: Floats | None = None, knee: Floats | None = None
) -> list[int]:
    """Find the rows of upper, lower, foot and, if any, toes.

    rows   the limb from the trunk out, one joint per position
    along  direction of measurement of the limb's bones; None: the limb's own
    knee   bending direction of its knee or elbow, if known
    """
    rows = list(rows)
    named = _named(figure, rows)
    if named:
        return named
    bent = _bent(figure, rows, knee) if knee is not None and not figure.is_robot else -1
    first = bent - 1 if bent > 0 else upper_bone(figure, rows, along)
    return rows[first : first + 4]


def _named(figure: Candidate, rows: list[int]) -> list[int]:
    """Find the segments by the tokens for the two long bones.

    The joint after them is the foot, unless another one is named so; [] without names.
    """
    parts = [figure.words[row].part for row in rows]
    upper = next((place for place, part in enumerate(parts) if part in _UPPER), None)
    if upper is None:
        return []
    lower = next((place for place, part in enumerate(parts) if part in _LOWER and place > upper), None)
    if lower is None or lower + 1 >= len(rows):
        return []
    foot = next((place for place, part in enumerate(parts) if part in _FOOT and place > lower), lower + 1)
    return [rows[upper], rows[lower], *rows[foot : foot + 2]]


def _bent(figure: Candidate, rows: list[int], knee: Floats) -> int:
    """Find the first joint bent in the knee's direction, or -1. A foot must follow it."""
    points = figure.positions[rows]
    for place in range(1, len(rows) - 1):
        before, at, after = points[place - 1 : place + 2]
        bones = figure.distance(rows[place - 1], rows[place]), figure.distance(rows[place], rows[place + 1])
        if min(bones) <= 0.0:
            continue
        straight = before + (after - before) * (bones[0] / sum(bones))
        if float((at - straight) @ knee) > _BENDS * sum(bones):
            return place
    return -1
