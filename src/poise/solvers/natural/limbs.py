"""Limbs of a figure: their joints and natural bend sides."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.errors import InputError, UnsupportedError
from poise.kernels.layout import (
    NATURAL_BEND_FRONT,
    NATURAL_BEND_LENGTH,
    NATURAL_BEND_ROW,
    NATURAL_BEND_SIDE,
    NATURAL_BEND_STRAIGHT_WEIGHT,
    NATURAL_BEND_UP,
    NATURAL_BEND_UPPER_LENGTH,
)
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, prepare_for_kernel
from poise.maths.vectors import dot_rows, normalise
from poise.model.anatomy.rest_geometry import BodyFrame, find_confident_joints
from poise.model.anatomy.standing_pose import (
    compute_standing_rotations,
    compute_standing_transforms,
    find_standing_frame,
    find_standing_q,
)
from poise.model.kinematics import (
    KinematicsTable,
    LocalOffsets,
    compute_table_maps,
    flatten_local_offsets,
    get_table,
    pack_local_offsets,
)
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Pole, Position
from poise.problem.problem import Problem, Tolerance
from poise.problem.two_bone_limb import (
    LimbOptions,
    LimbPlan,
    PosedLimb,
    WrongBend,
    build_limb_plan,
    is_hinge,
    pack_limb_poses,
)
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.answer_refinement import MIN_REFINED_LENGTH_ERROR
from poise.solvers.natural.body_maps import list_points
from poise.solvers.natural.surroundings import NOTHING_AROUND, Obstacles, Surroundings, measure_radius
from poise.solvers.natural.trunk import (
    CarriedShoulders,
    Collar,
    RestingReach,
    carry_shoulders,
    find_collar,
    find_resting_reach,
    may_turn,
)
from poise.solvers.two_bone import TwoBone, solve_limb

_PARTS = {"leg": ("UpperLeg", "LowerLeg", "Foot"), "arm": ("UpperArm", "LowerArm", "Hand")}

# Forward, up and outward: the usual direction of the limb, and where it bends then. A leg stands below the hip, its
# knee in front; a hand works ahead of the body and below the shoulder, the elbow behind, below and outside. Tried on 60
# frames each of six recorded clips (walks, a run, a ladder, jumping jacks): knees are then 2 cm from the actor's on the
# mean, for a leg of 85 cm, and elbows 5; benchmarks/real_poses.py.
_USUAL = {"leg": ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0)), "arm": ((1.0, -1.0, 0.5), (-0.7, -0.7, 0.5))}
# How much the rotation that a hand or foot is asked for counts beside that: where the bone above it came from at rest,
# and for feet where the toes point. A knee follows the toes, an elbow spares the wrist.
_GAINS = {"leg": (0.0, 0.5), "arm": (1.5, 0.0)}

# Rigs are built with knees and elbows a little bent, to any side, some to the wrong one: that is no pose that somebody
# chose. What a limb is bent beyond it is.
_BUILT_IN = np.radians(15.0)
_UNSEEN = np.radians(2.0)  # a limb that is bent less does not show to which side
_AGREES = 0.5  # cosine: a rest pose and the body say the same about a side within 60 degrees

# Feet of people point a little outward from where the knee looks; feet that point further take the knee along.
_TOED_OUT, _ASTRAY = np.radians(10.0), np.radians(60.0)  # ... unless these are no toes

_NO_LEAN = np.array([[1.0, 0.0, 0.0, 0.0]])
_KEPT = 128  # rows of settings


class RoleLimb(NamedTuple):
    """Rows of an arm or a leg, and numbers for kernels/posture.py.

    carrier  the row that its side goes with: of a leg what carries both, of an arm what carries its collar bone
    collar   how the collar bone of an arm turns; None without one
    numbers  (NATURAL_BEND_ROW,)
    """

    kind: str
    carrier: int
    first: int
    middle: int
    tip: int
    collar: Collar | None
    numbers: Floats

    @property
    def lengths(self) -> tuple[float, float]:
        """The lengths of both bones."""
        upper = float(self.numbers[NATURAL_BEND_UPPER_LENGTH])
        return upper, float(self.numbers[NATURAL_BEND_LENGTH]) - upper


def find_limbs(skeleton: Skeleton) -> tuple[RoleLimb, ...]:
    """Find the known arms and legs of a skeleton, once. There are none where it is no figure."""
    return get_or_compute(skeleton, "role limbs", None, lambda: _find_limbs(skeleton))


def _find_limbs(skeleton: Skeleton) -> tuple[RoleLimb, ...]:
    joints = find_confident_joints(find_joint_roles(skeleton))
    try:
        figure = find_standing_frame(skeleton)
    except InputError:
        return ()
    found: list[RoleLimb] = []
    for side, outward in zip(SIDES, (figure.left, -figure.left), strict=True):
        axes = np.array([figure.forward, figure.up, outward])
        for kind, parts in _PARTS.items():
            rows = [skeleton.index(joints[side + part]) for part in parts if side + part in joints]
            if len(rows) == len(parts) and _is_chain(skeleton, rows):
                carrier = _find_carrier(skeleton, joints, side, kind, rows[0])
                toes = joints.get(side + "Toes") if kind == "leg" else None
                ahead = (
                    figure.forward if toes is None else _find_front(skeleton, figure, rows[-1], skeleton.index(toes))
                )
                numbers = None if carrier < 0 else _pack_numbers(skeleton, kind, axes, ahead, carrier, rows)
                if numbers is not None:
                    first, middle, tip = rows
                    way = skeleton.list_path(first)
                    collar = None
                    if kind == "arm" and side + "Shoulder" in joints:
                        turned = skeleton.index(joints[side + "Shoulder"])
                        if turned in way[way.index(carrier) + 1 : -1]:
                            collar = find_collar(skeleton, figure, (carrier, turned, first, middle, tip))
                    found.append(RoleLimb(kind, carrier, first, middle, tip, collar, numbers))
    return tuple(found)


def _is_chain(skeleton: Skeleton, rows: list[int]) -> bool:
    first, middle, tip = rows
    way = skeleton.list_path(tip)
    turns = (Kind.BALL, Kind.FREE)
    bends = (*turns, Kind.HINGE)
    return first in way and middle in way and skeleton.kinds[first] in turns and skeleton.kinds[middle] in bends


def _find_carrier(skeleton: Skeleton, joints: dict[str, str], side: str, kind: str, first: int) -> int:
    """Find the carrier of a limb. Of an arm it carries the collar bone; -1 stands for none."""
    below = first
    if kind == "arm" and f"{side}Shoulder" in joints:
        shoulder = skeleton.index(joints[f"{side}Shoulder"])
        below = shoulder if shoulder in skeleton.list_path(first) else first
    parent = int(skeleton.parents[below])
    if kind == "leg" and "hips" in joints and skeleton.index(joints["hips"]) in skeleton.list_path(first):
        return skeleton.index(joints["hips"])
    return parent


def _find_front(skeleton: Skeleton, figure: BodyFrame, foot: int, toes: int) -> Floats:
    """Find the level direction of a knee at rest. It is the figure's front unless toes point far from there."""
    points = compute_standing_transforms(skeleton)[:, :3, 3]
    way = points[toes] - points[foot]
    turn = float(np.arctan2(way @ np.cross(figure.up, figure.forward), way @ figure.forward))
    if abs(turn) > _ASTRAY:
        return figure.forward
    more = float(np.sign(turn)) * max(abs(turn) - _TOED_OUT, 0.0)
    return figure.forward * np.cos(more) + np.cross(figure.up, figure.forward) * np.sin(more)


