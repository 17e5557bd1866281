"""FABRIK for chains of balls, and for chains with hinges and limits.

The joints are points; each sweep drags them from the tip to the base and back.

Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models 73(5),
2011. A sweep uses no rotations; they are computed once at the end, so that every bone keeps its length exactly. Chains
with hinges or limits use `solve_limited`, several effectors kernels/fabrik_tree.py.

    points  (m + 1, 3+)  positions of the joints and the tip in the base frame
    lengths (m,)         bone lengths: from a joint to the next one, or to the tip
"""

from __future__ import annotations

import math

import numpy as np

from poise.kernels.ccd_position import compute_best_hinge_angle
from poise.kernels.chain_kinematics import (
    compute_motion_rotation,
    compute_tip_position,
    copy_motions,
    read_link_offset,
    read_link_rotation,
    record_trace,
    store_frames,
)
from poise.kernels.chain_polish import STALL_SHARE, polish_position
from poise.kernels.chain_restarts import bend_chain, clamp_balls, is_straight, perturb
from poise.kernels.jit import device_function, inline, kernel
from poise.kernels.layout import HINGE
from poise.kernels.limits import clamp_rotation
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    dot,
    from_axis_angle,
    multiply,
    norm,
    normalise,
    read_quat,
    read_vec,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat,
    write_vec,
)

MIN_SQUARED_LENGTH = 1e-290  # smaller squared lengths have no direction
SLOW_SHARE = 0.7  # fraction of the error: with a polish, a sweep with a larger remainder is the last


@inline
def place_at_distance(anchor, point, length, fallback):
    """Place a point at `length` from the anchor towards `point`.

    Towards the direction `fallback` where the two coincide.
    """
    direction = sub(point, anchor)
    squared = dot(direction, direction)
    if not squared > MIN_SQUARED_LENGTH:
        direction, squared = fallback, dot(fallback, fallback)
        if not squared > MIN_SQUARED_LENGTH:
            return anchor
    return add(anchor, scale(direction, length / math.sqrt(squared)))


@device_function
def sweep(lengths, target, points):
    """Sweep tip to base and back; return the remaining distance.

    First the tip is dragged to the target, then the base to its own position.

    Where two points coincide, the bone keeps its direction.
    """
    m = lengths.shape[0]
    base, point, before = read_vec(points, 0), target, read_vec(points, m)
    write_vec(points, m, target)
    for k in range(m - 1):
        i = m - 1 - k
        # The base end of a bone is placed on the line from its new tip end to its old base end.
        old = read_vec(points, i)
        point = place_at_distance(point, old, lengths[i], sub(old, before))
        write_vec(points, i, point)
        before = old
    # Backwards: the base keeps its position, each bone points from its base end to the dragged far end.
    point, dragged = base, add(read_vec(points, 1), sub(base, before))  # the first bone keeps its direction
    for i in range(m):
        dragged_end = read_vec(points, i + 1)
        point = place_at_distance(point, dragged_end, lengths[i], sub(dragged_end, dragged))
        write_vec(points, i + 1, point)
        dragged = dragged_end
    return norm(sub(target, point))


@inline
def read_bone(frames, tip, i):
    """Return the bone of joint i in its moved frame. It is the position of the next joint, or of the tip."""
    return read_link_offset(frames, i + 1) if i + 1 < frames.shape[0] else tip


@device_function
def compute_lengths(frames, tip, lengths):
    """Compute the bone lengths; return their sum and maximum."""
    total, longest = 0.0, 0.0
    for i in range(lengths.shape[0]):
        lengths[i] = norm(read_bone(frames, tip, i))
        total += lengths[i]
        longest = max(longest, lengths[i])
    return total, longest


@device_function
def straighten_towards(lengths, target, longest, is_too_far, points):
    """Straighten the chain towards an unreachable target. It comes as near as lengths allow.

    The chain is extended towards a target that is too far. For one that is too near, the longest bone points towards it
    and all others back: the tip comes as near to the base as possible, on the target's side.
    """
    base = read_vec(points, 0)
    direction = sub(target, base)
    if not dot(direction, direction) > MIN_SQUARED_LENGTH:
        direction = sub(read_vec(points, lengths.shape[0]), base)
        direction = direction if dot(direction, direction) > MIN_SQUARED_LENGTH else Vec(1.0, 0.0, 0.0)
    direction = scale(direction, 1.0 / norm(direction))
    point, passed = base, False
    for i in range(lengths.shape[0]):
        is_longest = lengths[i] == longest and not passed
        passed = passed or is_longest
        point = add(point, scale(direction, lengths[i] if is_too_far or is_longest else -lengths[i]))
        write_vec(points, i + 1, point)


