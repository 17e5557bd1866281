# pyright: standard
"""FABRIK for chains with limits: hinges, ranges, and limited balls.

Points alone do not determine whether limits are met, so every joint also has its motion. In both passes each bone is
rotated towards its target point as far as the limit of the joint between it and the previous bone allows. A joint's
motion relates the two bones, whichever of them is fixed: in the pass to the base the bone nearer to the tip is fixed,
and the inverse motion rotates the other one. Bones keep their twist unless a limit changes it.

Aristidou, Chrysanthou and Lasenby, "Extending FABRIK with model constraints", Computer Animation and Virtual Worlds
27(1), 2016. Between hinges with different axes the error may rise; the polish in joint space lowers it.
"""

from __future__ import annotations

import math

import numpy as np

from poise.kernels.chain.ccd_steps import hinge_exact
from poise.kernels.chain.chain_finish import finish
from poise.kernels.chain.escape import keep_turns, kick
from poise.kernels.chain.fabrik import bone_of, put_points
from poise.kernels.chain.links import copy, link_offset, link_rotation, motion_rotation, record, tip_position
from poise.kernels.codes import HINGE
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limits.rotations import nearest_turn
from poise.kernels.values.linear import (
    Quat,
    about,
    add,
    conjugate,
    multiply,
    norm,
    normalise,
    put_quat,
    put_vec,
    quat_at,
    rotate,
    rotation_between,
    scale,
    sub,
    vec_at,
)

SWEEPS = 3  # sweeps before a polish


@inline
def turned_towards(kind, axis, low, high, limit, x, i, bone, wanted):
    """Compute joint i's motion pointing `bone` towards `target`.

    The bone is in its moved frame, `target` in its frame; the result is a row of x.
    """
    h = rotate(motion_rotation(kind, axis, x, i), bone)
    if kind == HINGE:
        return Quat(hinge_exact(axis, x[i, 0], low, high, math.inf, h, wanted), 0.0, 0.0, 0.0)
    q = quat_at(x, i)
    return nearest_turn(limit, normalise(multiply(rotation_between(h, wanted), q)))


@inline
def as_rotation(kind, axis, row):
    """Convert a row of x to a rotation."""
    return about(axis, row.w) if kind == HINGE else row


@part
def drag_to_target(kinds, axes, ranges, limits, frames, tip, target, x, last, points):
    """Drag the chain by its tip to the target, bone by bone.

    x stays; `last` is the last bone's current rotation.
    """
    m = kinds.shape[0]
    # Start with the last bone, which no joint beyond the tip limits.
    bone = rotate(last, tip)
    rotation = multiply(rotation_between(bone, sub(target, vec_at(points, m - 1))), last)
    point = sub(target, rotate(rotation, tip))
    for k in range(m - 1):
        i = m - 1 - k
        axis, back = vec_at(axes, i), conjugate(link_rotation(frames, i))
        parent = rotate(back, scale(link_offset(frames, i), -1.0))
        way = rotate(conjugate(rotation), sub(vec_at(points, i - 1), point))
        put_vec(points, i, point)
        # The child's bone is fixed: compute the motion aligning the direction to the parent's target point with the
        # parent's offset in the joint's own frame.
        row = turned_towards(kinds[i], axis, ranges[i, 0], ranges[i, 1], limits[i], x, i, way, parent)
        frame = multiply(rotation, conjugate(as_rotation(kinds[i], axis, row)))
        point = add(point, rotate(frame, parent))
        rotation = multiply(frame, back)
    put_vec(points, m, target)


@part
def drag_to_base(kinds, axes, ranges, limits, frames, tip, x, points):
    """Drag the chain by its base back to its position.

    x becomes its motions. Returns the last bone's rotation.
    """
    point, frame, rotation = vec_at(points, 0), link_rotation(frames, 0), Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(kinds.shape[0]):
        axis, bone = vec_at(axes, i), bone_of(frames, tip, i)
        wanted = rotate(conjugate(frame), sub(vec_at(points, i + 1), point))
        row = turned_towards(kinds[i], axis, ranges[i, 0], ranges[i, 1], limits[i], x, i, bone, wanted)
        put_quat(x, i, row)
        rotation = multiply(frame, as_rotation(kinds[i], axis, row))
        point = add(point, rotate(rotation, bone))
        put_vec(points, i + 1, point)
        if i + 1 < kinds.shape[0]:
            frame = multiply(rotation, link_rotation(frames, i + 1))
    return rotation


