"""Floor: a height along the up axis of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from poise.calls.argument_checks import describe_value
from poise.errors import InputError, UnsupportedError
from poise.maths.arrays import Floats
from poise.model.anatomy.rest_geometry import find_body_frame, find_confident_joints
from poise.model.joint_tree import list_below
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import find_joint_roles
from poise.problem.goals import Goal, Pin, is_joint_goal


class Floor(NamedTuple):
    """A level floor.

    up      unit vector
    height  along that [file units]
    """

    up: tuple[float, float, float]
    height: float

    @property
    def row(self) -> Floats:
        """The floor (1, 4) as kernels read it."""
        return np.array([[*self.up, self.height]])


def make_floor(floor: Any, start: Pose, goals: Sequence[Goal]) -> Floor | None:
    """Make a floor from a height or from pinned feet.

    Raises
    ------
    InputError
        For anything but a finite number, "auto" and None, and for "auto" where no foot is pinned.
    """
    if floor is None:
        return None
    try:
        up = find_body_frame(start.skeleton).up
    except InputError:
        raise UnsupportedError("floor= is for figures whose arms and legs are known") from None
    axis = float(up[0]), float(up[1]), float(up[2])
    if isinstance(floor, str) and floor == "auto":
        return Floor(axis, _find_height(start, goals, up))
    is_number = isinstance(floor, int | float | np.number) and not isinstance(floor, bool)
    if not is_number or not np.isfinite(float(floor)):
        raise InputError(f'floor is a height along the up axis, or "auto", not {describe_value(floor)}')
    return Floor(axis, float(floor))


def _find_height(start: Pose, goals: Sequence[Goal], up: Floats) -> float:
    """Find the lowest joint of pinned feet in the start."""
    skeleton, joints = start.skeleton, find_confident_joints(find_joint_roles(start.skeleton))
    feet = {skeleton.index(joints[side + "Foot"]) for side in SIDES if side + "Foot" in joints}
    pinned = [skeleton.index(goal.joint) for goal in goals if is_joint_goal(goal) and isinstance(goal, Pin)]
    standing = {foot for foot in feet for row in pinned if foot in skeleton.list_path(row)}
    if not standing:
        raise InputError(
            'floor="auto" is the floor under pinned feet, and no foot is pinned: give the height of the floor, '
            "or a Pin of a foot"
        )
    below = sorted({row for foot in standing for row in list_below(skeleton.parents, foot)})
    heights = start.world.positions.reshape(-1, len(skeleton), 3)[:, below] @ up
    return float(heights.min())
