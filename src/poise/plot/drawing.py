"""Draw a scene with Matplotlib, imported only when needed."""

from __future__ import annotations

import io
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from poise.errors import UnsupportedError, escape_controls
from poise.maths.arrays import Floats
from poise.maths.formatting import format_number
from poise.model.skeleton import Skeleton
from poise.plot.error_curve import ErrorCurve, draw_curve
from poise.plot.scene import Panel, Scene, compute_depth, project_points

# --- Matplotlib figures, drawn from a scene --------------------------------------------------------------------------
#
# Matplotlib is imported only when a picture is made.


PAPER = "#FFFFFF"
_UNDATED_METADATA: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


@contextmanager
def open_canvas(width: float, height: float) -> Generator[Any]:
    """Open an empty figure [inch] for drawing in this block. Raise UnsupportedError without Matplotlib."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  (an extra: the start must work without it and be fast)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        message = "drawing needs Matplotlib: pip install 'poise[plot]'"
        raise UnsupportedError(message) from error
    with mpl.rc_context({"svg.hashsalt": "poise", "font.family": "sans-serif"}):
        yield Figure(figsize=(width, height), facecolor=PAPER)


def encode_figure(figure: Any, kind: str) -> bytes:
    """Encode the figure as a file, reproducibly.

    Characters without a glyph are drawn as escapes.
    """
    from matplotlib.text import Text  # noqa: PLC0415  (imported before by the canvas)
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415

    axes = [axis for one in figure.axes for axis in (one.xaxis, one.yaxis)]
    powers = [axis for axis in axes if isinstance(axis.get_major_formatter(), LogFormatter)]
    formulas = {text for axis in powers for text in axis.findobj(Text) if text is not axis.label}
    for text in set(figure.findobj(Text)) - formulas:
        text.set_parse_math(False)  # a name with two dollar signs is not a formula
        text.set_text("\n".join(map(escape_controls, text.get_text().split("\n"))))
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=160, metadata=_UNDATED_METADATA[kind])
    return file.getvalue()


# --- Drawing of scenes -----------------------------------------------------------------------------------------------


# Okabe and Ito's palette: distinguishable for colour-blind readers and in grey print.
_CHAIN, _TARGET, _BONE, _FAINT = "#0072B2", "#D55E00", "#5F6B76", "#C9CFD5"
_LIMIT, _TRAIL, _POLE = "#009E73", "#CC79A7", "#56B4E9"
_INK, _MUTED, _GRID, _SHADOW = "#1F2933", "#6B7680", "#E4E8EB", "#EDEFF1"

_PANEL_HEIGHT_IN = 3.9  # [inch] height of a panel
_CURVE_WIDTH_IN = 3.4  # [inch] width of the error curve
_ENTRY_WIDTH_IN, _LEGEND_ROW_IN = 0.5, 0.2  # [inch] legend: width of an entry without its letters, height of a row
_LETTER_WIDTH_IN = 0.11  # [inch] width of a title's letter: panels are at least as wide as their text
_ZERO_DISTANCE_M = 1e-6  # [m] distance up to which a tip counts as at the target
_MANY_JOINTS = 40  # joints above which dots are small


def render_scene(
    kind: str, panels: list[Panel], scene: Scene, title: str, curve: ErrorCurve | None = None, *, legend: bool = False
) -> bytes:
    """Render a scene to bytes of a file format, reproducibly.

    With `legend` the names of the lines stand below the figures.
    """
    extent = scene.high - scene.low
    text_width = max(
        _LETTER_WIDTH_IN * len(title) / len(panels), *(0.85 * _LETTER_WIDTH_IN * len(panel.label) for panel in panels)
    )
    width = max(float(np.clip(_PANEL_HEIGHT_IN * extent[0] / extent[1], 2.3, 6.5)), text_width + 0.2)
    styles = _list_styles(panels, scene) if legend else {}
    rows = -(-sum(_ENTRY_WIDTH_IN + _LETTER_WIDTH_IN * len(name) for name in styles) // (width * len(panels)))
    head, foot = (0.95 if title else 0.6), 0.32 + _LEGEND_ROW_IN * rows  # [inch] margins for text
    beside = _CURVE_WIDTH_IN if curve is not None else 0.0
    total = (width * len(panels) + beside, head + _PANEL_HEIGHT_IN + foot)
    share = width / total[0]
    with open_canvas(*total) as figure:
        for k, panel in enumerate(panels):
            axes = figure.add_axes((k * share, foot / total[1], share, _PANEL_HEIGHT_IN / total[1]))
            _draw_panel(axes, panel, scene)
            _write_label(figure, (k + 0.5) * share, 1 - (head - 0.38) / total[1], panel, scene)
        if curve is not None:
            origin = (
                1 - (_CURVE_WIDTH_IN - 0.85) / total[0],
                (foot + 0.35) / total[1],
                (_CURVE_WIDTH_IN - 1.1) / total[0],
            )
            axes = figure.add_axes((*origin, (_PANEL_HEIGHT_IN - 0.5) / total[1]), facecolor="none")
            draw_curve(axes, curve, (_CHAIN, _TARGET, _INK))
        if title:
            figure.text(0.5, 1 - 0.12 / total[1], title, size=12, weight="bold", color=_INK, ha="center", va="top")
        if styles:
            _draw_legend(figure, styles, int(rows), share * len(panels) / 2, 0.3 / total[1])
        grid = f"grid {_format_length(scene.step, panels[0].pose.skeleton)}"
        figure.text(1 - (0.1 + beside) / total[0], 0.1 / total[1], grid, size=8, color=_MUTED, ha="right", va="bottom")
        return encode_figure(figure, kind)


def _list_styles(panels: list[Panel], scene: Scene) -> dict[str, dict[str, Any]]:
    """List name and looks of each kind of line in the picture."""
    ends = {at_end for panel in panels for _, at_end in panel.limits}
    styles: list[tuple[bool, str, dict[str, Any]]] = [
        (scene.target is not None, "target", {"color": _TARGET, "marker": "+", "ms": 9, "mew": 2, "lw": 0}),
        (scene.target is not None, "remaining distance", {"color": _TARGET, "lw": 1.2, "ls": (0, (4, 2))}),
        (scene.target is not None, "height of the target", {"color": _TARGET, "lw": 0.8, "ls": (0, (1, 3))}),
        (any(panel.trail is not None for panel in panels), "path of the tip", {"color": _TRAIL, "lw": 1.0}),
        (any(len(panel.poles) for panel in panels), "pole", {"color": _POLE, "lw": 1.2, "ls": (0, (5, 1, 1, 1))}),
        (False in ends, "limit: directions of the bone", {"color": _LIMIT, "lw": 1.1}),
        (True in ends, "limit reached by the joint", {"color": _TARGET, "lw": 1.1}),
    ]
    return {name: looks for is_drawn, name, looks in styles if is_drawn}


def _draw_legend(figure: Any, styles: dict[str, dict[str, Any]], rows: int, x: float, y: float) -> None:
    """Write the names of lines in rows, centred at x, above y."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    figure.legend(
        handles=[Line2D([], [], label=name, **looks) for name, looks in styles.items()],
        ncols=-(-len(styles) // rows), loc="lower center", bbox_to_anchor=(x, y), fontsize=8, frameon=False,
        labelcolor=_INK, borderpad=0.0, handlelength=2.2, columnspacing=1.4,
    )  # fmt: skip


