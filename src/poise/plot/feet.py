"""Picture of planted feet: side view, then height and speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import BALL_POINT, HEEL_POINT
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion
from poise.ground.figure.steps import runs
from poise.ground.plant import Planted
from poise.ground.report.measures import SolePaths, speeds
from poise.ground.report.report import Report
from poise.maths.arrays import Floats
from poise.plot.canvas import canvas, written
from poise.plot.side_view import SideView, Unrolled, view_of
from poise.svg.charts import shown_range

_LEGS = ("#0072B2", "#009E73", "#56B4E9", "#CC79A7")  # one colour per leg
_POINTS = ((HEEL_POINT, "heel", "#0072B2"), (BALL_POINT, "ball", "#D55E00"))
_BEFORE, _GROUND, _EARTH, _INK, _LINE = "#9AA5AE", "#5F6B76", "#E4E8EB", "#1F2933", "#E4E8EB"
_WIDTH, _TALLEST, _CHART = 11.0, 4.2, 1.7  # of the picture, the side view and a chart [inch]
_HEAD, _AXIS, _GAP, _FOOT, _EDGE = 0.95, 0.25, 0.6, 0.5, 0.7  # [inch] margins for text
_UNDERFOOT = 25  # ground samples from heel to ball, and as many from ball to tip
_LEAST = 4.0, 0.4  # smallest range of a chart's axis: heights [cm] and speeds [m/s]
_SAME = 0.005  # [m] difference of the feet's ground up to which one profile is drawn


def rendered_feet(kind: str, planted: Planted) -> bytes:
    """Render the picture to bytes, reproducibly."""
    report = planted.report
    view, legs = view_of(report.motions[1]), report.contacts.legs
    footing = Footing(planted.terrain, planted.figure)
    lines = [_lines(view, *pair) for pair in zip(report.motions, report.paths, strict=True)]
    low, high = _extent(lines)
    scale = min((_WIDTH - 2 * _EDGE) / (high[0] - low[0]), _TALLEST / (high[1] - low[1]))
    wide, tall = scale * (high - low)
    total = _HEAD + tall + _AXIS + _rows(legs) * 2 * (_GAP + _CHART) + _FOOT
    with canvas(_WIDTH, total) as drawing:
        drawing.text(0.5, 1 - 0.12 / total, report.title, size=12, weight="bold", color=_INK, ha="center", va="top")
        place = (0.5 * (_WIDTH - wide) / _WIDTH, 1 - (_HEAD + tall) / total, wide / _WIDTH, tall / total)
        axes = drawing.add_axes(place)
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        _draw_ground(axes, view, report.motions[1], footing, low, high)
        if isinstance(view, Unrolled):
            _draw_underfoot(axes, view, report.paths[1].points, footing)
        _draw_legs(axes, lines, legs)
        _key(drawing, total, legs)
        for leg in range(len(legs)):
            _charts(drawing, total, report, leg)
        return written(drawing, kind)


def _rows(legs: tuple[str, ...]) -> int:
    """Count the rows of charts, two feet in each."""
    return (len(legs) + 1) // 2


def _lines(view: SideView, motion: Motion, paths: SolePaths) -> Floats:
    """Build the drawn legs as lines (n, L, 6, 2). The points are hip, knee, ankle, heel, ball, tip of the sole [m]."""
    return view.seen(np.concatenate([motion.places[:, :, :3], paths.points], axis=2)[view.frames])


def _extent(lines: list[Floats]) -> tuple[Floats, Floats]:
    """Measure the corners (2,) of the side view [m]."""
    points = np.concatenate(lines).reshape(-1, 2)
    return points.min(axis=0) - np.array([0.3, 0.25]), points.max(axis=0) + np.array([0.3, 0.1])


def _draw_ground(axes: Any, view: SideView, motion: Motion, footing: Footing, low: Floats, high: Floats) -> None:
    """Draw the ground profile below the path of each foot. On hills the profiles differ."""
    along = np.linspace(low[0], high[0], 800)
    places = view.below(motion, along)
    heights = footing.heights(np.concatenate([places, np.zeros((*places.shape[:2], 1))], axis=-1))
    axes.fill_between(along, heights.min(axis=0), low[1] - 1.0, color=_EARTH, lw=0)
    for leg, profile in enumerate(heights):
        same = bool(np.ptp(heights, axis=0).max() < _SAME)
        axes.plot(along, profile, color=_GROUND if same else _LEGS[leg % len(_LEGS)], lw=1.2 if same else 0.8)
    axes.set_ylabel("height [m]", size=8.5, color=_INK)
    axes.set_xlabel(view.label, size=8.5, color=_INK, labelpad=1)
    _plain(axes)


def _draw_underfoot(axes: Any, view: Unrolled, soles: Floats, footing: Footing) -> None:
    """Draw the ground below each drawn sole (F, L, 3, 3). On a turning path it differs from the profile."""
    heel, ball, tip = np.moveaxis(soles[view.frames], 2, 0)[..., None, :]
    share = np.linspace(0.0, 1.0, _UNDERFOOT)[:, None]
    points = np.concatenate([heel + share * (ball - heel), ball + share * (tip - ball)], axis=2)
    points[..., 2] = footing.heights(points)
    axes.plot(*view.seen(points).reshape(-1, 2 * _UNDERFOOT, 2).transpose(2, 1, 0), color=_GROUND, lw=1.2, zorder=2)


def _draw_legs(axes: Any, lines: list[Floats], legs: tuple[str, ...]) -> None:
    """Draw the source legs in grey, the planted legs in colour."""
    for seen, width, colours in ((lines[0], 1.0, [_BEFORE] * len(legs)), (lines[1], 2.0, _LEGS)):
        for leg in range(len(legs)):
            style = {"color": colours[leg % len(colours)], "lw": width, "solid_capstyle": "round", "zorder": 2 + width}
            axes.plot(*seen[:, leg].transpose(2, 1, 0), **style, solid_joinstyle="round")


def _key(drawing: Any, total: float, legs: tuple[str, ...]) -> None:
    """Draw the colour key of the legs."""
    words = [("before", _BEFORE), *((f"{leg} leg", _LEGS[i % len(_LEGS)]) for i, leg in enumerate(legs))]
    for i, (word, colour) in enumerate(words):
        x = 0.5 + 1.3 / _WIDTH * (i - (len(words) - 1) / 2)
        drawing.text(x, 1 - 0.42 / total, word, size=9, color=colour, ha="center", va="top", weight="bold")


def _charts(drawing: Any, total: float, report: Report, leg: int) -> None:
    """Draw height and speed of one foot. Two feet stand side by side."""
    legs, times = report.contacts.legs, report.contacts.times
    column = _WIDTH / min(len(legs), 2)
    width, left = (column - _EDGE - 0.25) / _WIDTH, (leg % 2 * column + _EDGE) / _WIDTH
    swings = [speeds(paths)[:, leg] for paths in report.paths]
    heights = [100.0 * paths.heights[:, leg, :2] for paths in report.paths]
    below = 2 * (_rows(legs) - 1 - leg // 2)  # charts
    panels = (("height above the ground [cm]", heights, _LEAST[0]), ("speed along it [m/s]", swings, _LEAST[1]))
    for row, (words, values, least) in enumerate(panels):
        bottom = (_FOOT + (below + 1 - row) * (_CHART + _GAP)) / total
        axes = drawing.add_axes((left, bottom, width, _CHART / total))
        for k, style in enumerate(({"lw": 0.9, "alpha": 0.55, "ls": (0, (3, 1.5))}, {"lw": 1.5})):
            for point, label, colour in _POINTS:
                named = label if k else f"{label}, before"
                axes.plot(times, values[k][:, point], color=colour, label=named, **style)
        _limit(axes, values, least)
        _bars(axes, report.contacts, leg)
        axes.set_title(f"{legs[leg]} foot: {words}", size=9, color=_INK, loc="left")
        if row and not below:
            axes.set_xlabel("time [s]; bars: heel and ball in contact", size=8.5, color=_INK, labelpad=1)
        if row == 0 and leg == 0:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, 1 - 0.56 / total), "ncols": 4}
            drawing.legend(*axes.get_legend_handles_labels(), fontsize=8, frameon=False, **place)
        _plain(axes)


def _limit(axes: Any, values: list[Floats], least: float) -> None:
    """Set the value range of a chart.

    The result is always shown, the source as far as it fits; else a note tells so. The bars are below.
    """
    low, high = shown_range(*values)
    middle, half = 0.5 * (low + high), 0.5 * max(high - low, least)  # avoids charts of rounding errors
    low, high = middle - 1.36 * half, middle + 1.44 * half
    axes.set_ylim(low, high)
    outside = [word for word, is_so in (("above", values[0].max() > high), ("below", values[0].min() < low)) if is_so]
    if outside:
        words = f"before: also {' and '.join(outside)} the shown range"
        axes.text(0.995, 0.985, words, transform=axes.transAxes, size=7.5, color=_GROUND, ha="right", va="top",
                  bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.0})  # fmt: skip


def _bars(axes: Any, contacts: Contacts, leg: int) -> None:
    """Draw contacts as bars at the bottom of a chart."""
    half = 0.5 * float(np.median(np.diff(contacts.times))) if len(contacts.times) > 1 else 0.5
    for row, (held, (_, _, colour)) in enumerate(zip((contacts.heel, contacts.ball), _POINTS, strict=True)):
        for frames in runs(held[:, leg], contacts.times):
            first, last = contacts.times[frames[[0, -1]]] + [-half, half]
            axes.axvspan(first, last, 0.06 - 0.05 * row, 0.10 - 0.05 * row, color=colour, lw=0)


def _plain(axes: Any) -> None:
    axes.tick_params(labelsize=8, colors=_INK)
    axes.grid(color=_LINE, lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
