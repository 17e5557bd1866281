# pyright: standard
"""FABRIK for trees of bones with several position goals.

At a branching joint each branch counts by the weight of its goals.

A sweep has two passes. From the tips to the root each joint gets a wanted position at which the end of its bone would
be right; a joint with several bones (a chest with two shoulders and a neck) gets the mean of its bones' wanted
positions, weighted by the goals below each. From the root to the tips each joint is placed at its parent's end and
rotated towards the wanted positions of its bones, inside its limit. A joint with one bone rotates by a shortest arc;
one with several bones is rigid and gets the least-squares rotation of all of them.

Aristidou and Lasenby, Graphical Models 73(5), 2011, section 4.2. There the bones of a sub-base are independent.

    nodes, frames, terms, effectors, targets  see kernels/problem_arrays.py; no SLIDE or MOVE, all terms POSITION
    first_bones (n + 1,), bones (b, 2)   node i has the bones first_bones[i]..first_bones[i + 1]: kind of its end (0 a
                                         node, 1 a term) and the end's number
    goal_weights (n + t,)                total weight of the goals below each node; then of each term
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels import layout, thresholds
from poise.kernels.chain_kinematics import clear
from poise.kernels.chain_polish import Sym3, add_ball, make_small_rotation, solve_sym3
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import SCALAR, view_lanes
from poise.kernels.layout import (
    BALL,
    BONE_END_INDEX,
    BONE_END_KIND,
    COUNT_IS_MET,
    COUNT_ITERATIONS,
    COUNT_JOINT_STEPS,
    FIXED,
    HINGE,
    TERM_END,
)
from poise.kernels.limits import clamp, clamp_angle, clamp_rotation
from poise.kernels.problem_arrays import read_node, read_term
from poise.kernels.vec_quat import (
    Vec,
    add,
    conjugate,
    cross,
    dot,
    from_axis_angle,
    multiply,
    norm,
    normalise,
    read_quat,
    read_quat_at,
    read_vec,
    read_vec_at,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat,
    write_vec,
)

SLOW_SWEEP_RATIO = 0.7  # error ratio of a sweep above which sweeps end, if a polish follows
FIT_STEPS = 3  # Gauss-Newton steps of a rotation fit; the next sweep fits again
FIT_DAMPING = 1e-12  # damping of a fit relative to its trace; bones on one line leave a rotation about it undefined


class BoneTree(NamedTuple):
    """Bones of a tree of n nodes, in kernel units.

    frames  (n, 9), terms (t, 6), effectors (t, 15)   of one problem, see kernels/problem_arrays.py
    first_bones   (n + 1,)                      first bone of each node, see the module
    bones         (b, 2)                        kind and number of each bone's end
    goal_weights  (n + t,)                      weights of nodes and terms
    """

    frames: Any
    terms: Any
    effectors: Any
    first_bones: Any
    bones: Any
    goal_weights: Any


class TreePose(NamedTuple):
    """Pose of a tree, in the base frame and kernel units.

    points            (n, 3)   positions of the nodes
    rotations         (n, 4)   rotations of the moved frames, w x y z
    wanted_positions  (n, 3)   wanted by the bones of each node
    """

    points: Any
    rotations: Any
    wanted_positions: Any


class TreeState(NamedTuple):
    """Joints of a tree and their state during the sweeps.

    nodes   (n, 4), dofs (nd, 4)   see kernels/problem_arrays.py
    limits  (n, LIMIT_ROW)         see kernels/limits.py
    u       (nu,)                  the configuration; `pose` belongs to it
    """

    nodes: Any
    dofs: Any
    limits: Any
    pose: TreePose
    u: Any


class SweepTrace(NamedTuple):
    """Configurations u (r, nu) and errors (r,) after each sweep.

    r is one more than the largest number of sweeps, or 0 without a trace.
    """

    u: Any
    error: Any


@inline
def read_bone(tree, b):
    """Return bone b in its node's moved frame."""
    bones = tree.bones
    return (
        read_vec_at(tree.effectors[bones[b, BONE_END_INDEX]], layout.EFFECTOR_POINT)
        if bones[b, BONE_END_KIND] == TERM_END
        else read_vec_at(tree.frames[bones[b, BONE_END_INDEX]], layout.FRAME_OFFSET)
    )


@inline
def read_bone_target(tree, target, wanted_positions, b):
    """Return the wanted end of bone b. It is a goal's target, or the wanted position of the next node."""
    bones = tree.bones
    if bones[b, BONE_END_KIND] == TERM_END:
        return read_vec_at(target, read_term(tree.terms, bones[b, BONE_END_INDEX]).target_start)
    return read_vec(wanted_positions, bones[b, BONE_END_INDEX])


