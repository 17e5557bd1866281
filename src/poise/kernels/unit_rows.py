# pyright: standard
"""Rows of numbers scaled to unit length."""

from __future__ import annotations

import math

from poise.kernels.device_functions import inline_strict
from poise.kernels.entries import kernel
from poise.kernels.thresholds import UNIT_SLACK


@inline_strict
def scale_to_unit(row, start, count):
    """Scale `count` numbers of a row from `start` on to unit length.

    Numbers of unit length to rounding are kept; return False for zero length.
    """
    squared_length, max_component = 0.0, 0.0
    for i in range(start, start + count):
        squared_length += row[i] * row[i]
        max_component = max(max_component, abs(row[i]))
    if abs(squared_length - 1.0) <= UNIT_SLACK:
        return True
    if not max_component > 0.0:
        return False
    squared_length = 0.0
    for i in range(start, start + count):
        row[i] /= max_component  # first, so squares of huge or tiny numbers stay representable
        squared_length += row[i] * row[i]
    length = math.sqrt(squared_length)
    for i in range(start, start + count):
        row[i] /= length
    return True


@kernel("wF2 -> i")
def scale_rows_to_unit(rows):
    """Scale rows (k, n) to length one. Returns the first row of zero length, or -1."""
    for k in range(rows.shape[0]):
        if not scale_to_unit(rows[k], 0, rows.shape[1]):
            return k
    return -1
