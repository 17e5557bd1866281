"""Find the joints of two-bone limbs and pack them for kernels.

The kernels are kernels/two_bone.py and kernels/planar_two_bone.py. A problem without such a limb gets the reason.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from poise import kernels
from poise.errors import UnsupportedError, join_names
from poise.kernels import layout
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.caching import get_or_compute
from poise.maths.rotations import rotation_part
from poise.model import kinematics
from poise.model.limits import Range, find_hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.dof_layout import find_pole_limb, has_own_root
from poise.problem.goals import Place, Pole, Position
from poise.problem.goals.pole import LimbRows
from poise.problem.problem import Problem


class Limb(NamedTuple):
    """Skeleton rows of a limb's first joint, middle joint and tip.

    planar       whether both bending joints are hinges
    rotates_tip  whether the tip's own joint rotates as well
    """

    first: int
    middle: int
    tip: int
    planar: bool
    rotates_tip: bool


def find_limb(problem: Problem, middle: str | None, *, keep_tip: bool) -> Limb:
    """Return the limb of a Position or Place goal. Raises UnsupportedError, with a reason, for other chains.

    Limbs and refusals are remembered with the skeleton. They depend on the kinds of goals, not on poses or targets.
    """
    key = (problem.goal_key, problem.free_root, middle, keep_tip)
    limb = get_or_compute(
        problem.skeleton, "limb", key, lambda: _find_limb_or_refusal(problem, middle, keep_tip=keep_tip)
    )
    if isinstance(limb, str):
        raise UnsupportedError(limb)
    return limb


def _find_limb_or_refusal(problem: Problem, middle: str | None, *, keep_tip: bool) -> Limb | str:
    try:
        return _build_limb(problem, middle, keep_tip=keep_tip)
    except UnsupportedError as refusal:
        return str(refusal)


def _build_limb(problem: Problem, middle: str | None, *, keep_tip: bool) -> Limb:
    (goal, pole), skeleton = find_limb_goals(problem), problem.skeleton
    if any(goal.offset):
        raise UnsupportedError(f"two_bone brings the origin of a joint to its target; {goal.joint!r} has an offset")
    tip = skeleton.index(goal.joint)
    chain = () if has_own_root(skeleton, goal) else skeleton.chain(goal.root, goal.joint)
    rows = [skeleton.index(name) for name in chain]
    movers = [row for row in rows if skeleton.kinds[row] != Kind.FIXED and skeleton.coupling_rows[row, 0] != 0.0]
    pole_limb = None if pole is None else find_pole_limb(skeleton, pole, problem.goals)
    if middle is not None and pole_limb is not None and pole_limb.first in movers:
        movers = movers[movers.index(pole_limb.first) :]  # skip joints above the pole's line, such as a collar bone
    first, middle_row = _choose_bending_joints(skeleton, goal.joint, movers, middle)
    _refuse_coupled_joints(problem, (first, middle_row))
    limb = Limb(first, middle_row, tip, is_hinge(skeleton, first), keep_tip or isinstance(goal, Place))
    _refuse_joint_kinds(skeleton, limb)
    if pole_limb is not None:
        _refuse_other_limb(skeleton, pole_limb, limb)
    return limb


def find_limb_goals(problem: Problem) -> tuple[Position | Place, Pole | None]:
    """Return the goals of the tip and of the middle joint. Raises UnsupportedError for other combinations."""
    tips = [goal for goal in problem.goals if isinstance(goal, Position | Place)]
    poles = [goal for goal in problem.goals if isinstance(goal, Pole)]
    if len(tips) != 1 or len(poles) > 1:
        names = join_names(type(goal).__name__ for goal in problem.goals)
        raise UnsupportedError(f"two_bone solves one Position or Place, alone or with one Pole; got {names}")
    return tips[0], poles[0] if poles else None


def _choose_bending_joints(skeleton: Skeleton, tip: str, movers: list[int], middle: str | None) -> tuple[int, int]:
    names = [skeleton.names[row] for row in movers]
    if middle is None:
        if len(movers) != 2:  # noqa: PLR2004
            moving = f"{len(movers)}: {join_names(names)}" if movers else "none"
            message = (
                f"two_bone bends two joints; the chain to {tip!r} has {moving}; "
                "name the upper one as the goal's root and the other one as mid="
            )
            raise UnsupportedError(message)
        return movers[0], movers[1]
    mid = skeleton.index(middle)
    if mid not in movers[1:]:
        hint = (
            f"below its first one are: {join_names(names[1:])}" if len(names) > 1 else "it has no two joints that move"
        )
        raise UnsupportedError(f"two_bone cannot bend {middle!r} in the chain to {tip!r}; {hint}")
    return movers[0], mid


def _refuse_coupled_joints(problem: Problem, rows: tuple[int, int]) -> None:
    skeleton, pair = problem.skeleton, problem.coupled_pair
    if pair is not None:
        raise UnsupportedError(f"two_bone moves no joints that are coupled; {pair[0]!r} and {pair[1]!r} are")
    follower = next((row for row in rows if skeleton.couplings[row] is not None), None)
    if follower is not None:
        raise UnsupportedError(f"two_bone moves no joint that follows another; {skeleton.names[follower]!r} does")


def _refuse_joint_kinds(skeleton: Skeleton, limb: Limb) -> None:
    first, middle, tip = [skeleton.names[row] for row in limb[:3]]
    kinds, limits = skeleton.kinds, skeleton.limits
    if limb.planar and not is_hinge(skeleton, limb.middle):
        raise UnsupportedError(f"two_bone needs a hinge at {middle!r}, because {first!r} above it is one")
    if (kinds[limb.first], kinds[limb.middle]).count(Kind.SLIDE):
        raise UnsupportedError(f"two_bone turns joints; {first!r} or {middle!r} slides")
    if limb.rotates_tip and (kinds[limb.tip] != Kind.BALL or limits[limb.tip] is not None):
        raise UnsupportedError(f"two_bone turns the tip only where it is a ball joint without limits; {tip!r} is not")
    if limb.rotates_tip and limb.planar:
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
    return skeleton.kinds[row] == Kind.HINGE or find_hinge_axis(limit) is not None


def read_hinge_axis(skeleton: Skeleton, row: int) -> Floats:
    """Return the axis of a hinge in its own frame."""
    axis = find_hinge_axis(skeleton.limits[row])
    return np.array(skeleton.axes[row] if axis is None else axis)


def read_hinge_range(skeleton: Skeleton, row: int) -> tuple[float, float]:
    """Return the range of a hinge angle, infinite without limits."""
    limit = skeleton.limits[row]
    if isinstance(limit, Range) and limit.axis is not None:
        return limit.low, limit.high
    if skeleton.kinds[row] == Kind.HINGE:
        low, high = skeleton.value_ranges[skeleton.q_start[row]]
        return float(low), float(high)
    return -np.inf, np.inf


def find_rotation_column(skeleton: Skeleton, row: int) -> int:
    """Return the first column in q of a joint's rotation."""
    return int(skeleton.q_start[row]) + (3 if skeleton.kinds[row] == Kind.FREE else 0)


