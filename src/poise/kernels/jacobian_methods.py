# pyright: standard
"""Jacobian methods on a tree of joints: step rules, differences, batched driver.

The methods are Jacobian transpose, pseudo-inverse, damped and selectively damped least squares. `lanes.J` (nd, m)
stores J^T: row d has the rates of all residual rows per unit of dof d. The residual is wanted minus actual, so the
numeric Jacobian is minus its derivative. The analytic rows of rotations and directions are the
rates of the remaining rotation. Both agree at the goal; far from it the analytic rows are longer, by 1 / cos(angle / 2)
along the axis of the remaining rotation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels import layout
from poise.kernels.arm_lm import (
    HUGE_ERROR,
    LANE_ATTEMPT,
    LANE_BEST_ERROR,
    LANE_ITERATIONS,
    LANE_PROBLEM,
    LANE_STALL_COUNT,
    record_trace,
)
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.goal_jacobians import count_dofs, find_perpendicular
from poise.kernels.lane_workspace import PREVIOUS_ERROR, make_views
from poise.kernels.lanes import (
    LANES4,
    LANES8,
    broadcast,
    count_lanes,
    get_lane,
    mask_to_bits,
    maximum,
    minimum,
    select,
    sqrt,
    view_lanes,
)
from poise.kernels.layout import (
    BALL,
    FIXED,
    HINGE,
    RULE_ADAPTIVE_TRANSPOSE,
    RULE_DAMPED,
    RULE_OPTIMAL_TRANSPOSE,
    RULE_PSEUDO_INVERSE,
)
from poise.kernels.problem_arrays import TreeArrays, TreeProblems, read_node, read_term
from poise.kernels.symmetric_matrices import diagonalise, factor_ldl_blocks, solve_ldl_blocks
from poise.kernels.tree_lm import (
    load_lane,
    randomize_lane,
    write_frames,
    write_lane,
)
from poise.kernels.tree_residual import (
    apply_step,
    build_normal_matrix,
    clamp_balls,
    forward_kinematics,
    freeze_balls,
    freeze_dofs,
    has_ball_limits,
    measure_residuals,
    multiply_jacobian_row,
)
from poise.kernels.vec_quat import Quat, Vec, dot, multiply, read_quat_at, read_vec, read_vec_at, scale

DIFFERENCE_STEP = 2.0**-17  # step [rad or kernel units]; truncation and rounding errors are then both 1e-11


@inline
def perturb_dof(lane_kind, tree, lanes, i, c, step):
    """Move dof c of node i by a small amount, ignoring limits."""
    _, motion, u_start, _ = read_node(tree.nodes, i)
    if motion != BALL:
        lanes.u[u_start + c] = lanes.u[u_start + c] + step
        return
    half_step, zero = broadcast(lane_kind, 0.5 * step), broadcast(lane_kind, 0.0)
    rotation = Quat(
        broadcast(lane_kind, 1.0),
        half_step if c == 0 else zero,
        half_step if c == 1 else zero,
        half_step if c == 2 else zero,
    )
    q = multiply(rotation, read_quat_at(lanes.u, u_start))
    k = 1.0 / sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z)
    lanes.u[u_start], lanes.u[u_start + 1], lanes.u[u_start + 2], lanes.u[u_start + 3] = (
        k * q.w,
        k * q.x,
        k * q.y,
        k * q.z,
    )


@device_function
def measure_at_offset(lane_kind, tree, limits, lanes, unperturbed_u, i, dof_offset, step):
    """Fill e with one dof offset, then restore `unperturbed_u`. The dof is number `dof_offset` of node i."""
    perturb_dof(lane_kind, tree, lanes, i, dof_offset, step)
    forward_kinematics(tree, lanes)
    measure_residuals(lane_kind, tree, limits, lanes)
    for j in range(unperturbed_u.shape[0]):
        lanes.u[j] = unperturbed_u[j]


@device_function
def measure_by_differences(lane_kind, tree, limits, lanes, unperturbed_u, perturbed_e, numeric_jacobian):
    """Measure residuals, with J by central differences. The last three arrays are scratch."""
    for j in range(unperturbed_u.shape[0]):
        unperturbed_u[j] = lanes.u[j]
    next_dof = 0
    for i in range(tree.nodes.shape[0]):
        _, motion, _, dof_start = read_node(tree.nodes, i)
        # Coupled nodes share a dof, moved by forward kinematics in all of them at once: measure it with the first.
        if motion == FIXED or dof_start < next_dof:
            continue
        next_dof = dof_start + count_dofs(motion)
        for c in range(count_dofs(motion)):
            step = DIFFERENCE_STEP * math.sqrt(tree.dofs[dof_start + c, layout.DOF_WEIGHT])
            measure_at_offset(lane_kind, tree, limits, lanes, unperturbed_u, i, c, step)
            for r in range(perturbed_e.shape[0]):
                # The residual is wanted minus actual, so its rate has the opposite sign: backward minus forward step.
                perturbed_e[r] = lanes.e[r]
            measure_at_offset(lane_kind, tree, limits, lanes, unperturbed_u, i, c, -step)
            for r in range(perturbed_e.shape[0]):
                numeric_jacobian[dof_start + c, r] = (lanes.e[r] - perturbed_e[r]) * (0.5 / step)
    forward_kinematics(tree, lanes)
    result = measure_residuals(lane_kind, tree, limits, lanes)
    for d in range(tree.row_ranges.shape[0]):
        for r in range(tree.row_ranges[d, 0], tree.row_ranges[d, 1]):
            lanes.J[d, r] = numeric_jacobian[d, r]
    return result


# --- Step rules of the Jacobian methods ------------------------------------------------------------------------------
#
# All of them step by J^T y and differ only in y:
#
# transpose        y = a e
# pseudo-inverse   y = (J J^T)^+ e
# damped           y = (J J^T + l I)^-1 e
# selective        y = sum_i k_i (u_i . e) / s_i^2 u_i, with s_i, u_i the singular values and vectors of J
#
# `lanes.step_error` is the clamped e; J has its rows frozen and scaled by `freeze_dofs`. Each rule fills lanes.y:
# Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least squares methods",
# 2004; Buss and Kim, "Selectively damped least squares for inverse kinematics", J. Graphics Tools 10(3), 2005.


MIN_SQUARE_DIVISOR = 1e-300  # smallest divisor of a length or a squared length
RANK_TOLERANCE = 1e-12  # squared singular values below this share of the largest are rounding in J J^T


@device_function
def clamp_errors(tree, lanes, max_residuals):
    """Clamp each term's error in a step to max_residuals (t,)."""
    for t in range(tree.terms.shape[0]):
        r = read_term(tree.terms, t).error_row
        x, y, z = lanes.step_error[r], lanes.step_error[r + 1], lanes.step_error[r + 2]
        length = sqrt(x * x + y * y + z * z)
        # Buss's D_max: a distant target would otherwise exceed the linear model and dominate the rows of other goals.
        clamp_factor = minimum(
            max_residuals[t] / maximum(length, MIN_SQUARE_DIVISOR + 0.0 * length), 1.0 + 0.0 * length
        )
        lanes.step_error[r], lanes.step_error[r + 1], lanes.step_error[r + 2] = (
            x * clamp_factor,
            y * clamp_factor,
            z * clamp_factor,
        )


