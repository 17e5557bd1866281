"""What every goal offers to the code that packs it, and the few lines that all of them share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Protocol, Self

from numpy.typing import ArrayLike

from poise.errors import InputError, quoted
from poise.maths.arguments import named, several
from poise.maths.arrays import Floats, finite, real, short
from poise.maths.options import truth
from poise.problem.goals.base.targets import FARTHEST

_PAIR = 2
_JOINTS = {"joint", "root", "tip"}
ORIGIN = (0.0, 0.0, 0.0)


class AnyGoal(Protocol):
    """What is wanted of a pose: a frozen value."""

    @property
    def measures(self) -> tuple[str, ...]:
        """What is measured of the joint, in order; empty for a mere preference.

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
        """Batch axes of the target; () for a single one and where there is none."""
        ...

    @property
    def width(self) -> int:
        """How many numbers one target has in `rows`; 0 where there is none."""
        ...

    def rows(self) -> Floats:
        """Return the targets as numbers (..., width); read-only where the goal holds them so."""
        ...

    def parse(self, value: ArrayLike) -> Floats:
        """Turn another target into a new array (..., width), with the checks of the constructor; nothing is kept.

        Rows that `rows` or `parse` gave come back bit for bit. InputError where the goal has no target.
        """
        ...

    def with_target(self, value: ArrayLike) -> Self:
        """Return the same goal for another target, given as for `parse`; InputError where it has none."""
        ...


class JointGoal(AnyGoal, Protocol):
    """A goal for one joint.

    Notes
    -----
    A goal that measures a position or an aim may have an `offset`: the point, in the frame of its joint, that it speaks
    of. One that measures a direction or an aim has an `axis`: the direction in that frame that points. One that
    measures a rotation may have a `rotation_weight`: a further factor of that residual. A goal with a true `optional`
    comes after the others, and does not count for what is reached. Fields of other names are not
    packed: they may only change what the targets are.
    """

    @property
    def joint(self) -> str:
        """Name of the joint."""
        ...

    @property
    def root(self) -> str | None:
        """The first joint that may move for it; None is the first of the limb (see Skeleton.chain)."""
        ...


def is_optional(goal: AnyGoal) -> bool:
    """Whether a goal is met only as far as that costs the others nothing."""
    return getattr(goal, "optional", False)


def rank_of(goal: AnyGoal) -> dict[str, bool]:
    """What makes a copy of a goal optional, too; nothing where it is not, for classes that do not know the word."""
    return {"optional": True} if is_optional(goal) else {}


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
        if name in _JOINTS and not isinstance(value, str) and (value is not None or name == "joint"):
            message = f"the {name} of {type(goal).__name__} is the name of a joint, not {short(value)}"
            raise InputError(message)
        if name == "optional" and type(value) is not bool:
            value = truth(f"`optional` of {type(goal).__name__}", value)  # noqa: PLW2901
        object.__setattr__(goal, name, value)


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
    owner = what if joint is None else quoted(joint)
    number = real(weight, f"the weight of {owner}")
    if not 0.0 < number < math.inf:
        message = f"the weight of {owner} must be finite and above 0, not {short(weight)}"
        raise InputError(message)
    return number


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
    numbers = finite(offset, f"the offset of {quoted(joint)}", last=3)
    if numbers.ndim != 1:
        message = f"the offset of {quoted(joint)} is one point in its frame; got an array of shape {numbers.shape}"
        raise InputError(message)
    x, y, z = numbers.tolist()
    if max(abs(x), abs(y), abs(z)) > FARTHEST:
        message = f"the offset of {quoted(joint)} lies beyond {FARTHEST:g}: no length is meant by that"
        raise InputError(message)
    return (x, y, z)


def names_and_weights(given: Any, what: str) -> dict[str, float | None]:
    """Names and their weights > 0 from a mapping or from pairs; None for names alone. Repeats count once."""
    items: Iterable[Any] = (
        given.items() if isinstance(given, Mapping) else several(given, what, "['spine', 'head']", "names")
    )
    pairs: list[Any] = [item if isinstance(item, tuple) and len(item) == _PAIR else (item, None) for item in items]
    found: dict[str, float | None] = {}
    for name, weight in pairs:
        if not isinstance(name, str):
            message = f"{what} are names, or pairs of a name and a weight; one of them is {named(name)}"
            raise InputError(message)
        found[name] = None if weight is None else checked_weight(weight, f"{quoted(name)} among {what}")
    return found


def refuse_target(what: str) -> NoReturn:
    """Raise InputError for a new target where there is none."""
    message = f"{what} has no target that could be replaced; make a new goal instead"
    raise InputError(message)
