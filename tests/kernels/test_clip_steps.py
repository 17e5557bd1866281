"""Steps of robots' clips by the kernels of both widths, beside a dense solve."""

from __future__ import annotations

import numpy as np
import pytest

from poise.kernels.clip_least_squares import compute_step4, compute_step8, compute_step_size
from poise.maths.arrays import allocate_aligned

GUARD = 64  # numbers behind the scratch memory


def solve_densely(problem, free, given):
    hessians, gradients, changes, excess, stiffness, smoothing, damping = problem
    frames, unknowns = gradients.shape
    matrix, right = np.zeros((frames * unknowns,) * 2), gradients.ravel().copy()
    for frame in range(frames):
        block = slice(frame * unknowns, (frame + 1) * unknowns)
        matrix[block, block] = hessians[frame] + damping[frame] * np.eye(unknowns)
    for column in range(unknowns):
        places = np.arange(frames) * unknowns + column
        for frame in range(1, frames):
            row = np.zeros(len(right))
            row[places[frame - 1 : frame + 1]] = -1.0, 1.0
            matrix += stiffness[frame, column] * np.outer(row, row)
            right -= stiffness[frame, column] * excess[frame, column] * row
        for frame in range(1, frames - 1):
            row = np.zeros(len(right))
            row[places[frame - 1 : frame + 2]] = 1.0, -2.0, 1.0
            matrix += smoothing[column] * np.outer(row, row)
            right -= smoothing[column] * changes[frame, column] * row
    found, free = given.ravel().copy(), free.ravel()
    found[free] = np.linalg.solve(matrix[np.ix_(free, free)], right[free] - matrix[np.ix_(free, ~free)] @ found[~free])
    return found.reshape(frames, unknowns)


@pytest.mark.parametrize("compute_step", [compute_step4, compute_step8], ids=["four lanes", "eight lanes"])
@pytest.mark.parametrize("frames", [1, 2, 3, 9])
@pytest.mark.parametrize("unknowns", [6, 8, 13, 35])
@pytest.mark.parametrize("share_given", [0.0, 0.3])
def test_a_step_solves_its_band_matrix(compute_step, frames, unknowns, share_given):
    random = np.random.default_rng(frames * 100 + unknowns)
    roots = random.normal(size=(frames, unknowns, unknowns))
    changes, excess, gradients = random.normal(size=(3, frames, unknowns))
    stiffness = random.uniform(0.0, 50.0, (frames, unknowns))
    changes[[0, -1]], excess[0], stiffness[0] = 0.0, 0.0, 0.0
    smoothing, damping = random.uniform(1.0, 100.0, unknowns), random.uniform(1e-3, 1.0, frames)
    free = random.random((frames, unknowns)) >= share_given
    given = np.where(free, 0.0, random.normal(size=(frames, unknowns)))
    problem = roots @ roots.transpose(0, 2, 1), gradients, changes, excess, stiffness, smoothing, damping
    size, found = compute_step_size(frames, unknowns), np.full((frames, unknowns), np.nan)
    work = allocate_aligned(size + GUARD)
    work[:size], work[size:] = np.nan, 7.0
    compute_step(*problem[:5], free, given, smoothing, damping, found, work)
    np.testing.assert_allclose(found, solve_densely(problem, free, given), rtol=1e-9, atol=1e-9)
    assert (work[size:] == 7.0).all()
