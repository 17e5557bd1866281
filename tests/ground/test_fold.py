"""Fold: feet in the air that are thrown up, or fold their legs up, are let down, but never into the ground.

Nor while they stand.
"""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Terrain
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import ANKLE, HIP, KNEE
from poise.ground.legs.fold import let_down, unfolded
from poise.maths import rotations
from tests.ground.clips import clip_of
from tests.ground.feet import SOLES, feet_of, footing_of, standing

FRAMES = 60
RAISED = [0.0, 0.0, 1.0]
FLAT = footing_of(lambda x, _: np.zeros_like(x))


def carried(height):
    """Feet that are in the air from frame 10 to 49, as high [m] above where they are animated as a bump says."""
    motion = standing(FRAMES)
    stands = np.ones((FRAMES, 2), dtype=bool)
    stands[10:50] = False
    bump = np.zeros(FRAMES)
    bump[10:50] = height * np.sin(np.linspace(0.0, np.pi, 40))
    feet = feet_of(motion)
    lift = bump[:, None, None] * RAISED
    return motion, type(feet)(**{**vars(feet), "ankles": feet.ankles + lift, "pivots": feet.pivots + lift}), stands


def folds(height, footing=FLAT):
    """Distances from hip to ankle (F,) of the left leg as asked and as let down, and both feet."""
    motion, feet, stands = carried(height)
    hips = motion.places[:, :, HIP]
    let = unfolded(motion, SOLES, feet, hips, stands, footing)
    return *(np.linalg.norm(f.ankles - hips, axis=-1)[:, 0] for f in (feet, let)), feet, let, stands


def test_a_foot_that_is_not_carried_high_is_left_alone():
    *_, feet, let, _ = folds(0.05)
    assert let is feet


def test_a_leg_folds_less_most_where_it_is_carried_highest():
    requested, kept, *_ = folds(0.5)
    assert (kept >= requested - 1e-12).all()
    assert requested[29:31].max() < 0.31
    assert kept[29:31].min() > 0.8 * requested[0]  # 0.85 is wished for; what it takes is smooth in time


def test_standing_feet_stay():
    *_, feet, let, stands = folds(0.5)
    np.testing.assert_array_equal(let.ankles[stands], feet.ankles[stands])


def test_the_ground_sets_an_end_to_it():
    high = footing_of(lambda x, _: np.full_like(x, 0.3))
    _, _, feet, let, _ = folds(0.5, high)
    down = (feet.ankles - let.ankles)[..., 2]
    lowest = let.ankles[10:50, :, 2] + SOLES.heel[:, 2]
    assert down.max() > 0.0
    assert (lowest[down[10:50] > 0.0] >= 0.3 - 1e-9).all()


@pytest.mark.parametrize("height", [0.3, 0.5, 0.7])
def test_it_is_smooth(height):
    *_, feet, let, _ = folds(height)
    down = (feet.ankles - let.ankles)[:, 0, 2]
    assert np.abs(np.diff(down, n=2)).max() < 0.005 * (120 / 60) ** 2  # what an edit may add to a step at this rate


def thrown(height, footing=FLAT, kept=0.0, **changed):
    """How far [m] the left foot is let down that is in the air as of `carried`, both feet, and where they stand."""
    motion, feet, stands = carried(height)
    for name, change in changed.items():
        change(motion if name == "motion" else feet)
    down = let_down(motion, SOLES, feet, motion.places[:, :, HIP], stands, footing, kept)
    return (feet.ankles - down.ankles)[:, 0, 2], feet, down, stands


def test_a_foot_that_is_thrown_up_comes_down_to_its_animated_place_under_the_hip():
    down, *_ = thrown(0.4)
    assert down[29:31].min() > 0.2
    assert down.max() < 0.4  # not beyond it


def test_a_foot_that_is_a_little_higher_than_animated_is_left_alone():
    _, feet, down, _ = thrown(0.05)
    assert down is feet


def test_a_foot_that_goes_up_with_its_hip_is_left_alone():
    motion, feet, stands = carried(0.4)
    hips = motion.places[:, :, HIP] + feet.ankles - motion.places[:, :, ANKLE]
    assert let_down(motion, SOLES, feet, hips, stands, FLAT, 0.0) is feet


def test_on_even_ground_feet_are_left_alone():
    _, feet, down, _ = thrown(0.4, kept=1.0)
    assert down is feet


def test_a_foot_that_is_animated_above_its_hip_is_left_alone():
    def kick(motion):
        motion.places[:, :, KNEE, 2] = motion.places[:, :, ANKLE, 2] - 0.2
        motion.places[:, :, HIP, 2] = motion.places[:, :, ANKLE, 2] - 0.4

    _, feet, down, _ = thrown(0.4, motion=kick)
    assert down is feet


def test_feet_that_stand_stay_where_others_are_let_down():
    down, feet, let, stands = thrown(0.4)
    np.testing.assert_array_equal(let.ankles[stands], feet.ankles[stands])
    assert down[10] < 0.01  # [m] in the first frame in the air
    assert down[49] < 0.01


@pytest.mark.parametrize("tread", [0.0, 0.1, 0.2, 0.3])
def test_feet_are_let_down_to_above_the_ground_at_most(tread):
    high = footing_of(lambda x, _: np.full_like(x, tread))
    down, _, let, _ = thrown(0.4, high)
    lowest = let.ankles[:, 0, 2] + SOLES.heel[0, 2]
    assert (lowest[down > 0.0] >= tread + 0.02 - 1e-9).all()
    assert (down.max() > 0.03) == (tread < 0.25)


@pytest.mark.parametrize("height", [0.3, 0.5, 0.7])
def test_feet_are_let_down_smoothly(height):
    down, *_ = thrown(height)
    assert np.abs(np.diff(down, n=2)).max() < 0.005 * (120 / 60) ** 2


@pytest.mark.parametrize(
    ("name", "direction", "most"),
    [
        ("knight runs", 1.0, 0.1),
        ("knight runs", -1.0, 0.1),
        ("fox runs", 1.0, 0.13),
        ("fox runs", -1.0, 0.22),
    ],
)
def test_legs_of_who_runs_on_stairs_are_not_thrown_up(data, name, direction, most):
    """Of all frames, in how many a foot is 0.35 m higher under its hip than animated."""
    rig, clip = clip_of(data, name)
    figure = figure_of(clip, rig=rig)
    hips = poise.plant_feet(clip, Terrain.flat(up=figure.up), rig=rig).report.motions[1].places[:, :, HIP].mean(axis=1)
    way = direction * rotations.rotate(rotations.inverse(figure.turn), (hips[-1] - hips[0]) * [1.0, 1.0, 0.0])
    planted = poise.plant_feet(clip, Terrain.stairs(0.15, 0.30, direction=way, up=figure.up), rig=rig)
    source, result = (motion.places[:, :, ANKLE, 2] - motion.places[:, :, HIP, 2] for motion in planted.report.motions)
    higher = np.where(planted.contacts.any, 0.0, result - source)
    assert (higher > 0.35).mean() < most