@device_function
def solve_transpose(lanes, gain):
    """Fill y with the gradient step, scaled by a factor."""
    for r in range(lanes.y.shape[0]):
        lanes.y[r] = gain * lanes.step_error[r]


@device_function
def compute_optimal_gain(lane_kind, tree, lanes):
    """Compute the optimal gain a of a transpose step.

    J a J^T e is then nearest to e: e . J J^T e / |J J^T e|^2 (Buss, equation 8).
    """
    zero, slope = broadcast(lane_kind, 0.0), broadcast(lane_kind, 0.0)
    for r in range(lanes.y.shape[0]):
        lanes.y[r] = zero
    for d in range(tree.dofs.shape[0]):
        # J J^T e, dof by dof: the matrix itself is not needed.
        dof_gradient = multiply_jacobian_row(lane_kind, tree, lanes.J, d, lanes.step_error)
        slope = slope + dof_gradient * dof_gradient
        for r in range(tree.row_ranges[d, 0], tree.row_ranges[d, 1]):
            lanes.y[r] = lanes.y[r] + lanes.J[d, r] * dof_gradient
    squared_length = zero
    for r in range(lanes.y.shape[0]):
        squared_length = squared_length + lanes.y[r] * lanes.y[r]
    return select(squared_length > 0.0, slope / maximum(squared_length, zero + MIN_SQUARE_DIVISOR), zero)


@device_function
def solve_damped(lane_kind, tree, lanes, damping):
    """Solve the damped least-squares step."""
    build_normal_matrix(lane_kind, tree, lanes, damping)
    factor_ldl_blocks(lanes.A, lanes.d)
    solve_ldl_blocks(lanes.A, lanes.d, lanes.step_error, lanes.y)


@device_function
def decompose_jacobian(lane_kind, tree, lanes, singular_vectors):
    """Decompose J into singular values and vectors.

    lanes.d gets the squared values, the rows of `singular_vectors` the u_i, y becomes zero. Returns the largest one.
    """
    m = lanes.d.shape[0]
    # The eigenvectors of J J^T are the singular vectors of J in the space of the goals, its eigenvalues their squares:
    # one m x m problem for any number of joints.
    build_normal_matrix(lane_kind, tree, lanes, broadcast(lane_kind, 0.0))
    for r in range(m):
        for k in range(r + 1, m):
            # The factorization reads only the lower triangle, the rotations both.
            lanes.A[r, k] = lanes.A[k, r]
    diagonalise(lane_kind, lanes.A, singular_vectors, lanes.d)
    max_square = broadcast(lane_kind, 0.0)
    for i in range(m):
        max_square = maximum(max_square, lanes.d[i])
        lanes.y[i] = broadcast(lane_kind, 0.0)
    return max_square


