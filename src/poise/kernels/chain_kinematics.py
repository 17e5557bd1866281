# pyright: standard
"""Kinematics and effector targets of a chain of links.

Each link is a fixed transform, then a motion, from the base to the tip.

    link_kinds  (m,)         BALL, HINGE, SLIDE or MOVE (translation along all three axes), see layout.py
    axes        (m, 3)       hinge: unit axis; slide: displacement per unit of its value
    ranges      (m, 2)       min and max value of a hinge [rad] or slide
    frames      (1|k, m, 7)  x y z w x y z: from the previous link's moved frame to this link's frame
    tips        (1|k, 3)     the tip in the last link's moved frame
    x           (m, 4)       the motion: w x y z of a ball; the value of a hinge or slide first; x y z of a move
    sincos      (m, 2+)      workspace: cosine and sine of each hinge's value

Everything is rigid and in units of the chain's size: the problem removes scale before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.layout import BALL, COUNT_ITERATIONS, HINGE, SLIDE
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    dot,
    from_axis_angle,
    multiply,
    read_quat,
    read_quat_at,
    read_vec,
    read_vec_at,
    rotate,
    rotate_about_axis,
    scale,
    sub,
    write_quat,
    write_vec,
)


class PositionChain(NamedTuple):
    """Chain of one problem, for a position goal."""

    link_kinds: Any  # (m,) BALL, HINGE, SLIDE or MOVE
    axes: Any  # (m, 3)
    ranges: Any  # (m, 2) min and max value of hinges [rad] and slides
    limits: Any  # (m, LIMIT_ROW) of balls, see kernels/limits.py
    frames: Any  # (m, 7) from the previous link's moved frame to each link's frame
    tip: Vec  # in the last link's moved frame [chain sizes]


class ChainLinks(NamedTuple):
    """Links and tip of a chain for forward kinematics. Fields as in `PositionChain`."""

    link_kinds: Any
    axes: Any
    frames: Any
    tip: Vec


class LinkJoint(NamedTuple):
    """Joint of one link."""

    link_kind: int  # BALL, HINGE, SLIDE or MOVE
    axis: Vec  # hinge: unit axis; slide: displacement per unit of its value
    low: float  # min value of a hinge [rad] or slide
    high: float  # max value of a hinge [rad] or slide
    limit: Any  # (LIMIT_ROW,) of a ball


class ChainOutput(NamedTuple):
    """Output arrays of one problem."""

    x: Any  # (m, 4) current motions; at the end the best ones
    counts: Any  # (2,) iterations and single joint updates
    trace_x: Any  # (iterations + 1 or 0, m, 4) motions after each iteration
    trace_error: Any  # (iterations + 1 or 0,) error after each iteration


@inline
def read_joint(chain, i):
    """Read the joint of link i."""
    return LinkJoint(
        chain.link_kinds[i], read_vec(chain.axes, i), chain.ranges[i, 0], chain.ranges[i, 1], chain.limits[i]
    )


@inline
def read_link_offset(frames, i):
    """Return the translation of link i's fixed transform."""
    return Vec(frames[i, 0], frames[i, 1], frames[i, 2])


@inline
def read_link_rotation(frames, i):
    """Return the rotation of link i's fixed transform."""
    return Quat(frames[i, 3], frames[i, 4], frames[i, 5], frames[i, 6])


@inline
def compute_motion_rotation(link_kind, axis, x, i):
    """Compute the rotation part of link i's motion."""
    if link_kind == BALL:
        return read_quat(x, i)
    if link_kind == HINGE:
        return from_axis_angle(axis, x[i, 0])
    return Quat(1.0, 0.0, 0.0, 0.0)


@inline
def move_point(link_kind, axis, x, i, point):
    """Transform a point from link i's moved frame to its frame."""
    if link_kind == BALL or link_kind == HINGE:
        return rotate(compute_motion_rotation(link_kind, axis, x, i), point)
    if link_kind == SLIDE:
        return add(point, scale(axis, x[i, 0]))
    return add(point, read_vec(x, i))


