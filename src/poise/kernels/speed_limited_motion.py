# pyright: standard
"""Motion of a configuration towards another, with speed limits per joint.

One call handles all joints.

    speed_limits  (j, SPEED_LIMIT_ROW)  independent joints; see the columns SPEED_LIMIT_ of layout.py
    q             (nq,)  current configuration
    target_q      (nq,)  goal configuration
    new_q         (nq,)  configuration after the given seconds; numbers without a row are those of target_q

A distance decreases at the rate min(speed, distance ln 2 / half-life); see solving/tracker.py.
"""

from __future__ import annotations

import math

from poise.kernels import layout
from poise.kernels.device_functions import inline
from poise.kernels.entries import gil_kernel
from poise.kernels.lanes import round_half_even
from poise.kernels.layout import BALL, HINGE, HINGED_BALL, MOVE
from poise.kernels.limits import TWO_PI, clamp_angle, twist_angle
from poise.kernels.vec_quat import Quat, from_axis_angle, normalise, read_quat_at, read_vec_at

_LN2 = math.log(2.0)
_SMALL_ANGLE_RAD = 1e-9  # [rad] below, slerp weights equal linear ones to rounding


@inline
def compute_remaining_distance(distance, seconds, max_speed, half_life):
    """Compute the remaining distance after some seconds. A half-life of 0 and an infinite speed are no bounds."""
    remaining_distance, remaining_seconds = distance, seconds
    if max_speed < math.inf:
        # Linear down to the distance where both bounds are equal, exponential from there on.
        exponential_distance = max_speed * half_life / _LN2
        linear_seconds = min(max((distance - exponential_distance) / max_speed, 0.0), seconds)
        remaining_distance, remaining_seconds = distance - max_speed * linear_seconds, seconds - linear_seconds
    if half_life > 0.0:
        return remaining_distance * 2.0 ** (-remaining_seconds / half_life)
    return 0.0 if remaining_seconds > 0.0 else remaining_distance


@inline
def compute_progress(distance, seconds, max_speed, half_life):
    """Compute the covered fraction of a distance; 1 for distance 0."""
    return (
        1.0 - compute_remaining_distance(distance, seconds, max_speed, half_life) / distance if distance > 0.0 else 1.0
    )


@inline
def step_scalar(speed_limit, q, target_q, seconds, half_life, new_q):
    """Step a hinge or slide. A hinge takes the shorter direction where its range allows."""
    q_start = int(speed_limit[layout.SPEED_LIMIT_Q_START])
    value, target_value = q[q_start], target_q[q_start]
    if speed_limit[layout.SPEED_LIMIT_KIND] == HINGE:
        equivalent = target_value + TWO_PI * round_half_even((value - target_value) / TWO_PI)
        if speed_limit[layout.SPEED_LIMIT_LOW] <= equivalent <= speed_limit[layout.SPEED_LIMIT_HIGH]:
            target_value = equivalent
    progress = compute_progress(
        abs(target_value - value), seconds, speed_limit[layout.SPEED_LIMIT_MAX_SPEED], half_life
    )
    new_q[q_start] = target_value if progress >= 1.0 else value + progress * (target_value - value)


@inline
def step_translation(speed_limit, q, target_q, seconds, half_life, new_q):
    """Step the translation of a free joint along a straight line."""
    q_start = int(speed_limit[layout.SPEED_LIMIT_Q_START])
    offset_x, offset_y, offset_z = (
        target_q[q_start] - q[q_start],
        target_q[q_start + 1] - q[q_start + 1],
        target_q[q_start + 2] - q[q_start + 2],
    )
    progress = compute_progress(
        math.sqrt(offset_x * offset_x + offset_y * offset_y + offset_z * offset_z),
        seconds,
        speed_limit[layout.SPEED_LIMIT_MAX_SPEED],
        half_life,
    )
    if progress < 1.0:
        new_q[q_start], new_q[q_start + 1], new_q[q_start + 2] = (
            q[q_start] + progress * offset_x,
            q[q_start + 1] + progress * offset_y,
            q[q_start + 2] + progress * offset_z,
        )


