"""A posed limb that hangs on a ball joint, as rows for kernels/limb/two_bone.py."""

from __future__ import annotations

from typing import Literal

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits.base.rows import nearest_angle
from poise.problem.limb import (
    Branch,
    Limb,
    angles_of,
    arc_of,
    axis_of,
    distance_at,
    frames_of,
    is_hinge,
    length,
    range_of,
    side_of,
    unit,
)
from poise.problem.problem import Problem

Bend = Literal["turn", "thigh", "both", "axis"]

_STRAIGHT = 1e-3  # [rad] a limb this near to straight does not show which way its middle joint bends
_TURN = 2 * np.pi
_UP = np.array([0.0, 0.0, 1.0])
_MARGIN = 1e-9  # squared sines this near to the end of a range are left to the limit kernel


def limb_rows(problem: Problem, limb: Limb, bend: Bend, branch: Branch) -> Floats:
    """(k, LIMB), one for each start pose; the columns are the fields of `LimbRow` in kernels/limb/rows.py."""
    skeleton = problem.skeleton
    first, middle = frames_of(problem, limb.first), frames_of(problem, limb.middle)
    k, hinge = len(first.position), is_hinge(skeleton, limb.middle)
    into = rotations.inverse(first.turn)
    tip_at = problem.start.world.positions.reshape(k, -1, 3)[:, limb.tip]
    thigh, shin = (rotations.rotate(into, v) for v in (middle.position - first.position, tip_at - middle.position))
    tip, to_middle = thigh + shin, rotations.multiply(into, middle.turn)
    if hinge:
        knee = np.broadcast_to(axis_of(skeleton, limb.middle), (k, 3))
        axis, twists, posed = rotations.rotate(to_middle, knee), np.zeros(k), angles_of(problem, limb.middle)
        after = np.broadcast_to(rotations.IDENTITY, (k, 4))
    else:
        axis, twists, shin, turn = _plane(thigh, shin)
        out_of_limb = rotations.inverse(to_middle)
        knee, posed = rotations.rotate(out_of_limb, axis), np.zeros(k)
        after = rotations.multiply(out_of_limb, rotations.multiply(turn, rotations.multiply(to_middle, middle.motion)))
    arc, (shortest2, longest2, gain, offset) = arc_of(thigh, shin, axis)
    low, high = range_of(skeleton, limb.middle)
    straight = posed + offset
    side = side_of(offset, straight, (low, high), branch if hinge else "nearest")
    least, most = _surely_legal(side * straight, *np.sort([side * low, side * high], axis=0))
    columns: list[tuple[int, Floats | float]] = [
        (3, first.position), (4, into), (3, thigh), (3, tip), *((3, v) for v in arc), (3, axis),
        (3, _wanted(bend, thigh, shin)), (1, shortest2), (1, longest2), (1, gain),
        (1, distance_at(arc, nearest_angle(straight, low, high) - straight)),
        (1, straight), (1, posed), (1, low), (1, high), (1, side), (1, least), (1, most), (1, twists),
        (3, np.stack([np.cos(straight / 2), np.sin(straight / 2), np.zeros(k)], axis=-1)), (3, knee),
        (4, after), (4, first.motion), (4, middle.motion), (4, to_middle), *((4, v) for v in _tip(problem, limb, into)),
    ]  # fmt: skip
    rows = [np.broadcast_to(np.reshape(value, (-1, width)), (k, width)) for width, value in columns]
    return np.concatenate(rows, axis=-1)


def _plane(thigh: Floats, shin: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The axis (k, 3) that a free middle joint bends about, and whether (k,) any across the limb would do.

    A bent limb shows its axis. One that is straight within 1e-3 rad shows none: it is made quite straight first; its
    shin (k, 3) then, and the turn (k, 4) that did it.
    """
    normal, sizes = np.cross(thigh, shin), length(thigh) * length(shin)
    twists = length(normal) <= _STRAIGHT * sizes
    along = np.where((thigh * shin).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0) * unit(thigh)
    along = np.where(sizes > 0, along, unit(shin))
    straightened = np.where(twists & (sizes > 0), along * length(shin), shin)
    arcs = np.where(sizes > 0, shin, _UP), np.where(sizes > 0, straightened, _UP)
    turn = rotations.rotation_between(*arcs)
    turn = np.where(twists & (sizes > 0), turn, rotations.IDENTITY)
    spare = np.where(length(along) > 0, along, _UP)
    least = np.eye(3)[np.abs(spare).argmin(axis=-1)]
    return (
        np.where(twists, unit(np.cross(spare, least)), unit(normal)),
        twists[:, 0].astype(np.float64),
        straightened,
        turn,
    )


def _surely_legal(straight: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Squared sines (k,) of half the bends b from 0 to pi, between which straight + b is inside a range for sure."""
    width = high - low
    if not np.isfinite(width).all() or (width >= _TURN).all():
        return np.zeros(len(straight)), np.ones(len(straight))
    least = low - straight
    least = least - _TURN * np.round(least / _TURN)
    a, b = np.maximum(least, 0.0), np.minimum(least + width, np.pi)
    at_least = np.sin(a / 2) ** 2 + np.where(a > 0, _MARGIN, 0.0)
    at_most = np.where(b > 0, np.sin(b / 2) ** 2, -1.0) - np.where(b < np.pi, _MARGIN, 0.0)
    return at_least, at_most


def _wanted(bend: Bend, thigh: Floats, shin: Floats) -> Floats:
    """The vector (k, 3) whose part across the chord is where the middle joint is to stand.

    v thigh + u shin, the cosines between new and posed bones v and u weighted by their lengths, is greatest there:
    l1 v.k + l2 u.m with l2 u = tip - l1 v is l1 v.(k - m) and what v does not change.
    """
    if bend in ("turn", "axis"):
        return np.zeros_like(thigh)
    return unit(thigh) - (unit(shin) if bend == "both" else 0.0)


def _tip(problem: Problem, limb: Limb, into: Floats) -> list[Floats]:
    """The last four fields: frame, rotation behind the motion, motion and world rotation of the tip (k, 4)."""
    if not limb.turns:
        return [np.broadcast_to(rotations.IDENTITY, into.shape)] * 4
    tip = frames_of(problem, limb.tip)
    world = problem.start.world[problem.skeleton.names[limb.tip]].rotations.reshape(-1, 4)
    of_tip = rotations.multiply(rotations.inverse(world), rotations.multiply(tip.turn, tip.motion))
    return [rotations.multiply(into, tip.turn), of_tip, tip.motion, world]
