# pyright: standard
"""Limits of angles and of whole rotations, shared by every solver."""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "angles",
    "closed_ways",
    "rotations",
    "violation",
)
