"""Skeleton of FBX scene nodes: names, kinds, rest pose, limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise.errors import FileError, listed
from poise.io.child.ask import ChildAnswer, nonsense
from poise.io.numbers import LARGEST, LONGEST_NAME
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joints import unique_names
from poise.model.limits import EulerBox, Limit, Range, unit_axis
from poise.model.skeleton import Kind, Skeleton

WXYZ = [6, 3, 4, 5]  # columns of the quaternion in ten numbers
_XYZW = [3, 0, 1, 2]
_UPS = {"POSITIVE_X": "x", "POSITIVE_Y": "y", "POSITIVE_Z": "z"}
_ORDERS = {"XYZ": "ZYX", "XZY": "YZX", "YZX": "XZY", "YXZ": "ZXY", "ZXY": "YXZ", "ZYX": "XYZ", "SPHERIC": "ZYX"}
_UNTURNED = 1.0 - 1e-12  # |w| of a quaternion; above it the rotation is the identity
_NEAR = 1e-6  # quaternion difference; a limit exceeded by less in the rest pose is kept
_SMALL, _TALL = 0.01, 30.0  # usual size of characters [m]; a note reports others, probably in another unit


@dataclass(frozen=True)
class SceneNode:
    """A node of the scene, as the worker reports it."""

    name: str
    parent: int
    is_bone: bool
    is_solid: bool
    is_helper: bool
    is_moved: bool
    order: str


class _Limited(NamedTuple):
    """Rotation limit of a row and the frame of its angles."""

    row: int
    limit: Limit | None
    frame: Floats


def nodes_of(reply: ChildAnswer) -> list[SceneNode]:
    """Parse the nodes; FileError for a malformed reply."""
    try:
        nodes = [SceneNode(*fields) for fields in reply.header["nodes"]]
        good = all(isinstance(n.name, str) and -1 <= n.parent < i and n.order in _ORDERS for i, n in enumerate(nodes))
    except (TypeError, KeyError) as error:
        raise nonsense(reply.path) from error
    if not good:
        raise nonsense(reply.path)
    return nodes


def rest_of(reply: ChildAnswer, count: int) -> Floats:
    """Parse the local rest transforms (n, 10). FileError for numbers too large."""
    rest = reply.block(reply.header.get("rest"), (count, 10))
    if np.abs(rest).max(initial=0.0) > LARGEST:
        raise FileError(reply.path, "it holds a position or scale with a number too large")
    return rest


def build_skeleton(
    reply: ChildAnswer, nodes: list[SceneNode], rest: Floats, turning: set[int], notes: list[str]
) -> Skeleton:
    """Build the skeleton at rest (n, 10). `rotating_rows` are the rows rotated by a take."""
    kinds = _kinds(nodes, _joints(reply, nodes), turning)
    turned = rotations.normalised(rest[:, WXYZ]) if len(nodes) else np.zeros((0, 4))
    names = _names(nodes, notes)
    limits = _limits(reply, nodes, kinds)
    frames = turned.copy()  # rotations of A; with a limit, the frame of its angles
    for row, one in limits.items():
        frames[row] = frames[row] if one.limit is None else one.frame
    away = rotations.multiply(rotations.inverse(frames), turned)
    away[(frames == turned).all(axis=1)] = rotations.IDENTITY
    skeleton = Skeleton.build(
        names,
        [node.parent for node in nodes],
        kinds,
        offsets=rest[:, :3],
        rotations=frames,
        scales=rest[:, 7:],
        rest_q=away[kinds == Kind.BALL].ravel(),
        source_ids=[node.name for node in nodes],
        euler=[_ORDERS[node.order] for node in nodes],
        metres_per_unit=_unit(reply, notes),
        up=_up(reply, notes),
    )
    return _limited(skeleton, limits, notes)


def _joints(reply: ChildAnswer, nodes: list[SceneNode]) -> set[int]:
    """Find the rows of bones and of joints of skins."""
    skinned = {row for skin in reply.header.get("skins", ()) for row in skin["joints"]}
    return {row for row, node in enumerate(nodes) if node.is_bone} | skinned


def _kinds(nodes: list[SceneNode], joints: set[int], turning: set[int]) -> np.ndarray:
    """Choose joint kinds.

    Bones, skin joints and rotated nodes are balls, and so are nodes below one unless solid or a helper.
    """
    kinds = np.full(len(nodes), int(Kind.FIXED))
    below = np.zeros(len(nodes), dtype=np.bool_)
    parents = {node.parent for node in nodes}
    for row, node in enumerate(nodes):
        below[row] = node.parent >= 0 and (below[node.parent] or node.parent in joints)
        inner = below[row] if joints else row in parents
        if row in joints or row in turning or (inner and not (node.is_solid or node.is_helper)):
            kinds[row] = Kind.BALL
    return kinds


def _names(nodes: list[SceneNode], notes: list[str]) -> list[str]:
    """Choose unique names. A helper with its parent's scale is named after the parent."""
    wanted: list[str] = []
    for row, node in enumerate(nodes):
        own = f"{wanted[node.parent]}_scale" if node.is_helper else node.name[:LONGEST_NAME]
        wanted.append(own or f"joint_{row}")
    names = list(unique_names(wanted))
    again = [
        new
        for new, old, node in zip(names, wanted, nodes, strict=True)
        if new != old or not (node.name or node.is_helper)
    ]
    if again:
        notes.append(f"nodes without a name or with a duplicate name were renamed: {listed(again)}")
    helpers = [names[node.parent] for node in nodes if node.is_helper]
    if helpers:
        notes.append(
            f"scale with a non-standard inheritance was moved to fixed joints NAME_scale of its own: {listed(helpers)}"
        )
    moved = [name for name, node in zip(names, nodes, strict=True) if node.is_moved]
    if moved:
        notes.append(f"nodes rotate about a pivot away from their origin; their joint is at the pivot: {listed(moved)}")
    return names


