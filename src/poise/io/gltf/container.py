"""Containers and buffers of glTF files: GLB chunks, JSON files, data URIs.

Buffers may also be files inside the document's folder.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from poise.errors import UnsupportedError
from poise.io.files import guess_file_type, open_nonblocking
from poise.io.gltf.json_checks import BrokenError, Json, parse_document, read_natural, read_object

_GLB_MAGIC = b"glTF"
_JSON_CHUNK, _BIN_CHUNK = 0x4E4F534A, 0x004E4942
_MAX_GLB_BYTES = 2**32 - 1
_VERSION_PATTERN = re.compile(r"\d{1,9}\.\d{1,9}", re.ASCII)


@dataclass(frozen=True)
class Container:
    """Parts of a file: JSON, BIN chunk, further chunks, notes on repairs."""

    container_type: Literal["glb", "gltf"]
    json: Json
    binary: bytes | None = None
    chunks: tuple[tuple[int, bytes], ...] = ()
    notes: tuple[str, ...] = ()


def unpack_document(data: bytes, suffix: str) -> Container:
    """Split a file into its parts. Its first bytes decide the type, not the suffix."""
    if data[:4] == _GLB_MAGIC:
        return _unpack_glb(data, suffix)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return Container(
            "gltf", _check_asset(parse_document(data)), notes=_note_wrong_suffix(suffix, "gltf", "a JSON file")
        )
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:2]:
        raise BrokenError("", "is not UTF-8 text; glTF must be (it looks like UTF-16)")
    file_type = guess_file_type(data)
    raise BrokenError(
        "", f"is not a glTF or GLB file; it looks like {file_type}" if file_type else "is not a glTF or GLB file"
    )


def _note_wrong_suffix(suffix: str, container_type: str, label: str) -> tuple[str, ...]:
    is_right = suffix == ".gltf" if container_type == "gltf" else suffix != ".gltf"
    return () if is_right else (f"the file is named {suffix} but is {label}; it was read as one",)


def _unpack_glb(data: bytes, suffix: str) -> Container:
    if len(data) < 20:  # noqa: PLR2004  (12 bytes of header, 8 of the first chunk's)
        raise BrokenError("GLB header", f"is cut off: the file has only {len(data)} bytes")
    _, version, glb_bytes = struct.unpack_from("<4sII", data)
    if version != 2:  # noqa: PLR2004
        raise BrokenError("GLB header", f"container version {version} is not supported; version 2 is")
    if glb_bytes > len(data):
        raise BrokenError("GLB header", f"says {glb_bytes:,} bytes; the file has {len(data):,}")
    chunks = _read_chunks(data, glb_bytes)
    if not chunks or chunks[0][0] != _JSON_CHUNK:
        raise BrokenError("GLB chunk 0", "must be the JSON chunk")
    binary = chunks[1][1] if len(chunks) > 1 and chunks[1][0] == _BIN_CHUNK else None
    further_chunks = tuple(chunks[1 if binary is None else 2 :])
    notes = list(_note_wrong_suffix(suffix, "glb", "a GLB file"))
    if glb_bytes < len(data):
        notes.append(f"{len(data) - glb_bytes:,} bytes after the end of the GLB were ignored")
    return Container("glb", _check_asset(parse_document(chunks[0][1])), binary, further_chunks, tuple(notes))


def _read_chunks(data: bytes, end: int) -> list[tuple[int, bytes]]:
    chunks: list[tuple[int, bytes]] = []
    position = 12
    while position < end:
        place = f"GLB chunk {len(chunks)}"
        if end - position < 8:  # noqa: PLR2004
            raise BrokenError(place, f"its header is cut off at byte {position:,}")
        length, chunk_type = struct.unpack_from("<II", data, position)
        if length > end - position - 8:
            raise BrokenError(place, f"says {length:,} bytes; the file has {end - position - 8:,} left for it")
        chunks.append((chunk_type, data[position + 8 : position + 8 + length]))
        position += 8 + length
    return chunks


def _check_asset(document: Json) -> Json:
    version = read_object(document, "asset").get("version")
    if not isinstance(version, str):
        raise BrokenError("asset", "is not a glTF document: asset.version is missing")
    if version.split(".")[0] != "2":
        raise BrokenError("asset", f"glTF {version[:20]!a} is not supported; 2.0 is")
    min_version = read_object(document, "asset").get("minVersion", "2.0")
    if not isinstance(min_version, str) or not _VERSION_PATTERN.fullmatch(min_version):
        raise BrokenError("asset", "minVersion must be a version such as 2.0")
    if tuple(map(int, min_version.split("."))) > (2, 0):
        raise BrokenError("asset", f"needs a reader of glTF {min_version}; this one reads 2.0")
    return document


def pack_document(container: Container) -> bytes:
    """Join the parts of a file. UnsupportedError for a document that cannot be written."""
    try:
        text = json.dumps(container.json, allow_nan=False, separators=(",", ":"))
    except RecursionError as error:
        raise UnsupportedError("the document is nested too deeply to be written") from error
    except ValueError as error:
        raise UnsupportedError("the document holds a number too large for a double; it cannot be written") from error
    data = text.encode("ascii")
    if container.container_type == "gltf":
        return data + b"\n"
    chunks = [(_JSON_CHUNK, data + b" " * (-len(data) % 4))]
    if container.binary is not None:
        chunks.append((_BIN_CHUNK, container.binary))
    body = b"".join(_pack_chunk(chunk_type, content) for chunk_type, content in [*chunks, *container.chunks])
    if len(body) + 12 > _MAX_GLB_BYTES:
        raise UnsupportedError("a GLB file cannot be larger than 4 GiB")
    return struct.pack("<4sII", _GLB_MAGIC, 2, len(body) + 12) + body


def _pack_chunk(chunk_type: int, content: bytes) -> bytes:
    padding = b"\0" * (-len(content) % 4)
    return struct.pack("<II", len(content) + len(padding), chunk_type) + content + padding


# --- Buffer bytes: BIN chunk, data URIs, files inside the document's folder ------------------------------------------


_MAX_URI_LENGTH = 1024  # maximum length of a URI [characters]; messages quote it
_SCHEME_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")  # or a Windows drive


def resolve_inside(folder: Path, uri: str, place: str) -> Path:
    """Resolve a relative URI to a file inside `folder`. Any URI that could lead out is refused unopened."""
    relative_path = unquote(uri, errors="strict") if len(uri) <= _MAX_URI_LENGTH and _is_decodable(uri) else ""
    if (
        not relative_path
        or "\0" in relative_path
        or "\\" in relative_path
        or relative_path.startswith("/")
        or _SCHEME_PATTERN.match(relative_path)
    ):
        raise BrokenError(place, f"{uri[:200]!a} is not a relative path inside the file's folder; it was not opened")
    root = folder.resolve()
    try:
        target = (root / relative_path).resolve()
    except (OSError, RuntimeError) as error:  # a loop of symbolic links, a name too long
        raise BrokenError(place, f"{uri[:200]!a} cannot be resolved: {error}") from error
    if root not in target.parents:
        raise BrokenError(place, f"{uri[:200]!a} leads out of the file's folder; it was not opened")
    return target


def _is_decodable(uri: str) -> bool:
    try:
        unquote(uri, errors="strict").encode()
    except UnicodeError:
        return False
    return True


def read_inside(folder: Path, uri: str, place: str, max_bytes: int = -1) -> bytes:
    """Read up to `max_bytes` bytes of a file inside `folder`. A relative URI gives the file, which must be regular."""
    target = resolve_inside(folder, uri, place)
    try:
        with open(target, "rb", opener=open_nonblocking) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BrokenError(place, f"{target} is not a regular file")
            return file.read(min(max_bytes, status.st_size) if max_bytes >= 0 else -1)
    except OSError as error:
        raise BrokenError(place, f"{target}: {error.strerror or error}") from error


def format_data_uri(data: bytes, media_type: str = "application/octet-stream") -> str:
    """Write bytes as a data URI."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def _decode_data_uri(uri: str, place: str) -> bytes:
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
        self._loaded_bytes: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._buffers)

    @property
    def bytes_read(self) -> int:
        """Number of bytes in the buffers read so far."""
        return sum(map(len, self._loaded_bytes.values()))

    def check_size(self, i: int) -> int:
        """Return a buffer's byteLength after checking its bytes exist. The bytes are not read.

        A buffer without URI and without BIN has no bytes of its own (as with compressed meshes): it is an error only
        when data in it is needed.
        """
        place = f"buffers[{i}]"
        byte_length = read_natural(self._buffers[i], "byteLength", place)
        uri: Any = self._buffers[i].get("uri")
        binary = self._container.binary if i == 0 else None
        if uri is None:
            existing_bytes = byte_length if binary is None else len(binary)
        elif not isinstance(uri, str):
            raise BrokenError(place, "its uri must be a string")
        elif _is_data_uri(uri):
            existing_bytes = (len(uri) - uri.find(",") - 1) * 3 // 4
        else:
            existing_bytes = _measure_file(self._folder, uri, place)
        _check_length(byte_length, existing_bytes, place)
        return byte_length

    def __getitem__(self, i: int) -> bytes:
        """Return the bytes of a buffer, up to its byteLength."""
        if i not in self._loaded_bytes:
            self._loaded_bytes[i] = self._load_buffer(i)
        return self._loaded_bytes[i]

    def _load_buffer(self, i: int) -> bytes:
        place, byte_length = f"buffers[{i}]", self.check_size(i)
        uri: Any = self._buffers[i].get("uri")
        if uri is None:
            data = self._container.binary if i == 0 else None
            if data is None:
                raise BrokenError(place, "has no uri and the file has no BIN chunk for it")
        elif _is_data_uri(uri):
            data = _decode_data_uri(uri, place)
        else:
            data = read_inside(self._folder, uri, place, byte_length)
        _check_length(byte_length, len(data), place)
        return data[:byte_length]


def _is_data_uri(uri: str) -> bool:
    return uri[:5].lower() == "data:"


def _check_length(byte_length: int, existing_bytes: int, place: str) -> None:
    if existing_bytes < byte_length:
        raise BrokenError(place, f"says {byte_length:,} bytes; there are {existing_bytes:,}")


def _measure_file(folder: Path, uri: str, place: str) -> int:
    target = resolve_inside(folder, uri, place)
    try:
        status = target.stat()
    except OSError as error:
        raise BrokenError(place, f"{target}: {error.strerror or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise BrokenError(place, f"{target} is not a regular file")
    return status.st_size
