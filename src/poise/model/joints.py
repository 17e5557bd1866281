"""Joints: kinds, couplings and motors, with their checks and defaults."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from poise.calls.argument_checks import check_entries, check_integer, check_type, describe_value
from poise.errors import InputError, quote_value
from poise.kernels import layout
from poise.kernels.thresholds import UNIT_SLACK
from poise.maths.arrays import Floats, Ints, abbreviate, check_finite, check_real, freeze_array
from poise.maths.rotations import normalise
from poise.model.limits import LIMIT_NAMES, Limit, Range, SwingTwist, find_hinge_axis, unit_axis

# --- Motors of joints: largest speed and force, from robot descriptions ----------------------------------------------


@dataclass(frozen=True)
class SafetyController:
    """A brake of a joint near its soft limits.

    It is read from files and written back; solvers ignore it. Angles are radians, lengths file units.

    Parameters
    ----------
    lower, upper
        Ends of the range [rad, file units] within which the controller does not act.
    k_position
        [1/s] The largest speed per radian or unit of distance to the end.
    k_velocity
        [N m s/rad, N s/unit] The largest force per unit of remaining speed.
    """

    lower: float = 0.0
    upper: float = 0.0
    k_position: float = 0.0
    k_velocity: float = 0.0

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "k_position", "k_velocity"):
            value = check_real(getattr(self, name), f"the {name} of a safety controller")
            if not math.isfinite(value):
                raise InputError(f"the {name} of a safety controller must be finite, not {value:g}")
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Motor:
    """The drive of one joint: largest speed, force, safety controller.

    None stands for a value missing in the file. It is read from files and written back; solvers do not use it.

    Parameters
    ----------
    velocity
        The largest speed: [rad/s] of a hinge, [file units/s] of a slide, at least 0.
    effort
        The largest force: [N m] of a hinge, [N] of a slide, at least 0.
    safety
        The safety controller.
    """

    velocity: float | None = None
    effort: float | None = None
    safety: SafetyController | None = None

    def __post_init__(self) -> None:
        for name in ("velocity", "effort"):
            field_value = getattr(self, name)
            if field_value is None:
                continue
            value = check_real(field_value, f"the {name} of a motor")
            if not 0.0 <= value < math.inf:
                raise InputError(f"the {name} of a motor must be finite and at least 0, not {value:g}")
            object.__setattr__(self, name, value)
        if self.safety is not None and not isinstance(self.safety, SafetyController):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"the safety of a motor is a poise.SafetyController or None, not {abbreviate(self.safety)}"
            raise InputError(message)


# --- Joint arrays of a skeleton --------------------------------------------------------------------------------------


_INT_LIMIT = 2**31
# Arrays of a skeleton: field, dtype kinds, shape of a row.
_ARRAY_SPECS = (
    ("parents", "iu", ()), ("kinds", "iu", ()), ("axes", "f", (3,)), ("A", "f", (7,)), ("B", "f", (3, 4)),
)  # fmt: skip
# [deg] angles that look like degrees: multiples of the first, at least one of the second or more, none beyond the third
_DEGREE_STEP_DEG, _MIN_SUSPECT_DEG, _FULL_TURN_DEG = 15.0, 30.0, 360.0


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

    FIXED = layout.FIXED
    HINGE = layout.HINGE
    SLIDE = layout.SLIDE
    BALL = layout.BALL
    FREE = layout.FREE

    @property
    def nq(self) -> int:
        """Numbers in q: hinge and slide 1, ball 4, free 7."""
        return (0, 1, 1, 4, 7)[self]

    @property
    def nv(self) -> int:
        """Degrees of freedom: hinge and slide 1, ball 3, free 6."""
        return (0, 1, 1, 3, 6)[self]


# by kind: offsets of a joint's numbers in q; used where a rig needs those of all its joints
Q_OFFSET_RANGES = [range(kind.nq) for kind in Kind]
DOF_COUNTS = [kind.nv for kind in Kind]
COUPLED_KINDS = {Kind.HINGE, Kind.SLIDE}


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


def read_joint(skeleton: Any, row: int) -> Joint:
    """Read the data of one joint of a skeleton."""
    parent, kind = int(skeleton.parents[row]), Kind(skeleton.kinds[row])
    return Joint(
        name=skeleton.names[row],
        row=row,
        kind=kind,
        parent=None if parent < 0 else skeleton.names[parent],
        children=tuple([skeleton.names[child] for child in skeleton.children[row]]),
        axis=tuple(skeleton.axes[row].tolist()) if kind in COUPLED_KINDS else None,  # pyright: ignore[reportArgumentType]
        limit=skeleton.limits[row],
        coupling=skeleton.couplings[row],
        source_id=skeleton.source_ids[row],
        motor=skeleton.motors.get(skeleton.names[row]),
    )


def compute_offsets(value_counts: Sequence[int], couplings: Sequence[Coupling | None]) -> Ints:
    """Compute the offset (n,) of each joint's numbers.

    `value_counts` are their counts; a coupled joint gets its leader's offset.
    """
    own_counts = [0 if coupling else size for size, coupling in zip(value_counts, couplings, strict=True)]
    offsets = np.cumsum([0, *own_counts])[:-1].astype(np.int64)
    for i, coupling in enumerate(couplings):
        if coupling:
            offsets[i] = offsets[coupling.leader]
    freeze_array(offsets)
    return offsets


def check_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Check joint names. Raise InputError for a name that is no text or has no UTF-8 encoding."""
    # A string counts as several names of one letter.
    entries = tuple(
        names if isinstance(names, str) else check_entries(names, "the names of joints", "['hips', 'spine']")
    )
    for row, name in enumerate(entries):
        if not isinstance(name, str):
            message = f"the names of joints are texts; row {row} has {abbreviate(name)}"
            raise InputError(message)
        try:
            name.encode()
        except UnicodeEncodeError as error:
            message = (
                f"the name {quote_value(name)} of row {row} holds half a character, which no text file can; rename it"
            )
            raise InputError(message) from error
    return entries


