"""Joints of a URDF file: rows, limits, motors, inertials and mimics."""

from __future__ import annotations

import heapq
import math
from pathlib import Path
from typing import NamedTuple, NoReturn

from poise.errors import FileError, join_names
from poise.io.inertials import Inertial
from poise.io.text_parsing import MAX_NUMBER, is_number, parse_number, parse_vector, quote_excerpt
from poise.io.urdf_xml import Attributes, JointElement, RobotElement
from poise.model.joints import Motor, SafetyController
from poise.model.limits import Range, unit_axis
from poise.model.skeleton import Kind

# --- Motors of URDF joints: <limit> velocity and effort, <safety_controller> -----------------------------------------


_SAFETY_ATTRIBUTES = {"soft_lower_limit": "lower", "soft_upper_limit": "upper", "k_position": "k_position",
           "k_velocity": "k_velocity"}  # fmt: skip


class MotorReading(NamedTuple):
    """Motor of a joint, if any, and notes on bad numbers."""

    motor: Motor | None
    notes: list[str]


def read_motor(joint: JointElement) -> MotorReading:
    """Read the motor of a joint. Negative and non-numeric values are ignored with a note."""
    notes: list[str] = []
    limit, safety = joint.limit or {}, joint.safety_controller
    velocity, effort = (_read_nonnegative(joint, limit, name, notes) for name in ("velocity", "effort"))
    safety_controller = None
    if safety is not None:
        safety_values = {field: _read_finite(joint, safety, name, notes) for name, field in _SAFETY_ATTRIBUTES.items()}
        safety_controller = SafetyController(
            **{field: value for field, value in safety_values.items() if value is not None}
        )
    is_empty = velocity is None and effort is None and safety_controller is None
    return MotorReading(None if is_empty else Motor(velocity, effort, safety_controller), notes)


def _read_nonnegative(joint: JointElement, attributes: Attributes, name: str, notes: list[str]) -> float | None:
    value = _read_finite(joint, attributes, name, notes)
    if value is not None and value < 0.0:
        notes.append(f"the {name} {value:g} of joint {joint.name!r} is below zero, and is ignored")
        return None
    return value


def _read_finite(joint: JointElement, attributes: Attributes, name: str, notes: list[str]) -> float | None:
    """Read a finite number of an attribute, or None. Infinity means no limit and gives None."""
    if name not in attributes:
        return None
    text = attributes[name].strip()
    if not is_number(text):
        if text.lower().lstrip("+-") in ("inf", "infinity"):
            return None
        notes.append(f"the {name} of joint {joint.name!r} is no number but {quote_excerpt(text)}, and is ignored")
        return None
    value = float(text)
    return value if math.isfinite(value) and abs(value) <= MAX_NUMBER else None


# --- Joints of a URDF robot ------------------------------------------------------------------------------------------


KIND_BY_TYPE = {
    "revolute": Kind.HINGE, "continuous": Kind.HINGE, "prismatic": Kind.SLIDE, "fixed": Kind.FIXED,
    "floating": Kind.FREE, "planar": Kind.HINGE,
}  # fmt: skip
_MAX_LENGTH_ERROR = 1e-4  # tolerance of an axis's length; axes printed with few digits ("0.7071 0.7071 0") give no note
_ZERO_VECTOR = (0.0, 0.0, 0.0)


class JointRow(NamedTuple):
    """Skeleton row: transform A, kind, axis, limit, motor. The rotation of A is in roll, pitch and yaw [rad]."""

    name: str
    kind: Kind
    offset: tuple[float, ...] = _ZERO_VECTOR
    rpy: tuple[float, ...] = _ZERO_VECTOR
    axis: tuple[float, ...] = _ZERO_VECTOR
    limit: Range | None = None
    limit_byte: int = -1
    motor: Motor | None = None


class Mimic(NamedTuple):
    """Coupling of a joint to a leader. Its value is ratio * value of the joint `leader` + offset."""

    leader: str
    ratio: float
    offset: float