def _pack_numbers(
    skeleton: Skeleton, kind: str, axes: Floats, ahead: Floats, carrier: int, rows: list[int]
) -> Floats | None:
    maps = compute_standing_transforms(skeleton)
    points = maps[:, :3, 3]
    first, middle, tip = points[rows]
    length = float(np.linalg.norm(middle - first) + np.linalg.norm(tip - middle))
    along, bend = (np.array(v) @ axes for v in _USUAL[kind])
    along = normalise(along)
    bend = normalise(bend - along * float(bend @ along))
    straight = middle - tip
    if not length > 0.0 or not np.linalg.norm(straight) > 0.0:
        return None
    found = np.zeros(NATURAL_BEND_ROW)
    body, own, up = maps[carrier], maps[rows[2]], axes[1]
    own = own * np.sign(np.linalg.det(own[:3, :3]))  # a tip's wanted rotation turns these, and drops a mirror
    local = (body, along), (body, bend), (own, normalise(straight)), (own, ahead), (body, up)
    found[:NATURAL_BEND_STRAIGHT_WEIGHT] = np.concatenate(
        [normalise(np.linalg.solve(at[:3, :3], v)) for at, v in local]
    )
    upper, built_in = float(np.linalg.norm(middle - first)), _measure_built_in(points[rows])
    radius = measure_radius(skeleton, kind)
    found[NATURAL_BEND_STRAIGHT_WEIGHT:NATURAL_BEND_FRONT] = *_GAINS[kind], length, upper, built_in, radius
    # a hand behind the back has its elbow out, a leg that kneels its knee
    found[NATURAL_BEND_FRONT:] = np.concatenate(
        [normalise(np.linalg.solve(body[:3, :3], way)) for way in (axes[0], axes[2])]
    )
    if kind == "leg":  # a knee that is drawn up stands above hip and foot
        found[NATURAL_BEND_UP : NATURAL_BEND_UP + 3] = 0.0
    return found


