"""The live version's lift: over steps and down again, by no more than an acceleration; and feet that are let go."""

from __future__ import annotations

import math

import numpy as np
import pytest

from poise import Grounder, Terrain
from poise.kernels import springs
from poise.kernels.ground import grounder_feet, grounder_walk
from poise.kernels.vec_quat import Quat, Vec
from tests.ground.test_grounder import OFF, SECOND, ankles, at, figure, grounder, shown
from tests.kernels.kernel_entries import entered

STEP = 0.15  # [m]
LEVEL = Quat(1.0, 0.0, 0.0, 0.0)


def ground_of(*heights):
    """The ground under heel, ball and tip, and at three places ahead, level."""
    ground = np.zeros((grounder_walk.SAMPLES, 5))
    ground[:, 0] = 0.0, 0.2, 0.25, 0.35, 0.55, 0.85
    ground[: len(heights), 2] = heights
    return ground


@pytest.mark.parametrize("away", [-0.1, 0.0, 0.15])
@pytest.mark.parametrize("moves", [-1.0, 0.0, 3.0])
def test_what_is_demanded_closes_the_distance_in_time(away, moves):
    a = entered(grounder_feet.compute_push)(away, moves, 0.2)
    assert moves * 0.2 + 0.5 * a * 0.2**2 == pytest.approx(away)


@pytest.mark.parametrize(("rise", "falls_to"), [(0.0, 0.10), (-0.5, 0.04), (-3.0, 0.0)])
def test_a_foot_that_goes_down_is_lifted_for_a_step_ahead_as_much_as_it_will_need(rise, falls_to):
    """Its tip comes down by itself to the ground that it is over, and no farther."""
    s = np.zeros(grounder_walk.STATE)
    s[grounder_walk.HORIZON] = 0.12
    ground = ground_of(0.0, 0.0, 0.0, 0.0, 0.0, STEP)
    requested = entered(grounder_feet.compute_push_ahead)(s, Vec(0.25, 0.0, 0.10), rise, ground)
    assert requested == pytest.approx(2.0 * (STEP + 0.02 - falls_to) / 0.12**2)
    assert entered(grounder_feet.compute_push_ahead)(s, Vec(0.25, 0.0, 0.10), rise, ground_of()) == -math.inf


def test_a_lift_that_is_fast_enough_is_not_pushed_on():
    """2.5 m/s gets 70 mm up, however late: pushed on until it is in time it would fly far above the step."""
    s = np.zeros(grounder_walk.STATE)
    s[grounder_walk.HORIZON], s[grounder_walk.LIFT_MOVES] = 0.03, 2.5
    ground, ahead = ground_of(0.0, 0.0, 0.0, 0.08, 0.08, 0.08), entered(grounder_feet.compute_push_ahead)
    assert ahead(s, Vec(0.25, 0.0, 0.04), 0.0, ground) == -math.inf
    s[grounder_walk.LIFT_MOVES] = 1.0
    assert ahead(s, Vec(0.25, 0.0, 0.04), 0.0, ground) > 60.0


@pytest.mark.parametrize(("clear", "moves", "rise", "expected"), [
    (0.1, -3.0, 0.0, 45.0),  # v^2 / 2 clear
    (0.1, -2.0, -1.0, 45.0),  # it comes down as animated, besides
    (0.1, -0.2, -5.0, 20.0),  # no more than stops the lift, within a frame
    (0.1, -1.0, 0.0, -math.inf),  # slow enough
    (0.1, 1.0, -3.0, -math.inf),  # it is on its way up
    (-0.1, -3.0, 0.0, -math.inf),  # too late
])  # fmt: skip
def test_a_foot_that_is_let_down_is_slowed_down_before_the_ground(clear, moves, rise, expected):
    assert entered(grounder_feet.compute_braking)(clear, moves, rise, 0.01) == pytest.approx(expected)


def ramped(heights, speed):
    """The state of a foot that has gone over such ground at a speed [m/s] for a second, and its last ramp speed."""
    s, found = np.zeros(grounder_walk.STATE), 0.0
    for _ in range(60):
        found = entered(grounder_feet.measure_ramp_speed)(s, Vec(speed * SECOND, 0.0, 0.0), ground_of(*heights), SECOND)
    return s, found


