"""Solver of one view, chain plans and solver refusals."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from poise import solvers
from poise.errors import PoiseError, UnsupportedError
from poise.formatting import format_count
from poise.maths.arrays import Floats
from poise.model import numpy_kinematics
from poise.model.pose import Pose
from poise.problem.dof_layout import LENGTH_KINDS
from poise.problem.goal_ranges import get_reference
from poise.problem.goals import Goal
from poise.problem.problem import Problem
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.interface import Request, Status
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solvers.natural.natural import Natural
from poise.solving.result import Result
from poise.solving.solve import Prepared, choose_solver, prepare, solve
from poise.viewer.document.chains import TargetedChain
from poise.viewer.document.document import AUTO_SOLVER, Document, SolverChoice
from poise.viewer.protocol import STATUS_MISSED, STATUS_NOTHING, STATUS_REFUSED

# --- Plan chains for a solver: together, in sequence, or skipped -----------------------------------------------------


class ChainPlan(NamedTuple):
    """The order of several chains for a solver, by index.

    Parameters
    ----------
    groups
        Groups of chains solved together: all, or each alone. Omitted chains are in no group.
    left_out
        Chains rejected by the solver, each with the reason.
    roots
        The first moving joint of each chain where it is not the chain's own root.
    free_root
        Whether the root of the rig may move.
    refusal
        The reason against all chains; None if the solver takes one.
    """

    groups: tuple[tuple[int, ...], ...]
    left_out: Mapping[int, str] = {}
    roots: Mapping[int, str] = {}
    free_root: bool = False
    refusal: str | None = None

    def set_roots(self, chains: Sequence[TargetedChain]) -> list[TargetedChain]:
        """Return the chains with the roots of this plan."""
        return [chain.replace(root=self.roots.get(i, chain.root)) for i, chain in enumerate(chains)]


def plan_chains(solver: solvers.Solver, start: Pose, chains: Sequence[TargetedChain], *, free_root: bool) -> ChainPlan:
    """Plan the order of chains for a solver. Nothing is solved for it.

    Parameters
    ----------
    solver
        The solver.
    start
        The pose before the solve.
    chains
        The enabled chains of the document.
    free_root
        Whether the root of the rig may move as well.

    Notes
    -----
    A solver of one goal at a time solves chain after chain. Shared joints of several chains, and a free root, are then
    fixed, because each chain would undo the one before. Chains nearer to the root come first.
    """
    chain_indices = list(range(len(chains)))
    if len(chains) > 1 and _is_one_at_a_time(solver):
        joints_by_chain = {i: chain.list_joints(start.skeleton) for i, chain in enumerate(chains)}
        refusals = _find_chain_refusals(
            solver,
            start,
            ChainPlan(groups=(), roots=find_own_roots(joints_by_chain)).set_roots(chains),
            free_root=False,
        )
        accepted = [i for i in chain_indices if i not in refusals] or chain_indices
        roots = find_own_roots({i: joints_by_chain[i] for i in accepted})
        accepted.sort(key=lambda i: len(start.skeleton.ancestors(roots.get(i, joints_by_chain[i][0]))))
        plan = ChainPlan(tuple((i,) for i in accepted), roots=roots)
    else:
        common_refusal = _find_refusal(solver, start, chains, free_root=free_root)
        refusals = {} if common_refusal is None else _find_chain_refusals(solver, start, chains, free_root=free_root)
        accepted = [i for i in chain_indices if i not in refusals] or chain_indices
        plan = ChainPlan((tuple(accepted),), free_root=free_root)
        if common_refusal is not None and (len(chains) == 1 or not refusals):
            return plan._replace(refusal=common_refusal)
    if len(refusals) == len(chains):
        return plan._replace(refusal=next(iter(refusals.values())))
    return plan._replace(left_out=refusals)


def find_own_roots(joints_by_chain: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """Find roots below the joints of several chains.

    Parameters
    ----------
    joints_by_chain
        The joints of each chain, from root to tip, by its number.

    Returns
    -------
        The first joint of each chain below all joints of other chains. Chains without shared joints, or without a joint
        of their own, keep their roots and are omitted.
    """
    roots: dict[int, str] = {}
    for i, own_joints in joints_by_chain.items():
        foreign_joints = {name for k, other_joints in joints_by_chain.items() if k != i for name in other_joints[:-1]}
        shared_indices = [index for index, name in enumerate(own_joints[:-1]) if name in foreign_joints]
        first_index = shared_indices[-1] + 1 if shared_indices else 0
        if 0 < first_index < len(own_joints) - 1:
            roots[i] = own_joints[first_index]
    return roots


def _is_one_at_a_time(solver: solvers.Solver) -> bool:
    return solver.handles.one_joint or not solver.handles.several


def _find_chain_refusals(
    solver: solvers.Solver, start: Pose, chains: Sequence[TargetedChain], *, free_root: bool
) -> dict[int, str]:
    """Find the refusal reason of each chain alone. Chains without one are omitted."""
    refusals = {i: _find_refusal(solver, start, [chain], free_root=free_root) for i, chain in enumerate(chains)}
    return {i: reason for i, reason in refusals.items() if reason is not None}


def _find_refusal(
    solver: solvers.Solver, start: Pose, chains: Sequence[TargetedChain], *, free_root: bool
) -> str | None:
    """Find the refusal reason of all chains together, or None."""
    any_solver: Any = solver
    goals: list[Goal] = [goal for chain in chains for goal in chain.build_goals(start.skeleton)]
    try:
        problem = Problem(start, tuple(goals), free_root)
        solvers.check(solver, problem, Request())
        # the solver checks lengths as well as goal kinds
        if hasattr(any_solver, "refuse") and not numpy_kinematics.are_kernels_pending():
            any_solver.refuse(problem)
    except UnsupportedError as error:
        return str(error)
    return None


# --- Solver of a view ------------------------------------------------------------------------------------------------


_SEQUENTIAL_NOTE = "chain after chain: this solver takes one at a time, and joints that chains share stay still"
_MAX_PATH_ROWS = 2000  # iterations of a race
# Restarts of a whole body in a drag, of 120 that it has: a move begins near its answer. On 12 figures, with half of the
# moves beyond reach, the mean error is as with all 120 at the first miss; 6 leave 1 % more, 3 up to 8 % more.
_DRAG_RESTARTS = 8
_POINT_MEASURES = {"position", "aim", "pole"}  # measures with a world position in their first three numbers


class Verdict(NamedTuple):
    """How a solve ended.

    status    a code of poise.Status, STATUS_REFUSED or STATUS_NOTHING
    sentence  the status with numbers, or the refusal of the solver
    """

    status: int = STATUS_NOTHING
    sentence: str = ""


_NO_VERDICT = Verdict()


class SolvePath(NamedTuple):
    """Poses q (rows, nq) of a solve, and what each leaves (rows,).

    The first is the start and the last the answer.

    Errors are the largest position errors [file units], or angles [rad] without position goals.
    """

    q: Floats
    errors: Floats

    @property
    def last(self) -> int:
        """The last iteration."""
        return len(self.errors) - 1


@dataclass(frozen=True, eq=False)
class ViewOutcome:
    """Solve result of one view.

    q               (characters, nq)
    start_q         (characters, nq) initial q of the solve
    verdict_source  the verdict, or the function that finds it: the reason of a missed goal takes longer than a solve
    is_reached      whether all chains have reached their targets
    solver          name of the solver
    iterations      of the solve
    seconds         of the solve
    position_error  largest position error [file units]; NaN without position goals
    note            remark on the solve, or None
    left_out        chains rejected by the solver, each with the reason
    path            the iterations, in a race
    """

    q: Floats
    start_q: Floats
    verdict_source: Verdict | Callable[[], Verdict] = _NO_VERDICT
    is_reached: bool = False
    solver: str = ""
    iterations: int = 0
    seconds: float = 0.0
    position_error: float = math.nan
    note: str | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    path: SolvePath | None = None

    @cached_property
    def verdict(self) -> Verdict:
        """Status and sentence, found at the first use."""
        return self.verdict_source if isinstance(self.verdict_source, Verdict) else self.verdict_source()

    @property
    def lacks_reason(self) -> bool:
        """Whether the reason of a missed goal is still to be found."""
        return not self.is_reached and "verdict" not in vars(self) and not isinstance(self.verdict_source, Verdict)

    @property
    def status(self) -> int:
        """Status code of the verdict."""
        return self.verdict.status

    @property
    def sentence(self) -> str:
        """Sentence of the verdict."""
        return self.verdict.sentence

    @property
    def quick_status(self) -> int:
        """The status without a search for reasons. It is STATUS_MISSED where a goal is missed."""
        if self.is_reached:
            return int(Status.reached)
        return self.verdict_source.status if isinstance(self.verdict_source, Verdict) else STATUS_MISSED

    @property
    def has_moved(self) -> bool:
        """Whether any joint moved."""
        return not np.array_equal(self.q, self.start_q)


class ViewSolver:
    """Solver of one view for the enabled chains and a base pose.

    A solver of one goal or one joint at a time solves chain after chain. Shared joints are then fixed, because each
    chain would undo the one before. Chains rejected by the solver are omitted, unless none would remain.
    """

    def __init__(self, document: Document, base_pose: Pose, choice: SolverChoice) -> None:
        self.base_pose = base_pose
        self.choice = choice
        self.character_offsets: Floats = np.array(document.character_positions) - np.array(
            document.character_positions[0]
        )
        self._settings: dict[str, Any] = {"tolerance": document.tolerance, "free_root": document.free_root}
        self._is_single_iteration = document.pace in ("iterate", "step")
        # other solvers know no floor
        has_floor = choice.name == AUTO_SOLVER and not self._is_single_iteration
        self._floor_height = document.floor_height if has_floor else None
        self._prepared: dict[tuple[int, bool], Prepared] = {}
        self._solver: solvers.Solver | None = None
        self._plan = ChainPlan(groups=())

    def __call__(
        self, chains: Sequence[TargetedChain], start_q: Floats, *, continues_drag: bool = False
    ) -> ViewOutcome:
        """Solve for the chains' targets from q (characters, nq).

        A refusal becomes the outcome's sentence instead of an exception.

        continues_drag  whether these are the next targets of a drag. A whole body has few restarts then: it starts
                        from the answer to the last targets, and has all restarts when the drag ends
        """
        try:
            return self._solve_chains(chains, start_q, continues_drag=continues_drag)
        except PoiseError as error:
            return ViewOutcome(start_q, start_q, Verdict(STATUS_REFUSED, str(error)), solver=self.choice.name)

    def compute_error_curve(
        self, chains: Sequence[TargetedChain], chain_index: int, start_q: Floats
    ) -> list[float] | None:
        """Compute the error per iteration of the first character. It covers one chain and those solved with it.

        None without a trace.
        """
        if chain_index in self._plan.left_out:
            return None
        try:
            chains = self._plan.set_roots(chains)
            group = next((group for group in self._plan.groups if chain_index in group), (chain_index,))
            goals = [goal for i in group for goal in chains[i].build_goals(self.base_pose.skeleton)]
            pose = self.base_pose.with_q(start_q[0])
            trace = solve(pose, goals, solver=self._build_solver(goals), trace=True, **self._settings).trace
        except PoiseError:
            return None
        return None if trace is None else [float(error) for error in trace.errors[:1000]]

    def trace_path(self, chains: Sequence[TargetedChain], start_q: Floats) -> SolvePath:
        """Trace a solve of the first character, group after group of chains.

        A solver without a trace goes to its answer in one step. Every error is measured by forward kinematics.
        """
        chains, pose = self._plan.set_roots(chains), self.base_pose.with_q(start_q[0])
        rows, errors = list[Floats](), list[Floats]()
        for group in self._plan.groups:
            goals = [goal for i in group for goal in chains[i].build_goals(self.base_pose.skeleton)]
            result = solve(pose, goals, solver=self._build_solver(goals), trace=True, **self._settings)
            passed = pose.q[None] if result.trace is None else result.trace.q
            if not np.array_equal(passed[-1], result.q):  # of several restarts the best one is the answer
                passed = np.concatenate([passed, result.q[None]])
            if len(passed) > _MAX_PATH_ROWS:
                passed = np.concatenate([passed[:1], passed[1 - _MAX_PATH_ROWS :]])  # start and answer stay
            rows.append(np.ascontiguousarray(passed))
            errors.append(_measure_path(result, rows[-1]))
            pose = pose.with_q(result.q)
        return SolvePath(np.concatenate(rows), np.concatenate(errors))

    def _solve_chains(self, chains: Sequence[TargetedChain], start_q: Floats, *, continues_drag: bool) -> ViewOutcome:
        if self._solver is None:
            self._solver = self._choose_solver(chains)
        chains = self._plan.set_roots(chains)
        goals = [chain.build_goals(self.base_pose.skeleton) for chain in chains]
        q, results = start_q, list[Result]()
        for group_index, group in enumerate(self._plan.groups):
            group_goals = [goal for i in group for goal in self._expand_goals(chains[i], goals[i])]
            result = self._solve_group(group_index, group_goals, q, continues_drag=continues_drag)
            results.append(result)
            q = result.q.reshape(start_q.shape)
        note = _SEQUENTIAL_NOTE if len(self._plan.groups) > 1 else None
        left_out = tuple((chains[i].name, reason) for i, reason in self._plan.left_out.items())
        is_unfinished = self._is_single_iteration and not np.array_equal(q, start_q)
        outcome = ViewOutcome(
            q, start_q, lambda: _find_verdict(results, is_unfinished=is_unfinished),
            all(bool(np.all(result.reached)) for result in results), results[0].solver,
            sum(int(np.sum(result.iterations)) for result in results), sum(result.seconds for result in results),
            _find_largest_error(results), note, left_out,
        )  # fmt: skip
        return _mark_undone(outcome, results) if outcome.is_reached else outcome

    def _choose_solver(self, chains: Sequence[TargetedChain]) -> solvers.Solver:
        """Make the solver and its chain plan.

        Raise UnsupportedError if it takes no chain.
        """
        solver = self._build_solver([goal for chain in chains for goal in chain.build_goals(self.base_pose.skeleton)])
        self._plan = plan_chains(solver, self.base_pose, chains, free_root=self._settings["free_root"])
        self._settings["free_root"] = self._plan.free_root
        if self._plan.refusal is not None:
            raise UnsupportedError(self._plan.refusal)
        return solver

    def _expand_goals(self, chain: TargetedChain, goals: list[Goal]) -> list[Goal]:
        """Repeat the goals of a chain for each character. Pins keep each character's own position."""
        if len(self.character_offsets) == 1:
            return goals
        offsets = np.zeros_like(self.character_offsets) if chain.kind == "pin" else self.character_offsets
        return [_shift_goal(goal, offsets) for goal in goals]

    def _build_solver(self, goals: Sequence[Goal]) -> solvers.Solver:
        free_root = self._settings["free_root"]
        # Single iterations show the solver without the closed-form start.
        natural = False if self._is_single_iteration else None
        solver = choose_solver(
            self.choice.build_solver(), self.base_pose, tuple(goals), free_root=free_root, natural=natural,
            floor=self._floor_height,
        )  # fmt: skip
        return _limit_to_one_iteration(solver) if self._is_single_iteration else solver

    def _solve_group(self, group_index: int, goals: list[Goal], q: Floats, *, continues_drag: bool) -> Result:
        if len(q) > 1:
            return solve(build_pose(self.base_pose, q), goals, solver=self._required_solver, **self._settings)
        key = (group_index, continues_drag)
        prepared = self._prepared.get(key)
        if prepared is None:
            solver = limit_restarts(self._required_solver, _DRAG_RESTARTS) if continues_drag else self._required_solver
            prepared = self._prepared[key] = prepare(self.base_pose, goals, solver=solver, **self._settings)
        targets = [goal.rows() for goal in goals]
        return prepared(targets[0] if len(targets) == 1 else targets, q[0])

    @property
    def _required_solver(self) -> solvers.Solver:
        assert self._solver is not None
        return self._solver


