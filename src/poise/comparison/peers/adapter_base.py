"""Shared parts of the adapters: library detection, import, base class."""

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

from poise.comparison.peers import AdapterResult, NotInstalledError
from poise.comparison.peers.serial_chain import SerialArm
from poise.errors import UnsupportedError
from poise.maths.arrays import Floats

_import_lock = threading.Lock()
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGFPE, signal.SIGSEGV)


class OptionalLibrary(NamedTuple):
    """Optional Python library.

    Holds the module to import, its package name, further modules it needs, and whether the import prints.
    """

    module: str
    package: str
    extra_modules: tuple[str, ...] = ()
    prints_on_import: bool = False

    def find_install_hint(self) -> str | None:
        """Return the installation hint, or None if installed."""
        for module in (self.module.partition(".")[0], *self.extra_modules):
            if importlib.util.find_spec(module) is None:
                return f"{self.package} is not installed (no module {module!r}): pip install {self._pip_packages}"
        return None

    @property
    def _pip_packages(self) -> str:
        return " ".join([self.package, *self.extra_modules])

    @property
    def version(self) -> str:
        """The installed version, or ""."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return ""

    def format_versioned_name(self, name: str) -> str:
        """Return `name version`."""
        return f"{name} {self.version}".strip()

    def load(self) -> Any:
        """Import the library.

        Raises NotInstalledError with the sentence of `find_install_hint`, or the reason of a failed import.
        """
        hint = self.find_install_hint()
        if hint is not None:
            raise NotInstalledError(hint)
        try:
            with isolate_global_state(), silence_output() if self.prints_on_import else nullcontext():
                return importlib.import_module(self.module)
        except ImportError as error:
            raise NotInstalledError(
                f"{self.package} cannot be imported ({error}): pip install {self._pip_packages}"
            ) from error


@contextmanager
def isolate_global_state() -> Generator[None]:
    """Suppress warnings and restore global settings afterwards.

    Some libraries change them on import, such as NumPy's print formats.
    """
    with _import_lock, np.errstate(), np.printoptions(), warnings.catch_warnings(), _restore_settings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _restore_settings() -> Generator[None]:
    """Restore the environment, the root logger and signal handlers. Only the main thread may set the handlers."""
    environment, log_level, handlers = dict(os.environ), logging.root.level, list(logging.root.handlers)
    is_main_thread = threading.current_thread() is threading.main_thread()
    signals = {signal_number: signal.getsignal(signal_number) for signal_number in _SIGNALS} if is_main_thread else {}
    try:
        yield
    finally:
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        os.environ.update(environment)
        logging.root.setLevel(log_level)
        logging.root.handlers[:] = handlers
        for signal_number, handler in signals.items():
            if handler is not None and signal.getsignal(signal_number) != handler:
                signal.signal(signal_number, handler)


@contextmanager
def silence_output() -> Generator[None]:
    """Discard output on the process's own channels. This covers the output of C code."""
    _flush()
    saved_channels = {channel: os.dup(channel) for channel in (1, 2) if _is_open(channel)}
    try:
        with Path(os.devnull).open("wb") as null_file:
            for channel in saved_channels:
                os.dup2(null_file.fileno(), channel)
        yield
        _flush()
    finally:
        for channel, saved in saved_channels.items():
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


def check_goal_kind(name: str, goals: tuple[str, ...], goal_kind: str) -> None:
    """Refuse a goal kind unsupported by the library."""
    if goal_kind not in goals:
        raise UnsupportedError(f"{name} solves {' and '.join(goals)} goals, not {goal_kind}")


def make_transform(target: Floats) -> Floats:
    """Convert a target to a transform (4, 4). A point (3,) gets the identity as its rotation, which does not count."""
    if target.shape != (3,):
        return target
    transform = np.eye(4)
    transform[:3, 3] = target
    return transform


def clip_values(arm: SerialArm, values: Floats) -> Floats:
    """Clip values (n,) to the arm's limits. Some libraries refuse a value outside by a rounding error."""
    return np.clip(values, arm.low, arm.high)


class InProcessAdapter:
    """Shared base of adapters to Python libraries."""

    library: OptionalLibrary

    @classmethod
    def find_install_hint(cls) -> str | None:
        """Return the installation hint, or None if installed."""
        return cls.library.find_install_hint()

    def read_output(self, output: Any) -> AdapterResult:
        """Read the output of `solve`, already an AdapterResult."""
        return AdapterResult(*output)

    def read_seconds(self, output: Any) -> float | None:
        """Return None: the caller measures the time."""
        return None

    def close(self) -> None:
        """Do nothing: no process was started."""