@inline
def read_bone_weight(tree, b):
    """Return the total goal weight below bone b."""
    n, bones, goal_weights = tree.first_bones.shape[0] - 1, tree.bones, tree.goal_weights
    return (
        goal_weights[n + bones[b, BONE_END_INDEX]]
        if bones[b, BONE_END_KIND] == TERM_END
        else goal_weights[bones[b, BONE_END_INDEX]]
    )


@device_function
def fit_rotation(tree, target, wanted_positions, pivot, i, rotation):
    """Fit node i's rotation to the wanted ends of its bones. The rotation is in the base frame."""
    first_bone, last_bone = tree.first_bones[i], tree.first_bones[i + 1]
    if last_bone - first_bone == 1:
        bone, wanted_offset = (
            read_bone(tree, first_bone),
            sub(read_bone_target(tree, target, wanted_positions, first_bone), pivot),
        )
        # A shortest arc keeps the twist about the bone; a fit would leave it undefined.
        return normalise(multiply(rotation_between(rotate(rotation, bone), wanted_offset), rotation))
    for _ in range(FIT_STEPS):
        normal_matrix, torque = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), Vec(0.0, 0.0, 0.0)
        for b in range(first_bone, last_bone):
            weight = read_bone_weight(tree, b)
            bone_offset = rotate(rotation, read_bone(tree, b))
            wanted_offset = sub(read_bone_target(tree, target, wanted_positions, b), pivot)
            # The normal equations of a ball joint in the polish, with `wanted_offset` the wanted end of the bone.
            normal_matrix = add_ball(normal_matrix, scale(bone_offset, math.sqrt(weight)))
            torque = add(torque, scale(cross(bone_offset, wanted_offset), weight))
        damping = FIT_DAMPING * (normal_matrix.xx + normal_matrix.yy + normal_matrix.zz)
        # All bones have zero length or no goals below: nothing to fit.
        if not damping > 0.0:
            return rotation
        rotation = normalise(multiply(make_small_rotation(solve_sym3(normal_matrix, damping, torque)), rotation))
    return rotation


@device_function
def forward_pass(nodes, tree, target, pose):
    """Run the pass from the tips to the root. Each node gets the weighted mean of its wanted positions."""
    wanted_positions, n = pose.wanted_positions, nodes.shape[0]
    for k in range(n):
        i = n - 1 - k
        if read_node(nodes, i).motion == FIXED:
            continue
        # Rotate first, then compute the wanted position: where a rotation is enough, the joint need not move.
        point = read_vec(pose.points, i)
        rotation = fit_rotation(tree, target, wanted_positions, point, i, read_quat(pose.rotations, i))
        write_quat(pose.rotations, i, rotation)
        total_weight, weighted_sum = 0.0, Vec(0.0, 0.0, 0.0)
        for b in range(tree.first_bones[i], tree.first_bones[i + 1]):
            weight = read_bone_weight(tree, b)
            wanted_end = read_bone_target(tree, target, wanted_positions, b)
            proposed_position = sub(wanted_end, rotate(rotation, read_bone(tree, b)))
            total_weight, weighted_sum = total_weight + weight, add(weighted_sum, scale(proposed_position, weight))
        write_vec(wanted_positions, i, scale(weighted_sum, 1.0 / total_weight) if total_weight > 0.0 else point)


@inline
def fit_hinge(tree, target, wanted_positions, point, frame, low, high, hinge_value, i):
    """Fit a hinge value to the wanted ends of its bones. The hinge rotates about z of its frame."""
    cosine, sine = 0.0, 0.0
    current_rotation = from_axis_angle(Vec(0.0, 0.0, 1.0), hinge_value)
    for b in range(tree.first_bones[i], tree.first_bones[i + 1]):
        bone_offset = rotate(current_rotation, read_bone(tree, b))
        wanted_offset = rotate(conjugate(frame), sub(read_bone_target(tree, target, wanted_positions, b), point))
        weight = read_bone_weight(tree, b)
        cosine += weight * (bone_offset.x * wanted_offset.x + bone_offset.y * wanted_offset.y)
        sine += weight * (bone_offset.x * wanted_offset.y - bone_offset.y * wanted_offset.x)
    # All bones lie along the axis: any angle is equal, and an arc tangent of rounding errors would spin the hinge.
    if (
        cosine * cosine + sine * sine
        <= thresholds.MIN_LEVERAGE * thresholds.MIN_LEVERAGE * tree.goal_weights[i] * tree.goal_weights[i]
    ):
        return hinge_value
    return clamp_angle(hinge_value + math.atan2(sine, cosine), low, high)


