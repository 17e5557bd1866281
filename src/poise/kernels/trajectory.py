# pyright: standard
"""Trajectories: one least-squares step over all frames, with a band matrix.

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
    columns        (P, M) which unknowns these are, ascending
    weights        (F, P) of squared changes; 0 where a frame has no change of step
    rows           (F, R) above 0 where a row is violated
    row_slopes     (F, R, M)
    row_columns    (R, M) ascending
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


class Band(NamedTuple):
    """A symmetric band matrix over the free unknowns.

    Its rows reach back by two frames.

    numbers  (F K,) which row each unknown has; -1 for those that are not free
    bases    (n,) the first column of each row: H[i, j] stands at rows[i, j - bases[i]]
    rows     (n, 3 K)
    """

    numbers: NDArray[np.float64]
    bases: NDArray[np.float64]
    rows: NDArray[np.float64]


@device_function
def number_unknowns(free, numbers, bases):
    """Number the free unknowns (F, K), and return how many they are.

    The first column of each row is written, too.
    """
    frames, unknowns = free.shape
    count, first, before = 0, 0, 0
    for t in range(frames):
        start = count
        for k in range(unknowns):
            if free[t, k]:
                numbers[t * unknowns + k], bases[count] = count, first
                count += 1
            else:
                numbers[t * unknowns + k] = -1
        first, before = before, start
    return count


@device_function
def add_change(problem, frame, point, places, entries, band, gradient):
    """Add a point's squared change of step to matrix and gradient.

    `places` (3 M,) and `entries` (3, 3 M) are scratch: columns of the matrix, and the rows there.
    """
    unknowns, count, per_point = problem.values.shape[1], 0, problem.columns.shape[1]
    for side in range(-1, 2):
        at, factor = frame + side, -2.0 if side == 0 else 1.0
        for k in range(per_point):
            number = band.numbers[at * unknowns + problem.columns[point, k]]
            if number >= 0.0:
                places[count] = number
                for axis in range(3):
                    entries[axis, count] = factor * problem.slopes[at, point, axis, k]
                count += 1
    weight, change = problem.weights[frame, point], problem.changes[frame, point]
    for a in range(count):
        row = int(places[a])
        base = int(band.bases[row])
        gradient[row] += weight * (entries[0, a] * change[0] + entries[1, a] * change[1] + entries[2, a] * change[2])
        for b in range(a + 1):
            band.rows[row, int(places[b]) - base] += weight * (
                entries[0, a] * entries[0, b] + entries[1, a] * entries[1, b] + entries[2, a] * entries[2, b]
            )


@device_function
def assemble_squares(problem, damping, places, entries, band, gradient):
    """Write matrix and gradient of changes and values, at x = 0."""
    frames, unknowns = problem.values.shape
    band.rows[:] = 0.0
    gradient[:] = 0.0
    for t in range(1, frames - 1):
        for p in range(problem.columns.shape[0]):
            if problem.weights[t, p] > 0.0:
                add_change(problem, t, p, places, entries, band, gradient)
    for t in range(frames):
        for k in range(unknowns):
            row = int(band.numbers[t * unknowns + k])
            if row >= 0:
                weight = problem.value_weights[t, k]
                band.rows[row, row - int(band.bases[row])] += (1.0 + damping[t]) * weight
                gradient[row] += weight * problem.values[t, k]


@device_function
def measure_row(problem, band, frame, row, y):
    """Measure a row after a step y (n,) of the free unknowns."""
    value = problem.rows[frame, row]
    start = frame * problem.values.shape[1]
    for k in range(problem.row_columns.shape[1]):
        number = band.numbers[start + problem.row_columns[row, k]]
        if number >= 0.0:
            value += problem.row_slopes[frame, row, k] * y[int(number)]
    return value


@device_function
def add_rows(problem, y, band, rows, gradient):
    """Add violated rows to matrix and gradient, at a step y."""
    frames, unknowns = problem.values.shape
    per_row = problem.row_columns.shape[1]
    for t in range(frames):
        for r in range(problem.row_columns.shape[0]):
            value = measure_row(problem, band, t, r, y)
            if value <= 0.0:
                continue
            for a in range(per_row):
                number, slope = band.numbers[t * unknowns + problem.row_columns[r, a]], problem.row_slopes[t, r, a]
                if number < 0.0 or slope == 0.0:
                    continue
                row = int(number)
                base = int(band.bases[row])
                gradient[row] += slope * value
                for b in range(a + 1):
                    other = band.numbers[t * unknowns + problem.row_columns[r, b]]
                    if other >= 0.0:
                        rows[row, int(other) - base] += slope * problem.row_slopes[t, r, b]


@device_function
def multiply_band(band, y, count, product):
    """Write the product of the matrix and y (n,)."""
    for i in range(count):
        base = int(band.bases[i])
        total, value = 0.0, y[i]
        for j in range(base, i):
            total += band.rows[i, j - base] * y[j]
            product[j] += band.rows[i, j - base] * value
        product[i] = total + band.rows[i, i - base] * value


@device_function
def solve_band(band, rows, count, right):
    """Solve H y = right in place by Cholesky factors.

    rows  H in the columns of a band, replaced by its factors
    """
    for i in range(count):
        base = int(band.bases[i])
        own = rows[i]
        for j in range(base, i + 1):
            other_base = int(band.bases[j])
            first = max(base, other_base)
            other = rows[j]
            total = own[j - base]
            for k in range(first, j):
                total -= own[k - base] * other[k - other_base]
            own[j - base] = total / other[j - other_base] if j < i else math.sqrt(max(total, _MIN_PIVOT))
    for i in range(count):
        base = int(band.bases[i])
        total = right[i]
        for k in range(base, i):
            total -= rows[i, k - base] * right[k]
        right[i] = total / rows[i, i - base]
    for i in range(count - 1, -1, -1):
        base = int(band.bases[i])
        right[i] /= rows[i, i - base]
        for k in range(base, i):
            right[k] -= rows[i, k - base] * right[i]


@device_function
def measure_cost(problem, band, y, count, product, gradient):
    """Measure what a step y costs.

    y H y / 2 + g y, and half the squares of rows that are above 0.
    """
    total = 0.0
    for i in range(count):
        total += y[i] * (0.5 * product[i] + gradient[i])
    for t in range(problem.rows.shape[0]):
        for r in range(problem.rows.shape[1]):
            value = measure_row(problem, band, t, r, y)
            if value > 0.0:
                total += 0.5 * value * value
    return total


@inline
def compute_work_size(frame_count, unknown_count):
    """Compute the size of the scratch memory, in numbers."""
    return frame_count * unknown_count * (6 * unknown_count + 8)


@kernel("F3 F4 I2 F2 F2 F3 I2 F2 B2 F2 F1 i wF1 sF1 ->")
def compute_step(
    changes, slopes, columns, weights, rows, row_slopes, row_columns, values, free, value_weights, damping,
    rounds, x, work,
):  # fmt: skip
    """Compute the best step x from the values now.

    damping  (F,) times the weights of values is what squares of x weigh beside C: larger ones make shorter steps
    rounds   changes of the set of violated rows at most
    x        (F K,) out: the step
    work     scratch memory for `compute_work_size` numbers
    """
    problem = LinearTrajectory(
        changes, slopes, columns, weights, rows, row_slopes, row_columns, values, free, value_weights
    )
    size, width = len(x), 3 * values.shape[1]
    vectors = 2 * size * width
    numbers, bases = view_lanes(SCALAR, work, vectors, size), view_lanes(SCALAR, work, vectors + size, size)
    band = Band(numbers, bases, view_lanes(SCALAR, work, 0, size, width))
    factors = view_lanes(SCALAR, work, size * width, size, width)
    base = view_lanes(SCALAR, work, vectors + 2 * size, size)
    gradient = view_lanes(SCALAR, work, vectors + 3 * size, size)
    y = view_lanes(SCALAR, work, vectors + 4 * size, size)
    product = view_lanes(SCALAR, work, vectors + 5 * size, size)
    tried = view_lanes(SCALAR, work, vectors + 6 * size, size)
    tried_product = view_lanes(SCALAR, work, vectors + 7 * size, size)
    places, entries = stack_array(SCALAR, _STEP_COLUMNS), stack_matrix(SCALAR, 3, _STEP_COLUMNS)
    count = number_unknowns(free, numbers, bases)
    assemble_squares(problem, damping, places, entries, band, base)
    for i in range(count):
        y[i] = product[i] = 0.0
    cost = measure_cost(problem, band, y, count, product, base)
    for _ in range(rounds):
        for i in range(count):
            gradient[i] = base[i] + product[i]
            for d in range(i - int(bases[i]) + 1):
                factors[i, d] = band.rows[i, d]
        add_rows(problem, y, band, factors, gradient)
        solve_band(band, factors, count, gradient)
        share, then = 1.0, math.inf
        for _ in range(_MAX_HALVINGS):
            for i in range(count):
                tried[i] = y[i] - share * gradient[i]
            multiply_band(band, tried, count, tried_product)
            then = measure_cost(problem, band, tried, count, tried_product, base)
            if then < cost:
                break
            share *= 0.5
        if not then < cost:
            break
        gain, cost = cost - then, then
        for i in range(count):
            y[i], product[i] = tried[i], tried_product[i]
        if gain <= _MIN_GAIN * abs(cost):
            break
    for i in range(size):
        x[i] = y[int(numbers[i])] if numbers[i] >= 0.0 else 0.0
