"""URDF files as XML: repair, parser, visuals and writer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from poise.errors import FileError, UnsupportedError, join_names
from poise.io.files import guess_file_type
from poise.io.inertials import Inertial
from poise.io.text_parsing import MAX_NAME_LENGTH, NotWellFormedError, XmlReader, quote_excerpt
from poise.io.text_parsing import Attributes as Attributes
from poise.maths.arrays import Floats, Ints
from poise.model.clip import Clip
from poise.model.limits import Limit, Range
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

# --- URDF data: links and joints as written, and the source file -----------------------------------------------------


@dataclass
class JointElement:
    """<joint> element as written.

    A missing child element is None; `limit_byte` is where <limit> begins in the bytes.
    """

    name: str
    type: str
    line: int
    parent: str = ""
    child: str = ""
    origin: Attributes | None = None
    axis: Attributes | None = None
    limit: Attributes | None = None
    mimic: Attributes | None = None
    safety_controller: Attributes | None = None
    limit_byte: int = -1

    @property
    def has_value(self) -> bool:
        """Return whether the joint has a single value to mimic."""
        return self.type in ("revolute", "continuous", "prismatic")


class XacroElement(NamedTuple):
    """Tag of an ignored xacro element, and its line in the file."""

    tag: str
    line: int


@dataclass
class RobotElement:
    """<robot> element: links, joints in file order, inertials. Links have the file names of their visual meshes.

    notes           content ignored while reading, a sentence each
    xacro_elements  ignored xacro elements, with their lines
    """

    name: str = ""
    links: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    joints: dict[str, JointElement] = field(default_factory=dict[str, JointElement])
    inertials: dict[str, dict[str, Attributes]] = field(default_factory=dict[str, dict[str, Attributes]])
    notes: list[str] = field(default_factory=list[str])
    xacro_elements: list[XacroElement] = field(default_factory=list[XacroElement])


@dataclass(frozen=True, eq=False)
class UrdfDocument:
    """URDF file and the skeleton rows made from it. Writing compares them to find changes.

    meshes       per link the file names of its visual meshes, as written
    limit_bytes  per row the byte of its <limit> element; -1 without a limit to change
    inertials    per row's name, of links with mass: the mass [kg] and its centre in the row's frame [m]
    path         the absolute path of the file, beside which its meshes lie
    package_folders  folders for meshes of package://, besides the file's own
    """

    data: bytes
    robot_name: str
    meshes: dict[str, tuple[str, ...]]
    names: tuple[str, ...]
    kinds: Ints
    A: Floats
    limits: tuple[Limit | None, ...]
    limit_bytes: tuple[int, ...]
    inertials: dict[str, Inertial] = field(default_factory=dict[str, Inertial])
    path: Path | None = None
    package_folders: tuple[Path, ...] = ()


# --- Repair of small XML faults in URDF files ------------------------------------------------------------------------
#
# Faults that other readers tolerate are replaced by blanks or `_`; every byte keeps its position.


_DECLARATION_PATTERN = re.compile(rb"\s*(<\?xml\s[^<>]*\?>)")
_UTF8_BOM = b"\xef\xbb\xbf"  # byte order mark of UTF-8
_NON_NEWLINE_PATTERN = re.compile(rb"[^\r\n]")
_ROBOT_TAG_PATTERN = re.compile(rb"<(/?)robot(?=[\s/>])[^<>]*>")
_AMPERSAND_PATTERN = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)")
_CONTROL_PATTERN = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f]")
# bytes without which a file has no xacro: those of its tags and expressions, of characters by number, and of UTF-16
_XACRO_MARKS = (b"<xacro:", b"${", b"&#", b"\0")
_REPLACEMENT = b"_"  # replaces a character that XML does not allow; names keep their length


def repair_xml(data: bytes) -> tuple[bytes, list[str]]:
    """Replace tolerable faults by blanks or `_`.

    Return the bytes and a sentence for each kind of fault found. Faults are text before the first element, an XML
    declaration that does not begin the file, dashes within comments, a bare `&`, control characters, and content after
    the robot.
    """
    notes: list[str] = []
    text_start = len(_UTF8_BOM) if data.startswith(_UTF8_BOM) else 0
    first_tag = data.find(b"<", text_start)
    if first_tag > text_start and data[text_start:first_tag].strip():
        data = _blank_span(data, text_start, first_tag)
        notes.append("the text before the first element is ignored")
    start, end = text_start, text_start
    while declaration := _DECLARATION_PATTERN.match(data, end):
        start = (
            declaration.end() if declaration.start(1) == text_start else start
        )  # a declaration at the beginning is valid
        end = declaration.end()
    if end > start:
        data = _blank_span(data, start, end)
        notes.append("the XML declaration does not begin the file, and is ignored")
    data, fault_count = _blank_bad_comments(data)
    if fault_count:
        notes.append(f"comments with two dashes in them, which XML does not allow, are ignored ({fault_count})")
    for pattern, label in ((_AMPERSAND_PATTERN, "a bare &"), (_CONTROL_PATTERN, "a control character")):
        data, fault_count = pattern.subn(_REPLACEMENT, data)
        if fault_count:
            notes.append(f"XML does not allow {label}, which is read as _ ({fault_count})")
    end = _find_robot_end(data)
    if end < len(data):
        data = _blank_span(data, end, len(data))
        notes.append("the content after the end of <robot> is ignored")
    return data, notes


def _blank_span(data: bytes, start: int, end: int) -> bytes:
    return data[:start] + _NON_NEWLINE_PATTERN.sub(b" ", data[start:end]) + data[end:]


def _find_comments(data: bytes) -> Iterator[tuple[int, int]]:
    """Find the start and the end of each comment. The time is linear in the file size, also for unclosed comments."""
    end = 0
    while (start := data.find(b"<!--", end)) >= 0 and (close := data.find(b"-->", start + 4)) >= 0:
        end = close + 3
        yield start, end


def _blank_bad_comments(data: bytes) -> tuple[bytes, int]:
    """Blank out comments with two dashes in them.

    Return the bytes and the number of these comments.
    """
    bad_spans = [
        (a, b) for a, b in _find_comments(data) if b"--" in data[a + 4 : b - 3] or data[a + 4 : b - 3].endswith(b"-")
    ]
    return _blank_spans(data, bad_spans), len(bad_spans)


def _blank_spans(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    parts: list[bytes] = []
    copied_end = 0
    for start, end in spans:
        parts += [data[copied_end:start], _NON_NEWLINE_PATTERN.sub(b" ", data[start:end])]
        copied_end = end
    return b"".join([*parts, data[copied_end:]])


def _may_have_xacro(data: bytes) -> bool:
    """Return whether xacro may be in a file. Xacro in comments does not count."""
    if not any(mark in data for mark in _XACRO_MARKS):
        return False
    if b"<![" in data or b"<?" in data.replace(b"<?xml ", b"", 1):  # what looks like a comment there is none
        return True
    parts: list[bytes] = []
    copied_end = 0
    for start, end in _find_comments(data):
        parts.append(data[copied_end:start])
        copied_end = end
    without_comments = b" ".join([*parts, data[copied_end:]])
    return any(mark in without_comments for mark in _XACRO_MARKS)


def _find_robot_end(data: bytes) -> int:
    """Find the byte after the first <robot>. It is the end of the file if only blanks and comments follow."""
    data = _blank_spans(data, list(_find_comments(data)))
    depth = 0
    for tag in _ROBOT_TAG_PATTERN.finditer(data):
        depth += -1 if tag[1] else not tag[0].endswith(b"/>")
        if depth <= 0:
            return tag.end() if data[tag.end() :].strip() else len(data)
    return len(data)


# --- Elements of a robot ---------------------------------------------------------------------------------------------


_ROBOT_DEPTH, _PART_DEPTH, _DETAIL_DEPTH, _INERTIA_DEPTH, _MESH_DEPTH = (
    0,
    1,
    2,
    3,
    4,
)  # depths: <robot>, <link>, <inertial>, its <mass>, a <mesh>
_MAX_DEPTH = 100  # maximum depth of elements; real files need ten; bounds the memory for a hostile file
_MAX_JOINTS = 10_000
_MAX_NOTES = 20  # maximum notes on second elements; more are only counted
XACRO_MESSAGE = "is a xacro file, a template; run `xacro FILE > robot.urdf` first"
_MAX_TAG_LENGTH = 40  # maximum length of a tag in a note [characters]
_JOINT_DETAILS = ("origin", "axis", "limit", "mimic", "safety_controller")


_HandlersT = TypeVar("_HandlersT", bound="UrdfHandlers")


def parse_robot(path: Path, data: bytes) -> RobotElement:
    """Parse the robot of a URDF file. FileError names the line of malformed XML.

    Repairs, which other readers make as well, give a note.
    """
    file_type = guess_file_type(data)
    if file_type and "XML" not in file_type:
        raise FileError(path, f"not a URDF file; this looks like {file_type}")
    return parse_with(UrdfHandlers, path, data).robot


def parse_with(handlers: type[_HandlersT], path: Path, data: bytes) -> _HandlersT:
    """Read a URDF file with these handlers.

    A file that is not well formed is repaired first.
    """
    reader = handlers(path)
    try:
        reader.read(data)
    except NotWellFormedError:
        repaired, notes = repair_xml(data)
        if not notes:
            raise
        reader = handlers(path)
        reader.read(repaired)
        reader.robot.notes[:0] = notes
    reader.finish()
    return reader


class UrdfHandlers(XmlReader):
    """Expat handlers of links and joints. Elements deeper than the meshes of a link are counted and ignored.

    An expanded file may still have xacro elements. They and their content are ignored.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _MAX_DEPTH)
        self.robot: RobotElement = RobotElement()
        self.joint: JointElement | None = None
        self.link: str | None = None
        self.detail_tag: str = ""  # tag of the open child of a link or joint
        self.xacro_depth: int = 0  # number of open elements from the outermost xacro element on
        self.xacro_expression: str = ""  # an attribute with an unexpanded xacro expression
        self.duplicate_count: int = 0  # number of ignored second elements
        self.parser.StartElementHandler = self._handle_open
        self.parser.EndElementHandler = self._handle_close

    def read(self, data: bytes) -> None:
        """Parse the bytes. Elements of a file without xacro are not searched for it."""
        if not _may_have_xacro(data):
            self.parser.StartElementHandler = self._handle_start
            self.parser.EndElementHandler = self._handle_end
        super().read(data)

    def finish(self) -> None:
        """Add notes on ignored elements.

        FileError for a xacro template.
        """
        robot = self.robot
        if self.duplicate_count > _MAX_NOTES:
            robot.notes.append(f"{self.duplicate_count - _MAX_NOTES} more second elements of joints are ignored")
        if not robot.xacro_elements:
            return
        if self.xacro_expression or not robot.joints:
            raise FileError(self.path, XACRO_MESSAGE, place=f"line {robot.xacro_elements[0].line}")
        robot.notes.append(
            f"xacro elements that were left in the file are ignored, and their content may be missing: "
            f"{join_names([f'<{tag[:_MAX_TAG_LENGTH]}> in line {line}' for tag, line in robot.xacro_elements])}"
        )

    def _handle_open(self, tag: str, attributes: Attributes) -> None:
        if self.xacro_depth or tag.startswith("xacro:"):
            if not self.xacro_depth:
                self.robot.xacro_elements.append(XacroElement(tag, self.parser.CurrentLineNumber))
            self.xacro_depth += 1
            if self.depth + self.xacro_depth > _MAX_DEPTH:
                self._fail(f"elements are nested more than {_MAX_DEPTH} deep")
            return
        if not self.xacro_expression:
            self.xacro_expression = next((value for value in attributes.values() if "${" in value), "")
        self._handle_start(tag, attributes)

    def _handle_close(self, tag: str) -> None:
        if self.xacro_depth:
            self.xacro_depth -= 1
        else:
            self._handle_end(tag)

    def _handle_start(self, tag: str, attributes: Attributes) -> None:
        self.depth = depth = self.depth + 1  # as in the base; most of the time of a file is spent here
        if depth > _MAX_DEPTH:
            self._fail(f"elements are nested more than {_MAX_DEPTH} deep")
        if depth >= _INERTIA_DEPTH:
            if self.link is None:
                return
            if depth == _INERTIA_DEPTH and self.detail_tag == "inertial":
                self.robot.inertials.setdefault(self.link, {})[tag] = attributes
            elif depth == _MESH_DEPTH and tag == "mesh" and self.detail_tag == "visual":
                self.robot.links[self.link] += (attributes.get("filename", ""),)
        elif depth == _DETAIL_DEPTH:
            self.detail_tag = tag
            if self.joint is not None:
                self._handle_joint_detail(self.joint, tag, attributes)
        elif depth == _PART_DEPTH:
            self._handle_part(tag, attributes)
        else:
            if tag != "robot":
                self._fail(f"not a URDF file: its root element is <{tag[:40]}>, not <robot>")
            self.robot.name = attributes.get("name", "")

    def _handle_end(self, _tag: str) -> None:
        if self.depth == _PART_DEPTH:
            self.joint = self.link = None
        self.depth -= 1

    def _handle_part(self, tag: str, attributes: Attributes) -> None:
        if tag not in ("link", "joint"):
            return
        name = attributes.get("name", "")
        known_elements = self.robot.links if tag == "link" else self.robot.joints
        if not name:
            self._fail(f"a {tag} has no name")
        if len(name) > MAX_NAME_LENGTH:
            self._fail(f"the name {quote_excerpt(name)} has more than {MAX_NAME_LENGTH} characters")
        if "${" in name:
            self._fail(XACRO_MESSAGE)
        if name in known_elements:
            self._fail(f"a second {tag} is called {quote_excerpt(name)}")
        if len(known_elements) >= _MAX_JOINTS:
            self._fail(f"more than {_MAX_JOINTS} {tag}s")
        if tag == "link":
            self.link = name
            self.robot.links[name] = ()
        else:
            self.joint = JointElement(name, attributes.get("type", ""), self.parser.CurrentLineNumber)
            self.robot.joints[name] = self.joint

    def _handle_joint_detail(self, joint: JointElement, tag: str, attributes: Attributes) -> None:
        if tag in ("parent", "child"):
            if getattr(joint, tag):
                self._ignore_duplicate(joint, tag, is_same=getattr(joint, tag) == attributes.get("link", ""))
            else:
                setattr(joint, tag, attributes.get("link", ""))
        elif tag in _JOINT_DETAILS:
            if getattr(joint, tag) is not None:
                self._ignore_duplicate(joint, tag, is_same=getattr(joint, tag) == attributes)
                return
            setattr(joint, tag, attributes)
            if tag == "limit":
                joint.limit_byte = self.parser.CurrentByteIndex

    def _ignore_duplicate(self, joint: JointElement, tag: str, *, is_same: bool) -> None:
        """Ignore a second element, as other URDF readers do."""
        self.duplicate_count += 1
        if self.duplicate_count <= _MAX_NOTES:
            label = "which is the same" if is_same else "which differs"
            line = self.parser.CurrentLineNumber
            self.robot.notes.append(f"the second <{tag}> of joint {joint.name!r} (line {line}), {label}, is ignored")


