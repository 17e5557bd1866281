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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.kernels.band_matrix import Band, clear_band, compute_width, copy_band, round_up, solve_band, view_band
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import LANES4, SCALAR, broadcast, view_lanes

PANEL = 4  # rows of a panel of the band matrix
MAX_COLUMNS = 8  # unknowns of a frame that one point or row depends on
_MAX_HALVINGS = 14
_MIN_GAIN = 1e-6  # of what was gained so far: less is not worth another set of rows, since the next step begins anew


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


class Numbers(NamedTuple):
    """Rows of the band matrix over the free unknowns.

    They reach ahead by two frames.

    rows     (F K,) the row of each unknown; -1 for those that are not free
    reaches  (n / 4,) those of its panels, see `band_matrix.solve_band`
    """

    rows: NDArray[np.float64]
    reaches: NDArray[np.float64]


class Descent(NamedTuple):
    """What the rounds of a step change.

    y           (n,) the step so far
    gradient    (n,) of changes and values there
    right       a column: the right side of a round, then the direction that solves it
    turned      (n,) the matrix of changes and values times the direction
    violations  (F, R) rows after the step so far
    moves       (F, R) what the direction adds to them
    """

    y: NDArray[np.float64]
    gradient: NDArray[np.float64]
    right: Band
    turned: NDArray[np.float64]
    violations: NDArray[np.float64]
    moves: NDArray[np.float64]


class Window(NamedTuple):
    """The slopes of three frames, and blocks of products.

    slopes  (9 P, 8) of three frames and P points, three rows each, see `find_rows`
    blocks  (24, 8) products of a point's slopes with those now, a frame later and two later
    """

    slopes: Band
    blocks: Band


@inline
def count_free(free, frame):
    """Count the free unknowns of a frame."""
    count = 0
    for k in range(free.shape[1]):
        count += 1 if free[frame, k] else 0
    return count


