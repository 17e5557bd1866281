"""Results of a batch by index and in loops."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import poise

ARM = poise.load(poise.samples.path("arm.urdf"))
TARGETS = np.array([[0.3, 0.2, 0.4], [0.1, 0.3, 0.5], [9.0, 0.0, 0.0], [0.2, -0.2, 0.4]])
BATCH = poise.solve(ARM.rest, poise.Position("tool", TARGETS))


def test_a_row_is_the_result_of_its_problem_alone():
    for i, target in enumerate(TARGETS):
        row, alone = BATCH[i], poise.solve(ARM.rest, poise.Position("tool", target))
        assert row.shape == ()
        np.testing.assert_array_equal(row.q, alone.q)
        np.testing.assert_array_equal(row.errors, alone.errors)
        np.testing.assert_array_equal(row.goals[0].target, target)
        assert (row.status, row.reached, row.error) == (alone.status, alone.reached, alone.error)
        assert row.iterations == alone.iterations
        assert row.message() == BATCH.message(i) == alone.message()
        assert bool(row) is bool(alone)
        np.testing.assert_array_equal(row.pose.q, alone.pose.q)
        assert not row.q.flags.writeable


def test_rows_are_a_batch():
    missed = BATCH[~BATCH.reached]
    assert missed.shape == (1,)
    assert missed.status[0] == poise.Status.out_of_reach
    middle = BATCH[1:3]
    np.testing.assert_array_equal(middle.q, BATCH.q[1:3])
    np.testing.assert_array_equal(middle.codes, BATCH.codes[1:3])
    np.testing.assert_array_equal(middle.goals[0].target, TARGETS[1:3])
    assert middle.seconds == pytest.approx(BATCH.seconds / 2)
    assert BATCH[-1].message() == BATCH.message(3)
    assert len(BATCH[4:]) == 0


def test_a_loop_gives_the_rows_in_order():
    rows = list(BATCH)
    assert len(rows) == len(BATCH) == 4
    assert [row.status for row in rows] == BATCH.status.tolist()
    assert [row.q.tolist() for row in rows] == BATCH.q.tolist()
    assert pickle.loads(pickle.dumps(rows[2])).message() == BATCH.message(2)  # noqa: S301  (our own bytes)


def test_rows_of_different_starts_and_preferences_keep_their_own():
    starts = ARM.rest.with_q(np.stack([ARM.rest.q, ARM.rest.q + 0.1]))
    goals = [poise.Position("tool", TARGETS[2]), poise.Near(starts)]
    batch = poise.solve(starts, goals)
    row = batch[1]
    np.testing.assert_array_equal(row.problem.start.q, starts.q[1])
    np.testing.assert_array_equal(row.goals[1].pose.q, starts.q[1])
    np.testing.assert_array_equal(row.goals[0].target, TARGETS[2])
    np.testing.assert_array_equal(row.blend(0.0).q, starts.q[1])
    assert row.message() == batch.message(1)
    np.testing.assert_array_equal(batch[::-1].goals[0].target, TARGETS[[2, 2]])


def test_a_batch_of_two_axes_gives_batches():
    batch = poise.solve(ARM.rest, poise.Position("tool", TARGETS.reshape(2, 2, 3)))
    assert batch[1].shape == (2,)
    np.testing.assert_array_equal(batch[1].q, batch.q[1])
    assert batch[1, 0].message() == batch[1][0].message() == batch.message(2)
    assert [row.shape for row in batch] == [(2,), (2,)]


def test_the_only_row_keeps_trace_and_solutions():
    traced = poise.solve(ARM.rest, poise.Position("tool", TARGETS[:1]), trace=True)
    assert traced[0].trace is traced.trace
    listed = poise.solve(ARM.rest, poise.Place("tool", TARGETS[:1], [1, 0, 0, 0]), prefer="all")
    np.testing.assert_array_equal(listed[0].solutions.q, listed.solutions.q)


@pytest.mark.parametrize("index", [4, -5, "tool", 1.5, np.zeros(3, dtype=bool)])
def test_an_index_outside_the_batch_is_refused(index):
    with pytest.raises(poise.InputError, match=r"a batch of results of shape \(4,\) has none at") as caught:
        BATCH[index]
    assert isinstance(caught.value, IndexError)


def test_a_single_result_has_no_items_and_keeps_its_truth():
    row = BATCH[0]
    for use, word in ((iter, "iterated"), (len, "no length"), (lambda result: result[0], "indexed")):
        with pytest.raises(poise.InputError, match=f"a single result .*{word}") as caught:
            use(row)
        assert isinstance(caught.value, TypeError)
    assert row
    assert not BATCH[2]
    with pytest.raises(poise.InputError, match="neither true nor false"):
        bool(BATCH)


@pytest.mark.parametrize("first", ["pose", "status", "problem", "errors", "message", "moved_inside", "goals"])
@pytest.mark.parametrize("target", [TARGETS[0], TARGETS[2]])
@pytest.mark.parametrize("given_start", [None, ARM.rest.q])
def test_what_is_read_first_changes_nothing(first, target, given_start):
    """Fields are computed when they are read, and a pickle has all of them."""
    reach = poise.prepare(ARM.rest, poise.Position("tool", [0.3, 0.1, 0.4]))
    result, expected = reach(target, given_start), poise.solve(ARM.rest, poise.Position("tool", target[None]))[0]
    value = getattr(result, first)
    if callable(value):
        value()
    loaded = pickle.loads(pickle.dumps(result))  # noqa: S301  (our own bytes)
    assert "lazy_source" not in loaded.__dict__
    for each in (loaded, result):
        assert (each.status, each.message()) == (expected.status, expected.message())
        assert each.codes == expected.codes
        assert each.tolerances == expected.tolerances
        assert each.solver == expected.solver
        assert each.moved_inside == expected.moved_inside == ()
        for name in ("q", "errors"):
            np.testing.assert_array_equal(getattr(each, name), getattr(expected, name))
            assert not getattr(each, name).flags.writeable
        np.testing.assert_array_equal(each.goals[0].target, target)
        np.testing.assert_array_equal(each.pose.world.affine, expected.pose.world.affine)
