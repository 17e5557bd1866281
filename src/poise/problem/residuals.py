"""Residuals and Jacobians of goals in NumPy.

The kernels have their own version, kernels/goal_jacobians.py. Errors are measured on the skeleton itself, with any
scale. Jacobians are those of Pose.jacobian, (k, 6, nd), in the columns of a plan. Residuals equal those of the kernels,
except that the weight of a pole does not fade.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.kernels.layout import FRAME_RATIO
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.kinematics import compute_jacobians, flatten_local_offsets
from poise.model.limits import find_hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem import dof_layout
from poise.problem.goal_errors import WorldTransforms, compute_balance_jacobian, compute_goal_point
from poise.problem.goal_fields import get_goal_point, get_residual_weight
from poise.problem.goals import AnyGoal, Balance, LookAt
from poise.problem.plan import Plan
from poise.problem.problem import Problem
from poise.runtime.result_cache import get_or_compute

_MIN_SQUARED_LENGTH = 1e-300  # lower bound of squared lengths in divisions


def compute_rotation_rows(
    pose: Pose, measure: dof_layout.Measure, goal: AnyGoal, target: Floats, jacobian: Floats, acting_dofs: Bools
) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, 3, nd) and error (k, 3) of rotational goals.

    These are all but poles; the error points along its axis with length 2 sin(angle / 2).

    For a direction or an aim it is the shortest rotation. An aim also depends on the motion of its point.
    `acting_dofs` (nd,) is the mask of the goal's dofs.
    """
    rows = jacobian[:, 3:]
    if measure.kind == dof_layout.ROTATION:
        rotation = pose.world[pose.skeleton.names[measure.row]].rotations
        error = rotations.multiply(target, rotations.inverse(rotation))
    else:
        axis, direction = (
            WorldTransforms(pose).compute_axis(measure, goal),
            WorldTransforms(pose).compute_desired_direction(measure, goal, target),
        )
        error = rotations.rotation_between(axis, direction)
        rows = rows - axis[:, :, None] * np.einsum("kc,kcd->kd", axis, rows)[:, None]
        if measure.kind == dof_layout.AIM:
            scaled_direction = direction / np.maximum((direction**2).sum(axis=-1, keepdims=True), _MIN_SQUARED_LENGTH)
            rows = rows + np.cross(scaled_direction[:, :, None], jacobian[:, :3], axis=1)
    return rows * acting_dofs, 2.0 * error[..., 1:] * np.where(error[..., :1] < 0, -1.0, 1.0)


def compute_pole_rows(
    pose: Pose, measure: dof_layout.Measure, target: Floats, velocities: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, 1, nd) and error (k, 1) of a pole. The error is a rotation about the limb's line.

    velocities  (k, 3, nd) Jacobians of the limb's first joint, middle joint and tip
    """
    bend_direction = WorldTransforms(pose).compute_bend_direction(measure, target)
    bend_gradient, pole_gradient = (
        np.cross(bend_direction.limb_direction, v) / np.maximum((v**2).sum(axis=-1, keepdims=True), _MIN_SQUARED_LENGTH)
        for v in (bend_direction.bend_offset, bend_direction.pole_offset)
    )
    bend_fraction, pole_fraction = bend_direction.line_fractions[:, :1], bend_direction.line_fractions[:, 1:]
    joint_gradients = (
        (1 - pole_fraction) * pole_gradient - (1 - bend_fraction) * bend_gradient,
        bend_gradient,
        pole_fraction * pole_gradient - bend_fraction * bend_gradient,
    )
    rows = np.sum(
        [np.einsum("kc,kcd->kd", gradient, v) for gradient, v in zip(joint_gradients, velocities, strict=True)], axis=0
    )
    has_pole_angle = (bend_direction.pole_angle != 0.0)[:, None]
    return np.where(has_pole_angle, rows, 0.0)[:, None], 2.0 * np.sin(0.5 * bend_direction.pole_angle)[:, None]


def compute_residual(
    problem: Problem, q: Floats, targets: Floats, *, is_weighted: bool = True
) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, r, nd) and residual (k, r) of all goals. Lengths are in units of the tree's size.

    A column is a velocity per unit of a degree of freedom: of a value in u, or of a ball's rotation [rad] about an axis
    of its parent frame.
    """
    pose = problem.make_pose(q)
    jacobian_blocks: list[Floats] = []
    errors: list[Floats] = []
    for measure in problem.measures:
        compute_rows = _compute_balance_rows if measure.kind == dof_layout.BALANCE else _compute_joint_rows
        rows, error = compute_rows(problem, pose, measure, targets)
        weight = get_residual_weight(problem.goals[measure.goal_index], measure.kind) if is_weighted else 1.0
        jacobian_blocks.append(rows * weight)
        errors.append(error * weight)
    return np.concatenate(jacobian_blocks, axis=1), np.concatenate(errors, axis=1)


