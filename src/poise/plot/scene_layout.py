"""Layout of a picture: poses, ground grid and projection.

All points of a layout have z up. Control bones are bones of a rig that lead to no limb, such as pole targets; they are
drawn faintly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_entries, check_names, check_text
from poise.errors import InputError
from poise.maths.arrays import Bools, Floats, Ints, abbreviate, check_finite
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.plot.error_curve import find_tip_path
from poise.plot.limit_outlines import Outline, build_outlines
from poise.solving.result import Result

_AZIMUTH_RAD, _ELEVATION_RAD = math.radians(38.0), math.radians(14.0)
_Z_UP_ORDERS = {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}  # cyclic, which keeps left on the left
_CONTROL_BONE_LENGTH_RATIO = 0.3  # smallest length of a control bone, as a fraction of the figure
_MAX_JOINTS_WITHOUT_CONTROL_BONES = 6  # joints; skeletons of at most this size have no control bones
_MAX_CONTROL_LEVELS = 2  # levels of joints below a control bone and above it, like a hand or a foot with its toe
_MAX_TEXT_LENGTH = 200  # characters of a title or a label: at 0.11 inch each they already make a picture 22 inches wide


class Panel(NamedTuple):
    """One pose for drawing, with z up, in file units."""

    label: str
    pose: Pose
    points: Floats  # (n, 3)
    joint_rows: Ints  # joints of the figure without control bones
    bones: Ints  # (k, 2) rows parent, child
    is_control_bone: Bools  # (k,)
    chain_rows: Ints  # joints to highlight
    limits: list[Outline]
    tip_path: Floats | None  # (t, 3) path of the tip
    pole_lines: Floats  # (p, 2, 3) from each middle joint to the point of its pole


class Scene(NamedTuple):
    """Target, ground and extent, shared by all panels."""

    target: Floats | None
    ground_height: float
    grid_step: float  # between grid lines
    grid: Floats  # (k, 2, 3) line segments
    lower_corner: Floats  # (2,) of the projected picture
    upper_corner: Floats


def prepare_scene(
    poses: Sequence[tuple[str, Pose]],
    target: ArrayLike | None,
    chain: Sequence[str],
    *,
    joints_with_limits: Sequence[str] = (),
    traced_result: Result | None = None,
    poles: Sequence[tuple[str, Floats]] = (),
) -> tuple[list[Panel], Scene]:
    """Check the arguments of draw_poses and compute the layout.

    Parameters
    ----------
    poses, target, chain
        See `draw_poses`.
    joints_with_limits
        Names of the joints with drawn limits.
    traced_result
        The result for the tip path in the last pose.
    poles
        Middle joint and world point (3,) of each drawn pole.
    """
    labels_and_poses = check_entries(poses, "the poses to draw", "[('rest', rig.rest)]")
    poses = [_check_pair(pair) for pair in labels_and_poses]
    chain = check_names(chain, "the joints of the chain")
    if not poses:
        message = "draw_poses needs at least one (label, pose)"
        raise InputError(message)
    z_up_order = find_z_up_order(poses[0][1])
    panels = [_build_panel(label, pose, chain, z_up_order, joints_with_limits, poles) for label, pose in poses]
    tip_path = None if traced_result is None or not chain else find_tip_path(traced_result, chain[-1])
    if tip_path is not None:
        panels[-1] = panels[-1]._replace(tip_path=tip_path[:, z_up_order])
    target_point = None
    if target is not None:
        target_point = check_finite(target, "the target", last_axis_length=3)
        if target_point.shape != (3,):
            message = f"the target is one point of three numbers; got an array of shape {target_point.shape}"
            raise InputError(message)
        target_point = target_point[z_up_order]
    return panels, _build_scene(panels, target_point)


def check_plain_text(value: Any, label: str) -> str:
    """Check and return a title or a label. It has at most 200 characters, because a picture is as wide as its text."""
    text = check_text(value, label)
    if len(text) > _MAX_TEXT_LENGTH:
        message = f"{label} of a picture has at most {_MAX_TEXT_LENGTH} characters, not {len(text)}"
        raise InputError(message)
    return text


def _check_pair(pair: Any) -> tuple[str, Pose]:
    if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Pose):  # pyright: ignore[reportUnknownArgumentType]  # noqa: PLR2004
        message = f"poses are drawn as pairs such as ('rest', rig.rest), not {abbreviate(pair)}"
        raise InputError(message)
    label, pose = cast("tuple[Any, Pose]", pair)
    return check_plain_text(label, "the label"), pose


def _build_panel(
    label: str, pose: Pose, chain: Sequence[str], z_up_order: list[int], joints_with_limits: Sequence[str] = (),
    poles: Sequence[tuple[str, Floats]] = (),
) -> Panel:  # fmt: skip
    if pose.shape:
        message = f"pose {label!r} is a batch of shape {pose.shape}; draw one of it: pose[0]"
        raise InputError(message)
    skeleton = pose.skeleton
    points = pose.world.positions[:, z_up_order]
    chain_rows = np.array([skeleton.index(name) for name in chain], dtype=np.int64)
    is_drawn = _find_drawn_joints(skeleton)
    is_control_bone = _find_control_bones(skeleton, pose.with_q(skeleton.rest_q).world.positions, is_drawn)
    is_control_bone[chain_rows] = False
    child_rows = np.flatnonzero(is_drawn & (skeleton.parents >= 0) & is_drawn[skeleton.parents])
    bones = np.stack([skeleton.parents[child_rows], child_rows], axis=-1)
    isolated_rows = np.setdiff1d(np.flatnonzero(is_drawn), bones)  # a flat hand rig consists of these only
    joint_rows = np.unique(np.concatenate([bones[~is_control_bone[child_rows]].ravel(), isolated_rows, chain_rows]))
    figure_size = float(np.ptp(points[joint_rows], axis=0).max(initial=0.0)) or 1.0
    limits = [
        Outline([line[:, z_up_order] for line in lines], is_at_limit)
        for lines, is_at_limit in build_outlines(pose, joints_with_limits, figure_size)
    ]
    pole_lines = np.array([[points[skeleton.index(name)], point[z_up_order]] for name, point in poles]).reshape(
        -1, 2, 3
    )
    return Panel(
        label, pose, points, joint_rows, bones, is_control_bone[child_rows], chain_rows, limits, None, pole_lines
    )


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


def _find_control_bones(skeleton: Skeleton, points: Floats, is_drawn: Bools) -> Bools:
    """Find the joints (n,) with a control bone to their parent.

    Control and pole bones are long, start at the top of the tree and have few descendants. The long bone from a root on
    the ground to the hips differs: it leads to the figure. `points` (n, 3) are the rest positions, so that all panels
    of a figure agree.
    """
    is_control_bone = np.zeros(len(skeleton), dtype=bool)
    if len(skeleton) <= _MAX_JOINTS_WITHOUT_CONTROL_BONES or not (skeleton.kinds >= Kind.BALL).any():
        return is_control_bone
    lengths = np.linalg.norm(points - points[np.maximum(skeleton.parents, 0)], axis=-1)
    min_length = _CONTROL_BONE_LENGTH_RATIO * np.ptp(points[is_drawn], axis=0).max()
    levels_below = skeleton.moving_depth  # levels of moving joints, the joint itself included
    depth = np.zeros(len(skeleton), dtype=np.int64)  # drawn joints above
    for i, parent in enumerate(skeleton.parents):
        if parent < 0 or not is_drawn[parent]:
            continue
        depth[i] = depth[parent] + 1
        has_few_descendants = levels_below[i] <= _MAX_CONTROL_LEVELS
        sibling_limbs = [child for child in skeleton.children[parent] if levels_below[child] > _MAX_CONTROL_LEVELS]
        is_long_at_top = depth[i] <= _MAX_CONTROL_LEVELS and lengths[i] > min_length
        is_control_bone[i] = is_long_at_top and (has_few_descendants or sibling_limbs == [i])
        hangs_from_control_bone = is_control_bone[parent] and levels_below[parent] <= _MAX_CONTROL_LEVELS + 1
        is_control_bone[i] |= has_few_descendants and hangs_from_control_bone
    return is_control_bone


def _build_scene(panels: list[Panel], target: Floats | None) -> Scene:
    figure_points = np.concatenate([panel.points[panel.joint_rows] for panel in panels])
    points = figure_points if target is None else np.concatenate([figure_points, target[None]])
    ground_height = float(points[:, 2].min())
    scene_size = float(np.ptp(points, axis=0).max()) or 1.0
    grid_step = _choose_grid_step(scene_size / 6)
    grid = _build_grid(points, ground_height, grid_step)
    lines = [line for panel in panels for outline in panel.limits for line in outline.lines]
    tip_paths = [panel.tip_path for panel in panels if panel.tip_path is not None]
    pole_points = [panel.pole_lines.reshape(-1, 3) for panel in panels]
    corners = project_points(np.concatenate([points, grid.reshape(-1, 3), *lines, *tip_paths, *pole_points]))
    margin = 0.03 * scene_size
    return Scene(target, ground_height, grid_step, grid, corners.min(axis=0) - margin, corners.max(axis=0) + margin)


def _choose_grid_step(max_step: float) -> float:
    """Choose a grid step of 1, 2 or 5 powers of ten. It is the largest at most `max_step`."""
    power_of_ten = 10.0 ** math.floor(math.log10(max_step))
    return power_of_ten * max(factor for factor in (1, 2, 5) if factor * power_of_ten <= max_step * (1 + 1e-9))


def _build_grid(points: Floats, ground_height: float, step: float) -> Floats:
    """Build the ground grid as line segments (k, 2, 3). They lie under the points, on multiples of the step."""
    lower_corner = np.floor(points[:, :2].min(axis=0) / step - 0.5)
    upper_corner = np.ceil(points[:, :2].max(axis=0) / step + 0.5)
    along_x = [
        [(lower_corner[0], j, 0.0), (upper_corner[0], j, 0.0)] for j in np.arange(lower_corner[1], upper_corner[1] + 1)
    ]
    along_y = [
        [(i, lower_corner[1], 0.0), (i, upper_corner[1], 0.0)] for i in np.arange(lower_corner[0], upper_corner[0] + 1)
    ]
    return np.array(along_x + along_y) * step + [0.0, 0.0, ground_height]


def project_points(points: Floats) -> Floats:
    """Project points (..., 3) to screen coordinates (..., 2).

    It is a parallel projection, right and up, in file units.
    """
    azimuth, elevation = _AZIMUTH_RAD, _ELEVATION_RAD
    right = [-math.sin(azimuth), math.cos(azimuth), 0.0]
    up = [-math.sin(elevation) * math.cos(azimuth), -math.sin(elevation) * math.sin(azimuth), math.cos(elevation)]
    return points @ np.array([right, up]).T


def compute_depth(points: Floats) -> Floats:
    """Compute the depth of points (..., 3) towards the viewer."""
    azimuth, elevation = _AZIMUTH_RAD, _ELEVATION_RAD
    return points @ np.array(
        [math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth), math.sin(elevation)]
    )
