"""Skeletons: the joint tree shared by all formats.

    local_i(q) = A_i . J_i(q_i) . B_i          world_i = world_parent . local_i

A is rigid, B is affine, both are constant; J is the joint's motion, the identity at q = 0 (ball: at
w = 1). Rows are joints, parents before children, so forward kinematics is one loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from poise.calls.argument_checks import check_entries, check_integer, check_type
from poise.calls.old_names import make_alias, make_property_alias
from poise.errors import InputError, UnknownNameError, join_names
from poise.formatting import format_count
from poise.maths.arrays import Floats, Ints, abbreviate, check_finite, freeze_array, is_equal
from poise.model import joints
from poise.model.joint_tree import (
    FLAT_MESSAGE,
    MIN_LIMB_JOINTS,
    FreeRoot,
    JointTree,
    find_default_chain,
    find_default_root,
    find_rotation_starts,
    insert_root_q,
    is_flat,
    match_names,
    remove_root_q,
)
from poise.model.joints import Coupling, Joint, Kind, Motor, check_couplings, resolve_couplings
from poise.model.limit_bounds import BallLimits, Bounds, HingedBalls
from poise.model.limits import Limit
from poise.model.loops import Loop, rename_joints
from poise.runtime.result_cache import get_or_compute


@dataclass(frozen=True, eq=False)
class Skeleton(JointTree):
    """Joint tree in frozen arrays, parents before children.

    It has n joints and nq numbers in q.

    Parameters
    ----------
    names
        Unique names, in row order.
    parents
        (n,) row of the parent, -1 for a root.
    kinds
        (n,) Kind of each joint.
    axes
        (n, 3) unit axis of a hinge or slide in the frame after A; zero for other kinds.
    A
        (n, 7) x y z [file units] and w x y z: the constant rigid transform before the motion.
    B
        (n, 3, 4) the constant affine transform after the motion (glTF: scale).
    rest_q
        (nq,) the configuration at rest. Readers keep it inside the limits.
    limits
        A Limit or None for each joint.
    couplings
        A Coupling or None for each joint.
    aliases
        Further names of rows (URDF: links).
    source_ids
        Identifier of each row in the file (glTF node index, URDF joint name); None for a row not in the file.
    euler
        Euler order of each joint in the file ("ZXY"); empty where it has none.
    chains
        Named pairs (root, tip), from a sidecar.
    roles
        VRM 1.0 bone names to joint names, from the sidecar and the file; see `poise.find_roles`. Not compared.
    motors
        Drives by joint name. Not compared.
    faces
        Facing direction at rest by the file's format: "-z" (VRM 0.x), "+z" (VRM 1.0), or None. Not compared.
    metres_per_unit
        Metres per file unit; None if unknown.
    up
        "x", "y" or "z"; None if unknown.
    source
        The source document, for writing back. It is not compared and not pickled.
    freed
        Row freed by `with_free_root`, and its former kind; else None.
    loops
        Closed loops: ties between two joints beyond the tree. A result with an open loop does not count as reached.
    """

    names: tuple[str, ...]
    parents: Ints
    kinds: Ints
    axes: Floats
    A: Floats
    B: Floats
    rest_q: Floats
    limits: tuple[Limit | None, ...]
    couplings: tuple[Coupling | None, ...]
    aliases: Mapping[str, int] = field(default_factory=dict[str, int])
    source_ids: tuple[object, ...] = ()
    euler: tuple[str, ...] = ()
    chains: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    roles: Mapping[str, str] = field(default_factory=dict[str, str])
    motors: Mapping[str, Motor] = field(default_factory=dict[str, Motor])
    faces: str | None = None
    metres_per_unit: float | None = None
    up: str | None = None
    source: Any = None
    freed: FreeRoot | None = None
    loops: tuple[Loop, ...] = ()

    @classmethod
    def build(
        cls,
        names: Iterable[str],
        parents: Iterable[int],
        kinds: Iterable[int],
        *,
        offsets: Any = None,
        rotations: Any = None,
        axes: Any = None,
        scales: Any = None,
        rest_q: Any = None,
        limits: Iterable[Limit | None] | None = None,
        couplings: Iterable[Coupling | None] | None = None,
        **metadata: Any,
    ) -> Skeleton:
        """Build a skeleton from rows, parents first. Omitted arguments are zero, identity or None.

        Parameters
        ----------
        names
            Names of the joints; they are made unique (`Spine`, `Spine_1`).
        parents
            Row of each parent, -1 for a root.
        kinds
            Kind of each joint.
        offsets
            (n, 3) translations of A [file units].
        rotations
            (n, 4) rotations w x y z of A.
        axes
            (n, 3) axes of hinges and slides, of any length but zero.
        scales
            (n, 3) scales that make B.
        rest_q
            (nq,) the configuration at rest. Values outside their limits are moved to the nearest legal ones.
        limits
            A Limit or None for each joint.
        couplings
            A Coupling or None for each joint.
        **metadata
            Further fields of the skeleton.
        """
        names = joints.make_unique_names(joints.check_names(names))
        n = len(names)
        kinds_ = joints.check_integers(kinds, "kinds")
        parents_ = joints.check_integers(parents, "parents")
        joints.check_tree(names, parents_, kinds_)
        couplings_ = resolve_couplings(names, kinds_, check_couplings(couplings, n))
        limit_entries = (
            (None,) * n if limits is None else check_entries(limits, "the limits of joints", "[None, Range(0, 2)]")
        )
        if len(limit_entries) != n:
            raise InputError(f"the limits of {n} joints are {n} limits or None, not {len(limit_entries)}")
        is_own = np.array([coupling is None for coupling in couplings_], dtype=np.bool_)
        zero_q = _build_zero_q(kinds_[is_own])
        rest_values = zero_q if rest_q is None else check_finite(rest_q, "rest_q", last_axis_length=len(zero_q)).copy()
        if rest_values.ndim != 1:
            raise InputError(
                f"rest_q is one configuration of {len(zero_q)} numbers, not an array of shape {rest_values.shape}"
            )
        skeleton = cls(
            names=names,
            parents=parents_,
            kinds=kinds_,
            axes=joints.compute_unit_axes(names, kinds_, axes),
            A=joints.build_rigid_transforms(n, offsets, rotations),
            B=joints.build_affine_transforms(n, scales),
            rest_q=rest_values,
            limits=tuple(
                [
                    joints.check_limit(name, Kind(kind), limit)
                    for name, kind, limit in zip(names, kinds_.tolist(), limit_entries, strict=True)
                ]
            ),
            couplings=couplings_,
            source_ids=tuple(metadata.pop("source_ids", (None,) * n)),
            euler=tuple(metadata.pop("euler", ("",) * n)),
            **metadata,
        )
        return _move_rest_inside(skeleton)

    def __post_init__(self) -> None:
        joints.check_rows(self)
        for name in ("aliases", "chains", "roles"):
            check_type(getattr(self, name), Mapping, f"`{name}` of a skeleton")
        loops = check_entries(self.loops, "the loops of a skeleton", "[poise.Loop('rod', 'crank')]")
        object.__setattr__(self, "loops", tuple([self._check_loop(loop) for loop in loops]))
        loop_names = [loop.name for loop in self.loops]
        if len(set(loop_names)) != len(loop_names):
            raise InputError(f"the loops of a skeleton have different names, not {join_names(loop_names)}")
        for array in (self.parents, self.kinds, self.axes, self.A, self.B, self.rest_q):
            freeze_array(array)

    def _check_loop(self, loop: Any) -> Loop:
        """Check the joints of a loop. Aliases become names: renaming and selecting joints then find them."""
        loop = check_type(loop, Loop, "each loop of a skeleton")
        for joint in loop.joints:
            if joint not in self:
                raise UnknownNameError("joint", joint, [*self.names, *self.aliases])
        a, b = self.index(loop.a), self.index(loop.b)
        if a == b:
            raise InputError(f"the loop {loop.name!r} ties {loop.a!r} to {loop.b!r}: both are the same joint")
        names = {loop.a: self.names[a], loop.b: self.names[b]}
        return loop if all(old == new for old, new in names.items()) else rename_joints(loop, names)

    def __getstate__(self) -> dict[str, Any]:
        state = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return state | {"source": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self  # immutable, and the source document stays with it

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Skeleton):
            return NotImplemented
        names = [f.name for f in dataclasses.fields(self) if f.name not in ("roles", "motors", "faces", "source")]
        return all(is_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((self.names, self.parents.tobytes(), self.kinds.tobytes()))

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Skeleton({format_count(len(self), 'joint')}, nq {self.nq}, nv {self.nv})"

    # --- q ---------------------------------------------------------------------------------------

    @cached_property
    def v_start(self) -> Ints:
        """(n,) offset of each joint's degrees of freedom among the nv. A coupled joint has its leader's.

        A velocity, or a column of a Jacobian, has for a hinge [rad] or slide [file units] one number; for a ball three,
        small rotations about the axes of its rotation frame; for a free joint six, a translation along those
        axes and then a rotation.
        """
        return joints.compute_offsets([joints.DOF_COUNTS[kind] for kind in self.kinds.tolist()], self.couplings)

    @cached_property
    def nq(self) -> int:
        """The size of q."""
        kinds = zip(self.kinds.tolist(), self.couplings, strict=True)
        return sum([len(joints.Q_OFFSET_RANGES[kind]) for kind, coupling in kinds if not coupling])

    @cached_property
    def nv(self) -> int:
        """The number of degrees of freedom. A coupled joint has none of its own."""
        kinds = zip(self.kinds.tolist(), self.couplings, strict=True)
        return sum([joints.DOF_COUNTS[kind] for kind, coupling in kinds if not coupling])

    def zero_q(self) -> Floats:
        """Return q (nq,) with zero values and identity rotations."""
        q = np.zeros(self.nq)
        q[self.quaternion_columns[:, 0]] = 1.0
        return q

    def q_slice(self, joint: str) -> slice:
        """Return the slice of a joint's numbers in q. A coupled joint has its leader's."""
        i = self.index(joint)
        return slice(int(self.q_start[i]), int(self.q_start[i]) + Kind(self.kinds[i]).nq)

    def v_slice(self, joint: str) -> slice:
        """Return the slice of a joint's degrees of freedom. A coupled joint has its leader's."""
        i = self.index(joint)
        return slice(int(self.v_start[i]), int(self.v_start[i]) + Kind(self.kinds[i]).nv)

    # --- names -----------------------------------------------------------------------------------

    @cached_property
    def _index_by_name(self) -> dict[str, int]:
        return dict(self.aliases) | {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _known_rows(self) -> dict[str, int]:
        """Rows by name and alias. Roles are added when they are found."""
        return dict(self._index_by_name)

    def index(self, joint: str) -> int:
        """Find the row of a joint by name, alias or role.

        A role is a name such as "leftHand"; UnknownNameError lists the known names.
        """
        try:
            return self._known_rows[joint]
        except (KeyError, TypeError):
            row = self._known_rows[joint] = _require_joint_by_role(self, joint)
            return row

    def __contains__(self, joint: object) -> bool:
        return isinstance(joint, str) and joint in self._index_by_name

    def __getitem__(self, joint: str) -> Joint:
        row = self.index(joint)
        if row not in self._joint_cache:
            self._joint_cache[row] = joints.read_joint(self, row)
        return self._joint_cache[row]

    @cached_property
    def _joint_cache(self) -> dict[int, Joint]:
        """Cache of joints. A root may have thousands of children to name."""
        return {}

    # --- the tree --------------------------------------------------------------------------------

    @cached_property
    def moving_depth(self) -> Ints:
        """(n,) largest number of moving joints on a path downwards. The joint itself counts."""
        depth = (self.kinds != Kind.FIXED).astype(np.int64)
        child_depth = np.zeros_like(depth)
        for i in range(len(depth) - 1, -1, -1):  # children come before their parents here
            depth[i] += child_depth[i]
            parent = self.parents[i]
            if parent >= 0:
                child_depth[parent] = max(child_depth[parent], depth[i])
        depth.setflags(write=False)
        return depth

    @cached_property
    def limb_counts(self) -> Ints:
        """(n,) number of children at the start of limbs.

        A limb has two or more moving joints in a line.
        """
        counts = np.zeros(len(self), dtype=np.int64)
        is_limb_start = (self.moving_depth >= MIN_LIMB_JOINTS) & (self.parents >= 0)
        np.add.at(counts, self.parents[is_limb_start], 1)
        counts.setflags(write=False)
        return counts

    def ancestors(self, joint: str) -> tuple[str, ...]:
        """List the names from the root to the joint's parent."""
        return tuple([self.names[row] for row in self.list_path(self.index(joint))[:-1]])

    def list_path(self, row: int) -> list[int]:
        """List the rows from the root to `row`, itself included. The list is empty for -1."""
        if type(row) is not int:
            row = check_integer(row, "a row")
        if row >= len(self.names):
            message = f"there is no row {row}; the skeleton has {len(self.names)} joints"
            raise InputError(message)
        rows: list[int] = []
        parents = self.joint_lists.parents
        while row >= 0:
            rows.append(row)
            row = parents[row]
        return rows[::-1]

    way: ClassVar[Any] = make_alias("Skeleton.way", list_path)

    def chain(self, root: str | None, tip: str) -> tuple[str, ...]:
        """List the joints of a chain, from root to tip's parent.

        Parameters
        ----------
        root
            The first joint of the chain. None: for a robot (hinges and slides) the first joint below the base; for a
            character the first one below the nearest joint that also carries other limbs, once something moves. A limb
            is a branch with two or more moving joints in a line, unlike twist or helper bones. Such a branch on an arm
            or leg whose roles are known does not end the chain of its own parts. A free root joint is left out unless
            it is named.
        tip
            The joint moved to a target.
        """
        if root is None:
            row = self.index(tip)
            return get_or_compute(self, "default chains", row, lambda: self._name_default_chain(row))
        ancestors = self.ancestors(tip)
        root = self.names[self.index(root)]
        if root == self.names[self.index(tip)]:
            message = f"the chain's root and tip are both {root!r}; the root must be above the tip"
            raise InputError(message)
        if root not in ancestors:
            flat_note = f" ({FLAT_MESSAGE})" if is_flat(self.kinds, self.parents) else ""
            raise InputError(f"{root!r} is not above {tip!r}; above it are: {join_names(ancestors)}{flat_note}")
        return ancestors[ancestors.index(root) :]

    def _name_default_chain(self, tip: int) -> tuple[str, ...]:
        rows = find_default_chain(self, self.limb_counts, self.moving_depth, tip)
        if len(rows) < MIN_LIMB_JOINTS and Kind.BALL in self.joint_lists.kinds:
            rows = self._list_limb_chain(tip) or rows
        return tuple([self.names[row] for row in rows])

    def _list_limb_chain(self, tip: int) -> list[int]:
        """List the rows of the chain through a known arm or leg. Joints that correct its skin may make forks in it."""
        from poise.model.roles.role_search import find_limb_start  # noqa: PLC0415  (slow to import, not needed by names)

        path, first = self.list_path(tip)[:-1], find_limb_start(self, tip)
        if first is None or first not in path:
            return []
        above = find_default_chain(self, self.limb_counts, self.moving_depth, first)
        return [*above, *path[path.index(first) :]]

    def with_free_root(self, joint: str | None = None) -> Skeleton:
        """Return the same joints with a free root. It turns and translates; see also `Pose.on`.

        Parameters
        ----------
        joint
            The joint to free, a ball or a fixed joint. None: a character's hips, by role or as the joint carrying all
            limbs, or a robot's base; a skeleton with a free joint is returned as it is.
        """
        row = None if joint is None else self.index(joint)
        return get_or_compute(self, "free root", row, lambda: _add_free_root(self, joint))

    @property
    def without_free_root(self) -> Skeleton:
        """The skeleton without the root of `with_free_root`. It is the skeleton itself where no joint was freed."""
        return self if self.freed is None else get_or_compute(self, "fixed root", None, lambda: _remove_free_root(self))

    bound: ClassVar[Any] = make_property_alias("Skeleton.bound", "without_free_root")
    turn_columns: ClassVar[Any] = make_property_alias("Skeleton.turn_columns", "quaternion_columns")

    # --- limits ----------------------------------------------------------------------------------

    def with_limits(self, limits: Mapping[str, Limit | None]) -> Skeleton:
        """Return the skeleton with other limits. rest_q is moved inside them.

        Parameters
        ----------
        limits
            By joint name or glob ("*Knee*"); None removes a limit. A ball joint takes a SwingTwist, an EulerBox or a
            Range with an axis, a hinge or slide a Range without one.
        """
        if not isinstance(limits, Mapping):
            raise InputError(
                f"limits are given by joint name, such as {{'elbow': Range(0, 2)}}, not {abbreviate(limits)}"
            )
        new_limits = list(self.limits)
        for pattern, limit in limits.items():
            for i in self._match_names(pattern):
                new_limits[i] = joints.check_limit(self.names[i], Kind(self.kinds[i]), limit)
        return _move_rest_inside(dataclasses.replace(self, limits=tuple(new_limits)))

    limited: ClassVar[Any] = make_alias("Skeleton.limited", with_limits)

    def with_loops(self, loops: Iterable[Loop]) -> Skeleton:
        """Return the skeleton with these closed loops, in place of its own.

        Parameters
        ----------
        loops
            The loops, with joints by name, alias or role: `(*skeleton.loops, poise.Loop("rod", "crank"))` adds one.
        """
        entries = check_entries(loops, "the loops of a skeleton", "[poise.Loop('rod', 'crank')]")
        checked_loops = [check_type(loop, Loop, "each loop of a skeleton") for loop in entries]
        joint_names = {joint for loop in checked_loops for joint in loop.joints}
        names = {joint: self.names[self.index(joint)] for joint in joint_names}
        return dataclasses.replace(self, loops=tuple([rename_joints(loop, names) for loop in checked_loops]))

    @cached_property
    def bounds(self) -> Bounds:
        """Limits over configurations: legal values, and the nearest legal q."""
        return Bounds(
            names=self.names,
            limits=self.limits,
            nq=self.nq,
            value_columns=self.q_start,
            rotation_columns=find_rotation_starts(self.kinds, self.q_start),
            couplings=self.coupling_rows,
            leaders=tuple([self.names[coupling.leader] if coupling else None for coupling in self.couplings]),
        )

    @cached_property
    def value_ranges(self) -> Floats:
        """(nq, 2) lowest and highest legal values of q. Ranges of coupled joints apply to their leaders."""
        return self.bounds.value_ranges

    @cached_property
    def bounded(self) -> Ints:
        """Columns of q bounded by a range."""
        columns = np.flatnonzero(np.isfinite(self.value_ranges).any(axis=1))
        columns.setflags(write=False)
        return columns

    @cached_property
    def ball_hinges(self) -> HingedBalls:
        """Ball joints made hinges by a range, as arrays."""
        return self.bounds.ball_hinges

    @cached_property
    def ball_limits(self) -> BallLimits:
        """Ball joints with a rotation limit, as arrays."""
        return self.bounds.ball_limits

    def legal(self, q: Floats) -> tuple[Floats, tuple[str, ...]]:
        """Clamp q (..., nq) to the nearest legal configuration. Also return the names of the changed joints."""
        return self.bounds.find_nearest_legal(check_finite(q, "q", last_axis_length=self.nq))

    def _match_names(self, pattern: str) -> list[int]:
        if pattern in self:
            return [self.index(pattern)]
        return [i for i in match_names(pattern, self.names, self.aliases) if self.kinds[i] != Kind.FIXED]


