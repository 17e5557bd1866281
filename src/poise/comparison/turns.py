"""Times of calls and batches, taken in turns: whatever the machine does besides meets all methods alike."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from poise.arrays import Floats
from poise.comparison.method import Ready
from poise.comparison.runs import WARM_UP, Tell, attempt, timed


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
                raw, spent = timed(ready[i], rows[k], None)
                own = None if isinstance(raw, Exception) else ready[i].read(raw).seconds
                times[i][turn, k] = (spent if own is None else own) * 1e6
        tell("times in turns")
    return times


def _affordable(ready: Ready, rows: Floats, seconds: float) -> int:
    """How many rows can be solved in so many seconds; at least three."""
    began = time.perf_counter()
    for row in rows[:WARM_UP]:
        timed(ready, row, None)
    each = (time.perf_counter() - began) / WARM_UP
    return int(np.clip(seconds / max(each, 1e-9), min(3, len(rows)), len(rows)))


def batches(
    ready: Sequence[Ready], rows: Floats, sizes: Sequence[int], rounds: int, seconds: float, tell: Tell
) -> list[dict[int, Floats]]:
    """Times of one target [us] in batches of these sizes, (rounds,) for each size and method, in turns.

    Methods that solve no batches have none; one that would take longer than `seconds` for a size leaves out the rest.
    """
    times: list[dict[int, Floats]] = [{} for _ in ready]
    able = [isinstance(attempt(one.solve_many, rows[:1]), np.ndarray) for one in ready]
    for size in sizes:
        some = rows[np.arange(size) % len(rows)]
        for i, one in enumerate(ready):
            last = max(times[i], default=0)
            if able[i] and last and float(np.median(times[i][last])) * 1e-6 * size * rounds > seconds:
                able[i] = False
            if able[i]:
                attempt(one.solve_many, some)
        for turn in range(rounds):
            for i in np.roll(np.arange(len(ready)), -turn).tolist():
                if able[i]:
                    began = time.perf_counter()
                    attempt(ready[i].solve_many, some)
                    times[i].setdefault(size, np.full(rounds, np.nan))[turn] = (
                        (time.perf_counter() - began) / size * 1e6
                    )
        tell(f"batches of {size}")
    return times
