"""Matplotlib figures for papers. A figure has several panels; each panel answers one question on Matplotlib axes.

The style of a method (`PanelStyle`) is the same in every panel. Styles also differ in dash and marker, so that they can
be distinguished in grey.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from poise.comparison.findings.findings import Findings
from poise.comparison.findings.measured import Measured
from poise.comparison.trials.task import LEVELS
from poise.maths.arrays import Floats

# Okabe and Ito 2008: distinguishable for colour-blind readers and in grey print.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "*")
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
_MICRO = "\N{MICRO SIGN}s"
_GRID = {"color": "#D9D9D9", "linewidth": 0.5}
_LEAST, _MOST = 1e-4, 1e5  # tolerances, range of shown errors
_BINS = 5  # bins of reach
_DARK = 0.5  # share below which text is white on dark
_MARKED = 6  # markers on a long curve
_SHORT = 200  # ratio high / low below which an axis has ticks besides powers of ten
_LINEAR = 10  # iterations on the linear part of the axis


class PanelStyle(NamedTuple):
    """Drawing style of a method."""

    method: Measured
    colour: str
    dash: Any
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Options of `plot`."""
        return {
            "color": self.colour, "linestyle": self.dash, "marker": self.marker, "linewidth": 1.1,
            "markersize": 3.6, "markerfacecolor": "white", "markeredgewidth": 0.9,
        }  # fmt: skip


class ReportPanel(NamedTuple):
    """Panel of the figure.

    Holds its title, whether it has a row for each method, a test for data and its draw function.
    """

    title: str
    rows: bool
    found: Callable[[Sequence[PanelStyle]], bool]
    draw: Callable[[Any, Sequence[PanelStyle]], None]


