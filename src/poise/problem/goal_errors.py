"""Goal errors of poses by forward kinematics.

A kernel measures along the joint paths of the goals (others: problem/world_measures.py). NumPy measures Balance, with
its Jacobian, and sheared rotations.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels import layout
from poise.kernels.thresholds import SAME_POINT_RATIO
from poise.maths import rotations, vectors
from poise.maths.arrays import Bools, Floats, Ints, find_simd_width, get_scratch
from poise.model.kinematics import find_q_columns
from poise.model.mass import MassShares
from poise.model.pose import Pose, Transforms
from poise.model.skeleton import Skeleton
from poise.problem import angular_errors, dof_layout
from poise.problem.goal_fields import get_goal_point, get_pointing_axis
from poise.problem.goal_ranges import is_set_goal
from poise.problem.goals import AnyGoal, Balance, Pole
from poise.problem.plan import Plan
from poise.problem.set_targets import ReferenceFrame, compute_offset, find_nearest_rotation, read_target_axes
from poise.runtime.result_cache import get_or_compute

_FIRST_ROW, _NO_ROWS = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
_MIN_SQUARED_LENGTH = 1e-300  # lower bound of squared lengths in divisions


# --- Balance: offset of the centre of mass from the area between the supports ----------------------------------------
#
# c is the centre of mass and s_i are the support points, shrunk towards their mean; both are projected along `up`. For
# c outside their hull the nearest point of the hull is n = sum l_i s_i, with shares l_i of two corners. The residual is
# e = n - c, and 0 inside. For constant shares e decreases by dc - sum l_i ds_i; this is exact to first order, because n
# moves along its edge, perpendicular to e. A joint rotates all mass below it: dc = m / M (v + w x (b - p)), where b is
# the centre of the mass m below it, and v and w are the velocities of any point p below it (a column of its Jacobian).


class BalanceError(NamedTuple):
    """Balance error of poses, in the plane perpendicular to up.

    offset          (k, 2) from the centre of mass to the nearest point of the area; 0 inside
    support_shares  (k, b) of the supports in that nearest point
    """

    offset: Floats
    support_shares: Floats


def compute_balance_error(pose: Pose, goal: Balance) -> BalanceError:
    """Compute the offset of the centre of mass from the support area."""
    skeleton, world_maps = pose.skeleton, pose.world.affine
    plane_axes = compute_plane_axes(goal, skeleton)
    support_points = np.stack(
        [
            world_maps[:, row, :, :3] @ np.array(offset) + world_maps[:, row, :, 3]
            for row, offset in goal.support(skeleton)
        ],
        1,
    )
    centre = vectors.dot(goal.compute_mass_shares(skeleton).compute_centre(world_maps)[:, None], plane_axes)
    corners = vectors.dot(support_points[:, :, None], plane_axes)
    shares = find_nearest_shares(shrink_polygon(corners, goal.margin), centre)
    support_shares = (1.0 - goal.margin) * shares + goal.margin * shares.sum(axis=1, keepdims=True) / corners.shape[1]
    nearest_point = (support_shares[:, :, None] * corners).sum(axis=1)
    offset = np.where(_is_balanced(shares)[:, None], 0.0, nearest_point - centre)
    return BalanceError(offset, support_shares)


def _is_balanced(shares: Floats) -> Bools:
    """Return whether the centre is inside, by its shares (k, b)."""
    return shares.sum(axis=1) == 0.0


def compute_plane_axes(goal: Balance, skeleton: Skeleton) -> Floats:
    """Return two orthogonal unit vectors (2, 3) perpendicular to up."""
    up = goal.upward(skeleton)
    first_axis = vectors.normalise(np.asarray(np.cross(up, np.eye(3)[np.argmin(abs(up))]), dtype=np.float64))
    return np.stack([first_axis, np.cross(up, first_axis)])


def shrink_polygon(corners: Floats, margin: float) -> Floats:
    """Move points (k, b, 2) towards their mean by a share."""
    return corners + margin * (corners.mean(axis=1, keepdims=True) - corners)


def find_nearest_shares(corners: Floats, point: Floats) -> Floats:
    """Compute the shares (k, b) of corners in the nearest hull point.

    It is the point of the hull of `corners` (k, b, 2) nearest to `point` (k, 2); inside the hull all shares
    are 0. All pairs of corners are tried, as the nearest point is on a segment between two of them.
    """
    k, b = corners.shape[:2]
    shares, min_squared_distance = np.zeros((k, b)), np.full(k, np.inf)
    for i, j in combinations(range(b), 2) if b > 1 else [(0, 0)]:
        edge, edge_start = corners[:, j] - corners[:, i], corners[:, i]
        edge_fraction = np.clip(
            ((point - edge_start) * edge).sum(axis=1) / np.maximum((edge**2).sum(axis=1), _MIN_SQUARED_LENGTH), 0.0, 1.0
        )
        squared_distance = ((edge_start + edge_fraction[:, None] * edge - point) ** 2).sum(axis=1)
        is_nearer = squared_distance < min_squared_distance
        min_squared_distance = np.where(is_nearer, squared_distance, min_squared_distance)
        shares[is_nearer] = 0.0
        shares[is_nearer, i] += 1.0 - edge_fraction[is_nearer]
        shares[is_nearer, j] += edge_fraction[is_nearer]
    return np.where(_is_inside_hull(corners, point)[:, None], 0.0, shares)


def _is_inside_hull(corners: Floats, point: Floats) -> Bools:
    """Return whether points (k, 2) lie in the corners' hulls.

    Seen from inside, no half circle of directions is empty.
    """
    directions = corners - point[:, None]
    angles = np.sort(np.arctan2(directions[..., 1], directions[..., 0]), axis=1)
    gaps = np.diff(angles, axis=1, append=angles[:, :1] + 2.0 * np.pi)
    return gaps.max(axis=1) < np.pi


def compute_balance_jacobian(
    plan: Plan, pose: Pose, goal: Balance, origin_jacobians: dict[int, Floats]
) -> tuple[Floats, Floats]:
    """Compute the balance Jacobian (k, 2, nd) and error e (k, 2).

    The Jacobian is the rate at which e decreases; `origin_jacobians` are the Jacobians (k, 6, nd) of joint origins,
    by row.
    """
    skeleton, world_maps, plane_axes = plan.skeleton, pose.world.affine, compute_plane_axes(goal, plan.skeleton)
    error, shares = compute_balance_error(pose, goal)
    jacobian = _compute_com_jacobian(plan, goal.compute_mass_shares(skeleton), world_maps, origin_jacobians)
    for i, (row, offset) in enumerate(goal.support(skeleton)):
        support_offset = world_maps[:, row, :, :3] @ np.array(offset)
        point_jacobian = origin_jacobians[row][:, :3] + np.cross(
            origin_jacobians[row][:, 3:], support_offset[:, :, None], axis=1
        )
        jacobian -= shares[:, i, None, None] * point_jacobian
    return np.where(_is_balanced(shares)[:, None, None], 0.0, plane_axes @ jacobian), error


def _compute_com_jacobian(
    plan: Plan, mass_shares: MassShares, world_maps: Floats, origin_jacobians: dict[int, Floats]
) -> Floats:
    """Compute the Jacobian (k, 3, nd) of the centre of mass."""
    descendants = _find_descendants(plan.skeleton)
    moments = mass_shares.shares[:, None] * mass_shares.compute_centres(world_maps)
    jacobian = np.zeros((len(world_maps), 3, len(plan.layout.dofs)))
    for node in plan.layout.nodes:
        if node.kind == dof_layout.FIXED:
            continue
        descendant_row = next(row for row in origin_jacobians if node.row in plan.skeleton.list_path(row))
        rows_below, dofs = (
            descendants[node.row],
            slice(node.dof_start, node.dof_start + dof_layout.DOF_COUNTS[node.kind]),
        )
        mass = mass_shares.shares[rows_below].sum()
        moment = moments[:, rows_below].sum(axis=1) - mass * world_maps[:, descendant_row, :, 3]
        velocity, angular_velocity = (
            origin_jacobians[descendant_row][:, :3, dofs],
            origin_jacobians[descendant_row][:, 3:, dofs],
        )
        jacobian[:, :, dofs] += mass * velocity + np.cross(angular_velocity, moment[:, :, None], axis=1)
    return jacobian


def _find_descendants(skeleton: Skeleton) -> Bools:
    """Return the descendant mask (n, n) of the skeleton's joints.

    Entry (i, j) says whether joint j is joint i or below it.
    """

    def build_mask() -> Bools:
        mask = np.zeros((len(skeleton), len(skeleton)), dtype=bool)
        for row in range(len(skeleton)):
            mask[skeleton.list_path(row), row] = True
        return mask

    return get_or_compute(skeleton, "joints below", None, build_mask)


# --- Errors of all other goals ---------------------------------------------------------------------------------------
#
# Measurements use the skeleton's own joint data, and nothing reported by a solver.


_SIMILARITY_TOLERANCE = 1e-9  # largest deviation from a rotation times a factor
_COINCIDENCE_RATIO = math.sqrt(SAME_POINT_RATIO)  # relative distance of coincident points, from rounding


AngleFactors = tuple[tuple[int, float], ...]
"""(column, factor) of angular errors: ratio of the error to the angle that a kernel measures."""


class ErrorPaths(NamedTuple):
    """Kernel input for the paths from the root to the measures. See kernels/goal_errors.py."""

    table: Floats
    spans: Ints
    measure_rows: Floats
    q_columns: Ints
    angle_factors: AngleFactors


def has_uniform_scale(start: Pose, row: int) -> bool:
    """Return whether scale is uniform on the path to a row.

    This holds for every pose without translations and scales of its own, and is not known of others.
    """
    if start.translations is not None or start.scales is not None:
        return False
    skeleton = start.skeleton
    _, is_uniform = get_or_compute(skeleton, "path rows", None, lambda: _pack_path_rows(skeleton))
    return bool(is_uniform[skeleton.list_path(row)].all())


NO_ERROR_PATHS = ErrorPaths(
    np.empty((0, layout.PATH_ROW)),
    np.empty((0, 2), dtype=np.int64),
    np.empty((0, layout.MEASURE_ROW)),
    np.empty(0, dtype=np.int64),
    (),
)
"""Paths of kernels that solve and do not measure."""


def build_error_paths(
    skeleton: Skeleton, goals: Sequence[AnyGoal], measures: Sequence[dof_layout.Measure], goal_key: Hashable
) -> ErrorPaths | None:
    """Pack the paths from the root to the goals' joints.

    None for non-uniform scale, relative goals, ranges and a Balance, which depends on all joints; world transforms
    measure these. Paths are remembered with the skeleton for goals of these kinds, and hold for poses without
    translations and scales of their own.
    """
    return get_or_compute(skeleton, "error paths", goal_key, lambda: _pack_paths(skeleton, goals, measures))


def _pack_measure_rows(skeleton: Skeleton, measures: Sequence[dof_layout.Measure], goals: Sequence[AnyGoal]) -> Floats:
    """Pack the quantity measured at the end of each path. See kernels/goal_errors.py."""
    measure_rows = np.zeros((len(measures), layout.MEASURE_ROW))
    for packed_row, measure in zip(measure_rows, measures, strict=True):
        goal = goals[measure.goal_index]
        packed_row[layout.MEASURE_KIND], packed_row[layout.MEASURE_TARGET_START] = measure.kind, measure.target_column
        packed_row[layout.MEASURE_POINT :] = get_goal_point(goal)
        if measure.kind in (dof_layout.DIRECTION, dof_layout.AIM):
            packed_row[layout.MEASURE_VECTOR : layout.MEASURE_POINT] = get_pointing_axis(skeleton, goal)
        elif isinstance(goal, Pole):
            packed_row[layout.MEASURE_VECTOR : layout.MEASURE_VECTOR + 2] = [
                len(skeleton.list_path(joint)) for joint in measure.limb_rows
            ]
    return measure_rows


def _pack_paths(
    skeleton: Skeleton, goals: Sequence[AnyGoal], measures: Sequence[dof_layout.Measure]
) -> ErrorPaths | None:
    for measure in measures:
        goal = goals[measure.goal_index]
        if measure.reference_row >= 0 or (getattr(goal, "within", None) is not None and is_set_goal(goal)):
            return None
    path_rows: list[int] = []
    spans = np.zeros((len(measures), 2), dtype=np.int64)
    for i, measure in enumerate(measures):
        if measure.kind == dof_layout.BALANCE:
            return None
        path = skeleton.list_path(measure.row)
        spans[i] = len(path_rows), len(path_rows) + len(path)
        path_rows.extend(path)
    rows_table, is_uniform = get_or_compute(skeleton, "path rows", None, lambda: _pack_path_rows(skeleton))
    if not is_uniform[path_rows].all():
        return None
    table = rows_table[path_rows]
    q_columns = find_q_columns(skeleton, set(path_rows))
    _renumber_columns(table, q_columns)
    measure_rows = _pack_measure_rows(skeleton, measures, goals)
    return ErrorPaths(table, spans, measure_rows, q_columns, find_angle_factors(measures))


def _pack_path_rows(skeleton: Skeleton) -> tuple[Floats, Bools]:
    """Pack the table rows (n, PATH_ROW) of all joints.

    Columns are those of the skeleton's q. Also return whether the scale of each row is uniform.
    """
    table = np.zeros((len(skeleton.names), layout.PATH_ROW))
    table[:, layout.PATH_KIND] = skeleton.kinds
    table[:, layout.PATH_AXIS : layout.PATH_OFFSET] = skeleton.axes
    table[:, layout.PATH_OFFSET : layout.PATH_Q_START] = skeleton.A
    table[:, layout.PATH_Q_START] = skeleton.q_start
    table[:, layout.PATH_COUPLING_RATIO : layout.PATH_COUPLING_OFFSET + 1] = skeleton.coupling_rows
    table[:, layout.PATH_POST_ROTATION] = table[:, layout.PATH_POST_SCALE] = 1.0
    is_uniform = np.ones(len(table), dtype=np.bool_)
    for row in np.flatnonzero((np.eye(3, 4) != skeleton.B).any(axis=(1, 2))).tolist():
        is_uniform[row] = _pack_post_transform(table[row], skeleton.B[row])
    return table, is_uniform


def _pack_post_transform(packed_row: Floats, b_affine: Floats) -> bool:
    """Pack the transform (3, 4) behind a joint's motion. Return whether its scale is uniform."""
    linear = b_affine[:, :3]
    scale = np.cbrt(np.linalg.det(linear))
    if scale == 0 or np.abs(linear @ linear.T / scale**2 - np.eye(3)).max() > _SIMILARITY_TOLERANCE:
        return False
    packed_row[layout.PATH_HAS_POST_TRANSFORM], packed_row[layout.PATH_POST_SCALE] = 1.0, scale
    packed_row[layout.PATH_POST_OFFSET : layout.PATH_POST_ROTATION] = b_affine[:, 3]
    packed_row[layout.PATH_POST_ROTATION : layout.PATH_POST_SCALE] = rotations.from_matrix(linear / scale)
    return True


