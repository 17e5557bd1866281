"""Solver of one view, with its plan for the chains."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise import solvers
from poise.errors import PoiseError, UnsupportedError
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.problem.goals import Goal
from poise.problem.layout import LENGTHS
from poise.solvers.base.status import Status
from poise.solving.prepared import Prepared
from poise.solving.result import Result
from poise.solving.solve import chosen_solver, prepare, solve
from poise.viewer.abilities import ChainPlan, plan_chains
from poise.viewer.document.chains import ChainTarget
from poise.viewer.document.document import Choice, Document
from poise.viewer.protocol import NOTHING, REFUSED

_NOTE = "chain after chain: this solver takes one at a time, and joints that chains share stay still"
_POINTS = {"position", "aim", "pole"}  # measures with a world position in their first three numbers


@dataclass(frozen=True, eq=False)
class Outcome:
    """Solve result of one view.

    q           (characters, nq)
    start       (characters, nq) initial q of the solve
    status      a code of poise.Status, REFUSED or NOTHING
    sentence    the status with numbers, or the refusal of the solver
    left        largest position error [file units]; NaN without position goals
    note        remark on the solve, or None
    left_out    chains rejected by the solver, each with the reason
    moved       whether q differs from the start
    """

    q: Floats
    start: Floats
    status: int = NOTHING
    sentence: str = ""
    solver: str = ""
    iterations: int = 0
    seconds: float = 0.0
    left: float = math.nan
    note: str | None = None
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def moved(self) -> bool:
        """Whether any joint moved."""
        return not np.array_equal(self.q, self.start)


class Solving:
    """Solver of one view for the enabled chains and a base pose.

    A solver of one goal or one joint at a time solves chain after chain. Shared joints are then fixed, because each
    chain would undo the one before. Chains rejected by the solver are omitted, unless none would remain.
    """

    def __init__(self, document: Document, base: Pose, choice: Choice) -> None:
        self.base, self.choice = base, choice
        self.places = np.array(document.places) - np.array(document.places[0])
        self._settings: dict[str, Any] = {"tolerance": document.tolerance, "free_root": document.free_root}
        self._iterate = document.run != "live"
        self._prepared: dict[int, Prepared] = {}
        self._solver: solvers.Solver | None = None
        self._plan = ChainPlan(groups=())

    def __call__(self, chains: Sequence[ChainTarget], start: Floats) -> Outcome:
        """Solve for the chains' targets from q (characters, nq).

        A refusal becomes the outcome's sentence instead of an exception.
        """
        try:
            return self._solved(chains, start)
        except PoiseError as error:
            return Outcome(start, start, REFUSED, str(error), self.choice.name)

    def curve(self, chains: Sequence[ChainTarget], watched: int, start: Floats) -> list[float] | None:
        """Compute the error per iteration of the first character. It covers one chain and those solved with it.

        None without a trace.
        """
        if watched in self._plan.left_out:
            return None
        try:
            chains = self._plan.set_roots(chains)
            group = next((group for group in self._plan.groups if watched in group), (watched,))
            goals = [goal for i in group for goal in chains[i].goals(self.base.skeleton)]
            pose = self.base.with_q(start[0])
            trace = solve(pose, goals, solver=self._made(goals), trace=True, **self._settings).trace
        except PoiseError:
            return None
        return None if trace is None else [float(error) for error in trace.errors[:1000]]

    def _solved(self, chains: Sequence[ChainTarget], start: Floats) -> Outcome:
        if self._solver is None:
            self._solver = self._choose(chains)
        chains = self._plan.set_roots(chains)
        goals = [chain.goals(self.base.skeleton) for chain in chains]
        q, results = start, list[Result]()
        for number, group in enumerate(self._plan.groups):
            result = self._run(number, [goal for i in group for goal in self._each(chains[i], goals[i])], q)
            results.append(result)
            q = result.q.reshape(start.shape)
        note = _NOTE if len(self._plan.groups) > 1 else None
        without = tuple((chains[i].id, reason) for i, reason in self._plan.left_out.items())
        outcome = _outcome(results, q, start, note, without)
        outcome = _mark_undone(outcome, results)
        return _mark_unfinished(outcome, results) if self._iterate and outcome.moved else outcome

    def _choose(self, chains: Sequence[ChainTarget]) -> solvers.Solver:
        """Make the solver and its chain plan.

        Raise UnsupportedError if it takes no chain.
        """
        solver = self._made([goal for chain in chains for goal in chain.goals(self.base.skeleton)])
        self._plan = plan_chains(solver, self.base, chains, free_root=self._settings["free_root"])
        self._settings["free_root"] = self._plan.free_root
        if self._plan.refused is not None:
            raise UnsupportedError(self._plan.refused)
        return solver

    def _each(self, chain: ChainTarget, goals: list[Goal]) -> list[Goal]:
        """Repeat the goals of a chain for each character. Pins keep each character's own position."""
        if len(self.places) == 1:
            return goals
        places = np.zeros_like(self.places) if chain.kind == "pin" else self.places
        return [_shifted(goal, places) for goal in goals]

    def _made(self, goals: Sequence[Goal]) -> solvers.Solver:
        free_root = self._settings["free_root"]
        # Single iterations show the solver without the closed-form start.
        natural = False if self._iterate else None
        made = chosen_solver(self.choice.made(), self.base, tuple(goals), free_root=free_root, natural=natural)
        return _one_iteration(made) if self._iterate else made

    def _run(self, number: int, goals: list[Goal], q: Floats) -> Result:
        if len(q) > 1:
            return solve(posed(self.base, q), goals, solver=self._solver_made, **self._settings)
        prepared = self._prepared.get(number)
        if prepared is None:
            prepared = self._prepared[number] = prepare(self.base, goals, solver=self._solver_made, **self._settings)
        targets = [goal.rows() for goal in goals]
        return prepared(targets[0] if len(targets) == 1 else targets, q[0])

    @property
    def _solver_made(self) -> solvers.Solver:
        assert self._solver is not None
        return self._solver


