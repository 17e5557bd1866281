"""Stick figures as SVG: crop, lines, bones, joints and targets.

All points are those of a projection: right and up, in any unit. Colours come from the style of the surrounding page.
"""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats, Ints


class Crop(NamedTuple):
    """Visible part of the projection. Holds its centre (2,), the sides of the drawing (2,) and the scale."""

    centre: Floats
    sides: Floats
    scale: float

    def to_drawing(self, points: Floats) -> Floats:
        """Convert points (..., 2) to the drawing."""
        return 0.5 * self.sides + self.scale * (points - self.centre) * [1.0, -1.0]

    def find_visible(self, points: Floats, bones: Ints) -> Bools:
        """Find bones (k, 2) with an end inside the picture. `points` (n, 2) are those of the drawing."""
        is_inside: Bools = np.asarray(((points >= 0) & (points <= self.sides)).all(axis=1))
        return np.asarray(is_inside[bones.reshape(-1, 2)].any(axis=1))


def compute_crop(points: Floats, long_side: float, min_side: float, margin_share: float) -> Crop:
    """Compute the crop around points (k, 2).

    Parameters
    ----------
    points
        The points that are shown, at least one.
    long_side, min_side
        Longer side of the drawing, and lower bound of the shorter one [px].
    margin_share
        Margin on each side as a share of the longer extent.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    extent = high - low + 2 * margin_share * max(float((high - low).max()), 1e-9)
    scale = long_side / float(extent.max())
    return Crop(0.5 * (low + high), np.maximum(scale * extent, min_side), scale)


def open_svg(width: float, height: float, description: str) -> str:
    """Open an SVG drawing with its description."""
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(description)}">'


def draw_line(style: str, points: Floats) -> str:
    """Draw a line through points (k, 2)."""
    return f'<path class="{style}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'


def draw_bones(style: str, points: Floats, bones: Ints) -> str:
    """Draw bones (k, 2) between points (n, 2) as one path. Returns "" without bones."""
    path = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, b), (c, d) in points[bones])
    return f'<path class="{style}" d="{path}"/>' if path else ""


def draw_joints(style: str, points: Floats, radius: float) -> str:
    """Draw joints at points (k, 2) as dots."""
    return "".join(f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>' for x, y in points)


def draw_target(target: Floats) -> str:
    """Draw a target (2,) as a ring with a cross."""
    x, y = target.tolist()
    cross = f'<path class="target" d="M{x - 6:.1f} {y:.1f}h12M{x:.1f} {y - 6:.1f}v12"/>'
    return f'{cross}<circle class="target" cx="{x:.1f}" cy="{y:.1f}" r="4.2"/>'