# --- Visual elements of a URDF file's links --------------------------------------------------------------------------


SHAPE_TAGS = ("mesh", "box", "cylinder", "sphere", "capsule")
_MAX_VISUALS = 100_000  # maximum number of visual elements


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
class RobotVisuals:
    """Visual elements per link, material colours, child link per joint."""

    visuals_by_link: dict[str, list[Visual]]
    rgba_by_material: dict[str, str]
    link_by_joint: dict[str, str]


def parse_visuals(path: Path, data: bytes, tag: str = "visual") -> RobotVisuals:
    """Parse the visual elements of a URDF file, or its collision elements. FileError as in `parse_robot`."""
    reader = parse_with(_CollisionReader if tag == "collision" else _VisualReader, path, data)
    children = {joint.name: joint.child for joint in reader.robot.joints.values()}
    return RobotVisuals(reader.visuals, reader.materials, children)


class _VisualReader(UrdfHandlers):
    """URDF handlers with visual elements and the robot's materials."""

    element_tag = "visual"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.visuals: dict[str, list[Visual]] = {}
        self.materials: dict[str, str] = {}
        self.visual: Visual | None = None
        self.material = ""
        self.visual_count = 0

    def _handle_start(self, tag: str, attributes: Attributes) -> None:
        super()._handle_start(tag, attributes)
        if self.depth == _PART_DEPTH:
            self.material = attributes.get("name", "") if tag == "material" else ""
        elif self.depth == _DETAIL_DEPTH:
            self._handle_detail(tag, attributes)
        elif self.visual is not None:
            self._handle_inner(self.visual, tag, attributes)

    def _handle_end(self, _tag: str) -> None:
        if self.depth == _DETAIL_DEPTH:
            self.visual = None
        super()._handle_end(_tag)

    def _handle_detail(self, tag: str, attributes: Attributes) -> None:
        if tag == "color" and self.material:
            self.materials[self.material] = attributes.get("rgba", "")
        elif tag == self.element_tag and self.link is not None:
            self.visual_count += 1
            if self.visual_count > _MAX_VISUALS:
                self._fail(f"more than {_MAX_VISUALS} {self.element_tag} elements")
            self.visual = Visual(self.parser.CurrentLineNumber)
            self.visuals.setdefault(self.link, []).append(self.visual)

    def _handle_inner(self, visual: Visual, tag: str, attributes: Attributes) -> None:
        if self.depth == _MESH_DEPTH and tag in SHAPE_TAGS:
            visual.shape, visual.attributes = tag, attributes
        elif self.depth == _MESH_DEPTH and tag == "color":
            visual.rgba = attributes.get("rgba", "")
        elif self.depth == _MESH_DEPTH - 1 and tag == "origin":
            visual.origin = attributes
        elif self.depth == _MESH_DEPTH - 1 and tag == "material":
            visual.material = attributes.get("name", "")


