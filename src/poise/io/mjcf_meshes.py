"""Mesh files of MJCF models: where they are, and their corners."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from poise.errors import FileError
from poise.io.robot_meshes import MAX_PATH_LENGTH, MissingMeshError, find_description_root, read_corners, select_outer
from poise.io.text_parsing import Element, parse_number
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.runtime.immutable_values import freeze

_TRUE = "true"


class MeshFile(NamedTuple):
    """The file of a <mesh>, not opened yet.

    element  the <mesh>
    name     as written, below the folder for meshes
    folders  absolute folders from which the name leads, in MuJoCo's order
    permitted  folders in one of which it must lie
    """

    element: Element
    name: str
    folders: tuple[Path, ...]
    permitted: tuple[Path, ...]

    def read_corners(self) -> Floats:
        """Read its corners (k, 3) as written. FileError for a missing or unreadable file."""
        if not self.name:
            return self._read_vertices()
        if len(self.name) > MAX_PATH_LENGTH or "\0" in self.name:
            raise FileError(self.name[:200], "is not a path of a mesh; it was not opened")
        is_outside = False
        for folder in self.folders:
            try:
                path = (folder / self.name).resolve()
                is_inside = any(root in path.parents for root in self.permitted)
                if is_inside and path.is_file():
                    return read_corners(path)
            except (OSError, RuntimeError):  # a loop of symbolic links, a name too long
                continue
            is_outside |= not is_inside
        if is_outside:
            raise FileError(self.name, f"leads out of {self.permitted[0]}; it was not opened")
        raise MissingMeshError(self.name, f"is not there; it was looked for in {' and '.join(map(str, self.folders))}")

    def _read_vertices(self) -> Floats:
        """Read the corners written in the file itself."""
        place = f"line {self.element.line}"
        try:
            return _parse_vertices(self.element.attributes.get("vertex", ""))
        except ValueError as error:
            raise FileError(self.element.path, str(error), place=place) from error


@lru_cache(maxsize=8)
def _parse_vertices(text: str) -> Floats:
    """Parse corners (k, 3), once for all shapes. ValueError if the text is something else."""
    words = text.split()
    if not words or len(words) % 3:
        raise ValueError("a mesh has neither a file nor three numbers for each vertex; other kinds are not read")
    return freeze(select_outer(np.array([parse_number(word) for word in words]).reshape(-1, 3)))


class MeshAsset(NamedTuple):
    """A mesh of a model, as its shapes use it.

    file      where its corners are
    place     (3,) is subtracted from them,
    rotation  (4,) then they are turned back by it, and
    scale     (3,) scaled
    """

    file: MeshFile
    place: Floats
    rotation: Floats
    scale: Floats

    def read_corners(self) -> Floats:
        """Read its corners (k, 3) in the axes of a shape. FileError for a missing or unreadable file."""
        return rotations.rotate(rotations.inverse(self.rotation), self.file.read_corners() - self.place) * self.scale


def list_mesh_files(root: Element, path: Path, include_root: Path | None) -> dict[str, MeshFile]:
    """List the meshes of an expanded model by name. The first one of a name counts."""
    folder = path.absolute().parent.resolve()
    permitted = (find_description_root(folder), *(() if include_root is None else (include_root.resolve(),)))
    below, strips_path = _find_mesh_folder(root)
    files: dict[str, MeshFile] = {}
    for section in root.children:
        for element in section.children if section.tag == "asset" else ():
            if element.tag != "mesh":
                continue
            name = element.attributes.get("file", "").replace("\\", "/")
            name = name.rpartition("/")[2] if strips_path else name
            folders = dict.fromkeys((folder, element.path.absolute().parent.resolve()))
            file = MeshFile(element, f"{below}/{name}" if name and below else name, tuple(folders), permitted)
            files.setdefault(name_mesh(element.attributes), file)
    return files


def name_mesh(attributes: Mapping[str, str]) -> str:
    """Name a <mesh>. Without a name it is that of its file, without folder and suffix."""
    return attributes.get("name") or PurePosixPath(attributes.get("file", "").replace("\\", "/")).stem


def _find_mesh_folder(root: Element) -> tuple[str, bool]:
    """Find the folder for meshes. Also return whether paths of files are cut off."""
    folders, strips_path = {"meshdir": "", "assetdir": ""}, False
    for element in root.children:
        if element.tag == "compiler":
            folders |= {name: element.attributes[name] for name in folders if name in element.attributes}
            strips_path = element.attributes.get("strippath", str(strips_path)).lower() == _TRUE
    return (folders["meshdir"] or folders["assetdir"]).replace("\\", "/").rstrip("/"), strips_path
