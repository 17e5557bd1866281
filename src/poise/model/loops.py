"""Closed loops: ties between two joints beyond the joint tree.

A Loop is data of a Skeleton, like a limit. `model/loop_gaps.py` measures the gaps that a pose leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_names, check_text
from poise.calls.old_names import make_alias
from poise.errors import InputError
from poise.kernels.thresholds import UNIT_SLACK
from poise.maths.arrays import Floats, abbreviate, check_finite, check_real
from poise.maths.rotations import normalise
from poise.model.joints import make_unique_names
from poise.model.limits import AxisTuple, unit_axis

Hold: TypeAlias = Literal["point", "line", "turn", "axis"]
Point: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]

HOLDS: tuple[Hold, ...] = ("point", "line", "turn", "axis")
_ROTATION_HOLDS = frozenset({"turn", "axis"})
_POINT_SIZE, _QUATERNION_SIZE = 3, 4


@dataclass(frozen=True)
class Loop:
    """A tie between two joints, closing a loop of the tree.

    A loop is a limit: a pose that leaves it open is not reached. A tie to the world is a tie to a fixed joint, such as
    the base of a robot.

    Parameters
    ----------
    a, b
        Names of the two joints.
    point_a, point_b
        The points held together, (x, y, z) in the frame of the own joint [file units].
    rotation
        w x y z of b's frame in a's frame, held by the loop. None: only the points are held.
    holds
        What the loop holds. "point": point b on point a. "line": point b on the line through point a along `axis`.
        "turn": the rotation. "axis": the rotation, except for turns about `axis`. Default: "point", and "turn" where
        there is a rotation.
    axis
        Unit axis in a's frame, for "line" and "axis".
    name
        Name in messages and files; default: the names of the two joints.
    """

    a: str
    b: str
    point_a: Point = (0.0, 0.0, 0.0)
    point_b: Point = (0.0, 0.0, 0.0)
    rotation: Quaternion | None = None
    _: KW_ONLY
    holds: tuple[Hold, ...] = ()
    axis: AxisTuple = (0.0, 0.0, 1.0)
    name: str = ""

    def __post_init__(self) -> None:
        for field in ("a", "b"):
            check_text(getattr(self, field), f"the joint {field} of a loop")
        check_text(self.name, "the name of a loop")
        if self.a == self.b:
            raise InputError(f"a loop ties two joints; both ends of this one are {self.a!r}")
        set_field: Any = object.__setattr__
        set_field(self, "name", self.name or _join_joints(self.a, self.b))
        for field in ("point_a", "point_b"):
            set_field(self, field, _check_numbers(getattr(self, field), f"{field} of a loop", _POINT_SIZE, "x, y, z"))
        if self.rotation is not None:
            set_field(self, "rotation", _check_rotation(self.rotation))
        set_field(self, "axis", unit_axis(_check_numbers(self.axis, "the axis of a loop", _POINT_SIZE, "x, y, z")))
        set_field(self, "holds", self._check_holds())

    def _check_holds(self) -> tuple[Hold, ...]:
        """Check what the loop holds. Nothing given means the points, and the rotation where there is one."""
        holds: Any = check_names(self.holds, "what a loop holds", "['point']")
        if not holds:
            return ("point",) if self.rotation is None else ("point", "turn")
        if not set(holds) <= set(HOLDS):
            raise InputError(f"a loop holds one or more of {', '.join(HOLDS)}, not {abbreviate(self.holds)}")
        if bool(_ROTATION_HOLDS.intersection(holds)) != (self.rotation is not None):
            raise InputError(
                f"a loop that holds 'turn' or 'axis' needs a rotation, any other takes none; this one holds "
                f"{abbreviate(holds)} with the rotation {abbreviate(self.rotation)}"
            )
        return holds

    @property
    def joints(self) -> tuple[str, str]:
        """The names of both joints."""
        return self.a, self.b

    def scale(self, factor: float) -> Loop:
        """Return the loop in other units, lengths times a factor."""
        factor = check_real(factor, "the factor of a loop's size")
        point_a, point_b = (tuple([x * factor for x in point]) for point in (self.point_a, self.point_b))
        return replace(self, point_a=point_a, point_b=point_b)

    scaled: ClassVar[Any] = make_alias("Loop.scaled", scale)

    def is_within(self, joints: Container[str]) -> bool:
        """Return whether the loop ties only joints of a container."""
        return self.a in joints and self.b in joints


class OpenLoop(NamedTuple):
    """An open loop of a pose, with its gap.

    Parameters
    ----------
    name
        Its name.
    joints
        The two tied joints.
    distance
        Position gap [file units].
    angle
        Rotation gap [rad].
    """

    name: str
    joints: tuple[str, str]
    distance: float
    angle: float


def select_loops(loops: Sequence[Loop], joints: Collection[str]) -> tuple[Loop, ...]:
    """Select the loops between these joints."""
    return tuple(loop for loop in loops if loop.is_within(joints))


def make_names_unique(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Number loops of equal names, as `make_unique_names` does. Two points between the same bodies are two loops."""
    names = make_unique_names(loop.name for loop in loops)
    return tuple(replace(loop, name=name) for loop, name in zip(loops, names, strict=True))


def rename_joints(loop: Loop, names: Mapping[str, str]) -> Loop:
    """Rename the joints of a loop, by their old names. A name made from the joints follows."""
    a, b = (names.get(joint, joint) for joint in loop.joints)
    is_named_by_joints = loop.name == _join_joints(loop.a, loop.b)
    return replace(loop, a=a, b=b, name="" if is_named_by_joints else loop.name)


def _join_joints(a: str, b: str) -> str:
    return f"{a}-{b}"


def _check_numbers(values: ArrayLike, label: str, count: int, letters: str) -> Any:
    """Check a few numbers; return a tuple of them."""
    numbers = check_finite(values, label)
    if numbers.shape != (count,):
        raise InputError(f"{label} has {count} numbers ({letters}), not {abbreviate(values)}")
    return tuple(numbers.tolist())


def _check_rotation(values: ArrayLike) -> Quaternion:
    """Check a quaternion. One of unit length to rounding stays bit for bit."""
    label = "the rotation of a loop"
    quaternion: Floats = np.array(_check_numbers(values, label, _QUATERNION_SIZE, "w, x, y, z"))
    if not quaternion.any():
        raise InputError(f"{label} has the length zero")
    if abs(float(quaternion @ quaternion) - 1.0) > UNIT_SLACK:
        quaternion = normalise(quaternion)
    w, x, y, z = quaternion.tolist()
    return (w, x, y, z)
