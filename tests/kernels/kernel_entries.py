"""Pieces of kernels called from Python: compiled ones have no door of their own, only kernels call them."""

from __future__ import annotations

import functools
import os

from numba import njit

from poise.kernels.jit.compiler import KernelCompiler


def compiled(function, **flags):
    """The function for Python, compiled as a kernel is, with the device functions that it calls; or as it is."""
    if os.environ.get("POISE_KERNELS") == "plain":
        return function
    return njit(pipeline_class=KernelCompiler, **flags)(function)


@functools.cache
def entered(piece):
    """The piece as a function for Python, compiled as in a kernel that does nothing else."""

    @compiled
    def door(*args):
        return piece(*args)

    return door
