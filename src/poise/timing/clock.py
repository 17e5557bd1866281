"""The clock of calls: it pauses while kernels are loaded or compiled, by Numba or by JAX.

A process loads a kernel from the disk, or compiles it, in the call that needs it first. That takes up to a million
times as long as the call itself, and only once, so `seconds` of a result leaves it out. A call remembers when it
began, by `perf_counter()`, and `count_seconds(began)` gives its time.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter


class Pauses:
    """Pauses (begin, end) of one thread and its helper threads.

    newest  of the class, for all threads: when the newest pause ended; a call that began later had none
    """

    newest = float("-inf")

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []

    def add(self, begin: float, end: float) -> None:
        """Note a pause."""
        self.spans.append((begin, end))
        Pauses.newest = max(Pauses.newest, end)

    def total_since(self, began: float) -> float:
        """Add up the seconds of all pauses since a time. Where pauses of threads overlap, they count once."""
        total, until = 0.0, began
        for begin, end in sorted(self.spans):
            total += max(end - max(begin, until), 0.0)
            until = max(until, end)
        return total


class _Thread(threading.local):
    """Pauses of the current thread, or of its employer thread."""

    def __init__(self) -> None:
        self.pauses = Pauses()
        self.depth = 0  # how many pauses have begun inside of each other
        self.begin = 0.0  # of the outermost


_THREAD = _Thread()


def count_seconds(began: float) -> float:
    """Count the seconds since `began` without pauses. `began` is a `perf_counter()` of this thread."""
    seconds = perf_counter() - began
    return seconds if began >= Pauses.newest else seconds - _THREAD.pauses.total_since(began)


def stop_clock() -> None:
    """Begin a pause in this thread. Inside another pause it is a part of that one."""
    if not _THREAD.depth:
        _THREAD.begin = perf_counter()
    _THREAD.depth += 1


def start_clock() -> None:
    """End the pause begun by `stop_clock`."""
    _THREAD.depth -= 1
    if not _THREAD.depth:
        _THREAD.pauses.add(_THREAD.begin, perf_counter())


def note_pause(seconds: float) -> None:
    """Note a pause of these seconds up to now."""
    now = perf_counter()
    _THREAD.pauses.add(now - seconds, now)


@contextmanager
def pause_clock() -> Generator[None]:
    """Pause while inside."""
    stop_clock()
    try:
        yield
    finally:
        start_clock()


def get_pauses() -> Pauses:
    """Get the pauses of this thread, for `share_pauses` in a helper thread."""
    return _THREAD.pauses


def share_pauses(pauses: Pauses) -> None:
    """Note pauses of this thread with those of another from now."""
    _THREAD.pauses = pauses
