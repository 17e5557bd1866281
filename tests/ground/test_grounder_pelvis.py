"""The live version's pelvis and knees: by which pushes they follow, and what they leave as animated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from poise import Grounder, Terrain
from poise.kernels.ground import grounder_pelvis, grounder_reach, grounder_walk
from tests.ground.test_grounder import SECOND, at, grounder, shown
from tests.kernels.kernel_entries import entered


@pytest.mark.parametrize("jump", [0.3, -0.3, 0.02])
def test_a_value_follows_its_goal_by_no_more_than_a_push(jump):
    follow, x, v, goal, dt = entered(grounder_reach.follow_goal), 0.0, 0.0, 0.0, SECOND
    for i in range(240):
        before, goal = goal, jump if i > 3 else 0.0
        y, w = follow(x, v, before, goal, 20.0, 15.0, dt)
        assert abs(w - v) <= 15.0 * dt * (1.0 + 1e-9)
        x, v = y, w
    assert x == pytest.approx(jump, abs=1e-3)
    assert follow(0.1, 0.2, 0.3, 0.4, 20.0, 15.0, 0.0) == (0.1, 0.2)


def test_a_goal_that_goes_steadily_is_not_lagged_behind():
    follow, x, v = entered(grounder_reach.follow_goal), 0.0, 1.0
    for i in range(60):
        x, v = follow(x, v, i * SECOND, (i + 1) * SECOND, 20.0, 15.0, SECOND)
    assert x == pytest.approx(1.0, abs=1e-9)


def test_a_step_is_kept_where_the_goal_changes_it_little_and_bounded_elsewhere():
    keep, most = entered(grounder_reach.keep_step), 40.0
    goals = np.concatenate([0.01 * np.sin(0.3 * np.arange(20)), np.full(40, 0.2)])
    x, v, found = 0.0, 0.0, []
    for before, goal in itertools.pairwise(goals):
        y, w = keep(x, v, before, goal, 80.0, most, SECOND)
        assert abs(w - v) <= most * SECOND * (1.0 + 1e-9)
        x, v = y, w
        found.append(x)
    np.testing.assert_allclose(found[:19], goals[1:20], atol=1e-12)
    assert abs(found[19] - 0.2) > 0.1
    assert found[-1] == pytest.approx(0.2, abs=1e-3)


def test_a_value_that_goes_towards_a_floor_can_stop_there():
    slow, x, w = entered(grounder_reach.slow_enough), 0.2, -3.0
    for _ in range(60):
        slower = slow(x, w, 0.0, 45.0, SECOND)
        assert slower >= w
        x, w = x + slower * SECOND, slower - 45.0 * SECOND
    assert -1e-9 < x < 1e-3


@pytest.mark.parametrize(("lacks", "early", "down"), [(-0.03, 0.02, 0.0), (0.0, 0.0, 0.0), (0.0, 0.02, 0.005),
                                                      (0.02, 0.02, 0.02), (0.05, 0.0, 0.05)])  # fmt: skip
def test_a_leg_that_gets_too_short_draws_the_pelvis_down_softly(lacks, early, down):
    assert entered(grounder_pelvis.drawn_down)(lacks, early) == pytest.approx(down)


def test_no_leg_draws_the_pelvis_down_for_ever():
    assert entered(grounder_pelvis.drawn_down)(1.0, 0.0) <= 0.15


def test_the_pelvis_rises_with_a_slope_and_not_with_the_feet():
    """It was over the mean of the ground under both, which rises only while a foot swings."""
    live = Grounder(at(), Terrain.slope(15, direction=(1, 0, 0)))
    heights = []
    for i in range(60):
        live(at(x=0.02 * i, y=0.3), SECOND, contacts=[[False, False]] * 2)
        heights.append(live._body[0, grounder_walk.BASE])
    assert np.diff(heights)[5:] == pytest.approx(0.02 * np.tan(np.radians(15)), abs=1e-6)


def test_a_leg_is_bent_as_animated_where_its_foot_is():
    live = grounder()
    poses = [at(y=0.2 + 0.05 * abs(np.sin(0.3 * i))) for i in range(40)]
    assert np.abs(shown(live, poses) - [pose.q for pose in poses]).max() < 1e-9
