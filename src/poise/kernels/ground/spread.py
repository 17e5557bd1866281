# pyright: standard
"""Spread: the least that pelvis and feet must move for no change of step to be larger than its bound.

In each of F frames so much can move: the pelvis up, and of each of L legs the ball of the foot (x, y, z), the heel up
about it and the toes up, K = 1 + 5 L numbers [mm]; the last two are arcs 20 cm from where foot and toes turn. Where
hips, knees, ankles and the ends of toes then are is bent (`swung`), and near to that linear in the moves (`least`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.ground.legs import bend
from poise.kernels.lanes import SCALAR, stack_array, stack_matrix, view_lanes
from poise.kernels.vec_quat import Vec, add, from_axis_angle, read_vec, rotate, scale, sub, write_vec

ARM = 0.2  # [m] from where they turn is where the way of heels and toes is counted
_STEP = 1e-5  # [m] by which something is moved to see what that changes
PELVIS = 0.3  # of a move is what it moves the pelvis by: with it goes all that it carries
OWN = 5  # numbers that move a leg: x, y and z of the ball, heel and toes
_MOVES = OWN + 1  # and the pelvis
_STEP_MOVES = 3 * _MOVES  # of the three frames of a change of step
_TINY = 1e-12
_HALVINGS = 5
_LEAST_GAIN = 1e-4  # of the costs: less is not worth a round


class Linear(NamedTuple):
    """What is linear in the moves, near to those that have been made.

    changes      (F, L, 4, 3) of step [mm] of hip, knee, ankle and end of the toes, from frame to frame
    bounds       (F, L, 4) [mm]
    counts       (F,) whether changes of step are known there
    slopes       (F, L, 4, 3, 6) by which these joints move per move of their leg
    walls        (F, L, 4) how far leg, heel, ball and tip are beyond where they may be, times what a millimetre of
                 that counts; below 0 if they are not
    wall_slopes  (F, L, 4, 6)
    made         (F K,) [mm] the moves that have been made
    free         (F K,) which of them may be other than that
    weights      (2,) what moves cost, and their own changes of step
    """

    changes: NDArray[np.float64]
    bounds: NDArray[np.float64]
    counts: NDArray[np.bool_]
    slopes: NDArray[np.float64]
    walls: NDArray[np.float64]
    wall_slopes: NDArray[np.float64]
    made: NDArray[np.float64]
    free: NDArray[np.bool_]
    weights: NDArray[np.float64]


@device_function
def put_leg(places, axis, up, ball, across, heel, toe, arms, most, length, found):
    """Where hip, knee, ankle and the end of the toes come (4, 3), when heel and toes go up by angles.

    arms (3, 3): from ball to ankle, from there to the joint of the toes, which turn with the heel, and on to their end
    """
    turn = from_axis_angle(across, heel)
    ankle = add(ball, rotate(turn, read_vec(arms, 0)))
    toes = add(rotate(turn, read_vec(arms, 1)), rotate(from_axis_angle(across, -toe), read_vec(arms, 2)))
    hip, knee = read_vec(places, 0), read_vec(places, 1)
    there = Vec(hip.x, hip.y, hip.z + up)
    thigh, _, end = bend(hip, knee, read_vec(places, 2), axis, there, ankle, most, length)
    write_vec(found, 0, there)
    write_vec(found, 1, add(there, scale(rotate(thigh, sub(knee, hip)), length)))
    write_vec(found, 2, end)
    write_vec(found, 3, add(end, toes))


@kernel("F4 F3 F1 F3 F3 F3 F4 F2 F2 wF4 wF5 ->")
def swung(places, axes, up, balls, across, angles, arms, most, lengths, found, slopes):
    """Where hips, knees, ankles and ends of toes come, and how much they move per move of their leg.

    places (F, L, 5, 3) as animated; axes (F, L, 3) about which knees bend; up (F,); balls, across (F, L, 3); angles
    (F, L, 2) by which heels and toes go up, about `across`; arms (F, L, 3, 3) see `put_leg`; most, lengths (F, L) as
    for `bend`;
    out: found (F, L, 4, 3) [m], slopes (F, L, 4, 3, 6).
    """
    there = stack_matrix(SCALAR, 4, 3)
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            here, lever, axis, ball = places[i, j], arms[i, j], read_vec(axes[i], j), read_vec(balls[i], j)
            lies, longest, length = read_vec(across[i], j), most[i, j], lengths[i, j]
            heel, toe = angles[i, j, 0], angles[i, j, 1]
            put_leg(here, axis, up[i], ball, lies, heel, toe, lever, longest, length, found[i, j])
            for k in range(_MOVES):
                moved = Vec(ball.x + _STEP * (k == 1), ball.y + _STEP * (k == 2), ball.z + _STEP * (k == 3))
                higher, turned = up[i] + PELVIS * _STEP * (k == 0), heel + _STEP / ARM * (k == 4)
                bent = toe + _STEP / ARM * (k == OWN)
                put_leg(here, axis, higher, moved, lies, turned, bent, lever, longest, length, there)
                for p in range(4):
                    for c in range(3):
                        slopes[i, j, p, c, k] = (there[p, c] - found[i, j, p, c]) / _STEP


@device_function
def column(frame, leg, k, legs):
    """Which of all numbers moves a leg in a frame: the pelvis for k = 0, its own from 1 on."""
    return frame * (1 + OWN * legs) + (0 if k == 0 else OWN * leg + k)


@device_function
def times_of(side):
    """How often the frame before (-1), the frame itself (0) and the one after (1) count in a change of step."""
    return -2.0 if side == 0 else 1.0


@device_function
def changed(near, t, j, p, x, v):
    """The change of step (3,) [mm] of a joint after moves x, in v, and its size."""
    legs = near.changes.shape[1]
    for c in range(3):
        v[c] = near.changes[t, j, p, c]
    for side in range(-1, 2):
        at = t + side
        for k in range(_MOVES):
            much = times_of(side) * x[column(at, j, k, legs)]
            if much != 0.0:
                for c in range(3):
                    v[c] += much * near.slopes[at, j, p, c, k]
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@device_function
def beyond(near, i, j, p, x):
    """How far [mm] part of a leg is beyond its wall after moves x."""
    value = near.walls[i, j, p]
    for k in range(_MOVES):
        value += near.wall_slopes[i, j, p, k] * x[column(i, j, k, near.walls.shape[1])]
    return value


@device_function
def bends_by(near, c, x):
    """The change of step of a move itself."""
    many = 1 + OWN * near.walls.shape[1]
    return near.made[c - many] + x[c - many] - 2.0 * (near.made[c] + x[c]) + near.made[c + many] + x[c + many]


@device_function
def costs(near, x, v):
    """Half the sum of squares of what is over bounds and beyond walls; of all moves and their changes, by weights."""
    frames, legs = near.walls.shape[0], near.walls.shape[1]
    many = 1 + OWN * legs
    total = 0.0
    for i in range(frames):
        for j in range(legs):
            for p in range(4):
                total += max(beyond(near, i, j, p, x), 0.0) ** 2
                if near.counts[i]:
                    total += max(changed(near, i, j, p, x, v) - near.bounds[i, j, p], 0.0) ** 2
    for c in range(frames * many):
        total += near.weights[0] * (near.made[c] + x[c]) ** 2
        if many <= c < (frames - 1) * many:
            total += near.weights[1] * bends_by(near, c, x) ** 2
    return 0.5 * total


@device_function
def put_rows(near, rows, columns, count, much, band, gradient):
    """Add the squares of three rows, of which `count` columns are not zero, to the band; and much (3,) of each."""
    for a in range(count):
        first = int(columns[a])
        if not near.free[first]:
            continue
        gradient[first] += rows[0, a] * much[0] + rows[1, a] * much[1] + rows[2, a] * much[2]
        for b in range(count):
            other = int(columns[b])
            if other <= first and near.free[other]:
                product = rows[0, a] * rows[0, b] + rows[1, a] * rows[1, b] + rows[2, a] * rows[2, b]
                band[first, first - other] += product


@device_function
def put_change(near, t, j, p, x, rows, columns, much, v, band, gradient):
    """Add what half the square of a change of step over its bound has for slope and curvature.

    With the size s of the change, its direction u and the bound b the slope is (s - b) u, and the curvature
    u u^T + (1 - b / s)(1 - u u^T): the square of M = u u^T + g (1 - u u^T) with g = sqrt(1 - b / s).
    """
    size = changed(near, t, j, p, x, v)
    over = size - near.bounds[t, j, p]
    if over <= 0.0:
        return
    g, count = math.sqrt(over / size), 0
    for c in range(3):
        v[c] /= size
        much[c] = over * v[c]
    for side in range(-1, 2):
        at, times = t + side, times_of(side)
        for k in range(_MOVES):
            slope = near.slopes[at, j, p]
            along = v[0] * slope[0, k] + v[1] * slope[1, k] + v[2] * slope[2, k]
            for c in range(3):
                rows[c, count] = times * (g * slope[c, k] + (1.0 - g) * along * v[c])
            columns[count] = column(at, j, k, near.walls.shape[1])
            count += 1
    put_rows(near, rows, columns, count, much, band, gradient)


@device_function
def put_wall(near, i, j, p, x, rows, columns, much, band, gradient):
    """Add what half the square of the way beyond a wall has for slope and curvature."""
    way = beyond(near, i, j, p, x)
    if way <= 0.0:
        return
    for k in range(_MOVES):
        columns[k] = column(i, j, k, near.walls.shape[1])
        rows[0, k], rows[1, k], rows[2, k] = near.wall_slopes[i, j, p, k], 0.0, 0.0
    much[0], much[1], much[2] = way, 0.0, 0.0
    put_rows(near, rows, columns, _MOVES, much, band, gradient)


@device_function
def put_moves(near, x, band, gradient):
    """Add what the moves themselves cost."""
    many = 1 + OWN * near.walls.shape[1]
    for c in range(len(x)):
        if near.free[c]:
            band[c, 0] += near.weights[0]
            gradient[c] += near.weights[0] * (near.made[c] + x[c])
        else:
            band[c, 0] = 1.0
    for c in range(many, len(x) - many):
        bent = near.weights[1] * bends_by(near, c, x)
        for a in range(-1, 2):
            first = c + a * many
            if near.free[first]:
                gradient[first] += times_of(a) * bent
                for b in range(-1, a + 1):
                    if near.free[c + b * many]:
                        band[first, (a - b) * many] += near.weights[1] * times_of(a) * times_of(b)


@device_function
def put_all(near, damping, x, rows, columns, much, v, band, gradient):
    """Slope and curvature of all that costs; those of damping, which is about moves that were made, are no costs."""
    band[:] = 0.0
    gradient[:] = 0.0
    for i in range(near.walls.shape[0]):
        for j in range(near.walls.shape[1]):
            for p in range(4):
                put_wall(near, i, j, p, x, rows, columns, much, band, gradient)
                if near.counts[i]:
                    put_change(near, i, j, p, x, rows, columns, much, v, band, gradient)
    put_moves(near, x, band, gradient)
    for c in range(len(x)):
        gradient[c] += damping * band[c, 0] * x[c]


@device_function
def solve_band(band, damping, right):
    """Solve (H + damping diag H) y = right in place by Cholesky's method; H[i, j] is at band[i, i - j]."""
    size, width = band.shape
    for i in range(size):
        band[i, 0] *= 1.0 + damping
        first = max(0, i - width + 1)
        for j in range(first, i + 1):
            total = band[i, i - j]
            for k in range(max(first, j - width + 1), j):
                total -= band[i, i - k] * band[j, j - k]
            band[i, i - j] = total / band[j, 0] if j < i else math.sqrt(max(total, _TINY))
    for i in range(size):
        total = right[i]
        for k in range(max(0, i - width + 1), i):
            total -= band[i, i - k] * right[k]
        right[i] = total / band[i, 0]
    for i in range(size - 1, -1, -1):
        total = right[i]
        for k in range(i + 1, min(size, i + width)):
            total -= band[k, k - i] * right[k]
        right[i] = total / band[i, 0]


