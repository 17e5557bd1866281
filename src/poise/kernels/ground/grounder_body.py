# pyright: standard
"""Pelvis, lean and reach of a live frame, moved by bounded pushes.

The pelvis goes over the ground under the feet, and lower for legs that are too short; the body leans towards where the
ground rises. Near to straight a knee moves many times as fast as hip and ankle do. So it is not the ankle that a leg
follows, but how much more the knee is bent than animated: a number that changes smoothly, for which the ankle gives
some millimetres.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
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
    KNEE,
    KNEE_GOAL,
    KNEE_MOVES,
    LEAN,
    LEAN_MOVES,
    MODE,
    MOST,
    NEW,
    OWN,
    OWN_AGE,
    OWN_CHANGE,
    OWN_MOVES,
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
from poise.kernels.vec_quat import Quat, Vec, add, norm, read_vec_at, rotate, scale, sub, write_vec_at

_EASY, _MOST = 0.965, 0.99  # a leg is to be stretched so far, and is so far at most: shares of its length
_REST = 0.3  # a leg that is animated straighter may become straighter still by this share of what is left
KNEE_RATE = 80.0  # [1/s] at which a knee, or toes, left behind come after
_MOMENT = 0.1  # [s]
_FOLDED = 0.3  # a leg is folded so far at most, or as far as it is animated: share of its length, a knee at 145 degrees
_GIVES, _BENT = 0.02, 0.3  # [m] by which an ankle is off for its knee at most; not at all from this share of the leg on
_KNEE_PUSH = 45.0  # [m/s^2] by which it does at most: 12 mm a frame at 60 Hz

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
def follow_goal(x, v, before, goal, rate, most, dt):
    """Step a value towards a goal by a bounded acceleration.

    The goal moved from `before` to `goal`; the acceleration is at most `most`.
    """
    if dt <= 0.0:
        return x, v
    u = (goal - before) / dt
    left, _ = step_bounded_spring(x - before, v - u, rate, most, dt)
    # The goal may change its speed by more than the value: the push is bounded as it is seen.
    push = min(max(2.0 * (goal + left - x - v * dt) / (dt * dt), -most), most)
    return x + v * dt + 0.5 * push * dt * dt, v + push * dt


@inline
def keep_step(x, v, before, goal, rate, most, dt):
    """Step a value as `follow_goal`, exactly where the goal allows.

    It does so where the goal changes its step by no more than `most`. v is the last step by its time.
    """
    if dt <= 0.0:
        return x, v
    u, w, change = (goal - before) / dt, (goal - x) / dt, most * dt
    if abs(w - v) <= change and abs(w - u) <= change:
        return goal, w
    left, _ = step_bounded_spring(x - before, v - u, rate, most, dt)
    w = min(max((goal + left - x) / dt, v - change), v + change)
    return x + w * dt, w


@inline
def measure_leg(frame):
    """Thigh and shin."""
    hip, knee, ankle = read_vec_at(frame, PLACES), read_vec_at(frame, PLACES + 3), read_vec_at(frame, PLACES + 6)
    return norm(sub(knee, hip)) + norm(sub(ankle, knee))


@inline
def measure_chord(frame):
    """The distance of hip and ankle as animated."""
    return norm(sub(read_vec_at(frame, PLACES + 6), read_vec_at(frame, PLACES)))


@device_function
def write_limits(frame):
    """Write easy and largest distances of hip and ankle.

    Returns what is left of the easy one [m].
    """
    length, posed = measure_leg(frame), measure_chord(frame)
    frame[EASY] = max(_EASY * length, posed)
    frame[MOST] = max(_MOST * length, posed + _REST * max(length - posed, 0.0))
    return frame[EASY] - posed


@inline
def soften_chord(frame, hip):
    """Return the largest chord of a swinging leg.

    Beyond the easy one it grows less and less.
    """
    easy, distance = frame[EASY], norm(sub(read_vec_at(frame, NEW), hip))
    if distance <= easy:
        return frame[MOST]
    room = max(frame[MOST] - easy, 1e-9 * easy)
    return easy + room * math.tanh((distance - easy) / room)


@inline
def compute_knee_height(length, chord):
    """Compute the knee's height over a chord, for equal bones.

    For others it goes to 0 just so.
    """
    return 0.5 * math.sqrt(max(length * length - chord * chord, 0.0))


@inline
def slow_down(x, w, floor, most, dt):
    """Slow a value down towards a floor.

    It can stop there by an acceleration of `most`.
    """
    room, step = max(x - floor, 0.0), most * dt
    # What is left after this frame must do to stop: w dt + w^2 / (2 most) <= room.
    return max(w, step - math.sqrt(step * step + 2.0 * most * room))


@device_function
def compute_max_change(s, own, dt, fresh):
    """Compute the largest change of a knee's speed in a frame [m/s].

    It is the animated one, and some more.
    """
    age = 0.0 if fresh else s[OWN_AGE] + 1.0
    moves = (own - s[OWN]) / dt if age > 0.0 else 0.0
    change = abs(moves - s[OWN_MOVES]) if age > 1.0 else 0.0
    # As animated within a moment: what was restless just now may be so still.
    s[OWN_CHANGE] = max(change, s[OWN_CHANGE] * math.exp(-dt / _MOMENT)) if age > 1.0 else 0.0
    s[OWN], s[OWN_MOVES], s[OWN_AGE] = own, moves, age
    # As long as no speed is known it is that of the wanted chord.
    return _KNEE_PUSH * dt + s[OWN_CHANGE] if age > 1.0 else math.inf


@device_function
def smooth_chord(s, frame, wanted, dt, fresh):
    """Return a chord near the wanted one with a smooth knee.

    The knee moves smoothly beside the animation.
    """
    if dt <= 0.0 and not fresh:
        return wanted
    length = measure_leg(frame)
    own, straightest = compute_knee_height(length, measure_chord(frame)), compute_knee_height(length, frame[MOST])
    goal, last, owned = compute_knee_height(length, wanted), s[KNEE], s[OWN]
    change = compute_max_change(s, own, dt, fresh)
    before, s[KNEE_GOAL] = s[KNEE_GOAL], goal
    if change == math.inf:
        s[KNEE], s[KNEE_MOVES] = goal, 0.0 if fresh else (goal - last) / dt
        return wanted
    _, moves = keep_step(last, s[KNEE_MOVES], before, goal, KNEE_RATE, change / dt, dt)
    # Beside the animation, which may straighten the leg as fast as it does.
    moves = s[OWN_MOVES] + slow_down(last - owned, moves - s[OWN_MOVES], straightest - own, change / dt, dt)
    # The more the leg is bent the more the ankle would be off for its knee, and the less it needs to be.
    gives = _GIVES * max(1.0 - (goal / (_BENT * length)) ** 2, 0.0)
    low, high = (
        compute_knee_height(length, min(wanted + gives, frame[MOST])),
        compute_knee_height(length, max(wanted - gives, 0.0)),
    )
    s[KNEE] = min(max(last + moves * dt, low), high)
    s[KNEE_MOVES] = (s[KNEE] - last) / dt
    return math.sqrt(max(length * length - 4.0 * s[KNEE] * s[KNEE], 0.0))


@inline
def place_hip(frame):
    """Return the place of the hip of the leaning figure."""
    return add(read_vec_at(frame, PLACES), read_vec_at(frame, SWAY))


@device_function
def turn_leaning_body(body, centre, settings, dt, fresh):
    """Return the rotation of the leaning body.

    A spring leads into the slope at which the pelvis rises as the figure goes.
    """
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
    """Lean the body about the middle of its hips.

    Returns its rotation, and how far that moves the trunk. Writes how far it moves the hips.
    """
    turn, centre = Quat(1.0, 0.0, 0.0, 0.0), Vec(0.0, 0.0, 0.0)
    if settings[TRUNK_START] < 0.0:
        return turn, centre
    for l in range(frames.shape[0]):
        centre = add(centre, scale(read_vec_at(frames[l], PLACES), 1.0 / frames.shape[0]))
    turn = turn_leaning_body(body, centre, settings, dt, fresh)
    for l in range(frames.shape[0]):
        write_vec_at(frames[l], SWAY, measure_move(turn, sub(read_vec_at(frames[l], PLACES), centre)))
    return turn, measure_move(turn, sub(Vec(trunk[3], trunk[7], trunk[11]), centre))


@inline
def measure_move(turn, arm):
    """Measure the move of the end of an arm by a rotation."""
    return sub(rotate(turn, arm), arm)


@inline
def compute_max_pelvis(frame):
    """Compute the highest hip with its foot in easy reach."""
    away, easy = sub(place_hip(frame), read_vec_at(frame, NEW)), frame[EASY] + frame[ROOM]
    room_left = easy * easy - away.x * away.x - away.y * away.y
    # A foot too far aside for any height: half the chord, so that the pelvis sinks far but not for ever.
    return math.sqrt(max(room_left, 0.25 * easy * easy)) - away.z


@inline
def compute_fold(frame, away):
    """Compute how far an ankle is below its hip at least [m].

    It is no farther than animated: of a kick, above it.

    away  from the hip to the ankle; only its level part counts
    """
    least = _FOLDED * measure_leg(frame)
    folded = math.sqrt(max(least * least - away.x * away.x - away.y * away.y, 0.0))
    return min(folded, frame[PLACES + 2] - frame[PLACES + 8])


@inline
def compute_min_pelvis(frame):
    """Compute the lowest hip above its foot."""
    away = sub(read_vec_at(frame, NEW), place_hip(frame))
    return away.z + compute_fold(frame, away)


@inline
def compute_sink(lacks, early):
    """Compute the sinking of the pelvis for a leg too short [m].

    lacks  what the leg falls short by [m]
    early  so much before, sinking begins; it is bounded
    """
    if lacks <= -early:
        return 0.0
    down = 0.25 * (lacks + early) * (lacks + early) / early if lacks < early else lacks
    room = _DEEPEST - _DEEP
    return down if down < _DEEP else _DEEP + room * math.tanh((down - _DEEP) / room)


@inline
def compute_share(s):
    """Return the weight of a leg.

    It is 1 while its foot stands, and the larger the sooner it lands.
    """
    return 1.0 if s[MODE] > 0.0 else 1.0 - s[HORIZON] / FURTHEST


@device_function
def measure_ground_below(state, frames):
    """Measure the ground below the hips on the plane of the feet.

    Above the animation's floor. Between two steps of stairs the body is half-way up; on a slope it rises as it goes,
    and not as a foot swings.
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
    """Move the pelvis with the ground, lower for short legs."""
    legs, rate = state.shape[0], settings[PELVIS_RATE]
    goal = measure_ground_below(state, frames)
    for l in range(legs):
        goal = max(goal, compute_min_pelvis(frames[l]))
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
        early = min(write_limits(frames[l]), _SOFT)
        lacks = body[BASE] - compute_max_pelvis(frames[l])
        missing = max(missing, compute_share(state[l]) * compute_sink(lacks, early))
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
