"""Ranges of goals: a set of positions and rotations about a target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from poise.calls.argument_checks import check_bool
from poise.errors import InputError
from poise.formatting import format_fields
from poise.kernels.layout import (
    JOINT_BOX,
    LIMIT_BOUNDS,
    LIMIT_FRAME,
    LIMIT_KIND,
    LIMIT_ROW,
    LIMIT_X_HIGH,
    LIMIT_X_LOW,
    NO_SET,
    RANGE,
    TARGET_BOX,
    TURN_SET,
)
from poise.maths import rotations
from poise.maths.arrays import Floats, abbreviate
from poise.model.limit_bounds import clamp_angles, clamp_rotations, pack_limit
from poise.model.limits import LIMIT_CLASSES, Limit, Range, SwingTwist, is_soft
from poise.model.limits.range import check_ends

Interval = tuple[float, float]
_EXACT = (0.0, 0.0)
_MAX_CACHED_AXES = 128
_Z_AXIS = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Within:
    """A set about the target of a goal.

    The goal is met anywhere in the set, and inside it nothing pulls. Of the poses in the set the answer is one near the
    start, not the middle: never farther from it than the answer for the target alone.

    Parameters
    ----------
    x, y, z
        Lowest and highest offset of the point from the target along each axis [file units]. The default (0, 0) is
        exact, and (-inf, inf) is free.
    turn
        Rotation of the joint from the target rotation, as a limit: Range with an axis (a turn about this axis alone),
        SwingTwist or EulerBox. The default None is exact. `Range(-inf, inf, axis=(0, 0, 1))` frees the turn about z,
        for a tool with five axes.
    axes
        Axes of x, y and z. "target": those of the target rotation; for a Position, which has none, the world's or those
        of `relative_to`. "joint": those of the moving joint.

    Raises
    ------
    InputError
        For an interval whose lowest value is above its highest, NaN, a soft limit, and a Range without an axis.

    Notes
    -----
    The error of a position is its distance [file units] to the set, that of a rotation the angle [rad] to the set.
    """

    __repr__ = format_fields

    x: Interval = _EXACT
    y: Interval = _EXACT
    z: Interval = _EXACT
    turn: Limit | None = None
    axes: Literal["target", "joint"] = "target"

    def __post_init__(self) -> None:
        for name in ("x", "y", "z"):
            object.__setattr__(self, name, check_ends(getattr(self, name), f"{name} of a Within"))
        if not isinstance(self.axes, str) or self.axes not in ("target", "joint"):
            raise InputError(f'the axes of a Within are "target" or "joint", not {abbreviate(self.axes)}')
        _check_turn(self.turn)

    @property
    def intervals(self) -> tuple[Interval, Interval, Interval]:
        """The intervals of x, y and z."""
        return self.x, self.y, self.z


def pack_turn(turn: Limit) -> Floats:
    """Pack a set of turns into a row (LIMIT_ROW,). A turn about one axis has the kind RANGE."""
    axis_range = _as_range(turn)
    if axis_range is None:
        return pack_limit(turn)
    assert axis_range.axis is not None
    row = np.zeros(LIMIT_ROW)
    row[LIMIT_KIND] = RANGE
    row[LIMIT_FRAME:LIMIT_BOUNDS] = _find_axis_frame(axis_range.axis)
    row[LIMIT_X_LOW], row[LIMIT_X_HIGH] = axis_range.low, axis_range.high
    return row


@lru_cache(_MAX_CACHED_AXES)
def _find_axis_frame(axis: tuple[float, float, float]) -> tuple[float, ...]:
    """Find the rotation of the z axis onto an axis. Widths change from call to call, and axes seldom."""
    return tuple(rotations.rotation_between(_Z_AXIS, axis).tolist())


def clamp_turns(limit_row: Floats, q: Floats) -> Floats:
    """Clamp rotations q (..., 4) to a set of turns. It is the NumPy twin of `clamp_turn` in kernels/goal_sets.py."""
    if limit_row[LIMIT_KIND] != RANGE:
        return clamp_rotations(limit_row, q)
    axis = rotations.rotate(limit_row[LIMIT_FRAME:LIMIT_BOUNDS], _Z_AXIS)
    twist = 2.0 * np.arctan2((q[..., 1:] * axis).sum(axis=-1), q[..., 0])
    return rotations.about(axis, clamp_angles(twist, limit_row[LIMIT_X_LOW], limit_row[LIMIT_X_HIGH]))


def get_within(goal: Any) -> Within | None:
    """Return the range of a goal, or None."""
    return getattr(goal, "within", None)


def get_set_kind(goal: Any, measure: str) -> int:
    """Return the kind of set of a goal's measure, see kernels/layout.py. Sets without width are NO_SET."""
    within = getattr(goal, "within", None)
    if within is None:
        return NO_SET
    if measure == "position" and any(low < high or low != 0.0 for low, high in within.intervals):
        return JOINT_BOX if within.axes == "joint" else TARGET_BOX
    return TURN_SET if measure == "rotation" and within.turn is not None and not _is_exact(within.turn) else NO_SET