def check_integers(values: Iterable[Any], label: str) -> Ints:
    """Check one integer per joint (n,). Raise InputError for anything else."""
    entries = check_entries(values, f"the {label} of joints", "[-1, 0, 1]")
    for row, value in enumerate(entries):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not abs(int(value)) < _INT_LIMIT:
            message = f"the {label} of joints are whole numbers; row {row} has {abbreviate(value)}"
            raise InputError(message)
    return np.array(entries, dtype=np.int64)


def make_unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Make names unique by appending _1, _2, ... in order: the first keeps its name."""
    names = list(names)
    original_names = set(names)
    counts: dict[str, int] = {}
    result: list[str] = []
    used_names: set[str] = set()
    for name in names:
        unique_name = name
        while unique_name in used_names:
            counts[name] = counts.get(name, 0) + 1
            candidate = f"{name}_{counts[name]}"
            unique_name = candidate if candidate not in original_names else name
        used_names.add(unique_name)
        result.append(unique_name)
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
    if ((kinds < 0) | (kinds >= len(Kind))).any():
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
        raise InputError(f"the names of a skeleton are a tuple of different texts, not {abbreviate(names)}")
    n = len(names)
    for name, dtype_kinds, shape in _ARRAY_SPECS:
        array = getattr(skeleton, name)
        if type(array) is not np.ndarray or array.dtype.kind not in dtype_kinds or array.shape != (n, *shape):
            actual = f"of shape {array.shape}" if isinstance(array, np.ndarray) else describe_value(array)
            expected = f"an array {(n, *shape)} of {'whole numbers' if dtype_kinds == 'iu' else 'numbers'}"
            raise InputError(f"{name} of a skeleton of {n} joints must be {expected}, not {actual}")
        if dtype_kinds == "f" and not np.isfinite(array).all():
            raise InputError(f"{name} of a skeleton must be finite")
    parents, kinds = skeleton.parents, skeleton.kinds
    if n and ((parents < -1) | (parents >= np.arange(n)) | (kinds < 0) | (kinds >= len(Kind))).any():
        check_tree(names, parents, kinds)  # it raises the error
    for name, entry_class in (("limits", Limit), ("couplings", Coupling)):
        values = getattr(skeleton, name)
        is_valid = type(values) is tuple and all(
            issubclass(value_class, entry_class | None) for value_class in set(map(type, values))
        )
        if not is_valid or len(values) != n:
            raise InputError(f"{name} of a skeleton of {n} joints are a tuple of that many, not {abbreviate(values)}")
    rest_q = skeleton.rest_q
    if type(rest_q) is not np.ndarray or rest_q.dtype.kind != "f" or rest_q.shape != (skeleton.nq,):
        actual = f"of shape {rest_q.shape}" if isinstance(rest_q, np.ndarray) else describe_value(rest_q)
        raise InputError(f"rest_q of this skeleton must be an array of {skeleton.nq} numbers, not {actual}")


def compute_unit_axes(names: tuple[str, ...], kinds: Ints, axes: Any) -> Floats:
    """Compute the unit axes (n, 3) of hinges and slides.

    Other kinds get zeros; InputError for a hinge without an axis.
    """
    result = np.zeros((len(names), 3))
    vectors = np.zeros_like(result) if axes is None else _check_array(len(names), axes, "axes", 3)
    for i in np.flatnonzero((kinds == Kind.HINGE) | (kinds == Kind.SLIDE)):
        try:
            result[i] = unit_axis(tuple(vectors[i].tolist()))  # an array takes longer to check
        except InputError as error:
            message = f"joint {names[i]!r}: {error}"
            raise InputError(message) from error
    return result


def build_rigid_transforms(n: int, offsets: Any, rotations: Any) -> Floats:
    """Build the constant transforms A (n, 7) from offsets and rotations. An argument of None gives the identity."""
    A = np.tile([0.0, 0, 0, 1, 0, 0, 0], (n, 1))  # noqa: N806  (the letter of the formula)
    if offsets is not None:
        A[:, :3] = _check_array(n, offsets, "offsets", 3)
    if rotations is not None:
        quaternions = _check_array(n, rotations, "rotations", 4)
        is_scaled = np.abs((quaternions**2).sum(axis=-1, keepdims=True) - 1.0) > UNIT_SLACK
        A[:, 3:] = np.where(is_scaled, normalise(quaternions), quaternions)  # unit length to rounding stays bit for bit
    return A


def build_affine_transforms(n: int, scales: Any) -> Floats:
    """Build the constant transforms B (n, 3, 4) from scales. None gives the identity."""
    B = np.zeros((n, 3, 4))  # noqa: N806  (the letter of the formula)
    B[:, [0, 1, 2], [0, 1, 2]] = 1.0 if scales is None else _check_array(n, scales, "scales", 3)
    return B


def _check_array(n: int, values: Any, label: str, width: int) -> Floats:
    """Check an array of shape (n, width)."""
    array = check_finite(values, label, last_axis_length=width)
    if array.shape != (n, width):
        raise InputError(f"{label} of {n} joints need the shape ({n}, {width}); theirs is {array.shape}")
    return array


def check_limit(name: str, kind: Kind, limit: Limit | None) -> Limit | None:
    """Check a joint's limit against its kind. Raise InputError for no limit, or for one of another kind of joint."""
    if limit is None:
        return None
    if not isinstance(limit, Limit):  # pyright: ignore[reportUnnecessaryIsInstance]
        limit_names = ", ".join(LIMIT_NAMES)
        message = (
            f"the limit of {name!r} must be a poise.Range(...), another of {limit_names}, or None, "
            f"not {abbreviate(limit)}"
        )
        raise InputError(message)
    if kind in (Kind.HINGE, Kind.SLIDE) and not isinstance(limit, Range):
        message = (
            f"{name!r} is a {kind.name.lower()}; a {type(limit).__name__} is for ball joints, a Range for this one"
        )
        raise InputError(message)
    if kind in (Kind.HINGE, Kind.SLIDE) and find_hinge_axis(limit) is not None:
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
    angle_ranges = ((limit.low, limit.high),) if isinstance(limit, Range) else limit.ranges
    end_angles = [end for pair in angle_ranges for end in pair if math.isfinite(end)]
    if _MIN_SUSPECT_DEG <= max(map(abs, end_angles), default=0.0) <= _FULL_TURN_DEG and all(
        end % _DEGREE_STEP_DEG == 0.0 for end in end_angles
    ):
        class_name = type(limit).__name__
        if isinstance(limit, Range):
            axis = "" if limit.axis is None else f", axis={limit.axis}"
            arguments = f"{limit.low:g}, {limit.high:g}{axis}"
        else:
            angles = zip(limit.order.lower(), angle_ranges, strict=True)
            arguments = f"{limit.order!r}" + "".join(
                f", {letter}=({low:g}, {high:g})" for letter, (low, high) in angles if math.isfinite(high - low)
            )
        raise InputError(
            f"{class_name} takes radians, and that of {name!r} looks like degrees: "
            f"write {class_name}.degrees({arguments})"
        )


