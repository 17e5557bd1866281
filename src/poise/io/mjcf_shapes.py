"""Shapes and masses of a compiled MJCF model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from poise.io.inertials import Inertial
from poise.io.mjcf_elements import MIN_MASS, CompiledModel
from poise.io.mjcf_meshes import MeshAsset, MeshFile
from poise.io.mjcf_skeleton import SkeletonPlan
from poise.maths import rotations
from poise.maths.arrays import Floats

Vector = tuple[float, float, float]


class Geom(NamedTuple):
    """Primitive shape attached to a joint.

    joint_name   name of the joint
    kind         "plane", "sphere", "capsule", "ellipsoid", "cylinder" or "box"
    size         as in MuJoCo: radius and half lengths [m]
    offset       x y z in the joint's frame [m]
    rotation     w x y z
    can_collide  whether it takes part in collisions (contype, conaffinity)
    """

    joint_name: str
    kind: str
    size: Vector
    offset: Vector
    rotation: tuple[float, float, float, float]
    can_collide: bool


class MeshGeom(NamedTuple):
    """Mesh attached to a joint.

    joint_name   name of the joint
    mesh         the mesh, not read yet
    offset       x y z in the joint's frame [m]
    rotation     w x y z
    can_collide  whether it takes part in collisions (contype, conaffinity)
    """

    joint_name: str
    mesh: MeshAsset
    offset: Vector
    rotation: tuple[float, float, float, float]
    can_collide: bool

    def read_corners(self) -> Floats:
        """Read its corners (k, 3) in the joint's frame. FileError for a missing or unreadable file."""
        return rotations.rotate(np.array(self.rotation), self.mesh.read_corners()) + np.array(self.offset)


@dataclass(frozen=True, eq=False)
class MjcfDocument:
    """`Skeleton.source` of an MJCF robot. It is never written back.

    model      name of the model
    geoms      its primitive shapes; height fields are omitted
    meshes     its meshes
    inertials  by joint name: the mass [kg] and its centre in the joint's frame [m], if the file has both
    """

    model: str
    geoms: tuple[Geom, ...] = ()
    inertials: dict[str, Inertial] = field(default_factory=dict[str, Inertial])
    meshes: tuple[MeshGeom, ...] = ()


_GEOM_KINDS = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}  # geom kind by mjtGeom


def build_document(compiled: CompiledModel, plan: SkeletonPlan, files: Mapping[str, MeshFile]) -> MjcfDocument:
    """Build the document of shapes and masses. `files` are those of meshes, by name."""
    row_names = {body_id: plan.rows[row].name for body_id, row in plan.row_by_body.items()}
    return MjcfDocument(
        compiled.name,
        _build_geoms(compiled, row_names),
        _build_inertials(compiled, row_names),
        tuple(_build_meshes(compiled, row_names, files)),
    )


def _build_meshes(
    compiled: CompiledModel, row_names: dict[int, str], files: Mapping[str, MeshFile]
) -> Iterator[MeshGeom]:
    for geom_id, (mesh, place, rotation, scale) in sorted(compiled.meshes.items()):
        geom = _build_geom(compiled.model, geom_id, row_names)
        if mesh in files:
            turn: Floats = rotations.normalise(rotation) if rotation.any() else rotations.IDENTITY
            asset = MeshAsset(files[mesh], place, turn, scale)
            yield MeshGeom(geom.joint_name, asset, geom.offset, geom.rotation, geom.can_collide)


def _build_geoms(compiled: CompiledModel, row_names: dict[int, str]) -> tuple[Geom, ...]:
    model = compiled.model
    return tuple(
        _build_geom(model, geom_id, row_names)
        for geom_id in range(model.ngeom)
        if int(model.geom_type[geom_id]) in _GEOM_KINDS and geom_id not in compiled.meshes
    )


def _build_geom(model: Any, geom_id: int, row_names: dict[int, str]) -> Geom:
    return Geom(
        row_names[int(model.geom_bodyid[geom_id])],
        _GEOM_KINDS[int(model.geom_type[geom_id])],
        _to_vector(model.geom_size[geom_id]),
        _to_vector(model.geom_pos[geom_id]),
        (*model.geom_quat[geom_id].tolist(),),
        bool(model.geom_contype[geom_id] or model.geom_conaffinity[geom_id]),
    )


def _build_inertials(compiled: CompiledModel, row_names: dict[int, str]) -> dict[str, Inertial]:
    """Build the masses by joint name. The result is empty if one mass is unknown: the centre of mass would be wrong."""
    model = compiled.model
    if any(body_id for body_id in compiled.bodies_without_mass):
        return {}
    inertials: dict[str, Inertial] = {}
    for body_id, name in row_names.items():
        mass, centre = float(model.body_mass[body_id]), model.body_ipos[body_id]
        if body_id and MIN_MASS < mass < np.inf and np.isfinite(centre).all():
            inertials[name] = Inertial(mass, _to_vector(centre))
    return inertials


def _to_vector(values: Floats) -> Vector:
    x, y, z = values.tolist()
    return (x, y, z)