def _compute_joint_rows(
    problem: Problem, pose: Pose, measure: dof_layout.Measure, targets: Floats
) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, r, nd) and error (k, r) of one measure."""
    plan, joint_name, goal = problem.plan, problem.skeleton.names[measure.row], problem.goals[measure.goal_index]
    needs_angular = measure.kind not in (dof_layout.POSITION, dof_layout.POLE)
    jacobian = _select_plan_columns(
        plan, _compute_jacobian(pose, joint_name, get_goal_point(goal), needs_angular=needs_angular)
    )
    target = targets[:, measure.target_column : measure.target_column + dof_layout.TARGET_SIZES[measure.kind]]
    if measure.kind == dof_layout.POSITION:
        return jacobian[:, :3] / plan.kernel_unit_in_base, (
            target - compute_goal_point(pose, measure, goal)
        ) / plan.kernel_unit_in_base
    if measure.kind == dof_layout.POLE:
        limb = [problem.skeleton.names[row] for row in (*measure.limb_rows, measure.row)]
        velocities = [
            _select_plan_columns(plan, _compute_jacobian(pose, joint, needs_angular=False))[:, :3] for joint in limb
        ]
        return compute_pole_rows(pose, measure, target, velocities)
    return compute_rotation_rows(pose, measure, goal, target, jacobian, _find_acting_dofs(plan, goal))


def _compute_balance_rows(
    problem: Problem, pose: Pose, measure: dof_layout.Measure, _targets: Floats
) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, 2, nd) and error (k, 2) of a Balance. Both are in units of the tree's size."""
    plan, goal = problem.plan, problem.goals[measure.goal_index]
    assert isinstance(goal, Balance)
    rows = {measure.row, *measure.limb_rows} | {node.row for node in plan.layout.nodes}
    ancestors = {ancestor for row in rows for ancestor in plan.skeleton.list_path(row)[:-1]}
    measured_rows = sorted((rows - ancestors) | {measure.row, *measure.limb_rows})
    origin_jacobians = {
        row: _select_plan_columns(plan, _compute_jacobian(pose, plan.skeleton.names[row], needs_angular=True))
        for row in measured_rows
    }
    jacobian, error = compute_balance_jacobian(plan, pose, goal, origin_jacobians)
    return jacobian / plan.kernel_unit_in_base, error / plan.kernel_unit_in_base


def _compute_jacobian(
    pose: Pose, joint: str, point: tuple[float, float, float] = (0.0, 0.0, 0.0), *, needs_angular: bool
) -> Floats:
    """Compute Pose.jacobian (k, 6, nv) of one joint.

    The lower half is valid only with `needs_angular`: it is slow where scale shears.
    """
    local_offsets, row = flatten_local_offsets(pose.translations, pose.scales), pose.skeleton.index(joint)
    return compute_jacobians(
        pose.skeleton, row, pose.flat_q.copy(), local_offsets, np.array([point]), needs_angular=needs_angular
    )


def _find_acting_dofs(plan: Plan, goal: AnyGoal) -> Bools:
    """Return the mask (nd,) of dofs acting for a goal.

    A LookAt uses the joints of its `over` only, other goals use all.
    """
    rows = goal.shares(plan.skeleton) if isinstance(goal, LookAt) else None
    is_acting = np.zeros(len(plan.layout.dofs), dtype=bool)
    for node in plan.layout.nodes:
        is_acting[node.dof_start : node.dof_start + dof_layout.DOF_COUNTS[node.kind]] |= rows is None or (
            node.row in rows and node.kind != dof_layout.MOVE
        )
    return is_acting


def _select_plan_columns(plan: Plan, jacobian: Floats) -> Floats:
    """Select the plan's columns (k, 6, nd) of a Jacobian."""
    column_map = get_or_compute(plan, "columns of the skeleton", None, lambda: _build_plan_columns(plan))
    plan_jacobian = jacobian[:, :, column_map.columns] / column_map.column_scales
    for dof, first, axis in column_map.hinged_balls:
        plan_jacobian[:, :, dof] = jacobian[:, :, first : first + 3] @ axis
    return plan_jacobian


class _PlanColumns(NamedTuple):
    """Skeleton columns (nd,) of a plan, with divisors (nd,).

    hinged_balls  (dof, first column, axis) of each ball limited to a hinge
    """

    columns: Ints
    column_scales: Floats
    hinged_balls: tuple[tuple[int, int, Floats], ...]


def _build_plan_columns(plan: Plan) -> _PlanColumns:
    skeleton, dof_count = plan.skeleton, len(plan.layout.dofs)
    columns, column_scales = np.zeros(dof_count, dtype=np.int64), np.ones(dof_count)
    hinged_balls: list[tuple[int, int, Floats]] = []
    for i, node in enumerate(plan.layout.nodes):
        if node.kind == dof_layout.FIXED:
            continue
        first_column = int(skeleton.v_start[node.row])
        if skeleton.kinds[node.row] == Kind.FREE and node.kind != dof_layout.MOVE:
            first_column += 3
        axis = find_hinge_axis(skeleton.limits[node.row])
        if node.kind == dof_layout.HINGE and axis is not None:
            hinged_balls.append((node.dof_start, first_column, np.array(axis)))
        else:
            dof_range = slice(node.dof_start, node.dof_start + dof_layout.DOF_COUNTS[node.kind])
            columns[dof_range] = np.arange(first_column, first_column + dof_layout.DOF_COUNTS[node.kind])
            # Units of u in one unit of q.
            column_scales[dof_range] = plan.frames[0, i, FRAME_RATIO] if node.kind == dof_layout.MOVE else 1.0
    return _PlanColumns(columns, column_scales, tuple(hinged_balls))