def _renumber_columns(table: Floats, q_columns: Ints) -> None:
    """Renumber the table's q columns among the used ones."""
    is_moving = table[:, layout.PATH_KIND] != layout.FIXED
    table[is_moving, layout.PATH_Q_START] = np.searchsorted(
        q_columns, table[is_moving, layout.PATH_Q_START].astype(np.int64)
    )


def compute_path_errors(paths: ErrorPaths, q: Floats, targets: Floats) -> Floats:
    """Compute the errors (k, c) of poses q (k, nq). Distances are in file units, angles in radians."""
    error_parts = np.empty((len(q), len(paths.spans), 2))
    lane_count = find_simd_width()
    workspace = get_scratch((len(paths.q_columns) + 7) * lane_count)
    measure_kernel = kernels.goal_errors.measure8 if lane_count == 8 else kernels.goal_errors.measure4  # noqa: PLR2004
    measure_kernel(paths.table, paths.spans, paths.measure_rows, q, paths.q_columns, targets, workspace, error_parts)
    return convert_error_parts(paths.angle_factors, error_parts)


def find_angle_factors(measures: Sequence[dof_layout.Measure]) -> AngleFactors:
    """Find the angular errors of measures."""
    factors = [(c, 2.0 if m.kind == dof_layout.ROTATION else 1.0) for c, m in enumerate(measures)]
    return tuple([factors[c] for c, m in enumerate(measures) if m.kind != dof_layout.POSITION])