@inline
def add_singular_part(lanes, singular_vectors, i, coefficient):
    """Add a multiple of singular vector i to y."""
    for r in range(lanes.y.shape[0]):
        lanes.y[r] = lanes.y[r] + coefficient * singular_vectors[i, r]


@inline
def project_error(lane_kind, lanes, singular_vectors, i):
    """Return u_i . e, the component of the error along u_i."""
    component = broadcast(lane_kind, 0.0)
    for r in range(lanes.y.shape[0]):
        component = component + singular_vectors[i, r] * lanes.step_error[r]
    return component


@device_function
def solve_pseudo_inverse(lane_kind, tree, lanes, singular_vectors, cutoff):
    """Solve the shortest step for e, without small singular values.

    Values below `cutoff` of the largest are left out.
    """
    min_square = maximum(
        decompose_jacobian(lane_kind, tree, lanes, singular_vectors) * (cutoff * cutoff),
        broadcast(lane_kind, MIN_SQUARE_DIVISOR),
    )
    for i in range(lanes.d.shape[0]):
        # lanes.d has squares, so the cutoff is squared too.
        is_kept = lanes.d[i] >= min_square
        coefficient = project_error(lane_kind, lanes, singular_vectors, i) / maximum(lanes.d[i], min_square)
        add_singular_part(lanes, singular_vectors, i, select(is_kept, coefficient, 0.0 * coefficient))


@inline
def sum_block_lengths(lane_kind, row, first, last):
    """Sum the lengths of a row's blocks of three."""
    length_sum = broadcast(lane_kind, 0.0)
    for r in range(first, last, 3):
        length_sum = length_sum + sqrt(row[r] * row[r] + row[r + 1] * row[r + 1] + row[r + 2] * row[r + 2])
    return length_sum


@device_function
def solve_selective(lane_kind, tree, lanes, singular_vectors, goal_motions, max_step):
    """Solve the selectively damped step (Buss and Kim, section 3).

    goal_motions (nd,) is scratch: the sum of all goals' motions per unit of a dof. Along u_i the part
    (u_i . e) v_i / s_i of the step may rotate a joint by at most g_i = max_step min(1, N_i / M_i). N_i is the wanted
    motion of the goals along u_i, M_i the sum of their motions by all joints, without cancellation.
    """
    zero = broadcast(lane_kind, 0.0)
    min_square = maximum(
        decompose_jacobian(lane_kind, tree, lanes, singular_vectors) * RANK_TOLERANCE, zero + MIN_SQUARE_DIVISOR
    )
    for d in range(goal_motions.shape[0]):
        goal_motions[d] = sum_block_lengths(lane_kind, lanes.J[d], tree.row_ranges[d, 0], tree.row_ranges[d, 1])
    for i in range(lanes.d.shape[0]):
        square = maximum(lanes.d[i], min_square)
        total_motion, rotation_per_angle = zero, zero
        for d in range(goal_motions.shape[0]):
            v = multiply_jacobian_row(lane_kind, tree, lanes.J, d, singular_vectors[i])  # s_i v_i
            rotation_rate = maximum(v, -v)
            total_motion, rotation_per_angle = (
                total_motion + rotation_rate * goal_motions[d],
                maximum(rotation_per_angle, rotation_rate),
            )
        target_motion = sum_block_lengths(lane_kind, singular_vectors[i], 0, lanes.d.shape[0])
        max_angle = max_step * minimum(
            target_motion * square / maximum(total_motion, zero + MIN_SQUARE_DIVISOR), zero + 1.0
        )  # total_motion is s_i^2 M_i
        coefficient = project_error(lane_kind, lanes, singular_vectors, i) / square
        joint_angle = maximum(coefficient, -coefficient) * rotation_per_angle
        # The whole error along u_i, or the share at which the largest joint angle equals its limit.
        coefficient = coefficient * minimum(max_angle / maximum(joint_angle, zero + MIN_SQUARE_DIVISOR), zero + 1.0)
        add_singular_part(lanes, singular_vectors, i, select(lanes.d[i] >= min_square, coefficient, zero))


@device_function
def cap_step(lane_kind, tree, lanes, max_step, step_factor):
    """Shorten y to move each dof by at most `max_step`. Then scale it by a share; units are rad or kernel units."""
    max_dof_step = broadcast(lane_kind, MIN_SQUARE_DIVISOR)
    for d in range(tree.dofs.shape[0]):
        step = multiply_jacobian_row(lane_kind, tree, lanes.J, d, lanes.y)
        max_dof_step = maximum(max_dof_step, maximum(step, -step))
    step_factor = step_factor * minimum(max_step / max_dof_step, 1.0 + 0.0 * max_dof_step)
    for r in range(lanes.y.shape[0]):
        lanes.y[r] = lanes.y[r] * step_factor


