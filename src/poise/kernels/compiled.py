# pyright: standard
"""Decorators compiling plain Python functions with Numba, cached on disk.

Numba stamps a cached function with the file it stands in only, so that a change in a function that it
calls from another file would go unnoticed and old machine code would run. Here every kernel is stamped
with a hash over the whole kernel package instead: changing any kernel file recompiles all of them.
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

entrypoints.init_all()  # at its first compile Numba reads what every installed package says of itself: part of loading

# These import, announce and keep kernels, and nothing of them is compiled.
_WITHOUT_CODE = {Path(str(module.__file__)) for module in (announced, cache, on_demand)}


def _package_stamp() -> str:
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    # Sorted, for folders list their files in any order; with the name, for a renamed file is another program.
    for path in sorted(folder.rglob("*.py")):
        if path in _WITHOUT_CODE:
            continue
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


STAMP = _package_stamp()


# Division by zero gives inf or NaN. `a * b + c` may be rounded once, sums may be taken in another order and a zero may
# lose its sign: a third of the time. Nothing else of "fast math": NaN and infinity mean what they mean.
_ARITHMETIC: dict[str, Any] = {
    "pipeline_class": Pipeline,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},
}


_KERNEL: dict[str, Any] = {**_ARITHMETIC, "no_cfunc_wrapper": True}  # only Python calls one


def kernel(function: Function) -> Function:
    """Compile an entry point for Python. It is cached on disk and releases the interpreter lock."""
    compiled: Any = njit(nogil=True, **_KERNEL)(function)
    return _kept(compiled)


def short_kernel(function: Function) -> Function:
    """Compile an entry point holding the interpreter lock."""
    compiled: Any = njit(**_KERNEL)(function)
    return _kept(compiled)


# Only kernels call these. `KernelCompiler` knows them by having no wrapper for Python: Python must not call one, for it
# has no door, and the interpreter would crash. No reference counts: they own no array, and an atomic increment per
# array and call would cost more than the arithmetic. Where nothing is said of `forceinline`, Numba takes over the
# caller's.
_HELPER: dict[str, Any] = {
    **_ARITHMETIC, "nogil": True, "_nrt": False, "forceinline": False,
    "no_cfunc_wrapper": True, "no_cpython_wrapper": True,
}  # fmt: skip
_INLINE: dict[str, Any] = {**_HELPER, "forceinline": True}
_APART: dict[str, Any] = {**_HELPER, "pipeline_class": PipelineApart}


def inline(function: Function) -> Function:
    """Compile a device function inlined into its callers. It must not allocate."""
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

    Never call it from Python. Never call it from Python.
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
