"""Terrain of a document in the rig's units, and clip planting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from poise.errors import PoiseError
from poise.ground.figure.figure import HEIGHT, figure_of
from poise.ground.plant import Planted, plant_feet
from poise.ground.terrain.terrain import Terrain
from poise.ground.terrain.words import terrain_of
from poise.io import samples
from poise.maths.remember import remember
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.viewer.document.chains import Vector, vector
from poise.viewer.model import up_of
from poise.viewer.parts.bones import extent_of
from poise.viewer.parts.terrain import terrain_glb

_AROUND = 6.0  # half-width of the terrain mesh, in heights of the character
_UPS = {"y": 1, "z": 2}

#: Terrains on the page's menu: specification and title.
OFFERED = (
    ("flat", "Flat"), ("slope:10", "Slope, 10 degrees"), ("stairs:0.15,0.30", "Stairs, 15 by 30 cm"),
    ("noise:0.08,1.5", "Rough ground"), ("hills", "Hills"),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Land:
    """Terrain under a character, in the rig's units and axes.

    height  height of the character
    floor  height of the rest pose's lowest joint; chain tips on the ground keep their height above it
    up     index of the up axis
    """

    terrain: Terrain
    height: float
    floor: float
    up: int

    def put_on(self, point: Vector, above: float) -> Vector:
        """Move a point along the up axis to a height above ground."""
        moved = np.array(point)
        moved[self.up] = float(self.terrain.heights(moved)) + above
        return vector(moved)


def land_of(rig: Rig, words: str) -> Land:
    """Build the terrain of a specification, cached per rig.

    Raise InputError or FileError for an invalid one.
    """
    return remember(rig, "land", words, lambda: _land(rig, words), most=1)


def _land(rig: Rig, words: str) -> Land:
    up = ground_up(rig)
    terrain, height = _made(words, up), height_of(rig)
    if terrain.unit is None:
        terrain = terrain.for_figure(height)
    axis = _UPS[up]
    return Land(terrain, height, float(rig.rest.world.positions[:, axis].min()), axis)


def ground_up(rig: Rig) -> str:
    """Find the up axis for terrain: y or z."""
    return "z" if up_of(rig) == "z" else "y"


def ground_mesh(rig: Rig, words: str, pose: Pose) -> bytes:
    """Build the terrain around a pose as GLB, cached per rig."""
    land, centre = land_of(rig, words), vector(pose.world.positions[0])
    made = partial(terrain_glb, land.terrain, centre, _AROUND * land.height)
    return remember(rig, "ground as a mesh", (land, centre), made, most=1)


def planted(rig: Rig, clip: Clip, words: str) -> Planted:
    """Plant the feet of a clip on a terrain. Raise PoiseError for a rig without feet or an invalid terrain."""
    return plant_feet(clip, _made(words, ground_up(rig)), rig=rig)


@lru_cache(maxsize=8)
def _made(words: str, up: str) -> Terrain:
    if words == "hills":
        return Terrain.heightmap(samples.path("hills.npz"), up=up)
    return terrain_of(words, up=up)


def height_of(rig: Rig) -> float:
    """Measure the height of a character by its legs [file units]. Without legs it is the extent of the rest pose."""
    try:
        return figure_of(rig.rest, rig=rig).metre * HEIGHT
    except PoiseError:
        return size_of(rig.rest)


def size_of(pose: Pose) -> float:
    """Measure the largest extent of a pose [file units]. It is 1 for a single point."""
    return extent_of(pose.world.positions)
