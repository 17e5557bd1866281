"""Exceptions for misuse and bad input. The outcome of a solve is a Status, never an exception.

PoiseError
|- FileError          a file is broken, unsupported or cannot be written
|- UnknownNameError   a name that does not exist; the message lists the existing ones
|- InputError         a value that cannot be used
|- UnsupportedError   an operation outside the abilities of a solver or format
`- NotReachedError    raised by Result.require() only
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from itertools import accumulate
from os import PathLike
from typing import Any

__all__ = [
    "FileError",
    "InputError",
    "NotReachedError",
    "PoiseError",
    "PoiseWarning",
    "UnknownNameError",
    "UnsupportedError",
]

_MAX_LISTED_NAMES = 12
# Control characters, marks of text direction (they can reorder letters), line separators, and surrogates
# (bytes of names outside UTF-8). All of them can change how a terminal shows the text.
_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MAX_QUOTED_CHARS = 120  # characters of a quoted value and of each listed name: fits two terminal lines
_FAST_QUOTE_CHARS = 70  # characters; shorter texts stay below _MAX_QUOTED_CHARS with quotes and escapes added
_MAX_PATH_CHARS = 200  # characters of a quoted path in a message
_MAX_NAME_CHARS = 200  # characters; longer names are not compared, which takes time
_MAX_COMPARED_PAIRS = 4_000_000  # product of name lengths, summed: bounds the comparison to tenths of a second


class PoiseError(Exception):
    """Base class of all exceptions raised by Poise.

    Notes
    -----
    `str()` is one line: control characters, as in names of files or joints, are escaped.
    """

    def __str__(self) -> str:
        return escape_controls(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_error, (type(self), self.args), vars(self)  # errors are pickled between processes


def _rebuild_error(error_class: type[PoiseError], args: tuple[Any, ...]) -> PoiseError:
    """Rebuild a pickled error without calling its constructor."""
    error = error_class.__new__(error_class)
    error.args = args
    return error


class PoiseWarning(UserWarning):
    """Warning about a repaired or partly ignored file, or a guessed goal.

    A warning about a file is also in `Rig.notes`.
    """

    def __str__(self) -> str:
        return escape_controls(super().__str__())


class WriteWarning(PoiseWarning):
    """Warning about a difference between a rig and the file written.

    The format cannot hold some of the data, which was changed or guessed.
    """


class FileError(PoiseError):
    """File read or write error. The message is `path: place: reason`.

    Parameters
    ----------
    path
        The file.
    reason
        What is wrong.
    place
        Where inside the file: a line, a joint, an accessor. It may be empty.
    """

    def __init__(self, path: str | PathLike[str], reason: str, *, place: str = "") -> None:
        self.path: str = _to_text(path)
        self.place: str = _to_text(place)
        self.reason: str = _to_text(reason)
        super().__init__(": ".join(part for part in (quote_path(self.path), self.place, self.reason) if part))


class UnknownNameError(PoiseError):
    """Unknown name error. The message offers the nearest names and lists the existing ones.

    Parameters
    ----------
    kind
        Kind of the missing thing: "joint", "solver".
    name
        The unknown name.
    known
        The names that exist.
    plural
        Plural of `kind`, if irregular.
    also
        Further valid names: suggested if similar, but not listed.
    means
        Names used elsewhere, in lower case without separators, with the name used here.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        plural: str = "",
        also: Iterable[str] = (),
        means: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        known_names, name_text = _to_texts(known), name if isinstance(name, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
        equivalent = means.get(_normalise_name(name_text)) if isinstance(means, Mapping) else None
        similar_names = (
            _find_similar_names(name_text, [*known_names, *_to_texts(also)]) if equivalent is None else [equivalent]
        )
        hint = f"; did you mean {' or '.join(quote_value(n) for n in similar_names)}?" if similar_names else ";"
        plural_noun = _to_text(plural) or f"{_to_text(kind)}s"
        super().__init__(f"no {_to_text(kind)} {quote_value(name)}{hint} {plural_noun}: {join_names(known_names)}")


class InputError(PoiseError, ValueError):
    """Invalid value. The message names the value, the allowed values and a remedy."""


class UnsupportedError(PoiseError):
    """Operation unsupported by this solver, joint kind or format."""


@contextmanager
def prefix_file_name(file: str | PathLike[str] | None) -> Generator[None]:
    """Prefix UnsupportedError messages with the file name. Messages that contain the name already are not changed.

    Parameters
    ----------
    file
        The file read or written, or None.
    """
    try:
        yield
    except UnsupportedError as error:
        if file is None or escape_controls(quote_path(file)) in str(error):
            raise
        raise UnsupportedError(f"{quote_path(file)}: {error}") from error


class NotReachedError(PoiseError):
    """Goals not met. Raised only on request, by `Result.require()`."""


def join_names(names: Iterable[str]) -> str:
    """Join names for a message. A long list is cut, with the number of omitted names."""
    names = [_truncate(escape_unprintable(name), _MAX_QUOTED_CHARS) for name in names]
    if not names:
        return "(none)"
    hidden_count = len(names) - _MAX_LISTED_NAMES
    return ", ".join(names[:_MAX_LISTED_NAMES]) + (f", ... and {hidden_count} more" if hidden_count > 0 else "")


def _to_texts(values: Any) -> list[str]:
    """Convert names to text.

    Invalid input gives an empty list: building an error must not fail.
    """
    try:
        return [_to_text(value) for value in values]
    except TypeError:
        return []


def _to_text(value: Any) -> str:
    """Convert a value to text, or to its type name.

    The type name replaces a value whose `str` fails.
    """
    try:
        return value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001  (a foreign __str__ may raise anything)
        return f"a {type(value).__name__}"


def quote_value(value: object, max_chars: int = _MAX_QUOTED_CHARS) -> str:
    """Quote a value for a message, shortened.

    The type name replaces a value whose `repr` fails.

    Parameters
    ----------
    value
        Anything.
    max_chars
        Maximum number of characters.
    """
    if type(value) is str and len(value) < _FAST_QUOTE_CHARS and value.isprintable():
        return repr(value)  # fast path: every goal quotes its joint
    try:
        text = repr(value[: _MAX_NAME_CHARS * 2] if isinstance(value, str | bytes) else value)
    except Exception:  # noqa: BLE001  (a foreign __repr__ may raise anything)
        text = f"a {type(value).__name__}"
    return _truncate(" ".join(text.split("\n")), max_chars)


def quote_path(path: object) -> str:
    """Quote a path for a message, shortened in the middle."""
    text = str(path)
    half_length = _MAX_PATH_CHARS // 2 - 2
    return text if len(text) <= _MAX_PATH_CHARS else f"{text[:half_length]}...{text[-half_length:]}"


def escape_unprintable(name: str) -> str:
    r"""Escape unprintable characters of a name. The escapes are those of repr, without quotes: a line break is \n."""
    if name.isprintable():
        return name
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name)