def looks(findings: Findings) -> tuple[PanelStyle, ...]:
    """Build a style for each compared method, in order of rank. No two are alike."""
    return tuple(
        PanelStyle(
            method,
            _COLOURS[i % len(_COLOURS)],
            _DASHES[(i + i // len(_COLOURS)) % len(_DASHES)],
            _MARKERS[i % len(_MARKERS)],
        )
        for i, method in enumerate(findings.compared)
    )


def plain(axes: Any) -> None:
    """Style axes: no frame above and right, small ticks, a pale grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7)
    axes.grid(visible=True, **_GRID)
    axes.set_axisbelow(True)


# --- a row for each method ----------------------------------------------------------------------------------------


def _times(axes: Any, shown: Sequence[PanelStyle]) -> None:
    """Draw the median and 1st to 99th percentile of call times."""
    for i, look in enumerate(shown):
        times = look.method.call_times
        if times.size:
            low, middle, high = np.quantile(times, (0.01, 0.5, 0.99))
            axes.plot([low, high], [i, i], color=look.colour, linewidth=1.6, solid_capstyle="butt")
            axes.plot([middle], [i], **look.line)
    plain(axes)
    axes.set(xscale="log", xlabel=f"median, and from 1 % to 99 % of the calls [{_MICRO}]")
    _round_numbers(axes.xaxis)
    _named(axes, shown)


def _reach_shares(shown: Sequence[PanelStyle]) -> Floats | None:
    task = shown[0].method.task  # the same for all
    return task.reach_shares(task.main.rows)


def _has_reach(shown: Sequence[PanelStyle]) -> bool:
    return _reach_shares(shown) is not None


def _reach(axes: Any, shown: Sequence[PanelStyle]) -> None:
    """Draw the share solved in bins of reach. Bins hold equally many targets; each cell shows a number on grey."""
    shares = _reach_shares(shown)
    if shares is None:
        return
    edges = np.quantile(shares, np.linspace(0.0, 1.0, _BINS + 1))
    bins = np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, _BINS - 1)
    table = np.array([[_share(look.method, bins == b) for b in range(_BINS)] for look in shown])
    axes.imshow(table, aspect="auto", cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
    for (i, b), share in np.ndenumerate(table):
        words = "" if np.isnan(share) else f"{100 * share:.0f}"
        axes.text(b, i, words, ha="center", va="center", size=6, color="white" if share < _DARK else "black")
    axes.set_xticks(np.arange(_BINS + 1) - 0.5, [f"{100 * edge:.0f}" for edge in edges])
    axes.set_xlabel("solved [%], by distance [% of the reach]")
    axes.tick_params(labelsize=7)
    _named(axes, shown)


def _share(method: Measured, chosen: Any) -> float:
    run = method.main
    if run is None:
        return float("nan")
    solved = run.solved()[chosen[: len(run)]]
    return float(solved.mean()) if solved.size else float("nan")


def _named(axes: Any, shown: Sequence[PanelStyle]) -> None:
    axes.set_yticks(range(len(shown)), [look.method.name for look in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)


# --- curves ----------------------------------------------------------------------------------------------------------


def _left(axes: Any, shown: Sequence[PanelStyle]) -> None:
    """Draw the cumulative distribution of remaining errors."""
    worst = _LEAST
    for look in reversed(shown):
        run = look.method.main
        if run is None or not len(run):
            continue
        scores = np.clip(np.sort(run.scores), _LEAST, None)
        inside = scores <= _MOST
        share = 100.0 * np.arange(1, len(scores) + 1) / len(scores)
        if inside.any():
            worst = max(worst, float(scores[inside][-1]))
            axes.plot(scores[inside], share[inside], drawstyle="steps-post", **_marked(look, int(inside.sum())))
    for level in LEVELS:
        axes.axvline(level, color="#6B6B6B", linewidth=0.7, linestyle=(0, (2, 2)), zorder=0.5)
    plain(axes)
    axes.set(xscale="log", xlim=(_LEAST, max(2 * worst, 2 * LEVELS[0])), ylim=(-3, 103))
    axes.set(xlabel="error left, in units of the tolerance", ylabel="targets with at most this [%]")


def _converging(axes: Any, shown: Sequence[PanelStyle]) -> None:
    """Draw the median of the least error so far."""
    for look in reversed(shown):
        if look.method.convergence is not None:
            curve = look.method.convergence.quantiles()[1]
            axes.plot(np.arange(len(curve)), curve, **_marked(look, len(curve)))
    plain(axes)
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=_LINEAR, linscale=1.0)
    last = max(look.method.convergence.curves.shape[1] for look in shown if look.method.convergence is not None)
    ticks = [tick for tick in (0, 2, 5, 10, 20, 50, 100, 200) if tick < last]
    axes.set_xticks(ticks, [str(tick) for tick in ticks], minor=False)
    axes.set_xlim(-0.3, last)
    axes.minorticks_off()
    axes.set(xlabel="iterations", ylabel="median error / first error")


def _growing(axes: Any, shown: Sequence[PanelStyle]) -> None:
    """Draw the time of one target against chain length. Times are from batches, or from calls where there are none."""
    sizes: set[int] = set()
    for look in reversed(shown):
        grown = look.method.growth
        if grown:
            times = [one.call if np.isnan(one.batch) else one.batch for one in grown]
            axes.plot([one.joints for one in grown], times, **look.line)
            sizes.update(one.joints for one in grown)
    plain(axes)
    axes.set(xscale="log", yscale="log", xlabel="joints of a chain of balls", ylabel=f"one target [{_MICRO}]")
    _round_numbers(axes.yaxis)
    _ticks(axes, sizes)


def _batches(axes: Any, shown: Sequence[PanelStyle]) -> None:
    """Draw the time of one target against batch size."""
    sizes: set[int] = set()
    for look in reversed(shown):
        found = look.method.batch_times
        if found:
            axes.plot(list(found), list(found.values()), **look.line)
            sizes.update(found)
    plain(axes)
    axes.set(xscale="log", yscale="log", xlabel="targets in one call, one core", ylabel=f"one target [{_MICRO}]")
    _round_numbers(axes.yaxis)
    _ticks(axes, sizes)


def _ticks(axes: Any, sizes: set[int]) -> None:
    axes.set_xticks(sorted(sizes), [f"{size:,}" for size in sorted(sizes)], minor=False)
    axes.tick_params(axis="x", which="minor", length=0, labelbottom=False)


def _round_numbers(axis: Any) -> None:
    """Format round numbers on a logarithmic axis. They are powers of ten, with their 2- and 5-fold on a short axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: PLC0415

    low, high = axis.get_view_interval()
    short = high / low < _SHORT
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,)))
    axis.set_major_formatter(FuncFormatter(_round_number))
    axis.set_minor_formatter(NullFormatter())
    if short:
        axis.set_minor_locator(NullLocator())


def _round_number(value: float, _position: int) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _marked(look: PanelStyle, count: int) -> dict[str, Any]:
    """Make line options with a few markers. Each method has them at other points."""
    step = max(count // _MARKED, 1)
    begin = sum(look.method.name.encode()) % step  # reproducible
    return {**look.line, "markevery": (begin, step)}


def _any(of: Callable[[Measured], object]) -> Callable[[Sequence[PanelStyle]], bool]:
    def found(shown: Sequence[PanelStyle]) -> bool:
        return any(of(look.method) for look in shown)

    return found


PANELS: tuple[ReportPanel, ...] = (
    ReportPanel("Time of a call", True, _any(lambda m: m.call_times.size), _times),
    ReportPanel("Success against reach", True, _has_reach, _reach),
    ReportPanel("Error left", False, _any(lambda m: m.main is not None and len(m.main)), _left),
    ReportPanel("Convergence", False, _any(lambda m: m.convergence is not None), _converging),
    ReportPanel("Cost against joints", False, _any(lambda m: m.growth), _growing),
    ReportPanel("Batches", False, _any(lambda m: m.batches), _batches),
)