@device_function
def number_unknowns(free, rows, reaches):
    """Number the free unknowns (F, K), and return how many they are.

    See `Numbers`. Reaches are written for the panels that there are.
    """
    frames, unknowns = free.shape
    count = 0
    for t in range(frames):
        for k in range(unknowns):
            rows[t * unknowns + k] = count if free[t, k] else -1
            count += 1 if free[t, k] else 0
    first, last, end = 0, 0, 0
    for t in range(frames):
        while last < min(t + 3, frames):  # to the last row of the frame after the next
            end += count_free(free, last)
            last += 1
        for _ in range(count_free(free, t)):
            reaches[first // PANEL] = round_up(LANES4, end - first + first % PANEL)
            first += 1
    return count


@device_function
def add_gradient(problem, frame, point, numbers, gradient):
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
        number = int(numbers.rows[frame * unknowns + problem.columns[point, k]])
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


@inline
def find_rows(problem, frame, point):
    """Find the first of a point's three rows in a window."""
    return 3 * (frame % 3 * problem.columns.shape[0] + point)


@device_function
def read_slopes(problem, frame, numbers, window):
    """Read the slopes of a frame into the window.

    Those by unknowns that are not free are 0.
    """
    count, unknowns = problem.columns.shape[1], problem.values.shape[1]
    for p in range(problem.columns.shape[0]):
        first = find_rows(problem, frame, p)
        for k in range(MAX_COLUMNS):
            is_free = k < count and numbers.rows[frame * unknowns + problem.columns[p, min(k, count - 1)]] >= 0.0
            for c in range(3):
                window.slopes.rows[first + c, k] = problem.slopes[frame, p, c, k] if is_free else 0.0


@device_function
def add_products(problem, frame, point, window):
    """Add the weighed products of a point's slopes to the blocks."""
    here, now = find_rows(problem, frame, point), weigh_pair(problem, frame, point, 0)
    ahead, beyond = find_rows(problem, frame + 1, point), find_rows(problem, frame + 2, point)
    frames, slopes, blocks = problem.values.shape[0], window.slopes, window.blocks.tiles
    next_weight = weigh_pair(problem, frame, point, 1) if frame + 1 < frames else 0.0
    last_weight = weigh_pair(problem, frame, point, 2) if frame + 2 < frames else 0.0
    for c in range(3):
        a, b = now * slopes.tiles[here + c, 0], now * slopes.tiles[here + c, 1]
        next_a, next_b = next_weight * slopes.tiles[ahead + c, 0], next_weight * slopes.tiles[ahead + c, 1]
        last_a, last_b = last_weight * slopes.tiles[beyond + c, 0], last_weight * slopes.tiles[beyond + c, 1]
        for k in range(MAX_COLUMNS):
            slope = slopes.rows[here + c, k]
            if slope != 0.0:  # most are 0
                blocks[k, 0] += slope * a
                blocks[k, 1] += slope * b
                blocks[MAX_COLUMNS + k, 0] += slope * next_a
                blocks[MAX_COLUMNS + k, 1] += slope * next_b
                blocks[2 * MAX_COLUMNS + k, 0] += slope * last_a
                blocks[2 * MAX_COLUMNS + k, 1] += slope * last_b


@device_function
def add_blocks(problem, frame, point, window, numbers, band):
    """Add the blocks to the matrix, and clear them. Their columns are those of a point."""
    unknowns, count = problem.values.shape[1], problem.columns.shape[1]
    for later in range(min(3, problem.values.shape[0] - frame)):
        for a in range(count):
            number = int(numbers.rows[frame * unknowns + problem.columns[point, a]])
            if number < 0:
                continue
            products = window.blocks.rows[later * MAX_COLUMNS + a]
            for b in range(a if later == 0 else 0, count):
                other = int(numbers.rows[(frame + later) * unknowns + problem.columns[point, b]])
                if other >= 0:
                    band.rows[number, other - number + number % PANEL] += products[b]
    clear_blocks(window)


@inline
def clear_blocks(window):
    """Clear the blocks."""
    for a in range(3 * MAX_COLUMNS):
        for e in range(MAX_COLUMNS // PANEL):
            window.blocks.tiles[a, e] = broadcast(LANES4, 0.0)


@device_function
def is_alike(columns, point, other):
    """Return whether two points depend on the same unknowns."""
    for k in range(columns.shape[1]):
        if columns[point, k] != columns[other, k]:
            return False
    return True


@device_function
def assemble_squares(problem, damping, window, numbers, band, gradient):
    """Write matrix and gradient of changes and values, at x = 0."""
    frames, unknowns = problem.values.shape
    points = problem.columns.shape[0]
    clear_band(LANES4, band, numbers.reaches)
    clear_blocks(window)
    for t in range(min(2, frames)):
        read_slopes(problem, t, numbers, window)
    for t in range(frames):
        if t + 2 < frames:
            read_slopes(problem, t + 2, numbers, window)
        for p in range(points):
            add_gradient(problem, t, p, numbers, gradient)
            add_products(problem, t, p, window)
            if p + 1 == points or not is_alike(problem.columns, p, p + 1):
                add_blocks(problem, t, p, window, numbers, band)
    for t in range(frames):
        for k in range(unknowns):
            row = int(numbers.rows[t * unknowns + k])
            if row >= 0:
                weight = problem.value_weights[t, k]
                band.rows[row, row % PANEL] += (1.0 + damping[t]) * weight - 1.0
                gradient[row] += weight * problem.values[t, k]


@device_function
def move_rows(problem, numbers, descent):
    """Write what the direction adds to rows."""
    unknowns = problem.values.shape[1]
    for t in range(problem.rows.shape[0]):
        for r in range(problem.rows.shape[1]):
            total = 0.0
            for k in range(problem.row_columns.shape[1]):
                number = int(numbers.rows[t * unknowns + problem.row_columns[r, k]])
                if number >= 0:
                    total += problem.row_slopes[t, r, k] * descent.right.rows[0, number]
            descent.moves[t, r] = total


@device_function
def subtract_row(problem, frame, row, value, numbers, vector):
    """Subtract a row's slopes, times a value, from a vector (n,)."""
    for k in range(problem.row_columns.shape[1]):
        number = int(numbers.rows[frame * problem.values.shape[1] + problem.row_columns[row, k]])
        if number >= 0:
            vector[number] -= problem.row_slopes[frame, row, k] * value


@device_function
def add_row(problem, frame, row, numbers, band):
    """Add the square of a row to the matrix."""
    unknowns, count = problem.values.shape[1], problem.row_columns.shape[1]
    for a in range(count):
        number = int(numbers.rows[frame * unknowns + problem.row_columns[row, a]])
        slope = problem.row_slopes[frame, row, a]
        for b in range(a, count if number >= 0 and slope != 0.0 else a):
            other = int(numbers.rows[frame * unknowns + problem.row_columns[row, b]])
            if other >= 0:
                band.rows[number, other - number + number % PANEL] += slope * problem.row_slopes[frame, row, b]


@device_function
def measure_rows(descent, share):
    """Halve the squares of rows above 0, after a share of moves."""
    total = 0.0
    for t in range(descent.moves.shape[0]):
        for r in range(descent.moves.shape[1]):
            value = max(descent.violations[t, r] + share * descent.moves[t, r], 0.0)
            total += value * value
    return 0.5 * total


@device_function
def find_direction(problem, numbers, band, factors, descent):
    """Find the direction to the least cost.

    It is exact where the same rows are violated then.
    """
    right, turned = descent.right.rows[0], descent.turned
    copy_band(LANES4, band, numbers.reaches, factors)
    for i in range(len(turned)):
        right[i] = turned[i] = -descent.gradient[i]
    for t in range(problem.rows.shape[0]):
        for r in range(problem.rows.shape[1]):
            if descent.violations[t, r] > 0.0:
                add_row(problem, t, r, numbers, factors)
                subtract_row(problem, t, r, descent.violations[t, r], numbers, right)
    solve_band(LANES4, factors, numbers.reaches, descent.right)
    move_rows(problem, numbers, descent)
    for t in range(problem.rows.shape[0]):  # the matrix times the direction is what rows leave of the right side
        for r in range(problem.rows.shape[1]):
            value = descent.violations[t, r]
            if value > 0.0:
                subtract_row(problem, t, r, value + descent.moves[t, r], numbers, turned)


@device_function
def find_share(descent):
    """Find the share of the direction to go, and its gain.

    Both are 0 where nothing is gained.
    """
    along, square, share, before = 0.0, 0.0, 1.0, measure_rows(descent, 0.0)
    for i in range(len(descent.y)):
        along += descent.right.rows[0, i] * descent.gradient[i]
        square += descent.right.rows[0, i] * descent.turned[i]
    for _ in range(_MAX_HALVINGS):
        gain = before - measure_rows(descent, share) - share * (along + 0.5 * share * square)
        if gain > 0.0:
            return share, gain
        share *= 0.5
    return 0.0, 0.0


@device_function
def go(descent, share):
    """Go a share of the direction. Returns whether other rows are violated then."""
    is_changed = False
    for i in range(len(descent.y)):
        descent.y[i] += share * descent.right.rows[0, i]
        descent.gradient[i] += share * descent.turned[i]
    for t in range(descent.moves.shape[0]):
        for r in range(descent.moves.shape[1]):
            value = descent.violations[t, r] + share * descent.moves[t, r]
            is_changed = is_changed or (value > 0.0) != (descent.violations[t, r] > 0.0)
            descent.violations[t, r] = value
    return is_changed


@inline
def compute_work_size(frame_count, unknown_count, point_count, row_count):
    """Compute the size of the scratch memory, in numbers."""
    size = round_up(LANES4, frame_count * unknown_count)
    window = MAX_COLUMNS * (9 * point_count + 3 * MAX_COLUMNS)
    return size * (2 * compute_width(LANES4, 3 * unknown_count) + 6) + window + 2 * frame_count * row_count


@inline
def start_descent(problem, work, start, count):
    """View the memory of a descent, and write where it starts."""
    frames, row_count = problem.rows.shape
    rows = start + 4 * count
    descent = Descent(
        view_lanes(SCALAR, work, start + count, count),
        view_lanes(SCALAR, work, start + 2 * count, count),
        view_band(LANES4, work, start, 1, count),
        view_lanes(SCALAR, work, start + 3 * count, count),
        view_lanes(SCALAR, work, rows, frames, row_count),
        view_lanes(SCALAR, work, rows + problem.rows.size, frames, row_count),
    )
    for i in range(count):
        descent.y[i] = descent.gradient[i] = 0.0
    for t in range(frames):
        for r in range(row_count):
            descent.violations[t, r], descent.moves[t, r] = problem.rows[t, r], 0.0
    return descent


@kernel("F3 F4 I2 F2 F2 F3 I2 F2 B2 F2 F1 i wF1 aF1 ->")
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
    size, width, points = round_up(LANES4, len(x)), compute_width(LANES4, 3 * values.shape[1]), 9 * columns.shape[0]
    band, factors = view_band(LANES4, work, 0, size, width), view_band(LANES4, work, size * width, size, width)
    end = 2 * size * width
    window = Window(
        view_band(LANES4, work, end, points, MAX_COLUMNS),
        view_band(LANES4, work, end + points * MAX_COLUMNS, 3 * MAX_COLUMNS, MAX_COLUMNS),
    )
    end += MAX_COLUMNS * (points + 3 * MAX_COLUMNS)
    row_numbers, reaches = view_lanes(SCALAR, work, end, len(x)), view_lanes(SCALAR, work, end + size, size)
    count = round_up(LANES4, number_unknowns(free, row_numbers, reaches))
    numbers = Numbers(row_numbers, reaches[: count // PANEL])
    descent = start_descent(problem, work, end + 2 * size, count)
    assemble_squares(problem, damping, window, numbers, band, descent.gradient)
    gained = 0.0
    for _ in range(rounds):
        find_direction(problem, numbers, band, factors, descent)
        share, gain = find_share(descent)
        is_changed = go(descent, share)
        gained += gain
        if gain <= _MIN_GAIN * gained or (share == 1.0 and not is_changed):  # the latter is the minimum
            break
    for i in range(len(x)):
        x[i] = descent.y[int(row_numbers[i])] if row_numbers[i] >= 0.0 else 0.0
