"""Joints: kinds, couplings and motors, with their checks and defaults."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from poise.errors import InputError, quoted
from poise.kernels import codes
from poise.kernels.codes import UNIT_SLACK
from poise.maths.arguments import named, several
from poise.maths.arrays import Floats, Ints, finite, frozen, short
from poise.maths.rotations import normalised
from poise.model.limits import NAMES, Limit, Range, SwingTwist, hinge_axis, unit_axis
from poise.model.motors import Motor

_MOST_ROWS = 2**31
# Arrays of a skeleton: field, dtype kinds, shape of a row.
_ARRAYS = (
    ("parents", "iu", ()), ("kinds", "iu", ()), ("axes", "f", (3,)), ("A", "f", (7,)), ("B", "f", (3, 4)),
)  # fmt: skip
# [deg] angles that look like degrees: multiples of the first, at least one of the second or more, none beyond the third
_ROUND, _LEAST, _TURN = 15.0, 30.0, 360.0


class Kind(IntEnum):
    """Kind of a joint's motion.

    Attributes
    ----------
    FIXED
        No motion.
    HINGE
        Rotation about an axis: one number in q [rad].
    SLIDE
        Translation along an axis: one number in q [file units].
    BALL
        Any rotation: four numbers in q, w x y z.
    FREE
        Any rotation and translation: seven numbers in q, x y z w x y z.
    """

    FIXED = codes.FIXED
    HINGE = codes.HINGE
    SLIDE = codes.SLIDE
    BALL = codes.BALL
    FREE = codes.FREE

    @property
    def nq(self) -> int:
        """Numbers in q: hinge and slide 1, ball 4, free 7."""
        return (0, 1, 1, 4, 7)[self]

    @property
    def nv(self) -> int:
        """Degrees of freedom: hinge and slide 1, ball 3, free 6."""
        return (0, 1, 1, 3, 6)[self]


# by kind: offsets of a joint's numbers in q; used where a rig needs those of all its joints
NQ = [range(kind.nq) for kind in Kind]
NV = [kind.nv for kind in Kind]
COUPLED = {Kind.HINGE, Kind.SLIDE}


class Coupling(NamedTuple):
    """Linear coupling of a joint (URDF mimic): ratio * leader + offset.

    A coupled joint has no numbers of its own in q.

    Parameters
    ----------
    leader
        Row of a joint with its own numbers: a mimic of a mimic is resolved when the skeleton is built.
    ratio
        Factor of the leader's value.
    offset
        Added to it [rad, file units].
    """

    leader: int
    ratio: float
    offset: float


class Joint(NamedTuple):
    """Read-only view of one row of a Skeleton.

    Parameters
    ----------
    name
        Name of the joint.
    row
        Its row in the skeleton.
    kind
        Kind of its motion.
    parent
        Name of its parent; None for a root.
    children
        Names of its children.
    axis
        Unit axis of a hinge or slide; None for other kinds.
    limit
        Its limit, or None.
    coupling
        Its coupling, or None.
    source_id
        Its identifier in the file.
    motor
        Its drive, or None.
    """

    name: str
    row: int
    kind: Kind
    parent: str | None
    children: tuple[str, ...]
    axis: tuple[float, float, float] | None
    limit: Limit | None
    coupling: Coupling | None
    source_id: object
    motor: Motor | None = None


def row_of(skeleton: Any, i: int) -> Joint:
    """Read row i of a skeleton."""
    parent, kind = int(skeleton.parents[i]), Kind(skeleton.kinds[i])
    return Joint(
        name=skeleton.names[i],
        row=i,
        kind=kind,
        parent=None if parent < 0 else skeleton.names[parent],
        children=tuple([skeleton.names[child] for child in skeleton.children[i]]),
        axis=tuple(skeleton.axes[i].tolist()) if kind in COUPLED else None,  # pyright: ignore[reportArgumentType]
        limit=skeleton.limits[i],
        coupling=skeleton.couplings[i],
        source_id=skeleton.source_ids[i],
        motor=skeleton.motors.get(skeleton.names[i]),
    )


def starts(sizes: Sequence[int], couplings: Sequence[Coupling | None]) -> Ints:
    """Compute the offset (n,) of each joint's numbers.

    `sizes` are their counts; a coupled joint gets its leader's offset.
    """
    own = [0 if coupling else size for size, coupling in zip(sizes, couplings, strict=True)]
    start = np.cumsum([0, *own])[:-1].astype(np.int64)
    for i, coupling in enumerate(couplings):
        if coupling:
            start[i] = start[coupling.leader]
    frozen(start)
    return start


def checked_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Check joint names. Raise InputError for a name that is no text or has no UTF-8 encoding."""
    # A string counts as several names of one letter.
    given = tuple(names if isinstance(names, str) else several(names, "the names of joints", "['hips', 'spine']"))
    for row, name in enumerate(given):
        if not isinstance(name, str):
            message = f"the names of joints are texts; row {row} has {short(name)}"
            raise InputError(message)
        try:
            name.encode()
        except UnicodeEncodeError as error:
            message = f"the name {quoted(name)} of row {row} holds half a character, which no text file can; rename it"
            raise InputError(message) from error
    return given


