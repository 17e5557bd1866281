"""The preference for poses near a given one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arrays import Floats, short
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.goals.base.goal import checked_weight, names_and_weights, refuse_target, set_fields


@dataclass(frozen=True, eq=False)
class Near:
    """Of all poses that meet the other goals, take the one nearest to a given pose: a preference that is never missed.

    Parameters
    ----------
    pose
        A single Pose, not a batch.
    joints
        Names of the joints that should stay near, aliases allowed; None: all that move. With a mapping (or pairs) of
        names and weights > 0, stored as pairs, a joint of more weight stays nearer than others.
    weight
        A factor > 0, relative to other Near goals.

    Notes
    -----
    It has no target and no error. Where several Near goals name the same joint, the last one counts.
    """

    measures = ()
    width = 0
    shape = ()

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
        _check_single(pose)
        names = None if joints is None else _joints(pose.skeleton, joints)
        set_fields(self, pose=pose, joints=names, weight=checked_weight(weight, "Near"))

    def weights(self, skeleton: Skeleton) -> dict[int, float]:
        """The weight > 0 of each row of the skeleton that should stay near; other rows are left out."""
        if self.joints is None:
            return dict.fromkeys(range(len(skeleton)), self.weight)
        given = names_and_weights(self.joints, "the joints of Near")
        return {skeleton.index(name): self.weight * (own or 1.0) for name, own in given.items()}

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


def _joints(skeleton: Skeleton, joints: Any) -> tuple[str | tuple[str, float], ...]:
    """Joint names, with their weights where given, in the order given; UnknownNameError lists what exists."""
    given = names_and_weights(joints, "the joints of Near")
    known = {skeleton.names[skeleton.index(name)]: weight for name, weight in given.items()}
    return tuple(name if weight is None else (name, weight) for name, weight in known.items())
