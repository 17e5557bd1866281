"""Pictures of poses and solves, drawn as SVG without Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.formatting import format_count
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.pose import Pose
from poise.notebook.cards import format_figure
from poise.plot.error_curve import ErrorCurve, build_error_curve, find_tip_path
from poise.plot.scene_drawing import find_chain_bones
from poise.plot.scene_layout import Panel, find_z_up_order, prepare_scene, project_points
from poise.problem.dof_layout import POSITION
from poise.problem.goal_errors import compute_goal_point
from poise.problem.goal_ranges import get_reference
from poise.problem.target_parsing import MAX_COORDINATE
from poise.solving.result import Result
from poise.svg.charts import Axis, draw_grid, draw_polyline
from poise.svg.figures import Crop, compute_crop, draw_bones, draw_joints, draw_line, draw_target, open_svg

_LONG_SIDE, _MIN_SIDE, _MARGIN_SHARE = 280.0, 150.0, 0.08  # px, px, share of the extent
_MAX_BONES, _MAX_JOINT_DOTS = 1_000, 60  # bones of all poses of a picture; joints of a chain that are drawn as dots
_JOINT_RADIUS = 2.4  # px
_MAX_TARGETS = 50  # targets of a picture
_MAX_CURVE_POINTS = 400  # points of an error curve, and of the path of a tip
_STRIP_GAP = 1.15  # distance of poses side by side, in widths of the widest
_CURVE_WIDTH, _CURVE_HEIGHT = 300.0, 200.0  # px
_CURVE_MARGINS = (44.0, 8.0, 22.0, 34.0)  # px at the left, right, top and bottom
_MIN_ITERATIONS = 5.0  # length of the axis of iterations
_MIN_ERROR_SHARE = 1e-12  # share of the largest error: smaller ones are drawn there
_NO_PICTURE = "No picture: positions of joints are not finite or too far away."


class _Marks(NamedTuple):
    """Projected targets, gaps and path of the tip.

    Targets are (k, 2), gaps (g, 2, 2) from goal points to their targets, and the path is (t, 2).
    """

    targets: Floats
    gaps: Floats
    tip_path: Floats | None


def draw_pose(pose: Pose, description: str) -> str:
    """Draw a single pose as a figure. A text takes its place where positions are not finite or too far."""
    return draw_poses([pose], description)


def draw_poses(poses: Sequence[Pose], description: str, caption: str = "") -> str:
    """Draw single poses of one skeleton side by side, with one scale.

    Parameters
    ----------
    poses
        Single poses, at least one.
    description
        Text for screen readers.
    caption
        Text below the picture.
    """
    if not all(_is_near(pose) for pose in poses):
        return f"<p>{_NO_PICTURE}</p>"
    panels, _ = prepare_scene([("", pose) for pose in poses], None, [])
    projections = [project_points(panel.points) for panel in panels]
    shown_rows = [_list_shown_joints(panel) for panel in panels]
    widths = [float(np.ptp(points[rows, 0])) for points, rows in zip(projections, shown_rows, strict=True)]
    for i, points in enumerate(projections):
        points[:, 0] += i * _STRIP_GAP * max(widths) - points[shown_rows[i], 0].mean()
    shown_points = np.concatenate([points[rows] for points, rows in zip(projections, shown_rows, strict=True)])
    crop = _fit_crop(shown_points, is_strip=len(poses) > 1)
    width, height = crop.sides.tolist()
    parts = [open_svg(width, height, description)]
    hidden_count = 0
    for panel, points in zip(panels, projections, strict=True):
        is_shown = _select_bones(panel.bones, points, _MAX_BONES // len(panels))
        hidden_count += int((~is_shown).sum())
        parts += _draw_skeleton(panel, crop.to_drawing(points), is_shown)
    captions = [caption] if caption else []
    captions += [_say_left_out(hidden_count)] if hidden_count else []
    return format_figure("".join([*parts, "</svg>"]), width, ". ".join(captions))


def draw_result(result: Result) -> str:
    """Draw the result of one problem: chain before and after, targets, gaps.

    With a trace the path of the tip is drawn, and the error curve stands beside the picture.
    """
    start, pose = result.problem.start, result.pose
    if not _is_near(start) or not _is_near(pose):
        return f"<p>{_NO_PICTURE}</p>"
    goal_joints = _list_goal_joints(result)
    chain = list(dict.fromkeys([*result.joints, *goal_joints]))
    (before, after), _ = prepare_scene([("", start), ("", pose)], None, chain)
    order = find_z_up_order(start)
    marks = _find_marks(result, goal_joints, order)
    start_points, points = project_points(before.points), project_points(after.points)
    paths = [] if marks.tip_path is None else [marks.tip_path]
    joint_rows = _list_shown_joints(after)
    shown_points = [points[joint_rows], start_points[before.chain_rows], marks.targets, marks.gaps.reshape(-1, 2)]
    crop = _fit_crop(np.concatenate([*shown_points, *paths]))
    is_shown = _select_bones(after.bones, points, _MAX_BONES)
    chain_bones = np.array(find_chain_bones(start.skeleton, after.chain_rows.tolist()), dtype=np.int64).reshape(-1, 2)
    chain_bones = chain_bones[_select_bones(chain_bones, points, _MAX_BONES)]
    is_shown &= ~np.isin(after.bones[:, 1], chain_bones[:, 1])
    drawn_points = crop.to_drawing(points)
    width, height = crop.sides.tolist()
    parts = [open_svg(width, height, f"pose of a solve: {result.status!s}")]
    parts += _draw_skeleton(after, drawn_points, is_shown)
    parts.append(draw_bones("was", crop.to_drawing(start_points), chain_bones))
    parts.append(draw_bones("limb", drawn_points, chain_bones))
    parts.append(draw_joints("joint", drawn_points[after.chain_rows[:_MAX_JOINT_DOTS]], _JOINT_RADIUS))
    parts += [draw_line("tip", crop.to_drawing(path)) for path in paths]
    parts += [draw_line("gap", crop.to_drawing(gap)) for gap in marks.gaps]
    parts += [draw_target(crop.to_drawing(target)) for target in marks.targets]
    captions = ["Dashed: the chain at the start"]
    captions += ["Ring with a cross: a target"] if len(marks.targets) else []
    captions += ["Thin line: the path of the tip"] if paths else []
    hidden_count = len(after.bones) - int(is_shown.sum()) - len(chain_bones)
    captions += [_say_left_out(hidden_count)] if hidden_count > 0 and len(after.bones) > _MAX_BONES else []
    curve = build_error_curve(result)
    curve_html = "" if curve is None else draw_error_curve(curve)
    return format_figure("".join([*parts, "</svg>"]), width, ". ".join(captions)) + curve_html


def draw_error_curve(curve: ErrorCurve) -> str:
    """Draw the smallest error so far over iterations. The error axis is logarithmic."""
    is_finite = np.isfinite(curve.errors)
    iterations, errors = curve.iterations[is_finite], curve.errors[is_finite]
    if not len(errors):
        return "<p>No error curve: errors are not finite.</p>"
    errors = np.minimum.accumulate(errors)
    rows = _thin_rows(len(errors))
    iterations, errors = iterations[rows], np.maximum(errors[rows], max(_MIN_ERROR_SHARE * float(errors[0]), 1e-300))
    left, right, top, bottom = _CURVE_MARGINS
    levels = [*errors.tolist(), *([curve.tolerance] if curve.tolerance else [])]
    y_axis = Axis(min(levels) / 1.5, max(levels) * 1.5, _CURVE_HEIGHT - bottom, top, is_log=True)
    x_axis = Axis(0.0, max(float(iterations[-1]), _MIN_ITERATIONS), left, _CURVE_WIDTH - right)
    parts = [open_svg(_CURVE_WIDTH, _CURVE_HEIGHT, "error after each iteration"), *draw_grid(x_axis, y_axis)]
    if curve.tolerance:
        parts.append(f'<path class="level" d="M{left:g} {float(y_axis.locate(curve.tolerance)):.1f}H{x_axis.end:g}"/>')
    parts.append(draw_polyline("error", x_axis.locate(iterations), y_axis.locate(errors)))
    parts.append(f'<text x="2" y="12">{curve.axis_label}</text>')
    parts.append(f'<text x="{x_axis.end:g}" y="{_CURVE_HEIGHT - 4:g}" text-anchor="end">iterations</text></svg>')
    captions = ["The smallest error so far"]
    captions += ["Dashed: the tolerance"] if curve.tolerance else []
    return format_figure("".join(parts), _CURVE_WIDTH, ". ".join(captions))


def _is_near(pose: Pose) -> bool:
    """Return whether sums of positions are finite. Not a number is not near."""
    with np.errstate(all="ignore"):
        return bool((np.abs(pose.world.positions) <= MAX_COORDINATE).all())


def _list_shown_joints(panel: Panel) -> Ints:
    """List the joints inside the picture. These are all where the figure has none."""
    return panel.joint_rows if len(panel.joint_rows) else np.arange(len(panel.points))


def _fit_crop(points: Floats, *, is_strip: bool = False) -> Crop:
    """Fit the crop of a picture. A strip of poses is wider."""
    return compute_crop(points, 1.5 * _LONG_SIDE if is_strip else _LONG_SIDE, _MIN_SIDE, _MARGIN_SHARE)


def _select_bones(bones: Ints, points: Floats, max_count: int) -> Bools:
    """Select the longest bones as a mask (k,)."""
    lengths = np.linalg.norm(points[bones[:, 0]] - points[bones[:, 1]], axis=-1)
    is_selected = np.zeros(len(bones), dtype=np.bool_)
    is_selected[np.argsort(-lengths, kind="stable")[:max_count]] = True
    return is_selected


def _draw_skeleton(panel: Panel, points: Floats, is_shown: Bools) -> list[str]:
    """Draw the bones of a pose, helper bones faintly. Joints without bones are dots."""
    parts = [
        draw_bones("helper", points, panel.bones[is_shown & panel.is_control_bone]),
        draw_bones("bone", points, panel.bones[is_shown & ~panel.is_control_bone]),
    ]
    if not len(panel.bones):
        parts.append(draw_joints("joint", points[panel.joint_rows[:_MAX_JOINT_DOTS]], _JOINT_RADIUS))
    return parts


def _say_left_out(count: int) -> str:
    return f"Left out: {format_count(count, 'short bone')}"


def _list_goal_joints(result: Result) -> list[str]:
    joints = [getattr(goal, "joint", None) for goal in result.problem.goals]
    return [joint for joint in joints if isinstance(joint, str)]


def _find_marks(result: Result, goal_joints: Sequence[str], order: list[int]) -> _Marks:
    """Find targets, gaps and path of the tip in the world.

    Targets in the frame of a joint are not drawn.
    """
    problem, goals = result.problem, result.goals
    shown_goals = [(i, target) for i, goal in enumerate(goals) if (target := _find_target(goal)) is not None]
    shown_goals = shown_goals[:_MAX_TARGETS]
    measures = {measure.goal_index: measure for measure in problem.measures if measure.kind == POSITION}
    pose = problem.make_pose(result.q[None])
    gaps: list[Floats] = []
    for goal_index, target in shown_goals:
        if goal_index in measures:
            point = compute_goal_point(pose, measures[goal_index], problem.goals[goal_index])[0]
            gaps.append(np.stack([point, target]))
    tip_path = find_tip_path(result, goal_joints[0]) if goal_joints else None
    if tip_path is not None:
        tip_path = project_points(tip_path[_thin_rows(len(tip_path))][:, order])
    targets = np.array([target for _, target in shown_goals]).reshape(-1, 3)
    gap_points = np.array(gaps).reshape(-1, 2, 3)
    return _Marks(project_points(targets[:, order]), project_points(gap_points[..., order]), tip_path)


def _find_target(goal: object) -> Floats | None:
    """Find the target point (3,) of a goal in the world."""
    point = getattr(goal, "position", None) if hasattr(goal, "position") else getattr(goal, "target", None)
    is_point = isinstance(point, np.ndarray) and point.shape == (3,) and bool(np.isfinite(point).all())
    return point if is_point and get_reference(goal) is None else None


def _thin_rows(count: int) -> Ints:
    """Thin rows out evenly. The first and the last row stay."""
    return np.unique(np.linspace(0, count - 1, min(count, _MAX_CURVE_POINTS)).round().astype(np.int64))
