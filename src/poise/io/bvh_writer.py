"""BVH writer: into the source document, or under a new hierarchy.

A skeleton from another format gets a new hierarchy. An unchanged clip gives the file's own bytes. In a clip as long as
the file's, an unchanged joint keeps its numbers in a frame, and a changed one gets the angles nearest to the old ones;
otherwise angles are continuous from frame to frame. Angles are printed to 1e-10 degrees, positions exactly.
"""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from dataclasses import dataclass

import numpy as np

from poise.errors import UnsupportedError, WriteWarning, join_names
from poise.io import bvh_reader
from poise.io.text_parsing import MAX_NAME_LENGTH, MAX_NUMBER, quote_excerpt
from poise.maths import euler
from poise.maths import rotations as turning
from poise.maths.arrays import Bools, Floats
from poise.model.clip import Clip, find_frame_grid, measure_key_error
from poise.model.joints import make_unique_names
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

# --- Joint names of a new BVH hierarchy: one word each ---------------------------------------------------------------


# Blanks end a name in most readers, line breaks in all, braces open and close joints; control characters and direction
# marks are invisible.
_FORBIDDEN_CHARACTERS = re.compile("[\\s{}\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]+")
_DEFAULT_NAME = "joint"


def find_file_names(skeleton: Skeleton) -> tuple[str, ...]:
    """Find the names of the joints in a new BVH hierarchy.

    Blanks, line breaks, braces and control characters become `_`; a number is added if the result is in use. Names read
    from a BVH file stay, and so do names in trees that are not written.

    Parameters
    ----------
    skeleton
        The joints.

    Returns
    -------
    tuple of str
        A name for each row.
    """
    is_written, sources = _find_written_rows(skeleton), skeleton.source_ids or (None,) * len(skeleton)
    wanted_names = [
        _sanitize_name(name) if is_written[i] and not isinstance(source, bvh_reader.BvhName) else name
        for i, (name, source) in enumerate(zip(skeleton.names, sources, strict=True))
    ]
    changed_rows = [i for i, (old, new) in enumerate(zip(skeleton.names, wanted_names, strict=True)) if old != new]
    if not changed_rows:
        return skeleton.names
    unchanged_names = [name for name, new in zip(skeleton.names, wanted_names, strict=True) if name == new]
    unique_names = make_unique_names([*unchanged_names, *(wanted_names[i] for i in changed_rows)])[
        len(unchanged_names) :
    ]
    for i, name in zip(changed_rows, unique_names, strict=True):
        wanted_names[i] = name
    return tuple(wanted_names)


