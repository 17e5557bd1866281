"""Shapes and masses of an MJCF model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from poise.io.mjcf.compile import CompiledModel
from poise.io.mjcf.elements import MIN_MASS
from poise.io.mjcf.skeleton import MjcfJoints
from poise.maths.arrays import Floats

Point = tuple[float, float, float]


class Geom(NamedTuple):
    """Primitive shape attached to a joint.

    row       name of the joint
    kind      "plane", "sphere", "capsule", "ellipsoid", "cylinder" or "box"
    size      as in MuJoCo: radius and half lengths [m]
    offset    x y z in the joint's frame [m]
    rotation  w x y z
    collides  whether it takes part in collisions (contype, conaffinity)
    """

    row: str
    kind: str
    size: Point
    offset: Point
    rotation: tuple[float, float, float, float]
    collides: bool


@dataclass(frozen=True, eq=False)
class MjcfDocument:
    """`Skeleton.source` of an MJCF robot. It is never written back.

    model      name of the model
    geoms      its primitive shapes; meshes and height fields are omitted
    inertials  by joint name: the mass [kg] and its centre in the joint's frame [m], if the file has both
    """

    model: str
    geoms: tuple[Geom, ...] = ()
    inertials: dict[str, tuple[float, Point]] = field(default_factory=dict[str, tuple[float, Point]])


# --- Primitive shapes and masses of a compiled MJCF model ------------------------------------------------------------


_GEOM_KINDS = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}  # geom kind by mjtGeom


def build_document(compiled: CompiledModel, joints: MjcfJoints) -> MjcfDocument:
    """Build the document of shapes and masses."""
    names = {body: joints.joints[row].name for body, row in joints.index_by_body.items()}
    return MjcfDocument(compiled.name, _build_geoms(compiled.model, names), _build_inertials(compiled, names))


def _build_geoms(m: Any, names: dict[int, str]) -> tuple[Geom, ...]:
    return tuple(
        Geom(
            names[int(m.geom_bodyid[i])],
            _GEOM_KINDS[int(m.geom_type[i])],
            _to_point(m.geom_size[i]),
            _to_point(m.geom_pos[i]),
            (*m.geom_quat[i].tolist(),),
            bool(m.geom_contype[i] or m.geom_conaffinity[i]),
        )
        for i in range(m.ngeom)
        if int(m.geom_type[i]) in _GEOM_KINDS
    )


def _build_inertials(compiled: CompiledModel, names: dict[int, str]) -> dict[str, tuple[float, Point]]:
    """Build the masses by joint name. The result is empty if one mass is unknown: the centre of mass would be wrong."""
    m = compiled.model
    if any(body for body in compiled.bodies_without_mass):
        return {}
    inertials: dict[str, tuple[float, Point]] = {}
    for body, name in names.items():
        mass, centre = float(m.body_mass[body]), m.body_ipos[body]
        if body and MIN_MASS < mass < np.inf and np.isfinite(centre).all():
            inertials[name] = (mass, _to_point(centre))
    return inertials


def _to_point(values: Floats) -> Point:
    x, y, z = values.tolist()
    return (x, y, z)