def convert_error_parts(angle_factors: AngleFactors, error_parts: Floats) -> Floats:
    """Convert the parts of errors (k, c, 2) to errors (k, c).

    Angles replace the first parts.
    """
    errors = error_parts[:, :, 0]
    for c, factor in angle_factors:
        errors[:, c] = factor * np.arctan2(
            error_parts[:, c, 0] + 0.0, error_parts[:, c, 1] + 0.0
        )  # atan2(0, -0) is half a turn
    return errors


def find_unmeasured(error_parts: Floats) -> Ints:
    """Find the rows left to NumPy by a kernel.

    Parts are (k, c, 2); rotations of these rows are sheared.
    """
    if len(error_parts) == 1:  # Python floats: arrays would take a tenth of a solve
        return _FIRST_ROW if min([part for part, _ in error_parts[0].tolist()], default=0.0) < 0.0 else _NO_ROWS
    return np.flatnonzero((error_parts[:, :, 0] < 0.0).any(axis=1))


def compute_single_errors(paths: ErrorPaths, max_errors: Floats, q: Floats, target: Floats) -> tuple[Floats, bool]:
    """Compute the errors (c,) of one pose q (nq,).

    Also return whether each error is within `max_errors` (c,) to rounding; `target` is (1, W). Errors equal those of
    `compute_path_errors` to rounding. A separate kernel, as arrays take ten times as long for one pose.
    """
    errors = np.empty(len(max_errors))
    workspace = np.empty(len(paths.q_columns) + 7 + 2 * len(max_errors))
    path_arrays = paths.table, paths.spans, paths.measure_rows, paths.q_columns
    return errors, kernels.goal_errors.measure_one(*path_arrays, max_errors, q, target, workspace, errors)