def escape_controls(text: str) -> str:
    r"""Escape control characters, line separators and marks of text direction.

    The text stays on one line and cannot send control sequences to a terminal.

    Control characters, line separators, marks of text direction and bytes of names outside UTF-8 become escapes such as
    `\x1b`. All other characters are preserved, also those escaped by `escape_unprintable`.

    Parameters
    ----------
    text
        For example a message with a file name.
    """
    return _CONTROL_CHARACTERS.sub(lambda match: repr(match[0])[1:-1], text)


def _truncate(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 3] + "..."


def _find_similar_names(name: str, known_names: list[str]) -> list[str]:
    """Find similar names with difflib. A name that differs only in case and separators is returned alone."""
    if not 0 < len(name) <= _MAX_NAME_CHARS:
        return []
    import difflib  # noqa: PLC0415  (keeps `import poise` fast)

    known_names = [known for known in known_names if len(known) <= _MAX_NAME_CHARS]
    names_by_key = {_normalise_name(known): known for known in reversed(known_names)}
    if _normalise_name(name) in names_by_key:
        return [names_by_key[_normalise_name(name)]]
    compared_pairs = accumulate(len(name) * len(known) for known in names_by_key)
    compared_names = [
        known for known, total in zip(names_by_key, compared_pairs, strict=True) if total <= _MAX_COMPARED_PAIRS
    ]
    return [
        names_by_key[match]
        for match in difflib.get_close_matches(_normalise_name(name), compared_names, n=2, cutoff=0.6)
    ]


def _normalise_name(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