def _move_rest_inside(skeleton: Skeleton) -> Skeleton:
    """Move rest_q inside the limits. A skeleton with a legal one is returned itself."""
    rest_q = skeleton.rest_q
    legal_q = skeleton.legal(rest_q)[0]
    return skeleton if legal_q.tobytes() == rest_q.tobytes() else dataclasses.replace(skeleton, rest_q=legal_q)


def _build_zero_q(kinds: Ints) -> Floats:
    """Build the q of zero values and identity rotations."""
    counts = np.array([len(numbers) for numbers in joints.Q_OFFSET_RANGES])[kinds]
    starts = find_rotation_starts(kinds, np.cumsum(counts) - counts)
    zero_q = np.zeros(int(counts.sum()))
    zero_q[starts[kinds >= Kind.BALL]] = 1.0
    return zero_q


def _require_joint_by_role(skeleton: Skeleton, role: str) -> int:
    """Find the joint with a confident role, or raise UnknownNameError. The error lists the known names."""
    from poise.model.roles.role_search import find_confident_roles, find_joint_by_role  # noqa: PLC0415  (slow to import, not needed by names)

    row = find_joint_by_role(skeleton, role)
    if row is None:
        known_names = [*skeleton.names, *skeleton.aliases]
        raise UnknownNameError("joint", role, known_names, also=find_confident_roles(skeleton)) from None
    return row