def _draw_panel(axes: Any, panel: Panel, scene: Scene) -> None:
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(scene.low[0], scene.high[0])
    axes.set_ylim(scene.low[1], scene.high[1])
    axes.add_collection(LineCollection(list(project_points(scene.grid)), colors=_GRID, linewidths=0.8, zorder=0))
    shadow = panel.points[panel.bones[~panel.is_helper]] * [1, 1, 0] + [0, 0, scene.ground]
    axes.add_collection(LineCollection(list(project_points(shadow)), colors=_SHADOW, linewidths=4, zorder=1))
    _draw_limits(axes, panel)
    _draw_bones(axes, panel)
    _draw_joints(axes, panel)
    if panel.trail is not None:
        axes.plot(*project_points(panel.trail).T, color=_TRAIL, lw=1.0, marker="o", ms=1.8, alpha=0.9, zorder=4)
    for joint, point in project_points(panel.poles):
        axes.plot(*np.array([joint, point]).T, color=_POLE, lw=1.2, ls=(0, (5, 1, 1, 1)), zorder=3.6)
        axes.plot(*point, marker="D", ms=4, color=_POLE, zorder=3.6)
    if scene.target is not None:
        _draw_target(axes, panel, scene.target, scene.ground)


def _draw_limits(axes: Any, panel: Panel) -> None:
    """Draw limit outlines. A touched limit has the target's colour."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    for lines, at_end in panel.limits:
        colour = _TARGET if at_end else _LIMIT
        flat = [project_points(line) for line in lines]
        axes.add_collection(LineCollection(flat, colors=colour, linewidths=1.1, alpha=0.85, zorder=3.5))


def _draw_bones(axes: Any, panel: Panel) -> None:
    """Draw bones from far to near with paper-coloured outlines."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    chain = find_chain_bones(panel.pose.skeleton, panel.chain.tolist())
    solved = set(chain)
    rows = [(pair, _FAINT if is_helper else _BONE, 0.8 if is_helper else 2.2) for pair, is_helper in
            zip(panel.bones.tolist(), panel.is_helper, strict=True) if tuple(pair) not in solved]  # fmt: skip
    rows += [([*pair], _CHAIN, 3.6) for pair in chain]
    segments = panel.points[np.array([pair for pair, _, _ in rows], dtype=np.int64).reshape(-1, 2)]
    far_to_near = np.argsort(compute_depth(segments).mean(axis=-1), kind="stable")
    projected = project_points(segments)
    lines = [(projected[k], colour, width) for k in far_to_near
             for colour, width in ((PAPER, rows[k][2] + 1.0), rows[k][1:])]  # fmt: skip
    axes.add_collection(
        LineCollection(
            [line for line, _, _ in lines],
            colors=[colour for _, colour, _ in lines],
            linewidths=[width for _, _, width in lines],
            capstyle="round",
            zorder=2,
        )
    )


