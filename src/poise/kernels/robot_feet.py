# pyright: standard
"""Feet of live robots: stances and swings, eased by springs.

Everything is in axes ahead, left, up, and in the unit of the file. A foot's own axes are heading, up, right. Arrays of
f feet have named columns:

    soles    (f, SOLE)    lengths of each sole and leg
    plane    (PLANE,)     the ground
    state    (f, STATE)   what each foot remembers; zeros before the first frame
    aims     (m, 9)       what tasks aim at; of each foot rotation, heel, ball; without roll rotation, two corners of
                          the heel, two of the ball
    weights  (1, m)       what they weigh
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import gil_kernel
from poise.kernels.mean_speeds import decay_speed, get_seconds
from poise.kernels.rotation_matrices import matrix_to_quaternion
from poise.kernels.springs import exp_rotation, step_spring, step_spring_vec
from poise.kernels.vec_quat import (
    Vec,
    add,
    cross,
    dot,
    norm,
    normalise,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_vec_at,
)

# Columns of soles: how far a sole reaches behind and ahead of its ankle, the ankle's height, half of its widths; thigh
# and shin; the hip joint from the middle of both; the length of the robot's legs; how far its ankle rolls [rad],
# infinite where that is as far as any leg leans
HEEL, BALL, HEIGHT, HEEL_WIDTH, BALL_WIDTH, THIGH, SHIN, HIP, LEG, MOST_ROLL = 0, 1, 2, 3, 4, 5, 6, 7, 10, 11
TO_NODE = 12  # rotation (9,) from the foot's axes to the node of its task
WEIGHTS = 21  # three rows of rotation, heel, ball: in the air, in the air at the ground, standing
SOLE = 30
# Columns of plane: height at the origin, slopes ahead and to the left, its normal
LEVEL, SLOPES, NORMAL, PLANE = 0, 1, 3, 6
# Columns of state: how firmly it stands; whether there was a frame, and whether heel and ball stood in it; where the
# leg led the foot, where it was, and its axes; mean speeds of both; whether it was left behind; whether it has a
# stance: ground under the ankle and axes of a flat sole; what is left of changes of place, rotation and pitch, with
# their speeds
FIRMNESS, IS_SHOWN, STOOD, FREE, AT, AXES, SPEED, FREE_SPEED = 0, 1, 2, 4, 7, 10, 19, 24
LEFT_BEHIND, HAS_STANCE, STANCE, AWAY, TURNED, PITCHED, STATE = 29, 30, 31, 43, 49, 55, 57
_SPEED_SIZE = 5
_KINDS = 3  # of weights: rotation, heel, ball

# [s] in which half of a change is over (a foot comes to stand or leaves the ground), and how long until it is firm
_HALF_LIFE_S, _FIRM_S = 0.05, 0.05
# of the weights of standing feet over a whole clip: what live feet have at most. Bodies of slow joints would jump
_MOST_FIRM = 0.2
# of a critically damped spring: its rate times its half-life
_SPRING_RATE = 1.678
# [leg lengths] and [rad] by which a standing foot is at most beside where the leg leads, and how near it has come when
# it stands again
_FARTHEST_LEGS, _MAX_TURN_RAD, _NEAR_SHARE = 0.17, math.radians(45.0), 0.3
_MIN_LEVEL_LENGTH = 0.5  # of a heading: steeper feet have none
MAX_PITCH_RAD = math.radians(70.0)
# [rad] a sole that is tilted by more stands on one edge. Below it both share the hold, which then does not leap from
# one to the other; edges 60 mm apart are within 1 mm
EDGE_TILT_RAD = math.radians(1.0)
NEAR_HEIGHT_LEGS = 0.1  # [leg lengths] over the ground in which the weight of a swinging foot falls
_BODY_HALF_LIFE_S = 0.08  # in which half of the shift is over by which the body goes along with its feet
_TINY_LENGTH = 1e-12


class Axes(NamedTuple):
    """Axes of a foot."""

    ahead: Vec
    up: Vec
    right: Vec


@inline
def read_axes(matrix, start):
    """Read axes of a matrix by rows. They are its columns."""
    return Axes(
        Vec(matrix[start], matrix[start + 3], matrix[start + 6]),
        Vec(matrix[start + 1], matrix[start + 4], matrix[start + 7]),
        Vec(matrix[start + 2], matrix[start + 5], matrix[start + 8]),
    )


@inline
def write_axes(matrix, start, axes):
    """Write axes as columns of a matrix by rows."""
    ahead, up, right = axes.ahead, axes.up, axes.right
    matrix[start], matrix[start + 1], matrix[start + 2] = ahead.x, up.x, right.x
    matrix[start + 3], matrix[start + 4], matrix[start + 5] = ahead.y, up.y, right.y
    matrix[start + 6], matrix[start + 7], matrix[start + 8] = ahead.z, up.z, right.z


@inline
def combine(axes, x, y, z):
    """Return the point of some coordinates along axes."""
    ahead, up, right = axes.ahead, axes.up, axes.right
    return Vec(
        ahead.x * x + up.x * y + right.x * z,
        ahead.y * x + up.y * y + right.y * z,
        ahead.z * x + up.z * y + right.z * z,
    )


@inline
def measure_height(plane, point):
    """Measure the height of the ground under a point."""
    return plane[LEVEL] + (point.x * plane[SLOPES] + point.y * plane[SLOPES + 1])


@device_function
def find_turn(start, end, matrix):
    """Find the rotation vector from axes to others.

    matrix  (9,) scratch memory
    """
    a, b, c = start.ahead, start.up, start.right
    d, e, f = end.ahead, end.up, end.right
    matrix[0], matrix[1] = d.x * a.x + e.x * b.x + f.x * c.x, d.x * a.y + e.x * b.y + f.x * c.y
    matrix[2], matrix[3] = d.x * a.z + e.x * b.z + f.x * c.z, d.y * a.x + e.y * b.x + f.y * c.x
    matrix[4], matrix[5] = d.y * a.y + e.y * b.y + f.y * c.y, d.y * a.z + e.y * b.z + f.y * c.z
    matrix[6], matrix[7] = d.z * a.x + e.z * b.x + f.z * c.x, d.z * a.y + e.z * b.y + f.z * c.y
    matrix[8] = d.z * a.z + e.z * b.z + f.z * c.z
    turned, _ = matrix_to_quaternion(matrix, 3)
    q = normalise(turned)
    w, way = (q.w, Vec(q.x, q.y, q.z)) if q.w >= 0.0 else (-q.w, Vec(-q.x, -q.y, -q.z))
    sine = norm(way)
    return scale(way, 2.0 * math.atan2(sine, w) / sine if sine > _TINY_LENGTH else 2.0)


@inline
def get_speed(speed):
    """Return a mean speed. Unknown ones are 0."""
    seconds = get_seconds(speed)
    return Vec(speed[0] / seconds, speed[1] / seconds, speed[2] / seconds)


@inline
def add_step(speed, step, dt):
    """Add a step to a mean speed."""
    decay_speed(speed, dt)
    speed[0] += step.x
    speed[1] += step.y
    speed[2] += step.z


@inline
def begin_change(state, column, value, speed):
    """Begin a change."""
    write_vec_at(state, column, value)
    write_vec_at(state, column + 3, speed)


@inline
def decay_change(state, column, dt):
    """Go on with a change by `dt` seconds. The step is exact."""
    value, speed = step_spring_vec(
        read_vec_at(state, column), read_vec_at(state, column + 3), _SPRING_RATE / _HALF_LIFE_S, dt
    )
    begin_change(state, column, value, speed)


@inline
def ease_turn(state, axes):
    """Turn axes by what is left of a change."""
    turn = exp_rotation(read_vec_at(state, TURNED))
    return Axes(rotate(turn, axes.ahead), rotate(turn, axes.up), rotate(turn, axes.right))


@inline
def clamp(value, least, most):
    """Return the value within bounds."""
    return min(max(value, least), most)


@inline
def limit_pitch(sine, heel, ball):
    """Limit the pitch of a standing foot. Heels are pivots of toes that are up, balls of heels."""
    pitch = math.asin(clamp(sine, -1.0, 1.0))
    return clamp(pitch, 0.0 if heel else -MAX_PITCH_RAD, 0.0 if ball else MAX_PITCH_RAD)


@device_function
def roll(sole, state, pitch):
    """Roll a standing foot over heel or ball by its pitch. Return the place of its ankle and its axes."""
    flat = read_vec_at(state, STANCE + 3), read_vec_at(state, STANCE + 6), read_vec_at(state, STANCE + 9)
    cosine, sine = math.cos(pitch), math.sin(pitch)
    ahead = add(scale(flat[0], cosine), scale(flat[1], sine))
    up = sub(scale(flat[1], cosine), scale(flat[0], sine))
    axes = Axes(ahead, up, flat[2])
    pivot = sole[HEEL] if pitch > 0.0 else sole[BALL] if pitch < 0.0 else 0.0
    ground = add(read_vec_at(state, STANCE), scale(flat[0], pivot))
    return sub(ground, combine(axes, pivot, -sole[HEIGHT], 0.0)), axes


@device_function
def lift(sole, plane, ankle, axes):
    """Lift a free foot over the ground, with its whole sole."""
    x, y, z = ankle.x, ankle.y, ankle.z + measure_height(plane, ankle)
    most = 0.0
    for end in range(2):
        for side in range(2):
            across = (2 * side - 1) * sole[HEEL_WIDTH + end]
            corner = add(Vec(x, y, z), combine(axes, sole[HEEL + end], -sole[HEIGHT], across))
            most = max(most, measure_height(plane, corner) - corner.z)
    return Vec(x, y, z + most)


@device_function
def is_far(sole, state, free, axes, heel, ball):
    """Tell whether a foot is too far away to stand.

    One that was is so until it has come near.
    """
    if state[LEFT_BEHIND] > 0.0:
        off, turned, share = read_vec_at(state, AWAY), norm(read_vec_at(state, TURNED)), _NEAR_SHARE
    elif state[HAS_STANCE] > 0.0:
        place, shown = roll(sole, state, limit_pitch(dot(axes.ahead, read_vec_at(state, STANCE + 6)), heel, ball))
        off, turned, share = sub(place, free), measure_level_turn(axes.ahead, shown.ahead), 1.0
    else:
        return False
    farthest = _FARTHEST_LEGS * sole[LEG]
    return math.sqrt(off.x * off.x + off.y * off.y) > share * farthest or turned > share * _MAX_TURN_RAD


@device_function
def measure_level_turn(heading, other):
    """Measure the level angle between two headings. Steep ones have none."""
    lengths = math.sqrt(heading.x * heading.x + heading.y * heading.y), math.sqrt(other.x * other.x + other.y * other.y)
    if min(lengths[0], lengths[1]) < _MIN_LEVEL_LENGTH:
        return 0.0
    return abs(math.atan2(heading.x * other.y - heading.y * other.x, heading.x * other.x + heading.y * other.y))


@device_function
def find_stance(sole, plane, state, place, axes, heel, ball):
    """Find the stance of a foot on the ground."""
    pivot = 0.0 if heel and ball else sole[HEEL] if heel else sole[BALL]
    level = Vec(axes.ahead.x, axes.ahead.y, 0.0)
    heading = scale(level, 1.0 / max(norm(level), _TINY_LENGTH))
    point = sub(add(place, combine(axes, pivot, -sole[HEIGHT], 0.0)), scale(heading, pivot))
    up = read_vec_at(plane, NORMAL)
    along = sub(heading, scale(up, dot(heading, up)))
    ahead = scale(along, 1.0 / max(norm(along), _TINY_LENGTH))
    state[HAS_STANCE] = 1.0
    write_vec_at(state, STANCE, Vec(point.x, point.y, measure_height(plane, point)))
    write_vec_at(state, STANCE + 3, ahead)
    write_vec_at(state, STANCE + 6, up)
    write_vec_at(state, STANCE + 9, cross(ahead, up))


@device_function
def stand(sole, plane, state, free, axes, heel, ball, dt, matrix):
    """Place a foot in stance. It keeps its place and heading, and rolls over heel or ball."""
    is_new, is_shown = state[HAS_STANCE] == 0.0, state[IS_SHOWN] > 0.0
    last_axes = read_axes(state, AXES)
    if is_new:
        shown = add(free, read_vec_at(state, AWAY))
        find_stance(sole, plane, state, shown, last_axes if is_shown else axes, heel, ball)
    up = read_vec_at(state, STANCE + 6)
    wanted = limit_pitch(dot(axes.ahead, up), heel, ball)
    if is_shown and ((state[STOOD] > 0.0) != heel or (state[STOOD + 1] > 0.0) != ball):
        shown_pitch = math.asin(clamp(dot(last_axes.ahead, up), -1.0, 1.0))
        state[PITCHED], state[PITCHED + 1] = shown_pitch - wanted, 0.0
    place, rolled = roll(sole, state, wanted + state[PITCHED])
    if is_new and is_shown:
        begin_change(state, AWAY, sub(read_vec_at(state, AT), place), get_speed(state[SPEED : SPEED + _SPEED_SIZE]))
        decay_change(state, AWAY, dt)
        begin_change(state, TURNED, find_turn(rolled, last_axes, matrix), Vec(0.0, 0.0, 0.0))
    away = read_vec_at(state, AWAY)
    depth = min(dot(away, up), 0.0)  # a foot that lands does not go on into the ground
    return sub(add(place, away), scale(up, depth)), ease_turn(state, rolled)


@device_function
def swing(state, free, axes, dt, matrix):
    """Place a foot in the air."""
    if state[HAS_STANCE] > 0.0 and state[IS_SHOWN] > 0.0:
        speed = sub(
            get_speed(state[SPEED : SPEED + _SPEED_SIZE]), get_speed(state[FREE_SPEED : FREE_SPEED + _SPEED_SIZE])
        )
        begin_change(state, AWAY, sub(read_vec_at(state, AT), read_vec_at(state, FREE)), speed)
        decay_change(state, AWAY, dt)
        begin_change(state, TURNED, find_turn(axes, read_axes(state, AXES), matrix), Vec(0.0, 0.0, 0.0))
    state[HAS_STANCE] = 0.0
    return add(free, read_vec_at(state, AWAY)), ease_turn(state, axes)


@device_function
def move_foot(sole, plane, state, ankle, axes, heel, ball, dt, matrix):
    """Move a foot by a frame. Return the place of its ankle and its axes.

    ankle       where the directions of the leg lead
    axes        the foot's, as in the source
    heel, ball  whether they stand
    """
    free, is_shown = lift(sole, plane, ankle, axes), state[IS_SHOWN] > 0.0
    decay_change(state, AWAY, dt)
    decay_change(state, TURNED, dt)
    state[PITCHED], state[PITCHED + 1] = step_spring(
        state[PITCHED], state[PITCHED + 1], _SPRING_RATE / _HALF_LIFE_S, dt
    )
    is_left = (heel or ball) and is_far(sole, state, free, axes, heel, ball)
    state[LEFT_BEHIND] = 1.0 if is_left else 0.0
    heel, ball = heel and not is_left, ball and not is_left
    stands, goes_on = heel or ball, is_shown and dt > 0.0
    if goes_on:
        add_step(state[FREE_SPEED : FREE_SPEED + _SPEED_SIZE], sub(free, read_vec_at(state, FREE)), dt)
    if stands:
        place, shown = stand(sole, plane, state, free, axes, heel, ball, dt, matrix)
    else:
        place, shown = swing(state, free, axes, dt, matrix)
    change = _MOST_FIRM * (dt / _FIRM_S if is_shown else 1.0)
    state[FIRMNESS] = clamp(state[FIRMNESS] + (change if stands else -change), 0.0, _MOST_FIRM)
    if goes_on:
        add_step(state[SPEED : SPEED + _SPEED_SIZE], sub(place, read_vec_at(state, AT)), dt)
    state[IS_SHOWN], state[STOOD], state[STOOD + 1] = 1.0, 1.0 if heel else 0.0, 1.0 if ball else 0.0
    write_vec_at(state, FREE, free)
    write_vec_at(state, AT, place)
    write_axes(state, AXES, shown)
    return place, shown


@device_function
def lean_foot(sole, place, axes, hip):
    """Tilt a foot about its lower edge as its leg leans. Return its ankle and axes.

    An ankle keeps the right axis square to the way to its hip joint, but for as far as it rolls.
    """
    leg = sub(hip, place)
    angle = math.atan2(-dot(leg, axes.right), dot(leg, axes.up))
    angle = math.copysign(max(abs(angle) - sole[MOST_ROLL], 0.0), angle)
    rise = math.sin(angle)
    side = -1.0 if rise > 0.0 else 1.0
    heel = Vec(sole[HEEL], -sole[HEIGHT], side * sole[HEEL_WIDTH])
    edge = sub(Vec(sole[BALL], -sole[HEIGHT], side * sole[BALL_WIDTH]), heel)
    length = norm(edge)
    edge = scale(edge, 1.0 / length) if length > _TINY_LENGTH else Vec(1.0, 0.0, 0.0)
    tilt = -math.asin(clamp(rise / edge.x, -1.0, 1.0)) if edge.x > 0.0 else 0.0
    turn = exp_rotation(scale(combine(axes, edge.x, edge.y, edge.z), tilt))
    tilted = Axes(rotate(turn, axes.ahead), rotate(turn, axes.up), rotate(turn, axes.right))
    away = sub(combine(axes, heel.x, heel.y, heel.z), combine(tilted, heel.x, heel.y, heel.z))
    return add(place, away), tilted


@inline
def weigh(sole, kind, near, firmness):
    """Weigh a task of a foot by how firmly it stands."""
    in_air, at_ground = sole[WEIGHTS + kind], sole[WEIGHTS + _KINDS + kind]
    swinging = in_air + near * (at_ground - in_air)
    return swinging + firmness * (sole[WEIGHTS + 2 * _KINDS + kind] - swinging)


@inline
def measure_near(sole, plane, point):
    """Measure how near a point is to the ground, 0 to 1."""
    return clamp(1.0 - (point.z - measure_height(plane, point)) / (NEAR_HEIGHT_LEGS * sole[LEG]), 0.0, 1.0)


@device_function
def write_tasks(sole, plane, place, axes, firmness, first, aims, weights):
    """Write targets and weights of a foot's tasks. Return the first task behind them."""
    for k in range(3):
        column = combine(axes, sole[TO_NODE + k], sole[TO_NODE + 3 + k], sole[TO_NODE + 6 + k])
        aims[first, k], aims[first, 3 + k], aims[first, 6 + k] = column.x, column.y, column.z
    weights[0, first] = weigh(sole, 0, 0.0, firmness)
    task = first + 1
    if sole[MOST_ROLL] == math.inf:
        for end in range(2):
            point = add(place, combine(axes, sole[HEEL + end], -sole[HEIGHT], 0.0))
            write_vec_at(aims[task], 0, point)
            weights[0, task] = weigh(sole, 1 + end, measure_near(sole, plane, point), firmness)
            task += 1
        return task
    tilt = math.asin(clamp(dot(axes.right, read_vec_at(plane, NORMAL)), -1.0, 1.0))
    left = clamp(0.5 + 0.5 * tilt / EDGE_TILT_RAD, 0.0, 1.0)
    for end in range(2):
        along, across = sole[HEEL + end], sole[HEEL_WIDTH + end]
        corners = (
            add(place, combine(axes, along, -sole[HEIGHT], -across)),
            add(place, combine(axes, along, -sole[HEIGHT], across)),
        )
        near = max(measure_near(sole, plane, corners[0]), measure_near(sole, plane, corners[1]))
        weight = weigh(sole, 1 + end, near, firmness)
        write_vec_at(aims[task], 0, corners[0])
        write_vec_at(aims[task + 1], 0, corners[1])
        weights[0, task], weights[0, task + 1] = math.sqrt(left) * weight, math.sqrt(1.0 - left) * weight
        task += 2
    return task


