"""What is particular to FABRIK: its sweeps, closed forms and finish; limits; several effectors; twists and lengths."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import FABRIK, EulerBox, Pin, Position, Range, Status, SwingTwist
from poise.maths import rotations
from tests.contracts.problems import PROBLEMS
from tests.kernels.kernel_entries import entered
from tests.reference import slow_fabrik
from tests.strategies import figure, random_q, random_skeleton, rng_of, seeds, straight_chain, unit_quaternions

PLAIN = FABRIK(finish=False, bend=0)


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def random_chain(rng, n):
    """n balls with bones of any direction and length, a fixed tip, and a random pose."""
    s = poise.Skeleton.build(
        [*(f"j{i}" for i in range(n)), "tip"], range(-1, n), [3] * n + [0], offsets=rng.normal(size=(n + 1, 3)),
        rotations=unit_quaternions(rng, n + 1),
    )  # fmt: skip
    return poise.Pose(s, unit_quaternions(rng, n).ravel())


def within(pose, rng, low, high):
    """A target at low..high of the longest reach of j0."""
    bones = np.diff(pose.world.positions, axis=0)
    way = rng.normal(size=3)
    far = rng.uniform(low, high) * np.linalg.norm(bones, axis=1).sum()
    return pose.world["j0"].positions + far * way / np.linalg.norm(way)


class TestSweeps:
    @given(seeds, st.integers(2, 12))
    @settings(max_examples=40)
    def test_they_are_those_of_the_paper_one_by_one(self, seed, n):
        rng = rng_of(seed)
        pose = random_chain(rng, n)
        target = within(pose, rng, 0.3, 0.9)
        goal = Position("tip", target, root="j0")
        found = poise.solve(pose, goal, solver=FABRIK(finish=False, bend=0, iterations=12), tolerance=0, trace=True)
        if found.status is Status.out_of_reach:  # too near for its longest bone
            return
        left, points = slow_fabrik.errors(pose.world.positions, target, int(found.iterations))
        np.testing.assert_allclose(found.trace.errors, left, atol=1e-11)
        np.testing.assert_allclose(found.pose.world.positions, points, atol=1e-10)

    @given(seeds, st.integers(1, 12))
    @settings(max_examples=40)
    def test_bones_keep_their_lengths(self, seed, n):
        rng = rng_of(seed)
        pose = random_chain(rng, n)
        goal = Position("tip", within(pose, rng, 0, 1.5), root="j0")
        for solver in (FABRIK(), PLAIN):
            found = poise.solve(pose, goal, solver=solver).pose
            lengths = [np.linalg.norm(np.diff(p.world.positions, axis=0), axis=1) for p in (found, pose)]
            np.testing.assert_allclose(lengths[0], lengths[1], rtol=1e-12)

    @given(seeds)
    @settings(max_examples=40)
    def test_twists_stay(self, seed):
        """Every ball turns by the shortest arc, seen in its parent's frame: none of the turn is about the bone."""
        rng = rng_of(seed)
        pose = random_chain(rng, 5)
        found = poise.solve(pose, Position("tip", within(pose, rng, 0.2, 1.2), root="j0"), solver=PLAIN).pose
        for i in range(5):
            before, after = pose.q[4 * i : 4 * i + 4], found.q[4 * i : 4 * i + 4]
            turn = rotations.multiply(after, rotations.inverse(before))
            bone = rotations.rotate(before, pose.skeleton.A[i + 1, :3])
            assert turn[1:] @ bone == pytest.approx(0, abs=1e-10)

    def test_the_published_count(self):
        """Ten bones of 90 mm, nearly straight, targets 600 mm away, 1e-3 mm: 9.64 sweeps of 20,000 targets."""
        directions = rng_of(4).normal(size=(500, 3))
        targets = 600 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        solver = FABRIK(finish=False, bend=1e-3, iterations=1000)
        found = poise.solve(
            rest(straight_chain(10, length=90.0)), Position("tip", targets), solver=solver, tolerance=1e-3
        )
        assert found.reached.all()
        assert found.iterations.mean() == pytest.approx(9.6, rel=0.1)


