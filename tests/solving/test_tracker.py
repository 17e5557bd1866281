"""Tracker: no jumps, budgets, and motion that no frame rate changes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import Direction, Place, Position
from poise.io import samples
from poise.maths import rotations
from poise.problem.goal_errors import compute_single_errors
from poise.solving.tracker import choose_tracking_solver
from tests.reference.slow_pace import rotation_angle
from tests.strategies import figure, generic_arm, random_q, rng_of, seeds, straight_chain, unit_quaternions

STEP = 0.01


def zero(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def largest_turn(skeleton, a, b):
    """The largest angle between two configurations."""
    turns = rotation_angle(a[skeleton.quaternion_columns], b[skeleton.quaternion_columns])
    hinges = [int(skeleton.q_start[i]) for i in np.flatnonzero(skeleton.kinds == 1)]
    return max(np.abs(a[hinges] - b[hinges]).max(initial=0), turns.max(initial=0))


def there_and_back(start, joint, aside, far):
    """Targets from where the joint is, more or less straight away out of reach and back, in steps of a centimetre."""
    at = start.world[joint].positions
    along = at - start.world[start.skeleton.chain(None, joint)[0]].positions
    along = along / np.linalg.norm(along) + 0.8 * aside / np.linalg.norm(aside)
    out = at + STEP * np.arange(round(far / STEP))[:, None] * along / np.linalg.norm(along)
    return np.concatenate([out, out[::-1]])


def humanoid(joint):
    return poise.load(samples.path("humanoid.bvh")).clips[0].at(0.5), joint


def bent_chain():
    chain = straight_chain(6, length=0.15)
    bend = rotations.about(np.array([0.0, 0.0, 1.0]), 0.5)
    return zero(chain).replace({f"j{i}": bend for i in range(1, 6)}), "tip"


def bent_arm():
    arm = generic_arm()
    return poise.Pose(arm, np.array([0.3, -0.6, 0.9, 0.4, -0.8, 0.2])), "tool"


CASES = {"arm": lambda: humanoid("RightHand"), "leg": lambda: humanoid("LeftFoot"), "chain": bent_chain}


class TestNoJumps:
    @pytest.mark.long
    @pytest.mark.parametrize("solver", ["ccd", "levenberg_marquardt"])
    @pytest.mark.parametrize("case", CASES)
    @given(seed=seeds)
    @settings(max_examples=4)
    def test_out_of_reach_and_back(self, case, solver, seed):
        """Near full stretch an elbow must bend by the square root of what the target moves: 0.4 rad for these."""
        start, joint = CASES[case]()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), solver=solver)
        shown, out_of_reach = start.q, 0
        for target in there_and_back(start, joint, rng_of(seed).normal(size=3), 1.5):
            result = follow(target)
            assert largest_turn(start.skeleton, shown, result.q) < 0.6
            shown, out_of_reach = result.q, out_of_reach + (not result.reached)
        assert out_of_reach > 20
        assert result.reached

    @given(seed=seeds)
    @settings(max_examples=10)
    def test_a_robot_arm_that_limits_and_lengths_keep_away(self, seed):
        start, joint = bent_arm()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0], root="j0"))
        shown = start.q
        for target in there_and_back(start, joint, rng_of(seed).normal(size=3), 1.2):
            result = follow(target)
            assert np.abs(result.q - shown).max() < 0.9
            assert result.violation <= 1e-9
            shown = result.q

    def test_the_engine_alone_would_leap(self):
        """What the tests above guard against: with restarts a target out of reach is answered from anywhere."""
        start, joint = bent_arm()
        reach, q, leaps = poise.prepare(start, Position(joint, [0, 0, 0], root="j0")), start.q, []
        for target in there_and_back(start, joint, np.array([1.0, 0.2, 0.3]), 1.2):
            result = reach(target, q)
            leaps.append(np.abs(result.q - q).max())
            q = result.q
        assert max(leaps) > 1.5

    def test_without_restarts_the_engine_stays_with_the_start(self):
        start, joint = bent_arm()
        arm = start.skeleton
        solver = poise.LevenbergMarquardt(restarts=0)
        reach = poise.prepare(start, Position(joint, [0, 0, 0], root="j0"), solver=solver)
        for target in start.world[joint].positions + rng_of(3).normal(size=(30, 3)) * 0.03:
            alone, batch = reach(target), reach(np.array([target, target]))
            assert bool(alone.reached) == bool(batch.reached[0])
            np.testing.assert_allclose(alone.q, batch.q[0], atol=1e-6)
        assert arm is alone.problem.skeleton


class TestFrames:
    def test_it_is_the_solve_from_the_last_pose(self):
        start, joint = bent_chain()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), solver=poise.CCD())
        first, second = follow([0.3, 0.5, 0.2]), follow([0.3, 0.4, 0.3])
        again = poise.solve(start, Position(joint, [0.3, 0.5, 0.2]), solver="ccd")
        np.testing.assert_array_equal(first.q, again.q)
        np.testing.assert_array_equal(
            second.q, poise.solve(again.pose, Position(joint, [0.3, 0.4, 0.3]), solver="ccd").q
        )
        np.testing.assert_array_equal(follow.pose.q, second.q)

    def test_restart_begins_from_the_first_pose_when_the_target_moves(self):
        start, joint = bent_chain()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), restart=True)
        once = follow([0.3, 0.4, 0.3]).q
        follow([-0.3, 0.4, 0.3])
        np.testing.assert_array_equal(follow([0.3, 0.4, 0.3]).q, once)

    @pytest.mark.parametrize("make", [bent_chain, bent_arm])
    def test_a_still_target_is_gone_on_with_and_counted(self, make):
        start, joint = make()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0], root="j0"), iterations=1)
        target = start.world[joint].positions + np.array([-0.1, -0.05, 0.1])
        errors = [float(follow(target).errors[0])]
        for frame in range(2, 30):
            result = follow(target)
            errors.append(float(result.errors[0]))
            assert result.iterations <= 1
            if not result.iterations:
                break
            assert follow.iterations == frame
        assert result.reached
        assert errors[0] > errors[-1]
        follow(target + 0.01)
        assert follow.iterations == 1

    def test_a_quick_arm_counts_too(self):
        start, joint = bent_arm()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0], root="j0"))
        target = start.world[joint].positions + np.array([-0.05, -0.05, 0.05])
        count = int(follow(target).iterations)
        assert follow.iterations == count > 0
        follow(target)
        assert follow.iterations == count

    def test_a_budget_of_time_runs_at_least_once_and_says_what_it_is(self):
        start, joint = bent_chain()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), microseconds=1e-3)
        target = [0.3, 0.4, 0.3]
        assert follow(target).iterations > 0
        assert "depend on the machine" in repr(follow)
        for _ in range(50):
            result = follow(target)
        assert result.reached
        ample = poise.Tracker(start, Position(joint, [0, 0, 0]), microseconds=1e9)
        assert ample(target).reached

    def test_several_goals_and_a_free_root(self):
        skeleton = figure()
        goals = [Position("l_foot", [0, 0, 0]), Place("head", [0, 0, 0], [1, 0, 0, 0]), Direction("r_foot", [0, 0, 1])]
        follow = poise.Tracker(zero(skeleton), goals, free_root=True)
        head = np.eye(4)
        for i in range(10):
            head[:3, 3] = [0.01 * i, 1.6, 0.0]
            result = follow([[0.1, 0.15, 0.02 * i], head, [0, 0.1 * i, 1.0]])
        assert result.reached
        assert len(result.errors) == 4

    def test_reset(self):
        start, joint = bent_chain()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), damping=0.1)
        once = follow([0.3, 0.4, 0.3]).q
        follow.reset()
        np.testing.assert_array_equal(follow.pose.q, start.q)
        np.testing.assert_array_equal(follow([0.3, 0.4, 0.3]).q, once)
        follow.reset(zero(start.skeleton))
        np.testing.assert_array_equal(follow.pose.q, start.skeleton.rest_q)
        with pytest.raises(poise.InputError, match="single pose"):
            follow.reset(poise.Pose(start.skeleton, np.tile(start.q, (2, 1))))

    def test_a_pin_holds_where_the_pose_of_the_last_reset_has_its_joint(self):
        s = figure()
        first, other = (poise.Pose(s, random_q(rng_of(seed), s)) for seed in (1, 2))
        follow = poise.Tracker(first, [Position("l_foot", [0, 0, 0]), poise.Pin("r_foot")])
        for pose in (first, other, first):
            follow.reset(pose)
            held = pose.world["r_foot"]
            result = follow(pose.world["l_foot"].positions)
            np.testing.assert_array_equal(result.q, pose.q)
            np.testing.assert_allclose(result.targets[0, 3:6], held.positions, atol=1e-12)
            np.testing.assert_allclose(result.targets[0, 6:], held.rotations, atol=1e-12)
            assert result.reached

    def test_reset_takes_an_equal_skeleton_and_says_how_another_differs(self):
        start, joint = bent_chain()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]))
        follow.reset(poise.Pose(bent_chain()[0].skeleton, start.skeleton.rest_q))
        np.testing.assert_array_equal(follow.pose.q, start.skeleton.rest_q)
        limited = start.skeleton.with_limits({"j2": poise.SwingTwist((0, 1, 0), swing=0.5)})
        follow.reset(zero(limited))  # its numbers mean the same
        follow.reset(poise.Pose(start.skeleton, start.skeleton.rest_q))
        renamed = poise.Skeleton.build([*"abcdef", "tip"], range(-1, 6), [3] * 6 + [0], offsets=[np.ones(3)] * 7)
        with pytest.raises(poise.InputError, match="it has a joint 'a' where this one has 'j0'"):
            follow.reset(zero(renamed))
        with pytest.raises(poise.InputError, match="another skeleton: it has 3 joints, not 7"):
            follow.reset(zero(straight_chain(2)))
        np.testing.assert_array_equal(follow.pose.q, start.skeleton.rest_q)

    def test_a_clip_of_what_was_shown(self):
        start, joint = bent_chain()
        targets = there_and_back(start, joint, np.array([1.0, 0.3, 0.2]), 0.2)
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), speed=2.0)
        clip = follow.clip(targets, fps=30, name="wave")
        follow.reset()
        one_by_one = [follow(target, 1 / 30).q for target in targets]
        np.testing.assert_array_equal(clip.poses.q, one_by_one)
        assert (clip.fps, clip.name) == (pytest.approx(30), "wave")
        with pytest.raises(poise.InputError, match="a target for each frame"):
            follow.clip(targets[0])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"damping": -1}, "damping is a half-life"),
            ({"speed": 0}, "speed must be above 0"),
            ({"speed": {"j9": 1}}, "no joint 'j9'"),
            ({"speed": {"j1": np.nan}}, "speed of 'j1'"),
            ({"iterations": 3, "microseconds": 5}, "not both"),
            ({"microseconds": math.inf}, "microseconds"),
            ({"solver": "cdd"}, "did you mean 'ccd'"),
        ],
    )
    def test_bad_options(self, options, message):
        start, joint = bent_chain()
        with pytest.raises(poise.PoiseError, match=message):
            poise.Tracker(start, Position(joint, [0, 0, 0]), **options)

    @pytest.mark.parametrize("solver", ["auto", "ccd", poise.LevenbergMarquardt()])
    def test_no_iterations_move_nothing(self, solver):
        start, joint = bent_chain()
        result = poise.Tracker(start, Position(joint, [0, 0, 0]), solver=solver, iterations=0)([0.3, 0.4, 0.3])
        np.testing.assert_array_equal(result.q, start.q)
        assert (int(result.iterations), result.reached) == (0, False)

    def test_bad_frames(self):
        start, joint = bent_chain()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), damping=0.1)
        with pytest.raises(poise.InputError, match="one target at a time"):
            follow(np.zeros((2, 3)))
        with pytest.raises(poise.InputError, match="dt is the time"):
            follow([0, 0, 0.5], dt=-1)
        with pytest.raises(poise.InputError):
            follow([0, 0, np.nan])

    def test_two_frames_of_half_the_time_show_what_one_shows(self):
        start, joint = bent_chain()
        target = [0.3, 0.4, 0.3]
        shown = []
        for frames in (1, 2, 8):
            follow = poise.Tracker(start, Position(joint, [0, 0, 0]), damping=0.2, speed={"j2": 1.0, "j3": 0.2})
            for _ in range(frames):
                result = follow(target, 0.3 / frames)
            shown.append(result.q)
        np.testing.assert_allclose(shown[1], shown[0], atol=1e-12)
        np.testing.assert_allclose(shown[2], shown[0], atol=1e-12)
        tip = result.pose.world[joint].positions
        assert result.errors[0] == pytest.approx(np.linalg.norm(tip - target), abs=1e-12)
        assert not result.reached


@dataclass(frozen=True)
class NoNumber:
    """A solver whose number of iterations may be left to itself, as autodiff's is."""

    iterations: int | None = None
    name = "no number"
    handles = poise.CCD().handles

    def run(self, problem, targets, tolerance, request):
        return poise.CCD(iterations=60 if self.iterations is None else self.iterations).run(
            problem, targets, tolerance, request
        )


