"""Run and time methods on sets of targets.

Errors are measured by forward kinematics. Times of calls and batches are taken in interleaved rounds, and times on
longer chains show how the cost scales. Effort sets the amount of measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.comparison.trials.method import Answered, Method, Ready
from poise.comparison.trials.task import TargetSet, Task
from poise.errors import PoiseError
from poise.maths.arrays import Bools, Floats
from poise.solving.judge import largest_violation
from poise.timing.clock import count_seconds

Tell = Callable[[str], None]
WARM_UP = 2  # calls before the measurement
LEAVES = 1e-6  # [rad, file units] largest violation of an accepted answer
_CLAIM = 1.1  # tolerances: margin for a method that measures its error in other numbers


@dataclass(frozen=True, eq=False)
class MethodRun:
    """Run of a method on a set of targets. A slow method solves only the first n of them.

    q             (n, nq) answers; NaN without an answer
    begins        (n, nq) starts
    scores        (n,) largest error by forward kinematics, in units of its tolerance
    errors        (n, c) distances [file units] and angles [rad]; NaN without an answer
    violations    (n,) limit violations [rad, file units]
    microseconds  (n,) times of one call
    iterations    (n,) iterations; NaN if not reported
    claimed       (n,) claims to have met the target, or None; Poise's solvers are asked for the main set only
    target_count  number of targets in the set
    trouble       first error message, or None
    """

    q: Floats
    begins: Floats
    scores: Floats
    errors: Floats
    violations: Floats
    microseconds: Floats
    iterations: Floats
    claimed: Bools | None
    asked: int
    trouble: str | None

    def __len__(self) -> int:
        return len(self.q)

    def solved(self, level: float = 1.0) -> Bools:
        """Return a mask (n,) of solved targets. They are met at a level of the tolerance with all limits kept."""
        return (self.scores <= level) & (self.violations <= LEAVES)

    @property
    def wrong_claims(self) -> Bools:
        """Mask (n,) of targets wrongly claimed as met. The error must exceed the tolerance by more than a tenth."""
        return np.zeros(len(self), dtype=bool) if self.claimed is None else self.claimed & ~(self.scores <= _CLAIM)


def run(ready: Ready, task: Task, targets: TargetSet, seconds: float) -> MethodRun:
    """Solve targets one by one for about `seconds`. A raised error counts as no answer."""
    start, nothing = targets.start, Answered(np.full_like(targets.start, np.nan))
    for row in targets.rows[:WARM_UP]:
        timed(ready, row, _given(start, task))
    found: list[tuple[Floats, Answered, float]] = []
    end, trouble = time.perf_counter() + seconds, None
    for row in targets.rows:
        answer, spent = timed(ready, row, _given(start, task))
        if isinstance(answer, Exception):
            trouble, answer = trouble or f"{type(answer).__name__}: {answer}", nothing
        found.append((start, answer if answer.q.shape == start.shape else nothing, spent))
        if targets.follows and np.isfinite(found[-1][1].q).all():
            start = found[-1][1].q
        if time.perf_counter() > end:
            break
    return _judged(ready, task, targets, found, trouble)


def _given(start: Floats, task: Task) -> Floats | None:
    """Return the start for a method, or None. None stands for the start of the task."""
    return None if start is task.start.q else start


def attempt(call: Callable[..., Any], *given: Any) -> Any:
    """Call a method and return its output or its error. An error of one method must not stop the others."""
    try:
        return call(*given)
    except Exception as error:  # noqa: BLE001
        return error


def timed(ready: Ready, row: Floats, start: Floats | None) -> tuple[Answered | Exception, float]:
    """Time one call. Returns the output and its seconds, by the method's own clock where it has one."""
    told = ready.told(row, start)
    began = time.perf_counter()
    raw = attempt(ready.solve, *told)
    spent = count_seconds(began)
    answer = raw if isinstance(raw, Exception) else attempt(ready.read, raw)
    own = None if isinstance(answer, Exception) else answer.seconds
    return answer, spent if own is None else max(own, _TICK)


_TICK = 1e-9  # [s] lower bound of a measured time


def _judged(
    ready: Ready, task: Task, targets: TargetSet, found: Sequence[tuple[Floats, Answered, float]], trouble: str | None
) -> MethodRun:
    """Measure the answers of a run. `outputs` holds the start, the output and the seconds of each call."""
    begins, q = np.array([begin for begin, _, _ in found]), np.array([answer.q for _, answer, _ in found])
    rows = targets.rows[: len(found)]
    errors, violations = measured(task, q, rows)
    counts = [np.nan if answer.iterations is None else float(answer.iterations) for _, answer, _ in found]
    times = np.array([spent for _, _, spent in found]) * 1e6
    claims = _claims(ready if targets is task.main else None, rows, begins, [answer.claimed for _, answer, _ in found])
    return MethodRun(
        q, begins, task.scores(errors), errors, violations, times, np.array(counts), claims, len(targets), trouble
    )


def measured(task: Task, q: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Measure errors and limit violations of answers q (n, nq).

    Errors are (n, c), violations (n,). Errors are NaN where q has no numbers.
    """
    problem = task.problem
    usable = np.isfinite(q).all(axis=1)
    errors, violations = np.full((len(q), len(problem.measures)), np.nan), np.zeros(len(q))
    if usable.any():
        errors[usable] = problem.errors(np.ascontiguousarray(q[usable]), rows[usable])
        violations[usable] = [largest_violation(problem.skeleton, one[None]) for one in q[usable]]
    return errors, violations


def _claims(ready: Ready | None, rows: Floats, begins: Floats, said: Sequence[bool | None]) -> Bools | None:
    """Collect the claims to have met the targets.

    They come with the answers or from the method; `method` is None where the method must not be called.
    """
    if any(claim is not None for claim in said):
        return np.array([bool(claim) for claim in said])
    if ready is None:
        return None
    claims = attempt(ready.claims, rows, begins)
    return None if isinstance(claims, Exception) else claims


def usable_methods(methods: Sequence[Method], task: Task) -> tuple[list[tuple[Method, Ready]], dict[str, str]]:
    """Prepare the methods able to do the task. Also returns the reasons of the others, by name."""
    found: list[tuple[Method, Ready]] = []
    refused: dict[str, str] = {}
    for method in methods:
        try:
            found.append((method, method.ready(task)))
        except PoiseError as error:
            refused[method.name] = str(error)
    return found, refused
