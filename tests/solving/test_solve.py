"""solve(): statuses, batches, limits, units, scale; what every solver must keep."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import poise
from poise import Position, Range, Status, solvers
from tests.strategies import rng_of, seeds, straight_chain, unit_quaternions
from tests.timeouts import assert_linear

BALL = poise.Kind.BALL
SOLVERS = solvers.names()


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def arm():
    """Shoulder and elbow hinges in the plane, a slide for the tool."""
    return poise.Skeleton.build(
        ["shoulder", "elbow", "rail", "tool"], range(-1, 3), [1, 1, 2, 0],
        offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0), (0.2, 0, 0)],
        axes=[(0, 0, 1), (0, 0, 1), (1, 0, 0), (0, 0, 0)],
        limits=[Range(-3, 3), Range(0, 2.5), Range(0, 0.5), None],
    )  # fmt: skip


class TestStatus:
    def test_reached(self):
        result = poise.solve(rest(straight_chain(3)), Position("tip", [1, 1, 1]))
        assert result.reached is True
        assert result.status is Status.reached
        assert result.require() is result
        assert "reached: " in str(result)
        assert "(levenberg_marquardt)" in str(result)

    @pytest.mark.parametrize(
        ("target", "words"), [([5, 0, 0], "2 beyond the longest reach of 3"), ([0, 3, 4], "2 beyond")]
    )
    def test_out_of_reach_says_by_how_much(self, target, words):
        result = poise.solve(rest(straight_chain(3)), Position("tip", target))
        assert result.status is Status.out_of_reach
        assert words in result.message()
        assert result.errors[0] == pytest.approx(2, abs=1e-3)
        with pytest.raises(poise.NotReachedError, match="out of reach"):
            result.require()

    def test_too_near_is_out_of_reach_too(self):
        s = poise.Skeleton.build("abc", [-1, 0, 1], [3, 3, 0], offsets=[(0, 0, 0), (3, 0, 0), (1, 0, 0)])
        result = poise.solve(rest(s), Position("c", [0, 1.5, 0]))
        assert result.status is Status.out_of_reach
        assert "0.5 inside the shortest reach of 2" in result.message()

    def test_limited_names_joint_and_end(self):
        s = arm().with_limits({"elbow": Range(0, 0.1), "rail": Range(0, 0)})
        result = poise.solve(rest(s), Position("tool", [0.5, 0.5, 0]))
        assert result.status is Status.limited
        assert "elbow at its highest, 0.1 rad (5.73 deg)" in result.message()
        assert "shoulder" not in result.message()

    def test_stalled_when_the_iterations_run_out(self):
        result = poise.solve(rest(straight_chain(10)), Position("tip", [3, 4, 1]), solver=poise.CCD(iterations=1))
        assert result.status is Status.stalled
        assert result.iterations == 1

    def test_nothing_to_move(self):
        s = poise.Skeleton.build("ab", [-1, 0], [0, 0], offsets=np.ones((2, 3)))
        result = poise.solve(rest(s), Position("b", [5, 0, 0]))
        assert result.status is Status.nothing_to_move
        assert "no joint above 'b' can move: a is fixed" in result.message()
        assert poise.solve(rest(s), Position("b", [2, 2, 2])).reached

    def test_a_root_as_tip_has_nothing_to_move(self):
        s = straight_chain(2)
        assert poise.solve(rest(s), Position("j0", [1, 0, 0])).status is Status.nothing_to_move

    def test_codes_are_stable(self):
        names = ["reached", "out_of_reach", "limited", "stalled", "nothing_to_move", "over_constrained"]
        names += ["on_the_way", "held_back", "contradictory", "loops_open"]
        assert [s.name for s in Status] == names
        assert [int(s) for s in Status] == list(range(10))
        assert all(s.sentence for s in Status)


class TestScale:
    """Scale in the file: taken out where it is uniform, refused in one sentence where it is not."""

    @pytest.mark.parametrize("factor", [0.01, 100.0, -1.0, -2.5])
    def test_uniform_and_mirrored_parents(self, factor):
        s = poise.Skeleton.build(
            ["armature", "a", "b", "c", "tip"], range(-1, 4), [0, 3, 3, 3, 0],
            offsets=[(1, 2, 3), *[(0, 1 / abs(factor), 0)] * 4], rotations=[(0.5, 0.5, 0.5, 0.5), *[(1, 0, 0, 0)] * 4],
            scales=[[factor] * 3, [1, 1, 1], [2, 2, 2], [0.5, 0.5, 0.5], [3, 1, 2]],
        )  # fmt: skip
        base = rest(s).world["a"].positions
        result = poise.solve(rest(s), Position("tip", base + np.array([0.5, -1.2, 0.7])), tolerance=1e-9)
        assert result.reached

    def test_a_mirror_along_one_axis_is_uniform_too(self):
        s = poise.Skeleton.build(
            "abcd", range(-1, 3), [0, 3, 3, 0], offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0)],
            scales=[(-1, 1, 1), (1, 1, 1), (1, 1, -1), (1, 1, 1)],
        )  # fmt: skip
        assert poise.solve(rest(s), Position("d", [-1.5, 1, 0.5]), tolerance=1e-9).reached

    def test_below_a_stretched_parent_joints_turn(self):
        s = poise.Skeleton.build(
            "abc",
            range(-1, 2),
            [3, 3, 0],
            offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0)],
            scales=[(1, 2, 1), (1, 1, 1), (1, 1, 1)],
        )
        result = poise.solve(rest(s), Position("c", [1, 1, 0], root="a"), tolerance=1e-9)
        assert result.reached
        assert result.errors[0] == pytest.approx(
            np.linalg.norm(result.pose.world["c"].positions - (1, 1, 0)), abs=1e-12
        )

    def test_the_noise_of_exported_scale_is_solved_through(self):
        s = straight_chain(6)
        scales = 1 + 3e-4 * rng_of(5).uniform(-1, 1, size=(7, 3))
        result = poise.solve(poise.Pose(s, s.rest_q, scales=scales), Position("tip", [2, 3, 1]), tolerance=1e-7)
        assert result.problem.plan.is_sheared
        assert result.reached

    def test_noisy_scale_proves_nothing_out_of_reach(self):
        s = straight_chain(4)
        rng = rng_of(1)
        scales = 1 + 2e-4 * rng.uniform(-1, 1, size=(5, 3))
        start = poise.Pose(s, s.rest_q, scales=scales)
        for _ in range(20):
            q = rest(s).replace({"j0": unit_quaternions(rng)}).q
            target = poise.Pose(s, q, scales=scales).world["tip"].positions
            assert poise.solve(start, Position("tip", target), tolerance=1e-6).status is not Status.out_of_reach

    def test_a_zero_scale_is_refused(self):
        s3 = poise.Skeleton.build("abc", [-1, 0, 1], [3, 3, 0], offsets=np.ones((3, 3)))
        flat = poise.Pose(s3, s3.rest_q, scales=np.zeros((3, 3)))
        with pytest.raises(poise.UnsupportedError, match="zero"):
            poise.solve(flat, Position("c", [1, 1, 0]))

    def test_translations_of_the_pose_are_kept_and_used(self):
        s = straight_chain(3)
        t = s.A[:, :3] * 2
        result = poise.solve(poise.Pose(s, s.rest_q, translations=t), Position("tip", [4, 2, 1]))
        assert result.reached
        np.testing.assert_array_equal(result.pose.translations, t)


class TestChains:
    def test_hinges_and_slides_with_ranges(self):
        result = poise.solve(rest(arm()), Position("tool", [-0.6, 1.9, 0]))
        assert result.reached
        assert set(result.joints) == {"shoulder", "elbow", "rail"}

    def test_a_slide_needs_no_turn(self):
        s = poise.Skeleton.build("ab", [-1, 0], [2, 0], axes=[(0, 3, 0), (0, 0, 0)], offsets=[(0, 0, 0), (1, 0, 0)])
        result = poise.solve(rest(s), Position("b", [1, -7, 0]))
        assert result.reached
        np.testing.assert_allclose(result.pose.q, [-7], atol=1e-12)

    def test_a_range_beyond_a_turn_and_one_across_pi(self):
        for low, high in ((-10, 10), (math.radians(100), math.radians(260)), (5, 8)):
            s = straight_chain(2, kind=1, axes=[(0, 0, 1)] * 2, limits=[Range(low, high), Range(low, high)])
            angles = low + (high - low) * np.array([0.9, 0.2])
            target = poise.Pose(s, angles).world["tip"].positions
            result = poise.solve(rest(s), Position("tip", target), solver=poise.CCD(iterations=1000))
            assert result.reached
            assert result.violation <= 0

    def test_a_ball_made_a_hinge_moves_as_one(self):
        limit = Range.degrees(0, 150, axis=(1, 0, 0))
        s = straight_chain(2).with_limits({"j1": limit})
        result = poise.solve(rest(s), Position("tip", [0.5, 0.5, 1.0]))
        assert result.reached
        w, x, y, z = result.pose.q[s.q_slice("j1")]
        assert (y, z) == (0, 0)
        assert 0 <= 2 * math.atan2(x, w) <= math.radians(150)

    def test_start_outside_its_limits_is_moved_inside_and_named(self):
        s = arm()
        result = poise.solve(poise.Pose(s, [0, -1, 0.1]), Position("tool", [1, 1, 0]))
        assert result.moved_inside == ("elbow",)
        assert result.reached

    def test_free_root_only_when_named(self):
        s = poise.Skeleton.build("abc", range(-1, 2), [4, 3, 0], offsets=[(0, 0, 0), (0, 1, 0), (0, 1, 0)])
        far = Position("c", [7, 0, 0])
        assert poise.solve(rest(s), far).status is Status.out_of_reach
        result = poise.solve(rest(s), far, free_root=True)
        assert result.reached
        assert not np.allclose(result.pose.q[:3], 0)

    def test_a_free_joint_named_as_root_turns_but_does_not_translate(self):
        s = poise.Skeleton.build("abc", range(-1, 2), [4, 3, 0], offsets=[(0, 0, 0), (0, 1, 0), (0, 1, 0)])
        start = rest(s).replace({"a": [1, 2, 3, 1, 0, 0, 0]})
        result = poise.solve(start, Position("c", [2, 3, 3], root="a"))
        assert result.reached
        np.testing.assert_array_equal(result.pose.q[:3], [1, 2, 3])

    def test_a_coupled_joint_moves_its_leader(self):
        s = poise.Skeleton.build(
            ["base", "leader", "follower", "tip"], [-1, 0, 0, 2], [0, 2, 2, 0], offsets=np.zeros((4, 3)),
            axes=[(0, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 0)], limits=[None, Range(0, 0.04), None, None],
            couplings=[None, None, poise.Coupling(1, 2.0, 0.01), None],
        )  # fmt: skip
        result = poise.solve(rest(s), Position("tip", [0, -0.05, 0]), solver="ccd")
        assert result.reached
        np.testing.assert_allclose(result.pose.q, [0.02], atol=1e-12)
        assert poise.solve(rest(s), Position("tip", [0, -0.2, 0]), solver="ccd").pose.q == pytest.approx([0.04])

    def test_a_leader_above_the_chain_is_refused(self):
        """Moving the follower would move the base of the chain as well."""
        couplings = [None, None, poise.Coupling(0, 1, 0), None]
        s = poise.Skeleton.build("abcd", range(-1, 3), [1, 1, 1, 0], axes=np.ones((4, 3)), couplings=couplings)
        with pytest.raises(poise.UnsupportedError, match="'a' and 'c' are coupled and both on the way"):
            poise.solve(rest(s), Position("d", [1, 0, 0], root="b"), solver="ccd")

    def test_a_tip_that_slides_with_a_joint_of_its_chain_is_refused(self):
        s = poise.Skeleton.build("ab", [-1, 0], [2, 2], axes=[(0, 0, 1)] * 2, couplings=[None, poise.Coupling(0, 1, 0)])
        with pytest.raises(poise.UnsupportedError, match="'a' and 'b' are coupled"):
            poise.solve(rest(s), Position("b", [0, 0, 1]), solver="ccd")

    def test_free_root_keeps_the_root_that_was_named(self):
        s = poise.Skeleton.build("abcd", range(-1, 3), [4, 3, 3, 0], offsets=[(0, 0, 0), *[(0, 1, 0)] * 3])
        result = poise.solve(rest(s), Position("d", [5, 1, 0], root="c"), free_root=True)
        assert result.reached
        assert result.joints == ("a", "c")
        np.testing.assert_array_equal(result.pose.q[s.q_slice("b")], [1, 0, 0, 0])

    def test_packing_a_long_chain_is_linear(self):
        assert_linear(lambda n: poise.prepare(rest(straight_chain(n)), Position("tip", [0, 1, 0]), solver="ccd"), 100)

    def test_two_coupled_joints_in_one_chain_are_refused(self):
        s = poise.Skeleton.build(
            "abc", range(-1, 2), [1, 1, 0], axes=np.ones((3, 3)), couplings=[None, poise.Coupling(0, 1, 0), None]
        )
        with pytest.raises(poise.UnsupportedError, match="'a' and 'b' are coupled"):
            poise.solve(rest(s), Position("c", [1, 0, 0]), solver="ccd")

    def test_the_rest_of_the_figure_stays(self):
        s = poise.Skeleton.build(
            ["hips", "a", "b", "c", "x", "y", "z"],
            [-1, 0, 1, 2, 0, 4, 5],
            [3] * 7,
            offsets=np.eye(3)[[1, 0, 0, 0, 2, 2, 2]],
        )
        result = poise.solve(rest(s), Position("c", [1.5, 2, 1]))
        assert result.reached
        for joint in ("hips", "x", "y", "z"):
            np.testing.assert_array_equal(result.pose.q[s.q_slice(joint)], [1, 0, 0, 0])


class TestArguments:
    def test_unknown_names(self):
        pose = rest(straight_chain(2))
        with pytest.raises(poise.UnknownNameError, match="no joint 'top'"):
            poise.solve(pose, Position("top", [1, 0, 0]))
        with pytest.raises(poise.UnknownNameError, match="no solver 'cdd'; did you mean 'ccd'"):
            poise.solve(pose, Position("tip", [1, 0, 0]), solver="cdd")

    @pytest.mark.parametrize("target", [[1, 2, 3, 4], 5, [[np.nan, 0, 0]], [np.inf, 0, 0], "xyz"])
    def test_bad_targets(self, target):
        with pytest.raises(poise.InputError):
            Position("tip", target)

    @pytest.mark.parametrize("tolerance", [-1, np.nan, np.inf])
    def test_bad_tolerance(self, tolerance):
        with pytest.raises(poise.InputError, match="tolerance"):
            poise.solve(rest(straight_chain(2)), Position("tip", [1, 0, 0]), tolerance=tolerance)

    def test_one_goal_at_a_time(self):
        pose = rest(straight_chain(2))
        goal = Position("tip", [1, 0, 0])
        assert poise.solve(pose, [goal]).reached
        with pytest.raises(poise.UnsupportedError, match="ccd solves one position of a joint; 2 goals ask for it"):
            poise.solve(pose, [goal, goal], solver="ccd")
        with pytest.raises(poise.InputError, match=r"poise\.Position"):
            poise.solve(pose, ["tip"])

    def test_points_in_the_plane(self):
        s = straight_chain(2, kind=1, axes=[(0, 0, 1)] * 2)
        result = poise.solve(rest(s), Position("tip", [[1, 1], [0.5, -0.5]]))
        assert result.reached.all()

    def test_batches_of_starts(self):
        s = straight_chain(3)
        starts = poise.Pose(s, np.tile(s.rest_q, (4, 1)))
        assert poise.solve(starts, Position("tip", [1, 1, 1])).errors.shape == (4, 1)
        assert poise.solve(starts, Position("tip", np.ones((2, 1, 3)))).errors.shape == (2, 4, 1)
        with pytest.raises(poise.InputError, match="does not go with"):
            poise.solve(starts, Position("tip", np.ones((3, 3))))

    def test_a_single_result_is_true_or_false_and_a_batch_neither(self):
        pose = rest(straight_chain(3))
        assert poise.solve(pose, Position("tip", [1, 1, 1]))
        assert not poise.solve(pose, Position("tip", [9, 1, 1]))
        with pytest.raises(poise.InputError, match="reached"):
            bool(poise.solve(pose, Position("tip", [[1, 1, 1]])))
        with pytest.raises(TypeError, match="no length"):
            len(poise.solve(pose, Position("tip", [1, 1, 1])))

    def test_tolerance_defaults(self):
        assert poise.solve(rest(straight_chain(4)), Position("tip", [1, 1, 1])).tolerance == pytest.approx(4e-4)
        assert poise.solve(rest(arm()), Position("tool", [1, 1, 0])).tolerance == 1e-6


class TestTrace:
    def test_it_keeps_error_and_q_of_every_iteration(self):
        pose = rest(straight_chain(5))
        result = poise.solve(pose, Position("tip", [2, 1, 3]), tolerance=1e-9, trace=True)
        assert len(result.trace.errors) == len(result.trace.q) == result.iterations + 1
        np.testing.assert_array_equal(result.trace.q[0], pose.q)
        for error, q in zip(result.trace.errors, result.trace.q, strict=True):
            tip = poise.Pose(pose.skeleton, q).world["tip"].positions
            assert error == pytest.approx(np.linalg.norm(tip - [2, 1, 3]), abs=1e-9)

    def test_of_one_target_only(self):
        with pytest.raises(poise.InputError, match="one target"):
            poise.solve(rest(straight_chain(2)), Position("tip", np.ones((2, 3))), trace=True)


@given(st.integers(2, 12), seeds)
@settings(max_examples=40)
def test_any_reachable_target_of_a_free_chain_is_reached(n, seed):
    rng = rng_of(seed)
    target = rng.normal(size=3)
    target *= rng.uniform(0.1, 0.9) * n / np.linalg.norm(target)
    assume(n > 2 or np.linalg.norm(target) > 0.1)
    assert poise.solve(rest(straight_chain(n)), Position("tip", target), tolerance=1e-3 * n).reached


def test_results_are_frozen_values():
    result = poise.solve(rest(straight_chain(2)), Position("tip", [1, 1, 0]))
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.seconds = 0


def test_a_rig_on_which_nothing_moves_has_an_empty_q():
    s = poise.Skeleton.build("ab", [-1, 0], [0, 0], offsets=[(0, 0, 0), (0, 1, 0)])
    for target, status in (([1, 0, 0], Status.nothing_to_move), ([0, 1, 0], Status.reached)):
        result = poise.solve(rest(s), Position("b", target, root="a"))
        assert result.status is status
        assert result.pose.q.shape == (0,)
        for start in (rest(s), poise.Pose(s, np.zeros((3, 0)))):
            batch = poise.solve(start, Position("b", [target] * 3, root="a"))
            assert batch.pose.q.shape == (3, 0)
            assert batch.message(2) == result.message()


def test_a_solver_of_ones_own_that_answers_in_another_shape_is_reported():
    class Short:
        name, handles = "short", poise.CCD().handles

        def run(self, problem, targets, tolerance, request):
            answer = poise.CCD().run(problem, targets, tolerance, request)
            return answer._replace(q=answer.q[:, :-1])

    with pytest.raises(
        poise.InputError, match=r"the solver short answered with q of shape \(1, 7\); it has to be \(1, 8\)"
    ):
        poise.solve(rest(straight_chain(2)), Position("tip", [1, 1, 0]), solver=Short())
