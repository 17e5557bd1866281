"""prefer="closest" and "all", and what Near, Pin and Direction do to the choice among solutions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import poise
from poise import Coupling, Direction, LevenbergMarquardt, Near, Pin, Place, Position, Range
from poise.maths import rotations
from poise.problem.problem import Problem
from tests.reference import slow_kinematics
from tests.strategies import figure, generic_arm, rng_of, seeds, straight_chain

PI = np.pi


def ur5():
    """The arm by its maker's DH numbers: d, a [m] and alpha of each of its six hinges."""
    d, a = [0.089159, 0, 0, 0.10915, 0.09465, 0.0823], [0, -0.425, -0.39225, 0, 0, 0]
    alpha = np.array([PI / 2, 0, 0, PI / 2, -PI / 2, 0])
    turns = np.stack([np.cos(alpha / 2), np.sin(alpha / 2), 0 * alpha, 0 * alpha], axis=1)
    return poise.Skeleton.build(
        [*(f"j{i}" for i in range(6)), "tool"], range(-1, 6), [1] * 6 + [0],
        offsets=[(0, 0, 0), *zip(a, [0] * 6, d, strict=True)], rotations=[(1, 0, 0, 0), *turns],
        axes=[(0, 0, 1)] * 6 + [(0, 0, 0)], limits=[Range(-PI, PI)] * 6 + [None],
    )  # fmt: skip


UR5 = ur5()


def tool_of(skeleton, q):
    m = slow_kinematics.world(skeleton, q)[-1]
    return m[:3, 3], Rotation.from_matrix(m[:3, :3])


def left(skeleton, q, position, rotation):
    """Distance and angle left, by 4 x 4 matrices."""
    at, turn = tool_of(skeleton, q)
    return np.linalg.norm(at - position), (rotation * turn.inv()).magnitude()


def dense_oracle(skeleton, position, rotation, count=400):
    """All solutions that another method finds from many random starts."""
    low, high = skeleton.value_ranges.T
    found = []

    def residual(q):
        at, turn = tool_of(skeleton, q)
        return np.concatenate([at - position, (rotation * turn.inv()).as_rotvec()])

    for start in rng_of(11).uniform(low, high, size=(count, skeleton.nq)):
        q = least_squares(residual, start, xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=60).x
        q = (q + PI) % (2 * PI) - PI
        if max(left(skeleton, q, position, rotation)) < 1e-8 and all(np.abs(q - x).max() > 1e-3 for x in found):
            found.append(q)
    return np.array(found)


