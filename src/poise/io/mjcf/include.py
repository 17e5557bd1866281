"""An MJCF file with the files that it includes, as one tree of elements.

As in MuJoCo, a path starts at the folder of the main file, also in an included one, and a file is included once.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

from poise.errors import FileError
from poise.io.files import guessed_kind
from poise.io.gltf.buffers import inside, read_inside
from poise.io.gltf.json import BrokenError
from poise.io.numbers import shown
from poise.io.xml_files import Element, read_tree

DEEPEST = 400  # levels; MuJoCo's own reader stops at 500
_MOST_ELEMENTS = 200_000  # elements of all files together
_MOST_FILES = 1000
_BY_NAME = {
    "robot": "it is a URDF file: rename it to end in .urdf",
    "sdf": "it is an SDF file: take the URDF of the same robot",
    "COLLADA": "it is a COLLADA file: rename it to end in .dae",
    "OpenSimDocument": "it is an OpenSim model: rename it to end in .osim",
    "mujocoinclude": "it is a part of a model: read the file that includes it",
}


def read_whole(path: Path, data: bytes) -> Element:
    """Read the <mujoco> element of a file, every <include> replaced by what the file in it holds."""
    looks_like = guessed_kind(data)
    if looks_like and "XML" not in looks_like:
        raise FileError(path, f"not an MJCF file; this looks like {looks_like}")
    root = read_tree(path, data, deepest=DEEPEST, most=_MOST_ELEMENTS)
    if root.tag != "mujoco":
        hint = _BY_NAME.get(root.tag, "a robot for MuJoCo begins with <mujoco>; read a URDF under the suffix .urdf")
        raise FileError(path, f"not an MJCF file: its root element is <{shown(root.tag)[1:-1]}>; {hint}")
    _Includes(path, root).resolve()
    return root


class _Includes:
    def __init__(self, path: Path, root: Element) -> None:
        self.folder = path.parent
        self.root = root
        self.left = _MOST_ELEMENTS
        self.seen = {path.resolve()}

    def resolve(self) -> None:
        """Put the elements of included files where they are included, without recursion."""
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
        try:
            target = inside(self.folder, name, "")
            if target in self.seen:
                element.fail(f"{shown(name)} is included a second time; MuJoCo includes a file once")
            if len(self.seen) > _MOST_FILES:
                element.fail(f"more than {_MOST_FILES} files are included")
            self.seen.add(target)
            data = read_inside(self.folder, name, "")
        except BrokenError as error:
            raise FileError(element.path, f"<include>: {error.reason}", place=f"line {element.line}") from error
        root = read_tree(target, data, deepest=DEEPEST, most=self.left)
        if root.tag not in ("mujoco", "mujocoinclude"):
            element.fail(f"{shown(name)} is not MJCF: its root element is <{shown(root.tag)[1:-1]}>")
        return root
