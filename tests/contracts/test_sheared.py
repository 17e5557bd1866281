"""The contract of rigs whose scale is not uniform, so that a joint that turns shears what hangs on it.

Judged by slow_kinematics, which multiplies 4 x 4 matrices as glTF does.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import Kind, Position, Status
from poise.io import samples
from poise.maths import rotations
from poise.problem import goals
from poise.problem.feasibility import find_unreachable
from poise.problem.frame_packing import split_similarity
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base import answer_refinement
from poise.solvers.base.answer_refinement import refine_by_lm
from tests.command_line import run
from tests.contracts.cases import (
    CHAINS,
    SOLVERS,
    assert_honest,
    chain,
    goal_for,
    handles_of,
    limb,
    movable,
    posed,
    requested,
    rest,
)
from tests.reference import slow_kinematics
from tests.strategies import generic_arm, rng_of, seeds, unit_quaternions

JOINTS = 5


def scales_of(seed, count=JOINTS + 1, most=0.03):
    """Scales of exports that are not quite right: each axis of each joint by 0 to 3 % of its own."""
    return 1.0 + rng_of(seed).uniform(0.0, most, size=(count, 3))


def sheared(joints="balls", limits="none", seed=3, most=0.03):
    """A chain of five joints in which every scale is another, and legal poses of it that stand inside their limits."""
    s = chain(joints, limits, JOINTS, scales=scales_of(seed, most=most))
    return s, [within(s, seed) for seed in range(12)]


def within(s, seed):
    """A legal pose half way from rest to a random one, so that not every joint stands at an end of its limit."""
    legal = rest(s).blend(posed(s, seed), 0.5)
    return poise.Pose(s, s.legal(legal.q)[0])


def sheared_limb(most=0.03, **how):
    """The limb of the other contracts with scales of its own."""
    plain = limb(**how)
    return poise.Skeleton.build(
        plain.names, plain.parents, plain.kinds, offsets=plain.A[:, :3], axes=plain.axes, limits=plain.limits,
        scales=scales_of(7, 3, most),
    )  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
class TestSolvers:
    @pytest.mark.parametrize(("joints", "limits"), CHAINS)
    def test_what_is_reachable_is_reached(self, name, joints, limits):
        s, poses = sheared(joints, limits)
        targets = np.array([pose.world["tip"].positions for pose in poses])
        result = requested(rest(s), Position("tip", targets), name)
        if result is None:
            return
        assert result.problem.plan.length_error > 0.01
        assert_honest(result, "tip", targets)
        assert result.reached.all()

    def test_one_target_has_the_bits_that_it_has_in_a_batch(self, name):
        s, poses = sheared(limits="none" if name == "two_bone" else "hinge")
        far = poses[0].world["tip"].positions * 1.3
        targets = np.array([*(pose.world["tip"].positions for pose in poses[:3]), far, 9.0 * far])
        together = requested(rest(s), Position("tip", targets), name)
        if together is None:
            return
        prepared = poise.prepare(rest(s), Position("tip", far), solver=name)
        for i, target in enumerate(targets):
            alone = poise.solve(rest(s), Position("tip", target), solver=name)
            np.testing.assert_array_equal(alone.q, together.q[i])
            np.testing.assert_array_equal(prepared(target).q, together.q[i])

    @pytest.mark.parametrize("kind", goals.GOAL_CLASSES, ids=lambda kind: kind.__name__)
    @pytest.mark.parametrize("most", [0.03, 0.4])
    def test_every_goal_is_met(self, name, kind, most):
        s = sheared_limb(most, kind=movable(name), others=movable(name))
        bent, start = posed(s, 3, 0.5), posed(s, 4, 0.3)
        result = requested(start, goal_for(kind, start, bent), name)
        if result is not None:
            assert kind.__name__ in handles_of(name).goals
            assert result.reached
            assert_measured(result)

    def test_a_start_that_meets_the_goal_comes_back_bit_for_bit(self, name):
        _, poses = sheared()
        result = requested(poses[1], Position("tip", poses[1].world["tip"].positions), name)
        if result is not None:
            np.testing.assert_array_equal(result.q, poses[1].q)
            assert result.iterations == 0


def assert_measured(result):
    """The errors of positions and rotations are those of matrices that are multiplied one by one."""
    s = result.problem.skeleton
    found = slow_kinematics.world(s, result.pose.q)
    for measure, error in zip(result.problem.measures, result.errors, strict=True):
        wanted = result.targets[0, measure.target_column :]
        place = found[measure.row]
        if result.problem.goals[measure.goal_index].measures[0] == "position" and measure.target_column == 0:
            assert error == pytest.approx(np.linalg.norm(place[:3, 3] - wanted[:3]), abs=1e-9)
        elif type(result.problem.goals[measure.goal_index]) is poise.Orientation:
            u, _, vt = np.linalg.svd(place[:3, :3])  # the rotation of a sheared joint is the nearest one
            left = rotations.as_matrix(wanted[:4]) @ (u @ vt).T
            assert error == pytest.approx(np.arccos(np.clip((np.trace(left) - 1) / 2, -1, 1)), abs=1e-6)


# --- honest ------------------------------------------------------------------------------------------------------


@given(seeds)
@settings(max_examples=20)
def test_nothing_that_a_pose_reaches_is_called_out_of_reach(seed):
    """Straight poses reach as far as any; scale below and above the joint that the chain hangs on shears, too."""
    rng = rng_of(seed)
    scales = np.concatenate([scales_of(seed, 1, 0.2), scales_of(seed + 1, 5, 0.2)])
    s = poise.Skeleton.build(
        "abcdef", range(-1, 5), [3, 3, 3, 3, 3, 0], offsets=[(0, 0, 0), (0, 1, 0), *[(1, 0, 0)] * 4], scales=scales,
    )  # fmt: skip
    q = rest(s).replace({"a": unit_quaternions(rng), "b": unit_quaternions(rng)}).q
    start = rest(s).replace({"a": q[:4]})
    target = poise.Pose(s, q).world["f"].positions
    result = poise.solve(start, Position("f", target, root="b"))
    assert result.status is not Status.out_of_reach
    assert result.reached


def test_what_lengths_forbid_is_proved_and_stretched_to_the_nearest_point():
    s, poses = sheared()
    base = poses[0].world["j0"].positions
    targets = base + 2.0 * np.array([pose.world["tip"].positions - base for pose in poses])
    targets = base + (targets - base) * 4.0 / np.linalg.norm(targets - base, axis=1, keepdims=True)
    result = poise.solve(rest(s), Position("tip", targets))
    assert (result.status == Status.out_of_reach).all()
    nearest = np.full(len(targets), np.inf)
    for other in poses:
        again = poise.solve(other, Position("tip", targets), solver="fabrik")
        nearest = np.minimum(nearest, again.errors[:, 0])
    assert (result.errors[:, 0] <= nearest + 2e-5).all()


@given(seeds)
@settings(max_examples=30)
def test_no_pose_leaves_the_bounds_of_its_lengths(seed):
    """What proves a target out of reach: lengths, and where the chain begins, are known to a stretch only."""
    rng, mirrors = rng_of(seed), rng_of(seed + 1).choice([-1.0, 1.0], size=(4, 1))
    s = poise.Skeleton.build(
        "abcd", range(-1, 3), [3, 3, 3, 0], offsets=[(0, 0, 0), (3, 1, 0), (1, 0, 0), (rng.uniform(0.1, 1), 0, 0)],
        rotations=unit_quaternions(rng, 4), scales=mirrors * rng.uniform(0.8, 1.2, size=(4, 3)),
    )  # fmt: skip
    q = rest(s).replace({"a": unit_quaternions(rng)}).q
    turns = {name: unit_quaternions(rng, 300) for name in "bc"}
    turns["c"][:150] = rotations.inverse(s.A[2, 3:])  # stretched out
    targets = poise.Pose(s, np.tile(q, (300, 1))).replace(turns).world["d"].positions
    problem = Problem(poise.Pose(s, q), (Position("d", targets[0], root="b"),))
    assert (find_unreachable(problem, targets, Tolerance(1e-9, 1e-9)) == 0).all()


@pytest.mark.parametrize("limits", ["SwingTwist", "EulerBox"])
def test_where_limits_keep_it_away_no_small_legal_turn_brings_it_nearer(limits):
    s, _ = sheared(limits=limits)
    targets = np.array([1.4 * posed(s, seed).world["tip"].positions for seed in range(12)])
    result = poise.solve(rest(s), Position("tip", targets))
    missed = np.flatnonzero(~result.reached)
    assert len(missed) > 2
    rng = rng_of(1)
    for i in missed:
        columns = s.quaternion_columns
        q = np.tile(result.q[i], (300, 1))
        turn = rotations.from_vector(rng.normal(size=(300, len(columns), 3)) * 0.01)
        q[:, columns] = rotations.multiply(turn, q[:, columns])
        others = poise.Pose(s, s.legal(q)[0]).world["tip"].positions
        assert np.linalg.norm(others - targets[i], axis=1).min() >= result.errors[i, 0] - 1e-3


def test_what_other_starts_do_not_mend_is_no_worse_for_having_been_tried():
    s, poses = sheared(limits="hinge")
    targets = 1.05 * np.array([pose.world["tip"].positions for pose in poses])
    problem, q = Problem(rest(s), (Position("tip", targets),)), np.tile(s.rest_q, (len(targets), 1))
    alone, again = (refine_by_lm(problem, q, targets, Tolerance(1e-6, 1e-6), restarts=attempts) for attempts in (0, 3))
    left, still_left = (problem.compute_errors(answer.q, targets)[:, 0] for answer in (alone, again))
    assert (again.iterations > alone.iterations).sum() > 5
    assert (still_left <= left * (1 + 1e-9)).all()
    assert (still_left < 0.99 * left).any()


def test_limits_are_named_where_they_keep_a_joint_back():
    s = sheared_limb(limit=poise.Range(-0.2, 0.1, axis=(0, 0, 1)))
    start = rest(s)
    shoulder = start.world["upper"].positions
    result = poise.solve(start, Position("hand", shoulder + np.array([0.5, 0.0, 0.0]), root="upper"))
    assert result.status is Status.limited
    assert "lower" in result.message()
    assert result.violation <= 1e-9


def test_a_zero_scale_is_refused_and_the_way_out_named():
    s, _ = sheared()
    flat = poise.Pose(s, s.rest_q, scales=np.where(np.arange(JOINTS + 1)[:, None] == 1, (1.0, 0.0, 1.0), 1.0))
    with pytest.raises(poise.UnsupportedError, match=r"scale above 'j2' is zero .*start from a pose whose scales"):
        poise.solve(flat, Position("tip", (1, 1, 0)))


# --- everywhere that solves --------------------------------------------------------------------------------------


def test_the_closest_and_every_solution():
    s, poses = sheared("hinges")
    place = poses[2].world["tip"]
    goal = poise.Place("tip", place.positions, place.rotations, rotation_weight=0.5)
    point = Position("tip", place.positions)
    closest = poise.solve(rest(s), point, prefer="closest")
    every = poise.solve(rest(s), point, prefer="all")
    assert closest.reached
    assert len(every.solutions) > 1
    assert (every.problem.compute_errors(every.solutions.q, np.repeat(every.targets, len(every.solutions), axis=0))
            <= every.tolerance * (1 + 1e-8)).all()  # fmt: skip
    np.testing.assert_array_equal(every.q, every.solutions.q[0])
    assert poise.solve(rest(s), goal, prefer="all").reached


def test_starts_whose_scales_differ_are_a_batch():
    """A clip that animates scale: some of its poses shear, some do not."""
    plain, _ = sheared(most=0.0)
    scales = np.stack([np.ones((JOINTS + 1, 3)), scales_of(1), scales_of(2), np.full((JOINTS + 1, 3), 1.5)])
    starts = poise.Pose(plain, np.tile(plain.rest_q, (4, 1)), scales=scales)
    goal = Position("tip", (0.6, 0.9, 0.3))
    together = poise.solve(starts, goal)
    assert together.reached.all()
    for i in range(4):
        np.testing.assert_array_equal(poise.solve(starts[i], goal).q, together.q[i])
    away = poise.solve(starts, Position("tip", (60.0, 90.0, 30.0)))
    assert (away.status == Status.out_of_reach).all()
    for i in range(4):
        np.testing.assert_array_equal(poise.solve(starts[i], Position("tip", (60.0, 90.0, 30.0))).q, away.q[i])


def test_a_free_root_pins_and_a_near_go_together():
    offsets = [(0, 0, 0), (0.2, 0, 0), (0, -1, 0), (0, -1, 0), (-0.2, 0, 0), (0, -1, 0), (0, -1, 0)]
    s = poise.Skeleton.build(
        ["hips", "l1", "l2", "l3", "r1", "r2", "r3"], [-1, 0, 1, 2, 0, 4, 5], [Kind.FREE] + [Kind.BALL] * 6,
        offsets=offsets, scales=scales_of(5, 7),
    )  # fmt: skip
    bend = {"l1": 0.4, "r1": 0.4, "l2": -0.8, "r2": -0.8}
    start = rest(s).replace({name: rotations.about(np.array([1.0, 0, 0]), angle) for name, angle in bend.items()})
    lower = start.world["l1"].positions - np.array([0.0, 0.3, 0.05])
    pins = [poise.Pin(name, root="hips") for name in ("l3", "r3")]
    result = poise.solve(start, [Position("l1", lower, root="hips"), *pins, poise.Near(start)], free_root=True)
    assert result.reached
    assert_measured(result)


def test_a_tracker_and_a_baked_clip_follow():
    _, poses = sheared()
    here, there = poses[0], poses[1]
    points = here.blend(there, np.linspace(0, 1, 8)).world["tip"].positions
    track = poise.Tracker(here, Position("tip", points[0]))
    assert all(track(point, dt=1 / 60).reached for point in points)
    clip = poise.Clip(np.arange(8) / 30, here.blend(there, np.linspace(0, 1, 8)))
    baked = poise.bake(clip, Position("tip", points[::-1]))
    assert baked.result.reached.all()


@pytest.mark.parametrize("solver", ["auto", "fabrik"])
def test_the_command_line_solves_a_file_that_shears(tmp_path, solver):
    rig = poise.load(samples.path("humanoid.glb"))
    scales = scales_of(1, len(rig.skeleton))
    poise.save(poise.Pose(rig.skeleton, rig.skeleton.rest_q, scales=scales), tmp_path / "sheared.glb")
    words = ("--joint", "LeftHand", "--to", "0.4", "1.2", "0.35", "--solver", solver, "-o", tmp_path / "posed.glb")
    reported = run("solve", tmp_path / "sheared.glb", *words)
    assert (reported.returncode, reported.stdout[:7]) == (0, "reached")
    hand = poise.load(tmp_path / "posed.glb").pose.world["LeftHand"].positions
    np.testing.assert_allclose(hand, (0.4, 1.2, 0.35), atol=1e-4)


def test_a_tree_without_shear_is_packed_as_before():
    """Uniform scale, mirrored or not, is no shear; an exporter's noise is corrected by other aims only."""
    s, _ = sheared(most=0.0)
    assert poise.solve(rest(s), Position("tip", (1, 1, 0))).problem.plan.length_error == 0.0
    mirrored = poise.Pose(s, s.rest_q, scales=np.tile([-2.0, 2.0, 2.0], (JOINTS + 1, 1)))
    assert poise.solve(mirrored, Position("tip", (1, 1, 0))).problem.plan.length_error == 0.0


