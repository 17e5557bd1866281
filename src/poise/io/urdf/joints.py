"""Joints of a URDF file: skeleton rows, limits, motors, masses, tree order."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple, NoReturn

from poise.errors import FileError
from poise.io.numbers import LARGEST, is_number, number, shown
from poise.io.urdf.document import Attributes, JointElement
from poise.io.urdf.motors import read_motor
from poise.maths import euler
from poise.model.limits import Range, unit_axis
from poise.model.motors import Motor
from poise.model.skeleton import Kind

KINDS = {
    "revolute": Kind.HINGE, "continuous": Kind.HINGE, "prismatic": Kind.SLIDE, "fixed": Kind.FIXED,
    "floating": Kind.FREE, "planar": Kind.HINGE,
}  # fmt: skip
_UNIT = 1e-4  # tolerance of an axis's length; axes printed with few digits ("0.7071 0.7071 0") give no note
_ZERO3, _IDENTITY = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


class JointRow(NamedTuple):
    """Skeleton row before placement: transform A, kind, axis and limit."""

    name: str
    kind: Kind
    offset: tuple[float, ...] = _ZERO3
    rotation: tuple[float, ...] = _IDENTITY
    axis: tuple[float, ...] = _ZERO3
    limit: Range | None = None
    limit_at: int = -1
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
        self.has_empty_range = False

    def fail(self, reason: str) -> NoReturn:
        """Raise a FileError with this joint's name and line."""
        joint = self.element
        raise FileError(self.path, reason, place=f"line {joint.line}: joint {shown(joint.name)}")

    def rows(self, taken: set[str]) -> list[JointRow]:
        """Build the rows of this joint, top down. The last one has its name; the others avoid `used_names`."""
        joint = self.element
        if joint.type not in KINDS:
            what = f"unknown type {shown(joint.type)}" if joint.type else "no type"
            self.fail(f"{what}; known: {', '.join(KINDS)}")
        kind = KINDS[joint.type]
        offset = self._three(joint.origin, "origin", "xyz", _ZERO3)
        roll, pitch, yaw = self._three(joint.origin, "origin", "rpy", _ZERO3)
        rotation = tuple(euler.to_quaternion([yaw, pitch, roll], "ZYX").tolist())
        axis = self._axis() if kind in (Kind.HINGE, Kind.SLIDE) else _ZERO3
        if joint.type == "planar":
            return self._planar(offset, rotation, axis, taken)
        limit = self._limit() if joint.type in ("revolute", "prismatic") else None
        limit_at = joint.limit_at if limit or self.has_empty_range else -1
        return [JointRow(joint.name, kind, offset, rotation, axis, limit, limit_at, self._motor(kind))]

    def mimic(self) -> Mimic | None:
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
        ratio = self._number(joint.mimic.get("multiplier", "1"), "mimic multiplier")
        return Mimic(leader, ratio, self._number(joint.mimic.get("offset", "0"), "mimic offset"))

    def _number(self, text: str, what: str) -> float:
        try:
            return number(text.strip())
        except ValueError as error:
            hint = "; this looks like a xacro template: run xacro first" if "${" in text else ""
            self.fail(f"{what}: {error}{hint}")

    def _three(
        self, attributes: Attributes | None, element: str, name: str, default: tuple[float, ...]
    ) -> tuple[float, ...]:
        text = (attributes or {}).get(name)
        if text is None:
            return default
        words = text.split()
        if len(words) != 3:  # noqa: PLR2004  (x y z)
            self.fail(f"{element} {name} needs three numbers, not {shown(text)}")
        return tuple(self._number(word, f"{element} {name}") for word in words)

    def _axis(self) -> tuple[float, ...]:
        given = self._three(self.element.axis, "axis", "xyz", (1.0, 0.0, 0.0))
        length = math.hypot(*given)
        if length == 0.0:
            self.fail("the axis has zero length")
        if abs(length - 1.0) > _UNIT:
            self.notes.append(f"the axis of joint {self.element.name!r} has length {length:g} and was normalised")
        return unit_axis(given)

    def _limit(self) -> Range | None:
        """Read the range of a revolute or prismatic joint. None, with a note, where the file gives none."""
        name, limit = self.element.name, self.element.limit
        if limit is None or ("lower" not in limit and "upper" not in limit):
            # URDF defines a missing end as 0; a file without both ends means an unlimited joint, not the range 0 to 0
            self.notes.append(f"joint {name!r} has no lower and upper limit and was read as unlimited")
            return None
        low, high = self._end(limit, "lower"), self._end(limit, "upper")
        if low == math.inf or high == -math.inf or low > high:
            self.has_empty_range = True
            self.notes.append(
                f"the range of joint {name!r} is ignored: its lower limit {low:g} is above its upper limit {high:g}"
            )
            return None
        if math.isinf(low) or math.isinf(high):
            side = "" if math.isinf(low) and math.isinf(high) else " above" if math.isinf(high) else " below"
            self.notes.append(f"joint {name!r} has an infinite limit and was read as unlimited{side}")
        return Range(low, high, source="file") if math.isfinite(low) or math.isfinite(high) else None

    def _end(self, limit: Attributes, name: str) -> float:
        text = limit.get(name, "0").strip()
        if text.lower().lstrip("+-") in ("inf", "infinity"):
            return -math.inf if text.startswith("-") else math.inf
        if is_number(text) and abs(float(text)) > LARGEST:  # some files use the largest double for no limit
            return math.copysign(math.inf, float(text))
        return self._number(text, f"{name} limit")

    def _motor(self, kind: Kind) -> Motor | None:
        """Read the motor of a moving joint.

        None, without a note, for a joint that does not move.
        """
        motor, notes = read_motor(self.element) if kind != Kind.FIXED else (None, [])
        self.notes += notes
        return motor

    def _planar(
        self, offset: tuple[float, ...], rotation: tuple[float, ...], normal: tuple[float, ...], taken: set[str]
    ) -> list[JointRow]:
        """Build two slides in the plane and a hinge about its normal. The hinge has the joint's name."""
        name = self.element.name
        first, second = _plane(normal)
        x, y = _free_name(f"{name}_x", taken), _free_name(f"{name}_y", taken)
        self.notes.append(f"planar joint {name!r} was read as the slides {x!r} and {y!r} and the hinge {name!r}")
        return [
            JointRow(x, Kind.SLIDE, offset, rotation, first),
            JointRow(y, Kind.SLIDE, axis=second),
            JointRow(name, Kind.HINGE, axis=normal, motor=self._motor(Kind.HINGE)),
        ]


def _plane(normal: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Find two unit vectors with `normal` as cross product. They are x and y for the normal z."""
    largest = max(range(3), key=lambda k: abs(normal[k]))
    k = (largest + 1) % 3
    first = unit_axis([(1.0 if i == k else 0.0) - normal[k] * normal[i] for i in range(3)])
    (a, b, c), (x, y, z) = normal, first
    return first, (b * z - c * y, c * x - a * z, a * y - b * x)


def _free_name(wanted: str, taken: set[str]) -> str:
    name, k = wanted, 0
    while name in taken:
        k += 1
        name = f"{wanted}_{k}"
    taken.add(name)
    return name
