"""Why a goal was missed, and that what is left is the least there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import poise
from poise import Direction, Orientation, Pin, Place, Position, Range, Status, SwingTwist
from poise.problem.problem import Problem
from poise.solving.diagnosis import measure_local_optimality
from tests.reference import slow_kinematics
from tests.strategies import figure, generic_arm, rng_of, seeds, straight_chain, unit_quaternions


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def least(skeleton, residual, starts=4, seed=0):
    """The least root of the sum of squares that another method finds inside the limits."""
    low, high = np.clip(skeleton.value_ranges, -np.pi, np.pi).T
    ends = rng_of(seed).uniform(low, high, size=(starts, skeleton.nq))
    high = np.maximum(high, low + 1e-9)
    return min(np.sqrt(2 * least_squares(residual, np.clip(x, low, high), bounds=(low, high)).cost) for x in ends)


def tip_of(skeleton, q, name="tip"):
    return slow_kinematics.world(skeleton, q)[skeleton.index(name)]


class TestOutOfReach:
    @pytest.mark.parametrize("solver", ["ccd", "levenberg_marquardt"])
    @pytest.mark.parametrize("distance", [3.01, 3.5, 10, 1e6])
    def test_the_nearest_pose_is_found(self, solver, distance):
        s = straight_chain(3)
        for way in rng_of(1).normal(size=(5, 3)):
            target = distance * way / np.linalg.norm(way)
            for goal in (Position("tip", target), Position("tip", target[None])):
                result = poise.solve(rest(s), goal, solver=solver)
                assert np.ravel(result.codes)[0] == Status.out_of_reach
                np.testing.assert_allclose(np.ravel(result.errors)[0], distance - 3, rtol=0.01)
                assert "beyond the longest reach of 3" in result.message(0)

    def test_of_an_arm_single_and_in_a_batch(self):
        """An arm has many stretched poses that no small change brings nearer: it is one of them."""
        s = generic_arm()
        for way in rng_of(2).normal(size=(6, 3)):
            target = 2.5 * way / np.linalg.norm(way)
            goal = Position("tool", target)
            for result in (poise.solve(rest(s), goal), poise.solve(rest(s), Position("tool", target[None]))):
                assert np.ravel(result.codes)[0] == Status.out_of_reach
                x = np.clip(np.ravel(result.q), -2.8 + 1e-12, 2.8 - 1e-12)
                better = least_squares(lambda q, t=target: tip_of(s, q, "tool")[:3, 3] - t, x, bounds=(-2.8, 2.8))
                assert np.ravel(result.errors)[0] <= np.sqrt(2 * better.cost) * 1.01

    def test_which_goal_of_several(self):
        s = figure()
        foot = rest(s).world["l_foot"].positions
        goals = [
            Position("l_foot", foot + np.array((0, 0.2, 0.1))),
            Position("r_foot", [-0.1, 0, 1.9]),
            Direction("head", (1, 0, 0)),
        ]
        result = poise.solve(rest(s), goals)
        assert result.status is Status.out_of_reach
        assert "the target of 'r_foot' is" in result.message()
        assert np.isfinite(result.position_errors[:2]).all()
        assert np.isnan(result.position_errors[2])
        assert np.isnan(result.angle_errors[:2]).all()
        assert result.position_errors[0] < 1e-3  # the other goals are met where they do not compete
        assert result.angle_errors[2] < 1e-3

    @settings(max_examples=60)
    @given(seed=seeds)
    def test_what_a_pose_meets_is_never_out_of_reach(self, seed):
        rng = rng_of(seed)
        s = straight_chain(4, kind=int(rng.choice([1, 2, 3])), axes=rng.normal(size=(4, 3)))
        q = rng.uniform(-2, 2, size=s.nq)
        wanted = poise.Pose(s, q).world["tip"].positions
        for solver in (poise.CCD(iterations=0), poise.LevenbergMarquardt(iterations=0)):
            result = poise.solve(rest(s), Position("tip", wanted), solver=solver)
            assert result.status is not Status.out_of_reach


class TestLimited:
    @pytest.mark.long
    def test_the_nearest_legal_pose_is_found_and_the_limits_named(self):
        s = generic_arm(limit=0.6)
        rng, limited = rng_of(3), {True: 0, False: 0}
        for _ in range(5):
            target = poise.Pose(generic_arm(), rng.uniform(-2.8, 2.8, size=6)).world["tool"].positions
            best = least(s, lambda q, t=target: tip_of(s, q, "tool")[:3, 3] - t)
            if best < 1e-3:
                continue
            for single in (True, False):
                result = poise.solve(rest(s), Position("tool", target if single else target[None]))
                assert np.ravel(result.errors)[0] <= best * 1.01
                assert result.violation <= 1e-9
                code = np.ravel(result.codes)[0]
                assert code in (Status.limited, Status.out_of_reach)
                if code == Status.limited:
                    limited[single] += 1
                    self.assert_names(s, result)
        assert min(limited.values()) >= 2

    def assert_names(self, s, result):
        """Of the joints at a limit one is named, of the others none."""
        message = result.message(0)
        at = [n for n, x in zip(s.names, np.ravel(result.q), strict=False) if abs(x) >= 0.6 - 1e-9]
        assert at
        assert any(f"{n} at its " in message for n in at), at[0]
        free = [n for n, x in zip(s.names, np.ravel(result.q), strict=False) if abs(x) < 0.6 - 1e-6]
        assert not any(f"{n} at its " in message for n in free)

    def test_of_several_goals(self):
        s = figure().with_limits({"l_knee": Range(0, 0.2)})
        start = rest(s)
        goals = [
            Position("l_foot", start.world["l_foot"].positions + np.array((0, 0.5, 0))),
            Direction("head", (0, 0, 1)),
        ]
        result = poise.solve(start, goals)
        assert result.status is Status.limited
        assert "l_knee at its highest, 0.2 rad" in result.message()

    def test_each_pose_of_a_batch_is_kept_by_its_own_joints(self):
        """A ball leans as far as it may, a hinge on it is at its low end: one is pulled inward, the other on."""
        s = poise.Skeleton.build(
            ["ball", "hinge", "tip"], [-1, 0, 1], [3, 1, 0], offsets=[(0, 0, 0), (0, 1, 0), (1, 0, 0)],
            axes=[(0, 0, 0), (0, 0, 1), (0, 0, 0)], limits=[SwingTwist((0, 1, 0), 0.2), Range(0, 1), None],
        )  # fmt: skip
        pose = poise.Pose(s, [np.cos(0.1), 0, 0, np.sin(0.1), 0])
        tip = pose.world["tip"].positions
        on = np.cross((0, 0, 1), tip)
        targets = np.array([0.7 * tip + 0.005 * on, tip + 0.5 * on])
        kept = measure_local_optimality(
            Problem(pose, (Position("tip", targets),)).broadcast((2,)), np.tile(pose.q, (2, 1)), targets
        )
        named = [{s.names[row] for row in np.array(kept.joint_rows)[blocks]} for blocks in kept.is_blocking]
        assert named == [{"hinge"}, {"ball"}]

    def test_both_ends_of_a_range_reach_equally_far_inward(self):
        """1e-9 rad away, to the last digit, still counts as at the end."""
        s = straight_chain(1, kind=1, axes=[(0, 0, 1)], limits=[Range(-1, 1)], direction=(1, 0, 0))
        near, ways = 1 - 1e-9, np.array([-1.0, 1.0])
        q, targets = ways[:, None] * near, np.stack([np.full(2, np.cos(1.5)), ways * np.sin(1.5), 0 * ways], axis=1)
        kept = measure_local_optimality(Problem(rest(s), (Position("tip", targets),)).broadcast((2,)), q, targets)
        assert kept.is_blocking.all()


class TestTurns:
    def test_a_place_that_cannot_be_is_never_reached(self):
        """The planar arm reaches the point, and cannot be turned out of its plane."""
        s = straight_chain(3, kind=1, axes=[(0, 0, 1)] * 3, limits=[Range(-3, 3)] * 3)
        for single in (True, False):
            goal = Place("tip", [1, 1, 0], [0.8, 0.6, 0, 0])
            goal = goal if single else goal.with_target(goal.rows()[None])
            result = poise.solve(rest(s), goal)
            assert np.ravel(result.codes)[0] == Status.over_constrained
            assert np.ravel(result.errors)[1] > 0.1
            assert "deg left" in result.message(0)

    def test_of_a_place_both_the_distance_and_the_angle_left_are_reported(self):
        """A turntable that would have to rise, and to tip over."""
        s = straight_chain(1, kind=1, axes=[(0, 0, 1)])
        result = poise.solve(rest(s), Place("tip", [1, 0, 1], [0.8, 0.6, 0, 0]))
        assert not result.reached
        distance, angle = result.errors
        assert f"{distance:.4g} and {np.degrees(angle):.3g} deg left" in result.message()

    def test_the_best_compromise_of_place_and_turn(self):
        s = straight_chain(3, kind=1, axes=[(0, 0, 1)] * 3, limits=[Range(-3, 3)] * 3)
        turn = Rotation.from_rotvec([0, 0.4, 2.0])
        goal = Place("tip", [1, 1, 0.2], np.roll(turn.as_quat(), 1))
        unit = poise.solve(rest(s), goal).problem.plan.kernel_unit_in_base

        def residual(q):
            m = tip_of(s, q)
            left = (turn * Rotation.from_matrix(m[:3, :3]).inv()).as_rotvec()
            angle = np.linalg.norm(left)
            return np.concatenate([(m[:3, 3] - [1, 1, 0.2]) / unit, left * 2 * np.sin(angle / 2) / angle])

        best = least(s, residual)
        for one in (goal, goal.with_target(goal.rows()[None])):
            result = poise.solve(rest(s), one)
            distance, angle = np.ravel(result.errors)
            assert np.hypot(distance / unit, 2 * np.sin(angle / 2)) <= best * 1.01

    def test_a_limit_keeps_a_rotation_away(self):
        s = straight_chain(1, kind=1, axes=[(0, 0, 1)], limits=[Range(-1, 1)])
        result = poise.solve(rest(s), Orientation("tip", Rotation.from_rotvec([0, 0, 1.5]).as_matrix()))
        assert result.status is Status.limited
        assert result.errors[0] == pytest.approx(0.5, abs=1e-3)
        assert "j0 at its highest, 1 rad" in result.message()


class TestNothingToMove:
    @pytest.mark.parametrize("prefer", ["first", "closest", "all"])
    def test_where_all_is_fixed(self, prefer):
        s = poise.Skeleton.build("ab", [-1, 0], [0, 0], offsets=np.ones((2, 3)))
        for goal in (Position("b", [5, 0, 0]), Place("b", [5, 0, 0], [1, 0, 0, 0]), Direction("b", (1, 0, 0))):
            result = poise.solve(rest(s), goal, solver="levenberg_marquardt", prefer=prefer)
            assert result.status is Status.nothing_to_move
            assert "a is fixed" in result.message()
            assert result.violation == 0
        assert poise.solve(rest(s), Position("b", [2, 2, 2]), solver="levenberg_marquardt", prefer=prefer).reached

    def test_a_pinned_root_alone(self):
        s = straight_chain(2)
        assert poise.solve(rest(s), Pin("j0", rotation=False)).reached


@settings(max_examples=40)
@given(seed=seeds)
def test_a_status_agrees_with_the_errors(seed):
    """Whatever the goals and the batch: reached exactly where every error is within the tolerance."""
    rng = rng_of(seed)
    s = figure().with_limits({"l_knee": Range(0, 1), "spine": Range(-0.2, 0.2, axis=(1, 0, 0))})
    goals = [
        Position("l_foot", rng.normal(size=(5, 3))),
        Place("head", rng.normal(size=(5, 3)) + np.array((0, 1.5, 0)), unit_quaternions(rng, 5)),
        Direction("r_foot", rng.normal(size=(5, 3))),
    ][: rng.integers(1, 4)]
    result = poise.solve(rest(s), goals, solver="levenberg_marquardt", free_root=bool(rng.integers(2)))
    tolerance = [
        result.tolerance if m == "position" else result.angle_tolerance for goal in goals for m in goal.measures
    ]
    within = (result.errors <= np.array(tolerance) * (1 + 1e-8)).all(axis=-1)
    np.testing.assert_array_equal(result.reached, within)
    np.testing.assert_array_equal(result.codes == Status.reached, within)
    assert result.violation <= 1e-9
    assert all(result.message(i) for i in range(5))


def test_the_range_that_stops_a_follower_is_its_leaders():
    """Two hinges that bend as one: the sentence names the one whose range it is."""
    s = poise.Skeleton.build(
        "abt", [-1, 0, 1], [1, 1, 0], offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0)], axes=[(0, 0, 1), (0, 0, 1), (0, 0, 0)],
        limits=[poise.Range(-0.3, 0.4), poise.Range(-3, 3), None], couplings=[None, poise.Coupling(0, 2.0, 0.1), None],
    )  # fmt: skip
    beyond = poise.Pose(s.with_limits({"*": None}), [0.7]).world["t"].positions
    found = poise.solve(poise.Pose(s, [0.0]), poise.Position("t", beyond), solver="levenberg_marquardt")
    assert found.status is poise.Status.limited
    assert "a at its highest, 0.4 rad" in found.message()
    assert "b at" not in found.message()