def compute_world_errors(
    pose: Pose, goals: Sequence[AnyGoal], targets: Floats, measures: Sequence[dof_layout.Measure] = ()
) -> Floats:
    """Compute errors (k, c) from world transforms of any scale.

    It serves a Balance and sheared rotations; kernels/world_errors.py measures the others.
    """
    measures = measures or dof_layout.list_measures(pose.skeleton, goals)
    transforms, errors = WorldTransforms(pose), np.empty((len(targets), len(measures)))
    for c, measure in enumerate(measures):
        target = targets[:, measure.target_column : measure.target_column + dof_layout.TARGET_SIZES[measure.kind]]
        goal = goals[measure.goal_index]
        if isinstance(goal, Balance):
            errors[:, c] = angular_errors.length(compute_balance_error(pose, goal).offset)
        elif is_set_goal(goal):
            axes = read_target_axes(measures, measure.goal_index, targets)
            errors[:, c] = transforms.measure_set_error(measure, goal, target, axes)
        elif measure.kind == dof_layout.POSITION:
            errors[:, c] = angular_errors.length(target - transforms.compute_point(measure, goal))
        elif measure.kind == dof_layout.POLE:
            errors[:, c] = np.abs(transforms.compute_bend_direction(measure, target).pole_angle)
        elif measure.kind == dof_layout.ROTATION:
            errors[:, c] = angular_errors.measure_rotation_error(transforms[measure.row].rotations, target)
        else:
            errors[:, c] = angular_errors.measure_direction_error(
                transforms.compute_axis(measure, goal), transforms.compute_desired_direction(measure, goal, target)
            )
    return errors


