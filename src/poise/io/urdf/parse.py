"""The XML of a URDF file, read with expat in one pass: links, joints, nothing that a skeleton does not need.

A document type declaration is refused, and with it every entity: no expansion, no file outside is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from poise.errors import FileError
from poise.io.files import guessed_kind
from poise.io.numbers import LONGEST_NAME, shown
from poise.io.urdf.document import Attributes, JointElement, RobotElement

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
    read_with(reader, data)
    return reader.robot


def read_with(reader: _Handlers, data: bytes) -> None:
    """Let a reader go through the bytes; FileError with the line for anything that is not well formed."""
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise FileError(reader.path, reason, place=f"line {error.lineno}") from error
    except (LookupError, ValueError) as error:  # an encoding that Python does not know or expat cannot use
        raise FileError(reader.path, f"cannot be decoded: {error}", place="line 1") from error


class _Handlers:
    """Handlers for expat. Elements deeper than the meshes of a link are counted and passed over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.robot = RobotElement()
        self.depth = -1
        self.joint: JointElement | None = None
        self.link: str | None = None
        self.inside = ""  # which detail of a link or joint
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.XmlDeclHandler = self._declaration

    def _fail(self, reason: str) -> NoReturn:
        raise FileError(self.path, reason, place=f"line {self.parser.CurrentLineNumber}")

    def _doctype(self, *_: object) -> NoReturn:
        self._fail("document types and entities are not read")

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            self._fail(f"the encoding {shown(encoding)} is not supported; save the file as UTF-8")

    def _start(self, tag: str, attributes: Attributes) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            self._fail(f"elements are nested more than {_DEEPEST} deep")
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
        self.depth -= 1

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


_ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1")
