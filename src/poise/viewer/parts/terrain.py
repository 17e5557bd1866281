"""Terrain mesh around a character, in world coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.ground.terrain.mesh import Mesh
from poise.ground.terrain.shapes import Plane, Stairs
from poise.ground.terrain.surface import Surface
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Floats, Ints, finite, real
from poise.viewer.parts.glb import Part, Primitive, glb_of_parts
from poise.viewer.parts.shapes import grid_faces

_SIDE = 161  # grid points along a side: 0.25 m apart for a side of 40 m
_MOST_STEPS = 2_000
_MOST_TRIANGLES = 1_000_000
_COLOUR = (0.55, 0.57, 0.55, 1.0)
_SOIL = 1e-9  # of the extent: a point on a mesh is raised by this to find its own storey


def terrain_glb(terrain: Terrain, centre: ArrayLike, extent: float) -> bytes:
    """Build the terrain around `centre` (3,) as GLB.

    It reaches `extent` (half a side, in file units), in the axes of the terrain's frame.

    The terrain is in the lengths of the rig (`Terrain.for_figure`). Stairs have upright risers, and a mesh shows its
    own triangles; every other ground is a grid of heights.
    """
    middle, half = finite(centre, "the centre of the ground", last=3), real(extent, "the extent of the ground")
    if middle.shape != (3,) or not 0.0 < half < np.inf:
        raise InputError(f"the ground is shown around a point (x, y, z) up to a positive distance; got {half:g}")
    ground = terrain.surface
    x, y, z = (float(part[0]) for part in terrain._inwards(middle))  # noqa: SLF001
    inner = half / terrain.scale
    if isinstance(ground, Mesh) and len(ground.corners) <= _MOST_TRIANGLES:
        surface = _of_triangles(ground.corners, x, y, inner)
    elif isinstance(ground, Stairs) and 2.0 * inner < _MOST_STEPS * ground.going:
        surface = _of_stairs(ground, x, y, inner)
    else:
        surface = _of_heights(ground, x, y, z + _SOIL * inner, inner)
    return glb_of_parts([Part("terrain", [_outwards(terrain, surface)], np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))])


def _outwards(terrain: Terrain, surface: Primitive) -> Primitive:
    """Transform a surface from terrain to world coordinates."""
    points = surface.points * terrain.scale
    points[:, 2] += terrain.lift
    normals = surface.normals
    if terrain.up == "y":
        points = np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)
        normals = None if normals is None else np.stack([normals[:, 0], normals[:, 2], -normals[:, 1]], axis=1)
    return Primitive(points, surface.faces, normals, _COLOUR)


def _of_heights(ground: Surface, x: float, y: float, z: float, half: float) -> Primitive:
    side = 2 if isinstance(ground, Plane) else _SIDE
    line = np.linspace(-half, half, side)
    plan_y, plan_x = (grid.ravel() for grid in np.meshgrid(y + line, x + line, indexing="ij"))
    heights, normal, _ = ground.sample(plan_x, plan_y, np.full(len(plan_x), z))
    normals = np.stack([np.broadcast_to(part, plan_x.shape) for part in normal], axis=1)
    return Primitive(np.stack([plan_x, plan_y, heights], axis=1), grid_faces(side, side), normals)


def _of_stairs(ground: Stairs, x: float, y: float, half: float) -> Primitive:
    """Build treads and risers as rectangles around a point. They reach as far to the sides as up and down."""
    along, across = np.array([ground.along_x, ground.along_y]), np.array([-ground.along_y, ground.along_x])
    here, beside = float(along @ (x, y)), float(across @ (x, y))
    first = int(np.floor((here - half - ground.start) / ground.going))
    last = int(np.floor((here + half - ground.start) / ground.going))
    edges = ground.start + ground.going * np.arange(first, last + 2)
    heights = ground.rise * (np.arange(first, last + 1) + 1.0)
    line: Floats = np.empty((2 * len(heights), 2))  # front and back edge of each tread, one after the other
    line[0::2, 0], line[1::2, 0] = edges[:-1], edges[1:]
    line[:, 1] = np.repeat(heights, 2)
    points = np.concatenate([_strip(line, along, across, beside + side) for side in (-half, half)])
    return Primitive(points, grid_faces(2, len(line)))


def _strip(line: Floats, along: Floats, across: Floats, beside: float) -> Floats:
    plan = line[:, :1] * along + beside * across
    return np.concatenate([plan, line[:, 1:]], axis=1)


def _of_triangles(corners: Floats, x: float, y: float, half: float) -> Primitive:
    """Select the triangles in a square; all if none is."""
    low, high = corners[..., :2].min(axis=1), corners[..., :2].max(axis=1)
    near = ((low <= np.array([x, y]) + half) & (high >= np.array([x, y]) - half)).all(axis=1)
    points, faces = _welded(corners[near] if near.any() else corners)
    return Primitive(points, faces)


def _welded(corners: Floats) -> tuple[Floats, Ints]:
    points, rows = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return points, rows.reshape(-1, 3)
