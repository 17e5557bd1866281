"""Format counts, numbers, times and large values as text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

_MAX_ARRAY_NUMBERS, _MAX_ENTRIES, _MAX_PART_LETTERS, _MAX_LETTERS = 8, 4, 72, 380  # items, entries and letters written

_ZERO_TOLERANCE = 1e-12  # rounding error of a zero among numbers of about 1
_TIME_UNITS = ((1.0, "s"), (1e-4, "ms"), (0.0, "us"))  # [s] smallest time in each unit
_UNITS_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6}


def format_number(value: float, digits: int = 4, size: float = 1.0) -> str:
    """Format a number with few digits. A rounding error becomes 0.

    Parameters
    ----------
    value
        The number.
    digits
        Maximum number of significant digits.
    size
        The size of the underlying numbers: a number below 1e-12 of that size is written as 0.
    """
    return "0" if abs(value) <= _ZERO_TOLERANCE * size else f"{value:.{digits}g}"


def format_size(value: float, digits: int = 3) -> str:
    """Format a size with few digits, large ones without an exponent. Examples: `0.84`, `41.5`, `1,628`."""
    return f"{value:.{digits}g}" if abs(value) < 10**digits - 0.5 else f"{value:,.0f}"


def format_time(seconds: float) -> str:
    """Format a time with two digits and unit. Examples: `26 us`, `0.48 ms`, `12 ms`, `3.3 s`."""
    unit_name = next(unit for threshold, unit in _TIME_UNITS if not abs(seconds) < 0.995 * threshold)
    value = seconds * _UNITS_PER_SECOND[unit_name]
    if not value or not math.isfinite(value):
        return f"{value:g} {unit_name}"
    return f"{round(value, 1 - math.floor(math.log10(abs(value)))):g} {unit_name}"


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun.

    Examples: `1 target`, `1,200 targets`; `plural` is the plural where it is not made with an s.
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def format_fields(self: Any) -> str:
    """Format a dataclass or named tuple with abbreviated fields. At most 400 letters, in one line.

    Used as the `__repr__` of a class. Arrays of more than 8 numbers are shown by their shape, collections of more than
    4 entries by their count. Fields with their plain default are left out.
    """
    if isinstance(self, tuple):  # a named tuple
        field_texts = [f"{name}={format_brief(getattr(self, name))}" for name in getattr(self, "_fields", ())]
    else:
        field_texts = [
            f"{field.name}={format_brief(getattr(self, field.name))}"
            for field in dataclasses.fields(self)
            if field.repr and not _is_default(field, getattr(self, field.name))
        ]
    return f"{type(self).__name__}({_truncate(', '.join(field_texts), _MAX_LETTERS)})"


def format_brief(value: Any) -> str:
    """Format a value in one short line. It has at most 72 letters."""
    if isinstance(value, np.ndarray):
        array_text = " ".join(np.array2string(value, precision=6, separator=", ").split())
        return array_text if value.size <= _MAX_ARRAY_NUMBERS else f"<array {value.shape}>"
    if isinstance(value, Mapping):
        mapping: Mapping[Any, Any] = value
        text = (
            "{"
            + ", ".join(f"{key!r}: {format_brief(entry)}" for key, entry in islice(mapping.items(), _MAX_ENTRIES))
            + "}"
        )
        return _truncate(text, _MAX_PART_LETTERS) if len(mapping) <= _MAX_ENTRIES else f"<{len(mapping)} entries>"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        entries: Sequence[Any] = value
        text = "(" + ", ".join(map(format_brief, entries[:_MAX_ENTRIES])) + ")"
        return _truncate(text, _MAX_PART_LETTERS) if len(entries) <= _MAX_ENTRIES else f"<{len(entries)} entries>"
    return _truncate(" ".join(repr(value).split()), _MAX_PART_LETTERS)


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    """Return whether a field has its default. Only plain values are compared, no arrays."""
    if value is None:
        return field.default is None
    return isinstance(value, bool | int | float | str | tuple) and field.default == value


def _truncate(text: str, max_letters: int) -> str:
    return text if len(text) <= max_letters else text[: max_letters - 3] + "..."
