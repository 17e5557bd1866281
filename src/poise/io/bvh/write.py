"""BVH writer: into the source document, or under a new hierarchy.

A new hierarchy is for a skeleton from another format.

An unchanged clip gives the file's own bytes. In a clip as long as the file's, an unchanged joint keeps its numbers in a
frame, and a changed one gets the angles nearest to the old ones; otherwise angles are continuous from frame to frame.
Angles are printed to 1e-10 degrees, positions exactly.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from poise.errors import UnsupportedError, WriteWarning, listed
from poise.io.bvh.document import DEFAULT_FRAME_TIME, BvhDocument, Channels, is_usable_time
from poise.io.bvh.motion import angles_of_values
from poise.io.bvh.names import describe_renames, find_file_names
from poise.io.bvh.new import new_text
from poise.io.bvh.rows import degrees_of, rows_text
from poise.maths import euler
from poise.maths.arrays import Bools, Floats
from poise.model.clip import Clip
from poise.model.grid import grid_of, off_at_keys
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

_SAME_ANGLE = 1e-6  # [rad] smaller rotations about an axis without a channel are dropped
_SAME_LENGTH = 1e-6  # relative to the longest bone; smaller shifts of a joint without position channels are dropped
_STEADY = 0.01  # [frames] maximum deviation of evenly spaced times


def text_of(thing: Saveable, like: Skeleton, *, rest: str = "keep") -> bytes:
    """Encode a BVH file of a rig, clip, pose or batch. A rig has one clip at most; a batch of poses becomes frames.

    With `rest` "zero" a new hierarchy has its rest pose where all angles are zero; a source document has it there
    already. Names that BVH cannot hold are changed, with a WriteWarning; see `find_file_names`. UnsupportedError for
    several clips, for motion without channels in the document, and for non-uniform scale.
    """
    moving = _moving(thing)
    document = like.source
    if isinstance(document, BvhDocument):
        return _into(document, moving, like)
    poses, frame_time = _frames(moving)
    old, new = poses.skeleton.names, find_file_names(poses.skeleton)
    if old != new:
        warnings.warn(describe_renames(old, new), WriteWarning, stacklevel=2)
    return new_text(poses, frame_time or DEFAULT_FRAME_TIME, rest=rest)


def _moving(thing: Saveable) -> Clip | Pose:
    if not isinstance(thing, Rig):
        return thing
    if len(thing.clips) > 1:
        names = listed(repr(clip.name) for clip in thing.clips)
        message = (
            f"a BVH file holds one clip and this rig has {len(thing.clips)}: save one of them, rig.clip(NAME): {names}"
        )
        raise UnsupportedError(message)
    return thing.clips[0] if thing.clips else thing.pose


def _frames(moving: Clip | Pose) -> tuple[Pose, float | None]:
    """Build a pose per frame (frames,) and the frame time [s]. The time is None for a pose or a single frame."""
    if isinstance(moving, Pose):
        return _flat(moving), None
    times = moving.times
    if len(times) < 2 or times[-1] == 0.0:  # noqa: PLR2004  (no step between frames)
        return moving.poses, None
    step = float(times[-1]) / (len(times) - 1)
    if np.abs(times - step * np.arange(len(times))).max() <= _STEADY * step:
        return moving.poses, _usable(step)
    return _sampled(moving)


def _sampled(clip: Clip) -> tuple[Pose, float]:
    """Resample a clip at a steady rate through all its keys.

    Where no such rate exists, a warning gives the error at the keys.
    """
    grid = grid_of(clip)
    poses, step = clip.at(grid.times), _usable(grid.step)
    if not grid.exact:
        far, size = off_at_keys(clip, Clip(grid.times, poses))
        share = f" ({far / size:.2g} of the character's size)" if size else ""
        message = (
            f"the keys of clip {clip.name!r} lie on no common frames: sampled at {1 / step:.6g} frames/s, it is up to "
            f"{far:.3g}{share} off at its own keys"
        )
        warnings.warn(message, WriteWarning, stacklevel=2)
    return poses, step


def _usable(step: float) -> float:
    """Check a frame time against the reader's range."""
    if not is_usable_time(step):
        message = f"frames {step:g} s apart cannot stand in a BVH file that is to be read again"
        raise UnsupportedError(message)
    return step


def _flat(pose: Pose) -> Pose:
    """Flatten a batch to one axis."""
    n, count = len(pose.skeleton), math.prod(pose.shape)
    parts = [None if value is None else value.reshape(count, n, 3) for value in (pose.translations, pose.scales)]
    return Pose(pose.skeleton, pose.q.reshape(count, pose.skeleton.nq), *parts)


