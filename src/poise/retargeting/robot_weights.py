"""Weights of a robot's tasks, by words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, UnknownNameError
from poise.maths.arrays import check_real

# larger factors leave the other tasks without effect, and the solve without digits
_MAX_FACTOR = 1000.0


class RobotWeights(NamedTuple):
    """Factors on the weights of a robot's tasks. 1 is the weight that stands beside the task.

    limbs   rotations of thighs and upper arms, directions of shins and forearms
    trunk   rotations of hips and trunk
    feet    places and rotations of feet
    hands   rotations of hands
    head    rotation of the head
    root    place of the hips
    smooth  squared changes of step
    """

    limbs: float = 1.0
    trunk: float = 1.0
    feet: float = 1.0
    hands: float = 1.0
    head: float = 1.0
    root: float = 1.0
    smooth: float = 1.0


def check_weights(weights: Mapping[str, float]) -> RobotWeights:
    """Check factors by word. A wrong one is an error that names it."""
    if not isinstance(weights, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"weights are factors by word, such as {{'hands': 2.0}}, not {weights!r}")
    factors: dict[str, float] = {}
    for word, value in weights.items():
        if word not in RobotWeights._fields:
            raise UnknownNameError("weight", word, RobotWeights._fields)
        factor = check_real(value, f"the weight of {word}")
        if not (np.isfinite(factor) and 0.0 <= factor <= _MAX_FACTOR):
            raise InputError(f"the weight of {word} is a factor from 0 to {_MAX_FACTOR:g}, not {factor:g}")
        factors[word] = float(factor)
    return RobotWeights(**factors)
