# pyright: standard
"""Numbers as values: vectors, quaternions, SIMD lanes, small systems of equations."""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "axes",
    "davenport",
    "eigen",
    "lanes",
    "linear",
    "small_solve",
    "springs",
    "turns",
)