class JointReader:
    """Reader of one joint element. Its errors name the joint and line."""

    def __init__(self, path: Path, element: JointElement) -> None:
        self.path = path
        self.element = element
        self.notes: list[str] = []
        self.has_empty_range: bool = False

    def fail(self, reason: str) -> NoReturn:
        """Raise a FileError with this joint's name and line."""
        joint = self.element
        raise FileError(self.path, reason, place=f"line {joint.line}: joint {quote_excerpt(joint.name)}")

    def build_rows(self, used_names: set[str]) -> list[JointRow]:
        """Build the rows of this joint, top down. The last one has its name; the others avoid `used_names`."""
        joint = self.element
        if joint.type not in KIND_BY_TYPE:
            reason = f"unknown type {quote_excerpt(joint.type)}" if joint.type else "no type"
            self.fail(f"{reason}; known: {', '.join(KIND_BY_TYPE)}")
        kind = KIND_BY_TYPE[joint.type]
        offset = self._parse_vector(joint.origin, "origin", "xyz", _ZERO_VECTOR)
        rpy = self._parse_vector(joint.origin, "origin", "rpy", _ZERO_VECTOR)
        axis = self._read_axis() if kind in (Kind.HINGE, Kind.SLIDE) else _ZERO_VECTOR
        if joint.type == "planar":
            return self._build_planar_rows(offset, rpy, axis, used_names)
        limit = self._read_limit() if joint.type in ("revolute", "prismatic") else None
        limit_byte = joint.limit_byte if limit or self.has_empty_range else -1
        return [JointRow(joint.name, kind, offset, rpy, axis, limit, limit_byte, self._read_motor(kind))]

    def read_mimic(self) -> Mimic | None:
        """Read the coupling to another joint, if any."""
        joint = self.element
        if joint.mimic is None:
            return None
        if not joint.has_value:
            self.notes.append(f"<mimic> of {joint.name!r} is ignored: a {joint.type} joint has no single value")
            return None
        leader = joint.mimic.get("joint", "")
        if not leader:
            self.fail("<mimic> names no joint")
        ratio = self._parse_number(joint.mimic.get("multiplier", "1"), "mimic multiplier")
        return Mimic(leader, ratio, self._parse_number(joint.mimic.get("offset", "0"), "mimic offset"))

    def _parse_number(self, text: str, label: str) -> float:
        try:
            return parse_number(text.strip())
        except ValueError as error:
            hint = "; this looks like a xacro template: run xacro first" if "${" in text else ""
            self.fail(f"{label}: {error}{hint}")

    def _parse_vector(
        self, attributes: Attributes | None, element: str, name: str, default: tuple[float, ...]
    ) -> tuple[float, ...]:
        text = (attributes or {}).get(name)
        if text is None:
            return default
        words = text.split()
        if len(words) != 3:  # noqa: PLR2004  (x y z)
            self.fail(f"{element} {name} needs three numbers, not {quote_excerpt(text)}")
        try:
            return parse_vector(text)
        except ValueError:  # say which word
            return tuple(self._parse_number(word, f"{element} {name}") for word in words)

    def _read_axis(self) -> tuple[float, ...]:
        axis = self._parse_vector(self.element.axis, "axis", "xyz", (1.0, 0.0, 0.0))
        length = math.hypot(*axis)
        if length == 0.0:
            self.fail("the axis has zero length")
        if abs(length - 1.0) > _MAX_LENGTH_ERROR:
            self.notes.append(f"the axis of joint {self.element.name!r} has length {length:g} and was normalised")
        return unit_axis(axis)

    def _read_limit(self) -> Range | None:
        """Read the range of a revolute or prismatic joint. None, with a note, where the file gives none."""
        name, limit = self.element.name, self.element.limit
        if limit is None or ("lower" not in limit and "upper" not in limit):
            # URDF defines a missing end as 0; a file without both ends means an unlimited joint, not the range 0 to 0
            self.notes.append(f"joint {name!r} has no lower and upper limit and was read as unlimited")
            return None
        low, high = self._parse_end(limit, "lower"), self._parse_end(limit, "upper")
        if low == math.inf or high == -math.inf or low > high:
            self.has_empty_range = True
            self.notes.append(
                f"the range of joint {name!r} is ignored: its lower limit {low:g} is above its upper limit {high:g}"
            )
            return None
        if math.isinf(low) or math.isinf(high):
            side_text = "" if math.isinf(low) and math.isinf(high) else " above" if math.isinf(high) else " below"
            self.notes.append(f"joint {name!r} has an infinite limit and was read as unlimited{side_text}")
        return Range(low, high, source="file") if math.isfinite(low) or math.isfinite(high) else None

    def _parse_end(self, limit: Attributes, name: str) -> float:
        text = limit.get(name, "0").strip()
        try:
            return parse_number(text)
        except ValueError:
            pass  # an infinite end, or an error of its joint
        if text.lower().lstrip("+-") in ("inf", "infinity"):
            return -math.inf if text.startswith("-") else math.inf
        if is_number(text) and abs(float(text)) > MAX_NUMBER:  # some files use the largest double for no limit
            return math.copysign(math.inf, float(text))
        return self._parse_number(text, f"{name} limit")

    def _read_motor(self, kind: Kind) -> Motor | None:
        """Read the motor of a moving joint.

        None, without a note, for a joint that does not move.
        """
        motor, notes = read_motor(self.element) if kind != Kind.FIXED else (None, [])
        self.notes += notes
        return motor

    def _build_planar_rows(
        self, offset: tuple[float, ...], rpy: tuple[float, ...], normal: tuple[float, ...], used_names: set[str]
    ) -> list[JointRow]:
        """Build two slides in the plane and a hinge about its normal. The hinge has the joint's name."""
        name = self.element.name
        first_axis, second_axis = _find_plane_axes(normal)
        x_name, y_name = _find_free_name(f"{name}_x", used_names), _find_free_name(f"{name}_y", used_names)
        self.notes.append(
            f"planar joint {name!r} was read as the slides {x_name!r} and {y_name!r} and the hinge {name!r}"
        )
        return [
            JointRow(x_name, Kind.SLIDE, offset, rpy, first_axis),
            JointRow(y_name, Kind.SLIDE, axis=second_axis),
            JointRow(name, Kind.HINGE, axis=normal, motor=self._read_motor(Kind.HINGE)),
        ]


