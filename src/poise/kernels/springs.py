# pyright: standard
"""Critically damped springs for scalars and vectors, with exact steps.

One step equals two of half the time.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.vec_quat import Quat, Vec, multiply

# H with (1 + h) exp(-h) = 1/2: the half-life of an offset at rest is h / rate seconds.
HALF_LIFE_FACTOR = 1.6783469900166605
_MAX_BRAKING_SHARE = 0.8  # share of the largest acceleration; braking begins when stopping at zero needs more than this


@inline
def step_spring(x, v, rate, dt):
    """Step a spring offset x with velocity v by dt seconds. x'' = -rate^2 x - 2 rate x'."""
    j = v + rate * x
    # The exact solution for any dt instead of an integration step: independent of the frame rate.
    decay = math.exp(-rate * dt)
    return decay * (x + j * dt), decay * (v - rate * j * dt)


@inline
def step_bounded_spring(x, v, rate, max_acceleration, dt):
    """Step a spring with acceleration of at most `max_acceleration`.

    A jump of x then starts a smooth path instead of a push.

    It brakes in time: the acceleration v^2 / (2 x) stops it at zero.
    """
    if dt <= 0.0 or (x == 0.0 and v == 0.0):
        return x, v
    offset, velocity = step_spring(x, v, rate, dt)
    drift_offset = x + v * dt
    acceleration = 2.0 * (offset - drift_offset) / (dt * dt)
    braking_acceleration = 0.5 * v * v / max(abs(x), 1e-300) if x * v < 0.0 else 0.0
    if abs(acceleration) <= max_acceleration and braking_acceleration <= _MAX_BRAKING_SHARE * max_acceleration:
        return offset, velocity
    if braking_acceleration > _MAX_BRAKING_SHARE * max_acceleration:
        acceleration = math.copysign(1.0, x) * max(braking_acceleration, math.copysign(acceleration, acceleration * x))
    acceleration = min(max(acceleration, -max_acceleration), max_acceleration)
    return drift_offset + 0.5 * acceleration * dt * dt, v + acceleration * dt


@device_function
def step_spring_vec(x, v, rate, dt):
    """Step a spring with a vector offset."""
    decay = math.exp(-rate * dt)
    jx, jy, jz = v.x + rate * x.x, v.y + rate * x.y, v.z + rate * x.z
    phase = rate * dt
    return (
        Vec(decay * (x.x + jx * dt), decay * (x.y + jy * dt), decay * (x.z + jz * dt)),
        Vec(decay * (v.x - phase * jx), decay * (v.y - phase * jy), decay * (v.z - phase * jz)),
    )


@device_function
def step_bounded_spring_vec(x, v, rate, max_acceleration, dt):
    """Step a vector spring with acceleration of at most `max_acceleration`. It does not brake before it must."""
    if dt <= 0.0 or (x.x == x.y == x.z == 0.0 and v.x == v.y == v.z == 0.0):
        return x, v
    offset, velocity = step_spring_vec(x, v, rate, dt)
    drift_offset = Vec(x.x + v.x * dt, x.y + v.y * dt, x.z + v.z * dt)
    inverse_half_dt2 = 2.0 / (dt * dt)
    ax = inverse_half_dt2 * (offset.x - drift_offset.x)
    ay = inverse_half_dt2 * (offset.y - drift_offset.y)
    az = inverse_half_dt2 * (offset.z - drift_offset.z)
    acceleration = math.sqrt(ax * ax + ay * ay + az * az)
    if acceleration <= max_acceleration:
        return offset, velocity
    velocity_factor, half_dt = max_acceleration / acceleration * dt, 0.5 * dt
    offset_factor = velocity_factor * half_dt
    return (
        Vec(
            drift_offset.x + offset_factor * ax,
            drift_offset.y + offset_factor * ay,
            drift_offset.z + offset_factor * az,
        ),
        Vec(v.x + velocity_factor * ax, v.y + velocity_factor * ay, v.z + velocity_factor * az),
    )


@device_function
def follow_target(x, v, last_target, target, rate, dt):
    """Step a value x on a spring towards a moving goal.

    The goal goes in a straight line from `last_target` to `target` in dt seconds.

    For a goal of constant speed u the spring lags by 2 u / rate; the difference from that lag decays.
    """
    if dt <= 0.0 or (x == target and last_target == target and v == 0.0):
        return x, v
    # Relative to the steady-state path the goal is at rest, and the spring is the one above.
    u = (target - last_target) / dt
    lag = 2.0 * u / rate
    lag_offset, lag_velocity = step_spring(x - last_target + lag, v - u, rate, dt)
    return target - lag + lag_offset, u + lag_velocity


@device_function
def exp_rotation(v):
    """Return the rotation about v by |v|."""
    angle = math.sqrt(v.x * v.x + v.y * v.y + v.z * v.z)
    k = math.sin(0.5 * angle) / angle if angle > 1e-12 else 0.5
    return Quat(math.cos(0.5 * angle), k * v.x, k * v.y, k * v.z)


@device_function
def log_rotation(a, b):
    """Return the vector v with b = exp_rotation(v) a. It is at most half a turn long."""
    q = multiply(b, Quat(a.w, -a.x, -a.y, -a.z))
    s = math.sqrt(q.x * q.x + q.y * q.y + q.z * q.z)
    k = 2.0 * math.atan2(math.copysign(s, q.w), abs(q.w)) / s if s > 1e-12 else math.copysign(2.0, q.w)
    return Vec(k * q.x, k * q.y, k * q.z)