def _into(document: BvhDocument, moving: Clip | Pose, like: Skeleton) -> bytes:
    """Return the document's bytes with other motion."""
    if moving.skeleton.names != document.names:
        message = "the joints differ from those of the BVH file to be kept; save without it to write a new hierarchy"
        raise UnsupportedError(message)
    if _unchanged(document, moving):
        return document.data
    poses, step = _frames(moving)
    _refuse_scales(poses)
    values = _values(document, poses, like)
    same_pace = step is None or (len(document.times) > 1 and np.isclose(step, document.times[1], rtol=1e-12, atol=0.0))
    time = None if same_pace else repr(step)
    return document.with_motion(len(values), time, rows_text(values, document.newline))


def _unchanged(document: BvhDocument, moving: Clip | Pose) -> bool:
    """Return whether a clip or pose equals the content of the file.

    A file without motion shows its rest pose.
    """
    poses = moving.poses if isinstance(moving, Clip) else moving
    if moving.skeleton.source is not document or poses.translations is not None or poses.scales is not None:
        return False
    if isinstance(moving, Clip):
        return np.array_equal(moving.times, document.times) and np.array_equal(poses.q, document.q)
    return document.spans is None and np.array_equal(poses.q, moving.skeleton.rest_q)


def _refuse_scales(poses: Pose) -> None:
    if poses.scales is not None and (np.abs(poses.scales - 1.0) > _SAME_LENGTH).any():
        scaled = np.flatnonzero((np.abs(poses.scales - 1.0) > _SAME_LENGTH).any(axis=(0, 2)))
        names = listed(poses.skeleton.names[i] for i in scaled)
        message = f"a BVH file cannot scale joints, and these are scaled: {names}"
        raise UnsupportedError(message)


def _values(document: BvhDocument, poses: Pose, like: Skeleton) -> Floats:
    """Compute motion values (frames, width) for the channels of the document."""
    positions, rotations = poses.local_positions, poses.local_rotations
    offsets = Pose(like, like.rest_q).local_positions
    values = np.zeros((len(poses), document.width))
    own = poses.skeleton.source is document
    known = document.values if own and len(document.values) == len(poses) else None
    slack = _SAME_LENGTH * float(np.abs(offsets).max())
    for i, joint in enumerate(document.channels):
        _put_positions(values, joint, positions[:, i], offsets[i], slack, document.names[i])
    for order, rows in _by_order(document.channels).items():
        given = None if known is None else np.radians(angles_of_values(document.channels, rows, order, known))
        whole = [at for at, i in enumerate(rows) if len(document.channels[i].rotations) == 3]  # noqa: PLR2004  (axes)
        if whole:
            reference = None if given is None else given[:, whole]
            degrees = degrees_of(rotations[:, [rows[at] for at in whole]], order, reference)
            for at, column in enumerate(whole):
                values[:, list(document.channels[rows[column]].rotations.values())] = degrees[:, at]
        for at, i in enumerate(rows):
            if at not in whole:
                _put_partial(values, document.channels[i], rotations[:, i], document.names[i])
    return values if known is None else _kept(document, poses, values)


def _by_order(channels: tuple[Channels, ...]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for i, joint in enumerate(channels):
        rows.setdefault(joint.order, []).append(i)
    return rows


def _put_positions(values: Floats, joint: Channels, given: Floats, offset: Floats, slack: float, name: str) -> None:
    for axis, letter in enumerate("XYZ"):
        if letter in joint.positions:
            values[:, joint.positions[letter]] = given[:, axis]
        elif (np.abs(given[:, axis] - offset[axis]) > slack).any():
            message = f"joint {name!r} moves along {letter} and the BVH file has no channel for it"
            raise UnsupportedError(message)


def _put_partial(values: Floats, joint: Channels, rotations: Floats, name: str) -> None:
    """Write the angles of a joint without all rotation channels.

    UnsupportedError for a rotation that needs the missing ones.
    """
    first = euler.from_quaternion(rotations, joint.order)
    have = len(joint.rotations)
    both = np.stack([first, euler.other(first)])
    rest = np.abs(euler.wrapped(both[..., have:])).max(axis=-1)
    if (rest.min(axis=0, initial=np.inf) > _SAME_ANGLE).any():
        channels = ", ".join(f"{letter}rotation" for letter in joint.rotations) or "no rotation channel"
        message = f"joint {name!r} has {channels} in the BVH file, which cannot hold this rotation"
        raise UnsupportedError(message)
    angles = np.where((rest[1] < rest[0])[:, None], both[1], both[0])[:, :have]
    columns = list(joint.rotations.values())
    values[:, columns] = np.round(np.degrees(np.unwrap(angles, axis=0)), 10) + 0.0


def _kept(document: BvhDocument, poses: Pose, values: Floats) -> Floats:
    """Restore the file's numbers for joints unchanged in a frame."""
    skeleton = poses.skeleton
    same_q = poses.q == document.q
    result = values.copy()
    for i, joint in enumerate(document.channels):
        columns = [*joint.positions.values(), *joint.rotations.values()]
        start = int(skeleton.q_start[i])
        size = 7 if joint.positions else 4
        if not columns:
            continue
        same: Bools = same_q[:, start : start + size].all(axis=1)
        for column in columns:
            result[same, column] = document.values[same, column]
    return result
