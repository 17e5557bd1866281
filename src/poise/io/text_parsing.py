"""Numbers, names and JSON in text files.

Numbers are finite, in plain notation, and small enough for finite squares. JSON with a repeated key is refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import FileError
from poise.maths.arrays import Floats

MAX_NUMBER = 1e100  # maximum magnitude of a number in a file; larger ones could overflow in forward kinematics
RATE_RANGE_HZ = (1e-6, 1e6)  # [1/s] range of plausible frame rates
MAX_NAME_LENGTH = 1000  # maximum length of a name [characters]; messages quote names
_NUMBER_PATTERN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MAX_EXCERPT_LENGTH = 40


def is_rate(fps: float) -> bool:
    """Return whether a frame rate is usable. It lies between one frame in eleven days and a million a second."""
    return RATE_RANGE_HZ[0] <= fps <= RATE_RANGE_HZ[1]


def parse_number(text: str) -> float:
    """Parse one number. ValueError gives the reason for anything else (nan, inf, 1e999, 1_000, 0x10 ...)."""
    if not is_number(text):
        message = f"{quote_excerpt(text)} is not a number"
        raise ValueError(message)
    value = float(text)
    if abs(value) > MAX_NUMBER:
        message = f"{quote_excerpt(text)} is too large"
        raise ValueError(message)
    return value


def parse_table(rows: Sequence[Sequence[str]]) -> Floats:
    """Parse rows of words into numbers (k, columns).

    Blanks around words are allowed; ValueError for a word that `parse_number` refuses.

    float() accepts more than `parse_number`. The difference is detected on all words or numbers at once, in a tenth of
    the time of checking each word.
    """
    text = "".join(map("".join, rows))
    if text.isascii() and "_" not in text:
        try:
            values = np.array([list(map(float, row)) for row in rows])
        except ValueError:
            values = np.array(np.nan)
        if (np.abs(values) <= MAX_NUMBER).all():
            return values
    return np.array([[parse_number(word.strip()) for word in row] for row in rows])


def is_number(text: str) -> bool:
    """Return whether a text is a finite number in plain notation. Its size does not matter."""
    return _NUMBER_PATTERN.fullmatch(text) is not None


def quote_excerpt(text: str) -> str:
    """Quote an excerpt of a file for a message. It is shortened when it is long."""
    return repr(text if len(text) <= _MAX_EXCERPT_LENGTH else text[: _MAX_EXCERPT_LENGTH - 3] + "...")


# --- Strict JSON without repeated keys -------------------------------------------------------------------------------


def parse_json(path: Path, text: str) -> Any:
    """Parse a JSON text. FileError for invalid JSON, for a repeated key in one object and for NaN and Infinity."""
    try:
        return json.loads(text, parse_constant=_reject_constant, object_pairs_hook=_build_unique_dict)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"not a JSON file: {error}") from error


def _reject_constant(word: str) -> Any:
    message = f"{word} is not a number"
    raise ValueError(message)


def _build_unique_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        duplicate = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        message = f"the key {quote_excerpt(duplicate)} occurs twice in one object"
        raise ValueError(message)
    return result
