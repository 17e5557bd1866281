"""Fit a skeleton to joint positions over time.

Each joint's rotation is found in closed form from the directions to the joints below it, and a least-squares solve then
refines frames with other bone lengths.

All rotations are in the world frame of the base pose. `rotation` is the rotation of a joint relative to its parent and
`world_rotations` = parent's world rotation . rotation; an offset r of a child is rotated by it. Scale and mirroring
cancel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_bool, check_names, make_type_error
from poise.errors import InputError, join_names
from poise.formatting import format_count, format_fields, format_number
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, check_real, copy_numbers_or_nan, freeze_array
from poise.model.clip import Clip
from poise.model.limit_bounds import clamp_angles
from poise.model.limits import find_hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Position
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.solve import solve

_COLLINEAR_RATIO = 1e-2  # ratio of the second to the first singular value; directions below it leave the twist open
_ZERO_LENGTH_SHARE = 1e-9  # share of the body size: a shorter bone has no direction
# sine of the hinge angle: no confidence in the twist above it below this, full at twice this
_STRAIGHT_HINGE_SINE = 0.1
_RIGID_ANGLE_RAD = 0.1  # [rad] angle change between two directions from which they do not count as one rigid body
_INDEPENDENT_PAIR_WEIGHT = 0.05  # weight of the twist from two such directions
# shares of the spread at rest: no and full confidence in the twist
_NO_CONFIDENCE_SPREAD, _FULL_CONFIDENCE_SPREAD = 0.05, 0.25


def fit_rotations(
    base: Pose, tracked_rows: list[int], targets: Floats, anchor: int, *, twist_retention: float
) -> Floats:
    """Compute configurations (frames, nq) with bones towards the targets.

    Targets are (frames, tracked, 3); the anchor stays in place.

    twist_retention  the share of an undetermined twist kept from one frame to the next
    """
    rotation_fit = _RotationFit(base, tracked_rows, targets, twist_retention)
    for row in range(anchor, len(base.skeleton)):
        if anchor in base.skeleton.list_path(row):
            rotation_fit.fit_joint(row)
    return base.skeleton.legal(rotation_fit.q)[0]


class _RotationFit:
    """Partial fit: q, positions and world rotations so far."""

    def __init__(self, base: Pose, tracked_rows: list[int], targets: Floats, twist_retention: float) -> None:
        self.base_pose, self.skeleton, self.twist_retention = base, base.skeleton, twist_retention
        self.targets = {row: targets[:, i] for i, row in enumerate(tracked_rows)}
        self.frame_count = len(targets)
        self.q = np.tile(base.q, (self.frame_count, 1))
        self.rest_positions = base.world.positions
        self.body_size = float(np.ptp(self.rest_positions, axis=0).max())
        self.world_rotations: dict[int, Floats] = {}
        self.positions: dict[int, Floats] = {}
        world_rotations = base.world.rotations
        parent_rotations = [
            rotations.IDENTITY if parent < 0 else world_rotations[parent] for parent in self.skeleton.parents.tolist()
        ]
        self.world_from_joint = rotations.multiply(np.array(parent_rotations).reshape(-1, 4), self.skeleton.A[:, 3:])

    def fit_joint(self, row: int) -> None:
        """Fit the rotation of one joint and store it in q."""
        parent = int(self.skeleton.parents[row])
        parent_rotation = self.world_rotations.get(parent, rotations.IDENTITY)
        self.positions[row] = self._find_position(row, parent, parent_rotation)
        rotation = self._fit_rotation(row, parent_rotation) if self._can_fit(row) else rotations.IDENTITY
        self.world_rotations[row] = np.broadcast_to(
            rotations.multiply(*np.broadcast_arrays(parent_rotation, rotation)), (self.frame_count, 4)
        )

    def _find_position(self, row: int, parent: int, parent_rotation: Floats) -> Floats:
        """Return the target position or the position from the parent.

        The parent counts where the joint has no target.
        """
        if row in self.targets:
            return self.targets[row]
        return self.positions[parent] + rotations.rotate(
            parent_rotation, self.rest_positions[row] - self.rest_positions[parent]
        )

    def _can_fit(self, row: int) -> bool:
        can_rotate = self.skeleton.kinds[row] in (Kind.HINGE, Kind.BALL, Kind.FREE)
        return can_rotate and not self.skeleton.couplings[row] and bool(self._find_target_joints(row))

    def _find_target_joints(self, row: int, search_row: int | None = None) -> list[int]:
        """List the nearest joints below with targets. Joints at the same position are skipped."""
        joints: list[int] = []
        for child in self.skeleton.children[row if search_row is None else search_row]:
            distance = np.sqrt(((self.rest_positions[child] - self.rest_positions[row]) ** 2).sum())
            joints += (
                [child]
                if child in self.targets and distance > _ZERO_LENGTH_SHARE * self.body_size
                else self._find_target_joints(row, child)
            )
        return joints

    def _fit_rotation(self, row: int, parent_rotation: Floats) -> Floats:
        target_rows = self._find_target_joints(row)
        rest_offsets = self.rest_positions[target_rows] - self.rest_positions[row]
        parent_inverse = rotations.inverse(parent_rotation)
        target_offsets = np.stack(
            [rotations.rotate(parent_inverse, self.targets[i] - self.positions[row]) for i in target_rows], axis=1
        )
        axis = self._find_hinge_axis(row)
        if axis is not None:
            return self._fit_hinge(row, axis, rest_offsets, target_offsets)
        longest_index = int(np.argmax((rest_offsets**2).sum(axis=1)))
        swing, bone_axis = (
            rotations.rotation_between(rest_offsets[longest_index], target_offsets[:, longest_index]),
            normalise_vectors(rest_offsets[longest_index]),
        )
        singular_values = np.linalg.svd(rest_offsets, compute_uv=False)
        if len(target_rows) > 1 and singular_values[1] > _COLLINEAR_RATIO * singular_values[0]:
            best_rotations, confidence = find_best_rotations(rest_offsets, target_offsets)
            known_twist = rotations.twist_angle(rotations.multiply(rotations.inverse(swing), best_rotations), bone_axis)
            rotation = rotations.slerp(
                self._apply_twist(swing, bone_axis, known_twist, confidence), best_rotations, confidence
            )
        else:
            known_twist, confidence = self._find_hinge_twist(
                target_rows[longest_index], target_offsets[:, longest_index], swing, parent_inverse
            )
            rotation = self._apply_twist(swing, bone_axis, known_twist, confidence)
        self._write_rotation(row, rotation)
        return rotation

    def _find_hinge_axis(self, row: int) -> Floats | None:
        """Return the axis of a hinge joint, or None. It is given in the world frame of the base pose."""
        if self.skeleton.kinds[row] == Kind.HINGE:
            return rotations.rotate(self.world_from_joint[row], self.skeleton.axes[row])
        axis = find_hinge_axis(self.skeleton.limits[row])
        return None if axis is None else rotations.rotate(self.world_from_joint[row], np.array(axis))

    def _fit_hinge(self, row: int, axis: Floats, rest_offsets: Floats, target_offsets: Floats) -> Floats:
        """Fit a hinge angle inside its range. It minimises the distance to the target directions."""
        sine = (np.cross(rest_offsets, target_offsets) @ axis).sum(axis=1)
        cosine = ((rest_offsets * target_offsets).sum(axis=-1) - (rest_offsets @ axis) * (target_offsets @ axis)).sum(
            axis=1
        )
        angle = np.unwrap(np.arctan2(sine, cosine))
        if self.skeleton.kinds[row] == Kind.HINGE:
            column = int(self.skeleton.q_start[row])
            base_angle = float(self.base_pose.q[column])
            self.q[:, column] = clamp_angles(base_angle + angle, *self.skeleton.value_ranges[column])
            return rotations.about(axis, self.q[:, column] - base_angle)
        rotation = rotations.about(axis, angle)
        self._write_rotation(row, rotation)
        return rotation

    def _apply_twist(self, swing: Floats, bone_axis: Floats, known_twist: Floats, confidence: Floats) -> Floats:
        """Add twist to swings (frames, 4).

        Known twist counts by its confidence; otherwise the twist changes as little as possible.
        """
        swing_change = rotations.multiply(rotations.inverse(swing[:-1]), swing[1:])
        twist_steps = [0.0, *(-rotations.twist_angle(swing_change, bone_axis)).tolist()]
        twist, twists = 0.0, np.zeros(self.frame_count)
        for i, (step, known_angle, weight) in enumerate(
            zip(twist_steps, known_twist.tolist(), confidence.tolist(), strict=True)
        ):
            predicted = self.twist_retention * wrap_angle(twist + step)
            twist = predicted + weight * wrap_angle(known_angle - predicted)
            twists[i] = twist
        return rotations.multiply(swing, rotations.about(bone_axis, twists))

    def _find_hinge_twist(
        self, child: int, target_offset: Floats, swing: Floats, parent_inverse: Floats
    ) -> tuple[Floats, Floats]:
        """Compute twist (frames,) from a hinge below.

        It makes the hinge axis perpendicular to its bending plane. Also returns the confidence, 0 to 1.
        """
        axis, target_rows = self._find_hinge_axis(child), self._find_target_joints(child)
        if axis is None or not target_rows or child not in self.targets:
            return np.zeros(self.frame_count), np.zeros(self.frame_count)
        child_bone = rotations.rotate(parent_inverse, self.targets[target_rows[0]] - self.targets[child])
        swung_axis, bone_axis = rotations.rotate(swing, axis), normalise_vectors(target_offset)
        normal = np.cross(bone_axis, normalise_vectors(child_bone))
        sine = np.sqrt((normal**2).sum(axis=-1))
        normal *= np.where((normal * swung_axis).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
        projected_axis = swung_axis - (swung_axis * bone_axis).sum(axis=-1, keepdims=True) * bone_axis
        twist = np.arctan2(
            (np.cross(projected_axis, normal) * bone_axis).sum(axis=-1), (projected_axis * normal).sum(axis=-1)
        )
        return twist, np.clip((sine - _STRAIGHT_HINGE_SINE) / _STRAIGHT_HINGE_SINE, 0.0, 1.0)

    def _write_rotation(self, row: int, rotation: Floats) -> None:
        """Write a world rotation into q as a joint rotation after A."""
        joint_frame = np.broadcast_to(self.world_from_joint[row], rotation.shape)
        local_rotation = rotations.multiply(rotations.multiply(rotations.inverse(joint_frame), rotation), joint_frame)
        start_column = int(self.skeleton.q_start[row]) + (3 if self.skeleton.kinds[row] == Kind.FREE else 0)
        base_rotation = np.broadcast_to(self.base_pose.q[start_column : start_column + 4], rotation.shape)
        self.q[:, start_column : start_column + 4] = rotations.normalise(
            rotations.multiply(local_rotation, base_rotation)
        )


def find_best_rotations(rest_offsets: Floats, target_offsets: Floats) -> tuple[Floats, Floats]:
    """Compute rotations (frames, 4) aligning rest offsets with target offsets.

    Rest offsets are (m, 3), target offsets (frames, m, 3). Also returns the confidence, 0 to 1.

    Kabsch 1976. Target offsets that have become collinear leave the twist undetermined.
    """
    u, singular_values, vt = np.linalg.svd(np.einsum("mi,fmj->fij", rest_offsets, target_offsets))
    v, u_transposed = np.swapaxes(vt, 1, 2).copy(), np.swapaxes(u, 1, 2)
    v[:, :, 2] *= np.where(np.linalg.det(v @ u_transposed) < 0, -1.0, 1.0)[:, None]
    rest_spread = np.linalg.svd(rest_offsets, compute_uv=False) ** 2
    spread_ratio = singular_values[:, 1] / np.maximum(singular_values[:, 0], 1e-300) / (rest_spread[1] / rest_spread[0])
    confidence = np.clip(
        (spread_ratio - _NO_CONFIDENCE_SPREAD) / (_FULL_CONFIDENCE_SPREAD - _NO_CONFIDENCE_SPREAD), 0.0, 1.0
    )
    return rotations.from_matrix(v @ u_transposed), confidence * (
        _INDEPENDENT_PAIR_WEIGHT if is_independent_pair(rest_offsets, target_offsets) else 1.0
    )


def is_independent_pair(rest_offsets: Floats, target_offsets: Floats) -> bool:
    """Return whether two vectors rotate independently.

    An example is a thumb and a finger attached at the same position.
    """
    if len(rest_offsets) != 2:  # noqa: PLR2004  (of three or more, no single one can dominate)
        return False
    rest_angles, angles = (
        np.arccos(np.clip((normalise_vectors(v)[..., 0, :] * normalise_vectors(v)[..., 1, :]).sum(-1), -1, 1))
        for v in (rest_offsets, target_offsets)
    )
    return bool(np.median(np.abs(angles - rest_angles)) > _RIGID_ANGLE_RAD)


def normalise_vectors(v: Floats) -> Floats:
    """Normalise vectors (..., 3). Zero stays zero."""
    length = np.sqrt((v**2).sum(axis=-1, keepdims=True))
    return v / np.where(length > 0, length, 1.0)


def wrap_angle(angle: float) -> float:
    """Wrap an angle to -pi..pi."""
    return math.remainder(angle, 2 * math.pi)


# --- Fit all frames, then refine -------------------------------------------------------------------------------------
#
# Bone lengths are kept.


_REFINE_ERROR_SHARE = 1e-5  # share of the body size: a closed form with smaller errors is not refined
_REFINE_ITERATIONS = 20  # iterations of the refinement


@dataclass(frozen=True, eq=False)
class Fitted(Clip):
    """Clip fitted to positions, with the remaining distances.

    Parameters
    ----------
    times, poses, name
        As for Clip.
    joints
        Names of the joints with positions.
    residuals
        (frames, joints) distance between each joint and its position [file units]; NaN where the position was missing.
    """

    __repr__ = format_fields

    joints: tuple[str, ...] = field(kw_only=True)
    residuals: Floats = field(kw_only=True)

    def message(self) -> str:
        """Describe the quality of the fit in one sentence."""
        if not np.isfinite(self.residuals).any():
            return f"{format_count(len(self), 'frame')}; no positions to compare with"
        frame, column = np.unravel_index(np.nanargmax(self.residuals), self.residuals.shape)
        worst_text = format_number(float(self.residuals[frame, column]), 3)
        mean_text = format_number(float(np.nanmean(self.residuals)), 3)
        worst_place = f"{self.joints[column]!r} in frame {frame}"
        return f"{format_count(len(self), 'frame')}; {mean_text} left on average, at most {worst_text}: {worst_place}"


def fit(
    on: Skeleton | Pose,
    positions: ArrayLike,
    *,
    joints: Iterable[str] | None = None,
    fps: float = 30.0,
    twist_half_life: float = 0.5,
    refine: bool = True,
    name: str = "",
) -> Fitted:
    """Fit the motion of a skeleton to joint positions. The positions come from motion capture or a motion model.

    Parameters
    ----------
    on
        A skeleton, or a pose. Its rest pose, or the given pose, defines zero twist and the bone lengths.
    positions
        (frames, joints, 3) [file units]; NaN where a joint was not observed. Gaps are interpolated linearly in time;
        before the first and after the last observation the position is constant. Joints without any observation are
        left out.
    joints
        Names of the columns; by default all joints of the skeleton, in order.
    fps
        Frames per second of the positions, and of the clip.
    twist_half_life
        [s] Half-life with which twist that the positions do not determine decays to zero; see the notes.
    refine
        Whether frames with bone lengths other than the skeleton's are refined by least squares over all joints at once.
        Without it each bone has exactly the direction of its positions.
    name
        Name of the clip.

    Returns
    -------
    Fitted
        The clip, with the remaining distance to each position.

    Notes
    -----
    Joints are fitted parents first, in closed form for all frames at once: the topmost joint is moved to its position;
    a joint with children in several directions takes the best rotation for all of them, one with a single direction the
    shortest arc, and a hinge the best angle. Where a direction leaves the twist open, a bent hinge below determines it.
    Without one the twist changes as little as possible from frame to frame (parallel transport) and decays with the
    given half-life, so that it does not accumulate. Joints without positions below them keep the given pose. Limits are
    kept; slides do not move.

    References
    ----------
    The best rotation: Kabsch, Acta Cryst. A32, 1976.
    """
    refine = check_bool(refine, "refine")
    if not isinstance(on, Pose | Skeleton):
        raise make_type_error(on, (Skeleton, Pose), "what fit() moves")
    base = on if isinstance(on, Pose) else Pose(on, on.rest_q)
    if base.shape:
        raise InputError("fit() takes a skeleton or a single pose")
    rows, measured_positions = _parse_positions(base.skeleton, positions, joints)
    half_life, frame_rate = check_real(twist_half_life, "twist_half_life"), check_real(fps, "fps")
    if not half_life > 0 or not 0 < frame_rate < np.inf:
        raise InputError("twist_half_life and fps are finite numbers above 0")
    observed_columns = {int(column) for column in np.nonzero(np.isfinite(measured_positions).all(axis=2))[1]}
    anchor, used_columns = _find_anchor(base.skeleton, rows, observed_columns, is_named=joints is not None)
    tracked_rows, targets = [rows[i] for i in used_columns], _fill_gaps(measured_positions[:, used_columns])
    q = fit_rotations(base, tracked_rows, targets, anchor, twist_retention=2.0 ** (-1 / (frame_rate * half_life)))
    shift = targets[:, tracked_rows.index(anchor)] - base.world.positions[anchor]
    poses = _move_anchor(base, q, anchor, shift)
    if refine:
        poses = _refine_frames(poses, tracked_rows, targets, anchor)
    residuals = np.sqrt(((poses.world.positions[:, rows] - measured_positions) ** 2).sum(axis=-1))
    column_names = tuple(base.skeleton.names[row] for row in rows)
    freeze_array(residuals)
    return Fitted(np.arange(len(q)) / frame_rate, poses, name, joints=column_names, residuals=residuals)


def _parse_positions(
    skeleton: Skeleton, positions: ArrayLike, joints: Iterable[str] | None
) -> tuple[list[int], Floats]:
    """Parse joint names and positions (frames, columns, 3).

    Returns the skeleton rows of the columns and the positions.
    """
    joint_names = None if joints is None else check_names(joints, "joints")
    rows = list(range(len(skeleton))) if joint_names is None else [skeleton.index(joint) for joint in joint_names]
    if len(set(rows)) != len(rows):
        repeated_names = join_names(sorted({skeleton.names[row] for row in rows if rows.count(row) > 1}))
        raise InputError(f"a joint has one column of positions; given twice: {repeated_names}")
    measured_positions = copy_numbers_or_nan(positions, "positions")
    if measured_positions.ndim != 3 or measured_positions.shape[1:] != (len(rows), 3):  # noqa: PLR2004  (frames, joints, x y z)
        shape = f"(frames, {len(rows)}, 3)"
        raise InputError(
            f"positions of {len(rows)} joints are numbers of shape {shape}, not {measured_positions.shape}"
        )
    if np.isinf(measured_positions).any():
        raise InputError("positions are finite numbers, or NaN where a joint was not seen")
    return rows, measured_positions


def _fill_gaps(measured_positions: Floats) -> Floats:
    """Interpolate missing positions linearly in time."""
    filled_positions = measured_positions.copy()
    frames = np.arange(len(measured_positions))
    is_missing: Bools = np.asarray(np.isnan(measured_positions).any(axis=2))
    for column in np.flatnonzero(is_missing.any(axis=0)):
        is_observed = ~is_missing[:, column]
        for axis in range(3):
            filled_positions[~is_observed, column, axis] = np.interp(
                frames[~is_observed], frames[is_observed], measured_positions[is_observed, column, axis]
            )
    return filled_positions


def _find_anchor(
    skeleton: Skeleton, rows: list[int], observed_columns: set[int], *, is_named: bool
) -> tuple[int, list[int]]:
    """Find the topmost joint with positions. Also returns the columns of observed joints at or below it.

    Of several topmost joints it is the one with the most joints below it. Other roots, such as those of meshes, stay
    where they are; they raise InputError if they were named.
    """
    if not observed_columns:
        raise InputError("no joint has a position in any frame")
    path_rows = {i: set(skeleton.list_path(rows[i])) for i in observed_columns}
    anchor = max(
        (rows[i] for i in observed_columns), key=lambda top: (sum(top in path_rows[i] for i in observed_columns), -top)
    )
    used_columns = [i for i in sorted(observed_columns) if anchor in path_rows[i]]
    if is_named and len(used_columns) < len(observed_columns):
        other_name = next(skeleton.names[rows[i]] for i in observed_columns if i not in used_columns)
        message = f"{other_name!r} is not below {skeleton.names[anchor]!r}"
        raise InputError(f"{message}; give the positions of a joint above both, such as the hips")
    return anchor, used_columns


def _move_anchor(base: Pose, q: Floats, anchor: int, shift: Floats) -> Pose:
    """Translate the anchor of poses q by `shift` (frames, 3), world.

    The offset goes into q for a free joint, else into its translation.
    """
    skeleton, parent = base.skeleton, int(base.skeleton.parents[anchor])
    parent_linear = np.eye(3) if parent < 0 else base.world.affine[parent, :, :3]
    local_shift = shift @ np.linalg.inv(parent_linear).T
    frame_count = len(q)
    scales = None if base.scales is None else np.broadcast_to(base.scales, (frame_count, *base.scales.shape))
    rest_translations = skeleton.A[:, :3] if base.translations is None else base.translations
    translations = (
        None
        if base.translations is None
        else np.broadcast_to(rest_translations, (frame_count, *rest_translations.shape)).copy()
    )
    if skeleton.kinds[anchor] == Kind.FREE:
        q = q.copy()
        start_column = int(skeleton.q_start[anchor])
        q[:, start_column : start_column + 3] += rotations.rotate(
            rotations.inverse(skeleton.A[anchor, 3:]), local_shift
        )
    else:
        translations = np.broadcast_to(rest_translations, (frame_count, *rest_translations.shape)).copy()
        translations[:, anchor] += local_shift
    return Pose(skeleton, q, translations, scales)


def _refine_frames(poses: Pose, tracked_rows: list[int], targets: Floats, anchor: int) -> Pose:
    """Refine inaccurate frames by least squares over all joints. The closed form is the initial guess."""
    skeleton, initial_positions = poses.skeleton, poses.world.positions
    body_size = float(np.ptp(initial_positions, axis=1).max(initial=0.0))
    squared_errors = ((initial_positions[:, tracked_rows] - targets) ** 2).sum(axis=(1, 2))
    inaccurate_frames = np.flatnonzero(squared_errors > (_REFINE_ERROR_SHARE * body_size) ** 2)
    is_free_root, anchor_name = skeleton.kinds[anchor] == Kind.FREE, skeleton.names[anchor]
    goals = [
        Position(skeleton.names[row], targets[inaccurate_frames, i], root=None if row == anchor else anchor_name)
        for i, row in enumerate(tracked_rows)
        if is_free_root or row != anchor
    ]
    if not len(inaccurate_frames) or not goals:
        return poses
    solver = LevenbergMarquardt(iterations=_REFINE_ITERATIONS, restarts=0, damping=1.0)
    result = solve(
        poses[inaccurate_frames],
        goals,
        solver=solver,
        tolerance=_REFINE_ERROR_SHARE * body_size,
        free_root=bool(is_free_root),
    )
    new_errors = ((result.pose.world.positions[:, tracked_rows] - targets[inaccurate_frames]) ** 2).sum(axis=(1, 2))
    is_better = new_errors < squared_errors[inaccurate_frames]
    q = poses.q.copy()
    q[inaccurate_frames[is_better]] = result.q[is_better]
    return poses.with_q(q)
