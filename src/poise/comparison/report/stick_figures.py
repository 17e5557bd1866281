"""Stick figures of final poses, side by side. They show an easy, a median and the hardest target for each method."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from poise.comparison.report.method_styles import MethodStyle, format_method
from poise.comparison.results import ComparisonData, find_length_unit
from poise.comparison.runs import MAX_VIOLATION, MethodRun
from poise.comparison.task import Task
from poise.formatting import format_number
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.model.pose import Pose
from poise.plot.scene_layout import Panel, find_z_up_order, prepare_scene, project_points
from poise.problem.dof_layout import POSITION
from poise.problem.goal_errors import compute_goal_point
from poise.problem.goals import Orientation, Position
from poise.svg.figures import Crop, compute_crop, draw_bones, draw_joints, draw_line, draw_target, open_svg

_LONG_SIDE, _MIN_SIDE = 190.0, 110.0  # px, longer side of a picture and lower bound of the shorter one
_CROP_MARGIN_SHARE = 0.2  # margin as a share of the chain extent
_JOINT_RADIUS = 2.6  # px, radius of a joint's dot
_AXIS_LENGTH_SHARE = 0.13  # length of drawn rotation axes as a share of the picture
_MIN_SCORE, _MAX_SCORE = 1e-6, 1e6  # tolerances: scores are clipped to this range
_TITLES = ("An easy target", "A middling target", "The hardest target")


class _MethodPose(NamedTuple):
    """Method with its run and its final pose. The pose is that for the drawn target."""

    style: MethodStyle
    run: MethodRun
    pose: Pose | None


class _PictureScene(NamedTuple):
    """Shared content of the pictures of one target.

    Holds the start panel, chain and moving joints, crop and target.

    `target_point` is a point of the drawing (2,), `target_rotation` is w x y z; either may be None.
    """

    start_panel: Panel
    chain_rows: Ints
    moving_rows: Ints
    crop: Crop
    target_point: Floats | None
    target_rotation: Floats | None


def draw_stick_figures(comparison: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    """Draw three rows of stick figures."""
    task, runs = comparison.task, [(style, style.method.main) for style in styles]
    drawn_runs = [(style, run) for style, run in runs if run is not None and len(run)]
    if not drawn_runs or not task.joints:
        return "<p>There are no poses to show.</p>"
    caption = "Dashed: the chain in the start pose. Coloured: where the method ends. "
    caption += "" if isinstance(task.goal, Orientation) else "Ring with a cross: the target. "
    caption += "" if isinstance(task.goal, Position) else "Small axes: the rotation wanted, and the one reached. "
    parts = [f'<p class="muted">{caption}The rest of the figure is grey, and cut where it is far from the chain.</p>']
    for title, target_index in zip(_TITLES, _choose_targets([run for _, run in drawn_runs]), strict=False):
        method_poses = [_MethodPose(style, run, _make_pose(task, run.q[target_index])) for style, run in drawn_runs]
        parts += [
            f"<h3>{title} (number {target_index + 1})</h3>",
            _draw_methods(task, method_poses, target_index, find_length_unit(comparison)),
        ]
    return "".join(parts)


def _choose_targets(runs: Sequence[MethodRun]) -> list[int]:
    """Choose the targets of smallest, median and largest error.

    Errors are averaged over the methods; duplicates are dropped.
    """
    target_count = min(len(run) for run in runs)
    scores = np.array([run.scores[:target_count] for run in runs])
    missed_counts = np.sum([~run.find_solved()[:target_count] for run in runs], axis=0)
    mean_log_scores = np.log10(
        np.clip(np.nan_to_num(scores, nan=_MAX_SCORE, posinf=_MAX_SCORE), _MIN_SCORE, _MAX_SCORE)
    ).mean(axis=0)
    order = np.lexsort((mean_log_scores, missed_counts))
    return list(dict.fromkeys(int(order[i]) for i in (0, target_count // 2, target_count - 1)))


def _make_pose(task: Task, q: Floats) -> Pose | None:
    return task.problem.make_pose(q[None])[0] if np.isfinite(q).all() else None


def _draw_methods(task: Task, method_poses: Sequence[_MethodPose], target_index: int, unit: str) -> str:
    """Draw the poses of all methods for one target."""
    target_position = None if isinstance(task.goal, Orientation) else task.main.rows[target_index, :3]
    chain = _list_chain(task)
    poses = [method_pose.pose for method_pose in method_poses if method_pose.pose is not None]
    panels, scene = prepare_scene([("", task.start), *(("", pose) for pose in poses)], target_position, chain)
    projections = [project_points(panel.points[panel.chain_rows]) for panel in panels]
    target = None if scene.target is None else project_points(scene.target)
    shown_points = np.concatenate([*projections, *([] if target is None else [target[None]])])
    crop = compute_crop(shown_points, _LONG_SIDE, _MIN_SIDE, _CROP_MARGIN_SHARE)
    moving_rows = np.array([task.start.skeleton.index(name) for name in task.joints])
    rotation = None if isinstance(task.goal, Position) else task.main.rows[target_index, -4:]
    picture_scene = _PictureScene(
        panels[0],
        panels[0].chain_rows,
        moving_rows,
        crop,
        None if target is None else crop.to_drawing(target),
        rotation,
    )
    method_panels, cells = iter(panels[1:]), list[str]()
    for method_pose in method_poses:
        svg = _draw_pose(task, method_pose, picture_scene, None if method_pose.pose is None else next(method_panels))
        residual = escape(_format_residual(task, method_pose.run, target_index, unit))
        cells.append(
            f'<figure class="{method_pose.style.css_class}">{svg}'
            f"<figcaption>{format_method(method_pose.style)}<br>{residual}</figcaption></figure>"
        )
    return f'<div class="small" style="--least: 160px">{"".join(cells)}</div>'


def _list_chain(task: Task) -> list[str]:
    """List the joints from the first moving one to the goal's. Fixed joints between them count."""
    skeleton, root_row = task.start.skeleton, task.start.skeleton.index(task.joints[0])
    row, rows = skeleton.index(task.goal.joint), list[int]()
    while row >= 0:
        rows.append(row)
        if row == root_row:
            break
        row = int(skeleton.parents[row])
    return [skeleton.names[row] for row in reversed(rows)]


