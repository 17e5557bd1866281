# pyright: standard
"""Feet on the ground, live, and the legs that bring ankles to them."""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "grounder",
    "grounder_walk",
    "legs",
    "spread",
)
