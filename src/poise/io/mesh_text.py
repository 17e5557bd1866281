"""Text of mesh files for trimesh, and its messages."""

from __future__ import annotations

_TO_ASCII = bytes(range(128)) + b"?" * 128
_STL_HEAD, _STL_FACET = 84, 50  # bytes of a binary STL file's head, its number of facets included, and of a facet
_MESSAGE_CHARACTERS = 100  # characters of another library's message


def replace_non_ascii(data: bytes, suffix: str) -> bytes:
    """Replace bytes beyond ASCII in OBJ and text STL files.

    Question marks take their places. They are in names and remarks only, and trimesh would guess the encoding, which
    takes another library, and long for a large file.
    """
    if suffix == ".stl" and len(data) == _STL_HEAD + _STL_FACET * int.from_bytes(data[80:_STL_HEAD], "little"):
        return data  # binary
    return data if suffix not in (".obj", ".stl") or data.isascii() else data.translate(_TO_ASCII)


def shorten_error(error: Exception) -> str:
    """Shorten another library's error message to one line."""
    text = " ".join(f"{error}".split()) or type(error).__name__
    return text if len(text) <= _MESSAGE_CHARACTERS else text[: _MESSAGE_CHARACTERS - 3] + "..."
