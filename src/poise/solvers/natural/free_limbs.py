"""Free limbs and heads: parts without goals keep their world direction.

A trunk that bends takes along the other arm and the head, a pelvis that tilts a free leg. People let an arm hang, and
go on looking ahead. So the tilt of what carries such a part is taken back at its first joint, for a head shared by
neck and head; a turn about the vertical stays. It is done after the answer, since no goal depends on it, and from the
start pose alone: an answer depends on where the body is, not on how it came there.

Human ranges end it smoothly, by the published ranges of model/anatomy/joint_limits.py: hips by flexion, extension,
abduction and adduction; neck and head together by the neck's. An upper arm keeps within a cone about the direction
ahead and outward that just leaves it its adduction; behind the body it has as much. A part that is outside at the
start goes no further. An arm that hangs beside the trunk stays there: it goes inward until its hand touches the trunk,
and further only ahead of it or behind.

An answer is a continuous function of the body's pose, since a part goes with the body where no direction is the
nearest: from a tilt of 120 degrees on less and less is taken back, and nothing upside down; and so from 130 degrees on
between a direction and the middle of a range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.layout import (
    FREE_JOINT_PARENT,
    FREE_JOINT_Q_COLUMN,
    FREE_JOINT_ROW,
    FREE_PART_AXES,
    FREE_PART_CARRIER,
    FREE_PART_FIRST_JOINT,
    FREE_PART_IS_LIMB,
    FREE_PART_JOINT_COUNT,
    FREE_PART_NUMBERS,
    FREE_PART_RANGES,
    FREE_PART_ROW,
    FREE_REFERENCE_LEAST_OUT,
    FREE_REFERENCE_POSE,
    FREE_REFERENCE_ROW,
    FREE_REFERENCE_TRUNK,
    FREE_REFERENCE_UP,
)
from poise.kernels.thresholds import SIMILARITY_TOLERANCE
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints, prepare_for_kernel
from poise.maths.vectors import dot_rows, normalise
from poise.model.anatomy.joint_limits import MOTION_RANGES
from poise.model.anatomy.rest_geometry import BodyFrame, find_confident_joints, find_trunk_rows
from poise.model.anatomy.standing_pose import compute_standing_rotations, find_standing_frame
from poise.model.joint_tree import find_rotation_starts, list_below
from poise.model.kinematics import (
    KinematicsTable,
    build_table,
    compute_rotations,
    compute_table_maps,
    find_q_columns,
    flatten_local_offsets,
    pack_local_offsets,
)
from poise.model.limits import is_soft
from poise.model.pose import Pose
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Near, is_joint_goal
from poise.problem.problem import Problem
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.limbs import RoleLimb, find_limbs
from poise.solvers.natural.surroundings import measure_radius

_HIP_BREADTH = 1.8  # of the radius of the trunk: hips with the room that hanging arms leave beside them


class BodyPart(NamedTuple):
    """A limb or a head.

    carrier  row of what carries it: of an arm the chest, not the collar bone
    joints   rows that share its turn, from the carrier on
    end      row to which a limb's first bone points; of a head its own
    tip      row of a limb's hand or foot; of a head its own
    numbers  (FREE_PART_NUMBERS,) its range, see layout.py
    kind     arm, leg or head; a head keeps a rotation, limbs a direction
    beside   of an arm: outward in the carrier's frame, and radius of trunk and forearm in lengths of the arm, which is
             the last number; else 0 and 1
    """

    carrier: int
    joints: tuple[int, ...]
    end: int
    tip: int
    numbers: Floats
    kind: str
    beside: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 1.0)


class FreeParts(NamedTuple):
    """Parts without goals, packed for the kernel.

    parts       one for each row of the arrays
    table       joints above them
    up          (3,) against gravity
    part_joints (p, 4) rows of carrier, first joint, end and tip of each part
    part_beside (p, 5) of an arm where it hangs beside the trunk
    q_columns   columns of q of the joints that turn
    has_limits  whether some of these have limits
    """

    parts: tuple[BodyPart, ...]
    table: KinematicsTable
    up: Floats
    part_joints: Ints
    part_beside: Floats
    part_rows: Ints
    part_numbers: Floats
    joint_rows: Ints
    joint_frames: Floats
    q_columns: Ints
    has_limits: bool


def find_free_parts(problem: Problem) -> FreeParts | None:
    """Find limbs and a head without goals on moving carriers. None where there are none."""
    near = tuple(goal.joints for goal in problem.goals if isinstance(goal, Near))
    pose = problem.start
    key = problem.goal_key.kinds, problem.free_root, near, problem.joints, pose.translations is None
    return get_or_compute(problem.skeleton, "free parts", key, lambda: _select_parts(problem))


def keep_directions(problem: Problem, q: Floats) -> Floats:
    """Return answers (k, nq) of a problem with free parts held."""
    free = find_free_parts(problem)
    origin = problem.start if problem.origin is None else problem.origin
    return q if free is None else hold_free_parts(free, origin, problem.make_pose_unchecked(q))


def hold_free_parts(free: FreeParts, origin: Pose, after: Pose) -> Floats:
    """Return configurations (k, nq) of poses with free parts held.

    origin  the poses (1|k) in which these parts have the directions that they keep
    """
    skeleton, q, origin_q = after.skeleton, np.array(after.flat_q), prepare_for_kernel(origin.flat_q)
    q[:, free.q_columns] = origin_q[:, free.q_columns]  # the frame of a head is that of the neck
    offsets = pack_local_offsets(free.table, flatten_local_offsets(after.translations, after.scales))
    maps = compute_table_maps(free.table, len(free.table.joint_rows), prepare_for_kernel(q), offsets)
    turns = compute_rotations(maps.reshape(-1, 12), SIMILARITY_TOLERANCE, pose_count=len(q)).reshape(len(q), -1, 4)
    kernels.posture_free.turn_free_parts(
        _pack_references(free, origin), origin_q, turns, free.up, free.part_rows,
        free.part_numbers, free.joint_rows, free.joint_frames, q,
    )  # fmt: skip
    return skeleton.bounds.clamp_by_kernel(q) if free.has_limits else q


def _pack_references(free: FreeParts, origin: Pose) -> Floats:
    """Pack what the parts keep (1|k, p, FREE_REFERENCE_ROW). It is kept with the poses."""
    names = tuple((part.carrier, part.end) for part in free.parts)
    return get_or_compute(origin, "free parts", names, lambda: _compute_references(free, origin))


def _compute_references(free: FreeParts, origin: Pose) -> Floats:
    skeleton = origin.skeleton
    turns = origin.world.rotations.reshape(-1, len(skeleton), 4)
    points = origin.world.positions.reshape(-1, len(skeleton), 3)[:, free.part_joints]
    into_carrier = rotations.inverse(turns[:, free.part_joints[:, 0]])
    ways = np.empty((len(turns), len(free.parts), 3, 3))
    ways[:, :, 0] = free.up
    np.subtract(points[:, :, 2:], points[:, :, 1::-1], out=ways[:, :, 1:])  # from first joint to end, carrier to tip
    ways = rotations.rotate(into_carrier[:, :, None], ways)
    bones, hands = ways[:, :, 1], ways[:, :, 2]
    lengths = np.sqrt(bones[..., 0] ** 2 + bones[..., 1] ** 2 + bones[..., 2] ** 2)[:, :, None]
    bones = bones / np.where(lengths > 0.0, lengths, 1.0)
    outward, trunk, arm_lengths = free.part_beside[:, :3], free.part_beside[:, 3], free.part_beside[:, 4]
    found = np.empty((len(turns), len(free.parts), FREE_REFERENCE_ROW))
    found[..., FREE_REFERENCE_UP:FREE_REFERENCE_POSE] = ways[:, :, 0]
    found[..., FREE_REFERENCE_POSE:FREE_REFERENCE_LEAST_OUT] = bones
    room = np.maximum(dot_rows(hands, outward) / arm_lengths - trunk, 0.0)
    found[..., FREE_REFERENCE_LEAST_OUT] = dot_rows(bones, outward) - room
    found[..., FREE_REFERENCE_TRUNK] = trunk
    for i, part in enumerate(free.parts):
        if part.kind == "head":
            own = rotations.multiply(into_carrier[:, i], turns[:, part.end])
            upright = _find_upright(skeleton, part)
            found[:, i, FREE_REFERENCE_POSE:FREE_REFERENCE_TRUNK] = rotations.multiply(own, upright)
    found.setflags(write=False)
    return found


def _find_upright(skeleton: Skeleton, head: BodyPart) -> Floats:
    """Find the rotation (4,) from a head to its carrier at rest."""

    def find() -> Floats:
        rest = compute_standing_rotations(skeleton)
        return rotations.inverse(rotations.from_matrix(rest[head.carrier].T @ rest[head.end]))

    return get_or_compute(skeleton, "heads at rest", (head.carrier, head.end), find)


# --- Parts of a figure, and those of a problem ------------------------------------------------------------------------


def _select_parts(problem: Problem) -> FreeParts | None:
    """Select the free parts of a problem."""
    skeleton = problem.skeleton
    moving = {skeleton.index(name) for name in problem.joints}
    spoken_of = {skeleton.index(goal.joint) for goal in problem.goals if is_joint_goal(goal)}
    held = {row for goal in problem.goals if isinstance(goal, Near) for row in goal.weights(skeleton)}

    def is_free(part: BodyPart) -> bool:
        inside = set(list_below(skeleton.parents, part.joints[0]))
        has_moving_carrier = not moving.isdisjoint(skeleton.list_path(part.carrier))
        return has_moving_carrier and inside.isdisjoint(moving | spoken_of | held)

    parts = tuple(part for part in find_parts(skeleton) if is_free(part))
    return _pack_parts(skeleton, parts, has_translations=problem.start.translations is not None) if parts else None


def _pack_parts(skeleton: Skeleton, parts: tuple[BodyPart, ...], *, has_translations: bool) -> FreeParts:
    joints = [row for part in parts for row in part.joints]
    above = {row for joint in joints for row in skeleton.list_path(int(skeleton.parents[joint]))}
    rows = sorted(above | {row for part in parts for row in skeleton.list_path(part.carrier)})
    part_rows = np.zeros((len(parts), FREE_PART_ROW), dtype=np.int64)
    part_rows[:, FREE_PART_CARRIER] = [rows.index(part.carrier) for part in parts]
    counts = [len(part.joints) for part in parts]
    part_rows[:, FREE_PART_FIRST_JOINT] = np.cumsum([0, *counts[:-1]])
    part_rows[:, FREE_PART_JOINT_COUNT] = counts
    part_rows[:, FREE_PART_IS_LIMB] = [part.kind != "head" for part in parts]
    joint_rows = np.zeros((len(joints), FREE_JOINT_ROW), dtype=np.int64)
    joint_rows[:, FREE_JOINT_PARENT] = [rows.index(int(skeleton.parents[joint])) for joint in joints]
    joint_rows[:, FREE_JOINT_Q_COLUMN] = find_rotation_starts(skeleton.kinds, skeleton.q_start)[joints]
    return FreeParts(
        parts,
        build_table(skeleton, rows, has_translations=has_translations),
        find_standing_frame(skeleton).up,
        np.array([(part.carrier, part.joints[0], part.end, part.tip) for part in parts]),
        np.array([part.beside for part in parts]),
        part_rows,
        np.array([part.numbers for part in parts]),
        joint_rows,
        skeleton.A[joints, 3:].copy(),
        find_q_columns(skeleton, joints),
        any(skeleton.limits[joint] is not None for joint in joints),
    )


def find_parts(skeleton: Skeleton) -> tuple[BodyPart, ...]:
    """Find all arms, legs and heads of a skeleton, once."""
    return get_or_compute(skeleton, "body parts", None, lambda: _find_parts(skeleton))


def _find_parts(skeleton: Skeleton) -> tuple[BodyPart, ...]:
    if skeleton.loops or not find_limbs(skeleton):
        return ()
    body, rest = find_standing_frame(skeleton), compute_standing_rotations(skeleton)
    parts = [
        BodyPart(
            limb.carrier,
            (limb.first,),
            limb.middle,
            limb.tip,
            _build_limb_range(limb, body, rest[limb.carrier]),
            limb.kind,
            _find_beside(skeleton, limb, body, rest[limb.carrier]),
        )
        for limb in find_limbs(skeleton)
    ]
    _, neck = find_trunk_rows(skeleton, find_confident_joints(find_joint_roles(skeleton)))
    joints = tuple(row for row in neck if skeleton.kinds[row] >= Kind.BALL)
    if joints and skeleton.parents[joints[0]] >= 0:
        carrier = int(skeleton.parents[joints[0]])
        parts.append(BodyPart(carrier, joints, neck[-1], neck[-1], _build_neck_range(body, rest[carrier]), "head"))
    return tuple(part for part in parts if all(_can_turn(skeleton, row) for row in part.joints))


def _can_turn(skeleton: Skeleton, row: int) -> bool:
    """Return whether a joint is a ball without a soft limit."""
    return skeleton.kinds[row] >= Kind.BALL and not is_soft(skeleton.limits[row])


def _find_outward(limb: RoleLimb, body: BodyFrame) -> Floats:
    points = body.points
    return body.left if float((points[limb.first] - points[limb.carrier]) @ body.left) >= 0.0 else -body.left


def _find_beside(skeleton: Skeleton, limb: RoleLimb, body: BodyFrame, frame: Floats) -> tuple[float, ...]:
    """Find where an arm hangs beside the trunk. Hips are broader than the trunk is deep."""
    if limb.kind != "arm":
        return (0.0, 0.0, 0.0, 0.0, 1.0)
    radius = _HIP_BREADTH * measure_radius(skeleton, "trunk") + measure_radius(skeleton, "arm")
    length = sum(limb.lengths)
    return (*(_find_outward(limb, body) @ frame).tolist(), radius / length, length)


def _build_limb_range(limb: RoleLimb, body: BodyFrame, frame: Floats) -> Floats:
    """Build the range of a limb's first bone."""
    outward = _find_outward(limb, body)
    motions = MOTION_RANGES["UpperLeg" if limb.kind == "leg" else "UpperArm"]
    inward_end, outward_end = (np.radians(motion.degrees) for motion in motions.abduction)
    if limb.kind == "leg":
        back_end, forward_end = (np.radians(motion.degrees) for motion in motions.flexion)
        middle, half = 0.5 * (forward_end - back_end), 0.5 * (forward_end + back_end)
        centre = np.sin(middle) * body.forward - np.cos(middle) * body.up
        axes = centre, np.cos(middle) * body.forward + np.sin(middle) * body.up, outward
        return _pack_range(axes, (half, half, inward_end, outward_end), frame)
    centre = normalise(body.forward + outward)
    half = float(np.arccos(-np.sin(inward_end) * float(centre @ outward)))
    return _pack_range((centre, body.up, normalise(body.forward - outward)), (half, half, half, half), frame)


def _build_neck_range(body: BodyFrame, frame: Floats) -> Floats:
    """Build the range of neck and head together."""
    motions = MOTION_RANGES["neck"]
    ends = [
        np.radians(motion.degrees) for pair in (motions.flexion, motions.abduction, motions.twist) for motion in pair
    ]
    return _pack_range((body.left, body.forward, body.up), ends, frame)


def _pack_range(axes: tuple[Floats, ...], ends: tuple[float, ...] | list[float], frame: Floats) -> Floats:
    """Pack axes, given in the world at rest, and ends [rad]. Missing ends are never reached."""
    numbers = np.full(FREE_PART_NUMBERS, np.inf)
    numbers[FREE_PART_AXES:FREE_PART_RANGES] = (np.array(axes) @ frame).ravel()
    numbers[FREE_PART_RANGES : FREE_PART_RANGES + len(ends)] = ends
    return numbers
