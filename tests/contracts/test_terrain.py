"""What every kind of terrain promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import InputError, Terrain
from tests.terrain.terrains import KINDS, SMOOTH, ground, points_over, rays_over, to_y_up

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(KINDS)
FEW = settings(max_examples=40)


class TestFrames:
    @given(kinds, seeds)
    @FEW
    def test_y_up_and_z_up_are_the_same_ground(self, kind, seed):
        points = points_over(seed)
        flat, turned = ground(kind).sample(points), ground(kind).with_up("y").sample(to_y_up(points))
        assert np.array_equal(flat.heights, turned.heights)
        assert np.array_equal(to_y_up(flat.normals), turned.normals)
        assert np.array_equal(flat.inside, turned.inside)

    @given(kinds, seeds)
    @FEW
    def test_rays_too(self, kind, seed):
        origins, directions = rays_over(seed, 10)
        flat = ground(kind).hit(origins, directions)
        turned = ground(kind).with_up("y").hit(to_y_up(origins), to_y_up(directions))
        np.testing.assert_allclose(to_y_up(flat.points), turned.points, atol=1e-12)
        np.testing.assert_allclose(to_y_up(flat.normals), turned.normals, atol=1e-9)
        assert np.array_equal(flat.hit, turned.hit)

    def test_a_default_slope_climbs_the_way_that_figures_face_in_either_frame(self):
        up = Terrain.slope(45).heights([[0, 0, 2]])
        assert up == pytest.approx([2])
        assert Terrain.slope(45, up="z").heights([[0, -2, 0]]) == pytest.approx(up)

    @pytest.mark.parametrize("up", ["x", "Z", None, 2])
    def test_other_axes_are_refused(self, up):
        with pytest.raises(InputError, match='"y" or "z"'):
            Terrain.flat(up=up)


class TestLengths:
    @given(kinds, seeds, st.integers(-20, 20))
    @FEW
    def test_powers_of_two_change_no_bit(self, kind, seed, exponent):
        points, factor = points_over(seed), 2.0**exponent
        plain, scaled = ground(kind).sample(points), ground(kind).scale_by(factor).sample(points * factor)
        assert np.array_equal(plain.heights * factor, scaled.heights)
        assert np.array_equal(plain.normals, scaled.normals)

    @given(kinds, seeds, st.floats(1e-3, 1e3))
    @FEW
    def test_any_factor_scales_rays(self, kind, seed, factor):
        origins, directions = rays_over(seed, 10)
        plain, scaled = (
            ground(kind).hit(origins, directions),
            ground(kind).scale_by(factor).hit(origins * factor, directions),
        )
        assert (plain.hit == scaled.hit).mean() > 0.8  # a ray that grazes may change sides by rounding
        both = plain.hit & scaled.hit
        np.testing.assert_allclose(
            plain.distances[both] * factor, scaled.distances[both], rtol=1e-6, atol=1e-6 * factor
        )

    @given(kinds, seeds, st.floats(-10, 10))
    @FEW
    def test_lifting_adds(self, kind, seed, offset):
        points = points_over(seed)
        lifted = ground(kind).lift_by(offset).sample(points + np.array([0, 0, offset]))
        np.testing.assert_allclose(lifted.heights, ground(kind).heights(points) + offset, atol=1e-12)
        np.testing.assert_allclose(lifted.normals, ground(kind).normals(points), atol=1e-12)

    def test_shapes_are_in_metres_of_a_figure(self):
        stairs = Terrain.stairs(0.15, 0.3)
        assert stairs.unit is None
        centimetres = stairs.for_figure(170.0)
        assert centimetres.unit == 1.0
        assert centimetres.heights([0, 0, 20.0]) == pytest.approx(15.0)

    def test_a_stated_unit_counts_instead_of_the_figure(self):
        assert Terrain.flat(2.0, unit=100.0).for_figure(1.0).heights([0, 0, 0]) == 200.0
        assert Terrain.heightmap(np.ones((2, 2))).for_figure(170.0).heights([0, 0, 0]) == 1.0

    def test_scaling_twice_is_scaling_once(self):
        assert Terrain.flat(1.0).lift_by(1.0).scale_by(2.0).scale_by(3.0).heights([0, 0, 0]) == 12.0

    @pytest.mark.parametrize("factor", [0, -1, np.nan, np.inf, "2"])
    def test_a_factor_is_above_zero(self, factor):
        with pytest.raises(InputError, match="factor"):
            Terrain.flat().scale_by(factor)


class TestBatches:
    @given(kinds, seeds)
    @FEW
    def test_one_point_gets_the_bits_of_the_batch(self, kind, seed):
        points = points_over(seed, 20)
        many = ground(kind).sample(points)
        for k, point in enumerate(points):
            one = ground(kind).sample(point)
            assert one.heights == many.heights[k] == ground(kind).heights(point)
            assert np.array_equal(one.normals, many.normals[k])

    @pytest.mark.parametrize("kind", KINDS)
    def test_many_points_are_the_same_as_their_parts(self, kind):
        points = points_over(1, 40_000)
        whole = ground(kind).sample(points)
        parts = [ground(kind).sample(part) for part in np.array_split(points, 7)]
        assert np.array_equal(whole.heights, np.concatenate([part.heights for part in parts]))
        assert np.array_equal(whole.normals, np.concatenate([part.normals for part in parts]))
        assert np.array_equal(whole.heights, ground(kind).heights(points))

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_ray_gets_the_bits_of_the_batch(self, kind):
        origins, directions = rays_over(2, 12)
        many = ground(kind).hit(origins, directions)
        for k in range(12):
            one = ground(kind).hit(origins[k], directions[k])
            assert np.array_equal(one.points, many.points[k])
            assert np.array_equal(one.normals, many.normals[k])

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 5, 3), (0, 3), (4, 0, 3)])
    def test_shapes_are_kept(self, kind, shape):
        heights, normals, inside = ground(kind).sample(np.zeros(shape))
        assert (heights.shape, normals.shape, inside.shape) == (shape[:-1], shape, shape[:-1])
        hits = ground(kind).hit(np.zeros(shape), [0.0, 0.1, -1.0])
        assert (hits.points.shape, hits.distances.shape, hits.hit.shape) == (shape, shape[:-1], shape[:-1])

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("size", [1e3, 1e9, 1e15, 1e30, 1e300])
    def test_far_away_is_answered_too(self, kind, size):
        heights, normals, _ = ground(kind).sample(np.array([[1, 0, 0], [0, 1, 0], [-1, -1, 1]]) * size)
        assert np.isfinite(heights).all()
        assert np.isfinite(normals).all()


class TestNormals:
    @given(kinds, seeds)
    @FEW
    def test_they_have_unit_length_and_point_up(self, kind, seed):
        normals = ground(kind).normals(points_over(seed))
        np.testing.assert_allclose(np.linalg.norm(normals, axis=-1), 1.0, atol=1e-12)
        assert (normals[:, 2] > 0).all()

    @given(st.sampled_from([*SMOOTH, "map", "mesh"]), seeds)
    @FEW
    def test_they_are_those_of_differences(self, kind, seed):
        points, step = points_over(seed), 1e-6
        east, west, north, south = (
            ground(kind).heights(points + np.array(way) * step)
            for way in ([1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0])
        )
        slopes = np.stack([-(east - west), -(north - south), np.full(len(points), 2 * step)], axis=-1)
        slopes /= np.linalg.norm(slopes, axis=-1, keepdims=True)
        off = np.abs(slopes - ground(kind).normals(points)).max(axis=-1)
        creases = 0 if kind in SMOOTH else 1  # a place within a step of a crease has two slopes
        assert np.sort(off)[-1 - creases] < 1e-7

    @given(st.sampled_from(SMOOTH), seeds, st.floats(0, 6.3))
    @FEW
    def test_heights_are_continuous(self, kind, seed, angle):
        points = points_over(seed)
        beside = points + 1e-7 * np.array([np.cos(angle), np.sin(angle), 0])
        assert np.abs(ground(kind).heights(points) - ground(kind).heights(beside)).max() < 1e-6


class TestRays:
    @given(st.sampled_from([kind for kind in KINDS if kind != "stairs"]), seeds)
    @FEW
    def test_hits_lie_on_the_ground_and_on_the_ray(self, kind, seed):
        origins, directions = rays_over(seed)
        points, normals, distances, hit = ground(kind).hit(origins, directions)
        there = ground(kind).sample(points[hit])
        np.testing.assert_allclose(there.heights, points[hit][:, 2], atol=1e-8)
        np.testing.assert_allclose(
            np.linalg.norm(points - origins, axis=-1)[hit], distances[hit], rtol=1e-12, atol=1e-12
        )
        assert np.isinf(distances[~hit]).all()
        assert np.array_equal(points[~hit], origins[~hit])
        assert np.isfinite(normals).all()

    @given(kinds, seeds)
    @FEW
    def test_nothing_nearer_is_hit(self, kind, seed):
        """The ray stays on one side of the ground up to its hit."""
        origins, directions = rays_over(seed)
        _, _, distances, _ = ground(kind).hit(origins, directions)
        unit = directions / np.linalg.norm(directions, axis=-1, keepdims=True)
        ends = np.minimum(distances, 4.0)[:, None] * np.linspace(0.001, 0.999, 400)
        way = origins[:, None] + ends[..., None] * unit[:, None]
        found = ground(kind).sample(way)
        above = way[..., 2] > found.heights
        above |= ~found.inside  # beside a map there is nothing to hit
        below = (way[..., 2] < found.heights) | ~found.inside
        assert (above.all(axis=-1) | below.all(axis=-1)).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_straight_down_is_the_height(self, kind):
        points = points_over(3) * [1, 1, 0] + [0, 0, 5]
        hits = ground(kind).hit(points, [0, 0, -3])
        assert hits.hit.all()
        np.testing.assert_allclose(hits.points[:, 2], ground(kind).heights(points), atol=1e-12)
        np.testing.assert_allclose(hits.normals, ground(kind).normals(points), atol=1e-6)

    @pytest.mark.parametrize("kind", KINDS)
    def test_straight_up_from_below_is_the_height_too(self, kind):
        points = points_over(4) * [1, 1, 0] - [0, 0, 5]
        hits = ground(kind).hit(points, [0, 0, 1])
        np.testing.assert_allclose(hits.points[:, 2], ground(kind).heights(points), atol=1e-12)
        assert (hits.normals[:, 2] > 0).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_away_from_the_ground_misses(self, kind):
        assert not ground(kind).hit([0.3, 0.2, 2.0], [0, 0, 1]).hit
        assert not ground(kind).hit([0.3, 0.2, -2.0], [0, 0, -1]).hit

    @pytest.mark.parametrize("kind", ["flat", "slope", "stairs", "map", "mesh", "noise"])
    def test_a_ray_that_starts_on_the_ground_hits_it_there(self, kind):
        point = np.array([0.31, 0.17, 0.0])
        point[2] = ground(kind).heights(point)
        assert ground(kind).hit(point, [0.3, 0.1, 1.0]).distances == pytest.approx(0, abs=1e-12)

    def test_the_length_of_a_direction_does_not_matter(self):
        for size in (1e-200, 1.0, 1e200):
            assert Terrain.flat().hit([0, 2, 0], np.array([1, -1, 0]) * size).distances == pytest.approx(8**0.5)

    def test_a_ray_along_the_plane_misses_it(self):
        assert not Terrain.flat().hit([0, 1, 0], [1, 0, 0]).hit

    def test_no_direction_is_refused(self):
        with pytest.raises(InputError, match="zero length"):
            Terrain.flat().hit([0, 1, 0], [0, 0, 0])
        with pytest.raises(InputError, match="one here has zero length"):
            Terrain.flat().hit([0, 1, 0], [[0, -1, 0], [0, 0, 0]])


def test_it_is_a_public_name():
    assert poise.Terrain is Terrain


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_shown_in_a_line(kind):
    assert len(repr(ground(kind))) < 400
    assert "array" not in repr(ground(kind))
