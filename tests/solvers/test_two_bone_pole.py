"""two_bone with a Pole goal for its middle joint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise import Place, Pole, Position, Range, TwoBone
from tests.solvers.test_two_bone import bones, in_reach, leg, length, rest
from tests.strategies import rng_of, seeds, unit_quaternions

KNEE = Range.degrees(-5, 150, axis=(1, 0, 0))


def tip_goal(kind, start, rng):
    target = in_reach(rng, start, (0.3, 0.9))
    return Position("foot", target) if kind == "Position" else Place("foot", target, unit_quaternions(rng))


class TestBothAreMet:
    @given(seeds, st.sampled_from(["Position", "Place"]), st.booleans(), st.sampled_from([None, KNEE]))
    def test_in_either_order_and_auto_takes_it(self, seed, kind, swapped, knee):
        rng = rng_of(seed)
        start = leg(knee=knee)
        goals = [tip_goal(kind, start, rng), Pole("knee", 4 * rng.normal(size=3))]
        result = poise.solve(start, goals[::-1] if swapped else goals, tolerance=1e-9, angle_tolerance=1e-7)
        assert result.solver == "two_bone"
        assert result.reached
        assert result.violation <= 1e-9
        again = poise.solve(result.pose, result.goals, tolerance=1e-9, angle_tolerance=1e-7)
        np.testing.assert_array_equal(again.q, result.q)
        assert again.iterations == 0

    @given(seeds)
    def test_a_position_with_it_is_the_option_bit_for_bit(self, seed):
        rng = rng_of(seed)
        start, pole = leg(), 4 * rng.normal(size=3)
        goal = tip_goal("Position", start, rng)
        option = poise.solve(start, goal, solver=TwoBone(pole=pole))
        np.testing.assert_array_equal(poise.solve(start, [goal, Pole("knee", pole)]).q, option.q)

    def test_every_target_has_its_own_pole(self):
        rng, start = rng_of(1), leg()
        targets, poles = np.stack([in_reach(rng, start) for _ in range(11)]), 4 * rng.normal(size=(11, 3))
        batch = poise.solve(start, [Pole("knee", poles), Position("foot", targets)])
        assert batch.reached.all()
        for i in range(11):
            one = poise.solve(start, [Pole("knee", poles[i]), Position("foot", targets[i])])
            np.testing.assert_array_equal(one.q, batch.q[i])


class TestEdges:
    @pytest.mark.parametrize("along", [-3.0, 0.0, 0.5, 1.0, 1e3])
    @pytest.mark.parametrize("goal_first", [True, False])
    def test_a_pole_on_the_line_says_nothing(self, along, goal_first):
        start = leg()
        hip = bones(start)[0]
        target = in_reach(rng_of(2), start)
        goals = [Position("foot", target), Pole("knee", hip + along * (target - hip))]
        result = poise.solve(start, goals if goal_first else goals[::-1])
        assert result.reached
        assert np.isfinite(result.q).all()
        assert result.errors[1 if goal_first else 0] == 0.0

    @pytest.mark.parametrize("far", [1.0, 1e3, 1e5])
    @pytest.mark.parametrize("aside", [0.0, 1e-7, 2e-6, 1e-5, 1e-3])
    def test_next_to_the_line_it_is_followed_as_soon_as_it_is_measured(self, far, aside):
        start = leg()
        hip = bones(start)[0]
        target = hip + np.array([0.0, 0.0, 1.2])
        pole = hip + np.array([aside * 1.9, 0.0, far])
        result = poise.solve(start, [Position("foot", target), Pole("knee", pole)])
        assert result.errors[0] < 1e-9
        assert result.errors[1] < 1e-4

    @pytest.mark.parametrize("distance", [0.0, 1e-9, 1.9, 50.0, 1e6])
    def test_out_of_reach_still_points_the_knee(self, distance):
        start = leg()
        target = bones(start)[0] + [0.0, 0.0, distance]
        result = poise.solve(start, [Position("foot", target), Pole("knee", (5.0, 0.0, 0.0))])
        assert np.isfinite(result.q).all()
        assert result.errors[1] < 1e-6

    def test_a_trace_shows_the_distance_of_the_tip(self):
        start = leg()
        target = in_reach(rng_of(3), start)
        result = poise.solve(start, [Pole("knee", (5, 0, 0)), Position("foot", target)], trace=True)
        assert result.trace.errors[0] == pytest.approx(length(target - bones(start)[2]))


class TestRefusals:
    @pytest.mark.parametrize(
        ("goals", "sentence"),
        [
            ([Pole("knee", (0, 0, 9))], "two_bone takes a Pole goal beside a Position or Place only"),
            ([Position("foot", (0, 1, 0))] * 2, "two_bone solves one goal at a time; got 2"),
            ([Position("foot", (0, 1, 0)), *[Pole("knee", (0, 0, 9))] * 2], "got Position, Pole, Pole"),
            (
                [Position("foot", (0, 1, 0)), Pole("foot", (0, 0, 9), root="hip")],
                "two_bone bends the limb hip - knee - foot; the Pole is for hip - foot - toe",
            ),
        ],
    )
    def test_other_combinations_are_for_the_engine(self, goals, sentence):
        with pytest.raises(poise.UnsupportedError, match=sentence):
            poise.solve(leg(), goals, solver="two_bone")
        assert poise.solve(leg(), goals).solver == "levenberg_marquardt"

    @pytest.mark.parametrize("order", [1, -1])
    def test_two_poles_contradict(self, order):
        goals = [Position("foot", (0, 1, 0)), Pole("knee", (0, 0, 9))][::order]
        with pytest.raises(poise.UnsupportedError, match="give the option pole or a Pole goal, not both"):
            poise.solve(leg(), goals, solver=TwoBone(pole=(0, 0, 9)))

    def test_a_planar_arm_has_no_side(self):
        arm = poise.Skeleton.build("abc", range(-1, 2), [1, 1, 0], offsets=[(1, 0, 0)] * 3, axes=[(0, 0, 1)] * 3)
        goals = [Position("c", (1.5, 0.5, 0)), Pole("b", (0, 9, 0))]
        with pytest.raises(poise.UnsupportedError, match="no planar limb about its chord"):
            poise.solve(rest(arm), goals, solver="two_bone")
        assert poise.solve(rest(arm), goals).solver == "levenberg_marquardt"
