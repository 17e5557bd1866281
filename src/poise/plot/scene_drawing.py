"""Draw a scene with Matplotlib, imported only when needed."""

from __future__ import annotations

import io
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from poise.errors import UnsupportedError, escape_controls
from poise.formatting import format_number
from poise.maths.arrays import Floats
from poise.model.skeleton import Skeleton
from poise.plot.error_curve import ErrorCurve, draw_curve
from poise.plot.scene_layout import Panel, Scene, compute_depth, project_points

# --- Matplotlib figures, drawn from a scene --------------------------------------------------------------------------
#
# Matplotlib is imported only when a picture is made.


PAPER_COLOUR = "#FFFFFF"
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
        yield Figure(figsize=(width, height), facecolor=PAPER_COLOUR)


def encode_figure(figure: Any, file_format: str) -> bytes:
    """Encode the figure as a file, reproducibly.

    Characters without a glyph are drawn as escapes.
    """
    from matplotlib.text import Text  # noqa: PLC0415  (imported before by the canvas)
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415

    axes = [axis for subplot in figure.axes for axis in (subplot.xaxis, subplot.yaxis)]
    log_axes = [axis for axis in axes if isinstance(axis.get_major_formatter(), LogFormatter)]
    formula_texts = {text for axis in log_axes for text in axis.findobj(Text) if text is not axis.label}
    for text in set(figure.findobj(Text)) - formula_texts:
        text.set_parse_math(False)  # a name with two dollar signs is not a formula
        text.set_text("\n".join(map(escape_controls, text.get_text().split("\n"))))
    file = io.BytesIO()
    figure.savefig(file, format=file_format, dpi=160, metadata=_UNDATED_METADATA[file_format])
    return file.getvalue()


# --- Drawing of scenes -----------------------------------------------------------------------------------------------


# Okabe and Ito's palette: distinguishable for colour-blind readers and in grey print.
_CHAIN_COLOUR, _TARGET_COLOUR, _BONE_COLOUR, _CONTROL_BONE_COLOUR = "#0072B2", "#D55E00", "#5F6B76", "#C9CFD5"
_LIMIT_COLOUR, _TIP_PATH_COLOUR, _POLE_COLOUR = "#009E73", "#CC79A7", "#56B4E9"
_TEXT_COLOUR, _MUTED_COLOUR, _GRID_COLOUR, _SHADOW_COLOUR = "#1F2933", "#6B7680", "#E4E8EB", "#EDEFF1"

_PANEL_HEIGHT_IN = 3.9  # [inch] height of a panel
_CURVE_WIDTH_IN = 3.4  # [inch] width of the error curve
_ENTRY_WIDTH_IN, _LEGEND_ROW_IN = 0.5, 0.2  # [inch] legend: width of an entry without its letters, height of a row
_LETTER_WIDTH_IN = 0.11  # [inch] width of a title's letter: panels are at least as wide as their text
_ZERO_DISTANCE_M = 1e-6  # [m] distance up to which a tip counts as at the target
_MAX_LARGE_DOTS = 40  # joints above which dots are small


def render_scene(
    file_format: str,
    panels: list[Panel],
    scene: Scene,
    title: str,
    curve: ErrorCurve | None = None,
    *,
    has_legend: bool = False,
) -> bytes:
    """Render a scene to bytes of a file format, reproducibly.

    With `has_legend` the names of the lines stand below the figures.
    """
    extent = scene.upper_corner - scene.lower_corner
    text_width = max(
        _LETTER_WIDTH_IN * len(title) / len(panels), *(0.85 * _LETTER_WIDTH_IN * len(panel.label) for panel in panels)
    )
    panel_width = max(float(np.clip(_PANEL_HEIGHT_IN * extent[0] / extent[1], 2.3, 6.5)), text_width + 0.2)
    styles = _list_styles(panels, scene) if has_legend else {}
    legend_rows = -(
        -sum(_ENTRY_WIDTH_IN + _LETTER_WIDTH_IN * len(name) for name in styles) // (panel_width * len(panels))
    )
    head_height, foot_height = (0.95 if title else 0.6), 0.32 + _LEGEND_ROW_IN * legend_rows  # [inch] margins for text
    curve_width = _CURVE_WIDTH_IN if curve is not None else 0.0
    figure_size = (panel_width * len(panels) + curve_width, head_height + _PANEL_HEIGHT_IN + foot_height)
    panel_share = panel_width / figure_size[0]
    with open_canvas(*figure_size) as figure:
        for panel_index, panel in enumerate(panels):
            axes = figure.add_axes(
                (
                    panel_index * panel_share,
                    foot_height / figure_size[1],
                    panel_share,
                    _PANEL_HEIGHT_IN / figure_size[1],
                )
            )
            _draw_panel(axes, panel, scene)
            _write_label(
                figure, (panel_index + 0.5) * panel_share, 1 - (head_height - 0.38) / figure_size[1], panel, scene
            )
        if curve is not None:
            origin = (
                1 - (_CURVE_WIDTH_IN - 0.85) / figure_size[0],
                (foot_height + 0.35) / figure_size[1],
                (_CURVE_WIDTH_IN - 1.1) / figure_size[0],
            )
            axes = figure.add_axes((*origin, (_PANEL_HEIGHT_IN - 0.5) / figure_size[1]), facecolor="none")
            draw_curve(axes, curve, (_CHAIN_COLOUR, _TARGET_COLOUR, _TEXT_COLOUR))
        if title:
            figure.text(
                0.5, 1 - 0.12 / figure_size[1], title, size=12, weight="bold", color=_TEXT_COLOUR, ha="center", va="top"
            )
        if styles:
            _draw_legend(figure, styles, int(legend_rows), panel_share * len(panels) / 2, 0.3 / figure_size[1])
        grid_text = f"grid {_format_length(scene.grid_step, panels[0].pose.skeleton)}"
        figure.text(
            1 - (0.1 + curve_width) / figure_size[0],
            0.1 / figure_size[1],
            grid_text,
            size=8,
            color=_MUTED_COLOUR,
            ha="right",
            va="bottom",
        )
        return encode_figure(figure, file_format)