@inline
def move_frame(link_kind, axis, x, i, origin, rotation):
    """Compute origin and rotation of link i's moved frame."""
    if link_kind == BALL or link_kind == HINGE:
        return origin, multiply(rotation, compute_motion_rotation(link_kind, axis, x, i))
    return add(origin, rotate(rotation, move_point(link_kind, axis, x, i, Vec(0.0, 0.0, 0.0)))), rotation


@inline
def compose_link_frame(frames, i, origin, rotation):
    """Compute link i's frame from the previous moved frame. Frames are origin and rotation."""
    origin = add(origin, rotate(rotation, read_link_offset(frames, i)))
    return origin, multiply(rotation, read_link_rotation(frames, i))


@inline
def link_to_parent(frames, i, point):
    """Transform a point out of link i's frame. The result is in the previous moved frame."""
    link_rotation = read_link_rotation(frames, i)
    if link_rotation.x != 0.0 or link_rotation.y != 0.0 or link_rotation.z != 0.0:  # many links are only an offset
        point = rotate(link_rotation, point)
    return add(read_link_offset(frames, i), point)


@inline
def parent_to_link(frames, i, point):
    """Transform a point into link i's frame. The point is in the previous moved frame."""
    link_rotation = read_link_rotation(frames, i)
    point = sub(point, read_link_offset(frames, i))
    # The same short cut for the inverse.
    if link_rotation.x != 0.0 or link_rotation.y != 0.0 or link_rotation.z != 0.0:
        point = rotate(conjugate(link_rotation), point)
    return point


@inline
def cache_sincos(sincos, i, angle):
    """Cache cosine and sine of hinge i. Sweeps use them often, and they are expensive."""
    sincos[i, 0] = math.cos(angle)
    sincos[i, 1] = math.sin(angle)


@device_function
def cache_all_sincos(link_kinds, x, sincos):
    """Cache cosines and sines of all hinges."""
    for i in range(link_kinds.shape[0]):
        if link_kinds[i] == HINGE:
            cache_sincos(sincos, i, x[i, 0])


@inline
def moved_to_link(link_kind, axis, x, sincos, i, point):
    """Transform a point out of link i's moved frame. Uses the cached cosines and sines."""
    if link_kind == HINGE:
        return rotate_about_axis(axis, sincos[i, 0], sincos[i, 1], point)
    return move_point(link_kind, axis, x, i, point)


@inline
def link_to_moved(link_kind, axis, x, sincos, i, point):
    """Transform a point from link i's frame to its moved frame."""
    if link_kind == BALL:
        return rotate(conjugate(read_quat(x, i)), point)
    if link_kind == HINGE:
        return rotate_about_axis(axis, sincos[i, 0], -sincos[i, 1], point)
    if link_kind == SLIDE:
        return sub(point, scale(axis, x[i, 0]))
    return sub(point, read_vec(x, i))


@device_function
def compute_tip_position(chain, x):
    """Compute the tip position in the base frame. The point is transformed from link to link down to the base."""
    point = chain.tip
    for k in range(chain.link_kinds.shape[0]):
        # Transforming one point from the tip down is less work than computing every frame from the base up.
        i = chain.link_kinds.shape[0] - 1 - k
        point = move_point(chain.link_kinds[i], read_vec(chain.axes, i), x, i, point)
        point = link_to_parent(chain.frames, i, point)
    return point