class TestAll:
    @pytest.mark.parametrize("seed", range(12))
    def test_every_solution_meets_the_target_and_is_another_one(self, seed):
        rng = rng_of(seed)
        start, q = rng.uniform(-2, 2, size=6), rng.uniform(-3, 3, size=6)
        position, rotation = tool_of(UR5, q)
        pose = poise.Pose(UR5, start)
        goal = Place("tool", position, rotation.as_matrix())
        result = poise.solve(pose, goal, prefer="all")
        found = result.solutions.q
        for x in found:
            distance, angle = left(UR5, x, position, rotation)
            assert distance <= 1e-6 * (1 + 1e-8)
            assert angle <= 1e-6 * (1 + 1e-8)
        apart = np.abs(found[:, None] - found[None]).max(axis=-1)
        assert (apart[~np.eye(len(found), dtype=bool)] > 1e-3).all()
        assert np.abs(found - q).max(axis=1).min() < 1e-3  # the pose that the target came from
        away = ((found - start) ** 2).sum(axis=1)
        assert (np.diff(away) >= -1e-9).all()
        np.testing.assert_array_equal(result.q, found[0])
        np.testing.assert_array_equal(poise.solve(pose, goal, prefer="all").solutions.q, found)
        assert (abs(found) <= PI).all()

    @pytest.mark.long
    def test_few_branches_are_missed(self):
        """Some have a small basin between two limits; sixteen times as many starts find hardly any more."""
        found = known = 0
        for seed in range(100):
            rng = rng_of(seed)
            pose, q = poise.Pose(UR5, rng.uniform(-2, 2, size=6)), rng.uniform(-3, 3, size=6)
            position, rotation = tool_of(UR5, q)
            goal = Place("tool", position, rotation.as_matrix())
            found += len(poise.solve(pose, goal, prefer="all").solutions)
            known += len(poise.solve(pose, goal, prefer="all", seeds=8192).solutions)
        assert known >= 500
        assert found >= 0.995 * known

    @pytest.mark.long
    def test_it_finds_all_that_another_method_finds(self):
        q = np.array([0.4, -1.1, 1.3, -0.7, 0.9, 0.5])  # shoulder, elbow and wrist each have two ways: 8 branches
        position, rotation = tool_of(UR5, q)
        want = dense_oracle(UR5, position, rotation, 80)
        assert len(want) == 8
        result = poise.solve(
            poise.Pose(UR5, UR5.rest_q + 0.1), Place("tool", position, rotation.as_matrix()), prefer="all"
        )
        assert len(result.solutions) == 8
        for x in want:
            assert np.abs(result.solutions.q - x).max(axis=1).min() < 1e-4

    def test_none_where_there_is_none(self):
        result = poise.solve(poise.Pose(UR5, UR5.rest_q), Position("tool", [9, 9, 9]), prefer="all")
        assert result.solutions.shape == (0,)
        assert result.status is poise.Status.out_of_reach
        with pytest.raises(poise.InputError, match='prefer="all"'):
            _ = poise.solve(poise.Pose(UR5, UR5.rest_q), Position("tool", [9, 9, 9])).solutions

    @pytest.mark.parametrize(("target", "count"), [([0, 0, 0], 1), ([1, 0, 0], 0)])
    def test_a_pose_that_cannot_move_is_the_solution_where_it_meets_the_goal(self, target, count):
        s = straight_chain(2)
        start = poise.Pose(s, s.rest_q)
        goal = Position("j0", target)
        result = poise.solve(start, goal, prefer="all")
        assert result.reached == bool(count)
        np.testing.assert_array_equal(result.solutions.q, np.tile(start.q, (count, 1)))

    def test_whole_families_are_sampled(self):
        """A chain with degrees of freedom to spare: solutions differ by `apart` or more."""
        s = straight_chain(4)
        for apart in (0.5, 1.2):
            solver = LevenbergMarquardt(apart=apart)
            result = poise.solve(
                poise.Pose(s, s.rest_q), Position("tip", [1.5, 1, 0.5]), prefer="all", solver=solver, tolerance=1e-6
            )
            turns = result.solutions.q.reshape(-1, 4, 4)
            dots = np.abs(np.einsum("ajc,bjc->abj", turns, turns)).clip(max=1)
            angles = (2 * np.arccos(dots)).max(axis=-1)
            assert len(turns) > 3
            assert (angles[~np.eye(len(turns), dtype=bool)] > apart - 1e-6).all()
            ends = np.linalg.norm(result.solutions.world["tip"].positions - [1.5, 1, 0.5], axis=1)
            assert (ends <= 1e-6 * (1 + 1e-8)).all()

    @pytest.mark.long
    def test_followers_of_a_leader_off_the_way_are_not_turned_round(self):
        """A whole turn of a leader turns its follower by its ratio of one only."""
        s = poise.Skeleton.build(
            ["lead", "a", "b", "c", "tip"], [-1, -1, 1, 2, 3], [1, 1, 1, 1, 0], axes=[(0, 0, 1)] * 4 + [(0, 0, 0)],
            offsets=[(0, 0, 0), (0, 0, 0), *[(1, 0, 0)] * 3], couplings=[None, Coupling(0, 0.5, 0), None, None, None],
        )  # fmt: skip
        rng = rng_of(1)
        for _ in range(40):
            target = poise.Pose(s, rng.uniform(-3, 3, size=3)).world["tip"].positions
            start = poise.Pose(s, rng.uniform(-9, 9, size=3))
            result = poise.solve(start, Position("tip", target), prefer="all")
            ends = np.linalg.norm(result.solutions.world["tip"].positions - target, axis=1)
            assert (ends <= 1e-6 * (1 + 1e-8)).all()
            assert poise.solve(start, Position("tip", target), prefer="closest").reached