@inline
def fit_ball(tree, target, wanted_positions, point, frame, limit, current_motion, i):
    """Fit a ball motion to the wanted ends of its bones. One bone alone gets the shortest arc, so its twist stays."""
    first_bone = tree.first_bones[i]
    if tree.first_bones[i + 1] - first_bone == 1:
        bone, wanted_end = read_bone(tree, first_bone), read_bone_target(tree, target, wanted_positions, first_bone)
        new_motion = multiply(
            rotation_between(rotate(current_motion, bone), rotate(conjugate(frame), sub(wanted_end, point))),
            current_motion,
        )
    else:
        rotation = fit_rotation(tree, target, wanted_positions, point, i, multiply(frame, current_motion))
        new_motion = multiply(conjugate(frame), rotation)
    return clamp_rotation(limit, normalise(new_motion))


@device_function
def backward_pass(nodes, dofs, limits, tree, target, pose, u):
    """Run the root-to-tips pass within the limits.

    Each node follows its parent and rotates towards the wanted ends of its bones.
    """
    frames, points, rotations = tree.frames, pose.points, pose.rotations
    for i in range(nodes.shape[0]):
        parent, motion, u_start, dof_start = read_node(nodes, i)
        if parent >= 0:
            write_vec(points, i, compute_position(nodes, frames, points, rotations, i))
        point, frame = read_vec(points, i), compute_frame(nodes, frames, rotations, i)
        if motion == HINGE:
            low, high = dofs[dof_start, layout.DOF_LOW], dofs[dof_start, layout.DOF_HIGH]
            first_end, second_end = compute_coupled_value(frames, low, i), compute_coupled_value(frames, high, i)
            previous_value = compute_coupled_value(frames, u[u_start], i)
            value = fit_hinge(
                tree,
                target,
                pose.wanted_positions,
                point,
                frame,
                min(first_end, second_end),
                max(first_end, second_end),
                previous_value,
                i,
            )
            # Division by the ratio may leave the range by rounding.
            u[u_start] = clamp(
                (value - frames[i, layout.FRAME_VALUE_OFFSET]) / frames[i, layout.FRAME_RATIO], low, high
            )
        elif motion == BALL:
            new_motion = fit_ball(
                tree, target, pose.wanted_positions, point, frame, limits[i], read_quat_at(u, u_start), i
            )
            u[u_start], u[u_start + 1], u[u_start + 2], u[u_start + 3] = (
                new_motion.w,
                new_motion.x,
                new_motion.y,
                new_motion.z,
            )
        write_quat(rotations, i, multiply(frame, read_motion(nodes, frames, u, i)))


@device_function
def measure_error(terms, effectors, target, points, rotations):
    """Measure the largest tip error and the weighted sum.

    The second is the root of the weighted sum of squares.
    """
    max_distance, squared_sum = 0.0, 0.0
    for t in range(terms.shape[0]):
        _, node, _, target_start, _, _ = read_term(terms, t)
        tip = add(
            read_vec(points, node), rotate(read_quat(rotations, node), read_vec_at(effectors[t], layout.EFFECTOR_POINT))
        )
        error_vector = sub(read_vec_at(target, target_start), tip)
        max_distance = max(max_distance, norm(error_vector))
        squared_sum += (
            effectors[t, layout.EFFECTOR_WEIGHT]
            * effectors[t, layout.EFFECTOR_WEIGHT]
            * dot(error_vector, error_vector)
        )
    return max_distance, math.sqrt(squared_sum)


@inline
def compute_frame(nodes, frames, rotations, i):
    """Return the base-frame rotation of node i before its motion."""
    node_rotation = read_quat_at(frames[i], layout.FRAME_ROTATION)
    parent = read_node(nodes, i).parent
    return multiply(read_quat(rotations, parent), node_rotation) if parent >= 0 else node_rotation


@inline
def compute_coupled_value(frames, u_value, i):
    """Compute hinge i's value from its number in u. The hinge may follow one outside all paths to goals."""
    return frames[i, layout.FRAME_RATIO] * u_value + frames[i, layout.FRAME_VALUE_OFFSET]


@inline
def read_motion(nodes, frames, u, i):
    """Return the motion of node i."""
    _, motion, u_start, _ = read_node(nodes, i)
    if motion == BALL:
        return read_quat_at(u, u_start)
    value = compute_coupled_value(frames, u[u_start], i) if motion == HINGE else 0.0
    return from_axis_angle(Vec(0.0, 0.0, 1.0), value)


@inline
def compute_position(nodes, frames, points, rotations, i):
    """Compute the position of node i from its parent's."""
    parent = read_node(nodes, i).parent
    return add(
        read_vec(points, parent), rotate(read_quat(rotations, parent), read_vec_at(frames[i], layout.FRAME_OFFSET))
    )


