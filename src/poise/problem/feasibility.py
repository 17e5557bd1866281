"""Geometric checks: reach of chains, conflicts of goals, closed loops."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, prepare_for_kernel
from poise.maths.vectors import length
from poise.model.kinematics import NO_OFFSETS
from poise.model.loop_gaps import MAX_FILE_GAP, LoopGaps, compute_pose_gaps, find_touched_loops, measure_gaps
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.angular_errors import measure_direction_error, measure_rotation_error
from poise.problem.dof_layout import BALL, DIRECTION, POSITION, ROTATION, TARGET_SIZES, Measure
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR
from poise.problem.goal_errors import WorldTransforms
from poise.problem.goal_fields import get_goal_point
from poise.problem.goal_ranges import is_set_goal
from poise.problem.plan import TERM_TARGET_START, Plan
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import get_or_compute, quick_property


class TargetReach(NamedTuple):
    """Reach of one position goal.

    Fields: term number in the plan, and shortest, longest and desired (k,) distance from its first joint.
    """

    term_index: int
    min_reach: float
    max_reach: float
    distance: Floats


def compute_reaches(problem: Problem, targets: Floats) -> list[TargetReach]:
    """Compute the reach of every position goal."""
    plan, kernel_targets = problem.plan, problem.compute_kernel_targets(targets)
    target_reaches: list[TargetReach] = []
    for i, term in enumerate(plan.layout.terms):
        if term.kind == POSITION and term.is_plain:
            min_reach, max_reach, origin = plan.term_reaches[i]
            column = int(plan.term_table[i, TERM_TARGET_START])
            offset = kernel_targets[:, column : column + 3] - origin
            target_reaches.append(TargetReach(i, min_reach, max_reach, np.sqrt((offset**2).sum(axis=-1))))
    return target_reaches


def find_unreachable(problem: Problem, targets: Floats, tolerance: Tolerance) -> Ints:
    """Return the number of each row's first unreachable position.

    Positions are counted from 1 in the order of the terms; 0 is none.
    """
    slack = tolerance.distance / problem.plan.kernel_unit_in_world
    first_unreachable = np.zeros(len(targets), dtype=np.int64)
    for position_number, reach in enumerate(compute_reaches(problem, targets), start=1):
        is_outside = (reach.distance > reach.max_reach + slack) | (reach.distance < reach.min_reach - slack)
        first_unreachable = np.where(is_outside & (first_unreachable == 0), position_number, first_unreachable)
    return first_unreachable


@dataclass(frozen=True, eq=False)
class FreeReach:
    """Reach of a free chain.

    It has balls without limits, and one position goal at its end. Straightened towards a target beyond it, the chain
    is as near as possible.

    origin        (3,) or (k, 3) its first joint, in kernel units and the base frame
    max_distance  longest distance of a target within reach [kernel units], a number or (k,)
    """

    origin: Floats
    max_distance: Any

    @quick_property
    def rows(self) -> Floats:
        """(1|k, 4) origins and distances, for kernels/chain_targets.py."""
        origins = self.origin.reshape(-1, 3)
        distances = np.broadcast_to(np.reshape(self.max_distance, (-1, 1)), (len(origins), 1))
        return np.concatenate([origins, distances], axis=1)

    def find_far(self, kernel_targets: Floats) -> Bools | None:
        """Return a mask (k,) of kernel targets (k, 3...) beyond the reach. None where there are no such targets."""
        if len(kernel_targets) == 1:  # Python floats: arrays would take a tenth of a solve
            x, y, z = kernel_targets[0, :3].tolist()
            a, b, c = self.origin.tolist()
            dx, dy, dz = x - a, y - b, z - c  # products: powers may be rounded otherwise
            is_single_far = dx * dx + dy * dy + dz * dz > self.max_distance * self.max_distance
            return np.array([True]) if is_single_far else None
        is_far = ((kernel_targets[:, :3] - self.origin) ** 2).sum(axis=1) > self.max_distance**2
        return is_far if is_far.any() else None


def find_free_reach(problem: Problem, tolerance: Tolerance) -> FreeReach | None:
    """Return the reach of a free chain. None for other problems."""
    plan = problem.plan

    def compute_reach() -> FreeReach | None:
        if (
            problem.free_root
            or not problem.has_single_position
            or not get_or_compute(plan.tree, "is a free chain", None, lambda: _is_unlimited_ball_chain(plan))
        ):
            return None
        _, max_reach, origin = plan.term_reaches[0]
        return FreeReach(origin, max_reach + tolerance.distance / plan.kernel_unit_in_world)

    return get_or_compute(plan, "free reach", tolerance, compute_reach)


def find_overextended(problem: Problem, targets: Floats, tolerance: Tolerance) -> Bools | None:
    """Return a mask (k,) of targets beyond a free chain's reach. None where there are no such targets."""
    reach = find_free_reach(problem, tolerance)
    return None if reach is None else reach.find_far(problem.compute_kernel_targets(targets))


