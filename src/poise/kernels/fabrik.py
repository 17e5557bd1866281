# pyright: standard
"""FABRIK for chains of balls, and for chains with hinges and limits.

Forward and backward reaching inverse kinematics.

The joints are points; each sweep drags them from the tip to the base and back.

Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models 73(5),
2011. Sweeps of chains of free balls use no rotations; they are computed once at the end, so that every bone keeps its
length exactly. Chains with hinges or limits use `solve_limited`, several effectors kernels/fabrik_tree.py.

    points  (m + 1, 3+)  positions of the joints and the tip in the base frame [chain sizes]
    lengths (m,)         bone lengths [chain sizes]: from a joint to the next one, or to the tip
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.ccd_position import compute_best_hinge_angle
from poise.kernels.chain_kinematics import (
    ChainOutput,
    PositionChain,
    clear,
    compute_motion_rotation,
    compute_tip_position,
    copy_motions,
    read_joint,
    read_link_offset,
    read_link_rotation,
    record_trace,
    store_frames_and_point,
)
from poise.kernels.chain_polish import MIN_POLISH_DECREASE, PositionPolishWorkspace, polish_position
from poise.kernels.chain_restarts import bend_chain, clamp_balls, is_straight, perturb, store_if_best
from poise.kernels.chain_targets import CHAIN_SIGNATURE, ChainConstants, ChainResults, ChainStarts, solve_chain
from poise.kernels.device_functions import device_function, inline, never_inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import SCALAR, view_lanes
from poise.kernels.layout import COUNT_ITERATIONS, COUNT_JOINT_STEPS, HINGE, OUTCOME_ERROR, OUTCOME_IS_MET
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
SLOW_SWEEP_RATIO = 0.7  # fraction of the error: with a polish, a sweep with a larger remainder is the last


class FabrikOptions(NamedTuple):
    """Solver options, equal for every problem."""

    tolerance: float  # distance, chain sizes
    iterations: int  # maximum of sweeps and polish steps
    initial_bend: float  # [rad] initial bend of a straight chain; 0: none
    has_polish: bool  # whether to polish where sweeps converge slowly
    restarts: int  # of limited chains


@inline
def read_options(option_row):
    """Read the options from an array (5,), see `FABRIK._pack` in solvers/fabrik.py."""
    return FabrikOptions(option_row[0], int(option_row[1]), option_row[2], option_row[3] > 0.0, int(option_row[4]))


@inline
def place_at_distance(anchor, point, length, fallback):
    """Place a point at `length` from the anchor towards `point`.

    Towards the direction `fallback` where the two coincide.
    """
    direction = sub(point, anchor)
    squared_length = dot(direction, direction)
    if not squared_length > MIN_SQUARED_LENGTH:
        direction, squared_length = fallback, dot(fallback, fallback)
        if not squared_length > MIN_SQUARED_LENGTH:
            return anchor
    return add(anchor, scale(direction, length / math.sqrt(squared_length)))


@device_function
def sweep(lengths, target, points):
    """Sweep tip to base and back; return the remaining distance.

    First the tip is dragged to the target, then the base to its own position.

    Where two points coincide, the bone keeps its direction.
    """
    m = lengths.shape[0]
    base, point, previous_end = read_vec(points, 0), target, read_vec(points, m)
    write_vec(points, m, target)
    for k in range(m - 1):
        i = m - 1 - k
        # The base end of a bone is placed on the line from its new tip end to its old base end.
        old_start = read_vec(points, i)
        point = place_at_distance(point, old_start, lengths[i], sub(old_start, previous_end))
        write_vec(points, i, point)
        previous_end = old_start
    # Backwards: the base keeps its position, each bone points from its base end to the dragged far end.
    point, dragged_start = base, add(read_vec(points, 1), sub(base, previous_end))  # the first bone keeps its direction
    for i in range(m):
        dragged_end = read_vec(points, i + 1)
        point = place_at_distance(point, dragged_end, lengths[i], sub(dragged_end, dragged_start))
        write_vec(points, i + 1, point)
        dragged_start = dragged_end
    return norm(sub(target, point))


@inline
def read_bone(chain, i):
    """Return the bone of joint i in its moved frame. It is the position of the next joint, or of the tip."""
    return read_link_offset(chain.frames, i + 1) if i + 1 < chain.frames.shape[0] else chain.tip


@device_function
def compute_lengths(chain, lengths):
    """Compute the bone lengths; return their sum and maximum."""
    total_length, longest_bone = 0.0, 0.0
    for i in range(lengths.shape[0]):
        lengths[i] = norm(read_bone(chain, i))
        total_length += lengths[i]
        longest_bone = max(longest_bone, lengths[i])
    return total_length, longest_bone


@device_function
def straighten_towards(target, longest_bone, is_too_far, workspace):
    """Straighten the chain towards an unreachable target. It comes as near as lengths allow.

    The chain is extended towards a target that is too far. For one that is too near, the longest bone points towards it
    and all others back: the tip comes as near to the base as possible, on the target's side.
    """
    lengths, points = workspace.lengths, workspace.polish.origins
    base = read_vec(points, 0)
    direction = sub(target, base)
    if not dot(direction, direction) > MIN_SQUARED_LENGTH:
        direction = sub(read_vec(points, lengths.shape[0]), base)
        direction = direction if dot(direction, direction) > MIN_SQUARED_LENGTH else Vec(1.0, 0.0, 0.0)
    direction = scale(direction, 1.0 / norm(direction))
    point, has_passed_longest = base, False
    for i in range(lengths.shape[0]):
        is_longest = lengths[i] == longest_bone and not has_passed_longest
        has_passed_longest = has_passed_longest or is_longest
        point = add(point, scale(direction, lengths[i] if is_too_far or is_longest else -lengths[i]))
        write_vec(points, i + 1, point)


@device_function
def compute_rotations(chain, points, start_x, x):
    """Compute ball rotations from the points. Shortest arcs from the start, in the parent's new frame, align the bones.

    A shortest arc adds no rotation about the bone, so that each bone keeps its twist.
    """
    frame = Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(x.shape[0]):
        frame = multiply(frame, read_link_rotation(chain.frames, i))
        # Arcs from the start pose, not from the last sweep: the result depends on the points, not on the number of
        # sweeps.
        start_rotation = read_quat(start_x, i)
        target_direction = rotate(conjugate(frame), sub(read_vec(points, i + 1), read_vec(points, i)))
        arc = rotation_between(rotate(start_rotation, read_bone(chain, i)), target_direction)
        new_motion = normalise(multiply(arc, start_rotation))
        write_quat(x, i, new_motion)
        frame = multiply(frame, new_motion)


@device_function
def compute_points(chain, bend_angle, x, points, rotations):
    """Compute the points of the motions x. A chain that is straight within `bend_angle` is bent by it first."""
    link_kinds = chain.link_kinds
    tip_position = store_frames_and_point(chain, chain.tip, x, points, rotations)
    if bend_angle > 0.0 and is_straight(link_kinds, tip_position, points, bend_angle):
        bend_chain(link_kinds, chain.ranges, sub(tip_position, read_vec(points, 0)), rotations, bend_angle, x)
        tip_position = store_frames_and_point(chain, chain.tip, x, points, rotations)
    write_vec(points, link_kinds.shape[0], tip_position)


class FreeStart(NamedTuple):
    """Start of a chain of free balls, shared by many targets."""

    start_x: Any  # (m, 4) motions
    tip_position: Vec  # position of the tip
    initial_points: Any  # (m + 1, 3) initial points of sweeps, after a bend
    total_length: float  # sum of the bone lengths
    longest_bone: float  # maximum of the bone lengths


class FreeWorkspace(NamedTuple):
    """Workspace of a chain of free balls."""

    lengths: Any  # (m,) bone lengths
    arc_start_x: Any  # (m, 4) motions from which the shortest arcs of bones start
    polish: PositionPolishWorkspace  # its origins are the points (m + 1, 3)


@inline
def compute_work_size(m):
    """Compute the scratch memory size for m links."""
    return 23 * m + 6


@kernel(CHAIN_SIGNATURE)
def solve(
    packed_chain, packed_layout, link_kinds, frames, reach_ranges, far_reaches, base_transforms, start_x, start_q,
    world_targets, q, error_parts, outcomes, counts, trace_x, trace_error, work,
):  # fmt: skip
    """Solve targets of a chain of free balls. See kernels/chain_targets.py."""
    starts = ChainStarts(frames, reach_ranges, far_reaches, base_transforms, start_x, start_q)
    results = ChainResults(q, error_parts, outcomes, counts, trace_x, trace_error)
    chain = ChainConstants(packed_chain, packed_layout, link_kinds)
    return solve_chain(solve_free_in_base, chain, starts, world_targets, results, work)


@never_inline
def solve_free_in_base(base_chain, targets, results, work):
    """Solve a chain of free balls in the base frame; see `solve_chain`.

    options: see `read_options`. counts: iterations, single joint updates. work: scratch memory for `compute_work_size`
    numbers.
    """
    link_kinds, tables, frames, _, start_x = base_chain
    m, options = link_kinds.shape[0], read_options(tables.options)
    clear(work, compute_work_size(m))
    scratch, points = view_lanes(SCALAR, work, 0, 4, m, 4), view_lanes(SCALAR, work, 16 * m, m + 1, 3)
    initial_points, lengths = view_lanes(SCALAR, work, 19 * m + 3, m + 1, 3), view_lanes(SCALAR, work, 22 * m + 6, m)
    workspace = FreeWorkspace(lengths, scratch[0], PositionPolishWorkspace(scratch[2], points, scratch[1], scratch[3]))
    total_length, longest_bone, tip_position = 0.0, 0.0, Vec(0.0, 0.0, 0.0)
    tip = read_vec(tables.tip, 0)
    for k in range(targets.shape[0]):
        start = start_x[min(k, start_x.shape[0] - 1)]
        chain = PositionChain(
            link_kinds, tables.axes, tables.ranges, tables.limits, frames[min(k, frames.shape[0] - 1)], tip
        )
        if k == 0 or frames.shape[0] > 1 or start_x.shape[0] > 1:  # otherwise the start is the same for all
            total_length, longest_bone = compute_lengths(chain, lengths)
            tip_position = compute_tip_position(chain, start)
            copy_motions(start, scratch[0])
            compute_points(chain, options.initial_bend, scratch[0], initial_points, scratch[1])
        free_start = FreeStart(start, tip_position, initial_points, total_length, longest_bone)
        output = ChainOutput(results.x[k], results.counts[k], results.trace_x, results.trace_error)
        error = solve_one(chain, read_vec(targets, k), free_start, options, output, workspace)
        store_outcome(results.outcomes[k], error, options.tolerance)


@inline
def store_outcome(outcome, error, tolerance):
    """Store the error of a target, and whether it is within tolerance."""
    outcome[OUTCOME_ERROR], outcome[OUTCOME_IS_MET] = error, 1.0 if error <= tolerance else 0.0


@device_function
def solve_one(chain, target, free_start, options, output, workspace):
    """Solve one target and return the error of output.x.

    Closed form where the target is out of reach, else sweeps and the polish.
    """
    m, tolerance, x, counts = chain.link_kinds.shape[0], options.tolerance, output.x, output.counts
    points = workspace.polish.origins
    counts[COUNT_ITERATIONS], counts[COUNT_JOINT_STEPS] = 0, 0
    copy_motions(free_start.start_x, x)
    start_error = norm(sub(target, free_start.tip_position))
    record_trace(output, start_error)
    if start_error <= tolerance or not start_error < math.inf or m == 0 or options.iterations < 1:
        return start_error
    for i in range(m + 1):
        write_vec(points, i, read_vec(free_start.initial_points, i))
    copy_motions(free_start.start_x, workspace.arc_start_x)
    distance = norm(sub(target, read_vec(points, 0)))
    # Reach of a chain without limits: from the longest bone minus all others to the sum of all bones.
    is_too_far = distance >= free_start.total_length - tolerance
    is_too_near = distance <= 2.0 * free_start.longest_bone - free_start.total_length + tolerance
    if is_too_far or is_too_near:
        straighten_towards(target, free_start.longest_bone, is_too_far, workspace)
        compute_rotations(chain, points, workspace.arc_start_x, x)
        counts[COUNT_ITERATIONS], counts[COUNT_JOINT_STEPS] = 1, m
        record_trace(output, norm(sub(target, read_vec(points, m))))
    else:
        sweep_and_polish(chain, target, options, output, workspace)
    error = norm(sub(target, compute_tip_position(chain, x)))
    # Without progress the start is returned.
    if error >= start_error:
        copy_motions(free_start.start_x, x)
        return start_error
    return error


@device_function
def sweep_and_polish(chain, target, options, output, workspace):
    """Alternate sweeps and polish. A folded chain that stalls the polish unfolds in a sweep."""
    tolerance, x, counts, polish = options.tolerance, output.x, output.counts, workspace.polish
    error = sweep_until_slow(chain, target, options, output, workspace)
    while options.has_polish and error > tolerance and counts[COUNT_ITERATIONS] < options.iterations:
        last_error = error
        error = polish_position(chain, target, options, output, polish)
        if error > tolerance and counts[COUNT_ITERATIONS] < options.iterations:
            # The polish has changed the twist of the bones: arcs now start from its motions.
            copy_motions(x, workspace.arc_start_x)
            compute_points(chain, 0.0, x, polish.origins, polish.rotations)
            swept_error = sweep_until_slow(chain, target, options, output, workspace)
            if swept_error > error:
                copy_motions(workspace.arc_start_x, x)
            error = min(swept_error, error)
        # Neither the polish nor the sweeps reduced the error by one per cent: both stall.
        if error > (1.0 - MIN_POLISH_DECREASE) * last_error:
            break


@device_function
def sweep_until_slow(chain, target, options, output, workspace):
    """Sweep until the tip is within tolerance or sweeps are slow. Also ends when the iterations are used up.

    output.x becomes the motions; returns the remaining distance.
    """
    counts, points = output.counts, workspace.polish.origins
    error, last_error = math.inf, math.inf
    while (
        counts[COUNT_ITERATIONS] < options.iterations
        and error > options.tolerance
        and not (options.has_polish and error > SLOW_SWEEP_RATIO * last_error)
    ):
        last_error = error
        error = sweep(workspace.lengths, target, points)
        counts[COUNT_ITERATIONS] += 1
        counts[COUNT_JOINT_STEPS] += workspace.lengths.shape[0]
        if counts[COUNT_ITERATIONS] < output.trace_error.shape[0]:
            # Sweeps need points only; motions are computed at the end, or for a trace.
            compute_rotations(chain, points, workspace.arc_start_x, output.x)
            record_trace(output, error)
    compute_rotations(chain, points, workspace.arc_start_x, output.x)
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
def rotate_towards(joint, x, i, local_bone, local_target):
    """Compute joint i's motion pointing `local_bone` towards `local_target`.

    The bone is in its moved frame, `local_target` in its frame; the result is a row of x.
    """
    rotated_bone = rotate(compute_motion_rotation(joint.link_kind, joint.axis, x, i), local_bone)
    if joint.link_kind == HINGE:
        angle = compute_best_hinge_angle(
            joint.axis, x[i, 0], joint.low, joint.high, math.inf, rotated_bone, local_target
        )
        return Quat(angle, 0.0, 0.0, 0.0)
    q = read_quat(x, i)
    return clamp_rotation(joint.limit, normalise(multiply(rotation_between(rotated_bone, local_target), q)))


@inline
def motion_to_rotation(joint, motion):
    """Convert a motion, a row of x, to a rotation."""
    return from_axis_angle(joint.axis, motion.w) if joint.link_kind == HINGE else motion


@device_function
def drag_to_target(chain, target, x, tip_link_rotation, points):
    """Drag the chain by its tip to the target, bone by bone.

    x stays; `tip_link_rotation` is the last bone's current rotation.
    """
    m = chain.link_kinds.shape[0]
    # Start with the last bone, which no joint beyond the tip limits.
    bone = rotate(tip_link_rotation, chain.tip)
    rotation = multiply(rotation_between(bone, sub(target, read_vec(points, m - 1))), tip_link_rotation)
    point = sub(target, rotate(rotation, chain.tip))
    for k in range(m - 1):
        i = m - 1 - k
        joint, link_from_parent = read_joint(chain, i), conjugate(read_link_rotation(chain.frames, i))
        parent_offset = rotate(link_from_parent, scale(read_link_offset(chain.frames, i), -1.0))
        direction = rotate(conjugate(rotation), sub(read_vec(points, i - 1), point))
        write_vec(points, i, point)
        # The child's bone is fixed: compute the motion aligning the direction to the parent's target point with the
        # parent's offset in the joint's own frame.
        link_motion = rotate_towards(joint, x, i, direction, parent_offset)
        frame = multiply(rotation, conjugate(motion_to_rotation(joint, link_motion)))
        point = add(point, rotate(frame, parent_offset))
        rotation = multiply(frame, link_from_parent)
    write_vec(points, m, target)


@device_function
def drag_to_base(chain, x, points):
    """Drag the chain by its base back to its position.

    x becomes its motions. Returns the last bone's rotation.
    """
    point, frame, rotation = read_vec(points, 0), read_link_rotation(chain.frames, 0), Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(chain.link_kinds.shape[0]):
        joint, bone = read_joint(chain, i), read_bone(chain, i)
        direction = rotate(conjugate(frame), sub(read_vec(points, i + 1), point))
        new_motion = rotate_towards(joint, x, i, bone, direction)
        write_quat(x, i, new_motion)
        rotation = multiply(frame, motion_to_rotation(joint, new_motion))
        point = add(point, rotate(rotation, bone))
        write_vec(points, i + 1, point)
        if i + 1 < chain.link_kinds.shape[0]:
            frame = multiply(rotation, read_link_rotation(chain.frames, i + 1))
    return rotation


class LimitedWorkspace(NamedTuple):
    """Workspace of a limited chain."""

    best_x: Any  # (m, 4) best motions
    best_outcome: Any  # (2,) their error, and 1 if it is within tolerance
    polish: PositionPolishWorkspace  # its origins are the points (m + 1, 3)


@kernel(CHAIN_SIGNATURE)
def solve_limited(
    packed_chain, packed_layout, link_kinds, frames, reach_ranges, far_reaches, base_transforms, start_x, start_q,
    world_targets, q, error_parts, outcomes, counts, trace_x, trace_error, work,
):  # fmt: skip
    """Solve targets of a limited chain. See kernels/chain_targets.py."""
    starts = ChainStarts(frames, reach_ranges, far_reaches, base_transforms, start_x, start_q)
    results = ChainResults(q, error_parts, outcomes, counts, trace_x, trace_error)
    chain = ChainConstants(packed_chain, packed_layout, link_kinds)
    return solve_chain(solve_limited_in_base, chain, starts, world_targets, results, work)


@never_inline
def solve_limited_in_base(base_chain, targets, results, work):
    """Solve targets of a limited chain in the base frame; see `solve_free_in_base`.

    It has balls and hinges. The starts are inside the limits.
    """
    link_kinds, tables, frames, _, start_x = base_chain
    m, options = link_kinds.shape[0], read_options(tables.options)
    clear(work, compute_work_size(m))
    scratch, points = view_lanes(SCALAR, work, 0, 4, m, 4), view_lanes(SCALAR, work, 16 * m, m + 1, 3)
    best_outcome = view_lanes(SCALAR, work, 19 * m + 3, 2)
    polish = PositionPolishWorkspace(scratch[1], points, scratch[0], scratch[2])
    workspace = LimitedWorkspace(scratch[3], best_outcome, polish)
    tip = read_vec(tables.tip, 0)
    for k in range(targets.shape[0]):
        start = start_x[min(k, start_x.shape[0] - 1)]
        chain = PositionChain(
            link_kinds, tables.axes, tables.ranges, tables.limits, frames[min(k, frames.shape[0] - 1)], tip
        )
        output = ChainOutput(results.x[k], results.counts[k], results.trace_x, results.trace_error)
        solve_one_limited(chain, read_vec(targets, k), start, options, output, workspace)
        store_outcome(results.outcomes[k], best_outcome[OUTCOME_ERROR], options.tolerance)


@device_function
def solve_one_limited(chain, target, start_x, options, output, workspace):
    """Solve one target, with restarts.

    Sweeps and polishes from the start, then from perturbed poses. output.x becomes the best pose.
    """
    x, counts, best_outcome, polish = output.x, output.counts, workspace.best_outcome, workspace.polish
    max_restarts = options.restarts if options.has_polish else 0
    counts[COUNT_ITERATIONS], counts[COUNT_JOINT_STEPS] = 0, 0
    copy_motions(start_x, x)
    copy_motions(start_x, workspace.best_x)
    best_outcome[OUTCOME_ERROR] = norm(sub(target, compute_tip_position(chain, x)))
    record_trace(output, best_outcome[OUTCOME_ERROR])
    # A chain without joints, or a start whose error is not finite: no attempt at all.
    attempt = 0 if chain.link_kinds.shape[0] > 0 and best_outcome[OUTCOME_ERROR] < math.inf else max_restarts + 1
    while (
        attempt <= max_restarts
        and counts[COUNT_ITERATIONS] < options.iterations
        and best_outcome[OUTCOME_ERROR] > options.tolerance
    ):
        if attempt > 0:
            perturb(chain.link_kinds, chain.ranges, start_x, attempt, x)
        # Bends a straight chain; bends and perturbations ignore limits, so balls are clamped afterwards.
        compute_points(chain, options.initial_bend, x, polish.origins, polish.rotations)
        clamp_balls(chain.link_kinds, chain.limits, x)
        attempt += 1
        sweep_limited(chain, target, options, output, workspace)
        if options.has_polish and best_outcome[OUTCOME_ERROR] > options.tolerance:
            error = polish_position(chain, target, options, output, polish)
            store_if_best(x, error, error <= options.tolerance, workspace)
    copy_motions(workspace.best_x, x)


@device_function
def sweep_limited(chain, target, options, output, workspace):
    """Sweep a few times before a polish, else until done. The workspace holds the best pose."""
    x, counts, points, rotations = output.x, output.counts, workspace.polish.origins, workspace.polish.rotations
    max_sweeps = counts[COUNT_ITERATIONS] + SWEEPS_BEFORE_POLISH if options.has_polish else options.iterations
    compute_points(chain, 0.0, x, points, rotations)
    m, last_link = chain.link_kinds.shape[0], chain.link_kinds.shape[0] - 1
    rotation = multiply(
        read_quat(rotations, last_link),
        compute_motion_rotation(chain.link_kinds[last_link], read_vec(chain.axes, last_link), x, last_link),
    )
    while (
        counts[COUNT_ITERATIONS] < min(max_sweeps, options.iterations)
        and workspace.best_outcome[OUTCOME_ERROR] > options.tolerance
    ):
        drag_to_target(chain, target, x, rotation, points)
        rotation = drag_to_base(chain, x, points)
        error = norm(sub(target, read_vec(points, m)))
        counts[COUNT_ITERATIONS] += 1
        counts[COUNT_JOINT_STEPS] += m
        # With limits a sweep may raise the error, so the best pose is stored.
        store_if_best(x, error, error <= options.tolerance, workspace)
        record_trace(output, error)
