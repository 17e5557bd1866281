"""Outlines of joint limits: reachable directions of the next bone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.model.limit_bounds import clamp_rotations, measure_rotation_excess, pack_limit
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.pose import Pose
from poise.model.skeleton import Kind

_CIRCLE_POINTS = 48  # points of a circle
_BONE_RATIO, _MAX_SIZE_RATIO = 0.4, 0.14  # radius as a fraction of the bone, and its bound as a fraction of the figure
_TWIST_SIZE = 0.5  # radius of the arc of a twist inside its cone, which has the radius one
_END_TOLERANCE = 1e-6  # [rad, file units] distance from an end up to which the limit is touched
_OVERSHOOT_FACTOR = 1 + 1e-4  # factor on the angle of a rotation: a joint at its limit then exceeds it


class Outline(NamedTuple):
    """Lines (n, 3) of one limit, and whether the joint touches it."""

    lines: list[Floats]
    is_at_limit: bool


def build_outlines(pose: Pose, joints: Sequence[str], figure_size: float) -> list[Outline]:
    """Build the limit outlines of joints in the world. `figure_size` is that of the figure [file units]."""
    outlines: list[Outline] = []
    for name in joints:
        outline = _build_outline(pose, name, figure_size)
        outlines += [outline] if outline is not None else []
    return outlines


def build_local_outline(pose: Pose, name: str) -> Outline | None:
    """Build the outline of a joint's limit for a unit bone.

    It is in the frame before the joint's own motion; None without a limit.

    The track of a slide is in file units, relative to the joint's position.
    """
    skeleton, joint_index = pose.skeleton, pose.skeleton.index(name)
    limit = _find_outlined_limit(pose, joint_index)
    if limit is None:
        return None
    is_at_limit = bool(find_joints_at_limit(pose, [name]))
    if skeleton.kinds[joint_index] == Kind.SLIDE:
        end_offsets = _compute_end_offsets(pose, joint_index, limit)
        return Outline([end_offsets[:, None] * skeleton.axes[joint_index]], is_at_limit)
    joint_rotation = _find_joint_rotation(pose, joint_index)
    bone = rotations.rotate(
        rotations.inverse(rotations.multiply(_compute_frame_rotation(pose, joint_index), joint_rotation)),
        _find_longest_bone(pose, joint_index),
    )
    length = float(np.linalg.norm(bone))
    bone_direction = bone / length if length > 0 else np.array([0.0, 1.0, 0.0])
    lines = _sweep_bone(limit, _find_axis(pose, joint_index, limit), bone_direction)
    return Outline(lines, is_at_limit)


def find_joints_at_limit(pose: Pose, joints: Sequence[str]) -> list[str]:
    """Find the joints at an end of their limit. A limit without an outline counts as none."""
    touching: set[int] = set()
    boxes, swings = list[int](), list[int]()
    joint_indices = [pose.skeleton.index(name) for name in joints]
    for joint_index in joint_indices:
        limit = _find_outlined_limit(pose, joint_index)
        if isinstance(limit, Range):
            touching |= {joint_index} if _is_at_end(pose, joint_index, limit) else set()
        elif limit is not None:
            (boxes if isinstance(limit, EulerBox) else swings).append(joint_index)
    for group in filter(None, (boxes, swings)):
        is_at_edge = _are_at_edges(pose, group)
        touching |= {joint_index for joint_index, is_edge in zip(group, is_at_edge.tolist(), strict=True) if is_edge}
    return [name for name, joint_index in zip(joints, joint_indices, strict=True) if joint_index in touching]


def _is_at_end(pose: Pose, joint_index: int, limit: Range) -> bool:
    """Return whether a joint is at an end of its range."""
    if pose.skeleton.kinds[joint_index] == Kind.SLIDE:
        return bool(np.abs(_compute_end_offsets(pose, joint_index, limit)).min() <= _END_TOLERANCE)
    axis = _find_axis(pose, joint_index, limit)
    value = float(rotations.twist_angle(_find_joint_rotation(pose, joint_index), axis))
    end_gaps = [math.remainder(value - end, 2 * math.pi) for end in (limit.low, limit.high)]
    return min(map(abs, end_gaps)) <= _END_TOLERANCE


def _are_at_edges(pose: Pose, joint_indices: Sequence[int]) -> Bools:
    """Return whether balls with limits of one kind are at the edge. A little further they are outside then."""
    limit_rows = np.array([pack_limit(pose.skeleton.limits[joint_index]) for joint_index in joint_indices])
    joint_rotations = np.array([_find_joint_rotation(pose, joint_index) for joint_index in joint_indices])
    overshot = rotations.slerp(rotations.IDENTITY, joint_rotations, np.asarray(_OVERSHOOT_FACTOR))
    excess = measure_rotation_excess(overshot, clamp_rotations(limit_rows, overshot))
    overshoots = np.array([(_OVERSHOOT_FACTOR - 1) * _compute_angle(rotation) for rotation in joint_rotations])
    return (excess > 0.5 * overshoots) & (overshoots > 0)


def build_turn_outline(turn: Limit) -> list[Floats]:
    """Build the outline of a set of rotations about a target.

    It is lines (n, 3) of size one in the axes of the target.

    A turn about one axis is a sector, a free one a ring, a swing its cone. A box of Euler angles has a sector for each
    axis.
    """
    if isinstance(turn, Range):
        return [] if turn.axis is None else [_build_turn_arc(np.array(turn.axis), turn.low, turn.high)]
    if isinstance(turn, SwingTwist):
        axis, has_swing = np.array(turn.axis), any(end for side in turn.sides for end in side)
        cone, size = (_build_rim(turn, axis), _TWIST_SIZE) if has_swing else ([], 1.0)
        return [*cone, *([size * _build_turn_arc(axis, *turn.twist)] if any(turn.twist) else [])]
    ranges = zip(turn.order, turn.ranges, strict=True)
    return [_build_turn_arc(np.eye(3)["XYZ".index(letter)], *ends) for letter, ends in ranges if any(ends)]


def _build_turn_arc(axis: Floats, low: float, high: float) -> Floats:
    """Build the sector (n, 3) between two angles, or a ring."""
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = max(low, -math.pi), min(high, math.pi)
    is_ring = high - low >= 2 * math.pi
    sector = _build_sector(Range(-math.pi, math.pi) if is_ring else Range(low, high), axis, axis)
    (line,) = sector
    return line[1:-1] if is_ring else line


def _build_outline(pose: Pose, name: str, figure_size: float) -> Outline | None:
    joint_index = pose.skeleton.index(name)
    centre, world_from_frame = pose.world[name].positions, _compute_frame_rotation(pose, joint_index)
    local_outline = build_local_outline(pose, name)
    if local_outline is None:
        return None
    length = float(np.linalg.norm(_find_longest_bone(pose, joint_index)))
    is_slide = pose.skeleton.kinds[joint_index] == Kind.SLIDE
    radius = (
        1.0
        if is_slide
        else min(_BONE_RATIO * length, _MAX_SIZE_RATIO * figure_size)
        if length > 0
        else _MAX_SIZE_RATIO * figure_size
    )
    return Outline(
        [centre + radius * rotations.rotate(world_from_frame, line) for line in local_outline.lines],
        local_outline.is_at_limit,
    )


def _compute_frame_rotation(pose: Pose, joint_index: int) -> Floats:
    """Compute the world rotation of the frame before a joint's motion."""
    skeleton = pose.skeleton
    parent, rest_rotation = int(skeleton.parents[joint_index]), skeleton.A[joint_index, 3:]
    if parent < 0:
        return rest_rotation
    return rotations.multiply(pose.world[skeleton.names[parent]].rotations, rest_rotation)


