# pyright: standard
"""CCD sweeps for any goals of one joint. They respect stiffness, limits and roles.

The error of kernels/chain_kinematics.py, as a function of one hinge angle alone, is const - 2 [k21 cos phi + k3 sin
phi]:

    point      k21 = d.h - (d.a)(h.a)    k3 = a.(h x d)    tip h and target d from the joint, its axis a
    direction  the same for the two unit vectors
    rotation   k21 = w^2 - (a.v)^2       k3 = 2 w (a.v)    rotation error: (w, v)

each times its weight. The sum has its minimum at atan2(k3, k21). A stiffness mu, a cost mu A (1 - cos phi) with the
amplitude A, moves it to atan2(k3, k21 + mu A). For a ball joint the sum is q^T K q (kernels/values/davenport.py).
"""

from __future__ import annotations

import math

from poise.kernels.chain.aims import Weights, aim_in, into, motion, out_of, put_aim, rotation_left, squared_error
from poise.kernels.chain.ccd_steps import HALVINGS, half
from poise.kernels.chain.links import link_offset, link_rotation
from poise.kernels.codes import BALL, HINGE, LIMIT_KIND, NO_LEVERAGE, NO_LIMIT, SLIDE
from poise.kernels.compiled import inline, part
from poise.kernels.limits.angles import best_angle, capped, clamp
from poise.kernels.limits.rotations import nearest_turn
from poise.kernels.values import davenport
from poise.kernels.values.linear import (
    Vec,
    about,
    add,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    put_quat,
    put_vec,
    quat_at,
    rotation_between,
    scale,
    sub,
    vec_at,
)

STILL = Vec(0.0, 0.0, 0.0)  # no translation


@inline
def across(axis, a, b):
    """Compute the part of a.b perpendicular to the axis."""
    return dot(a, b) - dot(a, axis) * dot(b, axis)


@inline
def hinge_step(axis, value, low, high, ease, max_turn, now, wanted, weights):
    """Compute the best hinge value in its range. `current` is the tip rotated by `value`."""
    left = rotation_left(now.turn, wanted.turn)
    along = axis.x * left.x + axis.y * left.y + axis.z * left.z
    k21 = weights.point * across(axis, wanted.point, now.point) + weights.axis * across(axis, wanted.axis, now.axis)
    k3 = dot(
        axis,
        add(
            scale(cross(now.point, wanted.point), weights.point),
            scale(cross(now.axis, wanted.axis), weights.axis),
        ),
    )
    k21 += weights.turn * (left.w * left.w - along * along)
    k3 += weights.turn * 2.0 * left.w * along
    amplitude = math.sqrt(k3 * k3 + k21 * k21)
    if amplitude <= NO_LEVERAGE:
        return value
    if ease < 1.0:
        # joint_weight = 1 / (1 + mu), so this adds mu A: the cost of moving, relative to the largest decrease.
        k21 += (1.0 / ease - 1.0) * amplitude
    return best_angle(value + math.atan2(k3, k21), max(low, value - max_turn), min(high, value + max_turn))


@part
def ball_turn(now, wanted, weights, ease, room):
    """Compute the best rotation of a ball joint, with stiffness."""
    stiffness = 1.0 / ease - 1.0
    if stiffness == 0.0 and weights.turn == 0.0:
        if weights.axis == 0.0:
            return rotation_between(now.point, wanted.point)
        if weights.point == 0.0:
            return rotation_between(now.axis, wanted.axis)
    left = rotation_left(now.turn, wanted.turn)
    if stiffness == 0.0 and weights.point == 0.0 and weights.axis == 0.0:
        return left
    K = room.davenport[0]
    davenport.clear(K)
    davenport.add_vectors(K, weights.point, now.point, wanted.point)
    davenport.add_vectors(K, weights.axis, now.axis, wanted.axis)
    davenport.add_rotation(K, weights.turn, left)
    amplitude = weights.point * norm(now.point) * norm(wanted.point) + weights.axis + weights.turn
    # K[0, 0] is the gain of the identity: stiffness favours no rotation.
    K[0, 0] += 2.0 * stiffness * amplitude
    return davenport.best_turn(K, room.davenport[1])


@inline
def turned(aim, q):
    """Rotate a target from a ball's moved frame to its frame."""
    return out_of(aim, STILL, q)


