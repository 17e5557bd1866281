"""Results of a comparison: columns, text table and verdict.

Every table, page and JSON file reads its columns from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from poise.comparison.metrics import NAN, MethodMetrics
from poise.comparison.runs import fit_exponent
from poise.comparison.task import TOLERANCE_LEVELS, Task
from poise.errors import InputError, UnknownNameError
from poise.formatting import format_number
from poise.io.json_units import build_units
from poise.maths.arrays import Floats
from poise.problem.goals import Orientation, Position
from poise.solvers.base.interface import join_words


@dataclass(frozen=True)
class Column:
    """One numeric column: key, heading, unit, meaning and function.

    The key is that of the JSON file; NaN stands for a missing value.
    """

    key: str
    title: str
    unit: str
    description: str
    compute: Callable[[MethodMetrics], float]


def _make_solved_share(level: float) -> Callable[[MethodMetrics], float]:
    return lambda method: _to_percent(method.compute_solved_share(level))


def _compute_quantile(values: Floats, share: float) -> float:
    """Compute a quantile. It is inf next to an infinite value, because those targets have no answer."""
    if not values.size:
        return NAN
    with np.errstate(invalid="ignore"):  # inf - inf
        quantile = float(np.quantile(values, share))
    return float("inf") if np.isnan(quantile) and not np.isnan(values).any() else quantile


def _to_percent(share: float) -> float:
    return 100.0 * share


_COUNT_COLUMN = Column(
    "targets", "targets", "", "number of targets; a slow method gets a random part of them",
    lambda m: NAN if m.main is None else float(len(m.main)),
)  # fmt: skip
_LEVEL_COLUMNS: tuple[Column, ...] = tuple(
    Column(
        f"solved_{level:g}", f"solved {level:g}x", "%",
        f"targets within {level:g} times the tolerance, by forward kinematics", _make_solved_share(level),
    )
    for level in TOLERANCE_LEVELS
)  # fmt: skip
_OTHER_COLUMNS: tuple[Column, ...] = (
    Column("call", "a call", "us", "median time of a call for one target, from the start pose",
           lambda m: _compute_quantile(m.call_times, 0.5)),
    Column("call_p99", "p99", "us", "99th percentile of the call times for all targets", lambda m: m.call_p99),
    Column("batch", "in a batch", "us", "time of one target in the largest affordable batch, in one call on one core",
           lambda m: m.batch_time),
    Column("iterations", "iterations", "", "median; each method defines its own iteration",
           lambda m: m.iterations()),
    Column("left", "left", "distance", "median distance left",
    lambda m: _compute_quantile(m.compute_residuals(is_position=True), 0.5)),
    Column("left_p99", "left, p99", "distance", "99th percentile of the distance left",
           lambda m: _compute_quantile(m.compute_residuals(is_position=True), 0.99)),
    Column("turn", "turn left", "rad", "median angle left",
    lambda m: _compute_quantile(m.compute_residuals(is_position=False), 0.5)),
    Column("turn_p99", "turn left, p99", "rad", "99th percentile of the angle left",
           lambda m: _compute_quantile(m.compute_residuals(is_position=False), 0.99)),
    Column("violation", "limits left by", "rad", "largest limit violation of any answer",
           lambda m: m.violation),
    Column("violated", "outside limits", "%", "answers outside a limit by more than 1e-6",
           lambda m: _to_percent(m.violated)),
    Column("travel", "travel", "rad", "median distance of a solution from the start: root of the sum of squared angles",
           lambda m: m.travel),
    Column("path", "path", "%", "frames of the path solved, each from the previous answer",
           lambda m: _to_percent(m.compute_solved_share(name="path"))),
    Column("step", "step", "rad", "largest rotation of a joint between two frames of the path",
           lambda m: m.smooth("path").step),
    Column("acceleration", "acceleration", "rad", "largest second difference of joint rotation along the path",
           lambda m: m.smooth("path").acceleration),
    Column("jerk", "jerk", "rad", "largest third difference of joint rotation along the path",
           lambda m: m.smooth("path").jerk),
    Column("singular", "singular", "%", "targets of nearly singular poses solved",
           lambda m: _to_percent(m.compute_solved_share(name="singular"))),
    Column("stretched", "stretched", "%", "targets of nearly extended poses solved",
           lambda m: _to_percent(m.compute_solved_share(name="stretched"))),
    Column("stretched_iterations", "iterations stretched", "", "median for nearly extended poses",
           lambda m: m.iterations("stretched")),
    Column("leaving_step", "step beyond reach", "rad",
           "largest rotation of a joint between two frames while the target leaves the reach and returns",
           lambda m: m.smooth("leaving").step),
    Column("growth", "growth", "", "exponent of the time over the number of joints (1: a constant cost per joint)",
           lambda m: fit_exponent(m.growth)),
    Column("wrong_claims", "claims wrongly", "%", "targets claimed as met but missed by forward kinematics",
           lambda m: _to_percent(m.wrong_claims)),
)  # fmt: skip
COLUMNS = (_COUNT_COLUMN, *_LEVEL_COLUMNS, *_OTHER_COLUMNS)


# --- Everything measured in a comparison, as plain data --------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonData:
    """Task, machine and metrics of the compared methods.

    task      the task of all methods
    methods   in order of rank, methods unable to do the task last
    machine   processor and software versions
    settings  effort and seed
    seconds   duration of the comparison
    """

    task: Task
    methods: tuple[MethodMetrics, ...]
    machine: dict[str, str | int]
    settings: dict[str, Any]
    seconds: float

    @property
    def compared(self) -> tuple[MethodMetrics, ...]:
        """The methods measured on the task, best first."""
        return tuple(method for method in self.methods if method.refused is None)

    @property
    def refused(self) -> tuple[MethodMetrics, ...]:
        """The methods unable to do the task, each with its reason."""
        return tuple(method for method in self.methods if method.refused is not None)

    @property
    def best(self) -> MethodMetrics:
        """The method of the first rank. InputError where no method took the task."""
        if not self.compared:
            raise InputError(f"no method takes this task: {self.methods[0].refused if self.methods else 'none given'}")
        return self.compared[0]

    def __getitem__(self, name: str) -> MethodMetrics:
        """Return a method by its name."""
        for method in self.methods:
            if method.name == name:
                return method
        raise UnknownNameError("method", name, [method.name for method in self.methods])

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns with a value for any method."""
        return tuple(
            column for column in COLUMNS if any(not math.isnan(column.compute(method)) for method in self.compared)
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each method. It holds the name, ranks, and a number or None for each column."""
        return [self._build_row(method) for method in self.methods]

    def _build_row(self, method: MethodMetrics) -> dict[str, Any]:
        row: dict[str, Any] = {"method": method.name, "family": method.family, "refused": method.refused}
        if method.refused is not None:
            return row
        row["ranks"] = None if method.ranks is None else method.ranks._asdict()
        return row | {column.key: _to_json_number(column.compute(method)) for column in COLUMNS}

    def document(self) -> dict[str, Any]:
        """Return the whole comparison as JSON data. It holds the task, units, columns, rows and curves."""
        task = self.task
        return {
            "task": {
                "rig": task.name, "joint": task.goal.joint, "goal": type(task.goal).__name__,
                "joints": list(task.joints), "tolerance": task.tolerance.distance,
                "angle_tolerance": task.tolerance.angle, "levels": list(TOLERANCE_LEVELS),
                "sets": {
                    target_set.name: {"targets": len(target_set), "text": target_set.text}
                    for target_set in task.sets.values()
                },
            },
            "machine": self.machine,
            "units": build_units(task.start.skeleton.metres_per_unit, distance="file unit", us="1e-6 s"),
            "settings": self.settings,
            "seconds": self.seconds,
            "columns": {
                column.key: {"title": column.title, "unit": column.unit, "text": column.description}
                for column in COLUMNS
            },
            "methods": [self._build_row(method) | _build_curves(method) for method in self.methods],
        }  # fmt: skip


def _to_json_number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _build_curves(method: MethodMetrics) -> dict[str, Any]:
    """Collect the curves of a method for JSON."""
    curves: dict[str, Any] = {"text": method.text, "options": method.options}
    curves["growth"] = [
        {
            "joints": point.joint_count,
            "solved": point.solved_share,
            "call": _to_json_number(point.call_us),
            "batch": _to_json_number(point.batch_us),
        }
        for point in method.growth
    ]
    curves["batches"] = [{"size": size, "us": time} for size, time in method.batch_times.items()]
    if method.convergence is not None:
        lower_quartile, median, upper_quartile = method.convergence.quantiles().tolist()
        curves["convergence"] = {"quarter": lower_quartile, "median": median, "three_quarters": upper_quartile}
    return curves


# --- Format a comparison as a plain text table -----------------------------------------------------------------------
#
# It shows as many columns as fit into the width.


_MICROSECONDS = "\N{MICRO SIGN}s"
_MIN_HEADING_CHARS = 9  # characters, smallest width of a heading
TABLE_COLUMNS = (
    "solved_100",
    "solved_10",
    "solved_1",
    "call",
    "call_p99",
    "batch",
    "iterations",
    "left",
    "violated",
    "path",
    "step",
)


def format_value(column: Column, value: float) -> str:
    """Format a number with the usual digits of its unit. A dash stands for a missing value."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "none"
    if column.unit == "%":
        return f"{value:.4g}" if value < 100 else "100"  # noqa: PLR2004
    if abs(value) >= 1000:  # noqa: PLR2004
        return f"{value:,.0f}"
    return format_number(value, 3)


def format_heading(column: Column, length_unit: str = "") -> str:
    """Format the title with its unit in brackets. `length_unit` is the unit of lengths."""
    unit = {"us": _MICROSECONDS, "distance": length_unit}.get(column.unit, column.unit)
    return f"{column.title} [{unit}]" if unit else column.title


def format_table(comparison: ComparisonData, width: int = 120) -> str:
    """Format the title, method rows and refusals. Columns beyond `width` characters are left out."""
    target_counts = {len(method.main) for method in comparison.compared if method.main is not None}
    shown_keys = ("targets", *TABLE_COLUMNS) if len(target_counts) > 1 else TABLE_COLUMNS
    columns = [column for column in comparison.columns if column.key in shown_keys]
    cells = [["rank", *_format_ranks(comparison)], ["method", *(method.name for method in comparison.compared)]]
    cells += [[_format_column_heading(column, comparison), *_format_column(column, comparison)] for column in columns]
    lines = _join_columns(cells, width) if comparison.compared else []
    lines += (
        [f"\nsolved 1x: within {format_tolerance(comparison)}, by forward kinematics; times are medians"]
        if lines
        else []
    )
    refusal_lines = [f"{method.name}: {method.refused}" for method in comparison.refused]
    return "\n".join(
        [comparison.task.title, *([""] if lines else []), *lines, *([""] if refusal_lines else []), *refusal_lines]
    )


def format_tolerance(comparison: ComparisonData) -> str:
    """Format the tolerance: `1e-06 m and 1e-06 rad`."""
    task = comparison.task
    parts = [f"{task.tolerance.distance:.3g} {find_length_unit(comparison)}"] * (not isinstance(task.goal, Orientation))
    parts += [f"{task.tolerance.angle:.3g} rad"] * (not isinstance(task.goal, Position))
    return " and ".join(parts)


def find_length_unit(comparison: ComparisonData) -> str:
    """Return the rig's unit of length. "m" where the rig is known to be in metres, else "units"."""
    return "m" if comparison.task.start.skeleton.metres_per_unit == 1 else "units"


def _format_ranks(comparison: ComparisonData) -> list[str]:
    return ["" if method.ranks is None else str(method.ranks.overall) for method in comparison.compared]


def _format_column_heading(column: Column, comparison: ComparisonData) -> str:
    return format_heading(column, find_length_unit(comparison))


def _format_column(column: Column, comparison: ComparisonData) -> list[str]:
    return [format_value(column, column.compute(method)) for method in comparison.compared]


def _join_columns(columns: list[list[str]], width: int) -> list[str]:
    """Join columns side by side. Long headings are wrapped, and the second column is left-aligned."""
    headings = [
        wrap(column[0], max(_MIN_HEADING_CHARS, *(len(cell) for cell in column[1:])), break_long_words=False)
        for column in columns
    ]
    heading_lines = max(map(len, headings))
    lines = [""] * (heading_lines + len(columns[0]) - 1)
    for i, (heading, column) in enumerate(zip(headings, columns, strict=True)):
        cells = [*[""] * (heading_lines - len(heading)), *heading, *column[1:]]
        column_width = max(map(len, cells))
        if i > 1 and len(lines[0]) + 2 + column_width > width:
            break
        lines = [
            f"{line}{'  ' if i else ''}{cell.ljust(column_width) if i == 1 else cell.rjust(column_width)}"
            for line, cell in zip(lines, cells, strict=True)
        ]
    return [line.rstrip() for line in lines]


# --- Describe the main findings of a comparison in sentences ---------------------------------------------------------


_MIN_SOLVED_SHARE = 0.95  # share solved below which a method is mentioned
_EQUAL_RATIO = 1.1  # ratio up to which two values count as equal


def format_verdict(comparison: ComparisonData) -> str:
    """Describe ranks, misses, limit violations, wrong claims and refusals."""
    if not comparison.compared:
        return "No method takes this task."
    describers = (
        _describe_first,
        _describe_batches,
        _describe_smoothness,
        _describe_path_misses,
        _describe_unsolved,
        _describe_violations,
        _describe_wrong_claims,
        _describe_errors,
        _describe_start,
        _describe_refused,
    )
    sentences = [describe(comparison) for describe in describers]
    return " ".join(sentence for sentence in sentences if sentence)


def _describe_first(comparison: ComparisonData) -> str:
    first_ranked = [method for method in comparison.compared if method.ranks is not None and method.ranks.overall == 1]
    if not any(method.compute_solved_share() > 0 for method in comparison.compared):
        return f"No method solves any of {len(comparison.task.main)} targets."
    target_counts = sorted({len(method.main) for method in first_ranked if method.main is not None})
    solved_texts = sorted(
        {_format_percent(method.compute_solved_share()).removesuffix(" %") for method in first_ranked}, key=float
    )
    times = sorted(float(np.median(method.call_times)) for method in first_ranked if method.call_times.size)
    time_text = f", {_format_range([f'{time:.3g}' for time in times])} \N{MICRO SIGN}s a call" if times else ""
    ranks_text = "ranks first" if len(first_ranked) == 1 else "share rank one"
    return (
        f"{join_words(method.name for method in first_ranked)} {ranks_text}: {_format_range(solved_texts)} % of "
        f"{_format_range([str(target_count) for target_count in target_counts])} targets "
        f"solved{time_text}."
    )


def _format_range(numbers: Sequence[str]) -> str:
    return numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"


def _describe_batches(comparison: ComparisonData) -> str:
    """Name the fastest methods in large batches."""
    reliable = [
        method
        for method in comparison.compared
        if method.ranks is not None and method.ranks.batch and method.compute_solved_share() >= _MIN_SOLVED_SHARE
    ]
    best_rank = min((method.ranks.batch or 0 for method in reliable if method.ranks is not None), default=0)
    fastest = [method for method in reliable if method.ranks is not None and method.ranks.batch == best_rank]
    times = sorted(method.batch_time for method in fastest)
    if len(fastest) in (0, len(reliable)):
        return ""
    time_text = _format_range([f"{time:.3g}" for time in times])
    verb_text = "is" if len(fastest) == 1 else "are"
    names_text = join_words(method.name for method in fastest)
    return f"In a batch {names_text} {verb_text} quickest: {time_text} \N{MICRO SIGN}s a target."


def _describe_smoothness(comparison: ComparisonData) -> str:
    """Name the methods with the least jerk along the path.

    Only methods that follow the path count; "" without a clear difference.
    """
    jerks = {
        method.name: method.smooth("path").jerk
        for method in comparison.compared
        if method.compute_solved_share(name="path") >= _MIN_SOLVED_SHARE
    }
    jerks = {name: jerk for name, jerk in jerks.items() if math.isfinite(jerk)}
    if len(jerks) < 2 or max(jerks.values()) <= _EQUAL_RATIO * min(jerks.values()):  # noqa: PLR2004
        return ""
    smoothest = [name for name, jerk in jerks.items() if jerk <= _EQUAL_RATIO * min(jerks.values())]
    roughest = max(jerks, key=lambda name: jerks[name])
    return (
        f"Along the path {join_words(smoothest)} {'moves' if len(smoothest) == 1 else 'move'} most smoothly "
        f"(jerk {min(jerks.values()):.3g} rad a frame^3), {roughest} least ({jerks[roughest]:.3g})."
    )


def _describe_path_misses(comparison: ComparisonData) -> str:
    """Name the methods without smoothness. They solve the targets, but miss frames of the path."""
    shares = {
        method.name: method.compute_solved_share(name="path")
        for method in comparison.compared
        if method.compute_solved_share() >= _MIN_SOLVED_SHARE
    }
    parts = [f"{name} solves {_format_percent(share)}" for name, share in shares.items() if share < _MIN_SOLVED_SHARE]
    return f"Jerk is not measured where frames of the path are missed: {join_words(parts)}." if parts else ""


def _describe_unsolved(comparison: ComparisonData) -> str:
    weak_methods = [method for method in comparison.compared if method.compute_solved_share() < _MIN_SOLVED_SHARE]
    parts = [f"{method.name} {_format_percent(method.compute_solved_share())}" for method in weak_methods]
    return f"Fewer are solved by {join_words(parts)}." if parts else ""


def _describe_violations(comparison: ComparisonData) -> str:
    parts = [
        f"{method.name} in {_format_percent(method.violated)}" for method in comparison.compared if method.violated > 0
    ]
    return f"Limits are left by {join_words(parts)} of the answers." if parts else ""


def _describe_wrong_claims(comparison: ComparisonData) -> str:
    parts = [_describe_claim(method) for method in comparison.compared if method.wrong_claims > 0]
    return " ".join(parts)


def _describe_claim(method: MethodMetrics) -> str:
    """Describe a wrong claim with its true error."""
    run = method.main
    assert run is not None
    max_score = float(run.scores[run.wrong_claims].max())
    error_text = f"{max_score:.3g} times the tolerance" if math.isfinite(max_score) else "no pose at all"
    return (
        f"{method.name} says that it met {_format_percent(method.wrong_claims)} of the targets and did not: "
        f"forward kinematics finds up to {error_text}."
    )


def _describe_errors(comparison: ComparisonData) -> str:
    return " ".join(f"{method.name}: {method.trouble}." for method in comparison.compared if method.trouble)


def _describe_start(comparison: ComparisonData) -> str:
    names = comparison.task.moved_inside
    return f"The start was outside the limits of {join_words(names)} and was moved inside first." if names else ""


def _describe_refused(comparison: ComparisonData) -> str:
    names = [method.name for method in comparison.refused]
    return f"{join_words(names)} {'does' if len(names) == 1 else 'do'} not take this task." if names else ""


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g} %"
