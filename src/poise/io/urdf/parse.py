"""The XML of a URDF file, read in one pass: links, joints, nothing that a skeleton does not need."""

from __future__ import annotations

from pathlib import Path

from poise.errors import FileError
from poise.io.files import guessed_kind
from poise.io.numbers import LONGEST_NAME, shown
from poise.io.urdf.document import JointElement, RobotElement
from poise.io.xml_files import Attributes, XmlReader

_ROBOT, _PART, _DETAIL, _INERTIA, _MESH = 0, 1, 2, 3, 4  # depths: <robot>, <link>, <inertial>, its <mass>, a <mesh>
_DEEPEST = 100  # a real file needs ten; keeps a hostile one from filling the memory
_MOST_JOINTS = 10_000
_XACRO = "is a xacro file, a template; run `xacro FILE > robot.urdf` first"


def parse_robot(path: Path, data: bytes) -> RobotElement:
    """Read the robot of a URDF file; FileError with the line for anything that is not well formed."""
    looks_like = guessed_kind(data)
    if looks_like and "XML" not in looks_like:
        raise FileError(path, f"not a URDF file; this looks like {looks_like}")
    reader = _Handlers(path)
    reader.read(data)
    return reader.robot


class _Handlers(XmlReader):
    """Handlers for expat. Elements deeper than the meshes of a link are counted and passed over."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _DEEPEST)
        self.robot = RobotElement()
        self.joint: JointElement | None = None
        self.link: str | None = None
        self.inside = ""  # which detail of a link or joint

    def _start(self, tag: str, attributes: Attributes) -> None:
        super()._start(tag, attributes)
        if tag.startswith("xacro:"):
            self._fail(_XACRO)
        if self.depth == _ROBOT:
            if tag != "robot":
                self._fail(f"not a URDF file: its root element is <{tag[:40]}>, not <robot>")
            self.robot.name = attributes.get("name", "")
        elif self.depth == _PART:
            self._part(tag, attributes)
        elif self.depth == _DETAIL:
            self.inside = tag
            if self.joint is not None:
                self._joint_detail(self.joint, tag, attributes)
        elif self.depth == _INERTIA and self.inside == "inertial" and self.link is not None:
            self.robot.inertials.setdefault(self.link, {})[tag] = attributes
        elif self.depth == _MESH and tag == "mesh" and self.inside == "visual" and self.link is not None:
            self.robot.links[self.link] += (attributes.get("filename", ""),)

    def _end(self, _tag: str) -> None:
        if self.depth == _PART:
            self.joint = self.link = None
        super()._end(_tag)

    def _part(self, tag: str, attributes: Attributes) -> None:
        if tag not in ("link", "joint"):
            return
        name = attributes.get("name", "")
        known = self.robot.links if tag == "link" else self.robot.joints
        if not name:
            self._fail(f"a {tag} has no name")
        if len(name) > LONGEST_NAME:
            self._fail(f"the name {shown(name)} has more than {LONGEST_NAME} characters")
        if "${" in name:
            self._fail(_XACRO)
        if name in known:
            self._fail(f"a second {tag} is called {shown(name)}")
        if len(known) >= _MOST_JOINTS:
            self._fail(f"more than {_MOST_JOINTS} {tag}s")
        if tag == "link":
            self.link = name
            self.robot.links[name] = ()
        else:
            self.joint = JointElement(name, attributes.get("type", ""), self.parser.CurrentLineNumber)
            self.robot.joints[name] = self.joint

    def _joint_detail(self, joint: JointElement, tag: str, attributes: Attributes) -> None:
        if tag in ("parent", "child"):
            if getattr(joint, tag):
                self._fail(f"joint {shown(joint.name)} has a second <{tag}>")
            setattr(joint, tag, attributes.get("link", ""))
        elif tag in ("origin", "axis", "limit", "mimic"):
            if getattr(joint, tag) is not None:
                self._fail(f"joint {shown(joint.name)} has a second <{tag}>")
            setattr(joint, tag, attributes)
            if tag == "limit":
                joint.limit_at = self.parser.CurrentByteIndex
