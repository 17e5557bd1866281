"""The page of a comparison: HTML that needs nothing beside itself, for any screen, dark or light, and paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from poise.comparison.comparison import Comparison
from poise.comparison.report import curves, figures, notes, places, spreads, tables, words
from poise.comparison.report.look import Look, looks
from poise.comparison.report.style import style

Part = Callable[[Comparison, Sequence[Look]], str]


def page_of(comparison: Comparison) -> str:
    """The whole page.

    A method can be taken out of all tables and drawings by the boxes at the top, which are style alone: there is no
    script in the page, and it asks for nothing from anywhere.
    """
    shown = looks(comparison.compared)
    name = escape(comparison.task.name or comparison.task.goal.joint)
    sections = [(key, title, part(comparison, shown)) for key, title, part in _PARTS]
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title, _ in sections)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Which method for {name}</title><style>{style(len(shown))}</style></head><body>",
        f"<header><h1>Which method for {name}?</h1>",
        f'<p class="muted">{escape(comparison.task.title)}</p>',
        _answer(comparison),
        _asked(comparison),
        f"<nav>{links}</nav></header>",
        _key(shown),
        *(_section(key, title, body) for key, title, body in sections),
        "</body></html>",
    ]
    return "\n".join(parts)


def _answer(comparison: Comparison) -> str:
    facts = "".join(f"<li>{escape(sentence)}</li>" for sentence in words.more(comparison))
    more = f"<ul>{facts}</ul>" if facts else ""
    ranks = f'<p class="muted">{escape(words.RANKS)}</p>' if comparison.compared else ""
    return f'<div class="answer"><p>{escape(comparison.verdict)}</p></div>{more}{ranks}'


def _asked(comparison: Comparison) -> str:
    pairs = "".join(f"<dt>{escape(what)}</dt><dd>{escape(text)}</dd>" for what, text in words.asked(comparison))
    return f'<dl class="asked">{pairs}</dl>'


def _key(shown: Sequence[Look]) -> str:
    """The line of each method, with a box that takes it out."""
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


def _figures(comparison: Comparison, shown: Sequence[Look]) -> str:
    key = (
        '<p class="muted">\N{BLACK RIGHT-POINTING SMALL TRIANGLE} and bold: the best figure of a column, where they '
        "differ. \N{EN DASH}: the method does not say, or it was not measured. "
        f"Targets: {escape(comparison.task.main.text)}.</p>"
    )
    table = tables.figures(comparison, shown)
    return f"{key if shown else ''}{table}{tables.refused(comparison)}{tables.meanings(comparison) if shown else ''}"


def _spreads(shown: Sequence[Look]) -> str:
    found = spreads.errors(shown) + spreads.times(shown)
    return f'<div class="pair">{found}</div>' if found else "<p>Nothing was measured.</p>"


def _paths(comparison: Comparison, shown: Sequence[Look]) -> str:
    found = spreads.steps(comparison, shown, "path", "Along the path")
    found += spreads.steps(comparison, shown, "leaving", "Out of reach and back")
    said = "<p>How far the joint that turns most turns from frame to frame: a peak is a jump that people see.</p>"
    return f'{said}<div class="pair">{found}</div>' if found else "<p>No path was followed.</p>"


_NEW_PAGES = {"convergence", "reach", "cost", "poses", "methods"}  # on paper
_PARTS: tuple[tuple[str, str, Part], ...] = (
    ("figures", "Figures", _figures),
    ("support", "What each supports", lambda comparison, _: tables.supported(comparison)),
    ("convergence", "Convergence", lambda _, shown: curves.converging(shown)),
    ("spread", "Errors and times", lambda _, shown: _spreads(shown)),
    ("reach", "Success against reach", places.reaching),
    ("workspace", "Where targets are missed", places.mapped),
    ("cost", "What more joints and targets cost", lambda _, shown: curves.costing(shown)),
    ("path", "Smoothness", _paths),
    ("poses", "Poses", figures.pictures),
    ("methods", "The methods", lambda comparison, _: notes.methods(comparison)),
    ("measured", "How it was measured", lambda comparison, _: notes.measured(comparison)),
    ("again", "Do it again", lambda comparison, _: notes.again(comparison)),
)
