# pyright: standard
"""Chains of joints: CCD and FABRIK, with polish and restarts."""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "aims",
    "attempts",
    "ccd",
    "ccd_goals",
    "chain_finish",
    "escape",
    "fabrik",
    "fabrik_limited",
    "finish",
    "links",
)
