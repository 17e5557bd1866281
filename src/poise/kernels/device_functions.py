"""Decorators of device functions, called by kernels only.

A device function stays a plain Python function. The decorator notes how the compilers of kernels treat it: the JIT
(kernels/jit) and the build of the native library (tools/native) read `DEVICE_KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, TypeAlias

Function: TypeAlias = Callable[..., Any]  # for a type checker, kernels take and return anything


class DeviceKind(Enum):
    """Treatment of a device function by a compiler."""

    INLINE = auto()
    INLINE_ORDERED = auto()
    INLINE_STRICT = auto()
    OPTIMIZER = auto()  # the optimizer decides about inlining
    NEVER_INLINE = auto()


DEVICE_KINDS: dict[Any, DeviceKind] = {}  # by function


def inline(function: Function) -> Function:
    """Mark a device function inlined into its callers.

    For small functions and those called once. It must not allocate.
    """
    DEVICE_KINDS[function] = DeviceKind.INLINE
    return function


def inline_ordered(function: Function) -> Function:
    """Mark an inlined function with ordered sums."""
    DEVICE_KINDS[function] = DeviceKind.INLINE_ORDERED
    return function


def inline_strict(function: Function) -> Function:
    """Mark an inlined function without fast math.

    It has the same bits in every kernel: operations are rounded one by one, in order.
    """
    DEVICE_KINDS[function] = DeviceKind.INLINE_STRICT
    return function


def device_function(function: Function) -> Function:
    """Leave the inlining of a device function to the optimizer. For larger functions."""
    DEVICE_KINDS[function] = DeviceKind.OPTIMIZER
    return function


def never_inline(function: Function) -> Function:
    """Mark a device function kept out of line. For code that is faster with registers of its own."""
    DEVICE_KINDS[function] = DeviceKind.NEVER_INLINE
    return function
