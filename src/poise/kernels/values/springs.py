# pyright: standard
"""Critically damped springs with exact steps. One step equals two of half the time."""

from __future__ import annotations

import math

from poise.kernels.compiled import inline, part
from poise.kernels.values.linear import Quat, Vec, multiply

# H with (1 + h) exp(-h) = 1/2: the half-life of an offset at rest is h / rate seconds.
HALF = 1.6783469900166605
_BRAKES = 0.8  # share of the largest acceleration; braking begins when stopping at zero needs more than this


@inline
def damped(x, v, rate, dt):
    """Step a spring offset x with velocity v by dt seconds. x'' = -rate^2 x - 2 rate x'."""
    j = v + rate * x
    # The exact solution for any dt instead of an integration step: independent of the frame rate.
    left = math.exp(-rate * dt)
    return left * (x + j * dt), left * (v - rate * j * dt)


@inline
def eased_away(x, v, rate, most, dt):
    """Step a spring with acceleration of at most `max_acceleration`.

    A jump of x then starts a smooth path instead of a push.

    It brakes in time: the acceleration v^2 / (2 x) stops it at zero.
    """
    if dt <= 0.0 or (x == 0.0 and v == 0.0):
        return x, v
    left, moves = damped(x, v, rate, dt)
    steady = x + v * dt
    pull = 2.0 * (left - steady) / (dt * dt)
    stop = 0.5 * v * v / max(abs(x), 1e-300) if x * v < 0.0 else 0.0
    if abs(pull) <= most and stop <= _BRAKES * most:
        return left, moves
    if stop > _BRAKES * most:
        pull = math.copysign(1.0, x) * max(stop, math.copysign(pull, pull * x))
    pull = min(max(pull, -most), most)
    return steady + 0.5 * pull * dt * dt, v + pull * dt


@part
def damped_vec(x, v, rate, dt):
    """Step a spring with a vector offset."""
    left = math.exp(-rate * dt)
    jx, jy, jz = v.x + rate * x.x, v.y + rate * x.y, v.z + rate * x.z
    k = rate * dt
    return (
        Vec(left * (x.x + jx * dt), left * (x.y + jy * dt), left * (x.z + jz * dt)),
        Vec(left * (v.x - k * jx), left * (v.y - k * jy), left * (v.z - k * jz)),
    )


@part
def eased_away_vec(x, v, rate, most, dt):
    """Step a vector spring with acceleration of at most `max_acceleration`. It does not brake before it must."""
    if dt <= 0.0 or (x.x == x.y == x.z == 0.0 and v.x == v.y == v.z == 0.0):
        return x, v
    left, moves = damped_vec(x, v, rate, dt)
    steady, k = Vec(x.x + v.x * dt, x.y + v.y * dt, x.z + v.z * dt), 2.0 / (dt * dt)
    ax, ay, az = k * (left.x - steady.x), k * (left.y - steady.y), k * (left.z - steady.z)
    size = math.sqrt(ax * ax + ay * ay + az * az)
    if size <= most:
        return left, moves
    k, h = most / size * dt, 0.5 * dt
    return (
        Vec(steady.x + k * h * ax, steady.y + k * h * ay, steady.z + k * h * az),
        Vec(v.x + k * ax, v.y + k * ay, v.z + k * az),
    )


@part
def followed(x, v, before, now, rate, dt):
    """Step a value x on a spring towards a moving goal.

    The goal goes in a straight line from `last_target` to `target` in dt seconds.

    For a goal of constant speed u the spring lags by 2 u / rate; the difference from that lag decays.
    """
    if dt <= 0.0 or (x == now and before == now and v == 0.0):
        return x, v
    # Relative to the steady-state path the goal is at rest, and the spring is the one above.
    u = (now - before) / dt
    behind = 2.0 * u / rate
    away, speed = damped(x - before + behind, v - u, rate, dt)
    return now - behind + away, u + speed


@part
def turned_by(v):
    """Return the rotation about v by |v|."""
    angle = math.sqrt(v.x * v.x + v.y * v.y + v.z * v.z)
    k = math.sin(0.5 * angle) / angle if angle > 1e-12 else 0.5
    return Quat(math.cos(0.5 * angle), k * v.x, k * v.y, k * v.z)


@part
def way_between(a, b):
    """Return the vector v with b = exp_rotation(v) a. It is at most half a turn long."""
    q = multiply(b, Quat(a.w, -a.x, -a.y, -a.z))
    s = math.sqrt(q.x * q.x + q.y * q.y + q.z * q.z)
    k = 2.0 * math.atan2(math.copysign(s, q.w), abs(q.w)) / s if s > 1e-12 else math.copysign(2.0, q.w)
    return Vec(k * q.x, k * q.y, k * q.z)
