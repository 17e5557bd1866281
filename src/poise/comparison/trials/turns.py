"""Time calls and batches in interleaved rounds. A disturbance of the machine then affects all methods alike."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.comparison.trials.method import Ready
from poise.comparison.trials.runs import LEAVES, WARM_UP, Tell, attempt, measured, timed
from poise.comparison.trials.task import Task
from poise.maths.arrays import Floats
from poise.timing.clock import count_seconds

_FEWER = 0.1  # share of the targets: a batch that solves this many fewer than single calls is not timed
_LEAST = 3  # minimum targets of a round
_FEWEST = 9  # minimum rounds: the interval of fewer is not robust to one disturbed round
_PATIENCE = 3.0  # factor of the time of a part that a batch may take
TOLD = 5  # rounds per progress report


class Competitor(NamedTuple):
    """Method to time: targets (k, W), starts and share solved. A start of None is the start of the task."""

    ready: Ready
    rows: Floats
    begins: Sequence[Floats | None]
    solved: float

    def first(self, count: int) -> Competitor:
        """Keep the first targets only."""
        return self._replace(rows=self.rows[:count], begins=self.begins[:count])


class Batches(NamedTuple):
    """Times (rounds,) of one target [us] by batch size. `trouble` is an error message, or None."""

    times: dict[int, Floats]
    trouble: str | None


def in_turns(asked: Sequence[Competitor], rounds: int, seconds: float, tell: Tell) -> list[Floats]:
    """Time single calls [us] in interleaved rounds, (rounds, k) for each method.

    In a round each method solves all its rows.

    The order rotates from round to round. A method that would need more than about `seconds` in total takes part in
    fewer rounds, with NaN in the others, and if necessary with fewer rows. A call that raises has the time inf.
    """
    counts = [_affordable(one, rounds, seconds) for one in asked]
    times = [np.full((rounds, count.rows), np.nan) for count in counts]
    for turn in range(rounds):
        for i in np.roll(np.arange(len(asked)), -turn).tolist():
            one = asked[i]
            for k in range(counts[i].rows if _takes_part(turn, counts[i].rounds, rounds) else 0):
                answer, spent = timed(one.ready, one.rows[k], one.begins[k])
                times[i][turn, k] = np.inf if isinstance(answer, Exception) else spent * 1e6
        if (turn + 1) % TOLD == 0:
            tell("times in turns")
    return times


class _Count(NamedTuple):
    """Number of rounds and rows of a method."""

    rounds: int
    rows: int


def _takes_part(turn: int, own: int, rounds: int) -> bool:
    """Return whether a method takes part in a round. It takes part in `own` of the rounds, evenly spread."""
    return (turn * own) // rounds != ((turn - 1) * own) // rounds


def _affordable(one: Competitor, rounds: int, seconds: float) -> _Count:
    some = one.rows[:WARM_UP]
    each = sum(timed(one.ready, row, begin)[1] for row, begin in zip(some, one.begins, strict=False)) / len(some)
    least = min(_FEWEST, rounds)
    rows = int(np.clip(seconds / (least * max(each, 1e-9)), min(_LEAST, len(one.rows)), len(one.rows)))
    return _Count(_rounds(each * rows, rounds, seconds), rows)


def _rounds(each: float, rounds: int, seconds: float) -> int:
    """Choose the affordable number of rounds. There are never fewer than an interval needs."""
    return int(np.clip(seconds / max(each, 1e-9), min(_FEWEST, rounds), rounds))


def batches(
    asked: Sequence[Competitor], task: Task, sizes: Sequence[int], rounds: int, seconds: float, tell: Tell
) -> list[Batches]:
    """Time one target in batches of these sizes, in interleaved rounds.

    Times are (rounds,), NaN where a method did not take part.

    Methods without batch solving have none; one that would take much longer than `seconds` for a size skips the larger
    ones. The answers of each size are measured before it is timed: a batch that solves too little has no time.
    """
    times: list[dict[int, Floats]] = [{} for _ in asked]
    troubles: list[str | None] = [None] * len(asked)
    counts = [rounds] * len(asked)
    for size in sizes:
        for i, one in enumerate(asked):
            last = max(times[i], default=0)
            each = float(np.nanmedian(times[i][last])) * 1e-6 * size if last else 0.0
            late = each * min(_FEWEST, rounds) > _PATIENCE * seconds
            if counts[i] and not late:
                troubles[i] = _trouble(one, task, size)
            counts[i] = 0 if late or troubles[i] or not counts[i] else _rounds(each, rounds, seconds)
        _in_turns(asked, times, counts, size, rounds)
        tell(f"batches of {size}")
    said = [None if trouble == _NO_BATCH else trouble for trouble in troubles]
    return [Batches({} if trouble else found, trouble) for found, trouble in zip(times, said, strict=True)]


def _in_turns(
    asked: Sequence[Competitor], times: Sequence[dict[int, Floats]], counts: Sequence[int], size: int, rounds: int
) -> None:
    for turn in range(rounds):
        for i in np.roll(np.arange(len(asked)), -turn).tolist():
            if counts[i] and _takes_part(turn, counts[i], rounds):
                spent = _spent(asked[i], size) / size * 1e6
                times[i].setdefault(size, np.full(rounds, np.nan))[turn] = spent


_NO_BATCH = "it solves no batches"


def _rows(one: Competitor, size: int) -> Floats:
    return one.rows[np.arange(size) % len(one.rows)]


def _spent(one: Competitor, size: int) -> float:
    rows = _rows(one, size)
    began = time.perf_counter()
    attempt(one.ready.solve_many, rows)
    return count_seconds(began)


def _trouble(one: Competitor, task: Task, size: int) -> str | None:
    """Check the answers to a batch. Returns an error message or None; the call is also the warm-up."""
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
