"""One terrain of every kind, Z-up and about a metre large, and plain ways to ask the same."""

from __future__ import annotations

from functools import cache

import numpy as np

from poise import Terrain
from poise.ground.terrain.mesh import Mesh

SIZE = 3.0  # maps and meshes reach from -3 to 3


def wavy(x, y):
    return 0.3 * np.sin(1.7 * x + 0.4) * np.cos(1.1 * y)


def grid_mesh(posts=13, height=wavy):
    """Triangles (t, 3, 3) over a square grid, two to a cell."""
    x, y = np.meshgrid(*[np.linspace(-SIZE, SIZE, posts)] * 2)
    points = np.stack([x, y, height(x, y)], axis=-1)
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]
    return np.stack([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)


def terrain_of_triangles(triangles, **options):
    return Terrain(Mesh(np.asarray(triangles, dtype=float)), "z", 1.0, **options)


@cache
def ground(kind):
    """The terrain of a kind."""
    posts = np.random.default_rng(5).normal(size=(9, 12)) * 0.3
    return {
        "flat": lambda: Terrain.flat(0.25, up="z"),
        "slope": lambda: Terrain.slope(20, direction=(1, 2, 0), up="z"),
        "stairs": lambda: Terrain.stairs(0.15, 0.3, direction=(3, -1, 0), up="z"),
        "noise": lambda: Terrain.noise(0.3, 1.5, seed=3, up="z"),
        "map": lambda: Terrain.heightmap(posts, size=(2 * SIZE, 2 * SIZE), origin=(0.1, 0.2, 0.3), up="z"),
        "function": lambda: Terrain.function(wavy, up="z"),
        "mesh": lambda: terrain_of_triangles(grid_mesh(), storey=None),
    }[kind]()


KINDS = ("flat", "slope", "stairs", "noise", "map", "function", "mesh")
SMOOTH = ("flat", "slope", "noise", "function")


def points_over(seed, n=50):
    return np.random.default_rng(seed).uniform(-2.5, 2.5, size=(n, 3))


def rays_over(seed, n=40):
    rng = np.random.default_rng(seed)
    return rng.uniform(-2.5, 2.5, size=(n, 3)) * [1, 1, 0.6], rng.normal(size=(n, 3))


def to_y_up(vectors):
    """Z-up (x, y, z) is Y-up (x, z, -y)."""
    return np.stack([vectors[..., 0], vectors[..., 2], -vectors[..., 1]], axis=-1)
