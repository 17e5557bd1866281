# pyright: standard
"""Batch Levenberg-Marquardt solver of a serial arm. Each lane has one problem and takes the next when it is done.

    targets  (k, 7)      x y z, w x y z of the tip in the base frame
    starts   (1|k, m)    values to start from
    seeds    (s, m)      values of restarts
    poses    flat        tip transforms of the seeds
    settings (13,)       the columns ARM_ of layout.py
    x        (k, m)      the solutions
    errors   (k,)        weighted squared error of each solution; 1e300 where no pose had a smaller one
    counts   (k, 3)      iterations and attempts spent; 1 where the target was met
    trace    (t, m + 1)  error and values of every iteration of the first problem, attempt after attempt; t may be 0

The solution of a problem does not depend on the rest of its batch: lanes do not mix, and every problem runs the same
attempts in the same order: from its start, from seeds, and, where none has met the target, polish attempts towards the
nearest pose. The attempts of a lone problem run side by side.
"""

from __future__ import annotations

from poise.kernels.arm.race import (
    KEPT,
    NEXT,
    NOBODY,
    OLDEST,
    RACE_ROOM,
    TOTAL,
    WINNER,
    enter,
    is_over,
    may_begin,
    may_keep,
    open_race,
)
from poise.kernels.arm.seeds import HUGE, put_nearest, put_seed
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
    ARM_DISTANCE,
    ARM_FACTOR,
    ARM_FLOOR,
    ARM_ITERATIONS,
    ARM_LONGEST,
    ARM_POLISH,
    ARM_RACE,
    ARM_RESTARTS,
    ARM_SHORTEST,
    ARM_WEIGHTS,
)
from poise.kernels.compiled import inline, part
from poise.kernels.values.axes import rotation_error
from poise.kernels.values.lanes import SCALAR, bits, lane, minimum, part_of, room, room2, select, width
from poise.kernels.values.linear import Quat, Vec, sub

# An attempt ends after 4 iterations that lower the squared error by less than 20 %. Stopping early pays, because a
# restart is cheap: with this rule a pose of a Panda takes 12.8 iterations on average, without it 16.8.
STALL_SHARE, STALL_COUNT = 0.8, 4.0
POLISHES = 3  # polish attempts where none has met the target: best pose, then two other seeds
ALONE = 2  # iterations before a lone problem starts a second attempt
TOGETHER = 2  # attempts started per iteration after that
VAIN_RESTARTS = 4.0  # maximum restarts for a target out of reach

# Rows of the lane state, one number per lane.
GOAL = 0  # seven rows: the target, x y z, w x y z
BEST = 7  # smallest squared error of this attempt
STALL = 8  # consecutive iterations without progress; negative: remaining patience
SPENT, MOST = 9, 10  # iterations of this attempt, and their maximum
PROBLEM = 11  # number of the lane's problem; -1: idle
ATTEMPT, ALLOWED = 12, 13  # number of the attempt, and number of restarts
CAUTION = 14  # damping factor of a polish, see `update_caution`; else 0
LAST = 15  # squared error of the previous iteration
ROWS = 16
WIDEST = 8  # lanes
BOOK_ROOM, VALUES_ROOM = ROWS * WIDEST, LARGEST * WIDEST  # stack array sizes


@part
def restarts_for(links, target, settings):
    """Return the number of restarts for a target."""
    away = square(sub(Vec(target[0], target[1], target[2]), offset_of(links, 0)))
    # Outside the reachable shell no seed succeeds; a few attempts still find the nearest pose.
    beyond = (
        away > settings[ARM_LONGEST] * settings[ARM_LONGEST] or away < settings[ARM_SHORTEST] * settings[ARM_SHORTEST]
    )
    return (
        min(settings[ARM_RESTARTS], VAIN_RESTARTS) if beyond and settings[ARM_WEIGHTS] > 0.0 else settings[ARM_RESTARTS]
    )


@part
def begin(book, w, l, k, target, restarts):
    """Load problem k into lane l of w."""
    for j in range(7):
        book[(GOAL + j) * w + l] = target[j]
    book[PROBLEM * w + l] = k
    book[ATTEMPT * w + l] = 0.0
    book[ALLOWED * w + l] = restarts