class TestClosedForms:
    @pytest.mark.parametrize("solver", [FABRIK(), PLAIN])
    def test_too_far_is_stretched_towards(self, solver):
        found = poise.solve(rest(straight_chain(6)), Position("tip", [2, 3, 6]), solver=solver)
        assert found.status is Status.out_of_reach
        assert found.iterations == 1
        np.testing.assert_allclose(found.pose.world["tip"].positions, 6 * np.array([2, 3, 6]) / 7, atol=1e-12)

    @pytest.mark.parametrize("target", [[0.5, 0, 0], [0, -0.7, 0.1], [0, 0, 0], [0, 0.9, 0]])
    def test_too_near_points_along(self, target):
        s = poise.Skeleton.build(
            "abcd", range(-1, 3), [3] * 3 + [0], offsets=[(0, 0, 0), (0, 1, 0), (0, 4, 0), (0, 1, 0)]
        )
        found = poise.solve(rest(s), Position("d", target, root="a"), solver="fabrik")
        assert found.status is Status.out_of_reach
        assert found.iterations == 1
        assert found.errors[0] == pytest.approx(2 - np.linalg.norm(target), abs=1e-12)

    @pytest.mark.parametrize("y", [5.0, -5.0])
    def test_just_stretched_and_opposite(self, y):
        found = poise.solve(rest(straight_chain(5)), Position("tip", [0, y, 0]), solver=FABRIK(bend=0), tolerance=1e-9)
        assert found.reached
        assert found.iterations == (0 if y > 0 else 1)

    def test_one_bone(self):
        found = poise.solve(rest(straight_chain(1)), Position("tip", [0, -0.5, 0]), solver="fabrik")
        np.testing.assert_allclose(found.pose.world["tip"].positions, [0, -1, 0], atol=1e-12)


class TestStraightChain:
    @pytest.mark.parametrize("y", [2.5, 0.5, -3.0, 4.9, 3.999])
    def test_a_target_on_its_own_line_is_reached(self, y):
        assert poise.solve(rest(straight_chain(5)), Position("tip", [0, y, 0]), solver="fabrik", tolerance=1e-6).reached

    def test_without_a_bend_it_stays_on_the_line(self):
        found = poise.solve(rest(straight_chain(5)), Position("tip", [0, 2.5, 0]), solver=PLAIN, tolerance=1e-6)
        np.testing.assert_allclose(found.pose.world.positions[:, [0, 2]], 0, atol=1e-12)

    @pytest.mark.parametrize("length", [0.1, 1.0, 30.0])
    def test_where_neither_sweeps_nor_the_finish_gain_it_stops(self, length):
        s = straight_chain(5, length=length)
        found = poise.solve(rest(s), Position("tip", [0, 2.5 * length, 0]), solver=FABRIK(bend=0, iterations=500))
        assert found.status is Status.stalled
        assert found.iterations < 50

    def test_it_always_bends_to_the_same_side(self):
        a, b = (poise.solve(rest(straight_chain(4)), Position("tip", [0, 2, 0]), solver="fabrik") for _ in range(2))
        np.testing.assert_array_equal(a.pose.q, b.pose.q)

    @pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
    def test_targets_at_the_joints_themselves(self, length):
        s = straight_chain(3, length=length)
        for target in ([0, 0, 0], [0, length, 0], [0, 2 * length, 0]):
            found = poise.solve(rest(s), Position("tip", target), solver="fabrik")
            assert found.reached
            assert np.isfinite(found.pose.q).all()

    def test_a_point_without_a_way_to_go(self):
        from poise.kernels.fabrik import place_at_distance
        from poise.kernels.vec_quat import Vec

        here, nowhere = Vec(1.0, 2.0, 3.0), Vec(0.0, 0.0, 0.0)
        assert entered(place_at_distance)(here, here, 2.0, Vec(0.0, 0.0, 5.0)) == (1, 2, 5)
        assert entered(place_at_distance)(here, here, 0.0, nowhere) == (1, 2, 3)

    def test_bones_of_no_length(self):
        s = poise.Skeleton.build(
            "abcdef", range(-1, 5), [3] * 5 + [0],
            offsets=[(0, 0, 0), (0, 0, 0), (0, 1, 0), (0, 0, 0), (0, 1, 0), (0, 1, 0)],
        )  # fmt: skip
        for solver in (FABRIK(), FABRIK(finish=False)):
            found = poise.solve(rest(s), Position("f", [1, 0.5, 1]), solver=solver).require()
            lengths = np.linalg.norm(np.diff(found.pose.world.positions, axis=0), axis=1)
            np.testing.assert_allclose(lengths, [0, 1, 0, 1, 1], atol=1e-12)

    def test_points_that_fall_together_keep_their_directions(self):
        """The target is where the joint before the tip is, and where the base is: no bone has a way to go."""
        s = straight_chain(4)
        folded = rest(s).replace({"j1": [0, 0, 0, 1], "j3": [0, 0, 0, 1]})
        for target in ([0, 1, 0], [0, 0, 0], [1e-320, 1, 0]):
            found = poise.solve(folded, Position("tip", target, root="j0"), solver=PLAIN)
            assert np.isfinite(found.pose.q).all()


