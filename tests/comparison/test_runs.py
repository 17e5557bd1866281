"""Runs: what is timed, in which turns, and what the judge makes of answers."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.comparison.compare import _build_task as task_for
from poise.comparison.method import MethodOutput, PoiseMethod
from poise.comparison.runs import QUICK, TimedMethod, run_method, time_batches, time_calls
from poise.io import samples
from tests.comparison.faulty_solvers import Liar, Lost, Outlaw, Sleeper

ARM = poise.load(samples.path("arm.urdf"))
GOAL = poise.Place("tool", (0, 0, 0), (1, 0, 0, 0))


@pytest.fixture(scope="module")
def task():
    return task_for(ARM.rest, GOAL, None, None, (None, None), QUICK, 0, "arm.urdf")


class Noted:
    """A method that writes down who was asked what."""

    def __init__(self, name, book, task):
        self.name, self.book, self.task = name, book, task

    def pack_target(self, target, q):
        return target, q

    def solve(self, target, q):
        self.book.append((self.name, tuple(target), None if q is None else tuple(q)))
        if self.name == "raises":
            message = "no solution"
            raise RuntimeError(message)
        return target

    def read_output(self, raw):
        del raw
        seconds = {"clock": 1.0, "stopped": 0.0}.get(self.name)
        return MethodOutput(self.task.start.q + 0.1, claims_reached=True, iterations=3, seconds=seconds)

    def solve_many(self, rows):
        return None if self.name == "single" else rows

    def read_claims(self, rows, begins):
        del begins
        return np.ones(len(rows), dtype=bool)

    def close(self):
        pass


def requested(ready, task, solved=0.0):
    return TimedMethod(ready, task.main.rows, [None] * len(task.main), solved)


class TestTurns:
    def test_every_method_has_every_row_in_every_round_and_the_order_turns(self, task):
        book = []
        turns = [requested(Noted(name, book, task), task).take_first(2) for name in "ab"]
        times = time_calls(turns, 2, 10.0, lambda _: None)
        assert [one.shape for one in times] == [(2, 2), (2, 2)]
        assert "".join(name for name, *_ in book[-8:]) == "aabb" + "bbaa"
        assert all(start is None for *_, start in book)

    def test_rows_begin_where_they_began_in_the_run(self, task):
        book = []
        begins = [np.full(6, 0.1 * k) for k in range(len(task.main))]
        time_calls(
            [requested(Noted("a", book, task), task)._replace(start_q=begins).take_first(3)], 1, 10.0, lambda _: None
        )
        assert [start for *_, start in book[-3:]] == [tuple(begin) for begin in begins[:3]]

    def test_a_slow_method_gets_fewer_rows(self, task):
        quick, slow = (requested(PoiseMethod(solver).prepare(task), task) for solver in (Liar(), Sleeper(0.25)))
        times = time_calls([quick, slow], 2, 3.0, lambda _: None)
        assert times[0].shape[1] == len(task.main)
        assert 3 <= times[1].shape[1] < len(task.main)
        assert np.median(times[1]) >= 250_000

    def test_a_method_with_a_clock_of_its_own_is_timed_by_it_and_never_by_nothing(self, task):
        times = time_calls([requested(Noted("clock", [], task), task).take_first(3)], 1, 10.0, lambda _: None)
        np.testing.assert_array_equal(times[0], 1e6)
        times = time_calls([requested(Noted("stopped", [], task), task).take_first(3)], 1, 10.0, lambda _: None)
        assert (times[0] > 0).all()

    def test_a_call_that_raises_has_no_time(self, task):
        times = time_calls([requested(Noted("raises", [], task), task)], 2, 10.0, lambda _: None)
        assert np.isinf(times[0]).all()

    def test_batches_leave_out_who_has_none_and_who_would_take_too_long(self, task):
        ready = [Noted("single", [], task), PoiseMethod(Liar()).prepare(task), PoiseMethod(Sleeper(0.3)).prepare(task)]
        found = time_batches([requested(one, task) for one in ready], task, (1, 10, 100), 1, 0.5, lambda _: None)
        assert [sorted(one.times) for one in found] == [[], [1, 10, 100], [1]]
        assert [one.error_message for one in found] == [None, None, None]

    def test_a_batch_that_does_not_do_the_work_has_no_time(self, task):
        class Lazy(type(PoiseMethod(poise.LevenbergMarquardt()).prepare(task))):
            def solve_many(self, rows):
                if self.raises and len(rows) > 1:
                    message = "too many"
                    raise ValueError(message)
                return np.repeat(self.task.start.q[None], len(rows), axis=0)

        for raises, words in ((False, "a batch of 20 solves 0 %, single calls 100 %"), (True, "ValueError: too many")):
            lazy = Lazy(poise.LevenbergMarquardt(), task)
            lazy.raises = raises
            (found,) = time_batches([requested(lazy, task, solved=1.0)], task, (1, 20), 1, 2.0, lambda _: None)
            assert found.times == {}
            assert found.error_message == words


class TestRun:
    def test_each_is_solved_from_the_start_or_from_the_answer_before(self, task):
        for name, follows in (("reachable", False), ("path", True)):
            book = []
            targets = task.sets[name]
            found = run_method(Noted("a", book, task), task, targets, 10.0)
            calls = book[2:]
            assert [target for _, target, _ in calls] == [tuple(row) for row in targets.rows]
            after = tuple(task.start.q + 0.1) if follows else None
            assert all(start == after for _, _, start in calls[1:])
            assert len(found) == found.target_count == len(targets)
            assert (found.iterations == 3).all()

    def test_an_error_of_a_method_is_an_answer_that_missed(self, task):
        found = run_method(Noted("raises", [], task), task, task.main, 10.0)
        assert np.isinf(found.scores).all()
        assert np.isnan(found.errors).all()
        assert np.isnan(found.iterations).all()
        assert found.error_message == "RuntimeError: no solution"

    def test_answers_are_measured_and_not_believed(self, task):
        liar = run_method(PoiseMethod(Liar()).prepare(task), task, task.main, 10.0)
        at = task.start.world["tool"]
        distance = np.linalg.norm(task.main.rows[:, :3] - at.positions, axis=1)
        np.testing.assert_allclose(liar.errors[:, 0], distance, atol=1e-12)
        assert liar.claims_reached.all()
        assert liar.wrong_claims.all()
        assert (liar.scores > 1e3).all()

    def test_an_honest_solver_claims_nothing_wrongly(self, task):
        found = run_method(PoiseMethod(poise.LevenbergMarquardt()).prepare(task), task, task.main, 10.0)
        assert found.claims_reached.all()
        assert not found.wrong_claims.any()
        assert (found.scores <= 1).all()
        assert found.violations.max() <= 1e-9

    def test_limits_that_are_left_are_measured_for_each_answer(self, task):
        found = run_method(PoiseMethod(Outlaw(0.01)).prepare(task), task, task.main, 10.0)
        np.testing.assert_allclose(found.violations, 0.01, atol=1e-12)
        assert not found.find_solved(np.inf).any()

    def test_an_answer_without_numbers_has_missed(self, task):
        found = run_method(PoiseMethod(Lost()).prepare(task), task, task.main, 10.0)
        assert np.isinf(found.scores).all()
        assert not found.wrong_claims.any()

    def test_time_is_bounded(self, task):
        found = run_method(PoiseMethod(Sleeper(0.05)).prepare(task), task, task.main, 0.2)
        assert 1 <= len(found) < found.target_count