def _is_unlimited_ball_chain(plan: Plan) -> bool:
    nodes = plan.layout.nodes
    return all(node.kind == BALL for node in nodes) and not any(plan.skeleton.limits[node.row] for node in nodes)


def pull_inside_reach(problem: Problem, targets: Floats) -> Floats:
    """Pull position targets (k, W) inside the reach of the rigid tree.

    The reach is reduced by twice the relative length error of non-uniform scale. Targets move along the line from the
    chain's first joint.
    """
    plan, pulled_targets = problem.plan, targets.copy()
    base_transforms, kernel_targets = (
        problem.rigid_base_transforms.reshape(-1, 3, 4),
        problem.compute_kernel_targets(targets),
    )
    for i, term in enumerate(plan.layout.terms):
        if term.kind != POSITION or not term.is_plain:
            continue
        min_reach, _, origin = plan.term_reaches[i]
        min_distance = (1.0 + 2.0 * plan.length_error) * np.reshape(min_reach, (-1, 1))
        max_distance = (1.0 - 2.0 * plan.length_error) * np.reshape(plan.reach_bounds.compute_max_reach(i), (-1, 1))
        offset = kernel_targets[:, int(plan.term_table[i, TERM_TARGET_START]) :][:, :3] - origin
        distance = np.sqrt((offset**2).sum(axis=-1, keepdims=True))
        new_distance = np.clip(distance, np.minimum(min_distance, max_distance), max_distance)
        kernel_points = origin + offset * (new_distance / np.maximum(distance, 1e-300))
        world_points = (base_transforms[:, :, :3] * (plan.signed_kernel_unit * kernel_points)[:, None]).sum(
            axis=-1
        ) + base_transforms[:, :, 3]
        pulled_targets[:, term.target_column : term.target_column + 3] = np.where(
            distance > 0.0, world_points, targets[:, term.target_column : term.target_column + 3]
        )
    return pulled_targets


# --- Detect conflicting goals from bone lengths and rigid bodies -----------------------------------------------------
#
# The distance of two points of a chain is bounded by the bones between them, extended or folded. Points and axes of one
# rigid body keep their distances and angles in every pose. Limits are not considered.


class Conflict(NamedTuple):
    """Conflict between two or three measures of a problem.

    kind                 "far", "near", "turned" (two rotations or directions) or "askew" (two points and a rotation)
    measure_indices      two numbers; of "askew" three, the rotation last
    target_difference    (k,) the distance or angle between the targets [file units, rad]; for "askew" their mismatch
    possible_difference  the nearest distance or angle of any pose
    excess               (k,) the difference minus the tolerances; above 0 no pose meets both
    """

    kind: str
    measure_indices: tuple[int, ...]
    target_difference: Floats
    possible_difference: Floats
    excess: Floats


def find_conflicts(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance) -> list[Conflict]:
    """Compare every pair of goals of a problem.

    q (k, nq) are arbitrary poses of it. Non-uniform scale changes distances within a body; then only coincident points
    are compared.
    """
    measures = problem.measures
    if len(measures) < 2 or len(problem.goals) < 2 or not len(q):  # noqa: PLR2004  (a conflict takes two)
        return []
    target_slices = [slice(m.target_column, m.target_column + TARGET_SIZES[m.kind]) for m in measures]
    measure_targets = [
        np.broadcast_to(targets[:, target_slice], (len(q), target_slice.stop - target_slice.start))
        for target_slice in target_slices
    ]
    conflicts = _compare_distances(problem, measure_targets, tolerance)
    if problem.plan.length_error <= EXPORTER_LENGTH_ERROR:
        conflicts += _compare_within_bodies(problem, q, measure_targets, tolerance)
    return conflicts


def number_conflicts(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance) -> Ints:
    """Return the number of each row's first conflict. Numbers begin at 1; 0 is no conflict."""
    conflict_numbers = np.zeros(len(q), dtype=np.int64)
    for conflict_number, conflict in enumerate(find_conflicts(problem, q, targets, tolerance), start=1):
        conflict_numbers = np.where(
            (conflict_numbers == 0) & (conflict.excess > 0.0), conflict_number, conflict_numbers
        )
    return conflict_numbers


# --- points ------------------------------------------------------------------------------------------------------


