# pyright: standard
"""Two bones in closed form."""

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
