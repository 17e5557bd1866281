"""Short clips as SVG, animated by a style sheet inside the file.

On paper, for readers who asked for no motion, and in programs that know no animation, the still is shown instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def clip(
    path: Path, frames: Sequence[tuple[str, float]], still: str, *, ground: str, width: int, height: int, about: str
) -> None:
    """Write frames, each SVG and its seconds, as a loop over a ground; `about` says what is seen."""
    total = sum(seconds for _, seconds in frames)
    rules, groups, at = [], [], 0.0
    for i, (drawn, seconds) in enumerate(frames):
        begin, end = 100 * at / total, 100 * (at + seconds) / total
        rules.append(_shown(f"k{i}", begin, end) + f".k{i}{{animation:k{i} {total:g}s linear infinite}}")
        groups.append(f'<g class="f k{i}">{drawn}</g>')
        at += seconds
    style = (
        "text{font-family:'DejaVu Sans',sans-serif;font-size:12px;fill:#222}"
        "polyline{fill:none;stroke-linejoin:round;stroke-linecap:round}"
        ".f{visibility:hidden}"
        "@media screen and (prefers-reduced-motion:no-preference){.still{visibility:hidden}" + "".join(rules) + "}"
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>{about}</title><style>{style}</style>"
        f'<rect width="{width}" height="{height}" fill="#fff"/>{ground}<g class="still">{still}</g>'
        f"{''.join(groups)}</svg>\n",
        encoding="utf-8",
    )


def _shown(name: str, begin: float, end: float) -> str:
    """Visible from one share [%] of the loop to another: the steps between keys are sudden, for it is visibility."""
    keys = [(0.0, "hidden"), (begin, "visible"), (end, "hidden"), (100.0, "hidden")]
    kept = {f"{share:.3f}": what for share, what in keys}  # a later key at the same share wins
    if end >= 100 - 1e-9:
        kept["100.000"] = "visible"
    steps = (f"{share}%{{visibility:{what};animation-timing-function:step-end}}" for share, what in kept.items())
    return f"@keyframes {name}{{{''.join(steps)}}}"


class Board:
    """A drawing board: where points of the plane stand in the picture."""

    def __init__(self, left: float, base: float, scale: float) -> None:
        """Where the origin is [pixels], and the pixels of a unit."""
        self.left, self.base, self.scale = left, base, scale

    def at(self, points: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Points (..., 2) in pixels."""
        return np.asarray(points) * [self.scale, -self.scale] + [self.left, self.base]

    def line(self, points: Any, colour: str, width: float = 1.0, *, dash: str = "", opacity: float = 1.0) -> str:
        """A line through points (n, 2)."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in self.at(points))
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        faint = f' opacity="{opacity:g}"' if opacity < 1 else ""
        return f'<polyline points="{places}" stroke="{colour}" stroke-width="{width:g}"{dashes}{faint}/>'

    def chain(self, points: Any, colour: str, *, opacity: float = 1.0) -> str:
        """Bones through points (n, 2), with a dot at every joint."""
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in self.at(points))
        faint = f' opacity="{opacity:g}"' if opacity < 1 else ""
        joints = f'<path d="{dots}" stroke="{colour}" stroke-width="7" stroke-linecap="round"{faint}/>'
        return self.line(points, colour, 3, opacity=opacity) + joints

    def cross(self, point: Any) -> str:
        """A target."""
        x, y = self.at(point)
        return f'<path d="M{x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12" stroke="#000" stroke-width="2.5"/>'


def words(x: float, y: float, text: str, *, anchor: str = "start", bold: bool = False) -> str:
    """A line of text at a place [pixels]."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{weight}>{text}</text>'