class TestSolversWithoutANumberOfIterations:
    @pytest.mark.parametrize("budget", [{"iterations": 3}, {"microseconds": 1e7}])
    def test_the_frame_has_one(self, budget):
        start, joint = bent_chain()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), solver=NoNumber(), **budget)
        result = follow([0.3, 0.4, 0.3])
        assert 0 < result.iterations <= budget.get("iterations", 1000)
        for _ in range(30):
            result = follow([0.3, 0.4, 0.3])
        assert result.reached

    @pytest.mark.parametrize(("solver", "budget"), [("autodiff", {"iterations": 3}), ("autodiff", {})])
    def test_autodiff(self, solver, budget):
        start, joint = bent_chain()
        follow = poise.Tracker(start, Position(joint, [0, 0, 0]), solver=solver, **budget)
        assert 0 < follow([0.3, 0.4, 0.3]).iterations <= budget.get("iterations", 100)
        for _ in range(40):
            result = follow([0.3, 0.4, 0.3])
        assert result.reached


def place_goal():
    start, joint = bent_arm()
    at = start.world[joint]
    return start, Place(joint, at.positions, at.rotations, root="j0"), np.r_[at.positions + 0.03, at.rotations]


class TestPlainTargets:
    """One target as an array of float64: kernels read it, and nothing else is asked before somebody looks."""

    def test_a_step_of_an_arm_parses_nothing_and_moves_nothing_inside(self, monkeypatch):
        start, goal, target = place_goal()
        follow = poise.Tracker(start, goal, speed=0.5)

        def refuse(*_):
            raise AssertionError

        with monkeypatch.context() as patched:
            patched.setattr(Place, "parse", refuse)
            patched.setattr(poise.Skeleton, "legal", refuse)
            for _ in range(3):
                target[0] += 0.01
                result = follow(target)
        assert not result.reached
        np.testing.assert_allclose(result.targets[0], target, atol=1e-15)
        np.testing.assert_allclose(
            result.errors, result.problem.compute_errors(result.q[None], result.targets)[0], atol=1e-12
        )

    def test_every_form_leads_to_the_same(self):
        start, goal, target = place_goal()
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = rotations.as_matrix(target[3:]), target[:3]
        wide = np.zeros((7, 3))
        wide[:, 1] = target
        still = target.copy()
        still.setflags(write=False)
        forms = [target, list(target), (target[:3], target[3:]), matrix, matrix[:3], wide[:, 1], still, 1.0 * target]
        found = []
        for form in forms:
            follow = poise.Tracker(start, goal, speed=0.5)
            found.append(follow(form))
            assert follow.iterations == found[0].iterations > 0
        for result in found[1:]:
            np.testing.assert_allclose(result.q, found[0].q, atol=1e-12)
            np.testing.assert_allclose(result.errors, found[0].errors, atol=1e-12)

    def test_a_target_is_new_when_its_numbers_are(self):
        start, goal, target = place_goal()
        follow = poise.Tracker(start, goal)
        first = follow(target)
        follow(target.tolist())
        assert follow.iterations == first.iterations > 0
        target[0] += 0.01  # in the caller's own array
        assert follow.iterations == first.iterations
        second = follow(target)
        assert follow.iterations == second.iterations > 0

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (np.full(7, np.nan), "finite"), (np.zeros(7), "zero length"), (np.ones((1, 7)), "one target at a time"),
            (np.zeros((4, 4)), "row"), (np.zeros(3), "7 numbers"), (np.ones((3, 4)), "rotation"),
        ],
    )  # fmt: skip
    def test_what_is_no_target_is_refused_and_changes_nothing(self, target, message):
        start, goal, good = place_goal()
        follow = poise.Tracker(start, goal, speed=0.5, restart=True)
        first = follow(good)
        with pytest.raises(poise.InputError, match=message):
            follow(target)
        assert follow.iterations == first.iterations > 0
        np.testing.assert_array_equal(follow.pose.q, first.q)