def limit_restarts(solver: solvers.Solver, count: int) -> solvers.Solver:
    """Limit the restarts of a whole body. Other solvers, and those with restarts of their own, stay unchanged."""
    if not isinstance(solver, Natural) or not isinstance(solver.finisher, LevenbergMarquardt):
        return solver
    finisher = solver.finisher
    if finisher.restarts is not None:
        return solver
    return dataclasses.replace(solver, finisher=dataclasses.replace(finisher, restarts=count))


def _limit_to_one_iteration(solver: solvers.Solver) -> solvers.Solver:
    """Limit a solver to one iteration. Closed forms have no such option and stay unchanged."""
    fields = {field.name for field in dataclasses.fields(solver)}  # pyright: ignore[reportArgumentType]
    overrides = {name: value for name, value in (("iterations", 1), ("restarts", 0)) if name in fields}
    return dataclasses.replace(solver, **overrides)  # pyright: ignore[reportArgumentType, reportCallIssue]


def solve_with_path(view_solver: ViewSolver, chains: Sequence[TargetedChain], start_q: Floats) -> ViewOutcome:
    """Solve, and trace the iterations."""
    outcome = view_solver(chains, start_q)
    if outcome.quick_status == STATUS_REFUSED:
        return outcome
    return dataclasses.replace(outcome, path=view_solver.trace_path(chains, start_q))


