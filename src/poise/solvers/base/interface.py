"""Interface of a solver: request, answer, capabilities and checked calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from poise import solvers
from poise.errors import InputError
from poise.formatting import format_fields
from poise.kernels.layout import BALL
from poise.maths.arrays import Bools, Floats, Ints, abbreviate, check_finite
from poise.model.limits import LIMIT_NAMES, is_soft
from poise.model.skeleton import Kind
from poise.problem.feasibility import find_touched
from poise.problem.goal_ranges import get_reference, is_set_goal
from poise.problem.goals import GOAL_CLASSES, GOAL_NAMES
from poise.problem.problem import Problem, Tolerance


class Status(IntEnum):
    """Outcome of a solve. The numbers are stable; `Result.message` explains the outcome with values.

    Attributes
    ----------
    reached
        0: every goal is met within the tolerance.
    out_of_reach
        1: the target is farther away than the chain is long, or nearer than it can fold.
    limited
        2: a pose without joint limits meets the goals, and no pose within them was found; no joint alone can come
        nearer without leaving its range.
    stalled
        3: the iterations ran out, or stopped improving, before the goal was met.
    nothing_to_move
        4: the goal is not met and no joint of the chain can move.
    over_constrained
        5: the goals constrain more degrees of freedom than the joints have, and no joint alone can come nearer to all
        of them together: perhaps no pose meets them.
    on_the_way
        6: the pose is still moving to the solution: a Tracker is limited by its speed, its damping or its budget; the
        viewer makes one iteration at a time.
    held_back
        7: an option of the solver prevents reaching a target; the same method reaches it without this option.
    contradictory
        8: the goals contradict each other: lengths and angles prove it, or each goal can be met alone but no pose was
        found for all of them, even without limits.
    loops_open
        9: the goals are met, but the pose leaves a closed loop open; the message names it.
    """

    reached = 0
    out_of_reach = 1
    limited = 2
    stalled = 3
    nothing_to_move = 4
    over_constrained = 5
    on_the_way = 6
    held_back = 7
    contradictory = 8
    loops_open = 9
    open_loop = 9  # the name in 0.1

    # Aliases in capitals, as usual for constants.
    REACHED = 0
    OUT_OF_REACH = 1
    LIMITED = 2
    STALLED = 3
    NOTHING_TO_MOVE = 4
    OVER_CONSTRAINED = 5
    ON_THE_WAY = 6
    HELD_BACK = 7
    CONTRADICTORY = 8
    LOOPS_OPEN = 9
    OPEN_LOOP = 9

    @property
    def sentence(self) -> str:
        """Meaning of the status, as a sentence."""
        return _STATUS_SENTENCES[self]

    def __str__(self) -> str:
        return self.name


_STATUS_SENTENCES = {
    Status.reached: "every goal is met within the tolerance",
    Status.out_of_reach: "the target is farther away than the chain is long, or nearer than it can fold",
    Status.limited: "a pose without joint limits meets the goals, and none within them was found",
    Status.stalled: "the iterations ran out, or stopped improving, before the goal was met",
    Status.nothing_to_move: "the goal is not met and no joint of the chain can move",
    Status.over_constrained: "the goals ask for more than the joints have: perhaps no pose meets all of them",
    Status.on_the_way: "the pose is still moving to the solution, or needs more iterations",
    Status.held_back: "an option of the solver prevents reaching the target",
    Status.contradictory: "the goals contradict each other",
    Status.loops_open: "the goals are met, but a closed loop is open",
}


class Statuses(np.ndarray[Any, np.dtype[np.int64]]):
    """Status codes (int64) of a batch, printed as names. A single item is a Status."""

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        return value if isinstance(value, np.ndarray) else Status(int(value))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return computed values as plain arrays or numbers. An example is `status == Status.reached`."""
        del context
        plain_array = np.asarray(array)
        return plain_array[()] if return_scalar or not plain_array.ndim else plain_array

    def __str__(self) -> str:
        formatters: Any = {"int": _format_code}
        return np.array2string(np.asarray(self), formatter=formatters, threshold=6, edgeitems=3, max_line_width=120)

    def __repr__(self) -> str:
        return f"Statuses({' '.join(str(self).split())})" if self.size else "Statuses([])"


def _format_code(code: int) -> str:
    return Status(int(code)).name


def view_as_statuses(codes: np.ndarray[Any, np.dtype[np.int64]]) -> Statuses:
    """View codes as statuses, without copying. The view is read-only if the codes are."""
    return codes.view(Statuses)


