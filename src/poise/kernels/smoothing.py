# pyright: standard
"""Smooth steps from 0 to 1."""

from __future__ import annotations

from poise.kernels.device_functions import device_function


@device_function
def smoothstep_between(value, zero_value, one_value):
    """Blend smoothly from 0 at `zero_value` to 1 at `one_value`. The slope is zero at both ends."""
    t = min(max((value - zero_value) / (one_value - zero_value), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)
