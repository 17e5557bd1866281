"""Ends: feet and hands above the floor.

A foot or a hand of which no goal says how it is turned goes along with its limb, and so into the floor where that is
low. It turns about its own joint, to or from level, until its sole, or its knuckles and fingertips, are above the
floor: a foot by the smaller turn, so that it lies on its back behind a knee that kneels; a palm lies flat. Its joint
stays where it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.vectors import dot_rows, normalise
from poise.model.anatomy.rest_geometry import find_confident_joints
from poise.model.anatomy.standing_pose import compute_standing_transforms, find_standing_frame, find_standing_q
from poise.model.joint_tree import list_below
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import is_joint_goal
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.body_maps import find_points, find_turns, list_points, list_turns
from poise.solvers.natural.floor import Floor
from poise.solvers.natural.limbs import Bends, RoleLimb, bend_alone, bend_naturally, find_limbs, find_rotation_columns
from poise.solvers.natural.surroundings import Obstacles, express_in_frame, measure_height

# Shares of the shin: of a foot of 0.63 (0.154 of the height of people, whose shin is 0.246), from its ankle.
_HEEL_BEHIND, _TIP_AHEAD, _HALF_WIDTH = 0.17, 0.46, 0.11
_STANDS_SHARE = 0.05  # a foot that is higher than the other by more does not stand
_TOES_AHEAD = 1.3  # of the distance from ankle to toes: where they end at least
# Shares of the height of a figure: of a hand, from its wrist.
_HAND, _PALM, _PALM_RADIUS, _FINGER_RADIUS = 0.108, 0.05, 0.013, 0.006
_STANDS_COS = np.cos(np.radians(15.0))  # tilt of feet in a rest pose that a rig was built with
_SHARE_STEPS, _SHARE_HALVINGS = 8, 12  # parts of a turn that are tried for the first clear one, halvings in that part


class End(NamedTuple):
    """A foot or a hand.

    row     of its joint
    points  (n, 3) in the joint's frame, and radii (n,): what is to be above the floor
    normal  (3,) up at rest, of a foot; 0 of a hand, whose first point is level with the wrist where the hand is level
    across  (3,) axis about which it turns where it lies the wrong way round
    """

    row: int
    points: Floats
    radii: Floats
    normal: Floats
    across: Floats


class FloorParts(NamedTuple):
    """Parts of a figure to be lifted above a floor.

    ends  feet and hands that no goal turns
    arms  of hands that no goal moves: number of the hand among the ends, and how its arm is bent
    """

    ends: tuple[End, ...]
    arms: tuple[tuple[int, Bends], ...]


def find_floor_parts(problem: Problem) -> FloorParts:
    """Find feet, hands and arms without a say of any goal."""
    ends = tuple(end for end in find_ends(problem.skeleton) if not _has_goal(problem, end.row))
    arms: list[tuple[int, Bends]] = []
    for limb in find_limbs(problem.skeleton):
        number = next((i for i, end in enumerate(ends) if end.row == limb.tip), -1)
        if limb.kind == "arm" and number >= 0 and _is_free(problem, limb):
            bends = bend_alone(problem, limb)
            if bends.closed:
                arms.append((number, bends))
    return FloorParts(ends, tuple(arms))


def lift_above_floor(
    parts: FloorParts, problem: Problem, q: Floats, obstacles: Obstacles, tolerance: Tolerance
) -> Floats:
    """Lift parts of poses q (k, nq) above the floor."""
    floor = obstacles.floor
    if floor is None:
        return q
    for number, bends in parts.arms:
        q = _lift_hand(parts.ends[number], bends, problem, q, obstacles, floor, tolerance)
    return _level_ends(parts.ends, problem, q, floor)


def _lift_hand(
    hand: End, bends: Bends, problem: Problem, q: Floats, obstacles: Obstacles, floor: Floor, tolerance: Tolerance
) -> Floats:
    """Bend free arms until their hands hang above the floor."""
    pose = problem.make_pose_unchecked(q)
    places, turns = find_points(pose, hand.row), find_turns(pose, hand.row)
    points = places[:, None] + rotations.rotate(turns[:, None], hand.points)
    floors = floor.find_planes(points)
    up = floors[:, None, :3]
    depths = (floors[:, 3:] + hand.radii - (points * up).sum(axis=-1)).max(axis=1)
    low = np.flatnonzero(depths > tolerance.distance)
    if not len(low) or bends.plan is None:
        return q
    targets = (places + depths[:, None] * floors[:, :3])[low]
    start = problem.make_pose_unchecked(q[low])
    around = obstacles.surround(bends.limb.kind, start)
    bent, _ = bend_naturally(bends, bends.plan, start, targets, tolerance, around=around)
    found = q.copy()
    found[low] = bent
    return found


def _level_ends(ends: tuple[End, ...], problem: Problem, q: Floats, floor: Floor) -> Floats:
    """Turn ends of poses until they are above the floor."""
    if not ends:
        return q
    pose, skeleton, joints = problem.make_pose_unchecked(q), problem.skeleton, [end.row for end in ends]
    places, turns = list_points(pose, joints), list_turns(pose, joints)
    found = q
    for i, end in enumerate(ends):
        own, lifted = np.ascontiguousarray(turns[:, i]), np.empty((len(q), 4))
        at = np.ascontiguousarray(places[:, i])
        points = at[:, None]
        if floor.terrain is not None:
            points = points + rotations.rotate(own[:, None], end.points)
        floors = floor.find_planes(points)
        count = kernels.posture_clearance.lift_ends(
            at, own, end.points, end.radii, end.normal, floors, end.across, lifted
        )
        if not count:
            continue
        found = found.copy() if found is q else found
        rows = np.flatnonzero((lifted != own).any(axis=1))
        columns = rows[:, None], find_rotation_columns(skeleton, end.row)
        local = rotations.multiply(rotations.inverse(own[rows]), lifted[rows])
        found[columns] = rotations.multiply(found[columns], local)
    return found if found is q else skeleton.bounds.clamp_by_kernel(found)


def turn_ends_back(
    parts: FloorParts, problem: Problem, q: Floats, clear_q: Floats, floor: Floor, tolerance: Tolerance
) -> Floats:
    """Turn ends of poses q (k, nq) back to clear ones."""
    if not parts.ends:
        return q
    skeleton, found = problem.skeleton, q
    pose, joints = problem.make_pose_unchecked(q), [end.row for end in parts.ends]
    places, turns = list_points(pose, joints), list_turns(pose, joints)
    clear_turns = list_turns(problem.make_pose_unchecked(clear_q), joints)
    for i, end in enumerate(parts.ends):
        own, at = turns[:, i], places[:, i]
        way = rotations.multiply(rotations.inverse(own), clear_turns[:, i])
        way = rotations.as_vector(np.where(way[:, :1] < 0.0, -way, way))
        shares = _find_clear_shares(end, at, own, way, floor, tolerance)
        rows = np.flatnonzero(shares)
        if len(rows):
            found = found.copy() if found is q else found
            columns = rows[:, None], find_rotation_columns(skeleton, end.row)
            found[columns] = rotations.multiply(found[columns], rotations.from_vector(shares[rows, None] * way[rows]))
    return found if found is q else skeleton.bounds.clamp_by_kernel(found)


def _find_clear_shares(end: End, at: Floats, own: Floats, way: Floats, floor: Floor, tolerance: Tolerance) -> Floats:
    """Find the smallest shares (k,) of a turn to lift an end. A share is 1 where no smaller one does."""

    def is_clear(shares: Floats) -> Bools:
        turned = rotations.multiply(own, rotations.from_vector(shares[:, None] * way))
        points = at[:, None] + rotations.rotate(turned[:, None], end.points)
        planes = floor.find_planes(points)
        depths = planes[:, 3:] + end.radii - dot_rows(planes[:, None, :3], points)
        return np.logical_and.reduce(depths <= tolerance.distance, axis=1)

    count = len(at)
    clear = np.where(is_clear(np.zeros(count)), 0.0, 1.0)
    for step in range(_SHARE_STEPS, 0, -1):
        share = np.full(count, step / _SHARE_STEPS)
        clear = np.where((clear > 0.0) & is_clear(share), share, clear)
    blocked = np.maximum(clear - 1.0 / _SHARE_STEPS, 0.0)
    for _ in range(_SHARE_HALVINGS if clear.any() else 0):
        middle = 0.5 * (blocked + clear)
        is_middle_clear = is_clear(middle)
        clear, blocked = np.where(is_middle_clear, middle, clear), np.where(is_middle_clear, blocked, middle)
    return clear


def _is_free(problem: Problem, limb: RoleLimb) -> bool:
    """Return whether no goal names a joint of a limb or below."""
    skeleton = problem.skeleton
    rows = [skeleton.index(goal.joint) for goal in problem.goals if is_joint_goal(goal)]
    return not any(limb.first in skeleton.list_path(row) for row in rows)


def _has_goal(problem: Problem, row: int) -> bool:
    """Return whether a goal depends on a joint's rotation. Goals below it do, and its own beyond a place."""
    skeleton = problem.skeleton
    for goal in problem.goals:
        if not is_joint_goal(goal):
            return True
        joint = skeleton.index(goal.joint)
        has_rest = goal.measures != ("position",) or any(getattr(goal, "offset", ()))
        if (joint != row and row in skeleton.list_path(joint)) or (joint == row and has_rest):
            return True
    return False


