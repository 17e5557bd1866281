"""Height maps: what lies between posts, beyond edges and in holes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poise import InputError, Terrain

seeds = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=40)
SQUARE = [[1.0, 2.0], [3.0, 4.0]]


def post_places(rows, cols, wide, deep):
    """Plan places (rows, cols) x and y of the posts of a map about the origin, first row in the north."""
    return np.meshgrid(np.linspace(-wide / 2, wide / 2, cols), np.linspace(deep / 2, -deep / 2, rows))


def slow_height(values, wide, deep, x, y):
    """Bilinear by the textbook, for one place."""
    rows, cols = values.shape
    u = min(max((x + wide / 2) / wide * (cols - 1), 0), cols - 1)
    v = min(max((deep / 2 - y) / deep * (rows - 1), 0), rows - 1)
    i, j = min(int(u), cols - 2), min(int(v), rows - 2)
    return sum(
        values[j + b, i + a] * (1 - abs(u - i - a)) * (1 - abs(v - j - b)) for a in (0, 1) for b in (0, 1)
    )  # fmt: skip


class TestHeights:
    @given(seeds, st.integers(2, 7), st.integers(2, 7), st.floats(0.1, 100), st.floats(0.1, 100))
    @FEW
    def test_they_are_bilinear(self, seed, rows, cols, wide, deep):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(rows, cols))
        terrain = Terrain.heightmap(values, size=(wide, deep), up="z")
        points = rng.uniform(-0.7, 0.7, size=(20, 3)) * [wide, deep, 1]
        expected = [slow_height(values, wide, deep, x, y) for x, y, _ in points]
        np.testing.assert_allclose(terrain.heights(points), expected, atol=1e-12)

    @given(seeds, st.integers(2, 7), st.integers(2, 7))
    @FEW
    def test_posts_are_met(self, seed, rows, cols):
        values = np.random.default_rng(seed).normal(size=(rows, cols))
        x, y = post_places(rows, cols, 3.0, 5.0)
        ground = Terrain.heightmap(values, size=(3, 5), up="z").sample(np.stack([x, y, x], axis=-1))
        np.testing.assert_allclose(ground.heights, values, atol=1e-13)
        assert ground.inside.all()

    def test_rows_run_towards_z_in_a_y_up_frame(self):
        corners = [[[-0.5, 0, -0.5], [0.5, 0, -0.5]], [[-0.5, 0, 0.5], [0.5, 0, 0.5]]]
        assert Terrain.heightmap(SQUARE).heights(corners).tolist() == SQUARE

    def test_rows_run_towards_the_south_in_a_z_up_frame(self):
        corners = [[[-0.5, 0.5, 0], [0.5, 0.5, 0]], [[-0.5, -0.5, 0], [0.5, -0.5, 0]]]
        assert Terrain.heightmap(SQUARE, up="z").heights(corners).tolist() == SQUARE

    def test_size_height_and_origin(self):
        terrain = Terrain.heightmap(SQUARE, size=(4, 2), height=10, origin=(1, 100, 5))
        assert terrain.heights([[-1, 0, 4], [3, 0, 6]]).tolist() == [110, 140]

    def test_one_size_makes_square_cells(self):
        terrain = Terrain.heightmap(np.arange(6.0).reshape(2, 3), size=8)
        assert terrain.sample([[-4, 0, -2], [4, 0, 2], [0, 0, 2.1]]).inside.tolist() == [True, True, False]

    def test_whole_numbers_are_heights_too(self):
        assert Terrain.heightmap(np.array([[0, 7], [0, 7]], dtype=np.int16)).heights([0.5, 0, 0]) == 7

    def test_the_array_may_change_afterwards(self):
        values = np.ones((2, 2))
        terrain = Terrain.heightmap(values)
        values[:] = 9
        assert terrain.heights([0, 0, 0]) == 1


class TestEdges:
    def test_the_nearest_height_holds_beyond(self):
        ground = Terrain.heightmap(SQUARE).sample([[-9, 0, -9], [9, 0, 9], [-9, 0, 0], [0, 0, 99]])
        assert ground.heights.tolist() == [1, 4, 2, 3.5]
        assert not ground.inside.any()

    def test_the_ground_is_level_outwards(self):
        normals = Terrain.heightmap(SQUARE).normals([[-9, 0, -9], [-9, 0, 0], [0, 0, 9]])
        slope = np.array([[0, 1, 0], [0, 1, -2], [-1, 1, 0]])
        np.testing.assert_allclose(normals, slope / np.linalg.norm(slope, axis=-1, keepdims=True))

    def test_the_edge_itself_is_inside(self):
        assert Terrain.heightmap(np.ones((4, 4)), size=0.3).sample([[0.15, 0, 0.15], [-0.15, 0, -0.15]]).inside.all()

    def test_a_place_that_rounding_has_put_beside_the_edge_is_inside(self):
        """By a billionth of a cell, and not by more, on any side."""
        terrain = Terrain.heightmap(np.ones((3, 3)), origin=(1, 0, -1), up="y")  # its corner in the origin
        edges = np.array([[0.0, 0, -1], [1, 0, 0]])
        outwards = np.array([[-1.0, 0, 0], [0, 0, 1]])
        assert terrain.sample(edges + 1e-9 * outwards).inside.all()
        assert not terrain.sample(edges + 2e-9 * outwards).inside.any()

    def test_rays_pass_beside_the_map(self):
        terrain = Terrain.heightmap(SQUARE)
        assert not terrain.hit([2, 9, 0], [0, -1, 0]).hit
        assert not terrain.hit([2, 2, 0], [0, 0, 1]).hit
        assert terrain.hit([3, 2.6, 0], [-1, 0, 0]).hit

    def test_a_level_ray_that_starts_on_a_level_map_hits_it_there(self):
        terrain = Terrain.heightmap(np.ones((3, 3)))
        assert terrain.hit([0.2, 1, 0.1], [1, 0, 0.5]).distances == 0
        assert not terrain.hit([0.2, 1.1, 0.1], [1, 0, 0.5]).hit


class TestHoles:
    VALUES = np.array([[1.0, 2, 3, 4], [5, np.nan, np.nan, 8], [9, 10, 11, 12], [13, 14, 15, 16]])

    def test_nan_is_refused_with_its_place(self):
        with pytest.raises(InputError, match="row 1, column 1 is nan; holes=True"):
            Terrain.heightmap(self.VALUES)

    def test_a_cell_with_a_missing_post_is_a_hole(self):
        terrain = Terrain.heightmap(self.VALUES, holes=True, up="z")
        inside = terrain.sample([[-1, 1, 0], [0, 0, 0], [1, -1, 0], [-1, -1, 0], [0, -1, 0]]).inside
        assert inside.tolist() == [False, False, True, True, True]

    @given(seeds)
    @FEW
    def test_missing_posts_have_the_height_of_the_nearest(self, seed):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(6, 5))
        values[rng.random(size=(6, 5)) < rng.uniform(0.1, 0.9)] = np.nan
        values[2, 3] = 0.5
        x, y = post_places(6, 5, 2.0, 3.0)
        known = np.isfinite(values)
        heights = Terrain.heightmap(values, size=(2, 3), holes=True, up="z").heights(np.stack([x, y, x], axis=-1))
        for place in np.argwhere(~known):
            away = np.hypot(x - x[tuple(place)], y - y[tuple(place)])
            nearest = values[known & (away <= away[known].min() + 1e-9)]
            assert np.abs(nearest - heights[tuple(place)]).min() < 1e-12

    def test_rays_fall_through(self):
        terrain = Terrain.heightmap(self.VALUES, holes=True, up="z")
        assert terrain.hit([[0, 0, 99], [1.2, -1, 99]], [0, 0, -1]).hit.tolist() == [False, True]

    def test_nothing_but_holes_is_no_ground(self):
        with pytest.raises(InputError, match="at least one height"):
            Terrain.heightmap(np.full((3, 3), np.nan), holes=True)


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ([[1.0]], {}, r"at least 2 rows and 2 columns; its shape is \(1, 1\)"),
        ([[1.0, 2.0]], {}, r"\(1, 2\)"),
        ([], {}, "at least 2 rows"),
        (np.zeros((2, 2, 3)), {}, "at least 2 rows"),
        ([[1, 2], [3]], {}, "array"),
        ([["a", "b"], ["c", "d"]], {}, "array"),
        (np.ones((2, 2), dtype=complex), {}, "array"),
        (None, {}, "array"),
        ([[1, np.inf], [2, 3]], {}, "row 0, column 1 is inf"),
        ([[1, -np.inf], [2, 3]], {"holes": True}, "row 0, column 1 is -inf"),
        (SQUARE, {"size": 0}, "above 0"),
        (SQUARE, {"size": (1, -1)}, "above 0"),
        (SQUARE, {"size": (1, 2, 3)}, "one length or two"),
        (SQUARE, {"size": np.nan}, "size"),
        (SQUARE, {"height": np.inf}, "height"),
        (SQUARE, {"height": "tall"}, "height"),
        (SQUARE, {"origin": (1, 2)}, "the origin of a height map is three numbers"),
        (SQUARE, {"origin": 1}, "the origin of a height map is three numbers"),
        (SQUARE, {"origin": (1, np.nan, 2)}, "origin"),
        (SQUARE, {"up": "x"}, '"y" or "z"'),
        ([[1e300, 0], [0, 0]], {"height": 1e-300}, "heights must not be beyond 1e"),
        ([[1e20, 0], [0, 0]], {"height": 1e20}, r"heights times 1e\+20 are beyond 1e"),
        (SQUARE, {"size": 1e-31}, "at most 1e.* long and its cells at least 1e-30"),
        (SQUARE, {"size": (1, 1e31)}, "at most 1e.* long and its cells at least 1e-30"),
        (SQUARE, {"origin": (1, 2, 1e31)}, "must not be beyond 1e"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_no_height_map_is_one_sentence(source, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        Terrain.heightmap(source, **options)
    assert "\n" not in str(caught.value)