@inline
def step_ball(speed_limit, q, target_q, seconds, half_life):
    """Step a ball joint by slerp.

    Returns its rotation, and whether it has arrived; then the numbers of target_q are used.
    """
    start_rotation, target_rotation = (
        read_quat_at(q, int(speed_limit[layout.SPEED_LIMIT_Q_START])),
        read_quat_at(target_q, int(speed_limit[layout.SPEED_LIMIT_Q_START])),
    )
    if (
        start_rotation.w * target_rotation.w
        + start_rotation.x * target_rotation.x
        + start_rotation.y * target_rotation.y
        + start_rotation.z * target_rotation.z
        < 0.0
    ):
        target_rotation = Quat(-target_rotation.w, -target_rotation.x, -target_rotation.y, -target_rotation.z)
    difference2 = (
        (start_rotation.w - target_rotation.w) ** 2
        + (start_rotation.x - target_rotation.x) ** 2
        + (start_rotation.y - target_rotation.y) ** 2
        + (start_rotation.z - target_rotation.z) ** 2
    )
    sum2 = (
        (start_rotation.w + target_rotation.w) ** 2
        + (start_rotation.x + target_rotation.x) ** 2
        + (start_rotation.y + target_rotation.y) ** 2
        + (start_rotation.z + target_rotation.z) ** 2
    )
    half_angle = 2.0 * math.atan2(
        math.sqrt(difference2), math.sqrt(sum2)
    )  # from chord lengths: exact near 0, and 0 for equal ones
    progress = compute_progress(2.0 * half_angle, seconds, speed_limit[layout.SPEED_LIMIT_MAX_SPEED], half_life)
    start_weight, target_weight = 1.0 - progress, progress
    if half_angle >= _SMALL_ANGLE_RAD:
        start_weight, target_weight = (
            math.sin(start_weight * half_angle) / math.sin(half_angle),
            math.sin(progress * half_angle) / math.sin(half_angle),
        )
    rotation = Quat(
        start_weight * start_rotation.w + target_weight * target_rotation.w,
        start_weight * start_rotation.x + target_weight * target_rotation.x,
        start_weight * start_rotation.y + target_weight * target_rotation.y,
        start_weight * start_rotation.z + target_weight * target_rotation.z,
    )
    return normalise(rotation), progress >= 1.0


@inline
def compute_hinge_angle(speed_limit, rotation):
    """Compute the angle of a hinged ball. It is the angle in its range nearest to the twist in (-pi, pi]."""
    angle = twist_angle(rotation, read_vec_at(speed_limit, layout.SPEED_LIMIT_AXIS))
    if angle > math.pi:
        angle -= TWO_PI
    elif angle <= -math.pi:
        angle += TWO_PI
    return clamp_angle(angle, speed_limit[layout.SPEED_LIMIT_LOW], speed_limit[layout.SPEED_LIMIT_HIGH])


@inline
def step_hinged_ball(speed_limit, q, target_q, seconds, half_life):
    """Step a hinged ball along its range. It never crosses forbidden angles."""
    q_start = int(speed_limit[layout.SPEED_LIMIT_Q_START])
    angle, target_angle = (
        compute_hinge_angle(speed_limit, read_quat_at(q, q_start)),
        compute_hinge_angle(speed_limit, read_quat_at(target_q, q_start)),
    )
    progress = compute_progress(
        abs(target_angle - angle), seconds, speed_limit[layout.SPEED_LIMIT_MAX_SPEED], half_life
    )
    return from_axis_angle(
        read_vec_at(speed_limit, layout.SPEED_LIMIT_AXIS), angle + progress * (target_angle - angle)
    ), progress >= 1.0


@gil_kernel("F2 F1 F1 f f wF1 ->")
def step_towards(speed_limits, q, target_q, seconds, half_life, new_q):
    """Step all joints towards the goal; fill `new_q`."""
    for i in range(target_q.shape[0]):
        new_q[i] = target_q[i]
    for j in range(speed_limits.shape[0]):
        speed_limit = speed_limits[j]
        joint_kind, q_start = int(speed_limit[layout.SPEED_LIMIT_KIND]), int(speed_limit[layout.SPEED_LIMIT_Q_START])
        if joint_kind == MOVE:
            step_translation(speed_limit, q, target_q, seconds, half_life, new_q)
        elif joint_kind != BALL and joint_kind != HINGED_BALL:
            step_scalar(speed_limit, q, target_q, seconds, half_life, new_q)
        else:
            if joint_kind == BALL:
                rotation, has_arrived = step_ball(speed_limit, q, target_q, seconds, half_life)
            else:
                rotation, has_arrived = step_hinged_ball(speed_limit, q, target_q, seconds, half_life)
            if not has_arrived:
                new_q[q_start], new_q[q_start + 1], new_q[q_start + 2], new_q[q_start + 3] = (
                    rotation.w,
                    rotation.x,
                    rotation.y,
                    rotation.z,
                )