@part
def attempt(book, values, w, l, start, m, most, patience):
    """Start an attempt of lane l from these values.

    `max_iterations` limits its iterations; `patience` is used up before it can stall.
    """
    for i in range(m):
        values[i * w + l] = start[i]
    book[BEST * w + l] = HUGE
    # Counted from below zero: the attempt stalls only after its patience is used up, so its error may rise at first.
    book[STALL * w + l] = -patience
    book[SPENT * w + l] = 0.0
    book[MOST * w + l] = most


@part
def start_lane(book, values, w, l, start, m, most, patience, caution):
    """Start an attempt with a damping caution."""
    attempt(book, values, w, l, start, m, most, patience)
    book[CAUTION * w + l], book[LAST * w + l] = caution, HUGE


@part
def keep_best(book, tested, w, l, m, error, is_met, x, errors, counts):
    """Store lane l's result if it is the best."""
    k = int(book[PROBLEM * w + l])
    counts[k, 2] = 1 if is_met else 0
    # The last iteration only measures: its step is not part of the solution.
    counts[k, 0] += int(book[SPENT * w + l]) - 1
    counts[k, 1] += 1
    if is_met or error < errors[k]:
        put_best(book, tested, w, l, m, error, x, errors)


@part
def put_best(book, tested, w, l, m, error, x, errors):
    """Write the values of lane l as the best of its problem."""
    k = int(book[PROBLEM * w + l])
    errors[k] = error
    for i in range(m):
        x[k, i] = tested[i * w + l]


@part
def keep_seen(book, tested, w, l, m, caution, error, x, errors):
    """Store the tested values of lane l if they are best.

    It applies to the start of every attempt, and to every pose of a polish: where a target cannot be met, steps may
    overshoot, and the last pose need not be the best. So no result is worse than the start pose.
    """
    # After the first iteration LANE_SPENT is 1, and the tested values are the start of the attempt.
    if (book[SPENT * w + l] == 1.0 or caution > 0.0) and error < errors[int(book[PROBLEM * w + l])]:
        put_best(book, tested, w, l, m, error, x, errors)


@part
def last_attempt(restarts, settings):
    """Return the number of the last attempt, counted from 0."""
    return restarts + (POLISHES if settings[ARM_POLISH] > 0.0 else 0.0)


@part
def begin_attempt(kind, seeds, poses, targets, starts, settings, book, values, l, x, number):
    """Start attempt `number` of lane l. It starts from the start, from a seed, or as a final polish."""
    w, m = width(kind), seeds.shape[1]
    k, allowed = int(book[PROBLEM * w + l]), book[ALLOWED * w + l]
    book[ATTEMPT * w + l] = number
    if number == 0.0:
        start = starts[min(k, starts.shape[0] - 1)]
        start_lane(book, values, w, l, start, m, settings[ARM_ITERATIONS], 0.0, 0.0)
        return
    # x[k] only initialises the values, unless this attempt polishes the best pose; otherwise a seed replaces them.
    if number <= allowed:
        start_lane(book, values, w, l, x[k], m, settings[ARM_ITERATIONS], 0.0, 0.0)
    else:
        # A polish never stalls (all its iterations are patience); its caution of 1 makes the damping adaptive.
        start_lane(book, values, w, l, x[k], m, settings[ARM_POLISH], settings[ARM_POLISH], 1.0)
    # The nearest pose may be in another solution branch than the best attempt: later attempts polish other seeds.
    if number != allowed + 1.0:
        put_seed(kind, seeds, poses, targets[k], settings, values, l, int(number) - 1)


@part
def put_start(starts, k, x, errors):
    """Write the start as the first result of problem k."""
    start = starts[min(k, starts.shape[0] - 1)]
    errors[k] = HUGE
    for i in range(start.shape[0]):
        x[k, i] = start[i]


@part
def take(kind, links, seeds, poses, targets, starts, settings, book, values, l, x, errors, k):
    """Assign problem k to lane l."""
    begin(book, width(kind), l, k, targets[k], restarts_for(links, targets[k], settings))
    begin_attempt(kind, seeds, poses, targets, starts, settings, book, values, l, x, 0.0)
    put_start(starts, k, x, errors)


@part
def go_on(kind, links, seeds, poses, targets, starts, settings, book, values, l, is_met, x, errors, following, last):
    """Schedule lane l: next attempt, or problem number `following`.

    Returns whether it took that problem. Without further problems the lane becomes idle.
    """
    w = width(kind)
    tries = book[ATTEMPT * w + l] + 1.0
    if book[PROBLEM * w + l] >= 0.0 and not is_met and tries <= last_attempt(book[ALLOWED * w + l], settings):
        begin_attempt(kind, seeds, poses, targets, starts, settings, book, values, l, x, tries)
        return False
    if following >= last:
        book[PROBLEM * w + l] = -1.0
        return False
    take(kind, links, seeds, poses, targets, starts, settings, book, values, l, x, errors, following)
    return True


