"""Bone ends without an end joint, from meshes and link shapes.

Examples are a hand without fingers, a head, and the last link of an arm.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import FileError, InputError, UnsupportedError
from poise.io.gltf.accessors import Accessors
from poise.io.gltf.container import Buffers
from poise.io.gltf.json_checks import BrokenError, Json, check_index, read_object, read_objects
from poise.io.gltf.source_document import GltfDocument
from poise.io.text_parsing import parse_number, quote_excerpt
from poise.io.urdf_xml import Attributes, UrdfDocument, Visual, parse_visuals
from poise.maths import euler, rotations
from poise.maths.arrays import Floats, abbreviate
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton

# --- Vertices of glTF meshes bound to a joint, in the joint's frame --------------------------------------------------


_MIN_WEIGHT_SHARE = 0.5  # minimum share of a vertex's weights for the vertex to belong to the joint


def find_joint_vertices(skeleton: Skeleton, source: GltfDocument, row: int) -> Floats:
    """Find the vertices (k, 3) bound to a joint. A skinned vertex belongs to the joint with half of its weight or more.

    Where no skin is bound to the joint, they are those of meshes attached to it, not below another moving joint.
    FileError for a mesh that cannot be read, such as a compressed one.
    """
    document = source.container.json
    buffers = Buffers(read_objects(document, "buffers"), source.container, source.path.parent)
    accessors = Accessors(document, buffers, ())
    try:
        skinned = [*_iterate_skinned_vertices(document, accessors, int(str(skeleton.source_ids[row])))]
        vertex_arrays = skinned or [*_iterate_attached_vertices(document, accessors, skeleton, row)]
    except BrokenError as error:
        raise FileError(source.path, error.reason, place=error.place) from error
    return np.concatenate([np.zeros((0, 3)), *vertex_arrays])


def _iterate_skinned_vertices(document: Json, accessors: Accessors, joint_node: int) -> Iterator[Floats]:
    skins, meshes = read_objects(document, "skins"), read_objects(document, "meshes")
    for node_index, node_object in enumerate(read_objects(document, "nodes")):
        if "mesh" not in node_object or "skin" not in node_object:
            continue
        place = f"nodes[{node_index}]"
        skin = skins[check_index(node_object["skin"], len(skins), place, "skin")]
        joints = skin.get("joints")
        if not isinstance(joints, list) or joint_node not in joints:
            continue
        bind_matrix = np.eye(4)
        if "inverseBindMatrices" in skin:
            matrices = _read_accessor(accessors, skin["inverseBindMatrices"], 16, place)
            bind_matrix = matrices[joints.index(joint_node)].reshape(4, 4).T
        mesh = check_index(node_object["mesh"], len(meshes), place, "mesh")
        for i, primitive in enumerate(read_objects(meshes[mesh], "primitives", f"meshes[{mesh}]")):
            points = _select_bound_vertices(
                accessors, primitive, joints.index(joint_node), f"meshes[{mesh}].primitives[{i}]"
            )
            if len(points):
                yield points @ bind_matrix[:3, :3].T + bind_matrix[:3, 3]


def _select_bound_vertices(accessors: Accessors, primitive: Json, skin_slot: int, place: str) -> Floats:
    """Select the vertices (k, 3) of a primitive bound to a joint. They are in the frame of the mesh."""
    attributes = read_object(primitive, "attributes", place)
    if "POSITION" not in attributes:
        return np.zeros((0, 3))
    points = _read_accessor(accessors, attributes["POSITION"], 3, place)
    total_weight, joint_weight = np.zeros(len(points)), np.zeros(len(points))
    for i in range(len(attributes)):
        if f"JOINTS_{i}" not in attributes or f"WEIGHTS_{i}" not in attributes:
            break
        weights = _read_accessor(accessors, attributes[f"WEIGHTS_{i}"], 4, place, len(points))
        joints = _read_accessor(accessors, attributes[f"JOINTS_{i}"], 4, place, len(points))
        total_weight += weights.sum(axis=1)
        joint_weight += (weights * (joints == skin_slot)).sum(axis=1)
    return points[(joint_weight > 0.0) & (joint_weight >= _MIN_WEIGHT_SHARE * total_weight)]


def _iterate_attached_vertices(document: Json, accessors: Accessors, skeleton: Skeleton, row: int) -> Iterator[Floats]:
    nodes, meshes = read_objects(document, "nodes"), read_objects(document, "meshes")
    world = Pose(skeleton, skeleton.rest_q).world.matrices
    for mesh_row, node_index in enumerate(skeleton.source_ids):
        node, path = nodes[int(str(node_index))], skeleton.list_path(mesh_row)
        if "mesh" not in node or "skin" in node or row not in path:
            continue
        if (skeleton.kinds[path[path.index(row) + 1 :]] != Kind.FIXED).any():
            continue
        mesh = check_index(node["mesh"], len(meshes), f"nodes[{node_index}]", "mesh")
        joint_from_mesh = np.linalg.inv(world[row]) @ world[mesh_row]
        for i, primitive in enumerate(read_objects(meshes[mesh], "primitives", f"meshes[{mesh}]")):
            place = f"meshes[{mesh}].primitives[{i}]"
            attributes = read_object(primitive, "attributes", place)
            if "POSITION" in attributes:
                points = _read_accessor(accessors, attributes["POSITION"], 3, place)
                yield points @ joint_from_mesh[:3, :3].T + joint_from_mesh[:3, 3]


def _read_accessor(
    accessors: Accessors, accessor_index: object, components: int, place: str, count: int | None = None
) -> Floats:
    """Read the numbers (count, components) of an accessor."""
    i = check_index(accessor_index, len(accessors), place, "accessor")
    layout = accessors.find_accessor(i)
    if layout.component_count != components or (count is not None and layout.element_count != count):
        raise BrokenError(
            place, f"accessors[{i}] does not fit: it has {layout.element_count} x {layout.component_count} numbers"
        )
    return accessors.decode([i])[i]


# --- Extents of URDF link shapes: boxes, cylinders, spheres and capsules ---------------------------------------------


class LinkShape(NamedTuple):
    """Shape in the frame of its link. It has a centre (3,), and the half size (3,) of a box in axes (3, 3).

    `ball_radius` is the radius of a ball swept over the box, `disc_radius` that of a disc flat in z: a sphere is a
    point with a ball, a capsule a line with a ball, a cylinder a line with a disc.
    """

    centre: Floats
    axes: Floats
    half_extents: Floats
    ball_radius: float
    disc_radius: float

    def measure_reach(self, direction: Floats) -> float:
        """Measure its extent along a unit vector from the link's origin."""
        along = direction @ self.axes
        disc = self.disc_radius * float(np.hypot(along[0], along[1]))
        return float(self.centre @ direction + np.abs(along) @ self.half_extents) + disc + self.ball_radius


