"""Repack a glTF document as one GLB for the page. Buffers and images are embedded, animations removed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from poise.io.gltf.buffers import Buffers, read_inside
from poise.io.gltf.container import Container, GltfDocument, pack
from poise.io.gltf.json import BrokenError, Json, mapping, objects, strings

LARGEST_FILE = 100_000_000  # [bytes] of meshes and images
MOST_TRIANGLES = 5_000_000
_PACKED = {
    "KHR_draco_mesh_compression": "Draco", "EXT_meshopt_compression": "meshopt", "KHR_meshopt_compression": "meshopt",
}  # fmt: skip
_BASIS = "KHR_texture_basisu"
_LEFT_OUT = ("KHR_lights_punctual", _BASIS, *_PACKED)
_KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
_WHITE = (  # one white pixel in place of pictures without browser support
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
)


class Asset(NamedTuple):
    """A GLB with notes; None where it cannot be shown. `skin` says whether bones deform a mesh in it."""

    glb: bytes | None
    notes: tuple[str, ...]
    skin: bool = False


def glb_of(document: GltfDocument, used: set[int]) -> Asset:
    """Build one GLB of a document's meshes and nodes. `used` are the nodes that are joints of the skeleton.

    Node numbers stay. Nodes added for the up axis and the scale have no effect here: the page applies both to
    everything.
    """
    json = document.container.json
    if not any("mesh" in node for node in objects(json, "nodes")):
        return Asset(None, ())
    refused = _refused(json)
    if refused:
        return Asset(None, (f"{refused}; bones are shown instead",))
    try:
        writer = _Repacked(document, used)
        return Asset(pack(Container("glb", writer.json, bytes(writer.binary))), tuple(writer.notes), writer.skin)
    except BrokenError as error:
        return Asset(None, (f"the meshes cannot be shown: {error.place}: {error.reason}",))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # in parts that loading skips
        return Asset(None, ("the meshes cannot be shown: their data in the file is malformed",))


def _refused(json: Json) -> str:
    for name in strings(json, "extensionsRequired"):
        if name in _PACKED:
            return f"the meshes are compressed with {_PACKED[name]}, unsupported by the page"
    size = sum(int(buffer.get("byteLength", 0)) for buffer in objects(json, "buffers"))
    if size > LARGEST_FILE:
        return f"the file holds {size / 1e6:,.0f} MB; the page shows at most {LARGEST_FILE / 1e6:,.0f} MB"
    count = sum(_triangles(json, primitive) for primitive in _primitives(json))
    if count > MOST_TRIANGLES:
        return f"the meshes have {count:,} triangles; the page shows at most {MOST_TRIANGLES:,}"
    return ""


def _primitives(json: Json) -> Iterator[Json]:
    for mesh in objects(json, "meshes"):
        yield from objects(mesh, "primitives")


def _triangles(json: Json, primitive: Json) -> int:
    accessor = primitive.get("indices", primitive.get("attributes", {}).get("POSITION"))
    accessors = objects(json, "accessors")
    known = type(accessor) is int and 0 <= accessor < len(accessors)
    return int(accessors[accessor].get("count", 0)) // 3 if known else 0


class _Repacked:
    """A copy of the glTF JSON with one common buffer."""

    def __init__(self, document: GltfDocument, used: set[int]) -> None:
        container = document.container
        self.folder = document.path.parent
        self.notes: list[str] = []
        self.binary = bytearray()
        self.json: Json = {key: value for key, value in container.json.items() if key not in ("animations", "buffers")}
        for key in ("accessors", "bufferViews", "images", "meshes", "nodes", "textures"):
            if key in container.json:
                self.json[key] = copy.deepcopy(objects(container.json, key))
        self.skin = any("mesh" in node and "skin" in node for node in objects(self.json, "nodes"))
        self._leave_out_extensions()
        self._leave_out_keys(container.json)
        self._gather(Buffers(objects(container.json, "buffers"), container, self.folder))
        for i, image in enumerate(objects(self.json, "images")):
            self._embed(i, image)
        self._place_nodes(used)
        self.json["buffers"] = [{"byteLength": len(self.binary)}]

    def _leave_out_extensions(self) -> None:
        """Remove extensions without decoder in the page, and lights. Lights of the file would light the whole scene."""
        for key in ("extensionsUsed", "extensionsRequired"):
            kept = [name for name in strings(self.json, key) if name not in _LEFT_OUT]
            self.json.pop(key, None)
            if kept:
                self.json[key] = kept
        views, nodes = objects(self.json, "bufferViews"), objects(self.json, "nodes")
        for part in (*_primitives(self.json), *views, *nodes):
            for name in _LEFT_OUT:
                mapping(part, "extensions").pop(name, None)
        self._replace_basis_textures()

    def _replace_basis_textures(self) -> None:
        """Replace KTX2-only textures by white."""
        for i, texture in enumerate(objects(self.json, "textures")):
            texture.get("extensions", {}).pop(_BASIS, None)
            if not ("source" in texture or texture.get("extensions")):
                self.notes.append(f"textures[{i}] is KTX2, unsupported by the page; it is shown white")
                texture["source"] = len(self.json.setdefault("images", []))
                self.json["images"].append({"uri": _WHITE})

    def _leave_out_keys(self, original: Json) -> None:
        """Remove the bytes of animations. Their accessors stay as numbers."""
        accessors = objects(self.json, "accessors")
        keys: set[Any] = set()
        for animation in objects(original, "animations"):
            keys |= {sampler.get(end) for sampler in objects(animation, "samplers") for end in ("input", "output")}
        for i in keys - set(_accessors_shown(self.json)):
            if type(i) is int and 0 <= i < len(accessors):
                accessors[i] = {"componentType": 5126, "count": 1, "type": "SCALAR"}

    def _gather(self, buffers: Buffers) -> None:
        """Copy the bytes of all used views into one buffer."""
        used = {accessor.get("bufferView") for accessor in objects(self.json, "accessors")}
        used |= {image.get("bufferView") for image in objects(self.json, "images")}
        for accessor in objects(self.json, "accessors"):
            sparse = accessor.get("sparse", {})
            used |= {sparse.get(part, {}).get("bufferView") for part in ("indices", "values")}
        for i, view in enumerate(objects(self.json, "bufferViews")):
            start = int(view.get("byteOffset", 0))
            length = int(view["byteLength"]) if i in used else 0
            content = buffers[int(view["buffer"])][start : start + length] if length else b"\0\0\0\0"
            view |= {"buffer": 0, "byteOffset": self.add(content), "byteLength": len(content)}

    def add(self, content: bytes) -> int:
        """Append bytes and return their offset."""
        self.binary += b"\0" * (-len(self.binary) % 4)
        start = len(self.binary)
        self.binary += content
        return start

    def _embed(self, i: int, image: Json) -> None:
        """Embed the picture of another file. An unreadable picture becomes white."""
        uri: Any = image.get("uri")
        if "bufferView" in image or (isinstance(uri, str) and uri[:5].lower() == "data:"):
            return
        image.clear()
        try:
            content = _picture(self.folder, uri, f"images[{i}]")
        except BrokenError as error:
            self.notes.append(f"{error.place} is shown white: {error.reason}")
            image["uri"] = _WHITE
            return
        views: list[Json] = self.json.setdefault("bufferViews", [])
        views.append({"buffer": 0, "byteOffset": self.add(content), "byteLength": len(content)})
        image |= {"bufferView": len(views) - 1, "mimeType": _kind(content)}

    def _place_nodes(self, used: set[int]) -> None:
        """Build one scene with all nodes, since all are joints. Nodes added above the roots get no transform."""
        nodes = objects(self.json, "nodes")
        for i, node in enumerate(nodes):
            if i not in used:
                node.pop("rotation", None)
                node.pop("scale", None)
        children = {child for node in nodes for child in node.get("children", ())}
        self.json["scenes"] = [{"nodes": [i for i in range(len(nodes)) if i not in children]}]
        self.json["scene"] = 0


def _accessors_shown(json: Json) -> Iterator[int]:
    """Iterate the accessors of meshes, skins and instances."""
    for primitive in _primitives(json):
        yield from primitive.get("attributes", {}).values()
        yield primitive.get("indices", -1)
        for target in primitive.get("targets", ()):
            yield from target.values()
    for skin in objects(json, "skins"):
        yield skin.get("inverseBindMatrices", -1)
    for node in objects(json, "nodes"):
        for extension in node.get("extensions", {}).values():
            yield from extension.get("attributes", {}).values() if isinstance(extension, dict) else ()


def _picture(folder: Path, uri: Any, place: str) -> bytes:
    """Read a picture beside the document. Raise BrokenError for a path out of its folder and for other files."""
    if not isinstance(uri, str):
        raise BrokenError(place, "its uri must be a string")
    content = read_inside(folder, uri, place, LARGEST_FILE)
    if not _kind(content):
        raise BrokenError(place, f"{uri[:200]!a} is not a PNG, JPEG or WebP picture")
    return content


def _kind(content: bytes) -> str:
    return next((kind for magic, kind in _KINDS.items() if content.startswith(magic)), "")