# --- a lone problem ----------------------------------------------------------------------------------------------


@part
def fill_lanes(kind, race, seeds, poses, targets, starts, settings, book, values, x, k, restarts, most):
    """Start the next attempts at problem k on idle lanes.

    Starts at most `max_starts`; returns the number of busy lanes.
    """
    w, live, begun, last = width(kind), 0, 0, last_attempt(restarts, settings)
    for l in range(w):
        if book[PROBLEM * w + l] < 0.0 and begun < most and may_begin(race, restarts + 1.0, last):
            begin(book, w, l, k, targets[k], restarts)
            begin_attempt(kind, seeds, poses, targets, starts, settings, book, values, l, x, race[NEXT])
            race[NEXT] += 1.0
            begun += 1
        live += 1 if book[PROBLEM * w + l] >= 0.0 else 0
    return live


@part
def fill_hurried(kind, race, seeds, poses, targets, starts, settings, book, values, k, restarts):
    """Start attempts on all lanes; return their number. Used where the first attempt to arrive wins."""
    w, m, count = width(kind), seeds.shape[1], min(width(kind), int(restarts) + 1)
    for l in range(count):
        begin(book, w, l, k, targets[k], restarts)
        start_lane(book, values, w, l, starts[k], m, settings[ARM_ITERATIONS], 0.0, 0.0)
        book[ATTEMPT * w + l] = l
    if count > 1:
        put_nearest(kind, seeds, poses, targets[k], settings, values)
    race[NEXT] = count
    return count


@part
def is_decided(race, settings, book, w, restarts, counts, k):
    """Return whether the race for problem k is over. If so, write its counts."""
    # Lane 0 runs the attempt from the start as long as that lasts.
    over = is_over(race, last_attempt(restarts, settings), settings[ARM_RACE] > 0.0, book[LAST * w])
    if over:
        counts[k, 0], counts[k, 1] = race[TOTAL], race[OLDEST]
        counts[k, 2] = 1.0 if race[WINNER] < NOBODY else 0.0
    return over


@part
def keep_raced(race, book, tested, w, l, m, error, is_met, ends, x, errors):
    """Store the result of lane l in a race.

    As `store_if_best` and `store_best`; a lane whose attempt ends becomes idle.
    """
    k, number = int(book[PROBLEM * w + l]), book[ATTEMPT * w + l]
    seen = ends or book[SPENT * w + l] == 1.0 or book[CAUTION * w + l] > 0.0
    first = is_met and ends and number < race[WINNER]
    if first or (seen and may_keep(race, number, error, errors[k])):
        put_best(book, tested, w, l, m, error, x, errors)
        race[KEPT] = number
    if ends:
        enter(race, number, book[SPENT * w + l] - 1.0, is_met)
        book[PROBLEM * w + l] = -1.0


@part
def note(trace, row, tested, w, m, error):
    """Record an iteration of the first problem, in lane 0."""
    if row < trace.shape[0]:
        trace[row, 0] = error
        for i in range(m):
            trace[row, i + 1] = tested[i * w]


