"""Pieces of kernels called from Python: compiled ones have no door of their own, only kernels call them."""

from __future__ import annotations

import functools

from numba import njit

from poise.kernels.jit import KernelCompiler


@functools.cache
def entered(piece):
    """The piece as a function for Python, compiled as in a kernel that does nothing else."""

    @njit(pipeline_class=KernelCompiler)
    def door(*args):
        return piece(*args)

    return door