@pytest.mark.parametrize(
    ("solver", "attempts"), [("levenberg_marquardt", 40), (poise.LevenbergMarquardt(restarts=3), 3)]
)
def test_the_engine_has_its_restarts_where_scale_shears(monkeypatch, solver, attempts):
    """Not only behind natural poses: what misses is begun again from as many other poses as it would be without."""
    requested_goals = []
    real = answer_refinement.refine_by_lm
    monkeypatch.setattr(
        answer_refinement, "refine_by_lm", lambda *a, **how: requested_goals.append(how["restarts"]) or real(*a, **how)
    )
    poise.solve(rest(sheared()[0]), Position("tip", [30.0, 20.0, 10.0]), solver=solver)
    assert requested_goals == [attempts]


def test_space_is_flat_from_a_scale_on_that_is_a_millionth_of_the_largest():
    skeleton = generic_arm()
    for ratio in (1.001e-6, 1.0):
        split_similarity(np.diag([1.0, 1.0, ratio])[None], skeleton, 0)
    for ratio in (0.999e-6, 1e-9, 0.0):
        with pytest.raises(poise.UnsupportedError, match="have no size"):
            split_similarity(np.diag([1.0, 1.0, ratio])[None], skeleton, 0)


# --- above the root ----------------------------------------------------------------------------------------------


