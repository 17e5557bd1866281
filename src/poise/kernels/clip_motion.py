# pyright: standard
"""Steps of a clip: limits of unknowns, and motions after a step.

Frames and unknowns are those of `clip_least_squares`.
"""

from __future__ import annotations

import math

from poise.kernels.clip_least_squares import AT_LIMIT, BASE_COLUMNS, MAX_STEP
from poise.kernels.device_functions import inline
from poise.kernels.entries import kernel

_SMALL_ANGLE_RAD = 1e-9  # below, sine and angle are equal to rounding


@kernel("F2 F2 F1 F1 B1 wB2 ->")
def find_free(values, gradients, low, high, is_moving, free):
    """Find the unknowns free to change.

    Those at a limit may not go on, those with a range of one value may not move.

    values     (F, K - 6)
    gradients  (F, K) slopes times what is missing
    low, high  (K - 6,) limits of values
    is_moving  (F,) frames that may change
    free       (F, K) out
    """
    for t in range(values.shape[0]):
        for k in range(gradients.shape[1]):
            free[t, k] = is_moving[t]
        for k in range(values.shape[1]):
            value, way = values[t, k], gradients[t, BASE_COLUMNS + k]
            is_low, is_high = value <= low[k] + AT_LIMIT, value >= high[k] - AT_LIMIT
            if (is_low and way < 0.0) or (is_high and way > 0.0) or low[k] == high[k]:
                free[t, BASE_COLUMNS + k] = False


@kernel("F2 F2 F1 F1 wB2 wF2 wB1 -> i")
def limit_step(values, step, low, high, free, given, is_limited):
    """Limit a step. Return how many unknowns it takes over a limit.

    They are not free any more, and given is the step to the limit.

    step        (F, K)
    free        (F, K) in and out
    given       (F, K) out: 0 for all others
    is_limited  (F,) out: frames with such an unknown
    The other arguments are those of `find_free`.
    """
    count = 0
    for t in range(step.shape[0]):
        is_limited[t] = False
        for k in range(step.shape[1]):
            given[t, k] = 0.0
        for k in range(values.shape[1]):
            way, lowest, highest = step[t, BASE_COLUMNS + k], low[k] - values[t, k], high[k] - values[t, k]
            if free[t, BASE_COLUMNS + k] and (way < lowest - AT_LIMIT or way > highest + AT_LIMIT):
                free[t, BASE_COLUMNS + k], is_limited[t] = False, True
                given[t, BASE_COLUMNS + k] = min(max(way, lowest), highest)
                count += 1
    return count


@inline
def turn_frame(turn, x, y, z, turned):
    """Turn a frame by a world rotation vector."""
    angle = math.sqrt(x * x + y * y + z * z)
    half = math.sin(0.5 * angle) / angle if angle > _SMALL_ANGLE_RAD else 0.5
    first = math.sin(angle) / angle if angle > _SMALL_ANGLE_RAD else 1.0
    second = 2.0 * half * half
    for k in range(3):
        a, b, c = turn[0, k], turn[1, k], turn[2, k]
        u, v, w = y * c - z * b, z * a - x * c, x * b - y * a
        turned[0, k] = a + first * u + second * (y * w - z * v)
        turned[1, k] = b + first * v + second * (z * u - x * w)
        turned[2, k] = c + first * w + second * (x * v - y * u)


@kernel("F2 F3 F2 F2 F1 F1 F1 F1 wF2 wF3 wF2 wB1 ->")
def move_frames(
    places, turns, values, step, share, rest, low, high, moved_places, moved_turns, moved_values, is_moved
):  # fmt: skip
    """Move frames by shares of a step, as far as limits allow.

    places, turns, values  (F, 3), (F, 3, 3), (F, K - 6) the motion
    step                   (F, K)
    share                  (F,) of it; all are shortened where one is too long
    rest                   (K,) largest steps of a frame at rest
    low, high              (K - 6,) limits of values
    moved_places, moved_turns, moved_values  out
    is_moved               (F,) out: frames not at rest
    """
    longest = 0.0
    for t in range(step.shape[0]):
        for k in range(3, step.shape[1]):
            longest = max(longest, abs(share[t] * step[t, k]))
    most = MAX_STEP / longest if longest > MAX_STEP else 1.0
    for t in range(step.shape[0]):
        part, is_moved[t] = most * share[t], False
        for k in range(step.shape[1]):
            if abs(share[t] * step[t, k]) > rest[k]:
                is_moved[t] = True
        for k in range(3):
            moved_places[t, k] = places[t, k] + part * step[t, k]
        turn_frame(turns[t], part * step[t, 3], part * step[t, 4], part * step[t, 5], moved_turns[t])
        for k in range(values.shape[1]):
            moved_values[t, k] = min(max(values[t, k] + part * step[t, BASE_COLUMNS + k], low[k]), high[k])
