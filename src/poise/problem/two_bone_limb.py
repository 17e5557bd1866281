"""Detection of two-bone limbs and their conversion to kernel arrays.

The kernels are kernels/two_bone.py and kernels/planar_two_bone.py. A problem without such a limb gets the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from poise import kernels
from poise.errors import UnsupportedError, join_names
from poise.kernels import layout
from poise.kernels.layout import FIXED, HINGE
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints, prepare_for_kernel
from poise.maths.rotations import rotation_part
from poise.model import kinematics
from poise.model.anatomy.roll_bones import find_bending_roll_bones
from poise.model.limits import Range, find_hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem import goal_errors
from poise.problem.dof_layout import MEASURE_KINDS, TARGET_SIZES, find_chain_rows, find_pole_limb
from poise.problem.goals import AnyGoal, Place, Pole, Position
from poise.problem.goals.pole import LimbRows
from poise.problem.problem import Problem
from poise.runtime.result_cache import get_or_compute


class Limb(NamedTuple):
    """Skeleton rows of a limb's first joint, middle joint and tip.

    is_planar    whether both bending joints are hinges
    rotates_tip  whether the tip's own joint rotates as well
    """

    first: int
    middle: int
    tip: int
    is_planar: bool
    rotates_tip: bool


def find_limb(problem: Problem, middle_joint: str | None, *, keep_tip: bool) -> Limb:
    """Return the limb of a Position or Place goal. Raises UnsupportedError, with a reason, for other chains.

    Limbs and refusals are remembered with the skeleton. They depend on the kinds of goals, not on poses or targets.
    """
    key = (problem.goal_key.kinds, problem.free_root, middle_joint, keep_tip)
    limb = get_or_compute(
        problem.skeleton, "limb of a goal", key, lambda: _find_limb_or_refusal(problem, middle_joint, keep_tip=keep_tip)
    )
    if isinstance(limb, str):
        raise UnsupportedError(limb)
    return limb


def _find_limb_or_refusal(problem: Problem, middle_joint: str | None, *, keep_tip: bool) -> Limb | str:
    try:
        return _build_limb(problem, middle_joint, keep_tip=keep_tip)
    except UnsupportedError as refusal:
        return str(refusal)


def _build_limb(problem: Problem, middle_joint: str | None, *, keep_tip: bool) -> Limb:
    (goal, pole), skeleton = find_limb_goals(problem), problem.skeleton
    if any(goal.offset):
        raise UnsupportedError(f"two_bone brings the origin of a joint to its target; {goal.joint!r} has an offset")
    tip = skeleton.index(goal.joint)
    chain_rows = find_chain_rows(skeleton, goal)
    _, kinds, _, ratios = skeleton.joint_lists
    still_rows = find_bending_roll_bones(skeleton)
    moving_rows = [row for row in chain_rows if kinds[row] != FIXED and ratios[row] != 0.0 and row not in still_rows]
    pole_limb = None if pole is None else find_pole_limb(skeleton, pole, problem.goals)
    if middle_joint is not None and pole_limb is not None and pole_limb.first in moving_rows:
        moving_rows = moving_rows[
            moving_rows.index(pole_limb.first) :
        ]  # skip joints above the pole's line, such as a collar bone
    first, middle_row = _choose_bending_joints(skeleton, goal.joint, moving_rows, middle_joint)
    _refuse_coupled_joints(problem, (first, middle_row))
    limb = Limb(first, middle_row, tip, is_hinge(skeleton, first), keep_tip or isinstance(goal, Place))
    _refuse_joint_kinds(skeleton, limb)
    if pole_limb is not None:
        _refuse_other_limb(skeleton, pole_limb, limb)
    return limb


def find_limb_goals(problem: Problem) -> tuple[Position | Place, Pole | None]:
    """Return the goals of the tip and of the middle joint. Raises UnsupportedError for other combinations."""
    tip_goals = [goal for goal in problem.goals if isinstance(goal, Position | Place)]
    pole_goals = [goal for goal in problem.goals if isinstance(goal, Pole)]
    if len(tip_goals) != 1 or len(pole_goals) > 1:
        names = join_names(type(goal).__name__ for goal in problem.goals)
        raise UnsupportedError(f"two_bone solves one Position or Place, alone or with one Pole; got {names}")
    return tip_goals[0], pole_goals[0] if pole_goals else None


def _choose_bending_joints(
    skeleton: Skeleton, tip_joint: str, moving_rows: list[int], middle_joint: str | None
) -> tuple[int, int]:
    if middle_joint is None:
        if len(moving_rows) != 2:  # noqa: PLR2004
            names = [skeleton.names[row] for row in moving_rows]
            moving_list = f"{len(moving_rows)}: {join_names(names)}" if moving_rows else "none"
            message = (
                f"two_bone bends two joints; the chain to {tip_joint!r} has {moving_list}; "
                "name the upper one as the goal's root and the other one as mid="
            )
            raise UnsupportedError(message)
        return moving_rows[0], moving_rows[1]
    middle_row = skeleton.index(middle_joint)
    if middle_row not in moving_rows[1:]:
        names = [skeleton.names[row] for row in moving_rows]
        hint = (
            f"below its first one are: {join_names(names[1:])}" if len(names) > 1 else "it has no two joints that move"
        )
        raise UnsupportedError(f"two_bone cannot bend {middle_joint!r} in the chain to {tip_joint!r}; {hint}")
    return moving_rows[0], middle_row


def _refuse_coupled_joints(problem: Problem, rows: tuple[int, int]) -> None:
    skeleton, pair = problem.skeleton, problem.coupled_pair
    if pair is not None:
        raise UnsupportedError(f"two_bone moves no joints that are coupled; {pair[0]!r} and {pair[1]!r} are")
    follower_row = next((row for row in rows if skeleton.couplings[row] is not None), None)
    if follower_row is not None:
        raise UnsupportedError(f"two_bone moves no joint that follows another; {skeleton.names[follower_row]!r} does")


def _refuse_joint_kinds(skeleton: Skeleton, limb: Limb) -> None:
    first, middle, tip = skeleton.names[limb.first], skeleton.names[limb.middle], skeleton.names[limb.tip]
    kinds, limits = skeleton.joint_lists.kinds, skeleton.limits
    if limb.is_planar and not is_hinge(skeleton, limb.middle):
        raise UnsupportedError(f"two_bone needs a hinge at {middle!r}, because {first!r} above it is one")
    if Kind.SLIDE in (kinds[limb.first], kinds[limb.middle]):
        raise UnsupportedError(f"two_bone turns joints; {first!r} or {middle!r} slides")
    if limb.rotates_tip and (kinds[limb.tip] != Kind.BALL or limits[limb.tip] is not None):
        raise UnsupportedError(f"two_bone turns the tip only where it is a ball joint without limits; {tip!r} is not")
    if limb.rotates_tip and limb.is_planar:
        raise UnsupportedError(f"two_bone turns no tip below hinges; {first!r} is one")


def _refuse_other_limb(skeleton: Skeleton, pole_limb: LimbRows, limb: Limb) -> None:
    limb_rows = limb.first, limb.middle, limb.tip
    if tuple(pole_limb) != limb_rows:
        a, b = (" - ".join(skeleton.names[row] for row in rows) for rows in (pole_limb, limb_rows))
        raise UnsupportedError(f"two_bone bends the limb {b}; the Pole is for {a}; its root=, joint and tip= say so")


def is_hinge(skeleton: Skeleton, row: int) -> bool:
    """Return whether a joint rotates about one axis only.

    That is a hinge, or a ball joint with a Range about an axis.
    """
    limit = skeleton.limits[row]
    is_hinge_joint = skeleton.joint_lists.kinds[row] == HINGE
    return is_hinge_joint or (limit is not None and find_hinge_axis(limit) is not None)


def read_hinge_axis(skeleton: Skeleton, row: int) -> Floats:
    """Return the axis of a hinge in its own frame."""
    axis = find_hinge_axis(skeleton.limits[row])
    return np.array(skeleton.axes[row] if axis is None else axis)


def read_hinge_range(skeleton: Skeleton, row: int) -> tuple[float, float]:
    """Return the range of a hinge angle, infinite without limits."""
    limit = skeleton.limits[row]
    if isinstance(limit, Range) and limit.axis is not None:
        return limit.low, limit.high
    if skeleton.joint_lists.kinds[row] == HINGE:
        low, high = skeleton.value_ranges[skeleton.q_start[row]]
        return float(low), float(high)
    return -np.inf, np.inf


def find_rotation_column(skeleton: Skeleton, row: int) -> int:
    """Return the first column in q of a joint's rotation."""
    _, kinds, q_starts, _ = skeleton.joint_lists
    return q_starts[row] + (3 if kinds[row] == Kind.FREE else 0)