class TestErrorsOfThePoseShown:
    """One pose in a kernel of its own, beside the judge's arrays."""

    @given(seed=seeds)
    @settings(max_examples=30)
    def test_they_are_what_the_judge_says(self, seed):
        rng = rng_of(seed)
        skeleton = figure()
        turn = random_q(rng, straight_chain(1))
        goals = [
            Position("l_foot", [0, 0, 0], offset=(0.1, 0, 0.2)), Direction("chest", [0, 0, 1]),
            Place("head", [0, 0, 0], turn), poise.Aim("r_foot", [0, 1, 0], axis=(0, 0, 1)),
            poise.Orientation("spine", turn), poise.Pole("l_knee", [0, 0, 1]), poise.Pin("r_leg"),
        ]  # fmt: skip
        problem = poise.prepare(zero(skeleton), goals, free_root=True).problem
        q = random_q(rng, skeleton)
        targets = problem.build_targets([g.with_target(_other(rng, g)) if g.width else g for g in goals], 1)
        tolerance = problem.complete_tolerance(*rng.uniform(0.1, 3.0, size=2))
        wanted = problem.compute_errors(q[None], targets)
        errors, is_met = compute_single_errors(problem.error_paths, problem.compute_max_errors(tolerance), q, targets)
        np.testing.assert_allclose(errors, wanted[0], rtol=1e-9, atol=1e-9)
        assert is_met == bool(problem.is_met(wanted, tolerance)[0])

    def test_at_the_target_nothing_is_left_and_nan_is_not_met(self):
        skeleton = figure()
        start = zero(skeleton)
        problem = poise.prepare(start, [poise.Pin("l_foot"), poise.Aim("head", [0, 1, 0])]).problem
        targets = problem.build_targets(problem.goals, 1)
        allowed = problem.compute_max_errors(problem.complete_tolerance(1e-9, 1e-7))
        targets[:, -3:] = start.world["head"].positions
        errors, is_met = compute_single_errors(problem.error_paths, allowed, start.q.copy(), targets)
        np.testing.assert_allclose(errors, 0.0, atol=1e-7)
        assert is_met is True
        q = start.q.copy()
        q[0] = np.nan
        assert compute_single_errors(problem.error_paths, allowed, q, targets)[1] is False

    def test_scale_that_is_not_uniform_is_for_world_transforms(self):
        s = poise.Skeleton.build("abc", [-1, 0, 1], [3, 3, 0], offsets=[np.ones(3)] * 3, scales=[(1, 1.0001, 1)] * 3)
        follow = poise.Tracker(zero(s), Position("c", [0, 0, 0]), speed=0.1)
        result = follow([1.0, 2.0, 3.0])
        assert result.errors[0] == pytest.approx(np.linalg.norm(result.pose.world["c"].positions - [1, 2, 3]))
        assert not result.reached


def _other(rng, goal):
    """Another target of a goal."""
    turn = unit_quaternions(rng)
    return {4: turn, 7: np.r_[rng.normal(size=3), turn]}.get(goal.width, rng.normal(size=3))


def test_a_free_root_is_for_the_engine():
    start = poise.load(samples.path("humanoid.bvh")).rest
    target = start.world["LeftHand"].positions + np.array([1.0, 0.0, 0.0])
    follow = poise.Tracker(start, Position("LeftHand", target, root="LeftArm"), free_root=True)
    result = follow(target)
    assert result.solver == "levenberg_marquardt"
    assert result.reached


@pytest.mark.parametrize("name", ["levenberg_marquardt", "ccd", "fabrik", "pseudo_inverse", "anneal", "two_bone"])
def test_what_is_named_never_leaves_the_pose_for_another_start(name):
    """Nothing restarts between two frames; a solver that was given keeps its options."""
    chain = straight_chain(2)
    goals = (Position("tip", [0.3, 1.5, 0.0]),)
    start = poise.Pose(chain, chain.rest_q)
    assert getattr(choose_tracking_solver(name, start, goals), "restarts", 0) == 0
    own = poise.CCD(restarts=3)
    assert choose_tracking_solver(own, start, goals) is own
