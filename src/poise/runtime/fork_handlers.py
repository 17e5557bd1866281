"""Fork handlers for locks, registered with the operating system.

Fork copies no threads, so locks held by them would never be released in the new process.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import cached_property
from typing import Any

_held_locks: list[Any] = []


def register_fork_handlers() -> None:
    """Register handlers keeping forked processes free of held locks. Called once.

    Numba's lock is held while a kernel is compiled, or read from the disk: fork waits until it is free.
    """
    if not hasattr(os, "register_at_fork"):
        return  # Windows has no fork
    os.register_at_fork(before=_acquire_compiler_lock, after_in_parent=_release_locks, after_in_child=_release_locks)
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_renew_property_locks)


def _acquire_compiler_lock() -> None:
    lock_module = sys.modules.get("numba.core.compiler_lock")  # which `import poise` does not import
    if lock_module is not None:
        lock_module.global_compiler_lock.acquire()
        _held_locks.append(lock_module.global_compiler_lock)


def _release_locks() -> None:
    while _held_locks:
        _held_locks.pop().release()


def _renew_property_locks() -> None:
    """Renew the locks of cached properties.

    Before Python 3.12 each has one lock for all instances of its class, held while one of them is computed.
    """
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("poise.")]
    for value_class in {
        value_class for module in modules for value_class in vars(module).values() if isinstance(value_class, type)
    }:
        for attribute in vars(value_class).values():
            if isinstance(attribute, cached_property):
                attribute.lock = threading.RLock()  # pyright: ignore[reportAttributeAccessIssue]
