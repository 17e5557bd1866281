"""Planes, stairs and noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from poise import InputError, Terrain
from tests.terrain.terrains import points_over

seeds = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=40)
# seed 0: whoever walked on it finds it again
NOISE = [0.014038190274373278, 0.01616595336868192, -0.013119844390897414]


class TestShapes:
    @given(st.floats(-89, 89), st.floats(-50, 50), st.floats(-50, 50))
    def test_a_slope_is_its_tangent(self, degrees, x, z):
        expected = z * np.tan(np.radians(degrees))
        assert Terrain.slope(degrees).heights([x, 3, z]) == pytest.approx(expected, abs=1e-9)

    @given(st.floats(-10, 10), st.floats(0.1, 2), st.floats(-3, 3), st.floats(-40, 40))
    def test_stairs_are_a_floor(self, rise, going, start, z):
        assume(abs((z - start) / going - round((z - start) / going)) > 1e-9)
        expected = rise * (np.floor((z - start) / going) + 1)
        assert Terrain.stairs(rise, going, start=start).heights([1, 2, z]) == pytest.approx(expected)

    def test_an_edge_belongs_to_the_tread_behind_it(self):
        stairs = Terrain.stairs(0.5, 1.0, start=2.0)
        assert stairs.heights([[0, 0, np.nextafter(2, 0)], [0, 0, 2]]).tolist() == [0.0, 0.5]

    def test_the_origin_is_in_the_middle_of_a_tread(self):
        stairs = Terrain.stairs(0.15, 0.3)
        assert stairs.heights([[0, 0, -0.149], [0, 0, 0.149]]).tolist() == [0.0, 0.0]
        assert stairs.heights([[0, 0, -0.151], [0, 0, 0.151]]) == pytest.approx([-0.15, 0.15])

    def test_the_level_part_of_a_direction_counts(self):
        points = points_over(6)
        assert np.array_equal(
            Terrain.slope(10, direction=(1, 0, 0)).heights(points),
            Terrain.slope(10, direction=(9, 5, 0)).heights(points),
        )

    @pytest.mark.parametrize(
        ("ray", "way", "place", "normal"),
        [
            ((0, 0.1, 0), (0, 0, 1), (0, 0.1, 0.5), (0, 0, -1)),  # level, against the first riser
            ((0, 0.35, 0), (0, 0, 1), (0, 0.35, 1.5), (0, 0, -1)),  # over the first step, against the second
            ((0, 1.0, 0), (0, -1, 0), (0, 0, 0), (0, 1, 0)),
            ((0, 0.5, -0.4), (0, -1, 1), (0, 0, 0.1), (0, 1, 0)),
            ((0, -0.1, 0), (0, 0, -1), (0, -0.1, -0.5), (0, 0, -1)),  # from below: the back of a riser
        ],
    )
    def test_rays_meet_treads_and_risers(self, ray, way, place, normal):
        hits = Terrain.stairs(0.3, 1.0, start=0.5).hit(ray, way)
        np.testing.assert_allclose(hits.points, place, atol=1e-12)
        np.testing.assert_allclose(hits.normals, normal, atol=1e-12)

    def test_a_ray_that_climbs_faster_than_the_stairs_leaves_them(self):
        assert not Terrain.stairs(0.3, 1.0).hit([0, 0.5, 0], [0, 0.4, 1]).hit
        assert Terrain.stairs(0.3, 1.0).hit([0, 0.5, 0], [0, 0.2, 1]).hit

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Terrain.flat(np.nan),
            lambda: Terrain.flat("low"),
            lambda: Terrain.slope(90),
            lambda: Terrain.slope(np.inf),
            lambda: Terrain.slope(10, direction=(0, 1, 0)),
            lambda: Terrain.slope(10, direction=(1, 0)),
            lambda: Terrain.slope(10, direction=[(1, 0, 0)] * 2),
            lambda: Terrain.stairs(0.1, 0),
            lambda: Terrain.stairs(0.1, -0.3),
            lambda: Terrain.stairs(np.nan, 0.3),
            lambda: Terrain.noise(0.1, 0),
            lambda: Terrain.noise(0.1, seed=-1),
            lambda: Terrain.noise(0.1, seed=0.5),
            lambda: Terrain.flat(unit=0),
            lambda: Terrain.flat().for_figure(0),
            lambda: Terrain.flat().heights([[1, 2]]),
            lambda: Terrain.flat().heights([1, np.nan, 2]),
        ],
    )
    def test_bad_numbers_are_one_sentence(self, make):
        with pytest.raises(InputError) as caught:
            make()
        assert "\n" not in str(caught.value)


class TestNoise:
    @given(seeds, st.floats(0.01, 5), st.floats(0.1, 10))
    @FEW
    def test_it_stays_within_its_amplitude_and_slope(self, seed, amplitude, wavelength):
        terrain = Terrain.noise(amplitude, wavelength, seed, up="z")
        heights, normals, _ = terrain.sample(points_over(seed, 500) * 20)
        assert np.abs(heights).max() <= amplitude
        steepest = np.hypot(normals[:, 0], normals[:, 1]) / normals[:, 2]
        assert steepest.max() <= 2.93 * amplitude / wavelength

    def test_it_uses_most_of_its_amplitude(self):
        heights = Terrain.noise(1.0).heights(points_over(1, 20_000) * 20)
        assert np.abs(heights).max() > 0.8
        assert 0.2 < heights.std() < 0.5

    def test_its_lattice_has_height_zero(self):
        corners = np.array([[0, 0, 0], [3, 0, 5], [-7, 0, 2]]) * 0.5
        assert np.abs(Terrain.noise(1.0, 0.5).heights(corners)).max() == 0.0

    def test_seeds_differ_and_repeat(self):
        points = points_over(2)
        one, other = Terrain.noise(1, seed=1).heights(points), Terrain.noise(1, seed=2).heights(points)
        assert np.array_equal(one, Terrain.noise(1, seed=1).heights(points))
        assert np.abs(one - other).max() > 0.1

    def test_it_is_the_ground_that_it_has_always_been(self):
        heights = Terrain.noise(0.05, 1.0).heights([[0.3, 0, 0.4], [12.7, 0, -5.2], [-1000.5, 0, 2000.25]])
        assert heights == pytest.approx(NOISE, abs=1e-12)