@gil_kernel("F2 F1 B2 F1 i i f wF1 wF2 wF2 wF2 sF1 ->")
def move_feet(soles, plane, contacts, path, first_task, first_source, dt, shift, state, aims, weights, matrix):
    """Move the feet by a frame, and write their tasks.

    contacts      (f, 2) whether heel and ball stand
    path          (3,) of the hips
    first_task    row of `aims` and column of `weights`: the first foot's rotation
    first_source  row of `aims`: rotations of the hips and the feet of the source, then directions of thigh and shin of
                  each foot
    shift         (4,) of the body with its feet, and 1 after the first frame, else 0
    matrix        (9,) scratch memory
    """
    count, task = len(soles), first_task
    hips, shifts = read_axes(aims[first_source], 0), Vec(0.0, 0.0, 0.0)
    for f in range(count):
        sole, own = soles[f], state[f]
        bones = first_source + 1 + count + 2 * f
        hip = add(read_vec_at(path, 0), combine(hips, sole[HIP], sole[HIP + 1], sole[HIP + 2]))
        thigh, shin = (
            scale(read_vec_at(aims[bones], 0), sole[THIGH]),
            scale(read_vec_at(aims[bones + 1], 0), sole[SHIN]),
        )
        ankle, axes = add(hip, add(thigh, shin)), read_axes(aims[first_source + 1 + f], 0)
        place, shown = move_foot(sole, plane, own, ankle, axes, contacts[f, 0], contacts[f, 1], dt, matrix)
        if sole[MOST_ROLL] < math.inf:
            place, shown = lean_foot(sole, place, shown, add(hip, read_vec_at(shift, 0)))
        task = write_tasks(sole, plane, place, shown, own[FIRMNESS], task, aims, weights)
        shifts = add(shifts, scale(sub(place, ankle), 1.0 / count))
    left = 0.5 ** (dt / _BODY_HALF_LIFE_S) if shift[3] > 0.0 else 0.0
    write_vec_at(shift, 0, add(shifts, scale(sub(read_vec_at(shift, 0), shifts), left)))
    shift[3] = 1.0
