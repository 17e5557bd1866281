"""Find and read mesh files of a robot with trimesh.

They lie beside its URDF file or in the named folders, nowhere else.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from poise.errors import FileError
from poise.ground.terrain.files.needs import in_ascii, said
from poise.io.files import read_bytes
from poise.viewer.parts.glb import GREY, Colour, Primitive
from poise.viewer.parts.gltf import LARGEST_FILE, MOST_TRIANGLES

SUFFIXES = (".stl", ".obj", ".dae")
_FOLDERS = ("urdf", "robots", "xacro")  # folders of descriptions in a ROS package, beside its meshes
_OTHER = "; drop the folder that has it on the page, or start with --package-path FOLDER"
_FARTHEST = 1e30  # [file units] largest coordinate; products of larger ones would overflow
_LONGEST = 1024  # characters of a mesh path


def found(urdf: Path, name: str, packages: Sequence[Path] = ()) -> Path:
    """Find the mesh file of a URDF's `name`. It lies inside the URDF's folder, or the package's for a URDF in `urdf`.

    For package://NAME/A/B the longest existing suffix counts, because NAME need not be a folder's name. The folders
    `packages` are searched first; each is a package or contains some. Raise FileError for a missing file, and for a
    path out of the folder, which is not opened.
    """
    folder = urdf.absolute().parent.resolve()
    root = folder.parent if folder.name in _FOLDERS else folder
    scheme, _, rest = name.rpartition("://")
    rest = unquote(rest)
    if "\0" in rest or len(rest) > _LONGEST or scheme not in ("", "package", "model", "file"):
        raise FileError(name[:200], "is not a file beside the URDF; it was not opened")
    packed = scheme in ("package", "model")
    roots = [*(package.resolve() for package in packages), root] if packed else [root]
    for within, candidate in _candidates(roots, folder, rest, packed=packed):
        try:
            target = candidate.resolve()
            there = target.is_file()
        except (OSError, RuntimeError):  # a loop of symbolic links, a name too long
            continue
        if within not in target.parents:
            if not packed:
                raise FileError(name[:200], f"leads out of {root}; it was not opened")
        elif there:
            return target
    looked = " and ".join(map(str, roots))
    raise FileError(name[:200], f"is not there; it was looked for in {looked}{_OTHER if packed else ''}")


def _candidates(roots: Sequence[Path], folder: Path, rest: str, *, packed: bool) -> Iterator[tuple[Path, Path]]:
    """Iterate possible paths of a file, each with its enclosing folder. The file must not leave that folder."""
    if not packed:
        yield roots[0], folder / rest
        return
    parts = Path(rest).parts
    for root in roots:
        for i in range(len(parts)):
            yield root, root.joinpath(*parts[i:])


def read_mesh(path: Path) -> list[Primitive]:
    """Read the surfaces of a mesh file in its own frame. Raise FileError for an unreadable file."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(path, f"a mesh is a {', '.join(SUFFIXES)} file")
    if path.stat().st_size > LARGEST_FILE:
        raise FileError(path, f"has {path.stat().st_size / 1e6:,.0f} MB; the page shows at most {LARGEST_FILE / 1e6:g}")
    data = in_ascii(read_bytes(path), suffix)
    if suffix == ".dae" and b"<!" in data.replace(b"<!--", b"").replace(b"<![CDATA[", b""):
        raise FileError(path, "document types and entities are not read")
    try:
        import trimesh  # noqa: PLC0415  (an extra, imported when a mesh is read)
    except ImportError as error:
        raise FileError(path, "meshes of robots need trimesh: pip install 'poise[view]'") from error
    options: dict[str, Any] = {"skip_materials": True} if suffix == ".obj" else {}
    try:
        with np.errstate(all="ignore"):  # numbers are checked afterwards
            scene = trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:], process=False, **options)
            parts = [_placed(scene, node, suffix) for node in scene.graph.nodes_geometry]
    except Exception as error:  # trimesh raises exceptions of any type
        raise FileError(path, f"cannot be read: {said(error)}") from error
    return _checked(path, [part for part in parts if part is not None and len(part.faces)])


def _checked(path: Path, surfaces: list[Primitive]) -> list[Primitive]:
    count = sum(len(surface.faces) for surface in surfaces)
    if not count:
        raise FileError(path, "holds no triangles")
    if count > MOST_TRIANGLES:
        raise FileError(path, f"has {count:,} triangles; the page shows at most {MOST_TRIANGLES:,}")
    if not all((np.abs(surface.points) <= _FARTHEST).all() for surface in surfaces):
        raise FileError(path, f"has corners that are not finite or beyond {_FARTHEST:g}")
    return surfaces


def _placed(scene: Any, node: Any, suffix: str) -> Primitive | None:
    """Build the surface of a scene node, transformed. None for points and lines."""
    transform, name = scene.graph[node]
    part = scene.geometry[name]
    if not hasattr(part, "faces"):
        return None
    normals = None if suffix == ".stl" else np.array(part.vertex_normals, dtype=np.float64)
    surface = Primitive(np.array(part.vertices, dtype=np.float64), np.array(part.faces), normals, _colour(part))
    return moved(surface, np.asarray(transform, dtype=np.float64))


def moved(surface: Primitive, transform: Any) -> Primitive:
    """Transform a surface by an affine map (4, 4). A mirrored surface is turned inside out."""
    linear = transform[:3, :3]
    normals, faces = surface.normals, surface.faces
    if np.linalg.det(linear) < 0.0:
        faces = faces[:, ::-1]
    if normals is not None:
        with np.errstate(all="ignore"):
            normals = normals @ np.linalg.pinv(linear)
            normals = np.nan_to_num(normals / np.linalg.norm(normals, axis=1, keepdims=True))
    return surface._replace(points=surface.points @ linear.T + transform[:3, 3], faces=faces, normals=normals)


def _colour(part: Any) -> Colour:
    """Read the main colour of a mesh's material, or grey."""
    look = getattr(part, "visual", None)
    if not getattr(look, "defined", False):
        return GREY
    colour = getattr(getattr(look, "material", look), "main_color", None)
    values = np.asarray(colour, dtype=np.float64) / 255.0 if colour is not None else np.empty(0)
    if values.shape != (4,) or not ((values >= 0.0) & (values <= 1.0)).all():
        return GREY
    red, green, blue, opacity = values.tolist()
    return red, green, blue, opacity
