"""Skeleton and clips of an FBX scene."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise.errors import FileError, join_names
from poise.io.subprocess_reader import SubprocessReply, build_malformed_error
from poise.io.text_parsing import MAX_NAME_LENGTH, MAX_NUMBER
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, freeze_array
from poise.model.channels import Channel
from poise.model.clip import Clip, KeyedClip
from poise.model.joints import make_unique_names
from poise.model.limits import EulerBox, Limit, Range, unit_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

WXYZ = [6, 3, 4, 5]  # columns of the quaternion w x y z in the ten numbers of a transform
_WXYZ_FROM_XYZW = [3, 0, 1, 2]  # columns of w x y z in x y z w
_UP_AXES = {"POSITIVE_X": "x", "POSITIVE_Y": "y", "POSITIVE_Z": "z"}
_EULER_ORDERS = {"XYZ": "ZYX", "XZY": "YZX", "YZX": "XZY", "YXZ": "ZXY", "ZXY": "YXZ", "ZYX": "XYZ", "SPHERIC": "ZYX"}
_IDENTITY_COSINE = 1.0 - 1e-12  # |w| of a quaternion; above it the rotation is the identity
_REST_TOLERANCE = 1e-6  # quaternion difference; a limit exceeded by less in the rest pose is kept
_MIN_SIZE_M, _MAX_SIZE_M = 0.01, 30.0  # usual size of characters [m]; a note reports others, probably in another unit


@dataclass(frozen=True)
class SceneNode:
    """A node of the scene, as the worker reports it."""

    name: str
    parent: int
    is_bone: bool
    is_solid: bool
    is_helper: bool
    has_pivot: bool
    rotation_order: str


class _RowLimit(NamedTuple):
    """Rotation limit of a row and the frame of its angles."""

    row: int
    limit: Limit | None
    frame_rotation: Floats


def parse_nodes(reply: SubprocessReply) -> list[SceneNode]:
    """Parse the nodes; FileError for a malformed reply."""
    try:
        nodes = [SceneNode(*fields) for fields in reply.header["nodes"]]
        is_valid = all(
            isinstance(n.name, str) and -1 <= n.parent < i and n.rotation_order in _EULER_ORDERS
            for i, n in enumerate(nodes)
        )
    except (TypeError, KeyError) as error:
        raise build_malformed_error(reply.path) from error
    if not is_valid:
        raise build_malformed_error(reply.path)
    return nodes


def parse_rest_transforms(reply: SubprocessReply, node_count: int) -> Floats:
    """Parse the local rest transforms (n, 10). FileError for numbers too large."""
    rest_transforms = reply.read_block(reply.header.get("rest"), (node_count, 10))
    if np.abs(rest_transforms).max(initial=0.0) > MAX_NUMBER:
        raise FileError(reply.path, "it holds a position or scale with a number too large")
    return rest_transforms


def build_skeleton(
    reply: SubprocessReply, nodes: list[SceneNode], rest_transforms: Floats, rotating_rows: set[int], notes: list[str]
) -> Skeleton:
    """Build the skeleton at rest (n, 10). `rotating_rows` are the rows rotated by a take."""
    kinds = _choose_kinds(nodes, _find_joint_rows(reply, nodes), rotating_rows)
    rest_rotations = rotations.normalise(rest_transforms[:, WXYZ]) if len(nodes) else np.zeros((0, 4))
    names = _choose_names(nodes, notes)
    limits = _parse_limits(reply, nodes, kinds)
    frames = rest_rotations.copy()  # rotations of A; with a limit, the frame of its angles
    for row, row_limit in limits.items():
        frames[row] = frames[row] if row_limit.limit is None else row_limit.frame_rotation
    rest_motions = rotations.multiply(rotations.inverse(frames), rest_rotations)
    rest_motions[(frames == rest_rotations).all(axis=1)] = rotations.IDENTITY
    skeleton = Skeleton.build(
        names,
        [node.parent for node in nodes],
        kinds,
        offsets=rest_transforms[:, :3],
        rotations=frames,
        scales=rest_transforms[:, 7:],
        rest_q=rest_motions[kinds == Kind.BALL].ravel(),
        source_ids=[node.name for node in nodes],
        euler=[_EULER_ORDERS[node.rotation_order] for node in nodes],
        metres_per_unit=_parse_unit(reply, notes),
        up=_parse_up(reply, notes),
    )
    return _apply_limits(skeleton, limits, notes)


def _find_joint_rows(reply: SubprocessReply, nodes: list[SceneNode]) -> set[int]:
    """Find the rows of bones and of joints of skins."""
    skinned = {row for skin in reply.header.get("skins", ()) for row in skin["joints"]}
    return {row for row, node in enumerate(nodes) if node.is_bone} | skinned


def _choose_kinds(nodes: list[SceneNode], joint_rows: set[int], rotating_rows: set[int]) -> np.ndarray:
    """Choose joint kinds.

    Bones, skin joints and rotated nodes are balls, and so are nodes below one unless solid or a helper.
    """
    kinds = np.full(len(nodes), int(Kind.FIXED))
    is_below_joint = np.zeros(len(nodes), dtype=np.bool_)
    parents = {node.parent for node in nodes}
    for row, node in enumerate(nodes):
        is_below_joint[row] = node.parent >= 0 and (is_below_joint[node.parent] or node.parent in joint_rows)
        is_inner = is_below_joint[row] if joint_rows else row in parents
        if row in joint_rows or row in rotating_rows or (is_inner and not (node.is_solid or node.is_helper)):
            kinds[row] = Kind.BALL
    return kinds


def _choose_names(nodes: list[SceneNode], notes: list[str]) -> list[str]:
    """Choose unique names. A helper with its parent's scale is named after the parent."""
    wanted_names: list[str] = []
    for row, node in enumerate(nodes):
        node_name = f"{wanted_names[node.parent]}_scale" if node.is_helper else node.name[:MAX_NAME_LENGTH]
        wanted_names.append(node_name or f"joint_{row}")
    names = list(make_unique_names(wanted_names))
    renamed_nodes = [
        new
        for new, old, node in zip(names, wanted_names, nodes, strict=True)
        if new != old or not (node.name or node.is_helper)
    ]
    if renamed_nodes:
        notes.append(f"nodes without a name or with a duplicate name were renamed: {join_names(renamed_nodes)}")
    helper_parents = [names[node.parent] for node in nodes if node.is_helper]
    if helper_parents:
        notes.append(
            "scale with a non-standard inheritance was moved to fixed joints NAME_scale of its own: "
            f"{join_names(helper_parents)}"
        )
    pivot_nodes = [name for name, node in zip(names, nodes, strict=True) if node.has_pivot]
    if pivot_nodes:
        notes.append(
            f"nodes rotate about a pivot away from their origin; their joint is at the pivot: {join_names(pivot_nodes)}"
        )
    return names


