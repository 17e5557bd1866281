"""Node tree of a document, its skeleton and its pose.

Nodes are ordered with parents first. A = T . R and B = scale of the node, or of `extras.poise.rest` where the node
shows a pose other than rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from poise.io.gltf.accessors import unit_rows
from poise.io.gltf.json import BrokenError, Json, index, numbers
from poise.io.gltf.notes import Notes
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joints import unique_names

MOST_NODES = 65_536
_ORTHOGONAL = 1e-6  # maximum cosine between the columns of a matrix; files print about 7 digits
_WXYZ = [3, 0, 1, 2]


@dataclass(frozen=True)
class Nodes:
    """Nodes as rows with parents first.

    indices       node index of each row
    rows          row of each node index
    parents       row of the parent, -1 for a root
    translations  (n, 3); rotations (n, 4) w x y z, unit; linear (n, 3, 3): the part after the rotation
    """

    json: list[Json]
    indices: list[int]
    rows: list[int]
    names: tuple[str, ...]
    parents: list[int]
    translations: Floats
    rotations: Floats
    linear: Floats


def read_nodes(nodes: list[Json], notes: Notes) -> Nodes:
    """Order the nodes and read their names and local transforms."""
    if len(nodes) > MOST_NODES:
        raise BrokenError("nodes", f"there are {len(nodes):,}; poise reads at most {MOST_NODES:,}")
    parents = _parents(nodes)
    indices = _parents_first(nodes, parents)
    rows = [0] * len(nodes)
    for row, i in enumerate(indices):
        rows[i] = row
    given = [notes.name_of(nodes[i], f"node_{i}") for i in indices]
    names = unique_names(given)
    for old, new in zip(given, names, strict=True):
        if old != new:
            notes.add("nodes shared a name and were renamed", new)
    translations, turned, linear = _transforms(nodes, indices, notes)
    parent_rows = [rows[parents[i]] if parents[i] >= 0 else -1 for i in indices]
    return Nodes(nodes, indices, rows, names, parent_rows, translations, turned, linear)


def _parents(nodes: list[Json]) -> list[int]:
    """Find the index of each node's parent, -1 for a root."""
    parents = [-1] * len(nodes)
    for i, node in enumerate(nodes):
        children: Any = node.get("children", ())
        if not isinstance(children, list | tuple):
            raise BrokenError(f"nodes[{i}]", "its children must be a list")
        for child in cast("list[Any]", children):
            c = index(child, len(nodes), f"nodes[{i}]", "child")
            if c == i:
                raise BrokenError(f"nodes[{i}]", "is its own child")
            if parents[c] >= 0:
                twice = "twice a child of" if parents[c] == i else f"a child of node {parents[c]} and of"
                raise BrokenError(f"nodes[{c}]", f"is {twice} node {i}; a node has one parent")
            parents[c] = i
    return parents


def _parents_first(nodes: list[Json], parents: list[int]) -> list[int]:
    """Sort the nodes with parents first.

    The file's order is kept if it already is so; otherwise trees are walked from each root.
    """
    if all(parent < i for i, parent in enumerate(parents)):
        return list(range(len(nodes)))
    order: list[int] = []
    waiting = [i for i in range(len(nodes) - 1, -1, -1) if parents[i] < 0]
    while waiting:
        i = waiting.pop()
        order.append(i)
        waiting.extend(reversed(nodes[i].get("children", ())))
    if len(order) < len(nodes):
        lost = min(set(range(len(nodes))) - set(order))
        raise BrokenError(f"nodes[{lost}]", "is its own ancestor: the nodes form a cycle")
    return order


def _transforms(nodes: list[Json], indices: list[int], notes: Notes) -> tuple[Floats, Floats, Floats]:
    n = len(indices)
    translations, scales = np.zeros((n, 3)), np.ones((n, 3))
    quaternions, linear = np.zeros((n, 4)), np.zeros((n, 3, 3))
    quaternions[:, 3] = 1.0
    matrices: dict[int, Floats] = {}
    for row, i in enumerate(indices):
        node, place = nodes[i], f"nodes[{i}]"
        if "matrix" in node:
            matrices[row] = _matrix(node, place, notes)
            continue
        if "translation" in node:
            translations[row] = numbers(node["translation"], 3, place, "translation")
        if "rotation" in node:
            quaternions[row] = numbers(node["rotation"], 4, place, "rotation")
        if "scale" in node:
            scales[row] = numbers(node["scale"], 3, place, "scale")
    turned = unit_rows(quaternions[:, _WXYZ], (f"nodes[{i}]" for i in indices))
    linear[:, [0, 1, 2], [0, 1, 2]] = scales
    for row, matrix in matrices.items():
        translations[row] = matrix[:3, 3]
        turned[row], linear[row] = decomposed(matrix[:3, :3])
    return translations, turned, linear


def _matrix(node: Json, place: str, notes: Notes) -> Floats:
    matrix = np.array(numbers(node["matrix"], 16, place, "matrix")).reshape(4, 4).T
    if np.abs(matrix[3] - [0, 0, 0, 1]).max() > _ORTHOGONAL:
        raise BrokenError(place, "its matrix is not affine: the last row must be 0 0 0 1")
    if any(key in node for key in ("translation", "rotation", "scale")):
        notes.add("nodes have a matrix and a translation, rotation or scale; the matrix was used", place)
    return matrix


def decomposed(linear: Floats) -> tuple[Floats, Floats]:
    """Split a linear map into a rotation and a diagonal scale.

    The map and the scale are (3, 3), the rotation is w x y z.

    A mirrored map gets a negative first scale. A map with shear or of lower rank is no rotation times scale: it is
    returned whole, with the identity as rotation.
    """
    lengths = _lengths(linear)
    whole = np.array(rotations.IDENTITY), np.array(linear)
    if not (lengths > 0).all() or not np.isfinite(lengths).all():
        return whole
    axes = linear / lengths
    if np.abs(axes.T @ axes - np.eye(3)).max() > _ORTHOGONAL:
        return whole
    if np.linalg.det(axes) < 0:
        axes[:, 0], lengths[0] = -axes[:, 0], -lengths[0]
    return rotations.from_matrix(axes), np.diag(lengths)


def _lengths(linear: Floats) -> Floats:
    """Measure the lengths of the columns without overflow."""
    largest = np.abs(linear).max(axis=0)
    scaled = linear / np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt((scaled * scaled).sum(axis=0))
