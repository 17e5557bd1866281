"""Runs: every method on every set of targets, and in turns where times are taken, judged by forward kinematics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from poise.arrays import Bools, Floats, Ints
from poise.comparison.method import Method, Ready
from poise.comparison.task import TargetSet, Task
from poise.errors import PoiseError
from poise.judge import largest_violation

Tell = Callable[[str], None]
_WARM_UP = 2  # calls that are not counted


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
    """

    q: Floats
    scores: Floats
    errors: Floats
    violations: Floats
    microseconds: Floats
    iterations: Ints | None
    claimed: Bools | None
    asked: int

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
    for row in targets.rows[:_WARM_UP]:
        _asked(ready, row, start)
    q, times = np.full((len(targets), len(task.start.q)), np.nan), np.zeros(len(targets))
    iterations, claims = np.full(len(targets), -1), np.full(len(targets), -1)
    end, n = time.perf_counter() + seconds, 0
    for n, row in enumerate(targets.rows, start=1):
        raw, times[n - 1] = _asked(ready, row, start)
        answer = None if raw is None else ready.read(raw)
        if answer is not None and answer.q.shape == task.start.q.shape:
            q[n - 1] = answer.q
            iterations[n - 1] = -1 if answer.iterations is None else answer.iterations
            claims[n - 1] = -1 if answer.claimed is None else answer.claimed
            times[n - 1] = times[n - 1] if answer.seconds is None else answer.seconds
            start = answer.q if targets.follows and np.isfinite(answer.q).all() else start
        if time.perf_counter() > end:
            break
    claimed = claims[:n] > 0 if (claims[:n] >= 0).any() else ready.claims(targets.rows[:n])
    return judged(task, targets, q[:n], times[:n] * 1e6, iterations[:n], None if targets.follows else claimed)


def _asked(ready: Ready, row: Floats, start: Floats | None) -> tuple[object, float]:
    """What a call gave, None where it raised, and its seconds."""
    told = ready.told(row, start)
    began = time.perf_counter()
    try:
        raw = ready.solve(*told)
    except Exception as error:
        if isinstance(error, PoiseError):
            raise
        raw = None
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


# --- times, in turns ---------------------------------------------------------------------------------------------


def in_turns(ready: Sequence[Ready], rows: Floats, rounds: int, seconds: float, tell: Tell) -> list[Floats]:
    """Times of single calls [us], (rounds, k) for each method, taken in turns: in every round each solves all rows.

    Whatever the machine does besides meets all of them alike. The order is turned from round to round. A method that
    would take longer than `seconds` for a round solves fewer rows.
    """
    counts = [_affordable(one, rows, seconds / max(rounds, 1)) for one in ready]
    times = [np.full((rounds, count), np.nan) for count in counts]
    for turn in range(rounds):
        for i in np.roll(np.arange(len(ready)), -turn).tolist():
            for k in range(counts[i]):
                raw, spent = _asked(ready[i], rows[k], None)
                own = None if raw is None else ready[i].read(raw).seconds
                times[i][turn, k] = (spent if own is None else own) * 1e6
        tell("times in turns")
    return times


def _affordable(ready: Ready, rows: Floats, seconds: float) -> int:
    """How many rows can be solved in so many seconds; at least three."""
    began = time.perf_counter()
    for row in rows[:_WARM_UP]:
        _asked(ready, row, None)
    each = (time.perf_counter() - began) / _WARM_UP
    return int(np.clip(seconds / max(each, 1e-9), min(3, len(rows)), len(rows)))


def batches(
    ready: Sequence[Ready], rows: Floats, sizes: Sequence[int], rounds: int, seconds: float, tell: Tell
) -> list[dict[int, Floats]]:
    """Times of one target [us] in batches of these sizes, (rounds,) for each size and method, in turns.

    Methods that solve no batches have none; one that would take longer than `seconds` for a size leaves out the rest.
    """
    times: list[dict[int, Floats]] = [{} for _ in ready]
    able = [one.solve_many(rows[:1]) is not None for one in ready]
    for size in sizes:
        some = rows[np.arange(size) % len(rows)]
        for i, one in enumerate(ready):
            last = max(times[i], default=0)
            if able[i] and last and float(np.median(times[i][last])) * 1e-6 * size * rounds > seconds:
                able[i] = False
            if able[i]:
                one.solve_many(some)
        for turn in range(rounds):
            for i in np.roll(np.arange(len(ready)), -turn).tolist():
                if able[i]:
                    began = time.perf_counter()
                    ready[i].solve_many(some)
                    times[i].setdefault(size, np.full(rounds, np.nan))[turn] = (
                        (time.perf_counter() - began) / size * 1e6
                    )
        tell(f"batches of {size}")
    return times


def usable_methods(
    methods: Sequence[Method], task: Task, tell: Tell
) -> tuple[list[tuple[Method, Ready]], dict[str, str]]:
    """Methods that take the task, set up; and for the others, by name, the sentence why not."""
    found: list[tuple[Method, Ready]] = []
    refused: dict[str, str] = {}
    for method in methods:
        try:
            found.append((method, method.ready(task)))
        except PoiseError as error:
            refused[method.name] = str(error)
        tell(f"setting up {method.name}")
    return found, refused
