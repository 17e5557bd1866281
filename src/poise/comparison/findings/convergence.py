"""Measure the error after each iteration. It is computed from the configurations passed through."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from poise.comparison.trials.method import Ready
from poise.comparison.trials.runs import attempt, measured
from poise.comparison.trials.task import Task
from poise.maths.arrays import Floats

_FLOOR = 1e-12  # share of the first error, lower bound of shown errors


class Convergence(NamedTuple):
    """Errors after each iteration as a share of the first error.

    curves     (targets, iterations + 1) the least error so far, constant after the last iteration
    rises      share of iterations with an increase of the error
    stalled    share of targets that stayed above the tolerance
    """

    curves: Floats
    rises: float
    stalled: float

    def quantiles(self) -> Floats:
        """Quartiles (3, iterations + 1) of the targets' errors."""
        return np.quantile(self.curves, (0.25, 0.5, 0.75), axis=0)


def convergence(ready: Ready, task: Task, rows: Floats, longest: int, seconds: float) -> Convergence | None:
    """Trace the method's iterations for targets (k, W).

    Stops after `seconds`; None for a method without visible iterations.
    """
    paths: list[Any] = []
    end = time.perf_counter() + seconds
    for row in rows:
        if not paths or time.perf_counter() < end:
            paths.append(attempt(ready.path_of, row))
    scores = [
        task.scores(measured(task, path, np.broadcast_to(row, (len(path), len(row))))[0])
        for path, row in zip(paths, rows, strict=False)
        if isinstance(path, np.ndarray) and len(path) and np.isfinite(path[0]).all()
    ]
    if not scores:
        return None
    length = min(max(len(one) for one in scores), longest + 1)
    curves = np.ones((len(scores), length))
    steps, rises = 0, 0
    for curve, one in zip(curves, scores, strict=True):
        shares = np.maximum(one / one[0], _FLOOR) if one[0] > 0 else np.full(len(one), _FLOOR)
        least = np.minimum.accumulate(shares)[:length]
        curve[: len(least)] = least
        curve[len(least) :] = least[-1]
        steps, rises = steps + len(one) - 1, rises + int((np.diff(one) > 0).sum())
    missed = sum(float(one.min()) > 1.0 for one in scores)
    return Convergence(curves, rises / max(steps, 1), missed / len(scores))
