"""Triangle meshes of box, cylinder, sphere and capsule about z."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from poise.maths.arrays import Floats
from poise.viewer.parts.glb import Primitive

_AROUND = 40  # corners of a circle
_ARC = 10  # segments of a quarter circle


def box(size: Floats) -> Primitive:
    """Build a box of edge lengths (3,) about the origin."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return Primitive(corners, np.array([[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)]))


def cylinder(radius: float, length: float) -> Primitive:
    """Build a closed cylinder about the origin."""
    h = 0.5 * length
    sides = [([0.0, radius], [-h, -h], [0.0, 0.0], [-1.0, -1.0])]
    sides.append(([radius, radius], [-h, h], [1.0, 1.0], [0.0, 0.0]))
    sides.append(([radius, 0.0], [h, h], [0.0, 0.0], [1.0, 1.0]))
    return _joined([_turned(*map(np.array, side)) for side in sides])


def sphere(radius: float) -> Primitive:
    """Build a sphere about the origin."""
    return capsule(radius, 0.0)


def capsule(radius: float, length: float) -> Primitive:
    """Build a cylinder with half spheres on its ends. `length` is that of the cylinder."""
    below = np.linspace(-0.5 * math.pi, 0.0, _ARC + 1)
    angles = np.concatenate([below, -below[::-1]])
    middle = np.repeat([-0.5 * length, 0.5 * length], _ARC + 1)
    r, z = np.cos(angles), np.sin(angles)
    return _turned(radius * r, middle + radius * z, r, z)


def _turned(radii: Floats, heights: Floats, outwards: Floats, upwards: Floats) -> Primitive:
    """Revolve a profile (k,) of radii and heights about z. Its normals are revolved as well."""
    angles = np.linspace(0.0, 2 * math.pi, _AROUND + 1)
    c, s = np.cos(angles), np.sin(angles)
    points = np.stack([np.outer(radii, c), np.outer(radii, s), np.outer(heights, np.ones_like(c))], axis=-1)
    normals = np.stack([np.outer(outwards, c), np.outer(outwards, s), np.outer(upwards, np.ones_like(c))], axis=-1)
    return Primitive(points.reshape(-1, 3), grid_faces(len(radii), _AROUND + 1), normals.reshape(-1, 3))


def grid_faces(rows: int, columns: int) -> np.ndarray:
    """Build the triangles (f, 3) of a point grid. The outside is where columns x rows points."""
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    first = np.stack([corner, corner + 1, corner + columns], axis=1)
    second = np.stack([corner + 1, corner + columns + 1, corner + columns], axis=1)
    return np.concatenate([first, second])


def _joined(surfaces: list[Primitive]) -> Primitive:
    starts = np.cumsum([0, *(len(surface.points) for surface in surfaces)])
    faces = [surface.faces + start for surface, (start, _) in zip(surfaces, pairwise(starts), strict=True)]
    normals = [surface.normals for surface in surfaces if surface.normals is not None]
    return Primitive(np.concatenate([s.points for s in surfaces]), np.concatenate(faces), np.concatenate(normals))