@part
def ball_step(links, i, max_turn, weights, tip, wanted, x, room):
    """Step ball i. A step whose clamped rotation would raise the error is halved, or not taken."""
    q, limit = quat_at(x, i), links.limits[i]
    now = turned(tip, q)
    turn = ball_turn(now, wanted, weights, links.ease[i], room)
    if max_turn < math.pi:
        turn = capped(turn, max_turn)
    if limit[LIMIT_KIND] == NO_LIMIT:
        put_quat(x, i, normalise(multiply(turn, q)))
        return
    most = squared_error(now, wanted, weights)
    for _ in range(HALVINGS + 1):
        legal = nearest_turn(limit, normalise(multiply(turn, q)))
        # The legal rotation nearest to the best one need not be the best legal one, and may raise the error.
        if squared_error(turned(tip, legal), wanted, weights) <= most:
            put_quat(x, i, legal)
            return
        turn = half(turn)


@inline
def slide_step(links, i, weights, tip, wanted, x):
    """Step slide i to bring the point nearest."""
    axis, low, high = vec_at(links.axes, i), links.ranges[i, 0], links.ranges[i, 1]
    length = dot(axis, axis)
    if length > 0.0 and weights.point > 0.0:
        now = add(tip.point, scale(axis, x[i, 0]))
        way = links.ease[i] * dot(axis, sub(wanted.point, now)) / length
        x[i, 0] = clamp(x[i, 0] + way, low, high)


@part
def step(links, i, max_turn, weights, tip, wanted, x, room):
    """Step joint i to bring the tip nearest. `tip` is in its moved frame, `target` in its frame."""
    kind, axis = links.kinds[i], vec_at(links.axes, i)
    if weights.point + weights.turn + weights.axis == 0.0:  # no goal for this joint
        return
    if kind == BALL:
        ball_step(links, i, max_turn, weights, tip, wanted, x, room)
    elif kind == HINGE:
        now = turned(tip, about(axis, x[i, 0]))
        low, high = links.ranges[i, 0], links.ranges[i, 1]
        x[i, 0] = hinge_step(axis, x[i, 0], low, high, links.ease[i], max_turn, now, wanted, weights)
    elif kind == SLIDE:
        slide_step(links, i, weights, tip, wanted, x)
    elif weights.point > 0.0:
        at = vec_at(x, i)
        put_vec(x, i, add(at, scale(sub(wanted.point, add(tip.point, at)), links.ease[i])))


@inline
def role(weights, shares, i):
    """Select the weights of joint i; `shares` (m, 3) of all joints."""
    return Weights(weights.point * shares[i, 0], weights.turn * shares[i, 1], weights.axis * shares[i, 2])


@part
def sweep_from_tip(links, tip, target, weights, shares, max_turn, first, x, room):
    """Sweep over the joints from the last down to `first`."""
    m, wanted = links.kinds.shape[0], target
    for i in range(m):
        wanted = into(wanted, link_offset(links.frames, i), link_rotation(links.frames, i))
        put_aim(room.held[i], wanted)
        offset, rotation = motion(links.kinds[i], vec_at(links.axes, i), x, i)
        wanted = into(wanted, offset, rotation)
    now = tip
    for k in range(m - first):
        i = m - 1 - k
        step(links, i, max_turn, role(weights, shares, i), now, aim_in(room.held[i]), x, room)
        offset, rotation = motion(links.kinds[i], vec_at(links.axes, i), x, i)
        now = out_of(out_of(now, offset, rotation), link_offset(links.frames, i), link_rotation(links.frames, i))


@part
def sweep_from_base(links, tip, target, weights, shares, max_turn, x, room):
    """Sweep over the joints from the first up."""
    m, now = links.kinds.shape[0], tip
    for k in range(m):
        i = m - 1 - k
        put_aim(room.held[i], now)
        offset, rotation = motion(links.kinds[i], vec_at(links.axes, i), x, i)
        now = out_of(out_of(now, offset, rotation), link_offset(links.frames, i), link_rotation(links.frames, i))
    wanted = target
    for i in range(m):
        wanted = into(wanted, link_offset(links.frames, i), link_rotation(links.frames, i))
        step(links, i, max_turn, role(weights, shares, i), aim_in(room.held[i]), wanted, x, room)
        offset, rotation = motion(links.kinds[i], vec_at(links.axes, i), x, i)
        wanted = into(wanted, offset, rotation)


@part
def grow_window(links, tip, target, weights, shares, max_turn, width, x, room):
    """Sweep from the tip with a window of growing size.

    It starts with the last `width` joints. Returns the number of steps.
    """
    m, steps = links.kinds.shape[0], 0
    # Joints near the tip move first; lower ones only reduce the remaining error.
    for first in range(m - width, -1, -1):
        sweep_from_tip(links, tip, target, weights, shares, max_turn, first, x, room)
        steps += m - first
    return steps