# --- limits --------------------------------------------------------------------------------------


def _parse_limits(reply: SubprocessReply, nodes: list[SceneNode], kinds: np.ndarray) -> dict[int, _RowLimit]:
    """Parse the limits of rotating rows. A post-rotation in between leaves the limit out."""
    try:
        limits = [_parse_limit(entry, nodes) for entry in reply.header.get("limits", ())]
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise build_malformed_error(reply.path) from error
    return {limit.row: limit for limit in limits if kinds[limit.row] == Kind.BALL}


def _parse_limit(entry: dict[str, Any], nodes: list[SceneNode]) -> _RowLimit:
    """Parse one limit; two angles held at zero make a hinge.

    None for an empty limit, or one without a frame of its own.
    """
    row = range(len(nodes))[entry["row"]]
    pre_rotation, post_rotation = (
        rotations.normalise(np.array(entry[name], dtype=np.float64)[_WXYZ_FROM_XYZW])
        for name in ("pre_rotation", "post_rotation")
    )
    ranges: list[tuple[float, float]] = []
    for axis in range(3):
        low = math.radians(entry["low"][axis]) if entry["is_limited"][axis] else -math.inf
        high = math.radians(entry["high"][axis]) if entry["is_limited"][axis + 3] else math.inf
        ranges.append((low, high))
    if abs(post_rotation[0]) < _IDENTITY_COSINE or any(not low <= high for low, high in ranges):
        return _RowLimit(row, None, pre_rotation)
    free_axes = [axis for axis in range(3) if ranges[axis] != (0.0, 0.0)]
    if len(free_axes) == 1:
        return _RowLimit(
            row, Range(*ranges[free_axes[0]], axis=unit_axis(np.eye(3)[free_axes[0]]), source="file"), pre_rotation
        )
    order = _EULER_ORDERS[nodes[row].rotation_order]
    return _RowLimit(row, EulerBox(order, x=ranges[0], y=ranges[1], z=ranges[2], source="file"), pre_rotation)


