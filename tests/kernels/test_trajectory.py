"""Trajectories: one step of the band solver against the same problem written down densely."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from poise import kernels
from poise.kernels.trajectory import MAX_COLUMNS, LinearTrajectory
from poise.maths.arrays import allocate_aligned
from tests.strategies import rng_of, seeds

PLAIN = os.environ.get("POISE_KERNELS") == "plain"
FEW = settings(max_examples=10 if PLAIN else 60, deadline=None)
ROUNDS = 60  # far more sets of rows than any of these problems goes through


def make_problem(seed, *, frames=7, unknowns=5, points=3, rows=4, share_free=0.8, lift=0.0):
    """Make a random problem; `lift` is the mean of its rows: far below 0 none is violated."""
    rng = rng_of(seed)
    per_point, per_row = (int(rng.integers(1, min(unknowns, MAX_COLUMNS) + 1)) for _ in range(2))
    return LinearTrajectory(
        changes=rng.normal(0.0, 2.0, (frames, points, 3)),
        slopes=rng.normal(size=(frames, points, 3, per_point)),
        columns=choose_columns(rng, points, unknowns, per_point),
        weights=rng.uniform(0.5, 3.0, (frames, points)) * (rng.random((frames, points)) < 0.8),
        rows=rng.normal(lift, 1.0, (frames, rows)),
        row_slopes=rng.normal(size=(frames, rows, per_row)),
        row_columns=choose_columns(rng, rows, unknowns, per_row),
        values=rng.normal(size=(frames, unknowns)),
        free=rng.random((frames, unknowns)) < share_free,
        value_weights=rng.uniform(0.1, 2.0, (frames, unknowns)),
    )


def choose_columns(rng, count, unknowns, each):
    """Choose which unknowns (count, each) points or rows depend on, ascending."""
    chosen = [np.sort(rng.permutation(unknowns)[:each]) for _ in range(count)]
    return np.array(chosen, dtype=np.int64).reshape(count, each)


def compute_step(problem, damping=None, rounds=ROUNDS):
    """Compute a step (F, K) by the kernel; what it does not write stays NaN."""
    frames, unknowns = problem.values.shape
    step = np.full(frames * unknowns, np.nan)
    sizes = frames, unknowns, len(problem.columns), problem.rows.shape[1]
    work = allocate_aligned(kernels.trajectory.compute_work_size(*sizes))
    work[:] = np.nan
    damping = np.zeros(frames) if damping is None else damping
    kernels.trajectory.compute_step(*problem, damping, rounds, step, work)
    return step.reshape(frames, unknowns)


class Dense:
    """The same problem with whole matrices of its free unknowns."""

    def __init__(self, problem, damping=None):
        frames, unknowns = problem.values.shape
        self.free = problem.free.ravel()
        self.weights = problem.value_weights.ravel()
        damping = np.zeros(frames) if damping is None else damping
        self.extra = (damping[:, None] * problem.value_weights).ravel()
        self.values = problem.values.ravel()
        places = np.zeros((frames, *problem.changes.shape[1:], frames * unknowns))
        for t, p, k in np.ndindex(frames, *problem.columns.shape):
            places[t, p, :, t * unknowns + problem.columns[p, k]] = problem.slopes[t, p, :, k]
        self.roots = np.sqrt(problem.weights[1:-1, :, None])
        self.changes = problem.changes[1:-1] if frames > 2 else problem.changes[:0]
        self.bends = np.diff(places, 2, axis=0)
        self.roots = self.roots[: len(self.changes)]
        self.rows = problem.rows.ravel()
        self.tilts = np.zeros((frames, problem.rows.shape[1], frames * unknowns))
        for t, r, k in np.ndindex(frames, *problem.row_columns.shape):
            self.tilts[t, r, t * unknowns + problem.row_columns[r, k]] = problem.row_slopes[t, r, k]
        self.tilts = self.tilts.reshape(self.rows.size, frames * unknowns)

    def measure(self, x):
        """Measure what a step x (F K,) costs."""
        changes = self.roots * (self.changes + self.bends @ x)
        rows = np.maximum(self.rows + self.tilts @ x, 0.0)
        values = self.weights * (self.values + x) ** 2
        # What is not free costs as before.
        return 0.5 * float((changes**2).sum() + (rows**2).sum() + values[self.free].sum() + (self.extra * x**2).sum())

    def differentiate(self, x):
        """Differentiate that by the free unknowns."""
        changes = self.roots**2 * (self.changes + self.bends @ x)
        rows = np.maximum(self.rows + self.tilts @ x, 0.0)
        found = np.einsum("tpc,tpcn->n", changes, self.bends) + self.tilts.T @ rows
        return (found + self.weights * (self.values + x) + self.extra * x)[self.free]

    def minimise(self):
        """Find the cheapest step (F K,) by a solver that knows nothing of bands."""
        x = np.zeros(self.free.size)

        def whole(part):
            x[self.free] = part
            return self.measure(x), self.differentiate(x)

        part = minimize(whole, np.zeros(self.free.sum()), jac=True, method="BFGS", options={"gtol": 1e-10}).x
        x[self.free] = part
        return x


@FEW
@given(seeds, st.integers(1, 9), st.integers(1, MAX_COLUMNS), st.integers(1, 4))
def test_changes_alone_are_solved_exactly(seed, frames, unknowns, points):
    problem = make_problem(seed, frames=frames, unknowns=unknowns, points=points, lift=-1e6)
    dense, step = Dense(problem), compute_step(problem).ravel()
    matrix = np.einsum("tpcn,tpcm->nm", dense.roots[..., None] ** 2 * dense.bends, dense.bends) + np.diag(dense.weights)
    wanted = np.zeros(step.size)
    right = dense.differentiate(np.zeros(step.size))
    wanted[dense.free] = -np.linalg.solve(matrix[np.ix_(dense.free, dense.free)], right)
    np.testing.assert_allclose(step, wanted, atol=1e-9 * max(1.0, np.abs(wanted).max()))


@FEW
@given(seeds, st.integers(1, 9), st.sampled_from([-1.0, 0.0, 2.0]))
def test_violated_rows_are_the_same_as_in_a_dense_solution(seed, frames, lift):
    problem = make_problem(seed, frames=frames, lift=lift)
    dense, step = Dense(problem), compute_step(problem).ravel()
    best = dense.minimise()
    start = dense.measure(np.zeros(step.size))
    assert dense.measure(step) <= dense.measure(best) + 1e-5 * start
    assert dense.measure(step) >= dense.measure(best) - 1e-9 * start


@FEW
@given(seeds, st.floats(0.0, 100.0))
def test_damping_weighs_squares_of_a_step(seed, most):
    problem = make_problem(seed, lift=-1.0)
    damping = most * rng_of(seed).random(len(problem.values))
    dense, step = Dense(problem, damping), compute_step(problem, damping).ravel()
    assert dense.measure(step) <= dense.measure(dense.minimise()) + 1e-5 * dense.measure(np.zeros(step.size))


def test_heavier_damping_makes_shorter_steps():
    problem = make_problem(3)
    sizes = [np.linalg.norm(compute_step(problem, np.full(7, damping))) for damping in (0.0, 1.0, 10.0, 1e6)]
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3]
    assert sizes[3] < 1e-4 * sizes[1]


def test_damping_of_some_frames_holds_those():
    problem, damping = make_problem(5), np.zeros(7)
    damping[:3] = 1e9
    step = compute_step(problem, damping)
    assert np.abs(step[:3]).max() < 1e-6
    assert np.abs(step[3:]).max() > 0.1


@FEW
@given(seeds, st.floats(0.0, 1.0))
def test_unknowns_that_are_not_free_stay(seed, share):
    problem = make_problem(seed, share_free=share)
    step = compute_step(problem)
    assert (step[~problem.free] == 0.0).all()
    assert np.isfinite(step).all()


def test_where_nothing_is_asked_nothing_moves():
    problem = make_problem(7, lift=-1e6)
    still = problem._replace(changes=np.zeros_like(problem.changes), values=np.zeros_like(problem.values))
    assert (compute_step(still) == 0.0).all()


def test_frames_whose_changes_are_not_known_part_the_motion():
    problem = make_problem(11, frames=9, lift=-1e6)
    problem.weights[4:6] = 0.0
    other = problem._replace(changes=problem.changes.copy())
    other.changes[:4] += 5.0
    a, b = compute_step(problem), compute_step(other)
    assert np.abs(a - b)[:5].max() > 0.1
    np.testing.assert_allclose(a[5:], b[5:], atol=1e-12)


def test_fewer_rounds_never_cost_more_than_no_step():
    for seed in range(20):
        problem = make_problem(seed, lift=1.0)
        dense = Dense(problem)
        costs = [dense.measure(compute_step(problem, rounds=rounds).ravel()) for rounds in (0, 1, 2, ROUNDS)]
        assert costs[0] == pytest.approx(dense.measure(np.zeros(problem.free.size)))
        assert (np.diff(costs) <= 1e-12 * costs[0]).all()


@pytest.mark.parametrize("frames", [1, 2])
def test_one_and_two_frames_have_no_change_of_step(frames):
    problem = make_problem(13, frames=frames, lift=-1e6, share_free=1.1)
    np.testing.assert_allclose(compute_step(problem), -problem.values, atol=1e-12)


def test_the_same_bits_each_time():
    problem = make_problem(17)
    np.testing.assert_array_equal(compute_step(problem), compute_step(problem))


def test_no_rows_and_no_points():
    problem = make_problem(19, points=0, rows=0, share_free=1.1)
    np.testing.assert_allclose(compute_step(problem), -problem.values, atol=1e-12)
