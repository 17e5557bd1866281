"""Buffer bytes: BIN chunk, data URIs, files inside the document's folder."""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from poise.io.files import without_blocking
from poise.io.gltf.container import Container
from poise.io.gltf.json import BrokenError, Json, natural

_LONGEST = 1024  # maximum length of a URI [characters]; messages quote it
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")  # or a Windows drive


def inside(folder: Path, uri: str, place: str) -> Path:
    """Resolve a relative URI to a file inside `folder`. Any URI that could lead out is refused unopened."""
    name = unquote(uri, errors="strict") if len(uri) <= _LONGEST and _decodes(uri) else ""
    if not name or "\0" in name or "\\" in name or name.startswith("/") or _SCHEME.match(name):
        raise BrokenError(place, f"{uri[:200]!a} is not a relative path inside the file's folder; it was not opened")
    root = folder.resolve()
    try:
        target = (root / name).resolve()
    except (OSError, RuntimeError) as error:  # a loop of symbolic links, a name too long
        raise BrokenError(place, f"{uri[:200]!a} cannot be resolved: {error}") from error
    if root not in target.parents:
        raise BrokenError(place, f"{uri[:200]!a} leads out of the file's folder; it was not opened")
    return target


def _decodes(uri: str) -> bool:
    try:
        unquote(uri, errors="strict").encode()
    except UnicodeError:
        return False
    return True


def read_inside(folder: Path, uri: str, place: str, limit: int = -1) -> bytes:
    """Read up to `limit` bytes of a file inside `folder`. A relative URI gives the file, which must be regular."""
    target = inside(folder, uri, place)
    try:
        with open(target, "rb", opener=without_blocking) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BrokenError(place, f"{target} is not a regular file")
            return file.read(min(limit, status.st_size) if limit >= 0 else -1)
    except OSError as error:
        raise BrokenError(place, f"{target}: {error.strerror or error}") from error


def data_uri(data: bytes, media_type: str = "application/octet-stream") -> str:
    """Write bytes as a data URI."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def _from_data_uri(uri: str, place: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma or not head.endswith(";base64"):
        raise BrokenError(place, "its data URI is not base64")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BrokenError(place, f"its data URI is not valid base64: {error}") from error


class Buffers:
    """Buffers of a document, checked at once and read on demand."""

    def __init__(self, buffers: list[Json], container: Container, folder: Path) -> None:
        self._buffers = buffers
        self._container = container
        self._folder = folder
        self._loaded: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._buffers)

    @property
    def bytes_read(self) -> int:
        """Number of bytes in the buffers read so far."""
        return sum(map(len, self._loaded.values()))

    def size(self, i: int) -> int:
        """Return a buffer's byteLength after checking its bytes exist. The bytes are not read.

        A buffer without URI and without BIN has no bytes of its own (as with compressed meshes): it is an error only
        when data in it is needed.
        """
        place = f"buffers[{i}]"
        length = natural(self._buffers[i], "byteLength", place)
        uri: Any = self._buffers[i].get("uri")
        binary = self._container.binary if i == 0 else None
        if uri is None:
            existing = length if binary is None else len(binary)
        elif not isinstance(uri, str):
            raise BrokenError(place, "its uri must be a string")
        elif _is_data(uri):
            existing = (len(uri) - uri.find(",") - 1) * 3 // 4
        else:
            existing = _file_size(self._folder, uri, place)
        _check_length(length, existing, place)
        return length

    def __getitem__(self, i: int) -> bytes:
        """Return the bytes of a buffer, up to its byteLength."""
        if i not in self._loaded:
            self._loaded[i] = self._load(i)
        return self._loaded[i]

    def _load(self, i: int) -> bytes:
        place, length = f"buffers[{i}]", self.size(i)
        uri: Any = self._buffers[i].get("uri")
        if uri is None:
            data = self._container.binary if i == 0 else None
            if data is None:
                raise BrokenError(place, "has no uri and the file has no BIN chunk for it")
        elif _is_data(uri):
            data = _from_data_uri(uri, place)
        else:
            data = read_inside(self._folder, uri, place, length)
        _check_length(length, len(data), place)
        return data[:length]


def _is_data(uri: str) -> bool:
    return uri[:5].lower() == "data:"


def _check_length(length: int, existing: int, place: str) -> None:
    if existing < length:
        raise BrokenError(place, f"says {length:,} bytes; there are {existing:,}")


def _file_size(folder: Path, uri: str, place: str) -> int:
    target = inside(folder, uri, place)
    try:
        status = target.stat()
    except OSError as error:
        raise BrokenError(place, f"{target}: {error.strerror or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise BrokenError(place, f"{target} is not a regular file")
    return status.st_size