def _apply_limits(skeleton: Skeleton, row_limits: dict[int, _RowLimit], notes: list[str]) -> Skeleton:
    """Apply limits satisfied by the rest pose. The rest pose does not change."""
    limits = {skeleton.names[row]: row_limit.limit for row, row_limit in row_limits.items()}
    legal_limits: dict[str, Limit | None] = {name: limit for name, limit in limits.items() if limit is not None}
    rest_change = np.abs(skeleton.with_limits(legal_limits).rest_q - skeleton.rest_q)
    legal_limits = {
        name: limit
        for name, limit in legal_limits.items()
        if rest_change[skeleton.q_slice(name)].max() <= _REST_TOLERANCE
    }
    omitted_names = [name for name in limits if name not in legal_limits]
    if omitted_names:
        notes.append(
            f"rotation limits were left out because they are empty, the rest pose breaks them or they have a "
            f"post-rotation: {join_names(omitted_names)}"
        )
    return skeleton.with_limits(legal_limits)


# --- units ---------------------------------------------------------------------------------------


def _parse_unit(reply: SubprocessReply, notes: list[str]) -> float | None:
    unit = reply.header.get("unit")
    if isinstance(unit, float | int) and math.isfinite(unit) and 0.0 < unit < MAX_NUMBER:
        return float(unit)
    notes.append("the unit of the file is not a positive length; it is treated as unknown")
    return None


def _parse_up(reply: SubprocessReply, notes: list[str]) -> str | None:
    axes = [str(axis) for axis in reply.header.get("axes", ())]
    if len(axes) != 3:  # noqa: PLR2004  (right, up, front)
        raise build_malformed_error(reply.path)
    if any(axis not in _VECTOR_BY_AXIS for axis in axes):
        notes.append("the file does not define its right, up and front axes; the up axis is treated as unknown")
        return None
    if np.linalg.det([_VECTOR_BY_AXIS[axis] for axis in axes]) < 0:
        notes.append("the file's axes are left-handed; numbers are kept, so left and right are mirrored")
    if axes[1] not in _UP_AXES:
        notes.append(f"the file's up axis is {axes[1].replace('NEGATIVE_', '-').lower()}; it is treated as unknown")
    return _UP_AXES.get(axes[1])


_VECTOR_BY_AXIS = {
    f"{sign}_{letter}": (np.eye(3)[k] * value).tolist()
    for k, letter in enumerate("XYZ")
    for sign, value in (("POSITIVE", 1.0), ("NEGATIVE", -1.0))
}


def check_size(skeleton: Skeleton, positions: Floats, bones: list[int]) -> list[str]:
    """Check the size of the bones' box. Return a note where it is smaller or larger, in the unit of the file."""
    if skeleton.metres_per_unit is None or len(bones) < 2:  # noqa: PLR2004  (one point has no size)
        return []
    span_m = float(np.ptp(positions[bones], axis=0).max()) * skeleton.metres_per_unit
    if _MIN_SIZE_M <= span_m <= _MAX_SIZE_M or span_m == 0.0:
        return []
    unit_text = f"{skeleton.metres_per_unit:g} m"
    return [
        f"with the file's unit ({unit_text}) the bones span {span_m:.3g} m; it was probably written with another scale"
    ]


