"""Runs of methods on target sets, with errors and times.

Errors are measured by forward kinematics. Times of calls and batches are taken in interleaved rounds, and times on
longer chains show how the cost scales. Effort sets the amount of measurement.
"""

from __future__ import annotations

import dataclasses
import operator
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise.call_clock import count_seconds
from poise.calls.argument_checks import check_count, check_entries, check_positive
from poise.comparison.method import Method, MethodOutput, PreparedMethod
from poise.comparison.task import TargetSet, Task
from poise.errors import InputError, PoiseError
from poise.formatting import format_fields
from poise.maths.arrays import Bools, Floats, abbreviate
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Position
from poise.problem.problem import Problem
from poise.solving.diagnosis import compute_max_violation

ProgressReport = Callable[[str], None]
WARM_UP_CALLS = 2  # calls before the measurement
MAX_VIOLATION = 1e-6  # [rad, file units] largest violation of an accepted answer
_CLAIM_TOLERANCE_FACTOR = 1.1  # tolerances: margin for a method that measures its error in other numbers


@dataclass(frozen=True, eq=False)
class MethodRun:
    """Run of a method on a set of targets. A slow method solves only the first n of them.

    q               (n, nq) answers; NaN without an answer
    start_q         (n, nq) starts
    scores          (n,) largest error by forward kinematics, in units of its tolerance
    errors          (n, c) distances [file units] and angles [rad]; NaN without an answer
    violations      (n,) limit violations [rad, file units]
    microseconds    (n,) times of one call
    iterations      (n,) iterations; NaN if not reported
    claims_reached  (n,) claims to have met the target, or None; Poise's solvers are asked for the main set only
    target_count    number of targets in the set
    error_message   first error message, or None
    """

    q: Floats
    start_q: Floats
    scores: Floats
    errors: Floats
    violations: Floats
    microseconds: Floats
    iterations: Floats
    claims_reached: Bools | None
    target_count: int
    error_message: str | None

    def __len__(self) -> int:
        return len(self.q)

    def find_solved(self, level: float = 1.0) -> Bools:
        """Return a mask (n,) of solved targets. They are met at a level of the tolerance with all limits kept."""
        return (self.scores <= level) & (self.violations <= MAX_VIOLATION)

    @property
    def wrong_claims(self) -> Bools:
        """Mask (n,) of targets wrongly claimed as met. The error must exceed the tolerance by more than a tenth."""
        return (
            np.zeros(len(self), dtype=bool)
            if self.claims_reached is None
            else self.claims_reached & ~(self.scores <= _CLAIM_TOLERANCE_FACTOR)
        )


class _TimedOutput(NamedTuple):
    """Output of a method for one target, with start and time [s]."""

    start_q: Floats
    output: MethodOutput
    seconds: float


class Follower:
    """A method on a stream of targets. Its run has all of them, or the newest."""

    def __init__(self, method: PreparedMethod, task: Task, targets: TargetSet, most_targets: int | None = None) -> None:
        """Prepare to solve targets. Each starts at the start of the set, or at the answer before."""
        self._method, self._task, self._targets = method, task, targets
        self._start_q, self._no_output = targets.start, MethodOutput(np.full_like(targets.start, np.nan))
        self._outputs: deque[_TimedOutput] = deque(maxlen=most_targets)
        self._rows: deque[Floats] = deque(maxlen=most_targets)
        self._measures: deque[tuple[Floats, float]] = deque(maxlen=most_targets)  # errors and violation of each answer
        self._unmeasured_count = 0
        self._error_message: str | None = None

    def warm_up(self, rows: Floats) -> None:
        """Solve some targets without counting them."""
        for row in rows:
            time_call(self._method, row, _choose_start(self._start_q, self._task))

    def solve(self, row: Floats) -> None:
        """Solve for a target. A raised error counts as no answer."""
        output, call_seconds = time_call(self._method, row, _choose_start(self._start_q, self._task))
        if isinstance(output, Exception):
            self._error_message = self._error_message or f"{type(output).__name__}: {output}"
            output = self._no_output
        output = output if output.q.shape == self._start_q.shape else self._no_output
        self._outputs.append(_TimedOutput(self._start_q, output, call_seconds))
        self._rows.append(row)
        self._unmeasured_count = min(self._unmeasured_count + 1, len(self._rows))
        if self._targets.starts_from_previous and np.isfinite(output.q).all():
            self._start_q = output.q

    def measure(self, *, asks_claims: bool = True) -> MethodRun:
        """Measure the answers. With `asks_claims` the method says of the ranking set which targets it has met."""
        targets, outputs = self._targets, list(self._outputs)
        rows, q = np.array(self._rows), np.array([timed.output.q for timed in outputs])
        first_unmeasured = len(outputs) - self._unmeasured_count
        self._unmeasured_count = 0
        errors, violations = measure_answers(self._task, q[first_unmeasured:], rows[first_unmeasured:])
        self._measures.extend(zip(errors, violations.tolist(), strict=True))
        errors = np.array([answer_errors for answer_errors, _ in self._measures])
        violations = np.array([violation for _, violation in self._measures])
        start_q = np.array([timed.start_q for timed in outputs])
        iterations = [
            np.nan if timed.output.iterations is None else float(timed.output.iterations) for timed in outputs
        ]
        claiming_method = self._method if asks_claims and targets is self._task.main else None
        claims = _collect_claims(claiming_method, rows, start_q, [timed.output.claims_reached for timed in outputs])
        return MethodRun(
            q,
            start_q,
            self._task.compute_scores(errors),
            errors,
            violations,
            np.array([timed.seconds for timed in outputs]) * 1e6,
            np.array(iterations),
            claims,
            len(rows),
            self._error_message,
        )