def _list_styles(panels: list[Panel], scene: Scene) -> dict[str, dict[str, Any]]:
    """List name and looks of each kind of line in the picture."""
    limit_states = {is_at_limit for panel in panels for _, is_at_limit in panel.limits}
    styles: list[tuple[bool, str, dict[str, Any]]] = [
        (scene.target is not None, "target", {"color": _TARGET_COLOUR, "marker": "+", "ms": 9, "mew": 2, "lw": 0}),
        (scene.target is not None, "remaining distance", {"color": _TARGET_COLOUR, "lw": 1.2, "ls": (0, (4, 2))}),
        (scene.target is not None, "height of the target", {"color": _TARGET_COLOUR, "lw": 0.8, "ls": (0, (1, 3))}),
        (
            any(panel.tip_path is not None for panel in panels),
            "path of the tip",
            {"color": _TIP_PATH_COLOUR, "lw": 1.0},
        ),
        (
            any(len(panel.pole_lines) for panel in panels),
            "pole",
            {"color": _POLE_COLOUR, "lw": 1.2, "ls": (0, (5, 1, 1, 1))},
        ),
        (False in limit_states, "limit: directions of the bone", {"color": _LIMIT_COLOUR, "lw": 1.1}),
        (True in limit_states, "limit reached by the joint", {"color": _TARGET_COLOUR, "lw": 1.1}),
    ]
    return {name: line_options for is_drawn, name, line_options in styles if is_drawn}


def _draw_legend(figure: Any, styles: dict[str, dict[str, Any]], rows: int, x: float, y: float) -> None:
    """Write the names of lines in rows, centred at x, above y."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    figure.legend(
        handles=[Line2D([], [], label=name, **line_options) for name, line_options in styles.items()],
        ncols=-(-len(styles) // rows), loc="lower center", bbox_to_anchor=(x, y), fontsize=8, frameon=False,
        labelcolor=_TEXT_COLOUR, borderpad=0.0, handlelength=2.2, columnspacing=1.4,
    )  # fmt: skip


def _draw_panel(axes: Any, panel: Panel, scene: Scene) -> None:
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(scene.lower_corner[0], scene.upper_corner[0])
    axes.set_ylim(scene.lower_corner[1], scene.upper_corner[1])
    axes.add_collection(LineCollection(list(project_points(scene.grid)), colors=_GRID_COLOUR, linewidths=0.8, zorder=0))
    shadow = panel.points[panel.bones[~panel.is_control_bone]] * [1, 1, 0] + [0, 0, scene.ground_height]
    axes.add_collection(LineCollection(list(project_points(shadow)), colors=_SHADOW_COLOUR, linewidths=4, zorder=1))
    _draw_limits(axes, panel)
    _draw_bones(axes, panel)
    _draw_joints(axes, panel)
    if panel.tip_path is not None:
        axes.plot(
            *project_points(panel.tip_path).T, color=_TIP_PATH_COLOUR, lw=1.0, marker="o", ms=1.8, alpha=0.9, zorder=4
        )
    for joint, point in project_points(panel.pole_lines):
        axes.plot(*np.array([joint, point]).T, color=_POLE_COLOUR, lw=1.2, ls=(0, (5, 1, 1, 1)), zorder=3.6)
        axes.plot(*point, marker="D", ms=4, color=_POLE_COLOUR, zorder=3.6)
    if scene.target is not None:
        _draw_target(axes, panel, scene.target, scene.ground_height)


def _draw_limits(axes: Any, panel: Panel) -> None:
    """Draw limit outlines. A touched limit has the target's colour."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    for lines, is_at_limit in panel.limits:
        colour = _TARGET_COLOUR if is_at_limit else _LIMIT_COLOUR
        projected_lines = [project_points(line) for line in lines]
        axes.add_collection(LineCollection(projected_lines, colors=colour, linewidths=1.1, alpha=0.85, zorder=3.5))