# --- Keyed clips of sampled FBX takes --------------------------------------------------------------------------------
#
# FBX interpolates angles along curves, so motion between two frames is not linear. The worker also measures the slopes
# at both ends of every frame and the midpoint. A cubic is used where it is nearer to the midpoint than a straight line;
# at a jump within a frame its slopes are meaningless and the line is nearer. A cubic only approximates a curve of
# angles and misses keys between two frames: docs/formats/fbx.md has the measured errors.


_SLOPE_SAMPLE_OFFSET = 1e-4  # distance [frames] of the slope samples from a frame, as in the worker
_STRAIGHT_TOLERANCE = 1e-7  # share of the largest value; a midpoint error below it is linear; keys are 32-bit floats
_STILL_TOLERANCE = 1e-12  # share of the largest value; a channel with smaller differences from rest does not move
_ROTATION_TOLERANCE = 1e-6  # quaternion difference from rest; below it a rotation is rounding and makes no joint
_CHANNEL_COLUMNS = {"translation": [0, 1, 2], "rotation": WXYZ, "scale": [7, 8, 9]}


class FbxTake(NamedTuple):
    """A take: start time, rows, times, samples and intermediate samples.

    Times begin at 0, samples are (r, frames, 10), those between frames (3, r, frames - 1, 10).
    """

    name: str
    start_time: float
    rows: list[int]
    times: Floats
    samples: Floats
    between_samples: Floats | None

    def find_rotating_rows(self, rest_transforms: Floats) -> set[int]:
        """Find the rows rotated away from rest (n, 10)."""
        take_rotations, rest_rotations = self.samples[:, :, 3:7], rest_transforms[self.rows, None, 3:7]
        changes = np.minimum(np.abs(take_rotations - rest_rotations), np.abs(take_rotations + rest_rotations)).max(
            axis=(1, 2), initial=0.0
        )
        return {row for row, change in zip(self.rows, changes, strict=True) if change > _ROTATION_TOLERANCE}


def parse_takes(reply: SubprocessReply, node_count: int) -> list[FbxTake]:
    """Parse the takes of a reply about `node_count` nodes."""
    try:
        return [_parse_take(reply, entry, node_count) for entry in reply.header["takes"]]
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise build_malformed_error(reply.path) from error


def _parse_take(reply: SubprocessReply, entry: dict[str, Any], node_count: int) -> FbxTake:
    rows = [range(node_count)[row] for row in entry["rows"]]
    frame_count = reply.blocks[entry["times"]].size
    times = reply.read_block(entry["times"], (frame_count,))
    samples = reply.read_block(entry["keys"], (len(rows), frame_count, 10))
    between_samples = None
    if "between" in entry:
        shape = (len(rows), max(frame_count - 1, 0), 10)
        between_samples = np.stack([reply.read_block(block, shape) for block in entry["between"]])
    if not frame_count or (np.diff(times) <= 0).any():
        raise FileError(reply.path, f"take {entry['name']!r} has times that do not increase")
    if np.abs(samples).max(initial=0.0) > MAX_NUMBER:
        raise FileError(reply.path, f"take {entry['name']!r} has numbers too large")
    start_time = float(entry["begin"])
    times = times - start_time
    freeze_array(times)
    return FbxTake(str(entry["name"]), start_time, rows, times, samples, between_samples)


def build_clip(skeleton: Skeleton, rest_transforms: Floats, take: FbxTake, name: str) -> Clip:
    """Build a clip with a key per frame of a take. If nothing moves it is the rest pose at these times."""
    channels = [
        channel
        for sample_row, row in enumerate(take.rows)
        for property_name, columns in _CHANNEL_COLUMNS.items()
        if property_name != "rotation" or skeleton.kinds[row] == Kind.BALL
        if (channel := _build_channel(take, sample_row, row, property_name, columns, rest_transforms[row])) is not None
    ]
    if channels:
        return KeyedClip(skeleton, tuple(channels), name)
    q = np.broadcast_to(skeleton.rest_q, (len(take.times), skeleton.nq))
    return Clip(take.times, Pose(skeleton, q), name)