# --- Request, answer and trace of a solver ---------------------------------------------------------------------------


Prefer = Literal["first", "closest", "all"]
BUILTIN_PREFIX = "poise.solvers."  # module prefix of built-in solver classes


@dataclass(frozen=True)
class Request:
    """Settings of a solve, for any solver. A solver refuses settings that it does not support.

    Parameters
    ----------
    prefer
        "first": the first pose found that meets the goals. "closest": of all poses found, the one nearest to the start.
        "all": every distinct pose.
    seeds
        Number of starts for "closest" and "all". None: the solver's own choice.
    threads
        Largest number of threads.
    trace
        Whether the iterations of a single target are recorded.
    progress
        A function called with the number of targets done since the last call.
    """

    prefer: Prefer = "first"
    seeds: int | None = None
    threads: int = 1
    trace: bool = False
    progress: Callable[[int], None] | None = None


class Trace(NamedTuple):
    """Errors and configurations at the start and after each iteration. Restarts have rows as well.

    Parameters
    ----------
    errors
        (rows,) [file units] for a single Position. Otherwise the root of the weighted sum of squared errors, lengths in
        units of the rig's size.
    q
        (rows, nq) configurations.

    Notes
    -----
    Rows of restarts follow each other, so errors can rise; the answer is the row with the least error. For rigs with
    non-uniform scale the errors are those of the solver's own model, and its answer is corrected afterwards.
    """

    errors: Floats
    q: Floats

    def __repr__(self) -> str:
        return format_fields(self)


class Answer(NamedTuple):
    """Answer of a solver. The caller computes errors, limit violation and status from `q` by forward kinematics.

    Parameters
    ----------
    q
        (k, nq) the best configuration for each target; the start's own, bit for bit, where nothing had to move.
    met
        (k,) whether the solver reports its targets as met. The caller measures again and uses its own result.
    iterations
        (k,) number of iterations.
    joint_updates
        (k,) number of updates of single joints.
    trace
        The iterations, if requested.
    solutions
        (s, nq) distinct solutions of the single target, for prefer="all".
    """

    q: Floats
    met: Bools
    iterations: Ints
    joint_updates: Ints
    trace: Trace | None = None
    solutions: Floats | None = None


class MeasuredOutput(NamedTuple):
    """Output of a measuring kernel.

    q            (k, nq)
    error_parts  (k, c, 2) see kernels/goal_errors.py; None where the kernel cannot measure
    details      what the answer needs besides
    """

    q: Floats
    error_parts: Floats | None
    details: Any


class BoundSolve(Protocol):
    """Solve bound to a problem: only the targets are missing.

    Everything that no target changes is computed once.

    `bind(problem, tolerance, request)` of a solver of Poise makes one, or returns None for problems solved in another
    way. Its `run` uses it for any number of targets; single targets keep it from call to call. Threads may share it.
    """

    def solve(self, targets: Floats) -> tuple[Any, ...]:
        """Solve for targets (k, W), in C order. Returns q (k, nq) and what `build_answer` needs, or an Answer.

        Kernels that measure their solutions give a MeasuredOutput.
        """
        ...

    def build_answer(self, targets: Floats, output: Any) -> Answer:
        """Build the answer from the output of `solve`."""
        ...


def run_bound(bound: BoundSolve, targets: Floats) -> Answer:
    """Run a bound solve for targets (k, W)."""
    targets = np.ascontiguousarray(targets)
    return complete_answer(bound, targets, bound.solve(targets))


def complete_answer(bound: BoundSolve, targets: Floats, output: tuple[Any, ...]) -> Answer:
    """Complete the answer from the output of a bound solve."""
    return output if isinstance(output, Answer) else bound.build_answer(targets, output)


def is_builtin(solver: object) -> bool:
    """Return whether a solver is built in. Equal built-in solvers do the same and may replace each other."""
    inner = getattr(solver, "inner", None)  # of a solver around another one
    return type(solver).__module__.startswith(BUILTIN_PREFIX) and (inner is None or is_builtin(inner))


def get_final_solver(solver: Any) -> Any:
    """Return the solver of the final poses, or the solver itself.

    Only a solver of several stages has another one: that of `Natural` (field `finisher`) starts from its poses.
    """
    return getattr(solver, "finisher", solver)


def replace_final_solver(solver: Any, final_solver: Any) -> Any:
    """Replace the solver of the final poses. A solver of one stage is replaced itself."""
    return replace(solver, finisher=final_solver) if hasattr(solver, "finisher") else final_solver


