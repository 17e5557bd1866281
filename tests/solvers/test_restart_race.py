"""The restarts of a lone problem of a tree run side by side, with the answer of restarts one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from tests.strategies import rng_of

RIG = poise.load(poise.sample("humanoid"))
PLAIN = RIG.rest
LIMITED = poise.Pose(PLAIN.skeleton.with_limits(RIG.roles.limits()), PLAIN.q)
HANDS = "LeftHand", "RightHand"


def make_goals(start, count, spread, near):
    """Make goals for both hands and, where asked for, a preferred pose. Most of the far ones cannot be met."""
    rng = rng_of(count)
    places = {name: start.world[name].positions + rng.normal(0, spread, (count, 3)) for name in HANDS}
    goals = [poise.Position(name, targets) for name, targets in places.items()]
    return [*goals, poise.Near(start)] if near else goals


@pytest.mark.parametrize("start", [PLAIN, LIMITED], ids=["plain", "limited"])
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("spread", [0.15, 0.6])
@pytest.mark.parametrize("restarts", [0, 1, 2, 7, 40])
def test_a_lone_problem_has_the_answer_of_a_batch(start, near, spread, restarts):
    solver = poise.LevenbergMarquardt(restarts=restarts)
    goals = make_goals(start, 9, spread, near)
    batch = poise.solve(start, goals, solver=solver, natural=False)
    assert not batch.reached.all() or spread < 0.5  # some restart at all
    for i in range(9):
        alone = poise.solve(
            start,
            [goal if isinstance(goal, poise.Near) else goal.with_target(goal.target[i]) for goal in goals],
            solver=solver,
            natural=False,
        )
        assert (alone.q == batch.q[i]).all()
        assert alone.iterations == batch.iterations[i]
        assert alone.reached == batch.reached[i]


def test_a_trace_lists_restarts_one_after_the_other():
    goals = [goal.with_target(goal.target[0]) for goal in make_goals(PLAIN, 3, 0.9, near=False)]
    solver = poise.LevenbergMarquardt(restarts=5)
    traced, plain = (poise.solve(PLAIN, goals, solver=solver, natural=False, trace=flag) for flag in (True, False))
    assert (traced.q == plain.q).all()
    assert traced.iterations == plain.iterations
    assert len(traced.trace.errors) > traced.iterations  # one more for each restart
    assert np.isfinite(traced.trace.errors).all()
