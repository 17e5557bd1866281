"""Fork safety: release held locks in forked processes.

Fork copies no threads, so locks held by them would never be released.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import cached_property
from typing import Any

_held: list[Any] = []


def survive_forks() -> None:
    """Register handlers keeping forked processes free of held locks. Called once.

    Numba's lock is held while a kernel is compiled, or read from the disk: fork waits until it is free.
    """
    if not hasattr(os, "register_at_fork"):
        return  # Windows has no fork
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on)
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_renew)


def _wait() -> None:
    compiler = sys.modules.get("numba.core.compiler_lock")  # which `import poise` does not import
    if compiler is not None:
        compiler.global_compiler_lock.acquire()
        _held.append(compiler.global_compiler_lock)


def _go_on() -> None:
    while _held:
        _held.pop().release()


def _renew() -> None:
    """Renew the locks of cached properties.

    Before Python 3.12 each has one lock for all instances of its class, held while one of them is computed.
    """
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("poise.")]
    for kind in {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}:
        for value in vars(kind).values():
            if isinstance(value, cached_property):
                value.lock = threading.RLock()  # pyright: ignore[reportAttributeAccessIssue]