def read_link_shapes(skeleton: Skeleton, source: UrdfDocument, row: int, path: Path) -> list[LinkShape]:
    """Read the primitive shapes of the link in a row. Meshes are left out. FileError for bad numbers."""
    visuals = parse_visuals(path, source.data)
    link = str(skeleton.source_ids[0]) if row == 0 else visuals.link_by_joint.get(skeleton.names[row], "")
    try:
        shapes = [build_link_shape(visual) for visual in visuals.visuals_by_link.get(link, [])]
    except ValueError as error:
        raise FileError(path, f"the visual shapes of link {quote_excerpt(link)} cannot be read: {error}") from error
    return [shape for shape in shapes if shape is not None]


def build_link_shape(visual: Visual) -> LinkShape | None:
    """Build the shape of an element. None for a mesh; ValueError for bad numbers."""
    axes, centre = _read_origin(visual)
    zero_vector = np.zeros(3)
    if visual.shape == "box":
        return LinkShape(centre, axes, 0.5 * np.array(_read_sizes(visual.attributes, "size", 3)), 0.0, 0.0)
    if visual.shape not in ("cylinder", "sphere", "capsule"):
        return None
    radius = _read_sizes(visual.attributes, "radius", 1)[0]
    if visual.shape == "sphere":
        return LinkShape(centre, axes, zero_vector, radius, 0.0)
    half_extents = np.array([0.0, 0.0, 0.5 * _read_sizes(visual.attributes, "length", 1)[0]])
    return LinkShape(centre, axes, half_extents, *((0.0, radius) if visual.shape == "cylinder" else (radius, 0.0)))


def build_mesh_matrix(visual: Visual) -> Floats:
    """Build the matrix (3, 4) from a mesh to its link. ValueError for bad numbers."""
    axes, centre = _read_origin(visual)
    return np.column_stack([axes * _read_numbers(visual.attributes, "scale", 3, "1 1 1"), centre])


