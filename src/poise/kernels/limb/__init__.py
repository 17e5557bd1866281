# pyright: standard
"""Closed-form kernels for limbs of two bones.

Input: start poses, world maps, targets and poles. Output: configurations q. `limb_packing` turns poses into rows of
numbers, `two_bone` and `planar_two_bone` solve them, `posture` finds natural bend directions and crouches.
"""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "arcs",
    "bends",
    "crouch",
    "frames",
    "planar",
    "posed",
    "posed_plane",
    "rows",
    "two_bone",
)
