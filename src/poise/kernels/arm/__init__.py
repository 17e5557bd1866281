# pyright: standard
"""Levenberg-Marquardt on serial arms of hinges and slides."""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "many",
    "reach",
    "serial",
)
