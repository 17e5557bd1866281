"""The style of the page: page.css, and what it needs for so many methods."""

from __future__ import annotations

from importlib import resources

from poise.comparison.report.look import rules

_BAND = 0.14  # how strong a band is; weaker where many lie on each other


def style(count: int) -> str:
    """CSS of a page about so many methods."""
    sheet = resources.files("poise.comparison.report").joinpath("page.css").read_text(encoding="utf-8")
    return f"{sheet}:root {{ --band: {min(_BAND, 1 / max(count, 1)):.2f} }}\n{rules(count)}\n"
