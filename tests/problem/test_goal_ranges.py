"""Goals with a set about their target."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import Within, rotations
from poise.errors import InputError
from poise.model.limits import EulerBox
from poise.problem.goal_ranges import clamp_turns, pack_turn
from tests.problem.test_goal_relative import near
from tests.strategies import generic_arm, random_q, random_skeleton, rng_of, seeds, unit_quaternions

Z = np.array([0.0, 0.0, 1.0])
FREE = (-math.inf, math.inf)
TURNS = {
    "exact": None,
    "range": poise.Range(-0.8, 0.5, axis=(0.6, 0.0, 0.8)),
    "free": poise.Range(*FREE, axis=(0, 0, 1)),
    "cone": poise.SwingTwist(axis=(0, 0, 1), swing=0.5, twist=(-0.3, 0.4)),
    "twist": poise.SwingTwist(axis=(0, 1, 0), swing=0.0, twist=(-0.3, 0.4)),
    "box": EulerBox("XYZ", x=(-0.3, 0.4), y=(-0.2, 0.3), z=(-0.5, 0.1)),
}  # fmt: skip


def five_axes():
    """The generic arm without its last hinge."""
    arm = generic_arm()
    limits = [limit for name, limit in zip(arm.names, arm.limits, strict=True)]
    limits[5] = None
    return poise.Skeleton.build(
        arm.names, arm.parents, [1] * 5 + [0, 0], offsets=arm.A[:, :3], rotations=arm.A[:, 3:], axes=arm.axes,
        limits=limits,
    )  # fmt: skip


def random_turn(rng, turn):
    """A rotation inside a set of turns."""
    if turn is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    packed = pack_turn(turn)
    return clamp_turns(packed, unit_quaternions(rng))


@pytest.mark.long
@given(seeds, st.sampled_from(sorted(TURNS)), st.sampled_from(["target", "joint"]), st.booleans())
@settings(max_examples=200)
def test_a_pose_inside_a_set_is_found_from_nearby(seed, turn_name, axes, is_relative):
    """Sets on rigs of all joints, mirrored and scaled; the error is 0 to tolerance by world transforms alone."""
    rng = rng_of(seed)
    s = random_skeleton(rng, 9)
    joint, reference = (s.names[i] for i in rng.choice(len(s.names), 2, replace=False))
    truth = poise.Pose(s, random_q(rng, s))
    tip, base = truth.world[joint], truth.world[reference]
    base_affine, base_rotation = (
        (base.affine, base.rotations) if is_relative else (np.eye(3, 4), np.array([1.0, 0, 0, 0]))
    )
    point = np.linalg.solve(base_affine[:, :3], tip.affine[:, 3] - base_affine[:, 3])
    rotation = rotations.multiply(rotations.inverse(base_rotation), tip.rotations)
    low, high = -rng.uniform(0, 0.3, 3), rng.uniform(0, 0.3, 3)
    low[rng.integers(3)] = -math.inf
    box = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    turn = TURNS[turn_name]
    target_rotation = rotations.multiply(rotation, rotations.inverse(random_turn(rng, turn)))
    offset = rng.uniform(np.maximum(low, -1.0), high)
    target = point - rotations.rotate(rotation if axes == "joint" else target_rotation, offset)
    within = Within(*box, turn=turn, axes=axes)
    goal = poise.Place(joint, target, target_rotation, within=within, relative_to=reference if is_relative else None)
    options = {"solver": "levenberg_marquardt", "tolerance": 1e-7, "angle_tolerance": 1e-7}
    moving = poise.solve(truth, goal, **options)
    assert moving.reached
    assert np.array_equal(moving.q, truth.q)  # inside nothing pulls
    start = poise.Pose(s, near(rng, s, truth.q, moving.joints, 0.05))
    result = poise.solve(start, goal, **options)
    assert result.reached
    answer, base = result.pose.world[joint], result.pose.world[reference]
    base_affine, base_rotation = (
        (base.affine, base.rotations) if is_relative else (np.eye(3, 4), np.array([1.0, 0, 0, 0]))
    )
    point = np.linalg.solve(base_affine[:, :3], answer.affine[:, 3] - base_affine[:, 3])
    rotation = rotations.multiply(rotations.inverse(base_rotation), answer.rotations)
    box_axes = rotation if axes == "joint" else target_rotation
    local = rotations.rotate(rotations.inverse(box_axes), point - target)
    assert (local >= np.array(low) - 2e-7).all()
    assert (local <= np.array(high) + 2e-7).all()


@pytest.mark.parametrize("name", sorted(TURNS))
def test_clamped_turns_are_inside_and_stay(name):
    turn = TURNS[name]
    if turn is None:
        return
    packed = pack_turn(turn)
    clamped = clamp_turns(packed, unit_quaternions(rng_of(1), 200))
    again = clamp_turns(packed, clamped)
    assert np.abs(np.abs((clamped * again).sum(axis=-1)) - 1.0).max() < 1e-12


def test_a_set_of_no_width_is_the_plain_goal_bit_for_bit():
    arm = generic_arm()
    rng = rng_of(0)
    start = poise.Pose(arm, np.zeros(arm.nq))
    truth = poise.Pose(arm, rng.uniform(-1, 1, (50, arm.nq))).world[arm.names[-1]]
    plain = poise.Place(arm.names[-1], truth.positions, truth.rotations)
    exact = poise.Place(
        arm.names[-1], truth.positions, truth.rotations, within=Within(turn=poise.Range(0.0, 0.0, axis=(0, 0, 1)))
    )
    assert np.array_equal(poise.solve(start, plain).q, poise.solve(start, exact).q)


def test_a_tool_with_a_free_turn_needs_five_axes():
    """An arm of five hinges meets a position and an axis for all poses that it has."""
    arm = five_axes()
    rng = rng_of(2)
    tip = arm.names[-1]
    truth = poise.Pose(arm, rng.uniform(-2, 2, (300, arm.nq))).world[tip]
    spin = rotations.about(Z, rng.uniform(-3, 3, 300))
    goal = poise.Place(
        tip, truth.positions, rotations.multiply(truth.rotations, spin), within=Within(turn=TURNS["free"])
    )
    result = poise.solve(poise.Pose(arm, np.zeros(arm.nq)), goal, tolerance=1e-6, angle_tolerance=1e-6)
    assert result.reached.mean() == 1.0


def random_sets(count):
    """The generic arm, and sets with a pose of it inside."""
    arm, rng = generic_arm(), rng_of(4)
    tip = arm.names[-1]
    known = poise.Pose(arm, rng.uniform(-2.0, 2.0, (count, arm.nq))).world[tip]
    offset = rng.uniform(-0.1, 0.1, (count, 3))
    turn = rotations.about(Z, rng.uniform(-0.5, 0.5, count))
    target_rotations = rotations.multiply(known.rotations, rotations.inverse(turn))
    positions = known.positions - rotations.rotate(target_rotations, offset)
    box = (-0.1, 0.1)
    within = Within(box, box, box, turn=poise.Range(-0.5, 0.5, axis=(0, 0, 1)))
    return arm, poise.Place(tip, positions, target_rotations, within=within)


def test_the_answer_is_no_farther_from_the_start_than_that_of_the_target_alone():
    arm, goal = random_sets(200)
    start = poise.Pose(arm, np.zeros(arm.nq))
    result = poise.solve(start, goal)
    exact = poise.solve(start, poise.Place(goal.joint, goal.position, goal.rotation))
    assert result.reached.all()
    both = exact.reached
    assert both.sum() > 50
    way, exact_way = (np.linalg.norm(each.q, axis=-1)[both] for each in (result, exact))
    assert (way <= exact_way + 1e-9).all()
    assert np.median(way / exact_way) < 0.95


def test_ranges_have_the_same_bits_alone_in_a_batch_and_with_own_starts():
    arm, goal = random_sets(12)
    start = poise.Pose(arm, np.zeros(arm.nq))
    batch, prepared = poise.solve(start, goal, threads=2), poise.prepare(start, goal)
    own = poise.solve(poise.Pose(arm, np.zeros((12, arm.nq))), goal)
    assert np.array_equal(own.q, batch.q)
    for i in range(12):
        target = (goal.position[i], goal.rotation[i])
        assert np.array_equal(poise.solve(start, goal.with_target(target)).q, batch.q[i])
        assert np.array_equal(prepared(target).q, batch.q[i])
    assert np.array_equal(poise.solve(start, goal.with_target(target), trace=True).q, batch.q[-1])


def test_a_prepared_set_from_another_start_has_the_bits_of_a_fresh_one():
    arm, goal = random_sets(6)
    start = poise.Pose(arm, np.zeros(arm.nq))
    tracker = poise.Tracker(start, goal.with_target((goal.position[0], goal.rotation[0])))
    q = start.q
    for target in zip(goal.position, goal.rotation, strict=True):
        fresh = poise.Tracker(poise.Pose(arm, q), goal.with_target(target))(target)
        q = tracker(target).q
        assert np.array_equal(q, fresh.q)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Within(x=(1, 0)), "low"),
        (lambda: Within(x=1.0), "pair"),
        (lambda: Within(z=(math.nan, 1)), "low"),
        (lambda: Within(turn=poise.Range(-1, 1)), "axis"),
        (lambda: Within(turn=poise.Range(-1, 1, axis=(0, 0, 1), soft=1.0)), "hard"),
        (lambda: Within(turn=3.0), "SwingTwist"),
        (lambda: Within(axes="world"), '"target" or "joint"'),
        (lambda: poise.Position("a", (0, 0, 0), within=Within(turn=TURNS["free"])), "no rotation"),
        (lambda: poise.Orientation("a", (1, 0, 0, 0), within=Within(x=(-1, 1))), "no position"),
        (lambda: poise.Position("a", (0, 0, 0), within=(0, 1)), "poise.Within"),
    ],
)
def test_wrong_sets_are_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
