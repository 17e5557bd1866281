"""Metrics and ranks of compared methods. Ranks are reproducible: methods with overlapping 95 % intervals share one.

Shares have Wilson's interval (E. B. Wilson, JASA 22, 1927). Times have the interval of a median between order
statistics, which assumes no distribution: of 9 rounds the second smallest and the second largest (1 - 2 (1 + 9) / 2^9 =
96 %; fewer than six rounds, as in a quick comparison, give less). The slowdown of each round relative to the others,
taken from the median method, is subtracted, because a busy machine slows all methods.

Repeated runs of the same program differ by a few per cent for other reasons (memory layout, processor temperature).
Intervals are therefore never narrower than 5 to 12 % on either side; the width is chosen so that no two neighbours are
close to the border between shared and separate ranks.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from poise.calls.old_names import make_alias
from poise.comparison.method import PreparedMethod
from poise.comparison.runs import MAX_VIOLATION, MethodRun, ScalingPoint, measure_answers, run_or_catch
from poise.comparison.task import Task
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.skeleton import Kind
from poise.problem.dof_layout import POSITION

_NORMAL_QUANTILE = 1.959963984540054  # 97.5 % quantile of the normal distribution
_MAX_MISS_PROBABILITY = 0.05  # probability that an interval misses the true value
# log ratio, bounds of the smallest full width of an interval
_MIN_INTERVAL_LOG, _MAX_INTERVAL_LOG = 2 * math.log(1.05), 2 * math.log(1.12)


class Interval(NamedTuple):
    """95 % confidence interval."""

    low: float
    high: float


def compute_share_interval(success_count: int, count: int) -> Interval:
    """Compute Wilson's interval of a share."""
    if count == 0:
        return Interval(0.0, 1.0)
    share, z2 = success_count / count, _NORMAL_QUANTILE * _NORMAL_QUANTILE
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half_width = _NORMAL_QUANTILE / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return Interval(max(centre - half_width, 0.0), min(centre + half_width, 1.0))


def compute_time_intervals(rounds: Sequence[Floats]) -> list[Interval]:
    """Compute intervals of the logarithm of each method's times. Times (r,) belong to the same rounds for each.

    NaN marks a skipped round. A method with an infinite time, or without any time, ranks behind all others: its
    interval is infinity alone.
    """
    finite_methods = [i for i, times in enumerate(rounds) if np.isfinite(times).any() and not np.isinf(times).any()]
    intervals = [Interval(math.inf, math.inf)] * len(rounds)
    if not finite_methods:
        return intervals
    logs = np.log(np.array([rounds[i] for i in finite_methods]))
    logs = logs[:, np.isfinite(logs).any(axis=0)]
    round_slowdown = np.nanmedian(logs - np.nanmedian(logs, axis=1, keepdims=True), axis=0)
    relative_logs = logs - round_slowdown
    half_width = _choose_half_width(np.nanmedian(relative_logs, axis=1))
    for i, method_logs in zip(finite_methods, relative_logs, strict=True):
        sorted_logs = np.sort(method_logs[np.isfinite(method_logs)])
        rank, median_log = _find_order_statistic(len(sorted_logs)), float(np.median(sorted_logs))
        intervals[i] = Interval(
            min(float(sorted_logs[rank]), median_log - half_width),
            max(float(sorted_logs[-1 - rank]), median_log + half_width),
        )
    return intervals


def _choose_half_width(median_logs: Floats) -> float:
    """Choose the half width with the clearest ranking.

    With it no gap between neighbours is nearly as wide as an interval.
    """
    gaps = np.sort(np.diff(np.sort(median_logs)))
    gap_midpoints = 0.5 * (gaps[1:] + gaps[:-1])
    widths = np.r_[
        _MIN_INTERVAL_LOG,
        gap_midpoints[(gap_midpoints > _MIN_INTERVAL_LOG) & (gap_midpoints < _MAX_INTERVAL_LOG)],
        _MAX_INTERVAL_LOG,
    ]
    if not gaps.size:
        return 0.5 * _MIN_INTERVAL_LOG
    clearance = np.abs(widths[:, None] - gaps).min(axis=1)
    return 0.5 * float(widths[clearance.argmax()])


