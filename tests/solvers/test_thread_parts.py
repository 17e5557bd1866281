"""Parts of a batch for threads: every problem once, whatever the work, and threads only where it is long."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import poise
from poise.solvers.base import thread_parts
from poise.solvers.base.thread_parts import solve_in_parts
from poise.solving import batch
from tests.strategies import rng_of


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000, 5000])
@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("seconds_per_problem", [0.0, 2e-6])
def test_every_problem_is_solved_once(count, threads, seconds_per_problem):
    solved, reported = np.zeros(count, dtype=int), []

    def solve_range(first, last):
        time.sleep((last - first) * seconds_per_problem)
        solved[first:last] += 1

    solve_in_parts(count, threads, solve_range, reported.append)
    assert (solved == 1).all()
    assert sum(reported) == count


def run_and_list_threads(count, threads, seconds_per_problem):
    """Return the threads that solve problems of a duration."""
    used = set()

    def solve_range(first, last):
        used.add(threading.get_ident())
        if seconds_per_problem:
            time.sleep((last - first) * seconds_per_problem)

    solve_in_parts(count, threads, solve_range, None)
    return used


def test_short_work_stays_in_the_calling_thread():
    assert run_and_list_threads(1000, 4, 0.0) == {threading.get_ident()}


def test_long_work_of_few_problems_is_shared():
    assert len(run_and_list_threads(80, 2, 1e-3)) == 3  # the calling thread solves the timed part


def test_one_thread_takes_a_batch_in_one_part():
    parts = []
    solve_in_parts(100_000, 1, lambda *part: parts.append(part), None)
    assert parts == [(0, 100_000)]


def test_an_error_in_a_part_is_raised():
    def solve_range(first, _last):
        time.sleep(1e-3)
        if first > thread_parts._TIMED_PROBLEM_COUNT:
            raise ValueError("part")

    with pytest.raises(ValueError, match="part"):
        solve_in_parts(500, 2, solve_range, None)


@pytest.mark.parametrize(("min_work_s", "is_shared"), [(0.0, True), (np.inf, False)])
def test_a_large_batch_is_shared_where_it_is_long(min_work_s, is_shared, monkeypatch):
    """Targets beyond one part: the first part is timed, and threads solve the others if these take long."""
    used, solve_part = [], batch._solve_part

    def record_thread(*given):
        used.append(threading.get_ident())
        return solve_part(*given)

    monkeypatch.setattr(batch, "_solve_part", record_thread)
    monkeypatch.setattr(batch, "MIN_THREADED_WORK_S", min_work_s)
    figure = poise.load(poise.sample("humanoid")).rest
    targets = figure.world["LeftHand"].positions + rng_of(6).normal(0, 0.1, (batch._MAX_PART_TARGETS + 1, 3))
    goal = poise.Position("LeftHand", targets, root="LeftArm")
    shared, alone = (poise.solve(figure, goal, solver="two_bone", threads=n) for n in (2, 1))
    assert used[0] == threading.get_ident()
    assert (set(used) != {threading.get_ident()}) == is_shared
    assert (shared.q == alone.q).all()


@pytest.mark.parametrize(
    "solver", ["levenberg_marquardt", "ccd", "fabrik", "jacobian_transpose", "damped_least_squares"]
)
def test_threads_change_no_bit(solver, monkeypatch):
    monkeypatch.setattr(thread_parts, "MIN_THREADED_WORK_S", 0.0)
    monkeypatch.setattr(thread_parts, "_MIN_PART_WORK_S", 1e-9)
    figure = poise.load(poise.sample("humanoid")).rest
    targets = figure.world["LeftHand"].positions + rng_of(5).normal(0, 0.2, (200, 3))
    goal = poise.Position("LeftHand", targets)
    alone, shared = (poise.solve(figure, goal, solver=solver, natural=False, threads=n) for n in (1, 3))
    assert (alone.q == shared.q).all()
    assert (alone.iterations == shared.iterations).all()
