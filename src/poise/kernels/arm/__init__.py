# pyright: standard
"""A serial arm of hinges and slides: the engine's fastest kernels."""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "many",
    "reach",
    "serial",
)
