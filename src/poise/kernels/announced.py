# pyright: standard
"""Compiling is never silent: one line on standard error says that it is done, and for how long it has been going on.

Numba tells when it begins and ends to compile a function. Where a person looks (a terminal or a notebook) the line has
a bar that runs until the kernel is there; elsewhere it is written once in a process. What Numba loads from its cache
on disk is not compiled, and nothing is said. Both pause the clock of calls.
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
_WIDTH, _MARK = 16, 4  # letters of the bar, and of the mark that runs in it
_PERIOD = 0.2  # [s] between two pictures of the bar
_PACKAGE = __name__.rpartition(".")[0]


class Announcer(Listener):
    """Says what is compiled. Numba compiles one function at a time, those that it calls inside of it."""

    def __init__(self) -> None:
        self.quiet = 0  # how many callers say it themselves
        self._depth = 0
        self._said = False
        self._seconds = 0.0  # of the kernels before
        self._line: _Line | None = None

    def on_start(self, event: Event) -> None:
        """A function begins to be compiled; the outermost is a kernel."""
        self._depth += 1
        if self._depth > 1 or not _is_ours(event) or self.quiet or sys.stderr is None:
            return
        if _is_watched(sys.stderr):
            self._line = _Line(sys.stderr, self._seconds)
        elif not self._said:
            sys.stderr.write(f"{_TEXT}, which takes seconds; `poise warmup` does it ahead\n")
        self._said = True

    def on_end(self, event: Event) -> None:
        """It is compiled, or failed to be."""
        self._depth -= 1
        if self._depth > 0 or not _is_ours(event):
            return
        if self._line is not None:
            self._seconds = self._line.close()
            self._line = None


class _Line:
    """A line that is written anew several times a second, by a thread of its own, and wiped out in the end."""

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
        """How long this kernel and those before it took."""
        return self._before + time.perf_counter() - self._began

    def close(self) -> float:
        """Wipe the line out; the seconds until now."""
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
        except (OSError, ValueError):  # closed, or nobody reads it: compiling goes on
            self._ended.set()


def bar(step: int, seconds: float) -> str:
    """The line at a step: the mark runs to and fro, for nobody knows how much is left."""
    room = _WIDTH - _MARK
    place = abs(room - step % (2 * room))
    left = " " * (room - place)
    return f"{_TEXT} [{left}{'=' * _MARK}{' ' * place}] {seconds:.0f} s"


def _is_ours(event: Event) -> bool:
    return (event.data or {})["dispatcher"].py_func.__module__.startswith(_PACKAGE)


def _is_watched(stream: TextIO) -> bool:
    """Whether a person looks at what is written: a terminal, or the cell of a notebook."""
    return stream.isatty() or "ipykernel" in type(stream).__module__


ANNOUNCER = Announcer()


@contextmanager
def quiet() -> Generator[None]:
    """Say nothing of what is compiled inside: the caller does."""
    ANNOUNCER.quiet += 1
    try:
        yield
    finally:
        ANNOUNCER.quiet -= 1


class Pausing(Listener):
    """Pauses the clock of calls while a kernel is loaded or compiled.

    It pauses, too, while this thread waits for another one that does so.
    """

    def on_start(self, event: Event) -> None:
        """Stop the clock: the thread asks for the compiler lock.

        Numba holds it while it loads or compiles a function.
        """
        del event
        stop_clock()

    def on_end(self, event: Event) -> None:
        """Start the clock: the thread has given the lock back."""
        del event
        start_clock()


register("numba:compile", ANNOUNCER)
register("numba:compiler_lock", Pausing())
