"""Preferred poses of Near goals, packed for the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.errors import InputError
from poise.kernels.layout import FRAME_RATIO
from poise.maths.arrays import Floats
from poise.model.pose import check_same_skeleton
from poise.problem import dof_layout
from poise.problem.goals import AnyGoal, Goal, Near
from poise.problem.plan import Plan

_MAX_PREFERENCE_WEIGHT = 2.0  # largest weight: a step covers weight / 2 of the way to the preferred pose


class PosePreference(NamedTuple):
    """Preferred configurations u (1|k, nu) and weights (nd,)."""

    u: Floats
    weights: Floats

    def pack_for_arm(self, plan: Plan) -> Floats:
        """Pack the values of a serial arm, and their weights.

        These are rows (0|1|k, 2 m) of the m links. Only the ratios of the weights matter. Without weights there are no
        rows. See kernels/arm_preference.py.
        """
        m, max_weight = len(self.weights), float(self.weights.max(initial=0.0))
        if not max_weight:
            return np.empty((0, 2 * m))
        preferences = np.empty((len(self.u), 2 * m))
        preferences[:, :m] = self.u * plan.frames[0, :, FRAME_RATIO]
        preferences[:, m:] = self.weights / max_weight
        return preferences


def build_preference(plan: Plan, goals: Sequence[AnyGoal]) -> PosePreference:
    """Pack the preference of the Near goals. The last one counts where several name the same joint."""
    shape = find_preferred_shape(goals)
    preference = PosePreference(np.zeros((math.prod(shape), plan.layout.nu)), np.zeros(len(plan.layout.dofs)))
    for goal in [near_goal.spread(shape) for near_goal in goals if isinstance(near_goal, Near)]:
        check_same_skeleton(plan.skeleton, goal.pose.skeleton, "the pose of Near")
        u, weights = plan.q_to_u(goal.pose.on(plan.skeleton).flat_q), goal.weights(plan.skeleton)
        for node in plan.layout.nodes:
            if node.row in weights:
                u_slice = slice(node.u_start, node.u_start + dof_layout.U_SIZES[node.kind])
                preference.u[:, u_slice] = u[:, u_slice]
                preference.weights[node.dof_start : node.dof_start + dof_layout.DOF_COUNTS[node.kind]] = weights[
                    node.row
                ]
    max_weight = preference.weights.max(initial=0.0)
    if max_weight > _MAX_PREFERENCE_WEIGHT:
        preference.weights[:] *= _MAX_PREFERENCE_WEIGHT / max_weight
    return preference


def find_preferred_shape(goals: Sequence[AnyGoal]) -> tuple[int, ...]:
    """Broadcast the batch axes of the poses of Near goals. Raises InputError where they do not match."""
    shapes = [goal.shape for goal in goals if isinstance(goal, Near) and goal.shape]
    if not shapes:
        return ()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        message = f"the poses of Near goals are batches of different shapes: {', '.join(map(str, shapes))}"
        raise InputError(message) from error


def broadcast_goals(goals: tuple[Goal, ...], shape: tuple[int, ...]) -> tuple[Goal, ...]:
    """Broadcast Near goals to a batch of targets of this shape.

    Each gets one pose for all targets, or one per target along one axis.
    """
    return tuple(goal.spread(shape) if isinstance(goal, Near) else goal for goal in goals)
