"""Triangles of GLB, glTF, OBJ and STL files. Nothing outside the file's folder is opened."""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import FileError
from poise.ground.terrain.files.map_files import FARTHEST
from poise.ground.terrain.files.needs import require_module
from poise.ground.terrain.mesh import THIN, Mesh
from poise.io.files import as_path, read_bytes
from poise.io.gltf.container import read_inside, unpack_document
from poise.io.gltf.json_checks import BrokenError, read_strings
from poise.io.mesh_text import replace_non_ascii, shorten_error
from poise.maths.arrays import Bools, Floats

UPS = {".glb": "y", ".gltf": "y", ".obj": "y", ".stl": "z"}
_LOOKS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_punctual")  # extensions that move no vertex


def read_mesh(source: str | PathLike[str], up: str) -> Mesh:
    """Read a file with up axis `up` as a mesh surface."""
    path = Path(source)
    triangles = _triangles(path)
    if not len(triangles):
        raise FileError(path, "holds no triangles")
    wrong = ~(np.abs(triangles) <= FARTHEST).all(axis=(1, 2))
    if wrong.any():
        reason = f"{wrong.sum()} of {len(triangles)} triangles have corners that are not finite or beyond {FARTHEST:g}"
        raise FileError(path, reason)
    if up == "y":
        triangles = np.stack([triangles[..., 0], -triangles[..., 2], triangles[..., 1]], axis=-1)
    solid = triangles[_has_area(triangles)]
    if not len(solid):
        raise FileError(path, "holds no triangle with an area")
    mesh = Mesh(solid)
    if not mesh.has_ground:
        raise FileError(path, f"holds walls only, no ground; its up axis was taken to be {up}")
    return mesh


def suffix_of(source: str | PathLike[str]) -> str:
    """The suffix of a mesh file; FileError for others."""
    suffix = as_path(source).suffix.lower()
    if suffix not in UPS:
        raise FileError(source, f"a terrain mesh is a {', '.join(UPS)} file, not {suffix or 'one without a suffix'}")
    return suffix


def _triangles(path: Path) -> Floats:
    """Return the triangles (t, 3, 3) of all nodes. They are in the file's frame."""
    suffix = suffix_of(path)
    data = replace_non_ascii(read_bytes(path), suffix)
    trimesh = require_module("trimesh", "trimesh", "terrain meshes")
    options = {} if suffix == ".stl" else {"skip_materials": True}
    try:
        if suffix in (".glb", ".gltf"):
            _check_gltf(data, suffix)
        with np.errstate(all="ignore"):  # numbers are looked at afterwards
            scene = trimesh.load_scene(
                io.BytesIO(data), file_type=suffix[1:], resolver=_Folder(path), process=False, **options
            )
            parts = [_place_triangles(scene, node) for node in scene.graph.nodes_geometry]
    except BrokenError as error:
        raise FileError(path, error.reason, place=error.place) from error
    except Exception as error:  # trimesh raises what comes
        raise FileError(path, f"cannot be read: {shorten_error(error)}") from error
    return np.concatenate([part for part in parts if part is not None] or [np.empty((0, 3, 3))])


def _check_gltf(data: bytes, suffix: str) -> None:
    """Refuse glTF files with unknown required extensions. trimesh is less clear, or reads on without them."""
    for name in read_strings(unpack_document(data, suffix).json, "extensionsRequired"):
        if not name.startswith(_LOOKS):
            raise BrokenError("extensionsRequired", f"{name[:80]!a} is not read; save the mesh without it")


def _place_triangles(scene: Any, node: Any) -> Floats | None:
    """Return the placed triangles of a scene node. None for points and lines."""
    transform, name = scene.graph[node]
    part = scene.geometry[name]
    if not hasattr(part, "faces"):
        return None
    vertices, faces = np.asarray(part.vertices, dtype=np.float64), np.asarray(part.faces)
    if faces.ndim != 2 or faces.shape[1] != 3:  # noqa: PLR2004  (corners)
        message = "its faces are no triangles"
        raise ValueError(message)
    triangles = vertices[faces] @ transform[:3, :3].T + transform[:3, 3]
    mirrored = np.linalg.det(transform[:3, :3]) < 0.0
    return triangles[:, ::-1] if mirrored else triangles


def _has_area(triangles: Floats) -> Bools:
    a, b, c = triangles.transpose(1, 0, 2)
    area = np.cross(b - a, c - a)
    longest = np.stack([(side * side).sum(axis=1) for side in (b - a, c - b, a - c)]).max(axis=0)
    return np.sqrt((area * area).sum(axis=1)) > THIN * longest


class _Folder:
    """Resolve the files beside a glTF file for trimesh. Files outside its folder are refused."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent

    def get(self, name: str) -> bytes:
        """Read a file of the document."""
        return read_inside(self._folder, name, "buffers")

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)
