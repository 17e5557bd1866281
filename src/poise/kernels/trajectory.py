# pyright: standard
"""Trajectories: one least-squares step over all frames of a motion, whose matrix is a band.

A motion of F frames has K unknowns a frame. Points move linearly in the unknowns of their frame, and their changes of
step are to be small; rows are linear, too, and are to be at most 0; unknowns are to be near to 0:

    C(x) = 1/2 sum w |c + D2(S x)|^2 + 1/2 sum max(r + R x, 0)^2 + 1/2 sum v (m + x)^2

with c the changes of step now, D2 the second difference over frames, S and R slopes, m the values now. A change of
step couples three frames, so the matrix of C has 3 K diagonals. Rows above 0 change the matrix: Newton's method finds
the minimum exactly as soon as a step leaves the set of these rows as it was.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import SCALAR, stack_array, stack_matrix, view_lanes

MAX_COLUMNS = 8  # unknowns of a frame that one point or row depends on
_STEP_COLUMNS = 3 * MAX_COLUMNS  # of the three frames of a change of step
_MIN_PIVOT = 1e-12
_MAX_HALVINGS = 14
_MIN_GAIN = 1e-6  # of the cost: less is not worth another set of rows, since the next step begins anew


class LinearTrajectory(NamedTuple):
    """A trajectory problem, linear near to the values now.

    changes        (F, P, 3) changes of step of P points
    slopes         (F, P, 3, M) motion of each point per unknown that it depends on
    columns        (P, M) which unknowns these are
    weights        (F, P) of squared changes; 0 where a frame has no change of step
    rows           (F, R) above 0 where a row is violated
    row_slopes     (F, R, M)
    row_columns    (R, M)
    values         (F, K) the unknowns now
    free           (F, K) which of them may change
    value_weights  (F, K)
    """

    changes: NDArray[np.float64]
    slopes: NDArray[np.float64]
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    rows: NDArray[np.float64]
    row_slopes: NDArray[np.float64]
    row_columns: NDArray[np.int64]
    values: NDArray[np.float64]
    free: NDArray[np.bool_]
    value_weights: NDArray[np.float64]


@device_function
def add_change(problem, frame, point, places, entries, band, gradient):
    """Add the squared change of step of a point to matrix and gradient.

    `places` (3 M,) and `entries` (3, 3 M) are scratch: columns of the matrix, and the rows there.
    """
    unknowns, count, per_point = problem.values.shape[1], 0, problem.columns.shape[1]
    for side in range(-1, 2):
        at, factor = frame + side, -2.0 if side == 0 else 1.0
        for k in range(per_point):
            column = problem.columns[point, k]
            if problem.free[at, column]:
                places[count] = at * unknowns + column
                for axis in range(3):
                    entries[axis, count] = factor * problem.slopes[at, point, axis, k]
                count += 1
    weight, change = problem.weights[frame, point], problem.changes[frame, point]
    for a in range(count):
        first = int(places[a])
        gradient[first] += weight * (entries[0, a] * change[0] + entries[1, a] * change[1] + entries[2, a] * change[2])
        for b in range(count):
            other = int(places[b])
            if other <= first:
                band[first, first - other] += weight * (
                    entries[0, a] * entries[0, b] + entries[1, a] * entries[1, b] + entries[2, a] * entries[2, b]
                )


@device_function
def assemble_squares(problem, places, entries, band, gradient):
    """Write matrix and gradient of changes of step and of values, at x = 0."""
    frames, unknowns = problem.values.shape
    band[:] = 0.0
    gradient[:] = 0.0
    for t in range(1, frames - 1):
        for p in range(problem.columns.shape[0]):
            if problem.weights[t, p] > 0.0:
                add_change(problem, t, p, places, entries, band, gradient)
    for t in range(frames):
        for k in range(unknowns):
            i = t * unknowns + k
            if problem.free[t, k]:
                band[i, 0] += problem.value_weights[t, k]
                gradient[i] += problem.value_weights[t, k] * problem.values[t, k]
            else:
                band[i, 0] = 1.0


@device_function
def measure_row(problem, frame, row, x):
    """Measure a row after a step x."""
    value = problem.rows[frame, row]
    start = frame * problem.values.shape[1]
    for k in range(problem.row_columns.shape[1]):
        value += problem.row_slopes[frame, row, k] * x[start + problem.row_columns[row, k]]
    return value


@device_function
def add_rows(problem, x, band, gradient):
    """Add rows that are above 0 after a step x to matrix and gradient; return how many these are."""
    frames, unknowns = problem.values.shape
    count, per_row = 0, problem.row_columns.shape[1]
    for t in range(frames):
        for r in range(problem.row_columns.shape[0]):
            value = measure_row(problem, t, r, x)
            if value <= 0.0:
                continue
            count += 1
            for a in range(per_row):
                column = problem.row_columns[r, a]
                slope = problem.row_slopes[t, r, a]
                if slope == 0.0 or not problem.free[t, column]:
                    continue
                first = t * unknowns + column
                gradient[first] += slope * value
                for b in range(per_row):
                    other = problem.row_columns[r, b]
                    if other <= column and problem.free[t, other]:
                        band[first, column - other] += slope * problem.row_slopes[t, r, b]
    return count


@device_function
def multiply_band(band, x, product):
    """Write the product of a symmetric band matrix and x."""
    size, width = band.shape
    for i in range(size):
        product[i] = band[i, 0] * x[i]
    for i in range(size):
        for d in range(1, min(width, i + 1)):
            product[i] += band[i, d] * x[i - d]
            product[i - d] += band[i, d] * x[i]


@device_function
def solve_band(band, right):
    """Solve H y = right in place by Cholesky factors; H[i, j] stands at band[i, i - j]."""
    size, width = band.shape
    for i in range(size):
        first = max(0, i - width + 1)
        for j in range(first, i + 1):
            total = band[i, i - j]
            for k in range(max(first, j - width + 1), j):
                total -= band[i, i - k] * band[j, j - k]
            band[i, i - j] = total / band[j, 0] if j < i else math.sqrt(max(total, _MIN_PIVOT))
    for i in range(size):
        total = right[i]
        for k in range(max(0, i - width + 1), i):
            total -= band[i, i - k] * right[k]
        right[i] = total / band[i, 0]
    for i in range(size - 1, -1, -1):
        right[i] /= band[i, 0]
        for k in range(max(0, i - width + 1), i):
            right[k] -= band[i, i - k] * right[i]


@device_function
def measure_cost(problem, x, product, gradient):
    """Measure C(x) - C(0) but for rows, and rows: x H x / 2 + g x + 1/2 sum max(rows, 0)^2."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * (0.5 * product[i] + gradient[i])
    for t in range(problem.rows.shape[0]):
        for r in range(problem.rows.shape[1]):
            value = measure_row(problem, t, r, x)
            if value > 0.0:
                total += 0.5 * value * value
    return total


