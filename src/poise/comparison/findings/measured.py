"""Metrics of one method."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from poise.comparison.findings.convergence import Convergence
from poise.comparison.findings.motion import Smoothness, smoothness, travel
from poise.comparison.trials.growth import Grown
from poise.comparison.trials.runs import LEAVES, MethodRun
from poise.comparison.trials.task import Task
from poise.maths.arrays import Floats
from poise.problem.layout import POSITION

NAN = float("nan")
STAYS = 0.95  # share of solved frames from which a method counts as following the path


class Ranks(NamedTuple):
    """Ranks from 1, shared where 95 % intervals overlap.

    They are of the share solved, of the time of a call and of a batch.

    `overall` is by the share solved, then by the time of a call. `batch` is None without batches.
    """

    overall: int
    solved: int
    call: int
    batch: int | None


@dataclass(frozen=True, eq=False)
class Measured:
    """Description and metrics of one method.

    Parameters
    ----------
    name
        Name of the method, with its non-default options if needed.
    family
        Origin: "poise", or "peer" for another library.
    text
        One-line description.
    options
        Non-default options, as text.
    does
        Capabilities by name.
    task
        The task of the comparison.
    refused
        Reason for refusing the task, or None.
    runs
        Runs by name of the set of targets.
    calls
        (rounds, k) times of single calls in interleaved rounds [us]; NaN in skipped rounds.
    batches
        (rounds,) times of one target by batch size [us]; NaN in skipped rounds.
    batch_trouble
        Error message of failed batches, or None.
    convergence
        Error after each iteration, if the method reports it.
    growth
        Times on chains of other lengths.
    ranks
        Ranks among the methods.
    """

    name: str
    family: str
    text: str
    options: dict[str, str]
    does: dict[str, bool]
    task: Task
    refused: str | None = None
    runs: dict[str, MethodRun] = field(default_factory=dict[str, MethodRun])
    calls: Floats | None = None
    batches: dict[int, Floats] = field(default_factory=dict[int, Floats])
    batch_trouble: str | None = None
    convergence: Convergence | None = None
    growth: tuple[Grown, ...] = ()
    ranks: Ranks | None = None

    def __repr__(self) -> str:
        said = self.refused or f"{100 * self.solved():.3g} % solved"
        return f"Measured({self.name}: {said})"

    @property
    def main(self) -> MethodRun | None:
        """The run on the main set, or None."""
        return self.runs.get(self.task.main.name)

    def solved(self, level: float = 1.0, name: str | None = None) -> float:
        """Return the share of a set's targets solved at a level. NaN where the set was not run."""
        run = self.main if name is None else self.runs.get(name)
        return NAN if run is None or not len(run) else float(run.solved(level).mean())

    @cached_property
    def call_times(self) -> Floats:
        """Median times [us] of successful single calls, by target. The median is over the rounds."""
        if self.calls is None:
            return np.zeros(0)
        answered = self.calls[:, ~np.isinf(self.calls).any(axis=0)]
        return np.nanmedian(answered, axis=0) if answered.size else np.zeros(0)

    @property
    def call_p99(self) -> float:
        """99th percentile [us] of call times on the main set. NaN without any."""
        run = self.main
        return NAN if run is None or not len(run) else float(np.quantile(run.microseconds, 0.99))

    @cached_property
    def batch_times(self) -> dict[int, float]:
        """Median time [us] of one target by batch size. The median is over the rounds."""
        return {size: float(np.nanmedian(times)) for size, times in self.batches.items()}

    @property
    def batch_time(self) -> float:
        """Time [us] of one target in the largest batch."""
        return self.batch_times[max(self.batches)] if self.batches else NAN

    def left(self, *, is_position: bool) -> Floats:
        """Compute the remaining errors on the main set.

        They are the largest distance [file units] or angle [rad] of each target.
        """
        run = self.main
        columns = [i for i, m in enumerate(self.task.problem.measures) if (m.kind == POSITION) == is_position]
        if run is None or not columns:
            return np.zeros(0)
        return np.nan_to_num(run.errors[:, columns].max(axis=1), nan=np.inf)

    def smooth(self, name: str) -> Smoothness:
        """Measure the smoothness along a set of successive targets.

        NaN for an incomplete run or a method that does not follow the path: standing still would count as smooth.
        """
        run = self.runs.get(name)
        if run is None or len(run) < run.asked or not self.solved(name="path") >= STAYS:
            return Smoothness(NAN, NAN, NAN)
        return smoothness(self.task, run.q)

    @property
    def travel(self) -> float:
        """Median distance [rad] of solving poses from their starts."""
        run = self.main
        if run is None or not run.solved().any():
            return NAN
        return float(np.median(travel(self.task, run.q[run.solved()], run.begins[run.solved()])))

    @property
    def violation(self) -> float:
        """The largest limit violation in any set [rad, file units]."""
        return max((float(run.violations.max(initial=0.0)) for run in self.runs.values()), default=NAN)

    @property
    def violated(self) -> float:
        """Share of main-set answers outside limits by more than 1e-6."""
        return NAN if self.main is None else float((self.main.violations > LEAVES).mean())

    @property
    def wrong_claims(self) -> float:
        """Share of main-set targets wrongly claimed as reached. NaN for a method without such claims."""
        run = self.main
        return NAN if run is None or run.claimed is None else float(run.wrong_claims.mean())

    def iterations(self, name: str | None = None) -> float:
        """Return the median iterations of solved targets. NaN where the method does not report them."""
        run = self.main if name is None else self.runs.get(name)
        counts = np.zeros(0) if run is None else run.iterations[run.solved() & np.isfinite(run.iterations)]
        return float(np.median(counts)) if counts.size else NAN

    @property
    def trouble(self) -> str | None:
        """The first error message, or None."""
        raised = next((run.trouble for run in self.runs.values() if run.trouble), None)
        return raised or self.batch_trouble
