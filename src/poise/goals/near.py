"""The preference for poses near a given one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats, short
from poise.errors import InputError
from poise.goals.goal import checked_weight, refuse_target, set_fields
from poise.pose import Pose
from poise.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Near:
    """Among the poses that meet the other goals, the one nearest to `pose`: a preference, never missed.

    pose    a single Pose, not a batch
    joints  names of the joints it holds for, aliases resolved, or a mapping from name to a weight > 0: of what cannot
            be had in all, joints of more weight keep more. None: all that move, alike
    weight  > 0; relative to other Near goals

    It has no target and no error. Where several speak of a joint, the last one counts.
    """

    measures = ()
    width = 0
    shape = ()

    pose: Pose
    joints: tuple[str, ...] | None = None
    weight: float = 1.0
    joint_weights: tuple[float, ...] | None = None

    def __init__(
        self, pose: Pose, *, joints: Iterable[str] | Mapping[str, float] | None = None, weight: float = 1.0
    ) -> None:
        _check_single(pose)
        given = {} if joints is None else _weighted(pose.skeleton, joints)
        names, weights = (None, None) if joints is None else (tuple(given), tuple(given.values()))
        set_fields(self, pose=pose, joints=names, weight=checked_weight(weight, "Near"), joint_weights=weights)

    def weights(self, skeleton: Skeleton) -> dict[int, float]:
        """How much each row of the skeleton prefers its place, > 0; rows that do not care are left out."""
        if self.joints is None or self.joint_weights is None:
            return dict.fromkeys(range(len(skeleton)), self.weight)
        rows = (skeleton.index(name) for name in self.joints)
        return {row: self.weight * own for row, own in zip(rows, self.joint_weights, strict=True)}

    def rows(self) -> Floats:
        """Return no numbers (0,)."""
        return np.zeros(0)

    def parse(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target("Near")

    def with_target(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target("Near")


def _check_single(pose: Any) -> None:
    if not isinstance(pose, Pose):
        message = f"Near needs a Pose, such as rig.rest, not {short(pose)}"
        raise InputError(message)
    if pose.shape:
        message = f"Near needs a single pose, such as poses[0], not a batch of shape {pose.shape}"
        raise InputError(message)


def _weighted(skeleton: Skeleton, joints: Any) -> dict[str, float]:
    """Joint names and their weights, without repeats, in the order given; UnknownNameError lists what exists."""
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        message = f"the joints of Near are several names, such as ['spine', 'head'], not {short(joints)}"
        raise InputError(message)
    given = joints if isinstance(joints, Mapping) else dict.fromkeys(joints, 1.0)
    return {
        skeleton.names[skeleton.index(name)]: checked_weight(weight, f"{name!r} in Near")
        for name, weight in given.items()
    }
