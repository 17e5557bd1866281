# pyright: standard
"""Remedies for stalled coordinate descent.

Straight chains are bent, restarts perturbed, sweeps extrapolated along narrow valleys.
"""

from __future__ import annotations

import math

from poise.kernels.chain.links import copy, put_turns, store_frames, tip_position
from poise.kernels.codes import BALL, HINGE, LIMIT_KIND, NO_LIMIT, SLIDE
from poise.kernels.compiled import inline, part
from poise.kernels.limits.angles import clamp
from poise.kernels.limits.rotations import nearest_turn
from poise.kernels.values.linear import (
    Vec,
    about,
    conjugate,
    cross,
    multiply,
    norm,
    normalise,
    perpendicular,
    put_quat,
    quat_at,
    rotate,
    scale,
    sub,
    vec_at,
)

BALL_KICK = 1.0  # [rad] maximum rotation of an unlimited ball at a restart


@inline
def first_turning(kinds):
    """Return the first rotating joint; -1 if there is none.

    Links before it only slide, and bending does not help them.
    """
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL or kinds[i] == HINGE:
            return i
    return -1


@part
def is_straight(kinds, tip_at, origins, bend):
    """Return whether a chain is straight.

    All rotating joints and the tip lie on one line through the first of them, within `bend`.
    """
    first = first_turning(kinds)
    if first < 0:
        return False
    base = vec_at(origins, first)
    line = sub(tip_at, base)
    slack = math.sin(bend) * norm(line)
    for i in range(first + 1, kinds.shape[0]):
        away = sub(vec_at(origins, i), base)
        # Compare the sine of the angle at the base, without dividing: joints at the base are on every line.
        if norm(cross(away, line)) > slack * norm(away):
            return False
    return norm(line) > 0.0


@part
def bend_chain(kinds, ranges, line, rotations, bend, x):
    """Bend every joint to one side by `bend`.

    Balls turn about an axis perpendicular to the line, hinges into their range.
    """
    side = perpendicular(line)
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL:
            # All balls bend about one axis of the base frame, to one side: the chain becomes an arc, not a zigzag
            # along the line.
            axis = rotate(conjugate(quat_at(rotations, i)), side)
            put_quat(x, i, multiply(about(axis, bend), quat_at(x, i)))
        elif kinds[i] == HINGE:
            up = min(x[i, 0] + bend, ranges[i, 1])
            down = max(x[i, 0] - bend, ranges[i, 0])
            x[i, 0] = up if up - x[i, 0] >= x[i, 0] - down else down


@part
def unbend(kinds, axes, ranges, frames, tip, bend, x, origins, rotations):
    """Bend a chain if it is straight; return whether it was."""
    tip_at = store_frames(kinds, axes, frames, tip, x, origins, rotations)
    straight = is_straight(kinds, tip_at, origins, bend)
    if straight:
        bend_chain(kinds, ranges, sub(tip_at, vec_at(origins, first_turning(kinds))), rotations, bend, x)
    return straight


@part
def kick(kinds, ranges, start, attempt, x):
    """Perturb the start pose for a restart. The result mixes it with a point of a low-discrepancy sequence.

    The first attempts stay near the start, the fourth and later ones cover the whole limits. A slide without two ends
    stays, because no length would be independent of units.
    The sequence is Roberts' R_d: u_i = frac(1/2 + n g^-(i+1)) with g^(d+1) = g + 1. It is the same for every
    problem, so that a result depends on its own problem only.
    """
    d = 4 * kinds.shape[0]
    g = 1.5
    # The root of g^(d + 1) = g + 1 by fixed-point iteration, which converges from any start above 1.
    for _ in range(32):
        g = (1.0 + g) ** (1.0 / (d + 1.0))
    # Near the start at first: of several solutions the caller prefers one near the current pose.
    share = min(1.0, 0.25 * attempt)
    copy(start, x)
    for i in range(kinds.shape[0]):
        u = draw(g, 4 * i, attempt)
        if kinds[i] == BALL:
            axis = Vec(draw(g, 4 * i + 1, attempt) - 0.5, draw(g, 4 * i + 2, attempt) - 0.5, 0.5 - u)
            if norm(axis) > 0.0:
                put_quat(x, i, multiply(about(scale(axis, 1.0 / norm(axis)), share * BALL_KICK), quat_at(x, i)))
        elif kinds[i] == HINGE:
            # Angles repeat beyond half a turn in either direction.
            low, high = max(ranges[i, 0], x[i, 0] - math.pi), min(ranges[i, 1], x[i, 0] + math.pi)
            x[i, 0] += share * (low + u * (high - low) - x[i, 0])
        elif kinds[i] == SLIDE and ranges[i, 1] - ranges[i, 0] < math.inf:
            x[i, 0] += share * (ranges[i, 0] + u * (ranges[i, 1] - ranges[i, 0]) - x[i, 0])


@part
def keep_turns(kinds, limits, x):
    """Clamp every ball to its limit. Bends and perturbations ignore limits."""
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL and limits[i, LIMIT_KIND] != NO_LIMIT:
            put_quat(x, i, nearest_turn(limits[i], normalise(quat_at(x, i))))


@inline
def draw(g, dimension, n):
    """Sample the R_d sequence in 0..1. Returns one coordinate of its n-th point."""
    value = 0.5 + n * g ** (-(dimension + 1.0))
    return value - math.floor(value)


@part
def go_on(links, tip, target, share, error, previous, x, turns):
    """Extrapolate the last sweep by `share`. Undone where it does not lower the error; returns the error.

    It speeds up sweeps along a narrow valley: the pattern move of Hooke and Jeeves, J. ACM 8, 1961.
    """
    kinds, axes, ranges, limits, frames = links
    for i in range(kinds.shape[0]):
        now, before = quat_at(x, i), quat_at(previous, i)
        # `previous` becomes the current pose, restored if the extrapolation fails.
        put_quat(previous, i, now)
        if kinds[i] == HINGE or kinds[i] == SLIDE:
            x[i, 0] = clamp(now.w + share * (now.w - before.w), ranges[i, 0], ranges[i, 1])
        else:
            for j in range(4):
                x[i, j] += share * (x[i, j] - before[j])
            if kinds[i] == BALL:
                put_quat(x, i, nearest_turn(limits[i], normalise(quat_at(x, i))))
    farther = norm(sub(target, tip_position(kinds, axes, frames, tip, x)))
    if farther < error:
        put_turns(kinds, x, turns)
        return farther
    copy(previous, x)
    return error
