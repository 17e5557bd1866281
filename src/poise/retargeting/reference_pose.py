"""Reference pose of a character: at rest, or an upright frame."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import cross, dot, normalise, snap_to_axis
from poise.model.anatomy.rest_geometry import BodyFrame, find_body_frame
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind, Skeleton

# cosine: a heading within 20 degrees of an axis of the file is that axis
_HEADING_COSINE = float(np.cos(np.radians(20.0)))
# [degrees] angles from up: of the trunk of a rest pose that stands, and of the legs of a frame that stands or crouches
_MAX_UPRIGHT_DEG, _MAX_CROUCH_DEG = 2.0, 45.0
# cosine: thighs and shins within 30 degrees of the trunk, as in T and A poses, show a straight figure
_STRAIGHT_COSINE = float(np.cos(np.radians(30.0)))
# cosine: a body within 20 degrees of upside down may be raised any way
_MIN_RAISED_COSINE = -_HEADING_COSINE
# frames of a clip that are searched for an upright one
_MAX_SEARCHED_FRAMES = 2000
# loss of the score of the most upright frame, up to which frames count as upright
_MAX_SCORE_LOSS = 0.5
# weights of the trunk, of each leg segment and of each straight knee
_TRUNK_WEIGHT, _STRAIGHT_KNEE_WEIGHT = 2.0, 0.3


class ReferencePose(NamedTuple):
    """Reference pose of a character.

    skeleton     the skeleton with this pose as its rest pose: ball joints are at identity
    body         directions of the body in this pose
    world_axes   (3, 3) rows are the file's directions ahead, left and up
    description  "the rest pose" or "frame 12 of clip 'walk'"
    is_rest      whether it is the rest pose
    poses        upright frames of the clip, where it is one of them
    """

    skeleton: Skeleton
    body: BodyFrame
    world_axes: Floats
    description: str
    is_rest: bool
    poses: Pose | None = None


def find_reference_pose(
    skeleton: Skeleton, joints: Mapping[str, str], clips: Sequence[Clip], front: Clip | None = None
) -> ReferencePose:
    """Find the reference pose of a character.

    joints  roles to joint names; thighs and upper arms are required
    clips   searched for an upright frame where the rest pose shows no body
    front   frames of a reference pose in front of the clip; searched first

    The heading of a frame does not count: directions of the world are then those of the file format, +z for y up and
    -y for z up. A rest pose that lies or bows while the clip stands shows the heading: a straight one is the reference,
    else an upright frame.
    """
    searched = [clip for clip in (front, *clips) if clip is not None and len(clip)]
    try:
        body = find_body_frame(skeleton, joints)
    except InputError:
        if not searched:
            raise
        return _find_upright_frame(skeleton, joints, searched[0])
    forward = snap_to_axis(body.forward, _HEADING_COSINE)
    forward = normalise(forward - body.up * float(forward @ body.up))
    world_axes = np.stack([forward, cross(body.up, forward), body.up])
    at_rest = ReferencePose(skeleton, body, world_axes, "the rest pose", is_rest=True)
    if not searched or _measure_lean(at_rest, body.up) <= _MAX_UPRIGHT_DEG:
        return at_rest
    try:
        upright = _find_upright_frame(skeleton, joints, searched[0])
    except InputError:  # it sits or is curled up
        return at_rest
    bones = _find_leg_bones(upright, joints)
    if _measure_lean(upright, normalise(bones.sum(axis=0))) > _MAX_CROUCH_DEG:
        return at_rest
    is_straight = (_find_leg_bones(at_rest, joints) @ body.up >= _STRAIGHT_COSINE).all()
    return (at_rest if is_straight else upright)._replace(world_axes=_raise_axes(body, upright.world_axes))


def _raise_axes(body: BodyFrame, world_axes: Floats) -> Floats:
    """Raise the directions of a lying or bowed body.

    They go the shortest way to up in the world. A body upside down has none: the given directions count.
    """
    up = world_axes[2]
    if float(body.up @ up) < _MIN_RAISED_COSINE:
        return world_axes
    raised = rotations.rotate(rotations.rotation_between(body.up, up), body.forward)
    forward = snap_to_axis(raised, _HEADING_COSINE)
    forward = normalise(forward - up * float(forward @ up))
    return np.stack([forward, cross(up, forward), up])


def _measure_lean(reference: ReferencePose, direction: Floats) -> float:
    """Measure the lean of a direction (3,) from up [degrees].

    It is that from the nearest axis where a file does not name up.
    """
    named = reference.skeleton.up
    cosine = np.abs(direction).max() if named is None else direction["xyz".index(named)]
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def _find_leg_bones(reference: ReferencePose, joints: Mapping[str, str]) -> Floats:
    """Find the directions (b, 3) of thighs and shins, up the legs."""
    bones = []
    for side in SIDES:
        names = [joints[role] for role in (f"{side}{part}" for part in _LEG_PARTS) if role in joints]
        bones.append(-np.diff([reference.body.points[reference.skeleton.index(name)] for name in names], axis=0))
    return normalise(np.concatenate(bones))


def _find_upright_frame(skeleton: Skeleton, joints: Mapping[str, str], clip: Clip) -> ReferencePose:
    """Find the frame with the most upright trunk and legs."""
    stride = max(1, len(clip) // _MAX_SEARCHED_FRAMES)
    poses = clip.poses if stride == 1 else clip.poses[::stride]
    positions = poses.world.positions
    place = {role: positions[:, skeleton.index(joints[role])] for role in joints if role.endswith(_UPRIGHT_PARTS)}
    trunk = normalise(_average_sides(place, "UpperArm") - _average_sides(place, "UpperLeg"))
    mean_trunk = normalise(trunk.mean(axis=0))
    up = np.eye(3)["xyz".index(skeleton.up)] if skeleton.up else snap_to_axis(mean_trunk, 0.0)
    score = _TRUNK_WEIGHT * dot(trunk, up)
    for side in SIDES:
        if f"{side}LowerLeg" in place and f"{side}Foot" in place:
            thigh = normalise(place[f"{side}UpperLeg"] - place[f"{side}LowerLeg"])
            shin = normalise(place[f"{side}LowerLeg"] - place[f"{side}Foot"])
            score += dot(thigh, up) + dot(shin, up) + _STRAIGHT_KNEE_WEIGHT * dot(thigh, shin)
    frame = int(score.argmax())
    upright = np.flatnonzero(score >= score[frame] - _MAX_SCORE_LOSS)
    posed = _build_posed_skeleton(skeleton, np.asarray(poses[frame].local_rotations))
    forward = np.array([0.0, 0.0, 1.0]) if abs(up[1]) > abs(up[2]) else np.array([0.0, -1.0, 0.0])
    forward = normalise(forward - up * float(forward @ up))
    return ReferencePose(
        posed,
        find_body_frame(posed, joints),
        np.stack([forward, cross(up, forward), up]),
        f"frame {frame * stride} of clip {clip.name!r}",
        is_rest=False,
        poses=poses[upright],
    )


def average_trunk_frames(reference: ReferencePose, joints: Mapping[str, str], rows: Sequence[int]) -> Floats:
    """Average the body axes in joints over upright frames. They are (k, 3, 3).

    The body of each frame faces square to its hips and shoulders: a stride turns one to the left and the other to the
    right, the next stride the other way.
    """
    assert reference.poses is not None
    world, up = reference.poses.world, reference.body.up
    left = np.zeros((len(reference.poses), 3))
    for part in ("UpperLeg", "UpperArm"):
        ends = [world.positions[:, reference.skeleton.index(joints[f"{side}{part}"])] for side in SIDES]
        left += normalise(ends[0] - ends[1])
    left = normalise(left - up * dot(left, up)[:, None])
    bodies = np.stack([cross(left, np.broadcast_to(up, left.shape)), left, np.broadcast_to(up, left.shape)], axis=-1)
    turns = rotations.as_matrix(world.rotations[:, list(rows)])
    means = (np.swapaxes(turns, -1, -2) @ bodies[:, None]).mean(axis=0)
    return rotations.rotation_part(means)


_LEG_PARTS = ("UpperLeg", "LowerLeg", "Foot")
_UPRIGHT_PARTS = ("UpperArm", *_LEG_PARTS)


def _average_sides(place: Mapping[str, Floats], part: str) -> Floats:
    return (place[f"left{part}"] + place[f"right{part}"]) / 2.0


def _build_posed_skeleton(skeleton: Skeleton, local_rotations: Floats) -> Skeleton:
    """Build a skeleton with this pose as its rest pose."""
    transforms, rest_q = np.array(skeleton.A), np.array(skeleton.rest_q)
    turning = np.flatnonzero((skeleton.kinds == Kind.BALL) | (skeleton.kinds == Kind.FREE))
    transforms[turning, 3:] = local_rotations[turning]
    for row in turning.tolist():
        start = int(skeleton.q_start[row]) + (3 if skeleton.kinds[row] == Kind.FREE else 0)
        rest_q[start : start + 4] = rotations.IDENTITY
    return dataclasses.replace(skeleton, A=transforms, rest_q=rest_q, source=None)
