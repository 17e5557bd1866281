"""A batch gives the bits of its parts: whatever its size, its order, its company and the threads."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings

from poise import solvers
from poise.solving import batch as running
from tests.contracts.cases import SOLVERS
from tests.contracts.problems import BITS, MEASURED, PAIRS, PROBLEMS, ROWS, TRIED, accepted, answer, same_bits
from tests.contracts.trees import any_problem
from tests.strategies import rng_of, seeds
from tests.workload import amount

SIZES = (1, 7, 8, 9, ROWS)


def rows_of(whole, rows):
    """What a result says of some rows: an object with the arrays that are compared."""
    return SimpleNamespace(**{name: getattr(whole, name)[rows] for name in BITS})


@pytest.mark.parametrize(("problem", "name"), TRIED)
class TestTargets:
    def test_parts_of_any_size_in_any_order(self, problem, name):
        whole = answer(problem, name)
        for size in SIZES if whole is not None else ():
            rows = rng_of(size).permutation(ROWS)[:size]
            same_bits(PROBLEMS[problem].solved(name, rows), rows_of(whole, rows))

    def test_each_alone(self, problem, name):
        """A lone target, a batch of one and a prepared call; of a serial arm one kernel solves and measures."""
        whole = answer(problem, name)
        if whole is None:
            return
        requested, reach = PROBLEMS[problem], PROBLEMS[problem].prepared(name)
        for row in range(0, ROWS, amount(3, 1)):  # every third is in another lane, and one of them is out of reach
            one, want = requested.solved(name, row), rows_of(whole, row)
            assert one.shape == ()
            assert one.message() == whole.message(row)
            same_bits(rows_of(requested.solved(name, [row]), 0), want)
            for other in (one, reach(requested.targets(row))):
                same_bits(other, want, ("q", "iterations", "codes"))
                if problem in MEASURED and whole.solver == "levenberg_marquardt":
                    np.testing.assert_allclose(other.errors, want.errors, rtol=1e-12, atol=1e-14)
                else:
                    same_bits(other, want)

    def test_few_iterations(self, problem, name):
        """Attempts that end at once: the next one begins, alone as in a batch."""
        if not accepted(problem, name) or name == "auto":
            return
        options = {field.name for field in fields(solvers.make_solver(name))}
        for few in ({"iterations": 1, "restarts": 1}, {"iterations": 2, "restarts": 3}):
            solver = solvers.make_solver(name, **{option: few[option] for option in few if option in options})
            whole = PROBLEMS[problem].solved(solver, slice(None))
            for row in (0, 3, 5):
                same_bits(PROBLEMS[problem].solved(solver, row), rows_of(whole, row), ("q", "iterations", "codes"))

    def test_threads_and_parts_that_they_share(self, problem, name, monkeypatch):
        whole = answer(problem, name)
        monkeypatch.setattr(running, "_MAX_PART_TARGETS", 8)
        monkeypatch.setattr(running, "_MIN_PART_TARGETS", 4)
        monkeypatch.setattr(running, "_TIMED_TARGETS", 3)
        monkeypatch.setattr(running, "MIN_THREADED_WORK_S", 0.0)
        for threads in (1, 2) if whole is not None else ():
            same_bits(PROBLEMS[problem].solved(name, slice(None), threads=threads), whole)

    def test_prepared(self, problem, name):
        whole = answer(problem, name)
        if whole is not None:
            reach, rows = PROBLEMS[problem].prepared(name), rng_of(1).permutation(ROWS)
            same_bits(reach(PROBLEMS[problem].targets(rows)), rows_of(whole, rows))

    def test_axes_of_a_batch(self, problem, name):
        whole = answer(problem, name)
        if whole is not None:
            rows = np.arange(ROWS - 1).reshape(3, 1, 6)
            same_bits(PROBLEMS[problem].solved(name, rows), rows_of(whole, rows))

    def test_of_starts(self, problem, name):
        """Starts side by side, each with a target of its own, or all with the same."""
        requested = PROBLEMS[problem]
        if not accepted(problem, name):
            return
        s, rows = requested.start.skeleton, np.array([0, 3, 5, 8, 13])
        starts = requested.start.with_q(s.legal(requested.start.q + 0.2 * rng_of(4).normal(size=(len(rows), s.nq)))[0])
        for wanted in (rows, 5):
            whole = requested.solved(name, wanted, starts)
            for i, row in enumerate(np.broadcast_to(wanted, rows.shape)):
                same_bits(rows_of(requested.solved(name, [row], starts[[i]]), 0), rows_of(whole, i))
            same_bits(requested.solved(name, np.flip(wanted), starts[::-1]), rows_of(whole, slice(None, None, -1)))


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_has_enough_cases(name):
    """No contract is kept by refusing everything: each solver takes problems of points, those of several kinds."""
    taken = [problem for problem, other in PAIRS if other == name and accepted(problem, name)]
    assert len(taken) >= 6, taken


@given(seed=seeds)
@settings(max_examples=25)
def test_any_goals_of_any_tree(seed):
    requested = any_problem(rng_of(seed))
    whole, backwards = (requested.solved("levenberg_marquardt", rows) for rows in (slice(None), slice(None, None, -1)))
    same_bits(backwards, rows_of(whole, slice(None, None, -1)))
    for row in (0, ROWS - 1):
        same_bits(rows_of(requested.solved("levenberg_marquardt", [row]), 0), rows_of(whole, row))


@pytest.mark.parametrize("problem", [problem for problem in PROBLEMS if problem != "Balance"])  # which refuses it
def test_the_nearest_solution(problem):
    """Looked for among many, it is found alike alone, also on a serial arm."""
    requested, rows = PROBLEMS[problem], np.array([0, 3, 8])
    whole = requested.solved("levenberg_marquardt", rows, prefer="closest", seeds=16)
    same_bits(requested.prepared("levenberg_marquardt", prefer="closest", seeds=16)(requested.targets(rows)), whole)
    for i, row in enumerate(rows):
        same_bits(requested.solved("levenberg_marquardt", row, prefer="closest", seeds=16), rows_of(whole, i))
    starts = requested.start.with_q(np.tile(requested.start.q, (3, 1)))
    same_bits(requested.solved("levenberg_marquardt", rows, starts, prefer="closest", seeds=16), whole)