def describe_renames(old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """List the renamed joints in a sentence.

    Parameters
    ----------
    old, new
        The original names and those in the file, a pair for each joint.
    """
    pairs = join_names(f"{a} -> {b}" for a, b in zip(old, new, strict=True) if a != b)
    return f"names in a BVH file have no blanks, line breaks or braces, so that joints are renamed: {pairs}"


def find_moving_roots(skeleton: Skeleton) -> list[int]:
    """Find the roots of moving trees, else the first root.

    Trees without moving joints, such as a glTF's mesh nodes, hold no motion, and most programs refuse a BVH file with
    several roots.
    """
    roots = np.flatnonzero(skeleton.parents < 0)
    moving = [int(root) for root in roots if skeleton.moving_depth[root] > 0]
    return moving or [int(root) for root in roots[:1]]


def _find_written_rows(skeleton: Skeleton) -> list[bool]:
    """Return for each row whether its tree is written."""
    roots, is_written = set(find_moving_roots(skeleton)), list[bool]()
    for row, parent in enumerate(skeleton.parents.tolist()):
        is_written.append(row in roots if parent < 0 else is_written[parent])
    return is_written


def _sanitize_name(name: str) -> str:
    return _FORBIDDEN_CHARACTERS.sub("_", name.strip()) or _DEFAULT_NAME


# --- Motion rows as text, and rotations as Euler angles in degrees ---------------------------------------------------


_DEGREE_DECIMALS = 10  # decimals of a degree (2e-12 rad); 30.000000000000004 is printed as 30.0


def compute_euler_degrees(rotations: Floats, order: str, reference: Floats | None = None) -> Floats:
    """Compute Euler angles (frames, joints, 3) [degrees] of rotations (frames, joints, 4).

    They are nearest to the reference angles [rad] if given, else continuous from frame to frame.
    """
    angles: Floats = euler.from_quaternion(rotations, order)
    angles = euler.unwrap_angles(angles) if reference is None else euler.find_nearest_angles(angles, reference)
    degrees: Floats = np.degrees(angles)
    return degrees.round(_DEGREE_DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0


def format_overflow(label: str) -> str:
    """Write the message for a number too large for the reader."""
    return f"{label} here is beyond {MAX_NUMBER:g}; no BVH file with such a number is read again"


def format_motion_rows(values: Floats, newline: bytes) -> bytes:
    """Format one line per frame. Each number has the fewest digits that read back as the same number.

    UnsupportedError for a number too large for the reader.
    """
    if (np.abs(values) > MAX_NUMBER).any():
        raise UnsupportedError(format_overflow("a position"))
    lines = [" ".join(map(repr, row)).encode() for row in values.tolist()]
    return b"".join(line + newline for line in lines)


# --- New BVH hierarchy for a skeleton from another format ------------------------------------------------------------
#
# The root gets six channels, every other joint three rotation channels, or six where its distance from its parent
# changes. A BVH offset has no rotation, so a joint's rotation is its whole rotation relative to its parent, rest
# included. Uniform scale, such as the 0.01 of an armature node, is multiplied into the offsets below it.
#
# The file can also be written with zero as the rest pose, which most other programs expect: see `_align_rest_to_world`.


_MAX_OFFSET_CHANGE = 1e-6  # relative to the longest bone; larger changes of a joint's position need position channels
_MAX_SCALE_CHANGE = 1e-3  # relative tolerance of uniform scale; exported animation has noise of 1e-5
_MAX_ROTATION_CHANGE = 1e-9  # tolerance of quaternion components for a joint without rotation
_MAX_INDENT = 32  # maximum indent [tabs]; keeps the file of a chain of 3,000 joints small


@dataclass(frozen=True, eq=False)
class _HierarchyData:
    """Joints of a new hierarchy: names and numbers. Lengths include the scale.

    offsets (n, 3), positions (k, n, 3), rotations (k, n, 4)
    """

    skeleton: Skeleton
    names: tuple[str, ...]
    offsets: Floats
    positions: Floats
    rotations: Floats
    has_positions: Bools
    orders: tuple[str, ...]


def encode_new_hierarchy(poses: Pose, frame_time: float, *, rest: str = "keep") -> bytes:
    """Encode a BVH file with one frame per pose (k,). Zero is the rest pose if `rest` is "zero"."""
    skeleton = poses.skeleton
    _check_skeleton(skeleton)
    hierarchy = _align_rest_to_world(_build_hierarchy_data(poses)) if rest == "zero" else _build_hierarchy_data(poses)
    lines, written_rows = _format_hierarchy(hierarchy)
    joint_count = sum(line.endswith("{") for line in lines)
    if joint_count > bvh_reader.MAX_JOINTS:
        raise UnsupportedError(
            f"{joint_count:,} joints, End Sites included, are too many for a BVH file; "
            f"{bvh_reader.MAX_JOINTS:,} are read again"
        )
    if (np.abs(hierarchy.offsets) > MAX_NUMBER).any():
        raise UnsupportedError(format_overflow("an offset"))
    lines += ["MOTION", f"Frames: {len(poses)}", f"Frame Time: {frame_time!r}", ""]
    return "\n".join(lines).encode() + format_motion_rows(_compute_motion_values(hierarchy, written_rows), b"\n")


def _check_skeleton(skeleton: Skeleton) -> None:
    roots = find_moving_roots(skeleton)
    if len(roots) != 1:
        names = join_names(skeleton.names[root] for root in roots)
        message = (
            f"a BVH file is written with one root, and this skeleton has {len(roots)}: {names}; "
            "poise.convert() takes the one that is named as root"
        )
        raise UnsupportedError(message)
    for name in find_file_names(skeleton):
        if len(name.encode()) > MAX_NAME_LENGTH:
            message = (
                f"the joint name {quote_excerpt(name)} is too long for a BVH file; {MAX_NAME_LENGTH} bytes are "
                "read again"
            )
            raise UnsupportedError(message)


def _build_hierarchy_data(poses: Pose) -> _HierarchyData:
    skeleton = poses.skeleton
    rest_pose = Pose(skeleton, skeleton.rest_q[None])
    offsets = _compute_scaled_positions(rest_pose)[0]
    positions = _compute_scaled_positions(poses)
    tolerance = _MAX_OFFSET_CHANGE * float(np.abs(offsets).max(initial=0.0))
    has_positions = (np.abs(positions - offsets) > tolerance).any(axis=(0, 2)) | np.isin(skeleton.kinds, (2, 4))
    has_positions[skeleton.parents < 0] = True
    orders = tuple(bvh_reader.complete_rotation_order(order) for order in skeleton.euler or ("",) * len(skeleton))
    return _HierarchyData(
        skeleton, find_file_names(skeleton), offsets, positions, poses.local_rotations, has_positions, orders
    )


def _align_rest_to_world(hierarchy: _HierarchyData) -> _HierarchyData:
    """Align the joint frames with the world at rest. Zero is then the rest pose, and the motion is the same.

    With W_i the world rotation of joint i at rest and W_p its parent's, the new frame is R_i W_i^-1. A rotation r
    relative to the parent becomes W_p r W_i^-1, and an offset or position o becomes W_p o. Joint positions do not
    change.
    """
    skeleton = hierarchy.skeleton
    rest_rotations: Floats = Pose(skeleton, skeleton.rest_q).local_rotations
    world_from_joint: Floats = np.zeros_like(rest_rotations)
    world_from_parent: Floats = np.zeros_like(rest_rotations)
    for i, parent in enumerate(skeleton.parents.tolist()):
        world_from_parent[i] = world_from_joint[parent] if parent >= 0 else turning.IDENTITY
        world_from_joint[i] = turning.normalise(turning.multiply(world_from_parent[i], rest_rotations[i]))
    parent_rotations = np.broadcast_to(world_from_parent, hierarchy.rotations.shape)
    inverse_rotations = np.broadcast_to(turning.inverse(world_from_joint), hierarchy.rotations.shape)
    return dataclasses.replace(
        hierarchy,
        offsets=turning.rotate(world_from_parent, hierarchy.offsets),
        positions=turning.rotate(parent_rotations, hierarchy.positions),
        rotations=turning.multiply(turning.multiply(parent_rotations, hierarchy.rotations), inverse_rotations),
    )


def _compute_scaled_positions(poses: Pose) -> Floats:
    """Compute local positions (k, n, 3) including the scale of all ancestors."""
    skeleton = poses.skeleton
    scales = _compute_uniform_scales(poses)
    parent_scales = np.ones_like(scales)
    for i, parent in enumerate(skeleton.parents):
        if parent >= 0:
            parent_scales[:, i] = parent_scales[:, parent] * scales[:, parent]
    return poses.local_positions * parent_scales[..., None]


def _compute_uniform_scales(poses: Pose) -> Floats:
    """Compute one uniform scale per joint (k, n). UnsupportedError for other scales."""
    skeleton = poses.skeleton
    diagonal = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    scales = np.broadcast_to(diagonal, (len(poses), len(skeleton), 3)) if poses.scales is None else poses.scales
    x_scales = scales[..., :1]
    is_uneven = (np.abs(scales - x_scales) > _MAX_SCALE_CHANGE * np.abs(x_scales)).any(axis=2) | (
        x_scales[..., 0] <= 0.0
    )
    off_diagonal = skeleton.B.copy()
    off_diagonal[:, [0, 1, 2], [0, 1, 2]] = 0.0
    has_children = np.array(
        [bool(children) for children in skeleton.children], dtype=bool
    )  # a leaf's scale has no effect
    is_rejected = (is_uneven.any(axis=0) & has_children) | (np.abs(off_diagonal) > _MAX_SCALE_CHANGE).any(axis=(1, 2))
    if is_rejected.any():
        names = join_names(skeleton.names[i] for i in np.flatnonzero(is_rejected))
        message = (
            f"a BVH file cannot hold scale that is zero, mirrored or differs by axis; these joints have it: {names}; "
            "a .glb file holds it"
        )
        raise UnsupportedError(message)
    return x_scales[..., 0]


def _is_end_site(hierarchy: _HierarchyData, i: int) -> bool:
    """Return whether a joint can be written as an End Site.

    It is a leaf called `<parent>_end` that never rotates or moves.
    """
    skeleton = hierarchy.skeleton
    parent = int(skeleton.parents[i])
    if parent < 0 or skeleton.children[i] or hierarchy.has_positions[i]:
        return False
    if not re.fullmatch(re.escape(skeleton.names[parent]) + r"_end(_\d+)?", skeleton.names[i]):
        return False
    return bool((np.abs(hierarchy.rotations[:, i, 1:]) <= _MAX_ROTATION_CHANGE).all())


def _format_hierarchy(hierarchy: _HierarchyData) -> tuple[list[str], list[int]]:
    """Format the HIERARCHY block. Return its lines and the rows with channels, depth first as in the file."""
    skeleton = hierarchy.skeleton
    lines, written_rows = ["HIERARCHY"], list[int]()
    root = find_moving_roots(skeleton)[0]
    stack: list[tuple[int, int, bool]] = [(root, 0, False)]
    while stack:
        i, depth, is_closing = stack.pop()
        indent = "\t" * min(depth, _MAX_INDENT)
        if is_closing:
            lines.append(indent + "}")
            continue
        stack.append((i, depth, True))
        if _is_end_site(hierarchy, i):
            lines += [indent + "End Site", indent + "{", f"{indent}\tOFFSET {_format_vector(hierarchy.offsets[i])}"]
            continue
        written_rows.append(i)
        lines += _format_joint(hierarchy, i, indent)
        stack += [(child, depth + 1, False) for child in reversed(skeleton.children[i])]
    return lines, written_rows


def _format_joint(hierarchy: _HierarchyData, i: int, indent: str) -> list[str]:
    """Format the lines of a joint up to its children. A leaf gets an End Site at the joint itself."""
    skeleton = hierarchy.skeleton
    keyword = "ROOT" if skeleton.parents[i] < 0 else "JOINT"
    rotation_channels = " ".join(f"{letter}rotation" for letter in hierarchy.orders[i])
    channels = (
        f"6 Xposition Yposition Zposition {rotation_channels}"
        if hierarchy.has_positions[i]
        else f"3 {rotation_channels}"
    )
    lines = [
        f"{indent}{keyword} {hierarchy.names[i]}",
        indent + "{",
        f"{indent}\tOFFSET {_format_vector(hierarchy.offsets[i])}",
        f"{indent}\tCHANNELS {channels}",
    ]
    if not skeleton.children[i]:
        lines += [f"{indent}\t{line}" for line in ("End Site", "{", "\tOFFSET 0.0 0.0 0.0", "}")]
    return lines


def _format_vector(values: Floats) -> str:
    return " ".join(map(repr, (values + 0.0).tolist()))


def _compute_motion_values(hierarchy: _HierarchyData, written_rows: list[int]) -> Floats:
    """Compute motion values (k, column_count) in hierarchy order.

    Joints of one rotation order are converted together.
    """
    start_columns, column_count = dict[int, int](), 0
    for i in written_rows:
        start_columns[i] = column_count
        column_count += 6 if hierarchy.has_positions[i] else 3
    values = np.zeros((len(hierarchy.positions), column_count))
    rows_by_order: dict[str, list[int]] = {}
    for i in written_rows:
        rows_by_order.setdefault(hierarchy.orders[i], []).append(i)
        if hierarchy.has_positions[i]:
            values[:, start_columns[i] : start_columns[i] + 3] = hierarchy.positions[:, i]
    for rotation_order, rows in rows_by_order.items():
        columns = np.array([start_columns[i] + (3 if hierarchy.has_positions[i] else 0) for i in rows])
        values[:, columns[:, None] + np.arange(3)] = compute_euler_degrees(hierarchy.rotations[:, rows], rotation_order)
    return values


# --- Writing of BVH files --------------------------------------------------------------------------------------------


_MAX_DROPPED_ANGLE_RAD = 1e-6  # [rad] smaller rotations about an axis without a channel are dropped
_MAX_DROPPED_SHIFT = (
    1e-6  # relative to the longest bone; smaller shifts of a joint without position channels are dropped
)
_MAX_TIME_DEVIATION = 0.01  # [frames] maximum deviation of evenly spaced times


def encode_bvh(content: Saveable, source_skeleton: Skeleton, *, rest: str = "keep") -> bytes:
    """Encode a BVH file of a rig, clip, pose or batch. A rig has one clip at most; a batch of poses becomes frames.

    With `rest` "zero" a new hierarchy has its rest pose where all angles are zero; a source document has it there
    already. Names that BVH cannot hold are changed, with a WriteWarning; see `find_file_names`. UnsupportedError for
    several clips, for motion without channels in the document, and for non-uniform scale.
    """
    motion = _select_motion(content)
    document = source_skeleton.source
    if isinstance(document, bvh_reader.BvhDocument):
        return _update_document(document, motion, source_skeleton)
    poses, frame_time = _build_frames(motion)
    old_names, new_names = poses.skeleton.names, find_file_names(poses.skeleton)
    if old_names != new_names:
        warnings.warn(describe_renames(old_names, new_names), WriteWarning, stacklevel=2)
    return encode_new_hierarchy(poses, frame_time or bvh_reader.DEFAULT_FRAME_TIME_S, rest=rest)


def _select_motion(content: Saveable) -> Clip | Pose:
    if not isinstance(content, Rig):
        return content
    if len(content.clips) > 1:
        names = join_names(repr(clip.name) for clip in content.clips)
        message = f"a BVH file holds one clip and this rig has {len(content.clips)}: save one, rig.clip(NAME): {names}"
        raise UnsupportedError(message)
    return content.clips[0] if content.clips else content.pose


def _build_frames(motion: Clip | Pose) -> tuple[Pose, float | None]:
    """Build a pose per frame (frames,) and the frame time [s]. The time is None for a pose or a single frame."""
    if isinstance(motion, Pose):
        return _flatten_batch(motion), None
    times = motion.times
    if len(times) < 2 or times[-1] == 0.0:  # noqa: PLR2004  (no step between frames)
        return motion.poses, None
    frame_time = float(times[-1]) / (len(times) - 1)
    if np.abs(times - frame_time * np.arange(len(times))).max() <= _MAX_TIME_DEVIATION * frame_time:
        return motion.poses, _check_frame_time(frame_time)
    return _resample_clip(motion)


def _resample_clip(clip: Clip) -> tuple[Pose, float]:
    """Resample a clip at a steady rate through all its keys.

    Where no such rate exists, a warning gives the error at the keys.
    """
    grid = find_frame_grid(clip)
    poses, frame_time = clip.at(grid.times), _check_frame_time(grid.step)
    if not grid.hits_all_keys:
        error, character_size = measure_key_error(clip, Clip(grid.times, poses))
        share_text = f" ({error / character_size:.2g} of the character's size)" if character_size else ""
        message = (
            f"the keys of clip {clip.name!r} lie on no common frames: sampled at {1 / frame_time:.6g} frames/s, "
            "it is up to "
            f"{error:.3g}{share_text} off at its own keys"
        )
        warnings.warn(message, WriteWarning, stacklevel=2)
    return poses, frame_time


def _check_frame_time(frame_time: float) -> float:
    """Check a frame time against the reader's range."""
    if not bvh_reader.is_usable_frame_time(frame_time):
        message = f"frames {frame_time:g} s apart cannot stand in a BVH file that is to be read again"
        raise UnsupportedError(message)
    return frame_time


def _flatten_batch(pose: Pose) -> Pose:
    """Flatten a batch to one axis."""
    joint_count, pose_count = len(pose.skeleton), math.prod(pose.shape)
    local_arrays = [
        None if value is None else value.reshape(pose_count, joint_count, 3)
        for value in (pose.translations, pose.scales)
    ]
    return Pose(pose.skeleton, pose.q.reshape(pose_count, pose.skeleton.nq), *local_arrays)


def _update_document(document: bvh_reader.BvhDocument, motion: Clip | Pose, source_skeleton: Skeleton) -> bytes:
    """Return the document's bytes with other motion."""
    if motion.skeleton.names != document.names:
        message = "the joints differ from those of the BVH file to be kept; save without it to write a new hierarchy"
        raise UnsupportedError(message)
    if _is_unchanged(document, motion):
        return document.data
    poses, frame_time = _build_frames(motion)
    _reject_scales(poses)
    values = _compute_document_values(document, poses, source_skeleton)
    has_same_rate = frame_time is None or (
        len(document.times) > 1 and np.isclose(frame_time, document.times[1], rtol=1e-12, atol=0.0)
    )
    time_text = None if has_same_rate else repr(frame_time)
    return document.replace_motion(len(values), time_text, format_motion_rows(values, document.newline))


def _is_unchanged(document: bvh_reader.BvhDocument, motion: Clip | Pose) -> bool:
    """Return whether a clip or pose equals the content of the file.

    A file without motion shows its rest pose.
    """
    poses = motion.poses if isinstance(motion, Clip) else motion
    if motion.skeleton.source is not document or poses.translations is not None or poses.scales is not None:
        return False
    if isinstance(motion, Clip):
        return np.array_equal(motion.times, document.times) and np.array_equal(poses.q, document.q)
    return document.header_spans is None and np.array_equal(poses.q, motion.skeleton.rest_q)


def _reject_scales(poses: Pose) -> None:
    if poses.scales is not None and (np.abs(poses.scales - 1.0) > _MAX_DROPPED_SHIFT).any():
        scaled = np.flatnonzero((np.abs(poses.scales - 1.0) > _MAX_DROPPED_SHIFT).any(axis=(0, 2)))
        names = join_names(poses.skeleton.names[i] for i in scaled)
        message = f"a BVH file cannot scale joints, and these are scaled: {names}"
        raise UnsupportedError(message)


def _compute_document_values(document: bvh_reader.BvhDocument, poses: Pose, source_skeleton: Skeleton) -> Floats:
    """Compute motion values (frames, width) for the channels of the document."""
    positions, rotations = poses.local_positions, poses.local_rotations
    offsets = Pose(source_skeleton, source_skeleton.rest_q).local_positions
    values = np.zeros((len(poses), document.column_count))
    is_source = poses.skeleton.source is document
    old_values = document.values if is_source and len(document.values) == len(poses) else None
    tolerance = _MAX_DROPPED_SHIFT * float(np.abs(offsets).max())
    for i, joint in enumerate(document.channels):
        _write_positions(values, joint, positions[:, i], offsets[i], tolerance, document.names[i])
    for order, rows in _group_by_order(document.channels).items():
        old_angles = (
            None
            if old_values is None
            else np.radians(bvh_reader.select_angles(document.channels, rows, order, old_values))
        )
        complete_slots = [slot for slot, i in enumerate(rows) if len(document.channels[i].rotations) == 3]  # noqa: PLR2004  (axes)
        if complete_slots:
            reference = None if old_angles is None else old_angles[:, complete_slots]
            degrees = compute_euler_degrees(rotations[:, [rows[slot] for slot in complete_slots]], order, reference)
            for slot, joint_slot in enumerate(complete_slots):
                values[:, list(document.channels[rows[joint_slot]].rotations.values())] = degrees[:, slot]
        for slot, i in enumerate(rows):
            if slot not in complete_slots:
                _write_partial_rotation(values, document.channels[i], rotations[:, i], document.names[i])
    return values if old_values is None else _restore_unchanged(document, poses, values)


def _group_by_order(channels: tuple[bvh_reader.Channels, ...]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for i, joint in enumerate(channels):
        rows.setdefault(joint.order, []).append(i)
    return rows


def _write_positions(
    values: Floats, joint_channels: bvh_reader.Channels, positions: Floats, offset: Floats, tolerance: float, name: str
) -> None:
    for axis, letter in enumerate("XYZ"):
        if letter in joint_channels.positions:
            values[:, joint_channels.positions[letter]] = positions[:, axis]
        elif (np.abs(positions[:, axis] - offset[axis]) > tolerance).any():
            message = f"joint {name!r} moves along {letter} and the BVH file has no channel for it"
            raise UnsupportedError(message)


def _write_partial_rotation(values: Floats, joint_channels: bvh_reader.Channels, rotations: Floats, name: str) -> None:
    """Write the angles of a joint without all rotation channels.

    UnsupportedError for a rotation that needs the missing ones.
    """
    angles_of_order = euler.from_quaternion(rotations, joint_channels.order)
    channel_count = len(joint_channels.rotations)
    alternatives = np.stack([angles_of_order, euler.compute_alternative(angles_of_order)])
    remainder = np.abs(euler.wrap_angles(alternatives[..., channel_count:])).max(axis=-1)
    if (remainder.min(axis=0, initial=np.inf) > _MAX_DROPPED_ANGLE_RAD).any():
        channels = ", ".join(f"{letter}rotation" for letter in joint_channels.rotations) or "no rotation channel"
        message = f"joint {name!r} has {channels} in the BVH file, which cannot hold this rotation"
        raise UnsupportedError(message)
    angles = np.where((remainder[1] < remainder[0])[:, None], alternatives[1], alternatives[0])[:, :channel_count]
    columns = list(joint_channels.rotations.values())
    values[:, columns] = np.round(np.degrees(np.unwrap(angles, axis=0)), 10) + 0.0


def _restore_unchanged(document: bvh_reader.BvhDocument, poses: Pose, values: Floats) -> Floats:
    """Restore the file's numbers for joints unchanged in a frame."""
    skeleton = poses.skeleton
    is_same_q = poses.q == document.q
    restored_values = values.copy()
    for i, joint_channels in enumerate(document.channels):
        columns = [*joint_channels.positions.values(), *joint_channels.rotations.values()]
        start_column = int(skeleton.q_start[i])
        value_count = 7 if joint_channels.positions else 4
        if not columns:
            continue
        is_unchanged: Bools = is_same_q[:, start_column : start_column + value_count].all(axis=1)
        for column in columns:
            restored_values[is_unchanged, column] = document.values[is_unchanged, column]
    return restored_values
