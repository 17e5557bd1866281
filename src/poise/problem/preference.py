"""What the Near goals of a problem prefer, as the kernels take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.model.same import check_same
from poise.problem.goals import AnyGoal, Near
from poise.problem.layout import DOFS, SIZES
from poise.problem.plan import Plan

_STRONGEST = 2.0  # a step goes half the way times this, and more than all of it would distort the weights


class Preference(NamedTuple):
    """The configuration u (nu,) that is preferred, and how much each degree of freedom prefers it, `on` (nd,)."""

    u: Floats
    on: Floats


def preference_of(plan: Plan, goals: Sequence[AnyGoal]) -> Preference:
    """What the Near goals prefer; where several speak of a joint, the last one counts."""
    found = Preference(np.zeros(plan.layout.nu), np.zeros(len(plan.layout.dofs)))
    for goal in goals:
        if not isinstance(goal, Near):
            continue
        check_same(plan.skeleton, goal.pose.skeleton, "the pose of Near")
        u, weights = plan.u_of(goal.pose.on(plan.skeleton).flat_q)[0], goal.weights(plan.skeleton)
        for node in plan.layout.nodes:
            if node.row in weights:
                numbers = slice(node.at, node.at + SIZES[node.kind])
                found.u[numbers] = u[numbers]
                found.on[node.dof : node.dof + DOFS[node.kind]] = weights[node.row]
    largest = found.on.max(initial=0.0)
    if largest > _STRONGEST:
        found.on[:] *= _STRONGEST / largest
    return found