class TestClosest:
    @settings(max_examples=15)
    @given(seed=seeds)
    def test_it_is_the_nearest_of_all_and_never_farther_than_the_first(self, seed):
        rng = rng_of(seed)
        start, q = rng.uniform(-2, 2, size=(2, 6))
        position, rotation = tool_of(UR5, q)
        pose, goal = poise.Pose(UR5, start), Place("tool", position, rotation.as_matrix())
        nearest = poise.solve(pose, goal, prefer="closest", seeds=256)
        every = poise.solve(pose, goal, prefer="all")
        first = poise.solve(pose, goal.with_target(goal.rows()[None]))
        assert nearest.reached

        def away(x):
            return ((x - start) ** 2).sum(axis=-1)

        assert away(nearest.q) <= away(every.solutions.q).min() + 1e-3  # tolerances bend q where the arm is stretched
        assert away(nearest.q) <= away(first.q[0]) + 1e-3

    def test_whole_turns_towards_the_start(self):
        """Hinges without limits: the answer stands at the turn nearest to the start."""
        s = straight_chain(3, kind=1, axes=[(0, 0, 1)] * 3)
        start = np.array([13.0, -20.0, 7.0])
        result = poise.solve(poise.Pose(s, start), Position("tip", [1, 1.5, 0]), prefer="closest")
        assert result.reached
        assert (np.abs(result.q - start) <= PI + 1e-9).all()

    def test_arms_that_stand_elsewhere_are_answered_as_each_alone(self):
        """The first hinge stays as it is, so that every start has a base of its own."""
        arm, rng = generic_arm(), rng_of(5)
        q = rng.uniform(-1, 1, size=(3, 6))
        starts = poise.Pose(arm, q)
        there = poise.Pose(arm, np.where(np.arange(6) < 1, q, rng.uniform(-1, 1, size=(3, 6)))).world["tool"]
        goal = Place("tool", there.positions, there.rotations, root="j1")
        together = poise.solve(starts, goal, prefer="closest", seeds=8)
        assert together.reached.all()
        for i in range(3):
            own = Place("tool", there.positions[i], there.rotations[i], root="j1")
            np.testing.assert_array_equal(together.q[i], poise.solve(starts[i], own, prefer="closest", seeds=8).q)

    def test_of_arms_whose_carts_stand_elsewhere_each_has_its_own(self):
        s = poise.Skeleton.build(
            ["cart", "a", "b", "c", "tool"], range(-1, 4), [2, 1, 1, 1, 0],
            offsets=[(0, 0, 0), (0, 0.1, 0), *[(1, 0, 0)] * 3],
            axes=[(1, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 0)],
        )  # fmt: skip
        q, wanted = rng_of(1).uniform(-1, 1, (2, 3, 4))
        wanted[:, 0] = q[:, 0]  # carts keep still
        starts, targets = poise.Pose(s, q), poise.Pose(s, wanted).world["tool"].positions
        together = poise.solve(starts, Position("tool", targets, root="a"), prefer="closest", seeds=8)
        assert together.reached.all()
        for i, target in enumerate(targets):
            alone = poise.solve(starts[i], Position("tool", target, root="a"), prefer="closest", seeds=8)
            np.testing.assert_array_equal(together.q[i], alone.q)

    def test_of_trees_too(self):
        s = figure()
        start = poise.Pose(s, s.rest_q)
        foot = start.world["l_foot"].positions
        goals = [Position("l_foot", foot + np.array((0, 0.3, 0.2))), Direction("head", (0, 1, 1), axis=(0, 1, 0))]
        nearest = poise.solve(start, goals, prefer="closest")
        assert nearest.reached
        for found in (poise.solve(start, goals), poise.solve(start, goals, prefer="all")):
            assert turned(s, nearest.q, start.q) <= turned(s, found.q, start.q) + 1e-6


def turned(skeleton, q, other):
    """Sum of squared differences of the joints."""
    out, columns = 0.0, skeleton.quaternion_columns
    for c in columns:
        out += (2 * np.arccos(min(1.0, abs(q[c] @ other[c])))) ** 2
    rest = np.setdiff1d(np.arange(skeleton.nq), columns)
    return out + ((q[rest] - other[rest]) ** 2).sum()


