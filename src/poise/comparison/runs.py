"""Runs: every method on every set of targets, and in turns where times are taken, judged by forward kinematics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.arrays import Bools, Floats, Ints
from poise.comparison.method import Method, Ready
from poise.comparison.task import TargetSet, Task
from poise.errors import PoiseError
from poise.judge import largest_violation

Tell = Callable[[str], None]
WARM_UP = 2  # calls that are not counted


@dataclass(frozen=True, eq=False)
class Run:
    """What a method did with a set of targets; the first n of them, where it is slow.

    q             (n, nq)
    scores        (n,) the largest error that is left, by forward kinematics, in units of its tolerance
    errors        (n, c) errors left: distances [file units] and angles [rad]; NaN where there was no answer
    violations    (n,) by how much a limit is exceeded [rad, file units]
    microseconds  (n,) of one call
    iterations    (n,) or None where the method does not say
    claimed       (n,) whether it says that it met the target, or None
    asked         how many targets the set has
    trouble       the first error that it raised, in words, or None
    """

    q: Floats
    scores: Floats
    errors: Floats
    violations: Floats
    microseconds: Floats
    iterations: Ints | None
    claimed: Bools | None
    asked: int
    trouble: str | None = None

    def __len__(self) -> int:
        return len(self.q)

    @property
    def wrong_claims(self) -> Bools:
        """(n,) which targets the method says that it met, and did not, by more than a tenth of the tolerance."""
        return np.zeros(len(self), dtype=bool) if self.claimed is None else self.claimed & ~(self.scores <= _CLAIM)


_CLAIM = 1.1  # a method may measure its error in other numbers


def run(ready: Ready, task: Task, targets: TargetSet, seconds: float) -> Run:
    """Solve the targets one by one, for about so many seconds at most; an answer that is an error counts as none."""
    start = None if targets.start is task.start.q else targets.start
    for row in targets.rows[:WARM_UP]:
        timed(ready, row, start)
    q, times = np.full((len(targets), len(task.start.q)), np.nan), np.zeros(len(targets))
    iterations, claims = np.full(len(targets), -1), np.full(len(targets), -1)
    end, n, trouble = time.perf_counter() + seconds, 0, None
    for n, row in enumerate(targets.rows, start=1):
        raw, times[n - 1] = timed(ready, row, start)
        trouble = trouble or _trouble(raw)
        answer = None if _trouble(raw) else ready.read(raw)
        if answer is not None and answer.q.shape == task.start.q.shape:
            q[n - 1] = answer.q
            iterations[n - 1] = -1 if answer.iterations is None else answer.iterations
            claims[n - 1] = -1 if answer.claimed is None else answer.claimed
            times[n - 1] = times[n - 1] if answer.seconds is None else answer.seconds
            start = answer.q if targets.follows and np.isfinite(answer.q).all() else start
        if time.perf_counter() > end:
            break
    claimed = claims[:n] > 0 if (claims[:n] >= 0).any() else attempt(ready.claims, targets.rows[:n])
    claimed = None if targets.follows or _trouble(claimed) else claimed
    found = judged(task, targets, q[:n], times[:n] * 1e6, iterations[:n], claimed)
    return replace(found, trouble=trouble)


def attempt(call: Callable[..., Any], *given: Any) -> Any:
    """What a method gives, or the error that it raises: that, too, is an answer, and no reason to stop the others."""
    try:
        return call(*given)
    except Exception as error:  # noqa: BLE001
        return error


def _trouble(found: Any) -> str | None:
    return f"{type(found).__name__}: {found}" if isinstance(found, Exception) else None


def timed(ready: Ready, row: Floats, start: Floats | None) -> tuple[Any, float]:
    """What a call gave, and its seconds."""
    told = ready.told(row, start)
    began = time.perf_counter()
    raw = attempt(ready.solve, *told)
    return raw, time.perf_counter() - began


def judged(
    task: Task, targets: TargetSet, q: Floats, microseconds: Floats, iterations: Ints, claimed: Bools | None
) -> Run:
    """Measure answers q (n, nq)."""
    rows, problem = targets.rows[: len(q)], task.problem
    usable = np.isfinite(q).all(axis=1)
    errors = np.full((len(q), len(problem.measures)), np.nan)
    violations = np.zeros(len(q))
    if usable.any():
        errors[usable] = problem.errors(np.ascontiguousarray(q[usable]), rows[usable])
        violations[usable] = [largest_violation(problem.skeleton, one[None]) for one in q[usable]]
    known = iterations if (iterations >= 0).any() else None
    return Run(q, task.scores(q, rows), errors, violations, microseconds, known, claimed, len(targets))


def usable_methods(methods: Sequence[Method], task: Task) -> tuple[list[tuple[Method, Ready]], dict[str, str]]:
    """Methods that take the task, set up; and for the others, by name, the sentence why not."""
    found: list[tuple[Method, Ready]] = []
    refused: dict[str, str] = {}
    for method in methods:
        try:
            found.append((method, method.ready(task)))
        except PoiseError as error:
            refused[method.name] = str(error)
    return found, refused
