"""A status names what keeps a pose from its goals: speed, damping, a budget, an option, goals that contradict."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import poise
from poise import Direction, Orientation, Place, Position, Status
from tests.strategies import straight_chain


@pytest.fixture(scope="module")
def rig():
    return poise.load(poise.sample("humanoid"))


@pytest.fixture(scope="module")
def hand(rig):
    return rig.rest.world["LeftHand"].positions


def arm():
    return poise.load(poise.sample("arm"))


class TestOnTheWay:
    @pytest.mark.parametrize(
        ("bounds", "words"),
        [
            ({"speed": 1.0}, "speed"),
            ({"damping": 0.1}, "damping"),
            ({"speed": 0.01, "damping": 0.001}, "speed and damping"),
            ({"speed": 1e4, "damping": 10.0}, "damping"),
            ({"speed": {"shoulder": 1e-3}}, "speed"),
        ],
    )
    def test_the_bound_that_binds_is_named(self, bounds, words):
        robot = arm()
        tracker = poise.Tracker(robot.rest, Position("tool", [0.3, 0.2, 0.5]), **bounds)
        shown = tracker([0.3, 0.2, 0.5], dt=1 / 60)
        assert shown.status is Status.on_the_way
        assert shown.message().startswith(f"on the way (held back by {words}): ")
        assert not shown.reached
        assert pickle.loads(pickle.dumps(shown)).message() == shown.message()  # noqa: S301

    def test_it_arrives(self):
        robot = arm()
        tracker = poise.Tracker(robot.rest, Position("tool", [0.3, 0.2, 0.5]), speed=2.0)
        observed = [tracker([0.3, 0.2, 0.5], dt=1 / 10).status for _ in range(40)]
        assert observed[0] is Status.on_the_way
        assert observed[-1] is Status.reached

    def test_a_target_out_of_reach_is_that_from_the_first_frame(self):
        robot = arm()
        shown = poise.Tracker(robot.rest, Position("tool", [0, 0, 1]), speed=1e-3)([30.0, 0, 0], dt=1 / 60)
        assert shown.status is Status.out_of_reach
        assert shown.message().endswith("; still on the way there (held back by speed)")

    @pytest.mark.parametrize("budget", ["iterations", "microseconds"])
    def test_a_budget_that_is_used_up(self, budget):
        robot = arm()
        tracker = poise.Tracker(robot.rest, Position("tool", [0, 0, 1]), solver="ccd", **{budget: 1})
        shown = tracker([0.3, -0.3, 0.4])
        assert shown.status is Status.on_the_way
        assert f"on the way (held back by {budget}): " in shown.message()

    def test_a_frame_that_gains_nothing_more_is_not_on_the_way(self):
        chain = straight_chain(3)
        tracker = poise.Tracker(poise.Pose(chain, chain.rest_q), Position("tip", [0, 1, 0]), iterations=200)
        shown = tracker([0.0, 9.0, 0.0])
        assert shown.status is Status.out_of_reach
        assert "on the way" not in shown.message()


class TestHeldBack:
    @pytest.mark.parametrize(
        ("options", "words"),
        [({"soft": 0.05}, "soft="), ({"weight": 0.5}, "weight="), ({"soft": 0.05, "weight": 0.5}, "soft= and weight=")],
    )
    @pytest.mark.parametrize("annealed", [False, True])
    def test_the_option_is_named(self, rig, options, words, annealed):
        hip = rig.rest.world["LeftUpLeg"].positions
        solver = poise.TwoBone(**options)
        solver = poise.Anneal(solver=solver, restarts=2) if annealed else solver
        goal = Position("LeftFoot", hip - np.array([0, 0.83, 0]), root="LeftUpLeg")
        found = poise.solve(rig.rest, goal, solver=solver)
        assert found.status is Status.held_back
        assert found.message().startswith(f"held back: as near as {words} lets it; ")
        assert pickle.loads(pickle.dumps(found)).message() == found.message()  # noqa: S301

    def test_of_a_batch_only_what_the_option_keeps_away(self, rig):
        hip = rig.rest.world["LeftUpLeg"].positions
        down = np.array([0.83, 0.5, 3.0, 0.83])
        goal = Position("LeftFoot", hip - down[:, None] * [0, 1, 0], root="LeftUpLeg")
        found = poise.solve(rig.rest, goal, solver=poise.TwoBone(soft=0.05))
        assert [str(status) for status in found.status] == ["held_back", "reached", "out_of_reach", "held_back"]


class TestContradictions:
    def test_two_places_of_one_joint(self, rig, hand):
        found = poise.solve(
            rig.rest, [Position("LeftHand", hand - [0.3, 0.3, 0]), Position("LeftHand", hand - [0.3, 0.2, 0])]
        )
        assert found.status is Status.contradictory
        assert "the goals contradict each other: the two targets of 'LeftHand' are 0.1 m apart; " in found.message()

    def test_two_joints_too_far_apart_or_too_near(self):
        chain = straight_chain(4)
        start = poise.Pose(chain, chain.rest_q)
        far = [Position("j2", [1, 1, 0]), Position("tip", [-0.5, -1.5, 0])]
        found = poise.solve(start, far)
        assert found.status is Status.contradictory
        assert "reach at most 2" in found.message()
        near = poise.solve(start, [Position("j3", [1, 1, 0]), Position("tip", [1, 1.5, 0])])
        assert near.status is Status.contradictory
        assert "keep them at least 1 apart" in near.message()
        assert poise.solve(start, [Position("j2", [1, 1, 0]), Position("tip", [0.5, -0.5, 0])]).reached

    @pytest.mark.parametrize(
        "goals",
        [
            [Orientation("LeftHand", [1, 0, 0, 0]), Orientation("LeftHand", [0.8, 0.6, 0, 0])],
            [Direction("LeftHand", (1, 0, 0)), Direction("LeftHand", (0, 1, 0))],
            [Orientation("LeftHand", [1, 0, 0, 0]), Direction("LeftHand", (0, 1, 0), axis=(1, 0, 0))],
        ],
    )
    def test_rotations_of_one_joint(self, rig, goals):
        found = poise.solve(rig.rest, goals)
        assert found.status is Status.contradictory
        assert "the goals contradict each other: the two goals turn 'LeftHand' to rotations" in found.message()

    def test_two_points_and_a_rotation_of_one_body(self, rig, hand):
        place = Place("LeftHand", hand - [0.2, 0.2, 0], [1, 0, 0, 0])
        other = Position("LeftHand", hand - [0.2, 0.2, -0.05], offset=(0, 0.05, 0))
        found = poise.solve(rig.rest, [place, other])
        assert found.status is Status.contradictory
        assert "do not fit the rotation wanted of 'LeftHand'" in found.message()

    def test_each_goal_alone_is_met(self):
        """A tip above the middle of a chain that has to point sideways at both ends: lengths do not forbid it."""
        chain = straight_chain(3)
        goals = [
            Direction("j0", (1, 0, 0), axis=(0, 1, 0)), Direction("j2", (1, 0, 0), axis=(0, 1, 0)),
            Position("tip", [0.5, 1.6, 0.0]),
        ]  # fmt: skip
        start = poise.Pose(chain, chain.rest_q)
        found = poise.solve(start, goals)
        assert found.status is Status.contradictory
        assert "each goal alone is met, and no pose was found that meets all of them" in found.message()
        assert all(poise.solve(start, goal).reached for goal in goals)

    @pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
    def test_no_random_pose_is_called_a_contradiction(self, unit):
        rng = np.random.default_rng(4)
        chain = straight_chain(5, length=unit)
        start = poise.Pose(chain, chain.rest_q)
        turns = rng.normal(size=(30, 4 * 5))
        q = (turns.reshape(30, 5, 4) / np.linalg.norm(turns.reshape(30, 5, 4), axis=-1, keepdims=True)).reshape(30, 20)
        world = poise.Pose(chain, q).world
        goals = [
            Place("j2", world["j2"].positions, world["j2"].rotations),
            Place("tip", world["tip"].positions, world["tip"].rotations),
            Position("j4", world["j4"].positions),
        ]
        for few in (poise.LevenbergMarquardt(iterations=1, restarts=0), "auto"):
            codes = poise.solve(start, goals, solver=few).codes
            assert not (codes == Status.contradictory).any()


class TestFreeRoot:
    def test_a_free_joint_of_the_file_is_named_where_it_could_move(self):
        robot = poise.Skeleton.build(
            ["floating", "shoulder", "elbow", "hand"], range(-1, 3), [poise.Kind.FREE, 1, 1, 0],
            offsets=[(0, 0, 1), (0, 0, 0.2), (0.3, 0, 0), (0.3, 0, 0)],
            axes=[(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 0, 0)],
        )  # fmt: skip
        start = poise.Pose(robot, robot.rest_q)
        found = poise.solve(start, Position("hand", [2.0, 1.0, 1.0]))
        assert found.status is Status.out_of_reach
        assert (
            "'floating' is a free joint: free_root=True, or --free-root, lets the whole figure move" in found.message()
        )
        assert poise.solve(start, Position("hand", [2.0, 1.0, 1.0]), free_root=True).reached

    def test_a_bolted_arm_is_not_reported(self):
        robot = arm()
        assert "free_root" not in poise.solve(robot.rest, Position("tool", [50.0, 0, 0])).message()