def find_ends(skeleton: Skeleton) -> tuple[End, ...]:
    """Find the known feet and hands of a skeleton, once."""
    return get_or_compute(skeleton, "ends", None, lambda: _find_ends(skeleton))


def _find_ends(skeleton: Skeleton) -> tuple[End, ...]:
    joints, height = find_confident_joints(find_joint_roles(skeleton)), measure_height(skeleton)
    found: list[End] = []
    for role, build in (("Foot", _build_foot), ("Hand", _build_hand)):
        for side in SIDES:
            row = skeleton.index(joints[side + role]) if side + role in joints else -1
            size = height if role == "Hand" else _measure_shin(skeleton, joints, side, row)
            if row >= 0 and height > 0.0 and size > 0.0 and skeleton.kinds[row] in (Kind.BALL, Kind.FREE):
                found.append(build(skeleton, joints, side, row, size))
    return tuple(found)


def _measure_shin(skeleton: Skeleton, joints: dict[str, str], side: str, foot: int) -> float:
    """Measure a shin at rest. It is 0 where foot or knee are not known."""
    if foot < 0 or f"{side}LowerLeg" not in joints:
        return 0.0
    points = compute_standing_transforms(skeleton)[:, :3, 3]
    return float(np.linalg.norm(points[foot] - points[skeleton.index(joints[f"{side}LowerLeg"])]))