# --- Pack limbs for the kernels --------------------------------------------------------------------------------------
#
# The constants are packed once for a plan; a kernel adds the numbers of each pose.


Bend = Literal["turn", "thigh", "both", "axis"]
Branch = Literal["nearest", "positive", "negative"]

_BRANCH_SIGNS = {"nearest": 0.0, "positive": 1.0, "negative": -1.0}
_NO_LOCAL_OFFSETS = np.empty((0, 6))  # input of poses without translations and scales of their own


class LimbPlan(NamedTuple):
    """Pose-independent data of a limb. It serves poses with translations or scales of their own, or those without.

    limb               joints of the limb
    pole_column        first target column of a Pole; -1 without one
    q_columns          see kernels/two_bone.py
    kinematics_table   path to the tip; the limb needs the maps of its last `map_count` rows
    limb_constants     input of kernels/limb_packing.py
    has_uniform_scale  whether the scale on the path is uniform in every pose, so no start is checked
    """

    limb: Limb
    pole_column: int
    q_columns: Ints
    kinematics_table: kinematics.KinematicsTable
    map_count: int
    limb_constants: Floats
    has_uniform_scale: bool


class LimbOptions(NamedTuple):
    """Solver options with an effect on the packing. See `TwoBone`."""

    mid: str | None
    keep_tip: bool
    bend: Bend
    branch: Branch


