"""Cards of comparisons and of reports of planting."""

from __future__ import annotations

from poise.comparison.report.diagrams import draw_overview
from poise.comparison.report.method_styles import build_styles
from poise.comparison.results import (
    TABLE_COLUMNS,
    ComparisonData,
    find_length_unit,
    format_heading,
    format_value,
    format_verdict,
)
from poise.formatting import format_count
from poise.ground.report.page import draw_heights, format_key, number
from poise.ground.report.report import Report
from poise.notebook.cards import MAX_ROWS, METHOD_COLOURS, Table, format_card, format_figure
from poise.svg.charts import WIDTH

_MAX_LEGS = 4  # legs whose heights are drawn
_SHOWN_COLUMNS = frozenset({"solved_1", "call", "batch", "iterations", "left", "violated"})


def format_comparison(comparison: ComparisonData) -> str:
    """Format a comparison: picture and table of the best methods.

    The picture has the shares solved and the times of a call.
    """
    methods = comparison.compared
    columns = [column for column in comparison.columns if column.key in TABLE_COLUMNS and column.key in _SHOWN_COLUMNS]
    unit = find_length_unit(comparison)
    headings = ("rank", "method", *(format_heading(column, unit) for column in columns))
    rows = [
        (
            "" if method.ranks is None else str(method.ranks.overall),
            method.name,
            *(format_value(column, column.compute(method)) for column in columns),
        )
        for method in methods[:MAX_ROWS]
    ]
    numeric = frozenset({0, *range(2, len(headings))})
    picture = draw_overview(build_styles(methods[:MAX_ROWS]))
    refusals = [f"{method.name}: {method.refused}" for method in comparison.refused]
    return format_card(
        comparison.task.title,
        format_verdict(comparison),
        pictures=[picture] if picture else [],
        tables=[Table(headings, rows, numeric, len(methods), "method")],
        notes=refusals,
        style=_format_method_colours(len(methods[:MAX_ROWS])),
    )


def format_report(report: Report) -> str:
    """Format a report of planting: heights of feet, table of measures."""
    legs = len(report.contacts.legs)
    pictures = [
        format_figure(draw_heights(report.contacts, report.paths, leg), WIDTH, f"{report.contacts.legs[leg]} foot")
        for leg in range(min(legs, _MAX_LEGS))
    ]
    if legs > _MAX_LEGS:
        pictures.append(f"<p>and {format_count(legs - _MAX_LEGS, 'more leg')}</p>")
    rows = [(row.name, number(row.before), number(row.after), row.unit, row.remark) for row in report.rows]
    verdict = "Nothing is worse than its bound." if report.ok else " ".join(map(str, report.worse))
    return format_card(
        f"Feet of {report.name or 'clip'}",
        f"{report.title}. {verdict}",
        pictures=[*pictures, f"<div>{format_key()}</div>"],
        tables=[Table(("", "before", "after", "unit", ""), rows, frozenset({1, 2}))],
        notes=report.notes,
    )


def _format_method_colours(count: int) -> str:
    colours = [METHOD_COLOURS[i % len(METHOD_COLOURS)] for i in range(count)]
    return "".join(f".poise-card .m{i} {{ --method: {colour} }}\n" for i, colour in enumerate(colours))