# --- Couplings of joints: resolved chains, and ranges blocking a leader ----------------------------------------------


_Interval: TypeAlias = tuple[float, float]

# fraction of the leader's own range: a smaller rest blocks it; files of grippers leave 0, or a tenth and more
_MIN_RANGE_FRACTION = 0.01
_UNBOUNDED_INTERVAL: _Interval = (-math.inf, math.inf)
_EMPTY_INTERVAL: _Interval = (math.inf, -math.inf)


def check_couplings(couplings: Any, joint_count: int) -> tuple[Coupling | None, ...]:
    """Check one coupling or None per joint; return a tuple.

    None stands for no couplings at all.

    Raises
    ------
    InputError
        For a wrong number of couplings, for a value that is no Coupling, and for numbers that are not finite.
    """
    if couplings is None:
        return (None,) * joint_count
    entries = tuple(check_entries(couplings, "the couplings of joints", "[None, poise.Coupling(0, 1.0, 0.0)]"))
    if len(entries) != joint_count:
        raise InputError(
            f"the couplings of {joint_count} joints are {joint_count} couplings or None, not {len(entries)}"
        )
    return tuple([None if coupling is None else _check_coupling(coupling) for coupling in entries])


def _check_coupling(coupling: Any) -> Coupling:
    leader, ratio, offset = check_type(coupling, Coupling, "a coupling of a joint")
    ratio_and_offset = check_real(ratio, "the ratio of a coupling"), check_real(offset, "the offset of a coupling")
    if not all(map(math.isfinite, ratio_and_offset)):
        raise InputError(f"the ratio and the offset of a coupling are finite, not {abbreviate(ratio_and_offset)}")
    return Coupling(check_integer(leader, "the leader of a coupling, a row,"), *ratio_and_offset)


