"""Terrain of a document in the rig's units, and clip planting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError, PoiseError
from poise.ground.figure.figure import HEIGHT, figure_of
from poise.ground.plant import Planted, plant_feet
from poise.ground.terrain.mesh import Mesh
from poise.ground.terrain.shapes import Plane, Stairs
from poise.ground.terrain.surface import Surface
from poise.ground.terrain.terrain import Terrain
from poise.ground.terrain.words import terrain_of
from poise.io import samples
from poise.maths.arrays import Floats, Ints, check_finite, check_real
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.runtime.result_cache import get_or_compute
from poise.viewer.document.chains import Vector, to_vector
from poise.viewer.glb_assets import MeshNode, Primitive, build_glb, build_grid_faces
from poise.viewer.rig_message import find_up_axis, measure_extent

# --- Terrain mesh around a character, in world coordinates -----------------------------------------------------------


_GRID_SIDE_POINTS = 161  # grid points along a side: 0.25 m apart for a side of 40 m
_MAX_STAIR_STEPS = 2_000
_MAX_MESH_TRIANGLES = 1_000_000
_GROUND_COLOUR = (0.55, 0.57, 0.55, 1.0)
_SURFACE_OFFSET_RATIO = 1e-9  # of the extent: a point on a mesh is raised by this to find its own storey


def build_terrain_glb(terrain: Terrain, centre: ArrayLike, extent: float) -> bytes:
    """Build the terrain around `centre` (3,) as GLB.

    It reaches `extent` (half a side, in file units), in the axes of the terrain's frame.

    The terrain is in the lengths of the rig (`Terrain.for_figure`). Stairs have upright risers, and a mesh shows its
    own triangles; every other ground is a grid of heights.
    """
    centre_point, half_extent = (
        check_finite(centre, "the centre of the ground", last_axis_length=3),
        check_real(extent, "the extent of the ground"),
    )
    if centre_point.shape != (3,) or not 0.0 < half_extent < np.inf:
        raise InputError(f"the ground is shown around a point (x, y, z) up to a positive distance; got {half_extent:g}")
    terrain_surface = terrain.surface
    x, y, z = (float(coordinate[0]) for coordinate in terrain._inwards(centre_point))  # noqa: SLF001
    half_width = half_extent / terrain.scale
    if isinstance(terrain_surface, Mesh) and len(terrain_surface.corners) <= _MAX_MESH_TRIANGLES:
        primitive = _build_mesh_part(terrain_surface.corners, x, y, half_width)
    elif isinstance(terrain_surface, Stairs) and 2.0 * half_width < _MAX_STAIR_STEPS * terrain_surface.going:
        primitive = _build_stairs(terrain_surface, x, y, half_width)
    else:
        primitive = _build_height_grid(terrain_surface, x, y, z + _SURFACE_OFFSET_RATIO * half_width, half_width)
    return build_glb(
        [MeshNode("terrain", [_transform_to_world(terrain, primitive)], np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))]
    )


def _transform_to_world(terrain: Terrain, surface: Primitive) -> Primitive:
    """Transform a surface from terrain to world coordinates."""
    points = surface.points * terrain.scale
    points[:, 2] += terrain.lift
    normals = surface.normals
    if terrain.up == "y":
        points = np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)
        normals = None if normals is None else np.stack([normals[:, 0], normals[:, 2], -normals[:, 1]], axis=1)
    return Primitive(points, surface.faces, normals, _GROUND_COLOUR)


def _build_height_grid(ground: Surface, x: float, y: float, z: float, half_width: float) -> Primitive:
    point_count = 2 if isinstance(ground, Plane) else _GRID_SIDE_POINTS
    offsets = np.linspace(-half_width, half_width, point_count)
    plan_y, plan_x = (grid.ravel() for grid in np.meshgrid(y + offsets, x + offsets, indexing="ij"))
    heights, normal, _ = ground.sample(plan_x, plan_y, np.full(len(plan_x), z))
    normals = np.stack([np.broadcast_to(component, plan_x.shape) for component in normal], axis=1)
    return Primitive(np.stack([plan_x, plan_y, heights], axis=1), build_grid_faces(point_count, point_count), normals)


def _build_stairs(ground: Stairs, x: float, y: float, half_width: float) -> Primitive:
    """Build treads and risers as rectangles around a point. They reach as far to the sides as up and down."""
    along_axis, across_axis = np.array([ground.along_x, ground.along_y]), np.array([-ground.along_y, ground.along_x])
    distance_along, distance_across = float(along_axis @ (x, y)), float(across_axis @ (x, y))
    first_step = int(np.floor((distance_along - half_width - ground.start) / ground.going))
    last_step = int(np.floor((distance_along + half_width - ground.start) / ground.going))
    edges = ground.start + ground.going * np.arange(first_step, last_step + 2)
    heights = ground.rise * (np.arange(first_step, last_step + 1) + 1.0)
    profile: Floats = np.empty((2 * len(heights), 2))  # front and back edge of each tread, one after the other
    profile[0::2, 0], profile[1::2, 0] = edges[:-1], edges[1:]
    profile[:, 1] = np.repeat(heights, 2)
    points = np.concatenate(
        [
            _build_strip(profile, along_axis, across_axis, distance_across + side_offset)
            for side_offset in (-half_width, half_width)
        ]
    )
    return Primitive(points, build_grid_faces(2, len(profile)))


def _build_strip(profile: Floats, along_axis: Floats, across_axis: Floats, distance_across: float) -> Floats:
    level_points = profile[:, :1] * along_axis + distance_across * across_axis
    return np.concatenate([level_points, profile[:, 1:]], axis=1)


def _build_mesh_part(corners: Floats, x: float, y: float, half_width: float) -> Primitive:
    """Select the triangles in a square; all if none is."""
    low_corners, high_corners = corners[..., :2].min(axis=1), corners[..., :2].max(axis=1)
    is_near = ((low_corners <= np.array([x, y]) + half_width) & (high_corners >= np.array([x, y]) - half_width)).all(
        axis=1
    )
    points, faces = _weld_corners(corners[is_near] if is_near.any() else corners)
    return Primitive(points, faces)


def _weld_corners(corners: Floats) -> tuple[Floats, Ints]:
    points, point_indices = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return points, point_indices.reshape(-1, 3)


# --- Terrain of a document -------------------------------------------------------------------------------------------


_GROUND_EXTENT_HEIGHTS = 6.0  # half-width of the terrain mesh, in heights of the character
_UP_AXIS_INDEX = {"y": 1, "z": 2}

#: Terrains on the page's menu: specification and title.
TERRAIN_CHOICES = (
    ("flat", "Flat"), ("slope:10", "Slope, 10 degrees"), ("stairs:0.15,0.30", "Stairs, 15 by 30 cm"),
    ("noise:0.08,1.5", "Rough ground"), ("hills", "Hills"),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class DocumentTerrain:
    """Terrain under a character, in the rig's units and axes.

    character_height  height of the character
    floor_height      height of the rest pose's lowest joint; chain tips on the ground keep their height above it
    up_index          index of the up axis
    """

    terrain: Terrain
    character_height: float
    floor_height: float
    up_index: int

    def place_point(self, point: Vector, height_above_ground: float) -> Vector:
        """Move a point along the up axis to a height above ground."""
        placed_point = np.array(point)
        placed_point[self.up_index] = float(self.terrain.heights(placed_point)) + height_above_ground
        return to_vector(placed_point)


def build_document_terrain(rig: Rig, spec: str) -> DocumentTerrain:
    """Build the terrain of a specification, cached per rig.

    Raise InputError or FileError for an invalid one.
    """
    return get_or_compute(rig, "land", spec, lambda: _compute_document_terrain(rig, spec), max_keys=1)


def _compute_document_terrain(rig: Rig, spec: str) -> DocumentTerrain:
    up_axis = find_terrain_up(rig)
    terrain, height = _parse_terrain(spec, up_axis), measure_height(rig)
    if terrain.unit is None:
        terrain = terrain.for_figure(height)
    up_index = _UP_AXIS_INDEX[up_axis]
    return DocumentTerrain(terrain, height, float(rig.rest.world.positions[:, up_index].min()), up_index)


def find_terrain_up(rig: Rig) -> str:
    """Find the up axis for terrain: y or z."""
    return "z" if find_up_axis(rig) == "z" else "y"


def build_ground_mesh(rig: Rig, spec: str, pose: Pose) -> bytes:
    """Build the terrain around a pose as GLB, cached per rig."""
    document_terrain, centre = build_document_terrain(rig, spec), to_vector(pose.world.positions[0])
    build_mesh = partial(
        build_terrain_glb, document_terrain.terrain, centre, _GROUND_EXTENT_HEIGHTS * document_terrain.character_height
    )
    return get_or_compute(rig, "ground as a mesh", (document_terrain, centre), build_mesh, max_keys=1)


def plant_clip(rig: Rig, clip: Clip, spec: str) -> Planted:
    """Plant the feet of a clip on a terrain. Raise PoiseError for a rig without feet or an invalid terrain."""
    planted = plant_feet(clip, _parse_terrain(spec, find_terrain_up(rig)), rig=rig)
    _ = planted.report.ok  # measured here, in the background
    return planted


@lru_cache(maxsize=8)
def _parse_terrain(spec: str, up: str) -> Terrain:
    if spec == "hills":
        return Terrain.heightmap(samples.path("hills.npz"), up=up)
    return terrain_of(spec, up=up)


def measure_height(rig: Rig) -> float:
    """Measure the height of a character by its legs [file units]. Without legs it is the extent of the rest pose."""
    try:
        return figure_of(rig.rest, rig=rig).metre * HEIGHT
    except PoiseError:
        return measure_pose_size(rig.rest)


def measure_pose_size(pose: Pose) -> float:
    """Measure the largest extent of a pose [file units]. It is 1 for a single point."""
    return measure_extent(pose.world.positions)
