"""A start pose and goals: what is solved. Solvers take the packed form they need, the judge measures the errors.

Targets travel as rows: the numbers of all goals side by side, world, file units, one row per problem of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poise.errors import UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import AnyGoal, Goal, Pin, Position
from poise.problem.layout import AIM, NUMBERS, POLE, POSITION, ROTATION, Measure, measures_of, tree_layout
from poise.problem.measure import Paths, axis_of, errors_by_paths, errors_by_world, paths_of, point_of, side_in, way_of
from poise.problem.old_chain import Chain, coupled_on_the_way, pack, packs_together
from poise.problem.packed import Tree
from poise.problem.packing import pack_tree, trees_together

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
        A legal pose: a single one, or a batch axis of poses that can be packed together.
    goals
        At least one. The targets that they hold are examples and are not used here.
    free_root
        Whether the free root joint above the chain may move as well.
    """

    start: Pose
    goals: tuple[Goal, ...]
    free_root: bool = False

    def part(self, rows: Bools | slice) -> Problem:
        """The problem of some of the starts; the same problem where there is only one start for all targets."""
        return Problem(self.start[rows], self.goals, self.free_root) if self.start.shape else self

    def starting_at(self, q: Floats) -> Problem:
        """The same problem from another legal configuration (nq,) of a single start."""
        other = Problem(self.start.with_q(q), self.goals, self.free_root)
        tree: Tree | None = self.__dict__.get("tree")
        if tree is not None and tree.serves(other.start.q):
            other.__dict__["tree"] = tree.starting_from(other.start)
        return other

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the start."""
        return self.start.skeleton

    @cached_property
    def tree(self) -> Tree:
        """The joints that move for all goals, packed for the engine."""
        return pack_tree(self.start, self.goals, free_root=self.free_root)

    @cached_property
    def chain(self) -> Chain | None:
        """The chain of a single Position goal, for solvers that go from joint to joint; None where there is none."""
        return None if isinstance(self._chain, UnsupportedError) else self._chain

    def require_chain(self, solver: str) -> Chain:
        """Return the chain, or raise UnsupportedError with the reason why there is none."""
        if isinstance(self._chain, UnsupportedError):
            raise UnsupportedError(f"{solver} {self._chain}")
        return self._chain

    @cached_property
    def _chain(self) -> Chain | UnsupportedError:
        if len(self.goals) != 1:
            return UnsupportedError(f"solves one Position goal at a time; got {len(self.goals)} goals")
        if not isinstance(self.goals[0], Position):
            return UnsupportedError(f"solves Position goals; this is a {type(self.goals[0]).__name__}")
        together = coupled_on_the_way(self.skeleton, self.goals[0], free_root=self.free_root)
        if together is not None:
            a, b = together
            return UnsupportedError(
                f"moves one joint at a time; {a!r} and {b!r} are coupled and both on the way to the tip"
            )
        return pack(self.start, self.goals[0], free_root=self.free_root)

    @property
    def sheared(self) -> bool:
        """Whether the scale of some joint is not quite uniform, so that solvers see a slightly different geometry."""
        return self.chain.sheared if self.chain is not None else self.tree.sheared

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """What is measured: one for each column of the errors."""
        return measures_of(self.skeleton, self.goals)

    @cached_property
    def _paths(self) -> Paths | None:
        return paths_of(self.start, self.goals)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that can move."""
        if self.chain is not None:
            return self.chain.joints
        layout = tree_layout(self.skeleton, self.goals, free_root=self.free_root)
        return tuple(self.skeleton.names[row] for row in layout.joints)

    def targets(self, goals: Sequence[Goal], k: int) -> Floats:
        """The target rows (k, W) of goals of the same kinds. The target of a Pin is where the start has its joint."""
        parts: list[Floats] = []
        for goal in goals:
            if isinstance(goal, Pin):
                parts.append(np.broadcast_to(self._pinned(goal), (k, 7 if goal.rotation else 3)))
            elif goal.width:
                parts.append(np.broadcast_to(goal.rows().reshape(-1, goal.width), (k, goal.width)))
        return np.concatenate([np.zeros((k, 0)), *parts], axis=-1)

    def _pinned(self, goal: Pin) -> Floats:
        at = self.start.world[goal.joint]
        rows = np.concatenate([at.positions, at.rotations], axis=-1).reshape(-1, 7)
        return rows if goal.rotation else rows[:, :3]

    def errors(self, q: Floats, targets: Floats) -> Floats:
        """How far poses q (k, nq) are from targets (k, W): (k, c) distances [file units] and angles [rad]."""
        if not self.measures:
            return np.zeros((len(q), 0))
        if self._paths is None:
            return errors_by_world(self.posed(q), self.goals, targets)
        return errors_by_paths(self._paths, q, targets)

    def posed(self, q: Floats) -> Pose:
        """The start pose with another q (k, nq); its translations and scales are kept."""
        start = self.start
        return Pose(start.skeleton, q, *(_rows(value, len(q)) for value in (start.translations, start.scales)))

    def tolerance(self, distance: float | None, angle: float | None) -> Tolerance:
        """What is given, or the default: 1e-4 of the chain's length and 1e-4 rad for characters, 1e-6 for robots."""
        robot = not (self.skeleton.kinds >= Kind.BALL).any()
        if distance is None:
            distance = _ROBOT if robot else _CHARACTER * self._length or _ROBOT
        return Tolerance(float(distance), float((_ROBOT if robot else _CHARACTER) if angle is None else angle))

    @cached_property
    def _length(self) -> float:
        """The length of the chain at rest, or where it has none the size of the figure [file units]."""
        if self.chain is not None and self.chain.links and 0 < self.chain.length < np.inf:
            return self.chain.length
        if self.chain is None:
            longest = self.tree.lengths
            if longest.size and 0 < longest.max() < np.inf:
                return float(longest.max())
        points = Pose(self.skeleton, self.skeleton.rest_q).world.positions
        return float(np.ptp(points, axis=0).max(initial=0.0))

    def corrected(self, aims: Floats, targets: Floats, q: Floats) -> Floats:
        """Aims (k, W) moved by what poses q (k, nq) miss the targets by: for geometry that the kernels see askew."""
        aims = aims.copy()
        pose = self.posed(q)
        for measure in self.measures:
            goal = self.goals[measure.goal]
            where = slice(measure.column, measure.column + NUMBERS[measure.kind])
            aim, wanted = aims[:, where], targets[:, where]
            if measure.kind == POSITION:
                aims[:, where] += wanted - point_of(pose, measure, goal)
            elif measure.kind == ROTATION:
                turned = pose.world[self.skeleton.names[measure.row]].rotations
                left = rotations.multiply(wanted, rotations.inverse(turned))
                aims[:, where] = rotations.normalised(rotations.multiply(left, aim))
            elif measure.kind == POLE:
                side, first = side_in(pose, measure, wanted), pose.world.positions[:, measure.limb[0]]
                aims[:, where] = first + rotations.rotate(rotations.about(side.line, side.angle), aim - first)
            else:
                left = rotations.rotation_between(axis_of(pose, measure, goal), way_of(pose, measure, goal, wanted))
                begin = point_of(pose, measure, goal) if measure.kind == AIM else np.zeros(3)
                aims[:, where] = begin + rotations.rotate(left, aim - begin)
        return aims


def solved_together(start: Pose, goals: Sequence[AnyGoal], *, free_root: bool) -> bool:
    """Whether one packed problem serves every pose of a batch."""
    goal = goals[0]
    if (
        len(goals) == 1
        and isinstance(goal, Position)
        and not coupled_on_the_way(start.skeleton, goal, free_root=free_root)
    ):
        return packs_together(start, goal, free_root=free_root)
    return trees_together(start, goals, free_root=free_root)


def _rows(value: Floats | None, k: int) -> Floats | None:
    if value is None:
        return None
    return np.broadcast_to(value.reshape(-1, *value.shape[-2:]), (k, *value.shape[-2:]))