def resolve_couplings(
    names: Sequence[str], kinds: Ints, couplings: Sequence[Coupling | None]
) -> tuple[Coupling | None, ...]:
    """Resolve each coupling to a leader with its own values.

    Ratios and offsets of chained couplings are composed.
    """
    for i, coupling in enumerate(couplings):
        exists = coupling is None or 0 <= coupling.leader < len(names)
        if coupling and not (exists and {int(kinds[i]), int(kinds[coupling.leader])} <= COUPLED_KINDS):
            raise InputError(f"joint {names[i]!r} is coupled to row {coupling.leader}; both must be hinges or slides")
    resolved: list[Coupling | None] = [None] * len(couplings)
    is_resolved = [coupling is None for coupling in couplings]
    for i in range(len(couplings)):
        pending_rows: dict[int, None] = {}  # unfinished followers, in order: each is visited once
        row = i
        while not is_resolved[row]:
            if row in pending_rows:
                raise InputError(f"joint {names[i]!r} is coupled in a cycle through {names[row]!r}")
            pending_rows[row] = None
            row = _get_coupling(couplings, row).leader
        for follower in reversed(pending_rows):
            own_coupling = _get_coupling(couplings, follower)
            leader_coupling = resolved[own_coupling.leader]
            if leader_coupling is not None:
                own_coupling = Coupling(
                    leader_coupling.leader,
                    own_coupling.ratio * leader_coupling.ratio,
                    own_coupling.ratio * leader_coupling.offset + own_coupling.offset,
                )
            resolved[follower], is_resolved[follower] = own_coupling, True
    return tuple(resolved)