def _measure_built_in(points: Floats) -> float:
    """Measure the built-in bend of three points at rest.

    It is the second one's distance from the line; 0 where that is a pose.
    """
    bulge, bend = _measure_bend(points)
    return float(np.linalg.norm(bulge)) if _UNSEEN < bend < _BUILT_IN else 0.0


def _measure_bend(points: Floats) -> tuple[Floats, float]:
    """Measure the bend of three points.

    Return the second one's offset from the line through the others, and the angle.
    """
    upper, lower = points[1] - points[0], points[2] - points[1]
    along = normalise(points[2] - points[0])
    angle = np.arctan2(np.linalg.norm(np.cross(upper, lower)), upper @ lower)
    return upper - along * float(upper @ along), float(angle)


def find_rotation_columns(skeleton: Skeleton, row: int) -> Ints:
    """Find the columns of q of a joint's rotation."""
    count = Kind(skeleton.kinds[row]).nq
    end = int(skeleton.q_start[row]) + count
    return np.arange(end - min(count, Kind.BALL.nq), end)


def shows_its_side(skeleton: Skeleton, limb: RoleLimb) -> bool:
    """Return whether a limb's rest pose shows its bend side. It is bent clearly, and as limbs of people are."""
    points = compute_standing_transforms(skeleton)[[limb.first, limb.middle, limb.tip], :3, 3]
    bulge, bend = _measure_bend(points)
    if bend <= _UNSEEN or bend >= _BUILT_IN:
        return bend > _UNSEEN
    return _agrees_with_body(skeleton, limb, points, bulge)


def _agrees_with_body(skeleton: Skeleton, limb: RoleLimb, points: Floats, bulge: Floats) -> bool:
    """Return whether a limb is built bent to its natural side.

    points  (3, 3) of its joints at rest
    bulge   (3,) of the middle one
    """
    maps = compute_standing_transforms(skeleton)[[limb.carrier, limb.first, limb.middle, limb.tip], :3]
    maps[2, :, 3] = points[[0, 2]].mean(axis=0)  # straight: then only the body says where it bends
    out = np.empty((1, 3))
    kernels.posture.compute_poles(
        maps.reshape(1, -1),
        np.arange(4),
        limb.numbers,
        points[2:],
        _NO_LEAN,
        NOTHING_AROUND.capsules,
        NOTHING_AROUND.floors,
        out,
    )
    return float(normalise(bulge) @ normalise(out[0] - maps[2, :, 3])) > _AGREES


