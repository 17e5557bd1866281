"""Clock of calls, paused while kernels load or compile. It covers Numba and JAX.

A process loads or compiles a kernel in the first call that uses it. This takes up to a million times as long as the
call itself and happens once, so `seconds` of a result excludes it. A call stores its start, a `perf_counter()`, and
`count_seconds(began)` returns its duration.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter


class Pauses:
    """Pauses (begin, end) of one thread and its helper threads.

    last_end  end of the newest pause of all threads (class attribute); a call begun later had no pause
    """

    last_end: float = float("-inf")

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []

    def add(self, begin: float, end: float) -> None:
        """Record a pause."""
        self.spans.append((begin, end))
        Pauses.last_end = max(Pauses.last_end, end)

    def total_since(self, began: float) -> float:
        """Sum the pauses since a time [s]. Overlapping pauses of threads count once."""
        total, counted_until = 0.0, began
        for begin, end in sorted(self.spans):
            total += max(end - max(begin, counted_until), 0.0)
            counted_until = max(counted_until, end)
        return total


class _ThreadPauses(threading.local):
    """Pauses of the current thread, or of its parent thread."""

    def __init__(self) -> None:
        self.pauses = Pauses()
        self.depth = 0  # nesting depth of pauses
        self.outer_begin = 0.0  # start of the outermost pause


_THREAD_PAUSES = _ThreadPauses()


def count_seconds(began: float) -> float:
    """Count the seconds since `began`, without pauses. `began` is a `perf_counter()` of this thread."""
    seconds = perf_counter() - began
    return seconds if began >= Pauses.last_end else seconds - _THREAD_PAUSES.pauses.total_since(began)


def stop_clock() -> None:
    """Begin a pause in this thread. A nested pause belongs to the outer one."""
    if not _THREAD_PAUSES.depth:
        _THREAD_PAUSES.outer_begin = perf_counter()
    _THREAD_PAUSES.depth += 1


def start_clock() -> None:
    """End the pause begun by `stop_clock`."""
    _THREAD_PAUSES.depth -= 1
    if not _THREAD_PAUSES.depth:
        _THREAD_PAUSES.pauses.add(_THREAD_PAUSES.outer_begin, perf_counter())


def record_pause(seconds: float) -> None:
    """Record a pause of these seconds up to now."""
    now = perf_counter()
    _THREAD_PAUSES.pauses.add(now - seconds, now)


@contextmanager
def pause_clock() -> Generator[None]:
    """Pause the clock while the block runs."""
    stop_clock()
    try:
        yield
    finally:
        start_clock()


def get_pauses() -> Pauses:
    """Return the pauses of this thread, for `share_pauses` elsewhere."""
    return _THREAD_PAUSES.pauses


def share_pauses(pauses: Pauses) -> None:
    """Use another thread's record of pauses for this thread."""
    _THREAD_PAUSES.pauses = pauses