class _CollisionReader(_VisualReader):
    """URDF handlers with collision elements."""

    element_tag = "collision"


# --- URDF writer: the source bytes with changed limits replaced ------------------------------------------------------


_LIMIT_TAG_PATTERN = re.compile(rb"""<limit(\s+[^\s=<>"']+\s*=\s*("[^"]*"|'[^']*'))*\s*/?>""")


def encode_urdf(content: Saveable, source_skeleton: Skeleton) -> bytes:
    """Encode a rig's source URDF file with its current limits.

    UnsupportedError for a pose or a clip, which URDF cannot hold, for a skeleton from another format, and for changes
    other than to ranges in the file.
    """
    if not isinstance(content, Rig) or content.clips:
        label = "clip" if isinstance(content, Rig | Clip) else "pose"
        message = f"a URDF file describes a robot and holds no {label}; save joint values to a .json or .csv file"
        raise UnsupportedError(message)
    document = source_skeleton.source
    if not isinstance(document, UrdfDocument):
        message = "a URDF file can only be written for a robot that was read from one"
        raise UnsupportedError(message)
    skeleton = content.skeleton
    if (
        skeleton.names != document.names
        or not np.array_equal(skeleton.kinds, document.kinds)
        or not np.array_equal(skeleton.A, document.A)
    ):
        message = "the joints differ from those of the URDF file; only changed limits can be written"
        raise UnsupportedError(message)
    return _replace_limits(document, skeleton)