# --- Batched Jacobian methods for a tree -----------------------------------------------------------------------------
#
# Each lane has one problem. The driver is that of kernels/tree_lm.py with a choice of step rules.
#
# kernels/problem_arrays.py describes the arrays of a tree, kernels/tree_lm.py start_u, restart_draws, u and trace.
# Further arrays:
#
# max_residuals (t,)    largest weighted residual of each term in one step
# settings (9,)         the columns METHOD_ of layout.py
# scratch               memory of compute_scratch_size numbers, 64-byte aligned like `work`
# errors   (k,)         weighted squared error of each result; 1e300 where the residual was never a number
# counts   (k, 3)       steps and attempts used; 1 where the goals were met
#
# The result is the best measured pose. A preferred configuration is ignored.


# Rows of the lane state for these methods only:
STEP_GAIN = 3  # factor of the step
HAS_BENT = 4  # 1 once the lane's chain was bent, because no dof decreased its error
PROGRESS_ERROR = 5  # squared error at the last progress
IS_FINAL_ATTEMPT = 6  # 1 in the final attempt, which refines the best pose and undoes steps with an increased error
# A squared error below this share of PROGRESS_ERROR is progress; METHOD_PATIENCE_STEPS steps without end an attempt.
PROGRESS_RATIO = 0.95
FINAL_PROGRESS_RATIO = 1.0 - 1e-4  # the same share in the final attempt, which should converge
FINAL_GAIN_FACTOR = 4.0  # factor by which the gain of the final attempt grows and shrinks
# Smallest cutoff of the final attempt's pseudo-inverse; smaller singular values help no unreachable goal.
MIN_FINAL_CUTOFF = 0.01
FINAL_ATTEMPT_SHARE = 0.75  # share of the iterations after which only the final attempt may start
STATIONARY_SLOPE2 = 1e-18  # squared slope per squared error below which no dof decreases the error
MAX_SCRATCH_LANES = 8  # most lanes of a kernel


class MethodWorkspace(NamedTuple):
    """Work memory beyond LaneView, as lanes.

    best_u            (nu,)    best pose so far
    unperturbed_u     (nu,)    and perturbed_e (m,), numeric_jacobian (nd, m): for differences
    singular_vectors  (m, m)   one a row
    goal_motions      (nd,)    for the selective rule
    """

    best_u: Any
    unperturbed_u: Any
    perturbed_e: Any
    numeric_jacobian: Any
    singular_vectors: Any
    goal_motions: Any


def compute_scratch_size(nd: int, nu: int, row_count: int) -> int:
    """Return the scratch size for a tree. It counts float64 aligned to 64 bytes, enough for a kernel of any width."""
    return MAX_SCRATCH_LANES * (2 * nu + row_count + nd * row_count + row_count * row_count + nd)


@inline
def make_method_workspace(lane_kind, scratch, nd, nu, m):
    """Return the scratch as lanes."""
    w = count_lanes(lane_kind)
    unperturbed_u_start = nu * w
    perturbed_e_start = unperturbed_u_start + nu * w
    numeric_jacobian_start = perturbed_e_start + m * w
    singular_vectors_start = numeric_jacobian_start + nd * m * w
    goal_motions_start = singular_vectors_start + m * m * w
    return MethodWorkspace(
        view_lanes(lane_kind, scratch, 0, nu),
        view_lanes(lane_kind, scratch, unperturbed_u_start, nu),
        view_lanes(lane_kind, scratch, perturbed_e_start, m),
        view_lanes(lane_kind, scratch, numeric_jacobian_start, nd, m),
        view_lanes(lane_kind, scratch, singular_vectors_start, m, m),
        view_lanes(lane_kind, scratch, goal_motions_start, nd),
    )


# --- lanes and problems ------------------------------------------------------------------------------------------


@device_function
def start_attempt(problems, scalars, w, l, k):
    """Start an attempt of lane l at problem k from its start. The lane's previous state is cleared."""
    start = problems.start_u[min(k, problems.start_u.shape[0] - 1)]
    write_lane(scalars.u, w, l, start)
    write_lane(scalars.previous_u, w, l, start)
    scalars.lane_state[PREVIOUS_ERROR * w + l], scalars.lane_state[PROGRESS_ERROR * w + l] = HUGE_ERROR, HUGE_ERROR
    (
        scalars.lane_state[LANE_STALL_COUNT * w + l],
        scalars.lane_state[HAS_BENT * w + l],
        scalars.lane_state[IS_FINAL_ATTEMPT * w + l],
    ) = (
        0.0,
        0.0,
        0.0,
    )
    scalars.lane_state[STEP_GAIN * w + l] = (
        problems.settings[layout.METHOD_FIRST_SETTING]
        if problems.settings[layout.METHOD_RULE] == RULE_ADAPTIVE_TRANSPOSE
        else 1.0
    )


