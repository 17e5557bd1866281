"""Numbers and names in text files: finite, written plainly, and small enough that squares are finite too."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from poise.maths.arrays import Floats

LARGEST = 1e100  # beyond this no length or angle is meant, and forward kinematics could overflow
RATES = (1e-6, 1e6)  # [1/s] what a file can mean
LONGEST_NAME = 1000  # characters; messages quote names
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SHOWN = 40


def is_rate(fps: float) -> bool:
    """Whether there can be so many frames in a second: from one in eleven days to a million."""
    return RATES[0] <= fps <= RATES[1]


def number(text: str) -> float:
    """Read one number; ValueError with the reason for anything else (nan, inf, 1e999, 1_000, 0x10 ...)."""
    if not is_number(text):
        message = f"{shown(text)} is not a number"
        raise ValueError(message)
    value = float(text)
    if abs(value) > LARGEST:
        message = f"{shown(text)} is too large"
        raise ValueError(message)
    return value


def table(rows: Sequence[Sequence[str]]) -> Floats:
    """Numbers (k, columns) of rows of words, with blanks about them or not; ValueError for one that `number` refuses.

    float() takes more than `number` does. What that is shows in all the words at once, or in the numbers, which takes
    a tenth of the time that looking at each word does.
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
    """Whether a text is written as a finite number, however large."""
    return _PLAIN.fullmatch(text) is not None


def shown(text: str) -> str:
    """Quote a piece of a file in a message, shortened when it is long."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
