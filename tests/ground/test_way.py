"""The way of a clip: from the hips, the ground that passes, or the feet; and ground that climbs along it."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.ground.figure.figure import figure_of
from poise.ground.way import way_of
from poise.io import samples
from poise.maths import rotations
from tests.ground.clips import clip_of


@pytest.fixture(scope="module")
def walk() -> tuple[poise.Rig, poise.Clip]:
    rig = poise.load(samples.path("humanoid.bvh"))
    return rig, rig.clips[0]


def carried(clip: poise.Clip, speed: tuple[float, float, float], degrees: float = 0.0) -> poise.Clip:
    """The clip carried on at a speed (3,), then turned about the up axis y."""
    q = np.array(clip.poses.q)
    half = np.radians(degrees) / 2
    turn = np.array([np.cos(half), 0.0, np.sin(half), 0.0])
    q[:, :3] = rotations.rotate(turn, q[:, :3] + clip.times[:, None] * np.array(speed))
    q[:, 3:7] = rotations.multiply(np.broadcast_to(turn, (len(q), 4)), q[:, 3:7])
    return poise.Clip(clip.times, poise.Pose(clip.skeleton, q), clip.name)


def said_by(rig: poise.Rig, clip: poise.Clip) -> str:
    return way_of(clip, figure_of(clip, rig=rig)).evidence


class TestTravelDirection:
    @pytest.mark.parametrize("degrees", [0, 90, 200])
    def test_a_walk_in_place_goes_against_the_ground(self, walk, degrees):
        rig, clip = walk
        turned = carried(clip, (0, 0, 0), degrees)
        way = [np.sin(np.radians(degrees)), 0.0, np.cos(np.radians(degrees))]
        assert said_by(rig, turned) == "ground"
        np.testing.assert_allclose(poise.travel_direction(turned, rig=rig), way, atol=0.02)

    def test_a_walk_that_travels_goes_where_its_hips_go(self, walk):
        rig, clip = walk
        sideways = carried(clip, (-2.0, 0.3, 0.5))
        assert said_by(rig, sideways) == "hips"
        way = poise.travel_direction(sideways, rig=rig)
        np.testing.assert_allclose(way, [-2 / np.hypot(2, 0.5), 0, 0.5 / np.hypot(2, 0.5)], atol=0.02)
        assert np.linalg.norm(way) == pytest.approx(1.0)

    @pytest.mark.parametrize("degrees", [0, 120])
    def test_who_stays_goes_where_the_feet_point(self, walk, degrees):
        rig, clip = walk
        stays = poise.Clip(np.arange(4) / 30, poise.Pose(clip.skeleton, np.tile(rig.rest.q, (4, 1))), "stands")
        stays = carried(stays, (0, 0, 0), degrees)
        assert said_by(rig, stays) == "feet"
        way = [np.sin(np.radians(degrees)), 0.0, np.cos(np.radians(degrees))]
        np.testing.assert_allclose(poise.travel_direction(stays, rig=rig), way, atol=0.05)

    def test_where_z_is_up(self, data):
        rig, clip = clip_of(data, "woman walks")
        assert abs(poise.travel_direction(clip, rig=rig)[2]) < 1e-12

    def test_stairs_climb_under_a_walk_along_x(self, walk):
        rig, clip = walk
        along_x = carried(clip, (0, 0, 0), 90)
        level = poise.plant_feet(along_x, poise.Terrain.stairs(0.15, 0.3), rig=rig)
        stairs = poise.Terrain.stairs(0.15, 0.3, direction=poise.travel_direction(along_x, rig=rig))
        up = poise.plant_feet(along_x, stairs, rig=rig)
        climbed = [planted.poses.world["Hips"].positions[[0, -1], 1] for planted in (level, up)]
        assert abs(np.diff(climbed[0])) < 0.1
        assert np.diff(climbed[1]) > 0.3
        assert level.report.direction.tolist() == [0, 0, 1]
        np.testing.assert_allclose(up.report.direction, [1, 0, 0], atol=0.02)
        assert up.report.ground.startswith("stairs, 0.15 up every 0.3, climbing along (")
        assert level.report.ground == "stairs, 0.15 up every 0.3"
        assert up.report.as_object()["direction"] == up.report.direction.tolist()
        assert poise.lock_feet(clip, rig=rig).report.as_object()["direction"] is None
