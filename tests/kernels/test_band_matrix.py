"""Band matrices: their solutions beside dense ones, as plain Python. Kernels that use them test compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poise.kernels.band_matrix import clear_band, compute_width, copy_band, round_up, solve_band, view_band
from poise.kernels.lanes import LANES4, LANES8, count_lanes
from poise.maths.arrays import allocate_aligned
from tests.strategies import rng_of, seeds

FEW = settings(max_examples=25, deadline=None)
BOTH = pytest.mark.parametrize("lane_kind", [LANES4, LANES8], ids=str)


def make_dense(rng, count, reach):
    """Make a positive definite matrix (n, n) whose rows have so many numbers from the diagonal on."""
    roots = rng.normal(size=(count, count))
    roots[np.subtract.outer(np.arange(count), np.arange(count)) >= reach // 2 + 1] = 0.0
    roots = np.tril(roots) + 2.0 * np.eye(count)
    dense = roots @ roots.T
    dense[np.abs(np.subtract.outer(np.arange(count), np.arange(count))) >= reach] = 0.0
    return dense + 5.0 * reach * np.eye(count)


def pack(lane_kind, dense, reach):
    """Pack a matrix into a band, with how far its panels reach."""
    size, width = round_up(lane_kind, len(dense)), compute_width(lane_kind, reach)
    band = view_band(lane_kind, allocate_aligned(size * width), 0, size, width)
    lanes = count_lanes(lane_kind)
    ends = [min(start + lanes - 1 + reach, len(dense)) - start for start in range(0, size, lanes)]
    reaches = np.array([round_up(lane_kind, end) for end in ends], dtype=float)
    band.rows[:] = np.nan
    clear_band(lane_kind, band, reaches)
    for i, j in np.ndindex(*dense.shape):
        if i <= j < i + reach:
            band.rows[i, j - i + i % lanes] = dense[i, j]
    return band, reaches


def make_column(lane_kind, values):
    """Make a column of numbers, with zeros behind them."""
    size = round_up(lane_kind, len(values))
    column = view_band(lane_kind, allocate_aligned(size), 0, 1, size)
    column.rows[0] = 0.0
    column.rows[0, : len(values)] = values
    return column


@BOTH
@FEW
@given(seeds, st.integers(1, 30), st.integers(1, 14))
def test_solutions_are_those_of_a_dense_matrix(lane_kind, seed, count, reach):
    rng = rng_of(seed)
    dense, right = make_dense(rng, count, reach), rng.normal(size=count)
    band, reaches = pack(lane_kind, dense, reach)
    column = make_column(lane_kind, right)
    solve_band(lane_kind, band, reaches, column)
    np.testing.assert_allclose(column.rows[0, :count], np.linalg.solve(dense, right), atol=1e-12)
    assert (column.rows[0, count:] == 0.0).all()


@BOTH
def test_a_copy_has_the_same_solution_and_leaves_its_original(lane_kind):
    rng = rng_of(1)
    dense, right = make_dense(rng, 13, 6), rng.normal(size=13)
    band, reaches = pack(lane_kind, dense, 6)
    other, _ = pack(lane_kind, np.eye(13), 6)
    before, found = band.rows.copy(), make_column(lane_kind, right)
    copy_band(lane_kind, band, reaches, other)
    solve_band(lane_kind, other, reaches, found)
    np.testing.assert_array_equal(band.rows, before)
    np.testing.assert_allclose(found.rows[0, :13], np.linalg.solve(dense, right), atol=1e-12)


@BOTH
@pytest.mark.parametrize("reach", range(1, 40))
def test_a_row_has_room_for_all_it_reaches(lane_kind, reach):
    assert compute_width(lane_kind, reach) % count_lanes(lane_kind) == 0
    assert reach + count_lanes(lane_kind) - 1 <= compute_width(lane_kind, reach) < reach + 2 * count_lanes(lane_kind)
