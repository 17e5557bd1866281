"""The HTML page of a comparison and its style sheet. page.css is completed with rules for each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from importlib import resources

from poise.comparison.report import diagrams, page_text, stick_figures
from poise.comparison.report.method_styles import MethodStyle, build_styles, format_css
from poise.comparison.results import ComparisonData, format_verdict

_BAND_OPACITY = 0.14  # opacity of a band; lower for many overlapping bands


def format_style(count: int) -> str:
    """Format the CSS of a page with `count` methods."""
    sheet = resources.files("poise.comparison.report").joinpath("page.css").read_text(encoding="utf-8")
    return f"{sheet}:root {{ --band: {min(_BAND_OPACITY, 1 / max(count, 1)):.2f} }}\n{format_css(count)}\n"


# --- The HTML page of a comparison -----------------------------------------------------------------------------------
#
# It is one file without further resources, for any screen, dark or light, and for print.


PagePart = Callable[[ComparisonData, Sequence[MethodStyle]], str]


def format_page(comparison: ComparisonData) -> str:
    """Format the whole page.

    Checkboxes at the top hide a method in all tables and drawings, by CSS alone: the page has no script and loads no
    resources.
    """
    styles = build_styles(comparison.compared)
    name = escape(comparison.task.name or comparison.task.goal.joint)
    sections = [(section_id, title, format_part(comparison, styles)) for section_id, title, format_part in _PAGE_PARTS]
    links = "".join(f'<a href="#{section_id}">{title}</a>' for section_id, title, _ in sections)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Which method for {name}</title><style>{format_style(len(styles))}</style></head><body>",
        f"<header><h1>Which method for {name}?</h1>",
        f'<p class="muted">{escape(comparison.task.title)}</p>',
        _format_answer(comparison),
        diagrams.draw_overview(styles),
        _format_more(comparison),
        _format_task(comparison),
        f"<nav>{links}</nav></header>",
        _format_key(styles),
        *(_format_section(section_id, title, body) for section_id, title, body in sections),
        "</body></html>",
    ]
    return "\n".join(parts)


def _format_answer(comparison: ComparisonData) -> str:
    return f'<div class="answer"><p>{escape(format_verdict(comparison))}</p></div>'


def _format_more(comparison: ComparisonData) -> str:
    """Format further findings and the meaning of ranks."""
    list_items = "".join(f"<li>{escape(sentence)}</li>" for sentence in page_text.list_more_findings(comparison))
    findings_list = f"<ul>{list_items}</ul>" if list_items else ""
    ranks_note = f'<p class="muted">{escape(page_text.RANKS_TEXT)}</p>' if comparison.compared else ""
    return f"{findings_list}{ranks_note}"


def _format_task(comparison: ComparisonData) -> str:
    term_items = "".join(
        f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in page_text.describe_task(comparison)
    )
    return f'<dl class="asked">{term_items}</dl>'


def _format_key(styles: Sequence[MethodStyle]) -> str:
    """Format the legend with a checkbox for each method."""
    if not styles:
        return ""
    line_sample = '<svg viewBox="0 0 26 10" aria-hidden="true"><path class="line" d="M0 5H26"/></svg>'
    items = "".join(
        f'<label class="k{style.style_index}"><input type="checkbox" id="on{style.style_index}" checked>{line_sample}'
        f"<span>{escape(style.short_name)}</span></label>"
        for style in styles
    )
    return f'<div class="key" role="group" aria-label="methods that are shown">{items}</div>'


def _format_section(section_id: str, title: str, body: str) -> str:
    class_text = " class=new" if section_id in _PAGE_BREAKS else ""
    return f'<section id="{section_id}"{class_text}><h2>{title}</h2>{body}</section>'


def _format_figures(comparison: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    key_text = (
        '<p class="muted">\N{BLACK RIGHT-POINTING SMALL TRIANGLE} and bold: the best figure of a column, where they '
        "differ. \N{EN DASH}: the method does not say, or it was not measured. "
        f"Targets: {escape(comparison.task.main.text)}.</p>"
    )
    table = page_text.format_tables(comparison, styles)
    legend = page_text.format_legend(comparison) if styles else ""
    return f"{key_text if styles else ''}{table}{page_text.format_refused(comparison)}{legend}"


def _format_distributions(styles: Sequence[MethodStyle]) -> str:
    charts = diagrams.draw_errors(styles) + diagrams.draw_times(styles)
    return f'<div class="pair">{charts}</div>' if charts else "<p>Nothing was measured.</p>"


def _format_paths(comparison: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    charts = diagrams.draw_steps(comparison, styles, "path", "Along the path")
    charts += diagrams.draw_steps(comparison, styles, "leaving", "Out of reach and back")
    text = "<p>Largest joint rotation from frame to frame; a peak is a visible jump.</p>"
    return f'{text}<div class="pair">{charts}</div>' if charts else "<p>No path was followed.</p>"


_PAGE_BREAKS = {"convergence", "reach", "cost", "poses", "methods"}  # sections that start a new printed page
_PAGE_PARTS: tuple[tuple[str, str, PagePart], ...] = (
    ("figures", "Figures", _format_figures),
    ("support", "What each supports", lambda data, _: page_text.format_support(data)),
    ("convergence", "Convergence", lambda _, styles: diagrams.draw_convergence(styles)),
    ("spread", "Errors and times", lambda _, styles: _format_distributions(styles)),
    ("reach", "Success against reach", diagrams.draw_reach_charts),
    ("workspace", "Where targets are missed", diagrams.draw_miss_maps),
    ("cost", "What more joints and targets cost", lambda _, styles: diagrams.draw_costs(styles)),
    ("path", "Smoothness", _format_paths),
    ("poses", "Poses", stick_figures.draw_stick_figures),
    ("methods", "The methods", lambda data, _: page_text.format_method_list(data)),
    ("measured", "How it was measured", lambda data, _: page_text.format_methodology(data)),
    ("again", "Do it again", lambda data, _: page_text.format_repeat_code(data)),
)
