"""Fields of goals with their defaults: measured point, weight and axis."""

from __future__ import annotations

from poise.model.skeleton import Skeleton
from poise.problem.dof_layout import ROTATION
from poise.problem.goal_interface import ORIGIN
from poise.problem.goals import AnyGoal, LookAt


def get_goal_point(goal: AnyGoal) -> tuple[float, float, float]:
    """Return the measured point in the frame of the goal's joint."""
    return getattr(goal, "offset", ORIGIN)


def get_residual_weight(goal: AnyGoal, kind: int) -> float:
    """Return the weight of one residual of a goal. `kind` is the kind of its term, such as POSITION.

    A goal may weight its rotation differently from its position.
    """
    return goal.weight * (getattr(goal, "rotation_weight", 1.0) if kind == ROTATION else 1.0)


def get_pointing_axis(skeleton: Skeleton, goal: AnyGoal) -> tuple[float, float, float]:
    """Return the axis of a direction or aim, in joint coordinates."""
    if isinstance(goal, LookAt):
        return goal.sight(skeleton).axis
    return goal.axis  # pyright: ignore[reportAttributeAccessIssue]  (see JointGoal in problem/goal_interface.py)
