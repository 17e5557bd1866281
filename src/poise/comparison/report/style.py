"""The style of the page: page.css, and what it needs for so many methods."""

from __future__ import annotations

from importlib import resources

from poise.comparison.report.look import rules


def style(count: int) -> str:
    """CSS of a page about so many methods."""
    sheet = resources.files("poise.comparison.report").joinpath("page.css").read_text(encoding="utf-8")
    return f"{sheet}{rules(count)}\n"