def _build_channel(
    take: FbxTake, sample_row: int, row: int, property_name: Any, columns: list[int], rest_transform: Floats
) -> Channel | None:
    """Build the channel of one property, or None at constant rest."""
    keys = take.samples[sample_row][:, columns]
    max_value = float(np.abs(keys).max())
    if np.abs(keys - rest_transform[columns]).max() <= _STILL_TOLERANCE * max_value:
        return None
    if property_name == "rotation":
        keys = _align_signs(keys)
    if take.between_samples is None or len(keys) < 2:  # noqa: PLR2004  (one key has no interval)
        return _build_linear_channel(row, property_name, take.times, keys)
    after_samples, before_samples, midpoints = take.between_samples[:, sample_row][..., columns]
    frame_steps = np.diff(take.times)[:, None]
    if property_name == "rotation":
        after_samples, before_samples, midpoints = (
            _flip_towards(samples, keys[:-1]) for samples in (after_samples, before_samples, midpoints)
        )
    start_slopes, end_slopes = (
        (after_samples - keys[:-1]) / (_SLOPE_SAMPLE_OFFSET * frame_steps),
        (keys[1:] - _flip_rotations_towards(before_samples, keys[1:], property_name))
        / (_SLOPE_SAMPLE_OFFSET * frame_steps),
    )
    is_straight = _is_straight(keys, start_slopes, end_slopes, midpoints, frame_steps, property_name)
    chord_slopes = np.diff(keys, axis=0) / frame_steps
    if _measure_error(0.5 * (keys[:-1] + keys[1:]), midpoints, property_name).max() <= _STRAIGHT_TOLERANCE * max_value:
        return _build_linear_channel(row, property_name, take.times, keys)
    start_slopes, end_slopes = (
        np.where(is_straight, chord_slopes, start_slopes),
        np.where(is_straight, chord_slopes, end_slopes),
    )
    values = np.stack(
        [
            np.concatenate([end_slopes[:1] * 0.0, end_slopes]),
            keys,
            np.concatenate([start_slopes, start_slopes[:1] * 0.0]),
        ],
        axis=1,
    )
    freeze_array(values)
    return Channel(row, property_name, "CUBICSPLINE", take.times, values)


def _build_linear_channel(row: int, property_name: Any, times: Floats, keys: Floats) -> Channel:
    freeze_array(keys)
    return Channel(row, property_name, "LINEAR", times, keys)


def _is_straight(
    keys: Floats, start_slopes: Floats, end_slopes: Floats, midpoints: Floats, frame_steps: Floats, property_name: str
) -> Bools:
    """Return whether a line fits the midpoints as well as the cubic. The result is (frames - 1, 1)."""
    chord_midpoints = 0.5 * (keys[:-1] + keys[1:])
    line_error = _measure_error(chord_midpoints, midpoints, property_name)
    cubic_error = _measure_error(
        chord_midpoints + frame_steps / 8.0 * (start_slopes - end_slopes), midpoints, property_name
    )
    return (line_error <= cubic_error)[:, None]


def _measure_error(points: Floats, midpoints: Floats, property_name: str) -> Floats:
    """Measure the distance (k,) of points from the midpoints. Rotations are scaled to unit length."""
    if property_name == "rotation":
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        points = points / np.where(lengths > 0.0, lengths, 1.0)
    return np.abs(points - midpoints).max(axis=1)


def _align_signs(keys: Floats) -> Floats:
    """Make signs of quaternions (k, 4) continuous, at unit length."""
    keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    signs = np.cumprod(np.where((keys[:-1] * keys[1:]).sum(axis=1) < 0.0, -1.0, 1.0))
    return keys * np.concatenate([[1.0], signs])[:, None]


def _flip_towards(quaternions: Floats, keys: Floats) -> Floats:
    """Flip quaternions to the hemisphere of others."""
    return np.where((quaternions * keys).sum(axis=1, keepdims=True) < 0.0, -quaternions, quaternions)


def _flip_rotations_towards(values: Floats, keys: Floats, property_name: str) -> Floats:
    return _flip_towards(values, keys) if property_name == "rotation" else values
