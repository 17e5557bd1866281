from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from poise.ground.contact.contacts import stances
from poise.ground.contact.soles import BALL_POINT, HEEL_POINT, TIP_POINT, find_soles
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, TOES
from poise.maths import rotations
from tests.ground.motions import STANDING, motion, moved, path, two_legs


def test_a_foot_that_stands_is_on_the_floor_from_heel_to_tip():
    still = moved(path(10), path(10))
    points = find_soles(still).points(still)[0, 0]
    ahead = STANDING[BALL] - STANDING[ANKLE]
    np.testing.assert_allclose(points[HEEL_POINT], [0.1, -0.3 * ahead[1], 0.0], atol=1e-12)
    np.testing.assert_allclose(points[BALL_POINT], [0.1, STANDING[BALL, 1], 0.0], atol=1e-12)
    np.testing.assert_allclose(points[TIP_POINT], [0.1, STANDING[END, 1], 0.0], atol=1e-12)


def test_the_points_are_carried_by_foot_and_toes():
    still = moved(path(10), path(10))
    soles = find_soles(still)
    turns = still.turns.copy()
    quarter = rotations.about(np.array([1.0, 0.0, 0.0]), np.pi / 2)
    turns[5:, 0, FOOT] = turns[5:, 0, TOES] = quarter
    turned = dataclasses.replace(still, turns=turns)
    points = soles.points(turned)
    for point, local, start in ((0, soles.heel, ANKLE), (1, soles.ball, ANKLE), (2, soles.tip, BALL)):
        expected = still.places[5, 0, start] + rotations.rotate(quarter, local[0])
        np.testing.assert_allclose(points[5, 0, point], expected, atol=1e-12)
        np.testing.assert_allclose(points[5, 1, point], points[0, 1, point], atol=1e-12)


@pytest.mark.parametrize("level", [-7.0, -0.5, 0.5, 3.0])
def test_a_figure_away_from_zero_stands_two_centimetres_under_its_lowest_joint(level):
    there = moved(path(10, z=level), path(10, z=level))
    heights = find_soles(there).points(there)[..., 2]
    np.testing.assert_allclose(heights, level + STANDING[END, 2] - 0.02, atol=1e-12)


def test_a_drifting_floor_averages_out():
    fall = path(100, z=np.linspace(0.02, -0.02, 100) + 0.02)
    there = moved(fall, fall)
    heights = find_soles(there).points(there)[..., 2]
    np.testing.assert_allclose(np.median(heights, axis=0), 0.0, atol=1e-3)


def test_soles_at_rest_count_where_they_alone_stay_out_of_the_ground():
    slide = path(100, y=np.minimum(np.arange(100), 60) / 60.0, z=np.where(np.arange(100) < 60, 0.0, 0.04))
    slides = moved(slide, slide)  # at 1 m/s along the floor, and slow only above it
    np.testing.assert_allclose(find_soles(slides).heel, find_soles(moved(path(9), path(9))).heel, atol=1e-9)


def test_swinging_frames_do_not_count():
    lift = np.where(np.arange(100) < 60, 0.3 * np.sin(np.arange(100)), 0.0)
    still, swing = path(100), path(100, y=lift, z=np.abs(lift))
    np.testing.assert_allclose(find_soles(moved(swing, still)).heel, find_soles(moved(still, still)).heel, atol=1e-3)


def test_a_foot_that_is_held_still_in_the_air_does_not_count():
    still, held = path(100), path(100, z=np.where(np.arange(100) < 60, 0.1, 0.0))
    np.testing.assert_allclose(find_soles(moved(held, still)).heel, find_soles(moved(still, still)).heel, atol=1e-9)


def test_toes_without_an_end_have_a_tip_half_a_foot_ahead():
    still = moved(path(5), path(5))
    places = still.places.copy()
    places[:, :, END] = places[:, :, BALL]
    endless = dataclasses.replace(still, places=places)
    points = find_soles(endless).points(endless)[0, 0]
    np.testing.assert_allclose(points[TIP_POINT] - points[BALL_POINT], [0.0, -0.075, 0.0], atol=1e-12)


def test_toes_right_under_the_ankle_do_not_say_how_long_a_foot_is():
    still = moved(path(5), path(5))
    steep = dataclasses.replace(still, figure=two_legs(ahead=0.03), places=still.places * [1.0, 0.2, 1.0])
    points = find_soles(steep).points(steep)[0, 0]
    np.testing.assert_allclose(points[BALL_POINT], [0.1, -0.13 * 0.8, 0.0], atol=1e-12)
    np.testing.assert_allclose(points[HEEL_POINT], [0.1, 0.3 * 0.13 * 0.8, 0.0], atol=1e-12)


def test_a_foot_without_toes_points_where_the_figure_faces():
    still = moved(path(5), path(5))
    places = still.places.copy()
    places[:, :, BALL] = places[:, :, END] = places[:, :, ANKLE]
    bare = dataclasses.replace(still, figure=two_legs(toes=False), places=places)
    points = find_soles(bare).points(bare)[0, 0]
    length = 0.13 * 0.8  # of hip to ankle
    np.testing.assert_allclose(points[BALL_POINT], [0.1, -length, 0.0], atol=1e-12)
    np.testing.assert_allclose(points[HEEL_POINT], [0.1, 0.3 * length, 0.0], atol=1e-12)
    np.testing.assert_allclose(points[TIP_POINT], [0.1, -1.5 * length, 0.0], atol=1e-12)


@pytest.mark.parametrize("clip", ["cmu_12_01_walk", "walk_mass", "run_mass"])
def test_heel_and_ball_are_at_zero_in_the_flat_stance_of_a_captured_clip(data, clip):
    there = motion(data / f"bvh/{clip}.bvh")
    soles, contacts = stances(there)
    flat = contacts.heel & contacts.ball
    for leg in range(2):
        heights = soles.points(there)[flat[:, leg], leg, :, 2]
        np.testing.assert_allclose(np.median(heights, axis=0), 0.0, atol=0.004)
        assert np.abs(heights[:, :2]).max() < 0.035  # the floor of the first falls by 4 cm, and points roll


def test_a_hock_stands_on_its_ball(data):
    there = motion(data / "glb/fox.glb", "Survey")
    soles = find_soles(there)
    hind = [i for i, leg in enumerate(there.figure.legs) if leg.toes]
    assert len(hind) == 2
    np.testing.assert_array_equal(soles.heel[hind], soles.ball[hind])


@pytest.mark.parametrize("frames", [1, 2])
def test_few_frames(frames):
    there = moved(path(frames), path(frames))
    np.testing.assert_allclose(find_soles(there).points(there)[..., 2], 0.0, atol=1e-12)
