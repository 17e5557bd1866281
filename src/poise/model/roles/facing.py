"""Facing direction of a character."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.model.roles.figure import Candidate
from poise.model.roles.structure import unit

# fraction of the longest foot's length: minimum level length of the feet as a forward cue
_CLEAR = 0.25
# fraction of the longest leg: minimum offset of the knees as a forward cue
_BENT = 0.01
# cosine: an up direction this near to an axis is that axis
_SNAP = 0.9


class Facing(NamedTuple):
    """Facing of a character: up, forward and left (3,).

    `points` (n, 3) and `source` say where they come from.
    """

    up: Floats
    forward: Floats
    left: Floats
    points: Floats
    source: str

    @property
    def is_seen(self) -> bool:
        """Whether the character itself shows it. Otherwise it is the format's convention."""
        return self.source != _HABIT

    @property
    def is_blind(self) -> bool:
        """Whether nothing shows it. With legs along X the format's convention says nothing either."""
        return not self.is_seen and abs(float(self.up[0])) > _SNAP


_HABIT = "the file's axes"


def facing(figure: Candidate, legs: list[list[int]]) -> Facing:
    """Find the facing direction of a biped from its legs. `legs` are the rows of each from the thigh out.

    Toes lie ahead of ankles, and knees ahead of the line from hip to ankle. Without these cues at rest, the first frame
    of a clip is examined; else, and for every robot, the convention of the format holds: `find_default_forward`.
    """
    for points, where in ((figure.positions, ""), (figure.moved, " in the first frame")):
        if points is None or not legs or figure.is_robot:
            continue
        up = _up(figure, points, legs)
        for source, ahead, least in _signs(figure, points, legs):
            level = ahead - up * float(ahead @ up)
            if float(np.linalg.norm(level)) > least:
                return Facing(up, unit(level), _across(up, unit(level)), points, source + where)
    up = figure.up if figure.up is not None else _up(figure, figure.positions, legs) if legs else np.eye(3)[1]
    habit = habitual(figure, up)
    return Facing(up, habit, _across(up, habit), figure.positions, _HABIT)


def habitual(figure: Candidate, up: Floats) -> Floats:
    """Return the format's default forward direction (3,).

    It is +Z with Y up (glTF, BVH), and with Z up +X of robots (REP 103) and -Y of characters.
    """
    x, y, z = np.eye(3)
    return z if abs(up[2]) < _SNAP else x if figure.is_robot else -y


def _across(up: Floats, forward: Floats) -> Floats:
    """Compute the direction to the left (3,)."""
    return np.asarray(np.cross(up, forward), dtype=np.float64)


def _up(figure: Candidate, points: Floats, legs: list[list[int]]) -> Floats:
    """Find the up direction.

    It is the file's, else from the ankles to the hips, snapped to an axis where it is near one.
    """
    if figure.up is not None:
        return figure.up
    up = unit(np.mean([points[rows[0]] - points[rows[2]] for rows in legs], axis=0))
    axis = int(np.argmax(np.abs(up)))
    return np.eye(3)[axis] * np.sign(up[axis]) if abs(up[axis]) > _SNAP else up


def _signs(figure: Candidate, points: Floats, legs: list[list[int]]) -> list[tuple[str, Floats, float]]:
    """List the cues for forward, feet before knees. Each has the minimum length that counts."""
    feet = [points[_end(figure, points, rows)] - points[rows[2]] for rows in legs]
    knees = [_bulge(points[rows[0]], points[rows[1]], points[rows[2]]) for rows in legs]
    lengths = [float(np.linalg.norm(points[rows[2]] - points[rows[0]])) for rows in legs]
    longest = max(float(np.linalg.norm(foot)) for foot in feet)
    return [
        ("the feet", np.mean(feet, axis=0), max(_CLEAR * longest, 1e-9 * max(lengths))),
        ("the knees", np.mean(knees, axis=0), _BENT * max(lengths)),
    ]


def _end(figure: Candidate, points: Floats, rows: list[int]) -> int:
    """Find the toes, or else the end of the foot. At rest the end sites of a BVH file count."""
    if len(rows) > 3:  # noqa: PLR2004  (upper, lower, foot, toes)
        return rows[3]
    if points is not figure.positions:
        return rows[2]  # an end site straight below the ankle shows nothing for a swinging leg
    ends = figure.skeleton.children[rows[2]]
    return max(ends, key=lambda row: figure.bones[row], default=rows[2])


def _bulge(hip: Floats, knee: Floats, ankle: Floats) -> Floats:
    """Compute the offset of the knee from the hip-ankle line."""
    along = unit(ankle - hip)
    return (knee - hip) - along * float((knee - hip) @ along)