def describe_iteration(outcome: ViewOutcome, path: SolvePath, iteration: int) -> ViewOutcome:
    """Return the outcome of a solve after some of its iterations."""
    verdict = Verdict(int(Status.on_the_way), f"after {format_count(iteration, 'iteration')} of {path.last}")
    return dataclasses.replace(
        outcome, verdict_source=verdict, is_reached=False, position_error=float(path.errors[iteration]),
        iterations=iteration,
    )  # fmt: skip


def _measure_path(result: Result, q: Floats) -> Floats:
    """Measure what poses q (rows, nq) leave."""
    problem = result.problem
    targets = np.ascontiguousarray(np.broadcast_to(result.targets, (len(q), result.targets.shape[-1])))
    errors = problem.compute_errors(q, targets)
    length_columns = [column for column, measure in enumerate(problem.measures) if measure.kind in LENGTH_KINDS]
    return np.nan_to_num(errors[:, length_columns] if length_columns else errors).max(axis=1, initial=0.0)


def build_pose(base_pose: Pose, q: Floats) -> Pose:
    """Build the pose of one character, q (1, nq), or a crowd.

    For a crowd q (k, nq) it is a batch. Translations and scales are those of the base pose.
    """
    if len(q) == 1:
        return base_pose.with_q(q[0])
    arrays = (base_pose.translations, base_pose.scales)
    return Pose(
        base_pose.skeleton, q, *(None if array is None else np.repeat(array[None], len(q), axis=0) for array in arrays)
    )


