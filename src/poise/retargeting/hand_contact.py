"""Distance of hands near each other, in arm lengths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade, count_frames
from poise.maths.smoothing import average_hann, smoothstep
from poise.maths.vectors import cross, dot, normalise
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Skeleton
from poise.retargeting.body import Body
from poise.retargeting.root_path import turn_back, turn_positions
from poise.retargeting.transfer import find_quaternion_start

# [arm lengths] hands that are nearer than the first begin to count, those nearer than the second count in full
_FAR, _NEAR = 0.9, 0.4
# [s] half the window over which their weight is smoothed
WEIGHT_HALF_WINDOW_S = 0.075
# [s] over which it fades before and after an arm bears
BEARING_FADE_S = 0.15
# of the bones' lengths: an arm is neither stretched nor folded more
_MIN_FOLD, _MAX_STRETCH = 1.001, 0.9999
# sine of the elbow's angle below which the hinge axis shows the plane of the arm
_MIN_BEND_SINE = 1e-3


class ArmPoints(NamedTuple):
    """Points (F, 3) and elbow axis of an arm."""

    shoulder: Floats
    elbow: Floats
    wrist: Floats
    axis: Floats


def compute_touch_weights(times: Floats, positions: Floats, body: Body, bears: Bools) -> Floats:
    """Compute how much (F,) the distance of hands counts, 0 to 1.

    positions  (F, n, 3) of the source
    bears      (F,) frames in which an arm bears: its hand stays on the ground. The weight fades before and after
    """
    distance = np.linalg.norm(_find_separation(positions, body), axis=-1) / body.arm_length
    weights = smoothstep(np.clip((_FAR - distance) / (_FAR - _NEAR), 0.0, 1.0))
    smooth = average_hann(weights, count_frames(times, WEIGHT_HALF_WINDOW_S))
    return smooth * compute_fade(times, bears[:, None], BEARING_FADE_S)[:, 0] if bears.any() else smooth


def bring_hands_together(poses: Pose, weights: Floats, source_positions: Floats, bodies: tuple[Body, Body]) -> Pose:
    """Bring the target's hands as near as those of the source.

    weights           (F,) of each frame; a frame of weight 0 stays bit for bit
    source_positions  (F, n, 3)

    Both hands move, their middle stays. Arms bend in their own plane; hands keep their rotation in the world.
    """
    frames = np.flatnonzero(weights > 0.0)
    if not len(frames):
        return poses
    source, target = bodies
    chosen = poses[frames]
    separation = turn_positions(source, _find_separation(source_positions[frames], source))
    wanted = turn_back(target, separation * (target.arm_length / source.arm_length))
    positions = chosen.world.positions
    change = 0.5 * weights[frames, None] * (wanted - _find_separation(positions, target))
    moves = np.zeros((len(weights), len(SIDES), 3))
    moves[frames] = np.stack([change, -change], axis=1)
    return move_hands(poses, target, moves)


def move_hands(poses: Pose, body: Body, moves: Floats) -> Pose:
    """Move the left and the right wrist.

    moves  (F, 2, 3) in the file's axes

    Arms bend in their own plane; hands keep their rotation in the world. A frame without moves stays bit for bit.
    """
    frames = np.flatnonzero(moves.any(axis=(1, 2)))
    if not len(frames):
        return poses
    chosen, q = poses[frames], np.array(poses.q)
    for column, side in enumerate(SIDES):
        arm = _find_arm(chosen, body, side)
        q[frames] = _move_wrist(chosen, q[frames], body, side, arm, arm.wrist + moves[frames, column])
    return Pose(poses.skeleton, q, poses.translations, poses.scales)


def measure_hand_distances(positions: Floats, body: Body) -> Floats:
    """Measure the distance (F,) of both wrists in arm lengths."""
    return np.linalg.norm(_find_separation(positions, body), axis=-1) / body.arm_length


def _find_separation(positions: Floats, body: Body) -> Floats:
    return positions[:, body.rows["leftHand"]] - positions[:, body.rows["rightHand"]]


def _find_arm(poses: Pose, body: Body, side: str) -> ArmPoints:
    world, rows = poses.world, [body.rows[f"{side}{part}"] for part in ("UpperArm", "LowerArm", "Hand")]
    segment = body.segments[f"{side}UpperArm"]
    axes = rotations.multiply(world.rotations[:, segment.row], segment.row_frame)
    axis = rotations.rotate(axes, np.array([0.0, 1.0, 0.0]))
    shoulder, elbow, wrist = (world.positions[:, row] for row in rows)
    return ArmPoints(shoulder, elbow, wrist, axis)


def _move_wrist(poses: Pose, q: Floats, body: Body, side: str, arm: ArmPoints, goal: Floats) -> Floats:
    """Return q (F, nq) with a wrist at its goal (F, 3)."""
    upper, lower = compute_arm_rotations(arm, goal)
    still = np.broadcast_to(rotations.IDENTITY, upper.shape)
    turned = ((body.rows[f"{side}UpperArm"], still, upper), (body.rows[f"{side}LowerArm"], upper, lower),
              (body.rows[f"{side}Hand"], lower, still))  # fmt: skip
    q = q.copy()
    for row, above, own in turned:
        _turn_joint(body.skeleton, poses, q, row, above, own)
    return q


def _turn_joint(skeleton: Skeleton, poses: Pose, q: Floats, row: int, above: Floats, own: Floats) -> None:
    """Turn a joint in the world.

    own, above  rotations (F, 4) by which it and its parent turn
    """
    worlds, parent = poses.world.rotations, int(skeleton.parents[row])
    base = rotations.multiply(above, worlds[:, parent]) if parent >= 0 else above
    after = rotations.from_matrix(rotations.rotation_part(skeleton.B[row, :, :3]))
    wanted = rotations.multiply(rotations.multiply(own, worlds[:, row]), rotations.inverse(after))
    start = find_quaternion_start(skeleton, row)
    q[:, start : start + 4] = rotations.multiply(
        rotations.inverse(rotations.multiply(base, skeleton.A[row, 3:])), wanted
    )


def compute_arm_rotations(arm: ArmPoints, goal: Floats) -> tuple[Floats, Floats]:
    """Compute rotations (F, 4) of upper arm and forearm in the world.

    The arm turns by the shortest rotation to the goal (F, 3), then its elbow bends in the arm's own plane.
    """
    first, second, reach = arm.elbow - arm.shoulder, arm.wrist - arm.elbow, arm.wrist - arm.shoulder
    a, b = np.linalg.norm(first, axis=-1), np.linalg.norm(second, axis=-1)
    way = goal - arm.shoulder
    direction = normalise(way)
    swing = rotations.rotation_between(reach, way)
    length = np.clip(np.linalg.norm(way, axis=-1), _MIN_FOLD * np.abs(a - b) + 1e-9 * a, _MAX_STRETCH * (a + b))
    swung, swung_second = rotations.rotate(swing, first), rotations.rotate(swing, second)
    aside = swung - direction * dot(swung, direction)[:, None]
    straight = np.linalg.norm(aside, axis=-1) < _MIN_BEND_SINE * a
    by_hinge = -cross(rotations.rotate(swing, arm.axis), direction)
    aside = normalise(np.where(straight[:, None], by_hinge, aside))
    cosine = np.clip((a * a + length * length - b * b) / (2.0 * a * length), -1.0, 1.0)
    elbow = a[:, None] * (cosine[:, None] * direction + np.sqrt(1.0 - cosine * cosine)[:, None] * aside)
    forearm = direction * length[:, None] - elbow
    upper = rotations.multiply(rotations.rotation_between(swung, elbow), swing)
    lower = rotations.multiply(rotations.rotation_between(swung_second, forearm), swing)
    return upper, lower
