"""Document under edit: copy on write, node poses, limits and rests.

The original is copied piece by piece, only where something changes.
"""

from __future__ import annotations

import copy
import mimetypes
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from poise.errors import FileError, UnsupportedError
from poise.io.gltf.buffers import Buffers, data_uri, read_inside
from poise.io.gltf.container import Container
from poise.io.gltf.extras import understood
from poise.io.gltf.json import BrokenError, Json, objects
from poise.maths.arrays import Floats

_FLOAT = 5126
_SHAPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
LARGEST_KEY = float(np.finfo(np.float32).max)


class Draft:
    """Container under edit. `folder` is the base of its relative URIs; None for a new document."""

    def __init__(self, container: Container, folder: Path | None = None) -> None:
        self._original = container
        self._folder = folder
        self.json: Json = dict(container.json)
        self._copied: set[str] = set()
        self._nodes: dict[int, Json] = {}
        self._new: dict[str, tuple[int, bytearray]] = {}  # use -> its bufferView and bytes

    def items(self, key: str) -> list[Any]:
        """Return an editable top-level list. A missing one is created."""
        if key not in self._copied:
            self.json[key] = list(self.json.get(key, []))
            self._copied.add(key)
        return cast("list[Any]", self.json[key])

    def node(self, i: int) -> Json:
        """Return an editable node."""
        if i not in self._nodes:
            self._nodes[i] = self.items("nodes")[i] = copy.deepcopy(self.items("nodes")[i])
        return self._nodes[i]

    def poise_extras(self, i: int) -> Json:
        """Return a node's editable `extras.poise`. Extras that are not an object are refused."""
        node = self.node(i)
        if node.get("extras") is None:
            node["extras"] = {}
        if not isinstance(node["extras"], dict):
            raise UnsupportedError(f"nodes[{i}] has extras that are not an object: poise cannot add its own to them")
        extras = cast("Json", node["extras"])
        if not understood(extras.get("poise"), len(self.json["nodes"])):
            extras["poise"] = {}
        return extras["poise"]

    def add_accessor(self, values: Floats, use: str, *, bounds: bool = False) -> int:
        """Append float32 values (count, components). `bounds` adds min and max.

        Values of one `use` share a bufferView: glTF needs keys and bind matrices in different ones.
        """
        if np.abs(values).max(initial=0.0) > LARGEST_KEY:
            raise UnsupportedError("glTF stores keys as 32-bit floats; a number here is too large for one")
        if use not in self._new:
            self._new[use] = (len(self.items("bufferViews")), bytearray())
            self.items("bufferViews").append({})  # completed by finish()
        view, content = self._new[use]
        data = np.ascontiguousarray(values, dtype="<f4")
        accessor: Json = {
            "bufferView": view,
            "byteOffset": len(content),
            "componentType": _FLOAT,
            "count": len(data),
            "type": _SHAPES[data.shape[1]],
        }
        if bounds:
            accessor |= {"min": data.min(axis=0).tolist(), "max": data.max(axis=0).tolist()}
        content += data.tobytes()
        self.items("accessors").append(accessor)
        return len(self.items("accessors")) - 1

    # --- finishing -------------------------------------------------------------------------------

    def finish(self, path: Path) -> Container:
        """Move the bytes into the container for `path`.

        A GLB keeps its BIN as an unchanged prefix; buffer 0 of a .gltf becomes the BIN. In a .gltf the BIN and new
        bytes become data URIs. Files of relative URIs stay if the document stays in its folder, and are embedded as
        data URIs if it moves.
        """
        kind: Literal["gltf", "glb"] = "gltf" if path.suffix.lower() == ".gltf" else "glb"
        try:
            binary = self._place_first_buffer(kind)
            if self._folder is not None and self._folder.resolve() != path.absolute().parent.resolve():
                self._embed(self._folder)
        except BrokenError as error:  # in data unused while reading
            raise FileError(path, f"cannot take along {error.place}: {error.reason}") from error
        if self._new:
            binary = self._place_new_bytes(kind, binary)
        chunks = self._original.chunks if kind == "glb" else ()
        return Container(kind, self.json, binary, chunks)

    def _place_first_buffer(self, kind: str) -> bytes | None:
        """Move buffer 0 between BIN and URI if the container changes. Return the BIN."""
        binary = self._original.binary
        if kind == self._original.kind:
            return binary
        if kind == "gltf":
            first = self.json.get("buffers")
            if first and binary is not None and first[0].get("uri") is None:
                buffer = self.items("buffers")[0]
                self.items("buffers")[0] = buffer | {"uri": data_uri(binary[: buffer["byteLength"]])}
            return None
        if not self.json.get("buffers") or self.json["buffers"][0].get("uri") is None or self._folder is None:
            return None
        binary = self._read_buffer(0, self._folder)
        buffer = dict(self.items("buffers")[0])
        del buffer["uri"]
        self.items("buffers")[0] = buffer
        return binary

    def _read_buffer(self, i: int, folder: Path) -> bytes:
        return Buffers(objects(self._original.json, "buffers"), self._original, folder)[i]

    def _embed(self, folder: Path) -> None:
        for i, buffer in enumerate(self.json.get("buffers", [])):
            if _is_relative(buffer.get("uri")):
                self.items("buffers")[i] = buffer | {"uri": data_uri(self._read_buffer(i, folder))}
        for i, image in enumerate(objects(self.json, "images")):
            uri: Any = image.get("uri")
            if not _is_relative(uri):
                continue
            try:
                content = read_inside(folder, uri, f"images[{i}]")
            except BrokenError:
                continue  # already missing in the original
            media_type = image.get("mimeType") or mimetypes.guess_type(uri)[0] or "image/png"
            self.items("images")[i] = image | {"uri": data_uri(content, media_type)}

    def _place_new_bytes(self, kind: str, binary: bytes | None) -> bytes | None:
        """Append the new bytes to the BIN or a new buffer. They go to the BIN where that is the first buffer."""
        buffers = self.items("buffers")
        new = b"".join(content for _, content in self._new.values())
        buffer, offset = len(buffers), 0
        is_first = binary is not None and buffers and buffers[0].get("uri") is None
        if kind == "glb" and (is_first or not buffers):
            old = binary or b""
            old += b"\0" * (-len(old) % 4)
            buffer, offset = 0, len(old)
            binary = old + new
            buffers[:1] = [(buffers[0] if buffers else {}) | {"byteLength": len(binary)}]
        else:
            buffers.append({"byteLength": len(new), "uri": data_uri(new)})
        for view, content in self._new.values():
            self.items("bufferViews")[view] = {"buffer": buffer, "byteOffset": offset, "byteLength": len(content)}
            offset += len(content)
        return binary


def _is_relative(uri: Any) -> bool:
    return isinstance(uri, str) and uri[:5].lower() != "data:"
