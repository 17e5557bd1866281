"""Output of messages about kernels: standard error, log records or nothing.

Lines go to standard error, because most programs configure no logging. Records replace them where the program has
handlers for the level. The user silences both by POISE_QUIET=1, or by the level of the logger `poise`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from enum import Enum, auto

_QUIET_VARIABLE = "POISE_QUIET"
_LOGGERS = [logging.getLogger("poise.kernels"), logging.getLogger("poise")]  # innermost first
_LOGGER = _LOGGERS[0]


class Output(Enum):
    """Destination of a message."""

    NOTHING = auto()
    STREAM = auto()  # standard error
    LOG = auto()


def choose_output(level: int) -> Output:
    """Choose the destination of a message of a level."""
    own_level = next((logger.level for logger in _LOGGERS if logger.level), level)
    is_silenced = os.environ.get(_QUIET_VARIABLE, "0") not in ("", "0") or own_level > level
    if is_silenced or any(logger.disabled for logger in _LOGGERS):
        return Output.NOTHING
    if _LOGGER.hasHandlers() and _LOGGER.isEnabledFor(level):
        return Output.LOG
    has_own_handlers = any(logger.handlers for logger in _LOGGERS)
    return Output.NOTHING if has_own_handlers or sys.stderr is None else Output.STREAM


def write_message(level: int, message: str) -> None:
    """Write a message of a level to its destination."""
    output = choose_output(level)
    if output is Output.LOG:
        _LOGGER.log(level, "%s", message)
    elif output is Output.STREAM:
        with contextlib.suppress(OSError, ValueError):  # closed stream
            sys.stderr.write(f"poise: {message}\n")
