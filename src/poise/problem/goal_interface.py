"""Common interface of goals, and checks of their fields."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_bool, check_entries, describe_value
from poise.errors import InputError, quote_value
from poise.maths.arrays import Floats, abbreviate, check_finite, check_real
from poise.problem.target_parsing import MAX_COORDINATE, points
from poise.runtime.immutable_values import FrozenValue
from poise.runtime.result_cache import copy_own_fields

_PAIR_SIZE = 2
_JOINT_FIELDS = {"joint", "root", "tip"}
ORIGIN = (0.0, 0.0, 0.0)
_set_attribute = object.__setattr__  # goals are frozen and written through it


class GoalValue:
    """Base class of all goals of Poise. A type checker finds it as the type of a list with several kinds of goals."""


class AnyGoal(Protocol):
    """Any goal, as a frozen value."""

    @property
    def measures(self) -> tuple[str, ...]:
        """Measured quantities of the joint, in order. Empty for a preference.

        Each is one of "position", "rotation", "direction", "aim" and "pole". The error of a position is a distance
        [file units], of all others an angle [rad], 0 to pi.
        """
        ...

    @property
    def weight(self) -> float:
        """A factor > 0 of the goal's residual."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes of the target; () without a batch or target."""
        ...

    @property
    def width(self) -> int:
        """Length of a target row; 0 without a target."""
        ...

    def rows(self) -> Floats:
        """Return the targets as rows (..., width). They are read-only where the goal stores them so."""
        ...

    def parse(self, value: ArrayLike) -> Floats:
        """Convert another target into a new array (..., width).

        The value is checked as in the constructor, and the goal is not changed.

        Rows that `rows` or `parse` gave come back bit for bit. InputError where the goal has no target.
        """
        ...

    def with_target(self, value: ArrayLike) -> Self:
        """Return this goal with another target. It is parsed as by `parse`; InputError where the goal has no target."""
        ...


class JointGoal(AnyGoal, Protocol):
    """A goal for one joint.

    Notes
    -----
    Goals measuring a position or an aim may have an `offset`: the measured point in the frame of the joint. Goals
    measuring a direction or an aim have an `axis`: the pointing direction in that frame. Goals measuring a rotation may
    have a `rotation_weight`: a further factor of that residual. A goal with `optional` True is solved after the others,
    and does not count for `reached`. One with a `pull` below 1 takes joints beyond its limb only so far along. Other
    fields are not packed: they may only affect the targets.
    """

    @property
    def joint(self) -> str:
        """Name of the joint."""
        ...

    @property
    def root(self) -> str | None:
        """First joint moved by the goal. None is the first of the limb (see Skeleton.chain)."""
        ...


def is_optional(goal: AnyGoal) -> bool:
    """Return whether a goal is optional. Optional goals are met only as far as the others allow."""
    return getattr(goal, "optional", False)


def set_fields(goal: object, **values: object) -> None:
    """Set fields of a frozen value. Only its own `__init__` may do so.

    Parameters
    ----------
    goal
        The value.
    **values
        Names of fields and what they become.
    """
    for name, value in values.items():
        if name == "optional":
            if type(value) is not bool:
                value = check_bool(value, f"`optional` of {type(goal).__name__}")  # noqa: PLW2901
        elif name in _JOINT_FIELDS and not isinstance(value, str) and (value is not None or name == "joint"):
            message = f"the {name} of {type(goal).__name__} is the name of a joint, not {abbreviate(value)}"
            raise InputError(message)
        _set_attribute(goal, name, value)


def checked_weight(weight: float, what: str = "", *, joint: str | None = None) -> float:
    """Check a weight.

    Parameters
    ----------
    weight
        A finite number above 0.
    what
        Owner of the weight, for the message.
    joint
        Name of the joint that owns it, in place of `what`; quoted only where the weight is wrong.

    Raises
    ------
    InputError
        For anything else.
    """
    if type(weight) is float and 0.0 < weight < math.inf:
        return weight
    owner = what if joint is None else quote_value(joint)
    finite_weight = check_real(weight, f"the weight of {owner}")
    if not 0.0 < finite_weight < math.inf:
        message = f"the weight of {owner} must be finite and above 0, not {abbreviate(weight)}"
        raise InputError(message)
    return finite_weight