def whole_numbers(values: Iterable[Any], what: str) -> Ints:
    """Check one integer per joint (n,). Raise InputError for anything else."""
    given = several(values, f"the {what} of joints", "[-1, 0, 1]")
    for row, value in enumerate(given):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not abs(int(value)) < _MOST_ROWS:
            message = f"the {what} of joints are whole numbers; row {row} has {short(value)}"
            raise InputError(message)
    return np.array(given, dtype=np.int64)


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Make names unique by appending _1, _2, ... in order: the first keeps its name."""
    names = list(names)
    taken = set(names)
    counts: dict[str, int] = {}
    result: list[str] = []
    seen: set[str] = set()
    for name in names:
        new = name
        while new in seen:
            counts[name] = counts.get(name, 0) + 1
            candidate = f"{name}_{counts[name]}"
            new = candidate if candidate not in taken else name
        seen.add(new)
        result.append(new)
    return tuple(result)


def check_tree(names: tuple[str, ...], parents: Ints, kinds: Ints) -> None:
    """Check the counts, the parent order and the kinds of joints."""
    if not len(names) == len(parents) == len(kinds):
        message = f"{len(names)} names, {len(parents)} parents and {len(kinds)} kinds do not match"
        raise InputError(message)
    for i, parent in enumerate(parents):
        if not -1 <= parent < i:
            message = f"joint {names[i]!r} (row {i}) has parent row {parent}; parents come first, a root has -1"
            raise InputError(message)
    if not np.isin(kinds, list(Kind)).all():
        message = f"joint kinds are {', '.join(f'{k.value} {k.name.lower()}' for k in Kind)}"
        raise InputError(message)


def check_rows(skeleton: Any) -> None:
    """Check the arrays and tuples of a skeleton. The checks cover types, sizes, values and order.

    Raises
    ------
    InputError
        For the first field that cannot be used.
    """
    names = skeleton.names
    if type(names) is not tuple or not set(map(type, names)) <= {str} or len(set(names)) != len(names):
        raise InputError(f"the names of a skeleton are a tuple of different texts, not {short(names)}")
    n = len(names)
    for name, kind, shape in _ARRAYS:
        array = getattr(skeleton, name)
        if type(array) is not np.ndarray or array.dtype.kind not in kind or array.shape != (n, *shape):
            what = f"of shape {array.shape}" if isinstance(array, np.ndarray) else named(array)
            wanted = f"an array {(n, *shape)} of {'whole numbers' if kind == 'iu' else 'numbers'}"
            raise InputError(f"{name} of a skeleton of {n} joints must be {wanted}, not {what}")
        if kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{name} of a skeleton must be finite")
    parents, kinds = skeleton.parents, skeleton.kinds
    if n and ((parents < -1) | (parents >= np.arange(n)) | (kinds < 0) | (kinds >= len(Kind))).any():
        check_tree(names, parents, kinds)  # it raises the error
    for name, allowed in (("limits", Limit), ("couplings", Coupling)):
        values = getattr(skeleton, name)
        right = type(values) is tuple and all(issubclass(one, allowed | None) for one in set(map(type, values)))
        if not right or len(values) != n:
            raise InputError(f"{name} of a skeleton of {n} joints are a tuple of that many, not {short(values)}")
    rest = skeleton.rest_q
    if type(rest) is not np.ndarray or rest.dtype.kind != "f" or rest.shape != (skeleton.nq,):
        what = f"of shape {rest.shape}" if isinstance(rest, np.ndarray) else named(rest)
        raise InputError(f"rest_q of this skeleton must be an array of {skeleton.nq} numbers, not {what}")


def unit_axes(names: tuple[str, ...], kinds: Ints, axes: Any) -> Floats:
    """Compute the unit axes (n, 3) of hinges and slides.

    Other kinds get zeros; InputError for a hinge without an axis.
    """
    result = np.zeros((len(names), 3))
    given = np.zeros_like(result) if axes is None else _rows(len(names), axes, "axes", 3)
    for i in np.flatnonzero((kinds == Kind.HINGE) | (kinds == Kind.SLIDE)):
        try:
            result[i] = unit_axis(given[i])
        except InputError as error:
            message = f"joint {names[i]!r}: {error}"
            raise InputError(message) from error
    return result


def rigid(n: int, offsets: Any, rotations: Any) -> Floats:
    """Build the constant transforms A (n, 7) from offsets and rotations. An argument of None gives the identity."""
    A = np.tile([0.0, 0, 0, 1, 0, 0, 0], (n, 1))  # noqa: N806  (the letter of the formula)
    if offsets is not None:
        A[:, :3] = _rows(n, offsets, "offsets", 3)
    if rotations is not None:
        given = _rows(n, rotations, "rotations", 4)
        off = np.abs((given**2).sum(axis=-1, keepdims=True) - 1.0) > UNIT_SLACK
        A[:, 3:] = np.where(off, normalised(given), given)  # unit length to rounding stays bit for bit
    return A


def affine(n: int, scales: Any) -> Floats:
    """Build the constant transforms B (n, 3, 4) from scales. None gives the identity."""
    B = np.zeros((n, 3, 4))  # noqa: N806  (the letter of the formula)
    B[:, [0, 1, 2], [0, 1, 2]] = 1.0 if scales is None else _rows(n, scales, "scales", 3)
    return B


def _rows(n: int, values: Any, what: str, width: int) -> Floats:
    """Check an array of shape (n, width)."""
    array = finite(values, what, last=width)
    if array.shape != (n, width):
        raise InputError(f"{what} of {n} joints need the shape ({n}, {width}); theirs is {array.shape}")
    return array


def checked_limit(name: str, kind: Kind, limit: Limit | None) -> Limit | None:
    """Check a joint's limit against its kind. Raise InputError for no limit, or for one of another kind of joint."""
    if limit is None:
        return None
    if not isinstance(limit, Limit):  # pyright: ignore[reportUnnecessaryIsInstance]
        known = ", ".join(NAMES)
        message = f"the limit of {name!r} must be a poise.Range(...), another of {known}, or None, not {short(limit)}"
        raise InputError(message)
    if kind in (Kind.HINGE, Kind.SLIDE) and not isinstance(limit, Range):
        message = (
            f"{name!r} is a {kind.name.lower()}; a {type(limit).__name__} is for ball joints, a Range for this one"
        )
        raise InputError(message)
    if kind in (Kind.HINGE, Kind.SLIDE) and hinge_axis(limit) is not None:
        message = f"{name!r} is a {kind.name.lower()} and has its axis already; give its Range without one"
        raise InputError(message)
    if kind in (Kind.BALL, Kind.FREE) and isinstance(limit, Range) and limit.axis is None:
        message = f"{name!r} is a {kind.name.lower()} joint; its Range needs axis=(x, y, z) to make it a hinge"
        raise InputError(message)
    if kind == Kind.FIXED:
        message = f"{name!r} is fixed and takes no limit"
        raise InputError(message)
    if kind != Kind.SLIDE and limit.source == "argument":
        _refuse_degrees(name, limit)
    return limit


def _refuse_degrees(name: str, limit: Limit) -> None:
    """Raise InputError for angles in degrees, as far as recognizable.

    These are multiples of 15, at least one of 30 or more, none beyond 360.
    """
    if isinstance(limit, SwingTwist):
        return  # its angles never exceed half a turn
    pairs = ((limit.low, limit.high),) if isinstance(limit, Range) else limit.ranges
    ends = [end for pair in pairs for end in pair if math.isfinite(end)]
    if _LEAST <= max(map(abs, ends), default=0.0) <= _TURN and all(end % _ROUND == 0.0 for end in ends):
        kind = type(limit).__name__
        if isinstance(limit, Range):
            axis = "" if limit.axis is None else f", axis={limit.axis}"
            written = f"{limit.low:g}, {limit.high:g}{axis}"
        else:
            angles = zip(limit.order.lower(), pairs, strict=True)
            written = f"{limit.order!r}" + "".join(
                f", {letter}=({low:g}, {high:g})" for letter, (low, high) in angles if math.isfinite(high - low)
            )
        raise InputError(
            f"{kind} takes radians, and that of {name!r} looks like degrees: write {kind}.degrees({written})"
        )
