"""glTF documents as JSON: parser, checks of values, errors and notes."""

from __future__ import annotations

import json
import math
from typing import Any, TypeAlias, cast

from poise.errors import join_names

Json: TypeAlias = dict[str, Any]


class BrokenError(Exception):
    """Error for an invalid document. The reader turns it into a FileError with the file's name."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place = place
        self.reason = reason


class MalformedExtrasError(Exception):
    """Error for malformed `extras.poise`. The reader ignores the extras with a note."""


# Python parses no more
_MAX_INT_DIGITS = 4_300


def parse_document(data: bytes) -> Json:
    """Parse UTF-8 JSON into an object. NaN and Infinity are refused.

    A number too large for a double becomes infinite here and is refused where it is used.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BrokenError("JSON", f"is not UTF-8 text: {error.reason} at byte {error.start}") from error
    try:
        document = json.loads(text, parse_constant=_reject_constant, parse_int=_parse_int)
    except RecursionError as error:
        raise BrokenError("JSON", "is nested too deeply") from error
    except ValueError as error:
        raise BrokenError("JSON", f"cannot be parsed: {error}") from error
    if not isinstance(document, dict):
        raise BrokenError("JSON", f"is {_describe_type(document)} where a glTF document is an object")
    return cast("Json", document)


def _parse_int(text: str) -> int:
    if len(text) > _MAX_INT_DIGITS:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def check_index(value: Any, count: int, place: str, label: str) -> int:
    """Check an index into a list of `count` elements. It is an integer from 0 to count - 1, not a boolean."""
    if type(value) is int and 0 <= value < count:
        return value
    raise BrokenError(place, f"{label} {_format_value(value)} does not exist; there are {count}")


def read_natural(parent: Json, key: str, place: str, default: int | None = None) -> int:
    """Read a non-negative integer. Without a default the key must be there."""
    value = parent.get(key, default)
    if type(value) is int and value >= 0:
        return value
    raise BrokenError(place, f"{key} must be an integer not below zero, not {_format_value(value)}")


def read_objects(parent: Json, key: str, place: str = "") -> list[Json]:
    """Read a list of objects. A missing key is an empty list."""
    values = parent.get(key, [])
    place = f"{place}.{key}" if place else key
    if not isinstance(values, list):
        raise BrokenError(place, f"must be a list, not {_describe_type(values)}")
    for i, value in enumerate(cast("list[Any]", values)):
        if type(value) is not dict:
            raise BrokenError(f"{place}[{i}]", f"must be an object, not {_describe_type(value)}")
    return cast("list[Json]", values)


def read_object(parent: Json, key: str, place: str = "") -> Json:
    """Read an object. A missing key is an empty one."""
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise BrokenError(f"{place}.{key}" if place else key, f"must be an object, not {_describe_type(value)}")
    return cast("Json", value)


def read_strings(parent: Json, key: str) -> list[str]:
    """Read a list of strings. A missing key is an empty list."""
    values = parent.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in cast("list[Any]", values)):
        raise BrokenError(key, "must be a list of strings")
    return cast("list[str]", values)


def read_numbers(value: Any, count: int, place: str, label: str) -> list[float]:
    """Read exactly `count` finite numbers. Booleans are refused."""
    numbers = parse_finite_list(value, count)
    if numbers is None:
        raise BrokenError(place, f"{label} must be {count} finite numbers, not {_format_value(value)}")
    return numbers


def parse_finite_list(value: Any, count: int) -> list[float] | None:
    """Parse `count` finite numbers as floats. None for anything else."""
    if not isinstance(value, list) or len(cast("list[Any]", value)) != count:
        return None
    numbers = [number for item in cast("list[Any]", value) if (number := parse_finite_number(item)) is not None]
    return numbers if len(numbers) == count else None


def parse_finite_number(value: Any) -> float | None:
    """Parse a finite number as a float. None for anything else."""
    if type(value) is not float and type(value) is not int:
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def require_object(value: Any) -> Json:
    """Return an object of an extra. MalformedExtrasError for anything else."""
    if not isinstance(value, dict):
        raise MalformedExtrasError
    return cast("Json", value)


def require_string(value: Any) -> str:
    """Return a string of an extra. MalformedExtrasError for anything else."""
    if not isinstance(value, str):
        raise MalformedExtrasError
    return value


def require_number(value: Any) -> float:
    """Return a finite number of an extra as a float. MalformedExtrasError for anything else."""
    number = parse_finite_number(value)
    if number is None:
        raise MalformedExtrasError
    return number


def require_numbers(value: Any, count: int) -> list[float]:
    """Return `count` finite numbers of an extra. MalformedExtrasError for anything else."""
    values = parse_finite_list(value, count)
    if values is None:
        raise MalformedExtrasError
    return values


def require_vector(value: Any) -> list[float]:
    """Return three finite numbers of an extra. MalformedExtrasError for anything else."""
    return require_numbers(value, 3)


def clean_text(value: Any) -> str:
    """Clean a string for encoding. Lone surrogates are replaced; anything but a string becomes empty."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _describe_type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _format_value(value: Any) -> str:
    """Format a value for a message, shortened. A hostile one may be megabytes long."""
    if isinstance(value, dict | list):
        return f"{_describe_type(value)} of {len(cast('list[Any]', value))}"
    if type(value) is int and abs(value) > 2**64:
        return "a huge integer"
    text = ascii(value) if not isinstance(value, str) else ascii(value[:60])
    return text if value is not None else "null"


class NoteCollector:
    """Collector of sentences for `Rig.notes`. Each kind of repair or ignored content has one sentence."""

    def __init__(self, *sentences: str) -> None:
        self._names: dict[str, list[str]] = {sentence: [] for sentence in sentences}

    def add(self, sentence: str, name: str = "") -> None:
        """Add a note. A repeated sentence is written once, with all its names."""
        names = self._names.setdefault(sentence, [])
        if name:
            names.append(name)

    def read_name(self, json_object: Json, default: str) -> str:
        """Read the name of an object, or return `default`. A name other than a text gives a note."""
        value = json_object.get("name")
        if not (value is None or isinstance(value, str)):
            self.add("names that are no text were replaced", default)
        return clean_text(value) or default

    def format_sentences(self) -> tuple[str, ...]:
        """Return the notes in order of their first addition."""
        return tuple(
            f"{sentence}: {join_names(names)}" if names else sentence for sentence, names in self._names.items()
        )
