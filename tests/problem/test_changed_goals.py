"""Weights and offsets that change from call to call: each answer has the bits of one in a new process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import poise
from poise.extend import Kind
from poise.problem.plan import Plan
from poise.problem.problem import Problem
from tests.strategies import rng_of

WEIGHTS = (1.0, 0.3, 4.0)
OFFSETS = ((0.0, 0.0, 0.0), (0.02, -0.01, 0.03), (40.0, 0.0, 0.0), (0.01, 0.0, 0.0))  # the third needs another unit


def make_arm():
    start = poise.load(poise.sample("arm")).rest
    return start, [poise.Place("tool", [0.3, 0.2, 0.4], [0.5, 0.5, -0.5, 0.5])]


def make_hand():
    start = poise.load(poise.sample("humanoid.glb")).rest
    return start, [poise.Position("LeftHand", start.world["LeftHand"].positions + np.array([0.05, -0.1, 0.1]))]


def make_several():
    """Hands, feet and a trunk, whose stage has the weights of its goals."""
    start, rng = poise.load(poise.sample("humanoid.glb")).rest, rng_of(3)
    names = ("LeftHand", "RightHand", "LeftFoot", "Head")
    targets = [start.world[name].positions + rng.normal(0, 0.05, 3) for name in names]
    turn = poise.Orientation("Spine", [0.98, 0.0, 0.199, 0.0])
    return start, [*(poise.Position(name, at) for name, at in zip(names, targets, strict=True)), turn]


def make_gaze():
    start = poise.load(poise.sample("humanoid.glb")).rest
    hand = poise.Position("LeftHand", start.world["LeftHand"].positions + 0.05)
    return start, [poise.LookAt("Head", [1.0, 1.5, 2.0]), hand]


def make_limb():
    start = poise.load(poise.sample("humanoid.glb")).rest
    elbow = poise.Pole("LeftForeArm", start.world["LeftForeArm"].positions - np.array([0.0, 0.2, 0.2]))
    return start, [poise.Position("LeftHand", start.world["LeftHand"].positions - 0.05, root="LeftArm"), elbow]


MAKERS = {"arm": make_arm, "hand": make_hand, "several": make_several, "gaze": make_gaze, "limb": make_limb}


def make_range():
    start = poise.load(poise.sample("arm")).rest
    tip = poise.Pose(start.skeleton, start.q + 0.2).world["tool"]
    return start, [poise.Place("tool", tip.positions, tip.rotations)]


def make_relative_range():
    """A hand in the frame of the other: its box has the axes of the target."""
    start = poise.load(poise.sample("humanoid.glb")).rest
    goal = poise.Place("LeftHand", [0.1, 0.2, 0.1], [0.9, 0.1, 0.1, 0.4], relative_to="RightHand")
    return start, [goal]


def weigh(goals, weights):
    """Give goals weights, one after the other."""
    return [replace(goal, weight=weights[i % len(weights)]) for i, goal in enumerate(goals)]


def shift(goals, offset):
    """Give goals with a measured point an offset."""
    return [replace(goal, offset=offset) if isinstance(goal, poise.Position | poise.Place) else goal for goal in goals]


WIDTHS = (
    poise.Within(z=(-0.01, 0.02), turn=poise.Range(-0.1, 0.1, axis=(0, 0, 1))),
    poise.Within(z=(-0.03, 0.01), turn=poise.SwingTwist(axis=(0, 0, 1), swing=0.2, twist=(-0.3, 0.1))),
    poise.Within(z=(0.0, 0.02), x=(-0.1, 0.05), turn=poise.Range(-0.2, 0.3, axis=(1, 0, 0))),
)  # fmt: skip


def widen(goals, within):
    """Give goals a range."""
    return [replace(goal, within=within) for goal in goals]


def assert_fresh_bits(make, variants, **options):
    """Solve variants of goals on one skeleton, and each on a skeleton of its own."""
    start, goals = make()
    for vary in (*variants, variants[0]):
        result = poise.solve(start, vary(goals), **options)
        fresh_start, fresh_goals = make()
        fresh = poise.solve(fresh_start, vary(fresh_goals), **options)
        assert (result.q == fresh.q).all()
        assert (result.errors == fresh.errors).all()
        assert result.iterations == fresh.iterations
        assert result.message() == fresh.message()


SOLVERS = {
    "arm": ("auto", "levenberg_marquardt", "ccd", "jacobian_transpose"),
    "hand": ("auto", "levenberg_marquardt", "ccd", "fabrik", "jacobian_transpose"),
    "several": ("auto", "levenberg_marquardt", "jacobian_transpose"),
    "gaze": ("auto", "levenberg_marquardt", "jacobian_transpose"),
    "limb": ("auto", "levenberg_marquardt", "jacobian_transpose", "two_bone"),
}


@pytest.mark.parametrize(("name", "solver"), [(name, solver) for name, these in SOLVERS.items() for solver in these])
def test_weights_changed_and_back(name, solver):
    variants = [lambda goals, i=i: weigh(goals, WEIGHTS[i:] + WEIGHTS[:i]) for i in range(len(WEIGHTS))]
    assert_fresh_bits(MAKERS[name], variants, solver=solver)


@pytest.mark.parametrize("name", ["arm", "hand", "several"])
def test_offsets_changed_and_back(name):
    variants = [lambda goals, offset=offset: shift(goals, offset) for offset in OFFSETS]
    assert_fresh_bits(MAKERS[name], variants)
    assert_fresh_bits(MAKERS[name], variants, natural=False)


def test_offsets_of_a_gantry_change_the_unit_of_its_slides():
    """What a slide weighs depends on the kernel unit, which a long offset changes."""

    def make_gantry():
        names, kinds = ["x", "y", "turn", "tip"], [Kind.SLIDE, Kind.SLIDE, Kind.HINGE, Kind.BALL]
        offsets = [[0.0, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.4], [0.5, 0.0, 0.0]]
        axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
        skeleton = poise.Skeleton.build(names, [-1, 0, 1, 2], kinds, offsets=np.array(offsets), axes=np.array(axes))
        start = poise.Pose(skeleton, skeleton.rest_q)
        return start, [poise.Position("tip", [0.9, 0.8, 0.7]), poise.Near(start)]

    variants = [lambda goals, offset=offset: shift(goals, offset) for offset in OFFSETS[1:]]
    assert_fresh_bits(make_gantry, variants, solver="levenberg_marquardt")


def test_weights_count():
    """The trunk's stage and the engine follow a weight: with it the answer is another one."""
    start, goals = make_several()
    far = [
        goal.with_target(np.asarray(goal.target) + 1.0) if isinstance(goal, poise.Position) else goal for goal in goals
    ]
    for natural in (None, False):
        light = poise.solve(start, weigh(far, (1.0, 0.1, 0.1, 0.1)), natural=natural)
        heavy = poise.solve(start, weigh(far, (0.1, 0.1, 0.1, 1.0)), natural=natural)
        assert not np.array_equal(light.q, heavy.q)
    assert light.errors[0] < heavy.errors[0]


