"""Extents of URDF link shapes: boxes, cylinders, spheres and capsules."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import FileError
from poise.io.numbers import number, shown
from poise.io.urdf.document import Attributes, UrdfDocument
from poise.io.urdf.visuals import Visual, parse_visuals
from poise.maths import euler, rotations
from poise.maths.arrays import Floats
from poise.model.skeleton import Skeleton


class Shape(NamedTuple):
    """Shape in the frame of its link. It has a centre (3,), and the half size (3,) of a box in axes (3, 3).

    `ball_radius` is the radius of a ball swept over the box, `disc_radius` that of a disc flat in z: a sphere is a
    point with a ball, a capsule a line with a ball, a cylinder a line with a disc.
    """

    centre: Floats
    axes: Floats
    half: Floats
    round: float
    disc: float

    def reach(self, direction: Floats) -> float:
        """Measure its extent along a unit vector from the link's origin."""
        along = direction @ self.axes
        disc = self.disc * float(np.hypot(along[0], along[1]))
        return float(self.centre @ direction + np.abs(along) @ self.half) + disc + self.round


def shapes_of(skeleton: Skeleton, source: UrdfDocument, row: int, path: Path) -> list[Shape]:
    """Read the primitive shapes of the link in a row. Meshes are left out. FileError for bad numbers."""
    visuals = parse_visuals(path, source.data)
    link = str(skeleton.source_ids[0]) if row == 0 else visuals.children.get(skeleton.names[row], "")
    try:
        found = [_shape(visual) for visual in visuals.links.get(link, [])]
    except ValueError as error:
        raise FileError(path, f"the visual shapes of link {shown(link)} cannot be read: {error}") from error
    return [shape for shape in found if shape is not None]


def _shape(visual: Visual) -> Shape | None:
    roll, pitch, yaw = _numbers(visual.origin, "rpy", 3, "0 0 0")
    axes = rotations.as_matrix(euler.to_quaternion([yaw, pitch, roll], "ZYX"))
    centre, none = np.array(_numbers(visual.origin, "xyz", 3, "0 0 0")), np.zeros(3)
    if visual.shape == "box":
        return Shape(centre, axes, 0.5 * np.array(_numbers(visual.attributes, "size", 3)), 0.0, 0.0)
    if visual.shape not in ("cylinder", "sphere", "capsule"):
        return None
    radius = _numbers(visual.attributes, "radius", 1)[0]
    if visual.shape == "sphere":
        return Shape(centre, axes, none, radius, 0.0)
    half = np.array([0.0, 0.0, 0.5 * _numbers(visual.attributes, "length", 1)[0]])
    return Shape(centre, axes, half, *((0.0, radius) if visual.shape == "cylinder" else (radius, 0.0)))


def _numbers(attributes: Attributes, name: str, count: int, default: str = "") -> list[float]:
    words = attributes.get(name, default).split()
    if len(words) != count:
        message = f"{name} needs {count} numbers, not {shown(attributes.get(name, default))}"
        raise ValueError(message)
    return [number(word) for word in words]