def _get_coupling(couplings: Sequence[Coupling | None], row: int) -> Coupling:
    coupling = couplings[row]
    assert coupling is not None  # checked by the caller
    return coupling


def drop_blocking_ranges(
    names: Sequence[str], kinds: Ints, limits: Sequence[Limit | None], couplings: Sequence[Coupling | None]
) -> tuple[tuple[Limit | None, ...], list[str]]:
    """Drop ranges of followers blocking their leader.

    File readers call it.

    Parameters
    ----------
    names, kinds, limits, couplings
        Of all n joints, in the order of the rows; a follower may follow a follower.

    Returns
    -------
    limits
        The limits without ranges of followers that leave their leader no value, or less than a hundredth of its own
        range. Files with such ranges were written for programs that ignore ranges of followers.
    notes
        One sentence for each dropped range.
    """
    remaining_limits, notes = list(limits), list[str]()
    own_ranges = {row: (limit.low, limit.high) for row, limit in enumerate(limits) if _is_hard_range(limit)}
    remaining_ranges = dict(own_ranges)  # remaining range of each leader, after the followers so far
    for row, coupling in enumerate(resolve_couplings(names, kinds, couplings)):
        if coupling is None or row not in own_ranges:
            continue
        low, high = own_ranges[row]
        leader_range = remaining_ranges.get(coupling.leader, _UNBOUNDED_INTERVAL)
        remaining_range = _intersect_ranges(coupling, low, high, leader_range)
        follower_width = (high - low) / abs(coupling.ratio) if coupling.ratio else math.inf
        if _is_blocking(
            leader_range, remaining_range, own_ranges.get(coupling.leader, _UNBOUNDED_INTERVAL), follower_width
        ):
            remaining_limits[row] = None
            leader, terms = names[coupling.leader], f"ratio {coupling.ratio:g} and offset {coupling.offset:g}"
            notes.append(
                f"the range of {names[row]!r}, {low:g} to {high:g}, leaves {leader!r}, which it follows with {terms}, "
                "no range of motion: it is ignored"
            )
        else:
            remaining_ranges[coupling.leader] = remaining_range
    return tuple(remaining_limits), notes


def _is_hard_range(limit: Limit | None) -> TypeGuard[Range]:
    """Return whether a limit is a hard range of one value."""
    return isinstance(limit, Range) and limit.axis is None and not limit.soft


def _intersect_ranges(coupling: Coupling, low: float, high: float, leader_range: _Interval) -> _Interval:
    """Intersect the ranges of a leader and its follower.

    Return (low, high); low is above high where the intersection is empty.
    """
    if coupling.ratio == 0.0:
        return leader_range if low <= coupling.offset <= high else _EMPTY_INTERVAL
    ends = sorted([(low - coupling.offset) / coupling.ratio, (high - coupling.offset) / coupling.ratio])
    return max(leader_range[0], ends[0]), min(leader_range[1], ends[1])


def _is_blocking(
    leader_range: _Interval, remaining_range: _Interval, own_range: _Interval, follower_width: float
) -> bool:
    """Return whether a follower's range blocks its leader.

    `follower_width` is the width of that range in the leader's values.
    """
    if remaining_range[0] > remaining_range[1] or remaining_range[0] == math.inf or remaining_range[1] == -math.inf:
        return True
    if leader_range[0] == leader_range[1]:
        return False  # the leader is fixed without it
    width = own_range[1] - own_range[0]
    width = width if math.isfinite(width) else follower_width
    return remaining_range[0] == remaining_range[1] or (
        math.isfinite(width) and remaining_range[1] - remaining_range[0] < _MIN_RANGE_FRACTION * width
    )
