"""Libraries that only some grounds need: the extra `poise[terrain]`."""

from __future__ import annotations

import importlib
from typing import Any

from poise.errors import UnsupportedError


def needed(module: str, library: str, what: str) -> Any:
    """Import a module of a library, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"{what} need {library}: pip install 'poise[terrain]'"
        raise UnsupportedError(message) from error