def _shift_goal(goal: Goal, offsets: Floats) -> Goal:
    """Repeat a goal for each character, in its own coordinates. Rotations and relative targets stay unchanged."""
    rows = np.repeat(goal.rows()[None], len(offsets), axis=0)
    if set(goal.measures[:1]) <= _POINT_MEASURES and get_reference(goal) is None:
        rows[:, :3] -= offsets
    return goal.with_target(rows)


def _find_verdict(results: Sequence[Result], *, is_unfinished: bool) -> Verdict:
    """Find the worst status of several results, with its sentence.

    After single iterations a stalled solve is unfinished.
    """
    codes = [int(np.max(result.codes)) for result in results]
    target_errors = [_measure_errors(result) for result in results]
    worst_index = max(range(len(results)), key=lambda i: (codes[i], target_errors[i].max()))
    result, code = results[worst_index], codes[worst_index]
    if is_unfinished and code == Status.stalled:
        return Verdict(int(Status.on_the_way), _describe_unfinished(results))
    target_index = int(np.argmax(np.where(result.codes.ravel() == code, target_errors[worst_index], -1.0)))
    sentence = result.message(target_index)
    if result.codes.size > 1:
        reached_count = int((result.codes == Status.reached).sum())
        sentence = f"{reached_count} of {result.codes.size} characters: {sentence}"
    return Verdict(code, sentence)


