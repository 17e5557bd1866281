"""Text and tables of the report page.

It describes the task, findings, methods and the repeating call. Text is plain and not escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from poise import solvers
from poise.comparison.method import list_ability_groups
from poise.comparison.metrics import MethodMetrics
from poise.comparison.report.method_styles import MethodStyle, format_breakable, format_method
from poise.comparison.results import (
    Column,
    ComparisonData,
    find_length_unit,
    format_heading,
    format_tolerance,
    format_value,
)
from poise.comparison.runs import EFFORTS, format_effort
from poise.formatting import format_count, format_number
from poise.problem.dof_layout import POSITION
from poise.problem.goals import Orientation, Position
from poise.solvers.base.interface import join_words

RANKS_TEXT = (
    "Ranks go by the share of targets solved, then by the time of a call; "
    "where 95 % intervals overlap, methods share a rank."
)
_MICROSECONDS = "\N{MICRO SIGN}s"
_MAX_VIOLATION = 1e-6  # [rad, file units] violation that counts
_MAX_LISTED_JOINTS = 8  # joints listed by name
_TIME_UNITS = ((1e6, "s"), (1e3, "ms"))  # microseconds from which a unit is used


def format_percent(share: float) -> str:
    """Format a share in per cent, without the sign. A value below 1 never reads 100."""
    return "\N{EN DASH}" if math.isnan(share) else f"{math.floor(1000 * share + 1e-9) / 10:g}"


def format_time(microseconds: float) -> str:
    """Format a time with three digits and its unit."""
    for unit_microseconds, unit in _TIME_UNITS:
        if microseconds >= 0.9995 * unit_microseconds:
            return f"{microseconds / unit_microseconds:.3g} {unit}"
    return f"{microseconds:.3g} {_MICROSECONDS}"


def describe_task(comparison: ComparisonData) -> list[tuple[str, str]]:
    """Describe the task as (term, text) pairs."""
    task, machine = comparison.task, comparison.machine
    joints = task.joints if len(task.joints) <= _MAX_LISTED_JOINTS else (*task.joints[:2], "...", *task.joints[-2:])
    pairs = [
        ("goal", f"{type(task.goal).__name__} of {task.goal.joint}"),
        ("may move", f"{format_count(len(task.joints), 'joint')}: {', '.join(joints)}"),
        ("solved is", f"within {format_tolerance(comparison)}, measured by forward kinematics"),
        ("targets", f"{len(task.main):,}: {task.main.text}"),
        ("machine", f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores; {_format_versions(machine)}"),
    ]
    measurement_text = (
        f"{comparison.seconds:.0f} s, effort {find_effort_name(comparison)}, seed {read_seed(comparison)}"
    )
    return [*pairs, ("measured in", measurement_text)]


def _format_versions(machine: dict[str, str | int]) -> str:
    names = [name for name in ("Poise", "Python", "NumPy", "Numba") if name.lower() in machine]
    return ", ".join(f"{name} {machine[name.lower()]}" for name in names)


def find_effort_name(comparison: ComparisonData) -> str:
    """Find the name of the effort. `of its own` stands for an effort without one."""
    effort_values = comparison.settings.get("effort")
    return next((name for name, effort in EFFORTS.items() if format_effort(effort) == effort_values), "of its own")


def read_seed(comparison: ComparisonData) -> str:
    """Read the seed of the targets."""
    return str(comparison.settings.get("seed", "unknown"))


def list_more_findings(comparison: ComparisonData) -> list[str]:
    """List findings beyond the verdict.

    They are fast methods with fewer solved targets, true errors, limit violations and missing answers.
    """
    sentences = [_describe_quicker(comparison)]
    sentences += [_describe_claimed(method, comparison) for method in comparison.compared]
    sentences += [_describe_limits(comparison), _describe_unanswered(comparison), _describe_slow(comparison)]
    return [sentence for sentence in sentences if sentence]


def _describe_quicker(comparison: ComparisonData) -> str:
    """Name the methods with faster calls than the first rank."""
    ranked = [method for method in comparison.compared if method.ranks is not None]
    first_call_rank = min(
        (method.ranks.call for method in ranked if method.ranks and method.ranks.overall == 1), default=0
    )
    quick_texts = [
        f"{method.name} ({format_time(float(np.median(method.call_times)))}, "
        f"{format_percent(method.compute_solved_share())} % solved)"
        for method in ranked
        if method.ranks and method.ranks.call < first_call_rank
    ]
    return f"Quicker, but with fewer targets solved: {join_words(quick_texts)}." if quick_texts else ""


def _describe_claimed(method: MethodMetrics, comparison: ComparisonData) -> str:
    """Describe the true errors of wrong claims."""
    run = method.main
    if run is None or not run.wrong_claims.any():
        return ""
    is_wrong, measures = run.wrong_claims, comparison.task.problem.measures
    error_texts: list[str] = []
    for is_position, unit in ((True, find_length_unit(comparison)), (False, "rad")):
        columns = [i for i, measure in enumerate(measures) if (measure.kind == POSITION) == is_position]
        residuals = run.errors[is_wrong][:, columns]
        if columns and np.isfinite(residuals).any():
            error_texts.append(f"{format_number(float(np.nanmax(residuals)), 3)} {unit}")
    error_sentence = f"the true error is up to {join_words(error_texts)}" if error_texts else "it gave no pose at all"
    wrong_text = format_count(int(is_wrong.sum()), "target")
    return f"{method.name} claims wrongly: it says that it met {wrong_text} that it did not; {error_sentence}."


def _describe_limits(comparison: ComparisonData) -> str:
    parts = [
        f"{method.name} by up to {method.violation:.3g}"
        for method in comparison.compared
        if method.violation > _MAX_VIOLATION
    ]
    if parts:
        return f"Over all sets of targets, limits are left by {join_words(parts)} [rad, file units]."
    return f"No answer leaves a limit by more than {_MAX_VIOLATION:g}." if comparison.compared else ""


def _describe_unanswered(comparison: ComparisonData) -> str:
    runs = [(method.name, method.main) for method in comparison.compared if method.main is not None]
    missing = [(name, int((~np.isfinite(run.q).all(axis=1)).sum())) for name, run in runs]
    parts = [f"{name} for {format_count(count, 'target')}" for name, count in missing if count]
    return f"No answer came from {join_words(parts)}." if parts else ""


def _describe_slow(comparison: ComparisonData) -> str:
    runs = [(method.name, method.main) for method in comparison.compared if method.main is not None]
    parts = [f"{name} {len(run)}" for name, run in runs if len(run) < run.target_count]
    return f"Slow methods got the first targets only: {join_words(parts)}." if parts else ""


# --- Describe the methods, the measurement and the repeating call ----------------------------------------------------
#
# This is the end of the page.


_METHODOLOGY = (
    (
        "All methods get the same targets in the same order. Errors are measured by forward kinematics of the pose of "
        "each answer; claims of a method about its own answer are only shown next to them."
    ),
    (
        "Times are those of the user's call, after a warm-up, on one core. All methods take part in each round, so "
        "that a disturbance of the machine affects all of them; numbers are medians over the rounds."
    ),
    (
        f"{RANKS_TEXT} Shares have Wilson's interval, times that of a median between order statistics, 10 % "
        "either way or more."
    ),
    (
        "Other libraries are set up once and called in their own frame and units; the conversion between them and this "
        "rig is not timed."
    ),
)


def format_method_list(comparison: ComparisonData) -> str:
    """List the methods with non-default options. Other libraries are listed separately."""
    poise_items = [_format_list_item(method) for method in comparison.methods if method.family != "peer"]
    peer_items = [_format_list_item(method) for method in comparison.methods if method.family == "peer"]
    parts = [f"<ul>{''.join(poise_items)}</ul>"] if poise_items else []
    parts += [f"<h3>Other libraries and their settings</h3><ul>{''.join(peer_items)}</ul>"] if peer_items else []
    return "".join(parts)


def _format_list_item(method: MethodMetrics) -> str:
    options = ", ".join(f"{name}={value}" for name, value in method.options.items())
    options_text = f" Options: <code>{escape(options)}</code>." if options else ""
    return f"<li><b>{escape(method.name)}</b>: {escape(method.text)}{options_text}</li>"


def format_methodology(comparison: ComparisonData) -> str:
    """Describe the methodology and the sets of targets."""
    set_items = "".join(
        f"<li><b>{escape(target_set.name)}</b> ({len(target_set):,} targets): {escape(target_set.text)}</li>"
        for target_set in comparison.task.sets.values()
    )
    fact_items = "".join(f"<li>{escape(fact)}</li>" for fact in _METHODOLOGY)
    return f"<ul>{fact_items}</ul><h3>Sets of targets</h3><ul>{set_items}</ul>"


def format_repeat_code(comparison: ComparisonData) -> str:
    """Format the code for repeating the comparison."""
    task, goal = comparison.task, comparison.task.goal
    target_texts = ["(0, 0, 0)"] * (not isinstance(goal, Orientation)) + ["(1, 0, 0, 0)"] * (
        not isinstance(goal, Position)
    )
    target = ", ".join(target_texts)
    goal_options = "" if goal.root is None else f", root={goal.root!r}"
    offset = getattr(goal, "offset", (0.0, 0.0, 0.0))
    goal_options += f", offset={tuple(map(float, offset))}" if any(offset) else ""
    name = find_effort_name(comparison)
    effort = f'effort="{name}", ' if " " not in name else ""
    method_names = dict.fromkeys(
        method.name.partition("(")[0] for method in comparison.methods if method.family != "peer"
    )
    solver_names = [name for name in method_names if name in solvers.names()]
    compare_options = "" if set(solver_names) == set(solvers.names()) else f", solvers={solver_names}"
    compare_options += ', targets="path"' if task.main.name == "path" else ""
    tolerances = f"tolerance={task.tolerance.distance:.6g}, angle_tolerance={task.tolerance.angle:.6g}"
    lines = [
        f"rig = poise.load({task.name or 'FILE'!r})",
        f"goal = poise.{type(goal).__name__}({goal.joint!r}, {target}{goal_options})",
        f"found = poise.compare(rig.rest, goal{compare_options},",
        f"                      {tolerances}, {effort}seed={read_seed(comparison)})",
        'found.save("report.html")',
    ]
    advice = (
        "The same seed gives the same targets; times depend on the machine, ranks hardly. Add options, limits, a start "
        "other than rest, a clip for the path, other libraries and given targets in the same way."
    )
    return f"<pre>{escape(chr(10).join(lines))}</pre><p class='muted'>{advice}</p>"


# --- Tables of all columns, refusals and capabilities ----------------------------------------------------------------


COLUMN_GROUPS: dict[str, tuple[str, ...]] = {
    "Solved": ("targets", "solved_100", "solved_10", "solved_1"),
    "Time": ("call", "call_p99", "batch", "growth"),
    "Answers": (
        "iterations", "left", "left_p99", "turn", "turn_p99", "violation", "violated", "travel", "wrong_claims",
    ),
    "Path": ("path", "step", "acceleration", "jerk"),
    "Hard cases": ("singular", "stretched", "stretched_iterations", "leaving_step"),
}  # fmt: skip
_MORE_IS_BETTER = {"path", "singular", "stretched"}  # larger is better, as in columns that begin with "solved"
# columns without a best value: their costs are not comparable
_WITHOUT_BEST = {"targets", "iterations", "stretched_iterations"}
_MIN_SOLVED_SHARE = 0.5  # share of solved targets
_MAX_ROUNDING_VIOLATION = 1e-9  # [rad, file units] violations below it count as none
_MISSING_TEXT = "\N{EN DASH}"
_RANK_COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "Solved": (("overall", "rank"), ("solved", "rank, solved")),
    "Time": (("call", "rank, call"), ("batch", "rank, batch")),
}
_RANK_TEXTS = {
    "overall": "by the share solved, then by the time of a call; shared where 95 % intervals overlap",
    "solved": "of the share solved",
    "call": "of the time of a call",
    "batch": "of the time in the largest batch",
}


def format_tables(comparison: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    """Format a table for each group of columns."""
    grouped_keys = {key for keys in COLUMN_GROUPS.values() for key in keys}
    other_keys = tuple(column.key for column in comparison.columns if column.key not in grouped_keys)
    groups = COLUMN_GROUPS | ({"More": other_keys} if other_keys else {})
    parts: list[str] = []
    for title, keys in groups.items():
        columns = [column for column in comparison.columns if column.key in keys]
        if columns and styles:
            parts.append(_format_group(title, columns, comparison, styles))
    return f'<div class="tables">{"".join(parts)}</div>'


def format_legend(comparison: ComparisonData) -> str:
    """Format the meaning of each column, for print."""
    unit = find_length_unit(comparison)
    items = [
        f"<li><b>{escape(format_heading(column, unit))}</b>: {escape(column.description)}</li>"
        for column in comparison.columns
    ]
    rank_items = "".join(
        f"<li><b>rank, {escape(key)}</b>: {escape(rank_text)}</li>" for key, rank_text in _RANK_TEXTS.items()
    )
    return f"<h3>What the columns mean</h3><ul class='muted columns'>{''.join(items)}{rank_items}</ul>"


def _format_group(
    title: str, columns: Sequence[Column], comparison: ComparisonData, styles: Sequence[MethodStyle]
) -> str:
    unit = find_length_unit(comparison)
    rank_keys = [key for key, _ in _RANK_COLUMNS.get(title, ())]
    heading_cells = "".join(
        f'<th class="n" title="{escape(_RANK_TEXTS[key])}">{rank_heading}</th>'
        for key, rank_heading in _RANK_COLUMNS.get(title, ())
    )
    for column in columns:
        name, _, unit_text = format_heading(column, unit).partition(" [")
        unit_html = f"<br><small>[{escape(unit_text)}</small>" if unit_text else ""
        heading_cells += f'<th class="n" title="{escape(column.description)}">{escape(name)}{unit_html}</th>'
    lines = [f"<caption>{escape(title)}</caption><thead><tr><th>method</th>{heading_cells}</tr></thead><tbody>"]
    eligible = _select_eligible(comparison.compared)
    best = {column.key: _find_best(column, eligible) for column in columns}
    for style in styles:
        cells = "".join(f'<td class="n rank">{_format_rank(style.method, key)}</td>' for key in rank_keys)
        for column in columns:
            text = _format_cell(column, style.method)
            css_suffix = " best" if style.method in eligible and text == best[column.key] else ""
            cells += f'<td class="n{css_suffix}">{escape(text)}</td>'
        lines.append(f'<tr class="{style.css_class}"><th scope="row">{format_method(style)}</th>{cells}</tr>')
    return f'<div class="wide"><table>{"".join(lines)}</tbody></table></div>'


def _format_rank(method: MethodMetrics, key: str) -> str:
    rank = None if method.ranks is None else method.ranks._asdict()[key]
    return _MISSING_TEXT if rank is None else str(rank)


def _format_cell(column: Column, method: MethodMetrics) -> str:
    value = column.compute(method)
    return _MISSING_TEXT if math.isnan(value) else format_value(column, value)


def _select_eligible(methods: Sequence[MethodMetrics]) -> list[MethodMetrics]:
    """Select methods with half of the targets solved, or all.

    A method that never moves would otherwise have the best smoothness.
    """
    return [method for method in methods if method.compute_solved_share() >= _MIN_SOLVED_SHARE] or list(methods)


def _find_best(column: Column, eligible: Sequence[MethodMetrics]) -> str | None:
    """Find the best number of a column as shown. None where no number is better than another."""
    value_by_text = {
        _format_cell(column, method): column.compute(method)
        for method in eligible
        if math.isfinite(column.compute(method))
    }
    is_uniform = len({_format_cell(column, method) for method in eligible} - {_MISSING_TEXT}) < 2  # noqa: PLR2004
    has_no_violation = column.key == "violation" and max(value_by_text.values(), default=0.0) <= _MAX_ROUNDING_VIOLATION
    if not value_by_text or is_uniform or has_no_violation or column.key in _WITHOUT_BEST:
        return None
    choose_best = max if column.key in _MORE_IS_BETTER or column.key.startswith("solved") else min
    return choose_best(value_by_text, key=lambda text: value_by_text[text])


def format_refused(comparison: ComparisonData) -> str:
    """Format a row for each refusal, with its reason."""
    if not comparison.refused:
        return ""
    lines = [
        f"<tr><th>{format_breakable(method.name)}</th><td>{escape(method.refused or '')}</td></tr>"
        for method in comparison.refused
    ]
    return (
        "<h3>Do not take this task</h3><table><thead><tr><th>method</th><th>why</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def format_support(comparison: ComparisonData) -> str:
    """Format the capabilities of each method.

    They cover goals, joints, limits and modes; solvers of Poise declare theirs.
    """
    groups = list_ability_groups()
    ability_cells = "".join(
        f'<th class="{"edge" if i == 0 else ""}"><span>{escape(name)}</span></th>'
        for _, names in groups
        for i, name in enumerate(names)
    )
    group_cells = "".join(f'<th colspan="{len(names)}" class="edge">{title}</th>' for title, names in groups)
    lines = [f"<thead><tr><td></td>{group_cells}</tr><tr><th>method</th>{ability_cells}</tr></thead><tbody>"]
    for method in comparison.methods:
        abilities = method.does
        cells = "".join(
            _format_mark(abilities.get(name), is_first=i == 0) for _, names in groups for i, name in enumerate(names)
        )
        lines.append(f"<tr><th scope='row'>{format_breakable(method.name)}</th>{cells}</tr>")
    legend = (
        "\N{CHECK MARK} supported, \N{EN DASH} not supported: the method refuses it with a reason. Empty: "
        "unknown. The engine, levenberg_marquardt, supports what others refuse."
    )
    table = f'<table class="support">{"".join(lines)}</tbody></table>'
    return f'<div class="wide">{table}</div><p class="muted">{legend}</p>'


def _format_mark(is_supported: bool | None, *, is_first: bool) -> str:
    css_class = " ".join((["edge"] if is_first else []) + (["no"] if is_supported is False else []))
    symbol, tooltip = (
        ("", "not said")
        if is_supported is None
        else ("\N{CHECK MARK}", "yes")
        if is_supported
        else ("\N{EN DASH}", "no")
    )
    return f'<td class="{css_class}" title="{tooltip}">{symbol}</td>'