def _format_residual(task: Task, run: MethodRun, target_index: int, length_unit: str) -> str:
    """Format the remaining error of a target."""
    errors, violation = run.errors[target_index], float(run.violations[target_index])
    if not np.isfinite(errors).all():
        return "no answer"
    if run.find_solved()[target_index]:
        return "solved"
    if violation > MAX_VIOLATION:
        return f"a limit left by {violation:.2g} rad or {length_unit}"
    units = [length_unit if measure.kind == POSITION else "rad" for measure in task.problem.measures]
    error_texts = [f"{format_number(error, 2)} {unit}" for error, unit in zip(errors, units, strict=True)]
    return f"{', '.join(error_texts)} left"


def _draw_pose(task: Task, method_pose: _MethodPose, scene: _PictureScene, panel: Panel | None) -> str:
    """Draw one pose with the target.

    The body is grey; the chain is shown before and after, and the gap to the target.
    """
    shown_panel, crop = scene.start_panel if panel is None else panel, scene.crop
    points, start_points = (
        crop.to_drawing(project_points(shown_panel.points)),
        crop.to_drawing(project_points(scene.start_panel.points)),
    )
    is_drawn = (
        crop.find_visible(points, shown_panel.bones)
        & ~np.isin(shown_panel.bones, scene.chain_rows).all(axis=1)
        & ~shown_panel.is_control_bone
    )
    width, height = crop.sides.tolist()
    parts = [open_svg(width, height, f"{method_pose.style.method.name}: the pose that it ends in")]
    parts += [
        draw_bones("bone", points, shown_panel.bones[is_drawn]),
        draw_line("was", start_points[scene.chain_rows]),
    ]
    tip = points[scene.chain_rows[-1]]
    if method_pose.pose is not None:
        joint_point, tip = tip, _find_tip(task, method_pose.pose, crop)
        parts += [draw_line("limb", points[scene.chain_rows]), draw_line("limb", np.array([joint_point, tip]))]
        parts.append(draw_joints("joint", points[scene.moving_rows], _JOINT_RADIUS))
        if scene.target_rotation is not None:
            parts.append(
                _draw_axes("is", method_pose.pose, method_pose.pose.world[task.goal.joint].rotations, tip, crop)
            )
        if scene.target_point is not None:
            parts.append(draw_line("gap", np.array([tip, scene.target_point])))
    if scene.target_rotation is not None:
        parts.append(
            _draw_axes(
                "wanted",
                task.start,
                scene.target_rotation,
                tip if scene.target_point is None else scene.target_point,
                crop,
            )
        )
    return "".join([*parts, "" if scene.target_point is None else draw_target(scene.target_point), "</svg>"])


def _find_tip(task: Task, pose: Pose, crop: Crop) -> Floats:
    """Project the goal's point of a pose, offset included."""
    measures = {measure.kind: measure for measure in task.problem.measures}
    if POSITION in measures:
        point = compute_goal_point(task.problem.make_pose(pose.q[None]), measures[POSITION], task.goal)[0]
    else:
        point = pose.world[task.goal.joint].positions
    return crop.to_drawing(project_points(point[find_z_up_order(pose)]))


def _draw_axes(style: str, pose: Pose, rotation: Floats, origin: Floats, crop: Crop) -> str:
    """Draw the axes of a rotation at a point. The rotation is w x y z."""
    axis_ends = rotations.rotate(np.broadcast_to(rotation, (3, 4)), np.eye(3))[:, find_z_up_order(pose)]
    directions = project_points(axis_ends) * [1.0, -1.0] * _AXIS_LENGTH_SHARE * float(crop.sides.max())
    path = "".join(f"M{origin[0]:.1f} {origin[1]:.1f}l{x:.1f} {y:.1f}" for x, y in directions)
    return f'<path class="axes {style}" d="{path}"/>'
