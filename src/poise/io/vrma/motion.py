"""Retargeting of a clip to rotations from the T pose. Losses in the VRM animation are described."""

from __future__ import annotations

import numpy as np

from poise.errors import UnsupportedError, listed
from poise.io.vrma.tpose import TPose
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.anatomy.stance import rest_turns
from poise.model.clip import Clip
from poise.model.local import local_parts
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

_STRETCH = 0.1  # maximum change of a bone's length, relative to the T pose
_SMALL = 0.01  # relative to the height; smaller length changes are allowed: joints between bones may have no role
_STILL = 1e-6  # tolerance of quaternion components for a joint at rest
_TOLD = 2e-3  # relative to the height; larger position errors are reported


def written(clip: Clip, pose: TPose) -> tuple[Clip, str]:
    """Retarget a clip to a skeleton of human bones in T pose. Joints keep their names; the T pose is the rest.

    UnsupportedError for bones that stretch. The returned sentence describes other losses; it is empty if there are
    none.
    """
    names = [clip.skeleton.names[row] for row in pose.rows]
    skeleton = _figure(names, pose)
    points, turns = _world(clip.poses, pose.rows)
    points = points @ pose.axes.T * pose.metres
    _refuse_stretching(points, names, pose)
    unturned = rotations.inverse(
        rotations.multiply(pose.to_t, rotations.from_matrix(rest_turns(clip.skeleton))[pose.rows])
    )
    turned = _seen_from(rotations.multiply(turns, unturned), pose.axes)
    parents = np.array(pose.parents)
    local = rotations.unit(rotations.multiply(rotations.inverse(turned[:, np.maximum(parents, 0)]), turned))
    local[:, parents < 0] = turned[:, parents < 0]
    moved = np.broadcast_to(skeleton.A[:, :3], points.shape).copy()
    moved[:, 0] = points[:, 0]
    poses = Pose(skeleton, _without_jumps(local).reshape(len(clip), -1), moved)
    off = _off(points, turned, pose)
    return Clip(clip.times, poses, clip.name), _what_is_lost(clip.poses, off, names, pose)


def _figure(names: list[str], pose: TPose) -> Skeleton:
    offsets = [
        place - (pose.places[up] if up >= 0 else 0.0) for place, up in zip(pose.places, pose.parents, strict=True)
    ]
    return Skeleton.build(
        names,
        pose.parents,
        [Kind.BALL] * len(names),
        offsets=offsets,
        metres_per_unit=1.0,
        up="y",
        roles=dict(zip(pose.roles, names, strict=True)),
        faces="+z",
    )


def _world(poses: Pose, rows: list[int]) -> tuple[Floats, Floats]:
    """Compute world positions and rotations of rows. They are (frames, b, 3) and (frames, b, 4)."""
    skeleton, parts = poses.skeleton, local_parts(poses)
    maps: dict[int, Floats] = {}
    for row, parent in enumerate(skeleton.parents.tolist()):
        own = np.zeros((len(poses), 4, 4))
        linear = parts.scale[:, row, None, :] * np.eye(3) if poses.scales is not None else skeleton.B[row, :, :3]
        own[:, :3, :3] = rotations.as_matrix(parts.rotation[:, row]) @ linear
        own[:, :3, 3], own[:, 3, 3] = parts.translation[:, row], 1.0
        maps[row] = maps[parent] @ own if parent >= 0 else own
    found = np.stack([maps[row] for row in rows], axis=1)
    return found[..., :3, 3], rotations.from_matrix(rotations.rotation_part(found[..., :3, :3]))


def _seen_from(turns: Floats, axes: Floats) -> Floats:
    """Express rotations (..., 4) in other axes. w stays, and x y z are rotated."""
    return np.concatenate([turns[..., :1], turns[..., 1:] @ axes.T], axis=-1)


def _without_jumps(turns: Floats) -> Floats:
    """Remove sign flips of quaternions (frames, b, 4). Each gets the sign that is nearer to the one before."""
    flips = (turns[1:] * turns[:-1]).sum(axis=-1) < 0.0
    signs = np.concatenate([np.ones((min(len(turns), 1), turns.shape[1])), np.where(flips, -1.0, 1.0)])
    return turns * np.cumprod(signs, axis=0)[..., None]


def _refuse_stretching(points: Floats, names: list[str], pose: TPose) -> None:
    kept = [i for i, parent in enumerate(pose.parents) if parent >= 0]
    above = [pose.parents[i] for i in kept]
    lengths = np.linalg.norm(points[:, kept] - points[:, above], axis=-1)
    usual = np.linalg.norm(pose.places[kept] - pose.places[above], axis=-1)
    off = np.abs(lengths - usual).max(axis=0, initial=0.0)
    bad = np.flatnonzero((off > _STRETCH * usual) & (off > _SMALL * pose.height))
    if len(bad):
        stretched = listed(names[kept[i]] for i in bad)
        raise UnsupportedError(
            f"a VRM animation rotates bones and moves the hips only; these stretch or slide: {stretched}"
        )


def _off(points: Floats, turned: Floats, pose: TPose) -> Floats:
    """Measure the largest position error (b,) [m] of each bone. Joints between bones may have moved."""
    chain = points.copy()
    for i, parent in enumerate(pose.parents):
        if parent >= 0:
            offset = pose.places[i] - pose.places[parent]
            chain[:, i] = chain[:, parent] + rotations.rotate(turned[:, parent], offset)
    return np.linalg.norm(chain - points, axis=-1).max(axis=0, initial=0.0)


def _what_is_lost(poses: Pose, off: Floats, names: list[str], pose: TPose) -> str:
    """Describe lost joint motion and the resulting position errors.

    Joints other than human bones lose their motion.
    """
    turns, skeleton = local_parts(poses).rotation, poses.skeleton
    moving = set(np.flatnonzero((np.abs(turns - turns[:1]) > _STILL).any(axis=(0, 2))).tolist())
    left = [name for row, name in enumerate(skeleton.names) if row in moving and row not in pose.rows]
    told = [f"moving joints other than human bones are not in a VRM animation: {listed(left)}"] if left else []
    if off.max() > _TOLD * pose.height:
        worst = int(off.argmax())
        told.append(f"{names[worst]!r} is displaced by up to {100 * off[worst]:.2g} cm")
    return "; ".join(told)