class TestPreferences:
    @staticmethod
    def near_case(seed):
        """A start, a goal, what is preferred, how far an answer is from that, and the answer without a preference."""
        rng = rng_of(seed)
        s = straight_chain(7, kind=1, axes=rng.normal(size=(7, 3)), limits=[Range(-2.5, 2.5)] * 7)
        wanted, start = rng.uniform(-1, 1, size=(2, 7))
        goal = Position("tip", poise.Pose(s, wanted + rng.uniform(-0.2, 0.2, size=7)).world["tip"].positions)
        without = poise.solve(poise.Pose(s, start), goal, solver="levenberg_marquardt")
        assert without.reached
        return poise.Pose(s, start), goal, Near(poise.Pose(s, wanted)), lambda q: ((q - wanted) ** 2).sum(), without

    @settings(max_examples=20)
    @given(seed=seeds)
    def test_near_comes_nearer_and_costs_no_goal(self, seed):
        _, goal, near, far, without = self.near_case(seed)
        within = poise.solve(without.pose, [goal, near])
        assert within.reached
        assert far(within.q) < far(without.q)

    def test_near_comes_nearer_from_elsewhere_almost_always(self):
        """The way to the goal may lead into another valley: of 300 draws one did, against its limits."""
        nearer = 0
        for seed in range(40):
            start, goal, near, far, without = self.near_case(seed)
            within = poise.solve(start, [goal, near])
            assert within.reached
            nearer += far(within.q) < far(without.q)
        assert nearer >= 38

    def test_a_pinned_foot_stays(self):
        s = figure()
        start = poise.Pose(s, s.rest_q).replace({"l_knee": 0.4, "r_knee": 0.3})
        before = start.world["r_foot"]
        goals = [
            Position("head", start.world["head"].positions + np.array((0.05, -0.1, 0.1))),
            Pin("r_foot"),
            Pin("l_foot"),
        ]
        result = poise.solve(start, goals, free_root=True)
        assert result.reached
        after = result.pose.world["r_foot"]
        np.testing.assert_allclose(after.positions, before.positions, atol=result.tolerance)
        np.testing.assert_allclose(abs((after.rotations * before.rotations).sum()), 1, atol=1e-8)
        loose = poise.solve(start, goals[:1], free_root=True)
        assert np.linalg.norm(loose.pose.world["r_foot"].positions - before.positions) > 0.01

    def test_a_direction_leaves_the_turn_about_it_free(self):
        s = generic_arm()
        start = poise.Pose(s, np.full(6, 0.2))
        turn = Rotation.from_quat(np.roll(start.world["tool"].rotations, -1))
        about = (Rotation.from_rotvec(1.2 * turn.apply((0, 0, 1))) * turn).apply((0, 0, 1))
        result = poise.solve(start, Direction("tool", about, axis=(0, 0, 1)))
        np.testing.assert_array_equal(result.q, start.q)
        assert poise.solve(start, Direction("tool", -about, axis=(0, 0, 1))).reached


def test_other_starts_stand_inside_hard_limits_and_where_they_may_outside_soft_ones():
    limit = poise.SwingTwist((0, 1, 0), swing=0.2, twist=(-0.1, 0.1))
    soft = dataclasses.replace(limit, soft=0.5)
    skeleton = straight_chain(3, limits=[limit, soft, None])
    plan = Problem(poise.Pose(skeleton, skeleton.rest_q), [poise.Position("tip", [0, 1, 0])]).plan
    u = plan.randomize_starts(plan.q_to_u(skeleton.rest_q[None]), np.full(9, 0.9), 2.0)
    turns = 2 * np.arccos(np.abs(u.reshape(3, 4)[:, 0]))
    assert turns[0] < 0.3
    np.testing.assert_allclose(turns[1:], turns[2])
    assert turns[2] > 1.0


@pytest.mark.parametrize("seed", range(4))
def test_of_a_ball_that_nothing_else_turns_the_nearest_pose_within_its_limit_is_found(seed):
    """From there no small legal turn leads nearer to the pose beyond the limit."""
    limit = poise.SwingTwist((0, 1, 0), swing=0.4, twist=(-0.2, 0.2))
    free = poise.Skeleton.build("ab", [-1, 0], [3, 0])
    skeleton, rng = free.with_limits({"a": limit}), rng_of(seed)
    way = rng.normal(size=3)
    near = rotations.about(way / np.linalg.norm(way), 1.2)
    goals = [Position("b", [0, 0, 0], root="a"), Near(poise.Pose(free, near))]
    found = poise.solve(poise.Pose(skeleton, skeleton.rest_q), goals, solver="levenberg_marquardt")

    def away(q):
        return 2 * np.arccos(np.minimum(np.abs(q @ near), 1.0))

    assert found.violation <= 1e-9
    assert away(found.q) < away(skeleton.rest_q) - 0.2
    steps = rng.normal(size=(300, 3))
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    beside = skeleton.legal(rotations.multiply(rotations.about(steps, np.full(300, 1e-4)), found.q))[0]
    assert away(beside).min() > away(found.q) - 1e-7
