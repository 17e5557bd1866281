# pyright: standard
"""Parallel attempts at a lone problem. All lanes run its attempts side by side, ahead of their turn.

The solution equals that of sequential attempts: the first one in their order that meets the target wins. A later
attempt that arrives sooner waits for the earlier ones, and iterations of attempts after the winner do not count. With
ARM_RACE the first attempt to arrive wins, unless the attempt from the start is about to arrive: tracking a moving
target must not jump to another solution branch.

    race  (RACE_SIZE,)  five numbers, and a ring of the iterations of attempts that ended before earlier ones; -1 for
                        unfinished attempts
"""

from __future__ import annotations

from poise.kernels.compiled import part

NEXT = 0  # next attempt to start
OLDEST = 1  # first unfinished attempt
WINNER = 2  # first attempt that met the target; NO_WINNER if none
TOTAL = 3  # iterations of all attempts before RACE_OLDEST
KEPT = 4  # attempt of the best pose
RING_AT, RING = 5, 64
RACE_ROOM = 69
NOBODY = 1e18
CLOSE = 0.05  # squared error of the attempt from the start: below, it converges quadratically and is waited for


@part
def open_race(race):
    """Initialise a race."""
    for i in range(RACE_ROOM):
        race[i] = -1.0
    race[NEXT], race[OLDEST], race[WINNER], race[TOTAL], race[KEPT] = 0.0, 0.0, NOBODY, 0.0, 0.0


@part
def may_begin(race, settling, last):
    """Return whether the next attempt may start.

    `last` is the last one; attempt `first_polish` needs the best pose of all before it.
    """
    number = race[NEXT]
    if number > last or number > race[WINNER] or number - race[OLDEST] >= RING:
        return False
    return number != settling or race[OLDEST] >= settling


@part
def may_keep(race, number, error, least):
    """Return whether attempt `number` beats the best pose. Among equal ones the earliest attempt wins."""
    if race[WINNER] < NOBODY:
        return False
    return error < least or (error == least and number < race[KEPT])


@part
def enter(race, number, iterations, is_met):
    """Record the end of attempt `number`."""
    race[RING_AT + int(number) % RING] = iterations
    if is_met and number < race[WINNER]:
        race[WINNER] = number
    while race[OLDEST] <= race[WINNER] and race[RING_AT + int(race[OLDEST]) % RING] >= 0.0:
        at = RING_AT + int(race[OLDEST]) % RING
        race[TOTAL] += race[at]
        race[at] = -1.0
        race[OLDEST] += 1.0


@part
def is_over(race, last, hurries, least):
    """Return whether a race is over.

    No unfinished attempt could change the result; with `takes_first`, nothing is waited for.

    start_error  squared error of the attempt from the start, while it lasts
    """
    if hurries and race[WINNER] < NOBODY and (race[OLDEST] > 0.0 or least > CLOSE):
        # At least one iteration: zero would mean that the start is the solution.
        race[TOTAL] += max(race[RING_AT + int(race[WINNER]) % RING], 1.0) if race[OLDEST] <= race[WINNER] else 0.0
        race[OLDEST] = race[WINNER] + 1.0
    return race[OLDEST] > last or race[OLDEST] > race[WINNER]
