"""Numbers, names and JSON in text files.

Numbers are finite, in plain notation, and small enough for finite squares. JSON with a repeated key is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from poise.maths.arrays import Floats

LARGEST = 1e100  # maximum magnitude of a number in a file; larger ones could overflow in forward kinematics
RATES = (1e-6, 1e6)  # [1/s] range of plausible frame rates
LONGEST_NAME = 1000  # maximum length of a name [characters]; messages quote names
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SHOWN = 40


def is_rate(fps: float) -> bool:
    """Return whether a frame rate is usable. It lies between one frame in eleven days and a million a second."""
    return RATES[0] <= fps <= RATES[1]


def number(text: str) -> float:
    """Parse one number. ValueError gives the reason for anything else (nan, inf, 1e999, 1_000, 0x10 ...)."""
    if not is_number(text):
        message = f"{shown(text)} is not a number"
        raise ValueError(message)
    value = float(text)
    if abs(value) > LARGEST:
        message = f"{shown(text)} is too large"
        raise ValueError(message)
    return value


def table(rows: Sequence[Sequence[str]]) -> Floats:
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
        if (np.abs(values) <= LARGEST).all():
            return values
    return np.array([[number(word.strip()) for word in row] for row in rows])


def is_number(text: str) -> bool:
    """Return whether a text is a finite number in plain notation. Its size does not matter."""
    return _PLAIN.fullmatch(text) is not None


def shown(text: str) -> str:
    """Quote an excerpt of a file for a message. It is shortened when it is long."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
