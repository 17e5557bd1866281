"""Disk cache of kernels and progress report of their compilation.

A kernel with an unreadable or unwritable file is compiled in memory.

Numba alone would raise an error: it unpickles files truncated by a crash or a full disk, and makes no kernel at all
where it finds no writable folder.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO

from numba.core.caching import FunctionCache, NullCache
from numba.core.event import Event, Listener, register

from poise.call_clock import start_clock, stop_clock
from poise.kernels.output import Output, choose_output, write_message

_FOLDER_HINT = "set NUMBA_CACHE_DIR to a folder that can be read and written"


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
            _warn_once(
                f"cannot read compiled kernels in {self.cache_path} ({_shorten_error(error)}); they are compiled again"
            )
            with contextlib.suppress(Exception):
                self.flush()  # a damaged index would fail again when the new code is saved
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the machine code for a signature, if possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:  # noqa: BLE001  (the list of what there is may be damaged, the disk full)
            _warn_once(
                f"cannot write compiled kernels to {self.cache_path} ({_shorten_error(error)}); {_RECOMPILE_NOTE}"
            )

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Return the key of a signature, without the processor.

        Numba loads with its own code generator and saves with that of kernels, which name different processors. The
        stamp of the cache names the right one.
        """
        signature, _, sources = super()._index_key(sig, codegen)
        return signature, None, sources


_RECOMPILE_NOTE = "each process compiles them again"


def make_disk_cache(function: Any, source_stamp: str) -> Any:
    """Make the disk cache of a function.

    Where no folder can be written, the cache keeps nothing.

    Parameters
    ----------
    function
        The plain Python function.
    source_stamp
        A text that changes with the sources of all kernels: code with another stamp is not used.
    """
    try:
        cache = KernelCache(function)
    except (RuntimeError, OSError):  # no folder, or the system cannot check it
        _warn_once(f"no folder for compiled kernels can be written; {_RECOMPILE_NOTE}")
        return NullCache()
    cache._cache_file._source_stamp = source_stamp  # noqa: SLF001  (Numba has no public way: a test guards it)
    return cache


def _shorten_error(error: Exception) -> str:
    """Shorten the text of an error to a few words.

    The path of a temporary file is left out.
    """
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:80] or type(error).__name__


_warnings: list[str] = []


def _warn_once(warning: str) -> None:
    """Report the first warning of a process."""
    if not _warnings:
        write_message(logging.WARNING, f"{warning}: {_FOLDER_HINT}")
    _warnings.append(warning)


# --- Report compilation on standard error ----------------------------------------------------------------------------
#
# One line shows that kernels are compiled, and for how many seconds.
#
# Numba sends events when it starts and ends compiling a function. In a terminal or a notebook the line has a moving
# bar; elsewhere, and as a log record, it is written once per process. Kernels loaded from the disk cache are not
# reported. Loading and compiling both pause the clock of calls.


_PROGRESS_MESSAGE = "compiling for this machine, once"
_WARMUP_HINT = "which takes seconds; `poise warmup` does it ahead"
_BAR_LETTERS, _MARK_LETTERS = 16, 4  # letters of the bar, and of the mark moving in it
_REDRAW_PERIOD_S = 0.2  # [s] between two redraws of the bar
_PACKAGE = "poise.kernels"


class CompileProgress(Listener):
    """Listener reporting compiled kernels.

    Numba compiles one function at a time; events of its callees are nested.
    """

    def __init__(self) -> None:
        self.suppression_count = 0  # number of callers reporting it themselves
        self._depth = 0
        self._has_reported = False
        self._past_seconds = 0.0  # [s] spent on earlier kernels
        self._line: _ProgressLine | None = None

    def on_start(self, event: Event) -> None:
        """Start the progress line. The outermost function is the kernel."""
        self._depth += 1
        if self._depth > 1 or not _is_kernel_event(event) or self.suppression_count:
            return
        output = choose_output(logging.INFO)
        if output is Output.STREAM and _is_interactive(sys.stderr):
            self._line = _ProgressLine(sys.stderr, self._past_seconds)
        elif not self._has_reported:
            write_message(logging.INFO, f"{_PROGRESS_MESSAGE}, {_WARMUP_HINT}")
        self._has_reported = self._has_reported or output is not Output.NOTHING

    def on_end(self, event: Event) -> None:
        """Close the progress line after success or failure."""
        self._depth -= 1
        if self._depth > 0 or not _is_kernel_event(event):
            return
        if self._line is not None:
            self._past_seconds = self._line.close()
            self._line = None


class _ProgressLine:
    """Progress line on a terminal. Its own thread redraws it several times a second; closing erases it."""

    def __init__(self, stream: TextIO, past_seconds: float) -> None:
        self._stream, self._past_seconds, self._start_time = stream, past_seconds, time.perf_counter()
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poise-compiling", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        step = 0
        while True:
            self._write(format_progress(step, self.seconds))
            step += 1
            if self._stop_event.wait(_REDRAW_PERIOD_S):
                return

    @property
    def seconds(self) -> float:
        """Return the seconds spent on this and all earlier kernels."""
        return self._past_seconds + time.perf_counter() - self._start_time

    def close(self) -> float:
        """Erase the line and return the seconds until now."""
        seconds = self.seconds
        self._stop_event.set()
        self._thread.join()
        self._write(" " * len(format_progress(0, seconds)))
        self._write("")
        return seconds

    def _write(self, text: str) -> None:
        try:
            self._stream.write(f"\r{text}")
            self._stream.flush()
        except (OSError, ValueError):  # closed stream: compiling continues
            self._stop_event.set()


def format_progress(step: int, seconds: float) -> str:
    """Format the progress line at a step. The mark runs to and fro because the remaining time is unknown."""
    travel_letters = _BAR_LETTERS - _MARK_LETTERS
    letters_from_end = abs(travel_letters - step % (2 * travel_letters))
    indent = " " * (travel_letters - letters_from_end)
    return f"poise: {_PROGRESS_MESSAGE} [{indent}{'=' * _MARK_LETTERS}{' ' * letters_from_end}] {seconds:.0f} s"


def _is_kernel_event(event: Event) -> bool:
    return (event.data or {})["dispatcher"].py_func.__module__.startswith(_PACKAGE)


def _is_interactive(stream: TextIO) -> bool:
    """Return whether a stream is interactive. That is a terminal, or the cell of a notebook."""
    return stream.isatty() or "ipykernel" in type(stream).__module__


COMPILE_PROGRESS = CompileProgress()


@contextmanager
def suppress_progress() -> Generator[None]:
    """Suppress progress messages of enclosed compilations. The caller reports them itself."""
    COMPILE_PROGRESS.suppression_count += 1
    try:
        yield
    finally:
        COMPILE_PROGRESS.suppression_count -= 1


class ClockPause(Listener):
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


register("numba:compile", COMPILE_PROGRESS)
register("numba:compiler_lock", ClockPause())
