"""Fold: feet in the air that would fold their legs up are let down, but not into the ground nor while they stand."""

from __future__ import annotations

import numpy as np
import pytest

from poise.ground.figure.motion import HIP
from poise.ground.legs.fold import unfolded
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
    asked, kept, *_ = folds(0.5)
    assert (kept >= asked - 1e-12).all()
    assert asked[29:31].max() < 0.31
    assert kept[29:31].min() > 0.8 * asked[0]  # 0.85 is wished for; what it takes is smooth in time


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