def check_solver(solver: Any) -> None:
    """Check for a solver name or value, not a class."""
    if isinstance(solver, type):
        example = f"poise.{solver.__name__}()" if hasattr(solver, "handles") else "poise.CCD()"
        raise InputError(f"give a solver value, such as {example}, not the class itself")
    if not isinstance(solver, str) and not all(hasattr(solver, member) for member in ("name", "handles", "run")):
        raise InputError(
            f"solver must be a name, such as 'ccd', or a value, such as poise.CCD(), not {abbreviate(solver)}"
        )


# --- Capabilities of solvers, and checked runs -----------------------------------------------------------------------


ALL_JOINTS = (Kind.HINGE, Kind.SLIDE, Kind.BALL)
ALL_PREFERENCES = ("first", "closest", "all")


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a solver. It refuses all other problems, and never ignores a part of one.

    Parameters
    ----------
    goals
        Names of the kinds of goals.
    beside
        Names of the kinds of goals accepted only beside another goal; they do not count as several.
    several
        Whether it solves more than one goal at a time.
    one_joint
        Whether several goals must then be goals of the same joint.
    joints
        Kinds of joints that it moves. A free root counts as a ball, and as a slide where it translates too.
    limits
        Names of the kinds of limits that it keeps. Subclasses of these limits are kept as well.
    soft
        Whether it supports soft limits.
    coupled
        Whether it moves coupled joints (URDF mimic) where a joint and the one it follows are both on the way to a goal.
    free_root
        Whether it moves a free root.
    prefer
        Supported values of `prefer`: "first", "closest", "all".
    loops
        Whether it moves joints of closed loops.
    sets
        Whether it solves relative goals (`relative_to`) and ranges (`within`).
    """

    goals: tuple[str, ...] = GOAL_NAMES
    beside: tuple[str, ...] = ()
    several: bool = True
    one_joint: bool = False
    joints: tuple[Kind, ...] = ALL_JOINTS
    limits: tuple[str, ...] = LIMIT_NAMES
    soft: bool = False
    coupled: bool = True
    free_root: bool = True
    prefer: tuple[str, ...] = ALL_PREFERENCES
    loops: bool = False
    sets: bool = False

    def refusal(self, solver: str, problem: Problem, request: Request) -> str | None:
        """Return the reason for refusing a problem, or None."""
        if request.prefer not in self.prefer:
            supported_names = join_words(repr(prefer) for prefer in self.prefer)
            return f"{solver} looks for {supported_names}; prefer={request.prefer!r} is for levenberg_marquardt"
        if request.prefer != "first" and problem.has_balance:
            return f"{solver} meets a Balance with prefer='first' only, not with prefer={request.prefer!r}"
        goal_refusal = self._explain_goal_refusal(solver, problem)
        if goal_refusal is not None:
            return goal_refusal
        if problem.free_root and not self.free_root:
            return f"{solver} leaves a free root where it is; free_root=True is for levenberg_marquardt"
        joint_refusal = self._explain_joint_refusal(solver, problem)
        if joint_refusal is not None or self.loops or not problem.skeleton.loops:
            return joint_refusal
        return self._explain_loop_refusal(solver, problem)

    def _explain_loop_refusal(self, solver: str, problem: Problem) -> str | None:
        touched_loops = find_touched(problem)
        if not touched_loops:
            return None
        loop = problem.skeleton.loops[touched_loops[0]]
        return (
            f"{solver} moves each joint for itself, which opens the closed loop {loop.name!r} of {loop.a!r} and "
            f"{loop.b!r}; solver='auto' takes the engine, levenberg_marquardt"
        )

    def _explain_goal_refusal(self, solver: str, problem: Problem) -> str | None:
        goal_names = [self._find_supported_name(type(goal)) for goal in problem.goals]
        unsupported_name = next((name for name in goal_names if name not in self.goals), None)
        if unsupported_name is not None:
            return f"{solver} solves {join_words(self.goals)} goals, not {unsupported_name}"
        if problem.plan.has_set_terms and any(map(is_set_goal, problem.goals)):
            return self._explain_set_refusal(solver, problem)
        main_names = [name for name in goal_names if name not in self.beside]
        if not main_names:
            return f"{solver} takes a {goal_names[0]} goal beside a {self._main_goals} only"
        if len(main_names) > 1 and not self.several:
            return f"{solver} solves one goal at a time; got {len(main_names)}"
        joint_rows = list(dict.fromkeys([measure.row for measure in problem.measures]))
        if self.one_joint and len(joint_rows) > 1:
            a, b = (problem.skeleton.names[row] for row in joint_rows[:2])
            return f"{solver} solves goals of one joint at a time; these are for {a!r} and {b!r}"
        return None

    def _explain_set_refusal(self, solver: str, problem: Problem) -> str | None:
        """Return the reason for refusing relative goals and ranges, or None."""
        if problem.has_balance:
            return f"{solver} meets a Balance beside goals with a single target in the world only"
        if self.sets:
            return None
        field = "relative_to" if any(map(get_reference, problem.goals)) else "within"
        return f"{solver} solves goals with a single target in the world, not `{field}`; use levenberg_marquardt"

    def _find_supported_name(self, goal_class: type[Any]) -> str:
        """Return the known name of a goal class. It is the class's own name, or that of a supported base class.

        A subclass with the same measures is solved and measured like its base class.
        """
        if goal_class in GOAL_CLASSES and goal_class.__name__ in self.goals:
            return goal_class.__name__
        base_names = (
            base_class.__name__
            for base_class in goal_class.__mro__
            if getattr(base_class, "measures", None) == goal_class.measures
        )
        return next((name for name in base_names if name in self.goals), goal_class.__name__)

    @property
    def _main_goals(self) -> str:
        return " or ".join(goal for goal in self.goals if goal not in self.beside)

    def _explain_joint_refusal(self, solver: str, problem: Problem) -> str | None:
        skeleton = problem.skeleton
        kinds = skeleton.joint_lists.kinds
        for row in problem.plan.layout.moving_rows:
            joint_limit, kind = skeleton.limits[row], min(kinds[row], BALL)
            if kind not in self.joints:
                supported_names = join_words(f"{kind.name.lower()} joints" for kind in self.joints)
                return f"{solver} moves {supported_names}; {skeleton.names[row]!r} is a {Kind(kind).name.lower()}"
            if joint_limit is None:
                continue
            name, limit_name = skeleton.names[row], type(joint_limit).__name__
            if not self.keeps(type(joint_limit)):
                supported_names = join_words(self.limits) or "no"
                return f"{solver} keeps {supported_names} limits; {name!r} has a {limit_name}"
            if not self.soft and is_soft(joint_limit):
                return (
                    f"{solver} knows hard limits only; {name!r} has a soft {limit_name}, which is for "
                    "levenberg_marquardt"
                )
        return None

    def keeps(self, limit: type) -> bool:
        """Return whether limits of a class, or a base class, are kept."""
        return limit.__name__ in self.limits or any(base_class.__name__ in self.limits for base_class in limit.__mro__)


def join_words(names: Iterable[str]) -> str:
    """Join words: `a`, `a and b`, `a, b and c`."""
    words = list(names)
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)


# --- Run solvers, and check and merge their answers ------------------------------------------------------------------
#
# Custom solvers may return wrong shapes.


_COLUMN_DTYPES = {
    "met": np.bool_,
    "iterations": np.int64,
    "joint_updates": np.int64,
}  # types of an Answer's arrays besides q


def run_solver(solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
    """Run a solver for targets (k, W) and check its answer."""
    answer, q_shape = solver.run(problem, targets, tolerance, request), (len(targets), problem.skeleton.nq)
    if not is_builtin(solver):
        return convert_custom_answer(answer, solver.name, q_shape)
    check_answer(answer.q, solver.name, q_shape)
    return answer


class _UnboundSolve(NamedTuple):
    """Solve by a solver's `run`; see `BoundSolve`."""

    solver: Any
    problem: Problem
    tolerance: Tolerance
    request: Request

    def solve(self, targets: Floats) -> Answer:
        """Solve for targets (k, W)."""
        return run_solver(self.solver, self.problem, targets, self.tolerance, self.request)

    def build_answer(self, targets: Floats, output: Answer) -> Answer:
        """Return the answer of `solve`."""
        return output


