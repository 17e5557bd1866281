# pyright: standard
"""Mean speeds over the last moments.

A speed is a sum of steps over the sum of their times, both with weights that decay: frames of uneven times, of which
some are very short, have the speed of even ones. Of c numbers it is an array (c + 2,): the c sums, the time, and 1
after the first step, else 0.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import inline

_MEMORY_S = 1.0 / 240.0  # in which the weight of older steps decays by a factor of e


@inline
def decay_speed(speed, dt):
    """Decay older steps, and add `dt` seconds. The step of this time is to be added."""
    count = len(speed) - 2
    share = math.exp(-dt / _MEMORY_S) if speed[count + 1] > 0.0 else 0.0
    for k in range(count + 1):
        speed[k] *= share
    speed[count] += dt
    speed[count + 1] = 1.0


@inline
def get_seconds(speed):
    """Return what sums are divided by [s]. Before the first step they are 0."""
    return max(speed[len(speed) - 2], _MEMORY_S)


@inline
def is_known(speed):
    """Return whether there was a step."""
    return speed[len(speed) - 1] > 0.0
