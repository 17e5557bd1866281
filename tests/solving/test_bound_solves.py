"""What is bound to a start once gives the bits of the general route: for all kinds of problems, starts and threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import poise
from poise import solvers
from poise.extend import Kind, Request
from poise.solvers.base.interface import bind_solver, run_bound
from tests.contracts.trees import near_q
from tests.strategies import rng_of, straight_chain

BITS = ("q", "errors", "reached", "iterations", "joint_updates", "codes")
COUNT = 6  # targets of a case; the last one is out of reach
FAR = 50.0


class Case(NamedTuple):
    """A start, what makes goals of poses, and how they are solved."""

    start: poise.Pose
    make_goals: Callable[[poise.Pose], list[poise.Goal]]
    options: dict[str, object]

    def goals(self, *, seed: int = 5) -> list[poise.Goal]:
        """Goals with a batch of targets: poses near the start, and one far away."""
        skeleton = self.start.skeleton
        q = near_q(rng_of(seed), skeleton, np.tile(self.start.q, (COUNT, 1)), 0.3)
        goals = self.make_goals(poise.Pose(skeleton, q))
        return [goal.with_target(self.pushed(goal)) for goal in goals]

    @staticmethod
    def pushed(goal):
        rows = goal.rows().copy()
        if not isinstance(goal, poise.Orientation):
            rows[-1, :3] += FAR
        return rows

    def targets(self, i: int, *, seed: int = 5):
        """The target of a prepared call."""
        rows = [goal.rows()[i].copy() for goal in self.goals(seed=seed)]
        return rows if len(rows) > 1 else rows[0]


def at(pose, joint):
    return pose.world[joint].positions


def limited_chain():
    limits = {
        "j0": poise.SwingTwist((0, 1, 0), swing=1.2, twist=(-0.8, 0.8)),
        "j2": poise.Range(-1.0, 1.5, axis=(1, 0, 0)),
    }
    return poise.Pose(chain := straight_chain(5).with_limits(limits), chain.rest_q)


@cache
def cases() -> dict[str, Case]:
    limb = straight_chain(3)
    rng = rng_of(1)
    bent = poise.Pose(limb, near_q(rng, limb, limb.rest_q, 0.5))
    chain = poise.Pose(long := straight_chain(6), near_q(rng, long, long.rest_q, 0.4))
    figure = poise.load(poise.sample("humanoid")).rest
    rounded, free = (
        _with_rounded_scales(figure.skeleton),
        replace(figure.skeleton, limits=(None,) * len(figure.skeleton)),
    )
    lone, rounded_lone = poise.Pose(free, free.rest_q), _with_rounded_scales(free)
    both = ("leftHand", "rightFoot", "head")
    arms = straight_chain(4, kind=Kind.HINGE, axes=[(0, 0, 1), (1, 0, 0), (0, 0, 1), (1, 0, 0)])
    arm = poise.Pose(arms, near_q(rng, arms, arms.rest_q, 0.4))

    def reach(joint):
        return lambda poses: [poise.Position(joint, at(poses, joint))]

    def place(joint):
        return lambda poses: [poise.Place(joint, at(poses, joint), poses.world[joint].rotations)]

    def several(poses):
        return [poise.Position(joint, at(poses, joint)) for joint in both]

    def poled(poses):
        return [poise.Position("j2", at(poses, "j2")), poise.Pole("j1", at(poses, "j1"), root="j0", tip="j2")]

    return {
        "limb": Case(bent, reach("j2"), {"solver": "two_bone"}),
        "limb, place": Case(bent, place("j2"), {"solver": "two_bone"}),
        "limb, pole": Case(bent, poled, {"solver": "two_bone"}),
        "limb, option pole": Case(bent, reach("j2"), {"solver": poise.TwoBone(pole=(1.0, 2.0, 3.0))}),
        "limb, swivel": Case(bent, reach("j2"), {"solver": poise.TwoBone(swivel=0.4, soft=0.1)}),
        "planar limb": Case(_planar(), reach("j2"), {"solver": "two_bone"}),
        "chain, ccd": Case(chain, reach("j5"), {"solver": "ccd"}),
        "chain, ccd, classic": Case(chain, reach("j5"), {"solver": poise.CCD(order="tip-first", finish=False)}),
        "chain, ccd, place": Case(chain, place("j5"), {"solver": "ccd"}),
        "chain, fabrik": Case(chain, reach("j5"), {"solver": "fabrik"}),
        "limited chain, ccd": Case(limited_chain(), reach("j4"), {"solver": "ccd"}),
        "limited chain, fabrik": Case(limited_chain(), reach("j4"), {"solver": "fabrik"}),
        "hinges, ccd": Case(arm, reach("j3"), {"solver": "ccd"}),
        "chain, engine": Case(chain, reach("j5"), {"solver": "levenberg_marquardt"}),
        "limited chain, engine": Case(limited_chain(), place("j4"), {"solver": "levenberg_marquardt"}),
        "tree, engine": Case(figure, several, {"natural": False}),
        "tree, fabrik": Case(figure, several, {"solver": "fabrik"}),
        "tree, damped": Case(figure, reach("leftHand"), {"solver": "damped_least_squares"}),
        "stiff, engine": Case(chain, reach("j5"), {"solver": poise.LevenbergMarquardt(stiffness=0.5)}),
        "natural hand": Case(figure, reach("leftHand"), {}),
        "natural hand, place": Case(figure, place("leftHand"), {}),
        "natural foot": Case(figure, reach("rightFoot"), {}),
        "natural figure": Case(figure, several, {}),
        "natural hand without limits": Case(lone, reach("leftHand"), {}),
        "natural hand without limits, place": Case(lone, place("leftHand"), {}),
        "natural hand, rounded scales": Case(rounded_lone, reach("leftHand"), {}),
        "natural figure, rounded scales": Case(rounded, several, {}),
        "hand, rounded scales, engine": Case(rounded, place("leftHand"), {"natural": False}),
    }


def _with_rounded_scales(skeleton):
    """A start whose rest scales an exporter rounded: its errors are measured along maps."""
    maps = np.array(skeleton.B)
    maps[:, :, :3] *= 1.0 + rng_of(3).uniform(-1e-6, 1e-6, (len(skeleton), 1, 3))
    rounded = replace(skeleton, B=maps)
    return poise.Pose(rounded, rounded.rest_q)


def _planar():
    skeleton = straight_chain(3, kind=Kind.HINGE, axes=[(0, 0, 1)] * 3)
    return poise.Pose(skeleton, near_q(rng_of(2), skeleton, skeleton.rest_q, 0.5))


NAMES = list(cases())


def same_row(single, batch, i):
    for name in BITS:
        assert np.array_equal(getattr(single, name), getattr(batch, name)[i]), name
    assert single.message() == batch.message(i)


@pytest.mark.parametrize("name", NAMES)
class TestRoutes:
    def test_prepared_calls_give_the_bits_of_a_batch(self, name):
        case = cases()[name]
        goals = case.goals()
        batch = poise.solve(case.start, goals, **case.options)
        call = poise.prepare(case.start, [goal.with_target(goal.rows()[0]) for goal in goals], **case.options)
        for i in (*range(COUNT), 0):
            same_row(call(case.targets(i)), batch, i)

    def test_other_starts_and_the_own_one_take_turns(self, name):
        case = cases()[name]
        skeleton, goals = case.start.skeleton, case.goals()
        call = poise.prepare(case.start, [goal.with_target(goal.rows()[0]) for goal in goals], **case.options)
        own = call(case.targets(1))
        for seed in (11, 12):
            start = poise.Pose(skeleton, near_q(rng_of(seed), skeleton, case.start.q, 0.3))
            fresh = poise.solve(start, [goal.with_target(goal.rows()[1]) for goal in goals], **case.options)
            moved = call(case.targets(1), start=start.q)
            for field in BITS:
                assert np.array_equal(getattr(moved, field), getattr(fresh, field)), field
            assert np.array_equal(call(case.targets(1)).q, own.q)

    def test_a_bound_solve_of_many_targets_is_that_of_each(self, name):
        case = cases()[name]
        call = poise.prepare(case.start, [g.with_target(g.rows()[0]) for g in case.goals()], **case.options)
        problem, request = call.problem, Request()
        rows = problem.build_target_rows([goal.rows() for goal in case.goals()], (COUNT,))
        bound = bind_solver(call.solver, problem, call.tolerance, request)
        together = call.solver.run(problem, rows, call.tolerance, request)
        for i in range(COUNT):
            alone = run_bound(bound, rows[i : i + 1].copy())
            for field in ("q", "met", "iterations", "joint_updates"):
                assert np.array_equal(getattr(alone, field)[0], getattr(together, field)[i]), field


@pytest.mark.parametrize("name", ["limb, pole", "chain, ccd", "limited chain, fabrik", "tree, engine", "natural hand"])
def test_threads_may_share_a_prepared_problem(name):
    case = cases()[name]
    call = poise.prepare(case.start, [g.with_target(g.rows()[0]) for g in case.goals()], **case.options)
    targets = [case.targets(i, seed=seed) for i in range(COUNT) for seed in (5, 6, 7)]
    alone = [call(target).q for target in targets]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda target: call(target).q, targets * 5))
    for i, q in enumerate(together):
        assert np.array_equal(q, alone[i % len(targets)])


@pytest.mark.parametrize("length", [None, 1.01])
@pytest.mark.parametrize(
    "name", ["natural hand", "natural hand without limits", "natural hand, rounded scales", "tree, engine"]
)
def test_a_tracker_goes_on_as_one_that_starts_where_it_is(name, length):
    """Also where bones have lengths of their own."""
    case, natural = cases()[name], "engine" not in name
    translations = None if length is None else case.start.local_positions * length
    pose = poise.Pose(case.start.skeleton, case.start.q, translations=translations)
    goals = case.make_goals(pose)
    track = poise.Tracker(pose, goals, natural=natural)
    for i in range(COUNT):
        result = track(case.targets(i))
        again = poise.Tracker(pose, goals, natural=natural)(case.targets(i))
        for field in ("q", "errors", "reached"):
            assert np.array_equal(getattr(result, field), getattr(again, field)), field
        pose = result.pose


def test_what_is_bound_is_kept_for_its_start_alone():
    case = cases()["chain, ccd"]
    call = poise.prepare(case.start, case.make_goals(case.start), **case.options)
    call(case.targets(0))
    kept = call.single.bind(call.problem)
    call(case.targets(1))
    assert call.single.bind(call.problem) is kept
    start = poise.Pose(case.start.skeleton, case.start.q)
    assert call.single.bind(call.problem.with_start(start)) is not kept


def test_solvers_that_solve_in_another_way_have_no_bound_solve():
    case = cases()["chain, ccd"]
    call = poise.prepare(case.start, case.make_goals(case.start), **case.options)
    bind = solvers.make_solver("levenberg_marquardt").bind
    assert bind(call.problem, call.tolerance, Request()) is not None
    assert bind(call.problem, call.tolerance, Request(prefer="closest")) is None
    stiff = poise.LevenbergMarquardt(stiffness=0.5)
    assert stiff.bind(call.problem, call.tolerance, Request()) is None