@device_function
def load_problem(problems, scalars, w, l, k):
    """Load problem k into lane l, and start its first attempt."""
    load_lane(problems, scalars, w, l, k)
    scalars.lane_state[LANE_ITERATIONS * w + l], scalars.lane_state[LANE_BEST_ERROR * w + l] = 0.0, HUGE_ERROR
    start_attempt(problems, scalars, w, l, k)


@device_function
def write_result(problems, scalars, workspace, w, l, is_met):
    """Write the result of lane l to its problem."""
    k = int(scalars.lane_state[LANE_PROBLEM * w + l])
    problems.counts[k, layout.COUNT_ITERATIONS], problems.counts[k, layout.COUNT_ATTEMPTS] = (
        int(scalars.lane_state[LANE_ITERATIONS * w + l]),
        int(scalars.lane_state[LANE_ATTEMPT * w + l]) + 1,
    )
    problems.counts[k, layout.COUNT_IS_MET] = 1 if is_met else 0
    problems.errors[k] = scalars.lane_state[LANE_BEST_ERROR * w + l]
    # Still HUGE_ERROR: the residual was never a number, and the start remains the result.
    if problems.errors[k] < HUGE_ERROR:
        for i in range(problems.u.shape[1]):
            problems.u[k, i] = get_lane(workspace.best_u[i], l)


@device_function
def schedule_lane(tree, limits, problems, scalars, workspace, w, l, is_met, next_problem, end):
    """Schedule lane l: restart, final attempt, or problem number `next_problem`.

    The final attempt starts at the best pose.

    Returns whether the lane took that problem; without any left it idles.
    """
    k, attempt_count, max_restarts = (
        int(scalars.lane_state[LANE_PROBLEM * w + l]),
        int(scalars.lane_state[LANE_ATTEMPT * w + l]) + 1,
        problems.settings[layout.METHOD_RESTARTS],
    )
    spent_iterations, max_iterations, is_final_attempt = (
        scalars.lane_state[LANE_ITERATIONS * w + l],
        problems.settings[layout.METHOD_ITERATIONS],
        scalars.lane_state[IS_FINAL_ATTEMPT * w + l] > 0.0,
    )
    if (
        not is_met
        and not is_final_attempt
        and max_restarts > 0.0
        and spent_iterations < max_iterations
        and scalars.lane_state[LANE_BEST_ERROR * w + l] < HUGE_ERROR
    ):
        scalars.lane_state[LANE_ATTEMPT * w + l] = attempt_count
        start_attempt(problems, scalars, w, l, k)
        if attempt_count <= max_restarts and spent_iterations < FINAL_ATTEMPT_SHARE * max_iterations:
            randomize_lane(tree, limits, problems.restart_draws, attempt_count, scalars, w, l)
            return False
        scalars.lane_state[IS_FINAL_ATTEMPT * w + l] = 1.0
        for i in range(problems.u.shape[1]):
            scalars.u[i * w + l] = get_lane(workspace.best_u[i], l)
        return False
    write_result(problems, scalars, workspace, w, l, is_met)
    if next_problem < end:
        load_problem(problems, scalars, w, l, next_problem)
        return True
    scalars.lane_state[LANE_PROBLEM * w + l] = -1.0
    return False


# --- an iteration ------------------------------------------------------------------------------------------------


@device_function
def evaluate_lanes(lane_kind, tree, limits, lanes, workspace, uses_differences):
    """Compute the residual and Jacobian of every lane.

    Returns the squared error, weighted, and whether every term is met.
    """
    if uses_differences:
        # Central differences compute forward kinematics themselves, twice for every dof.
        return measure_by_differences(
            lane_kind, tree, limits, lanes, workspace.unperturbed_u, workspace.perturbed_e, workspace.numeric_jacobian
        )
    forward_kinematics(tree, lanes)
    return measure_residuals(lane_kind, tree, limits, lanes)


@device_function
def undo_steps(lane_kind, lanes, error, settings):
    """Undo steps with an increased error.

    This applies to the adaptive rule and to a final attempt. Returns in which lanes.

    The step's gain grows where the error decreased and shrinks where it increased.
    """
    one, previous_error = broadcast(lane_kind, 1.0), lanes.lane_state[PREVIOUS_ERROR]
    can_undo, gain_factor, max_gain = lanes.lane_state[IS_FINAL_ATTEMPT] > 0.0, FINAL_GAIN_FACTOR, 1.0
    if settings[layout.METHOD_RULE] == RULE_ADAPTIVE_TRANSPOSE:
        can_undo, gain_factor, max_gain = one > 0.0, settings[layout.METHOD_SECOND_SETTING], HUGE_ERROR
    # Before the first step the last error is HUGE_ERROR, and neither holds.
    has_risen, has_fallen = (
        can_undo & (error > previous_error),
        can_undo & (error < previous_error) & (previous_error < HUGE_ERROR),
    )
    lanes.lane_state[STEP_GAIN] = minimum(
        lanes.lane_state[STEP_GAIN] * select(has_risen, one / gain_factor, select(has_fallen, one * gain_factor, one)),
        one * max_gain,
    )
    if mask_to_bits(has_risen) != 0:
        for i in range(lanes.u.shape[0]):
            lanes.u[i] = select(has_risen, lanes.previous_u[i], lanes.u[i])
    return has_risen