# --- Pack limbs for the kernels --------------------------------------------------------------------------------------
#
# The constants are packed once for a plan; a kernel adds the numbers of each pose.


Bend = Literal["turn", "thigh", "both", "axis"]
Branch = Literal["nearest", "positive", "negative"]

_BRANCH_SIGNS = {"nearest": 0.0, "positive": 1.0, "negative": -1.0}
_NO_LOCAL_TRANSFORMS = np.empty((0, 6))  # input of poses without translations and scales of their own


class LimbPlan(NamedTuple):
    """Pose-independent data of a limb. It serves poses with translations or scales of their own, or those without.

    limb         joints of the limb
    pole_column  first target column of a Pole; -1 without one
    columns      see kernels/two_bone.py
    table        path to the tip; the limb needs the maps of its last `map_count` rows
    numbers      input of kernels/limb_packing.py
    has_uniform_scale  whether the scale on the path is uniform in every pose, so no start is checked
    """

    limb: Limb
    pole_column: int
    columns: Ints
    table: kinematics.KinematicsTable
    map_count: int
    numbers: Floats
    has_uniform_scale: bool


class LimbOptions(NamedTuple):
    """Solver options with an effect on the packing. See `TwoBone`."""

    mid: str | None
    keep_tip: bool
    bend: Bend
    branch: Branch


