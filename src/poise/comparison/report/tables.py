"""Tables of all columns, refusals and capabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from poise.comparison.findings.columns import Column
from poise.comparison.findings.findings import Findings
from poise.comparison.findings.measured import Measured
from poise.comparison.findings.table import heading, length_unit, number
from poise.comparison.report.look import Look, breaking, named
from poise.comparison.trials.abilities import ability_groups

GROUPS: dict[str, tuple[str, ...]] = {
    "Solved": ("targets", "solved_100", "solved_10", "solved_1"),
    "Time": ("call", "call_p99", "batch", "growth"),
    "Answers": (
        "iterations", "left", "left_p99", "turn", "turn_p99", "violation", "violated", "travel", "wrong_claims",
    ),
    "Path": ("path", "step", "acceleration", "jerk"),
    "Hard cases": ("singular", "stretched", "stretched_iterations", "leaving_step"),
}  # fmt: skip
_MORE = {"path", "singular", "stretched"}  # larger is better, as in columns that begin with "solved"
# columns without a best value: their costs are not comparable
_EITHER = {"targets", "iterations", "stretched_iterations"}
_ABLE = 0.5  # share of solved targets
_ROUNDING = 1e-9  # [rad, file units] violations below it count as none
_DASH = "\N{EN DASH}"
_RANKS: dict[str, tuple[tuple[str, str], ...]] = {
    "Solved": (("overall", "rank"), ("solved", "rank, solved")),
    "Time": (("call", "rank, call"), ("batch", "rank, batch")),
}
_RANK_WORDS = {
    "overall": "by the share solved, then by the time of a call; shared where 95 % intervals overlap",
    "solved": "of the share solved",
    "call": "of the time of a call",
    "batch": "of the time in the largest batch",
}


def figures(findings: Findings, shown: Sequence[Look]) -> str:
    """Format a table for each group of columns."""
    known = {key for keys in GROUPS.values() for key in keys}
    left_over = tuple(column.key for column in findings.columns if column.key not in known)
    groups = GROUPS | ({"More": left_over} if left_over else {})
    parts: list[str] = []
    for title, keys in groups.items():
        columns = [column for column in findings.columns if column.key in keys]
        if columns and shown:
            parts.append(_group(title, columns, findings, shown))
    return f'<div class="tables">{"".join(parts)}</div>'


def meanings(findings: Findings) -> str:
    """Format the meaning of each column, for print."""
    unit = length_unit(findings)
    items = [f"<li><b>{escape(heading(c, unit))}</b>: {escape(c.text)}</li>" for c in findings.columns]
    ranks = "".join(f"<li><b>rank, {escape(key)}</b>: {escape(words)}</li>" for key, words in _RANK_WORDS.items())
    return f"<h3>What the columns mean</h3><ul class='muted columns'>{''.join(items)}{ranks}</ul>"


def _group(title: str, columns: Sequence[Column], findings: Findings, shown: Sequence[Look]) -> str:
    unit = length_unit(findings)
    ranks = [key for key, _ in _RANKS.get(title, ())]
    head = "".join(
        f'<th class="n" title="{escape(_RANK_WORDS[key])}">{words}</th>' for key, words in _RANKS.get(title, ())
    )
    for column in columns:
        name, _, rest = heading(column, unit).partition(" [")
        small = f"<br><small>[{escape(rest)}</small>" if rest else ""
        head += f'<th class="n" title="{escape(column.text)}">{escape(name)}{small}</th>'
    lines = [f"<caption>{escape(title)}</caption><thead><tr><th>method</th>{head}</tr></thead><tbody>"]
    able = _able(findings.compared)
    best = {column.key: _best(column, able) for column in columns}
    for look in shown:
        cells = "".join(f'<td class="n rank">{_rank(look.method, key)}</td>' for key in ranks)
        for column in columns:
            text = _text(column, look.method)
            mark = " best" if look.method in able and text == best[column.key] else ""
            cells += f'<td class="n{mark}">{escape(text)}</td>'
        lines.append(f'<tr class="{look.style}"><th scope="row">{named(look)}</th>{cells}</tr>')
    return f'<div class="wide"><table>{"".join(lines)}</tbody></table></div>'


def _rank(method: Measured, key: str) -> str:
    place = None if method.ranks is None else method.ranks._asdict()[key]
    return _DASH if place is None else str(place)


def _text(column: Column, method: Measured) -> str:
    value = column.of(method)
    return _DASH if math.isnan(value) else number(column, value)


def _able(methods: Sequence[Measured]) -> list[Measured]:
    """Select methods with half of the targets solved, or all.

    A method that never moves would otherwise have the best smoothness.
    """
    return [method for method in methods if method.solved() >= _ABLE] or list(methods)


def _best(column: Column, able: Sequence[Measured]) -> str | None:
    """Find the best number of a column as shown. None where no number is better than another."""
    values = {_text(column, m): column.of(m) for m in able if math.isfinite(column.of(m))}
    equal = len({_text(column, m) for m in able} - {_DASH}) < 2  # noqa: PLR2004
    kept = column.key == "violation" and max(values.values(), default=0.0) <= _ROUNDING
    if not values or equal or kept or column.key in _EITHER:
        return None
    best = max if column.key in _MORE or column.key.startswith("solved") else min
    return best(values, key=lambda text: values[text])


def refused(findings: Findings) -> str:
    """Format a row for each refusal, with its reason."""
    if not findings.refused:
        return ""
    lines = [f"<tr><th>{breaking(m.name)}</th><td>{escape(m.refused or '')}</td></tr>" for m in findings.refused]
    return (
        "<h3>Do not take this task</h3><table><thead><tr><th>method</th><th>why</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def supported(findings: Findings) -> str:
    """Format the capabilities of each method.

    They cover goals, joints, limits and modes; solvers of Poise declare theirs.
    """
    groups = ability_groups()
    head = "".join(
        f'<th class="{"edge" if i == 0 else ""}"><span>{escape(name)}</span></th>'
        for _, names in groups
        for i, name in enumerate(names)
    )
    over = "".join(f'<th colspan="{len(names)}" class="edge">{title}</th>' for title, names in groups)
    lines = [f"<thead><tr><td></td>{over}</tr><tr><th>method</th>{head}</tr></thead><tbody>"]
    for method in findings.methods:
        does = method.does
        cells = "".join(_mark(does.get(name), edge=i == 0) for _, names in groups for i, name in enumerate(names))
        lines.append(f"<tr><th scope='row'>{breaking(method.name)}</th>{cells}</tr>")
    words = (
        "\N{CHECK MARK} supported, \N{EN DASH} not supported: the method refuses it with a reason. Empty: "
        "unknown. The engine, levenberg_marquardt, supports what others refuse."
    )
    table = f'<table class="support">{"".join(lines)}</tbody></table>'
    return f'<div class="wide">{table}</div><p class="muted">{words}</p>'


def _mark(does: bool | None, *, edge: bool) -> str:
    style = " ".join((["edge"] if edge else []) + (["no"] if does is False else []))
    sign, words = ("", "not said") if does is None else ("\N{CHECK MARK}", "yes") if does else ("\N{EN DASH}", "no")
    return f'<td class="{style}" title="{words}">{sign}</td>'