class PosedLimb(NamedTuple):
    """Limb in its start poses.

    plan       pose-independent data
    limb_rows  (1|k, POSED_LIMB_ROW), the fields of `LimbRow` in kernels/two_bone.py; or (1|k, POSED_PLANE_ROW),
               those of `PlaneRow` in kernels/planar_two_bone.py
    start_q    (1|k, nq) the poses
    """

    plan: LimbPlan
    limb_rows: Floats
    start_q: Floats


def pack_limb(problem: Problem, options: LimbOptions) -> PosedLimb:
    """Pack the limb of a problem in its start poses. Raises UnsupportedError, with a reason, where there is none.

    The limb of a single start is remembered with the problem: a prepared one solves for many targets.
    """
    if problem.start.shape:
        return _pack_limb(problem, options)
    return get_or_compute(problem, "posed limb", options, partial(_pack_limb, problem, options))


def _pack_limb(problem: Problem, options: LimbOptions) -> PosedLimb:
    plan = build_limb_plan(problem, options)
    if not plan.has_uniform_scale:
        problem.plan  # noqa: B018  (raises for zero scale)
    return pack_limb_poses(plan, problem.start)


def build_limb_plan(problem: Problem, options: LimbOptions, *, has_known_scale: bool = False) -> LimbPlan:
    """Return the pose-independent data of a problem's limb.

    It is remembered with the skeleton. Raises UnsupportedError where there is no limb.

    has_known_scale  whether the plan of other goals has shown that no scale above the limb is zero
    """
    start = problem.start
    # Not remembered with the problem's plan: that depends on fixed joints and takes longer to pack.
    key = (problem.goal_key.kinds, problem.free_root, options, start.translations is not None, start.scales is not None)
    return get_or_compute(start.skeleton, "limb plans", key, lambda: _pack_limb_plan(problem, options, has_known_scale))