class TestTenBones:
    """The sets of data/chain10: ten bones of length 1, straight along +Y, within 1e-3, at most 100 iterations."""

    def sets(self, data):
        return json.loads((data / "chain10/targets.json").read_text())

    @pytest.mark.parametrize(("name", "least"), [("ball", 1.0), ("fk", 1.0), ("axis", 1.0), ("edge", 0.99)])
    def test_with_the_finish_all_are_reached(self, data, name, least):
        goal = Position("tip", self.sets(data)[name])
        found = poise.solve(rest(straight_chain(10)), goal, solver=FABRIK(), tolerance=1e-3)
        assert found.reached.mean() >= least
        assert found.iterations.max() <= 100

    def test_a_path_is_followed(self, data):
        pose = rest(straight_chain(10))
        for point in self.sets(data)["path"]:
            pose = poise.solve(pose, Position("tip", point), solver="fabrik", tolerance=1e-3).require().pose

    def test_without_it_the_edge_is_out_of_reach_of_100_sweeps(self, data):
        goal = Position("tip", self.sets(data)["edge"])
        found = poise.solve(rest(straight_chain(10)), goal, solver=FABRIK(finish=False), tolerance=1e-3)
        assert found.reached.mean() < 0.1


LIMITS = {
    "round cone": SwingTwist.degrees((0, 1, 0), swing=30, twist=(-20, 20)),
    "elliptic cone of four sides": SwingTwist.degrees((0, 1, 0), swing=((-10, 40), (-20, 30)), twist=(-20, 20)),
    "box": EulerBox.degrees("XYZ", x=(-30, 30), y=(-10, 10), z=(-10, 40)),
    "hinge": Range.degrees(-60, 60, axis=(0, 0, 1)),
    "hinge that bends one way": Range.degrees(0, 100, axis=(1, 0, 0)),
}


