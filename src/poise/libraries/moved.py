"""Changes of unit and up axis of a rig."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip, KeyedClip
from poise.model.joints import Coupling
from poise.model.limits import Limit, Range
from poise.model.motors import Motor
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.model.tracks import Track


class Move(NamedTuple):
    """Scale and rotation applied to a rig.

    scale     factor of lengths
    rotation  (4,) rotation of the whole character about the origin
    up        the new up axis
    metres    the new unit [m]
    """

    scale: float
    turn: Floats
    up: str | None
    metres: float | None


def turn_between(old: str, new: str) -> Floats:
    """Compute the shortest rotation (4,) between two axes, "x", "y" or "z"."""
    axes = np.eye(3)
    return rotations.rotation_between(axes["xyz".index(old)], axes["xyz".index(new)])


def moved(rig: Rig, move: Move) -> Rig:
    """Scale and rotate a rig. The source document and its meshes are dropped."""
    skeleton = _skeleton(rig.skeleton, move)
    pose = _pose(rig.pose, skeleton, move)
    clips = tuple(_clip(clip, skeleton, move) for clip in rig.clips)
    return dataclasses.replace(rig, skeleton=skeleton, pose=pose, clips=clips, skins=())


def _skeleton(s: Skeleton, move: Move) -> Skeleton:
    A, B = s.A.copy(), s.B.copy()  # noqa: N806
    A[:, :3] *= move.scale
    B[:, :, 3] *= move.scale
    roots = s.parents < 0
    A[roots, :3] = rotations.rotate(move.turn, A[roots, :3])
    A[roots, 3:] = rotations.multiply(np.broadcast_to(move.turn, A[roots, 3:].shape), A[roots, 3:])
    return dataclasses.replace(
        s,
        A=A,
        B=B,
        rest_q=_q(s, s.rest_q, move.scale),
        limits=tuple(_limit(s, i, move.scale) for i in range(len(s))),
        couplings=tuple(_coupling(s, i, move.scale) for i in range(len(s))),
        motors={name: _motor(s, name, motor, move.scale) for name, motor in s.motors.items()},
        loops=tuple(loop.scaled(move.scale).turned(move.turn) for loop in s.loops),
        up=move.up,
        metres_per_unit=move.metres,
        faces=_faces(s.faces, move.turn),
        source=None,
    )


def _q(s: Skeleton, q: Floats, scale: float) -> Floats:
    """Scale the lengths in q.

    These are slides and positions of free joints; the latter are in the joint's own frame.
    """
    result = q.copy()
    for i in np.flatnonzero((s.kinds == Kind.SLIDE) | (s.kinds == Kind.FREE)).tolist():
        if s.couplings[i] is None:
            start = int(s.q_start[i])
            result[..., start : start + (1 if s.kinds[i] == Kind.SLIDE else 3)] *= scale
    return result


def _limit(s: Skeleton, row: int, scale: float) -> Limit | None:
    limit = s.limits[row]
    if not isinstance(limit, Range) or s.kinds[row] != Kind.SLIDE:
        return limit
    return dataclasses.replace(limit, low=limit.low * scale, high=limit.high * scale, soft=limit.soft / scale**2)


def _coupling(s: Skeleton, row: int, scale: float) -> Coupling | None:
    """Scale a coupling for the lengths of slides.

    A follower's value is ratio * leader + offset; each of the two may be a length.
    """
    coupling = s.couplings[row]
    if coupling is None:
        return None
    own, led = (scale if s.kinds[i] == Kind.SLIDE else 1.0 for i in (row, coupling.leader))
    return coupling._replace(ratio=coupling.ratio * own / led, offset=coupling.offset * own)


def _motor(s: Skeleton, joint: str, motor: Motor, scale: float) -> Motor:
    """Scale the lengths of the motor of a slide.

    These are its speed and the bounds of its safety controller; forces stay in newtons.
    """
    if s.kinds[s.index(joint)] != Kind.SLIDE:
        return motor
    safety = motor.safety
    if safety is not None:
        safety = dataclasses.replace(
            safety, lower=safety.lower * scale, upper=safety.upper * scale, k_velocity=safety.k_velocity / scale
        )
    return dataclasses.replace(
        motor, velocity=None if motor.velocity is None else motor.velocity * scale, safety=safety
    )


def _faces(faces: str | None, turn: Floats) -> str | None:
    """Rotate a facing direction, "+z" or "-z"."""
    if faces is None:
        return None
    seen = rotations.rotate(turn, np.eye(3)["xyz".index(faces[-1])] * (-1.0 if faces.startswith("-") else 1.0))
    axis = int(np.abs(seen).argmax())
    return f"{'-' if seen[axis] < 0 else '+'}{'xyz'[axis]}"


def _pose(pose: Pose, skeleton: Skeleton, move: Move) -> Pose:
    translations = pose.translations
    if translations is not None:
        translations = translations * move.scale
        roots = skeleton.parents < 0
        translations[..., roots, :] = rotations.rotate(move.turn, translations[..., roots, :])
    return Pose(skeleton, _q(skeleton, pose.q, move.scale), translations, pose.scales)


def _clip(clip: Clip, skeleton: Skeleton, move: Move) -> Clip:
    if isinstance(clip, KeyedClip):
        tracks = tuple(_track(track, skeleton, move) for track in clip.tracks)
        return KeyedClip(skeleton, tracks, clip.name)
    return Clip(clip.times, _pose(clip.poses, skeleton, move), clip.name)


def _track(track: Track, skeleton: Skeleton, move: Move) -> Track:
    """Scale and rotate keys and tangents. Both are linear in the translation or quaternion, as is the change."""
    values: Any = track.values
    is_root = skeleton.parents[track.joint] < 0
    if track.path == "translation":
        values = values * move.scale
        values = rotations.rotate(move.turn, values) if is_root else values
    elif track.path == "rotation" and is_root:
        values = rotations.multiply(np.broadcast_to(move.turn, values.shape), values)
    return track._replace(values=values)
