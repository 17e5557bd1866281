"""Strict JSON without repeated keys."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from poise.errors import FileError
from poise.io.numbers import shown


def read_json(path: Path, text: str) -> Any:
    """Parse a JSON text. FileError for invalid JSON, for a repeated key in one object and for NaN and Infinity."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_with_each_key_once)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"not a JSON file: {error}") from error


def _no_constant(word: str) -> Any:
    message = f"{word} is not a number"
    raise ValueError(message)


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        message = f"the key {shown(twice)} occurs twice in one object"
        raise ValueError(message)
    return found
