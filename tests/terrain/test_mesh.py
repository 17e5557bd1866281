"""Ground from triangles, against a look at every triangle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poise.ground.terrain.mesh import sorted_into_cells
from tests.terrain.terrains import grid_mesh, terrain_of_triangles, wavy

seeds = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=40)


def soup(seed, n=30):
    """Triangles of all sizes and attitudes, about a metre around the origin."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-1, 1, size=(n, 1, 3))
    return middles + rng.normal(size=(n, 3, 3)) * rng.choice([0.03, 0.3, 1.0], size=(n, 1, 1))


def quad(x, y, z):
    """Two triangles over a rectangle x = (from, to), y, at height z, facing up."""
    a, b, c, d = ((x[i], y[j], z) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    return [[a, b, c], [a, c, d]]


def box(low, high):
    """The twelve triangles of a box, facing out."""
    (x, y, z), (far_x, far_y, top) = low, high
    bottom = [triangle[::-1] for triangle in quad((x, far_x), (y, far_y), z)]
    ring = [(x, y), (far_x, y), (far_x, far_y), (x, far_y)]
    walls = []
    for (ax, ay), (bx, by) in zip(ring, [*ring[1:], ring[0]], strict=True):
        walls += [[(ax, ay, z), (bx, by, z), (bx, by, top)], [(ax, ay, z), (bx, by, top), (ax, ay, top)]]
    return np.array(quad((x, far_x), (y, far_y), top) + bottom + walls, dtype=float)


def all_heights(triangles, point):
    """Heights of the triangles over a place that face up, and of those that face down, by solving for each."""
    found = {1: [], -1: []}
    for a, b, c in triangles:
        u, v = np.linalg.solve(np.stack([b - a, c - a], axis=1)[:2], point[:2] - a[:2])
        if u >= 0 and v >= 0 and u + v <= 1:
            up = np.cross(b - a, c - a)[2]
            found[int(np.sign(up))].append(a[2] + u * (b - a)[2] + v * (c - a)[2])
    return found[1] or found[-1]


def nearest_hit(triangles, origin, way):
    """Distance to the nearest triangle on a ray, by solving for each."""
    best = np.inf
    for a, b, c in triangles:
        u, v, t = np.linalg.solve(np.stack([b - a, c - a, -way], axis=1), origin - a)
        if u >= 0 and v >= 0 and u + v <= 1 and t >= 0:
            best = min(best, t)
    return best


class TestHeights:
    @given(seeds, st.floats(0.01, 2))
    @FEW
    def test_the_highest_not_above_else_the_lowest(self, seed, storey):
        triangles = soup(seed)
        terrain = terrain_of_triangles(triangles, storey=storey)
        points = np.random.default_rng(seed).uniform(-1.5, 1.5, size=(20, 3))
        ground = terrain.sample(points)
        for k, point in enumerate(points):
            heights = all_heights(triangles, point)
            below = [height for height in heights if height <= point[2] + storey]
            assert bool(heights) == ground.inside[k]
            if heights:
                assert ground.heights[k] == pytest.approx(max(below) if below else min(heights), abs=1e-9)

    @pytest.mark.parametrize("posts", [2, 3, 40])
    def test_corners_and_edges_are_never_missed(self, posts):
        rng = np.random.default_rng(posts)
        triangles = grid_mesh(posts)
        terrain = terrain_of_triangles(triangles)
        corners = triangles.reshape(-1, 3)
        along = rng.uniform(size=(len(triangles), 3, 1))
        edges = triangles * along + np.roll(triangles, 1, axis=1) * (1 - along)
        assert terrain.sample(corners).inside.all()
        assert terrain.sample(edges).inside.all()
        np.testing.assert_allclose(terrain.heights(corners), corners[:, 2], atol=1e-12)

    def test_a_turned_mesh_has_no_cracks_either(self):
        """Edges at odd angles, where no product is exact."""
        angle = 0.7
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        triangles = grid_mesh(30) @ turn.T
        along = np.random.default_rng(3).uniform(size=(len(triangles), 3, 1))
        edges = triangles * along + np.roll(triangles, 1, axis=1) * (1 - along)
        inner = edges[np.abs(edges @ turn).max(axis=-1) < 2.9]
        terrain = terrain_of_triangles(triangles)
        assert terrain.sample(inner).inside.all()
        assert terrain.hit(inner + np.array([0, 0, 3]), [0.0, 0.0, -1.0]).hit.all()
        assert terrain.hit(inner + np.array([1, 1, 3]), [-1.0, -1.0, -3.0]).hit.all()

    def test_far_from_the_origin(self):
        offset = np.array([1e6, -3e6, 2e5])
        near, far = terrain_of_triangles(grid_mesh()), terrain_of_triangles(grid_mesh() + offset)
        points = np.random.default_rng(0).uniform(-2.9, 2.9, size=(100, 3))
        np.testing.assert_allclose(far.heights(points + offset) - offset[2], near.heights(points), atol=1e-8)
        assert far.sample(points + offset).inside.all()

    def test_a_sliver_stays_between_its_corners(self):
        sliver = terrain_of_triangles([[(0, 0, 0), (1, 0, 0), (0.5, 1e-5, 1)], *quad((0, 1), (2, 3), 0.0)])
        ground = sliver.sample([[0.5, -5e-13, 0], [0.5, 1e-5 + 5e-13, 0], [0.5, 5e-6, 0]])
        assert ground.inside.all()
        assert ground.heights.tolist() == [0, 1, pytest.approx(0.5)]


class TestStoreys:
    BRIDGE = np.array(quad((-5, 5), (-5, 5), 0.0) + quad((-1, 1), (-1, 1), 3.0))

    @pytest.mark.parametrize(
        ("height", "expected"), [(-1, 0), (0, 0), (2.4, 0), (2.6, 3), (3, 3), (9, 3)]
    )  # fmt: skip
    def test_under_and_on_a_bridge(self, height, expected):
        assert terrain_of_triangles(self.BRIDGE, storey=None).heights([0, 0, height]) == expected

    def test_the_step_can_be_stated(self):
        assert terrain_of_triangles(self.BRIDGE, storey=2.0).heights([0, 0, 1.5]) == 3

    def test_it_grows_with_the_ground(self):
        bridge = terrain_of_triangles(self.BRIDGE, storey=2.0).scale_by(10)
        assert bridge.heights([[0, 0, 9], [0, 0, 11]]).tolist() == [0, 30]

    def test_by_default_it_is_half_a_metre_of_the_figure(self):
        bridge = terrain_of_triangles(self.BRIDGE * 100, storey=None).for_figure(170.0)
        assert bridge.heights([[0, 0, 249], [0, 0, 251]]).tolist() == [0, 300]

    def test_below_all_ground_the_lowest_counts(self):
        assert terrain_of_triangles(self.BRIDGE + np.array([0, 0, 50])).heights([0, 0, 0]) == 50

    def test_the_underside_of_a_body_is_no_ground(self):
        body = terrain_of_triangles(box((-1, -1, 0), (1, 1, 2)))
        assert body.heights([0, 0, 0]) == 2
        assert body.normals([0, 0, 0]).tolist() == [0, 0, 1]

    def test_ground_wound_the_other_way_is_ground_all_the_same(self):
        ground = terrain_of_triangles(grid_mesh()[:, ::-1]).sample([0.3, 0.2, 0.0])
        assert ground.inside
        assert ground.normals[2] > 0
        assert ground.heights == terrain_of_triangles(grid_mesh()).heights([0.3, 0.2, 0.0])


class TestWalls:
    STEP = np.concatenate([quad((-2, 0), (-1, 1), 0.0), quad((0, 2), (-1, 1), 1.0), box((0, -1, 0), (2, 1, 1))])

    def test_no_foot_stands_on_them(self):
        heights = terrain_of_triangles(self.STEP).heights([[-1e-9, 0, 0.2], [0, 0, 0.2], [1e-9, 0, 0.2]])
        assert set(heights.tolist()) <= {0.0, 1.0}
        assert heights[2] == 1

    def test_rays_hit_them(self):
        hits = terrain_of_triangles(self.STEP).hit([-1, 0, 0.3], [1, 0, 0.1])
        np.testing.assert_allclose(hits.points, [0, 0, 0.4], atol=1e-12)
        np.testing.assert_allclose(hits.normals, [-1, 0, 0], atol=1e-12)

    def test_a_mesh_without_extent_in_one_direction(self):
        wall = terrain_of_triangles([[(0, 0, 0), (1, 0, 0), (0, 0, 1)], *quad((0, 1), (0, 1e-3), 0.0)])
        assert wall.hit([0.2, -1, 0.2], [0, 1, 0]).hit


class TestBeyond:
    @given(seeds)
    @FEW
    def test_the_nearest_edge_holds(self, seed):
        triangles = grid_mesh(6)
        terrain = terrain_of_triangles(triangles)
        rng = np.random.default_rng(seed)
        points = rng.uniform(-8, 8, size=(30, 3))
        inside = np.abs(points[:, :2]).max(axis=1) <= 3
        ground = terrain.sample(points)
        assert np.array_equal(ground.inside, inside)
        nearest = np.clip(points, -3, 3)
        np.testing.assert_allclose(ground.heights, terrain.heights(nearest), atol=1e-9)

    def test_the_ground_is_level_outwards(self):
        terrain = terrain_of_triangles(grid_mesh(6))
        points, step = np.array([[5.0, 0.5, 0], [-4, 1.1, 0], [0.3, 7, 0], [9, 9, 0]]), 1e-6
        east, north = (
            (terrain.heights(points + way) - terrain.heights(points - way)) / (2 * step)
            for way in np.array([[1, 0, 0], [0, 1, 0]]) * step
        )
        normals = np.stack([-east, -north, np.ones(4)], axis=-1)
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
        np.testing.assert_allclose(terrain.normals(points), normals, atol=1e-8)

    def test_a_hole_is_answered_from_its_rim(self):
        triangles = [*quad((-5, -1), (-5, 5), 0.0), *quad((1, 5), (-5, 5), 2.0)]
        ground = terrain_of_triangles(triangles).sample([[-0.1, 0, 0], [0.1, 0, 0]])
        assert ground.heights.tolist() == [0, 2]
        assert not ground.inside.any()

    def test_doubled_triangles_have_an_outline_too(self):
        twice = terrain_of_triangles([*quad((0, 1), (0, 1), 0.5)] * 2)
        assert twice.heights([7, 7, 0]) == 0.5


class TestRays:
    @given(seeds)
    @FEW
    def test_the_nearest_of_all_triangles_is_hit(self, seed):
        triangles = soup(seed)
        rng = np.random.default_rng(seed)
        origins, ways = rng.uniform(-2, 2, size=(20, 3)), rng.normal(size=(20, 3))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        hits = terrain_of_triangles(triangles).hit(origins, ways)
        expected = [nearest_hit(triangles, origin, way) for origin, way in zip(origins, ways, strict=True)]
        np.testing.assert_allclose(hits.distances, expected, rtol=1e-9, atol=1e-9)

    @given(seeds)
    @FEW
    def test_rays_along_borders_of_cells(self, seed):
        """Nothing that a look at every triangle finds is passed over, and what is hit is ground."""
        triangles, terrain = grid_mesh(5), terrain_of_triangles(grid_mesh(5))
        rng = np.random.default_rng(seed)
        origins = rng.choice([-4.0, -3, -1.5, 0, 1.5, 3], size=(20, 3)) * [1, 1, 0.05]
        ways = np.repeat(np.eye(3), 2, axis=0)[rng.integers(0, 6, size=20)] * rng.choice([-1, 1], size=(20, 1))
        ways[:, 2] += 0.01
        hits = terrain.hit(origins, ways)
        lengths = np.linalg.norm(ways, axis=1)
        for k in range(20):
            assert hits.distances[k] <= nearest_hit(triangles, origins[k], ways[k] / lengths[k]) + 1e-9
        there = hits.points[hits.hit]
        np.testing.assert_allclose(terrain.heights(there), there[:, 2], atol=1e-9)

    def test_normals_are_on_the_upper_side(self):
        body = terrain_of_triangles(box((-1, -1, 0), (1, 1, 2)))
        assert body.hit([0, 0, -1], [0, 0, 1]).normals.tolist() == [0, 0, 1]
        assert body.hit([0, 0, 9], [0, 0, -1]).normals.tolist() == [0, 0, 1]


class TestCells:
    @given(seeds, st.integers(1, 60))
    @FEW
    def test_every_triangle_is_in_every_cell_that_it_touches(self, seed, n):
        triangles = soup(seed, n)
        cells = sorted_into_cells(triangles)
        rng = np.random.default_rng(seed)
        shares = rng.dirichlet([1, 1, 1], size=(n, 20))
        places = np.einsum("tpk,tkd->tpd", shares, triangles)
        cols, rows = cells.grid.cells(*cells.grid.clamp_places(*cells.grid.places(places[..., 0], places[..., 1]))[:2])
        for t in range(n):
            pairs = cells.pairs(cols[t], rows[t])
            assert np.isin(np.arange(20), pairs.owner[pairs.triangles == t]).all()

    def test_one_huge_triangle_among_many_small_ones_does_not_fill_the_memory(self):
        many = np.concatenate([soup(1, 2000) * 1e-3 + [50, 50, 0], [[(0, 0, 0), (100, 0, 0), (0, 100, 0)]] * 200])
        cells = sorted_into_cells(many)
        assert len(cells.triangles) <= 16 * len(many) + 4096
        assert 0.5 < cells.grid.wide / cells.grid.deep < 2.0  # fewer of them, but nearly square as before

    def test_a_mesh_of_a_smooth_ground_is_close_to_it(self):
        points = np.random.default_rng(1).uniform(-2.9, 2.9, size=(500, 3))
        heights = terrain_of_triangles(grid_mesh(121), storey=9.0).heights(points)
        np.testing.assert_allclose(heights, wavy(points[:, 0], points[:, 1]), atol=1e-3)
