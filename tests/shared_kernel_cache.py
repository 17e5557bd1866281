"""Workers that test side by side share what is made once: one of them makes it, the others wait and load.

Kernels on disk are the most of it: else each worker would compile the same ones. And two that save one kernel for
different arguments at the same moment could mix these up: Numba reads a kernel's index, picks a file name and writes
both without a lock.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher


def compile_once() -> None:
    """From here on this process compiles a cached kernel only while no other one does."""
    compiled = Dispatcher.compile

    def alone(dispatcher: Dispatcher, signature: object) -> object:
        folder = dispatcher.stats.cache_path
        if folder is None:
            return compiled(dispatcher, signature)
        name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}.lock"
        with global_compiler_lock, locked(Path(folder) / name):  # in this order: threads must not block each other
            return compiled(dispatcher, signature)

    Dispatcher.compile = alone


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The path of this name in a folder of this run, made by `make(path)` of the first worker that asks for it."""
    base = factory.getbasetemp()
    path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with locked(path.with_name(f"{name}.lock")):
        made = path.with_name(f"{name}.made")
        if not made.exists():
            make(path)
            made.touch()
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; it is free again when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
