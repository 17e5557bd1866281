"""The four Jacobian methods through solve(): goals, limits, straight chains, options, the sets of chain10."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import poise
from poise import (
    Coupling,
    DampedLeastSquares,
    Direction,
    EulerBox,
    JacobianTranspose,
    Near,
    Orientation,
    Pin,
    Place,
    Position,
    PseudoInverse,
    Range,
    SelectivelyDamped,
    Status,
    SwingTwist,
)
from poise.io import samples
from poise.maths import rotations
from tests.reference import slow_kinematics
from tests.strategies import generic_arm, random_q, random_skeleton, rng_of, straight_chain

METHODS = {
    "jacobian_transpose": JacobianTranspose(),
    "jacobian_transpose, adaptive": JacobianTranspose(step="adaptive", iterations=5000, clamp=0.2),
    "pseudo_inverse": PseudoInverse(),
    "damped_least_squares": DampedLeastSquares(),
    "damped_least_squares, constant": DampedLeastSquares(damping="constant"),
    "selectively_damped": SelectivelyDamped(),
}
QUICK = {name: method for name, method in METHODS.items() if "transpose" not in name}
every = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
quick = pytest.mark.parametrize("method", QUICK.values(), ids=QUICK)


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def figure():
    return poise.load(samples.path("humanoid.bvh")).rest


# --- goals -------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("free_root", [False, True])
def test_several_goals_of_a_figure(method, free_root):
    pose, world = figure(), figure().world
    left, right = world["LeftHand"], world["RightHand"]
    goals = [
        Position("LeftHand", left.positions + np.array([-0.2, 0.1, 0.3])),
        Place("RightHand", right.positions + np.array([0.1, 0.2, 0.2]), right.rotations),
        Direction("Head", [1, 0.2, 1], axis=(0, 0, 1)),
        Pin("LeftFoot"),
    ]
    result = poise.solve(pose, goals, solver=method, free_root=free_root, tolerance=1e-3, angle_tolerance=1e-2)
    assert result.reached
    assert len(result.errors) == 6


@quick
@pytest.mark.parametrize("goal", ["position", "rotation", "place", "direction"])
def test_an_arm_with_ranges_reaches_what_it_can(method, goal):
    skeleton, rng = generic_arm(), rng_of(1)
    at = poise.Pose(skeleton, rng.uniform(-2.5, 2.5, size=(40, 6))).world["tool"]
    axis = at.matrices[..., :3, 2]
    goals = {
        "position": Position("tool", at.positions),
        "rotation": Orientation("tool", at.rotations),
        "place": Place("tool", at.positions, at.rotations),
        "direction": Direction("tool", axis, axis=(0, 0, 1)),
    }
    result = poise.solve(rest(skeleton), goals[goal], solver=method)
    assert result.reached.mean() >= (0.8 if goal == "place" else 1.0)
    assert result.violation <= 0


@every
def test_random_trees_of_all_kinds_and_couplings(method):
    for seed in range(8):
        rng = rng_of(seed)
        skeleton = random_skeleton(rng, 7)
        start = poise.Pose(skeleton, random_q(rng, skeleton))
        moved = poise.Pose(skeleton, start.q + 0.05 * rng.normal(size=skeleton.nq))
        target = moved.world["j6"].positions
        result = poise.solve(start, Position("j6", target), solver=method, tolerance=1e-4)
        world = slow_kinematics.world(skeleton, result.pose.q)[6, :3, 3]
        assert result.errors[0] == pytest.approx(np.linalg.norm(target - world), abs=1e-9)
        before = np.linalg.norm(target - start.world["j6"].positions)
        assert result.errors[0] <= before * (1 + 1e-9)


@quick
def test_coupled_joints_on_the_way_move_together(method):
    skeleton = poise.Skeleton.build(
        ["a", "b", "c", "tip"], range(-1, 3), [1, 1, 1, 0], offsets=[(0, 0, 0), *[(1, 0, 0)] * 3],
        axes=[(0, 0, 1)] * 3 + [(0, 0, 0)], couplings=[None, None, Coupling(1, 0.5, 0.1), None],
    )  # fmt: skip
    target = poise.Pose(skeleton, [0.4, 1.1]).world["tip"].positions
    result = poise.solve(rest(skeleton), Position("tip", target), solver=method)
    assert result.reached


def test_near_is_refused():
    pose = rest(straight_chain(3))
    with pytest.raises(poise.UnsupportedError, match="pseudo_inverse solves .* goals, not Near"):
        poise.solve(pose, [Position("tip", [1, 1, 1]), Near(pose)], solver="pseudo_inverse")


# --- limits ------------------------------------------------------------------------------------------------------


LIMITS = {
    "range": Range.degrees(-20, 70, axis=(1, 0, 0)),
    "cone": SwingTwist((0, 1, 0), swing=math.radians(50), twist=(-0.3, 0.3)),
    "sides": SwingTwist((0, 1, 0), swing=((-0.2, 1.0), 0.7), twist=(-0.1, 0.6)),
    "box": EulerBox("XYZ", x=(-0.3, 1.2), y=(-0.2, 0.2), z=(-0.9, 0.4)),
}


@every
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_limits_hold_and_what_they_allow_is_reached(method, limit):
    skeleton = straight_chain(6).with_limits({f"j{i}": limit for i in range(1, 6)})
    rng = rng_of(0)
    q, _ = skeleton.legal(random_q(rng, skeleton, 30))
    targets = poise.Pose(skeleton, q).world["tip"].positions
    result = poise.solve(rest(skeleton), Position("tip", targets), solver=method, tolerance=1e-2)
    assert result.violation <= 1e-9
    assert result.reached.mean() >= (0.9 if "transpose" not in method.name else 0.7)


@every
def test_limits_that_keep_a_target_away_are_named(method):
    skeleton = poise.Skeleton.build(
        ["shoulder", "elbow", "tool"], range(-1, 2), [1, 1, 0], offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0)],
        axes=[(0, 0, 1), (0, 0, 1), (0, 0, 0)], limits=[Range(-3, 3), Range(0, 0.1), None],
    )  # fmt: skip
    result = poise.solve(rest(skeleton), Position("tool", [0.5, 0.5, 0]), solver=method)
    assert result.status is Status.limited
    assert "elbow at its highest" in result.message()
    assert result.violation <= 0


def test_restarts_leave_a_corner_that_limits_make():
    """Towards the target at first, the shoulder runs against its range; the elbow has to go the long way round."""
    skeleton, rng = generic_arm(1.8), rng_of(4)
    at = poise.Pose(skeleton, rng.uniform(-1.8, 1.8, size=(200, 6))).world["tool"]
    goal = Place("tool", at.positions, at.rotations)
    plain, again = (
        poise.solve(rest(skeleton), goal, solver=DampedLeastSquares(restarts=restarts)).reached.mean()
        for restarts in (0, 15)
    )
    assert plain < 0.8
    assert again > 0.95


# --- straight chains ---------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("kind", [1, 3])
@pytest.mark.parametrize("height", [-3.0, 0.0, 1.0, 4.0])
def test_a_straight_chain_reaches_targets_on_its_own_line(method, kind, height):
    skeleton = straight_chain(5, kind=kind, axes=[(0, 0, 1)] * 5)
    result = poise.solve(rest(skeleton), Position("tip", [0, height, 0]), solver=method, tolerance=1e-3)
    assert result.reached


@pytest.mark.parametrize("plain", [
    JacobianTranspose(bend=0, restarts=0, iterations=50), JacobianTranspose(step="adaptive", bend=0, restarts=0),
    PseudoInverse(bend=0, restarts=0), DampedLeastSquares(bend=0, restarts=0), SelectivelyDamped(bend=0, restarts=0),
])  # fmt: skip
def test_the_plain_forms_stay_where_no_joint_lowers_the_error(plain):
    skeleton = straight_chain(5)
    result = poise.solve(rest(skeleton), Position("tip", [0, 2, 0]), solver=plain)
    assert result.status is Status.stalled
    assert result.iterations == plain.iterations
    np.testing.assert_allclose(result.pose.q, skeleton.rest_q, atol=1e-12)


def test_a_bend_is_by_its_angle_and_to_the_same_side():
    skeleton = straight_chain(4)
    solver = PseudoInverse(bend=0.1, iterations=1, restarts=0)
    q = [poise.solve(rest(skeleton), Position("tip", [0, y, 0]), solver=solver, trace=True).trace.q for y in (1, 2, -1)]
    for history in q:
        turns = history[1].reshape(-1, 4)[:4]
        np.testing.assert_allclose(2 * np.arctan(np.abs(turns[:, 1:]).max(axis=1)), 0.1 * np.ones(4), rtol=1e-2)
        np.testing.assert_array_equal(turns, np.repeat(turns[:1], 4, axis=0))
    np.testing.assert_array_equal(q[0][1], q[1][1])


def test_a_bend_is_across_the_chain_wherever_it_lies():
    skeleton = straight_chain(4)
    solver = PseudoInverse(bend=0.1, iterations=1, restarts=0)
    start = rest(skeleton).replace({skeleton.names[0]: rotations.about(np.array([0.0, 0.0, 1.0]), -np.pi / 2)})
    history = poise.solve(start, Position("tip", [2, 0, 0]), solver=solver, trace=True).trace.q
    turns = history[1].reshape(-1, 4)[1:4]
    np.testing.assert_allclose(2 * np.arccos(turns[:, 0]), 0.1, rtol=1e-2)
    np.testing.assert_allclose(turns[:, 2], 0.0, atol=1e-12)  # each bone lies along its y


def test_selective_damping_turns_a_joint_by_an_eighth_of_a_turn_at_most_in_a_step():
    """The gamma_max that Buss and Kim name; this target asks for more."""
    arm = generic_arm()
    plain = SelectivelyDamped(bend=0, restarts=0)
    start = poise.Pose(arm, np.full(6, 0.3))
    result = poise.solve(start, Position("tool", [0.3, -0.2, 0.1]), solver=plain, trace=True)
    assert np.abs(np.diff(result.trace.q, axis=0)).max() == pytest.approx(np.radians(45), abs=1e-12)


def test_hinges_bend_into_the_wider_part_of_their_range():
    ranges = [(-1.0, 0.3), (-0.3, 1.0), (-1.0, 1.0), (-0.05, 0.02)]
    skeleton = straight_chain(4, kind=1, axes=np.eye(3)[[2] * 4], limits=[Range(*ends) for ends in ranges])
    solver = DampedLeastSquares(bend=0.1, iterations=1, restarts=0)
    history = poise.solve(rest(skeleton), Position("tip", [0, 2, 0]), solver=solver, trace=True).trace.q
    np.testing.assert_allclose(history[1], [-0.1, 0.1, 0.1, -0.05], rtol=1e-9)


# --- numbers -----------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
def test_huge_and_tiny_rigs(method, size):
    skeleton = straight_chain(6, length=size)
    result = poise.solve(rest(skeleton), Position("tip", np.array([2, -1, 3.0]) * size), solver=method)
    assert result.reached
    assert result.errors[0] <= 1e-4 * 6 * size


@every
def test_every_step_of_the_trace_is_there(method):
    result = poise.solve(rest(straight_chain(6)), Position("tip", [1, 2, 1]), solver=method, trace=True)
    errors = np.array(result.trace.errors)
    assert len(errors) == result.iterations + 1  # no attempt was given up
    assert errors[0] == pytest.approx(math.sqrt(18))
    assert errors[-1] == pytest.approx(result.errors[0], rel=1e-6)
    np.testing.assert_array_equal(result.trace.q[-1], result.pose.q)


@every
def test_no_more_iterations_than_requested(method):
    targets = rng_of(0).uniform(-9, 9, size=(64, 3))
    for most in (0, 1, 7, 100):
        capped = type(method)(iterations=most)
        result = poise.solve(rest(straight_chain(5)), Position("tip", targets), solver=capped)
        assert result.iterations.max() == most


@every
def test_a_target_out_of_reach_is_pointed_at(method):
    result = poise.solve(rest(straight_chain(5)), Position("tip", [9, 0.1, 0]), solver=method)
    assert result.status is Status.out_of_reach
    assert result.errors[0] == pytest.approx(math.hypot(9, 0.1) - 5, rel=2e-3)


def test_the_pseudo_inverse_reaches_what_needs_a_nearly_stretched_chain():
    directions = rng_of(0).normal(size=(100, 3))
    targets = 4.975 * directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    rough, fine = (
        poise.solve(rest(straight_chain(5)), Position("tip", targets), solver=PseudoInverse(iterations=100, **options))
        for options in ({"cut": 0.05}, {})
    )
    assert fine.reached.all()
    assert not rough.reached.all()  # directions of small singular values are those that bend it


# --- options -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "words"), [
    (lambda: JacobianTranspose(jacobian="exact"), "jacobian must be 'analytic' or 'numeric'"),
    (lambda: JacobianTranspose(step="best"), "step must be 'adaptive' or 'optimal'"),
    (lambda: PseudoInverse(cut=1), "cut must be a share"),
    (lambda: PseudoInverse(cut=math.nan), "cut must be a share"),
    (lambda: DampedLeastSquares(damping="none"), "damping must be 'error' or 'constant'"),
    (lambda: DampedLeastSquares(amount=0), "amount must be a number above 0"),
    (lambda: DampedLeastSquares(amount=math.inf), "amount must be a finite number"),
    (lambda: SelectivelyDamped(max_turn=-1), "max_turn must be a number above 0"),
    (lambda: SelectivelyDamped(clamp=math.nan), "clamp must be a number above 0"),
    (lambda: SelectivelyDamped(iterations=-1), "iterations must be a whole number"),
    (lambda: PseudoInverse(restarts=1.5), "restarts must be a whole number"),
    (lambda: PseudoInverse(bend=2), "bend must be an angle"),
])  # fmt: skip
def test_options_that_cannot_be(make, words):
    with pytest.raises(poise.InputError, match=words):
        make()


@pytest.mark.parametrize("step", ["optimal", "adaptive"])
@pytest.mark.parametrize("jacobian", ["analytic", "numeric"])
def test_every_combination_of_the_transpose_solves(step, jacobian):
    solver = JacobianTranspose(step=step, jacobian=jacobian, clamp=0.2)
    targets = [[1, 2, 1], [2, -1, 0.5]]
    assert poise.solve(rest(straight_chain(4)), Position("tip", targets), solver=solver, tolerance=1e-3).reached.all()


def test_numeric_and_analytic_agree_along_the_way():
    def trace(jacobian):
        solver = JacobianTranspose(jacobian=jacobian, iterations=20, restarts=0)
        return poise.solve(rest(straight_chain(4)), Position("tip", [1, 2, 1]), solver=solver, trace=True).trace.q

    np.testing.assert_allclose(trace("numeric"), trace("analytic"), atol=1e-8)


def test_more_damping_steps_less_far():
    start = rest(straight_chain(5))
    left = [
        poise.solve(start, Position("tip", [1, 4, 1]), solver=DampedLeastSquares(iterations=1, amount=amount, **kind))
        for kind in ({"damping": "constant"}, {}) for amount in (0.1, 1.0, 10.0)
    ]  # fmt: skip
    moved = [np.abs(result.pose.q - start.q).max() for result in left]
    assert moved[0] > moved[1] > moved[2] > 0
    assert moved[3] > moved[4] > moved[5] > 0


# --- the sets of chain10 -----------------------------------------------------------------------------------------


def share_reached(data, name, solver, count):
    """Of the targets of a set; `path` is followed, each solve from the answer before."""
    document = json.loads((data / "chain10" / "targets.json").read_text())
    targets = np.array(document[name][:count])
    pose = rest(straight_chain(10, length=document["bone_length"]))
    if name != "path":
        return poise.solve(pose, Position("tip", targets), solver=solver, tolerance=1e-3).reached.mean()
    reached = 0
    for target in targets:
        result = poise.solve(pose, Position("tip", target), solver=solver, tolerance=1e-3)
        pose, reached = result.pose, reached + result.reached
    return reached / len(targets)


@pytest.mark.parametrize("name", ["ball", "fk", "axis", "path", "edge"])
def test_damped_least_squares_reach_all_of_chain10_in_a_hundred_steps(data, name):
    assert share_reached(data, name, DampedLeastSquares(iterations=100), 100 if name == "path" else 1000) == 1.0


@pytest.mark.parametrize("name", ["ball", "fk", "axis", "path"])
def test_the_transpose_reaches_chain10_within_its_own_cap(data, name):
    assert share_reached(data, name, JacobianTranspose(), 100 if name == "path" else 300) == 1.0
