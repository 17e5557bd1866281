"""Node tree of a document, its skeleton and its pose.

Nodes are ordered with parents first. A = T . R and B = scale of the node, or of `extras.poise.rest` where the node
shows a pose other than rest.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from poise.errors import InputError
from poise.io.gltf.accessors import normalise_quaternions
from poise.io.gltf.json_checks import BrokenError, Json, NoteCollector, check_index, read_numbers
from poise.io.gltf.node_extras import NodeExtras, NodeRest
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.model.joints import make_unique_names
from poise.model.limits import Limit, Range
from poise.model.pose import Pose
from poise.model.skeleton import Coupling, Kind, Skeleton

MAX_NODES = 65_536
_MAX_COLUMN_COSINE = 1e-6  # maximum cosine between the columns of a matrix; files print about 7 digits
_WXYZ = [3, 0, 1, 2]


@dataclass(frozen=True)
class NodeTree:
    """Nodes as rows with parents first.

    indices       node index of each row
    rows          row of each node index
    parents       row of the parent, -1 for a root
    translations  (n, 3); rotations (n, 4) w x y z, unit; linear (n, 3, 3): the part after the rotation
    """

    node_objects: list[Json]
    indices: list[int]
    rows: list[int]
    names: tuple[str, ...]
    parents: list[int]
    translations: Floats
    rotations: Floats
    linear: Floats


def read_nodes(nodes: list[Json], notes: NoteCollector) -> NodeTree:
    """Order the nodes and read their names and local transforms."""
    if len(nodes) > MAX_NODES:
        raise BrokenError("nodes", f"there are {len(nodes):,}; poise reads at most {MAX_NODES:,}")
    parents = _find_parents(nodes)
    indices = _sort_parents_first(nodes, parents)
    rows = [0] * len(nodes)
    for row, i in enumerate(indices):
        rows[i] = row
    raw_names = [notes.read_name(nodes[i], f"node_{i}") for i in indices]
    names = make_unique_names(raw_names)
    for old, new in zip(raw_names, names, strict=True):
        if old != new:
            notes.add("nodes shared a name and were renamed", new)
    translations, quaternions, linear = _read_transforms(nodes, indices, notes)
    parent_rows = [rows[parents[i]] if parents[i] >= 0 else -1 for i in indices]
    return NodeTree(nodes, indices, rows, names, parent_rows, translations, quaternions, linear)


def _find_parents(nodes: list[Json]) -> list[int]:
    """Find the index of each node's parent, -1 for a root."""
    parents = [-1] * len(nodes)
    for i, node in enumerate(nodes):
        children: Any = node.get("children", ())
        if not isinstance(children, list | tuple):
            raise BrokenError(f"nodes[{i}]", "its children must be a list")
        for child in cast("list[Any]", children):
            child_index = check_index(child, len(nodes), f"nodes[{i}]", "child")
            if child_index == i:
                raise BrokenError(f"nodes[{i}]", "is its own child")
            if parents[child_index] >= 0:
                conflict = (
                    "twice a child of"
                    if parents[child_index] == i
                    else f"a child of node {parents[child_index]} and of"
                )
                raise BrokenError(f"nodes[{child_index}]", f"is {conflict} node {i}; a node has one parent")
            parents[child_index] = i
    return parents


def _sort_parents_first(nodes: list[Json], parents: list[int]) -> list[int]:
    """Sort the nodes with parents first.

    The file's order is kept if it already is so; otherwise trees are walked from each root.
    """
    if all(parent < i for i, parent in enumerate(parents)):
        return list(range(len(nodes)))
    order: list[int] = []
    stack = [i for i in range(len(nodes) - 1, -1, -1) if parents[i] < 0]
    while stack:
        i = stack.pop()
        order.append(i)
        stack.extend(reversed(nodes[i].get("children", ())))
    if len(order) < len(nodes):
        lost_index = min(set(range(len(nodes))) - set(order))
        raise BrokenError(f"nodes[{lost_index}]", "is its own ancestor: the nodes form a cycle")
    return order


def _read_transforms(nodes: list[Json], indices: list[int], notes: NoteCollector) -> tuple[Floats, Floats, Floats]:
    n = len(indices)
    translations, scales = np.zeros((n, 3)), np.ones((n, 3))
    quaternions, linear = np.zeros((n, 4)), np.zeros((n, 3, 3))
    quaternions[:, 3] = 1.0
    matrices: dict[int, Floats] = {}
    for row, i in enumerate(indices):
        node, place = nodes[i], f"nodes[{i}]"
        if "matrix" in node:
            matrices[row] = _read_matrix(node, place, notes)
            continue
        if "translation" in node:
            translations[row] = read_numbers(node["translation"], 3, place, "translation")
        if "rotation" in node:
            quaternions[row] = read_numbers(node["rotation"], 4, place, "rotation")
        if "scale" in node:
            scales[row] = read_numbers(node["scale"], 3, place, "scale")
    unit_quaternions = normalise_quaternions(quaternions[:, _WXYZ], (f"nodes[{i}]" for i in indices))
    linear[:, [0, 1, 2], [0, 1, 2]] = scales
    for row, matrix in matrices.items():
        translations[row] = matrix[:3, 3]
        unit_quaternions[row], linear[row] = decompose_linear(matrix[:3, :3])
    return translations, unit_quaternions, linear


