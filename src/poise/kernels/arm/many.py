# pyright: standard
"""Many targets for one serial arm: a problem per lane; a lane that is done takes the next problem.

    targets  (k, 7)      x y z, w x y z of the tip in the base frame
    starts   (1|k, m)    values to start from
    seeds    (s, m + 7)  values to start again from, and where they put the tip
    settings (12,)       see below
    x        (k, m)      the answers
    errors   (k,)        weighted squared error of each answer
    counts   (k, 3)      iterations and attempts spent; 1 where the target was met
    trace    (t, m + 1)  error and values of all that the first problem tried, attempt after attempt; t may be 0

A problem's outcome depends on nothing but the problem: lanes do not mix, and every problem goes through the same
seeds in the same order, a few at a time, beginning again at the one whose tip is nearest to its target.
"""

from __future__ import annotations

from poise.kernels.arm.serial import (
    LARGEST,
    cautious,
    damped_step,
    damping_of,
    forward,
    offset_of,
    put_error,
    square,
)
from poise.kernels.codes import (
    ARM_ANGLE,
    ARM_CANDIDATES,
    ARM_DISTANCE,
    ARM_FACTOR,
    ARM_FLOOR,
    ARM_ITERATIONS,
    ARM_LONGEST,
    ARM_POLISH,
    ARM_RESTARTS,
    ARM_SHORTEST,
    ARM_WEIGHTS,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.values.axes import rotation_error
from poise.kernels.values.lanes import LANES4, LANES8, SCALAR, bits, lane, minimum, part_of, room, room2, select, width
from poise.kernels.values.linear import Quat, Vec, sub

STALL_SHARE, STALL_COUNT = 0.8, 4.0  # an attempt ends after 4 iterations that lower the squared error by less than 20 %
POLISHES = 3  # how often: the best so far, then others
VAIN_RESTARTS = 4.0  # for a target that the lengths cannot reach
HUGE = 1e300

# Rows of the lanes' book: one value per lane each.
GOAL, BEST, STALL, SPENT, MOST, PROBLEM, ATTEMPT, ALLOWED, CAUTION, LAST, ROWS = 0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
WIDEST = 8
BOOK_ROOM, VALUES_ROOM = ROWS * WIDEST, LARGEST * WIDEST  # Numba wants constants here


@part
def best_seed(seeds, first, count, m, target, weights):
    """Which of `count` seeds from `first` on puts the tip nearest to the target (7 numbers)."""
    best, found = HUGE, 0
    for c in range(count):
        i = (first + c) % seeds.shape[0]
        away, turn = 0.0, 0.0
        for j in range(3):
            away += (seeds[i, m + j] - target[j]) ** 2
        for j in range(3, 7):
            turn += seeds[i, m + j] * target[j]
        cost = weights[0] * weights[0] * away + weights[1] * weights[1] * 4.0 * (1.0 - turn * turn)
        if cost < best:
            best, found = cost, i
    return found


@part
def restarts_for(links, target, settings):
    """How many restarts a target is worth."""
    away = square(sub(Vec(target[0], target[1], target[2]), offset_of(links, 0)))
    beyond = (
        away > settings[ARM_LONGEST] * settings[ARM_LONGEST] or away < settings[ARM_SHORTEST] * settings[ARM_SHORTEST]
    )
    return (
        min(settings[ARM_RESTARTS], VAIN_RESTARTS) if beyond and settings[ARM_WEIGHTS] > 0.0 else settings[ARM_RESTARTS]
    )


@part
def begin(book, w, l, k, target, restarts):
    """Give lane l of w the problem k."""
    for j in range(7):
        book[(GOAL + j) * w + l] = target[j]
    book[PROBLEM * w + l] = k
    book[ATTEMPT * w + l] = 0.0
    book[ALLOWED * w + l] = restarts


@part
def attempt(book, values, w, l, start, m, most, patience):
    """Start lane l from these values, for this many iterations; `patience` is spent before it can stall."""
    for i in range(m):
        values[i * w + l] = start[i]
    book[BEST * w + l] = HUGE
    book[STALL * w + l] = -patience
    book[SPENT * w + l] = 0.0
    book[MOST * w + l] = most


@part
def start_lane(book, values, w, l, start, m, most, patience, caution):
    """`attempt`, with a caution for its damping."""
    attempt(book, values, w, l, start, m, most, patience)
    book[CAUTION * w + l], book[LAST * w + l] = caution, HUGE


@part
def put_seed(seeds, target, settings, values, w, l, m, number):
    """Move lane l to the best of the next candidates."""
    count = int(settings[ARM_CANDIDATES])
    seed = best_seed(seeds, number * count, count, m, target, settings[ARM_WEIGHTS:])
    for i in range(m):
        values[i * w + l] = seeds[seed, i]


@part
def keep_best(book, tested, w, l, m, error, is_met, x, errors, counts):
    """Write what lane l found, if it is the best of its problem so far."""
    k = int(book[PROBLEM * w + l])
    counts[k, 2] = 1 if is_met else 0
    counts[k, 0] += int(book[SPENT * w + l]) - 1
    counts[k, 1] += 1
    if is_met or error < errors[k]:
        put_best(book, tested, w, l, m, error, x, errors)


@part
def put_best(book, tested, w, l, m, error, x, errors):
    """Lane l has the best of its problem so far."""
    k = int(book[PROBLEM * w + l])
    errors[k] = error
    for i in range(m):
        x[k, i] = tested[i * w + l]


@part
def keep_seen(book, tested, w, l, m, caution, error, x, errors):
    """Keep what lane l has seen on its way, if it is the best: where an attempt began, and all while one settles.

    Steps may go too far where a target cannot be met. So no answer is worse than the start.
    """
    if (book[SPENT * w + l] == 1.0 or caution > 0.0) and error < errors[int(book[PROBLEM * w + l])]:
        put_best(book, tested, w, l, m, error, x, errors)


@part
def go_on(links, seeds, targets, starts, settings, book, values, w, l, m, is_met, x, errors, following, last):
    """What lane l does next: another attempt, a last polish of the best one, or problem number `following`.

    Returns whether it took that problem; with none left it idles.
    """
    k, tries, allowed = int(book[PROBLEM * w + l]), book[ATTEMPT * w + l] + 1.0, book[ALLOWED * w + l]
    book[ATTEMPT * w + l] = tries
    if k >= 0 and not is_met and tries <= allowed:
        start_lane(book, values, w, l, x[k], m, settings[ARM_ITERATIONS], 0.0, 0.0)
        put_seed(seeds, targets[k], settings, values, w, l, m, int(tries) - 1)
        return False
    if k >= 0 and not is_met and tries <= allowed + POLISHES and settings[ARM_POLISH] > 0.0:
        start_lane(book, values, w, l, x[k], m, settings[ARM_POLISH], settings[ARM_POLISH], 1.0)
        if tries > allowed + 1.0:  # what else there is
            put_seed(seeds, targets[k], settings, values, w, l, m, int(tries) - 1)
        return False
    if following >= last:
        book[PROBLEM * w + l] = -1.0
        return False
    begin(book, w, l, following, targets[following], restarts_for(links, targets[following], settings))
    start_lane(book, values, w, l, starts[min(following, starts.shape[0] - 1)], m, settings[ARM_ITERATIONS], 0.0, 0.0)
    errors[following] = HUGE
    return True


@part
def note(trace, row, tested, w, m, error):
    """Keep an iteration of the first problem, which stands in lane 0."""
    if row < trace.shape[0]:
        trace[row, 0] = error
        for i in range(m):
            trace[row, i + 1] = tested[i * w]


@inline
def solve_range(kind, links, seeds, targets, starts, settings, first, last, x, errors, counts, trace):
    """Solve problems first..last."""
    m, w = links.shape[0] - 1, width(kind)
    axes, origins, J = room2(kind, LARGEST, 3), room2(kind, LARGEST, 3), room2(kind, LARGEST, 6)
    A, d, y, e = room2(kind, 6, 6), room(kind, 6), room(kind, 6), room(kind, 6)
    book, values, before = room(SCALAR, BOOK_ROOM), room(SCALAR, VALUES_ROOM), room(SCALAR, VALUES_ROOM)
    rows, v, tested = part_of(kind, book, 0, ROWS), part_of(kind, values, 0, m), part_of(kind, before, 0, m)
    weights = settings[ARM_WEIGHTS : ARM_WEIGHTS + 2]
    following, live = first, 0
    for l in range(w):
        book[PROBLEM * w + l] = -1.0
        start_lane(book, values, w, l, starts[0], m, 0.0, 0.0, 0.0)
        if go_on(links, seeds, targets, starts, settings, book, values, w, l, m, False, x, errors, following, last):
            following += 1
            live += 1
    while live > 0:
        tip, rotation = forward(kind, links, v, True, axes, origins)
        off = sub(Vec(rows[0], rows[1], rows[2]), tip)
        turn = rotation_error(Quat(rows[3], rows[4], rows[5], rows[6]), rotation)
        distance, angle = square(off), square(turn)
        error = distance * (weights[0] * weights[0]) + angle * (weights[1] * weights[1])
        put_error(e, off, turn, weights)
        for i in range(m):
            tested[i] = v[i]
        rows[CAUTION] = cautious(rows[CAUTION], rows[LAST], error)
        rows[LAST] = error
        damping = damping_of(rows[CAUTION], error, settings[ARM_FACTOR], settings[ARM_FLOOR])
        damped_step(links, v, axes, origins, tip, e, weights, damping, J, A, d, y)
        met = (distance <= settings[ARM_DISTANCE]) & (angle <= settings[ARM_ANGLE])
        rows[STALL] = select(error > rows[BEST] * STALL_SHARE, rows[STALL] + 1.0, minimum(rows[STALL], 0.0))
        rows[BEST] = minimum(rows[BEST], error)
        ends = bits(met | (rows[STALL] >= STALL_COUNT) | (rows[SPENT] >= rows[MOST]))
        rows[SPENT] = rows[SPENT] + 1.0
        if trace.shape[0] > 0 and book[PROBLEM * w] == first:
            note(trace, counts[first, 0] + counts[first, 1] + int(book[SPENT * w]) - 1, before, w, m, lane(error, 0))
        looks = ends | bits((rows[SPENT] == 1.0) | (rows[CAUTION] > 0.0))
        for l in range(w if looks != 0 else 0):
            if book[PROBLEM * w + l] < 0.0:
                continue
            keep_seen(book, before, w, l, m, book[CAUTION * w + l], lane(error, l), x, errors)
            if (ends >> l) & 1:
                is_met = (bits(met) >> l) & 1 == 1
                keep_best(book, before, w, l, m, lane(error, l), is_met, x, errors, counts)
                if go_on(
                    links, seeds, targets, starts, settings, book, values, w, l, m, is_met, x, errors, following, last
                ):
                    following += 1
                elif book[PROBLEM * w + l] < 0.0:
                    live -= 1


@kernel
def solve4(links, seeds, targets, starts, settings, first, last, x, errors, counts, trace):
    """`solve_range` with four problems side by side."""
    solve_range(LANES4, links, seeds, targets, starts, settings, first, last, x, errors, counts, trace)


@kernel
def solve8(links, seeds, targets, starts, settings, first, last, x, errors, counts, trace):
    """`solve_range` with eight problems side by side."""
    solve_range(LANES8, links, seeds, targets, starts, settings, first, last, x, errors, counts, trace)
