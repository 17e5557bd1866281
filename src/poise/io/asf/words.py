"""Tokenizer of ASF and AMC files, with errors by line."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, NoReturn

from poise.errors import FileError
from poise.io.files import guessed_kind
from poise.io.numbers import LONGEST_NAME, number, shown

_BLANKS = str.maketrans("(),", "   ")  # brackets and commas count as blanks


class TextLine(NamedTuple):
    """A line with words, and its number in the file from 1."""

    number: int
    words: list[str]


def text_of(path: Path, data: bytes, kind: str) -> str:
    """Decode the text of a file, with LF line ends. FileError if it is not text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(path, f"is UTF-16 text; {kind} file is plain text, so save it as UTF-8 or ASCII")
    if b"\0" in data:
        looks = guessed_kind(data)
        raise FileError(path, f"not {kind} file" + (f"; this looks like {looks}" if looks else ": it is not text"))
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def lines_of(text: str, first: int = 1) -> list[TextLine]:
    """Split text into numbered lines with words, without comments. Numbers begin at `first`."""
    given = (
        TextLine(i, row.partition("#")[0].translate(_BLANKS).split()) for i, row in enumerate(text.split("\n"), first)
    )
    return [line for line in given if line.words]


def fail(path: Path, line: int, reason: str) -> NoReturn:
    """Raise a FileError at a line."""
    raise FileError(path, reason, place=f"line {line}")


def numbers(path: Path, line: TextLine, words: list[str], count: int, what: str) -> list[float]:
    """Parse exactly `count` numbers, or fail."""
    if len(words) != count:
        fail(path, line.number, f"{what}: {count} numbers expected, found {len(words)}")
    try:
        return [number(word) for word in words]
    except ValueError as error:
        fail(path, line.number, f"{what}: {error}")


def name(path: Path, line: TextLine, words: list[str], what: str) -> str:
    """Parse a name: one word of usual length."""
    if len(words) != 1 or len(words[0]) > LONGEST_NAME:
        fail(path, line.number, f"{what} must be one word, not {shown(' '.join(words))}")
    return words[0]
