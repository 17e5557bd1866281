"""Visual elements of a URDF file's links."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from poise.io.urdf.parse import _DETAIL, _MESH, _PART, UrdfHandlers, read_with
from poise.io.xml_files import Attributes

SHAPES = ("mesh", "box", "cylinder", "sphere", "capsule")
_MOST = 100_000  # maximum number of visual elements


@dataclass
class Visual:
    """<visual> element as written: origin, shape and colour. The colour is the name of a material or an rgba."""

    line: int
    origin: Attributes = field(default_factory=dict[str, str])
    shape: str = ""
    attributes: Attributes = field(default_factory=dict[str, str])
    material: str = ""
    rgba: str = ""


@dataclass
class Visuals:
    """Visual elements per link, material colours, child link per joint."""

    links: dict[str, list[Visual]]
    materials: dict[str, str]
    children: dict[str, str]


def parse_visuals(path: Path, data: bytes) -> Visuals:
    """Parse the visual elements of a URDF file. FileError as in `parse_robot`."""
    reader = read_with(_VisualReader, path, data)
    children = {joint.name: joint.child for joint in reader.robot.joints.values()}
    return Visuals(reader.visuals, reader.materials, children)


class _VisualReader(UrdfHandlers):
    """URDF handlers with visual elements and the robot's materials."""

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
