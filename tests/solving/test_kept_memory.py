"""Memory of results that are kept with their owner: bounded in keys and in bytes, whatever is asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import poise
from poise.problem.plan import Plan
from poise.runtime import result_cache
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.random_starts import draw_restarts

KIND_COUNT = 40
SMALL_BOUND = 1 << 14  # [bytes] of a subject: a few kinds of goals of an arm


class Owner:
    """An object with cached results."""


def list_cached(owner, subject):
    """Return the cached results of a subject by key."""
    return owner.__dict__["_remembered"][subject]


def make_megabyte(number):
    return np.full(1 << 17, float(number))


def test_small_results_are_bounded_in_number():
    owner = Owner()
    for key in range(1000):
        assert get_or_compute(owner, "squares", key, lambda key=key: key**2) == key**2
    assert list(list_cached(owner, "squares")) == list(range(1000 - result_cache._MAX_KEYS, 1000))
    for key in range(5):
        get_or_compute(owner, "few", key, list, max_keys=2)
    assert list(list_cached(owner, "few")) == [3, 4]


def test_large_results_are_bounded_in_bytes():
    owner, bound = Owner(), result_cache._MAX_BYTES
    for key in range(100):
        get_or_compute(owner, "arrays", key, partial(make_megabyte, key))
        kept = list_cached(owner, "arrays")
        assert sum(array.nbytes for array in kept.values()) <= bound + (1 << 20)  # the newest is kept in any case
        assert list(kept)[-1] == key
    assert len(kept) == bound // (1 << 20) + 1
    assert kept.byte_counts.keys() == set(list(kept)[:-1])
    for key in range(100, 400):
        get_or_compute(owner, "arrays", key, lambda: np.zeros(2))
    assert len(kept) == result_cache._MAX_KEYS


def test_arrays_in_fields_are_counted_once_without_those_of_the_owner():
    rig = poise.load(poise.sample("humanoid"))
    array, owner = np.zeros(100), Owner()
    holder = Owner()
    holder.array, holder.again, holder.table, holder.owner = array, array, {"other": np.zeros(10)}, owner
    owner.array, holder.kind = np.zeros(1000), Owner
    holder.names = ()
    get_or_compute(holder, "cached", None, lambda: np.zeros(5000))
    assert result_cache._count_bytes(holder, owner) == 8 * 110
    assert result_cache._count_bytes(rig.rest, rig.rest.skeleton) >= rig.rest.q.nbytes


def count_reachable_bytes(owner, subject):
    """Count the bytes of all arrays that the cached results of a subject hold, by another traversal."""
    counted, values = {id(owner): 0}, [list_cached(owner, subject)]
    while values:
        value = values.pop()
        if id(value) not in counted and not isinstance(value, type):
            counted[id(value)] = value.nbytes if isinstance(value, np.ndarray) else 0
            values += list(value.values()) if isinstance(value, dict) else []
            values += list(value) if isinstance(value, (tuple, list)) else []
            values += list(getattr(value, "__dict__", {}).values())
    return sum(counted.values())


@pytest.mark.parametrize("count", [1, 3])
def test_kinds_of_goals_keep_bounded_memory_and_the_same_answers(count, monkeypatch):
    arm = poise.load(poise.sample("arm.urdf")).rest
    targets = np.linspace(0.1, 0.9, 3 * count).reshape(count, 3)
    goals = [poise.Direction("tool", targets, axis=(1.0, kind / 64, 0.0)) for kind in range(KIND_COUNT)]
    with monkeypatch.context() as context:
        context.setattr(result_cache, "_MAX_BYTES", 1 << 40)
        answers = [poise.solve(arm, goal).q for goal in goals]
    assert len(list_cached(arm.skeleton, "trees")) == KIND_COUNT
    fresh = poise.load(poise.sample("arm.urdf")).rest
    monkeypatch.setattr(result_cache, "_MAX_BYTES", SMALL_BOUND)
    for _ in range(2):
        for goal, answer in zip(goals, answers, strict=True):
            np.testing.assert_array_equal(poise.solve(fresh, goal).q, answer)
    unbounded, bounded = (count_reachable_bytes(each, "trees") for each in (arm.skeleton, fresh.skeleton))
    assert bounded < 4 * SMALL_BOUND < unbounded


def test_plans_keep_few_tolerances():
    arm = poise.load(poise.sample("arm.urdf")).rest
    goal = poise.Position("tool", arm.world["tool"].positions + 0.01)
    for tolerance in np.linspace(1e-5, 1e-3, 50):
        assert poise.solve(arm, goal, tolerance=float(tolerance)).reached
    tree = next(iter(list_cached(arm.skeleton, "trees").values()))
    for owner in (tree, next(iter(list_cached(tree, "plans").values())).plan):
        assert max(map(len, owner.__dict__["_remembered"].values())) == Plan.max_cached_keys


def test_threads_may_add_and_remove_keys_at_once(monkeypatch):
    monkeypatch.setattr(result_cache, "_MAX_BYTES", 1 << 12)
    owner = Owner()

    def use_many(seed):
        for key in np.random.default_rng(seed).integers(0, 300, 3000).tolist():
            assert get_or_compute(owner, "arrays", key, lambda key=key: np.full(16, key))[0] == key
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(use_many, range(4)))
    assert len(list_cached(owner, "arrays")) <= 4 + (1 << 12) // (16 * 8)


def test_random_numbers_of_restarts_are_kept_for_few_sizes():
    first = draw_restarts(3)
    for dof_count in range(1, 50):
        assert draw_restarts(dof_count).shape[1] == dof_count
    assert draw_restarts.cache_info().currsize <= 16
    np.testing.assert_array_equal(draw_restarts(3), first)
