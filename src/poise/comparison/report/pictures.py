"""Draw a comparison as a figure for papers. Panels are side by side, with one legend."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from poise.comparison.findings.findings import Findings
from poise.comparison.report.panels import PANELS, PanelStyle, ReportPanel, looks
from poise.errors import InputError
from poise.io.files import write_atomically
from poise.plot.canvas import canvas, written

_KINDS = (".png", ".svg", ".pdf")
_WIDTH = 7.2  # inches, text width of a two-column page
# inches, heights: curves, method row, axis labels, title, margin
_CURVES, _ROW, _AXIS, _HEAD, _EDGE = 2.0, 0.155, 0.7, 0.3, 0.1
# inches, legend: width of a letter and of the line sample, height of a line
_LETTER, _SIGN, _LINE = 0.062, 0.55, 0.17
_LOOK: Any = {
    "font.size": 7.5, "axes.titlesize": 8.5, "axes.labelsize": 7.5, "axes.linewidth": 0.7,
    "pdf.fonttype": 42,  # TrueType; publishers refuse Type 3
    "svg.fonttype": "path",
}  # fmt: skip


def draw(path: Path, findings: Findings) -> None:
    """Write the figure, reproducible byte for byte.

    Panels: time of a call, success against reach, error left, convergence, cost against joints, batches; panels without
    data are left out. Raises InputError for a suffix other than .png, .svg or .pdf and for a comparison without
    methods, UnsupportedError without Matplotlib, FileError if the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in _KINDS:
        known = ", ".join((".html", ".json", *_KINDS))
        raise InputError(f"{path}: a comparison is saved as {known}, not as {suffix or 'a file without a suffix'}")
    write_atomically(path, rendered(suffix[1:], findings))


def rendered(kind: str, findings: Findings) -> bytes:
    """Render the figure as bytes of a format."""
    shown = looks(findings) if findings.best else ()  # `best` raises if there is nothing to show
    rows, curves = _parts(shown)
    wide = max(len(look.method.name) for look in shown) * _LETTER + _SIGN
    beside = max(1, min(len(shown), int(_WIDTH / wide)))
    heights = [
        _HEAD + (_ROW * len(shown) + _AXIS if rows else 0.0),
        _CURVES * math.ceil(len(curves) / _columns(len(curves))) + _LINE * math.ceil(len(shown) / beside) + _EDGE,
    ]
    with canvas(_WIDTH, sum(heights)) as drawing:
        import matplotlib as mpl  # noqa: PLC0415  (an extra, which canvas() has found)

        with mpl.rc_context(_LOOK):
            drawing.set_layout_engine("constrained", w_pad=0.06, h_pad=0.05)
            above, below = drawing.subfigures(2, 1, height_ratios=heights)
            above.suptitle(findings.task.title, size=9)
            for i, axes in enumerate(_drawn(above, rows, shown)):
                axes.tick_params(labelleft=i == 0)  # method names only once
            _drawn(below, curves, shown)
            _legend(below, shown, beside)
            return written(drawing, kind)


def _columns(panels: int) -> int:
    """Count the columns of a grid of panels. There are two, or three where that fills the row."""
    return panels if panels in {1, 3} else 2


def _parts(shown: tuple[PanelStyle, ...]) -> tuple[list[ReportPanel], list[ReportPanel]]:
    """Choose the panels with data. Returns those with a row for each method, and curves."""
    found = [panel for panel in PANELS if panel.found(shown)]
    return [panel for panel in found if panel.rows], [panel for panel in found if not panel.rows]


def _drawn(part: Any, panels: list[ReportPanel], shown: tuple[PanelStyle, ...]) -> list[Any]:
    """Draw panels side by side and return their axes."""
    if not panels:
        return []
    columns = _columns(len(panels))
    grid = list(part.subplots(math.ceil(len(panels) / columns), columns, squeeze=False).flat)
    for axes, panel in zip(grid, panels, strict=False):
        panel.draw(axes, shown)
        axes.set_title(panel.title, loc="left", weight="bold")
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    return grid[: len(panels)]


def _legend(part: Any, shown: tuple[PanelStyle, ...], beside: int) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    handles = [Line2D([], [], label=look.method.name, **look.line) for look in shown]
    part.legend(handles=handles, loc="outside lower center", ncols=beside, frameon=False, handlelength=3.2)