def _replace_limits(document: UrdfDocument, skeleton: Skeleton) -> bytes:
    data = document.data
    changed_rows = [i for i, limit in enumerate(skeleton.limits) if limit != document.limits[i]]
    for i in sorted(
        changed_rows, key=lambda row: document.limit_bytes[row], reverse=True
    ):  # back to front, so that byte positions stay valid
        low, high = _check_ends(skeleton.names[i], skeleton.limits[i], document.limit_bytes[i])
        match = _LIMIT_TAG_PATTERN.match(data, document.limit_bytes[i])
        if not match:
            message = f"the <limit> of joint {skeleton.names[i]!r} is not where it was read"
            raise UnsupportedError(message)
        tag = _replace_attribute(_replace_attribute(match.group(), b"upper", high), b"lower", low)
        data = data[: match.start()] + tag + data[match.end() :]
    return data


def _check_ends(name: str, limit: Limit | None, limit_byte: int) -> tuple[float, float]:
    if limit_byte < 0:
        message = f"joint {name!r} has no range in the URDF file; one cannot be added to it"
        raise UnsupportedError(message)
    if not isinstance(limit, Range) or not (math.isfinite(limit.low) and math.isfinite(limit.high)):
        message = f"joint {name!r} needs a finite range in a URDF file; its type there says that it has one"
        raise UnsupportedError(message)
    if limit.soft:
        message = f"joint {name!r} has a soft limit; a URDF file holds hard ones only"
        raise UnsupportedError(message)
    return limit.low, limit.high


def _replace_attribute(tag: bytes, name: bytes, value: float) -> bytes:
    """Replace one attribute of a start tag. A missing attribute is added."""
    text = repr(float(value)).encode()
    pattern = re.compile(rb"""(\s""" + name + rb"""\s*=\s*)("[^"]*"|'[^']*')""")
    if pattern.search(tag):
        return pattern.sub(lambda match: match.group(1) + b'"' + text + b'"', tag, count=1)
    return tag[: len(b"<limit")] + b" " + name + b'="' + text + b'"' + tag[len(b"<limit") :]