def _find_joint_rotation(pose: Pose, joint_index: int) -> Floats:
    """Return the rotation of a joint's own motion."""
    start, kind = int(pose.skeleton.q_start[joint_index]), pose.skeleton.kinds[joint_index]
    if kind == Kind.HINGE:
        return rotations.about(pose.skeleton.axes[joint_index], np.asarray(_compute_joint_value(pose, joint_index)))
    quaternion_start = start + (3 if kind == Kind.FREE else 0)
    return pose.q[quaternion_start : quaternion_start + 4]


def _compute_joint_value(pose: Pose, joint_index: int) -> float:
    ratio, offset = pose.skeleton.coupling_rows[joint_index]
    return float(ratio * pose.q[pose.skeleton.q_start[joint_index]] + offset)


def _find_longest_bone(pose: Pose, joint_index: int) -> Floats:
    """Find the vector to the farthest child [file units, world]. It is zero without children."""
    points, children = pose.world.positions, list(pose.skeleton.children[joint_index])
    child_offsets = points[children] - points[joint_index]
    return child_offsets[np.linalg.norm(child_offsets, axis=-1).argmax()] if children else np.zeros(3)


def _find_outlined_limit(pose: Pose, joint_index: int) -> Limit | None:
    """Find the limit of a joint if an outline shows it. A range has two finite ends then."""
    limit, is_slide = pose.skeleton.limits[joint_index], pose.skeleton.kinds[joint_index] == Kind.SLIDE
    if limit is None or not limit.bounded:
        return None
    if isinstance(limit, Range):
        return limit if math.isfinite(limit.low) and math.isfinite(limit.high) else None
    return None if is_slide else limit