@inline
def compute_work_size(move_count, leg_count):
    """Compute the size of the scratch memory for F K moves of L legs."""
    return move_count * (3 * (1 + OWN * leg_count) + 2)


@kernel("F4 F3 B1 F5 F3 F4 F1 B1 F1 f i wF1 sF1 ->")
def least(
    changes, bounds, counts, slopes, walls, wall_slopes, made, free, weights, damping, rounds, x, work
):  # fmt: skip
    """The moves x (F K,) [mm] to be added to those that were made; see `Linear`.

    Newton's method on `costs`, whose curvature is a band, with steps halved until they cost less. Damping adds a share
    of the curvature along each move, for moves that are so large that nothing is linear any more. work: scratch
    memory for `compute_work_size` numbers.
    """
    near = Linear(changes, bounds, counts, slopes, walls, wall_slopes, made, free, weights)
    width = 3 * (1 + OWN * walls.shape[1])
    band = view_lanes(SCALAR, work, 0, len(x), width)
    gradient = view_lanes(SCALAR, work, len(x) * width, len(x))
    tried = view_lanes(SCALAR, work, len(x) * (width + 1), len(x))
    rows, columns = stack_matrix(SCALAR, 3, _STEP_MOVES), stack_array(SCALAR, _STEP_MOVES)
    much, v = stack_array(SCALAR, 3), stack_array(SCALAR, 3)
    for i in range(len(x)):
        x[i] = 0.0
    now = costs(near, x, v)
    for _ in range(rounds):
        put_all(near, damping, x, rows, columns, much, v, band, gradient)
        solve_band(band, damping, gradient)
        share, then = 1.0, math.inf
        for _ in range(_HALVINGS):
            for c in range(len(x)):
                tried[c] = x[c] - share * gradient[c]
            then = costs(near, tried, v)
            if then < now:
                break
            share *= 0.5
        if not then < now:
            break
        for i in range(len(x)):
            x[i] = tried[i]
        gain, now = now - then, then
        if gain < _LEAST_GAIN * now:
            break
