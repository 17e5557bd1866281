"""A few targets of an arm go through one kernel call, with the answer of the general path in every field."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.solving import arm_fast_path, single_target
from poise.solving import solve as solve_module
from tests.strategies import rng_of

ARM = poise.load(poise.sample("arm")).rest
FIELDS = (
    "q", "errors", "reached", "codes", "iterations", "joint_updates", "targets", "solver", "natural", "moved_inside",
    "tolerances", "trace", "solutions_q",
)  # fmt: skip


def make_goal(kind, shape):
    """Make a goal with targets of a shape; some are out of reach."""
    rng = rng_of(3)
    places = ARM.with_q(rng.uniform(-1, 1, (*shape, ARM.q.size))).world["tool"]
    positions = places.positions * rng.choice([1.0, 1.0, 3.0], (*shape, 1))
    if kind == "position":
        return poise.Position("tool", positions)
    if kind == "place":
        return poise.Place("tool", positions, places.rotations)
    return poise.Orientation("tool", places.rotations)


@pytest.fixture
def without_fast_path(monkeypatch):
    def switch_off():
        for module in (arm_fast_path, single_target, solve_module):
            monkeypatch.setattr(module, "MAX_FAST_TARGETS", 0)

    return switch_off


def read(result):
    return {name: getattr(result, name) for name in FIELDS} | {"message": str(result)}


def check_equal(fast, general):
    for name, value in read(general).items():
        found = read(fast)[name]
        if isinstance(value, np.ndarray):
            assert found.dtype == value.dtype, name
            assert found.shape == value.shape, name
            assert found.tobytes() == value.tobytes(), name
            assert not found.flags.writeable, name
        elif name != "message":
            assert found == value, name


@pytest.mark.parametrize("kind", ["position", "place", "orientation"])
@pytest.mark.parametrize("shape", [(1,), (2,), (9,), (64,), (3, 4)], ids=str)
def test_all_fields_are_those_of_the_general_path(kind, shape, without_fast_path):
    goal = make_goal(kind, shape)
    prepared = poise.prepare(ARM, goal.with_target(goal.rows().reshape(-1, goal.width)[0]))
    rows = goal.rows().reshape(-1, goal.width)
    fast, fast_prepared = poise.solve(ARM, goal), prepared(rows)
    assert "lazy_source" in fast.__dict__  # the fast path was taken
    assert "lazy_source" in fast_prepared.__dict__
    assert fast.pose.shape == shape
    without_fast_path()
    general = poise.solve(ARM, goal)
    assert "lazy_source" not in general.__dict__
    check_equal(fast, general)
    check_equal(fast_prepared, prepared(rows))


def test_targets_may_change_after_the_call():
    goal = make_goal("position", (5,))
    prepared, rows = poise.prepare(ARM, goal.with_target(goal.target[0])), np.array(goal.target)
    result = prepared(rows)
    rows[:] = 9.0
    assert (result.targets == goal.target).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_targets_raise_as_before(bad, without_fast_path):
    rows = np.array(make_goal("position", (5,)).target)
    rows[3, 1] = bad
    prepared = poise.prepare(ARM, poise.Position("tool", (0.3, 0.2, 0.4)))
    with pytest.raises(poise.InputError) as fast:
        prepared(rows)
    without_fast_path()
    with pytest.raises(poise.InputError) as general:
        prepared(rows)
    assert str(fast.value) == str(general.value)


def test_a_start_outside_its_limits_is_clamped_and_named(without_fast_path):
    start = poise.Pose.make_unchecked(ARM.skeleton, ARM.q + 20.0, None, None)
    goal = make_goal("position", (4,))
    fast = poise.solve(start, goal)
    assert fast.moved_inside
    without_fast_path()
    check_equal(fast, poise.solve(start, goal))


def test_more_targets_take_the_general_path():
    goal = make_goal("position", (65,))
    assert "lazy_source" not in poise.solve(ARM, goal).__dict__