def _find_order_statistic(count: int) -> int:
    """Find the order statistic bounding a median with 95 %. It is counted from either end of `count` values."""
    tail_probability, rank = 0.0, 0
    for k in range(count // 2):
        tail_probability += math.comb(count, k) / 2.0**count
        if 2 * tail_probability > _MAX_MISS_PROBABILITY:
            break
        rank = k
    return rank


def compute_shared_ranks(intervals: Sequence[Interval], wide_indices: Collection[int] = ()) -> list[int]:
    """Rank intervals from 1, low values first.

    Methods with intervals that overlap, directly or through others, share a rank.

    wide_indices  indices of intervals that are wide for lack of data and therefore connect no others: each shares the
                  first rank that it overlaps, or has one of its own
    """
    narrow_indices = sorted((i for i in range(len(intervals)) if i not in wide_indices), key=lambda i: intervals[i])
    groups: list[list[int]] = []
    group_end = -math.inf
    for i in narrow_indices:
        if intervals[i].low > group_end or not groups:
            groups.append([])
        group_end = max(group_end, intervals[i].high)
        groups[-1].append(i)
    for i in sorted(set(range(len(intervals))) - set(narrow_indices), key=lambda i: intervals[i]):
        overlapping_group = next(
            (rank_group for rank_group in groups if any(_has_overlap(intervals[i], intervals[j]) for j in rank_group)),
            None,
        )
        if overlapping_group is None:
            groups.append([i])
            groups.sort(key=lambda group: min(intervals[j] for j in group))
        else:
            overlapping_group.append(i)
    ranks = {i: rank for rank, group in enumerate(groups, start=1) for i in group}
    return [ranks[i] for i in range(len(intervals))]


def _has_overlap(a: Interval, b: Interval) -> bool:
    return a.low <= b.high and b.low <= a.high


def rank_by_keys(*keys: Sequence[int]) -> list[int]:
    """Rank from 1 by the first key, then the next. Equal keys give an equal rank."""
    key_tuples = list(zip(*keys, strict=True))
    ranks = {key_tuple: rank for rank, key_tuple in enumerate(sorted(set(key_tuples)), start=1)}
    return [ranks[key_tuple] for key_tuple in key_tuples]


# --- Measure the error after each iteration --------------------------------------------------------------------------
#
# It is computed from the configurations passed through.


_MIN_ERROR_SHARE = 1e-12  # share of the first error, lower bound of shown errors


class Convergence(NamedTuple):
    """Errors after each iteration as a share of the first error.

    curves         (targets, iterations + 1) the least error so far, constant after the last iteration
    rise_share     share of iterations with an increase of the error
    stalled_share  share of targets that stayed above the tolerance
    """

    curves: Floats
    rise_share: float
    stalled_share: float

    def quantiles(self) -> Floats:
        """Quartiles (3, iterations + 1) of the targets' errors."""
        return np.quantile(self.curves, (0.25, 0.5, 0.75), axis=0)


def measure_convergence(
    method: PreparedMethod, task: Task, rows: Floats, max_iterations: int, seconds: float
) -> Convergence | None:
    """Trace the method's iterations for targets (k, W).

    Stops after `seconds`; None for a method without visible iterations.
    """
    paths: list[Any] = []
    deadline = time.perf_counter() + seconds
    for row in rows:
        if not paths or time.perf_counter() < deadline:
            paths.append(run_or_catch(method.trace_path, row))
    scores = [
        task.compute_scores(measure_answers(task, path, np.broadcast_to(row, (len(path), len(row))))[0])
        for path, row in zip(paths, rows, strict=False)
        if isinstance(path, np.ndarray) and len(path) and np.isfinite(path[0]).all()
    ]
    if not scores:
        return None
    curve_length = min(max(len(target_scores) for target_scores in scores), max_iterations + 1)
    curves = np.ones((len(scores), curve_length))
    step_count, rise_count = 0, 0
    for curve, target_scores in zip(curves, scores, strict=True):
        shares = (
            np.maximum(target_scores / target_scores[0], _MIN_ERROR_SHARE)
            if target_scores[0] > 0
            else np.full(len(target_scores), _MIN_ERROR_SHARE)
        )
        min_shares = np.minimum.accumulate(shares)[:curve_length]
        curve[: len(min_shares)] = min_shares
        curve[len(min_shares) :] = min_shares[-1]
        step_count, rise_count = (
            step_count + len(target_scores) - 1,
            rise_count + int((np.diff(target_scores) > 0).sum()),
        )
    missed_count = sum(float(target_scores.min()) > 1.0 for target_scores in scores)
    return Convergence(curves, rise_count / max(step_count, 1), missed_count / len(scores))


# --- Measure joint motion and its smoothness along a path ------------------------------------------------------------


class Smoothness(NamedTuple):
    """Largest first, second and third joint differences along a path.

    Differences are from frame to frame, for any joint.

    step          [rad a frame]
    acceleration  [rad a frame^2]
    jerk          [rad a frame^3]
    """

    step: float
    acceleration: float
    jerk: float


def compute_displacements(task: Task, a: Floats, b: Floats) -> Floats:
    """Compute joint displacements (k, joints, 3) between configurations.

    They are a and b, (k, nq). Only moving joints count.

    A ball joint has the rotation vector b a^-1 [rad]. Hinges and slides use the first component: an angle [rad] (the
    shorter way round if no limit forbids it), or a distance as a share of the chain's length.
    """
    skeleton, length = task.start.skeleton, _read_chain_length(task)
    displacements = np.zeros((len(a), len(task.joints), 3))
    for i, name in enumerate(task.joints):
        joint, value_column = skeleton[name], skeleton.q_slice(name).start
        coupling = skeleton.couplings[skeleton.index(name)]
        factor = 1.0 if coupling is None else coupling.ratio
        if joint.kind == Kind.HINGE:
            angle = factor * (b[:, value_column] - a[:, value_column])
            is_unlimited = np.isinf(skeleton.value_ranges[value_column]).all() and factor == 1.0
            displacements[:, i, 0] = (angle + np.pi) % (2 * np.pi) - np.pi if is_unlimited else angle
        elif joint.kind == Kind.SLIDE:
            displacements[:, i, 0] = factor * (b[:, value_column] - a[:, value_column]) / length
        elif joint.kind in (Kind.BALL, Kind.FREE):
            quaternion_columns = slice(skeleton.q_slice(name).stop - 4, skeleton.q_slice(name).stop)
            displacements[:, i] = rotations.as_vector(
                rotations.multiply(b[:, quaternion_columns], rotations.inverse(a[:, quaternion_columns]))
            )
    return displacements


def compute_travel(task: Task, q: Floats, start_q: Floats) -> Floats:
    """Compute distances (k,) of poses q (k, nq) from their starts.

    It is the root of the sum of squared joint rotations [rad].
    """
    return np.sqrt((compute_displacements(task, np.broadcast_to(start_q, q.shape), q) ** 2).sum(axis=(1, 2)))


def compute_smoothness(task: Task, q: Floats) -> Smoothness:
    """Measure the smoothness of poses q (k, nq) along a path.

    NaN for too few frames or for an answer without numbers.
    """
    steps = compute_displacements(task, q[:-1], q[1:])
    max_differences: list[float] = []
    for _ in range(3):
        magnitudes = np.sqrt((steps**2).sum(axis=-1))
        max_differences.append(float(magnitudes.max()) if magnitudes.size else float("nan"))
        steps = np.diff(steps, axis=0)
    return Smoothness(*max_differences)


def _read_chain_length(task: Task) -> float:
    """Return the chain's length [file units], or 1 without one."""
    return task.problem.plan.max_reach or 1.0


# --- Metrics of one method -------------------------------------------------------------------------------------------


NAN = float("nan")
MIN_PATH_SHARE = 0.95  # share of solved frames from which a method counts as following the path


class MethodRanks(NamedTuple):
    """Ranks from 1, shared where 95 % intervals overlap.

    They are of the share solved, of the time of a call and of a batch.

    `overall` is by the share solved, then by the time of a call. `batch` is None without batches.
    """

    overall: int
    solved: int
    call: int
    batch: int | None


@dataclass(frozen=True, eq=False)
class MethodMetrics:
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
    growth: tuple[ScalingPoint, ...] = ()
    ranks: MethodRanks | None = None

    def __repr__(self) -> str:
        text = self.refused or f"{100 * self.compute_solved_share():.3g} % solved"
        return f"MethodMetrics({self.name}: {text})"

    @property
    def main(self) -> MethodRun | None:
        """The run on the main set, or None."""
        return self.runs.get(self.task.main.name)

    def compute_solved_share(self, level: float = 1.0, name: str | None = None) -> float:
        """Return the share of a set's targets solved at a level. NaN where the set was not run."""
        run = self.main if name is None else self.runs.get(name)
        return NAN if run is None or not len(run) else float(run.find_solved(level).mean())

    solved: ClassVar[Any] = make_alias("MethodMetrics.solved", compute_solved_share)

    @cached_property
    def call_times(self) -> Floats:
        """Median times [us] of successful single calls, by target. The median is over the rounds."""
        if self.calls is None:
            return np.zeros(0)
        answered_calls = self.calls[:, ~np.isinf(self.calls).any(axis=0)]
        return np.nanmedian(answered_calls, axis=0) if answered_calls.size else np.zeros(0)

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

    def compute_residuals(self, *, is_position: bool) -> Floats:
        """Compute the remaining errors on the main set.

        They are the largest distance [file units] or angle [rad] of each target.
        """
        run = self.main
        columns = [
            i for i, measure in enumerate(self.task.problem.measures) if (measure.kind == POSITION) == is_position
        ]
        if run is None or not columns:
            return np.zeros(0)
        return np.nan_to_num(run.errors[:, columns].max(axis=1), nan=np.inf)

    def smooth(self, name: str) -> Smoothness:
        """Measure the smoothness along a set of successive targets.

        NaN for an incomplete run or a method that does not follow the path: standing still would count as smooth.
        """
        run = self.runs.get(name)
        if run is None or len(run) < run.target_count or not self.compute_solved_share(name="path") >= MIN_PATH_SHARE:
            return Smoothness(NAN, NAN, NAN)
        return compute_smoothness(self.task, run.q)

    @property
    def travel(self) -> float:
        """Median distance [rad] of solving poses from their starts."""
        run = self.main
        if run is None or not run.find_solved().any():
            return NAN
        return float(np.median(compute_travel(self.task, run.q[run.find_solved()], run.start_q[run.find_solved()])))

    @property
    def violation(self) -> float:
        """The largest limit violation in any set [rad, file units]."""
        return max((float(run.violations.max(initial=0.0)) for run in self.runs.values()), default=NAN)

    @property
    def violated(self) -> float:
        """Share of main-set answers outside limits by more than 1e-6."""
        return NAN if self.main is None else float((self.main.violations > MAX_VIOLATION).mean())

    @property
    def wrong_claims(self) -> float:
        """Share of main-set targets wrongly claimed as reached. NaN for a method without such claims."""
        run = self.main
        return NAN if run is None or run.claims_reached is None else float(run.wrong_claims.mean())

    def iterations(self, name: str | None = None) -> float:
        """Return the median iterations of solved targets. NaN where the method does not report them."""
        run = self.main if name is None else self.runs.get(name)
        counts = np.zeros(0) if run is None else run.iterations[run.find_solved() & np.isfinite(run.iterations)]
        return float(np.median(counts)) if counts.size else NAN

    @property
    def trouble(self) -> str | None:
        """The first error message, or None."""
        run_message = next((run.error_message for run in self.runs.values() if run.error_message), None)
        return run_message or self.batch_trouble


# --- Rank methods by share solved, call time and batch time ----------------------------------------------------------


_MIN_TARGET_SHARE = 0.5  # share of the targets: below it the interval is wide only for lack of time


def rank_methods(metrics: Sequence[MethodMetrics]) -> list[MethodMetrics]:
    """Rank the methods.

    The share solved (largest first), calls and batches (shortest first) have ranks of their own; the overall rank
    follows from the first two.
    """
    if not metrics:
        return []
    solved_ranks = _rank_by_share(metrics)
    call_ranks = compute_shared_ranks(
        compute_time_intervals([_compute_round_medians(method_metrics.calls) for method_metrics in metrics])
    )
    batch_size = max((max(method_metrics.batches) for method_metrics in metrics if method_metrics.batches), default=0)
    batched_indices = [i for i, method_metrics in enumerate(metrics) if batch_size in method_metrics.batches]
    shared_batch_ranks = compute_shared_ranks(
        compute_time_intervals([metrics[i].batches[batch_size] for i in batched_indices])
    )
    batch_ranks = dict(zip(batched_indices, shared_batch_ranks, strict=True))
    overall_ranks = rank_by_keys(solved_ranks, call_ranks)
    return [
        dataclasses.replace(
            method_metrics, ranks=MethodRanks(overall_ranks[i], solved_ranks[i], call_ranks[i], batch_ranks.get(i))
        )
        for i, method_metrics in enumerate(metrics)
    ]


def _rank_by_share(metrics: Sequence[MethodMetrics]) -> list[int]:
    counts = [
        (int(run.find_solved().sum()), len(run), run.target_count)
        for run in (method_metrics.main for method_metrics in metrics)
        if run is not None
    ]
    share_intervals = [compute_share_interval(solved_count, count) for solved_count, count, _ in counts]
    sparse_indices = {
        i for i, (_, count, target_count) in enumerate(counts) if count < _MIN_TARGET_SHARE * target_count
    }
    return compute_shared_ranks(
        [Interval(-interval.high, -interval.low) for interval in share_intervals], sparse_indices
    )


def _compute_round_medians(calls: Floats | None) -> Floats:
    """Compute the median call of each round.

    NaN where the method skipped the round, infinite where no call succeeded.
    """
    if calls is None:
        return np.full(1, np.inf)
    is_answered = ~np.isinf(calls).any(axis=0)
    return np.median(calls[:, is_answered], axis=1) if is_answered.any() else np.full(len(calls), np.inf)