@inline
def store_frames(chain, x, origins, rotations):
    """Store origin and rotation of every link's frame, before its motion. Returns those of the tip's frame."""
    origin, rotation = Vec(0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(chain.link_kinds.shape[0]):
        origin, rotation = compose_link_frame(chain.frames, i, origin, rotation)
        write_vec(origins, i, origin)
        write_quat(rotations, i, rotation)
        origin, rotation = move_frame(chain.link_kinds[i], read_vec(chain.axes, i), x, i, origin, rotation)
    return origin, rotation


@device_function
def store_frames_and_point(chain, point, x, origins, rotations):
    """Store the link frames; return a tip point in base frame."""
    origin, rotation = store_frames(chain, x, origins, rotations)
    return add(origin, rotate(rotation, point))


@device_function
def propagate_target(chain, target, x, sincos, link_targets):
    """Store the target in every link's frame."""
    local_target = target
    for i in range(chain.link_kinds.shape[0]):
        local_target = parent_to_link(chain.frames, i, local_target)
        write_vec(link_targets, i, local_target)
        local_target = link_to_moved(chain.link_kinds[i], read_vec(chain.axes, i), x, sincos, i, local_target)


@kernel("I1 F2 F3 F2 F3 wF2 ->")
def compute_tips(link_kinds, axes, frames, tips, x, tip_positions):
    """Compute tip positions (k, 3) in the base frame. Motions x are (k, m, 4)."""
    for k in range(x.shape[0]):
        local_tip = read_vec(tips, min(k, tips.shape[0] - 1))
        chain = ChainLinks(link_kinds, axes, frames[min(k, frames.shape[0] - 1)], local_tip)
        write_vec(tip_positions, k, compute_tip_position(chain, x[k]))


@inline
def clear(work, count):
    """Set the first numbers of scratch memory to zero. Columns that no joint uses stay so in results."""
    for i in range(count):
        work[i] = 0.0


@inline
def copy_motions(source, destination):
    """Copy link motions; a slice assignment would cost seconds of compile time."""
    for i in range(source.shape[0]):
        write_quat(destination, i, read_quat(source, i))


@inline
def record_trace(output, error):
    """Record the state after an iteration, if there is a trace."""
    trace_row = output.counts[COUNT_ITERATIONS]
    if trace_row < output.trace_error.shape[0]:
        copy_motions(output.x, output.trace_x[trace_row])
        output.trace_error[trace_row] = error


# --- Effector targets: a point, a rotation and a direction -----------------------------------------------------------
#
# They are transformed together from frame to frame.
#
# targets  (k, 10)      x y z, w x y z, x y z: the tip in the last link's moved frame, or a target in the base frame
# weights  GoalWeights  squared weights of the three, 0 where unused; lengths in chain sizes
#
# The error is E = p |t - e|^2 + o (2 sin(a/2))^2 + d (2 sin(b/2))^2 with the weights p, o, d, the angle a between the
# rotations and the angle b between the directions.


class EffectorTarget(NamedTuple):
    """Point, rotation and unit vector in one frame."""

    point: Vec
    rotation: Quat
    direction: Vec


class GoalWeights(NamedTuple):
    """Squared weights of point, rotation and direction."""

    point: float
    rotation: float
    direction: float


class GoalChain(NamedTuple):
    """Chain of one problem, for all goals of its tip. Arrays as in `PositionChain`."""

    link_kinds: Any
    axes: Any
    ranges: Any
    limits: Any
    frames: Any
    joint_weights: Any  # (m,) 1 / (1 + stiffness)
    goal_masks: Any  # (m, 3) 1 or 0: whether a joint is used for the point, the rotation, the direction
    tip: EffectorTarget  # in the last link's moved frame


@inline
def read_target(row):
    """Read a target from a row of ten numbers."""
    return EffectorTarget(read_vec_at(row, 0), read_quat_at(row, 3), read_vec_at(row, 7))


@inline
def write_target(row, target):
    """Write a target into a row."""
    row[0], row[1], row[2] = target.point.x, target.point.y, target.point.z
    row[3], row[4], row[5], row[6] = target.rotation.w, target.rotation.x, target.rotation.y, target.rotation.z
    row[7], row[8], row[9] = target.direction.x, target.direction.y, target.direction.z


@inline
def to_parent(target, offset, rotation):
    """Transform a target to the parent frame. Offset and rotation are those of the local frame in it."""
    return EffectorTarget(
        add(offset, rotate(rotation, target.point)),
        multiply(rotation, target.rotation),
        rotate(rotation, target.direction),
    )


@inline
def to_local(target, offset, rotation):
    """Transform a target from the parent to the local frame.

    Offset and rotation are those of the local frame in the parent's.
    """
    local_from_parent = conjugate(rotation)
    return EffectorTarget(
        rotate(local_from_parent, sub(target.point, offset)),
        multiply(local_from_parent, target.rotation),
        rotate(local_from_parent, target.direction),
    )


@inline
def compute_motion(link_kind, axis, x, i):
    """Compute link i's motion as an offset and a rotation."""
    if link_kind == BALL:
        return Vec(0.0, 0.0, 0.0), read_quat(x, i)
    if link_kind == HINGE:
        return Vec(0.0, 0.0, 0.0), from_axis_angle(axis, x[i, 0])
    if link_kind == SLIDE:
        return scale(axis, x[i, 0]), Quat(1.0, 0.0, 0.0, 0.0)
    return read_vec(x, i), Quat(1.0, 0.0, 0.0, 0.0)


@inline
def compute_rotation_error(current_rotation, target_rotation):
    """Compute the rotation from `current_rotation` to `target_rotation`, w >= 0."""
    error = multiply(target_rotation, conjugate(current_rotation))
    return Quat(-error.w, -error.x, -error.y, -error.z) if error.w < 0.0 else error


@inline
def compute_error_parts(current_tip, target):
    """Compute the three squared errors.

    They are of the position, and (2 sin(angle / 2))^2 of rotation and direction.
    """
    # The chord between two unit vectors is 2 sin of half their angle: without arc cosine, and exact for small angles.
    position_offset, direction_offset = (
        sub(target.point, current_tip.point),
        sub(target.direction, current_tip.direction),
    )
    rotation_error = compute_rotation_error(current_tip.rotation, target.rotation)
    return GoalWeights(
        dot(position_offset, position_offset),
        4.0
        * (
            rotation_error.x * rotation_error.x
            + rotation_error.y * rotation_error.y
            + rotation_error.z * rotation_error.z
        ),
        dot(direction_offset, direction_offset),
    )


@inline
def compute_squared_error(current_tip, target, weights):
    """Compute the weighted squared error E."""
    squared_errors = compute_error_parts(current_tip, target)
    return (
        weights.point * squared_errors.point
        + weights.rotation * squared_errors.rotation
        + weights.direction * squared_errors.direction
    )


@inline
def is_met(current_tip, target, weights, tolerances):
    """Return whether all weighted parts are within tolerance. `tolerances` is a distance and 2 sin(angle / 2)."""
    squared_errors = compute_error_parts(current_tip, target)
    squared_distance, squared_chord = tolerances[0] * tolerances[0], tolerances[1] * tolerances[1]
    return (
        # Each part separately: a small weighted sum may hide a missed goal.
        (weights.point == 0.0 or squared_errors.point <= squared_distance)
        and (weights.rotation == 0.0 or squared_errors.rotation <= squared_chord)
        and (weights.direction == 0.0 or squared_errors.direction <= squared_chord)
    )


@device_function
def compute_tip_in_base(chain, x):
    """Compute the tip in the base frame."""
    effector = chain.tip
    for k in range(chain.link_kinds.shape[0]):
        i = chain.link_kinds.shape[0] - 1 - k
        offset, rotation = compute_motion(chain.link_kinds[i], read_vec(chain.axes, i), x, i)
        effector = to_parent(
            to_parent(effector, offset, rotation),
            read_link_offset(chain.frames, i),
            read_link_rotation(chain.frames, i),
        )
    return effector


@device_function
def store_frames_and_tip(chain, x, origins, rotations):
    """Store the link frames; return the tip in the base frame."""
    origin, rotation = store_frames(chain, x, origins, rotations)
    return to_parent(chain.tip, origin, rotation)