# --- Free roots: finding, adding and removing them -------------------------------------------------------------------


def find_free_root(skeleton: Skeleton, row: int | None = None) -> int | None:
    """Find the row of the free root, None where there is none.

    A file may have several free joints: a root bone on the ground above the hips, or position channels on each joint.
    The root is the hips by role where they are free, else the first free joint.

    Parameters
    ----------
    skeleton
        The skeleton.
    row
        A joint: its own root is found, at or above it.
    """
    kinds = skeleton.joint_lists.kinds
    rows = range(len(skeleton)) if row is None else skeleton.list_path(row)
    free_rows = [i for i in rows if kinds[i] == Kind.FREE]
    if len(free_rows) > 1:
        with suppress(UnknownNameError):
            hips = _require_joint_by_role(skeleton, "hips")
            return hips if hips in free_rows else free_rows[0]
    return free_rows[0] if free_rows else None


def _add_free_root(skeleton: Skeleton, joint: str | None) -> Skeleton:
    """Return the skeleton with a free root, or another free joint. See `Skeleton.with_free_root`."""
    if joint is None and (skeleton.kinds == Kind.FREE).any():
        return skeleton
    row = _find_root(skeleton) if joint is None else skeleton.index(joint)
    if row < 0:
        raise InputError("a skeleton without joints has no root that could be freed")
    kind = int(skeleton.kinds[row])
    if kind == Kind.FREE:
        return skeleton
    if kind not in (Kind.BALL, Kind.FIXED):
        message = f"{skeleton.names[row]!r} is a {Kind(kind).name.lower()}; a free root needs a ball or a base"
        raise InputError(message)
    rest_q = insert_root_q(skeleton.rest_q, int(skeleton.q_start[row]), kind)
    return dataclasses.replace(
        skeleton, kinds=_replace_kind(skeleton.kinds, row, Kind.FREE), rest_q=rest_q, freed=FreeRoot(row, kind)
    )


def _remove_free_root(skeleton: Skeleton) -> Skeleton:
    """Undo `_add_free_root`."""
    assert skeleton.freed is not None
    row, kind = skeleton.freed
    rest_q, _ = remove_root_q(skeleton.rest_q, int(skeleton.q_start[row]), kind, skeleton.names[row])
    return dataclasses.replace(skeleton, kinds=_replace_kind(skeleton.kinds, row, kind), rest_q=rest_q, freed=None)


def _replace_kind(kinds: Ints, row: int, kind: int) -> Ints:
    kinds = kinds.copy()
    kinds[row] = kind
    return kinds


def _find_root(skeleton: Skeleton) -> int:
    """Find the row of the root. It is a robot's base, a character's hips by role, else the default of its tree."""
    if (skeleton.kinds == Kind.BALL).any():
        with suppress(UnknownNameError):
            row = _require_joint_by_role(skeleton, "hips")
            if skeleton.kinds[row] in (Kind.BALL, Kind.FIXED):
                return row
    return find_default_root(skeleton.kinds, skeleton.parents, skeleton.children, skeleton.moving_depth)
