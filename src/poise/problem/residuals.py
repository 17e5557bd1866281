"""Residuals and Jacobians of goals in NumPy. The NumPy version of kernels/tree/goal_rows.

Errors are measured on the skeleton itself, with any scale. Jacobians are those of Pose.jacobian, (k, 6, nd), in the
columns of a plan. Residuals equal those of the kernels, except that the weight of a pole does not fade.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.remember import remember
from poise.model.kinematics import flat_given, jacobians
from poise.model.limits import hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem.goals import AnyGoal, Balance, LookAt
from poise.problem.layout import AIM, BALANCE, DOFS, FIXED, HINGE, MOVE, NUMBERS, POLE, POSITION, ROTATION, Measure
from poise.problem.measuring.balance import balance_rates
from poise.problem.measuring.measure import Places, point_of
from poise.problem.packing import offset_of, weight_of
from poise.problem.plan import Plan
from poise.problem.problem import Problem

_TINY = 1e-300  # lower bound of squared lengths in divisions


def turn_rates(
    pose: Pose, measure: Measure, goal: AnyGoal, wanted: Floats, jacobian: Floats, turning: Bools
) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, 3, nd) and error (k, 3) of rotational goals.

    These are all but poles; the error points along its axis with length 2 sin(angle / 2).

    For a direction or an aim it is the shortest rotation. An aim also depends on the motion of its point.
    `acting_dofs` (nd,) is the mask of the goal's dofs.
    """
    rates = jacobian[:, 3:]
    if measure.kind == ROTATION:
        turned = pose.world[pose.skeleton.names[measure.row]].rotations
        left = rotations.multiply(wanted, rotations.inverse(turned))
    else:
        axis, way = Places(pose).axis(measure, goal), Places(pose).way(measure, goal, wanted)
        left = rotations.rotation_between(axis, way)
        rates = rates - axis[:, :, None] * np.einsum("kc,kcd->kd", axis, rates)[:, None]
        if measure.kind == AIM:
            b = way / np.maximum((way**2).sum(axis=-1, keepdims=True), _TINY)
            rates = rates + np.cross(b[:, :, None], jacobian[:, :3], axis=1)
    return rates * turning, 2.0 * left[..., 1:] * np.where(left[..., :1] < 0, -1.0, 1.0)


def side_rates(pose: Pose, measure: Measure, wanted: Floats, velocities: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, 1, nd) and error (k, 1) of a pole. The error is a rotation about the limb's line.

    velocities  (k, 3, nd) Jacobians of the limb's first joint, middle joint and tip
    """
    side = Places(pose).side(measure, wanted)
    of_bend, of_pole = (
        np.cross(side.line, v) / np.maximum((v**2).sum(axis=-1, keepdims=True), _TINY) for v in (side.bend, side.pole)
    )
    t_bend, t_pole = side.shares[:, :1], side.shares[:, 1:]
    pushes = ((1 - t_pole) * of_pole - (1 - t_bend) * of_bend, of_bend, t_pole * of_pole - t_bend * of_bend)
    rates = np.sum([np.einsum("kc,kcd->kd", push, v) for push, v in zip(pushes, velocities, strict=True)], axis=0)
    has_side = (side.angle != 0.0)[:, None]
    return np.where(has_side, rates, 0.0)[:, None], 2.0 * np.sin(0.5 * side.angle)[:, None]


def residual(problem: Problem, q: Floats, targets: Floats, *, weighted: bool = True) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, r, nd) and residual (k, r) of all goals. Lengths are in units of the tree's size.

    A column is a velocity per unit of a degree of freedom: of a value in u, or of a ball's rotation [rad] about an axis
    of its parent frame.
    """
    pose = problem.posed(q)
    blocks: list[Floats] = []
    errors: list[Floats] = []
    for measure in problem.measures:
        of = _of_balance if measure.kind == BALANCE else _of_joint
        rates, left = of(problem, pose, measure, targets)
        weight = weight_of(problem.goals[measure.goal], measure.kind) if weighted else 1.0
        blocks.append(rates * weight)
        errors.append(left * weight)
    return np.concatenate(blocks, axis=1), np.concatenate(errors, axis=1)


