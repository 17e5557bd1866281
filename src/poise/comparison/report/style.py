"""The HTML page of a comparison and its style sheet. page.css is completed with rules for each method."""

from __future__ import annotations

from importlib import resources

from poise.comparison.report.look import rules

_BAND = 0.14  # opacity of a band; lower for many overlapping bands


def style(count: int) -> str:
    """Format the CSS of a page with `count` methods."""
    sheet = resources.files("poise.comparison.report").joinpath("page.css").read_text(encoding="utf-8")
    return f"{sheet}:root {{ --band: {min(_BAND, 1 / max(count, 1)):.2f} }}\n{rules(count)}\n"