def test_what_does_not_depend_on_weights_is_shared():
    start, goals = make_hand()
    first, second = (Problem(start, tuple(weigh(goals, (weight,)))).plan for weight in (1.0, 2.0))
    assert first.tree is second.tree
    assert first.frames is second.frames
    assert (first.effectors != second.effectors).any()


def test_plans_of_changing_weights_are_bounded():
    start, goals = make_hand()
    for i in range(60):
        plan = Problem(start, tuple(weigh(goals, (1.0 + i,)))).plan
    first = Problem(start, tuple(weigh(goals, (1.0,)))).plan
    assert plan.tree is first.tree
    kept = first.__dict__["_remembered"]["other weights"]
    assert 1 < len(kept) <= Plan.max_cached_keys


@pytest.mark.parametrize("make", [make_range, make_relative_range])
def test_ranges_changed_and_back(make):
    assert_fresh_bits(make, [lambda goals, within=within: widen(goals, within) for within in WIDTHS])


@pytest.mark.parametrize("make", [make_range, make_relative_range])
def test_a_new_width_packs_no_tree_anew(make):
    start, goals = make()
    first, second = (Problem(start, tuple(widen(goals, within))) for within in WIDTHS[::2])
    assert first.plan.tree is second.plan.tree
    assert first.plan.frames is second.plan.frames
    assert first.plan.term_table is second.plan.term_table
    assert (first.plan.effectors != second.plan.effectors).any()
    assert (first.world_measures.measure_rows != second.world_measures.measure_rows).any()
