"""Bone ends without an end joint, from meshes and link shapes.

Examples are a hand without fingers, a head, and the last link of an arm.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from poise.errors import InputError, UnsupportedError
from poise.io.gltf.container import GltfDocument
from poise.io.gltf.read.vertices import carried_vertices
from poise.io.urdf.document import UrdfDocument
from poise.io.urdf.extents import shapes_of
from poise.maths.arrays import Floats, short
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton

_ASIDE = 0.5  # cosine of the angle between bone line and geometry; below it the geometry gives the direction


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
    array
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
        raise InputError(f"bone_end() needs a rig from poise.load(), not {short(rig)}")
    skeleton, source = rig.skeleton.bound, rig.skeleton.source
    row = skeleton.index(joint)
    name = skeleton.names[row]
    if isinstance(source, GltfDocument):
        points = carried_vertices(skeleton, source, row)
        if not len(points):
            raise UnsupportedError(f"no vertex of a mesh belongs to {name!r}: the end of its bone is unknown")
        line = _line(skeleton, row, points.mean(axis=0), name)
        return line * float((points @ line).max())
    if isinstance(source, UrdfDocument):
        shapes = shapes_of(skeleton, source, row, rig.path or Path(source.robot))
        if not shapes:
            raise UnsupportedError(f"the link at {name!r} has no box, cylinder, sphere or capsule: meshes are not read")
        line = _line(skeleton, row, np.mean([shape.centre for shape in shapes], axis=0), name)
        return line * max(shape.reach(line) for shape in shapes)
    raise UnsupportedError(
        f"the end of the bone of {name!r} is unknown: it comes from no file with geometry (.gltf, .glb, .vrm, .urdf)"
    )


def _line(skeleton: Skeleton, row: int, middle: Floats, name: str) -> Floats:
    """Find the unit direction (3,) of a bone in its joint's frame. `centre` is the centre of its geometry."""
    world, parent = Pose(skeleton, skeleton.rest_q).world.matrices, int(skeleton.parents[row])
    way = np.zeros(3)
    if parent >= 0:
        way = np.linalg.solve(world[row, :3, :3], world[row, :3, 3] - world[parent, :3, 3])
    length, aside = (float(np.sqrt((v**2).sum())) for v in (way, middle))
    if aside > 0.0 and way @ middle <= _ASIDE * length * aside:
        way, length = middle, aside
    if not length > 0.0:
        raise UnsupportedError(f"the bone of {name!r} has no direction: its parent and its geometry coincide with it")
    return np.asarray(way / length, dtype=np.float64)
