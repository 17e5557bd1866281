"""Times of calls and batches, taken in turns: whatever the machine does besides meets all methods alike."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.arrays import Floats
from poise.comparison.method import Ready
from poise.comparison.runs import LEAVES, WARM_UP, Tell, attempt, measured, timed
from poise.comparison.task import Task

_FEWER = 0.1  # of the targets: a batch that solves so many fewer than single calls do is other work
_LEAST = 3  # rows of a round


class Asked(NamedTuple):
    """A method that takes its turn: targets (k, W), where each begins (None: the start), the share that it solves."""

    ready: Ready
    rows: Floats
    begins: Sequence[Floats | None]
    solved: float

    def first(self, count: int) -> Asked:
        """The same for the first targets only."""
        return self._replace(rows=self.rows[:count], begins=self.begins[:count])


class Batches(NamedTuple):
    """By size: (rounds,) times of one target [us]; and what went wrong, in words, or None."""

    times: dict[int, Floats]
    trouble: str | None


def in_turns(asked: Sequence[Asked], rounds: int, seconds: float, tell: Tell) -> list[Floats]:
    """Times of single calls [us], (rounds, k) for each method, taken in turns: in every round each solves all rows.

    The order is turned from round to round. A method that would take longer than `seconds` for all rounds solves fewer
    rows. A call that raises has no time: NaN.
    """
    counts = [_affordable(one, seconds / max(rounds, 1)) for one in asked]
    times = [np.full((rounds, count), np.nan) for count in counts]
    for turn in range(rounds):
        for i in np.roll(np.arange(len(asked)), -turn).tolist():
            one = asked[i]
            for k in range(counts[i]):
                answer, spent = timed(one.ready, one.rows[k], one.begins[k])
                times[i][turn, k] = np.nan if isinstance(answer, Exception) else spent * 1e6
        tell("times in turns")
    return times


def _affordable(one: Asked, seconds: float) -> int:
    """How many rows can be solved in so many seconds."""
    some = one.rows[:WARM_UP]
    each = sum(timed(one.ready, row, begin)[1] for row, begin in zip(some, one.begins, strict=False)) / len(some)
    return int(np.clip(seconds / max(each, 1e-9), min(_LEAST, len(one.rows)), len(one.rows)))


def batches(
    asked: Sequence[Asked], task: Task, sizes: Sequence[int], rounds: int, seconds: float, tell: Tell
) -> list[Batches]:
    """Times of one target in batches of these sizes, in turns.

    Methods that solve no batches have none; one that would take longer than `seconds` for a size leaves out the rest.
    The answers of each size are measured before it is timed: a batch that does not do the work has no time.
    """
    times: list[dict[int, Floats]] = [{} for _ in asked]
    troubles: list[str | None] = [None] * len(asked)
    able = [True] * len(asked)
    for size in sizes:
        for i, one in enumerate(asked):
            last = max(times[i], default=0)
            late = last and float(np.median(times[i][last])) * 1e-6 * size * rounds > seconds
            if able[i] and not late:
                troubles[i] = _trouble(one, task, size)
            able[i] = able[i] and not late and troubles[i] is None
        for turn in range(rounds):
            for i in np.roll(np.arange(len(asked)), -turn).tolist():
                if able[i]:
                    spent = _spent(asked[i], size)
                    times[i].setdefault(size, np.full(rounds, np.nan))[turn] = spent / size * 1e6
        tell(f"batches of {size}")
    said = [None if trouble == _NO_BATCH else trouble for trouble in troubles]
    return [Batches({} if trouble else found, trouble) for found, trouble in zip(times, said, strict=True)]


_NO_BATCH = "it solves no batches"


def _rows(one: Asked, size: int) -> Floats:
    return one.rows[np.arange(size) % len(one.rows)]


def _spent(one: Asked, size: int) -> float:
    rows = _rows(one, size)
    began = time.perf_counter()
    attempt(one.ready.solve_many, rows)
    return time.perf_counter() - began


def _trouble(one: Asked, task: Task, size: int) -> str | None:
    """What is wrong with the answers to a batch, in words; this is also its warm-up."""
    rows = _rows(one, size)
    q = attempt(one.ready.solve_many, rows)
    if q is None:
        return _NO_BATCH
    if isinstance(q, Exception):
        return f"{type(q).__name__}: {q}"
    if not isinstance(q, np.ndarray) or q.shape != (size, len(task.start.q)):
        return f"answers to a batch of {size} have the shape {np.shape(q)}"
    errors, violations = measured(task, q, rows)
    share = float(((task.scores(errors) <= 1.0) & (violations <= LEAVES)).mean())
    if size >= len(one.rows) and share < one.solved - _FEWER:
        return f"a batch of {size} solves {100 * share:.3g} %, single calls {100 * one.solved:.3g} %"
    return None
