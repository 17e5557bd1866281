"""The HTML page of a comparison.

It is one file without further resources, for any screen, dark or light, and for print.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from poise.comparison.findings.findings import Findings
from poise.comparison.findings.verdict import verdict
from poise.comparison.report import answer, curves, figures, notes, places, spreads, tables, words
from poise.comparison.report.look import Look, looks
from poise.comparison.report.style import style

Part = Callable[[Findings, Sequence[Look]], str]


def page_of(findings: Findings) -> str:
    """Format the whole page.

    Checkboxes at the top hide a method in all tables and drawings, by CSS alone: the page has no script and loads no
    resources.
    """
    shown = looks(findings.compared)
    name = escape(findings.task.name or findings.task.goal.joint)
    sections = [(key, title, part(findings, shown)) for key, title, part in _PARTS]
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title, _ in sections)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Which method for {name}</title><style>{style(len(shown))}</style></head><body>",
        f"<header><h1>Which method for {name}?</h1>",
        f'<p class="muted">{escape(findings.task.title)}</p>',
        _answer(findings),
        answer.picture(shown),
        _more(findings),
        _asked(findings),
        f"<nav>{links}</nav></header>",
        _key(shown),
        *(_section(key, title, body) for key, title, body in sections),
        "</body></html>",
    ]
    return "\n".join(parts)


def _answer(findings: Findings) -> str:
    return f'<div class="answer"><p>{escape(verdict(findings))}</p></div>'


def _more(findings: Findings) -> str:
    """Format further findings and the meaning of ranks."""
    facts = "".join(f"<li>{escape(sentence)}</li>" for sentence in words.more(findings))
    more = f"<ul>{facts}</ul>" if facts else ""
    ranks = f'<p class="muted">{escape(words.RANKS)}</p>' if findings.compared else ""
    return f"{more}{ranks}"


def _asked(findings: Findings) -> str:
    pairs = "".join(f"<dt>{escape(what)}</dt><dd>{escape(text)}</dd>" for what, text in words.asked(findings))
    return f'<dl class="asked">{pairs}</dl>'


def _key(shown: Sequence[Look]) -> str:
    """Format the legend with a checkbox for each method."""
    if not shown:
        return ""
    line = '<svg viewBox="0 0 26 10" aria-hidden="true"><path class="line" d="M0 5H26"/></svg>'
    items = "".join(
        f'<label class="k{look.row}"><input type="checkbox" id="on{look.row}" checked>{line}'
        f"<span>{escape(look.name)}</span></label>"
        for look in shown
    )
    return f'<div class="key" role="group" aria-label="methods that are shown">{items}</div>'


def _section(key: str, title: str, body: str) -> str:
    return f'<section id="{key}"{" class=new" if key in _NEW_PAGES else ""}><h2>{title}</h2>{body}</section>'


def _figures(findings: Findings, shown: Sequence[Look]) -> str:
    key = (
        '<p class="muted">\N{BLACK RIGHT-POINTING SMALL TRIANGLE} and bold: the best figure of a column, where they '
        "differ. \N{EN DASH}: the method does not say, or it was not measured. "
        f"Targets: {escape(findings.task.main.text)}.</p>"
    )
    table = tables.figures(findings, shown)
    return f"{key if shown else ''}{table}{tables.refused(findings)}{tables.meanings(findings) if shown else ''}"


def _spreads(shown: Sequence[Look]) -> str:
    found = spreads.errors(shown) + spreads.times(shown)
    return f'<div class="pair">{found}</div>' if found else "<p>Nothing was measured.</p>"


def _paths(findings: Findings, shown: Sequence[Look]) -> str:
    found = spreads.steps(findings, shown, "path", "Along the path")
    found += spreads.steps(findings, shown, "leaving", "Out of reach and back")
    said = "<p>Largest joint rotation from frame to frame; a peak is a visible jump.</p>"
    return f'{said}<div class="pair">{found}</div>' if found else "<p>No path was followed.</p>"


_NEW_PAGES = {"convergence", "reach", "cost", "poses", "methods"}  # sections that start a new printed page
_PARTS: tuple[tuple[str, str, Part], ...] = (
    ("figures", "Figures", _figures),
    ("support", "What each supports", lambda findings, _: tables.supported(findings)),
    ("convergence", "Convergence", lambda _, shown: curves.converging(shown)),
    ("spread", "Errors and times", lambda _, shown: _spreads(shown)),
    ("reach", "Success against reach", places.reaching),
    ("workspace", "Where targets are missed", places.mapped),
    ("cost", "What more joints and targets cost", lambda _, shown: curves.costing(shown)),
    ("path", "Smoothness", _paths),
    ("poses", "Poses", figures.pictures),
    ("methods", "The methods", lambda findings, _: notes.methods(findings)),
    ("measured", "How it was measured", lambda findings, _: notes.measured(findings)),
    ("again", "Do it again", lambda findings, _: notes.again(findings)),
)
