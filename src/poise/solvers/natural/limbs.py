"""The limbs of a figure: which joints, and to which side each of them bends by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.errors import InputError, UnsupportedError
from poise.kernels.codes import SIDE_LENGTH, SIDE_ROW
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, for_kernel
from poise.maths.remember import remember
from poise.maths.vectors import units
from poise.model.anatomy.axes import stance, sure_joints
from poise.model.anatomy.stance import rest_maps
from poise.model.kinematics import Table, flat_given, given_rows, maps_by, table_of
from poise.model.pose import Pose
from poise.model.roles.lookup import roles_of
from poise.model.roles.vrm import SIDES
from poise.model.skeleton import Kind, Skeleton
from poise.problem.limb_posed import LimbOptions, LimbPlan, in_poses, limb_plan
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.corrected import ROUNDED
from poise.solvers.two_bone import TwoBone, bent

_PARTS = {"leg": ("UpperLeg", "LowerLeg", "Foot"), "arm": ("UpperArm", "LowerArm", "Hand")}

# Forward, up and outward: the usual direction of the limb, and where it bends then. A leg stands below the hip, its
# knee in front; a hand works ahead of the body and below the shoulder, the elbow behind, below and outside. Tried on 60
# frames each of six recorded clips (walks, a run, a ladder, jumping jacks): knees are then 2 cm from the actor's on the
# mean, for a leg of 85 cm, and elbows 5; benchmarks/real_poses.py.
_USUAL = {"leg": ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0)), "arm": ((1.0, -1.0, 0.5), (-0.7, -0.7, 0.5))}
# How much the rotation that a hand or foot is asked for counts beside that: where the bone above it came from at rest,
# and for feet where the toes point. A knee follows the toes, an elbow spares the wrist.
_GAINS = {"leg": (0.0, 0.5), "arm": (1.5, 0.0)}

# What of its length a limb is asked to reach before the whole figure is carried nearer: people stand with straight legs
# and do not work with straight arms.
_SPENT = {"leg": 0.9995, "arm": 0.95}
_FOLDED = 0.45  # of its length: as near as hips come to the feet


class RoleLimb(NamedTuple):
    """An arm or a leg: rows of the skeleton and what kernels/limb/bends.py reads.

    carrier  the row that its side goes with: of a leg what carries both, of an arm what carries its collar bone
    numbers  (SIDE_ROW,)
    """

    kind: str
    carrier: int
    first: int
    middle: int
    tip: int
    numbers: Floats


def limbs_of(skeleton: Skeleton) -> tuple[RoleLimb, ...]:
    """The arms and legs whose joints are surely known, found once; none where the skeleton is no such figure."""
    return remember(skeleton, "role limbs", None, lambda: _limbs(skeleton))


def _limbs(skeleton: Skeleton) -> tuple[RoleLimb, ...]:
    joints = sure_joints(roles_of(skeleton))
    try:
        figure = stance(skeleton)
    except InputError:
        return ()
    found: list[RoleLimb] = []
    for side, outward in zip(SIDES, (figure.left, -figure.left), strict=True):
        axes = np.array([figure.forward, figure.up, outward])
        for kind, parts in _PARTS.items():
            rows = [skeleton.index(joints[side + part]) for part in parts if side + part in joints]
            if len(rows) == len(parts) and _is_chain(skeleton, rows):
                carrier = _carrier(skeleton, joints, side, kind, rows[0])
                numbers = None if carrier < 0 else _numbers(skeleton, kind, axes, carrier, rows)
                if numbers is not None:
                    first, middle, tip = rows
                    found.append(RoleLimb(kind, carrier, first, middle, tip, numbers))
    return tuple(found)


def _is_chain(skeleton: Skeleton, rows: list[int]) -> bool:
    first, middle, tip = rows
    way = skeleton.way(tip)
    turns = (Kind.BALL, Kind.FREE)
    return first in way and middle in way and all(skeleton.kinds[row] in turns for row in (first, middle))


def _carrier(skeleton: Skeleton, joints: dict[str, str], side: str, kind: str, first: int) -> int:
    """The row of the body that a limb hangs on; of an arm what carries the collar bone; -1 for none."""
    below = first
    if kind == "arm" and f"{side}Shoulder" in joints:
        shoulder = skeleton.index(joints[f"{side}Shoulder"])
        below = shoulder if shoulder in skeleton.way(first) else first
    parent = int(skeleton.parents[below])
    if kind == "leg" and "hips" in joints and skeleton.index(joints["hips"]) in skeleton.way(first):
        return skeleton.index(joints["hips"])
    return parent


def _numbers(skeleton: Skeleton, kind: str, axes: Floats, carrier: int, rows: list[int]) -> Floats | None:
    maps = rest_maps(skeleton)
    points = maps[:, :3, 3]
    first, middle, tip = points[rows]
    length = float(np.linalg.norm(middle - first) + np.linalg.norm(tip - middle))
    along, bend = (np.array(v) @ axes for v in _USUAL[kind])
    along = units(along)
    bend = units(bend - along * float(bend @ along))
    straight = middle - tip
    if not length > 0.0 or not np.linalg.norm(straight) > 0.0:
        return None
    found = np.zeros(SIDE_ROW)
    local = (maps[carrier], along), (maps[carrier], bend), (maps[rows[2]], units(straight)), (maps[rows[2]], axes[0])
    found[:12] = np.concatenate([units(np.linalg.solve(at[:3, :3], v)) for at, v in local])
    found[12:] = *_GAINS[kind], length
    return found


class Bends(NamedTuple):
    """How a limb is bent: the way to its tip for `poles`, the last rows of it that are needed, and which are which.

    plan  of the limb, for the closed form; None where that cannot be had: its joints have limits, or scale is not
          uniform
    """

    limb: RoleLimb
    table: Table
    needed: int
    places: Ints
    plan: LimbPlan | None


def bends_of(problem: Problem, limb: RoleLimb) -> Bends:
    """How the limb of a problem with one goal for its tip and a Pole is bent."""
    start, rows = problem.start, problem.skeleton.way(limb.tip)
    moved, scaled = start.translations is not None, start.scales is not None
    first = rows.index(limb.carrier)
    places = [rows.index(row) - first for row in (limb.carrier, limb.first, limb.middle, limb.tip)]
    table = table_of(problem.skeleton, rows, moved=moved, scaled=scaled)
    return Bends(limb, table, len(rows) - first, np.array(places), _plan(problem, limb))


def _plan(problem: Problem, limb: RoleLimb) -> LimbPlan | None:
    """The limb for the closed form, which knows no limits, nor scale that is not uniform but for a file's rounding."""
    if any(problem.skeleton.limits[row] is not None for row in (limb.first, limb.middle, limb.tip)):
        return None
    try:
        plan = limb_plan(problem, LimbOptions(problem.skeleton.names[limb.middle], False, "turn", "nearest"))
    except UnsupportedError:
        return None
    return plan if plan.uniform or problem.plan.stretch <= ROUNDED else None


