"""The live version's pelvis and knees: by which pushes they follow, and what they leave as animated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from poise import Grounder, Terrain
from poise.kernels.ground import grounder_body, grounder_walk
from tests.ground.test_grounder import SECOND, ankles, at, figure, grounder, shown
from tests.kernels.kernel_entries import entered


@pytest.mark.parametrize("jump", [0.3, -0.3, 0.02])
def test_a_value_follows_its_goal_by_no_more_than_a_push(jump):
    follow, x, v, goal, dt = entered(grounder_body.follow_goal), 0.0, 0.0, 0.0, SECOND
    for i in range(240):
        before, goal = goal, jump if i > 3 else 0.0
        y, w = follow(x, v, before, goal, 20.0, 15.0, dt)
        assert abs(w - v) <= 15.0 * dt * (1.0 + 1e-9)
        x, v = y, w
    assert x == pytest.approx(jump, abs=1e-3)
    assert follow(0.1, 0.2, 0.3, 0.4, 20.0, 15.0, 0.0) == (0.1, 0.2)


def test_a_goal_that_goes_steadily_is_not_lagged_behind():
    follow, x, v = entered(grounder_body.follow_goal), 0.0, 1.0
    for i in range(60):
        x, v = follow(x, v, i * SECOND, (i + 1) * SECOND, 20.0, 15.0, SECOND)
    assert x == pytest.approx(1.0, abs=1e-9)


def test_a_step_is_kept_where_the_goal_changes_it_little_and_bounded_elsewhere():
    keep, most = entered(grounder_body.keep_step), 40.0
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
    slow, x, w = entered(grounder_body.slow_down), 0.2, -3.0
    for _ in range(60):
        slower = slow(x, w, 0.0, 45.0, SECOND)
        assert slower >= w
        x, w = x + slower * SECOND, slower - 45.0 * SECOND
    assert -1e-9 < x < 1e-3


@pytest.mark.parametrize(("lacks", "early", "down"), [(-0.03, 0.02, 0.0), (0.0, 0.0, 0.0), (0.0, 0.02, 0.005),
                                                      (0.02, 0.02, 0.02), (0.05, 0.0, 0.05)])  # fmt: skip
def test_a_leg_that_gets_too_short_draws_the_pelvis_down_softly(lacks, early, down):
    assert entered(grounder_body.compute_sink)(lacks, early) == pytest.approx(down)


def test_no_leg_draws_the_pelvis_down_for_ever():
    assert entered(grounder_body.compute_sink)(1.0, 0.0) <= 0.15


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


def leans(live, places):
    """(F, 2) by which the body leans along x and z [rad], of a figure that is carried along places (F, 2) [m]."""
    poses = [live(at(x, 0.0, z), SECOND) for x, z in places]
    head, hips = (np.array([pose.world_of(joint).positions for pose in poses]) for joint in ("Head", "Hips"))
    up, rest = head - hips, figure().world_of("Head").positions - figure().world_of("Hips").positions
    return np.arctan2(up[:, [0, 2]], up[:, [1]]) - np.arctan2(rest[[0, 2]], rest[1])


WALKED = np.outer(np.arange(240), (1.2 * SECOND, 0.0))


@pytest.mark.parametrize(("way", "expected"), [((1, 1), 0.076), ((-1, 1), 0.076), ((0, 0), 0.0)])
def test_a_body_leans_into_the_slope_going_up_and_back_going_down(way, expected):
    found = leans(grounder(Terrain.slope(15, direction=(1, 0, 0))), WALKED * way)
    np.testing.assert_allclose(found[-1], (expected, 0.0), atol=0.005)
    assert np.abs(np.diff(found, 2, axis=0)).max() < 15.0 * SECOND**2


def test_a_body_that_goes_across_a_slope_does_not_lean():
    assert np.abs(leans(grounder(Terrain.slope(15, direction=(1, 0, 0))), WALKED[:, ::-1])).max() < 1e-6


def test_nothing_leans_on_level_ground():
    live = grounder(Terrain.flat(0.4))
    moved = [live(at(x), SECOND) for x, _ in WALKED]
    trunk = figure().skeleton.q_slice("Hips")
    for pose in moved:
        np.testing.assert_array_equal(pose.q[trunk][3:], figure().q[trunk][3:])


def test_what_stands_stays_where_it_stands_as_the_body_leans():
    """Legs take back what the trunk turns: ankles are where they are asked for, whatever the lean."""
    live = grounder(Terrain.slope(15, direction=(1, 0, 0)))
    q = np.array([live(at(x), SECOND).q for x, _ in WALKED])
    assert np.abs(live._body[0, grounder_walk.LEAN]) > 0.05
    shown_last = live._state[0, :, grounder_walk.OUT : grounder_walk.OUT + 3]
    np.testing.assert_allclose(ankles(live, q)[-1], shown_last, atol=1e-9)
