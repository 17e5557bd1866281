"""MJCF file with its includes expanded, as one element tree.

As in MuJoCo 4, a path is relative to the folder of the main file or, if nothing is there, to that of the including
file; a file is included once.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import NamedTuple

from poise.errors import FileError
from poise.io.files import guessed_kind, read_bytes
from poise.io.numbers import shown
from poise.io.permitted import PermittedFolders
from poise.io.xml_files import Element, read_tree

DEEPEST = 400  # nesting levels; MuJoCo's own limit is 500
_MOST_ELEMENTS = 200_000  # elements of all files together
_MOST_FILES = 1000
_LONGEST = 1024  # characters of a path, which a message quotes
_BY_NAME = {
    "robot": "it is a URDF file: rename it to end in .urdf",
    "sdf": "it is an SDF file: take the URDF of the same robot",
    "COLLADA": "it is a COLLADA file: rename it to end in .dae",
    "OpenSimDocument": "it is an OpenSim model: rename it to end in .osim",
    "mujocoinclude": "it is a part of a model: read the file that includes it",
}


class WholeFile(NamedTuple):
    """The <mujoco> element with includes expanded, and notes.

    A note names an <include> with two possible files.
    """

    root: Element
    notes: list[str]


def read_whole(path: Path, data: bytes, include_root: Path | None = None) -> WholeFile:
    """Read the <mujoco> element and expand every <include>.

    Parameters
    ----------
    path, data
        The main file.
    include_root
        A folder of permitted includes, besides that of the main file.
    """
    looks_like = guessed_kind(data)
    if looks_like and "XML" not in looks_like:
        raise FileError(path, f"not an MJCF file; this looks like {looks_like}")
    root = read_tree(path, data, deepest=DEEPEST, most=_MOST_ELEMENTS)
    if root.tag != "mujoco":
        hint = _BY_NAME.get(root.tag, "a robot for MuJoCo begins with <mujoco>; read a URDF under the suffix .urdf")
        raise FileError(path, f"not an MJCF file: its root element is <{shown(root.tag)[1:-1]}>; {hint}")
    includes = _Includes(path, root, include_root)
    includes.resolve()
    return WholeFile(root, includes.notes)


class _Includes:
    def __init__(self, path: Path, root: Element, include_root: Path | None) -> None:
        self.folder = path.parent
        self.permitted = PermittedFolders.of(path, include_root)
        self.root = root
        self.left = _MOST_ELEMENTS
        self.seen = {path.resolve()}
        self.notes: list[str] = []

    def resolve(self) -> None:
        """Expand all includes, without recursion."""
        open_elements = [self.root]
        while open_elements:
            element = open_elements.pop()
            waiting = deque(element.children)
            element.children = []
            while waiting:
                child = waiting.popleft()
                if child.tag == "include":
                    waiting.extendleft(reversed(self._included(child).children))
                    continue
                self.left -= 1
                if self.left < 0:
                    child.fail(f"more than {_MOST_ELEMENTS} elements in all files together")
                element.children.append(child)
                open_elements.append(child)

    def _included(self, element: Element) -> Element:
        name = element.attributes.get("file", "")
        if not name:
            element.fail("<include> names no file")
        if element.children:
            element.fail("<include> has elements of its own; MuJoCo takes none there")
        target = self._found(element, name)
        if target in self.seen:
            element.fail(f"{shown(name)} is included a second time; MuJoCo includes a file once")
        if len(self.seen) > _MOST_FILES:
            element.fail(f"more than {_MOST_FILES} files are included")
        self.seen.add(target)
        try:
            data = read_bytes(target)
        except FileError as error:
            raise FileError(element.path, f"<include>: {error}", place=f"line {element.line}") from error
        root = read_tree(target, data, deepest=DEEPEST, most=self.left)
        if root.tag in _BY_NAME and root.tag != "mujocoinclude":
            element.fail(f"{shown(name)} is not MJCF: its root element is <{shown(root.tag)[1:-1]}>")
        if not root.children:
            element.fail(f"{shown(name)} holds no elements; MuJoCo includes at least one")
        return root

    def _found(self, element: Element, name: str) -> Path:
        """Find the file of an <include>.

        The folder of the main file is searched first, then that of the including file.
        """
        if len(name) > _LONGEST or "\0" in name:
            element.fail(f"<include>: {shown(name)} is not the path of a file")
        targets = self._targets(element, name)
        near = [target for target in targets if self.permitted.hold(target)]
        found = next((target for target in near if os.path.exists(target)), None)  # noqa: PTH110  (never raises)
        if found is None and len(near) < len(targets):
            element.fail(f"<include>: {self.permitted.refusal(shown(name))}")
        if found is None:
            element.fail(
                f"<include>: there is no file {shown(name)}, neither from the main file's folder nor from here"
            )
        if targets[0] not in near:
            self.notes.append(
                f"{shown(name)} was included from the folder of {element.path.name}; the same path from the main file "
                "leads out of its folder and was not used"
            )
        return found

    def _targets(self, element: Element, name: str) -> list[Path]:
        """List the possible files of an <include> in MuJoCo's order.

        MuJoCo treats a backslash as a slash on every system.
        """
        try:
            return [(folder / name.replace("\\", "/")).resolve() for folder in (self.folder, element.path.parent)]
        except (OSError, RuntimeError) as error:  # a loop of symbolic links
            element.fail(f"<include>: {shown(name)} cannot be resolved: {error}")