def _read_matrix(node: Json, place: str, notes: NoteCollector) -> Floats:
    matrix = np.array(read_numbers(node["matrix"], 16, place, "matrix")).reshape(4, 4).T
    if np.abs(matrix[3] - [0, 0, 0, 1]).max() > _MAX_COLUMN_COSINE:
        raise BrokenError(place, "its matrix is not affine: the last row must be 0 0 0 1")
    if any(key in node for key in ("translation", "rotation", "scale")):
        notes.add("nodes have a matrix and a translation, rotation or scale; the matrix was used", place)
    return matrix


def decompose_linear(linear: Floats) -> tuple[Floats, Floats]:
    """Split a linear map into a rotation and a diagonal scale.

    The map and the scale are (3, 3), the rotation is w x y z.

    A mirrored map gets a negative first scale. A map with shear or of lower rank is no rotation times scale: it is
    returned whole, with the identity as rotation.
    """
    lengths = _measure_columns(linear)
    fallback = np.array(rotations.IDENTITY), np.array(linear)
    if not (lengths > 0).all() or not np.isfinite(lengths).all():
        return fallback
    axes = linear / lengths
    if np.abs(axes.T @ axes - np.eye(3)).max() > _MAX_COLUMN_COSINE:
        return fallback
    if np.linalg.det(axes) < 0:
        axes[:, 0], lengths[0] = -axes[:, 0], -lengths[0]
    return rotations.from_matrix(axes), np.diag(lengths)


def _measure_columns(linear: Floats) -> Floats:
    """Measure the lengths of the columns without overflow."""
    max_entries = np.abs(linear).max(axis=0)
    scaled_columns = linear / np.where(max_entries > 0, max_entries, 1.0)
    return max_entries * np.sqrt((scaled_columns * scaled_columns).sum(axis=0))


# --- Skeleton and displayed pose of the nodes ------------------------------------------------------------------------
#
# A = T . R and B = scale of the node, or of `extras.poise.rest` where the node shows a pose other than rest.


_SOLID_KEYS = ("mesh", "camera")
_MAX_VALUE_CHANGE = (
    1e-9  # [rad or file units] a stored value with a larger difference from the node was edited elsewhere
)


class SkeletonReading(NamedTuple):
    """Skeleton, displayed pose, and rest before limits."""

    skeleton: Skeleton
    pose: Pose
    rest_q: Floats


def build_skeleton(
    nodes: NodeTree,
    joint_nodes: set[int],
    rotating_nodes: set[int],
    extras_by_node: dict[int, NodeExtras],
    notes: NoteCollector,
) -> SkeletonReading:
    """Build the skeleton. `joint_nodes` are node indices of skins, `rotating_nodes` those with animated rotations."""
    extras = {nodes.rows[i]: value for i, value in extras_by_node.items()}
    kinds = _find_kinds(nodes, joint_nodes, rotating_nodes, extras)
    couplings = _build_couplings(nodes, kinds, extras, notes)
    A, B = _build_rest_transforms(nodes, kinds, extras)  # noqa: N806  (the letters of the formula)
    skeleton = Skeleton.build(
        nodes.names,
        nodes.parents,
        kinds.tolist(),
        offsets=A[:, :3],
        rotations=A[:, 3:],
        axes=_build_axes(len(kinds), extras),
        couplings=couplings,
        source_ids=nodes.indices,
        euler=[extras[row].euler_order if row in extras else "" for row in range(len(kinds))],
        metres_per_unit=1.0,
        up="y",
    )
    skeleton.B.setflags(write=True)
    skeleton.B[:, :, :3] = B
    skeleton.B.setflags(write=False)
    rest_q = _build_rest_q(skeleton, nodes, extras)
    skeleton = dataclasses.replace(skeleton, rest_q=_apply_stored_rest(skeleton, rest_q, extras))
    skeleton = _apply_limits(skeleton, extras, notes)
    return SkeletonReading(skeleton, _build_pose(skeleton, nodes, extras, rest_q), rest_q)


def _build_axes(count: int, extras: dict[int, NodeExtras]) -> Floats:
    axes = np.zeros((count, 3))
    for row, joint_extras in extras.items():
        if joint_extras.axis is not None:
            axes[row] = joint_extras.axis
    return axes