class TestLimits:
    @pytest.mark.parametrize("finish", [True, False])
    @pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
    def test_targets_of_legal_poses(self, limit, finish):
        s = straight_chain(8).with_limits({"j*": limit})
        q = s.legal(unit_quaternions(rng_of(3), 60, 8).reshape(60, -1))[0]
        targets = poise.Pose(s, q).world["tip"].positions
        found = poise.solve(rest(s), Position("tip", targets), solver=FABRIK(finish=finish), tolerance=1e-3)
        assert found.violation <= 1e-9
        assert s.legal(found.pose.q)[1] == ()
        if finish:
            assert found.reached.mean() >= 0.95

    def test_hinges_whose_axes_differ(self):
        axes = [(math.cos(a), 0, math.sin(a)) for a in np.radians(50) * np.arange(12)]
        s = straight_chain(12, kind=1, axes=axes).with_limits({"j*": Range(-1.2, 1.2)})
        targets = poise.Pose(s, rng_of(5).uniform(-1.2, 1.2, size=(200, 12))).world["tip"].positions
        found = poise.solve(rest(s), Position("tip", targets), solver="fabrik", tolerance=1e-3)
        assert found.reached.mean() >= 0.99
        assert found.violation <= 0

    def test_hinges_of_one_axis_need_no_finish(self):
        s = straight_chain(8, kind=1, axes=[(0, 0, 1)] * 8).with_limits({"j*": Range(-1, 1)})
        found = poise.solve(rest(s), Position("tip", [[4, 4], [-3, 5]]), solver=FABRIK(finish=False), tolerance=1e-3)
        assert found.reached.all()

    @given(seeds)
    @settings(max_examples=30)
    def test_sweeps_with_limits_that_limit_nothing_are_the_plain_ones(self, seed):
        rng = rng_of(seed)
        pose = random_chain(rng, 5)
        goal = Position("tip", within(pose, rng, 0.4, 0.8), root="j0")
        wide = pose.skeleton.with_limits({"j*": SwingTwist((0, 0, 1))})
        solver = FABRIK(finish=False, bend=0, iterations=6)
        traces = [
            poise.solve(poise.Pose(s, pose.q), goal, solver=solver, tolerance=0, trace=True).trace.errors
            for s in (pose.skeleton, wide)
        ]
        both = min(map(len, traces))  # one may end at zero, the other one rounding away
        np.testing.assert_allclose(traces[0][:both], traces[1][:both], atol=1e-10)
        assert np.abs(np.concatenate([trace[both:] for trace in traces])).max(initial=0) < 1e-12

    @pytest.mark.parametrize("target", [(1.5, 4.0), (-3.0, 3.0)])
    def test_the_finish_goes_along_limits_about_every_axis_alike(self, target):
        """A chain in a plane, limits in its way: about x, y and z it takes the same steps."""
        traces = []
        for shift in range(3):
            side, way, axis = np.roll(np.eye(3), shift, axis=1)
            s = straight_chain(5, direction=way).with_limits({"j*": SwingTwist(way, swing=0.4, twist=(-0.1, 0.1))})
            bent = rest(s).replace({f"j{i}": rotations.about(-axis, 0.1) for i in range(5)})
            goal = Position("tip", target[0] * side + target[1] * way)
            traces.append(poise.solve(bent, goal, solver="fabrik", tolerance=1e-6, trace=True).trace.errors)
        np.testing.assert_allclose(traces[1], traces[0], atol=1e-9)
        np.testing.assert_allclose(traces[2], traces[0], atol=1e-9)
        assert len(traces[0]) < 10

    def test_an_iteration_is_a_sweep_over_every_joint(self):
        s = straight_chain(8).with_limits({"j*": LIMITS["round cone"]})
        found = poise.solve(rest(s), Position("tip", [3, 5, 1]), solver=FABRIK(finish=False, iterations=7), tolerance=0)
        assert (found.iterations, found.joint_updates) == (7, 7 * 8)

    def test_a_few_sweeps_come_before_the_finish(self):
        s = straight_chain(8).with_limits({"j*": LIMITS["round cone"]})
        goal = Position("tip", [3, 5, 1])
        swept, finished = (
            poise.solve(rest(s), goal, solver=FABRIK(finish=finish, iterations=20), tolerance=1e-9, trace=True).trace.q
            for finish in (False, True)
        )
        np.testing.assert_array_equal(finished[:4], swept[:4])
        assert not np.array_equal(finished[4], swept[4])

    def test_random_trees_with_random_ranges(self):
        for seed in range(20):
            rng = rng_of(seed)
            s = random_skeleton(rng, 7, couple=False, kinds=(0, 1, 3))
            s = s.with_limits(
                {
                    name: Range(*np.sort(rng.uniform(-4, 4, size=2)), axis=(0, 1, 0) if s[name].kind == 3 else None)
                    for name in s.names
                    if s[name].kind
                }
            )
            found = poise.solve(poise.Pose(s, random_q(rng, s)), Position("j6", rng.normal(size=3)), solver="fabrik")
            assert found.violation <= 1e-9


