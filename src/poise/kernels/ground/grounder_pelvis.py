# pyright: standard
"""The pelvis of a live frame: over the ground under the feet, lower for legs that are too short, by bounded pushes."""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.ground.grounder_reach import follow_goal, put_limits
from poise.kernels.ground.grounder_walk import (
    ABOUT,
    BASE,
    BASE_GOAL,
    BASE_MOVES,
    EASY,
    FURTHEST,
    HIGHER,
    HORIZON,
    MODE,
    NEW,
    PELVIS_RATE,
    PLACES,
    ROOM,
    SETTLED,
    SINK,
    SINK_GOAL,
    SINK_MOVES,
    SLOPE,
    UP,
)
from poise.kernels.vec_quat import (
    read_vec_at,
    sub,
)

_PUSH_UP, _PUSH_DOWN = 20.0, 15.0  # [m/s^2] at most: to follow the ground, and for legs that are too short
_SINKS = 0.28  # [m/s] for legs that are too short at most on level ground: 5 mm a frame at 60 Hz
_RISES = 0.25  # the pelvis rises again more slowly than it sank by this: legs are straight once a step
_SOFT = 0.02  # [m] before a leg is too short it begins to draw the pelvis down
_DEEP, _DEEPEST = 0.08, 0.15  # [m] to which legs draw it down, and at most: beyond that a foot leaves its place


@inline
def highest_pelvis(frame):
    """How much higher than animated the hip may be for the leg to reach its foot easily."""
    away, easy = sub(read_vec_at(frame, PLACES), read_vec_at(frame, NEW)), frame[EASY] + frame[ROOM]
    room_left = easy * easy - away.x * away.x - away.y * away.y
    # A foot too far aside for any height: half the chord, so that the pelvis sinks far but not for ever.
    return math.sqrt(max(room_left, 0.25 * easy * easy)) - away.z


@inline
def drawn_down(lacks, early):
    """[m] by which a leg that lacks so much draws the pelvis down: from `early` before on, and not for ever."""
    if lacks <= -early:
        return 0.0
    down = 0.25 * (lacks + early) * (lacks + early) / early if lacks < early else lacks
    room = _DEEPEST - _DEEP
    return down if down < _DEEP else _DEEP + room * math.tanh((down - _DEEP) / room)


@inline
def share_of(s):
    """How much a leg counts: wholly while its foot stands, and the more the sooner it lands."""
    return 1.0 if s[MODE] > 0.0 else 1.0 - s[HORIZON] / FURTHEST


@device_function
def ground_below(state, frames):
    """How much higher than the animation's floor the ground is below the hips, on the plane that fits the feet.

    Between two steps of stairs the body is half-way up; on a slope it rises as it goes, and not as a foot swings.
    """
    legs = state.shape[0]
    higher, x, y, along_x, along_y = 0.0, 0.0, 0.0, 0.0, 0.0
    for l in range(legs):
        higher += frames[l, HIGHER] / legs
        along_x += state[l, SLOPE] / legs
        along_y += state[l, SLOPE + 1] / legs
        x += (frames[l, PLACES] - frames[l, ABOUT]) / legs
        y += (frames[l, PLACES + 1] - frames[l, ABOUT + 1]) / legs
    return higher + along_x * x + along_y * y


@device_function
def move_pelvis(body, state, frames, settings, dt, fresh):
    """The pelvis follows the ground under the feet, and sinks for legs that are too short."""
    legs, rate = state.shape[0], settings[PELVIS_RATE]
    goal = ground_below(state, frames)
    before, body[BASE_GOAL] = body[BASE_GOAL], goal
    if fresh:
        body[BASE], body[BASE_MOVES] = goal, 0.0
    elif body[SETTLED] == 0.0:  # the second frame: only now it is known how fast the ground rises
        body[BASE], body[BASE_MOVES] = goal, (goal - before) / dt if dt > 0.0 else 0.0
    else:
        body[BASE], body[BASE_MOVES] = follow_goal(body[BASE], body[BASE_MOVES], before, goal, rate, _PUSH_UP, dt)
    body[SETTLED] = 0.0 if fresh else 1.0
    missing = 0.0
    for l in range(legs):
        early = min(put_limits(frames[l]), _SOFT)
        lacks = body[BASE] - highest_pelvis(frames[l])
        missing = max(missing, share_of(state[l]) * drawn_down(lacks, early))
    before, body[SINK_GOAL] = body[SINK_GOAL], missing
    if fresh:
        body[SINK], body[SINK_MOVES] = missing, 0.0
    else:
        # Slowly up again: a leg is straight once a step, and a pelvis that rose in between would bob.
        rises, sunk = missing < body[SINK], body[SINK]
        rate, before = (_RISES * rate, missing) if rises else (rate, min(before, missing))
        body[SINK], body[SINK_MOVES] = follow_goal(sunk, body[SINK_MOVES], before, missing, rate, _PUSH_DOWN, dt)
        most = _SINKS + abs(body[BASE_MOVES])  # faster where the ground rises or falls
        if body[SINK_MOVES] > most:
            body[SINK], body[SINK_MOVES] = min(body[SINK], sunk + most * dt), most
    body[UP] = body[BASE] - body[SINK]
