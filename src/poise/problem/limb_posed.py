"""Pack two-bone limbs for kernels/limb.

The constants are packed once for a plan; a kernel adds the numbers of each pose.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from poise import kernels
from poise.errors import UnsupportedError
from poise.kernels.codes import (
    LIMB_ROW,
    PLANE_ROW,
    POSED_ANGLED,
    POSED_AXIS,
    POSED_BRANCH,
    POSED_COLUMN,
    POSED_GIVEN,
    POSED_HINGE,
    POSED_JOINT,
    POSED_JOINTS,
    POSED_MAPS,
    POSED_MOVES,
    POSED_OFFSET,
    POSED_RANGE,
    POSED_SHIN,
    POSED_THIGH,
    POSED_TURN,
    POSED_TURNS,
)
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.remember import remember
from poise.maths.rotations import rotation_part
from poise.model.kinematics import Table, flat_given, given_rows, maps_by, table_of
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Pole
from poise.problem.limb import Limb, axis_of, column_of, is_hinge, limb_of, range_of
from poise.problem.problem import Problem

Bend = Literal["turn", "thigh", "both", "axis"]
Branch = Literal["nearest", "positive", "negative"]

_BRANCHES = {"nearest": 0.0, "positive": 1.0, "negative": -1.0}
_NOTHING = np.empty((0, 6))  # input of poses without translations and scales of their own


class LimbPlan(NamedTuple):
    """Pose-independent data of a limb. It serves poses with translations or scales of their own, or those without.

    limb         joints of the limb
    pole_column  first target column of a Pole; -1 without one
    columns      see kernels/limb/two_bone.py
    table        path to the tip; the limb needs the maps of its last `map_count` rows
    numbers      input of kernels/limb/frames.py
    has_uniform_scale  whether the scale on the path is uniform in every pose, so no start is checked
    """

    limb: Limb
    pole: int
    columns: Ints
    table: Table
    needed: int
    numbers: Floats
    uniform: bool


class LimbOptions(NamedTuple):
    """Solver options with an effect on the packing. See `TwoBone`."""

    mid: str | None
    keep_tip: bool
    bend: Bend
    branch: Branch


class PosedLimb(NamedTuple):
    """Limb in its start poses.

    plan    pose-independent data
    rows    (1|k, LIMB_ROW), the fields of `LimbRow` in kernels/limb/rows.py; or (1|k, PLANE_ROW), those of `PlaneRow`
            in kernels/limb/planar.py
    starts  (1|k, nq) the poses
    """

    plan: LimbPlan
    rows: Floats
    starts: Floats


def posed_limb(problem: Problem, options: LimbOptions) -> PosedLimb:
    """Pack the limb of a problem in its start poses. Raises UnsupportedError, with a reason, where there is none."""
    plan = limb_plan(problem, options)
    if not plan.uniform:
        problem.plan  # noqa: B018  (raises for zero scale)
    return in_poses(plan, problem.start)


def limb_plan(problem: Problem, options: LimbOptions) -> LimbPlan:
    """Return the pose-independent data of a problem's limb.

    It is remembered with the skeleton. Raises UnsupportedError where there is no limb.
    """
    start = problem.start
    moved, scaled = start.translations is not None, start.scales is not None
    # Not remembered with the problem's plan: that depends on fixed joints and takes longer to pack.
    key = (problem.kinds, problem.free_root, options, moved, scaled)
    return remember(start.skeleton, "limbs", key, lambda: _planned(problem, options, moved=moved, scaled=scaled))


def in_poses(plan: LimbPlan, start: Pose, maps: Floats | None = None) -> PosedLimb:
    """Pack the limb in other poses of its skeleton.

    The poses may have translations and scales of their own where the plan was made for such. `maps` (1|k, 12
    map_count) are the maps of the plan's table, if already computed.
    """
    moved, scaled = start.translations is not None, start.scales is not None
    starts = np.array(start.q, order="C").reshape(-1, start.q.shape[-1])  # a writable copy for the kernels
    extra = given_rows(plan.table, flat_given(start.translations, start.scales)) if moved or scaled else _NOTHING
    maps = maps_by(plan.table, plan.needed, starts, extra) if maps is None else maps
    turns, rows = np.empty((len(starts), 16)), np.empty((len(starts), PLANE_ROW if plan.limb.planar else LIMB_ROW))
    fill = kernels.limb.posed_plane.planes if plan.limb.planar else kernels.limb.posed.limbs
    askew, slanted = fill(plan.numbers, maps, starts, extra, False, turns, rows)
    if askew:
        _put_turns(plan, maps, turns)
        _, slanted = fill(plan.numbers, maps, starts, extra, True, turns, rows)
    if slanted:
        a, b = (start.skeleton.names[row] for row in plan.limb[:2])
        raise UnsupportedError(f"two_bone needs parallel axes where both joints are hinges; {a!r} and {b!r} are not")
    return PosedLimb(plan, rows, starts)


def _put_turns(plan: LimbPlan, maps: Floats, turns: Floats) -> None:
    """Fill in rotations of sheared maps. Such maps are rare, and each needs a singular value decomposition."""
    for j in range(4 if plan.limb.turns else 2):
        askew, at = np.flatnonzero(turns[:, 4 * j] < 0.0), 12 * int(plan.numbers[POSED_MAPS + j])
        if len(askew):
            linear = maps[askew, at : at + 12].reshape(-1, 3, 4)[..., :3]
            turns[askew, 4 * j : 4 * j + 4] = rotations.from_matrix(rotation_part(linear))


# --- pose-independent data ---------------------------------------------------------------------------------------


def _planned(problem: Problem, options: LimbOptions, *, moved: bool, scaled: bool) -> LimbPlan:
    uniform = problem.paths is not None
    if not uniform:
        problem.plan  # noqa: B018  (its errors come first)
    limb, skeleton = limb_of(problem, options.mid, keep_tip=options.keep_tip), problem.skeleton
    way = skeleton.way(limb.tip)
    maps = [way.index(row) - 1 for row in limb[:3]]
    maps = [*(maps if limb.turns else [*maps[:2], -1]), len(way) - 1]
    lowest = min([at for at in maps if at >= 0])
    numbers = np.zeros(POSED_JOINTS + 3 * POSED_JOINT)
    numbers[POSED_MAPS : POSED_MAPS + 4] = [at - lowest if at >= 0 else -1 for at in maps]
    numbers[POSED_HINGE], numbers[POSED_TURNS] = is_hinge(skeleton, limb.middle), limb.turns
    numbers[POSED_BRANCH] = _BRANCHES[options.branch]
    numbers[POSED_THIGH], numbers[POSED_SHIN] = options.bend in ("thigh", "both"), options.bend == "both"
    joints = numbers[POSED_JOINTS:].reshape(3, POSED_JOINT)
    for joint, row in zip(joints, limb[:3] if limb.turns else limb[:2], strict=False):
        _put_joint(joint, skeleton, row, moved=moved)
        joint[POSED_GIVEN] = way.index(row)
    table = table_of(skeleton, way, moved=moved, scaled=scaled)
    columns = _columns(skeleton, limb)
    return LimbPlan(limb, _pole(problem), columns, table, len(way) - lowest, numbers, uniform)


def _put_joint(joint: Floats, skeleton: Skeleton, row: int, *, moved: bool) -> None:
    kind = skeleton.kinds[row]
    joint[POSED_ANGLED], joint[POSED_COLUMN] = kind == Kind.HINGE, column_of(skeleton, row)
    joint[POSED_MOVES] = skeleton.q_start[row] if kind == Kind.FREE else -1
    joint[POSED_OFFSET:POSED_AXIS] = skeleton.A[row]
    if moved and kind != Kind.FREE:
        joint[POSED_OFFSET:POSED_TURN] = 0.0
    joint[POSED_RANGE:] = range_of(skeleton, row)
    if is_hinge(skeleton, row):
        joint[POSED_AXIS:POSED_RANGE] = axis_of(skeleton, row)


def _columns(skeleton: Skeleton, limb: Limb) -> Ints:
    tip = column_of(skeleton, limb.tip) if limb.turns else -1
    are_angles = [int(skeleton.kinds[row] == Kind.HINGE) for row in (limb.first, limb.middle)]
    first, middle = column_of(skeleton, limb.first), column_of(skeleton, limb.middle)
    return np.array([first, middle, tip, *are_angles], dtype=np.int64)


def _pole(problem: Problem) -> int:
    return next((m.column for m in problem.measures if isinstance(problem.goals[m.goal], Pole)), -1)