def _find_kinds(
    nodes: NodeTree, joint_nodes: set[int], rotating_nodes: set[int], extras: dict[int, NodeExtras]
) -> np.ndarray:
    """Find the joint kinds.

    Joints of skins, animated nodes and inner nodes are balls; the kinds in `extras` take precedence.
    """
    n = len(nodes.parents)
    is_below_joint: Bools = np.zeros(n, dtype=np.bool_)
    parent_rows = set(nodes.parents)
    kinds = np.full(n, int(Kind.FIXED))
    for row, i in enumerate(nodes.indices):
        parent = nodes.parents[row]
        is_below_joint[row] = parent >= 0 and (is_below_joint[parent] or nodes.indices[parent] in joint_nodes)
        is_solid = any(key in nodes.node_objects[i] for key in _SOLID_KEYS)
        is_inner = is_below_joint[row] and not is_solid if joint_nodes else row in parent_rows or not is_solid
        if i in joint_nodes or i in rotating_nodes or is_inner:
            kinds[row] = Kind.BALL
        if row in extras and extras[row].kind is not None:
            kinds[row] = extras[row].kind
        if i in rotating_nodes and kinds[row] in (Kind.FIXED, Kind.SLIDE):
            kinds[row] = Kind.BALL  # its rotation is animated, so the stored kind is ignored
    return kinds


def _build_couplings(
    nodes: NodeTree, kinds: np.ndarray, extras: dict[int, NodeExtras], notes: NoteCollector
) -> list[Coupling | None]:
    """Build couplings to leaders with one number of their own. Others are ignored with a note."""
    couplings: list[Coupling | None] = [None] * len(kinds)
    scalar_kinds = (Kind.HINGE, Kind.SLIDE)
    for row, joint_extras in extras.items():
        if joint_extras.coupling is None:
            continue
        leader = nodes.rows[joint_extras.coupling.leader]
        is_valid_leader = leader in extras and extras[leader].coupling is None and kinds[leader] in scalar_kinds
        if is_valid_leader and kinds[row] in scalar_kinds:
            couplings[row] = joint_extras.coupling._replace(leader=leader)
        else:
            notes.add("a coupling in extras.poise has no valid leader and was ignored", nodes.names[row])
    return couplings


def _build_rest_transforms(nodes: NodeTree, kinds: np.ndarray, extras: dict[int, NodeExtras]) -> tuple[Floats, Floats]:
    """Build the rest transforms. They are A (n, 7) and the linear part of B (n, 3, 3)."""
    A = np.concatenate([nodes.translations, nodes.rotations], axis=1)  # noqa: N806
    B = nodes.linear.copy()  # noqa: N806
    for row, rest in _list_rests(extras):
        A[row] = [*rest.translation, *rest.rotation]
        if rest.scale is not None:
            B[row] = np.diag(rest.scale)
    A[kinds == Kind.FIXED, 3:] = nodes.rotations[kinds == Kind.FIXED]  # a fixed joint has no q for another rotation
    A[kinds == Kind.FREE] = [0, 0, 0, 1, 0, 0, 0]
    return A, B


def _list_rests(extras: dict[int, NodeExtras]) -> list[tuple[int, NodeRest]]:
    return [(row, joint_extras.rest) for row, joint_extras in extras.items() if joint_extras.rest is not None]


def _build_rest_q(skeleton: Skeleton, nodes: NodeTree, extras: dict[int, NodeExtras]) -> Floats:
    """Build the zero pose. Free joints are at their rest."""
    q = skeleton.zero_q()
    for row in _select_kind(skeleton, Kind.FREE):
        rest = extras[row].rest if row in extras else None
        placement = (rest.translation, rest.rotation) if rest else (nodes.translations[row], nodes.rotations[row])
        start = int(skeleton.q_start[row])
        q[start : start + 7] = np.concatenate(placement)
    return q


def _apply_stored_rest(skeleton: Skeleton, rest_q: Floats, extras: dict[int, NodeExtras]) -> Floats:
    """Apply the stored `rest.q` of joints. It needs as many numbers as the joint."""
    q = rest_q.copy()
    for row, rest in _list_rests(extras):
        kind, start = Kind(int(skeleton.kinds[row])), int(skeleton.q_start[row])
        if rest.q is None or len(rest.q) != kind.nq or skeleton.couplings[row] is not None:
            continue
        values = np.array(rest.q)
        if kind in (Kind.BALL, Kind.FREE):
            if not values[-4:].any():
                continue
            values[-4:] = normalise_quaternions(values[None, -4:])[0]
        q[start : start + kind.nq] = values
    return q