def _draw_bones(axes: Any, panel: Panel) -> None:
    """Draw bones from far to near with paper-coloured outlines."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    chain_bones = find_chain_bones(panel.pose.skeleton, panel.chain_rows.tolist())
    chain_pairs = set(chain_bones)
    bone_styles = [
        (pair, _CONTROL_BONE_COLOUR if is_control_bone else _BONE_COLOUR, 0.8 if is_control_bone else 2.2)
        for pair, is_control_bone in zip(panel.bones.tolist(), panel.is_control_bone, strict=True)
        if tuple(pair) not in chain_pairs
    ]
    bone_styles += [([*pair], _CHAIN_COLOUR, 3.6) for pair in chain_bones]
    segments = panel.points[np.array([pair for pair, _, _ in bone_styles], dtype=np.int64).reshape(-1, 2)]
    far_to_near = np.argsort(compute_depth(segments).mean(axis=-1), kind="stable")
    projected = project_points(segments)
    lines = [
        (projected[bone_index], colour, width)
        for bone_index in far_to_near
        for colour, width in ((PAPER_COLOUR, bone_styles[bone_index][2] + 1.0), bone_styles[bone_index][1:])
    ]
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
        if (ancestors := [ancestor for ancestor in skeleton.list_path(row)[:-1] if ancestor in set(chain)])
    ]


def _draw_joints(axes: Any, panel: Panel) -> None:
    """Draw joint dots, smaller for many joints. Those of the chain are on top."""
    other_rows = np.setdiff1d(panel.joint_rows, panel.chain_rows)
    has_large_dots = len(other_rows) <= _MAX_LARGE_DOTS
    for rows, colour, area in (
        (other_rows, _BONE_COLOUR, 20.0 if has_large_dots else 7.0),
        (panel.chain_rows, _CHAIN_COLOUR, 28.0),
    ):
        x, y = project_points(panel.points[rows]).T
        edge_width = 0.7 if has_large_dots or rows is panel.chain_rows else 0.0
        axes.scatter(x, y, s=area, c=colour, edgecolors=PAPER_COLOUR, linewidths=edge_width, zorder=3)


def _draw_target(axes: Any, panel: Panel, target: Floats, ground_height: float) -> None:
    """Draw the target, its plumb line and the remaining distance."""
    x, y = project_points(target)
    ground_point = project_points(target * [1, 1, 0] + [0, 0, ground_height])
    axes.plot(
        [x, ground_point[0]], [y, ground_point[1]], color=_TARGET_COLOUR, lw=0.8, ls=(0, (1, 3)), alpha=0.7, zorder=1
    )
    axes.plot(*ground_point, marker="o", ms=2.5, color=_TARGET_COLOUR, alpha=0.7, zorder=1)
    if len(panel.chain_rows):
        tip = project_points(panel.points[panel.chain_rows[-1]])
        axes.plot([tip[0], x], [tip[1], y], color=_TARGET_COLOUR, lw=1.2, ls=(0, (4, 2)), zorder=4)
    axes.plot(x, y, marker="+", ms=15, mew=4.2, color=PAPER_COLOUR, zorder=5)
    axes.plot(x, y, marker="+", ms=13, mew=2.2, color=_TARGET_COLOUR, zorder=6)


def _write_label(figure: Any, x: float, y: float, panel: Panel, scene: Scene) -> None:
    figure.text(x, y, panel.label, size=10.5, color=_TEXT_COLOUR, ha="center", va="bottom")
    if scene.target is not None and len(panel.chain_rows):
        distance = float(np.linalg.norm(panel.points[panel.chain_rows[-1]] - scene.target))
        distance_text = _format_distance(distance, panel.pose.skeleton, float(np.ptp(panel.points, axis=0).max()))
        offset = 0.05 / figure.get_figheight()
        figure.text(x, y - offset, distance_text, size=8.5, color=_MUTED_COLOUR, ha="center", va="top")


def _format_distance(distance: float, skeleton: Skeleton, extent: float) -> str:
    """Format the distance between tip and target. Below a thousandth of a millimetre it counts as zero.

    With an unknown unit the bound is a millionth of the drawn extent.
    """
    metres = skeleton.metres_per_unit
    if distance <= (_ZERO_DISTANCE_M * extent if metres is None else _ZERO_DISTANCE_M / metres):
        return "at the target"
    return f"{_format_length(distance, skeleton)} from the target"


def _format_length(length: float, skeleton: Skeleton) -> str:
    """Format a length in metres, millimetres or file units."""
    if skeleton.metres_per_unit is None:
        return f"{format_number(length, 3)} units"
    metres = length * skeleton.metres_per_unit
    return f"{metres:.3g} m" if metres >= 0.1 else f"{format_number(1000 * metres, 3, 1000)} mm"  # noqa: PLR2004