def tree(size=1.0):
    """A spine of three that parts into two arms and a neck."""
    names = ["hip", "spine", "chest", "neck", "head", "l1", "l2", "l3", "l_hand", "r1", "r2", "r3", "r_hand"]
    offsets = [(0, 1, 0), (0, 0.2, 0), (0, 0.2, 0), (0, 0.3, 0), (0, 0.2, 0), (0.2, 0.2, 0), (0.3, 0, 0), (0.3, 0, 0),
               (0.1, 0, 0), (-0.2, 0.2, 0), (-0.3, 0, 0), (-0.3, 0, 0), (-0.1, 0, 0)]  # fmt: skip
    parents = [-1, 0, 1, 2, 3, 2, 5, 6, 7, 2, 9, 10, 11]
    return poise.Skeleton.build(names, parents, [3] * 13, offsets=size * np.array(offsets))


class TestSeveral:
    NAMES = ("head", "l_hand", "r_hand")

    def goals(self, pose):
        return [Position(name, pose.world[name].positions, root="hip") for name in self.NAMES]

    def poses(self, count=50):
        s = tree()
        turns = rng_of(1).normal(size=(count, 13, 3)) * 0.3
        q = np.concatenate([np.ones((count, 13, 1)), turns], axis=-1)
        return poise.Pose(s, (q / np.linalg.norm(q, axis=-1, keepdims=True)).reshape(count, -1))

    @pytest.mark.parametrize("solver", [FABRIK(), FABRIK(finish=False, iterations=2000)])
    def test_two_hands_and_a_head(self, solver):
        found = poise.solve(rest(tree()), self.goals(self.poses()), solver=solver)
        assert found.reached.all()

    def test_a_figure_in_other_lengths_takes_the_same_sweeps(self):
        solver = FABRIK(finish=False, iterations=2000)
        goals = self.goals(self.poses(10))
        large = [goal.with_target(128.0 * goal.rows()) for goal in goals]
        found = poise.solve(rest(tree()), goals, solver=solver, tolerance=1e-4)
        again = poise.solve(rest(tree(128.0)), large, solver=solver, tolerance=128e-4)
        np.testing.assert_array_equal(again.iterations, found.iterations)
        np.testing.assert_allclose(again.q, found.q, atol=1e-9)

    def test_a_start_that_meets_them_comes_back_bit_for_bit(self):
        pose = self.poses(1)[0]
        found = poise.solve(pose, self.goals(pose), solver="fabrik")
        assert found.iterations == 0
        np.testing.assert_array_equal(found.pose.q, pose.q)

    def test_bone_lengths_and_what_has_no_goal_stay(self):
        s = tree()
        found = poise.solve(rest(s), self.goals(self.poses())[:2], solver="fabrik").pose
        for row, parent in enumerate(s.parents):
            if parent >= 0:
                bone = found.world.positions[:, row] - found.world.positions[:, parent]
                np.testing.assert_allclose(np.linalg.norm(bone, axis=1), np.linalg.norm(s.A[row, :3]), rtol=1e-12)
        np.testing.assert_array_equal(found.q[:, s.q_slice("r2")], [[1, 0, 0, 0]] * 50)

    def test_what_cannot_be_met_is_shared_by_weight(self):
        """Two hands pull the figure apart: the heavier one comes nearer."""
        left = {}
        for weight in (1.0, 30.0):
            goals = [
                Position("l_hand", [3, 1.6, 0], root="hip", weight=weight),
                Position("r_hand", [-3, 1.6, 0], root="hip"),
            ]
            left[weight] = poise.solve(rest(tree()), goals, solver=FABRIK(finish=False)).errors
        assert left[1.0][0] == pytest.approx(left[1.0][1], rel=0.05)
        assert left[30.0][0] < left[1.0][0]

    def test_a_pin_holds_a_point(self):
        start = rest(tree())
        goals = [Position("l_hand", [0.4, 1.9, 0.3], root="hip"), Pin("r_hand", rotation=False, root="hip")]
        found = poise.solve(start, goals, solver="fabrik").require()
        away = found.pose.world["r_hand"].positions - start.world["r_hand"].positions
        assert np.linalg.norm(away) <= found.tolerance

    def test_a_pin_of_a_rotation_is_refused(self):
        with pytest.raises(poise.UnsupportedError, match="rotation=False"):
            poise.solve(rest(tree()), [Pin("r_hand", root="hip")], solver="fabrik")

    def test_limits_hold(self):
        s = figure(free=False).with_limits({"spine": SwingTwist.degrees((0, 1, 0), swing=15, twist=(-5, 5))})
        rng = rng_of(2)
        q = s.legal(random_q(rng, s, 40))[0]
        world = poise.Pose(s, q).world
        goals = [Position(name, world[name].positions, root="hip") for name in ("head", "l_foot", "r_foot")]
        for solver in (FABRIK(), FABRIK(finish=False)):
            found = poise.solve(rest(s), goals, solver=solver)
            assert found.violation <= 1e-9
            assert s.legal(found.pose.q)[1] == ()
        assert poise.solve(rest(s), goals, solver=FABRIK()).reached.mean() >= 0.9

    def test_a_joint_that_follows_one_elsewhere_keeps_its_coupling(self):
        problem = PROBLEMS["fingers that follow hinges elsewhere"]
        found = problem.solved("fabrik", 0, trace=True)
        world = poise.Pose(problem.start.skeleton, found.trace.q).world
        left = [world[goal.joint].positions - goal.rows()[0] for goal in problem.goals]
        want = np.linalg.norm(np.concatenate(left, axis=-1), axis=-1) / found.problem.plan.kernel_unit_in_world
        np.testing.assert_allclose(found.trace.errors, want, atol=1e-9)

    def test_it_keeps_what_was_tried(self):
        found = poise.solve(rest(tree()), self.goals(self.poses(1)[0]), solver="fabrik", trace=True)
        assert found.joint_updates == found.iterations * len(found.problem.plan.node_table)
        assert len(found.trace.errors) == len(found.trace.q) == found.iterations + 1
        np.testing.assert_array_equal(found.trace.q[0], tree().rest_q)
        assert found.trace.errors[-1] < found.trace.errors[0]


