"""Processor levels: instruction sets, and the lanes of their kernels.

The arithmetic of kernels has the same bits on all processors of a level. POISE_LEVEL chooses a lower level than the
processor has, or the portable one: its bits are the same on all processors, systems and in browsers.
"""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from poise.errors import InputError
from poise.kernels import native


class Level(NamedTuple):
    """Target of the compiler.

    lane_count   problems solved side by side: float64 numbers in a register
    cpu          name of the processor for LLVM, "" for the processor of this machine
    """

    lane_count: int
    cpu: str


HOST_LEVEL = "host"  # exactly this processor; only the JIT compiles for it, where no library knows the levels

PORTABLE_LEVEL = "portable"  # the same bits on every processor and system; only libraries have it

LEVELS: dict[str, Level] = {
    PORTABLE_LEVEL: Level(4, "x86-64-v2"),  # the processor is that of Linux and Windows; see tools/native/platforms.py
    "v2": Level(4, "x86-64-v2"),
    "v3": Level(4, "x86-64-v3"),  # AVX2 with fused multiply and add
    "v4": Level(8, "x86-64-v4"),  # AVX-512
    "armv8": Level(4, "generic"),  # any AArch64
    "m1": Level(4, "apple-m1"),
    HOST_LEVEL: Level(4, ""),
}

_VARIABLE = "POISE_LEVEL"


def has_eight_lanes(kernel_name: str) -> bool:
    """Return whether a kernel solves eight problems side by side."""
    return kernel_name.endswith("8")


@cache
def find_level() -> str:
    """Find the level of this process.

    The highest level that the processor has, or the one that POISE_LEVEL names.

    Raises
    ------
    InputError
        POISE_LEVEL names no level of this processor.
    """
    library = native.load_library()
    supported_levels = [] if library is None else [*library.list_levels()]
    supported_levels = supported_levels or [HOST_LEVEL]  # also where the processor is older than all levels
    chosen = os.environ.get(_VARIABLE) or supported_levels[-1]
    if chosen not in supported_levels:
        message = f"{_VARIABLE} is one of {', '.join(supported_levels)} on this processor, not {chosen!r}"
        raise InputError(message)
    return chosen