class PosedLimb(NamedTuple):
    """Limb in its start poses.

    plan    pose-independent data
    rows    (1|k, LIMB_ROW), the fields of `LimbRow` in kernels/two_bone.py; or (1|k, PLANE_ROW), those of `PlaneRow`
            in kernels/planar_two_bone.py
    start_q  (1|k, nq) the poses
    """

    plan: LimbPlan
    rows: Floats
    start_q: Floats


def pack_limb(problem: Problem, options: LimbOptions) -> PosedLimb:
    """Pack the limb of a problem in its start poses. Raises UnsupportedError, with a reason, where there is none."""
    plan = build_limb_plan(problem, options)
    if not plan.has_uniform_scale:
        problem.plan  # noqa: B018  (raises for zero scale)
    return pack_limb_poses(plan, problem.start)


def build_limb_plan(problem: Problem, options: LimbOptions) -> LimbPlan:
    """Return the pose-independent data of a problem's limb.

    It is remembered with the skeleton. Raises UnsupportedError where there is no limb.
    """
    start = problem.start
    has_translations, has_scales = start.translations is not None, start.scales is not None
    # Not remembered with the problem's plan: that depends on fixed joints and takes longer to pack.
    key = (problem.goal_key, problem.free_root, options, has_translations, has_scales)
    return get_or_compute(
        start.skeleton,
        "limbs",
        key,
        lambda: _pack_limb_plan(problem, options, has_translations=has_translations, has_scales=has_scales),
    )


def pack_limb_poses(plan: LimbPlan, start: Pose, maps: Floats | None = None) -> PosedLimb:
    """Pack the limb in other poses of its skeleton.

    The poses may have translations and scales of their own where the plan was made for such. `maps` (1|k, 12
    map_count) are the maps of the plan's table, if already computed.
    """
    has_translations, has_scales = start.translations is not None, start.scales is not None
    start_q = np.array(start.q, order="C").reshape(-1, start.q.shape[-1])  # a writable copy for the kernels
    local_transforms = (
        kinematics.pack_local_offsets(plan.table, kinematics.flatten_local_offsets(start.translations, start.scales))
        if has_translations or has_scales
        else _NO_LOCAL_TRANSFORMS
    )
    maps = (
        kinematics.compute_table_maps(plan.table, plan.map_count, start_q, local_transforms) if maps is None else maps
    )
    rotations_of_maps, rows = (
        np.empty((len(start_q), 16)),
        np.empty((len(start_q), layout.PLANE_ROW if plan.limb.planar else layout.LIMB_ROW)),
    )
    pack_rows = kernels.limb_packing.pack_planar_limbs if plan.limb.planar else kernels.limb_packing.pack_limbs
    has_shear, has_skewed_axes = pack_rows(
        plan.numbers, maps, start_q, local_transforms, False, rotations_of_maps, rows
    )
    if has_shear:
        _fill_rotations(plan, maps, rotations_of_maps)
        _, has_skewed_axes = pack_rows(plan.numbers, maps, start_q, local_transforms, True, rotations_of_maps, rows)
    if has_skewed_axes:
        a, b = (start.skeleton.names[row] for row in plan.limb[:2])
        raise UnsupportedError(f"two_bone needs parallel axes where both joints are hinges; {a!r} and {b!r} are not")
    return PosedLimb(plan, rows, start_q)