@inline
def compute_work_size(frame_count, unknown_count):
    """Compute the size of the scratch memory, in numbers."""
    return frame_count * unknown_count * (6 * unknown_count + 5)


@kernel("F3 F4 I2 F2 F2 F3 I2 F2 B2 F2 F1 i wF1 sF1 ->")
def compute_step(
    changes, slopes, columns, weights, rows, row_slopes, row_columns, values, free, value_weights, damping,
    rounds, x, work,
):  # fmt: skip
    """Compute the step x (F K,) that minimises C; see `LinearTrajectory`.

    damping  (F,) times the weights of values is what squares of x weigh beside C: larger ones make shorter steps
    rounds   changes of the set of violated rows at most
    work     scratch memory for `compute_work_size` numbers
    """
    problem = LinearTrajectory(
        changes, slopes, columns, weights, rows, row_slopes, row_columns, values, free, value_weights
    )
    size, width = len(x), 3 * values.shape[1]
    squares = view_lanes(SCALAR, work, 0, size, width)
    band = view_lanes(SCALAR, work, size * width, size, width)
    base = view_lanes(SCALAR, work, 2 * size * width, size)
    gradient = view_lanes(SCALAR, work, 2 * size * width + size, size)
    product = view_lanes(SCALAR, work, 2 * size * width + 2 * size, size)
    tried = view_lanes(SCALAR, work, 2 * size * width + 3 * size, size)
    tried_product = view_lanes(SCALAR, work, 2 * size * width + 4 * size, size)
    places = stack_array(SCALAR, _STEP_COLUMNS)
    entries = stack_matrix(SCALAR, 3, _STEP_COLUMNS)
    assemble_squares(problem, places, entries, squares, base)
    for i in range(size):
        x[i] = product[i] = 0.0
    for t in range(values.shape[0]):
        for k in range(values.shape[1]):
            squares[t * values.shape[1] + k, 0] += damping[t] * value_weights[t, k]
    cost, count = measure_cost(problem, x, product, base), -1
    for _ in range(rounds):
        for i in range(size):
            gradient[i] = base[i] + product[i]
            for d in range(width):
                band[i, d] = squares[i, d]
        violated = add_rows(problem, x, band, gradient)
        solve_band(band, gradient)
        share, then = 1.0, math.inf
        for _ in range(_MAX_HALVINGS):
            for i in range(size):
                tried[i] = x[i] - share * gradient[i]
            multiply_band(squares, tried, tried_product)
            then = measure_cost(problem, tried, tried_product, base)
            if then < cost:
                break
            share *= 0.5
        if not then < cost:
            break
        same = violated == count and share == 1.0
        for i in range(size):
            x[i], product[i] = tried[i], tried_product[i]
        small = cost - then <= _MIN_GAIN * abs(then)
        cost, count = then, violated
        if small or (same and violated == 0):
            break
