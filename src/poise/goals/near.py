"""The preference for poses near a given one."""

from __future__ import annotations

from collections.abc import Iterable
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
    joints  names of the joints it holds for, aliases resolved; None: all that move
    weight  > 0; relative to other Near goals

    It has no target and no error.
    """

    measures = ()
    width = 0
    shape = ()

    pose: Pose
    joints: tuple[str, ...] | None = None
    weight: float = 1.0

    def __init__(self, pose: Pose, *, joints: Iterable[str] | None = None, weight: float = 1.0) -> None:
        _check_single(pose)
        names = None if joints is None else _names(pose.skeleton, joints)
        set_fields(self, pose=pose, joints=names, weight=checked_weight(weight, "Near"))

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


def _names(skeleton: Skeleton, joints: Any) -> tuple[str, ...]:
    """Joint names without repeats, in the order given; UnknownNameError lists what exists."""
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        message = f"the joints of Near are several names, such as ['spine', 'head'], not {short(joints)}"
        raise InputError(message)
    return tuple(dict.fromkeys(skeleton.names[skeleton.index(joint)] for joint in joints))
