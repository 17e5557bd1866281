"""Mesh files of robots: where they are, and their corners.

They lie beside a URDF file or in named folders, nowhere else. trimesh reads them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from poise.errors import FileError
from poise.io.files import read_bytes
from poise.io.mesh_text import in_ascii, shorten_error
from poise.maths.arrays import Floats

MESH_SUFFIXES = (".stl", ".obj", ".dae")
_DESCRIPTION_FOLDERS = ("urdf", "robots", "xacro")  # folders of descriptions in a ROS package, beside its meshes
_PACKAGE_HINT = "; drop the folder that has it on the page, or start with --package-path FOLDER"
MAX_COORDINATE = 1e30  # [file units] largest coordinate; products of larger ones would overflow
MAX_MESH_BYTES = 100_000_000  # [bytes] of a mesh file
_MAX_PATH_LENGTH = 1024  # characters of a mesh path


def find_mesh_file(urdf_path: Path, name: str, package_folders: Sequence[Path] = ()) -> Path:
    """Find the mesh file of a URDF's `name`.

    It lies inside the URDF's folder, or the package's for a URDF in `urdf`. For package://NAME/A/B the longest existing
    suffix counts, because NAME need not be a folder's name. The folders `package_folders` are searched first; each is a
    package or contains some. Raise FileError for a missing file, and for a path out of the folder, which is not opened.
    """
    folder = urdf_path.absolute().parent.resolve()
    root = folder.parent if folder.name in _DESCRIPTION_FOLDERS else folder
    scheme, _, relative = name.rpartition("://")
    relative = unquote(relative)
    if "\0" in relative or len(relative) > _MAX_PATH_LENGTH or scheme not in ("", "package", "model", "file"):
        raise FileError(name[:200], "is not a file beside the URDF; it was not opened")
    is_package = scheme in ("package", "model")
    roots = [*(package.resolve() for package in package_folders), root] if is_package else [root]
    for enclosing_folder, candidate in _iterate_candidates(roots, folder, relative, is_package=is_package):
        try:
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
    raise FileError(
        name[:200], f"is not there; it was looked for in {folders_text}{_PACKAGE_HINT if is_package else ''}"
    )


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
    data = in_ascii(read_bytes(path), suffix)
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
    """Read the corners (k, 3) of a mesh file. Raise FileError for an unreadable file."""
    scene = load_mesh(path)
    try:
        with np.errstate(all="ignore"):
            parts = [_place_corners(scene, node) for node in scene.graph.nodes_geometry]
    except Exception as error:  # what trimesh made of a broken file
        raise FileError(path, f"cannot be read: {shorten_error(error)}") from error
    corners = np.unique(np.concatenate([np.zeros((0, 3)), *parts]), axis=0)
    if not len(corners):
        raise FileError(path, "holds no corners")
    if not (np.abs(corners) <= MAX_COORDINATE).all():
        raise FileError(path, f"has corners that are not finite or beyond {MAX_COORDINATE:g}")
    return corners


def _place_corners(scene: Any, node: Any) -> Floats:
    """Return the placed corners (k, 3) of a scene node."""
    transform, name = scene.graph[node]
    return np.array(scene.geometry[name].vertices, dtype=np.float64) @ transform[:3, :3].T + transform[:3, 3]
