"""What is particular to CCD: its two orders and hinge methods, the bend, the cap, the records it must hold."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import CCD, Position, Range, Status
from poise.maths import rotations
from tests.kernels.kernel_entries import entered
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain

CLASSIC = CCD(order="tip-first", bend=0, finish=False)


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


@settings(max_examples=40)
@given(seeds, st.sampled_from(["base-first", "tip-first"]), st.sampled_from([math.inf, 0.3]))
def test_exact_sweeps_never_raise_the_error(seed, order, max_turn):
    rng = rng_of(seed)
    s = random_skeleton(rng, 7, couple=False, kinds=(1, 2, 3))
    s = s.with_limits(
        {n: Range(-1, 1.5, axis=(0, 1, 0) if s[n].kind == 3 else None) for n in s.names if rng.random() < 0.5}
    )
    solver = CCD(order=order, bend=0, restarts=0, max_turn=max_turn, iterations=30)
    start = poise.Pose(s, s.legal(random_q(rng, s))[0])
    result = poise.solve(start, Position("j6", rng.normal(size=3) * 3), solver=solver, tolerance=0, trace=True)
    errors = result.trace.errors
    assert (
        np.diff(errors) <= 1e-14 * max(errors[0], result.problem.plan.max_reach)
    ).all()  # rounding of the chain's size


@given(seeds)
def test_the_hinge_step_is_the_minimiser_inside_its_range(seed):
    from poise.kernels.ccd_position import compute_best_hinge_angle
    from poise.kernels.vec_quat import Vec

    rng = rng_of(seed)
    h, d, axis = rng.normal(size=(3, 3))
    axis /= np.linalg.norm(axis)
    low, high = np.sort(rng.uniform(-5, 5, size=2))
    value = rng.uniform(low, high)
    best = entered(compute_best_hinge_angle)(Vec(*axis), value, low, high, math.inf, Vec(*h), Vec(*d))
    angles = np.linspace(low, high, 2000)
    distances = np.linalg.norm(d - rotations.rotate(rotations.about(axis, angles - value), h), axis=-1)
    ours = np.linalg.norm(d - rotations.rotate(rotations.about(axis, np.array(best - value)), h))
    assert low <= best <= high
    assert ours <= distances.min() + 1e-9


@given(seeds)
def test_project_and_exact_agree_where_the_turn_is_about_the_axis(seed):
    from poise.kernels.ccd_position import compute_best_hinge_angle, compute_projected_hinge_angle
    from poise.kernels.vec_quat import Vec

    rng = rng_of(seed)
    h, d = np.append(rng.normal(size=2), 0), np.append(rng.normal(size=2), 0)
    args = (Vec(0.0, 0.0, 1.0), 0.0, -math.pi, math.pi, math.inf, Vec(*h), Vec(*d))
    assert math.cos(
        entered(compute_best_hinge_angle)(*args) - entered(compute_projected_hinge_angle)(*args)
    ) == pytest.approx(1, abs=1e-12)


@given(seeds)
def test_the_projected_turn_goes_the_same_way_and_falls_short(seed):
    """Turning back the axis keeps the twist of the free turn only, which is less than the minimiser."""
    from poise.kernels.ccd_position import compute_best_hinge_angle, compute_projected_hinge_angle
    from poise.kernels.vec_quat import Vec

    h, d, axis = rng_of(seed).normal(size=(3, 3))
    args = (Vec(*axis / np.linalg.norm(axis)), 0.0, -math.inf, math.inf, math.inf, Vec(*h), Vec(*d))
    exact, project = entered(compute_best_hinge_angle)(*args), entered(compute_projected_hinge_angle)(*args)
    assert 0 <= project / exact <= 1 + 1e-9


class TestStraightChain:
    @pytest.mark.parametrize("y", [5.0, -5.0, 0.5, 9.999])
    def test_a_target_on_its_own_line_is_no_deadlock(self, y):
        result = poise.solve(rest(straight_chain(10)), Position("tip", [0, y, 0]), tolerance=1e-3)
        assert result.reached

    def test_the_classic_form_locks_there(self):
        result = poise.solve(rest(straight_chain(10)), Position("tip", [0, 5, 0]), solver=CLASSIC, tolerance=1e-3)
        assert result.status is Status.stalled

    def test_hinges_bend_into_their_range(self):
        for low, high in ((0, 2), (-2, 0)):
            s = straight_chain(3, kind=1, axes=[(0, 0, 1)] * 3).with_limits(
                {"j1": Range(low, high), "j2": Range(low, high)}
            )
            result = poise.solve(rest(s), Position("tip", [0, 2, 0]), tolerance=1e-3)
            assert result.reached
            assert low <= result.pose.q[1] <= high

    def test_it_always_bends_to_the_same_side(self):
        a, b = (poise.solve(rest(straight_chain(4)), Position("tip", [0, 2, 0])).pose.q for _ in range(2))
        np.testing.assert_array_equal(a, b)

    def test_no_bend_where_the_chain_is_not_straight(self):
        s = straight_chain(3)
        bent = rest(s).replace({"j1": [math.cos(0.1), math.sin(0.1), 0, 0]})
        with_bend, without = (
            poise.solve(bent, Position("tip", [1, 1, 1]), solver=CCD(bend=bend, iterations=1)).pose.q
            for bend in (math.radians(2), 0)
        )
        np.testing.assert_array_equal(with_bend, without)

    @pytest.mark.parametrize("away", [0.0, 3.0])
    def test_what_slides_before_it_has_no_say_in_the_side(self, away):
        """The slide stands where the tip is, or beside it: no line from there says how the chain lies."""
        s = poise.Skeleton.build(
            ["slide", *"abc", "tip"], range(-1, 4), [2, 3, 3, 3, 0],
            offsets=[(0, 0, 0), (0, -3, away), *[(0, 1, 0)] * 3], axes=[(0, 0, 1), *[(0, 0, 0)] * 4],
        )  # fmt: skip
        result = poise.solve(rest(s), Position("tip", [0, -1, away]), solver=CCD(restarts=0), tolerance=1e-3)
        assert result.reached


@pytest.mark.parametrize("solver", [CCD(), CCD(order="tip-first"), CCD(order="window")])
def test_a_bend_that_meets_the_goal_is_the_answer(solver):
    s = straight_chain(3)
    for target in ([0.15, 2.95, 0], [-0.15, 2.95, 0], [0, 2.95, 0.15], [0, 2.95, -0.15]):
        result = poise.solve(rest(s), Position("tip", target), solver=solver, tolerance=0.155, trace=True)
        assert result.reached
        assert result.iterations == len(result.trace.q) - 1 == 1
        np.testing.assert_allclose(result.trace.q[-1], result.q, atol=1e-15)


@pytest.mark.parametrize(
    "make", [lambda tip, at: Position(tip, at.positions), lambda tip, at: poise.Place(tip, at.positions, at.rotations)]
)
def test_a_kick_that_meets_the_goal_is_the_answer(make):
    from poise.kernels.chain_restarts import perturb

    s = straight_chain(3, kind=1, axes=[(0, 0, 1)] * 3).with_limits({"j*": Range(-0.1, 2.5)})
    kicked = np.zeros((3, 4))
    entered(perturb)(np.ones(3, dtype=int), np.array([[-0.1, 2.5]] * 3), np.zeros((3, 4)), 1, kicked)
    at = poise.Pose(s, kicked[:, 0]).world["tip"]
    # Turning so little at a time gains too little: the first attempt ends after three sweeps.
    solver = CCD(restarts=1, bend=0, finish=False, max_turn=1e-4)
    result = poise.solve(rest(s), make("tip", at), solver=solver, tolerance=1e-6, trace=True)
    assert result.reached
    assert result.iterations == len(result.trace.q) - 1 == 4
    np.testing.assert_allclose(result.trace.q[-1], result.q, atol=1e-15)


def test_without_restarts_it_goes_on_while_it_gains_a_millionth():
    """A sweep that gains less than a hundredth ends an attempt only where another one follows."""
    skeleton = straight_chain(6)
    start = rest(skeleton).replace({f"j{i}": [math.cos(0.3), math.sin(0.3), 0, 0] for i in range(6)})
    target = [0.0, 5.95, 0.0]
    for goal in (Position("tip", target), [Position("tip", target), poise.Direction("tip", [0, 1, 0], weight=1e-3)]):
        solver = CCD(order="tip-first", bend=0, finish=False, restarts=0, iterations=250)
        errors = poise.solve(start, goal, solver=solver, tolerance=1e-9, angle_tolerance=1e-9, trace=True).trace.errors
        gains = 1 - errors[1:] / errors[:-1]
        assert len(errors) == 251
        assert (gains[-50:] < 1e-2).all()


def test_max_turn_caps_every_step():
    s = straight_chain(3)
    solver = CCD(max_turn=0.05, bend=0, iterations=4, restarts=0)
    q = poise.solve(rest(s), Position("tip", [2, 0, 0.5]), solver=solver, tolerance=0, trace=True).trace.q
    for before, after in pairwise(q):
        turned = np.abs((before.reshape(3, 4) * after.reshape(3, 4)).sum(axis=-1)).clip(max=1)
        assert (2 * np.arccos(turned) <= 0.05 + 1e-7).all()


def test_a_limit_in_the_way_is_gone_round_by_a_restart():
    """One joint at its limit must first open: a coordinate method alone stalls and would blame the limits."""
    s = straight_chain(3, kind=1, axes=[(0, 0, 1), (0, 0, 1), (0, 0, 1)]).with_limits({"j*": Range(-0.1, 2.5)})
    goal = Position("tip", poise.Pose(s, [2.4, 0.9, 2.0]).world["tip"].positions)
    alone = poise.solve(rest(s), goal, solver=CCD(restarts=0), tolerance=1e-4)
    assert poise.solve(rest(s), goal, solver=CCD(iterations=200), tolerance=1e-4).reached
    assert alone.violation <= 0


@pytest.mark.parametrize(
    "options",
    [
        {"iterations": -1}, {"iterations": 1.5}, {"order": "up"}, {"hinge": "x"}, {"bend": -1}, {"bend": 2},
        {"bend": math.nan}, {"max_turn": 0}, {"max_turn": math.nan}, {"restarts": -1},
    ],
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(poise.InputError, match=next(iter(options))):
        CCD(**options)


def test_no_iterations_only_judges():
    result = poise.solve(rest(straight_chain(3)), Position("tip", [1, 1, 1]), solver=CCD(iterations=0))
    assert result.iterations == 0
    assert result.status is Status.stalled
    np.testing.assert_array_equal(result.pose.q, straight_chain(3).rest_q)


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
def test_targets_at_the_joint_itself(length):
    s = straight_chain(3, length=length)
    for target in ([0, 0, 0], [0, length, 0], [0, 2 * length, 0]):
        result = poise.solve(rest(s), Position("tip", target))
        assert np.isfinite(result.pose.q).all()
        assert result.reached


class TestTenBones:
    """The sets of data/chain10: ten bones of length 1, straight along +Y, within 1e-3, at most 100 sweeps."""

    def share(self, data, name, solver):
        pose, points = rest(straight_chain(10)), np.array(json.loads((data / "chain10/targets.json").read_text())[name])
        if name != "path":
            return poise.solve(pose, Position("tip", points), solver=solver, tolerance=1e-3).reached.mean()
        reached = 0
        for point in points:
            result = poise.solve(pose, Position("tip", point), solver=solver, tolerance=1e-3)
            reached += result.reached
            pose = result.pose
        return reached / len(points)

    @pytest.mark.parametrize(("name", "least"), [("ball", 0.999), ("fk", 0.999), ("axis", 1.0), ("path", 1.0)])
    def test_the_default_reaches_all(self, data, name, least):
        assert self.share(data, name, CCD()) >= least

    @pytest.mark.parametrize(
        ("name", "share"), [("ball", 0.727), ("fk", 0.896), ("axis", 0.0), ("path", 1.0), ("edge", 0.002)]
    )
    def test_the_classic_form_is_the_classic_one(self, data, name, share):
        assert self.share(data, name, CLASSIC) == pytest.approx(share, abs=0.0015)  # one or two targets of 1,000


def test_the_five_axis_arm():
    """zalo's arm: 1,000 poses inside the ranges, from all zero, 100 sweeps, within 0.08."""
    degrees = [(-180, 180), (-90, 90), (-150, 150), (-130, 130), (-180, 180)]
    s = poise.Skeleton.build(
        ["a", "b", "c", "d", "e", "tip"], range(-1, 5), [1] * 5 + [0],
        offsets=[(0, 11.52001, 0), (-6.55, 4.6, 0), (1.247041, 32.02634, -0.0739485), (2.984276, 30.01859, 0),
                 (4.333822, 4.200262, 0), (8.3, 1, 0)],
        axes=[(0, 1, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 0)],
        limits=[*(Range.degrees(*d) for d in degrees), None],
    )  # fmt: skip
    low, high = np.radians(degrees).T
    targets = poise.Pose(s, rng_of(0).uniform(low, high, size=(1000, 5))).world["tip"].positions
    result = poise.solve(rest(s), Position("tip", targets), tolerance=0.08)
    assert result.reached.mean() >= 0.97
    assert result.violation <= 1e-9
