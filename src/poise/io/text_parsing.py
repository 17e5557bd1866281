"""Numbers, names, JSON and XML in text files.

Numbers are finite, in plain notation, and small enough for finite squares. JSON with a repeated key is refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

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
    number = float(text)
    if abs(number) > MAX_NUMBER:
        message = f"{quote_excerpt(text)} is too large"
        raise ValueError(message)
    return number


def parse_vector(text: str) -> tuple[float, ...]:
    """Parse numbers separated by blanks. ValueError for a word that `parse_number` refuses."""
    words = text.split()
    if text.isascii() and "_" not in text:
        numbers = tuple(map(float, words))
        if all(-MAX_NUMBER <= number <= MAX_NUMBER for number in numbers):
            return numbers
    return tuple(map(parse_number, words))


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
        repeated_key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        message = f"the key {quote_excerpt(repeated_key)} occurs twice in one object"
        raise ValueError(message)
    return result


# --- XML parsing with expat, without document types and entities -----------------------------------------------------
#
# The depth and number of elements are bounded; errors name the line.


Attributes = dict[str, str]
_ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1")


class NotWellFormedError(FileError):
    """Error for malformed XML."""


class XmlReader:
    """Expat handlers, extended by formats.

    `_handle_start` and `_handle_end` count the depth; the root element has depth 0.

    Document type declarations are refused, and with them all entities: nothing is expanded, no other file is opened.
    """

    def __init__(self, path: Path, max_depth: int) -> None:
        self.path = path
        self.depth: int = -1
        self.max_depth = max_depth
        self.parser: expat.XMLParserType = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._handle_start
        self.parser.EndElementHandler = self._handle_end
        self.parser.StartDoctypeDeclHandler = self._reject_doctype
        self.parser.XmlDeclHandler = self._check_encoding

    def read(self, data: bytes) -> None:
        """Parse the bytes. FileError names the line of malformed XML."""
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = f"not well-formed XML: {expat.ErrorString(error.code)}"
            raise NotWellFormedError(self.path, reason, place=f"line {error.lineno}") from error
        except (LookupError, ValueError) as error:  # an encoding unknown to Python or unusable by expat
            raise FileError(self.path, f"cannot be decoded: {error}", place="line 1") from error

    def _fail(self, reason: str) -> NoReturn:
        raise FileError(self.path, reason, place=f"line {self.parser.CurrentLineNumber}")

    def _reject_doctype(self, *_: object) -> NoReturn:
        self._fail("document types and entities are not read")

    def _check_encoding(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            self._fail(f"the encoding {quote_excerpt(encoding)} is not supported; save the file as UTF-8")

    def _handle_start(self, _tag: str, _attributes: Attributes) -> None:
        self.depth += 1
        if self.depth > self.max_depth:
            self._fail(f"elements are nested more than {self.max_depth} deep")

    def _handle_end(self, _tag: str) -> None:
        self.depth -= 1


@dataclass
class Element:
    """XML element: attributes, children and first line."""

    tag: str
    attributes: Attributes
    path: Path
    line: int
    children: list[Element] = field(default_factory=list["Element"])

    def fail(self, reason: str) -> NoReturn:
        """Raise a FileError with this element's file and line."""
        raise FileError(self.path, reason, place=f"line {self.line}")


def read_xml_tree(path: Path, data: bytes, *, max_depth: int, max_elements: int) -> Element:
    """Read a whole file as elements, without text.

    FileError for more than `max_elements` elements or `max_depth` levels.
    """
    reader = _TreeReader(path, max_depth, max_elements)
    reader.read(data)
    return reader.root


class _TreeReader(XmlReader):
    def __init__(self, path: Path, max_depth: int, max_elements: int) -> None:
        super().__init__(path, max_depth)
        self.remaining_elements = max_elements
        self.max_elements = max_elements
        self.open_elements: list[Element] = []
        self.root = Element("", {}, path, 0)

    def _handle_start(self, tag: str, attributes: Attributes) -> None:
        super()._handle_start(tag, attributes)
        self.remaining_elements -= 1
        if self.remaining_elements < 0:
            self._fail(f"more than {self.max_elements} elements")
        element = Element(tag, attributes, self.path, self.parser.CurrentLineNumber)
        if self.open_elements:
            self.open_elements[-1].children.append(element)
        else:
            self.root = element
        self.open_elements.append(element)

    def _handle_end(self, _tag: str) -> None:
        super()._handle_end(_tag)
        self.open_elements.pop()
