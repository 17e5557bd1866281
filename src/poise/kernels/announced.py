# pyright: standard
"""Report compilation on standard error. One line shows that kernels are compiled, and for how many seconds.

Numba sends events when it starts and ends compiling a function. In a terminal or a notebook the line has a moving bar;
elsewhere it is written once per process. Kernels loaded from the disk cache are not reported. Loading and compiling
both pause the clock of calls.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from numba.core.event import Event, Listener, register

from poise.timing.clock import start_clock, stop_clock

_TEXT = "poise: compiling for this machine, once"
_WIDTH, _MARK = 16, 4  # letters of the bar, and of the mark moving in it
_PERIOD = 0.2  # [s] between two redraws of the bar
_PACKAGE = __name__.rpartition(".")[0]


class Announcer(Listener):
    """Listener reporting compiled kernels.

    Numba compiles one function at a time; events of its callees are nested.
    """

    def __init__(self) -> None:
        self.quiet = 0  # number of callers reporting it themselves
        self._depth = 0
        self._said = False
        self._seconds = 0.0  # [s] spent on earlier kernels
        self._line: _Line | None = None

    def on_start(self, event: Event) -> None:
        """Start the progress line. The outermost function is the kernel."""
        self._depth += 1
        if self._depth > 1 or not _is_ours(event) or self.quiet or sys.stderr is None:
            return
        if _is_watched(sys.stderr):
            self._line = _Line(sys.stderr, self._seconds)
        elif not self._said:
            sys.stderr.write(f"{_TEXT}, which takes seconds; `poise warmup` does it ahead\n")
        self._said = True

    def on_end(self, event: Event) -> None:
        """Close the progress line after success or failure."""
        self._depth -= 1
        if self._depth > 0 or not _is_ours(event):
            return
        if self._line is not None:
            self._seconds = self._line.close()
            self._line = None


class _Line:
    """Progress line on a terminal. Its own thread redraws it several times a second; closing erases it."""

    def __init__(self, stream: TextIO, before: float) -> None:
        self._stream, self._before, self._began = stream, before, time.perf_counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poise-compiling", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        step = 0
        while True:
            self._write(bar(step, self.seconds))
            step += 1
            if self._ended.wait(_PERIOD):
                return

    @property
    def seconds(self) -> float:
        """Return the seconds spent on this and all earlier kernels."""
        return self._before + time.perf_counter() - self._began

    def close(self) -> float:
        """Erase the line and return the seconds until now."""
        seconds = self.seconds
        self._ended.set()
        self._thread.join()
        self._write(" " * len(bar(0, seconds)))
        self._write("")
        return seconds

    def _write(self, text: str) -> None:
        try:
            self._stream.write(f"\r{text}")
            self._stream.flush()
        except (OSError, ValueError):  # closed stream: compiling continues
            self._ended.set()


def bar(step: int, seconds: float) -> str:
    """Format the progress line at a step. The mark runs to and fro because the remaining time is unknown."""
    room = _WIDTH - _MARK
    place = abs(room - step % (2 * room))
    left = " " * (room - place)
    return f"{_TEXT} [{left}{'=' * _MARK}{' ' * place}] {seconds:.0f} s"


def _is_ours(event: Event) -> bool:
    return (event.data or {})["dispatcher"].py_func.__module__.startswith(_PACKAGE)


def _is_watched(stream: TextIO) -> bool:
    """Return whether a stream is interactive. That is a terminal, or the cell of a notebook."""
    return stream.isatty() or "ipykernel" in type(stream).__module__


ANNOUNCER = Announcer()


@contextmanager
def quiet() -> Generator[None]:
    """Suppress progress messages of enclosed compilations. The caller reports them itself."""
    ANNOUNCER.quiet += 1
    try:
        yield
    finally:
        ANNOUNCER.quiet -= 1


class Pausing(Listener):
    """Listener pausing the call clock while a kernel is loaded or compiled.

    It also pauses while this thread waits for another one that compiles.
    """

    def on_start(self, event: Event) -> None:
        """Stop the clock when the thread requests the compiler lock.

        Numba holds it while it loads or compiles a function.
        """
        del event
        stop_clock()

    def on_end(self, event: Event) -> None:
        """Start the clock when the thread has released the lock."""
        del event
        start_clock()


register("numba:compile", ANNOUNCER)
register("numba:compiler_lock", Pausing())
