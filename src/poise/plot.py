"""Pictures of poses: stick figures side by side, with the solved chain and the target.

Matplotlib is imported only when a picture is made: it is the extra `poise[plot]`. The figure is projected
here, in parallel and onto plain axes: every length keeps its proportion and nearer bones cover farther ones.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from poise.arrays import Bools, Floats, Ints, finite
from poise.errors import InputError, UnsupportedError
from poise.io._files import write_atomically
from poise.skeleton import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

    from poise.pose import Pose
    from poise.skeleton import Skeleton

SUFFIXES = (".png", ".svg", ".pdf")

# Okabe and Ito's palette: these stay apart for colour-blind readers and in grey print.
_CHAIN, _TARGET, _BONE, _FAINT = "#0072B2", "#D55E00", "#5F6B76", "#C9CFD5"
_INK, _MUTED, _GRID, _SHADOW, _PAPER = "#1F2933", "#6B7680", "#E4E8EB", "#EDEFF1", "#FFFFFF"

_AZIMUTH, _ELEVATION = math.radians(38.0), math.radians(14.0)
_TO_Z_UP = {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}  # cyclic, so that left stays left
_HEIGHT = 3.9  # of a panel [inch]
_LETTER = 0.11  # of the title [inch]: panels are at least as wide as their words
_FAR = 0.3  # a helper bone is longer than this share of the figure
_MANY = 40  # joints; more are drawn as small dots
_FEW = 6  # rows; smaller skeletons have no helper bones


class _Panel(NamedTuple):
    """One pose, ready to draw: z is up, still in file units."""

    label: str
    pose: Pose
    points: Floats  # (n, 3)
    joints: Ints  # rows of the figure's joints, helpers left out
    bones: Ints  # (k, 2) rows parent, child
    faint: Bools  # (k,) helper bones
    chain: Ints  # rows to highlight


class _Scene(NamedTuple):
    """What all panels share."""

    target: Floats | None
    ground: float
    step: float  # between grid lines
    grid: Floats  # (k, 2, 3) line segments
    low: Floats  # (2,) of the projected picture
    high: Floats


def draw_poses(
    path: str | PathLike[str],
    poses: Sequence[tuple[str, Pose]],
    *,
    target: ArrayLike | None = None,
    chain: Sequence[str] = (),
    title: str = "",
) -> None:
    """Draw labelled poses side by side as stick figures and write the picture.

    path    ends with .png, .svg or .pdf
    poses   (label, pose) pairs, drawn from left to right at one scale; single poses, not batches
    target  (3,) a point [file units]; with a chain, the distance from its last joint is drawn and written
    chain   names of the joints to highlight, from root to tip, the tip included

    Up is the skeleton's; where the file does not say, y or z, whichever the figure extends along more.
    Rows above the first joint are left out; helper bones far from the figure are drawn faintly.

    Raises InputError for another suffix, no poses, a batch or a target that is not three numbers,
    UnknownNameError for a joint of the chain, FileError where the file cannot be written, and
    UnsupportedError without Matplotlib.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        message = f"cannot draw to {path.name!r}: the name of a picture ends with {', '.join(SUFFIXES)}"
        raise InputError(message)
    data = _rendered(path.suffix.lower()[1:], *_prepared(poses, target, chain), title)
    write_atomically(path, data)


def _prepared(
    poses: Sequence[tuple[str, Pose]], target: ArrayLike | None, chain: Sequence[str]
) -> tuple[list[_Panel], _Scene]:
    if not poses:
        message = "draw_poses needs at least one (label, pose)"
        raise InputError(message)
    order = _TO_Z_UP[_up(poses[0][1])]
    panels = [_panel(label, pose, chain, order) for label, pose in poses]
    point = None
    if target is not None:
        point = finite(target, "the target", last=3)
        if point.shape != (3,):
            message = f"the target is one point of three numbers; got an array of shape {point.shape}"
            raise InputError(message)
        point = point[order]
    return panels, _scene(panels, point)


