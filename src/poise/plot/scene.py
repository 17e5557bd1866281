"""Layout of a picture: characters, ground grid, error curve, projection.

Scenes have z up and are computed before drawing; `draw_curve` draws the error curve of a solve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arguments import check_entries, check_names, check_text
from poise.maths.arrays import Bools, Floats, Ints, abbreviate, finite
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.plot.limit_outlines import Outline, build_outlines
from poise.problem.dof_layout import POSITION
from poise.solvers.base.interface import Trace
from poise.solving.result import Result

# --- Error curve and tip path of a traced solve ----------------------------------------------------------------------


_RESTART_ERROR_RATIO = 2.0  # error ratio that marks a restart in traces without rows for the starts of restarts
_SAME_ANSWER_DISTANCE = 1e-2  # [rad, file units] distance in q: the first restart this close to the best pose led to it
_MANY_RESTARTS = 4  # restarts drawn as lines; with more, the best error is a line and iterations are dots
_MAX_TOLERANCE_RATIO = 100.0  # ratio of smallest error to tolerance above which the tolerance is noted instead of drawn
_MIN_LOG_RATIO = 10.0  # ratio of errors up to which the axis stays linear


class ErrorCurve(NamedTuple):
    """Errors (rows,) over iterations (rows,), with restarts and axis label."""

    errors: Floats
    iterations: Floats
    is_restart_start: Bools
    tolerance: float | None
    axis_label: str


def build_error_curve(result: Result) -> ErrorCurve | None:
    """Build the error curve of a traced result. None without a trace or iterations."""
    trace = result.trace
    if trace is None or not result.iterations:
        return None
    measures = result.problem.measures
    is_single_position = len(measures) == 1 and measures[0].kind == POSITION
    unit = "m" if result.problem.skeleton.metres_per_unit == 1.0 else "file units"
    axis_label = f"distance left [{unit}]" if is_single_position else "weighted error of all goals"
    count = int(result.iterations)
    is_restart_start = _find_restarts(trace, count)
    return ErrorCurve(
        trace.errors,
        _count_iterations(is_restart_start, count),
        is_restart_start,
        result.tolerance if is_single_position else None,
        axis_label,
    )


def find_tip_trail(result: Result, joint: str) -> Floats | None:
    """Find the tip path (t, 3) of the best restart. None without a trace or iterations.

    Steps with a larger error are omitted, since solvers reject them.
    """
    trace = result.trace
    if trace is None or not result.iterations:
        return None
    rows = _find_best_restart(trace, _find_restarts(trace, int(result.iterations)))
    errors = trace.errors[rows]
    q = trace.q[rows][errors <= np.minimum.accumulate(errors)]
    return result.problem.make_pose(q).world_of(joint).positions


def _find_restarts(trace: Trace, iterations: int) -> Bools:
    """Find the rows (t,) with the start of a restart.

    Rows beyond the number of iterations are restarts; they are placed at the largest jumps of the pose.
    """
    begins = np.arange(len(trace.errors)) == 0
    extra = len(begins) - 1 - iterations
    if extra > 0:
        leaps = np.linalg.norm(np.diff(trace.q, axis=0), axis=-1)
        begins[1 + np.argsort(-leaps, kind="stable")[:extra]] = True
    else:
        begins[1:] = trace.errors[1:] > _RESTART_ERROR_RATIO * trace.errors[:-1]
    return begins


def _find_best_restart(trace: Trace, is_restart_start: Bools) -> slice:
    """Find the rows of the restart with the best pose. A solver may return to it at the end, to refine it."""
    best = int(np.argmin(trace.errors))
    first_near = int(np.argmax(np.linalg.norm(trace.q - trace.q[best], axis=-1) < _SAME_ANSWER_DISTANCE))
    starts = np.append(np.flatnonzero(is_restart_start), len(is_restart_start))
    attempt = int(np.searchsorted(starts, first_near, side="right"))
    return slice(int(starts[attempt - 1]), min(int(starts[attempt]), best + 1))


def _count_iterations(is_restart_start: Bools, count: int) -> Floats:
    """Count the iterations before each row. The last row counts all of them, as elsewhere."""
    rows = len(is_restart_start)
    if rows - 1 <= count:
        return np.linspace(0, count, rows)  # shortened traces have at least start and result
    return np.cumsum(~is_restart_start).astype(np.float64)


def draw_curve(axes: Any, curve: ErrorCurve, colours: tuple[str, str, str]) -> None:
    """Draw the error curve on Matplotlib axes. `colours` are those of line, tolerance and text."""
    line, _, ink = colours
    min_error = np.min(curve.errors[curve.errors > 0], initial=1.0)
    errors, restart_count = np.maximum(curve.errors, 0.1 * min_error), int(curve.is_restart_start.sum())
    if restart_count > _MANY_RESTARTS:
        axes.plot(curve.iterations, errors, color=line, ls="", marker="o", ms=1.5, mew=0, alpha=0.25,
                  label="each iteration")  # fmt: skip
        axes.plot(curve.iterations, np.minimum.accumulate(errors), color=line, lw=1.6, label="best so far")
        axes.legend(fontsize=8, frameon=False, labelcolor=ink, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2,
                    borderaxespad=0.2, columnspacing=1.0, handlelength=1.4, markerscale=2.0)  # fmt: skip
    else:
        restart_rows = np.flatnonzero(curve.is_restart_start)[1:]
        x, y = (np.insert(values, restart_rows, np.nan) for values in (curve.iterations, errors))
        axes.plot(x, y, color=line, lw=1.6, marker="o", ms=2.5)
    _draw_tolerance(axes, curve, colours)
    axes.set_xlabel(
        "iterations" if restart_count == 1 else f"iterations, in {restart_count} restarts", size=8.5, color=ink
    )
    axes.set_ylabel(curve.axis_label, size=8.5, color=ink)
    axes.tick_params(labelsize=8, colors=ink, which="both")
    axes.xaxis.get_major_locator().set_params(integer=True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_tolerance(axes: Any, curve: ErrorCurve, colours: tuple[str, str, str]) -> None:
    """Draw the tolerance as a line or a note. It also sets the axis range."""
    _, tolerance_colour, _ = colours
    tolerance, min_error = curve.tolerance or 0.0, curve.errors.min()
    is_far_below = tolerance > 0.0 and min_error > _MAX_TOLERANCE_RATIO * tolerance
    if not is_far_below or curve.errors.max() > _MIN_LOG_RATIO * min_error:
        axes.set_yscale("log")
    if not tolerance:
        return
    note, note_position, coordinate_system = "tolerance", (0, tolerance), ("axes fraction", "data")
    if is_far_below:
        note, note_position, coordinate_system = f"tolerance: {tolerance:.3g}, far below", (0, 0), "axes fraction"
        axes.margins(y=0.12)  # margin for the text
    else:
        axes.axhline(tolerance, color=tolerance_colour, lw=1.0, ls=(0, (4, 2)))
    axes.annotate(
        note,
        note_position,
        xycoords=coordinate_system,
        xytext=(3, 3),
        textcoords="offset points",
        ha="left",
        size=8,
        color=tolerance_colour,
    )


# --- Scene of poses --------------------------------------------------------------------------------------------------


_AZIMUTH_RAD, _ELEVATION_RAD = math.radians(38.0), math.radians(14.0)
_Z_UP_ORDERS = {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}  # cyclic, which keeps left on the left
_HELPER_LENGTH_RATIO = 0.3  # smallest length of a helper bone, as a fraction of the figure
_MAX_JOINTS_WITHOUT_HELPERS = 6  # joints; skeletons of at most this size have no helper bones
_MAX_TEXT_LENGTH = 200  # characters of a title or a label: at 0.11 inch each they already make a picture 22 inches wide


class Panel(NamedTuple):
    """One pose for drawing, with z up, in file units."""

    label: str
    pose: Pose
    points: Floats  # (n, 3)
    joints: Ints  # joints of the figure without helpers
    bones: Ints  # (k, 2) rows parent, child
    is_helper: Bools  # (k,) helper bones
    chain: Ints  # joints to highlight
    limits: list[Outline]
    trail: Floats | None  # (t, 3) path of the tip
    poles: Floats  # (p, 2, 3) from each middle joint to the point of its pole


class Scene(NamedTuple):
    """Target, ground and extent, shared by all panels."""

    target: Floats | None
    ground: float
    step: float  # between grid lines
    grid: Floats  # (k, 2, 3) line segments
    low: Floats  # (2,) of the projected picture
    high: Floats


def prepare_scene(
    poses: Sequence[tuple[str, Pose]],
    target: ArrayLike | None,
    chain: Sequence[str],
    *,
    limited: Sequence[str] = (),
    trail: Result | None = None,
    poles: Sequence[tuple[str, Floats]] = (),
) -> tuple[list[Panel], Scene]:
    """Check the arguments of draw_poses and compute the layout.

    Parameters
    ----------
    poses, target, chain
        See `draw_poses`.
    limited
        Names of the joints with drawn limits.
    trail
        The result for the tip path in the last pose.
    poles
        Middle joint and world point (3,) of each drawn pole.
    """
    pairs = check_entries(poses, "the poses to draw", "[('rest', rig.rest)]")
    poses = [_check_pair(pair) for pair in pairs]
    chain = check_names(chain, "the joints of the chain")
    if not poses:
        message = "draw_poses needs at least one (label, pose)"
        raise InputError(message)
    order = find_z_up_order(poses[0][1])
    panels = [_build_panel(label, pose, chain, order, limited, poles) for label, pose in poses]
    trail_points = None if trail is None or not chain else find_tip_trail(trail, chain[-1])
    if trail_points is not None:
        panels[-1] = panels[-1]._replace(trail=trail_points[:, order])
    point = None
    if target is not None:
        point = finite(target, "the target", last=3)
        if point.shape != (3,):
            message = f"the target is one point of three numbers; got an array of shape {point.shape}"
            raise InputError(message)
        point = point[order]
    return panels, _build_scene(panels, point)


def check_plain_text(value: Any, label: str) -> str:
    """Check and return a title or a label. It has at most 200 characters, because a picture is as wide as its text."""
    words = check_text(value, label)
    if len(words) > _MAX_TEXT_LENGTH:
        message = f"{label} of a picture has at most {_MAX_TEXT_LENGTH} characters, not {len(words)}"
        raise InputError(message)
    return words


def _check_pair(pair: Any) -> tuple[str, Pose]:
    if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Pose):  # pyright: ignore[reportUnknownArgumentType]  # noqa: PLR2004  # pyright: ignore[reportUnknownArgumentType]
        message = f"poses are drawn as pairs such as ('rest', rig.rest), not {abbreviate(pair)}"
        raise InputError(message)
    label, pose = cast("tuple[Any, Pose]", pair)
    return check_plain_text(label, "the label"), pose


def _build_panel(
    label: str, pose: Pose, chain: Sequence[str], order: list[int], limited: Sequence[str] = (),
    poles: Sequence[tuple[str, Floats]] = (),
) -> Panel:  # fmt: skip
    if pose.shape:
        message = f"pose {label!r} is a batch of shape {pose.shape}; draw one of it: pose[0]"
        raise InputError(message)
    skeleton = pose.skeleton
    points = pose.world.positions[:, order]
    rows = np.array([skeleton.index(name) for name in chain], dtype=np.int64)
    is_drawn = _find_drawn_joints(skeleton)
    is_helper = _find_helper_bones(skeleton, pose.with_q(skeleton.rest_q).world.positions, is_drawn)
    is_helper[rows] = False
    child = np.flatnonzero(is_drawn & (skeleton.parents >= 0) & is_drawn[skeleton.parents])
    bones = np.stack([skeleton.parents[child], child], axis=-1)
    isolated_joints = np.setdiff1d(np.flatnonzero(is_drawn), bones)  # a flat hand rig consists of these only
    joints = np.unique(np.concatenate([bones[~is_helper[child]].ravel(), isolated_joints, rows]))
    size = float(np.ptp(points[joints], axis=0).max(initial=0.0)) or 1.0
    limits = [Outline([line[:, order] for line in lines], end) for lines, end in build_outlines(pose, limited, size)]
    pole_lines = np.array([[points[skeleton.index(name)], point[order]] for name, point in poles]).reshape(-1, 2, 3)
    return Panel(label, pose, points, joints, bones, is_helper[child], rows, limits, None, pole_lines)


def find_z_up_order(pose: Pose) -> list[int]:
    """Find the coordinate order for drawing with the third axis up.

    It uses the file's own up axis; without one, the longer extent of y and z.
    """
    up = pose.skeleton.up
    if up is None:
        extent = np.ptp(pose.world.positions, axis=0)
        up = "z" if extent[2] > extent[1] else "y"
    return _Z_UP_ORDERS[up]


def _find_drawn_joints(skeleton: Skeleton) -> Bools:
    """Find the drawn joints (n,) of a skeleton.

    Joints above the first moving one are omitted, except the base of a robot.
    """
    is_drawn = np.zeros(len(skeleton), dtype=bool)
    for i, parent in enumerate(skeleton.parents):
        is_drawn[i] = skeleton.kinds[i] != Kind.FIXED or (parent >= 0 and is_drawn[parent])
    if not is_drawn.any() or skeleton.kinds[is_drawn.argmax()] in (Kind.HINGE, Kind.SLIDE):
        is_drawn[:] = True
    return is_drawn


def _find_helper_bones(skeleton: Skeleton, points: Floats, is_drawn: Bools) -> Bools:
    """Find the joints (n,) with a helper bone to their parent. Helper bones are drawn faintly.

    Control and pole bones are long, start at the top of the tree and have few descendants. The long bone from a root on
    the ground to the hips differs: it leads to the figure. `points` (n, 3) are the rest positions, so that all panels
    of a figure agree.
    """
    is_helper = np.zeros(len(skeleton), dtype=bool)
    if len(skeleton) <= _MAX_JOINTS_WITHOUT_HELPERS or not (skeleton.kinds >= Kind.BALL).any():
        return is_helper
    lengths = np.linalg.norm(points - points[np.maximum(skeleton.parents, 0)], axis=-1)
    min_length = _HELPER_LENGTH_RATIO * np.ptp(points[is_drawn], axis=0).max()
    depth = np.zeros(len(skeleton), dtype=np.int64)  # drawn joints above
    for i, parent in enumerate(skeleton.parents):
        if parent < 0 or not is_drawn[parent]:
            continue
        depth[i] = depth[parent] + 1
        is_control = skeleton.moving_depth[i] <= 2  # noqa: PLR2004  (a hand or foot with its toe)
        limbs = [child for child in skeleton.children[parent] if skeleton.moving_depth[child] > 2]  # noqa: PLR2004
        is_helper[i] = depth[i] <= 2 and lengths[i] > min_length and (is_control or limbs == [i])  # noqa: PLR2004
        is_helper[i] |= is_control and is_helper[parent] and skeleton.moving_depth[parent] <= 3  # noqa: PLR2004  (hangs from one)
    return is_helper


def _build_scene(panels: list[Panel], target: Floats | None) -> Scene:
    solid = np.concatenate([panel.points[panel.joints] for panel in panels])
    points = solid if target is None else np.concatenate([solid, target[None]])
    ground = float(points[:, 2].min())
    size = float(np.ptp(points, axis=0).max()) or 1.0
    step = _choose_grid_step(size / 6)
    grid = _build_grid(points, ground, step)
    lines = [line for panel in panels for outline in panel.limits for line in outline.lines]
    trails = [panel.trail for panel in panels if panel.trail is not None]
    poles = [panel.poles.reshape(-1, 3) for panel in panels]
    corners = project_points(np.concatenate([points, grid.reshape(-1, 3), *lines, *trails, *poles]))
    margin = 0.03 * size
    return Scene(target, ground, step, grid, corners.min(axis=0) - margin, corners.max(axis=0) + margin)


def _choose_grid_step(length: float) -> float:
    """Choose a grid step of 1, 2 or 5 powers of ten. It is the largest at most `length`."""
    power = 10.0 ** math.floor(math.log10(length))
    return power * max(factor for factor in (1, 2, 5) if factor * power <= length * (1 + 1e-9))


def _build_grid(points: Floats, ground: float, step: float) -> Floats:
    """Build the ground grid as line segments (k, 2, 3). They lie under the points, on multiples of the step."""
    low = np.floor(points[:, :2].min(axis=0) / step - 0.5)
    high = np.ceil(points[:, :2].max(axis=0) / step + 0.5)
    along_x = [[(low[0], j, 0.0), (high[0], j, 0.0)] for j in np.arange(low[1], high[1] + 1)]
    along_y = [[(i, low[1], 0.0), (i, high[1], 0.0)] for i in np.arange(low[0], high[0] + 1)]
    return np.array(along_x + along_y) * step + [0.0, 0.0, ground]


def project_points(points: Floats) -> Floats:
    """Project points (..., 3) to screen coordinates (..., 2).

    It is a parallel projection, right and up, in file units.
    """
    a, e = _AZIMUTH_RAD, _ELEVATION_RAD
    right = [-math.sin(a), math.cos(a), 0.0]
    up = [-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)]
    return points @ np.array([right, up]).T


def compute_depth(points: Floats) -> Floats:
    """Compute the depth of points (..., 3) towards the viewer."""
    a, e = _AZIMUTH_RAD, _ELEVATION_RAD
    return points @ np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