# --- limits --------------------------------------------------------------------------------------


def _limits(reply: ChildAnswer, nodes: list[SceneNode], kinds: np.ndarray) -> dict[int, _Limited]:
    """Parse the limits of rotating rows. A post-rotation in between leaves the limit out."""
    try:
        found = [_limit(told, nodes) for told in reply.header.get("limits", ())]
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise nonsense(reply.path) from error
    return {one.row: one for one in found if kinds[one.row] == Kind.BALL}


def _limit(told: dict[str, Any], nodes: list[SceneNode]) -> _Limited:
    """Parse one limit; two angles held at zero make a hinge.

    None for an empty limit, or one without a frame of its own.
    """
    row = range(len(nodes))[told["row"]]
    pre, post = (rotations.normalised(np.array(told[name], dtype=np.float64)[_XYZW]) for name in ("pre", "post"))
    ends: list[tuple[float, float]] = []
    for axis in range(3):
        low = math.radians(told["low"][axis]) if told["on"][axis] else -math.inf
        high = math.radians(told["high"][axis]) if told["on"][axis + 3] else math.inf
        ends.append((low, high))
    if abs(post[0]) < _UNTURNED or any(not low <= high for low, high in ends):
        return _Limited(row, None, pre)
    free = [axis for axis in range(3) if ends[axis] != (0.0, 0.0)]
    if len(free) == 1:
        return _Limited(row, Range(*ends[free[0]], axis=unit_axis(np.eye(3)[free[0]]), source="file"), pre)
    order = _ORDERS[nodes[row].order]
    return _Limited(row, EulerBox(order, x=ends[0], y=ends[1], z=ends[2], source="file"), pre)


def _limited(skeleton: Skeleton, given: dict[int, _Limited], notes: list[str]) -> Skeleton:
    """Apply limits satisfied by the rest pose. The rest pose does not change."""
    limits = {skeleton.names[row]: one.limit for row, one in given.items()}
    legal: dict[str, Limit | None] = {name: limit for name, limit in limits.items() if limit is not None}
    moved = np.abs(skeleton.limited(legal).rest_q - skeleton.rest_q)
    legal = {name: limit for name, limit in legal.items() if moved[skeleton.q_slice(name)].max() <= _NEAR}
    left_out = [name for name in limits if name not in legal]
    if left_out:
        notes.append(
            f"rotation limits were left out because they are empty, the rest pose breaks them or they have a "
            f"post-rotation: {listed(left_out)}"
        )
    return skeleton.limited(legal)


# --- units ---------------------------------------------------------------------------------------


def _unit(reply: ChildAnswer, notes: list[str]) -> float | None:
    unit = reply.header.get("unit")
    if isinstance(unit, float | int) and math.isfinite(unit) and 0.0 < unit < LARGEST:
        return float(unit)
    notes.append("the unit of the file is not a positive length; it is treated as unknown")
    return None


def _up(reply: ChildAnswer, notes: list[str]) -> str | None:
    axes = [str(axis) for axis in reply.header.get("axes", ())]
    if len(axes) != 3:  # noqa: PLR2004  (right, up, front)
        raise nonsense(reply.path)
    if any(axis not in _SIGNED for axis in axes):
        notes.append("the file does not define its right, up and front axes; the up axis is treated as unknown")
        return None
    if np.linalg.det([_SIGNED[axis] for axis in axes]) < 0:
        notes.append("the file's axes are left-handed; numbers are kept, so left and right are mirrored")
    if axes[1] not in _UPS:
        notes.append(f"the file's up axis is {axes[1].replace('NEGATIVE_', '-').lower()}; it is treated as unknown")
    return _UPS.get(axes[1])


_SIGNED = {
    f"{sign}_{letter}": (np.eye(3)[k] * value).tolist()
    for k, letter in enumerate("XYZ")
    for sign, value in (("POSITIVE", 1.0), ("NEGATIVE", -1.0))
}


def note_of_size(skeleton: Skeleton, positions: Floats, bones: list[int]) -> list[str]:
    """Check the size of the bones' box. Return a note where it is smaller or larger, in the unit of the file."""
    if skeleton.metres_per_unit is None or len(bones) < 2:  # noqa: PLR2004  (one point has no size)
        return []
    size = float(np.ptp(positions[bones], axis=0).max()) * skeleton.metres_per_unit
    if _SMALL <= size <= _TALL or size == 0.0:
        return []
    unit = f"{skeleton.metres_per_unit:g} m"
    return [f"with the file's unit ({unit}) the bones span {size:.3g} m; it was probably written with another scale"]
