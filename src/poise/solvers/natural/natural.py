"""Poses that people keep, and goals that are met: stages in closed form as the start of a solve for all goals.

The engine knows residuals, not bodies. Of all poses that meet the goals it finds one near the start, and with 50
degrees of freedom most of those are poses nobody would take: collar bones drawn up, elbows lifted, knees turned inward.
So a figure whose joints are known is posed first as people do it by hand: the root, the trunk, then each arm and leg in
closed form with knee and elbow where a body has them. The engine begins there, and where nothing is left to do that is
the answer. Where it had to go on, knees and elbows are turned back about the lines from hip to foot and from shoulder
to hand, which moves neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from poise import solvers
from poise.maths.arrays import Bools, Floats
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.answers import answered_in_groups
from poise.solvers.base.capabilities import Capabilities
from poise.solvers.base.contract import Answer, Request
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solvers.natural.limbs import poles
from poise.solvers.natural.stages import Stage, stages_of


@dataclass(frozen=True, kw_only=True)
class Natural:
    """A figure's natural poses, with another solver for what closed forms leave.

    Parameters
    ----------
    engine
        The solver that begins where the stages end.
    """

    engine: solvers.Solver = field(default_factory=LevenbergMarquardt)

    @property
    def name(self) -> str:
        """Name of the solver that has the last word."""
        return self.engine.name

    @property
    def handles(self) -> Capabilities:
        """What that one handles."""
        return self.engine.handles

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        stages = stages_of(problem) if problem.joints else ()
        if not stages or not len(targets):
            return self.engine.run(problem, targets, tolerance, request)
        silent = replace(request, progress=None)
        q = np.array(np.broadcast_to(problem.start.flat_q, (len(targets), problem.skeleton.nq)))
        # A start that meets its goals comes back as it is.
        met = problem.met(problem.errors(q, targets), tolerance)
        rows = np.flatnonzero(~met)
        staged, updates = q.copy(), np.zeros(len(q), dtype=np.int64)
        if len(rows):
            staged[rows], updates[rows] = _staged(_part(problem, rows), stages, targets[rows], tolerance, silent)
        found = answered_in_groups(self.engine, problem.at(problem.posed(staged)), targets, tolerance, request)
        moved = found.iterations > 0
        if moved.any():
            found = found._replace(q=self._turned_back(problem, stages, targets, tolerance, found.q, moved))
        done = found.iterations + (updates > 0)
        return found._replace(iterations=done, joint_updates=found.joint_updates + updates)

    def _turned_back(
        self, problem: Problem, stages: tuple[Stage, ...], targets: Floats, tolerance: Tolerance, q: Floats,
        moved: Bools,
    ) -> Floats:  # fmt: skip
        """Knees and elbows of what the engine moved, where they bend by themselves and all goals lose nothing."""
        rows = np.flatnonzero(moved)
        limbs = tuple(stage for stage in stages if stage.limb is not None)
        there = _part(problem, rows).at(_part(problem, rows).posed(q[rows]))
        turned, _ = _staged(there, limbs, targets[rows], tolerance, Request())
        before, after = (problem.errors(each, targets[rows]) for each in (q[rows], turned))
        bounds = np.where(problem.met(before, tolerance)[:, None], problem.bounds(tolerance), before * (1.0 + _WORSE))
        better = (after <= bounds).all(axis=1)
        found = q.copy()
        found[rows[better]] = turned[better]
        return found


_WORSE = 1e-9  # of an error: by so much it may grow when a limb is turned back


def _part(problem: Problem, rows: np.ndarray) -> Problem:
    return problem.part(rows) if problem.start.shape else problem


def _staged(
    problem: Problem, stages: tuple[Stage, ...], targets: Floats, tolerance: Tolerance, request: Request
) -> tuple[Floats, np.ndarray]:
    """The poses q (k, nq) that the stages leave, and how many joints they turned."""
    pose = problem.posed(np.array(np.broadcast_to(problem.start.flat_q, (len(targets), problem.skeleton.nq))))
    updates = np.zeros(len(targets), dtype=np.int64)
    for stage in stages:
        rows = np.ascontiguousarray(targets[:, stage.columns])
        if stage.limb is not None:
            rows = np.concatenate([rows, poles(problem.skeleton, stage.limb, pose, rows)], axis=1)
        part = Problem(pose, stage.goals, stage.free_root)
        answer = answered_in_groups(stage.solver, part, rows, tolerance, request)
        updates += answer.joint_updates
        pose = problem.posed(answer.q)
    return pose.flat_q, updates
