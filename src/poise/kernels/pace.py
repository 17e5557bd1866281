# pyright: standard
"""Move a configuration towards another with speed limits per joint. One call handles all joints.

    rows  (j, PACE_ROW)  independent joints; see the columns PACE_ of layout.py
    q     (nq,)          current configuration
    goal  (nq,)          goal configuration
    out   (nq,)          configuration after the given seconds; numbers without a row are those of the goal

A distance decreases at the rate min(speed, distance ln 2 / half-life); see solving/frames/pace.py.
"""

from __future__ import annotations

import math

from poise.kernels.codes import (
    BALL,
    BENT,
    HINGE,
    MOVE,
    PACE_AXIS,
    PACE_COLUMN,
    PACE_HIGH,
    PACE_KIND,
    PACE_LOW,
    PACE_SPEED,
)
from poise.kernels.compiled import inline, short_kernel
from poise.kernels.limits.angles import TURN, best_angle, twist_angle
from poise.kernels.values.lanes import nearest
from poise.kernels.values.linear import Quat, about, normalise, quat_in, vec_in

_LN2 = math.log(2.0)
_STRAIGHT = 1e-9  # [rad] below, slerp weights equal linear ones to rounding


@inline
def left_of(distance, seconds, speed, half_life):
    """Compute the remaining distance after some seconds. A half-life of 0 and an infinite speed are no bounds."""
    left, rest = distance, seconds
    if speed < math.inf:
        # Linear down to the distance where both bounds are equal, exponential from there on.
        corner = speed * half_life / _LN2
        straight = min(max((distance - corner) / speed, 0.0), seconds)
        left, rest = distance - speed * straight, seconds - straight
    if half_life > 0.0:
        return left * 2.0 ** (-rest / half_life)
    return 0.0 if rest > 0.0 else left


@inline
def share_done(distance, seconds, speed, half_life):
    """Compute the covered fraction of a distance; 1 for distance 0."""
    return 1.0 - left_of(distance, seconds, speed, half_life) / distance if distance > 0.0 else 1.0


@inline
def along(row, q, goal, seconds, half_life, out):
    """Step a hinge or slide. A hinge takes the shorter direction where its range allows."""
    at = int(row[PACE_COLUMN])
    a, b = q[at], goal[at]
    if row[PACE_KIND] == HINGE:
        near = b + TURN * nearest((a - b) / TURN)
        if row[PACE_LOW] <= near <= row[PACE_HIGH]:
            b = near
    done = share_done(abs(b - a), seconds, row[PACE_SPEED], half_life)
    out[at] = b if done >= 1.0 else a + done * (b - a)


@inline
def across(row, q, goal, seconds, half_life, out):
    """Step the translation of a free joint along a straight line."""
    at = int(row[PACE_COLUMN])
    x, y, z = goal[at] - q[at], goal[at + 1] - q[at + 1], goal[at + 2] - q[at + 2]
    done = share_done(math.sqrt(x * x + y * y + z * z), seconds, row[PACE_SPEED], half_life)
    if done < 1.0:
        out[at], out[at + 1], out[at + 2] = q[at] + done * x, q[at + 1] + done * y, q[at + 2] + done * z


@inline
def turned(row, q, goal, seconds, half_life):
    """Step a ball joint by slerp.

    Returns its rotation, and whether it has arrived; then the goal's own numbers are used.
    """
    a, b = quat_in(q, int(row[PACE_COLUMN])), quat_in(goal, int(row[PACE_COLUMN]))
    if a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z < 0.0:
        b = Quat(-b.w, -b.x, -b.y, -b.z)
    chord = (a.w - b.w) ** 2 + (a.x - b.x) ** 2 + (a.y - b.y) ** 2 + (a.z - b.z) ** 2
    both = (a.w + b.w) ** 2 + (a.x + b.x) ** 2 + (a.y + b.y) ** 2 + (a.z + b.z) ** 2
    h = 2.0 * math.atan2(math.sqrt(chord), math.sqrt(both))  # from chord lengths: exact near 0, and 0 for equal ones
    done = share_done(2.0 * h, seconds, row[PACE_SPEED], half_life)
    left, gone = 1.0 - done, done
    if h >= _STRAIGHT:
        left, gone = math.sin(left * h) / math.sin(h), math.sin(done * h) / math.sin(h)
    turn = Quat(left * a.w + gone * b.w, left * a.x + gone * b.x, left * a.y + gone * b.y, left * a.z + gone * b.z)
    return normalise(turn), done >= 1.0


@inline
def angle_in(row, turn):
    """Compute the angle of a hinged ball. It is the angle in its range nearest to the twist in (-pi, pi]."""
    angle = twist_angle(turn, vec_in(row, PACE_AXIS))
    if angle > math.pi:
        angle -= TURN
    elif angle <= -math.pi:
        angle += TURN
    return best_angle(angle, row[PACE_LOW], row[PACE_HIGH])


@inline
def bent(row, q, goal, seconds, half_life):
    """Step a hinged ball along its range. It never crosses forbidden angles."""
    at = int(row[PACE_COLUMN])
    a, b = angle_in(row, quat_in(q, at)), angle_in(row, quat_in(goal, at))
    done = share_done(abs(b - a), seconds, row[PACE_SPEED], half_life)
    return about(vec_in(row, PACE_AXIS), a + done * (b - a)), done >= 1.0


@short_kernel
def approach(rows, q, goal, seconds, half_life, out):
    """Step all joints towards the goal; fill `out`."""
    for i in range(goal.shape[0]):
        out[i] = goal[i]
    for j in range(rows.shape[0]):
        row = rows[j]
        kind, at = int(row[PACE_KIND]), int(row[PACE_COLUMN])
        if kind == MOVE:
            across(row, q, goal, seconds, half_life, out)
        elif kind != BALL and kind != BENT:
            along(row, q, goal, seconds, half_life, out)
        else:
            if kind == BALL:
                turn, is_there = turned(row, q, goal, seconds, half_life)
            else:
                turn, is_there = bent(row, q, goal, seconds, half_life)
            if not is_there:
                out[at], out[at + 1], out[at + 2], out[at + 3] = turn.w, turn.x, turn.y, turn.z
