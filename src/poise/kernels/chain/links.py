# pyright: standard
"""Kinematics of a chain of links. Each link is a fixed transform, then a motion, from the base to the tip.

    kinds   (m,)        BALL, HINGE, SLIDE or MOVE (translation along all three axes), see layout.py
    axes    (m, 3)      hinge: unit axis; slide: displacement per unit of its value
    ranges  (m, 2)      min and max value of a hinge [rad] or slide
    frames  (1|k, m, 7) x y z w x y z: from the previous link's moved frame to this link's frame
    tips    (1|k, 3)    the tip in the last link's moved frame
    x       (m, 4)      the motion: w x y z of a ball; the value of a hinge or slide first; x y z of a move
    sincos  (m, 2+)     workspace: cosine and sine of each hinge's value

Everything is rigid and in units of the chain's size: the problem removes scale before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.codes import BALL, HINGE, SLIDE
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.values.linear import (
    Quat,
    Vec,
    about,
    add,
    conjugate,
    multiply,
    put_quat,
    put_vec,
    quat_at,
    rotate,
    scale,
    spin,
    sub,
    vec_at,
)


class Links(NamedTuple):
    """Chain of one problem. limits: (m, LIMIT_ROW) of balls, see kernels/limits.py."""

    kinds: Any
    axes: Any
    ranges: Any
    limits: Any
    frames: Any


@inline
def link_offset(frames, i):
    """Return the translation of link i's fixed transform."""
    return Vec(frames[i, 0], frames[i, 1], frames[i, 2])


@inline
def link_rotation(frames, i):
    """Return the rotation of link i's fixed transform."""
    return Quat(frames[i, 3], frames[i, 4], frames[i, 5], frames[i, 6])


@inline
def motion_rotation(kind, axis, x, i):
    """Compute the rotation part of link i's motion."""
    if kind == BALL:
        return quat_at(x, i)
    if kind == HINGE:
        return about(axis, x[i, 0])
    return Quat(1.0, 0.0, 0.0, 0.0)


@inline
def moved_point(kind, axis, x, i, point):
    """Transform a point from link i's moved frame to its frame."""
    if kind == BALL or kind == HINGE:
        return rotate(motion_rotation(kind, axis, x, i), point)
    if kind == SLIDE:
        return add(point, scale(axis, x[i, 0]))
    return add(point, vec_at(x, i))


@inline
def move_frame(kind, axis, x, i, origin, rotation):
    """Compute origin and rotation of link i's moved frame."""
    if kind == BALL or kind == HINGE:
        return origin, multiply(rotation, motion_rotation(kind, axis, x, i))
    return add(origin, rotate(rotation, moved_point(kind, axis, x, i, Vec(0.0, 0.0, 0.0)))), rotation


@inline
def next_frame(frames, i, origin, rotation):
    """Compute link i's frame from the previous moved frame. Frames are origin and rotation."""
    origin = add(origin, rotate(rotation, link_offset(frames, i)))
    return origin, multiply(rotation, link_rotation(frames, i))


@inline
def out_of_link(frames, i, point):
    """Transform a point out of link i's frame. The result is in the previous moved frame."""
    r = link_rotation(frames, i)
    if r.x != 0.0 or r.y != 0.0 or r.z != 0.0:  # many links are only an offset
        point = rotate(r, point)
    return add(link_offset(frames, i), point)


@inline
def into_link(frames, i, point):
    """Transform a point into link i's frame. The point is in the previous moved frame."""
    r = link_rotation(frames, i)
    point = sub(point, link_offset(frames, i))
    # The same short cut for the inverse.
    if r.x != 0.0 or r.y != 0.0 or r.z != 0.0:
        point = rotate(conjugate(r), point)
    return point


@inline
def put_turn(turns, i, angle):
    """Cache cosine and sine of hinge i. Sweeps use them often, and they are expensive."""
    turns[i, 0] = math.cos(angle)
    turns[i, 1] = math.sin(angle)


@part
def put_turns(kinds, x, turns):
    """Cache cosines and sines of all hinges."""
    for i in range(kinds.shape[0]):
        if kinds[i] == HINGE:
            put_turn(turns, i, x[i, 0])


@inline
def out_of_moved(kind, axis, x, turns, i, point):
    """Transform a point out of link i's moved frame. Uses the cached cosines and sines."""
    if kind == HINGE:
        return spin(axis, turns[i, 0], turns[i, 1], point)
    return moved_point(kind, axis, x, i, point)


@inline
def into_moved(kind, axis, x, turns, i, point):
    """Transform a point from link i's frame to its moved frame."""
    if kind == BALL:
        return rotate(conjugate(quat_at(x, i)), point)
    if kind == HINGE:
        return spin(axis, turns[i, 0], -turns[i, 1], point)
    if kind == SLIDE:
        return sub(point, scale(axis, x[i, 0]))
    return sub(point, vec_at(x, i))


@part
def tip_position(kinds, axes, frames, tip, x):
    """Compute the tip position in the base frame. The point is transformed from link to link down to the base."""
    point = tip
    for k in range(kinds.shape[0]):
        # Transforming one point from the tip down is less work than computing every frame from the base up.
        i = kinds.shape[0] - 1 - k
        point = moved_point(kinds[i], vec_at(axes, i), x, i, point)
        point = out_of_link(frames, i, point)
    return point


@part
def store_frames(kinds, axes, frames, tip, x, origins, rotations):
    """Store origin and rotation of every link's frame, before its motion. Returns the tip position."""
    origin, rotation = Vec(0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(kinds.shape[0]):
        origin, rotation = next_frame(frames, i, origin, rotation)
        put_vec(origins, i, origin)
        put_quat(rotations, i, rotation)
        origin, rotation = move_frame(kinds[i], vec_at(axes, i), x, i, origin, rotation)
    return add(origin, rotate(rotation, tip))


@part
def carry_up(kinds, axes, frames, target, x, turns, points):
    """Store the target in every link's frame."""
    d = target
    for i in range(kinds.shape[0]):
        d = into_link(frames, i, d)
        put_vec(points, i, d)
        d = into_moved(kinds[i], vec_at(axes, i), x, turns, i, d)


@kernel
def tips(kinds, axes, frames, tip, x, out):
    """Compute tip positions (k, 3) in the base frame. Motions x are (k, m, 4)."""
    for k in range(x.shape[0]):
        local = vec_at(tip, min(k, tip.shape[0] - 1))
        put_vec(out, k, tip_position(kinds, axes, frames[min(k, frames.shape[0] - 1)], local, x[k]))


@inline
def copy(source, to):
    """Copy link motions; a slice assignment would cost seconds of compile time."""
    for i in range(source.shape[0]):
        put_quat(to, i, quat_at(source, i))


@inline
def record(trace_x, trace_error, row, x, error):
    """Record the state after an iteration, if there is a trace."""
    if row < trace_error.shape[0]:
        copy(x, trace_x[row])
        trace_error[row] = error
