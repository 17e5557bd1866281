"""Optional libraries of some terrains: the extra `poise[terrain]`."""

from __future__ import annotations

import importlib
import logging
from typing import Any

from poise.errors import UnsupportedError


def require_module(module: str, library: str, what: str) -> Any:
    """Import a module of a library, or say how to install it."""
    logger = logging.getLogger(module.partition(".")[0])
    if not logger.handlers:  # what goes wrong is told by an exception; without a handler it would be printed, too
        logger.addHandler(logging.NullHandler())
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"{what} need {library}: pip install 'poise[terrain]'"
        raise UnsupportedError(message) from error
