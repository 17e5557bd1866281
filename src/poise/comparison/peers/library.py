"""What adapters share: is a library here, which version, and its import without a trace."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poise.comparison.peers import NotInstalledError, Reply
from poise.comparison.peers.serial import SerialArm
from poise.errors import UnsupportedError
from poise.maths.arrays import Floats

_lock = threading.Lock()
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGFPE, signal.SIGSEGV)


class Library(NamedTuple):
    """A Python library: the module to import, what pip calls it, what it needs beside, whether it prints on import."""

    module: str
    package: str
    beside: tuple[str, ...] = ()
    prints: bool = False

    def missing(self) -> str | None:
        """How to install it; None where it is here."""
        for module in (self.module.partition(".")[0], *self.beside):
            if importlib.util.find_spec(module) is None:
                return f"{self.package} is not installed (no module {module!r}): pip install {self._wanted}"
        return None

    @property
    def _wanted(self) -> str:
        return " ".join([self.package, *self.beside])

    @property
    def version(self) -> str:
        """The version that is installed, or nothing."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return ""

    def label(self, name: str) -> str:
        """`name version`."""
        return f"{name} {self.version}".strip()

    def load(self) -> Any:
        """Import it; NotInstalledError with the sentence of `missing`, or why the import failed."""
        sentence = self.missing()
        if sentence is not None:
            raise NotInstalledError(sentence)
        try:
            with quietly(), silence() if self.prints else nullcontext():
                return importlib.import_module(self.module)
        except ImportError as error:
            raise NotInstalledError(
                f"{self.package} cannot be imported ({error}): pip install {self._wanted}"
            ) from error


@contextmanager
def quietly() -> Generator[None]:
    """Let no warning out and put back what some libraries set when they are imported, such as NumPy's formats."""
    with _lock, np.errstate(), np.printoptions(), warnings.catch_warnings(), _same_settings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _same_settings() -> Generator[None]:
    """Put back the environment, the root logger, and the signal handlers (which only the main thread may set)."""
    environment, level, handlers = dict(os.environ), logging.root.level, list(logging.root.handlers)
    main = threading.current_thread() is threading.main_thread()
    signals = {number: signal.getsignal(number) for number in _SIGNALS} if main else {}
    try:
        yield
    finally:
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        os.environ.update(environment)
        logging.root.setLevel(level)
        logging.root.handlers[:] = handlers
        for number, handler in signals.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)


@contextmanager
def silence() -> Generator[None]:
    """Throw away what is written to the process's own output and error channels, by C code too."""
    _flush()
    kept = {channel: os.dup(channel) for channel in (1, 2) if _is_open(channel)}
    try:
        with Path(os.devnull).open("wb") as nowhere:
            for channel in kept:
                os.dup2(nowhere.fileno(), channel)
        yield
        _flush()
    finally:
        for channel, saved in kept.items():
            os.dup2(saved, channel)
            os.close(saved)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # pyright: ignore[reportUnnecessaryComparison]  (programs without a console have none)
            stream.flush()


def _is_open(channel: int) -> bool:
    try:
        os.fstat(channel)
    except OSError:
        return False
    return True


def checked(name: str, goals: tuple[str, ...], kind: str) -> None:
    """Refuse a goal that the peer does not solve."""
    if kind not in goals:
        raise UnsupportedError(f"{name} solves {' and '.join(goals)} goals, not {kind}")


def as_place(target: Floats) -> Floats:
    """A target as a transform (4, 4): a point (3,) gets the identity as its rotation, which does not count."""
    if target.shape != (3,):
        return target
    place = np.eye(4)
    place[:3, 3] = target
    return place


def clipped(arm: SerialArm, values: Floats) -> Floats:
    """Values (n,) inside the arm's ends, for libraries that refuse what is outside by a rounding."""
    return np.clip(values, arm.low, arm.high)


class InProcess:
    """What adapters of Python libraries have in common."""

    library: Library

    @classmethod
    def missing(cls) -> str | None:
        """How to install it, a sentence; None where it is installed."""
        return cls.library.missing()

    def read(self, raw: Any) -> Reply:
        """What an answer of `solve` says: it is one."""
        return Reply(*raw)

    def seconds_of(self, raw: Any) -> float | None:
        """Nothing: the caller's clock counts."""
        return None

    def close(self) -> None:
        """Nothing was started."""
