"""Vertices of glTF meshes bound to a joint, in the joint's frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from poise.errors import FileError
from poise.io.gltf.accessors import Accessors
from poise.io.gltf.buffers import Buffers
from poise.io.gltf.container import GltfDocument
from poise.io.gltf.json import BrokenError, Json, index, mapping, objects
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

_MOST = 0.5  # minimum share of a vertex's weights for the vertex to belong to the joint


def carried_vertices(skeleton: Skeleton, source: GltfDocument, row: int) -> Floats:
    """Find the vertices (k, 3) bound to a joint. A skinned vertex belongs to the joint with half of its weight or more.

    Where no skin is bound to the joint, they are those of meshes attached to it, not below another moving joint.
    FileError for a mesh that cannot be read, such as a compressed one.
    """
    document = source.container.json
    buffers = Buffers(objects(document, "buffers"), source.container, source.path.parent)
    accessors = Accessors(document, buffers, ())
    try:
        skinned = [*_skinned(document, accessors, int(str(skeleton.source_ids[row])))]
        found = skinned or [*_hanging(document, accessors, skeleton, row)]
    except BrokenError as error:
        raise FileError(source.path, error.reason, place=error.place) from error
    return np.concatenate([np.zeros((0, 3)), *found])


def _skinned(document: Json, accessors: Accessors, node: int) -> Iterator[Floats]:
    skins, meshes = objects(document, "skins"), objects(document, "meshes")
    for number, each in enumerate(objects(document, "nodes")):
        if "mesh" not in each or "skin" not in each:
            continue
        place = f"nodes[{number}]"
        skin = skins[index(each["skin"], len(skins), place, "skin")]
        joints = skin.get("joints")
        if not isinstance(joints, list) or node not in joints:
            continue
        bound = np.eye(4)
        if "inverseBindMatrices" in skin:
            matrices = _numbers(accessors, skin["inverseBindMatrices"], 16, place)
            bound = matrices[joints.index(node)].reshape(4, 4).T
        mesh = index(each["mesh"], len(meshes), place, "mesh")
        for i, primitive in enumerate(objects(meshes[mesh], "primitives", f"meshes[{mesh}]")):
            points = _own(accessors, primitive, joints.index(node), f"meshes[{mesh}].primitives[{i}]")
            if len(points):
                yield points @ bound[:3, :3].T + bound[:3, 3]


def _own(accessors: Accessors, primitive: Json, joint: int, place: str) -> Floats:
    """Select the vertices (k, 3) of a primitive bound to a joint. They are in the frame of the mesh."""
    attributes = mapping(primitive, "attributes", place)
    if "POSITION" not in attributes:
        return np.zeros((0, 3))
    points = _numbers(accessors, attributes["POSITION"], 3, place)
    whole, own = np.zeros(len(points)), np.zeros(len(points))
    for i in range(len(attributes)):
        if f"JOINTS_{i}" not in attributes or f"WEIGHTS_{i}" not in attributes:
            break
        weights = _numbers(accessors, attributes[f"WEIGHTS_{i}"], 4, place, len(points))
        joints = _numbers(accessors, attributes[f"JOINTS_{i}"], 4, place, len(points))
        whole += weights.sum(axis=1)
        own += (weights * (joints == joint)).sum(axis=1)
    return points[(own > 0.0) & (own >= _MOST * whole)]


def _hanging(document: Json, accessors: Accessors, skeleton: Skeleton, row: int) -> Iterator[Floats]:
    nodes, meshes = objects(document, "nodes"), objects(document, "meshes")
    world = Pose(skeleton, skeleton.rest_q).world.matrices
    for below, number in enumerate(skeleton.source_ids):
        node, way = nodes[int(str(number))], skeleton.way(below)
        if "mesh" not in node or "skin" in node or row not in way:
            continue
        if (skeleton.kinds[way[way.index(row) + 1 :]] != Kind.FIXED).any():
            continue
        mesh = index(node["mesh"], len(meshes), f"nodes[{number}]", "mesh")
        to_joint = np.linalg.inv(world[row]) @ world[below]
        for i, primitive in enumerate(objects(meshes[mesh], "primitives", f"meshes[{mesh}]")):
            place = f"meshes[{mesh}].primitives[{i}]"
            attributes = mapping(primitive, "attributes", place)
            if "POSITION" in attributes:
                points = _numbers(accessors, attributes["POSITION"], 3, place)
                yield points @ to_joint[:3, :3].T + to_joint[:3, 3]


def _numbers(accessors: Accessors, number: object, components: int, place: str, count: int | None = None) -> Floats:
    """Read the numbers (count, components) of an accessor."""
    i = index(number, len(accessors), place, "accessor")
    layout = accessors.layout(i)
    if layout.components != components or (count is not None and layout.elements != count):
        raise BrokenError(place, f"accessors[{i}] does not fit: it has {layout.elements} x {layout.components} numbers")
    return accessors.floats([i])[i]