@device_function
def compute_rotations(frames, tip, points, start, x):
    """Compute ball rotations from the points. Shortest arcs from the start, in the parent's new frame, align the bones.

    A shortest arc adds no rotation about the bone, so that each bone keeps its twist.
    """
    frame = Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(x.shape[0]):
        frame = multiply(frame, read_link_rotation(frames, i))
        # Arcs from the start pose, not from the last sweep: the result depends on the points, not on the number of
        # sweeps.
        before = read_quat(start, i)
        target = rotate(conjugate(frame), sub(read_vec(points, i + 1), read_vec(points, i)))
        arc = rotation_between(rotate(before, read_bone(frames, tip, i)), target)
        rotated = normalise(multiply(arc, before))
        write_quat(x, i, rotated)
        frame = multiply(frame, rotated)


@device_function
def compute_points(kinds, axes, ranges, frames, tip, bend, x, points, rotations):
    """Compute the points of the motions x. A chain that is straight within `bend` is bent by it first."""
    m = kinds.shape[0]
    tip_at = store_frames(kinds, axes, frames, tip, x, points, rotations)
    if bend > 0.0 and is_straight(kinds, tip_at, points, bend):
        bend_chain(kinds, ranges, sub(tip_at, read_vec(points, 0)), rotations, bend, x)
        tip_at = store_frames(kinds, axes, frames, tip, x, points, rotations)
    write_vec(points, m, tip_at)


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
        tip = read_vec(tips, min(k, tips.shape[0] - 1))
        if k == 0 or frames.shape[0] > 1 or starts.shape[0] > 1:  # otherwise the start is the same for all
            total, longest = compute_lengths(chain_frames, tip, lengths)
            tip_at = compute_tip_position(kinds, axes, chain_frames, tip, start)
            copy_motions(start, scratch[0])
            compute_points(kinds, axes, ranges, chain_frames, tip, options[2], scratch[0], home, scratch[1])
        errors[k] = solve_one(
            kinds, axes, ranges, limits, chain_frames, tip, read_vec(targets, k), tip_at, total, longest, home, start,
            options, x_out[k], counts[k], lengths, points, scratch[0], scratch[1], scratch[2], scratch[3], trace_x,
            trace_error,
        )  # fmt: skip


