# pyright: standard
"""Decorators compiling plain Python functions with Numba, cached on disk.

Numba stamps a cached function with its own file only: changing a callee in another file would go unnoticed, and old
machine code would run. Here every kernel is stamped with a hash over the whole kernel package instead: changing any
kernel file recompiles all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import entrypoints

from poise.kernels import announced, cache, on_demand
from poise.kernels.pipeline import Pipeline, PipelineApart

Function = TypeVar("Function", bound=Callable[..., Any])

entrypoints.init_all()  # Numba would read the entry points of all packages at its first compile

# These modules import, report and cache kernels; nothing in them is compiled.
_WITHOUT_CODE = {Path(str(module.__file__)) for module in (announced, cache, on_demand)}


def _package_stamp() -> str:
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    # Sorted, because folders list files in any order; with the name, because a renamed file changes the program.
    for path in sorted(folder.rglob("*.py")):
        if path in _WITHOUT_CODE:
            continue
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


STAMP = _package_stamp()


# Division by zero gives inf or NaN. `a * b + c` may be rounded once, sums may be reordered and zeros may lose their
# sign, which saves a third of the time. No other "fast math" flags: NaN and infinity keep their meaning.
_ARITHMETIC: dict[str, Any] = {
    "pipeline_class": Pipeline,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},
}


_KERNEL: dict[str, Any] = {**_ARITHMETIC, "no_cfunc_wrapper": True}  # called by Python only


def kernel(function: Function) -> Function:
    """Compile an entry point for Python. It is cached on disk and releases the interpreter lock."""
    compiled: Any = njit(nogil=True, **_KERNEL)(function)
    return _kept(compiled)


def short_kernel(function: Function) -> Function:
    """Compile an entry point holding the interpreter lock.

    For calls of a few microseconds: releasing the lock would cost a tenth of one.
    """
    compiled: Any = njit(**_KERNEL)(function)
    return _kept(compiled)


# Device functions are called by kernels only. `KernelCompiler` recognises them by the missing Python wrapper; calling
# one from Python would crash the interpreter. No reference counts: they own no array, and an atomic increment per array
# and call would cost more than the arithmetic. Without `forceinline`, Numba would inherit the caller's.
_HELPER: dict[str, Any] = {
    **_ARITHMETIC, "nogil": True, "_nrt": False, "forceinline": False,
    "no_cfunc_wrapper": True, "no_cpython_wrapper": True,
}  # fmt: skip
_INLINE: dict[str, Any] = {**_HELPER, "forceinline": True}
_APART: dict[str, Any] = {**_HELPER, "pipeline_class": PipelineApart}


def inline(function: Function) -> Function:
    """Compile a device function inlined into its callers.

    For small functions and those called once. It must not allocate.
    """
    return njit(**_INLINE)(function)  # pyright: ignore[reportReturnType]


def exact(function: Function) -> Function:
    """Compile an inlined function with ordered sums."""
    flags: dict[str, Any] = {**_INLINE, "fastmath": {"contract"}}
    return njit(**flags)(function)  # pyright: ignore[reportReturnType]


def strict(function: Function) -> Function:
    """Compile an inlined function without fast math.

    It has the same bits in every kernel: operations are rounded one by one, in order.
    """
    flags: dict[str, Any] = {**_INLINE, "fastmath": False}
    return njit(**flags)(function)  # pyright: ignore[reportReturnType]


def part(function: Function) -> Function:
    """Compile a device function; the optimizer decides about inlining.

    For larger functions. Never call it from Python.
    """
    return njit(**_HELPER)(function)  # pyright: ignore[reportReturnType]


def apart(function: Function) -> Function:
    """Compile a device function without inlining. For code that is faster with registers of its own."""
    return njit(**_APART)(function)  # pyright: ignore[reportReturnType]


def _kept(compiled: Any) -> Any:
    """Give a compiled function its disk cache. A private attribute: a test guards it for each Numba release."""
    if hasattr(compiled, "_cache"):  # absent with NUMBA_DISABLE_JIT=1
        compiled._cache = cache.cache_of(compiled.py_func, STAMP)  # noqa: SLF001  (Numba has no public way)
    return compiled