def run_method(method: PreparedMethod, task: Task, targets: TargetSet, seconds: float) -> MethodRun:
    """Solve targets one by one for about `seconds`. A raised error counts as no answer."""
    follower = Follower(method, task, targets)
    follower.warm_up(targets.rows[:WARM_UP_CALLS])
    deadline = time.perf_counter() + seconds
    for row in targets.rows:
        follower.solve(row)
        if time.perf_counter() > deadline:
            break
    return dataclasses.replace(follower.measure(), target_count=len(targets))


def _choose_start(start_q: Floats, task: Task) -> Floats | None:
    """Return the start for a method, or None. None stands for the start of the task."""
    return None if start_q is task.start.q else start_q


def run_or_catch(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a method and return its output or its error. An error of one method must not stop the others."""
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001
        return error


def time_call(method: PreparedMethod, row: Floats, start_q: Floats | None) -> tuple[MethodOutput | Exception, float]:
    """Time one call. Returns the output and its seconds, by the method's own clock where it has one."""
    arguments = method.pack_target(row, start_q)
    start_time = time.perf_counter()
    raw = run_or_catch(method.solve, *arguments)
    call_seconds = count_seconds(start_time)
    output = raw if isinstance(raw, Exception) else run_or_catch(method.read_output, raw)
    method_seconds = None if isinstance(output, Exception) else output.seconds
    return output, call_seconds if method_seconds is None else max(method_seconds, _MIN_CALL_S)


_MIN_CALL_S = 1e-9  # [s] lower bound of a measured time


def measure_answers(task: Task, q: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Measure errors and limit violations of answers q (n, nq).

    Errors are (n, c), violations (n,). Errors are NaN where q has no numbers.
    """
    problem = task.problem
    is_answered = np.isfinite(q).all(axis=1)
    errors, violations = np.full((len(q), len(problem.measures)), np.nan), np.zeros(len(q))
    if is_answered.any():
        errors[is_answered] = problem.compute_errors(np.ascontiguousarray(q[is_answered]), rows[is_answered])
        violations[is_answered] = [
            compute_max_violation(problem.skeleton, answer_q[None]) for answer_q in q[is_answered]
        ]
    return errors, violations


def _collect_claims(
    method: PreparedMethod | None, rows: Floats, start_q: Floats, output_claims: Sequence[bool | None]
) -> Bools | None:
    """Collect the claims to have met the targets.

    They come with the answers or from the method; `method` is None where the method must not be called.
    """
    if any(claim is not None for claim in output_claims):
        return np.array([bool(claim) for claim in output_claims])
    if method is None:
        return None
    claims = run_or_catch(method.read_claims, rows, start_q)
    return None if isinstance(claims, Exception) else claims


def prepare_methods(
    methods: Sequence[Method], task: Task
) -> tuple[list[tuple[Method, PreparedMethod]], dict[str, str]]:
    """Prepare the methods able to do the task. Also returns the reasons of the others, by name."""
    prepared: list[tuple[Method, PreparedMethod]] = []
    refusals: dict[str, str] = {}
    for method in methods:
        try:
            prepared.append((method, method.prepare(task)))
        except PoiseError as error:
            refusals[method.name] = str(error)
    return prepared, refusals


# --- Time calls and batches in interleaved rounds --------------------------------------------------------------------
#
# A disturbance of the machine then affects all methods alike.


_MAX_SOLVED_LOSS = 0.1  # share of the targets: a batch that solves this many fewer than single calls is not timed
_MIN_ROUND_ROWS = 3  # minimum targets of a round
_MIN_ROUNDS = 9  # minimum rounds: the interval of fewer is not robust to one disturbed round
_MAX_BATCH_FACTOR = 3.0  # factor of the time of a part that a batch may take
ROUNDS_PER_REPORT = 5  # rounds per progress report


class TimedMethod(NamedTuple):
    """Method to time: targets (k, W), starts and share solved. A start of None is the start of the task."""

    method: PreparedMethod
    rows: Floats
    start_q: Sequence[Floats | None]
    solved_share: float

    def take_first(self, count: int) -> TimedMethod:
        """Keep the first targets only."""
        return self._replace(rows=self.rows[:count], start_q=self.start_q[:count])


class BatchTimes(NamedTuple):
    """Times (rounds,) of one target [us] by batch size. `error_message` is an error message, or None."""

    times: dict[int, Floats]
    error_message: str | None


def time_calls(methods: Sequence[TimedMethod], rounds: int, seconds: float, report: ProgressReport) -> list[Floats]:
    """Time single calls [us] in interleaved rounds, (rounds, k) for each method.

    In a round each method solves all its rows.

    The order rotates from round to round. A method that would need more than about `seconds` in total takes part in
    fewer rounds, with NaN in the others, and if necessary with fewer rows. A call that raises has the time inf.
    """
    round_counts = [_choose_counts(method, rounds, seconds) for method in methods]
    times = [np.full((rounds, round_count.row_count), np.nan) for round_count in round_counts]
    for round_index in range(rounds):
        for i in np.roll(np.arange(len(methods)), -round_index).tolist():
            method = methods[i]
            for row_index in range(
                round_counts[i].row_count if _is_in_round(round_index, round_counts[i].round_count, rounds) else 0
            ):
                output, call_seconds = time_call(method.method, method.rows[row_index], method.start_q[row_index])
                times[i][round_index, row_index] = np.inf if isinstance(output, Exception) else call_seconds * 1e6
        if (round_index + 1) % ROUNDS_PER_REPORT == 0:
            report("times in turns")
    return times


class _RoundCount(NamedTuple):
    """Number of rounds and rows of a method."""

    round_count: int
    row_count: int


def _is_in_round(round_index: int, method_rounds: int, rounds: int) -> bool:
    """Return whether a method takes part in a round. It takes part in `method_rounds` of the rounds, evenly spread."""
    return (round_index * method_rounds) // rounds != ((round_index - 1) * method_rounds) // rounds


def _choose_counts(method: TimedMethod, rounds: int, seconds: float) -> _RoundCount:
    sample_rows = method.rows[:WARM_UP_CALLS]
    call_seconds = sum(
        time_call(method.method, row, start)[1] for row, start in zip(sample_rows, method.start_q, strict=False)
    ) / len(sample_rows)
    min_rounds = min(_MIN_ROUNDS, rounds)
    row_count = int(
        np.clip(
            seconds / (min_rounds * max(call_seconds, 1e-9)), min(_MIN_ROUND_ROWS, len(method.rows)), len(method.rows)
        )
    )
    return _RoundCount(_choose_rounds(call_seconds * row_count, rounds, seconds), row_count)


def _choose_rounds(round_seconds: float, rounds: int, seconds: float) -> int:
    """Choose the affordable number of rounds. There are never fewer than an interval needs."""
    return int(np.clip(seconds / max(round_seconds, 1e-9), min(_MIN_ROUNDS, rounds), rounds))


def time_batches(
    methods: Sequence[TimedMethod],
    task: Task,
    batch_sizes: Sequence[int],
    rounds: int,
    seconds: float,
    report: ProgressReport,
) -> list[BatchTimes]:
    """Time one target in batches of these sizes, in interleaved rounds.

    Times are (rounds,), NaN where a method did not take part.

    Methods without batch solving have none; one that would take much longer than `seconds` for a size skips the larger
    ones. The answers of each size are measured before it is timed: a batch that solves too little has no time.
    """
    times: list[dict[int, Floats]] = [{} for _ in methods]
    error_messages: list[str | None] = [None] * len(methods)
    round_counts = [rounds] * len(methods)
    for batch_size in batch_sizes:
        for i, method in enumerate(methods):
            last_size = max(times[i], default=0)
            batch_seconds = float(np.nanmedian(times[i][last_size])) * 1e-6 * batch_size if last_size else 0.0
            is_too_slow = batch_seconds * min(_MIN_ROUNDS, rounds) > _MAX_BATCH_FACTOR * seconds
            if round_counts[i] and not is_too_slow:
                error_messages[i] = _check_batch(method, task, batch_size)
            round_counts[i] = (
                0
                if is_too_slow or error_messages[i] or not round_counts[i]
                else _choose_rounds(batch_seconds, rounds, seconds)
            )
        _time_batch_rounds(methods, times, round_counts, batch_size, rounds)
        report(f"batches of {batch_size}")
    reported_messages = [None if error_message == _NO_BATCH_TEXT else error_message for error_message in error_messages]
    return [
        BatchTimes({} if error_message else method_times, error_message)
        for method_times, error_message in zip(times, reported_messages, strict=True)
    ]


def _time_batch_rounds(
    methods: Sequence[TimedMethod],
    times: Sequence[dict[int, Floats]],
    round_counts: Sequence[int],
    batch_size: int,
    rounds: int,
) -> None:
    for round_index in range(rounds):
        for i in np.roll(np.arange(len(methods)), -round_index).tolist():
            if round_counts[i] and _is_in_round(round_index, round_counts[i], rounds):
                target_us = _time_batch(methods[i], batch_size) / batch_size * 1e6
                times[i].setdefault(batch_size, np.full(rounds, np.nan))[round_index] = target_us


_NO_BATCH_TEXT = "it solves no batches"


def _repeat_rows(method: TimedMethod, batch_size: int) -> Floats:
    return method.rows[np.arange(batch_size) % len(method.rows)]


def _time_batch(method: TimedMethod, batch_size: int) -> float:
    rows = _repeat_rows(method, batch_size)
    start_time = time.perf_counter()
    run_or_catch(method.method.solve_many, rows)
    return count_seconds(start_time)


def _check_batch(method: TimedMethod, task: Task, batch_size: int) -> str | None:
    """Check the answers to a batch. Returns an error message or None; the call is also the warm-up."""
    rows = _repeat_rows(method, batch_size)
    q = run_or_catch(method.method.solve_many, rows)
    if q is None:
        return _NO_BATCH_TEXT
    if isinstance(q, Exception):
        return f"{type(q).__name__}: {q}"
    if not isinstance(q, np.ndarray) or q.shape != (batch_size, len(task.start.q)):
        return f"answers to a batch of {batch_size} have the shape {np.shape(q)}"
    errors, violations = measure_answers(task, q, rows)
    solved_share = float(((task.compute_scores(errors) <= 1.0) & (violations <= MAX_VIOLATION)).mean())
    if batch_size >= len(method.rows) and solved_share < method.solved_share - _MAX_SOLVED_LOSS:
        return (
            f"a batch of {batch_size} solves {100 * solved_share:.3g} %, single calls {100 * method.solved_share:.3g} %"
        )
    return None


# --- Measure solve times on chains of growing length -----------------------------------------------------------------
#
# They have free ball joints and bones of length 1 and are straight at the start.


CHAIN_JOINT_COUNTS, FULL_CHAIN_JOINT_COUNTS = (2, 5, 10, 20, 50), (2, 5, 10, 20, 50, 100, 200)
ONLY_JOINT_COUNT = {"autodiff": 10}  # it compiles for seconds at each length
_SCALING_TARGETS, _SCALING_ROUNDS = 20, 3
_MIN_SOLVED_SHARE = 0.5  # share solved: chains with less are left out
_TOLERANCE_SHARE = 1e-4  # share of the chain length
_MIN_DISTANCE_SHARE, _MAX_DISTANCE_SHARE = 0.2, 0.9  # shares of the chain length: range of target distances


class ScalingPoint(NamedTuple):
    """Share solved and times on a chain of `joint_count` joints. Times are of a call and of one target in a batch [us].

    `batch_us` is NaN where a method solves no batches.
    """

    joint_count: int
    solved_share: float
    call_us: float
    batch_us: float


def measure_scaling(
    methods: Sequence[Method], joint_counts: Sequence[int], seconds: float, report: ProgressReport
) -> dict[str, list[ScalingPoint]]:
    """Measure each method on each chain length. Methods that refuse a length are left out there."""
    points: dict[str, list[ScalingPoint]] = {method.name: [] for method in methods}
    for joint_count in joint_counts:
        chosen_methods = [method for method in methods if ONLY_JOINT_COUNT.get(method.name, joint_count) == joint_count]
        for name, point in _measure_chain(chosen_methods, _build_chain_task(joint_count), seconds):
            points[name].append(point)
        report(f"{joint_count} joints")
    return points


def _measure_chain(methods: Sequence[Method], task: Task, seconds: float) -> list[tuple[str, ScalingPoint]]:
    """Measure the methods able to solve one chain."""
    prepared_methods, _ = prepare_methods(methods, task)
    try:
        runs = [run_method(prepared, task, task.main, seconds) for _, prepared in prepared_methods]
        timed_methods = [
            TimedMethod(prepared, task.main.rows, [None] * len(task.main), float(run.find_solved().mean()))
            for (_, prepared), run in zip(prepared_methods, runs, strict=True)
        ]
        calls = time_calls(timed_methods, _SCALING_ROUNDS, seconds, lambda _: None)
        batches = time_batches(timed_methods, task, (_SCALING_TARGETS,), _SCALING_ROUNDS, seconds, lambda _: None)
    finally:
        for _, prepared in prepared_methods:
            prepared.close()
    points = [
        (
            method.name,
            ScalingPoint(
                len(task.joints),
                timed_method.solved_share,
                _compute_median(call),
                _compute_median(batch.times.get(_SCALING_TARGETS)),
            ),
        )
        for (method, _), timed_method, call, batch in zip(prepared_methods, timed_methods, calls, batches, strict=True)
    ]
    return [(name, point) for name, point in points if np.isfinite(point.call_us)]


def _compute_median(times: Floats | None) -> float:
    """Compute the median of successful calls. NaN without any."""
    finite_times = np.zeros(0) if times is None else times[np.isfinite(times)]
    return float(np.median(finite_times)) if finite_times.size else float("nan")


def fit_exponent(points: Sequence[ScalingPoint]) -> float:
    """Fit the exponent of time against the number of joints.

    It is the slope of a line through their logarithms, from 10 joints on.

    An exponent of 1 means a constant cost per joint. NaN for fewer than two sizes. Times are from batches if there are
    any: the overhead of a single call hides a few microseconds of arithmetic.
    """
    valid_points = [
        point
        for point in points
        if point.joint_count >= 10 and point.solved_share >= _MIN_SOLVED_SHARE and point.call_us > 0  # noqa: PLR2004
    ]
    if len(valid_points) < 2:  # noqa: PLR2004
        return float("nan")
    times = [point.call_us if np.isnan(point.batch_us) else point.batch_us for point in valid_points]
    return float(np.polyfit(np.log([point.joint_count for point in valid_points]), np.log(times), 1)[0])


def _build_chain_task(joint_count: int) -> Task:
    names = [*(f"bone_{i}" for i in range(joint_count)), "tip"]
    kinds = [Kind.BALL] * joint_count + [Kind.FIXED]
    offsets = [[0.0, float(i > 0), 0.0] for i in range(joint_count + 1)]
    skeleton = Skeleton.build(names, range(-1, joint_count), kinds, offsets=offsets)
    start, goal = Pose(skeleton, skeleton.rest_q), Position("tip", (0, 0, 0), root="bone_0")
    problem = Problem(start, (goal,))
    targets = TargetSet(
        "reachable", "evenly in a shell", _sample_shell(joint_count), starts_from_previous=False, start=start.q
    )
    return Task(
        "", start, goal, problem.complete_tolerance(_TOLERANCE_SHARE * joint_count, None), {targets.name: targets}
    )


def _sample_shell(joint_count: int) -> Floats:
    """Sample targets (k, 3) in a shell around the base. Its radii are two shares of the reach."""
    rng = np.random.default_rng(joint_count)
    direction = rng.normal(size=(_SCALING_TARGETS, 3))
    distance = joint_count * np.cbrt(rng.uniform(_MIN_DISTANCE_SHARE**3, _MAX_DISTANCE_SHARE**3, (_SCALING_TARGETS, 1)))
    return distance * direction / np.linalg.norm(direction, axis=1, keepdims=True)


# --- Amount of measurement in a comparison ---------------------------------------------------------------------------


_MIN_PATH_FRAMES = 4  # frames: jerk needs at least these


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Amount of measurement in a comparison. The defaults are those of "normal".

    Parameters
    ----------
    reachable
        Targets of the set "reachable".
    path
        Frames of the sets "path" and "leaving", 4 or more.
    extreme
        Targets of the sets "singular" and "stretched".
    joints
        Chain lengths [joints] for the growth of the time; () for none.
    batches
        Sizes of timed batches [targets]; () for none.
    rounds
        Timing rounds; all methods take turns in each.
    timed
        Targets of a round.
    traced
        Targets with traced iterations; 0 for none.
    seconds
        [s] Approximate time of each method for each measurement. A slow method gets fewer targets.

    Raises
    ------
    InputError
        For a number that is too small or not whole.
    """

    __repr__ = format_fields

    reachable: int = 200
    path: int = 120
    extreme: int = 50
    joints: tuple[int, ...] = CHAIN_JOINT_COUNTS
    batches: tuple[int, ...] = (1, 10, 100, 1000)
    rounds: int = 45
    timed: int = 20
    traced: int = 20
    seconds: float = 2.0

    def __post_init__(self) -> None:
        min_counts = {"reachable": 1, "path": _MIN_PATH_FRAMES, "extreme": 1, "rounds": 1, "timed": 1, "traced": 0}
        for name, min_count in min_counts.items():
            object.__setattr__(self, name, _check_at_least(getattr(self, name), min_count, name))
        for name in ("joints", "batches"):
            counts = check_entries(getattr(self, name), f"{name} of an Effort", "(1, 10, 100)", "whole numbers")
            object.__setattr__(self, name, tuple(_check_at_least(count, 1, f"each of {name}") for count in counts))
        object.__setattr__(self, "seconds", check_positive(self.seconds, "seconds of an Effort"))


def _check_at_least(value: Any, min_count: int, name: str) -> int:
    label = f"{name} of an Effort"
    count = check_count(value, label)
    if count < min_count:
        raise InputError(f"{label} must be {min_count} or more, not {count}")
    return count


QUICK = Effort(reachable=20, path=20, extreme=10, joints=(), batches=(1, 10), rounds=5, timed=5, traced=3, seconds=0.3)
FULL = Effort(
    reachable=1000,
    path=240,
    extreme=200,
    joints=FULL_CHAIN_JOINT_COUNTS,
    batches=(1, 10, 100, 1000, 10_000),
    rounds=101,
    timed=50,
    traced=50,
    seconds=10.0,
)
EFFORTS = {"quick": QUICK, "normal": Effort(), "full": FULL}


def parse_effort(effort: Any) -> Effort:
    """Return the Effort of a name or value. Raises InputError for anything else."""
    if isinstance(effort, str) and effort in EFFORTS:
        return EFFORTS[effort]
    if not isinstance(effort, Effort):
        message = f"effort is one of {', '.join(map(repr, EFFORTS))} or a poise.Effort"
        raise InputError(f"{message}, not {abbreviate(effort)}")
    return effort


def format_effort(effort: Effort) -> dict[str, Any]:
    """Format an effort for the settings of a comparison. The JSON has the first three numbers as `sizes`."""
    numbers = dataclasses.asdict(effort)
    return {"sizes": [numbers.pop(name) for name in ("reachable", "path", "extreme")], **numbers}


def check_seed(seed: Any) -> int:
    """Check for a whole number of 0 or more.

    Raises InputError for anything else, None included, so that a comparison can be repeated.
    """
    try:
        checked_seed = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        checked_seed = -1
    if checked_seed < 0:
        raise InputError(f"seed must be a whole number of 0 or more, not {abbreviate(seed)}")
    return checked_seed