def bent_below(waist, kind=Kind.HINGE, turn=0.9):
    """An arm on a waist between two scales that cancel while it is straight, in a pose in which it may be bent."""
    skeleton = poise.Skeleton.build(
        ["post", "waist", "arm", "elbow", "hand"], [-1, 0, 1, 2, 3], [0, kind, 3, 3, 0],
        offsets=[(0, 0, 0), *[(0, 1, 0)] * 4], axes=[(0, 0, int(i == 1)) for i in range(5)],
        scales=[(1, 2, 1), waist, *[(1, 1, 1)] * 3],
    )  # fmt: skip
    return poise.Pose(skeleton, skeleton.rest_q).replace({} if kind == Kind.FIXED else {"waist": turn})


def problem_of(start):
    return Problem(start, [Position("hand", [0, 1, 0], root="arm")])


def test_scales_that_cancel_at_rest_shear_what_hangs_on_a_bent_joint_between_them():
    start = bent_below((1, 0.5, 1))
    turns = np.random.default_rng(0).normal(size=(2, 40, 4))
    arm, elbow = turns / np.linalg.norm(turns, axis=-1, keepdims=True)
    there = [start.replace({"arm": a, "elbow": e}).world["hand"].positions for a, e in zip(arm, elbow, strict=True)]
    assert poise.solve(start, Position("hand", there, root="arm")).reached.all()


@pytest.mark.parametrize("kind", [Kind.FIXED, Kind.SLIDE])
def test_scales_that_cancel_over_what_never_turns_are_one(kind):
    """Exporters undo a scale in the node below."""
    assert problem_of(bent_below((1, 0.5, 1), kind)).plan.length_error == 0.0
    assert problem_of(bent_below((1, 0.5, 1))).plan.length_error >= 1.0, "bent by a right angle they make (0.5, 2, 1)"
