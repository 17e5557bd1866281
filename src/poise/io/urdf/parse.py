"""XML of a URDF file: links, joints and visuals, after repairs. It is read in one pass."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from poise.errors import FileError, listed
from poise.io.files import guessed_kind
from poise.io.numbers import LONGEST_NAME, shown
from poise.io.urdf.document import JointElement, RobotElement
from poise.io.urdf.repair import repair_xml
from poise.io.xml_files import Attributes, NotWellFormedError, XmlReader

_ROBOT, _PART, _DETAIL, _INERTIA, _MESH = 0, 1, 2, 3, 4  # depths: <robot>, <link>, <inertial>, its <mass>, a <mesh>
_DEEPEST = 100  # maximum depth of elements; real files need ten; bounds the memory for a hostile file
_MOST_JOINTS = 10_000
_MOST_NOTES = 20  # maximum notes on second elements; more are only counted
XACRO = "is a xacro file, a template; run `xacro FILE > robot.urdf` first"
_SHOWN = 40  # maximum length of a tag in a note [characters]
_DETAILS = ("origin", "axis", "limit", "mimic", "safety_controller")


_Reader = TypeVar("_Reader", bound="UrdfHandlers")


def parse_robot(path: Path, data: bytes) -> RobotElement:
    """Parse the robot of a URDF file. FileError names the line of malformed XML.

    Repairs, which other readers make as well, give a note.
    """
    looks_like = guessed_kind(data)
    if looks_like and "XML" not in looks_like:
        raise FileError(path, f"not a URDF file; this looks like {looks_like}")
    return read_with(UrdfHandlers, path, data).robot


def read_with(handlers: type[_Reader], path: Path, data: bytes) -> _Reader:
    """Read a URDF file with these handlers.

    A file that is not well formed is repaired first.
    """
    reader = handlers(path)
    try:
        reader.read(data)
    except NotWellFormedError:
        mended, notes = repair_xml(data)
        if not notes:
            raise
        reader = handlers(path)
        reader.read(mended)
        reader.robot.notes[:0] = notes
    reader.finish()
    return reader


class UrdfHandlers(XmlReader):
    """Expat handlers of links and joints. Elements deeper than the meshes of a link are counted and ignored.

    An expanded file may still have xacro elements. They and their content are ignored.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _DEEPEST)
        self.robot = RobotElement()
        self.joint: JointElement | None = None
        self.link: str | None = None
        self.inside = ""  # tag of the open child of a link or joint
        self.in_xacro = 0  # number of open elements from the outermost xacro element on
        self.expression = ""  # an attribute with an unexpanded xacro expression
        self.seconds = 0  # number of ignored second elements
        self.parser.StartElementHandler = self._open
        self.parser.EndElementHandler = self._close

    def finish(self) -> None:
        """Add notes on ignored elements.

        FileError for a xacro template.
        """
        robot = self.robot
        if self.seconds > _MOST_NOTES:
            robot.notes.append(f"{self.seconds - _MOST_NOTES} more second elements of joints are ignored")
        if not robot.xacro:
            return
        if self.expression or not robot.joints:
            raise FileError(self.path, XACRO, place=f"line {robot.xacro[0][1]}")
        robot.notes.append(
            f"xacro elements that were left in the file are ignored, and their content may be missing: "
            f"{listed([f'<{tag[:_SHOWN]}> in line {line}' for tag, line in robot.xacro])}"
        )

    def _open(self, tag: str, attributes: Attributes) -> None:
        if self.in_xacro or tag.startswith("xacro:"):
            if not self.in_xacro:
                self.robot.xacro.append((tag, self.parser.CurrentLineNumber))
            self.in_xacro += 1
            if self.depth + self.in_xacro > _DEEPEST:
                self._fail(f"elements are nested more than {_DEEPEST} deep")
            return
        if not self.expression:
            self.expression = next((value for value in attributes.values() if "${" in value), "")
        self._start(tag, attributes)

    def _close(self, tag: str) -> None:
        if self.in_xacro:
            self.in_xacro -= 1
        else:
            self._end(tag)

    def _start(self, tag: str, attributes: Attributes) -> None:
        super()._start(tag, attributes)
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
            self._fail(XACRO)
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
                self._pass_over(joint, tag, same=getattr(joint, tag) == attributes.get("link", ""))
            else:
                setattr(joint, tag, attributes.get("link", ""))
        elif tag in _DETAILS:
            if getattr(joint, tag) is not None:
                self._pass_over(joint, tag, same=getattr(joint, tag) == attributes)
                return
            setattr(joint, tag, attributes)
            if tag == "limit":
                joint.limit_at = self.parser.CurrentByteIndex

    def _pass_over(self, joint: JointElement, tag: str, *, same: bool) -> None:
        """Ignore a second element, as other URDF readers do."""
        self.seconds += 1
        if self.seconds <= _MOST_NOTES:
            which = "which is the same" if same else "which differs"
            line = self.parser.CurrentLineNumber
            self.robot.notes.append(f"the second <{tag}> of joint {joint.name!r} (line {line}), {which}, is ignored")
