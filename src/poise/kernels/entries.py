"""Entry kernels: functions called by Python, as machine code if possible.

An entry runs in one of three ways, decided when its module is imported:

1. `native`: code of the library built ahead of time, if its stamp is that of the present source;
2. `jit`: compiled by Numba at the first call, if Numba is installed;
3. `plain`: the Python function itself, hundreds of times slower.

POISE_KERNELS chooses one of them for the process: `native` refuses kernels without code, `jit` and `plain` use no
library.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from poise.errors import InputError
from poise.kernels import levels, native, stamps

Kernel: TypeAlias = Callable[..., Any]  # for a type checker, kernels take and return anything

_VARIABLE = "POISE_KERNELS"


class Backend(StrEnum):
    """Way of running a kernel."""

    NATIVE = "native"
    JIT = "jit"
    PLAIN = "plain"


class Entry(NamedTuple):
    """An entry kernel.

    function      the plain Python function
    signature     its arguments and results, see `kernel`
    releases_gil  whether other threads run meanwhile
    backend       the way in which it runs
    call          its callable
    """

    function: Kernel
    signature: str
    releases_gil: bool
    backend: Backend
    call: Any


ENTRIES: dict[str, Entry] = {}  # by module and name, as "ccd_position.solve"


def kernel(signature: str) -> Callable[[Kernel], Kernel]:
    """Mark an entry kernel. It releases the interpreter lock.

    Parameters
    ----------
    signature
        One word for each argument, "->", and one word for each returned number. Numbers are `f` (float64), `i` (int64)
        and `b` (bool); C-ordered arrays are F, I or B with the number of dimensions: "F2 I1 f wF1 -> i". A letter `w`
        before an array says that the kernel writes to it, `s` that it is scratch memory, `a` that this memory is
        aligned to 64 bytes, for lanes.
    """
    return lambda function: _bind(function, signature, releases_gil=True)


def gil_kernel(signature: str) -> Callable[[Kernel], Kernel]:
    """Mark an entry kernel holding the interpreter lock.

    For calls of a few microseconds: releasing the lock would cost a tenth of one.
    """
    return lambda function: _bind(function, signature, releases_gil=False)


def _bind(function: Kernel, signature: str, *, releases_gil: bool) -> Kernel:
    name = f"{function.__module__.removeprefix('poise.kernels.')}.{function.__qualname__}"
    backend, call = _choose(name, function, releases_gil=releases_gil)
    ENTRIES[name] = Entry(function, signature, releases_gil, backend, call)
    return call


def _choose(name: str, function: Kernel, *, releases_gil: bool) -> tuple[Backend, Kernel]:
    """Choose the code of a kernel."""
    requested = _read_request()
    if requested in (None, Backend.NATIVE):
        native_kernel = _load_native_kernels().get(name)
        if native_kernel is not None:
            return Backend.NATIVE, native_kernel
        if _is_for_other_processors(name):
            return Backend.PLAIN, function
        if requested == Backend.NATIVE:
            return Backend.NATIVE, _make_refusal(name)
    if levels.find_level() == levels.PORTABLE_LEVEL:
        return Backend.NATIVE, _make_refusal(name)
    if requested != Backend.PLAIN and _has_numba():
        from poise.kernels.jit import compiler  # noqa: PLC0415  (imports Numba, a quarter of a second)

        dispatcher: Any = compiler.make_kernel_dispatcher(function, releases_gil=releases_gil)
        return (Backend.JIT if hasattr(dispatcher, "signatures") else Backend.PLAIN), dispatcher  # NUMBA_DISABLE_JIT
    if requested == Backend.JIT:
        message = f"{_VARIABLE}=jit needs Numba: pip install poise[jit]"
        raise InputError(message)
    if requested != Backend.PLAIN:
        _report_plain()
    return Backend.PLAIN, function


@cache
def _read_request() -> Backend | None:
    """Read the requested backend from the environment."""
    value = os.environ.get(_VARIABLE) or None
    if value is not None and value not in list(Backend):
        message = f"{_VARIABLE} is one of {', '.join(Backend)}, not {value!r}"
        raise InputError(message)
    return None if value is None else Backend(value)


@cache
def _load_native_kernels() -> dict[str, Kernel]:
    """Load the kernels of the library with unchanged sources."""
    library = native.load_library()
    if library is None or levels.find_level() == levels.HOST_LEVEL:
        return {}
    native_kernels: dict[str, Kernel] = library.list_kernels(levels.find_level())
    if library.package_stamp == stamps.compute_package_stamp() or not stamps.has_sources():
        return native_kernels
    built_stamps: dict[str, str] = library.list_stamps()
    present_stamps = stamps.compute_kernel_stamps()
    return {name: each for name, each in native_kernels.items() if built_stamps[name] == present_stamps.get(name)}


def find_native_kernel(name: str) -> Kernel | None:
    """Find a kernel of the library. None where its module is not imported yet, or its code is not from the library."""
    entry = ENTRIES.get(name)
    return entry.call if entry is not None and entry.backend is Backend.NATIVE else None


def has_code_of_all() -> bool:
    """Return whether the library has the code of all kernels."""
    library = native.load_library()
    if library is None or _read_request() not in (None, Backend.NATIVE):
        return False
    if library.package_stamp == stamps.compute_package_stamp():
        return levels.find_level() != levels.HOST_LEVEL
    return bool(_load_native_kernels()) and set(_load_native_kernels()) >= {
        name for name in stamps.compute_kernel_stamps() if not _is_for_other_processors(name)
    }


@contextmanager
def suppress_progress() -> Generator[None]:
    """Suppress progress messages of enclosed compilations. The caller reports them itself."""
    if _has_numba() and _read_request() != Backend.PLAIN and not has_code_of_all():
        from poise.kernels.jit import compilation  # noqa: PLC0415  (imports Numba)

        with compilation.suppress_progress():
            yield
    else:
        yield


def _is_for_other_processors(name: str) -> bool:
    """Return whether a kernel has more lanes than this process uses. Nothing calls it then."""
    is_wide = levels.has_eight_lanes(name) and os.environ.get("POISE_LANES") != "8"
    return bool(_load_native_kernels()) and is_wide and levels.LEVELS[levels.find_level()].lane_count < 8


def can_compile() -> bool:
    """Return whether Numba may compile kernels in this process."""
    return _has_numba() and _read_request() in (None, Backend.JIT)


@cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


def _make_refusal(name: str) -> Kernel:
    def refuse(*_arguments: Any) -> Any:
        chosen = _read_request()
        if chosen in (Backend.JIT, Backend.PLAIN):
            reason = f"only the library of kernels has the portable level, and {_VARIABLE}={chosen} does not use it"
        elif native.load_library() is None:
            reason = "there is no library of kernels for this platform"
        else:
            reason = f"the library of kernels has no code for {name} as its source is now (scripts/kernels builds it)"
        wanted = f"{_VARIABLE}=native" if chosen == Backend.NATIVE else f"POISE_LEVEL={levels.PORTABLE_LEVEL}"
        message = f"{reason}: leave out {wanted}"
        raise InputError(message)

    return refuse


@cache
def _report_plain() -> None:
    """Report the use of plain Python once."""
    import logging  # noqa: PLC0415  (not needed otherwise, and takes a millisecond or two)

    from poise.kernels import output  # noqa: PLC0415

    output.write_message(
        logging.WARNING,
        "kernels run as plain Python, hundreds of times slower: no library has their machine code, "
        "and Numba is not installed; `pip install poise[jit]` brings it",
    )
