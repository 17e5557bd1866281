"""Checks of a glTF document's JSON, its errors and notes."""

from __future__ import annotations

import json
import math
from typing import Any, TypeAlias, cast

Json: TypeAlias = dict[str, Any]


class BrokenError(Exception):
    """Error for an invalid document. The reader turns it into a FileError with the file's name."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place = place
        self.reason = reason


class MalformedError(Exception):
    """Error for malformed `extras.poise`. The reader ignores the extras with a note."""


def parse(data: bytes) -> Json:
    """Parse UTF-8 JSON into an object. NaN and Infinity are refused.

    A number too large for a double becomes infinite here and is refused where it is used.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BrokenError("JSON", f"is not UTF-8 text: {error.reason} at byte {error.start}") from error
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise BrokenError("JSON", "is nested too deeply") from error
    except ValueError as error:  # JSONDecodeError, and integers of thousands of digits
        raise BrokenError("JSON", f"cannot be parsed: {error}") from error
    if not isinstance(value, dict):
        raise BrokenError("JSON", f"is {_kind(value)} where a glTF document is an object")
    return cast("Json", value)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def index(value: Any, count: int, place: str, what: str) -> int:
    """Check an index into a list of `count` elements. It is an integer from 0 to count - 1, not a boolean."""
    if type(value) is int and 0 <= value < count:
        return value
    raise BrokenError(place, f"{what} {_shown(value)} does not exist; there are {count}")


def natural(parent: Json, key: str, place: str, default: int | None = None) -> int:
    """Read a non-negative integer. Without a default the key must be there."""
    value = parent.get(key, default)
    if type(value) is int and value >= 0:
        return value
    raise BrokenError(place, f"{key} must be an integer not below zero, not {_shown(value)}")


def objects(parent: Json, key: str, place: str = "") -> list[Json]:
    """Read a list of objects. A missing key is an empty list."""
    values = parent.get(key, [])
    place = f"{place}.{key}" if place else key
    if not isinstance(values, list):
        raise BrokenError(place, f"must be a list, not {_kind(values)}")
    for i, value in enumerate(cast("list[Any]", values)):
        if type(value) is not dict:
            raise BrokenError(f"{place}[{i}]", f"must be an object, not {_kind(value)}")
    return cast("list[Json]", values)


def mapping(parent: Json, key: str, place: str = "") -> Json:
    """Read an object. A missing key is an empty one."""
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise BrokenError(f"{place}.{key}" if place else key, f"must be an object, not {_kind(value)}")
    return cast("Json", value)


def strings(parent: Json, key: str) -> list[str]:
    """Read a list of strings. A missing key is an empty list."""
    values = parent.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in cast("list[Any]", values)):
        raise BrokenError(key, "must be a list of strings")
    return cast("list[str]", values)


def numbers(value: Any, count: int, place: str, what: str) -> list[float]:
    """Read exactly `count` finite numbers. Booleans are refused."""
    result = finite_list(value, count)
    if result is None:
        raise BrokenError(place, f"{what} must be {count} finite numbers, not {_shown(value)}")
    return result


def finite_list(value: Any, count: int) -> list[float] | None:
    """Parse `count` finite numbers as floats. None for anything else."""
    if not isinstance(value, list) or len(cast("list[Any]", value)) != count:
        return None
    result = [number for item in cast("list[Any]", value) if (number := finite_number(item)) is not None]
    return result if len(result) == count else None


def finite_number(value: Any) -> float | None:
    """Parse a finite number as a float. None for anything else."""
    if type(value) is not float and type(value) is not int:
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def text(value: Any) -> str:
    """Clean a string for encoding. Lone surrogates are replaced; anything but a string becomes empty."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(value: Any) -> str:
    """Format a value for a message, shortened. A hostile one may be megabytes long."""
    if isinstance(value, dict | list):
        return f"{_kind(value)} of {len(cast('list[Any]', value))}"
    if type(value) is int and abs(value) > 2**64:
        return "a huge integer"
    shown = ascii(value) if not isinstance(value, str) else ascii(value[:60])
    return shown if value is not None else "null"