@device_function
def store_best(lanes, workspace, error, met_mask):
    """Store the measured pose of each lane if it is the best.

    `previous_u` gets the poses of all lanes, for comparison with the next ones.
    """
    # A pose within every tolerance beats one with a smaller weighted error.
    is_better = met_mask | (error < lanes.lane_state[LANE_BEST_ERROR])
    lanes.lane_state[LANE_BEST_ERROR] = select(is_better, error, lanes.lane_state[LANE_BEST_ERROR])
    for i in range(lanes.u.shape[0]):
        lanes.previous_u[i] = lanes.u[i]
        workspace.best_u[i] = select(is_better, lanes.u[i], workspace.best_u[i])


@device_function
def find_stationary_lanes(lane_kind, tree, lanes, error):
    """Find stationary lanes with a chain not yet bent. No dof lowers their error."""
    max_squared_slope = broadcast(lane_kind, 0.0)
    for d in range(tree.dofs.shape[0]):
        slope = multiply_jacobian_row(lane_kind, tree, lanes.J, d, lanes.e)
        max_squared_slope = maximum(max_squared_slope, slope * slope)
    # A stationary point without goals met, as for a straight chain with the target on its line. Bend once only, or a
    # chain out of reach of its target would bend forever.
    return (max_squared_slope <= STATIONARY_SLOPE2 * error) & (lanes.lane_state[HAS_BENT] <= 0.0)


@device_function
def find_bend_axis(lane_kind, tree, lanes):
    """Find an axis perpendicular to the largest residual. All balls bend about it."""
    zero = broadcast(lane_kind, 0.0)
    max_residual, max_square = Vec(zero, zero, zero + 1.0), zero
    for t in range(tree.terms.shape[0]):
        residual = read_vec_at(lanes.e, read_term(tree.terms, t).error_row)
        squared_length = dot(residual, residual)
        is_larger = squared_length > max_square
        max_square = select(is_larger, squared_length, max_square)
        max_residual = Vec(
            select(is_larger, residual.x, max_residual.x),
            select(is_larger, residual.y, max_residual.y),
            select(is_larger, residual.z, max_residual.z),
        )
    return find_perpendicular(
        scale(max_residual, 1.0 / sqrt(maximum(dot(max_residual, max_residual), zero + 1.0 / HUGE_ERROR)))
    )


@device_function
def bend_chain(lane_kind, tree, lanes, bend_mask, bend_angle):
    """Make the step bend the chains of the lanes `bend_mask`.

    Hinges bend into the wider part of their range, balls to one common side.
    """
    zero, lane_angle = (
        broadcast(lane_kind, 0.0),
        select(bend_mask, broadcast(lane_kind, bend_angle), broadcast(lane_kind, 0.0)),
    )
    for r in range(lanes.y.shape[0]):
        # Lanes that bend take no other step; the other lanes take theirs, without a preference step.
        lanes.y[r] = select(bend_mask, zero, lanes.y[r])
    for dof_start in range(tree.dofs.shape[0]):
        lanes.preference_step[dof_start] = zero
    bend_axis = find_bend_axis(lane_kind, tree, lanes)
    for i in range(tree.nodes.shape[0]):
        _, motion, u_start, dof_start = read_node(tree.nodes, i)
        if motion == HINGE:
            value = lanes.u[u_start]
            # Into the wider part of its range, where the hinge can rotate further.
            is_upper_wider = (
                tree.dofs[dof_start, layout.DOF_HIGH] - value >= value - tree.dofs[dof_start, layout.DOF_LOW]
            )
            lanes.preference_step[dof_start] = select(is_upper_wider, lane_angle, -lane_angle)
        elif motion == BALL:
            for c in range(3):
                # All balls rotate about one axis of the base frame: rotations about their own axes would cancel.
                lanes.preference_step[dof_start + c] = lane_angle * dot(bend_axis, read_vec(lanes.axes, 3 * i + c))
    lanes.lane_state[HAS_BENT] = select(bend_mask, zero + 1.0, lanes.lane_state[HAS_BENT])
    # A bend increases the error and must not be undone.
    lanes.lane_state[PREVIOUS_ERROR] = select(bend_mask, zero + HUGE_ERROR, lanes.lane_state[PREVIOUS_ERROR])