@device_function
def write_pose(nodes, frames, u, points, rotations):
    """Fill positions and moved-frame rotations of all nodes."""
    for i in range(nodes.shape[0]):
        is_root = read_node(nodes, i).parent < 0
        write_vec(
            points,
            i,
            read_vec_at(frames[i], layout.FRAME_OFFSET)
            if is_root
            else compute_position(nodes, frames, points, rotations, i),
        )
        write_quat(rotations, i, multiply(compute_frame(nodes, frames, rotations, i), read_motion(nodes, frames, u, i)))


@inline
def compute_work_size(node_count, nu):
    """Compute the scratch memory size for n nodes."""
    return 10 * node_count + nu


@kernel("I2 F3 F2 F2 I2 F2 I1 I2 F1 F2 F2 F1 wF2 wI2 wF2 wF1 sF1 ->")
def solve(
    nodes, frames, dofs, limits, terms, effectors, first_bones, bones, goal_weights, start_u, targets, option_row,
    best_u, counts, trace_u, trace_error, work,
):  # fmt: skip
    """Solve k targets (k, width) within the limits. Each has its own start (1|k, nu).

    option_row: tolerance, maximum of sweeps, whether to end when sweeps converge slowly. counts (k, 3): sweeps, single
    joint updates, 1 if all goals are met. trace_u (sweeps + 1 or 0, nu) and trace_error are filled for the last target.
    work: scratch memory for `compute_work_size` numbers.
    """
    n = nodes.shape[0]
    clear(work, compute_work_size(n, start_u.shape[1]))
    points, rotations = view_lanes(SCALAR, work, 0, n, 3), view_lanes(SCALAR, work, 3 * n, n, 4)
    pose = TreePose(points, rotations, view_lanes(SCALAR, work, 7 * n, n, 3))
    u = view_lanes(SCALAR, work, 10 * n, start_u.shape[1])
    trace = SweepTrace(trace_u, trace_error)
    for k in range(targets.shape[0]):
        problem_frames, start = frames[min(k, frames.shape[0] - 1)], start_u[min(k, start_u.shape[0] - 1)]
        tree = BoneTree(problem_frames, terms, effectors, first_bones, bones, goal_weights)
        state = TreeState(nodes, dofs, limits, pose, u)
        sweep_until_met(tree, state, start, targets[k], option_row, best_u[k], counts[k], trace)


@device_function
def sweep_until_met(tree, state, start_u, target, option_row, best_u, counts, trace):
    """Sweep until goals are met, sweeps run out or progress ends. `best_u` gets the best configuration."""
    nodes, pose, u = state.nodes, state.pose, state.u
    tolerance, max_sweeps, has_polish = option_row[0], int(option_row[1]), option_row[2] > 0.0
    copy_row(start_u, u)
    copy_row(start_u, best_u)
    write_pose(nodes, tree.frames, u, pose.points, pose.rotations)
    max_distance, error = measure_error(tree.terms, tree.effectors, target, pose.points, pose.rotations)
    last_error, best_error = math.inf, error
    counts[COUNT_ITERATIONS] = 0
    record_trace(trace, 0, u, error)
    # If a polish follows, sweeps pay only while each reduces the error to 70 % or less.
    while (
        max_distance > tolerance
        and error < math.inf
        and counts[COUNT_ITERATIONS] < max_sweeps
        and not (has_polish and error > SLOW_SWEEP_RATIO * last_error)
    ):
        last_error = error
        forward_pass(nodes, tree, target, pose)
        backward_pass(nodes, state.dofs, state.limits, tree, target, pose, u)
        max_distance, error = measure_error(tree.terms, tree.effectors, target, pose.points, pose.rotations)
        counts[COUNT_ITERATIONS] += 1
        # Conflicting limits and branches can let a sweep raise the error, so store the best.
        if error < best_error or max_distance <= tolerance:
            best_error = error
            copy_row(u, best_u)
        record_trace(trace, counts[COUNT_ITERATIONS], u, error)
    counts[COUNT_JOINT_STEPS] = counts[COUNT_ITERATIONS] * nodes.shape[0]
    counts[COUNT_IS_MET] = 1 if max_distance <= tolerance else 0


@inline
def copy_row(source, destination):
    """Copy a configuration."""
    for j in range(source.shape[0]):
        destination[j] = source[j]


@inline
def record_trace(trace, sweep_index, u, error):
    """Record the state after a sweep, if tracing."""
    if sweep_index < trace.error.shape[0]:
        copy_row(u, trace.u[sweep_index])
        trace.error[sweep_index] = error
