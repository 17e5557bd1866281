"""XML parsing with expat, without document types and entities.

The depth and number of elements are bounded; errors name the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from poise.errors import FileError
from poise.io.numbers import shown

Attributes = dict[str, str]
_ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1")


class NotWellFormedError(FileError):
    """Error for malformed XML."""


class XmlReader:
    """Expat handlers, extended by formats.

    `_handle_start` and `_handle_end` count the depth; the root element has depth 0.

    Document type declarations are refused, and with them all entities: nothing is expanded, no other file is opened.
    """

    def __init__(self, path: Path, deepest: int) -> None:
        self.path = path
        self.depth = -1
        self.deepest = deepest
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.XmlDeclHandler = self._declaration

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

    def _doctype(self, *_: object) -> NoReturn:
        self._fail("document types and entities are not read")

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            self._fail(f"the encoding {shown(encoding)} is not supported; save the file as UTF-8")

    def _start(self, _tag: str, _attributes: Attributes) -> None:
        self.depth += 1
        if self.depth > self.deepest:
            self._fail(f"elements are nested more than {self.deepest} deep")

    def _end(self, _tag: str) -> None:
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


def read_tree(path: Path, data: bytes, *, deepest: int, most: int) -> Element:
    """Read a whole file as elements, without text.

    FileError for more than `max_elements` elements or `max_depth` levels.
    """
    reader = _TreeReader(path, deepest, most)
    reader.read(data)
    return reader.root


class _TreeReader(XmlReader):
    def __init__(self, path: Path, deepest: int, most: int) -> None:
        super().__init__(path, deepest)
        self.left = most
        self.most = most
        self.open: list[Element] = []
        self.root = Element("", {}, path, 0)

    def _start(self, tag: str, attributes: Attributes) -> None:
        super()._start(tag, attributes)
        self.left -= 1
        if self.left < 0:
            self._fail(f"more than {self.most} elements")
        element = Element(tag, attributes, self.path, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _end(self, _tag: str) -> None:
        super()._end(_tag)
        self.open.pop()
