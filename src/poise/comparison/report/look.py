"""Method styles and shared drawing functions of the page.

Each method has a colour, a dash and a short name, so that none of them is needed alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from poise.comparison.findings.measured import Measured

_COLOURS = 7  # colours of the style sheet, --c0 to --c6
_DASHES = ("none", "5 2", "1.5 2", "8 2 2 2", "3 1.5 1 1.5")
_LETTERS = 20  # characters of a name next to a curve
_HEAD, _TAIL = 11, 8  # characters kept at the start and end of a longer name


class Look(NamedTuple):
    """Drawing style of a method: its CSS class `m3` and short name."""

    method: Measured
    row: int
    name: str

    @property
    def style(self) -> str:
        """CSS class of everything showing this method. A checkbox of the page hides it."""
        return f"m m{self.row}"

    def label(self, x: float, y: float, anchor: str = "start") -> str:
        """Draw the short name. The full name is its tooltip."""
        full = f"<title>{escape(self.method.name)}</title>" if self.name != self.method.name else ""
        return f'<text class="words" x="{x:g}" y="{y:.1f}" text-anchor="{anchor}">{escape(self.name)}{full}</text>'


def named(look: Look) -> str:
    """Format a line sample and the full name as HTML. The name may break after underscores."""
    line = '<path class="line" d="M0 4.5H22"/>'
    piece = f'<svg class="swatch k{look.row}" viewBox="0 0 22 9" aria-hidden="true">{line}</svg>'
    return piece + breaking(look.method.name)


def breaking(name: str) -> str:
    """Format a name as HTML with breaks after underscores."""
    return escape(name).replace("_", "_<wbr>")


def looks(methods: Sequence[Measured]) -> tuple[Look, ...]:
    """Build a style for each method, in their order."""
    names = short_names([method.name for method in methods])
    return tuple(Look(method, i, name) for i, (method, name) in enumerate(zip(methods, names, strict=True)))


def rules(count: int) -> str:
    """Format the CSS of `count` methods. It sets colours, dashes, and the checkboxes that hide methods."""
    lines: list[str] = []
    for i in range(count):
        dash = _DASHES[i % len(_DASHES)]
        lines.append(f".m{i}, .k{i} {{ --c: var(--c{i % _COLOURS}); --d: {dash} }}")
        lines.append(f"body:has(#on{i}:not(:checked)) .m{i} {{ display: none }}")
    return "\n".join(lines)


def short_names(names: Sequence[str]) -> list[str]:
    """Shorten names to 20 characters, all different. Long names lose their middle, duplicates get a number."""
    found: list[str] = []
    for name in names:
        short = name if len(name) <= _LETTERS else f"{name[:_HEAD]}\N{HORIZONTAL ELLIPSIS}{name[-_TAIL:]}"
        twin = 2
        while short in found:
            number = f" {twin}"
            short, twin = f"{name[: _LETTERS - len(number) - 1]}\N{HORIZONTAL ELLIPSIS}{number}", twin + 1
        found.append(short)
    return found