def _find_largest_error(results: Sequence[Result]) -> float:
    """Find the largest position error of several results. It is NaN without position goals."""
    errors = [result.position_errors for result in results]
    return max((float(np.nanmax(error)) for error in errors if not np.isnan(error).all()), default=math.nan)


def _mark_undone(outcome: ViewOutcome, results: Sequence[Result]) -> ViewOutcome:
    """Mark an outcome as contradictory where later chains undo earlier ones."""
    max_error = 0.0
    for result in results[:-1]:
        problem, shape = result.problem, (len(outcome.q), result.targets.shape[1])
        errors = problem.compute_errors(outcome.q, np.ascontiguousarray(np.broadcast_to(result.targets, shape)))
        if not problem.is_met(errors, result.tolerances).all():
            length_columns = [column for column, measure in enumerate(problem.measures) if measure.kind in LENGTH_KINDS]
            max_error = max(max_error, float(errors[:, length_columns].max(initial=math.ulp(0.0))))
    if max_error == 0.0:
        return outcome
    sentence = f"contradictory: a chain moves what another has reached; {results[0].length(max_error)} left"
    verdict = Verdict(int(Status.contradictory), sentence)
    return dataclasses.replace(outcome, verdict_source=verdict, is_reached=False, position_error=max_error)


def _describe_unfinished(results: Sequence[Result]) -> str:
    """Describe a solve after single iterations."""
    max_error = max(float(_measure_errors(result).max()) for result in results)
    is_angle = all(np.isnan(result.position_errors).all() for result in results)
    error_text = f"{math.degrees(max_error):.3g} deg" if is_angle else results[0].length(max_error)
    iterations = sum(int(np.sum(result.iterations)) for result in results)
    return f"after {iterations} iteration{'' if iterations == 1 else 's'}: {error_text} left"


