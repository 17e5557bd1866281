"""A flat walk on the example hills: legs, heights and speeds of the feet."""

from __future__ import annotations

from pathlib import Path

import poise
from poise import plot, samples


def draw(path: Path) -> None:
    """Plant the walk and draw it."""
    rig = poise.load(samples.path("humanoid.glb"))
    hills = poise.Terrain.heightmap(samples.path("hills.npz"))
    plot.draw_feet(poise.plant_feet(rig.clips[0], hills, rig=rig), path)
