"""Preference for poses near a given one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_type, describe_value
from poise.errors import InputError
from poise.formatting import format_fields
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.goal_interface import GoalValue, checked_weight, parse_names_and_weights, refuse_target, set_fields


@dataclass(frozen=True, eq=False)
class Near(GoalValue):
    """Prefer the pose nearest to a given one.

    It is chosen among all poses that meet the other goals; a preference is never missed.

    Parameters
    ----------
    pose
        A Pose; or a batch of poses, one for each target or frame: its leading axes go with those of the starts and
        of the targets of other goals.
    joints
        Names of the joints to keep near, aliases allowed; None: all moving joints. With a mapping (or pairs) of names
        and weights > 0, stored as pairs, joints of more weight stay nearer.
    weight
        A factor > 0, relative to other Near goals.

    Notes
    -----
    It has no target and no error. Where several Near goals name the same joint, the last one counts.

    The answer is a minimum of `sum_i weight_i (q_i - pose_i)^2` among the poses that meet the other goals within the
    limits: no small motion that these allow leads nearer. A slide as long as the rig's size counts as one radian, a
    ball by its angle. On a serial arm with one other goal, Newton steps along the self-motion lead there from the
    answer without Near, in a few microseconds; an arm without self-motion keeps that answer. A start far from the
    target is replaced by `pose`, so that the branch of solutions near it is found; from a close start, as in tracking,
    the branch stays. On other rigs each step towards the goals also goes part of the way to `pose`, and costs more.

    With a batch of poses each problem stays near its own pose, with results bit for bit as alone. So frames can be tied
    to their source animation, `bake(clip, [*goals, Near(clip.poses)])`, or to the result of another solve. But for
    serial arms a batch takes several times as long as a single pose: only problems with the same preferred pose are
    solved together.
    """

    __repr__ = format_fields

    measures = ()
    width = 0

    pose: Pose
    joints: tuple[str | tuple[str, float], ...] | None = None
    weight: float = 1.0

    def __init__(
        self,
        pose: Pose,
        *,
        joints: Iterable[str | tuple[str, float]] | Mapping[str, float] | None = None,
        weight: float = 1.0,
    ) -> None:
        if not isinstance(pose, Pose):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"Near needs a Pose, such as rig.rest, not {describe_value(pose)}")
        checked_joints = None if joints is None else _parse_joints(pose.skeleton, joints)
        set_fields(self, pose=pose, joints=checked_joints, weight=checked_weight(weight, "Near"))

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes of the pose; () for a single one."""
        return self.pose.shape

    def part(self, rows: Bools | Ints | slice | int) -> Near:
        """Return the goal for some poses of its batch. A single pose is returned unchanged."""
        return self._replace_pose(self.pose[rows]) if self.shape else self

    def spread(self, shape: tuple[int, ...]) -> Near:
        """Broadcast the goal's poses to a batch shape, along one axis. A single pose is returned unchanged."""
        if not self.shape:
            return self
        pose, k = self.pose, math.prod(shape)
        q = np.broadcast_to(pose.q, (*shape, pose.q.shape[-1])).reshape(k, pose.q.shape[-1])
        arrays = [
            array if array is None else np.broadcast_to(array, (*shape, *array.shape[-2:]))
            for array in (pose.translations, pose.scales)
        ]
        flat_arrays = [array if array is None else array.reshape(k, *array.shape[-2:]) for array in arrays]
        return self._replace_pose(Pose.make_unchecked(pose.skeleton, q, *flat_arrays))

    def _replace_pose(self, pose: Pose) -> Near:
        new_goal = object.__new__(type(self))
        set_fields(new_goal, pose=pose, joints=self.joints, weight=self.weight)
        return new_goal

    def weights(self, skeleton: Skeleton) -> dict[int, float]:
        """Return the weight > 0 of each row with a preference."""
        check_type(skeleton, Skeleton, "the skeleton")
        if self.joints is None:
            return dict.fromkeys(range(len(skeleton)), self.weight)
        weights = parse_names_and_weights(self.joints, "the joints of Near")
        return {skeleton.index(name): self.weight * (joint_weight or 1.0) for name, joint_weight in weights.items()}

    def rows(self) -> Floats:
        """Return no numbers (0,)."""
        return np.zeros(0)

    def parse(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target("Near")

    def with_target(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target("Near")


def _parse_joints(skeleton: Skeleton, joints: Any) -> tuple[str | tuple[str, float], ...]:
    """Parse joint names with optional weights, in order. UnknownNameError lists the existing names."""
    weights = parse_names_and_weights(joints, "the joints of Near")
    weights_by_name = {skeleton.names[skeleton.index(name)]: weight for name, weight in weights.items()}
    return tuple(name if weight is None else (name, weight) for name, weight in weights_by_name.items())
