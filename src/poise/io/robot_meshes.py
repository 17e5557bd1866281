"""Mesh files of robots: where they are, and their corners.

They lie beside a URDF or MJCF file or in named folders, nowhere else. trimesh reads them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from poise.errors import FileError
from poise.io.files import read_bytes
from poise.io.mesh_text import replace_non_ascii, shorten_error
from poise.maths.arrays import Floats

MESH_SUFFIXES = (".stl", ".obj", ".dae")
# folders of descriptions in a package, beside its meshes
_DESCRIPTION_FOLDERS = ("urdf", "robots", "xacro", "mjcf", "xml", "mujoco")
MAX_COORDINATE = 1e30  # [file units] largest coordinate; products of larger ones would overflow
# of meshes with more corners the outermost ones are kept, in cells of so many by so many
_MANY_CORNERS, _GRID_CELLS = 4_000, 32
_UP_AXIS_PATTERN = re.compile(rb"<up_axis>\s*(\w+)\s*</up_axis>")
_UNIT_PATTERN = re.compile(rb"<unit\b[^>]*\bmeter\s*=\s*[\"']([^\"']*)[\"']")
MAX_MESH_BYTES = 100_000_000  # [bytes] of a mesh file
MAX_PATH_LENGTH = 1024  # characters of a mesh path


class MissingMeshError(FileError):
    """A mesh file is missing."""


def find_mesh_file(urdf_path: Path, name: str, package_folders: Sequence[Path] = ()) -> Path:
    """Find the mesh file of a URDF's `name`.

    It lies inside the URDF's folder, or the package's for a URDF in `urdf`. For package://NAME/A/B the longest existing
    suffix counts, because NAME need not be a folder's name. The folders `package_folders` are searched first; each is a
    package or contains some. Raise MissingMeshError for a missing file, and FileError for a path out of the folder,
    which is not opened.
    """
    folder = urdf_path.absolute().parent.resolve()
    root = find_description_root(folder)
    scheme, _, relative = name.rpartition("://")
    relative = unquote(relative)
    if "\0" in relative or len(relative) > MAX_PATH_LENGTH or scheme not in ("", "package", "model", "file"):
        raise FileError(name[:200], "is not a file beside the URDF; it was not opened")
    is_package = scheme in ("package", "model")
    roots = [*(package.resolve() for package in package_folders), root] if is_package else [root]
    for enclosing_folder, candidate in _iterate_candidates(roots, folder, relative, is_package=is_package):
        try:
            if is_package and not candidate.is_file():  # sooner than resolving each candidate
                continue
            mesh_path = candidate.resolve()
            is_file = mesh_path.is_file()
        except (OSError, RuntimeError):  # a loop of symbolic links, a name too long
            continue
        if enclosing_folder not in mesh_path.parents:
            if not is_package:
                raise FileError(name[:200], f"leads out of {root}; it was not opened")
        elif is_file:
            return mesh_path
    folders_text = " and ".join(map(str, roots))
    raise MissingMeshError(name[:200], f"is not there; it was looked for in {folders_text}")


def find_description_root(folder: Path) -> Path:
    """Find the folder around meshes. It is that of a description, or of its package."""
    return folder.parent if folder.name in _DESCRIPTION_FOLDERS else folder


def _iterate_candidates(
    roots: Sequence[Path], folder: Path, relative: str, *, is_package: bool
) -> Iterator[tuple[Path, Path]]:
    """Iterate possible paths of a file, each with its enclosing folder. The file must not leave that folder."""
    if not is_package:
        yield roots[0], folder / relative
        return
    path_parts = Path(relative).parts
    for root in roots:
        for i in range(len(path_parts)):
            yield root, root.joinpath(*path_parts[i:])


def load_mesh(path: Path) -> Any:
    """Load a mesh file as a scene of trimesh. Raise FileError for an unreadable file."""
    suffix = path.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise FileError(path, f"a mesh is a {', '.join(MESH_SUFFIXES)} file")
    if path.stat().st_size > MAX_MESH_BYTES:
        raise FileError(path, f"has {path.stat().st_size / 1e6:,.0f} MB; a mesh has at most {MAX_MESH_BYTES / 1e6:g}")
    data = replace_non_ascii(read_bytes(path), suffix)
    if suffix == ".dae" and b"<!" in data.replace(b"<!--", b"").replace(b"<![CDATA[", b""):
        raise FileError(path, "document types and entities are not read")
    try:
        import trimesh  # noqa: PLC0415  (an extra, imported when a mesh is read)
    except ImportError as error:
        raise FileError(path, "meshes of robots need trimesh: pip install 'poise[view]'") from error
    options: dict[str, Any] = {"skip_materials": True} if suffix == ".obj" else {}
    try:
        with np.errstate(all="ignore"):  # whoever uses the numbers checks them
            return trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:], process=False, **options)
    except Exception as error:  # trimesh raises exceptions of any type
        raise FileError(path, f"cannot be read: {shorten_error(error)}") from error


def read_corners(path: Path) -> Floats:
    """Read the outer corners (k, 3) of a mesh file [m]. Raise FileError for an unreadable file."""
    stat = path.stat()
    return _read_corners(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=256)  # files of a robot, which are read for soles and limbs, and for each target anew
def _read_corners(path: Path, _time: int, _size: int) -> Floats:
    unit = _read_unit(path) if path.suffix.lower() == ".dae" else 1.0
    scene = load_mesh(path)
    try:
        with np.errstate(all="ignore"):
            parts = [_place_corners(scene, node) for node in scene.graph.nodes_geometry]
    except Exception as error:  # what trimesh made of a broken file
        raise FileError(path, f"cannot be read: {shorten_error(error)}") from error
    corners = unit * np.concatenate([np.zeros((0, 3)), *parts])
    if not len(corners):
        raise FileError(path, "holds no corners")
    if not (np.abs(corners) <= MAX_COORDINATE).all():
        raise FileError(path, f"has corners that are not finite or beyond {MAX_COORDINATE:g}")
    outer = select_outer(corners)
    outer.flags.writeable = False
    return outer


def _read_unit(path: Path) -> float:
    """Read the unit [m] of a COLLADA file. FileError for one whose z axis is not up: programs turn it or do not."""
    data = read_bytes(path)
    up, unit = _UP_AXIS_PATTERN.search(data), _UNIT_PATTERN.search(data)
    if up is not None and up[1] != b"Z_UP":
        raise FileError(path, f"has the up axis {up[1].decode()}, which programs read in two ways: save it with Z_UP")
    try:
        return float(unit[1]) if unit is not None else 1.0
    except ValueError as error:
        raise FileError(path, f"has no number as its unit: {unit and unit[1][:40]!r}") from error


def select_outer(corners: Floats) -> Floats:
    """Select the outermost corners (k, 3). Few corners stay as they are.

    They are the first and last ones of each cell of grids square to the axes.
    """
    if len(corners) <= _MANY_CORNERS:
        return corners
    low, high = corners.min(axis=0), corners.max(axis=0)
    cells = np.floor((corners - low) / np.where(high > low, high - low, 1.0) * (_GRID_CELLS - 1e-9)).astype(np.int64)
    kept = np.zeros(len(corners), dtype=np.bool_)
    for axis in range(3):
        others = [other for other in range(3) if other != axis]
        cell = cells[:, others[0]] * _GRID_CELLS + cells[:, others[1]]
        order = np.lexsort((corners[:, axis], cell))
        ends = np.flatnonzero(np.diff(cell[order]))
        kept[order[np.concatenate([[0], ends + 1])]] = True
        kept[order[np.concatenate([ends, [len(order) - 1]])]] = True
    return corners[kept]


def _place_corners(scene: Any, node: Any) -> Floats:
    """Return the placed corners (k, 3) of a scene node."""
    transform, name = scene.graph[node]
    return np.array(scene.geometry[name].vertices, dtype=np.float64) @ transform[:3, :3].T + transform[:3, 3]
