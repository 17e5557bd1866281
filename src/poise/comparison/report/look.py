"""What a method looks like wherever it is drawn: a colour, a dash and a short name, none of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from poise.comparison.findings.measured import Measured

_COLOURS = 7  # of the style, --c0 to --c6
_DASHES = ("none", "5 2", "1.5 2", "8 2 2 2", "3 1.5 1 1.5")
_LETTERS = 20  # of a name that stands beside a curve
_HEAD, _TAIL = 11, 8  # what is kept of longer ones


class Look(NamedTuple):
    """A method that was compared, and how it is drawn: class `m3` of the page's style, and the name beside a curve."""

    method: Measured
    row: int
    name: str

    @property
    def style(self) -> str:
        """The class of everything that shows this method: hidden where the reader takes it out."""
        return f"m m{self.row}"

    def label(self, x: float, y: float, anchor: str = "start") -> str:
        """Its short name in a drawing; the full one where a mouse rests on it."""
        full = f"<title>{escape(self.method.name)}</title>" if self.name != self.method.name else ""
        return f'<text class="words" x="{x:g}" y="{y:.1f}" text-anchor="{anchor}">{escape(self.name)}{full}</text>'


def named(look: Look) -> str:
    """A piece of the method's line and its full name, as HTML that breaks after underscores."""
    line = '<path class="line" d="M0 4.5H22"/>'
    piece = f'<svg class="swatch k{look.row}" viewBox="0 0 22 9" aria-hidden="true">{line}</svg>'
    return piece + breaking(look.method.name)


def breaking(name: str) -> str:
    """A name as HTML that breaks after underscores."""
    return escape(name).replace("_", "_<wbr>")


def looks(methods: Sequence[Measured]) -> tuple[Look, ...]:
    """One for each method, in their order."""
    names = short_names([method.name for method in methods])
    return tuple(Look(method, i, name) for i, (method, name) in enumerate(zip(methods, names, strict=True)))


def rules(count: int) -> str:
    """CSS of so many methods: colour, dash, and that each can be taken out."""
    lines: list[str] = []
    for i in range(count):
        dash = _DASHES[i % len(_DASHES)]
        lines.append(f".m{i}, .k{i} {{ --c: var(--c{i % _COLOURS}); --d: {dash} }}")
        lines.append(f"body:has(#on{i}:not(:checked)) .m{i} {{ display: none }}")
    return "\n".join(lines)


def short_names(names: Sequence[str]) -> list[str]:
    """Names of at most 20 letters, no two alike: long ones lose their middle, twins get a number."""
    found: list[str] = []
    for name in names:
        short = name if len(name) <= _LETTERS else f"{name[:_HEAD]}\N{HORIZONTAL ELLIPSIS}{name[-_TAIL:]}"
        twin = 2
        while short in found:
            number = f" {twin}"
            short, twin = f"{name[: _LETTERS - len(number) - 1]}\N{HORIZONTAL ELLIPSIS}{number}", twin + 1
        found.append(short)
    return found
