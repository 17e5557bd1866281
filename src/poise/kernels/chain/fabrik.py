# pyright: standard
"""FABRIK for chains of ball joints. The joints are points; each sweep drags them from the tip to the base and back.

Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models 73(5),
2011. A sweep uses no rotations; they are computed once at the end, so that every bone keeps its length exactly. Chains
with hinges or limits use `solve_limited`, several effectors kernels/tree/fabrik_tree.py.

    points  (m + 1, 3+)  positions of the joints and the tip in the base frame
    lengths (m,)         bone lengths: from a joint to the next one, or to the tip
"""

from __future__ import annotations

import math

import numpy as np

from poise.kernels.chain.chain_finish import STEADY, finish
from poise.kernels.chain.escape import bend_chain, is_straight
from poise.kernels.chain.links import copy, link_offset, link_rotation, record, store_frames, tip_position
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.values.linear import (
    Quat,
    Vec,
    add,
    conjugate,
    dot,
    multiply,
    norm,
    normalise,
    put_quat,
    put_vec,
    quat_at,
    rotate,
    rotation_between,
    scale,
    sub,
    vec_at,
)

NO_LENGTH = 1e-290  # smaller squared lengths have no direction
SLOW = 0.7  # fraction of the error: with a polish, a sweep with a larger remainder is the last


@inline
def put_along(anchor, point, length, otherwise):
    """Place a point at `length` from the anchor towards `point`.

    Towards the direction `fallback` where the two coincide.
    """
    way = sub(point, anchor)
    squared = dot(way, way)
    if not squared > NO_LENGTH:
        way, squared = otherwise, dot(otherwise, otherwise)
        if not squared > NO_LENGTH:
            return anchor
    return add(anchor, scale(way, length / math.sqrt(squared)))


@part
def sweep(lengths, target, points):
    """Sweep tip to base and back; return the remaining distance.

    First the tip is dragged to the target, then the base to its own position.

    Where two points coincide, the bone keeps its direction.
    """
    m = lengths.shape[0]
    base, point, before = vec_at(points, 0), target, vec_at(points, m)
    put_vec(points, m, target)
    for k in range(m - 1):
        i = m - 1 - k
        # The base end of a bone is placed on the line from its new tip end to its old base end.
        old = vec_at(points, i)
        point = put_along(point, old, lengths[i], sub(old, before))
        put_vec(points, i, point)
        before = old
    # Backwards: the base keeps its position, each bone points from its base end to the dragged far end.
    point, dragged = base, add(vec_at(points, 1), sub(base, before))  # the first bone keeps its direction
    for i in range(m):
        wanted = vec_at(points, i + 1)
        point = put_along(point, wanted, lengths[i], sub(wanted, dragged))
        put_vec(points, i + 1, point)
        dragged = wanted
    return norm(sub(target, point))


@inline
def bone_of(frames, tip, i):
    """Return the bone of joint i in its moved frame. It is the position of the next joint, or of the tip."""
    return link_offset(frames, i + 1) if i + 1 < frames.shape[0] else tip


@part
def put_lengths(frames, tip, lengths):
    """Compute the bone lengths; return their sum and maximum."""
    total, longest = 0.0, 0.0
    for i in range(lengths.shape[0]):
        lengths[i] = norm(bone_of(frames, tip, i))
        total += lengths[i]
        longest = max(longest, lengths[i])
    return total, longest


@part
def point_along(lengths, target, longest, far, points):
    """Straighten the chain towards an unreachable target. It comes as near as lengths allow.

    The chain is extended towards a target that is too far. For one that is too near, the longest bone points towards it
    and all others back: the tip comes as near to the base as possible, on the target's side.
    """
    base = vec_at(points, 0)
    way = sub(target, base)
    if not dot(way, way) > NO_LENGTH:
        way = sub(vec_at(points, lengths.shape[0]), base)
        way = way if dot(way, way) > NO_LENGTH else Vec(1.0, 0.0, 0.0)
    way = scale(way, 1.0 / norm(way))
    point, passed = base, False
    for i in range(lengths.shape[0]):
        is_longest = lengths[i] == longest and not passed
        passed = passed or is_longest
        point = add(point, scale(way, lengths[i] if far or is_longest else -lengths[i]))
        put_vec(points, i + 1, point)


@part
def put_motions(frames, tip, points, start, x):
    """Compute ball rotations from the points. Shortest arcs from the start, in the parent's new frame, align the bones.

    A shortest arc adds no rotation about the bone, so that each bone keeps its twist.
    """
    frame = Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(x.shape[0]):
        frame = multiply(frame, link_rotation(frames, i))
        # Arcs from the start pose, not from the last sweep: the result depends on the points, not on the number of
        # sweeps.
        before = quat_at(start, i)
        wanted = rotate(conjugate(frame), sub(vec_at(points, i + 1), vec_at(points, i)))
        turn = rotation_between(rotate(before, bone_of(frames, tip, i)), wanted)
        turned = normalise(multiply(turn, before))
        put_quat(x, i, turned)
        frame = multiply(frame, turned)


@part
def put_points(kinds, axes, ranges, frames, tip, bend, x, points, rotations):
    """Compute the points of the motions x. A chain that is straight within `bend` is bent by it first."""
    m = kinds.shape[0]
    tip_at = store_frames(kinds, axes, frames, tip, x, points, rotations)
    if bend > 0.0 and is_straight(kinds, tip_at, points, bend):
        bend_chain(kinds, ranges, sub(tip_at, vec_at(points, 0)), rotations, bend, x)
        tip_at = store_frames(kinds, axes, frames, tip, x, points, rotations)
    put_vec(points, m, tip_at)