def _apply_limits(skeleton: Skeleton, extras: dict[int, NodeExtras], notes: NoteCollector) -> Skeleton:
    """Apply the limits to joints of fitting kinds."""
    limits: dict[str, Limit | None] = {}
    for row, joint_extras in extras.items():
        if joint_extras.limit is None:
            continue
        is_ball = skeleton.kinds[row] in (Kind.BALL, Kind.FREE)
        is_ball_limit = not isinstance(joint_extras.limit, Range) or joint_extras.limit.axis is not None
        if skeleton.kinds[row] == Kind.FIXED or is_ball != is_ball_limit:
            notes.add("a limit in extras.poise does not fit its joint and was ignored", skeleton.names[row])
        else:
            limits[skeleton.names[row]] = joint_extras.limit
    try:
        return skeleton.with_limits(limits)
    except InputError as error:
        notes.add(f"the limits in extras.poise contradict each other and were ignored: {error}")
        return skeleton


# --- the pose that the nodes show ----------------------------------------------------------------


def _build_pose(skeleton: Skeleton, nodes: NodeTree, extras: dict[int, NodeExtras], rest_q: Floats) -> Pose:
    q = rest_q.copy()
    local_rotations = _compute_local_rotations(skeleton, nodes)
    balls = _select_kind(skeleton, Kind.BALL)
    q[skeleton.q_start[balls][:, None] + np.arange(4)] = local_rotations[balls]
    for row in _select_kind(skeleton, Kind.FREE):
        start = int(skeleton.q_start[row])
        q[start : start + 7] = [*nodes.translations[row], *nodes.rotations[row]]
    for row in [*_select_kind(skeleton, Kind.HINGE), *_select_kind(skeleton, Kind.SLIDE)]:
        if skeleton.couplings[row] is None:
            value = compute_joint_values(skeleton, row, local_rotations[row], nodes.translations[row])
            q[skeleton.q_start[row]] = _prefer_stored_value(skeleton, row, float(value), extras.get(row))
    return Pose(skeleton, q, _find_translations(skeleton, nodes, q), _find_scales(skeleton, nodes))


def _compute_local_rotations(skeleton: Skeleton, nodes: NodeTree) -> Floats:
    """Compute rotations (n, 4) from A to the node. Equal rotations give exactly the identity."""
    rest_rotations = skeleton.A[:, 3:]
    local_rotations = rotations.multiply(rotations.inverse(rest_rotations), nodes.rotations)
    is_same = (rest_rotations == nodes.rotations).all(axis=1)
    return np.where(is_same[:, None], rotations.IDENTITY, local_rotations)


def compute_joint_values(skeleton: Skeleton, row: int, local_rotations: Floats, translations: Floats) -> Floats:
    """Compute the values (...) of a hinge or slide.

    Inputs are rotations (..., 4) after A and translations (..., 3) of its node.
    """
    axis, rest_transform = skeleton.axes[row], skeleton.A[row]
    if skeleton.kinds[row] == Kind.HINGE:
        return rotations.twist_angle(local_rotations, axis)
    return (translations - rest_transform[:3]) @ rotations.rotate(rest_transform[3:], axis)


def _prefer_stored_value(skeleton: Skeleton, row: int, value: float, joint_extras: NodeExtras | None) -> float:
    """Prefer the stored value if the node still shows it. The stored value has the full turns and all digits."""
    if joint_extras is None or joint_extras.joint_value is None:
        return value
    difference = joint_extras.joint_value - value
    if skeleton.kinds[row] == Kind.HINGE:
        difference = math.remainder(difference, 2 * math.pi)
    return joint_extras.joint_value if abs(difference) <= _MAX_VALUE_CHANGE * max(1.0, abs(value)) else value


def _find_translations(skeleton: Skeleton, nodes: NodeTree, q: Floats) -> Floats | None:
    """Find the nodes' translations unless A and q give all of them."""
    expected = skeleton.A[:, :3].copy()
    for row in _select_kind(skeleton, Kind.FREE):
        expected[row] = nodes.translations[row]
    is_moved = (expected != nodes.translations).any(axis=1)
    for row in _select_kind(skeleton, Kind.SLIDE):
        ratio, offset = skeleton.coupling_rows[row]
        distance = ratio * q[skeleton.q_start[row]] + offset
        position = expected[row] + rotations.rotate(skeleton.A[row, 3:], skeleton.axes[row] * distance)
        tolerance = _MAX_VALUE_CHANGE * max(1.0, np.abs(position).max())
        is_moved[row] = np.abs(position - nodes.translations[row]).max() > tolerance
    return nodes.translations if is_moved.any() else None


def _find_scales(skeleton: Skeleton, nodes: NodeTree) -> Floats | None:
    if np.array_equal(skeleton.B[:, :, :3], nodes.linear):
        return None
    return np.diagonal(nodes.linear, axis1=1, axis2=2).copy()


def _select_kind(skeleton: Skeleton, kind: Kind) -> list[int]:
    return np.flatnonzero(skeleton.kinds == kind).tolist()
