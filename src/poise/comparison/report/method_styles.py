"""Styles of methods: colour, dash and short name.

Each method has a colour, a dash and a short name, so any two of them can be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from poise.comparison.metrics import MethodMetrics

_COLOUR_COUNT = 7  # colours of the style sheet, --c0 to --c6
_DASHES = ("none", "5 2", "1.5 2", "8 2 2 2", "3 1.5 1 1.5")
_MAX_NAME_CHARS = 20  # characters of a name next to a curve
_HEAD_CHARS, _TAIL_CHARS = 11, 8  # characters kept at the start and end of a longer name


class MethodStyle(NamedTuple):
    """Drawing style of a method: its CSS class `m3` and short name."""

    method: MethodMetrics
    style_index: int
    short_name: str

    @property
    def css_class(self) -> str:
        """CSS class of everything showing this method. A checkbox of the page hides it."""
        return f"m m{self.style_index}"

    def draw_label(self, x: float, y: float, anchor: str = "start") -> str:
        """Draw the short name. The full name is its tooltip."""
        tooltip = f"<title>{escape(self.method.name)}</title>" if self.short_name != self.method.name else ""
        label = f"{escape(self.short_name)}{tooltip}"
        return f'<text class="words" x="{x:g}" y="{y:.1f}" text-anchor="{anchor}">{label}</text>'


def format_method(style: MethodStyle) -> str:
    """Format a line sample and the full name as HTML. The name may break after underscores."""
    line_path = '<path class="line" d="M0 4.5H22"/>'
    line_sample = f'<svg class="swatch k{style.style_index}" viewBox="0 0 22 9" aria-hidden="true">{line_path}</svg>'
    return line_sample + format_breakable(style.method.name)


def format_breakable(name: str) -> str:
    """Format a name as HTML with breaks after underscores."""
    return escape(name).replace("_", "_<wbr>")


def build_styles(methods: Sequence[MethodMetrics]) -> tuple[MethodStyle, ...]:
    """Build a style for each method, in their order."""
    names = shorten_names([method.name for method in methods])
    return tuple(MethodStyle(method, i, name) for i, (method, name) in enumerate(zip(methods, names, strict=True)))


def format_css(count: int) -> str:
    """Format the CSS of `count` methods. It sets colours, dashes, and the checkboxes that hide methods."""
    lines: list[str] = []
    for i in range(count):
        dash = _DASHES[i % len(_DASHES)]
        lines.append(f".m{i}, .k{i} {{ --c: var(--c{i % _COLOUR_COUNT}); --d: {dash} }}")
        lines.append(f"body:has(#on{i}:not(:checked)) .m{i} {{ display: none }}")
    return "\n".join(lines)


def shorten_names(names: Sequence[str]) -> list[str]:
    """Shorten names to 20 characters, all different. Long names lose their middle, duplicates get a number."""
    names_so_far: list[str] = []
    for name in names:
        short_name = (
            name
            if len(name) <= _MAX_NAME_CHARS
            else f"{name[:_HEAD_CHARS]}\N{HORIZONTAL ELLIPSIS}{name[-_TAIL_CHARS:]}"
        )
        duplicate_number = 2
        while short_name in names_so_far:
            number_suffix = f" {duplicate_number}"
            short_name, duplicate_number = (
                f"{name[: _MAX_NAME_CHARS - len(number_suffix) - 1]}\N{HORIZONTAL ELLIPSIS}{number_suffix}",
                duplicate_number + 1,
            )
        names_so_far.append(short_name)
    return names_so_far