def _fill_rotations(plan: LimbPlan, maps: Floats, quaternions: Floats) -> None:
    """Fill in rotations of sheared maps. Such maps are rare, and each needs a singular value decomposition."""
    for j in range(4 if plan.limb.rotates_tip else 2):
        sheared, column = np.flatnonzero(quaternions[:, 4 * j] < 0.0), 12 * int(plan.numbers[layout.POSED_MAPS + j])
        if len(sheared):
            linear = maps[sheared, column : column + 12].reshape(-1, 3, 4)[..., :3]
            quaternions[sheared, 4 * j : 4 * j + 4] = rotations.from_matrix(rotation_part(linear))


# --- pose-independent data ---------------------------------------------------------------------------------------


def _pack_limb_plan(problem: Problem, options: LimbOptions, *, has_translations: bool, has_scales: bool) -> LimbPlan:
    has_uniform_scale = problem.error_paths is not None
    if not has_uniform_scale:
        problem.plan  # noqa: B018  (its errors come first)
    limb, skeleton = find_limb(problem, options.mid, keep_tip=options.keep_tip), problem.skeleton
    path = skeleton.way(limb.tip)
    maps = [path.index(row) - 1 for row in limb[:3]]
    maps = [*(maps if limb.rotates_tip else [*maps[:2], -1]), len(path) - 1]
    first_map = min([at for at in maps if at >= 0])
    packed_joints = np.zeros(layout.POSED_JOINTS + 3 * layout.POSED_JOINT)
    packed_joints[layout.POSED_MAPS : layout.POSED_MAPS + 4] = [at - first_map if at >= 0 else -1 for at in maps]
    packed_joints[layout.POSED_IS_HINGE], packed_joints[layout.POSED_TIP_ROTATES] = (
        is_hinge(skeleton, limb.middle),
        limb.rotates_tip,
    )
    packed_joints[layout.POSED_BRANCH] = _BRANCH_SIGNS[options.branch]
    packed_joints[layout.POSED_THIGH], packed_joints[layout.POSED_SHIN] = (
        options.bend in ("thigh", "both"),
        options.bend == "both",
    )
    joints = packed_joints[layout.POSED_JOINTS :].reshape(3, layout.POSED_JOINT)
    for joint, row in zip(joints, limb[:3] if limb.rotates_tip else limb[:2], strict=False):
        _pack_joint(joint, skeleton, row, has_translations=has_translations)
        joint[layout.POSED_SUPPLIED] = path.index(row)
    table = kinematics.build_table(skeleton, path, has_translations=has_translations, has_scales=has_scales)
    columns = _find_columns(skeleton, limb)
    return LimbPlan(
        limb, _find_pole_column(problem), columns, table, len(path) - first_map, packed_joints, has_uniform_scale
    )


def _pack_joint(joint: Floats, skeleton: Skeleton, row: int, *, has_translations: bool) -> None:
    kind = skeleton.kinds[row]
    joint[layout.POSED_HAS_ANGLE], joint[layout.POSED_COLUMN] = kind == Kind.HINGE, find_rotation_column(skeleton, row)
    joint[layout.POSED_TRANSLATION] = skeleton.q_start[row] if kind == Kind.FREE else -1
    joint[layout.POSED_OFFSET : layout.POSED_AXIS] = skeleton.A[row]
    if has_translations and kind != Kind.FREE:
        joint[layout.POSED_OFFSET : layout.POSED_ROTATION] = 0.0
    joint[layout.POSED_RANGE :] = read_hinge_range(skeleton, row)
    if is_hinge(skeleton, row):
        joint[layout.POSED_AXIS : layout.POSED_RANGE] = read_hinge_axis(skeleton, row)


def _find_columns(skeleton: Skeleton, limb: Limb) -> Ints:
    tip = find_rotation_column(skeleton, limb.tip) if limb.rotates_tip else -1
    are_angles = [int(skeleton.kinds[row] == Kind.HINGE) for row in (limb.first, limb.middle)]
    first, middle = find_rotation_column(skeleton, limb.first), find_rotation_column(skeleton, limb.middle)
    return np.array([first, middle, tip, *are_angles], dtype=np.int64)


def _find_pole_column(problem: Problem) -> int:
    return next((m.column for m in problem.measures if isinstance(problem.goals[m.goal], Pole)), -1)