def _one_iteration(solver: solvers.Solver) -> solvers.Solver:
    """Limit a solver to one iteration. Closed forms have no such option and stay unchanged."""
    fields = {field.name for field in dataclasses.fields(solver)}  # pyright: ignore[reportArgumentType]
    stop = {name: value for name, value in (("iterations", 1), ("restarts", 0)) if name in fields}
    return dataclasses.replace(solver, **stop)  # pyright: ignore[reportArgumentType, reportCallIssue]


def posed(base: Pose, q: Floats) -> Pose:
    """Build the pose of one character, q (1, nq), or a crowd.

    For a crowd q (k, nq) it is a batch. Translations and scales are those of the base pose.
    """
    if len(q) == 1:
        return base.with_q(q[0])
    given = (base.translations, base.scales)
    return Pose(base.skeleton, q, *(None if part is None else np.repeat(part[None], len(q), axis=0) for part in given))


def _shifted(goal: Goal, places: Floats) -> Goal:
    """Repeat a goal for each character, in its own coordinates. Rotations stay unchanged."""
    rows = np.repeat(goal.rows()[None], len(places), axis=0)
    if set(goal.measures[:1]) <= _POINTS:
        rows[:, :3] -= places
    return goal.with_target(rows)


def _outcome(
    results: Sequence[Result], q: Floats, start: Floats, note: str | None, without: tuple[tuple[str, str], ...]
) -> Outcome:
    """Combine several results into one.

    The worst status counts, with its sentence; iterations and times are added up.
    """
    codes = [int(np.max(result.codes)) for result in results]
    lefts = [_left(result) for result in results]
    worst = max(range(len(results)), key=lambda i: (codes[i], lefts[i].max()))
    result = results[worst]
    index = int(np.argmax(np.where(result.codes.ravel() == codes[worst], lefts[worst], -1.0)))
    sentence = result.message(index)
    if len(q) > 1:
        done = int((result.codes == Status.reached).sum())
        sentence = f"{done} of {len(q)} characters: {sentence}"
    left = [float(np.nanmax(one.position_errors)) for one in results if not np.isnan(one.position_errors).all()]
    return Outcome(
        q, start, codes[worst], sentence, result.solver, sum(int(np.sum(one.iterations)) for one in results),
        sum(one.seconds for one in results), max(left, default=math.nan), note, without,
    )  # fmt: skip


def _mark_undone(outcome: Outcome, results: Sequence[Result]) -> Outcome:
    """Mark an outcome as contradictory where later chains undo earlier ones."""
    if outcome.status != Status.reached:
        return outcome
    left = 0.0
    for result in results[:-1]:
        problem, shape = result.problem, (len(outcome.q), result.targets.shape[1])
        errors = problem.errors(outcome.q, np.ascontiguousarray(np.broadcast_to(result.targets, shape)))
        if not problem.met(errors, result.tolerances).all():
            lengths = [column for column, measure in enumerate(problem.measures) if measure.kind in LENGTHS]
            left = max(left, float(errors[:, lengths].max(initial=math.ulp(0.0))))
    if left == 0.0:
        return outcome
    sentence = f"contradictory: a chain moves what another has reached; {results[0].length(left)} left"
    return dataclasses.replace(outcome, status=int(Status.contradictory), sentence=sentence, left=left)


def _mark_unfinished(outcome: Outcome, results: Sequence[Result]) -> Outcome:
    """Mark an outcome after one iteration as unfinished."""
    if outcome.status != Status.stalled:
        return outcome
    left = max(float(_left(result).max()) for result in results)
    is_angle = all(np.isnan(result.position_errors).all() for result in results)
    amount = f"{math.degrees(left):.3g} deg" if is_angle else results[0].length(left)
    took = f"{outcome.iterations} iteration{'' if outcome.iterations == 1 else 's'}"
    return dataclasses.replace(outcome, status=int(Status.on_the_way), sentence=f"after {took}: {amount} left")


def _left(result: Result) -> Floats:
    """Measure the largest position error (k,) of each target.

    Without position goals it is the largest angle.
    """
    errors = result.angle_errors if np.isnan(result.position_errors).all() else result.position_errors
    return np.nan_to_num(errors.reshape(result.codes.size, -1)).max(axis=1)
