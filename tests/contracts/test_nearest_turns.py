"""No needless turn: a hinge stands at the turn nearest to its start that its range allows, for every solver."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from tests.contracts.cases import SOLVERS, requested
from tests.strategies import generic_arm, rng_of

WIDE = poise.Range(-3.5 * np.pi, 3.2 * np.pi)
COUNT = 24


def wide_arm(limit=WIDE):
    return generic_arm().with_limits({"*": limit})


def problem_of(skeleton, seed):
    """A start, and goals at places of random poses."""
    rng = rng_of(seed)
    start = poise.Pose(skeleton, rng.uniform(-9.0, 9.0, 6))
    world = start.with_q(rng.uniform(-3.0, 3.0, (COUNT, 6))).world["tool"]
    return start, poise.Place("tool", world.positions, world.rotations), poise.Position("tool", world.positions)


def needless(q, start, low, high):
    """Values that could stand nearer to the start by whole turns, inside the range."""
    turns = np.arange(-7, 8) * 2 * np.pi
    others = q[..., None] + turns
    legal = (others >= low + 1e-9) & (others <= high - 1e-9)
    nearest = np.where(legal, np.abs(others - start[:, None]), np.inf).min(axis=-1)
    return np.abs(q - start) > nearest + 1e-9


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_values_stand_at_the_nearest_turn(name, seed):
    start, place, position = problem_of(wide_arm(), seed)
    for goal in (place, position):
        found = requested(start, goal, name)
        if found is None:
            continue
        assert not needless(found.q, start.q, WIDE.low, WIDE.high).any()
        np.testing.assert_allclose(found.errors, poise_errors(found.pose, goal), atol=1e-12)
        alone = requested(start, goal.with_target(goal.rows()[0]), name)
        assert not needless(alone.q, start.q, WIDE.low, WIDE.high).any()


def poise_errors(pose, goal):
    """The errors measured anew."""
    world = pose.world["tool"]
    distance = np.linalg.norm(world.positions - goal.rows()[:, :3], axis=-1)
    if goal.width == 3:
        return distance[:, None]
    turned = np.abs((world.rotations * goal.rows()[:, 3:]).sum(axis=-1))
    left = poise.rotations.multiply(world.rotations, poise.rotations.inverse(goal.rows()[:, 3:]))
    return np.stack([distance, 2 * np.arctan2(np.linalg.norm(left[:, 1:], axis=-1), turned)], axis=-1)


@pytest.mark.parametrize("prefer", ["first", "closest"])
def test_in_every_mode_and_prepared(prefer):
    start, place, _ = problem_of(wide_arm(), 3)
    reach = poise.prepare(start, place.with_target(place.rows()[0]), prefer=prefer)
    for found in (poise.solve(start, place, prefer=prefer), reach(place.rows()), reach(place.rows()[0])):
        assert found.reached.all() if found.shape else found.reached
        assert not needless(found.q, start.q, WIDE.low, WIDE.high).any()


def test_a_range_that_holds_the_far_turn_only_keeps_it():
    start, place, _ = problem_of(wide_arm(), 4)
    narrow = start.skeleton.with_limits({name: poise.Range(4.0, 9.9) for name in start.skeleton.names[1:3]})
    found = poise.solve(poise.Pose(narrow, narrow.legal(start.q)[0]), place)
    assert found.reached.any()
    low, high = narrow.value_ranges.T
    assert ((found.q >= low) & (found.q <= high)).all()


def test_a_preferred_turn_is_kept():
    """Near asks for another turn than the start's: that is no needless one."""
    start, _, position = problem_of(wide_arm(), 5)
    liked = start.with_q(np.full(6, 7.0))
    found = poise.solve(start, [position.with_target(position.rows()[0]), poise.Near(liked)])
    assert found.reached
    assert np.abs(found.q - 7.0).max() < np.pi
