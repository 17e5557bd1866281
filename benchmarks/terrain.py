"""Heights and normals of every kind of ground: a call with six points, as a figure's feet need, and a million points.

Rays on a height map and on a mesh, in a batch.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import numpy as np

from poise import Terrain

POINTS = 1_000_000
RAYS = 10_000
CALLS = 2_000  # of six points
CELLS = 400  # a side: 320,000 triangles
SEED = 5


def grid_heights(cells: int) -> np.ndarray:
    """Heights of smooth hills, one post more than cells a side."""
    x = np.linspace(0.0, 20.0, cells + 1)
    return 0.3 * np.sin(x[:, None]) * np.cos(0.7 * x)


def mesh_of(heights: np.ndarray, size: float, path: Path) -> Path:
    """Write a height map's posts as an OBJ file of two triangles a cell, y up."""
    rows, cols = heights.shape
    x, z = np.meshgrid(np.linspace(-size / 2, size / 2, cols), np.linspace(-size / 2, size / 2, rows))
    corner = (np.arange(rows - 1)[:, None] * cols + np.arange(cols - 1)).reshape(-1) + 1
    faces = np.concatenate(
        [np.stack([corner, corner + cols, corner + 1], 1), np.stack([corner + 1, corner + cols, corner + cols + 1], 1)]
    )
    with path.open("w", encoding="ascii") as file:
        np.savetxt(file, np.stack([x, heights, z], -1).reshape(-1, 3), fmt="v %.6f %.6f %.6f")
        np.savetxt(file, faces, fmt="f %d %d %d")
    return path


def grounds(cells: int, folder: Path) -> dict[str, Terrain]:
    """Every kind, by name."""
    heights = grid_heights(cells)
    return {
        "flat": Terrain.flat(),
        "slope": Terrain.slope(10),
        "stairs": Terrain.stairs(0.15, 0.30),
        "noise": Terrain.noise(0.05),
        f"height map, {cells} x {cells} cells": Terrain.heightmap(heights, size=(20.0, 20.0)),
        "function, a sine times a cosine": Terrain.function(lambda x, z: np.sin(x) * np.cos(z)),
        f"mesh, {2 * cells * cells:,} triangles": Terrain.mesh(mesh_of(heights, 20.0, folder / "hills.obj")),
    }


def each(action: Callable[[], Any], calls: int, unit: float) -> float:
    """Processor time of one of many calls, the least of three rounds, in the unit; the first call does not count."""
    action()
    return harness.quickest(lambda: [action() for _ in range(calls)], enough=10.0)[1] / calls / unit


def row(name: str, ground: Terrain, points: np.ndarray, calls: int) -> harness.Row:
    """Six points a call, and all of them in one."""
    few, share = points[:6], 1.0 / len(points)
    return {
        "ground": name,
        "6 points: heights [us]": each(lambda: ground.heights(few), calls, 1e-6),
        "heights and normals [us]": each(lambda: ground.sample(few), calls, 1e-6),
        "many: heights, a point [ns]": each(lambda: ground.heights(points), 1, 1e-9) * share,
        "heights and normals, a point [ns]": each(lambda: ground.sample(points), 1, 1e-9) * share,
    }


def rays(name: str, ground: Terrain, count: int) -> str:
    """The sentence about rays that come down aslant on ground."""
    rng = np.random.default_rng(SEED)
    start = rng.uniform([-9, 2, -9], [9, 3, 9], (count, 3))
    down = rng.uniform([-1, -1, -1], [1, -0.5, 1], (count, 3))
    microseconds = each(lambda: ground.hit(start, down), 1, 1e-6) / count
    return f"A ray on the {name.partition(',')[0]}, in a batch of {count:,}: {microseconds:.3g} us."


def main(points: int = POINTS, cells: int = CELLS) -> int:
    """Run everything and write the table."""
    places = np.random.default_rng(SEED).uniform([-9, 0, -9], [9, 1, 9], (points, 3))
    calls = max(10, CALLS * points // POINTS)
    with tempfile.TemporaryDirectory() as folder:
        kinds = grounds(cells, Path(folder))
    rows = [row(name, ground, places, calls) for name, ground in kinds.items()]
    notes = [
        rays(name, ground, min(RAYS, points)) for name, ground in kinds.items() if name.startswith(("height", "mesh"))
    ]
    notes.append(f"Processor time, one thread, the least of three rounds; many: {points:,} points in one call.")
    harness.report("terrain", "Ground: heights, normals and rays", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