def _find_wrong_bend(skeleton: Skeleton, limb: RoleLimb) -> WrongBend | None:
    """Find an unnatural built-in bend. None without one.

    A limb bent a little to that side turns about its own line until its bend points where it is to: one with its knee
    bent backward by a degree would turn its foot round. A straight one bends to any side.
    """
    rows = [limb.first, limb.middle, limb.tip]
    points = compute_standing_transforms(skeleton)[rows, :3, 3]
    bulge, bend = _measure_bend(points)
    if bend >= _BUILT_IN or is_hinge(skeleton, limb.middle) or not bulge.any():
        return None
    if _agrees_with_body(skeleton, limb, points, bulge):
        return None
    own = find_standing_q(skeleton)[find_rotation_columns(skeleton, limb.middle)]
    # The world rotation is frame . motion . B.
    after = rotations.rotation_part(skeleton.B[limb.middle, :, :3])
    frame = compute_standing_rotations(skeleton)[limb.middle] @ after.T @ rotations.as_matrix(own).T
    upper, lower = (normalise(b - a) @ frame for a, b in pairwise(points))
    bend = np.stack([upper, rotations.rotate(rotations.inverse(own), lower), np.cross(upper, lower)])
    return WrongBend(bend, float(np.cos(_BUILT_IN)))


class Bends(NamedTuple):
    """Bend of a limb: its path and its rows for `find_poles`.

    plan     of the limb, for the closed form; None where that cannot be had, as where scale is not uniform
    bounded  whether its joints have limits: the closed form is then where the engine begins
    collar   the collar bone that joins where an arm is too short; None where it keeps still
    wrong    a bend that it was built with, to a side that people do not bend to; its poses count as straight
    """

    limb: RoleLimb
    table: KinematicsTable
    needed: int
    places: Ints
    plan: LimbPlan | None
    bounded: bool
    collar: Collar | None
    wrong: WrongBend | None

    @property
    def closed(self) -> bool:
        """Whether the closed form alone bends it."""
        return self.plan is not None and not self.bounded


def build_bends(problem: Problem, limb: RoleLimb, whole: Problem, held: Collection[int]) -> Bends:
    """Build the bend of a limb with one goal and a Pole.

    whole  the problem that the limb is a part of
    held   rows of joints of which a goal says how they turn
    """
    start, rows = problem.start, problem.skeleton.list_path(limb.tip)
    bounded = _is_bounded(problem.skeleton, limb)
    first = rows.index(limb.carrier)
    places = [rows.index(row) - first for row in (limb.carrier, limb.first, limb.middle, limb.tip)]
    table = get_table(problem.skeleton, limb.tip, LocalOffsets(start.translations, start.scales))
    collar = limb.collar if may_turn(limb.collar, problem.skeleton, whole.joints, held) else None
    plan, wrong = _build_plan(problem, limb, whole), _find_wrong_bend(problem.skeleton, limb)
    return Bends(limb, table, len(rows) - first, np.array(places), plan, bounded, collar, wrong)


def _is_bounded(skeleton: Skeleton, limb: RoleLimb) -> bool:
    """Return whether limits bound a limb beyond its closed form. That keeps the range of a hinge in the middle."""
    limits = skeleton.limits
    is_free = limits[limb.middle] is None or is_hinge(skeleton, limb.middle)
    return not (is_free and limits[limb.first] is None and limits[limb.tip] is None)


def bend_alone(problem: Problem, limb: RoleLimb) -> Bends:
    """Build the bend of a limb without goals."""
    names, start = problem.skeleton.names, problem.start
    first, middle, tip = (names[row] for row in (limb.first, limb.middle, limb.tip))
    goals = Position(tip, np.zeros(3), root=first), Pole(middle, np.zeros(3), root=first, tip=tip)
    single = start[(0,) * len(start.shape)] if start.shape else start
    return build_bends(Problem(single, goals, free_root=False), limb, problem, held=range(len(names)))


def _build_plan(problem: Problem, limb: RoleLimb, whole: Problem) -> LimbPlan | None:
    """Build the limb for the closed form. Non-uniform scale is allowed within a file's rounding only.

    Where the whole problem has no other scale, the limb has none either.
    """
    options = LimbOptions(problem.skeleton.names[limb.middle], False, "turn", "nearest")
    is_rounding = whole.plan.length_error <= MIN_REFINED_LENGTH_ERROR
    try:
        plan = build_limb_plan(problem, options, has_known_scale=is_rounding)
        is_rounding = is_rounding or plan.has_uniform_scale or problem.plan.length_error <= MIN_REFINED_LENGTH_ERROR
    except UnsupportedError:
        return None
    return plan if is_rounding else None


