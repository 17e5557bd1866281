"""Collision shapes of robots in URDF and MJCF files.

They are boxes, cylinders, spheres and capsules, and meshes, which are read later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from poise.errors import FileError
from poise.io.bone_end import LinkShape, build_link_shape, build_mesh_matrix
from poise.io.mjcf_shapes import Geom, MeshGeom, MjcfDocument
from poise.io.robot_meshes import find_mesh_file, read_corners
from poise.io.text_parsing import quote_excerpt
from poise.io.urdf_xml import UrdfDocument, Visual, parse_visuals
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton
from poise.runtime.immutable_values import freeze
from poise.runtime.result_cache import get_or_compute


class LinkMesh(NamedTuple):
    """A collision mesh of a URDF file.

    urdf_path  file of the robot, beside which the mesh lies
    element    as written
    package_folders  folders for meshes of package://, besides the file's own
    """

    urdf_path: Path
    element: Visual
    package_folders: tuple[Path, ...] = ()

    def read_corners(self) -> Floats:
        """Read its corners (k, 3) in the frame of its link. FileError for a missing or unreadable file."""
        name = self.element.attributes.get("filename", "")
        if not name:
            raise FileError(self.urdf_path, f"line {self.element.line}: a mesh has no file name")
        try:
            matrix = build_mesh_matrix(self.element)
        except ValueError as error:
            raise FileError(name, str(error)) from error
        corners = read_corners(find_mesh_file(self.urdf_path, name, self.package_folders))
        return corners @ matrix[:, :3].T + matrix[:, 3]


class CollisionShapes(NamedTuple):
    """Collision shapes of a robot.

    shapes  row of the joint that carries a shape, and the shape in the joint's frame
    meshes  row of the joint that carries a mesh, and the mesh, not read yet
    """

    shapes: tuple[tuple[int, LinkShape], ...]
    meshes: tuple[tuple[int, LinkMesh | MeshGeom], ...] = ()

    def read_meshes(self, rows: Collection[int]) -> tuple[list[tuple[int, Floats]], str]:
        """Read the corners (k, 3) of some joints' meshes.

        Meshes that cannot be read are left out; also return why the first one of them cannot.
        """
        found, reason = list[tuple[int, Floats]](), ""
        for row, mesh in self.meshes:
            if row in rows:
                try:
                    found.append((row, mesh.read_corners()))
                except FileError as error:
                    reason = reason or f"{PurePath(error.path).name!r} {error.reason}"
        return found, reason


def add_package_folders(rig: Rig, folders: Sequence[Path]) -> Rig:
    """Return a robot with further folders for meshes of package://. Other rigs stay as they are."""
    source = rig.skeleton.source
    if not folders or not isinstance(source, UrdfDocument):
        return rig
    source = dataclasses.replace(source, package_folders=tuple(folder.absolute() for folder in folders))
    return rig.with_skeleton(dataclasses.replace(rig.skeleton, source=source))


def read_collision_shapes(rig: Rig) -> CollisionShapes:
    """Read the collision shapes of a robot, once. None for other files."""
    return get_or_compute(rig.skeleton, "collision shapes", rig.path, lambda: freeze(_read_shapes(rig)))


def _read_shapes(rig: Rig) -> CollisionShapes:
    skeleton, source = rig.skeleton, rig.skeleton.source
    if isinstance(source, MjcfDocument):
        return _list_mjcf_shapes(skeleton, source)
    if isinstance(source, UrdfDocument):
        return _read_urdf_shapes(rig, source)
    return CollisionShapes(())


def _list_mjcf_shapes(skeleton: Skeleton, source: MjcfDocument) -> CollisionShapes:
    """List the shapes of an MJCF robot. Those that are only shown are left out: bones show no sole."""
    shapes = [(skeleton.index(geom.joint_name), _build_geom(geom)) for geom in source.geoms if geom.can_collide]
    meshes = [(skeleton.index(mesh.joint_name), mesh) for mesh in source.meshes if mesh.can_collide]
    return CollisionShapes(tuple((row, shape) for row, shape in shapes if shape is not None), tuple(meshes))


def _read_urdf_shapes(rig: Rig, source: UrdfDocument) -> CollisionShapes:
    path = rig.path or Path(source.robot_name)
    elements = parse_visuals(path, source.data, "collision")
    shapes: list[tuple[int, LinkShape]] = []
    meshes: list[tuple[int, LinkMesh]] = []
    for row, name in enumerate(rig.skeleton.names):
        link = str(rig.skeleton.source_ids[0]) if row == 0 else elements.link_by_joint.get(name, "")
        for element in elements.visuals_by_link.get(link, []):
            if element.shape == "mesh":
                meshes.append((row, LinkMesh(source.path or path, element, source.package_folders)))
                continue
            try:
                shape = build_link_shape(element)
            except ValueError as error:
                raise FileError(
                    path, f"a collision shape of link {quote_excerpt(link)} cannot be read: {error}"
                ) from error
            if shape is not None:
                shapes.append((row, shape))
    return CollisionShapes(tuple(shapes), tuple(meshes))


def _build_geom(geom: Geom) -> LinkShape | None:
    """Build a shape of MJCF. None for planes."""
    axes, centre = rotations.as_matrix(np.array(geom.rotation)), np.array(geom.offset)
    radius, half_length = geom.size[0], geom.size[1]
    along = np.array([0.0, 0.0, half_length])
    if geom.kind == "sphere":
        return LinkShape(centre, axes, np.zeros(3), radius, 0.0)
    if geom.kind == "capsule":
        return LinkShape(centre, axes, along, radius, 0.0)
    if geom.kind == "cylinder":
        return LinkShape(centre, axes, along, 0.0, radius)
    if geom.kind in ("box", "ellipsoid"):  # an ellipsoid is at most its box
        return LinkShape(centre, axes, np.array(geom.size), 0.0, 0.0)
    return None