def _list_feet(skeleton: Skeleton, joints: dict[str, str]) -> list[int]:
    return [skeleton.index(joints[f"{side}Foot"]) for side in SIDES if f"{side}Foot" in joints]


def _find_standing(skeleton: Skeleton, joints: dict[str, str]) -> Floats:
    """Find the world transforms (n, 4, 4) of a standing figure.

    They are those of the rest pose; of unturned joints where a file has a frame of a motion there.
    """
    stood = compute_world_transforms(skeleton, find_standing_q(skeleton))
    unturned = compute_standing_transforms(skeleton)
    up = find_standing_frame(skeleton).up
    soles = [stood[foot, :3, :3] @ np.linalg.solve(unturned[foot, :3, :3], up) for foot in _list_feet(skeleton, joints)]
    return stood if min(float(normalise(sole) @ up) for sole in soles) > _STANDS_COS else unturned


def _find_floor(skeleton: Skeleton, joints: dict[str, str], heights: Floats, foot: int, shin: float) -> float:
    """Find the height of the floor below a standing foot.

    It is that of the lowest joint of the foot, or of the other foot where both stand: legs may differ a little.
    """
    lows = {each: float(heights[list_below(skeleton.parents, each)].min()) for each in _list_feet(skeleton, joints)}
    own, lowest = lows[foot], min(lows.values())
    return lowest if own - lowest < _STANDS_SHARE * shin else own


def _build_foot(skeleton: Skeleton, joints: dict[str, str], side: str, foot: int, shin: float) -> End:
    """Build a foot. Its sole is level where the figure stands, and on the floor there."""
    maps, figure = _find_standing(skeleton, joints), find_standing_frame(skeleton)
    points = maps[:, :3, 3]
    ankle, floor = points[foot], _find_floor(skeleton, joints, points @ figure.up, foot, shin)
    toes = skeleton.index(joints[f"{side}Toes"]) if f"{side}Toes" in joints else foot
    way = points[toes] - ankle
    way -= figure.up * float(way @ figure.up)
    ahead = normalise(way) if np.linalg.norm(way) > 0.1 * _TIP_AHEAD * shin else figure.forward
    tip = max(_TIP_AHEAD * shin, _TOES_AHEAD * float(way @ ahead))
    across = shin * _HALF_WIDTH * np.cross(figure.up, ahead)
    corners = [
        ankle + along * ahead + aside
        for along in (-_HEEL_BEHIND * shin, tip) for aside in (-across, across)
    ]  # fmt: skip
    corners = [corner + (floor - corner @ figure.up) * figure.up for corner in corners]
    return _express(maps[foot], foot, np.array(corners), np.zeros(len(corners)), figure.up, -figure.left)


def _build_hand(skeleton: Skeleton, joints: dict[str, str], side: str, hand: int, height: float) -> End:
    """Build a hand: its palm and its farthest fingertip."""
    maps, figure = compute_standing_transforms(skeleton), find_standing_frame(skeleton)
    points = maps[:, :3, 3]
    bone = points[hand] - points[skeleton.index(joints[f"{side}LowerArm"])]
    palm = points[hand] + _PALM * height * normalise(bone)
    middle = f"{side}MiddleProximal"
    palm = points[skeleton.index(joints[middle])] if middle in joints else palm
    below = list_below(skeleton.parents, hand)
    way = max((points[row] - points[hand] for row in below), key=lambda each: float(np.linalg.norm(each)))
    tip = points[hand] + way * min(1.0, _HAND * height / max(float(np.linalg.norm(way)), 1e-12))  # props may hang on it
    rows = np.array([palm, tip]) if len(below) > 1 else palm[None]
    radii = np.array([_PALM_RADIUS, _FINGER_RADIUS])[: len(rows)] * height
    return _express(maps[hand], hand, rows, radii, np.zeros(3), figure.left)


def _express(frame: Floats, row: int, points: Floats, radii: Floats, normal: Floats, across: Floats) -> End:
    """Express points and directions at rest in a joint's frame."""
    local = express_in_frame(frame, points - frame[:3, 3])
    return End(row, local, radii, express_in_frame(frame, normal), express_in_frame(frame, across))
