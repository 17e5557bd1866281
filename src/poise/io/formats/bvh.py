"""BVH, the motion-capture text format. It has a joint tree with offsets and one row of channel values per frame.

A joint with position channels is FREE and these REPLACE its OFFSET; one with rotation channels only is a BALL; one
without channels and every End Site is FIXED. Channels are in order of application: "Zrotation Xrotation Yrotation" is
Rz Rx Ry. The file has no unit and no up axis; none is guessed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from poise.errors import FileError
from poise.io import bvh_reader
from poise.io.bvh_writer import describe_renames, encode_bvh, find_file_names
from poise.io.files import name_clip, read_bytes, write_checked
from poise.io.free_root_export import strip_free_root
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.joints import make_unique_names
from poise.model.numpy_kinematics import normalise_rotations
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Kind, Skeleton

NAME = "BVH"
SUFFIXES = (".bvh",)
HAS_SINGLE_CLIP = True
REST_MODES = ("keep", "zero")
HAS_SINGLE_ROOT = True
_BLOCK_FRAMES = 500  # frames normalized at once; more need more memory for intermediate arrays
_MAX_OFFSET_SHARE = 0.25  # fraction of the OFFSET's length; root positions below it look relative to the OFFSET


def read(path: Path) -> Rig:
    """Read a BVH file.

    The rest pose has all angles at zero. The clip is named like the file; without a MOTION block there is none.

    The only frame of a file is also `Rig.pose`; otherwise that is the rest pose. FileError for an incomplete or
    non-finite file; repairs are listed in `Rig.notes`.
    """
    return _read_data(path, read_bytes(path))


def _read_data(path: Path, data: bytes) -> Rig:
    header = bvh_reader.parse_header(path, data)
    names, notes = _build_names(header.joints)
    skeleton = _build_skeleton(header.joints, names)
    motion = header.motion
    if motion is None:
        values, row_notes = (
            np.zeros((0, header.column_count)),
            ["it has no MOTION block, and so no clip: the rest pose alone"],
        )
        frame_time, time_notes = bvh_reader.DEFAULT_FRAME_TIME_S, []
    else:
        values, row_notes = bvh_reader.read_motion_rows(path, data, motion, header.column_count)
        frame_time, time_notes = _check_frame_time(path, motion)
    times: Floats = frame_time * np.arange(len(values), dtype=np.float64)
    channels = tuple(node.channels for node in header.joints)
    q = bvh_reader.compute_q(skeleton, channels, values)
    spans = None if motion is None else (motion.count_span, motion.time_span)
    for start in range(0, len(q), _BLOCK_FRAMES):
        normalise_rotations(skeleton, q[start : start + _BLOCK_FRAMES])
    poses = Pose.make_unchecked(skeleton, q, None, None)  # a copy would stay in memory, too
    document = bvh_reader.BvhDocument(data, spans, names, channels, header.column_count, values, times, poses.q)
    object.__setattr__(skeleton, "source", document)  # not shared yet
    clips = () if motion is None else (Clip(times, poses, name_clip(path)),)
    all_notes = (*notes, *row_notes, *time_notes, *_note_relative_positions(header.joints, names, values))
    pose_q = q[0] if len(q) == 1 else skeleton.rest_q
    return Rig(skeleton, Pose(skeleton, pose_q), clips, notes=all_notes, path=path)


def write(content: Saveable, path: Path, source_skeleton: Skeleton, *, rest: str = "keep") -> None:
    """Write a rig, a clip or a pose. A batch has one row per pose. See `poise.io.bvh_writer`.

    `rest` is for a new hierarchy: "zero" has the rest pose where all angles are zero, "keep" keeps the joints' frames.
    UnsupportedError for content that the format cannot hold or that `read` would refuse.
    """
    write_checked(path, encode_bvh(strip_free_root(content), source_skeleton.without_free_root, rest=rest), _read_data)


def choose_joint_names(rig: Rig) -> tuple[tuple[str, ...], str]:
    """Find the names of the joints in a BVH file. Return them with a sentence on the changed ones.

    `poise.convert` renames the joints of a rig to these before writing.
    """
    skeleton = rig.skeleton
    if isinstance(skeleton.source, bvh_reader.BvhDocument):
        return skeleton.names, ""
    names = find_file_names(skeleton)
    return names, describe_renames(skeleton.names, names)


def _build_names(joints: list[bvh_reader.BvhJoint]) -> tuple[tuple[str, ...], list[str]]:
    """Build unique names of all rows. Joints come before End Sites; an End Site is `<parent>_end`."""
    notes: list[str] = []
    joint_rows = [i for i, node in enumerate(joints) if not node.is_end]
    raw_names = [joints[i].name or f"joint_{i}" for i in joint_rows]
    names: list[str] = [""] * len(joints)
    for i, unique_name in zip(joint_rows, make_unique_names(raw_names), strict=True):
        names[i] = unique_name
        if unique_name != joints[i].name:
            reason = "a joint without a name" if not joints[i].name else f"a second joint {joints[i].name!r}"
            notes.append(f"{reason} is called {unique_name!r} here")
    end_rows = [i for i, node in enumerate(joints) if node.is_end]
    wanted_names = [names[i] for i in joint_rows] + [f"{names[joints[i].parent]}_end" for i in end_rows]
    for i, unique_name in zip(end_rows, make_unique_names(wanted_names)[len(joint_rows) :], strict=True):
        names[i] = unique_name
    return tuple(names), notes


def _build_skeleton(joints: list[bvh_reader.BvhJoint], names: tuple[str, ...]) -> Skeleton:
    kinds = [_find_kind(node.channels) for node in joints]
    offsets = np.array([node.offset for node in joints])
    is_free = np.array(kinds) == Kind.FREE
    return Skeleton.build(
        names,
        [node.parent for node in joints],
        kinds,
        offsets=np.where(is_free[:, None], 0.0, offsets),
        rest_q=_build_rest_q(kinds, offsets),
        source_ids=[bvh_reader.BvhName("End Site" if node.is_end else node.name) for node in joints],
        euler=[node.channels.written_order for node in joints],
    )


def _find_kind(channels: bvh_reader.Channels) -> Kind:
    if channels.positions:
        return Kind.FREE
    return Kind.BALL if channels.rotations else Kind.FIXED


def _build_rest_q(kinds: list[Kind], offsets: Floats) -> Floats:
    values: list[float] = []
    for kind, offset in zip(kinds, offsets.tolist(), strict=True):
        values += offset if kind == Kind.FREE else []
        values += [1.0, 0.0, 0.0, 0.0] if kind != Kind.FIXED else []
    return np.array(values)


def _check_frame_time(path: Path, header: bvh_reader.BvhMotionHeader) -> tuple[float, list[str]]:
    frame_time = header.frame_time
    if frame_time == 0.0:
        return bvh_reader.DEFAULT_FRAME_TIME_S, ["the frame time is 0; 30 frames per second are used"]
    if not bvh_reader.is_usable_frame_time(frame_time):
        raise FileError(path, f"a frame time of {frame_time:g} s cannot be used", place="Frame Time")
    return frame_time, []


def _note_relative_positions(joints: list[bvh_reader.BvhJoint], names: tuple[str, ...], values: Floats) -> list[str]:
    """Note root positions close to zero. They look relative to the OFFSET, but are read as absolute."""
    notes: list[str] = []
    for node, name in zip(joints, names, strict=True):
        columns = [node.channels.positions.get(axis) for axis in "XYZ"]
        if node.parent >= 0 or None in columns or not len(values):
            continue
        length = float(np.linalg.norm(node.offset))
        distances = np.linalg.norm(values[:, columns], axis=-1)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if length > 0 and distances.max() < _MAX_OFFSET_SHARE * length:
            notes.append(
                f"the positions of root {name!r} stay within {distances.max():.4g} of zero while its OFFSET is "
                f"{length:.4g} long; they were read as positions, as in most files, but may be relative to it"
            )
    return notes
