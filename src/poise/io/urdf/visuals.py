"""What a URDF file shows: the visual elements of its links, read like the rest of it in one careful pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from poise.io.urdf.parse import _DETAIL, _MESH, _PART, UrdfHandlers, read_with
from poise.io.xml_files import Attributes

SHAPES = ("mesh", "box", "cylinder", "sphere", "capsule")
_MOST = 100_000  # visual elements


@dataclass
class Visual:
    """A <visual> as written: where it is, its shape with the attributes of it, and the name or rgba of its colour."""

    line: int
    origin: Attributes = field(default_factory=dict[str, str])
    shape: str = ""
    attributes: Attributes = field(default_factory=dict[str, str])
    material: str = ""
    rgba: str = ""


@dataclass
class Visuals:
    """The visual elements per link, the rgba of the robot's materials, and per joint its child link."""

    links: dict[str, list[Visual]]
    materials: dict[str, str]
    children: dict[str, str]


def parse_visuals(path: Path, data: bytes) -> Visuals:
    """Read the visual elements of a URDF file; FileError as for the rest of it."""
    reader = read_with(_VisualReader, path, data)
    children = {joint.name: joint.child for joint in reader.robot.joints.values()}
    return Visuals(reader.visuals, reader.materials, children)


class _VisualReader(UrdfHandlers):
    """The reader of links and joints that keeps what it sees in <visual>, and the robot's own materials."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.visuals: dict[str, list[Visual]] = {}
        self.materials: dict[str, str] = {}
        self.visual: Visual | None = None
        self.material = ""
        self.count = 0

    def _start(self, tag: str, attributes: Attributes) -> None:
        super()._start(tag, attributes)
        if self.depth == _PART:
            self.material = attributes.get("name", "") if tag == "material" else ""
        elif self.depth == _DETAIL:
            self._detail(tag, attributes)
        elif self.visual is not None:
            self._within(self.visual, tag, attributes)

    def _end(self, _tag: str) -> None:
        if self.depth == _DETAIL:
            self.visual = None
        super()._end(_tag)

    def _detail(self, tag: str, attributes: Attributes) -> None:
        if tag == "color" and self.material:
            self.materials[self.material] = attributes.get("rgba", "")
        elif tag == "visual" and self.link is not None:
            self.count += 1
            if self.count > _MOST:
                self._fail(f"more than {_MOST} visual elements")
            self.visual = Visual(self.parser.CurrentLineNumber)
            self.visuals.setdefault(self.link, []).append(self.visual)

    def _within(self, visual: Visual, tag: str, attributes: Attributes) -> None:
        if self.depth == _MESH and tag in SHAPES:
            visual.shape, visual.attributes = tag, attributes
        elif self.depth == _MESH and tag == "color":
            visual.rgba = attributes.get("rgba", "")
        elif self.depth == _MESH - 1 and tag == "origin":
            visual.origin = attributes
        elif self.depth == _MESH - 1 and tag == "material":
            visual.material = attributes.get("name", "")