def _panel(label: str, pose: Pose, chain: Sequence[str], order: list[int]) -> _Panel:
    if pose.shape:
        message = f"pose {label!r} is a batch of shape {pose.shape}; draw one of it: pose[0]"
        raise InputError(message)
    skeleton = pose.skeleton
    points = pose.world.positions[:, order]
    rows = np.array([skeleton.index(name) for name in chain], dtype=np.int64)
    drawn = _drawn(skeleton)
    faint = _helpers(skeleton, pose.with_q(skeleton.rest_q).world.positions, drawn)
    faint[rows] = False
    child = np.flatnonzero(drawn & (skeleton.parents >= 0) & drawn[skeleton.parents])
    bones = np.stack([skeleton.parents[child], child], axis=-1)
    alone = np.setdiff1d(np.flatnonzero(drawn), bones)  # a flat hand rig is nothing but these
    joints = np.unique(np.concatenate([bones[~faint[child]].ravel(), alone, rows]))
    return _Panel(label, pose, points, joints, bones, faint[child], rows)


def _up(pose: Pose) -> str:
    if pose.skeleton.up is not None:
        return pose.skeleton.up
    extent = np.ptp(pose.world.positions, axis=0)
    return "z" if extent[2] > extent[1] else "y"


def _drawn(skeleton: Skeleton) -> Bools:
    """Which rows (n,) are drawn: none of those above the first joint, except the base of a robot."""
    drawn = np.zeros(len(skeleton), dtype=bool)
    for i, parent in enumerate(skeleton.parents):
        drawn[i] = skeleton.kinds[i] != Kind.FIXED or (parent >= 0 and drawn[parent])
    if not drawn.any() or skeleton.kinds[drawn.argmax()] in (Kind.HINGE, Kind.SLIDE):
        drawn[:] = True
    return drawn


def _helpers(skeleton: Skeleton, points: Floats, drawn: Bools) -> Bools:
    """Which rows (n,) have a bone to their parent that is no part of the figure: drawn faintly.

    Control and pole bones are long, begin at the top of the tree and lead to next to nothing; the bone
    from a root on the ground up to the hips is long and the only one that leads to the figure. `points`
    (n, 3) are the joints' places at rest, so that every panel of a figure shows the same.
    """
    faint = np.zeros(len(skeleton), dtype=bool)
    if len(skeleton) <= _FEW or not (skeleton.kinds >= Kind.BALL).any():
        return faint
    lengths = np.linalg.norm(points - points[np.maximum(skeleton.parents, 0)], axis=-1)
    limit = _FAR * np.ptp(points[drawn], axis=0).max()
    depth = np.zeros(len(skeleton), dtype=np.int64)  # drawn joints above
    for i, parent in enumerate(skeleton.parents):
        if parent < 0 or not drawn[parent]:
            continue
        depth[i] = depth[parent] + 1
        control = skeleton.moving_depth[i] <= 2  # noqa: PLR2004  (a hand or foot with its toe)
        limbs = [child for child in skeleton.children[parent] if skeleton.moving_depth[child] > 2]  # noqa: PLR2004
        faint[i] = depth[i] <= 2 and lengths[i] > limit and (control or limbs == [i])  # noqa: PLR2004
        faint[i] |= control and faint[parent] and skeleton.moving_depth[parent] <= 3  # noqa: PLR2004  (hangs from one)
    return faint


def _scene(panels: list[_Panel], target: Floats | None) -> _Scene:
    solid = np.concatenate([panel.points[panel.joints] for panel in panels])
    points = solid if target is None else np.concatenate([solid, target[None]])
    ground = float(points[:, 2].min())
    size = float(np.ptp(points, axis=0).max()) or 1.0
    step = _nice(size / 6)
    grid = _grid(points, ground, step)
    seen = np.concatenate([_projected(points), _projected(grid.reshape(-1, 3))])
    margin = 0.03 * size
    return _Scene(target, ground, step, grid, seen.min(axis=0) - margin, seen.max(axis=0) + margin)