def bind_solver(solver: Any, problem: Problem, tolerance: Tolerance, request: Request) -> BoundSolve:
    """Bind a solver to a problem. Solvers without a bound solve, and custom ones, are run for each target."""
    bound: BoundSolve | None = None
    if is_builtin(solver) and hasattr(solver, "bind"):
        bound = solver.bind(problem, tolerance, request)
    return _UnboundSolve(solver, problem, tolerance, request) if bound is None else bound


def rebind_solver(
    bound: BoundSolve, solver: Any, problem: Problem, tolerance: Tolerance, request: Request
) -> BoundSolve:
    """Bind a bound solver to other starts of its problem.

    What they do not change is shared where the problem has the same plan, as `Problem.with_q` gives it.
    """
    with_starts = getattr(bound, "with_starts", None)
    return bind_solver(solver, problem, tolerance, request) if with_starts is None else with_starts(problem)


def run_solver_by_group(
    solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request, *, by_inputs: bool = False
) -> Answer:
    """Solve each target from its own start, grouped by plan. For `by_inputs` see `Problem.group_starts`."""
    groups = problem.group_starts(by_inputs=by_inputs)
    if groups is None:
        return run_solver(solver, problem, targets, tolerance, request)
    answers = [run_solver(solver, problem.select_rows(rows), targets[rows], tolerance, request) for rows in groups]
    order = np.argsort(np.concatenate(groups))
    return Answer(
        q=np.concatenate([answer.q for answer in answers])[order],
        met=np.concatenate([answer.met for answer in answers])[order],
        iterations=np.concatenate([answer.iterations for answer in answers])[order],
        joint_updates=np.concatenate([answer.joint_updates for answer in answers])[order],
        trace=answers[0].trace,
    )


