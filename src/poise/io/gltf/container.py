"""glTF containers and buffers: GLB chunks, JSON files, data URIs.

Buffers may also be files inside the document's folder.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from poise.errors import UnsupportedError
from poise.io.files import guessed_kind
from poise.io.gltf.json import BrokenError, Json, mapping, parse
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose

_MAGIC = b"glTF"
_JSON, _BIN = 0x4E4F534A, 0x004E4942
_LARGEST = 2**32 - 1
_VERSION = re.compile(r"\d{1,9}\.\d{1,9}", re.ASCII)


@dataclass(frozen=True)
class Container:
    """Parts of a file: JSON, BIN chunk, further chunks, notes on repairs."""

    kind: Literal["glb", "gltf"]
    json: Json
    binary: bytes | None = None
    chunks: tuple[tuple[int, bytes], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class GltfDocument:
    """Source document of a glTF skeleton, in `Skeleton.source`. It holds the file's content and the rig read from it.

    The JSON is never changed: writing copies the parts that it edits. `pose` is the displayed pose of the nodes,
    `rest_q` the rest before limits; writing compares with both to find changes.
    """

    path: Path
    container: Container
    pose: Pose
    rest_q: Floats
    clips: tuple[Clip, ...]


def unpack(data: bytes, suffix: str) -> Container:
    """Split a file into its parts. Its first bytes decide the type, not the suffix."""
    if data[:4] == _MAGIC:
        return _unpack_glb(data, suffix)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return Container("gltf", _checked(parse(data)), notes=_misnamed(suffix, "gltf", "a JSON file"))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:2]:
        raise BrokenError("", "is not UTF-8 text; glTF must be (it looks like UTF-16)")
    looks = guessed_kind(data)
    raise BrokenError("", f"is not a glTF or GLB file; it looks like {looks}" if looks else "is not a glTF or GLB file")


def _misnamed(suffix: str, kind: str, what: str) -> tuple[str, ...]:
    right = suffix == ".gltf" if kind == "gltf" else suffix != ".gltf"
    return () if right else (f"the file is named {suffix} but is {what}; it was read as one",)


def _unpack_glb(data: bytes, suffix: str) -> Container:
    if len(data) < 20:  # noqa: PLR2004  (12 bytes of header, 8 of the first chunk's)
        raise BrokenError("GLB header", f"is cut off: the file has only {len(data)} bytes")
    _, version, length = struct.unpack_from("<4sII", data)
    if version != 2:  # noqa: PLR2004
        raise BrokenError("GLB header", f"container version {version} is not supported; version 2 is")
    if length > len(data):
        raise BrokenError("GLB header", f"says {length:,} bytes; the file has {len(data):,}")
    chunks = _chunks(data, length)
    if not chunks or chunks[0][0] != _JSON:
        raise BrokenError("GLB chunk 0", "must be the JSON chunk")
    binary = chunks[1][1] if len(chunks) > 1 and chunks[1][0] == _BIN else None
    others = tuple(chunks[1 if binary is None else 2 :])
    notes = list(_misnamed(suffix, "glb", "a GLB file"))
    if length < len(data):
        notes.append(f"{len(data) - length:,} bytes after the end of the GLB were ignored")
    return Container("glb", _checked(parse(chunks[0][1])), binary, others, tuple(notes))


def _chunks(data: bytes, end: int) -> list[tuple[int, bytes]]:
    chunks: list[tuple[int, bytes]] = []
    at = 12
    while at < end:
        place = f"GLB chunk {len(chunks)}"
        if end - at < 8:  # noqa: PLR2004
            raise BrokenError(place, f"its header is cut off at byte {at:,}")
        length, kind = struct.unpack_from("<II", data, at)
        if length > end - at - 8:
            raise BrokenError(place, f"says {length:,} bytes; the file has {end - at - 8:,} left for it")
        chunks.append((kind, data[at + 8 : at + 8 + length]))
        at += 8 + length
    return chunks


def _checked(document: Json) -> Json:
    version = mapping(document, "asset").get("version")
    if not isinstance(version, str):
        raise BrokenError("asset", "is not a glTF document: asset.version is missing")
    if version.split(".")[0] != "2":
        raise BrokenError("asset", f"glTF {version[:20]!a} is not supported; 2.0 is")
    least = mapping(document, "asset").get("minVersion", "2.0")
    if not isinstance(least, str) or not _VERSION.fullmatch(least):
        raise BrokenError("asset", "minVersion must be a version such as 2.0")
    if tuple(map(int, least.split("."))) > (2, 0):
        raise BrokenError("asset", f"needs a reader of glTF {least}; this one reads 2.0")
    return document


def pack(container: Container) -> bytes:
    """Join the parts of a file. UnsupportedError for a document that cannot be written."""
    try:
        text = json.dumps(container.json, allow_nan=False, separators=(",", ":"))
    except RecursionError as error:
        raise UnsupportedError("the document is nested too deeply to be written") from error
    except ValueError as error:
        raise UnsupportedError("the document holds a number too large for a double; it cannot be written") from error
    data = text.encode("ascii")
    if container.kind == "gltf":
        return data + b"\n"
    chunks = [(_JSON, data + b" " * (-len(data) % 4))]
    if container.binary is not None:
        chunks.append((_BIN, container.binary))
    body = b"".join(_chunk(kind, content) for kind, content in [*chunks, *container.chunks])
    if len(body) + 12 > _LARGEST:
        raise UnsupportedError("a GLB file cannot be larger than 4 GiB")
    return struct.pack("<4sII", _MAGIC, 2, len(body) + 12) + body


def _chunk(kind: int, content: bytes) -> bytes:
    padding = b"\0" * (-len(content) % 4)
    return struct.pack("<II", len(content) + len(padding), kind) + content + padding
