"""Draw convergence and the cost of longer chains and larger batches."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from poise.comparison.report.charts import Line, Words, curves, figure
from poise.comparison.report.look import Look, named
from poise.comparison.report.words import percent
from poise.maths.arrays import Floats
from poise.solvers.base.capabilities import series

_US = "\N{MICRO SIGN}s"
_SHARES = (0.1, 1e-3, 1e-6)  # shares of the first error
_SHOWN = 1e-9  # share of the first error: smaller ones are drawn at the edge
_SOLVES = 0.9  # share solved below which a size gets an open circle


def converging(shown: Sequence[Look]) -> str:
    """Draw convergence curves with a table."""
    some = [look for look in shown if look.method.convergence is not None]
    if not some:
        return "<p>None of these methods shows its iterations.</p>"
    lines: list[Line] = []
    for look in some:
        assert look.method.convergence is not None
        low, middle, high = look.method.convergence.quantiles()
        lines.append(Line(look, np.arange(1.0, len(middle) + 1.0), middle, (low, high)))
    least = max(min(float(line.y.min()) for line in lines), _SHOWN)
    words = Words("error after each iteration", "iterations + 1", "error left, as a share of the error at the start")
    last = max(2.0, *(float(line.x[-1]) for line in lines))
    silent = [look.method.name for look in shown if look.method.convergence is None]
    caption = "Line: half of the targets are below; band: from a quarter to three quarters. Both axes are logarithmic."
    if silent:
        caption += f" Not shown, as they do not report their iterations: {escape(series(silent))}."
    drawn = figure("Error after each iteration", curves(lines, (1.0, last), (min(least, 0.1) / 2, 1.0), words), caption)
    return f'<div class="pair">{drawn}{_progress(some)}</div>'


def _progress(some: Sequence[Look]) -> str:
    """Format the iterations until half of the targets reach each error. Also shows rises and stalls."""
    head = "".join(f'<th class="n">to {share:g}</th>' for share in _SHARES)
    rest = "".join(f'<th class="n">{word} <small>[%]</small></th>' for word in ("rises", "stalled"))
    lines = [f"<thead><tr><th>method</th>{head}{rest}</tr></thead><tbody>"]
    for look in some:
        found = look.method.convergence
        assert found is not None
        counts = "".join(f'<td class="n">{_first_below(found.quantiles()[1], share)}</td>' for share in _SHARES)
        lines.append(
            f'<tr class="{look.style}"><th>{named(look)}</th>{counts}'
            f'<td class="n">{percent(found.rises)}</td><td class="n">{percent(found.stalled)}</td></tr>'
        )
    caption = (
        "Iterations until half of the targets have at most that share of their first error. Rises: iterations with an "
        "increase of the error. Stalled: targets that ended above the tolerance. Methods differ in the meaning and "
        "the cost of an iteration."
    )
    table = f'<div class="wide"><table>{"".join(lines)}</tbody></table></div>'
    return figure("Iterations it takes", table, caption)


def _first_below(curve: Floats, share: float) -> str:
    below = np.flatnonzero(curve <= share)
    return str(int(below[0])) if below.size else "\N{EN DASH}"


def costing(shown: Sequence[Look]) -> str:
    """Draw times against chain length and batch size."""
    drawn = [_growing(shown, batch=False), _growing(shown, batch=True), _batches(shown)]
    found = [one for one in drawn if one]
    if not found:
        return "<p>Not measured: this comparison was a quick one.</p>"
    return f'<div class="pair">{"".join(found)}</div>'


def _growing(shown: Sequence[Look], *, batch: bool) -> str:
    lines: list[Line] = []
    for look in shown:
        grown = [one for one in look.method.growth if not np.isnan(one.batch if batch else one.call)]
        if grown:
            joints = np.array([float(one.joints) for one in grown])
            times = np.array([one.batch if batch else one.call for one in grown])
            full = np.array([one.solved >= _SOLVES for one in grown])
            lines.append(Line(look, joints, times, full=full))
    title = "One target in a batch, on longer chains" if batch else "A call, on longer chains"
    caption = "Free ball joints, bones of length 1, straight at the start. Open: less than 90 % solved."
    return _timed(lines, title, "ball joints of the chain", caption)


def _batches(shown: Sequence[Look]) -> str:
    lines = [
        Line(
            look,
            np.array(sorted(map(float, look.method.batches))),
            np.array([look.method.batch_times[size] for size in sorted(look.method.batches)]),
            full=np.ones(len(look.method.batches), dtype=bool),
        )
        for look in shown
        if look.method.batches
    ]
    return _timed(lines, "One target, in larger batches", "targets in one call", "Medians, on one core.")


def _timed(lines: list[Line], title: str, along: str, caption: str) -> str:
    """Draw a chart of times [us]. Returns "" for fewer than two sizes."""
    if not lines or max(float(line.x[-1]) for line in lines) <= min(float(line.x[0]) for line in lines):
        return ""
    times, sizes = np.concatenate([line.y for line in lines]), np.concatenate([line.x for line in lines])
    ends = float(times.min()) / 1.3, float(times.max()) * 1.3
    words = Words(title, along, f"time of one target [{_US}]")
    return figure(title, curves(lines, (float(sizes.min()) / 1.05, float(sizes.max()) * 1.05), ends, words), caption)
