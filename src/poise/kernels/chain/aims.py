# pyright: standard
"""Effector targets: a point, a rotation and a direction. They are transformed together from frame to frame.

    targets  (k, 10)      x y z, w x y z, x y z: the tip in the last link's moved frame, or a target in the base frame
    weights  GoalWeights  squared weights of the three, 0 where unused; lengths in chain sizes

The error is E = p |t - e|^2 + o (2 sin(a/2))^2 + d (2 sin(b/2))^2 with the weights p, o, d, the angle a between the
rotations and the angle b between the directions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.chain.links import link_offset, link_rotation, move_frame, next_frame
from poise.kernels.codes import BALL, HINGE, SLIDE
from poise.kernels.compiled import inline, part
from poise.kernels.values.linear import (
    Quat,
    Vec,
    about,
    add,
    conjugate,
    dot,
    multiply,
    put_quat,
    put_vec,
    quat_at,
    quat_in,
    rotate,
    scale,
    sub,
    vec_at,
    vec_in,
)


class ChainAim(NamedTuple):
    """Point, rotation and unit vector in one frame."""

    point: Vec
    turn: Quat
    axis: Vec


class Weights(NamedTuple):
    """Squared weights of point, rotation and direction."""

    point: float
    turn: float
    axis: float


class EasedLinks(NamedTuple):
    """Chain of one problem with joint weights; see `KernelChain`. `ease` (m,) is 1 / (1 + stiffness) of each joint."""

    kinds: Any
    axes: Any
    ranges: Any
    limits: Any
    frames: Any
    ease: Any


@inline
def aim_in(row):
    """Read a target from a row of ten numbers."""
    return ChainAim(vec_in(row, 0), quat_in(row, 3), vec_in(row, 7))


@inline
def put_aim(row, aim):
    """Write a target into a row."""
    row[0], row[1], row[2] = aim.point.x, aim.point.y, aim.point.z
    row[3], row[4], row[5], row[6] = aim.turn.w, aim.turn.x, aim.turn.y, aim.turn.z
    row[7], row[8], row[9] = aim.axis.x, aim.axis.y, aim.axis.z


@inline
def out_of(aim, offset, rotation):
    """Transform a target to the parent frame. Offset and rotation are those of the local frame in it."""
    return ChainAim(add(offset, rotate(rotation, aim.point)), multiply(rotation, aim.turn), rotate(rotation, aim.axis))


@inline
def into(aim, offset, rotation):
    """Transform a target from the parent to the local frame.

    Offset and rotation are those of the local frame in the parent's.
    """
    back = conjugate(rotation)
    return ChainAim(rotate(back, sub(aim.point, offset)), multiply(back, aim.turn), rotate(back, aim.axis))


@inline
def motion(kind, axis, x, i):
    """Compute link i's motion as an offset and a rotation."""
    if kind == BALL:
        return Vec(0.0, 0.0, 0.0), quat_at(x, i)
    if kind == HINGE:
        return Vec(0.0, 0.0, 0.0), about(axis, x[i, 0])
    if kind == SLIDE:
        return scale(axis, x[i, 0]), Quat(1.0, 0.0, 0.0, 0.0)
    return vec_at(x, i), Quat(1.0, 0.0, 0.0, 0.0)


@inline
def rotation_left(now, wanted):
    """Compute the rotation from `current` to `target`, w >= 0."""
    left = multiply(wanted, conjugate(now))
    return Quat(-left.w, -left.x, -left.y, -left.z) if left.w < 0.0 else left


@inline
def parts_left(now, wanted):
    """Compute the three squared errors.

    They are of the position, and (2 sin(angle / 2))^2 of rotation and direction.
    """
    # The chord between two unit vectors is 2 sin of half their angle: without arc cosine, and exact for small angles.
    way, across = sub(wanted.point, now.point), sub(wanted.axis, now.axis)
    left = rotation_left(now.turn, wanted.turn)
    return Weights(dot(way, way), 4.0 * (left.x * left.x + left.y * left.y + left.z * left.z), dot(across, across))


@inline
def squared_error(now, wanted, weights):
    """Compute the weighted squared error E."""
    left = parts_left(now, wanted)
    return weights.point * left.point + weights.turn * left.turn + weights.axis * left.axis


@inline
def is_met(now, wanted, weights, allowed):
    """Return whether all weighted parts are within tolerance. `tolerances` is a distance and 2 sin(angle / 2)."""
    left = parts_left(now, wanted)
    distance, chord = allowed[0] * allowed[0], allowed[1] * allowed[1]
    return (
        # Each part separately: a small weighted sum may hide a missed goal.
        (weights.point == 0.0 or left.point <= distance)
        and (weights.turn == 0.0 or left.turn <= chord)
        and (weights.axis == 0.0 or left.axis <= chord)
    )


@part
def carried_down(links, tip, x):
    """Compute the tip in the base frame."""
    aim = tip
    for k in range(links.kinds.shape[0]):
        i = links.kinds.shape[0] - 1 - k
        offset, rotation = motion(links.kinds[i], vec_at(links.axes, i), x, i)
        aim = out_of(out_of(aim, offset, rotation), link_offset(links.frames, i), link_rotation(links.frames, i))
    return aim


@part
def placed(links, tip, x, origins, rotations):
    """Compute the tip and all link frames.

    The tip is in the base frame; stores origin and rotation of every link's frame, before its motion.
    """
    origin, rotation = Vec(0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(links.kinds.shape[0]):
        origin, rotation = next_frame(links.frames, i, origin, rotation)
        put_vec(origins, i, origin)
        put_quat(rotations, i, rotation)
        origin, rotation = move_frame(links.kinds[i], vec_at(links.axes, i), x, i, origin, rotation)
    return out_of(tip, origin, rotation)