def test_steps_that_rise_ahead_lift_a_foot_by_their_mean_slope_as_fast_as_it_goes():
    _, found = ramped((0.0, 0.0, 0.0, 0.15, 0.15, 0.40), 4.0)
    assert found == pytest.approx(4.0 * 0.5, rel=1e-4)
    _, found = ramped((0.0, 0.0, 0.0, -0.15, -0.15, -0.40), 4.0)
    assert found == 0.0  # down only once it is over them


def test_a_foot_that_gets_slower_climbs_more_slowly_at_once():
    s, fast = ramped((0.0, 0.0, 0.0, 0.15, 0.15, 0.40), 4.0)
    s[grounder_walk.RAMP_MOVES] = s[grounder_walk.LIFT_MOVES] = fast
    lift, moves = entered(grounder_feet.lower_foot)(
        s, Vec(0.0, 0.0, 0.0), ground_of(0.0, 0.0, 0.0, 0.15, 0.15, 0.40), 40.0, SECOND
    )
    assert moves == pytest.approx(0.0, abs=1e-3)
    assert lift == pytest.approx(0.0, abs=1e-3)


def test_a_foot_comes_out_of_the_ground_by_no_more_than_an_acceleration_and_keeps_the_speed_of_its_lift():
    s, frame, marks = (np.zeros(n) for n in (grounder_walk.STATE, grounder_walk.FRAME, grounder_walk.MARKS))
    leg, settings = np.full(grounder_walk.LEG, 3), np.ones(grounder_walk.SETTINGS)  # no toes
    s[grounder_walk.LIFT_MOVES] = 1.0
    lifts = entered(grounder_feet.lift_foot)
    lift = lifts(s, leg, frame, marks, Vec(0.0, 0.0, -0.1), LEVEL, ground_of(), settings, 0.01)
    assert lift == pytest.approx(1.0 * 0.01 + grounder_feet.STRONGEST * 0.01**2)
    assert s[grounder_walk.LIFT_MOVES] > 0.9
    s[grounder_walk.LIFT], s[grounder_walk.DEPTH] = 0.0, 0.0
    assert lifts(s, leg, frame, marks, Vec(0.0, 0.0, -0.012), LEVEL, ground_of(), settings, 0.01) == pytest.approx(
        0.012
    )


@pytest.mark.parametrize("height", [0.05, 0.3])
def test_a_foot_does_not_move_as_the_ground_under_it_jumps(height):
    """It flies over an edge that leads down: its lift is the height of the edge from then on, and goes away softly."""
    live, k = grounder(Terrain.stairs(-height, 0.8, direction=(1, 0, 0))), grounder_walk
    ground, lifts, places = [], [], []
    for i in range(60):
        live(at(x=0.03 * i, y=0.1), SECOND, contacts=OFF)
        ground.append(live._frames[0, :, k.UNDER].copy())
        lifts.append(live._state[0, :, k.LIFT].copy())
        places.append(live._state[0, :, k.OUT + 2].copy())
    falls = np.diff(ground, axis=0)
    assert falls.min() == pytest.approx(-height, abs=1e-6)
    edges = falls < -0.5 * height
    assert np.diff(lifts, axis=0)[edges] == pytest.approx(height, abs=0.5 * 45.0 * SECOND**2 + 1e-6)
    assert np.abs(np.diff(places, 2, axis=0)).max() < 60.0 * SECOND**2 * (1.0 + 1e-6)


@pytest.mark.parametrize("v", [(0.5, -0.3, 0.2), (9.0, 0.0, 0.0)])
def test_a_spring_in_space_pushes_by_no_more_than_it_may(v):
    rate, most, dt = 33.0, 30.0, SECOND
    x, v = Vec(0.2, -0.1, 0.0), Vec(*v)
    eased, damped = entered(springs.step_bounded_spring_vec), entered(springs.step_spring_vec)
    assert eased(x, v, rate, most, 0.0) == (x, v)
    for _ in range(120):
        left, moves = eased(x, v, rate, most, dt)
        pull = 2.0 * (np.array(left) - x - dt * np.array(v)) / dt**2
        free = damped(x, v, rate, dt)
        size = np.linalg.norm(2.0 * (np.array(free[0]) - x - dt * np.array(v)) / dt**2)
        assert np.linalg.norm(pull) == pytest.approx(min(size, most), abs=1e-9)
        x, v = left, moves
    assert np.abs(x).max() < 1e-3