def _find_plane_axes(normal: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Find two unit vectors with `normal` as cross product. They are x and y for the normal z."""
    largest_component = max(range(3), key=lambda k: abs(normal[k]))
    k = (largest_component + 1) % 3
    first_axis = unit_axis([(1.0 if i == k else 0.0) - normal[k] * normal[i] for i in range(3)])
    (a, b, c), (x, y, z) = normal, first_axis
    return first_axis, (b * z - c * y, c * x - a * z, a * y - b * x)


def _find_free_name(base_name: str, used_names: set[str]) -> str:
    name, suffix = base_name, 0
    while name in used_names:
        suffix += 1
        name = f"{base_name}_{suffix}"
    used_names.add(name)
    return name


# --- Inertial of a URDF link: mass and centre of mass ----------------------------------------------------------------


def read_inertial(elements: dict[str, Attributes]) -> Inertial | None:
    """Read the mass [kg] and its centre in the link's frame [m].

    They come from the elements of an <inertial>; None if unreadable.
    """
    try:
        mass = parse_number(elements.get("mass", {}).get("value", "").strip())
        x, y, z = parse_vector(elements.get("origin", {}).get("xyz", "0 0 0"))
    except ValueError:
        return None
    return Inertial(mass, (x, y, z)) if mass >= 0.0 else None


# --- Link tree of a URDF file and its mimic joints -------------------------------------------------------------------
#
# Every link but the root has one parent joint; mimic joints lead to a free one.


def find_root_link(path: Path, robot: RobotElement) -> str:
    """Find the root link. Any graph other than a tree is refused."""
    if not robot.links:
        raise FileError(path, "the robot has no link")
    joint_by_child: dict[str, JointElement] = {}
    for joint in robot.joints.values():
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if not link:
                JointReader(path, joint).fail(f"no {role} link")
            if link not in robot.links:
                JointReader(path, joint).fail(f"unknown {role} link {quote_excerpt(link)}")
        if joint.child in joint_by_child:
            first_name = joint_by_child[joint.child].name
            JointReader(path, joint).fail(
                f"link {quote_excerpt(joint.child)} is already the child of joint {quote_excerpt(first_name)}"
            )
        joint_by_child[joint.child] = joint
    roots = [link for link in robot.links if link not in joint_by_child]
    if not roots:
        raise FileError(path, "no root: every link is the child of a joint, so the links form a loop")
    if len(roots) > 1:
        raise FileError(path, f"{len(roots)} links have no parent joint and one root is needed: {join_names(roots)}")
    return roots[0]


def sort_joints(path: Path, robot: RobotElement, root: str) -> list[JointElement]:
    """Sort joints with parents first, otherwise in file order.

    The next one is always the first in the file whose parent is there.
    """
    joints_by_parent: dict[str, list[tuple[int, JointElement]]] = {}
    for rank, joint in enumerate(robot.joints.values()):
        joints_by_parent.setdefault(joint.parent, []).append((rank, joint))
    ready_joints = [(rank, joint.name) for rank, joint in joints_by_parent.get(root, [])]
    heapq.heapify(ready_joints)
    sorted_joints: list[JointElement] = []
    while ready_joints:
        joint = robot.joints[heapq.heappop(ready_joints)[1]]
        sorted_joints.append(joint)
        for rank, child_joint in joints_by_parent.get(joint.child, []):
            heapq.heappush(ready_joints, (rank, child_joint.name))
    if len(sorted_joints) < len(robot.joints):
        sorted_names = {joint.name for joint in sorted_joints}
        loop_names = [name for name in robot.joints if name not in sorted_names]
        raise FileError(
            path, f"joints form a loop that the root {quote_excerpt(root)} does not reach: {join_names(loop_names)}"
        )
    return sorted_joints


def resolve_mimics(path: Path, robot: RobotElement, mimics: dict[str, Mimic], notes: list[str]) -> dict[str, Mimic]:
    """Resolve mimics of mimics to free leaders. Ratios are multiplied and offsets combined.

    A joint with a missing leader, or one without a single value, moves independently; `notes` gets a sentence.
    """
    mimics = {name: mimic for name, mimic in mimics.items() if _can_follow(robot, name, mimic, notes)}
    resolved_mimics: dict[str, Mimic] = {}
    for name in list(mimics):
        open_names: dict[str, None] = {}  # a dictionary as an ordered set, because chains of mimics may be long
        current = name
        while current in mimics and current not in resolved_mimics:
            if current in open_names:
                cycle = [*open_names, current][[*open_names].index(current) :]
                JointReader(path, robot.joints[current]).fail(f"mimics in a cycle: {join_names(cycle)}")
            open_names[current] = None
            current = mimics[current].leader
        for follower in reversed(open_names):
            resolved_mimics[follower] = _compose_mimic(
                path, robot, follower, mimics[follower], resolved_mimics.get(mimics[follower].leader)
            )
    return resolved_mimics


def _can_follow(robot: RobotElement, name: str, mimic: Mimic, notes: list[str]) -> bool:
    """Return whether the mimicked joint exists and has a value."""
    leader = robot.joints.get(mimic.leader)
    if leader is None:
        notes.append(f"<mimic> of {name!r} is ignored: there is no joint {quote_excerpt(mimic.leader)}")
    elif not leader.has_value:
        notes.append(
            f"<mimic> of {name!r} is ignored: {quote_excerpt(leader.name)} is a {leader.type} joint without a value"
        )
    return leader is not None and leader.has_value


def _compose_mimic(path: Path, robot: RobotElement, name: str, mimic: Mimic, leader_mimic: Mimic | None) -> Mimic:
    if leader_mimic is None:
        return mimic
    ratio, offset = mimic.ratio * leader_mimic.ratio, mimic.ratio * leader_mimic.offset + mimic.offset
    if not math.hypot(ratio, offset) <= MAX_NUMBER:
        JointReader(path, robot.joints[name]).fail("mimics a mimic with too large a multiplier or offset")
    return Mimic(leader_mimic.leader, ratio, offset)