def _compute_end_offsets(pose: Pose, joint_index: int, limit: Limit) -> Floats:
    """Compute the way (2,) of a slide to each end."""
    assert isinstance(limit, Range)
    return np.array([limit.low, limit.high]) - _compute_joint_value(pose, joint_index)


def _find_axis(pose: Pose, joint_index: int, limit: Limit) -> Floats:
    if isinstance(limit, Range) and limit.axis is not None:
        return np.array(limit.axis)
    return pose.skeleton.axes[joint_index]


# --- one function per limit type -----------------------------------------------------------------------------------


def _sweep_bone(limit: Limit, axis: Floats, bone: Floats) -> list[Floats]:
    """Build the lines (n, 3) swept by a unit bone."""
    if isinstance(limit, Range):
        return _build_sector(limit, axis, bone)
    return _build_rim(limit, bone) if isinstance(limit, SwingTwist) else _build_box_edges(limit, bone)


def _compute_angle(rotation: Floats) -> float:
    return 2 * math.atan2(float(np.linalg.norm(rotation[1:])), abs(float(rotation[0])))


def _build_sector(limit: Range, axis: Floats, bone: Floats) -> list[Floats]:
    start_direction = np.asarray(bone - (bone @ axis) * axis, dtype=np.float64)
    # the bone lies along the axis: any perpendicular direction shows the angle
    if np.linalg.norm(start_direction) < _END_TOLERANCE:
        start_direction = np.cross(axis, np.eye(3)[int(np.abs(axis).argmin())])
    start_direction = np.asarray(start_direction / np.linalg.norm(start_direction), dtype=np.float64)
    high = min(limit.high, limit.low + 2 * math.pi)
    angles = np.linspace(limit.low, high, max(int(_CIRCLE_POINTS * (high - limit.low) / (2 * math.pi)), 2))
    arc = rotations.rotate(rotations.about(axis, angles), start_direction)
    return [np.concatenate([np.zeros((1, 3)), arc, np.zeros((1, 3))])]


def _build_rim(limit: SwingTwist, bone: Floats) -> list[Floats]:
    """Build the rim of the cone, with four spokes."""
    (low_a, high_a), (low_b, high_b) = limit.sides
    rim_angles = np.linspace(0.0, 2 * math.pi, _CIRCLE_POINTS + 1)
    a = np.where(np.cos(rim_angles) >= 0, high_a, -low_a) * np.cos(rim_angles)
    b = np.where(np.sin(rim_angles) >= 0, high_b, -low_b) * np.sin(rim_angles)
    first_axis, second_axis = map(np.array, limit.swing_axes)
    vectors = a[:, None] * first_axis + b[:, None] * second_axis
    rim = rotations.rotate(_convert_rotation_vectors(vectors), bone)
    return [rim, *(np.stack([np.zeros(3), rim[i]]) for i in range(0, _CIRCLE_POINTS, _CIRCLE_POINTS // 4))]


def _build_box_edges(limit: EulerBox, bone: Floats) -> list[Floats]:
    """Build the twelve edges of the box of angles."""
    angle_ranges = [(max(low, -math.pi), min(high, math.pi)) for low, high in limit.ranges]
    axes = [np.eye(3)["XYZ".index(letter)] for letter in limit.order]
    lines: list[Floats] = []
    for free_axis in range(3):
        fixed_axes = [i for i in range(3) if i != free_axis]
        for corner in itertools.product(*(angle_ranges[i] for i in fixed_axes)):
            angles = np.zeros((3, _CIRCLE_POINTS // 2))
            angles[fixed_axes] = np.array(corner)[:, None]
            angles[free_axis] = np.linspace(*angle_ranges[free_axis], _CIRCLE_POINTS // 2)
            axis_rotations = [rotations.about(axis, angle) for axis, angle in zip(axes, angles, strict=True)]
            lines.append(
                rotations.rotate(rotations.multiply(rotations.multiply(*axis_rotations[:2]), axis_rotations[2]), bone)
            )
    return lines


def _convert_rotation_vectors(vectors: Floats) -> Floats:
    """Convert rotation vectors (n, 3) to quaternions."""
    angles = np.linalg.norm(vectors, axis=-1, keepdims=True)
    axes = np.where(angles > 0, vectors / np.where(angles > 0, angles, 1.0), np.array([1.0, 0.0, 0.0]))
    return np.concatenate([np.cos(angles / 2), np.sin(angles / 2) * axes], axis=-1)
