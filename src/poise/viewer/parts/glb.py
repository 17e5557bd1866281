"""GLB files for the page: plain surfaces and repacked glTF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from poise.io.gltf.container import Container, pack
from poise.io.gltf.json import Json
from poise.maths.arrays import Floats, Ints

Colour: TypeAlias = tuple[float, float, float, float]
GREY: Colour = (0.72, 0.72, 0.74, 1.0)
_ARRAYS, _INDICES = 34962, 34963
_FLOAT, _INT = 5126, 5125


class Primitive(NamedTuple):
    """Triangles of one colour.

    Without normals every triangle is shaded flat.

    points   (k, 3); faces (f, 3) rows of it, counterclockwise from outside; normals (k, 3) or None
    colour   red, green, blue, opacity 0..1, in sRGB
    """

    points: Floats
    faces: Ints
    normals: Floats | None = None
    colour: Colour = GREY


class Part(NamedTuple):
    """A GLB node: its placement and its surfaces."""

    name: str
    surfaces: Sequence[Primitive]
    position: Floats
    rotation: Floats


def glb_of_parts(parts: Iterable[Part]) -> bytes:
    """Write the nodes as one GLB, in their order."""
    writer = _Buffer()
    for part in parts:
        writer.add_part(part)
    return writer.glb()


class _Buffer:
    """Lists and bytes of a glTF document under construction."""

    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.meshes: list[Json] = []
        self.materials: list[Json] = []
        self.accessors: list[Json] = []
        self.views: list[Json] = []
        self.binary = bytearray()
        self.known: dict[Colour, int] = {}

    def add_part(self, part: Part) -> None:
        w, x, y, z = part.rotation.tolist()
        node: Json = {"name": part.name, "translation": part.position.tolist(), "rotation": [x, y, z, w]}
        if part.surfaces:
            node["mesh"] = len(self.meshes)
            self.meshes.append({"primitives": [self._primitive(surface) for surface in part.surfaces]})
        self.nodes.append(node)

    def _primitive(self, surface: Primitive) -> Json:
        attributes = {"POSITION": self._array(surface.points, bounds=True)}
        if surface.normals is not None:
            attributes["NORMAL"] = self._array(surface.normals)
        faces = np.ascontiguousarray(surface.faces, dtype="<u4")
        indices = self._accessor(faces.tobytes(), _INDICES, _INT, faces.size, "SCALAR")
        return {"attributes": attributes, "indices": indices, "material": self._material(surface.colour)}

    def _array(self, values: Floats, *, bounds: bool = False) -> int:
        data = np.ascontiguousarray(values, dtype="<f4")
        accessor = self._accessor(data.tobytes(), _ARRAYS, _FLOAT, len(data), "VEC3")
        if bounds:
            self.accessors[accessor] |= {"min": data.min(axis=0).tolist(), "max": data.max(axis=0).tolist()}
        return accessor

    def _accessor(self, content: bytes, target: int, kind: int, count: int, shape: str) -> int:
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(content), "target": target}
        self.views.append(view)
        self.binary += content
        self.accessors.append({"bufferView": len(self.views) - 1, "componentType": kind, "count": count, "type": shape})
        return len(self.accessors) - 1

    def _material(self, colour: Colour) -> int:
        if colour not in self.known:
            self.known[colour] = len(self.materials)
            red, green, blue = (float(linear(value)) for value in colour[:3])
            look = {"baseColorFactor": [red, green, blue, colour[3]], "metallicFactor": 0.0, "roughnessFactor": 0.8}
            material: Json = {"pbrMetallicRoughness": look, "doubleSided": True}
            self.materials.append(material if colour[3] >= 1.0 else material | {"alphaMode": "BLEND"})
        return self.known[colour]

    def glb(self) -> bytes:
        document: Json = {"asset": {"version": "2.0", "generator": "poise"}, "scene": 0}
        document["scenes"] = [{"nodes": list(range(len(self.nodes)))}] if self.nodes else [{}]
        lists = {
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": self.materials,
            "accessors": self.accessors,
            "bufferViews": self.views,
        }
        document |= {key: values for key, values in lists.items() if values}
        if self.binary:
            document["buffers"] = [{"byteLength": len(self.binary)}]
        return pack(Container("glb", document, bytes(self.binary) or None))


def linear(value: float) -> float:
    """Convert a colour component from sRGB to linear light."""
    low = 0.04045
    return value / 12.92 if value <= low else ((value + 0.055) / 1.055) ** 2.4