def _of_joint(problem: Problem, pose: Pose, measure: Measure, targets: Floats) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, r, nd) and error (k, r) of one measure."""
    plan, name, goal = problem.plan, problem.skeleton.names[measure.row], problem.goals[measure.goal]
    angular = measure.kind not in (POSITION, POLE)
    jacobian = _plan_columns(plan, _jacobian(pose, name, offset_of(goal), angular=angular))
    wanted = targets[:, measure.column : measure.column + NUMBERS[measure.kind]]
    if measure.kind == POSITION:
        return jacobian[:, :3] / plan.size, (wanted - point_of(pose, measure, goal)) / plan.size
    if measure.kind == POLE:
        limb = [problem.skeleton.names[row] for row in (*measure.limb, measure.row)]
        velocities = [_plan_columns(plan, _jacobian(pose, joint, angular=False))[:, :3] for joint in limb]
        return side_rates(pose, measure, wanted, velocities)
    return turn_rates(pose, measure, goal, wanted, jacobian, _turning(plan, goal))


def _of_balance(problem: Problem, pose: Pose, measure: Measure, _targets: Floats) -> tuple[Floats, Floats]:
    """Compute Jacobian (k, 2, nd) and error (k, 2) of a Balance. Both are in units of the tree's size."""
    plan, goal = problem.plan, problem.goals[measure.goal]
    assert isinstance(goal, Balance)
    rows = {measure.row, *measure.limb} | {node.row for node in plan.layout.nodes}
    above = {up for row in rows for up in plan.skeleton.way(row)[:-1]}
    tips = sorted((rows - above) | {measure.row, *measure.limb})
    columns = {row: _plan_columns(plan, _jacobian(pose, plan.skeleton.names[row], angular=True)) for row in tips}
    rates, left = balance_rates(plan, pose, goal, columns)
    return rates / plan.size, left / plan.size


def _jacobian(pose: Pose, joint: str, point: tuple[float, float, float] = (0.0, 0.0, 0.0), *, angular: bool) -> Floats:
    """Compute Pose.jacobian (k, 6, nv) of one joint.

    The lower half is valid only with `angular`: it is slow where scale shears.
    """
    given, row = flat_given(pose.translations, pose.scales), pose.skeleton.index(joint)
    return jacobians(pose.skeleton, row, pose.flat_q.copy(), given, np.array([point]), angular=angular)


def _turning(plan: Plan, goal: AnyGoal) -> Bools:
    """Return the mask (nd,) of dofs acting for a goal.

    A LookAt uses the joints of its `over` only, other goals use all.
    """
    rows = goal.shares(plan.skeleton) if isinstance(goal, LookAt) else None
    out = np.zeros(len(plan.layout.dofs), dtype=bool)
    for node in plan.layout.nodes:
        out[node.dof : node.dof + DOFS[node.kind]] |= rows is None or (node.row in rows and node.kind != MOVE)
    return out


def _plan_columns(plan: Plan, columns: Floats) -> Floats:
    """Select the plan's columns (k, 6, nd) of a Jacobian."""
    source = remember(plan, "columns of the skeleton", None, lambda: _source(plan))
    out = columns[:, :, source.columns] / source.gains
    for dof, first, axis in source.bent:
        out[:, :, dof] = columns[:, :, first : first + 3] @ axis
    return out


class _PlanColumns(NamedTuple):
    """Skeleton columns (nd,) of a plan, with divisors (nd,).

    hinged_balls  (dof, first column, axis) of each ball limited to a hinge
    """

    columns: Ints
    gains: Floats
    bent: tuple[tuple[int, int, Floats], ...]


def _source(plan: Plan) -> _PlanColumns:
    skeleton, count = plan.skeleton, len(plan.layout.dofs)
    columns, gains = np.zeros(count, dtype=np.int64), np.ones(count)
    bent: list[tuple[int, int, Floats]] = []
    for i, node in enumerate(plan.layout.nodes):
        if node.kind == FIXED:
            continue
        first = int(skeleton.v_start[node.row])
        if skeleton.kinds[node.row] == Kind.FREE and node.kind != MOVE:
            first += 3
        axis = hinge_axis(skeleton.limits[node.row])
        if node.kind == HINGE and axis is not None:
            bent.append((node.dof, first, np.array(axis)))
        else:
            own = slice(node.dof, node.dof + DOFS[node.kind])
            columns[own] = np.arange(first, first + DOFS[node.kind])
            gains[own] = plan.frames[0, i, 7] if node.kind == MOVE else 1.0  # units of u in one unit of q
    return _PlanColumns(columns, gains, tuple(bent))
