# pyright: standard
"""Feet on the ground, live, and legs in closed form."""

from __future__ import annotations

from poise.kernels.lazy_import import make_lazy_getattr

__getattr__ = make_lazy_getattr(
    __name__,
    "grounder",
    "grounder_walk",
    "leg_moves",
    "legs",
)