def find_poles(
    bends: Bends, pose: Pose, targets: Floats, lean: Floats | None = None, around: Surroundings = NOTHING_AROUND
) -> Floats:
    """Find poles (k, 3) for a limb's middle joint. They are world points for targets (k, 3 | 7) of the tip.

    lean  (k, 4) by what the body was turned to get nearer to them: the knees of a figure that bows do not see it
    """
    return _poles(bends, _find_maps(bends, pose), targets, lean, around)


def _poles(
    bends: Bends, maps: Floats, targets: Floats, lean: Floats | None, around: Surroundings = NOTHING_AROUND
) -> Floats:
    out = np.empty((len(targets), 3))
    leans = _NO_LEAN if lean is None or bends.limb.kind != "leg" else lean
    known = maps, bends.places, bends.limb.numbers, targets, leans, around.capsules
    kernels.posture.compute_poles(*known, around.floors, out)
    if around.ground is not None and around.ground.terrain is not None:
        # The ground counts below where the middle joint would be without any.
        firsts = maps.reshape(-1, maps.shape[1] // 12, 3, 4)[:, bends.places[1], :, 3]
        middles = find_middles(bends.limb, firsts, targets[:, :3], out)
        kernels.posture.compute_poles(*known, around.ground.find_planes(middles[:, None]), out)
    return out


def find_middles(limb: RoleLimb, firsts: Floats, tips: Floats, sides: Floats) -> Floats:
    """Find middle joints (k, 3) on the side of points `sides`."""
    upper, lower = limb.lengths
    chords = tips - firsts
    distances = np.maximum(np.linalg.norm(chords, axis=1, keepdims=True), 1e-12)
    along = chords / distances
    reach = np.clip(distances, abs(upper - lower), upper + lower)
    share = 0.5 * (reach + (upper * upper - lower * lower) / reach)
    side = sides - firsts
    side = normalise(side - along * (side * along).sum(axis=1, keepdims=True))
    return firsts + along * share + side * np.sqrt(np.maximum(upper * upper - share * share, 0.0))


def _find_maps(bends: Bends, pose: Pose) -> Floats:
    """Compute world transforms (k, 12 needed) of a limb's path."""
    extra = pack_local_offsets(bends.table, flatten_local_offsets(pose.translations, pose.scales))
    return compute_table_maps(bends.table, bends.needed, prepare_for_kernel(pose.flat_q), extra)


def bend_naturally(
    bends: Bends, plan: LimbPlan, pose: Pose, targets: Floats, tolerance: Tolerance, lean: Floats | None = None,
    around: Surroundings = NOTHING_AROUND, *, keeps_met: bool = False,
) -> tuple[Floats, Bools]:  # fmt: skip
    """Bend a limb to targets on its natural side. See `two_bone.solve_limb`.

    keeps_met  whether a start that is there comes back as it is
    """
    return bend_posed(_pose_limb(bends, plan, pose, around), targets, tolerance, lean, keeps_met=keeps_met)


def carry_limb(bends: Bends, pose: Pose, targets: Floats) -> CarriedShoulders | None:
    """Turn a limb's collar bone towards targets (k, 3|7). None where it has none that may turn."""
    return (
        None if bends.collar is None else carry_shoulders(bends.collar, _find_maps(bends, pose), pose.flat_q, targets)
    )


class PosedBends(NamedTuple):
    """Bend of a limb in start poses, with maps (1|k, 12 needed).

    resting  where targets leave the collar bone at rest; None where that is not known beforehand
    around  what it keeps clear of
    """

    bends: Bends
    maps: Floats
    limb: PosedLimb
    resting: RestingReach | None
    around: Surroundings

    def find_carried(self, targets: Floats) -> Bools | None:
        """Return a mask (k,) of targets with a turning collar bone. None where it turns for none."""
        collar = self.bends.collar
        if collar is None or (self.resting is not None and self.resting.has_inside(targets)):
            return None
        return carry_shoulders(collar, self.maps, self.limb.start_q, targets).is_carried


def pose_limb(bends: Bends | None, pose: Pose, obstacles: Obstacles) -> PosedBends | None:
    """Pose a limb. None where the closed form does not know it."""
    if bends is None or bends.plan is None:
        return None
    return _pose_limb(bends, bends.plan, pose, obstacles.surround(bends.limb.kind, pose))


def _pose_limb(bends: Bends, plan: LimbPlan, pose: Pose, around: Surroundings) -> PosedBends:
    maps = _find_maps(bends, pose)
    shared = np.ascontiguousarray(maps[:, -12 * plan.map_count :]) if bends.needed >= plan.map_count else None
    limb, collar = pack_limb_poses(plan, pose, shared, bends.wrong), bends.collar
    resting = None if collar is None else find_resting_reach(collar, maps, limb.start_q, bends.limb.lengths)
    return PosedBends(bends, maps, limb, resting, around)


def bend_posed(
    posed: PosedBends, targets: Floats, tolerance: Tolerance, lean: Floats | None = None, *, keeps_met: bool = False
) -> tuple[Floats, Bools]:
    """Bend a posed limb; see `bend_naturally`."""
    bends, maps, limb, _, around = posed
    return solve_limb(limb, targets, _poles(bends, maps, targets, lean, around), _get_settings(tolerance, keeps_met))


def lower_poles(bends: Bends, pose: Pose, moved: Bools) -> tuple[Ints, Floats] | None:
    """Find raised elbows in moved poses (k,), and poles to lower them.

    Row numbers (r,) and world points (r, 3); None where it is above them in no pose.
    """
    low, raised = np.empty((len(moved), 3)), moved.copy()
    if not kernels.posture.lower_raised_poles(_find_maps(bends, pose), bends.places, bends.limb.numbers, low, raised):
        return None
    rows = np.flatnonzero(raised)
    return rows, low[rows]


def bend_to_poles(
    plan: LimbPlan, pose: Pose, targets: Floats, poles: Floats, tolerance: Tolerance
) -> tuple[Floats, Bools]:
    """Bend a limb to targets, its middle joint towards poles (k, 3). See `two_bone.solve_limb`."""
    return solve_limb(pack_limb_poses(plan, pose), targets, poles, _get_settings(tolerance, keeps_met=False))


@lru_cache(_KEPT)
def _get_settings(tolerance: Tolerance, keeps_met: bool) -> Floats:
    return TwoBone().settings(tolerance, has_pole=not keeps_met)


def average_points(points: Floats) -> Floats:
    """Average points (k, l, 3) one by one."""
    return np.add.accumulate(points, axis=1)[:, -1] / points.shape[1]


def find_up(skeleton: Skeleton) -> Floats:
    """Find the direction against gravity."""
    return get_or_compute(skeleton, "up", None, lambda: find_standing_frame(skeleton).up)


def find_first_joints(limbs: Sequence[RoleLimb], pose: Pose, count: int) -> Floats:
    """Find the first joints (count, l, 3) of limbs in poses (1|count)."""
    firsts = np.empty((count, len(limbs), 3))
    firsts[:] = list_points(pose, [limb.first for limb in limbs])
    return firsts


def find_facing(bends: Sequence[Bends], pose: Pose, up: Floats, count: int) -> Floats:
    """Find the pelvis' level front (count, 3). It is kept with the pose."""
    leg = next(one for one in bends if one.limb.kind == "leg")
    ahead = get_or_compute(pose, "facing", leg.limb.first, lambda: _compute_facing(leg, pose, up))
    return np.broadcast_to(ahead, (count, 3))


def _compute_facing(leg: Bends, pose: Pose, up: Floats) -> Floats:
    """Compute the pelvis' level front (1|k, 3) from a leg's numbers."""
    turn = _find_maps(leg, pose).reshape(-1, leg.needed, 3, 4)[:, leg.places[0], :, :3]
    bend = leg.limb.numbers[NATURAL_BEND_SIDE : NATURAL_BEND_SIDE + 3]
    ahead = turn[..., 0] * bend[0] + turn[..., 1] * bend[1] + turn[..., 2] * bend[2]
    return _level(ahead, up)


def _level(ways: Floats, up: Floats) -> Floats:
    """Return level unit vectors of directions (k, 3). Upright ones give zero."""
    ways = ways - dot_rows(ways, up)[:, None] * up
    size = np.sqrt(dot_rows(ways, ways))
    return ways / np.where(size > 0.0, size, 1.0)[:, None]
