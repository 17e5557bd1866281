# pyright: standard
"""Disk cache of compiled kernels. A kernel with an unreadable or unwritable file is compiled in memory.

Numba alone would raise an error: it unpickles files truncated by a crash or a full disk, and makes no kernel at all
where it finds no writable folder.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from numba.core.caching import FunctionCache, NullCache

_ELSEWHERE = "set NUMBA_CACHE_DIR to a folder that can be read and written"


class KernelCache(FunctionCache):
    """Numba's cache of one function, tolerant of unusable files.

    A damaged file counts as a missing one.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the machine code for a signature, or return None.

        None: there is no code on the disk, or it cannot be used.
        """
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # noqa: BLE001  (what the files hold may fail anywhere in Numba or LLVM)
            _say_once(f"cannot read compiled kernels in {self.cache_path} ({_reason(error)}); they are compiled again")
            with contextlib.suppress(Exception):
                self.flush()  # a damaged index would fail again when the new code is saved
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the machine code for a signature, if possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:  # noqa: BLE001  (the list of what there is may be damaged, the disk full)
            _say_once(f"cannot write compiled kernels to {self.cache_path} ({_reason(error)}); {_EACH}")


_EACH = "each process compiles them again"


def cache_of(function: Any, stamp: str) -> Any:
    """Make the disk cache of a function.

    Where no folder can be written, the cache keeps nothing.

    Parameters
    ----------
    function
        The plain Python function.
    stamp
        A text that changes with the sources of all kernels: code with another stamp is not used.
    """
    try:
        cache = KernelCache(function)
    except (RuntimeError, OSError):  # no folder, or the system cannot check it
        _say_once(f"no folder for compiled kernels can be written; {_EACH}")
        return NullCache()
    cache._cache_file._source_stamp = stamp  # noqa: SLF001  (Numba has no public way: a test guards it)
    return cache


def _reason(error: Exception) -> str:
    """Shorten the text of an error to a few words.

    The path of a temporary file is left out.
    """
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(words.split())[:80] or type(error).__name__


_said: list[str] = []


def _say_once(sentence: str) -> None:
    """Write the first sentence of a process on standard error."""
    if not _said and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"poise: {sentence}: {_ELSEWHERE}\n")
    _said.append(sentence)