def _nice(length: float) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten that is at most `length`."""
    power = 10.0 ** math.floor(math.log10(length))
    return power * max(factor for factor in (1, 2, 5) if factor * power <= length * (1 + 1e-9))


def _grid(points: Floats, ground: float, step: float) -> Floats:
    """Line segments (k, 2, 3) of a ground grid under the points, on multiples of the step."""
    low = np.floor(points[:, :2].min(axis=0) / step - 0.5)
    high = np.ceil(points[:, :2].max(axis=0) / step + 0.5)
    along_x = [[(low[0], j, 0.0), (high[0], j, 0.0)] for j in np.arange(low[1], high[1] + 1)]
    along_y = [[(i, low[1], 0.0), (i, high[1], 0.0)] for i in np.arange(low[0], high[0] + 1)]
    return np.array(along_x + along_y) * step + [0.0, 0.0, ground]


def _projected(points: Floats) -> Floats:
    """Screen coordinates (..., 2), right and up, in file units: a parallel projection."""
    a, e = _AZIMUTH, _ELEVATION
    right = [-math.sin(a), math.cos(a), 0.0]
    up = [-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)]
    return points @ np.array([right, up]).T


def _nearness(points: Floats) -> Floats:
    """How near the viewer points (..., 3) are."""
    a, e = _AZIMUTH, _ELEVATION
    return points @ np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])


# --- drawing -----------------------------------------------------------------------------------------


def _rendered(kind: str, panels: list[_Panel], scene: _Scene, title: str) -> bytes:
    """Render to bytes of a file format, the same bytes every time."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  (an extra; starting without it must work and be quick)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        message = "drawing needs Matplotlib: pip install 'poise[plot]'"
        raise UnsupportedError(message) from error
    extent = scene.high - scene.low
    words = max(_LETTER * len(title) / len(panels), *(0.85 * _LETTER * len(panel.label) for panel in panels))
    width = max(float(np.clip(_HEIGHT * extent[0] / extent[1], 2.3, 6.5)), words + 0.2)
    head, foot = (0.95 if title else 0.6), 0.32  # room for words [inch]
    total = (width * len(panels), head + _HEIGHT + foot)
    with mpl.rc_context({"svg.hashsalt": "poise", "font.family": "sans-serif"}):
        figure = Figure(figsize=total, facecolor=_PAPER)
        for k, panel in enumerate(panels):
            axes = figure.add_axes((k / len(panels), foot / total[1], 1 / len(panels), _HEIGHT / total[1]))
            _draw(axes, panel, scene)
            _write_label(figure, (k + 0.5) / len(panels), 1 - (head - 0.38) / total[1], panel, scene)
        if title:
            figure.text(0.5, 1 - 0.12 / total[1], title, size=12, weight="bold", color=_INK, ha="center", va="top")
        grid = f"grid {_length(scene.step, panels[0].pose.skeleton)}"
        figure.text(1 - 0.1 / total[0], 0.1 / total[1], grid, size=8, color=_MUTED, ha="right", va="bottom")
        file = io.BytesIO()
        undated = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
        figure.savefig(file, format=kind, dpi=160, metadata=undated)
    return file.getvalue()


def _draw(axes: Any, panel: _Panel, scene: _Scene) -> None:
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(scene.low[0], scene.high[0])
    axes.set_ylim(scene.low[1], scene.high[1])
    axes.add_collection(LineCollection(list(_projected(scene.grid)), colors=_GRID, linewidths=0.8, zorder=0))
    shadow = panel.points[panel.bones[~panel.faint]] * [1, 1, 0] + [0, 0, scene.ground]
    axes.add_collection(LineCollection(list(_projected(shadow)), colors=_SHADOW, linewidths=4, zorder=1))
    _draw_bones(axes, panel)
    _draw_joints(axes, panel)
    if scene.target is not None:
        _draw_target(axes, panel, scene.target, scene.ground)


