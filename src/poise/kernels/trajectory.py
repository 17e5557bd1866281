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
from poise.kernels.lanes import SCALAR, stack_matrix, view_lanes

MAX_COLUMNS = 8  # unknowns of a frame that one point or row depends on
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

    Its rows reach ahead by two frames.

    numbers  (F K,) which row each unknown has; -1 for those that are not free
    sizes    (n,) how far each row reaches: H[i, i + d] stands at rows[i, d] for d below it
    rows     (n, 3 K)
    """

    numbers: NDArray[np.float64]
    sizes: NDArray[np.float64]
    rows: NDArray[np.float64]


@device_function
def number_unknowns(free, numbers, sizes):
    """Number the free unknowns (F, K), and return how many they are.

    How far the rows reach is written, too.
    """
    frames, unknowns = free.shape
    count = 0
    for t in range(frames):
        for k in range(unknowns):
            if free[t, k]:
                numbers[t * unknowns + k] = count
                count += 1
            else:
                numbers[t * unknowns + k] = -1
    end = count
    for t in range(frames - 1, -1, -1):
        if t + 3 < frames:  # of the last row of the frame after the next
            for k in range(unknowns):
                end -= 1 if free[t + 3, k] else 0
        for k in range(unknowns):
            number = int(numbers[t * unknowns + k])
            if number >= 0:
                sizes[number] = end - number
    return count


@device_function
def add_gradient(problem, frame, point, band, gradient):
    """Add a point of a frame to the gradient.

    It is in three changes of step.
    """
    frames, unknowns = problem.values.shape
    x, y, z = 0.0, 0.0, 0.0
    for side in range(-1, 2):
        at = frame + side
        if 0 < at < frames - 1:
            weight = problem.weights[at, point] * (-2.0 if side == 0 else 1.0)
            change = problem.changes[at, point]
            x, y, z = x + weight * change[0], y + weight * change[1], z + weight * change[2]
    slopes = problem.slopes[frame, point]
    for k in range(problem.columns.shape[1]):
        number = int(band.numbers[frame * unknowns + problem.columns[point, k]])
        if number >= 0:
            gradient[number] += slopes[0, k] * x + slopes[1, k] * y + slopes[2, k] * z


@device_function
def weigh_pair(problem, frame, point, later):
    """Sum the weights of a product of slopes of a point.

    They are those of a frame and of `later` frames on.
    """
    last, weights, total = problem.values.shape[0] - 1, problem.weights, 0.0
    if later == 0:
        total += weights[frame - 1, point] if frame > 1 else 0.0
        total += 4.0 * weights[frame, point] if 0 < frame < last else 0.0
        return total + (weights[frame + 1, point] if frame + 1 < last else 0.0)
    if later == 1:
        total -= 2.0 * weights[frame, point] if frame > 0 else 0.0
        return total - (2.0 * weights[frame + 1, point] if frame + 1 < last else 0.0)
    return weights[frame + 1, point]


@device_function
def add_products(here, there, weight, block):
    """Add the weighed product of two slopes (3, M) to a block."""
    count = here.shape[1]
    for a in range(count):
        x, y, z = weight * here[0, a], weight * here[1, a], weight * here[2, a]
        row = block[a]
        for b in range(count):
            row[b] += x * there[0, b] + y * there[1, b] + z * there[2, b]


@device_function
def add_block(problem, frame, point, later, block, band):
    """Add a block to the matrix, and clear it.

    Its columns are those of a point in a frame, and `later` frames on.
    """
    unknowns, count = problem.values.shape[1], problem.columns.shape[1]
    for a in range(count):
        number = int(band.numbers[frame * unknowns + problem.columns[point, a]])
        for b in range(a if later == 0 else 0, count):
            other = int(band.numbers[(frame + later) * unknowns + problem.columns[point, b]])
            if number >= 0 and other >= 0:
                band.rows[number, other - number] += block[a, b]
        for b in range(count):
            block[a, b] = 0.0


@device_function
def is_alike(columns, point, other):
    """Return whether two points depend on the same unknowns."""
    for k in range(columns.shape[1]):
        if columns[point, k] != columns[other, k]:
            return False
    return True


@device_function
def assemble_squares(problem, damping, block, band, gradient, count):
    """Write matrix and gradient of changes and values, at x = 0. Scratch memory: `block` (8, 8)."""
    frames, unknowns = problem.values.shape
    points = problem.columns.shape[0]
    for i in range(count):
        gradient[i] = 0.0
        for d in range(int(band.sizes[i])):
            band.rows[i, d] = 0.0
    for t in range(frames):
        for p in range(points):
            add_gradient(problem, t, p, band, gradient)
        for later in range(min(3, frames - t)):
            for p in range(points):
                weight = weigh_pair(problem, t, p, later)
                if weight != 0.0:
                    add_products(problem.slopes[t, p], problem.slopes[t + later, p], weight, block)
                if p + 1 == points or not is_alike(problem.columns, p, p + 1):
                    add_block(problem, t, p, later, block, band)
    for t in range(frames):
        for k in range(unknowns):
            row = int(band.numbers[t * unknowns + k])
            if row >= 0:
                weight = problem.value_weights[t, k]
                band.rows[row, 0] += (1.0 + damping[t]) * weight
                gradient[row] += weight * problem.values[t, k]


@device_function
def move_rows(problem, band, step, changes):
    """Write the changes of rows (F, R) by a step (n,)."""
    unknowns = problem.values.shape[1]
    for t in range(problem.rows.shape[0]):
        for r in range(problem.rows.shape[1]):
            total = 0.0
            for k in range(problem.row_columns.shape[1]):
                number = int(band.numbers[t * unknowns + problem.row_columns[r, k]])
                if number >= 0:
                    total += problem.row_slopes[t, r, k] * step[number]
            changes[t, r] = total


@device_function
def add_rows(problem, violations, band, rows, direction):
    """Add violated rows to the matrix, and subtract their gradient."""
    frames, unknowns = problem.values.shape
    per_row = problem.row_columns.shape[1]
    for t in range(frames):
        for r in range(problem.row_columns.shape[0]):
            value = violations[t, r]
            if value <= 0.0:
                continue
            for a in range(per_row):
                number = int(band.numbers[t * unknowns + problem.row_columns[r, a]])
                slope = problem.row_slopes[t, r, a]
                if number < 0 or slope == 0.0:
                    continue
                direction[number] -= slope * value
                for b in range(a, per_row):
                    other = int(band.numbers[t * unknowns + problem.row_columns[r, b]])
                    if other >= 0:
                        rows[number, other - number] += slope * problem.row_slopes[t, r, b]


@device_function
def multiply_band(band, y, count, product):
    """Write the product of the matrix and y (n,)."""
    for i in range(count):
        product[i] = 0.0
    for i in range(count):
        row, size = band.rows[i], int(band.sizes[i])
        ahead, out, value = y[i : i + size], product[i : i + size], y[i]
        total = 0.0
        for d in range(size):
            total += row[d] * ahead[d]
        for d in range(1, size):
            out[d] += row[d] * value
        product[i] += total


@inline
def eliminate(rows, i, size, count, right):
    """Take row i of a band from so many rows ahead.

    Its size is that of `Band`.
    """
    own = rows[i]
    inverse, value = 1.0 / max(own[0], _MIN_PIVOT), right[i]
    for d in range(1, count + 1):
        factor, ahead = own[d] * inverse, rows[i + d]
        for e in range(size - d):
            ahead[e] -= factor * own[d + e]
        right[i + d] -= factor * value


@device_function
def eliminate_four(rows, i, size, right):
    """Take rows i to i + 3 from all rows ahead.

    They reach equally far.
    """
    a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
    for k in range(3):
        eliminate(rows, i + k, size - k, 3 - k, right)
    over_a, over_b = 1.0 / max(a[0], _MIN_PIVOT), 1.0 / max(b[0], _MIN_PIVOT)
    over_c, over_d = 1.0 / max(c[0], _MIN_PIVOT), 1.0 / max(d[0], _MIN_PIVOT)
    for m in range(1, size - 3):
        ahead = rows[i + 3 + m]
        by_a, by_b, by_c, by_d = a[m + 3] * over_a, b[m + 2] * over_b, c[m + 1] * over_c, d[m] * over_d
        a_on, b_on, c_on, d_on = a[m + 3 :], b[m + 2 :], c[m + 1 :], d[m:]
        for e in range(size - 3 - m):
            ahead[e] -= by_a * a_on[e] + by_b * b_on[e] + by_c * c_on[e] + by_d * d_on[e]
        right[i + 3 + m] -= by_a * right[i] + by_b * right[i + 1] + by_c * right[i + 2] + by_d * right[i + 3]


@device_function
def solve_band(band, rows, count, right):
    """Solve H y = right in place by Cholesky factors without roots.

    rows  H in the rows of a band, replaced by its factors
    """
    i = 0
    while i < count:
        size = int(band.sizes[i])
        # Four rows at once, where they reach equally far: what they are taken from is read and written once.
        if i + 3 < count and int(band.sizes[i + 3]) == size - 3:
            eliminate_four(rows, i, size, right)
            i += 4
        else:
            eliminate(rows, i, size, size - 1, right)
            i += 1
    for i in range(count - 1, -1, -1):
        own, size = rows[i], int(band.sizes[i])
        ahead, total = right[i : i + size], right[i]
        for d in range(1, size):
            total -= own[d] * ahead[d]
        right[i] = total / max(own[0], _MIN_PIVOT)


@device_function
def measure_rows(violations, changes, share):
    """Halve the squares of rows above 0, after a share of changes."""
    total = 0.0
    for t in range(violations.shape[0]):
        for r in range(violations.shape[1]):
            value = max(violations[t, r] + share * changes[t, r], 0.0)
            total += value * value
    return 0.5 * total


@inline
def compute_work_size(frame_count, unknown_count, row_count):
    """Compute the size of the scratch memory, in numbers."""
    return frame_count * (unknown_count * (6 * unknown_count + 7) + 2 * row_count)


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
    numbers, sizes = view_lanes(SCALAR, work, vectors, size), view_lanes(SCALAR, work, vectors + size, size)
    band = Band(numbers, sizes, view_lanes(SCALAR, work, 0, size, width))
    factors = view_lanes(SCALAR, work, size * width, size, width)
    base = view_lanes(SCALAR, work, vectors + 2 * size, size)
    direction = view_lanes(SCALAR, work, vectors + 3 * size, size)
    y = view_lanes(SCALAR, work, vectors + 4 * size, size)
    product = view_lanes(SCALAR, work, vectors + 5 * size, size)
    turned = view_lanes(SCALAR, work, vectors + 6 * size, size)
    violations = view_lanes(SCALAR, work, vectors + 7 * size, rows.shape[0], rows.shape[1])
    moves = view_lanes(SCALAR, work, vectors + 7 * size + rows.size, rows.shape[0], rows.shape[1])
    block = stack_matrix(SCALAR, MAX_COLUMNS, MAX_COLUMNS)
    for a in range(MAX_COLUMNS):
        for b in range(MAX_COLUMNS):
            block[a, b] = 0.0
    count = number_unknowns(free, numbers, sizes)
    assemble_squares(problem, damping, block, band, base, count)
    for i in range(count):
        y[i] = product[i] = 0.0
    for t in range(rows.shape[0]):
        for r in range(rows.shape[1]):
            violations[t, r], moves[t, r] = rows[t, r], 0.0
    cost = measure_rows(violations, moves, 0.0)
    for _ in range(rounds):
        for i in range(count):
            direction[i] = -(base[i] + product[i])
            for d in range(int(sizes[i])):
                factors[i, d] = band.rows[i, d]
        add_rows(problem, violations, band, factors, direction)
        solve_band(band, factors, count, direction)
        multiply_band(band, direction, count, turned)
        move_rows(problem, band, direction, moves)
        along, square, squares = 0.0, 0.0, 0.0
        for i in range(count):
            along += direction[i] * (base[i] + product[i])
            square += direction[i] * turned[i]
            squares += y[i] * (0.5 * product[i] + base[i])
        share, then = 1.0, math.inf
        for _ in range(_MAX_HALVINGS):
            then = squares + share * (along + 0.5 * share * square) + measure_rows(violations, moves, share)
            if then < cost:
                break
            share *= 0.5
        if not then < cost:
            break
        gain, cost = cost - then, then
        for i in range(count):
            y[i], product[i] = y[i] + share * direction[i], product[i] + share * turned[i]
        for t in range(rows.shape[0]):
            for r in range(rows.shape[1]):
                violations[t, r] += share * moves[t, r]
        if gain <= _MIN_GAIN * abs(cost):
            break
    for i in range(size):
        x[i] = y[int(numbers[i])] if numbers[i] >= 0.0 else 0.0
