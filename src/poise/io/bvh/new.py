"""New BVH hierarchy for a skeleton from another format.

The root gets six channels, every other joint three rotation channels, or six where its distance from its parent
changes. A BVH offset has no rotation, so a joint's rotation is its whole rotation relative to its parent, rest
included. Uniform scale, such as the 0.01 of an armature node, is multiplied into the offsets below it.

The file can also be written with zero as the rest pose, which most other programs expect: see `_align_rest_to_world`.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

import numpy as np

from poise.errors import UnsupportedError, listed
from poise.io.bvh.document import MOST_JOINTS, completed
from poise.io.bvh.names import find_file_names, find_roots
from poise.io.bvh.rows import degrees_of, rows_text, too_large
from poise.io.numbers import LARGEST, LONGEST_NAME, shown
from poise.maths import rotations as turning
from poise.maths.arrays import Bools, Floats
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton

_SAME_LENGTH = 1e-6  # relative to the longest bone; larger changes of a joint's position need position channels
_SAME_SCALE = 1e-3  # relative tolerance of uniform scale; exported animation has noise of 1e-5
_SAME_ROTATION = 1e-9  # tolerance of quaternion components for a joint without rotation
_DEEPEST_INDENT = 32  # maximum indent [tabs]; keeps the file of a chain of 3,000 joints small


@dataclass(frozen=True, eq=False)
class _Parts:
    """Joints of a new hierarchy: names and numbers. Lengths include the scale.

    offsets (n, 3), positions (k, n, 3), rotations (k, n, 4)
    """

    skeleton: Skeleton
    names: tuple[str, ...]
    offsets: Floats
    positions: Floats
    rotations: Floats
    moves: Bools
    orders: tuple[str, ...]


def new_text(poses: Pose, frame_time: float, *, rest: str = "keep") -> bytes:
    """Encode a BVH file with one frame per pose (k,). Zero is the rest pose if `rest` is "zero"."""
    skeleton = poses.skeleton
    _check(skeleton)
    parts = _from_zero(_parts(poses)) if rest == "zero" else _parts(poses)
    lines, order = _hierarchy(parts)
    count = sum(line.endswith("{") for line in lines)
    if count > MOST_JOINTS:
        message = f"{count:,} joints, End Sites included, are too many for a BVH file; {MOST_JOINTS:,} are read again"
        raise UnsupportedError(message)
    if (np.abs(parts.offsets) > LARGEST).any():
        raise UnsupportedError(too_large("an offset"))
    lines += ["MOTION", f"Frames: {len(poses)}", f"Frame Time: {frame_time!r}", ""]
    return "\n".join(lines).encode() + rows_text(_values(parts, order), b"\n")


def _check(skeleton: Skeleton) -> None:
    roots = find_roots(skeleton)
    if len(roots) != 1:
        names = listed(skeleton.names[root] for root in roots)
        message = (
            f"a BVH file is written with one root, and this skeleton has {len(roots)}: {names}; "
            "poise.convert() takes the one that is named as root"
        )
        raise UnsupportedError(message)
    for name in find_file_names(skeleton):
        if len(name.encode()) > LONGEST_NAME:
            message = f"the joint name {shown(name)} is too long for a BVH file; {LONGEST_NAME} bytes are read again"
            raise UnsupportedError(message)


def _parts(poses: Pose) -> _Parts:
    skeleton = poses.skeleton
    rest = Pose(skeleton, skeleton.rest_q[None])
    offsets = _scaled_positions(rest)[0]
    positions = _scaled_positions(poses)
    slack = _SAME_LENGTH * float(np.abs(offsets).max(initial=0.0))
    moves = (np.abs(positions - offsets) > slack).any(axis=(0, 2)) | np.isin(skeleton.kinds, (2, 4))
    moves[skeleton.parents < 0] = True
    orders = tuple(completed(order) for order in skeleton.euler or ("",) * len(skeleton))
    return _Parts(skeleton, find_file_names(skeleton), offsets, positions, poses.local_rotations, moves, orders)


def _from_zero(parts: _Parts) -> _Parts:
    """Align the joint frames with the world at rest. Zero is then the rest pose, and the motion is the same.

    With W_i the world rotation of joint i at rest and W_p its parent's, the new frame is R_i W_i^-1. A rotation r
    relative to the parent becomes W_p r W_i^-1, and an offset or position o becomes W_p o. Joint positions do not
    change.
    """
    skeleton = parts.skeleton
    rest: Floats = Pose(skeleton, skeleton.rest_q).local_rotations
    turns: Floats = np.zeros_like(rest)
    above: Floats = np.zeros_like(rest)
    for i, parent in enumerate(skeleton.parents.tolist()):
        above[i] = turns[parent] if parent >= 0 else turning.IDENTITY
        turns[i] = turning.normalised(turning.multiply(above[i], rest[i]))
    across = np.broadcast_to(above, parts.rotations.shape)
    back = np.broadcast_to(turning.inverse(turns), parts.rotations.shape)
    return dataclasses.replace(
        parts,
        offsets=turning.rotate(above, parts.offsets),
        positions=turning.rotate(across, parts.positions),
        rotations=turning.multiply(turning.multiply(across, parts.rotations), back),
    )


def _scaled_positions(poses: Pose) -> Floats:
    """Compute local positions (k, n, 3) including the scale of all ancestors."""
    skeleton = poses.skeleton
    own = _uniform_scales(poses)
    above = np.ones_like(own)
    for i, parent in enumerate(skeleton.parents):
        if parent >= 0:
            above[:, i] = above[:, parent] * own[:, parent]
    return poses.local_positions * above[..., None]


def _uniform_scales(poses: Pose) -> Floats:
    """Compute one uniform scale per joint (k, n). UnsupportedError for other scales."""
    skeleton = poses.skeleton
    diagonal = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    scales = np.broadcast_to(diagonal, (len(poses), len(skeleton), 3)) if poses.scales is None else poses.scales
    first = scales[..., :1]
    uneven = (np.abs(scales - first) > _SAME_SCALE * np.abs(first)).any(axis=2) | (first[..., 0] <= 0.0)
    sheared = skeleton.B.copy()
    sheared[:, [0, 1, 2], [0, 1, 2]] = 0.0
    leads_on = np.array([bool(below) for below in skeleton.children], dtype=bool)  # a leaf's scale has no effect
    bad = (uneven.any(axis=0) & leads_on) | (np.abs(sheared) > _SAME_SCALE).any(axis=(1, 2))
    if bad.any():
        names = listed(skeleton.names[i] for i in np.flatnonzero(bad))
        message = (
            f"a BVH file cannot hold scale that is zero, mirrored or differs by axis; these joints have it: {names}; "
            "a .glb file holds it"
        )
        raise UnsupportedError(message)
    return first[..., 0]


def _is_end(parts: _Parts, i: int) -> bool:
    """Return whether a joint can be written as an End Site.

    It is a leaf called `<parent>_end` that never rotates or moves.
    """
    skeleton = parts.skeleton
    parent = int(skeleton.parents[i])
    if parent < 0 or skeleton.children[i] or parts.moves[i]:
        return False
    if not re.fullmatch(re.escape(skeleton.names[parent]) + r"_end(_\d+)?", skeleton.names[i]):
        return False
    return bool((np.abs(parts.rotations[:, i, 1:]) <= _SAME_ROTATION).all())


def _hierarchy(parts: _Parts) -> tuple[list[str], list[int]]:
    """Format the HIERARCHY block. Return its lines and the rows with channels, depth first as in the file."""
    skeleton = parts.skeleton
    lines, order = ["HIERARCHY"], list[int]()
    root = find_roots(skeleton)[0]
    stack: list[tuple[int, int, bool]] = [(root, 0, False)]
    while stack:
        i, depth, done = stack.pop()
        indent = "\t" * min(depth, _DEEPEST_INDENT)
        if done:
            lines.append(indent + "}")
            continue
        stack.append((i, depth, True))
        if _is_end(parts, i):
            lines += [indent + "End Site", indent + "{", f"{indent}\tOFFSET {_three(parts.offsets[i])}"]
            continue
        order.append(i)
        lines += _joint_lines(parts, i, indent)
        stack += [(child, depth + 1, False) for child in reversed(skeleton.children[i])]
    return lines, order


def _joint_lines(parts: _Parts, i: int, indent: str) -> list[str]:
    """Format the lines of a joint up to its children. A leaf gets an End Site at the joint itself."""
    skeleton = parts.skeleton
    word = "ROOT" if skeleton.parents[i] < 0 else "JOINT"
    turns = " ".join(f"{letter}rotation" for letter in parts.orders[i])
    channels = f"6 Xposition Yposition Zposition {turns}" if parts.moves[i] else f"3 {turns}"
    lines = [
        f"{indent}{word} {parts.names[i]}",
        indent + "{",
        f"{indent}\tOFFSET {_three(parts.offsets[i])}",
        f"{indent}\tCHANNELS {channels}",
    ]
    if not skeleton.children[i]:
        lines += [f"{indent}\t{line}" for line in ("End Site", "{", "\tOFFSET 0.0 0.0 0.0", "}")]
    return lines


def _three(values: Floats) -> str:
    return " ".join(map(repr, (values + 0.0).tolist()))


def _values(parts: _Parts, order: list[int]) -> Floats:
    """Compute motion values (k, width) in hierarchy order. Joints of one rotation order are converted together."""
    start, width = dict[int, int](), 0
    for i in order:
        start[i] = width
        width += 6 if parts.moves[i] else 3
    values = np.zeros((len(parts.positions), width))
    by_order: dict[str, list[int]] = {}
    for i in order:
        by_order.setdefault(parts.orders[i], []).append(i)
        if parts.moves[i]:
            values[:, start[i] : start[i] + 3] = parts.positions[:, i]
    for letters, rows in by_order.items():
        columns = np.array([start[i] + (3 if parts.moves[i] else 0) for i in rows])
        values[:, columns[:, None] + np.arange(3)] = degrees_of(parts.rotations[:, rows], letters)
    return values