def _draw_bones(axes: Any, panel: _Panel) -> None:
    """Draw bones from far to near, each over a wider one in the colour of the paper."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    chain = np.stack([panel.chain[:-1], panel.chain[1:]], axis=-1)
    solved = set(map(tuple, chain.tolist()))
    rows = [(pair, _FAINT if faint else _BONE, 0.8 if faint else 2.2) for pair, faint in
            zip(panel.bones.tolist(), panel.faint, strict=True) if tuple(pair) not in solved]  # fmt: skip
    rows += [(pair, _CHAIN, 3.6) for pair in chain.tolist()]
    segments = panel.points[np.array([pair for pair, _, _ in rows], dtype=np.int64).reshape(-1, 2)]
    far_to_near = np.argsort(_nearness(segments).mean(axis=-1), kind="stable")
    flat = _projected(segments)
    lines = [(flat[k], colour, width) for k in far_to_near
             for colour, width in ((_PAPER, rows[k][2] + 1.0), rows[k][1:])]  # fmt: skip
    axes.add_collection(
        LineCollection(
            [line for line, _, _ in lines],
            colors=[colour for _, colour, _ in lines],
            linewidths=[width for _, _, width in lines],
            capstyle="round",
            zorder=2,
        )
    )


def _draw_joints(axes: Any, panel: _Panel) -> None:
    """Draw dots, smaller where joints are many; the chain's on top."""
    others = np.setdiff1d(panel.joints, panel.chain)
    few = len(others) <= _MANY
    for rows, colour, area in ((others, _BONE, 20.0 if few else 7.0), (panel.chain, _CHAIN, 28.0)):
        x, y = _projected(panel.points[rows]).T
        edge = 0.7 if few or rows is panel.chain else 0.0
        axes.scatter(x, y, s=area, c=colour, edgecolors=_PAPER, linewidths=edge, zorder=3)


def _draw_target(axes: Any, panel: _Panel, target: Floats, ground: float) -> None:
    """Draw a cross at the target, its plumb line to the ground and the way that the tip has left."""
    x, y = _projected(target)
    foot = _projected(target * [1, 1, 0] + [0, 0, ground])
    axes.plot([x, foot[0]], [y, foot[1]], color=_TARGET, lw=0.8, ls=(0, (1, 3)), alpha=0.7, zorder=1)
    axes.plot(*foot, marker="o", ms=2.5, color=_TARGET, alpha=0.7, zorder=1)
    if len(panel.chain):
        tip = _projected(panel.points[panel.chain[-1]])
        axes.plot([tip[0], x], [tip[1], y], color=_TARGET, lw=1.2, ls=(0, (4, 2)), zorder=4)
    axes.plot(x, y, marker="+", ms=15, mew=4.2, color=_PAPER, zorder=5)
    axes.plot(x, y, marker="+", ms=13, mew=2.2, color=_TARGET, zorder=6)


def _write_label(figure: Any, x: float, y: float, panel: _Panel, scene: _Scene) -> None:
    figure.text(x, y, panel.label, size=10.5, color=_INK, ha="center", va="bottom")
    if scene.target is not None and len(panel.chain):
        left = float(np.linalg.norm(panel.points[panel.chain[-1]] - scene.target))
        away = f"{_length(left, panel.pose.skeleton)} from the target"
        offset = 0.05 / figure.get_figheight()
        figure.text(x, y - offset, away, size=8.5, color=_MUTED, ha="center", va="top")


def _length(value: float, skeleton: Skeleton) -> str:
    """Write a length in metres or millimetres where the unit is known, else in the file's units."""
    if skeleton.metres_per_unit is None:
        return f"{value:.3g} units"
    metres = value * skeleton.metres_per_unit
    return f"{metres:.3g} m" if metres >= 0.1 else f"{1000 * metres:.3g} mm"  # noqa: PLR2004
