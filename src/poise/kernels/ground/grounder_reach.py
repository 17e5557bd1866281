# pyright: standard
"""How far the legs of a live frame reach, and knees that never move by more than an acceleration beside the animation.

Near to straight a knee moves many times as fast as hip and ankle do. So it is not the ankle that a leg follows, but how
much more the knee is bent than animated: a number that changes smoothly, for which the ankle gives some millimetres.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.ground.grounder_walk import (
    EASY,
    KNEE,
    KNEE_GOAL,
    KNEE_MOVES,
    MOST,
    NEW,
    OWN,
    OWN_AGE,
    OWN_CHANGE,
    OWN_MOVES,
    PLACES,
)
from poise.kernels.springs import step_bounded_spring
from poise.kernels.vec_quat import norm, read_vec_at, sub

_EASY, _MOST = 0.965, 0.99  # a leg is asked to be stretched so far, and is so far at most: shares of its length
_REST = 0.3  # a leg that is animated straighter may become straighter still by this share of what is left
KNEE_RATE = 80.0  # [1/s] at which a knee, or toes, left behind come after
_MOMENT = 0.1  # [s]
_GIVES, _BENT = 0.02, 0.3  # [m] by which an ankle is off for its knee at most; not at all from this share of the leg on
_KNEE_PUSH = 45.0  # [m/s^2] by which it does at most: 12 mm a frame at 60 Hz


@inline
def follow_goal(x, v, before, goal, rate, most, dt):
    """Step a value towards a goal that moved from `before` to `goal`, by an acceleration of at most `most`."""
    if dt <= 0.0:
        return x, v
    u = (goal - before) / dt
    left, _ = step_bounded_spring(x - before, v - u, rate, most, dt)
    # The goal may change its speed by more than the value: the push is bounded as it is seen.
    push = min(max(2.0 * (goal + left - x - v * dt) / (dt * dt), -most), most)
    return x + v * dt + 0.5 * push * dt * dt, v + push * dt


@inline
def keep_step(x, v, before, goal, rate, most, dt):
    """As `follow_goal`, but exactly where the goal changes its step by no more; v is the last step by its time."""
    if dt <= 0.0:
        return x, v
    u, w, change = (goal - before) / dt, (goal - x) / dt, most * dt
    if abs(w - v) <= change and abs(w - u) <= change:
        return goal, w
    left, _ = step_bounded_spring(x - before, v - u, rate, most, dt)
    w = min(max((goal + left - x) / dt, v - change), v + change)
    return x + w * dt, w


@inline
def leg_length(frame):
    """Thigh and shin."""
    hip, knee, ankle = read_vec_at(frame, PLACES), read_vec_at(frame, PLACES + 3), read_vec_at(frame, PLACES + 6)
    return norm(sub(knee, hip)) + norm(sub(ankle, knee))


@inline
def posed_chord(frame):
    """The distance of hip and ankle as animated."""
    return norm(sub(read_vec_at(frame, PLACES + 6), read_vec_at(frame, PLACES)))


@device_function
def put_limits(frame):
    """Put from where the distance of hip and ankle is made smaller and how far it comes; return what is left [m]."""
    length, posed = leg_length(frame), posed_chord(frame)
    frame[EASY] = max(_EASY * length, posed)
    frame[MOST] = max(_MOST * length, posed + _REST * max(length - posed, 0.0))
    return frame[EASY] - posed


@inline
def soft_chord(frame, hip):
    """How far an ankle may be from its hip: less and less beyond what is easy."""
    easy, asked = frame[EASY], norm(sub(read_vec_at(frame, NEW), hip))
    if asked <= easy:
        return frame[MOST]
    room = max(frame[MOST] - easy, 1e-9 * easy)
    return easy + room * math.tanh((asked - easy) / room)


@inline
def knee_height(length, chord):
    """Height of the knee over a chord, of a leg of two equal bones; of any other it goes to 0 just so."""
    return 0.5 * math.sqrt(max(length * length - chord * chord, 0.0))


@inline
def slow_enough(x, w, floor, most, dt):
    """Slow a value down that goes towards a floor, so that it can stop there by an acceleration of `most`."""
    room, step = max(x - floor, 0.0), most * dt
    # What is left after this frame must do to stop: w dt + w^2 / (2 most) <= room.
    return max(w, step - math.sqrt(step * step + 2.0 * most * room))


@device_function
def allowed_change(s, own, dt, fresh):
    """[m/s] by which the speed of a knee may change in a frame: by what it does as animated, and some more."""
    age = 0.0 if fresh else s[OWN_AGE] + 1.0
    moves = (own - s[OWN]) / dt if age > 0.0 else 0.0
    change = abs(moves - s[OWN_MOVES]) if age > 1.0 else 0.0
    # As animated within a moment: what was restless just now may be so still.
    s[OWN_CHANGE] = max(change, s[OWN_CHANGE] * math.exp(-dt / _MOMENT)) if age > 1.0 else 0.0
    s[OWN], s[OWN_MOVES], s[OWN_AGE] = own, moves, age
    # As long as no speed is known it is that of what is asked for.
    return _KNEE_PUSH * dt + s[OWN_CHANGE] if age > 1.0 else math.inf


@device_function
def smooth_chord(s, frame, asked, dt, fresh):
    """The distance of hip and ankle near the one asked for with which the knee moves smoothly beside the animation."""
    if dt <= 0.0 and not fresh:
        return asked
    length = leg_length(frame)
    own, straightest = knee_height(length, posed_chord(frame)), knee_height(length, frame[MOST])
    goal, last, owned = knee_height(length, asked), s[KNEE], s[OWN]
    change = allowed_change(s, own, dt, fresh)
    before, s[KNEE_GOAL] = s[KNEE_GOAL], goal
    if change == math.inf:
        s[KNEE], s[KNEE_MOVES] = goal, 0.0 if fresh else (goal - last) / dt
        return asked
    _, moves = keep_step(last, s[KNEE_MOVES], before, goal, KNEE_RATE, change / dt, dt)
    # Beside the animation, which may straighten the leg as fast as it does.
    moves = s[OWN_MOVES] + slow_enough(last - owned, moves - s[OWN_MOVES], straightest - own, change / dt, dt)
    # The more the leg is bent the more the ankle would be off for its knee, and the less it needs to be.
    gives = _GIVES * max(1.0 - (goal / (_BENT * length)) ** 2, 0.0)
    low, high = knee_height(length, min(asked + gives, frame[MOST])), knee_height(length, max(asked - gives, 0.0))
    s[KNEE] = min(max(last + moves * dt, low), high)
    s[KNEE_MOVES] = (s[KNEE] - last) / dt
    return math.sqrt(max(length * length - 4.0 * s[KNEE] * s[KNEE], 0.0))
