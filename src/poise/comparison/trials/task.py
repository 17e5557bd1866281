"""Task of a comparison and its sets of targets. A task has a start, a goal, the tolerances and the sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.problem.goals import Orientation, Place, Position
from poise.problem.problem import Problem, Tolerance
from poise.problem.reach import reaches

OneGoal: TypeAlias = Position | Orientation | Place
LEVELS = (100.0, 10.0, 1.0)  # tolerances of the three levels, in units of the finest


@dataclass(frozen=True, eq=False)
class TargetSet:
    """Targets in the same order for every method.

    name     "reachable", "path", "stretched", "singular", "leaving" or "given"
    text     one-sentence description
    rows     (k, W) in the form of the goal: x y z, w x y z, or both [world, file units]
    follows  whether each is solved from the previous answer; otherwise all from the start
    start    (nq,) start of the first target
    """

    name: str
    text: str
    rows: Floats
    follows: bool
    start: Floats

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Task:
    """Task of a comparison.

    Parameters
    ----------
    name
        Name of the rig, for titles.
    start
        A legal pose.
    goal
        Position, Orientation or Place of one joint; its own target is only an example.
    tolerance
        The finest of the three levels, passed to the methods.
    sets
        Sets of targets by name; the first is the main one.
    moved_inside
        Names of the joints with a start outside their limits; they were clamped first.
    """

    name: str
    start: Pose
    goal: OneGoal
    tolerance: Tolerance
    sets: dict[str, TargetSet]
    moved_inside: tuple[str, ...] = ()

    @cached_property
    def problem(self) -> Problem:
        """The start and the goal, packed."""
        return Problem(self.start, (self.goal,))

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the moving joints."""
        return self.problem.joints

    @property
    def main(self) -> TargetSet:
        """The set of targets used for ranking."""
        return next(iter(self.sets.values()))

    @property
    def title(self) -> str:
        """A title such as "humanoid.glb: LeftArm to LeftHand, Position"."""
        chain = f"{self.joints[0]} to {self.goal.joint}" if self.joints else self.goal.joint
        return (
            f"{self.name}: {chain}, {type(self.goal).__name__}" if self.name else f"{chain}, {type(self.goal).__name__}"
        )

    def scores(self, errors: Floats) -> Floats:
        """Compute the largest error (k,) in units of its tolerance. Errors are (k, c); a missing number gives infinity.

        Scores up to 1 are solved at the finest level, up to 10 and 100 at the others.
        """
        scores = (errors / self.allowed).max(axis=1, initial=0.0)
        return np.where(np.isnan(scores), np.inf, scores)

    @cached_property
    def allowed(self) -> Floats:
        """The largest error (c,) of a solved target. It is that of the finest level: a distance, an angle, or both."""
        return self.problem.allowed(self.tolerance)

    def reach_shares(self, rows: Floats) -> Floats | None:
        """Compute target distances as a share of the longest reach.

        Targets are (k, W), shares (k,). They are measured from the chain's first joint.

        Returns None for a goal without a position or an unbounded reach (a slide without limits).
        """
        found = reaches(self.problem, rows)
        if not found or not 0 < found[0].longest < np.inf:
            return None
        return found[0].wanted / found[0].longest
