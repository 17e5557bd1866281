"""Pieces of kernels called from Python: compiled ones have no door of their own, only kernels call them."""

from __future__ import annotations

import functools

from numba import njit


@functools.cache
def entered(piece):
    """The piece as a function for Python, with the machine code that kernels build in."""

    @njit
    def door(*args):
        return piece(*args)

    return door
