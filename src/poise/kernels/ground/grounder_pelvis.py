# pyright: standard
"""The pelvis of a live frame: over the ground under the feet, lower for legs that are too short, by bounded pushes.

And the lean of the body, towards where the ground rises.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.ground.grounder_reach import follow_goal, put_limits
from poise.kernels.ground.grounder_walk import (
    ABOUT,
    BASE,
    BASE_GOAL,
    BASE_MOVES,
    CENTRE,
    EASY,
    FURTHEST,
    HIGHER,
    HORIZON,
    LEAN,
    LEAN_MOVES,
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
    SWAY,
    TRUNK_START,
    UP,
)
from poise.kernels.springs import exp_rotation, step_bounded_spring
from poise.kernels.vec_quat import Quat, Vec, add, read_vec_at, rotate, scale, sub, write_vec_at

_PUSH_UP, _PUSH_DOWN = 20.0, 15.0  # [m/s^2] at most: to follow the ground, and for legs that are too short
_SINKS = 0.28  # [m/s] for legs that are too short at most on level ground: 5 mm a frame at 60 Hz
_RISES = 0.25  # the pelvis rises again more slowly than it sank by this: legs are straight once a step
_SOFT = 0.02  # [m] before a leg is too short it begins to draw the pelvis down
_DEEP, _DEEPEST = 0.08, 0.15  # [m] to which legs draw it down, and at most: beyond that a foot leaves its place

# Of the slope along its way the body leans: into it going up, back going down, as people do (Leroux, Fung and Barbeau,
# Postural adaptation to walking on inclined surfaces, 2002).
_LEANS = 0.3
_STROLL = 0.3  # [m/s] at which the lean is half of that: a figure that stands does not lean


@inline
def leaning_hip(frame):
    """The place of the hip as the figure leans."""
    return add(read_vec_at(frame, PLACES), read_vec_at(frame, SWAY))


@device_function
def lean_turn(body, centre, settings, dt, fresh):
    """The rotation of the body that leans: by a spring, into the slope at which the pelvis rises as the figure goes."""
    if fresh:
        for c in range(4):
            body[LEAN + c] = 0.0
    elif dt > 0.0:
        x, y = (centre.x - body[CENTRE]) / dt, (centre.y - body[CENTRE + 1]) / dt
        k = _LEANS * body[BASE_MOVES] / (x * x + y * y + _STROLL * _STROLL)
        rate = _RISES * settings[PELVIS_RATE]
        for c in range(2):
            goal = k * (x if c == 0 else y)
            left, moves = step_bounded_spring(body[LEAN + c] - goal, body[LEAN_MOVES + c], rate, _PUSH_DOWN, dt)
            body[LEAN + c], body[LEAN_MOVES + c] = goal + left, moves
    body[CENTRE], body[CENTRE + 1] = centre.x, centre.y
    if body[LEAN] == body[LEAN + 1] == 0.0:
        return Quat(1.0, 0.0, 0.0, 0.0)
    return exp_rotation(Vec(-body[LEAN + 1], body[LEAN], 0.0))


@device_function
def lean_body(body, frames, trunk, settings, dt, fresh):
    """The rotation of the body about the middle of its hips; how far that moves the trunk. And what hips move by."""
    turn, centre = Quat(1.0, 0.0, 0.0, 0.0), Vec(0.0, 0.0, 0.0)
    if settings[TRUNK_START] < 0.0:
        return turn, centre
    for l in range(frames.shape[0]):
        centre = add(centre, scale(read_vec_at(frames[l], PLACES), 1.0 / frames.shape[0]))
    turn = lean_turn(body, centre, settings, dt, fresh)
    for l in range(frames.shape[0]):
        write_vec_at(frames[l], SWAY, moved_by(turn, sub(read_vec_at(frames[l], PLACES), centre)))
    return turn, moved_by(turn, sub(Vec(trunk[3], trunk[7], trunk[11]), centre))


@inline
def moved_by(turn, arm):
    """How far a rotation moves the end of an arm."""
    return sub(rotate(turn, arm), arm)


@inline
def highest_pelvis(frame):
    """How much higher than animated the hip may be for the leg to reach its foot easily."""
    away, easy = sub(leaning_hip(frame), read_vec_at(frame, NEW)), frame[EASY] + frame[ROOM]
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
