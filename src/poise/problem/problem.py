"""A start pose and goals: what is solved. The plan is what no pose changes; the judge measures the errors.

Targets travel as rows: the numbers of all goals side by side, world, file units, one row per problem of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from poise import kernels
from poise.kernels.codes import ROUNDING
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, finite, for_kernel
from poise.maths.in_words import in_words
from poise.maths.remember import own_fields, remember
from poise.maths.rotations import rotation_part
from poise.model.kinematics import world_maps
from poise.model.pose import Pose, unit_turns
from poise.model.skeleton import Kind, Skeleton
from poise.model.ways import is_robot
from poise.problem.geometry import SIMILAR, still_map
from poise.problem.goals import Goal, Near, Pin, Position, is_optional
from poise.problem.layout import AIM, BALANCE, LENGTHS, NUMBERS, POLE, POSITION, ROTATION, Measure, coupled_pair
from poise.problem.measuring.measure import (
    Paths,
    Places,
    errors_by_paths,
    errors_by_world,
    paths_of,
)
from poise.problem.plan import Plan, kinds_of, plan_of, remembered_layout, still_part
from poise.problem.preference import Preference, preference_of, preferred_shape, spread

_CHARACTER = 1e-4  # of the chain's length, and [rad]
_ROBOT = 1e-6  # file units: URDF is in metres, and [rad]


@dataclass(frozen=True)
class Tolerance:
    """What counts as reached.

    Parameters
    ----------
    distance
        Largest distance [file units].
    angle
        Largest angle [rad].
    """

    distance: float
    angle: float


@dataclass(frozen=True, eq=False)
class Problem:
    """What is solved, without the targets.

    Parameters
    ----------
    start
        A legal pose: a single one, or a batch axis of poses.
    goals
        At least one. The targets that they hold are examples and are not used here.
    free_root
        Whether the free root joint above the chain may move as well.
    kinds
        What of the goals is not their targets: plans are remembered by it. Worked out where it is not given.
    """

    __repr__ = in_words

    start: Pose
    goals: tuple[Goal, ...]
    free_root: bool = False
    kinds: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if not self.kinds:
            object.__setattr__(self, "kinds", kinds_of(self.goals))

    def __getstate__(self) -> dict[str, Any]:
        return own_fields(self)

    def part(self, rows: Bools | Ints | slice) -> Problem:
        """The problem of some of the starts and preferred poses; the same where there are only one for all targets."""
        if not self.batched:
            return self
        goals = tuple(goal.part(rows) if isinstance(goal, Near) else goal for goal in self.goals)
        return self.at(self.start[rows] if self.start.shape else self.start, goals)

    def at(self, start: Pose, goals: tuple[Goal, ...] | None = None) -> Problem:
        """The same problem from other starts, also for other goals of these kinds."""
        serves = not len(self.plan.layout.still) and start.translations is None and start.scales is None
        return self.moved(start, goals) if serves else Problem(start, goals or self.goals, self.free_root, self.kinds)

    def spread(self, shape: tuple[int, ...]) -> Problem:
        """The same for a batch of targets of this shape: a preferred pose for each, if there are several."""
        return self.at(self.start, spread(self.goals, shape)) if preferred_shape(self.goals) else self

    def moved(self, start: Pose, goals: tuple[Goal, ...] | None = None) -> Problem:
        """The same, also for other goals of these kinds, where it is known that the plan serves every start."""
        other = Problem(start, goals or self.goals, self.free_root, self.kinds)
        object.__setattr__(other, "plan", self.plan)  # a cached property: it need not be looked for
        return other

    @property
    def batched(self) -> bool:
        """Whether what is solved differs from target to target: the start, or a pose that Near prefers."""
        return bool(self.start.shape or preferred_shape(self.goals))

    @cached_property
    def skeleton(self) -> Skeleton:
        """The skeleton of the start."""
        return self.start.skeleton

    @cached_property
    def plan(self) -> Plan:
        """What no pose changes, packed for the kernels; starts of one problem share it (see `groups_of`)."""
        still = self.still if self.start.shape else None
        return plan_of(self.start, self.goals, self.kinds, free_root=self.free_root, still=still)

    @cached_property
    def still(self) -> Floats | None:
        """(1|k, s) what of the starts stands in a plan, or None; see `groups_of`."""
        layout = remembered_layout(self.skeleton, self.kinds, self.goals, free_root=self.free_root)
        return still_part(self.start, layout)

    @property
    def coupled(self) -> tuple[str, str] | None:
        """Two joints among those that move which share a number of q, if there are; whatever plan the start needs."""
        layout = remembered_layout(self.skeleton, self.kinds, self.goals, free_root=self.free_root)
        return coupled_pair(self.skeleton, layout.nodes)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that can move."""
        return self.plan.joints

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """What is measured: the columns of the errors."""
        return self.plan.measures

    @property
    def lone_point(self) -> bool:
        """Whether it is one Position and nothing else, of a chain whose joints move alone."""
        return len(self.goals) == 1 and isinstance(self.goals[0], Position) and self.coupled is None

    @property
    def spared(self) -> Bools:
        """(c,) which errors are those of optional goals, and count for nothing."""
        return np.array([is_optional(self.goals[measure.goal]) for measure in self.measures], dtype=np.bool_)

    @cached_property
    def ranked(self) -> bool:
        """Whether some goals come after the others."""
        for goal in self.goals:  # noqa: SIM110  (in every solve: a comprehension would be one call more)
            if getattr(goal, "optional", False):
                return True
        return False

    @cached_property
    def balances(self) -> bool:
        """Whether the figure is to stand; see Balance."""
        return any([measure.kind == BALANCE for measure in self.measures])  # noqa: C419  (a generator is a call for each)

    # --- into the frames and units of the plan, and back ------------------------------------------------------------

    @cached_property
    def bases(self) -> Floats:
        """(1|k, 3, 4) world transforms of the row that everything hangs in, in the start poses."""
        base, start = self.plan.layout.base, self.start
        if base < 0:
            return np.eye(3, 4)[None]
        if start.translations is None and start.scales is None:
            still = still_map(start.skeleton, base)
            return still.copy() if still is not None else world_maps(start.skeleton, base, self.start_rows)[:, 0]
        return start.world_of(start.skeleton.names[base]).affine.reshape(-1, 3, 4)

    @cached_property
    def start_rows(self) -> Floats:
        """(1|k, nq) the start poses' numbers as kernels take them; nobody may write to them."""
        return np.array(self.start.flat_q)

    def kernel_targets(self, rows: Floats) -> Floats:
        """World targets (k, W) of all goals as the kernels want them: base frame, kernel units, ordered as terms."""
        out = np.empty((len(rows), self.plan.width))
        self.put_targets(rows, self.plan.door_terms, out)
        return out

    def put_targets(self, rows: Floats, terms: Ints, out: Floats) -> None:
        """The same, into columns of `out` that `terms` name; see kernels/tree/doors.py."""
        unit = self.plan.scale * self.plan.size
        kernels.tree.doors.targets(for_kernel(rows), self.rigid_bases, unit, terms, out)

    @cached_property
    def rigid_bases(self) -> Floats:
        """(1|k, 12) the bases without their scale; where it is not uniform, with the rotations nearest to them."""
        bases = self.bases.reshape(-1, 12)
        bases = bases if self.plan.scale == 1.0 else bases / self.plan.scales
        if self.plan.stretch > SIMILAR:
            bases = bases.reshape(-1, 3, 4)
            bases = np.concatenate([rotation_part(bases[:, :, :3]), bases[:, :, 3:]], axis=2).reshape(-1, 12)
        return bases if bases.flags.carray else for_kernel(bases)

    @cached_property
    def starts(self) -> Floats:
        """(1|k, nu) the start poses as the kernels see them."""
        return self.plan.u_of(self.start_rows)

    def q_of(self, u: Floats, moved: Bools, *, traced: bool = False) -> Floats:
        """q (k, nq) with u (k, nu) put in where `moved` (k,); else the start's, bit for bit.

        Hinges stand as few turns from the start as they can, unless something says which turn is nicer, or what was
        traced is to be told as it was.
        """
        turned = bool(len(self.plan.turns)) and not traced and not self.prefers
        return self.plan.q_of(u, moved, self.start_rows, turned=turned)

    @cached_property
    def preference(self) -> Preference:
        """What the Near goals prefer; where several speak of a joint, the last one counts."""
        if any(isinstance(goal, Near) for goal in self.goals):
            return preference_of(self.plan, self.goals)
        return remember(self.plan, "no preference", None, lambda: preference_of(self.plan, ()))

    @property
    def prefers(self) -> bool:
        """Whether some configurations are nicer than others: those near a pose, or inside soft limits."""
        return self.plan.soft or bool(self.preference.on.any())

    # --- what is measured -------------------------------------------------------------------------------------------

    @cached_property
    def paths(self) -> Paths | None:
        """The way to what is measured, by the skeleton's own rows; None where only world transforms can tell."""
        if self.start.translations is not None or self.start.scales is not None:
            return None
        return paths_of(self.skeleton, self.goals, self.kinds)

    def targets(self, goals: Sequence[Goal], k: int) -> Floats:
        """The rows (k, W) of goals like these; a Pin's are where the start has its joint."""
        return self.target_rows([goal.rows() for goal in goals if goal.width], (k,))

    def target_rows(self, given: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
        """The same from the targets (..., width) of the goals that have one, for the batch axes `shape`."""
        k, rows = math.prod(shape), iter(given)
        out = np.zeros((k, sum(NUMBERS[measure.kind] for measure in self.measures)))
        column = 0
        for goal in self.goals:
            if isinstance(goal, Pin):
                found = self._pinned(goal)
            elif goal.width:
                found = next(rows)
                if found.shape[:-1] not in ((), shape):
                    found = np.broadcast_to(found, (*shape, goal.width))
                found = found.reshape(-1, goal.width)
            else:
                continue
            out[:, column : column + found.shape[-1]] = found
            column += found.shape[-1]
        return out

    def _pinned(self, goal: Pin) -> Floats:
        at = self.start.world[goal.joint]
        rows = np.concatenate([at.positions, at.rotations], axis=-1).reshape(-1, 7)
        return rows[:, 0 if goal.position else 3 : 7 if goal.rotation else 3]

    def errors(self, q: Floats, targets: Floats) -> Floats:
        """How far poses q (k, nq) are from targets (k, W): (k, c) distances [file units] and angles [rad]."""
        if not self.measures:
            return np.zeros((len(q), 0))
        if self.paths is None:
            pose = Pose.unchecked(self.skeleton, q.view(), *self._kept(len(q)))  # q as it is, like the paths take it
            return errors_by_world(pose, self.goals, targets, for_kernel(q), self.measures)
        return errors_by_paths(self.paths, for_kernel(q), for_kernel(targets))

    def posed(self, q: Floats) -> Pose:
        """The start pose with another q (k, nq); its translations and scales are kept."""
        given = finite(q, "q", last=self.skeleton.nq).copy()
        return Pose.unchecked(self.skeleton, unit_turns(self.skeleton, given), *self._kept(len(q)))

    def posed_as(self, q: Floats) -> Pose:
        """The same of numbers that a solver found: finite, rotations of unit length, and nobody else's."""
        return Pose.unchecked(self.skeleton, q, *self._kept(len(q)))

    def _kept(self, k: int) -> list[Floats | None]:
        """The translations and the scales of the starts (k, n, 3)."""
        return [_rows(value, k) for value in (self.start.translations, self.start.scales)]

    def tolerance(self, distance: float | None, angle: float | None) -> Tolerance:
        """What is given, or the default: 1e-4 of the chain's length and 1e-4 rad for characters, 1e-6 for robots."""
        kinds = self.skeleton.kinds
        robot = not (kinds == Kind.BALL).any() and is_robot(kinds, self.skeleton.parents)
        if distance is None:
            distance = _ROBOT if robot else _CHARACTER * self._length or _ROBOT
        return Tolerance(float(distance), float((_ROBOT if robot else _CHARACTER) if angle is None else angle))

    @property
    def _length(self) -> float:
        """The length of the chain at rest, or where it has none the size of the figure [file units]."""
        return remember(self.skeleton, "lengths", (self.kinds, self.free_root), self._rest_length)

    def _rest_length(self) -> float:
        own = self._at_rest.length
        if own > 0:
            return own
        points = Pose(self.skeleton, self.skeleton.rest_q).world.positions
        return float(np.ptp(points, axis=0).max(initial=0.0))

    @property
    def _at_rest(self) -> Plan:
        """The plan of the rest pose, which most poses share."""
        if not len(self.plan.layout.still) and self.start.translations is None and self.start.scales is None:
            return self.plan
        rest = Pose(self.skeleton, self.skeleton.rest_q)
        return plan_of(rest, self.goals, self.kinds, free_root=self.free_root)

    def allowed(self, tolerance: Tolerance) -> Floats:
        """The largest error (c,) that counts as reached; infinite for optional goals."""

        def make() -> Floats:
            own = [tolerance.distance if m.kind in LENGTHS else tolerance.angle for m in self.plan.measures]
            return np.where(self.spared, np.inf, own) if self.ranked else np.array(own)

        return remember(self.plan, "allowed", tolerance, make)

    def bounds(self, tolerance: Tolerance) -> Floats:
        """The same (c,) with what the kernels' rounding and the judge's may be apart."""
        return remember(self.plan, "bounds", tolerance, lambda: self.allowed(tolerance) * (1 + ROUNDING))

    def met(self, errors: Floats, tolerance: Tolerance) -> Bools:
        """Which rows of errors (k, c) are within the tolerance, all of them."""
        return np.asarray((errors <= self.bounds(tolerance)).all(axis=-1))

    def corrected(self, aims: Floats, targets: Floats, q: Floats) -> Floats:
        """Aims (k, W) moved by what poses q (k, nq) miss the targets by: for geometry that the kernels see askew."""
        aims = aims.copy()
        pose = self.posed(q)
        places = Places(pose)
        for measure in self.measures:
            if measure.kind == BALANCE:
                continue
            goal = self.goals[measure.goal]
            where = slice(measure.column, measure.column + NUMBERS[measure.kind])
            aim, wanted = aims[:, where], targets[:, where]
            if measure.kind == POSITION:
                aims[:, where] += wanted - places.point(measure, goal)
            elif measure.kind == ROTATION:
                turned = pose.world[self.skeleton.names[measure.row]].rotations
                left = rotations.multiply(wanted, rotations.inverse(turned))
                aims[:, where] = rotations.normalised(rotations.multiply(left, aim))
            elif measure.kind == POLE:
                side, first = places.side(measure, wanted), pose.world.positions[:, measure.limb[0]]
                aims[:, where] = first + rotations.rotate(rotations.about(side.line, side.angle), aim - first)
            else:
                left = rotations.rotation_between(places.axis(measure, goal), places.way(measure, goal, wanted))
                begin = places.point(measure, goal) if measure.kind == AIM else np.zeros(3)
                aims[:, where] = begin + rotations.rotate(left, aim - begin)
        return aims


def _rows(value: Floats | None, k: int) -> Floats | None:
    if value is None:
        return None
    return np.broadcast_to(value.reshape(-1, *value.shape[-2:]), (k, *value.shape[-2:]))
