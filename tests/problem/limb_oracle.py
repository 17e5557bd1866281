"""A posed limb as rows of numbers, worked out over arrays: what kernels/limb_packing.py and posed_plane.py are held to.

Formulas one after the other in NumPy, joints as the skeleton has them, world maps as `Pose.world` gives them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.rotations import rotation_part
from poise.model.limit_bounds import clamp_angles
from poise.model.skeleton import Kind
from poise.problem.problem import Problem
from poise.problem.two_bone_limb import (
    Bend,
    Branch,
    Limb,
    find_rotation_column,
    is_hinge,
    read_hinge_axis,
    read_hinge_range,
)

_NO_LEVER = 1e-12  # of the squared length: bending does not move the tip
_BENT = 1e-9  # [rad]
_STRAIGHT = 1e-3  # [rad] a limb this near to straight does not show which way its middle joint bends
_TURN = 2 * np.pi
_UP = np.array([0.0, 0.0, 1.0])
_MARGIN = 1e-9  # squared sines this near to the end of a range are left to the limit kernel
_PARALLEL = 1e-9  # [rad]


class LimbFrames(NamedTuple):
    """World position (k, 3) of a joint, the rotation (k, 4) of the frame that it turns in, and its motion (k, 4)."""

    position: Floats
    turn: Floats
    motion: Floats


def angles_of(problem: Problem, row: int) -> Floats:
    """The angles (k,) of a hinge in the start poses, inside its range."""
    skeleton, at = problem.skeleton, find_rotation_column(problem.skeleton, row)
    q = problem.start.flat_q
    if skeleton.kinds[row] == Kind.HINGE:
        return q[:, at]
    low, high = read_hinge_range(skeleton, row)
    angle = rotations.twist_angle(q[:, at : at + 4], read_hinge_axis(skeleton, row))
    return clamp_angles(angle, low, high)


def frames_of(problem: Problem, row: int) -> LimbFrames:
    """Where a joint is in the start poses, and what it turns in."""
    skeleton, start = problem.skeleton, problem.start
    n, parent = len(skeleton), int(skeleton.parents[row])
    above = np.broadcast_to(np.eye(3, 4), (len(start.flat_q), 3, 4))
    if parent >= 0:
        above = start.world.affine.reshape(-1, n, 3, 4)[:, parent]
    offset = start.local_positions.reshape(-1, n, 3)[:, row]
    position = (above[..., :3] @ offset[..., None])[..., 0] + above[..., 3]
    turn = rotations.multiply(rotations.from_matrix(rotation_part(above[..., :3])), skeleton.A[row, 3:][None])
    at = find_rotation_column(skeleton, row)
    motion = start.flat_q[:, at : at + 4]
    if skeleton.kinds[row] == Kind.HINGE:
        motion = rotations.about(skeleton.axes[row], start.flat_q[:, at])
    if skeleton.kinds[row] == Kind.FIXED:
        motion = np.broadcast_to(rotations.IDENTITY, (len(position), 4))
    return LimbFrames(position, turn, motion)


def length(v: Floats) -> Floats:
    """Lengths (k, 1) of vectors (k, 3)."""
    return np.sqrt((v**2).sum(axis=-1, keepdims=True))


def unit(v: Floats) -> Floats:
    """Vectors (k, 3) of length one; zero where there is no length."""
    size = length(v)
    return np.divide(v, size, out=np.zeros_like(v), where=size > 0)


# --- the bend ----------------------------------------------------------------------------------------------------


def arc_of(thigh: Floats, shin: Floats, axis: Floats) -> tuple[list[Floats], tuple[Floats, Floats, Floats, Floats]]:
    """Where the tip goes when the middle joint turns: still, across, around (k, 3); see kernels/two_bone.py.

    And its shortest and longest squared distance, one over their difference, and the angle to the longest (k,).
    """
    along = axis * (shin * axis).sum(axis=-1, keepdims=True)
    radius, ahead = shin - along, np.cross(axis, shin)
    cosine, sine = (thigh * radius).sum(axis=-1), (thigh * ahead).sum(axis=-1)
    levered = np.hypot(cosine, sine) > _NO_LEVER * ((thigh**2).sum(axis=-1) + (shin**2).sum(axis=-1))
    offset = np.where(levered, np.arctan2(sine, cosine), 0.0)
    c, s = np.cos(offset)[:, None], np.sin(offset)[:, None]
    still: Floats = thigh + along
    across: Floats = c * radius + s * ahead
    longest2, shortest2 = ((still + across) ** 2).sum(axis=-1), ((still - across) ** 2).sum(axis=-1)
    gain = np.divide(1.0, longest2 - shortest2, out=np.zeros_like(offset), where=levered)
    around: Floats = np.cross(axis, across)
    return [still, across, around], (shortest2, longest2, gain, offset)


def distance_at(arc: list[Floats], bend: Floats) -> Floats:
    """How far the tip is (k,) where the middle joint is bent by this from where the limb is longest."""
    still, across, around = arc
    return length(still + np.cos(bend)[:, None] * across + np.sin(bend)[:, None] * around)[:, 0]


def side_of(offset: Floats, straight: Floats, limits: tuple[float, float], branch: Branch) -> Floats:
    """1 or -1 (k,): to which side of straight the middle joint is to bend; a straight one to where it has more room."""
    if branch != "nearest":
        return np.full(len(offset), 1.0 if branch == "positive" else -1.0)
    roomier = limits[1] - straight >= straight - limits[0]
    return np.where(np.abs(offset) < _BENT, np.where(roomier, 1.0, -1.0), np.where(offset < 0, 1.0, -1.0))


# --- a limb that hangs on a ball joint -----------------------------------------------------------------------------


def limb_rows(problem: Problem, limb: Limb, bend: Bend, branch: Branch) -> Floats:
    """(k, LIMB), one for each start pose; the columns are the fields of `LimbRow` in kernels/two_bone.py."""
    skeleton = problem.skeleton
    first, middle = frames_of(problem, limb.first), frames_of(problem, limb.middle)
    k, hinge = len(first.position), is_hinge(skeleton, limb.middle)
    into = rotations.inverse(first.turn)
    tip_at = problem.start.world.positions.reshape(k, -1, 3)[:, limb.tip]
    thigh, shin = (rotations.rotate(into, v) for v in (middle.position - first.position, tip_at - middle.position))
    tip, to_middle = thigh + shin, rotations.multiply(into, middle.turn)
    if hinge:
        knee = np.broadcast_to(read_hinge_axis(skeleton, limb.middle), (k, 3))
        axis, twists, posed = rotations.rotate(to_middle, knee), np.zeros(k), angles_of(problem, limb.middle)
        after = np.broadcast_to(rotations.IDENTITY, (k, 4))
    else:
        axis, twists, shin, turn = _plane(thigh, shin)
        out_of_limb = rotations.inverse(to_middle)
        knee, posed = rotations.rotate(out_of_limb, axis), np.zeros(k)
        after = rotations.multiply(out_of_limb, rotations.multiply(turn, rotations.multiply(to_middle, middle.motion)))
    arc, (shortest2, longest2, gain, offset) = arc_of(thigh, shin, axis)
    low, high = read_hinge_range(skeleton, limb.middle)
    straight = posed + offset
    side = side_of(offset, straight, (low, high), branch if hinge else "nearest")
    least, most = _surely_legal(side * straight, *np.sort([side * low, side * high], axis=0))
    columns: list[tuple[int, Floats | float]] = [
        (3, first.position), (4, into), (3, thigh), (3, tip), *((3, v) for v in arc), (3, axis),
        (3, _wanted(bend, thigh, shin)), (1, shortest2), (1, longest2), (1, gain),
        (1, distance_at(arc, clamp_angles(straight, low, high) - straight)),
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
    if not limb.rotates_tip:
        return [np.broadcast_to(rotations.IDENTITY, into.shape)] * 4
    tip = frames_of(problem, limb.tip)
    world = problem.start.world[problem.skeleton.names[limb.tip]].rotations.reshape(-1, 4)
    of_tip = rotations.multiply(rotations.inverse(world), rotations.multiply(tip.turn, tip.motion))
    return [rotations.multiply(into, tip.turn), of_tip, tip.motion, world]


# --- two parallel hinges --------------------------------------------------------------------------------------------


def plane_rows(problem: Problem, limb: Limb, branch: Branch) -> Floats:
    """(k, PLANE), one for each start pose; the columns are the fields of `PlaneRow` in kernels/planar_two_bone.py."""
    skeleton = problem.skeleton
    first, middle = frames_of(problem, limb.first), frames_of(problem, limb.middle)
    k = len(first.position)
    axes = [read_hinge_axis(skeleton, row)[None] for row in (limb.first, limb.middle)]
    w, other = (rotations.rotate(frame.turn, axis) for frame, axis in zip((first, middle), axes, strict=True))
    if (np.abs(np.cross(w, other)) > _PARALLEL).any():
        a, b = skeleton.names[limb.first], skeleton.names[limb.middle]
        raise UnsupportedError(f"two_bone needs parallel axes where both joints are hinges; {a!r} and {b!r} are not")
    u = unit(np.cross(np.eye(3)[np.abs(w).argmin(axis=-1)], w))
    basis = np.stack([u, np.cross(w, u), w], axis=1)
    tip_at = problem.start.world.positions.reshape(k, -1, 3)[:, limb.tip]
    ways = middle.position - first.position, tip_at - middle.position
    thigh, shin = ((basis @ way[..., None])[..., 0] for way in ways)
    sense = np.sign((w * other).sum(axis=-1))
    flat = np.array([1.0, 1.0, 0.0])
    arc, (shortest2, longest2, gain, offset) = arc_of(
        thigh * flat, shin * flat, sense[:, None] * np.array([0.0, 0.0, 1.0])
    )
    angles = [angles_of(problem, row) for row in (limb.first, limb.middle)]
    ranges = [read_hinge_range(skeleton, row) for row in (limb.first, limb.middle)]
    straight = angles[1] + offset
    reach = distance_at(arc, clamp_angles(straight, *ranges[1]) - straight)
    joints = [np.stack(np.broadcast_arrays(angle, *ends), axis=-1) for angle, ends in zip(angles, ranges, strict=True)]
    columns: list[tuple[int, Floats]] = [
        (3, first.position), (9, basis), (3, thigh), (3, shin), (1, longest2), (1, shortest2), (1, gain), (1, reach),
        (1, sense), (1, side_of(offset, straight, ranges[1], branch)), (1, straight), *((3, j) for j in joints),
        *((3, axis) for axis in axes),
    ]  # fmt: skip
    rows = [np.broadcast_to(np.reshape(value, (-1, width)), (k, width)) for width, value in columns]
    return np.concatenate(rows, axis=-1)