class WrongBend(NamedTuple):
    """Bend of a limb to its wrong side.

    bend        (3, 3) upper bone, lower bone where the middle joint is at identity, and axis of the bend, in the frame
                in which the middle joint turns
    min_cosine  of larger bends, which stay
    """

    bend: Floats
    min_cosine: float


def pack_limb_poses(
    plan: LimbPlan, start: Pose, maps: Floats | None = None, wrong: WrongBend | None = None
) -> PosedLimb:
    """Pack the limb in other poses of its skeleton.

    The poses may have translations and scales of their own where the plan was made for such. `maps` (1|k, 12
    map_count) are the maps of the plan's table, if already computed. Limbs with a wrong bend are packed as if straight.
    """
    has_translations, has_scales = start.translations is not None, start.scales is not None
    start_q = prepare_for_kernel(start.flat_q)
    local_offsets = (
        kinematics.pack_local_offsets(
            plan.kinematics_table, kinematics.flatten_local_offsets(start.translations, start.scales)
        )
        if has_translations or has_scales
        else _NO_LOCAL_OFFSETS
    )
    maps = (
        kinematics.compute_table_maps(plan.kinematics_table, plan.map_count, start_q, local_offsets)
        if maps is None
        else maps
    )
    map_rotations, limb_rows = (
        np.empty((len(start_q), 16)),
        np.empty((len(start_q), layout.POSED_PLANE_ROW if plan.limb.is_planar else layout.POSED_LIMB_ROW)),
    )
    pack_rows = kernels.limb_packing.pack_planar_limbs if plan.limb.is_planar else kernels.limb_packing.pack_limbs
    has_shear, has_skewed_axes = pack_rows(
        plan.limb_constants, maps, start_q, local_offsets, False, map_rotations, limb_rows
    )
    if has_shear:
        _fill_rotations(plan, maps, map_rotations)
        _, has_skewed_axes = pack_rows(
            plan.limb_constants, maps, start_q, local_offsets, True, map_rotations, limb_rows
        )
    if has_skewed_axes:
        a, b = (start.skeleton.names[row] for row in plan.limb[:2])
        raise UnsupportedError(f"two_bone needs parallel axes where both joints are hinges; {a!r} and {b!r} are not")
    if wrong is not None:
        scratch = np.empty((1, maps.shape[1])), np.empty((1, start_q.shape[1])), np.empty((1, 16))
        kernels.limb_packing.straighten_limbs(
            plan.limb_constants, maps, start_q, local_offsets, map_rotations, *wrong, *scratch, limb_rows
        )
    return PosedLimb(plan, limb_rows, start_q)


def _fill_rotations(plan: LimbPlan, maps: Floats, quaternions: Floats) -> None:
    """Fill in rotations of sheared maps. Such maps are rare, and each needs a singular value decomposition."""
    for j in range(4 if plan.limb.rotates_tip else 2):
        sheared_rows, column = (
            np.flatnonzero(quaternions[:, 4 * j] < 0.0),
            12 * int(plan.limb_constants[layout.LIMB_MAP_INDICES + j]),
        )
        if len(sheared_rows):
            linear = maps[sheared_rows, column : column + 12].reshape(-1, 3, 4)[..., :3]
            quaternions[sheared_rows, 4 * j : 4 * j + 4] = rotations.from_matrix(rotation_part(linear))


# --- pose-independent data ---------------------------------------------------------------------------------------