# --- measures in world coordinates -------------------------------------------------------------------------------


class WorldTransforms:
    """World transforms of a pose batch (k,) by skeleton row."""

    def __init__(self, pose: Pose) -> None:
        self._pose = pose

    def __getitem__(self, row: int) -> Transforms:
        return self._pose.world[self._pose.skeleton.names[row]]

    def compute_point(self, measure: dof_layout.Measure, goal: AnyGoal) -> Floats:
        """Compute the point (k, 3) of a position or an aim."""
        affine, offset = self[measure.row].affine, get_goal_point(goal)
        return affine[:, :, 3] + affine[:, :, :3] @ np.array(offset) if any(offset) else affine[:, :, 3]

    def compute_axis(self, measure: dof_layout.Measure, goal: AnyGoal) -> Floats:
        """Compute the axis (k, 3) of a direction or an aim."""
        return rotations.rotate(self[measure.row].rotations, np.array(get_pointing_axis(self._pose.skeleton, goal)))

    def compute_desired_direction(self, measure: dof_layout.Measure, goal: AnyGoal, target: Floats) -> Floats:
        """Compute the desired direction (k, 3) of a direction or aim.

        It has any length; it is zero for an aim at its target.
        """
        if measure.kind != dof_layout.AIM:
            return target
        point = self.compute_point(measure, goal)
        direction = target - point
        is_coincident = angular_errors.length(direction) <= _COINCIDENCE_RATIO * np.hypot(
            angular_errors.length(target), angular_errors.length(point)
        )
        return np.where(is_coincident[:, None], 0.0, direction)

    def find_reference(self, measure: dof_layout.Measure) -> ReferenceFrame | None:
        """Return the frame of a measure's reference. None is the world."""
        row = measure.reference_row
        return None if row < 0 else ReferenceFrame(self[row].affine, self[row].rotations)

    def measure_set_error(
        self, measure: dof_layout.Measure, goal: AnyGoal, target: Floats, target_axes: Floats
    ) -> Floats:
        """Measure the errors (k,) of a relative goal or a range. A distance is in units of the goal's reference."""
        frame = self.find_reference(measure)
        if measure.kind == dof_layout.POSITION:
            point, rotation = self.compute_point(measure, goal), self[measure.row].rotations
            return angular_errors.length(compute_offset(frame, goal, point, rotation, target, target_axes))
        if measure.kind == dof_layout.ROTATION:
            rotation = self[measure.row].rotations
            return angular_errors.measure_rotation_error(rotation, find_nearest_rotation(frame, goal, rotation, target))
        if frame is not None:
            is_aim = measure.kind == dof_layout.AIM
            target = frame.move_points(target) if is_aim else rotations.rotate(frame.rotations, target)
        return angular_errors.measure_direction_error(
            self.compute_axis(measure, goal), self.compute_desired_direction(measure, goal, target)
        )

    def shift_set_target(
        self, measure: dof_layout.Measure, goal: AnyGoal, aim: Floats, target: Floats, target_axes: Floats
    ) -> Floats:
        """Shift the aims (k, 3|4) of a set goal by its errors.

        Aims are in the frame of the reference.
        """
        frame = self.find_reference(measure)
        rotation = self[measure.row].rotations
        if measure.kind == dof_layout.POSITION:
            point = self.compute_point(measure, goal)
            return aim + compute_offset(frame, goal, point, rotation, target, target_axes)
        frame_rotations = np.array([1.0, 0.0, 0.0, 0.0]) if frame is None else frame.rotations
        if measure.kind == dof_layout.ROTATION:
            nearest = find_nearest_rotation(frame, goal, rotation, target)
            correction = rotations.multiply(nearest, rotations.inverse(rotation))
            world_aim = rotations.multiply(correction, rotations.multiply(frame_rotations, aim))
            return rotations.normalise(rotations.multiply(rotations.inverse(frame_rotations), world_aim))
        assert frame is not None  # directions and aims have no ranges
        is_aim = measure.kind == dof_layout.AIM
        target = frame.move_points(target) if is_aim else rotations.rotate(frame_rotations, target)
        correction = rotations.rotation_between(
            self.compute_axis(measure, goal), self.compute_desired_direction(measure, goal, target)
        )
        if not is_aim:
            world_aim = rotations.rotate(correction, rotations.rotate(frame_rotations, aim))
            return rotations.rotate(rotations.inverse(frame_rotations), world_aim)
        origin = self.compute_point(measure, goal)
        return frame.find_points(origin + rotations.rotate(correction, frame.move_points(aim) - origin))

    def compute_bend_direction(self, measure: dof_layout.Measure, target: Floats) -> angular_errors.BendDirection:
        """Compute the bend direction of a pole's limb."""
        first, middle, tip = (self[row].positions for row in (*measure.limb_rows, measure.row))
        return angular_errors.find_bend_direction(first, middle, tip, target)


def compute_goal_point(pose: Pose, measure: dof_layout.Measure, goal: AnyGoal) -> Floats:
    """Compute the goal point (k, 3) of a position or aim."""
    return WorldTransforms(pose).compute_point(measure, goal)
