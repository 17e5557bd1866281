# pyright: standard
"""How far a swinging foot of a live frame is above where it is animated over the ground: over steps, and down again.

One number and its speed, moved by no more than an acceleration. The ground that it counts from jumps at every edge that
the foot passes; the lift jumps the other way, so that the foot does not.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.ground.grounder_walk import (
    AHEAD,
    BENDS,
    DEPTH,
    FURTHEST,
    HEEL,
    HORIZON,
    LIFT,
    LIFT_MOVES,
    LIFT_RATE,
    OUT,
    PARTS,
    PLACES,
    RAMP,
    RAMP_MOVES,
    RAMP_WAY,
    ROSE,
    SOLE,
    level_length,
    rise_of,
    time_ahead,
)
from poise.kernels.springs import step_bounded_spring
from poise.kernels.vec_quat import Vec, add, read_vec_at, rotate, sub

EDGE = 0.03  # [m] ground ahead that is higher by more than this, beside its slope, is a step
BARELY = 0.005  # [m] a foot that is deeper was overtaken by a step
STRONGEST = 45.0  # [m/s^2] a lift is pushed by at most: 12 mm/frame^2 at 60 Hz
DOWN = 40.0  # [m/s^2] by which a lift goes back at most, and by which the tip of toes is pushed

_TOES = 0.03  # [m] by which toes bend out of the ground before a swinging foot is lifted for them
_OVER = 0.02  # [m] by which a foot passes over a step
_SOONEST = 0.05  # [s] a foot that lands looks so far ahead at least
_SOON = 0.02  # [s] in which a swinging foot leaves the ground that it is in
_BRAKES = 0.35  # the share of the strongest push from which on a foot that is let down is slowed down
_STRETCH = 0.2  # [m] over which the mean slope of steps is measured at least
_RAMP_RATE = 10.0  # [1/s] at which that slope forgets


@inline
def height_at(ground, j, p):
    """Height of the ground at p, on the plane that touches it where it was asked for."""
    return plane_height(ground[j], 0, p)


@inline
def plane_height(row, at, p):
    """Height at p of the plane whose place, height and slopes are in the columns of a row from `at` on."""
    return row[at + 2] + row[at + 3] * (p.x - row[at]) + row[at + 4] * (p.y - row[at + 1])


@inline
def least_bend(leg):
    """By how much [m] toes bend out of the ground before a swinging foot is lifted for them."""
    return _TOES if leg[PARTS] > 3 else 0.0


@inline
def demand(away, moves, time):
    """The steady acceleration that closes a distance `away` in a time, from a velocity `moves` on."""
    return 2.0 * (away - moves * time) / (time * time)


@device_function
def demand_ahead(s, tip, rise, ground):
    """The acceleration by which the lift is where it has to be over every step ahead; -inf without one.

    tip: where the tip of the foot is without the lift; rise: [m/s] at which it comes down as animated, 0 or less.
    """
    most = -math.inf
    for i in range(AHEAD):
        ahead, time = ground[3 + i], time_ahead(s, i)
        # Beside the slope under the tip: a ramp ahead is no step.
        under = height_at(ground, 2, Vec(ahead[0], ahead[1], 0.0))
        if ahead[2] - under > EDGE:
            # By itself the tip comes down to the ground that it is over, and no farther.
            falls_to = max(tip.z + rise * time, min(under, tip.z))
            away, moves = ahead[2] + _OVER - falls_to - s[LIFT] - s[RAMP_MOVES] * time, s[LIFT_MOVES] - s[RAMP_MOVES]
            # What is as fast as this gets there, if late: pushed on, it would fly far above the step.
            if moves <= 0.0 or moves * moves < 2.0 * DOWN * max(away, 0.0):
                most = max(most, demand(away, moves, time))
    return most


@inline
def braked(clear, moves, rise, dt):
    """The acceleration by which a foot that is let down does not run into ground that is `clear` [m] below; else -inf.

    moves: velocity of its lift; rise: [m/s] at which it comes down as animated, 0 or less.
    """
    if moves >= 0.0 or clear <= 0.0:
        return -math.inf
    speed = moves + rise
    stop = 0.5 * speed * speed / clear
    # No more than stops the lift: as it is animated, the foot comes down all the same.
    return min(stop, -moves / dt) if stop > _BRAKES * STRONGEST else -math.inf


@device_function
def ramp_speed(s, ankle, ground, dt):
    """[m/s] at which steps rise under a foot on average: their mean slope ahead of it times how fast it goes there.

    Steps that lead down are followed only once the foot is over them, so that it does not go through their edges.
    """
    near, far = ground[3], ground[2 + AHEAD]
    x, y = far[0] - near[0], far[1] - near[1]
    way = level_length(x, y)
    if way > _STRETCH:
        # Beside the slope that the lift follows anyway; single steps come and go, their mean slope stays.
        steep = (far[2] - height_at(ground, 3, Vec(far[0], far[1], 0.0))) / way
        s[RAMP] -= math.expm1(-_RAMP_RATE * dt) * (steep - s[RAMP])
        s[RAMP_WAY], s[RAMP_WAY + 1] = x / way, y / way
    went = sub(ankle, read_vec_at(s, OUT))
    return max(s[RAMP], 0.0) / dt * (went.x * s[RAMP_WAY] + went.y * s[RAMP_WAY + 1])


@device_function
def let_down(s, ankle, ground, rate, dt):
    """The lift and its velocity after a frame in which nothing is in its way: to 0 by a spring, up with the steps."""
    before, ramp = s[RAMP_MOVES], ramp_speed(s, ankle, ground, dt)
    s[RAMP_MOVES] = ramp
    # A foot that gets slower climbs more slowly, at once: it would fly on where it is put down.
    s[LIFT_MOVES] += ramp - before
    lift, moves = step_bounded_spring(s[LIFT], s[LIFT_MOVES] - ramp, rate, DOWN, dt)
    return lift + ramp * dt, moves + ramp


@device_function
def needed_lift(s, leg, frame, marks, ankle, turn, ground, dt, rate):
    """Tip of the foot without its lift, the least lift [m] that has it out of the ground, how high its lowest point is.

    And by how much the toes bend less than in the last frame: they give back what they bent while the foot stood.
    """
    tip = add(sub(read_vec_at(frame, SOLE + 6), read_vec_at(frame, PLACES + 6)), ankle)
    bent = s[BENDS] - least_bend(leg)
    s[BENDS] = least_bend(leg) + bent * math.exp(-rate * dt)
    needed = height_at(ground, 2, tip) - tip.z - s[BENDS]
    lowest = -needed
    for j in range(2):
        p = add(ankle, rotate(turn, read_vec_at(marks, HEEL + 3 * j)))
        needed = max(needed, height_at(ground, j, p) - p.z)
        lowest = min(lowest, p.z - height_at(ground, j, p))
    return tip, needed, lowest, bent + least_bend(leg) - s[BENDS]


@device_function
def lifted_over(s, leg, frame, marks, ankle, turn, ground, settings, dt):
    """How far a swinging foot is lifted: over what it is in or will be in, by no more than an acceleration."""
    rate = settings[LIFT_RATE]
    tip, needed, lowest, unbent = needed_lift(s, leg, frame, marks, ankle, turn, ground, dt, rate)
    if dt <= 0.0:
        return s[LIFT]
    rise = rise_of(s, frame, dt)
    asked = demand_ahead(s, tip, min(rise, 0.0), ground)
    if s[DEPTH] + s[ROSE] > BARELY:
        # A foot that goes down is faster in the ground than its lift knows.
        moves = s[LIFT_MOVES] + (min(rise, 0.0) if needed > s[LIFT] else 0.0)
        asked = max(asked, demand(needed - s[LIFT], moves, max(_SOON, 1.2 * dt)))
    s[HORIZON] = min(max(lowest / -rise, _SOONEST), FURTHEST) if rise < 0.0 else FURTHEST
    lift, moves = let_down(s, ankle, ground, rate, dt)
    asked = max(asked, braked(s[LIFT] - needed, s[LIFT_MOVES] - s[RAMP_MOVES], min(rise, 0.0), dt))
    fastest = s[LIFT_MOVES] + STRONGEST * dt
    pull = min(asked, STRONGEST)
    if s[LIFT_MOVES] + pull * dt > moves:
        lift, moves = s[LIFT] + s[LIFT_MOVES] * dt + 0.5 * pull * dt * dt, s[LIFT_MOVES] + pull * dt
    # What the foot itself goes into the ground it comes out of at once; what the ground rises under it, as above.
    deeper = needed - lift - s[DEPTH] - s[ROSE] - unbent
    if deeper > 0.0 and s[DEPTH] < BARELY:
        lift, moves = min(lift + deeper, s[LIFT] + fastest * dt), max(moves, min(0.0, fastest))
    s[DEPTH] = max(needed - lift, 0.0)
    s[LIFT], s[LIFT_MOVES] = lift, moves
    return lift