def poles(bends: Bends, pose: Pose, targets: Floats) -> Floats:
    """World points (k, 3) to whose side the limb's middle joint should be, for targets (k, 3 | 7) of its tip."""
    return _poles(bends, _maps(bends, pose), targets)


def _poles(bends: Bends, maps: Floats, targets: Floats) -> Floats:
    out = np.empty((len(targets), 3))
    kernels.limb.bends.poles(maps, bends.places, bends.limb.numbers, targets, out)
    return out


def _maps(bends: Bends, pose: Pose) -> Floats:
    """World transforms (k, 12 needed) of the last rows of the way to the limb's tip."""
    extra = given_rows(bends.table, flat_given(pose.translations, pose.scales))
    return maps_by(bends.table, bends.needed, for_kernel(pose.flat_q), extra)


def bent_naturally(
    bends: Bends, plan: LimbPlan, pose: Pose, targets: Floats, tolerance: Tolerance
) -> tuple[Floats, Bools]:
    """Bend a limb to the targets of its tip, its middle joint where the body has it; see `two_bone.bent`."""
    maps = _maps(bends, pose)
    shared = np.ascontiguousarray(maps[:, -12 * plan.needed :]) if bends.needed >= plan.needed else None
    posed = in_poses(plan, pose, shared)
    return bent(posed, targets, _poles(bends, maps, targets), _BEND.settings(tolerance, poled=True))


_BEND = TwoBone()


def carried(bends: Sequence[Bends], pose: Pose, root: str, targets: Floats) -> Floats:
    """The place (k, 7) of a root from which its limbs reach the places (k, l, 3) of their tips."""
    firsts, at = np.empty(targets.shape), pose.world[root]
    for j, one in enumerate(bends):
        firsts[:, j] = _maps(one, pose).reshape(-1, one.needed, 3, 4)[:, one.places[1], :, 3]
    lengths = np.array([one.limb.numbers[SIDE_LENGTH] for one in bends])
    is_leg = np.array([one.limb.kind == "leg" for one in bends])
    reaches = lengths * np.array([_SPENT[one.limb.kind] for one in bends])
    out, roots = np.empty((len(targets), 7)), np.empty((len(targets), 3))
    roots[:] = at.positions.reshape(-1, 3)
    kernels.limb.bends.carried_by(roots, firsts, targets, is_leg, lengths * _FOLDED, reaches, out)
    out[:, 3:] = rotations.multiply(out[:, 3:], at.rotations.reshape(-1, 4))
    return out
