"""XML parsing with expat, without document types and entities.

The depth and number of elements are bounded; errors name the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from poise.errors import FileError
from poise.io.text_parsing import quote_excerpt

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
        self.depth = -1
        self.max_depth = max_depth
        self.parser = expat.ParserCreate()
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
        self.remaining = max_elements
        self.max_elements = max_elements
        self.open_elements: list[Element] = []
        self.root = Element("", {}, path, 0)

    def _handle_start(self, tag: str, attributes: Attributes) -> None:
        super()._handle_start(tag, attributes)
        self.remaining -= 1
        if self.remaining < 0:
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