def _read_origin(visual: Visual) -> tuple[Floats, Floats]:
    """Read the axes (3, 3) and place (3,) of an element."""
    roll, pitch, yaw = _read_numbers(visual.origin, "rpy", 3, "0 0 0")
    axes = rotations.as_matrix(euler.to_quaternion([yaw, pitch, roll], "ZYX"))
    return axes, np.array(_read_numbers(visual.origin, "xyz", 3, "0 0 0"))


def _read_sizes(attributes: Attributes, name: str, count: int) -> list[float]:
    sizes = _read_numbers(attributes, name, count)
    if min(sizes) < 0.0:
        raise ValueError(f"{name} must not be negative: {quote_excerpt(attributes[name])}")
    return sizes


def _read_numbers(attributes: Attributes, name: str, count: int, default: str = "") -> list[float]:
    words = attributes.get(name, default).split()
    if len(words) != count:
        message = f"{name} needs {count} numbers, not {quote_excerpt(attributes.get(name, default))}"
        raise ValueError(message)
    return [parse_number(word) for word in words]


# --- Public entry ----------------------------------------------------------------------------------------------------


_MIN_ALONG_COSINE = 0.5  # cosine of the angle between bone line and geometry; below it the geometry gives the direction


def bone_end(rig: Rig, joint: str) -> Floats:
    """Find the end of a bone without an end joint. It is the end of the joint's skinned mesh, or of its link's shapes.

    Give it to a goal as `offset` to place the end, or as `axis` to point the bone.

    Parameters
    ----------
    rig
        A character or robot read from a glTF, GLB, VRM or URDF file.
    joint
        Name of a joint or link, or a role; usually a leaf.

    Returns
    -------
    Floats
        (3,) the point in the joint's own frame [units of its children's offsets].

    Raises
    ------
    UnsupportedError
        If the length of the bone is unknown: no vertex belongs to the joint, its link has no shape but meshes, or the
        file holds no geometry (in BVH, End Sites are joints and mark the ends of bones).

    Notes
    -----
    The bone's line continues from the joint's parent through the joint, at rest. If the centre of the geometry is more
    than 60 degrees from this line, as that of a foot below a shin, the line points to the centre instead. The end is
    the extent of the geometry along the line. A vertex belongs to the joint with half of its weight or more; if no skin
    is bound to the joint, meshes attached to it are used. Meshes of robots are not read.
    """
    if not isinstance(rig, Rig):
        raise InputError(f"bone_end() needs a rig from poise.load(), not {abbreviate(rig)}")
    skeleton, source = rig.skeleton.without_free_root, rig.skeleton.source
    row = skeleton.index(joint)
    name = skeleton.names[row]
    if isinstance(source, GltfDocument):
        points = find_joint_vertices(skeleton, source, row)
        if not len(points):
            raise UnsupportedError(f"no vertex of a mesh belongs to {name!r}: the end of its bone is unknown")
        bone_direction = _find_bone_direction(skeleton, row, points.mean(axis=0), name)
        return bone_direction * float((points @ bone_direction).max())
    if isinstance(source, UrdfDocument):
        shapes = read_link_shapes(skeleton, source, row, rig.path or Path(source.robot_name))
        if not shapes:
            raise UnsupportedError(f"the link at {name!r} has no box, cylinder, sphere or capsule: meshes are not read")
        bone_direction = _find_bone_direction(skeleton, row, np.mean([shape.centre for shape in shapes], axis=0), name)
        return bone_direction * max(shape.measure_reach(bone_direction) for shape in shapes)
    raise UnsupportedError(
        f"the end of the bone of {name!r} is unknown: it comes from no file with geometry (.gltf, .glb, .vrm, .urdf)"
    )


def _find_bone_direction(skeleton: Skeleton, row: int, centre: Floats, name: str) -> Floats:
    """Find the unit direction (3,) of a bone in its joint's frame. `centre` is the centre of its geometry."""
    world, parent = Pose(skeleton, skeleton.rest_q).world.matrices, int(skeleton.parents[row])
    direction = np.zeros(3)
    if parent >= 0:
        direction = np.linalg.solve(world[row, :3, :3], world[row, :3, 3] - world[parent, :3, 3])
    length, centre_distance = (float(np.sqrt((v**2).sum())) for v in (direction, centre))
    if centre_distance > 0.0 and direction @ centre <= _MIN_ALONG_COSINE * length * centre_distance:
        direction, length = centre, centre_distance
    if not length > 0.0:
        raise UnsupportedError(f"the bone of {name!r} has no direction: its parent and its geometry coincide with it")
    return np.asarray(direction / length, dtype=np.float64)