def get_reference(goal: Any) -> str | None:
    """Return the reference joint of a goal, or None for the world."""
    return getattr(goal, "relative_to", None)


def is_set_goal(goal: Any) -> bool:
    """Return whether a goal is relative, or has a wide range."""
    if getattr(goal, "relative_to", None) is not None:
        return True
    if getattr(goal, "within", None) is None:
        return False
    return any(get_set_kind(goal, measure) != NO_SET for measure in goal.measures)


def set_relation(goal: Any, relative_to: str | None, *, follow: bool = False, within: Within | None = None) -> None:
    """Set the fields `relative_to`, `follow` and `within` of a goal. Only its own `__init__` may do so.

    InputError for values of other types, a goal relative to its own joint, and `follow` without `relative_to`.
    """
    joint = goal.joint
    if relative_to is not None and not isinstance(relative_to, str):
        raise InputError(f"relative_to of {joint!r} is the name of a joint, not {abbreviate(relative_to)}")
    if relative_to == joint:
        raise InputError(f"the goal of {joint!r} is relative to the joint itself; name another joint in relative_to")
    if check_bool(follow, f"`follow` of {joint!r}") and relative_to is None:
        raise InputError(f"follow=True of {joint!r} needs relative_to: the joint that is followed")
    _check_within(within, joint, goal.measures)
    fields = {"relative_to": relative_to, "follow": follow, "within": within}
    for name, value in fields.items():
        if value:
            object.__setattr__(goal, name, value)  # goals are frozen


def _check_within(within: Any, joint: str, measures: tuple[str, ...]) -> None:
    """Check the range of a goal. InputError for another value, and for parts that the goal does not measure."""
    if within is None:
        return
    if not isinstance(within, Within):
        raise InputError(f"within of {joint!r} is a poise.Within, such as poise.Within(z=(-0.1, 0.1)), or None")
    if within.turn is not None and "rotation" not in measures:
        raise InputError(f"the goal of {joint!r} has no rotation: its range has no `turn`; use Place or Orientation")
    if within.intervals != (_EXACT,) * 3 and "position" not in measures:
        raise InputError(f"the goal of {joint!r} has no position: its range has no x, y or z; use Place or Position")


def _check_turn(turn: Any) -> None:
    if turn is None:
        return
    if not isinstance(turn, LIMIT_CLASSES):
        raise InputError(
            f"turn of a Within is a Range with an axis, a SwingTwist or an EulerBox, not {abbreviate(turn)}"
        )
    if is_soft(turn):
        raise InputError("turn of a Within is a hard limit: soft=0")
    if isinstance(turn, Range) and turn.axis is None:
        raise InputError("turn of a Within needs the axis of its Range, such as Range(-1, 1, axis=(0, 0, 1))")


def _as_range(turn: Limit) -> Range | None:
    """Return a turn about one axis as a Range. A SwingTwist without swing is one."""
    if isinstance(turn, Range):
        return turn
    if isinstance(turn, SwingTwist) and not any(end for side in turn.sides for end in side):
        return Range(*turn.twist, axis=turn.axis)
    return None


def _is_exact(turn: Limit) -> bool:
    axis_range = _as_range(turn)
    return axis_range is not None and axis_range.low == axis_range.high == 0.0