def _compare_distances(problem: Problem, measure_targets: list[Floats], tolerance: Tolerance) -> list[Conflict]:
    """Compare target distances with the bone lengths between their points."""
    conflicts: list[Conflict] = []
    position_measures = [
        i
        for i, measure in enumerate(problem.measures)
        if measure.kind == POSITION and _has_plain_target(problem, measure)
    ]
    for i, j in combinations(position_measures, 2):
        min_distance, max_distance = _bound_distance(problem, i, j)
        distance = length(measure_targets[j] - measure_targets[i])
        slack = 2.0 * tolerance.distance
        for kind, possible_difference, excess in (
            ("far", max_distance, distance - max_distance),
            ("near", min_distance, min_distance - distance),
        ):
            if np.isfinite(possible_difference):
                conflicts.append(
                    Conflict(kind, (i, j), distance, np.full(len(distance), possible_difference), excess - slack)
                )
    return conflicts


def _has_plain_target(problem: Problem, measure: Measure) -> bool:
    """Return whether a measure has a single target in the world."""
    return not is_set_goal(problem.goals[measure.goal_index])


def _bound_distance(problem: Problem, i: int, j: int) -> tuple[float, float]:
    """Bound the distance [file units] of two points by bone lengths."""
    plan, (first, second) = problem.plan, (problem.measures[i], problem.measures[j])
    goals = problem.goals[first.goal_index], problem.goals[second.goal_index]
    if first.row == second.row and get_goal_point(goals[0]) == get_goal_point(goals[1]):
        return 0.0, 0.0
    if plan.length_error > EXPORTER_LENGTH_ERROR:
        return 0.0, np.inf
    term_indices = [
        next(n for n, term in enumerate(plan.layout.terms) if _is_term_of(term, m)) for m in (first, second)
    ]
    min_distance, max_distance = plan.reach_bounds.bound_distance(*term_indices)
    return min_distance * plan.kernel_unit_in_world, max_distance * plan.kernel_unit_in_world


def _is_term_of(term: object, measure: Measure) -> bool:
    """Return whether a term of the plan packs this measure."""
    return all(getattr(term, name) == getattr(measure, name) for name in ("kind", "goal_index", "row", "target_column"))


# --- measures of one body -------------------------------------------------------------------------------------


def _compare_within_bodies(
    problem: Problem, q: Floats, measure_targets: list[Floats], tolerance: Tolerance
) -> list[Conflict]:
    """Compare targets of one rigid body with its shape."""
    measures = problem.measures
    measures_by_body: dict[int, list[int]] = {}
    for i, measure in enumerate(measures):
        body = _find_body(problem, measure.row)
        if body >= 0 and measure.kind in (POSITION, ROTATION, DIRECTION) and _has_plain_target(problem, measure):
            measures_by_body.setdefault(body, []).append(i)
    if all(len(measures_of_body) < 2 for measures_of_body in measures_by_body.values()):  # noqa: PLR2004  (a conflict takes two)
        return []
    measured_values = _measure_bodies(problem, q)
    conflicts: list[Conflict] = []
    for measures_of_body in measures_by_body.values():
        rotation_measures = [i for kind in (ROTATION, DIRECTION) for i in measures_of_body if measures[i].kind == kind]
        for i, j in combinations(rotation_measures, 2):
            mismatch = _compute_angle_mismatch(
                measures[i].kind,
                measures[j].kind,
                (measured_values[i], measured_values[j]),
                (measure_targets[i], measure_targets[j]),
            )
            conflicts.append(
                Conflict("turned", (i, j), mismatch, np.zeros(len(mismatch)), mismatch - 2.0 * tolerance.angle)
            )
        position_measures = [i for i in measures_of_body if measures[i].kind == POSITION]
        for (i, j), k in product(
            combinations(position_measures, 2), [i for i in rotation_measures if measures[i].kind == ROTATION]
        ):
            point_offset = measured_values[j] - measured_values[i]
            mismatch = length(
                _express_in_frames(measure_targets[k], measure_targets[j] - measure_targets[i])
                - _express_in_frames(measured_values[k], point_offset)
            )
            slack = 2.0 * tolerance.distance + tolerance.angle * length(point_offset)
            conflicts.append(Conflict("askew", (i, j, k), mismatch, np.zeros(len(mismatch)), mismatch - slack))
    return conflicts


def _find_body(problem: Problem, row: int) -> int:
    """Find the nearest moving joint at or above a row. -1 is none."""
    moving_rows = problem.plan.layout.moving_rows
    return next((ancestor for ancestor in reversed(problem.skeleton.list_path(row)) if ancestor in moving_rows), -1)


def _measure_bodies(problem: Problem, q: Floats) -> list[Floats]:
    """Measure points, rotations and axes (k, 3|4) in poses q.

    Measures of other kinds give the rotation of their joint.
    """
    transforms, measured_values = WorldTransforms(problem.make_pose_unchecked(np.array(q))), list[Floats]()
    for measure in problem.measures:
        goal = problem.goals[measure.goal_index]
        if measure.kind == POSITION:
            measured_values.append(transforms.compute_point(measure, goal))
        elif measure.kind == DIRECTION:
            measured_values.append(transforms.compute_axis(measure, goal))
        else:
            measured_values.append(transforms[measure.row].rotations)
    return measured_values


