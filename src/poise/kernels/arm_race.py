# pyright: standard
"""Race of parallel attempts at a single problem.

All lanes run its attempts side by side, ahead of their turn (kernels/arm_lm.py, kernels/tree_lm.py). The solution
equals that of sequential attempts: the first one in their order that meets the target wins. A later attempt that
arrives sooner waits for the earlier ones, and iterations of attempts after the winner do not count. With
ARM_FIRST_FINISH_WINS the first attempt to arrive wins, unless the attempt from the start is about to arrive: tracking a
moving target must not jump to another solution branch.

    race  (RACE_SIZE,)  the five numbers below, and a ring of the iterations of attempts that ended before earlier ones;
                        -1 for unfinished attempts
"""

from __future__ import annotations

from poise.kernels.device_functions import device_function

RACE_NEXT_ATTEMPT = 0  # next attempt to start
RACE_OLDEST_ATTEMPT = 1  # first unfinished attempt
RACE_WINNING_ATTEMPT = 2  # first attempt that met the target; NO_WINNER if none
RACE_ITERATIONS = 3  # iterations of all attempts before RACE_OLDEST_ATTEMPT
RACE_BEST_ATTEMPT = 4  # attempt of the best pose
RACE_RING_START, RACE_RING_SIZE = 5, 64  # first number of the ring, and its length
RACE_SIZE = 69
NO_WINNER = 1e18
CLOSE_ERROR = 0.05  # squared error of the attempt from the start: below, it converges quadratically and is waited for


@device_function
def init_race(race):
    """Initialise a race."""
    for i in range(RACE_SIZE):
        race[i] = -1.0
    (
        race[RACE_NEXT_ATTEMPT],
        race[RACE_OLDEST_ATTEMPT],
        race[RACE_WINNING_ATTEMPT],
        race[RACE_ITERATIONS],
        race[RACE_BEST_ATTEMPT],
    ) = (
        0.0,
        0.0,
        NO_WINNER,
        0.0,
        0.0,
    )


@device_function
def can_start(race, first_polish, last_attempt):
    """Return whether the next attempt may start.

    `last_attempt` is the last one; attempt `first_polish` needs the best pose of all before it.
    """
    attempt = race[RACE_NEXT_ATTEMPT]
    if (
        attempt > last_attempt
        or attempt > race[RACE_WINNING_ATTEMPT]
        or attempt - race[RACE_OLDEST_ATTEMPT] >= RACE_RING_SIZE
    ):
        return False
    return attempt != first_polish or race[RACE_OLDEST_ATTEMPT] >= first_polish


@device_function
def can_store(race, attempt, error, best_error):
    """Return whether attempt `attempt` beats the best pose. Among equal ones the earliest attempt wins."""
    if race[RACE_WINNING_ATTEMPT] < NO_WINNER:
        return False
    return error < best_error or (error == best_error and attempt < race[RACE_BEST_ATTEMPT])


@device_function
def finish_attempt(race, attempt, iterations, is_met):
    """Record the end of attempt `attempt`."""
    race[RACE_RING_START + int(attempt) % RACE_RING_SIZE] = iterations
    if is_met and attempt < race[RACE_WINNING_ATTEMPT]:
        race[RACE_WINNING_ATTEMPT] = attempt
    while (
        race[RACE_OLDEST_ATTEMPT] <= race[RACE_WINNING_ATTEMPT]
        and race[RACE_RING_START + int(race[RACE_OLDEST_ATTEMPT]) % RACE_RING_SIZE] >= 0.0
    ):
        ring_index = RACE_RING_START + int(race[RACE_OLDEST_ATTEMPT]) % RACE_RING_SIZE
        race[RACE_ITERATIONS] += race[ring_index]
        race[ring_index] = -1.0
        race[RACE_OLDEST_ATTEMPT] += 1.0


@device_function
def is_race_over(race, last_attempt, first_finish_wins, start_error):
    """Return whether a race is over.

    No unfinished attempt could change the result; with `first_finish_wins`, nothing is waited for.

    start_error  squared error of the attempt from the start, while it lasts
    """
    if (
        first_finish_wins
        and race[RACE_WINNING_ATTEMPT] < NO_WINNER
        and (race[RACE_OLDEST_ATTEMPT] > 0.0 or start_error > CLOSE_ERROR)
    ):
        # At least one iteration: zero would mean that the start is the solution.
        race[RACE_ITERATIONS] += (
            max(race[RACE_RING_START + int(race[RACE_WINNING_ATTEMPT]) % RACE_RING_SIZE], 1.0)
            if race[RACE_OLDEST_ATTEMPT] <= race[RACE_WINNING_ATTEMPT]
            else 0.0
        )
        race[RACE_OLDEST_ATTEMPT] = race[RACE_WINNING_ATTEMPT] + 1.0
    return race[RACE_OLDEST_ATTEMPT] > last_attempt or race[RACE_OLDEST_ATTEMPT] > race[RACE_WINNING_ATTEMPT]