def let_go(speed):
    """How far the ankle is from where it is animated, that stood until the figure was carried on at a speed [m/s]."""
    live = grounder(farthest=10.0)
    poses = [at(x=speed * SECOND * max(i - 5, 0)) for i in range(46)]
    on = [[[True, True]] * 2 if i < 6 else OFF for i in range(len(poses))]
    q = np.array([live(pose, SECOND, contacts=c).q for pose, c in zip(poses, on, strict=True)])
    return (ankles(live, q) - ankles(live, np.array([pose.q for pose in poses])))[5:, 0, 0]


def test_a_foot_that_is_let_go_returns_by_no_more_than_an_acceleration():
    offsets = let_go(1.5)
    assert np.abs(np.diff(offsets, 2)).max() <= 32.0 * SECOND**2 + 5e-5  # m; the leg is a little softer than its foot
    assert offsets.min() < -0.02
    assert abs(offsets[-1]) < 1e-3


def test_a_foot_that_is_let_go_by_an_animation_that_jumps_does_not_stay_far_behind():
    """32 m/s^2 need 1 m to catch up with 8 m/s."""
    offsets = let_go(8.0)
    assert -0.07 < offsets.min() < -0.02
    assert abs(offsets[-1]) < 1e-3


def test_a_foot_that_had_not_come_down_goes_on_doing_so_where_it_is_let_go():
    s, k = np.zeros(grounder_walk.STATE), grounder_walk
    s[k.OUT + 2], s[k.OUT_MOVES + 2], s[k.OFFSET_MOVES + 2] = 0.3, -2.6, -2.6
    entered(grounder_feet.release)(s, Vec(0.0, 0.0, 0.0), SECOND)
    assert s[k.LIFT] == pytest.approx(0.3)
    assert s[k.LIFT_MOVES] == pytest.approx(-2.6)


def test_a_foot_that_rolls_from_heel_to_ball_as_it_lands_comes_down_in_every_frame():
    """Where the lock goes from one to the other, what is left of the way to the ground went on a frame later."""
    s, marks = np.zeros(grounder_walk.STATE), np.zeros(grounder_walk.MARKS)
    k = grounder_walk
    marks[k.HEEL : k.HEEL + 3], marks[k.BALL : k.BALL + 3] = (0.0, 0.0, -0.1), (0.2, 0.0, -0.1)
    settings = np.zeros(k.SETTINGS)
    settings[k.BLEND_RATE] = 33.0
    s[k.MODE], s[k.OUT_TURN], s[k.OUT + 2] = 1.0, 1.0, 0.2
    s[k.OFFSET + 2], s[k.OFFSET_MOVES + 2] = 0.1, -1.2
    ankle = entered(grounder_feet.move_foot)(s, marks, Vec(0.0, 0.0, 0.1), LEVEL, 2, ground_of(), settings, SECOND)
    assert s[k.OFFSET + 2] == pytest.approx(ankle.z - 0.1)
    assert 0.06 < s[k.OFFSET + 2] < 0.09


def test_reset_forgets_the_slope_of_the_steps():
    live = Grounder(figure(), Terrain.stairs(0.15, 0.3, direction=(1, 0, 0)))
    first = shown(live, [at(x=0.03 * i, y=0.1) for i in range(30)], contacts=OFF)
    assert live._state[0, :, grounder_walk.RAMP].min() > 0.2
    live.reset()
    assert np.array_equal(shown(live, [at(x=0.03 * i, y=0.1) for i in range(30)], contacts=OFF), first)
    live(at(x=9.0), SECOND, contacts=OFF)  # put elsewhere: everything begins anew
    assert np.abs(live._state[0, :, grounder_walk.RAMP]).max() == 0.0
