# pyright: standard
"""Move a configuration towards another with speed limits per joint. One call handles all joints.

    rows  (j, SPEED_LIMIT_ROW)  independent joints; see the columns SPEED_LIMIT_ of layout.py
    q     (nq,)          current configuration
    goal  (nq,)          goal configuration
    out   (nq,)          configuration after the given seconds; numbers without a row are those of the goal

A distance decreases at the rate min(speed, distance ln 2 / half-life); see solving/tracker.py.
"""

from __future__ import annotations

import math

from poise.kernels import layout
from poise.kernels.jit import gil_kernel, inline
from poise.kernels.lanes import round_half_even
from poise.kernels.layout import BALL, HINGE, HINGED_BALL, MOVE
from poise.kernels.limits import TWO_PI, clamp_angle, twist_angle
from poise.kernels.vec_quat import Quat, from_axis_angle, normalise, read_quat_at, read_vec_at

_LN2 = math.log(2.0)
_SMALL_ANGLE_RAD = 1e-9  # [rad] below, slerp weights equal linear ones to rounding


@inline
def compute_remaining_distance(distance, seconds, speed, half_life):
    """Compute the remaining distance after some seconds. A half-life of 0 and an infinite speed are no bounds."""
    remaining, remaining_seconds = distance, seconds
    if speed < math.inf:
        # Linear down to the distance where both bounds are equal, exponential from there on.
        exponential_distance = speed * half_life / _LN2
        linear_seconds = min(max((distance - exponential_distance) / speed, 0.0), seconds)
        remaining, remaining_seconds = distance - speed * linear_seconds, seconds - linear_seconds
    if half_life > 0.0:
        return remaining * 2.0 ** (-remaining_seconds / half_life)
    return 0.0 if remaining_seconds > 0.0 else remaining


@inline
def compute_progress(distance, seconds, speed, half_life):
    """Compute the covered fraction of a distance; 1 for distance 0."""
    return 1.0 - compute_remaining_distance(distance, seconds, speed, half_life) / distance if distance > 0.0 else 1.0


@inline
def step_scalar(row, q, goal, seconds, half_life, out):
    """Step a hinge or slide. A hinge takes the shorter direction where its range allows."""
    column = int(row[layout.SPEED_LIMIT_COLUMN])
    value, goal_value = q[column], goal[column]
    if row[layout.SPEED_LIMIT_KIND] == HINGE:
        equivalent = goal_value + TWO_PI * round_half_even((value - goal_value) / TWO_PI)
        if row[layout.SPEED_LIMIT_LOW] <= equivalent <= row[layout.SPEED_LIMIT_HIGH]:
            goal_value = equivalent
    progress = compute_progress(abs(goal_value - value), seconds, row[layout.SPEED_LIMIT_MAX], half_life)
    out[column] = goal_value if progress >= 1.0 else value + progress * (goal_value - value)


@inline
def step_translation(row, q, goal, seconds, half_life, out):
    """Step the translation of a free joint along a straight line."""
    column = int(row[layout.SPEED_LIMIT_COLUMN])
    x, y, z = goal[column] - q[column], goal[column + 1] - q[column + 1], goal[column + 2] - q[column + 2]
    progress = compute_progress(math.sqrt(x * x + y * y + z * z), seconds, row[layout.SPEED_LIMIT_MAX], half_life)
    if progress < 1.0:
        out[column], out[column + 1], out[column + 2] = (
            q[column] + progress * x,
            q[column + 1] + progress * y,
            q[column + 2] + progress * z,
        )


@inline
def step_ball(row, q, goal, seconds, half_life):
    """Step a ball joint by slerp.

    Returns its rotation, and whether it has arrived; then the goal's own numbers are used.
    """
    a, b = read_quat_at(q, int(row[layout.SPEED_LIMIT_COLUMN])), read_quat_at(goal, int(row[layout.SPEED_LIMIT_COLUMN]))
    if a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z < 0.0:
        b = Quat(-b.w, -b.x, -b.y, -b.z)
    chord2 = (a.w - b.w) ** 2 + (a.x - b.x) ** 2 + (a.y - b.y) ** 2 + (a.z - b.z) ** 2
    sum_chord = (a.w + b.w) ** 2 + (a.x + b.x) ** 2 + (a.y + b.y) ** 2 + (a.z + b.z) ** 2
    half_angle = 2.0 * math.atan2(
        math.sqrt(chord2), math.sqrt(sum_chord)
    )  # from chord lengths: exact near 0, and 0 for equal ones
    progress = compute_progress(2.0 * half_angle, seconds, row[layout.SPEED_LIMIT_MAX], half_life)
    weight_start, weight_goal = 1.0 - progress, progress
    if half_angle >= _SMALL_ANGLE_RAD:
        weight_start, weight_goal = (
            math.sin(weight_start * half_angle) / math.sin(half_angle),
            math.sin(progress * half_angle) / math.sin(half_angle),
        )
    rotation = Quat(
        weight_start * a.w + weight_goal * b.w,
        weight_start * a.x + weight_goal * b.x,
        weight_start * a.y + weight_goal * b.y,
        weight_start * a.z + weight_goal * b.z,
    )
    return normalise(rotation), progress >= 1.0


@inline
def compute_hinge_angle(row, rotation):
    """Compute the angle of a hinged ball. It is the angle in its range nearest to the twist in (-pi, pi]."""
    angle = twist_angle(rotation, read_vec_at(row, layout.SPEED_LIMIT_AXIS))
    if angle > math.pi:
        angle -= TWO_PI
    elif angle <= -math.pi:
        angle += TWO_PI
    return clamp_angle(angle, row[layout.SPEED_LIMIT_LOW], row[layout.SPEED_LIMIT_HIGH])


@inline
def step_hinged_ball(row, q, goal, seconds, half_life):
    """Step a hinged ball along its range. It never crosses forbidden angles."""
    column = int(row[layout.SPEED_LIMIT_COLUMN])
    angle, goal_angle = (
        compute_hinge_angle(row, read_quat_at(q, column)),
        compute_hinge_angle(row, read_quat_at(goal, column)),
    )
    progress = compute_progress(abs(goal_angle - angle), seconds, row[layout.SPEED_LIMIT_MAX], half_life)
    return from_axis_angle(
        read_vec_at(row, layout.SPEED_LIMIT_AXIS), angle + progress * (goal_angle - angle)
    ), progress >= 1.0


@gil_kernel
def step_towards(rows, q, goal, seconds, half_life, out):
    """Step all joints towards the goal; fill `out`."""
    for i in range(goal.shape[0]):
        out[i] = goal[i]
    for j in range(rows.shape[0]):
        row = rows[j]
        joint_kind, column = int(row[layout.SPEED_LIMIT_KIND]), int(row[layout.SPEED_LIMIT_COLUMN])
        if joint_kind == MOVE:
            step_translation(row, q, goal, seconds, half_life, out)
        elif joint_kind != BALL and joint_kind != HINGED_BALL:
            step_scalar(row, q, goal, seconds, half_life, out)
        else:
            if joint_kind == BALL:
                rotation, has_arrived = step_ball(row, q, goal, seconds, half_life)
            else:
                rotation, has_arrived = step_hinged_ball(row, q, goal, seconds, half_life)
            if not has_arrived:
                out[column], out[column + 1], out[column + 2], out[column + 3] = (
                    rotation.w,
                    rotation.x,
                    rotation.y,
                    rotation.z,
                )