@kernel
def solve(
    kinds, axes, ranges, limits, frames, tips, starts, targets, options, x_out, errors, counts, trace_x, trace_error
):  # fmt: skip
    """Solve k targets (k, 3) for a chain of free balls. Each has its own start (1|k, m, 4).

    options: tolerance, iterations, bend, finish. counts (k, 2): iterations, single joint updates.
    trace_x (iterations + 1 or 0, m, 4) and trace_error are filled for the last target.
    """
    m = kinds.shape[0]
    scratch, points, home, lengths = np.empty((4, m, 4)), np.empty((m + 1, 3)), np.empty((m + 1, 3)), np.empty(m)
    total, longest, tip_at = 0.0, 0.0, Vec(0.0, 0.0, 0.0)
    for k in range(targets.shape[0]):
        chain_frames = frames[min(k, frames.shape[0] - 1)]
        start = starts[min(k, starts.shape[0] - 1)]
        tip = vec_at(tips, min(k, tips.shape[0] - 1))
        if k == 0 or frames.shape[0] > 1 or starts.shape[0] > 1:  # otherwise the start is the same for all
            total, longest = put_lengths(chain_frames, tip, lengths)
            tip_at = tip_position(kinds, axes, chain_frames, tip, start)
            copy(start, scratch[0])
            put_points(kinds, axes, ranges, chain_frames, tip, options[2], scratch[0], home, scratch[1])
        errors[k] = search(
            kinds, axes, ranges, limits, chain_frames, tip, vec_at(targets, k), tip_at, total, longest, home, start,
            options, x_out[k], counts[k], lengths, points, scratch[0], scratch[1], scratch[2], scratch[3], trace_x,
            trace_error,
        )  # fmt: skip


@part
def search(
    kinds, axes, ranges, limits, frames, tip, target, tip_at, total, longest, home, start, options, x, count, lengths,
    points, twists, rotations, trial, walls, trace_x, trace_error,
):  # fmt: skip
    """Solve one target and return the error of x.

    Closed form where the target is out of reach, else sweeps and the polish. tip_at is the tip of the start, home the
    initial points of sweeps; total and longest are the sum and maximum of lengths.
    """
    m, tolerance = kinds.shape[0], options[0]
    count[0] = 0
    count[1] = 0
    copy(start, x)
    first = norm(sub(target, tip_at))
    record(trace_x, trace_error, 0, x, first)
    if first <= tolerance or not first < math.inf or m == 0 or options[1] < 1.0:
        return first
    for i in range(m + 1):
        put_vec(points, i, vec_at(home, i))
    copy(start, twists)
    distance = norm(sub(target, vec_at(points, 0)))
    # Reach of a chain without limits: from the longest bone minus all others to the sum of all bones.
    far, near = distance >= total - tolerance, distance <= 2.0 * longest - total + tolerance
    if far or near:
        point_along(lengths, target, longest, far, points)
        put_motions(frames, tip, points, twists, x)
        count[0] = 1
        count[1] = m
        record(trace_x, trace_error, 1, x, norm(sub(target, vec_at(points, m))))
    else:
        reach(
            kinds, axes, ranges, limits, frames, tip, target, options, x, count, lengths, points, twists, rotations,
            trial, walls, trace_x, trace_error,
        )  # fmt: skip
    error = norm(sub(target, tip_position(kinds, axes, frames, tip, x)))
    # Without progress the start is returned.
    if error >= first:
        copy(start, x)
        return first
    return error


@part
def reach(
    kinds, axes, ranges, limits, frames, tip, target, options, x, count, lengths, points, twists, rotations, trial,
    walls, trace_x, trace_error,
):  # fmt: skip
    """Alternate sweeps and polish. A folded chain that stalls the polish unfolds in a sweep."""
    tolerance, iterations, finishes = options[0], int(options[1]), options[3] > 0.0
    error = drag(frames, tip, target, options, x, count, lengths, points, twists, trace_x, trace_error)
    while finishes and error > tolerance and count[0] < iterations:
        before = error
        error = finish(
            kinds, axes, ranges, limits, frames, tip, target, tolerance, iterations, x, count, trial, points,
            rotations, walls, trace_x, trace_error,
        )  # fmt: skip
        if error > tolerance and count[0] < iterations:
            # The polish has changed the twist of the bones: arcs now start from its motions.
            copy(x, twists)
            put_points(kinds, axes, ranges, frames, tip, 0.0, x, points, rotations)
            dragged = drag(frames, tip, target, options, x, count, lengths, points, twists, trace_x, trace_error)
            if dragged > error:
                copy(twists, x)
            error = min(dragged, error)
        # Neither the polish nor the sweeps reduced the error by one per cent: both stall.
        if error > (1.0 - STEADY) * before:
            break


@part
def drag(frames, tip, target, options, x, count, lengths, points, twists, trace_x, trace_error):
    """Sweep until the tip is within tolerance or sweeps are slow. Also ends when the iterations are used up.

    x becomes the motions; returns the remaining distance.
    """
    tolerance, iterations, finishes = options[0], int(options[1]), options[3] > 0.0
    error, before = math.inf, math.inf
    while count[0] < iterations and error > tolerance and not (finishes and error > SLOW * before):
        before = error
        error = sweep(lengths, target, points)
        count[0] += 1
        count[1] += lengths.shape[0]
        if count[0] < trace_error.shape[0]:
            # Sweeps need points only; motions are computed at the end, or for a trace.
            put_motions(frames, tip, points, twists, x)
            record(trace_x, trace_error, count[0], x, error)
    put_motions(frames, tip, points, twists, x)
    return error