@pytest.mark.parametrize(
    "options",
    [{"iterations": -1}, {"bend": -1}, {"bend": 2}, {"bend": math.nan}, {"restarts": -1}, {"finish": 2}],
)
def test_bad_options_are_refused(options):
    with pytest.raises(poise.InputError, match=next(iter(options))):
        FABRIK(**options)


def test_slides_and_rotations_are_refused():
    s = straight_chain(2, kind=2, axes=[(0, 1, 0)] * 2)
    with pytest.raises(poise.UnsupportedError, match="moves hinge joints and ball joints; 'j0' is a slide"):
        poise.solve(rest(s), Position("tip", [0, 1, 0]), solver="fabrik")
    with pytest.raises(poise.UnsupportedError, match="solves Position and Pin goals, not Orientation"):
        poise.solve(rest(straight_chain(2)), poise.Orientation("tip", [1, 0, 0, 0]), solver="fabrik")


def test_no_iterations_only_judges():
    found = poise.solve(rest(straight_chain(3)), Position("tip", [1, 1, 1]), solver=FABRIK(iterations=0))
    assert found.iterations == 0
    np.testing.assert_array_equal(found.pose.q, straight_chain(3).rest_q)


SCRIPT = """
import json, numpy as np, poise
from tests.strategies import straight_chain
from tests.solvers.test_fabrik import LIMITS, TestSeveral, rest, tree
free, kept = straight_chain(4), straight_chain(4).with_limits({"j*": LIMITS["round cone"], "j2": LIMITS["hinge"]})
goals = [poise.Position("tip", t) for t in ([1, 2, 0.5], [0, 2, 0], [0, -9, 0], [0.5, 3.4, 0.3])]
found = [poise.solve(rest(s), goal, solver=poise.FABRIK(iterations=20)) for s in (free, kept) for goal in goals]
goals = TestSeveral().goals(TestSeveral().poses(1)[0])
found.append(poise.solve(rest(tree()), goals, solver=poise.FABRIK(finish=False)))
print(json.dumps([result.pose.q.tolist() for result in found]))
"""


@pytest.mark.long
def test_compiled_and_uncompiled_agree():
    found = []
    for backend in ("native", "plain"):
        environment = {**os.environ, "POISE_KERNELS": backend}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, cwd=Path(__file__).parent.parent.parent, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        found.append(json.loads(done.stdout))
    for compiled, plain in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, plain, atol=1e-7)