@kernel
def solve(
    kinds, axes, ranges, limits, frames, tips, starts, targets, options, x_out, errors, counts, trace_x, trace_error
):  # fmt: skip
    """Solve k targets (k, 3) for a limited chain.

    It has balls and hinges. Each target has its own start (1|k, m, 4), inside the limits.

    options: tolerance, iterations, bend, finish, restarts. The rest: see kernels/fabrik.py.
    """
    m = kinds.shape[0]
    scratch, points = np.empty((4, m, 4)), np.empty((m + 1, 3))
    for k in range(targets.shape[0]):
        chain_frames = frames[min(k, frames.shape[0] - 1)]
        start = starts[min(k, starts.shape[0] - 1)]
        tip = vec_at(tips, min(k, tips.shape[0] - 1))
        errors[k] = search(
            kinds, axes, ranges, limits, chain_frames, tip, vec_at(targets, k), start, options, x_out[k], counts[k],
            points, scratch[0], scratch[1], scratch[2], scratch[3], trace_x, trace_error,
        )  # fmt: skip


@part
def search(
    kinds, axes, ranges, limits, frames, tip, target, start, options, x, count, points, rotations, trial, walls, best,
    trace_x, trace_error,
):  # fmt: skip
    """Solve one target, with restarts; return the error of x.

    Sweeps and polishes from the start, then from perturbed poses. x becomes the best pose.
    """
    tolerance, iterations, bend, finishes = options[0], int(options[1]), options[2], options[3] > 0.0
    restarts = int(options[4]) if finishes else 0
    count[0] = 0
    count[1] = 0
    copy(start, x)
    copy(start, best)
    least = norm(sub(target, tip_position(kinds, axes, frames, tip, x)))
    record(trace_x, trace_error, 0, x, least)
    # A chain without joints, or a start whose error is not finite: no attempt at all.
    attempt = 0 if kinds.shape[0] > 0 and least < math.inf else restarts + 1
    while attempt <= restarts and count[0] < iterations and least > tolerance:
        if attempt > 0:
            kick(kinds, ranges, start, attempt, x)
        # Bends a straight chain; bends and perturbations ignore limits, so balls are clamped afterwards.
        put_points(kinds, axes, ranges, frames, tip, bend, x, points, rotations)
        keep_turns(kinds, limits, x)
        attempt += 1
        least = sweeps(
            kinds, axes, ranges, limits, frames, tip, target, options, least, x, count, points, rotations, best,
            trace_x, trace_error,
        )  # fmt: skip
        if finishes and least > tolerance:
            error = finish(
                kinds, axes, ranges, limits, frames, tip, target, tolerance, iterations, x, count, trial, points,
                rotations, walls, trace_x, trace_error,
            )  # fmt: skip
            least = keep(x, error, best, least)
    copy(best, x)
    return least


@inline
def keep(x, error, best, least):
    """Store x if it is better; return the least error."""
    if error < least:
        copy(x, best)
        return error
    return least


@part
def sweeps(
    kinds, axes, ranges, limits, frames, tip, target, options, least, x, count, points, rotations, best, trace_x,
    trace_error,
):  # fmt: skip
    """Sweep a few times before a polish, else until done.

    `best` stores the best pose. Returns its error.
    """
    m, tolerance, iterations = kinds.shape[0], options[0], int(options[1])
    last = count[0] + SWEEPS if options[3] > 0.0 else iterations
    put_points(kinds, axes, ranges, frames, tip, 0.0, x, points, rotations)
    i = m - 1
    rotation = multiply(quat_at(rotations, i), motion_rotation(kinds[i], vec_at(axes, i), x, i))
    while count[0] < min(last, iterations) and least > tolerance:
        drag_to_target(kinds, axes, ranges, limits, frames, tip, target, x, rotation, points)
        rotation = drag_to_base(kinds, axes, ranges, limits, frames, tip, x, points)
        error = norm(sub(target, vec_at(points, m)))
        count[0] += 1
        count[1] += m
        # With limits a sweep may raise the error, so the best pose is stored.
        least = keep(x, error, best, least)
        record(trace_x, trace_error, count[0], x, error)
    return least
