"""Problem: a start pose and goals, without targets.

Targets are passed as rows: the numbers of all goals side by side, in world axes and file units, one row per problem of
a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from poise import kernels
from poise.calls.old_names import make_alias, make_property_alias
from poise.formatting import format_fields
from poise.kernels.thresholds import TOLERANCE_SLACK
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, check_finite, prepare_for_kernel
from poise.maths.rotations import rotation_part
from poise.model.joint_tree import is_robot
from poise.model.kinematics import compute_world_maps, find_q_columns
from poise.model.numpy_kinematics import normalise_rotations
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem import dof_layout, goal_errors
from poise.problem.exporter_noise import PlanStart, remove_exporter_noise
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR, find_static_transform
from poise.problem.goal_ranges import get_within, is_set_goal
from poise.problem.goals import Goal, Near, Pin, Position, is_optional
from poise.problem.plan import (
    NO_GOAL_KEY,
    GoalKey,
    Plan,
    build_goal_key,
    build_plan,
    collect_plan_inputs,
    get_layout,
    group_by_plan,
)
from poise.problem.pose_preference import PosePreference, broadcast_goals, build_preference, find_preferred_shape
from poise.problem.set_targets import convert_set_targets, pack_set_targets, read_target_axes
from poise.problem.start_frames import build_plan_of_starts
from poise.problem.world_measures import WorldMeasures, measure_parts, pack_world_measures
from poise.runtime.result_cache import copy_with, get_or_compute, quick_property, select_own_fields

_CHARACTER_TOLERANCE = 1e-4  # default for characters: ratio to the chain's length, and [rad]
_ROBOT_TOLERANCE = 1e-6  # default for robots [file units, metres in URDF], and [rad]
# Properties of a problem that do not depend on the values q of its starts, and those that depend on its base only.
_START_FREE_PROPERTIES = (
    "plan",
    "measures",
    "preference",
    "has_preference",
    "error_paths",
    "world_measures",
    "angle_factors",
)
_NO_LOCAL_TRANSFORMS = (None, None)
_BASE_PROPERTIES = ("base_transforms", "rigid_base_transforms")

Computed = TypeVar("Computed")


@dataclass(frozen=True)
class Tolerance:
    """Largest errors of a reached goal.

    Parameters
    ----------
    distance
        Largest distance [file units].
    angle
        Largest angle [rad].
    """

    distance: float
    angle: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Goals and start poses of a solve, without the targets.

    Parameters
    ----------
    start
        A pose within limits: a single one, or a batch of poses along one axis.
    goals
        At least one. Their targets are examples, and are not used here.
    free_root
        Whether the free root joint above the chain may move as well.
    goal_key
        Key of the goals without their targets, for remembering plans. Computed by default.
    origin
        The poses before all solves, where the starts are answers themselves: the first pose of a tracker, the frames
        of a clip. None: the starts. Natural poses keep their directions of free limbs.
    """

    __repr__ = format_fields

    start: Pose
    goals: tuple[Goal, ...]
    free_root: bool = False
    goal_key: GoalKey = NO_GOAL_KEY
    origin: Pose | None = None

    def __post_init__(self) -> None:
        if not self.goal_key.kinds:
            object.__setattr__(self, "goal_key", build_goal_key(self.goals))

    def __getstate__(self) -> dict[str, Any]:
        return select_own_fields(self)

    def select_rows(self, rows: Bools | Ints | slice | int) -> Problem:
        """Return the problem for some starts and preferred poses.

        A problem with one start for all targets is returned unchanged. An integer gives a problem without a batch.
        """
        if not self.is_batched:
            return self
        goals = tuple(goal.part(rows) if isinstance(goal, Near) else goal for goal in self.goals)
        if not self.start.shape:
            return self.with_start(self.start, goals)
        if not isinstance(rows, int) and len(self.plan.frames) > 1:
            problem = Problem(self.start[rows], goals, self.free_root, self.goal_key)
            object.__setattr__(problem, "plan", self.plan.select_starts(rows))  # sets the cached property
        else:
            problem = self.with_start(self.start[rows], goals)
        if self.origin is not None and self.origin.shape:
            object.__setattr__(problem, "origin", self.origin[rows])
        return problem

    def with_origin(self, origin: Pose) -> Problem:
        """Return the problem with another origin."""
        return copy_with(self, {"origin": origin}, ("plan",))

    def with_start(self, start: Pose, goals: tuple[Goal, ...] | None = None) -> Problem:
        """Return the problem with other starts. `goals` may replace the goals by others of the same kinds."""
        has_same_plan = not len(self.plan.layout.fixed_columns)
        for pose in (self.start, start):
            has_same_plan = has_same_plan and pose.translations is None and pose.scales is None
        return (
            self.with_start_unchecked(start, goals)
            if has_same_plan
            else Problem(start, goals or self.goals, self.free_root, self.goal_key, self.origin)
        )

    def broadcast(self, shape: tuple[int, ...]) -> Problem:
        """Return the problem with preferred poses broadcast to a batch shape."""
        return (
            self.with_start(self.start, broadcast_goals(self.goals, shape))
            if find_preferred_shape(self.goals)
            else self
        )

    def with_start_unchecked(self, start: Pose, goals: tuple[Goal, ...] | None = None) -> Problem:
        """Return the problem with other starts and the same plan.

        The caller knows that the plan serves every start. `goals` may replace the goals by others of the same kinds.
        """
        new_problem = Problem(start, goals or self.goals, self.free_root, self.goal_key, self.origin)
        object.__setattr__(new_problem, "plan", self.plan)  # sets the cached property
        return new_problem

    def with_q(self, q: Floats) -> Problem:
        """Return the problem with other values q (..., nq) of its starts. Their translations and scales stay.

        The values are not checked; see `make_pose_unchecked`. What they do not change is shared.
        """
        own, columns = self.start, self.plan.layout.fixed_columns
        if q.ndim == 1:
            start = Pose.make_unchecked(own.skeleton, q, own.translations, own.scales)
        else:
            start = self.make_pose_unchecked(q)
        if len(columns) and (q.take(columns, axis=-1) != own.q.take(columns, axis=-1)).any():
            return Problem(start, self.goals, self.free_root, self.goal_key, self.origin)
        names = _START_FREE_PROPERTIES
        columns = get_or_compute(self.plan.tree, "base columns", None, self._find_base_columns)
        if not len(columns) or (not own.shape and (q[..., columns] == own.q[columns]).all()):
            names += _BASE_PROPERTIES
        return copy_with(self, {"start": start}, names)

    def _find_base_columns(self) -> Ints:
        """Find the columns of q above the base row."""
        skeleton, base_row = self.skeleton, self.plan.layout.base_row
        return find_q_columns(skeleton, skeleton.list_path(base_row) if base_row >= 0 else ())

    @property
    def is_batched(self) -> bool:
        """Whether targets have different starts or preferred poses."""
        return bool(self.start.shape or find_preferred_shape(self.goals))

    @quick_property
    def skeleton(self) -> Skeleton:
        """The skeleton of the start."""
        return self.start.skeleton

    @quick_property
    def plan(self) -> Plan:
        """Packed plan. All starts share it; those of a batch are grouped first where they cannot (`group_starts`)."""
        plan_inputs = self.plan_inputs if self.start.shape else None
        plan = build_plan(self.plan_start, self.goals, self.goal_key, free_root=self.free_root, plan_inputs=plan_inputs)
        if plan_inputs is None or not self._has_equal_noise or (plan_inputs == plan_inputs[0]).all():
            return plan
        return build_plan_of_starts(plan, self.plan_start.pose, self.goals) or plan

    def group_starts(self, *, by_inputs: bool = False) -> list[Ints] | None:
        """Group the rows of a batch of starts by plan. None where one plan serves all.

        With `by_inputs`, starts with different fixed joints have plans of their own in any case.
        """
        if self.start.q.ndim == 1 or len(self.start.q) == 1:
            return None
        if not self._has_equal_noise:
            return self._group_by_noise(by_inputs=by_inputs)
        if not by_inputs and len(self.plan.frames) > 1:
            return None
        return group_by_plan(self.plan_inputs)

    @property
    def _has_equal_noise(self) -> bool:
        """Whether exporters rounded all starts, or none."""
        has_noise = self.plan_start.has_noise
        return bool((has_noise == has_noise[0]).all())

    def _group_by_noise(self, *, by_inputs: bool) -> list[Ints]:
        """Group starts with rounded values apart. Their plans allow other errors of lengths."""
        groups: list[Ints] = []
        has_noise = self.plan_start.has_noise
        for rows in (np.flatnonzero(~has_noise), np.flatnonzero(has_noise)):
            inner_groups = self.select_rows(rows).group_starts(by_inputs=by_inputs)
            groups += [rows] if inner_groups is None else [rows[inner] for inner in inner_groups]
        return groups

    @quick_property
    def plan_inputs(self) -> Floats | None:
        """(1|k, s) start values behind a plan, or None. See `group_by_plan`."""
        return collect_plan_inputs(self.plan_start.pose, self._layout)

    @quick_property
    def plan_start(self) -> PlanStart:
        """The start as plans take it, without the rounding of exporters."""
        return remove_exporter_noise(self.start, self._layout)

    @property
    def _layout(self) -> dof_layout.Layout:
        return get_layout(self.skeleton, self.goal_key, self.goals, free_root=self.free_root)

    @property
    def coupled_pair(self) -> tuple[str, str] | None:
        """Two coupled joints among the moving ones, or None. This holds for every plan."""
        if not any(self.skeleton.couplings):  # no layout is needed then
            return None
        return dof_layout.find_coupled_pair(self.skeleton, self._layout.nodes)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the moving joints."""
        return self.plan.joint_names

    @quick_property
    def measures(self) -> tuple[dof_layout.Measure, ...]:
        """Measured quantities, one per error column."""
        return self._layout.measures

    @property
    def has_single_position(self) -> bool:
        """Whether the only goal is a Position in the world.

        Its joints are uncoupled and in no closed loop.
        """
        is_position = len(self.goals) == 1 and isinstance(self.goals[0], Position)
        return is_position and not self.plan.has_set_terms and self.coupled_pair is None

    @property
    def optional_columns(self) -> Bools:
        """(c,) mask of the errors of optional goals."""
        return np.array([is_optional(self.goals[measure.goal_index]) for measure in self.measures], dtype=np.bool_)

    @quick_property
    def has_optional_goals(self) -> bool:
        """Whether some goals are optional."""
        for goal in self.goals:  # noqa: SIM110  (runs in every solve; any() is slower)
            if getattr(goal, "optional", False):
                return True
        return False

    @quick_property
    def has_pulls(self) -> bool:
        """Whether some goals have a pull below 1."""
        for goal in self.goals:  # noqa: SIM110  (runs in every solve; any() is slower)
            if getattr(goal, "pull", 1.0) < 1.0:
                return True
        return False

    @property
    def has_priorities(self) -> bool:
        """Whether some goals come after others, by `optional` or `pull`."""
        return self.has_optional_goals or self.has_pulls

    @quick_property
    def has_balance(self) -> bool:
        """Whether a goal is a Balance."""
        return any([measure.kind == dof_layout.BALANCE for measure in self.measures])  # noqa: C419  (faster than a generator)

    # --- conversion to plan coordinates and back --------------------------------------------------------------------

    @quick_property
    def base_transforms(self) -> Floats:
        """(1|k, 3, 4) world transforms of the tree's base row."""
        base_row, start = self.plan.layout.base_row, self.start
        if base_row < 0:
            return np.eye(3, 4)[None]
        if start.translations is None and start.scales is None:
            static_transform = find_static_transform(start.skeleton, base_row)
            return (
                static_transform.copy()
                if static_transform is not None
                else compute_world_maps(start.skeleton, base_row, self.start_rows)[:, 0]
            )
        return start.world_of(start.skeleton.names[base_row]).affine.reshape(-1, 3, 4)

    @quick_property
    def start_rows(self) -> Floats:
        """(1|k, nq) read-only start values for the kernels."""
        return prepare_for_kernel(self.start.flat_q)

    def compute_kernel_targets(self, rows: Floats) -> Floats:
        """Convert world targets (k, W) into kernel targets.

        Those are in the base frame and kernel units, in the order of the terms.
        """
        plan = self.plan
        if not plan.has_set_terms:
            kernel_targets = np.empty((len(rows), plan.target_width))
            self.write_kernel_targets(rows, plan.target_columns, kernel_targets)
        else:
            set_rows, template = pack_set_targets(plan)
            kernel_targets = np.repeat(template[None], len(rows), axis=0)
            self.write_kernel_targets(rows, plan.target_columns, kernel_targets)
            convert_set_targets(set_rows, rows, self.rigid_base_transforms, kernel_targets)
        return kernel_targets

    def write_kernel_targets(self, rows: Floats, terms: Ints, out: Floats) -> None:
        """Write kernel targets into the columns of `out` named by `terms`. See kernels/kernel_coordinates.py."""
        kernels.kernel_coordinates.convert_targets(
            prepare_for_kernel(rows), self.rigid_base_transforms, self.plan.signed_kernel_unit, terms, out
        )

    @quick_property
    def rigid_base_transforms(self) -> Floats:
        """(1|k, 12) base transforms without scale. Non-uniform scale leaves the nearest rotations."""
        base_transforms = self.base_transforms.reshape(-1, 12)
        base_transforms = base_transforms if self.plan.base_scale == 1.0 else base_transforms / self.plan.scale_divisors
        if self.plan.length_error > EXPORTER_LENGTH_ERROR:
            base_transforms = base_transforms.reshape(-1, 3, 4)
            base_transforms = np.concatenate(
                [rotation_part(base_transforms[:, :, :3]), base_transforms[:, :, 3:]], axis=2
            ).reshape(-1, 12)
        return prepare_for_kernel(base_transforms)

    @quick_property
    def start_u(self) -> Floats:
        """(1|k, nu) start configurations u."""
        return self.plan.q_to_u(self.start_rows)

    def compute_q(self, u: Floats, moved: Bools, *, traced: bool = False) -> Floats:
        """Convert u (k, nu) into q (k, nq). Rows with `moved` (k,) False keep the start's q bit for bit.

        Hinges are moved by whole turns as near to the start as possible, except with a preferred pose or soft limits,
        and in traces.
        """
        turning_hinges = self.plan.turning_hinges[:0] if traced else self.unwrapped_hinges
        return self.plan.u_to_q(u, moved, self.start_rows, turning_hinges)

    @property
    def unwrapped_hinges(self) -> Floats:
        """(h, 3) hinges moved by whole turns towards the start.

        See `Plan.turning_hinges`.
        """
        turning_hinges = self.plan.turning_hinges
        return turning_hinges[:0] if len(turning_hinges) and self.has_preference else turning_hinges

    @quick_property
    def preference(self) -> PosePreference:
        """Packed preference of the Near goals. The last one counts where several name the same joint."""
        if self._near_goals:
            return self._remember_preference("preferences", lambda: build_preference(self.plan, self._near_goals))
        return get_or_compute(self.plan.tree, "no preference", None, lambda: build_preference(self.plan, ()))

    @quick_property
    def arm_preferences(self) -> Floats:
        """(0|1|k, 2 m) preferred values and weights of a serial arm."""
        return self._remember_preference("arm preferences", lambda: self.preference.pack_for_arm(self.plan))

    def _remember_preference(self, subject: str, compute: Callable[[], Computed]) -> Computed:
        """Compute what the Near goals alone decide. It is kept with the plan but for batches of poses.

        Goals that are made anew, as for every call of solve(), often come with the same Near.
        """
        if find_preferred_shape(self._near_goals):
            return compute()
        return get_or_compute(self.plan, subject, self._near_goals, compute)

    @quick_property
    def _near_goals(self) -> tuple[Near, ...]:
        return tuple([goal for goal in self.goals if isinstance(goal, Near)])

    @quick_property
    def has_preference(self) -> bool:
        """Whether a preferred pose or soft limit ranks configurations."""
        return self.plan.has_soft_limits or bool(self.preference.weights.any())

    @quick_property
    def has_ranges(self) -> bool:
        """Whether goals have ranges, and nothing else ranks the configurations in them."""
        has_ranges = any([term.set_kind and not term.is_tie for term in self.plan.layout.terms])  # noqa: C419  (faster)
        return has_ranges and not self.has_preference

    def without_ranges(self) -> Problem:
        """Return the problem for the targets alone. Its answers are in the ranges."""
        goals: list[Any] = list(self.goals)
        goals = [replace(goal, within=None) if get_within(goal) is not None else goal for goal in goals]
        return Problem(self.start, tuple(goals), self.free_root)

    # --- errors -----------------------------------------------------------------------------------------------------

    @quick_property
    def error_paths(self) -> goal_errors.ErrorPaths | None:
        """Packed paths to the measures, or None. None means that only world transforms can be measured."""
        if self.start.translations is not None or self.start.scales is not None:
            return None
        key = self.goal_key.kinds, self.goal_key.offsets
        return goal_errors.build_error_paths(self.skeleton, self.goals, self.measures, key)

    @quick_property
    def world_measures(self) -> WorldMeasures | None:
        """Packed measures in world maps, where there are no error paths. None with a Balance."""
        key = self.goal_key.kinds, self.goal_key.offsets, self.goal_key.ranges
        return pack_world_measures(self.start, self.goals, self.measures, key)

    @property
    def can_measure(self) -> bool:
        """Whether kernels measure the errors. NumPy does with a Balance."""
        return self.error_paths is not None or self.world_measures is not None

    @quick_property
    def angle_factors(self) -> goal_errors.AngleFactors:
        """Angular errors among the measures."""
        return goal_errors.find_angle_factors(self.measures)

    def build_targets(self, goals: Sequence[Goal], k: int) -> Floats:
        """Build target rows (k, W) of goals of the same kinds.

        A Pin's target is the joint's transform in the start pose.
        """
        return self.build_target_rows([goal.rows() for goal in goals if goal.width], (k,))

    def build_target_rows(self, given: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
        """Build target rows (k, W) from the goals' target arrays.

        These are (..., width), of the goals with a target; `shape` are the batch axes.
        """
        k, supplied_rows = math.prod(shape), iter(given)
        target_rows = np.zeros((k, sum(dof_layout.TARGET_SIZES[measure.kind] for measure in self.measures)))
        column = 0
        for goal in self.goals:
            if isinstance(goal, Pin):
                goal_rows = self._read_pinned(goal)
            elif goal.width:
                goal_rows = next(supplied_rows)
                if goal_rows.shape[:-1] not in ((), shape):
                    goal_rows = np.broadcast_to(goal_rows, (*shape, goal.width))
                goal_rows = goal_rows.reshape(-1, goal.width)
            else:
                continue
            target_rows[:, column : column + goal_rows.shape[-1]] = goal_rows
            column += goal_rows.shape[-1]
        return target_rows

    def _read_pinned(self, goal: Pin) -> Floats:
        transforms = self.start.world[goal.joint]
        rows = np.concatenate([transforms.positions, transforms.rotations], axis=-1).reshape(-1, 7)
        return rows[:, 0 if goal.position else 3 : 7 if goal.rotation else 3]

    def compute_errors(self, q: Floats, targets: Floats) -> Floats:
        """Compute the errors (k, c) of poses q (k, nq).

        Targets are (k, W); errors are distances [file units] and angles [rad].
        """
        if not self.measures:
            return np.zeros((len(q), 0))
        if self.error_paths is None:
            if self.world_measures is None:
                return self._compute_world_errors(q, targets)
            parts = measure_parts(self.world_measures, prepare_for_kernel(q), prepare_for_kernel(targets))
            return self.convert_error_parts(q, targets, parts)
        return goal_errors.compute_path_errors(self.error_paths, prepare_for_kernel(q), prepare_for_kernel(targets))

    def convert_error_parts(self, q: Floats, targets: Floats, error_parts: Floats) -> Floats:
        """Convert parts of errors (k, c, 2) to errors (k, c). Kernels have left out sheared rotations."""
        rows = goal_errors.find_unmeasured(error_parts)
        errors = goal_errors.convert_error_parts(self.angle_factors, error_parts)
        if len(rows):
            problem = self.select_rows(rows)
            target_rows = targets if len(targets) == 1 else targets[rows]
            errors[rows] = problem._compute_world_errors(q[rows], target_rows)  # noqa: SLF001
        return errors

    def _compute_world_errors(self, q: Floats, targets: Floats) -> Floats:
        """Compute errors by NumPy. They are of a Balance or sheared rotations."""
        # unchecked q, as for the paths
        pose = Pose.make_unchecked(self.skeleton, q.view(), *self._broadcast_local_transforms(len(q)))
        return goal_errors.compute_world_errors(pose, self.goals, targets, self.measures)

    def make_pose(self, q: Floats) -> Pose:
        """Return the start pose with other values q (k, nq). Translations and scales are kept."""
        checked_q = check_finite(q, "q", last_axis_length=self.skeleton.nq).copy()
        return Pose.make_unchecked(
            self.skeleton, normalise_rotations(self.skeleton, checked_q), *self._broadcast_local_transforms(len(q))
        )

    def make_pose_unchecked(self, q: Floats) -> Pose:
        """Return the start pose with unchecked values q (k, nq).

        They must be finite, with unit quaternions, and are not copied.
        """
        return Pose.make_unchecked(self.skeleton, q, *self._broadcast_local_transforms(len(q)))

    def _broadcast_local_transforms(self, k: int) -> tuple[Floats | None, Floats | None]:
        """Broadcast the starts' translations and scales to (k, n, 3)."""
        translations, scales = self.start.translations, self.start.scales
        return (
            _NO_LOCAL_TRANSFORMS
            if translations is None is scales
            else (_broadcast_rows(translations, k), _broadcast_rows(scales, k))
        )

    def complete_tolerance(self, distance: float | None, angle: float | None) -> Tolerance:
        """Return the given tolerance, with defaults filled in.

        Defaults are 1e-4 of the chain's length and 1e-4 rad for characters, 1e-6 for robots.
        """
        kinds = self.skeleton.kinds
        has_robot_joints = not (kinds == Kind.BALL).any() and is_robot(kinds, self.skeleton.parents)
        if distance is None:
            distance = (
                _ROBOT_TOLERANCE if has_robot_joints else _CHARACTER_TOLERANCE * self._chain_length or _ROBOT_TOLERANCE
            )
        return Tolerance(
            float(distance),
            float((_ROBOT_TOLERANCE if has_robot_joints else _CHARACTER_TOLERANCE) if angle is None else angle),
        )

    @property
    def _chain_length(self) -> float:
        """Rest length of the chain [file units]. A chain without length has the size of the character."""
        key = (self.goal_key.kinds, self.goal_key.offsets, self.free_root)
        return get_or_compute(self.skeleton, "rest lengths", key, self._compute_rest_length)

    def _compute_rest_length(self) -> float:
        chain_length = self._rest_plan.max_reach
        if chain_length > 0:
            return chain_length
        points = Pose(self.skeleton, self.skeleton.rest_q).world.positions
        return float(np.ptp(points, axis=0).max(initial=0.0))

    @property
    def _rest_plan(self) -> Plan:
        """Plan of the rest pose; most poses share it."""
        if not len(self.plan.layout.fixed_columns) and self.start.translations is None and self.start.scales is None:
            return self.plan
        rest = remove_exporter_noise(Pose(self.skeleton, self.skeleton.rest_q), self._layout)
        return build_plan(rest, self.goals, self.goal_key, free_root=self.free_root)

    def compute_max_errors(self, tolerance: Tolerance) -> Floats:
        """Return the largest reached errors (c,), infinite for optional goals."""

        def build_max_errors() -> Floats:
            max_errors = [
                tolerance.distance if m.kind in dof_layout.LENGTH_KINDS else tolerance.angle for m in self.plan.measures
            ]
            return (
                np.where(self.optional_columns, np.inf, max_errors) if self.has_optional_goals else np.array(max_errors)
            )

        return get_or_compute(self.plan.tree, "maximum errors", tolerance, build_max_errors)

    def compute_error_bounds(self, tolerance: Tolerance) -> Floats:
        """Return the largest errors (c,) enlarged by rounding. Kernels and forward kinematics differ by that much."""
        return get_or_compute(
            self.plan.tree,
            "error bounds",
            tolerance,
            lambda: self.compute_max_errors(tolerance) * (1 + TOLERANCE_SLACK),
        )

    def is_met(self, errors: Floats, tolerance: Tolerance) -> Bools:
        """Return whether all errors of each row (k, c) are within tolerance."""
        return np.asarray((errors <= self.compute_error_bounds(tolerance)).all(axis=-1))

    def shift_targets(self, aims: Floats, targets: Floats, q: Floats) -> Floats:
        """Shift aims (k, W) by the errors of poses q (k, nq).

        This compensates shear, which the kernels do not model.
        """
        aims = aims.copy()
        pose = self.make_pose(q)
        transforms = goal_errors.WorldTransforms(pose)
        for measure in self.measures:
            if measure.kind == dof_layout.BALANCE:
                continue
            goal = self.goals[measure.goal_index]
            columns = slice(measure.target_column, measure.target_column + dof_layout.TARGET_SIZES[measure.kind])
            aim, target = aims[:, columns], targets[:, columns]
            if is_set_goal(goal):
                aims[:, columns] = transforms.shift_set_target(
                    measure, goal, aim, target, read_target_axes(self.measures, measure.goal_index, targets)
                )
                continue
            if measure.kind == dof_layout.POSITION:
                aims[:, columns] += target - transforms.compute_point(measure, goal)
            elif measure.kind == dof_layout.ROTATION:
                rotation = pose.world[self.skeleton.names[measure.row]].rotations
                correction = rotations.multiply(target, rotations.inverse(rotation))
                aims[:, columns] = rotations.normalise(rotations.multiply(correction, aim))
            elif measure.kind == dof_layout.POLE:
                bend_direction, first_positions = (
                    transforms.compute_bend_direction(measure, target),
                    pose.world.positions[:, measure.limb_rows[0]],
                )
                aims[:, columns] = first_positions + rotations.rotate(
                    rotations.about(bend_direction.limb_direction, bend_direction.pole_angle), aim - first_positions
                )
            else:
                correction = rotations.rotation_between(
                    transforms.compute_axis(measure, goal), transforms.compute_desired_direction(measure, goal, target)
                )
                origin = transforms.compute_point(measure, goal) if measure.kind == dof_layout.AIM else np.zeros(3)
                aims[:, columns] = origin + rotations.rotate(correction, aim - origin)
        return aims

    # --- Old names ------------------------------------------------------------------------------------------------

    part: ClassVar[Any] = make_alias("Problem.part", select_rows)
    at: ClassVar[Any] = make_alias("Problem.at", with_start)
    put_targets: ClassVar[Any] = make_alias("Problem.put_targets", write_kernel_targets)
    kernel_targets: ClassVar[Any] = make_alias("Problem.kernel_targets", compute_kernel_targets)
    q_of: ClassVar[Any] = make_alias("Problem.q_of", compute_q)
    errors: ClassVar[Any] = make_alias("Problem.errors", compute_errors)
    targets: ClassVar[Any] = make_alias("Problem.targets", build_targets)
    target_rows: ClassVar[Any] = make_alias("Problem.target_rows", build_target_rows)
    tolerance: ClassVar[Any] = make_alias("Problem.tolerance", complete_tolerance)
    bounds: ClassVar[Any] = make_alias("Problem.bounds", compute_error_bounds)
    spread: ClassVar[Any] = make_alias("Problem.spread", broadcast)
    moved: ClassVar[Any] = make_alias("Problem.moved", with_start_unchecked)
    posed: ClassVar[Any] = make_alias("Problem.posed", make_pose)
    posed_as: ClassVar[Any] = make_alias("Problem.posed_as", make_pose_unchecked)
    allowed: ClassVar[Any] = make_alias("Problem.allowed", compute_max_errors)
    met: ClassVar[Any] = make_alias("Problem.met", is_met)
    corrected: ClassVar[Any] = make_alias("Problem.corrected", shift_targets)
    kinds: ClassVar[Any] = make_property_alias("Problem.kinds", "goal_key")
    batched: ClassVar[Any] = make_property_alias("Problem.batched", "is_batched")
    still: ClassVar[Any] = make_property_alias("Problem.still", "plan_inputs")
    coupled: ClassVar[Any] = make_property_alias("Problem.coupled", "coupled_pair")
    lone_point: ClassVar[Any] = make_property_alias("Problem.lone_point", "has_single_position")
    spared: ClassVar[Any] = make_property_alias("Problem.spared", "optional_columns")
    ranked: ClassVar[Any] = make_property_alias("Problem.ranked", "has_optional_goals")
    balances: ClassVar[Any] = make_property_alias("Problem.balances", "has_balance")
    prefers: ClassVar[Any] = make_property_alias("Problem.prefers", "has_preference")
    bases: ClassVar[Any] = make_property_alias("Problem.bases", "base_transforms")
    starts: ClassVar[Any] = make_property_alias("Problem.starts", "start_u")
    paths: ClassVar[Any] = make_property_alias("Problem.paths", "error_paths")
    rigid_bases: ClassVar[Any] = make_property_alias("Problem.rigid_bases", "rigid_base_transforms")


def _broadcast_rows(array: Floats | None, k: int) -> Floats | None:
    if array is None:
        return None
    rows = array.reshape(-1, *array.shape[-2:])
    return rows if len(rows) == k else np.broadcast_to(rows, (k, *array.shape[-2:]))


# --- Problems with optional goals, rewritten for required goals only -------------------------------------------------


class RequiredGoals(NamedTuple):
    """Problem of the required goals. `target_columns` and `error_columns` are its columns among those of all goals."""

    problem: Problem
    target_columns: Ints
    error_columns: Ints


def find_required_goals(problem: Problem) -> RequiredGoals | None:
    """Return the required part of a problem. None where every measured goal is optional."""
    error_columns = np.flatnonzero(~problem.optional_columns)
    if not len(error_columns):
        return None
    target_columns = [
        np.arange(m.target_column, m.target_column + dof_layout.TARGET_SIZES[m.kind]) for m in problem.measures
    ]
    # Limbs stay the same without the optional goals.
    goals = dof_layout.name_pole_roots(problem.skeleton, problem.goals)
    required_problem = Problem(
        problem.start, tuple([goal for goal in goals if not is_optional(goal)]), problem.free_root
    )
    return RequiredGoals(required_problem, np.concatenate([target_columns[i] for i in error_columns]), error_columns)


def require_all_goals(problem: Problem, weight_factor: float = 1.0) -> Problem:
    """Return the problem with every goal required. Weights of optional goals are multiplied by `weight_factor`."""
    goals: list[Any] = list(problem.goals)
    for i, goal in enumerate(goals):
        if is_optional(goal):
            goals[i] = replace(goal, optional=False, weight=goal.weight * weight_factor)
    return Problem(problem.start, tuple(goals), problem.free_root)


def replace_pulls(goals: Iterable[Any]) -> tuple[Any, ...]:
    """Return goals with full pulls."""
    return tuple([replace(goal, pull=1.0) if getattr(goal, "pull", 1.0) < 1.0 else goal for goal in goals])