@inline
def solve_range(kind, links, seeds, poses, targets, starts, settings, first, last, x, errors, counts, trace):
    """Solve problems first..last."""
    m, w = links.shape[0] - 1, width(kind)
    axes, origins, J = room2(kind, LARGEST, 3), room2(kind, LARGEST, 3), room2(kind, LARGEST, 6)
    A, d, y, e = room2(kind, 6, 6), room(kind, 6), room(kind, 6), room(kind, 6)
    book, values, before = room(SCALAR, BOOK_ROOM), room(SCALAR, VALUES_ROOM), room(SCALAR, VALUES_ROOM)
    rows, v, tested = part_of(kind, book, 0, ROWS), part_of(kind, values, 0, m), part_of(kind, before, 0, m)
    weights = settings[ARM_WEIGHTS : ARM_WEIGHTS + 2]
    hurried = settings[ARM_RACE] > 0.0
    # A lone problem starts with one attempt, or on all lanes where the first attempt to arrive wins.
    live, begins, passes = min(w, last - first), 0 if hurried else 1, 0
    following, ended = first + live, False
    # A trace records attempts sequentially.
    lone, restarts, race = last - first == 1 and w > 1 and trace.shape[0] == 0, 0.0, room(SCALAR, RACE_ROOM)
    for l in range(w):
        book[PROBLEM * w + l] = -1.0
        start_lane(book, values, w, l, starts[0], m, 0.0, 0.0, 0.0)
    if lone:
        open_race(race)
        restarts = restarts_for(links, targets[first], settings)
        put_start(starts, first, x, errors)
        if hurried:
            live = fill_hurried(kind, race, seeds, poses, targets, starts, settings, book, values, first, restarts)
    else:
        for l in range(live):
            take(kind, links, seeds, poses, targets, starts, settings, book, values, l, x, errors, first + l)
    while live > 0:
        if lone:
            live = fill_lanes(
                kind, race, seeds, poses, targets, starts, settings, book, values, x, first, restarts, begins
            )
        # One forward pass serves both: the error belongs to the values before the step, which are stored when a lane
        # ends here.
        tip, rotation = forward(kind, links, v, True, axes, origins)
        off = sub(Vec(rows[0], rows[1], rows[2]), tip)
        turn = rotation_error(Quat(rows[3], rows[4], rows[5], rows[6]), rotation)
        distance, angle = square(off), square(turn)
        error = distance * (weights[0] * weights[0]) + angle * (weights[1] * weights[1])
        met = (distance <= settings[ARM_DISTANCE]) & (angle <= settings[ARM_ANGLE])
        rows[CAUTION] = cautious(rows[CAUTION], rows[LAST], error)
        rows[LAST] = error
        # Progress is measured against the best of the attempt, not the previous iteration: an oscillating error makes
        # none.
        rows[STALL] = select(error > rows[BEST] * STALL_SHARE, rows[STALL] + 1.0, minimum(rows[STALL], 0.0))
        rows[BEST] = minimum(rows[BEST], error)
        ends = bits(met | (rows[STALL] >= STALL_COUNT) | (rows[SPENT] >= rows[MOST]))
        rows[SPENT] = rows[SPENT] + 1.0
        # Reading single numbers of lanes is slow, and done only when an attempt ends, has just started, or is a polish.
        looks = ends | bits((rows[SPENT] == 1.0) | (rows[CAUTION] > 0.0))
        if lone:
            for l in range(w if looks != 0 else 0):
                if book[PROBLEM * w + l] >= 0.0:
                    arrived, over = (bits(met) >> l) & 1 == 1, (ends >> l) & 1 == 1
                    keep_raced(race, book, values, w, l, m, lane(error, l), arrived, over, x, errors)
                    ended = ended or over
            if ended and is_decided(race, settings, book, w, restarts, counts, first):
                break
        put_error(e, off, turn, weights)
        for i in range(m):
            tested[i] = v[i]
        damping = damping_of(rows[CAUTION], error, settings[ARM_FACTOR], settings[ARM_FLOOR])
        # A lane that has arrived makes one superfluous step: cheaper than masking it, and `tested` has the solution.
        damped_step(links, v, axes, origins, tip, e, weights, damping, J, A, d, y)
        if lone:
            # A few at a time: choosing seeds takes time, which is lost where the first attempt arrives soon.
            passes += 1
            begins = TOGETHER if passes > ALONE or ended else 0
            continue
        if trace.shape[0] > 0 and book[PROBLEM * w] == first:
            row = int(counts[first, 0] + counts[first, 1] + book[SPENT * w]) - 1
            note(trace, row, before, w, m, lane(error, 0))
        for l in range(w if looks != 0 else 0):
            if book[PROBLEM * w + l] < 0.0:
                continue
            is_met = (bits(met) >> l) & 1 == 1
            keep_seen(book, before, w, l, m, book[CAUTION * w + l], lane(error, l), x, errors)
            if (ends >> l) & 1:
                keep_best(book, before, w, l, m, lane(error, l), is_met, x, errors, counts)
                # A finished lane takes its next problem at once, without waiting for the slowest lane.
                if go_on(
                    kind, links, seeds, poses, targets, starts, settings, book, values, l, is_met, x, errors,
                    following, last,
                ):  # fmt: skip
                    following += 1
                elif book[PROBLEM * w + l] < 0.0:
                    live -= 1