def find_chain_bones(skeleton: Skeleton, chain: Sequence[int]) -> list[tuple[int, int]]:
    """Find the bones (parent, child) of a chain.

    Each joint is connected to its nearest ancestor in the chain, since several limbs may fork.
    """
    return [
        (ancestors[-1], row)
        for row in dict.fromkeys(chain)
        if (ancestors := [up for up in skeleton.way(row)[:-1] if up in set(chain)])
    ]


def _draw_joints(axes: Any, panel: Panel) -> None:
    """Draw joint dots, smaller for many joints. Those of the chain are on top."""
    others = np.setdiff1d(panel.joints, panel.chain)
    few = len(others) <= _MANY_JOINTS
    for rows, colour, area in ((others, _BONE, 20.0 if few else 7.0), (panel.chain, _CHAIN, 28.0)):
        x, y = project_points(panel.points[rows]).T
        edge = 0.7 if few or rows is panel.chain else 0.0
        axes.scatter(x, y, s=area, c=colour, edgecolors=PAPER, linewidths=edge, zorder=3)


def _draw_target(axes: Any, panel: Panel, target: Floats, ground: float) -> None:
    """Draw the target, its plumb line and the remaining distance."""
    x, y = project_points(target)
    foot = project_points(target * [1, 1, 0] + [0, 0, ground])
    axes.plot([x, foot[0]], [y, foot[1]], color=_TARGET, lw=0.8, ls=(0, (1, 3)), alpha=0.7, zorder=1)
    axes.plot(*foot, marker="o", ms=2.5, color=_TARGET, alpha=0.7, zorder=1)
    if len(panel.chain):
        tip = project_points(panel.points[panel.chain[-1]])
        axes.plot([tip[0], x], [tip[1], y], color=_TARGET, lw=1.2, ls=(0, (4, 2)), zorder=4)
    axes.plot(x, y, marker="+", ms=15, mew=4.2, color=PAPER, zorder=5)
    axes.plot(x, y, marker="+", ms=13, mew=2.2, color=_TARGET, zorder=6)


def _write_label(figure: Any, x: float, y: float, panel: Panel, scene: Scene) -> None:
    figure.text(x, y, panel.label, size=10.5, color=_INK, ha="center", va="bottom")
    if scene.target is not None and len(panel.chain):
        distance = float(np.linalg.norm(panel.points[panel.chain[-1]] - scene.target))
        away = _format_distance(distance, panel.pose.skeleton, float(np.ptp(panel.points, axis=0).max()))
        offset = 0.05 / figure.get_figheight()
        figure.text(x, y - offset, away, size=8.5, color=_MUTED, ha="center", va="top")


def _format_distance(distance: float, skeleton: Skeleton, extent: float) -> str:
    """Format the distance between tip and target. Below a thousandth of a millimetre it counts as zero.

    With an unknown unit the bound is a millionth of the drawn extent.
    """
    metres = skeleton.metres_per_unit
    if distance <= (_ZERO_DISTANCE_M * extent if metres is None else _ZERO_DISTANCE_M / metres):
        return "at the target"
    return f"{_format_length(distance, skeleton)} from the target"


def _format_length(value: float, skeleton: Skeleton) -> str:
    """Format a length in metres, millimetres or file units."""
    if skeleton.metres_per_unit is None:
        return f"{format_number(value, 3)} units"
    metres = value * skeleton.metres_per_unit
    return f"{metres:.3g} m" if metres >= 0.1 else f"{format_number(1000 * metres, 3, 1000)} mm"  # noqa: PLR2004