def _measure_errors(result: Result) -> Floats:
    """Measure the largest position error (k,) of each target.

    Without position goals it is the largest angle.
    """
    errors = result.angle_errors if np.isnan(result.position_errors).all() else result.position_errors
    return np.nan_to_num(errors.reshape(result.codes.size, -1)).max(axis=1)


# --- Refusal messages of solvers for the current chains --------------------------------------------------------------
#
# The page greys these solvers.


def find_solver_refusals(document: Document) -> dict[str, str]:
    """Find the message of each unusable solver. Nothing is solved for it.

    Disabled chains do not count. A solver may take some chains only; it reports the others when it solves. Reasons in
    options or targets appear at the solve only. The last result is cached per start pose.
    """
    if document.is_driven or not document.active_chains:
        return {}
    key = (
        tuple(chain.without_target for chain in document.active_chains),
        document.free_root,
        numpy_kinematics.are_kernels_pending(),
    )
    return get_or_compute(
        document.solver_start, "refusals of solvers", key, lambda: _compute_solver_refusals(document), max_keys=1
    )


def _compute_solver_refusals(document: Document) -> dict[str, str]:
    sentences = {name: _find_solver_refusal(document, name) for name in solvers.names()}
    return {name: sentence for name, sentence in sentences.items() if sentence is not None}


def _find_solver_refusal(document: Document, name: str) -> str | None:
    try:
        solver = solvers.make_solver(name)
    except UnsupportedError:  # a missing extra: the list of solvers reports it already
        return None
    try:
        return plan_chains(solver, document.solver_start, document.active_chains, free_root=document.free_root).refusal
    except PoiseError as error:
        return str(error)
