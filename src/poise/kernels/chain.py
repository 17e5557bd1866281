# pyright: standard
"""A chain as the solvers see it: links from the base to the tip, each a fixed transform, then a motion.

    kinds   (m,)        BALL, HINGE, SLIDE or MOVE (translation along all three axes)
    axes    (m, 3)      hinge: unit axis; slide: displacement per unit of its value
    ranges  (m, 2)      lowest and highest value of a hinge [rad] or slide
    frames  (1|k, m, 7) x y z w x y z: from the previous link's moved frame to this link's frame
    tips    (1|k, 3)    the tip in the last link's moved frame
    x       (m, 4)      the motion: w x y z of a ball; the value of a hinge or slide first; x y z of a move

Everything is rigid and in units of the chain's size: the problem takes scale out before.
"""

from __future__ import annotations

from poise.kernels.compiled import inline, kernel
from poise.kernels.linear import Quat, Vec, about, add, multiply, put_vec, quat_at, rotate, scale, vec_at

BALL, HINGE, SLIDE, MOVE = 0, 1, 2, 3


@inline
def link_offset(frames, i):
    """Translation of link i's fixed transform."""
    return Vec(frames[i, 0], frames[i, 1], frames[i, 2])


@inline
def link_rotation(frames, i):
    """Rotation of link i's fixed transform."""
    return Quat(frames[i, 3], frames[i, 4], frames[i, 5], frames[i, 6])


@inline
def motion_rotation(kind, axis, x, i):
    """Rotation part of link i's motion."""
    if kind == BALL:
        return quat_at(x, i)
    if kind == HINGE:
        return about(axis, x[i, 0])
    return Quat(1.0, 0.0, 0.0, 0.0)


@inline
def moved_point(kind, axis, x, i, point):
    """A point of link i's moved frame, seen in the link's frame."""
    if kind == BALL or kind == HINGE:
        return rotate(motion_rotation(kind, axis, x, i), point)
    if kind == SLIDE:
        return add(point, scale(axis, x[i, 0]))
    return add(point, vec_at(x, i))


@inline
def move_frame(kind, axis, x, i, origin, rotation):
    """Origin and rotation of link i's moved frame, from those of its frame."""
    if kind == BALL or kind == HINGE:
        return origin, multiply(rotation, motion_rotation(kind, axis, x, i))
    return add(origin, rotate(rotation, moved_point(kind, axis, x, i, Vec(0.0, 0.0, 0.0)))), rotation


@inline
def next_frame(frames, i, origin, rotation):
    """Origin and rotation of link i's frame, from those of the moved frame before it."""
    origin = add(origin, rotate(rotation, link_offset(frames, i)))
    return origin, multiply(rotation, link_rotation(frames, i))


@inline
def tip_position(kinds, axes, frames, tip, x):
    """Where the tip is, in the base frame: carried from link to link down to the base."""
    point = tip
    for k in range(kinds.shape[0]):
        i = kinds.shape[0] - 1 - k
        point = moved_point(kinds[i], vec_at(axes, i), x, i, point)
        point = add(link_offset(frames, i), rotate(link_rotation(frames, i), point))
    return point


@kernel
def tips(kinds, axes, frames, tip, x, out):
    """Fill out (k, 3) with where the tips are, in the base frame, for the motions x (k, m, 4)."""
    for k in range(x.shape[0]):
        local = vec_at(tip, min(k, tip.shape[0] - 1))
        put_vec(out, k, tip_position(kinds, axes, frames[min(k, frames.shape[0] - 1)], local, x[k]))