@device_function
def compute_step(lane_kind, tree, lanes, workspace, settings, error):
    """Compute the step y by the rule and cap it. A final attempt scales it by its gain."""
    rule, step_factor = int(settings[layout.METHOD_RULE]), lanes.lane_state[STEP_GAIN]
    if rule == RULE_ADAPTIVE_TRANSPOSE:
        solve_transpose(lanes, step_factor)
        step_factor = broadcast(lane_kind, 1.0)
    elif rule == RULE_OPTIMAL_TRANSPOSE:
        solve_transpose(lanes, compute_optimal_gain(lane_kind, tree, lanes))
    elif rule == RULE_PSEUDO_INVERSE:
        cutoff = broadcast(lane_kind, settings[layout.METHOD_FIRST_SETTING])
        # With goals out of reach, small singular values cause large useless steps, and the pose would not converge.
        final_cutoff = maximum(cutoff, broadcast(lane_kind, MIN_FINAL_CUTOFF))
        solve_pseudo_inverse(
            lane_kind,
            tree,
            lanes,
            workspace.singular_vectors,
            select(lanes.lane_state[IS_FINAL_ATTEMPT] > 0.0, final_cutoff, cutoff),
        )
    elif rule == RULE_DAMPED:
        solve_damped(
            lane_kind,
            tree,
            lanes,
            error * settings[layout.METHOD_SECOND_SETTING] + settings[layout.METHOD_FIRST_SETTING],
        )
    else:
        solve_selective(
            lane_kind,
            tree,
            lanes,
            workspace.singular_vectors,
            workspace.goal_motions,
            settings[layout.METHOD_FIRST_SETTING],
        )
    cap_step(lane_kind, tree, lanes, settings[layout.METHOD_MAX_ROTATION], step_factor)


@device_function
def update_progress(lane_state, error, met_mask, settings):
    """Update the progress of each lane by one iteration.

    Returns the mask of ended attempts. The other lanes take a step, which counts.
    """
    zero = 0.0 * lane_state[LANE_ITERATIONS]
    # Compare with the last mark, not the previous step: small decreases add up to progress, oscillation does not.
    has_fallen = error < lane_state[PROGRESS_ERROR] * select(
        lane_state[IS_FINAL_ATTEMPT] > 0.0, zero + FINAL_PROGRESS_RATIO, zero + PROGRESS_RATIO
    )
    lane_state[PROGRESS_ERROR] = select(has_fallen, error, lane_state[PROGRESS_ERROR])
    lane_state[LANE_STALL_COUNT] = select(has_fallen, zero, lane_state[LANE_STALL_COUNT] + 1.0)
    end_mask = (
        met_mask
        | (lane_state[LANE_ITERATIONS] >= settings[layout.METHOD_ITERATIONS])
        | (lane_state[LANE_STALL_COUNT] >= settings[layout.METHOD_PATIENCE_STEPS])
    )
    lane_state[LANE_ITERATIONS] = lane_state[LANE_ITERATIONS] + select(end_mask, zero, zero + 1.0)
    return end_mask


