"""Goals: what is wanted of a pose. Values; a new target is a new goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats, finite
from poise.errors import InputError

_PLANAR = 2
FARTHEST = 1e100  # file units: no length is meant beyond this, and squares stay finite


@dataclass(frozen=True, eq=False)
class Position:
    """The origin of `joint` is at `target` [file units, world].

    target  (..., 3), or (..., 2) for planar chains (z is then 0); leading axes are a batch of targets
            no coordinate is beyond 1e100
    root    the first joint that may move; by default the limb's own (see Skeleton.chain)

    Error: |target - world position of the joint|.
    """

    joint: str
    target: Floats
    root: str | None = None

    def __init__(self, joint: str, target: ArrayLike, *, root: str | None = None) -> None:
        point = finite(target, f"the target of {joint!r}")
        if point.ndim and point.shape[-1] == _PLANAR:
            point = np.concatenate([point, np.zeros((*point.shape[:-1], 1))], axis=-1)
        if point.ndim == 0 or point.shape[-1] != 3:  # noqa: PLR2004
            message = f"the target of {joint!r} needs 3 numbers (or 2 in the plane); its shape is {point.shape}"
            raise InputError(message)
        if np.abs(point).max(initial=0.0) > FARTHEST:
            message = f"the target of {joint!r} lies beyond {FARTHEST:g}: no length is meant by that"
            raise InputError(message)
        point = point.copy()  # the caller's array stays the caller's
        point.setflags(write=False)
        object.__setattr__(self, "joint", joint)
        object.__setattr__(self, "target", point)
        object.__setattr__(self, "root", root)


Goal: TypeAlias = Position
