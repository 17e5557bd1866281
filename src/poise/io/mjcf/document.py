"""Shapes and masses of an MJCF file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

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