@inline
def solve_lanes(lane_kind, tree, problems, limits, max_residuals, work, scratch, first, end, trace):
    """Solve problems first..end, a problem in each lane. A plain tree has limits None."""
    nodes, dofs, terms = tree.nodes, tree.dofs, tree.terms
    targets, settings = problems.targets, problems.settings
    w, nu, uses_differences, has_limits = (
        count_lanes(lane_kind),
        problems.start_u.shape[1],
        settings[layout.METHOD_IS_NUMERIC] > 0.0,
        has_ball_limits(limits),
    )
    scalars, lanes = make_views(
        lane_kind, work, nodes.shape[0], dofs.shape[0], nu, 3 * terms.shape[0], targets.shape[1]
    )
    workspace = make_method_workspace(lane_kind, scratch, dofs.shape[0], nu, 3 * terms.shape[0])
    active_count = max(min(w, end - first), 0)
    next_problem = first + active_count
    for l in range(w if active_count > 0 else 0):
        write_frames(scalars, w, l, problems.frames[0])
        load_problem(problems, scalars, w, l, first + min(l, active_count - 1))
        if l >= active_count:
            scalars.lane_state[LANE_PROBLEM * w + l] = -1.0
    while active_count > 0:
        busy_bits = mask_to_bits(lanes.lane_state[LANE_PROBLEM] >= 0.0)
        error, met_mask = evaluate_lanes(lane_kind, tree, limits, lanes, workspace, uses_differences)
        if mask_to_bits(undo_steps(lane_kind, lanes, error, settings)) != 0:
            # A lane with an undone step needs its previous residual and Jacobian again. Measuring the other lanes
            # twice changes nothing.
            error, met_mask = evaluate_lanes(lane_kind, tree, limits, lanes, workspace, uses_differences)
        lanes.lane_state[PREVIOUS_ERROR] = error
        store_best(lanes, workspace, error, met_mask)
        if has_limits:
            freeze_balls(lane_kind, tree, limits, lanes, busy_bits, False)
        freeze_dofs(lane_kind, tree, lanes, False)
        bend_mask = find_stationary_lanes(lane_kind, tree, lanes, error)
        # A lane at its end steps along with the others; its result is stored already.
        end_bits, met_bits = (
            mask_to_bits(update_progress(lanes.lane_state, error, met_mask, settings)),
            mask_to_bits(met_mask),
        )
        if trace.shape[0] > 0 and scalars.lane_state[LANE_PROBLEM * w] == first:
            trace_row = (
                int(scalars.lane_state[LANE_ITERATIONS * w] + scalars.lane_state[LANE_ATTEMPT * w]) - 1 + (end_bits & 1)
            )
            record_trace(trace, trace_row, scalars.previous_u, w, nu, get_lane(error, 0))
        clamp_errors(tree, lanes, max_residuals)
        compute_step(lane_kind, tree, lanes, workspace, settings, error)
        # `apply_step` reads `preference_step` only where some lane bends, which is rare; others need not add zeros.
        bends_any = settings[layout.METHOD_INITIAL_BEND] > 0.0 and mask_to_bits(bend_mask) != 0
        if bends_any:
            bend_chain(lane_kind, tree, lanes, bend_mask, settings[layout.METHOD_INITIAL_BEND])
        apply_step(lane_kind, tree, lanes, bends_any)
        for l in range(w if has_limits else 0):
            if (busy_bits >> l) & 1 == 1:
                clamp_balls(tree, limits, scalars.u, w, l)
        for l in range(w if end_bits != 0 else 0):
            if (end_bits >> l) & 1 and scalars.lane_state[LANE_PROBLEM * w + l] >= 0.0:
                is_met = (met_bits >> l) & 1 == 1
                if schedule_lane(tree, limits, problems, scalars, workspace, w, l, is_met, next_problem, end):
                    next_problem += 1
                elif scalars.lane_state[LANE_PROBLEM * w + l] < 0.0:
                    active_count -= 1


@kernel("I2 F3 F2 I2 F2 I1 I2 F2 F2 F2 F1 F1 F2 F1 F1 aF1 aF1 i i wF2 wF1 wI2 wF2 ->")
def solve4(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, start_u, restart_draws, preferred_u,
    preference_weights, limits, max_residuals, settings, work, scratch, first, end, u, errors, counts, trace,
):  # fmt: skip
    """Solve four problems side by side."""
    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, preferred_u, preference_weights)
    problems = TreeProblems(frames, targets, start_u, restart_draws, settings, u, errors, counts)
    solve_lanes(LANES4, tree, problems, limits, max_residuals, work, scratch, first, end, trace)


@kernel("I2 F3 F2 I2 F2 I1 I2 F2 F2 F2 F1 F1 F2 F1 F1 aF1 aF1 i i wF2 wF1 wI2 wF2 ->")
def solve8(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, start_u, restart_draws, preferred_u,
    preference_weights, limits, max_residuals, settings, work, scratch, first, end, u, errors, counts, trace,
):  # fmt: skip
    """Solve eight problems side by side."""
    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, preferred_u, preference_weights)
    problems = TreeProblems(frames, targets, start_u, restart_draws, settings, u, errors, counts)
    solve_lanes(LANES8, tree, problems, limits, max_residuals, work, scratch, first, end, trace)


@kernel("I2 F3 F2 I2 F2 I1 I2 F2 F2 F2 F1 F1 F1 F1 aF1 aF1 i i wF2 wF1 wI2 wF2 ->")
def plain4(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, start_u, restart_draws, preferred_u,
    preference_weights, max_residuals, settings, work, scratch, first, end, u, errors, counts, trace,
):  # fmt: skip
    """Solve four problems of a tree without limits side by side."""
    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, preferred_u, preference_weights)
    problems = TreeProblems(frames, targets, start_u, restart_draws, settings, u, errors, counts)
    solve_lanes(LANES4, tree, problems, None, max_residuals, work, scratch, first, end, trace)


@kernel("I2 F3 F2 I2 F2 I1 I2 F2 F2 F2 F1 F1 F1 F1 aF1 aF1 i i wF2 wF1 wI2 wF2 ->")
def plain8(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, start_u, restart_draws, preferred_u,
    preference_weights, max_residuals, settings, work, scratch, first, end, u, errors, counts, trace,
):  # fmt: skip
    """Solve eight problems of a tree without limits side by side."""
    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, preferred_u, preference_weights)
    problems = TreeProblems(frames, targets, start_u, restart_draws, settings, u, errors, counts)
    solve_lanes(LANES8, tree, problems, None, max_residuals, work, scratch, first, end, trace)