def select_rows(answer: Answer, rows: Bools | Ints) -> Answer:
    """Return the answer for some of the targets."""
    return Answer(answer.q[rows], answer.met[rows], answer.iterations[rows], answer.joint_updates[rows])


def merge_rows(answer: Answer, rows: Bools | Ints, new_answer: Answer) -> Answer:
    """Merge a new answer of some rows. Iterations of both count."""
    q, is_met = answer.q.copy(), answer.met.copy()
    iterations, joint_updates = answer.iterations.copy(), answer.joint_updates.copy()
    q[rows], is_met[rows] = new_answer.q, new_answer.met
    iterations[rows] += new_answer.iterations
    joint_updates[rows] += new_answer.joint_updates
    return Answer(q, is_met, iterations, joint_updates, new_answer.trace, new_answer.solutions)


def build_end_trace(problem: Problem, q: Floats, targets: Floats) -> Trace:
    """Build a trace of start and answer, with their errors. It serves methods with several kinds of iterations."""
    end_q = np.concatenate([problem.start_rows[:1], q[:1]])
    errors = problem.compute_errors(end_q, np.repeat(targets[:1], 2, axis=0))
    return Trace(np.sqrt((errors**2).sum(axis=1)), end_q)


def check_answer(q: Floats, solver_name: str, q_shape: tuple[int, int]) -> None:
    """Check shape and values of the q of an answer. Kernels would read out of bounds otherwise."""
    if q.shape != q_shape:
        raise InputError(f"the solver {solver_name} answered with q of shape {q.shape}; it has to be {q_shape}")
    check_finite(q, "q")


def convert_custom_answer(answer: Answer, solver_name: str, q_shape: tuple[int, int]) -> Answer:
    """Check a custom solver's answer and convert its arrays."""
    q = np.asarray(answer.q)
    check_answer(q, solver_name, q_shape)
    columns = {
        field: _convert_column(getattr(answer, field), f"{field} of the solver {solver_name}", q_shape[0], dtype)
        for field, dtype in _COLUMN_DTYPES.items()
    }
    return answer._replace(q=np.array(q, dtype=np.float64, order="C"), **columns)


def _convert_column(values: Any, label: str, target_count: int, dtype: type) -> np.ndarray:
    """Convert values to an array (target_count,) of a type."""
    array = check_finite(values, label, accepts_bools=True)
    if array.shape != (target_count,):
        raise InputError(f"{label} has the shape {array.shape}; it has to be {(target_count,)}")
    return array.astype(dtype)


# --- Answer out-of-reach targets of free chains in closed form -------------------------------------------------------
#
# The chain is straightened towards the target without twist.


def solve_out_of_reach(
    solver: solvers.Solver, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request, is_far: Bools
) -> Answer:
    """Solve with straight lines for targets out of reach. `is_far` (k,) marks them among targets (k, W)."""
    line_solver = solvers.make_solver("fabrik")
    if is_far.all():
        return line_solver.run(problem, targets, tolerance, request)
    silent_request, zero_counts = replace(request, progress=None), np.zeros(len(targets), dtype=np.int64)
    answer = Answer(np.empty((len(targets), problem.skeleton.nq)), is_far, zero_counts, zero_counts)
    for is_selected, group_solver in ((is_far, line_solver), (~is_far, solver)):
        if is_selected.any():
            answer = merge_rows(
                answer,
                is_selected,
                group_solver.run(problem.select_rows(is_selected), targets[is_selected], tolerance, silent_request),
            )
    return answer