@device_function
def solve_one(
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
    copy_motions(start, x)
    start_error = norm(sub(target, tip_at))
    record_trace(trace_x, trace_error, 0, x, start_error)
    if start_error <= tolerance or not start_error < math.inf or m == 0 or options[1] < 1.0:
        return start_error
    for i in range(m + 1):
        write_vec(points, i, read_vec(home, i))
    copy_motions(start, twists)
    distance = norm(sub(target, read_vec(points, 0)))
    # Reach of a chain without limits: from the longest bone minus all others to the sum of all bones.
    is_too_far, is_too_near = distance >= total - tolerance, distance <= 2.0 * longest - total + tolerance
    if is_too_far or is_too_near:
        straighten_towards(lengths, target, longest, is_too_far, points)
        compute_rotations(frames, tip, points, twists, x)
        count[0] = 1
        count[1] = m
        record_trace(trace_x, trace_error, 1, x, norm(sub(target, read_vec(points, m))))
    else:
        sweep_and_polish(
            kinds, axes, ranges, limits, frames, tip, target, options, x, count, lengths, points, twists, rotations,
            trial, walls, trace_x, trace_error,
        )  # fmt: skip
    error = norm(sub(target, compute_tip_position(kinds, axes, frames, tip, x)))
    # Without progress the start is returned.
    if error >= start_error:
        copy_motions(start, x)
        return start_error
    return error


@device_function
def sweep_and_polish(
    kinds, axes, ranges, limits, frames, tip, target, options, x, count, lengths, points, twists, rotations, trial,
    walls, trace_x, trace_error,
):  # fmt: skip
    """Alternate sweeps and polish. A folded chain that stalls the polish unfolds in a sweep."""
    tolerance, iterations, has_polish = options[0], int(options[1]), options[3] > 0.0
    error = sweep_until_slow(frames, tip, target, options, x, count, lengths, points, twists, trace_x, trace_error)
    while has_polish and error > tolerance and count[0] < iterations:
        before = error
        error = polish_position(
            kinds, axes, ranges, limits, frames, tip, target, tolerance, iterations, x, count, trial, points,
            rotations, walls, trace_x, trace_error,
        )  # fmt: skip
        if error > tolerance and count[0] < iterations:
            # The polish has changed the twist of the bones: arcs now start from its motions.
            copy_motions(x, twists)
            compute_points(kinds, axes, ranges, frames, tip, 0.0, x, points, rotations)
            swept_error = sweep_until_slow(
                frames, tip, target, options, x, count, lengths, points, twists, trace_x, trace_error
            )
            if swept_error > error:
                copy_motions(twists, x)
            error = min(swept_error, error)
        # Neither the polish nor the sweeps reduced the error by one per cent: both stall.
        if error > (1.0 - STALL_SHARE) * before:
            break


@device_function
def sweep_until_slow(frames, tip, target, options, x, count, lengths, points, twists, trace_x, trace_error):
    """Sweep until the tip is within tolerance or sweeps are slow. Also ends when the iterations are used up.

    x becomes the motions; returns the remaining distance.
    """
    tolerance, iterations, has_polish = options[0], int(options[1]), options[3] > 0.0
    error, before = math.inf, math.inf
    while count[0] < iterations and error > tolerance and not (has_polish and error > SLOW_SHARE * before):
        before = error
        error = sweep(lengths, target, points)
        count[0] += 1
        count[1] += lengths.shape[0]
        if count[0] < trace_error.shape[0]:
            # Sweeps need points only; motions are computed at the end, or for a trace.
            compute_rotations(frames, tip, points, twists, x)
            record_trace(trace_x, trace_error, count[0], x, error)
    compute_rotations(frames, tip, points, twists, x)
    return error


# --- FABRIK for chains with limits: hinges, ranges, and limited balls ------------------------------------------------
#
# Points alone do not determine whether limits are met, so every joint also has its motion. In both passes each bone is
# rotated towards its target point as far as the limit of the joint between it and the previous bone allows. A joint's
# motion relates the two bones, whichever of them is fixed: in the pass to the base the bone nearer to the tip is fixed,
# and the inverse motion rotates the other one. Bones keep their twist unless a limit changes it.
#
# Aristidou, Chrysanthou and Lasenby, "Extending FABRIK with model constraints", Computer Animation and Virtual Worlds
# 27(1), 2016. Between hinges with different axes the error may rise; the polish in joint space lowers it.


SWEEPS_BEFORE_POLISH = 3  # sweeps before a polish


@inline
def rotate_towards(kind, axis, low, high, limit, x, i, bone, target):
    """Compute joint i's motion pointing `bone` towards `target`.

    The bone is in its moved frame, `target` in its frame; the result is a row of x.
    """
    h = rotate(compute_motion_rotation(kind, axis, x, i), bone)
    if kind == HINGE:
        return Quat(compute_best_hinge_angle(axis, x[i, 0], low, high, math.inf, h, target), 0.0, 0.0, 0.0)
    q = read_quat(x, i)
    return clamp_rotation(limit, normalise(multiply(rotation_between(h, target), q)))


@inline
def motion_to_rotation(kind, axis, row):
    """Convert a row of x to a rotation."""
    return from_axis_angle(axis, row.w) if kind == HINGE else row


@device_function
def drag_to_target(kinds, axes, ranges, limits, frames, tip, target, x, last, points):
    """Drag the chain by its tip to the target, bone by bone.

    x stays; `last` is the last bone's current rotation.
    """
    m = kinds.shape[0]
    # Start with the last bone, which no joint beyond the tip limits.
    bone = rotate(last, tip)
    rotation = multiply(rotation_between(bone, sub(target, read_vec(points, m - 1))), last)
    point = sub(target, rotate(rotation, tip))
    for k in range(m - 1):
        i = m - 1 - k
        axis, parent_from_link = read_vec(axes, i), conjugate(read_link_rotation(frames, i))
        parent = rotate(parent_from_link, scale(read_link_offset(frames, i), -1.0))
        direction = rotate(conjugate(rotation), sub(read_vec(points, i - 1), point))
        write_vec(points, i, point)
        # The child's bone is fixed: compute the motion aligning the direction to the parent's target point with the
        # parent's offset in the joint's own frame.
        row = rotate_towards(kinds[i], axis, ranges[i, 0], ranges[i, 1], limits[i], x, i, direction, parent)
        frame = multiply(rotation, conjugate(motion_to_rotation(kinds[i], axis, row)))
        point = add(point, rotate(frame, parent))
        rotation = multiply(frame, parent_from_link)
    write_vec(points, m, target)


@device_function
def drag_to_base(kinds, axes, ranges, limits, frames, tip, x, points):
    """Drag the chain by its base back to its position.

    x becomes its motions. Returns the last bone's rotation.
    """
    point, frame, rotation = read_vec(points, 0), read_link_rotation(frames, 0), Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(kinds.shape[0]):
        axis, bone = read_vec(axes, i), read_bone(frames, tip, i)
        direction = rotate(conjugate(frame), sub(read_vec(points, i + 1), point))
        row = rotate_towards(kinds[i], axis, ranges[i, 0], ranges[i, 1], limits[i], x, i, bone, direction)
        write_quat(x, i, row)
        rotation = multiply(frame, motion_to_rotation(kinds[i], axis, row))
        point = add(point, rotate(rotation, bone))
        write_vec(points, i + 1, point)
        if i + 1 < kinds.shape[0]:
            frame = multiply(rotation, read_link_rotation(frames, i + 1))
    return rotation


@kernel
def solve_limited(
    kinds, axes, ranges, limits, frames, tips, starts, targets, options, x_out, errors, counts, trace_x, trace_error
):  # fmt: skip
    """Solve k targets (k, 3) for a limited chain.

    It has balls and hinges. Each target has its own start (1|k, m, 4), inside the limits.

    options: tolerance, iterations, bend, finish, restarts. The rest: see kernels/fabrik.py.
    """
    m = kinds.shape[0]
    scratch, points = np.empty((4, m, 4)), np.empty((m + 1, 3))
    for k in range(targets.shape[0]):
        chain_frames = frames[min(k, frames.shape[0] - 1)]
        start = starts[min(k, starts.shape[0] - 1)]
        tip = read_vec(tips, min(k, tips.shape[0] - 1))
        errors[k] = solve_one_limited(
            kinds, axes, ranges, limits, chain_frames, tip, read_vec(targets, k), start, options, x_out[k], counts[k],
            points, scratch[0], scratch[1], scratch[2], scratch[3], trace_x, trace_error,
        )  # fmt: skip


@device_function
def solve_one_limited(
    kinds, axes, ranges, limits, frames, tip, target, start, options, x, count, points, rotations, trial, walls, best,
    trace_x, trace_error,
):  # fmt: skip
    """Solve one target, with restarts; return the error of x.

    Sweeps and polishes from the start, then from perturbed poses. x becomes the best pose.
    """
    tolerance, iterations, bend, has_polish = options[0], int(options[1]), options[2], options[3] > 0.0
    restarts = int(options[4]) if has_polish else 0
    count[0] = 0
    count[1] = 0
    copy_motions(start, x)
    copy_motions(start, best)
    best_error = norm(sub(target, compute_tip_position(kinds, axes, frames, tip, x)))
    record_trace(trace_x, trace_error, 0, x, best_error)
    # A chain without joints, or a start whose error is not finite: no attempt at all.
    attempt = 0 if kinds.shape[0] > 0 and best_error < math.inf else restarts + 1
    while attempt <= restarts and count[0] < iterations and best_error > tolerance:
        if attempt > 0:
            perturb(kinds, ranges, start, attempt, x)
        # Bends a straight chain; bends and perturbations ignore limits, so balls are clamped afterwards.
        compute_points(kinds, axes, ranges, frames, tip, bend, x, points, rotations)
        clamp_balls(kinds, limits, x)
        attempt += 1
        best_error = sweep_limited(
            kinds, axes, ranges, limits, frames, tip, target, options, best_error, x, count, points, rotations, best,
            trace_x, trace_error,
        )  # fmt: skip
        if has_polish and best_error > tolerance:
            error = polish_position(
                kinds, axes, ranges, limits, frames, tip, target, tolerance, iterations, x, count, trial, points,
                rotations, walls, trace_x, trace_error,
            )  # fmt: skip
            best_error = store_if_best(x, error, best, best_error)
    copy_motions(best, x)
    return best_error


@inline
def store_if_best(x, error, best, best_error):
    """Store x if it is better; return the least error."""
    if error < best_error:
        copy_motions(x, best)
        return error
    return best_error


@device_function
def sweep_limited(
    kinds, axes, ranges, limits, frames, tip, target, options, best_error, x, count, points, rotations, best, trace_x,
    trace_error,
):  # fmt: skip
    """Sweep a few times before a polish, else until done.

    `best` stores the best pose. Returns its error.
    """
    m, tolerance, iterations = kinds.shape[0], options[0], int(options[1])
    last = count[0] + SWEEPS_BEFORE_POLISH if options[3] > 0.0 else iterations
    compute_points(kinds, axes, ranges, frames, tip, 0.0, x, points, rotations)
    i = m - 1
    rotation = multiply(read_quat(rotations, i), compute_motion_rotation(kinds[i], read_vec(axes, i), x, i))
    while count[0] < min(last, iterations) and best_error > tolerance:
        drag_to_target(kinds, axes, ranges, limits, frames, tip, target, x, rotation, points)
        rotation = drag_to_base(kinds, axes, ranges, limits, frames, tip, x, points)
        error = norm(sub(target, read_vec(points, m)))
        count[0] += 1
        count[1] += m
        # With limits a sweep may raise the error, so the best pose is stored.
        best_error = store_if_best(x, error, best, best_error)
        record_trace(trace_x, trace_error, count[0], x, error)
    return best_error