def checked_pull(pull: float, joint: str) -> float:
    """Check a pull.

    Parameters
    ----------
    pull
        A number from 0 to 1.
    joint
        Name of the joint, for the message.

    Raises
    ------
    InputError
        For anything else.
    """
    if type(pull) is float and 0.0 <= pull <= 1.0:
        return pull
    share = check_real(pull, f"the pull of {quote_value(joint)}")
    if not 0.0 <= share <= 1.0:
        message = (
            f"the pull of {quote_value(joint)} is a share from 0 (its own limb alone) to 1 (everything may come), not "
            f"{abbreviate(pull)}"
        )
        raise InputError(message)
    return share


def checked_offset(offset: ArrayLike, joint: str) -> tuple[float, float, float]:
    """Check a point in the frame of a joint.

    Parameters
    ----------
    offset
        Three finite numbers [file units].
    joint
        Name of the joint, for the message.

    Raises
    ------
    InputError
        For anything else.
    """
    if offset is ORIGIN:
        return ORIGIN
    coordinates = check_finite(offset, f"the offset of {quote_value(joint)}", last_axis_length=3)
    if coordinates.ndim != 1:
        message = (
            f"the offset of {quote_value(joint)} is one point in its frame; got an array of shape {coordinates.shape}"
        )
        raise InputError(message)
    x, y, z = coordinates.tolist()
    if max(abs(x), abs(y), abs(z)) > MAX_COORDINATE:
        message = f"the offset of {quote_value(joint)} lies beyond {MAX_COORDINATE:g}, the largest length allowed"
        raise InputError(message)
    return (x, y, z)


def parse_names_and_weights(value: Any, label: str) -> dict[str, float | None]:
    """Parse names and weights > 0 from a mapping or pairs. Names alone have the weight None. Repeats count once."""
    items: Iterable[Any] = (
        value.items() if isinstance(value, Mapping) else check_entries(value, label, "['spine', 'head']", "names")
    )
    pairs: list[Any] = [item if isinstance(item, tuple) and len(item) == _PAIR_SIZE else (item, None) for item in items]
    weights: dict[str, float | None] = {}
    for name, weight in pairs:
        if not isinstance(name, str):
            message = f"{label} are names, or pairs of a name and a weight; one of them is {describe_value(name)}"
            raise InputError(message)
        weights[name] = None if weight is None else checked_weight(weight, f"{quote_value(name)} among {label}")
    return weights


def refuse_target(label: str) -> NoReturn:
    """Raise InputError for a new target where there is none."""
    message = f"{label} has no target that could be replaced; make a new goal instead"
    raise InputError(message)


# --- Base class of goals with a world point as target ----------------------------------------------------------------


_PLANE_DIMENSIONS = 2


class PointTarget(GoalValue, FrozenValue):
    """Target of one point (..., 3) [file units, world]. Leading axes are a batch.

    target_label    name of the target in error messages
    accepts_planar  whether points (..., 2) are accepted; z is then 0
    flat            whether this target was given as points (..., 2)
    """

    width = 3
    target_label = "target"
    accepts_planar = False
    flat = False

    joint: str
    target: Floats

    def _store_target(self, value: ArrayLike) -> None:
        """Store checked points, read-only. This is the constructor's last step."""
        rows = self.parse(value)
        if self.accepts_planar:
            _set_attribute(self, "flat", np.shape(value)[-1:] == (_PLANE_DIMENSIONS,))
        rows.setflags(write=False)
        _set_attribute(self, "target", rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes of the target; () for a single one."""
        return self.target.shape[:-1]

    def rows(self) -> Floats:
        """Return the points (..., 3), read-only."""
        return self.target

    def parse(self, value: ArrayLike) -> Floats:
        """Parse other points into rows (..., 3). Raises InputError as the constructor does."""
        return points(value, f"the {self.target_label} of {self.joint!r}", planar=self.accepts_planar)

    def with_target(self, value: ArrayLike) -> Self:
        """Return this goal with other points."""
        new_goal = copy_own_fields(self)
        new_goal._store_target(value)  # noqa: SLF001  (of the same class)
        return new_goal
