"""SIMD width of this machine, and memory aligned for it."""

from __future__ import annotations

import os
import threading
from functools import cache

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Floats

_ALIGNMENT = 64  # bytes of an AVX-512 register
_WIDTHS = ("4", "8")
_KEPT = 1 << 16  # numbers kept per thread


@cache
def lane_width() -> int:
    """Return the number of problems solved side by side. 8 float64 where the processor has AVX-512, else 4.

    The environment variable POISE_LANES (4 or 8) decides otherwise.
    """
    wanted = os.environ.get("POISE_LANES")
    if wanted is not None:
        if wanted not in _WIDTHS:
            message = f"POISE_LANES must be 4 or 8, not {wanted!r}"
            raise InputError(message)
        return int(wanted)
    from llvmlite import binding  # noqa: PLC0415  (only commands that solve pay for it)

    return 8 if binding.get_host_cpu_features().get("avx512f", False) else 4


def aligned(count: int) -> Floats:
    """Allocate uninitialised float64 numbers on a 64-byte boundary."""
    room = np.empty(count + _ALIGNMENT // 8)
    skip = (-room.ctypes.data // 8) % (_ALIGNMENT // 8)
    return room[skip : skip + count]


class _Scratch(threading.local):
    """Workspace of one thread's kernels."""

    work = aligned(0)


_SCRATCH = _Scratch()


def scratch(count: int) -> Floats:
    """Return a reused workspace of at least `count` aligned numbers.

    For one call of a kernel: the next call in this thread gets the same memory.
    """
    work = _SCRATCH.work
    if len(work) < count:
        work = aligned(count)
        if count <= _KEPT:
            _SCRATCH.work = work
    return work