def _compute_angle_mismatch(
    first_kind: int, second_kind: int, measured_values: tuple[Floats, Floats], targets: tuple[Floats, Floats]
) -> Floats:
    """Compute angles (k,) [rad] between actual and desired relative rotations."""
    if first_kind == DIRECTION:
        return np.abs(measure_direction_error(*targets) - measure_direction_error(*measured_values))
    if second_kind == ROTATION:
        measured_rotation, target_rotation = (
            rotations.multiply(rotations.inverse(a), b) for a, b in (measured_values, targets)
        )
        return measure_rotation_error(measured_rotation, target_rotation)
    return measure_direction_error(
        _express_in_frames(measured_values[0], measured_values[1]), _express_in_frames(targets[0], targets[1])
    )


def _express_in_frames(frames: Floats, vectors: Floats) -> Floats:
    """Express vectors (k, 3) in rotated frames (k, 4)."""
    return rotations.rotate(rotations.inverse(frames), vectors)


# --- Judge the closed loops of poses ---------------------------------------------------------------------------------
#
# A loop is a limit: it is closed to the same bound as limits are kept to, whatever the tolerance of the goals. Files
# round their digits, so loops may have small gaps in the rest pose. This rest gap is added to the bound of a loop.


# [file units, rad] largest gap of a closed loop, that of limits; of large rigs their rounding
MAX_CLOSED_GAP = 1e-9
_ROUNDING_RATIO = 1e-12  # ratio of rounding to the size of a rig


class LoopBounds(NamedTuple):
    """Largest gaps of closed loops, (loops,) each [file units, rad]."""

    distances: Floats
    angles: Floats


class JudgedGaps(NamedTuple):
    """Gaps of all loops in poses (k,), judged.

    gaps        (k, loops) distances [file units] and angles [rad]
    bounds      the largest gaps of closed loops
    """

    gaps: LoopGaps
    bounds: LoopBounds

    @property
    def has_distance_gap(self) -> Bools:
        """Mask (k, loops) of distances beyond their bounds."""
        return ~(self.gaps.distances <= self.bounds.distances)

    @property
    def has_angle_gap(self) -> Bools:
        """Mask (k, loops) of angles beyond their bounds."""
        return ~(self.gaps.angles <= self.bounds.angles)

    @property
    def is_open(self) -> Bools:
        """Mask (k, loops) of open loops."""
        return self.has_distance_gap | self.has_angle_gap


def judge_gaps(problem: Problem, q: Floats) -> JudgedGaps:
    """Measure and judge all loops of poses q (k, nq)."""
    skeleton, start = problem.skeleton, problem.start
    bounds = get_or_compute(skeleton, "loop bounds", None, lambda: _compute_loop_bounds(skeleton))
    if start.translations is None is start.scales and skeleton.loops:  # needs no pose
        return JudgedGaps(measure_gaps(skeleton, prepare_for_kernel(q), NO_OFFSETS), bounds)
    return JudgedGaps(compute_pose_gaps(problem.make_pose_unchecked(np.array(q))), bounds)


def judge_start_gaps(problem: Problem) -> JudgedGaps:
    """Measure and judge every loop in the start poses of a problem."""
    return judge_gaps(problem, problem.start.flat_q)


def has_closed_loops(problem: Problem, q: Floats) -> Bools:
    """Return whether poses q (k, nq) keep all loops closed."""
    if not problem.skeleton.loops:
        return np.ones(len(q), dtype=np.bool_)
    return ~np.logical_or.reduce(judge_gaps(problem, q).is_open, axis=-1)


def find_touched(problem: Problem) -> tuple[int, ...]:
    """Find the loops of moving joints. They are numbers in `Skeleton.loops`; moving the joints may open them."""
    skeleton = problem.skeleton
    return find_touched_loops(skeleton, problem.plan.layout.moving_rows) if skeleton.loops else ()


def _compute_loop_bounds(skeleton: Skeleton) -> LoopBounds:
    """Compute the largest gaps of closed loops. The gaps at rest from the rounded digits of a file are added."""
    rest = Pose(skeleton, skeleton.rest_q)
    rig_size = float(np.ptp(rest.world.positions, axis=0).max(initial=0.0))
    gaps, max_distance = compute_pose_gaps(rest), max(MAX_CLOSED_GAP, _ROUNDING_RATIO * rig_size)
    return LoopBounds(
        max_distance + np.where(gaps.distances <= MAX_FILE_GAP * rig_size, gaps.distances, 0.0),
        MAX_CLOSED_GAP + np.where(gaps.angles <= MAX_FILE_GAP, gaps.angles, 0.0),
    )
