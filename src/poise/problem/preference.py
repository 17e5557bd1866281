"""Pose preferences of Near goals, packed for the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Floats
from poise.model.same import check_same
from poise.problem.goals import AnyGoal, Goal, Near
from poise.problem.layout import DOFS, SIZES
from poise.problem.plan import Plan

_STRONGEST = 2.0  # largest weight: a step covers weight / 2 of the way to the preferred pose


class Preference(NamedTuple):
    """Preferred configurations u (1|k, nu) and weights (nd,)."""

    u: Floats
    on: Floats


def preference_of(plan: Plan, goals: Sequence[AnyGoal]) -> Preference:
    """Pack the preference of the Near goals. The last one counts where several name the same joint."""
    shape = preferred_shape(goals)
    found = Preference(np.zeros((math.prod(shape), plan.layout.nu)), np.zeros(len(plan.layout.dofs)))
    for goal in [one.spread(shape) for one in goals if isinstance(one, Near)]:
        check_same(plan.skeleton, goal.pose.skeleton, "the pose of Near")
        u, weights = plan.u_of(goal.pose.on(plan.skeleton).flat_q), goal.weights(plan.skeleton)
        for node in plan.layout.nodes:
            if node.row in weights:
                numbers = slice(node.at, node.at + SIZES[node.kind])
                found.u[:, numbers] = u[:, numbers]
                found.on[node.dof : node.dof + DOFS[node.kind]] = weights[node.row]
    largest = found.on.max(initial=0.0)
    if largest > _STRONGEST:
        found.on[:] *= _STRONGEST / largest
    return found


def preferred_shape(goals: Sequence[AnyGoal]) -> tuple[int, ...]:
    """Broadcast the batch axes of the poses of Near goals. Raises InputError where they do not match."""
    shapes = [goal.shape for goal in goals if isinstance(goal, Near) and goal.shape]
    if not shapes:
        return ()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        message = f"the poses of Near goals are batches of different shapes: {', '.join(map(str, shapes))}"
        raise InputError(message) from error


def spread(goals: tuple[Goal, ...], shape: tuple[int, ...]) -> tuple[Goal, ...]:
    """Broadcast Near goals to a batch of targets of this shape.

    Each gets one pose for all targets, or one per target along one axis.
    """
    return tuple(goal.spread(shape) if isinstance(goal, Near) else goal for goal in goals)