def _pack_limb_plan(problem: Problem, options: LimbOptions, has_known_scale: bool) -> LimbPlan:
    has_paths = not has_known_scale and problem.error_paths is not None
    if not has_known_scale and not has_paths:
        problem.plan  # noqa: B018  (its errors come first)
    limb, skeleton = find_limb(problem, options.mid, keep_tip=options.keep_tip), problem.skeleton
    has_uniform_scale = has_paths or goal_errors.has_uniform_scale(problem.start, limb.tip)
    path = skeleton.list_path(limb.tip)
    map_indices = [path.index(row) - 1 for row in limb[:3]]
    map_indices = [*(map_indices if limb.rotates_tip else [*map_indices[:2], -1]), len(path) - 1]
    first_map = min([index for index in map_indices if index >= 0])
    limb_constants = np.zeros(layout.LIMB_JOINTS_START + 3 * layout.LIMB_JOINT_ROW)
    limb_constants[layout.LIMB_MAP_INDICES : layout.LIMB_MAP_INDICES + 4] = [
        index - first_map if index >= 0 else -1 for index in map_indices
    ]
    limb_constants[layout.LIMB_MIDDLE_IS_HINGE], limb_constants[layout.LIMB_TIP_ROTATES] = (
        is_hinge(skeleton, limb.middle),
        limb.rotates_tip,
    )
    limb_constants[layout.LIMB_BEND_SIGN] = _BRANCH_SIGNS[options.branch]
    limb_constants[layout.LIMB_THIGH_WEIGHT], limb_constants[layout.LIMB_SHIN_WEIGHT] = (
        options.bend in ("thigh", "both"),
        options.bend == "both",
    )
    joints = limb_constants[layout.LIMB_JOINTS_START :].reshape(3, layout.LIMB_JOINT_ROW)
    for packed_joint, row in zip(joints, limb[:3] if limb.rotates_tip else limb[:2], strict=False):
        _pack_joint(packed_joint, skeleton, row, has_translations=problem.start.translations is not None)
        packed_joint[layout.LIMB_JOINT_LOCAL_OFFSET] = path.index(row)
    local_offsets = kinematics.LocalOffsets(problem.start.translations, problem.start.scales)
    table = kinematics.get_table(skeleton, limb.tip, local_offsets)
    q_columns = _find_q_columns(skeleton, limb)
    return LimbPlan(
        limb,
        _find_pole_column(problem.goals),
        q_columns,
        table,
        len(path) - first_map,
        limb_constants,
        has_uniform_scale,
    )


def _pack_joint(packed_joint: Floats, skeleton: Skeleton, row: int, *, has_translations: bool) -> None:
    kind = skeleton.joint_lists.kinds[row]
    packed_joint[layout.LIMB_JOINT_HAS_ANGLE], packed_joint[layout.LIMB_JOINT_Q_START] = (
        kind == Kind.HINGE,
        find_rotation_column(skeleton, row),
    )
    packed_joint[layout.LIMB_JOINT_TRANSLATION_COLUMN] = skeleton.q_start[row] if kind == Kind.FREE else -1
    packed_joint[layout.LIMB_JOINT_OFFSET : layout.LIMB_JOINT_AXIS] = skeleton.A[row]
    if has_translations and kind != Kind.FREE:
        packed_joint[layout.LIMB_JOINT_OFFSET : layout.LIMB_JOINT_ROTATION] = 0.0
    packed_joint[layout.LIMB_JOINT_RANGE :] = read_hinge_range(skeleton, row)
    if is_hinge(skeleton, row):
        packed_joint[layout.LIMB_JOINT_AXIS : layout.LIMB_JOINT_RANGE] = read_hinge_axis(skeleton, row)


def _find_q_columns(skeleton: Skeleton, limb: Limb) -> Ints:
    tip_column = find_rotation_column(skeleton, limb.tip) if limb.rotates_tip else -1
    kinds = skeleton.joint_lists.kinds
    is_angle = int(kinds[limb.first] == HINGE), int(kinds[limb.middle] == HINGE)
    first_column, middle_column = (
        find_rotation_column(skeleton, limb.first),
        find_rotation_column(skeleton, limb.middle),
    )
    return np.array([first_column, middle_column, tip_column, *is_angle], dtype=np.int64)


def _find_pole_column(goals: Sequence[AnyGoal]) -> int:
    """Find the first target column of a Pole. Targets stand in the order of the goals."""
    column = 0
    for goal in goals:
        if isinstance(goal, Pole):
            return column
        column += sum([TARGET_SIZES[MEASURE_KINDS[measure]] for measure in goal.measures])
    return -1
