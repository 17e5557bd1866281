# pyright: standard
"""Least squares over all frames of a clip.

A robot is a tree of hinges and slides on a free base.

Unknowns of a frame are K numbers: 3 of the base's position, 3 of its rotation (a world vector, applied from the left),
then one for each free joint. Residuals of a frame are tasks (a rotation, a direction or a position of a node) and
capsules that are too near each other. Frames are tied by changes of step and by steps above a speed:

    C = 1/2 sum |r(t)|^2 + 1/2 sum s (z(t-1) - 2 z(t) + z(t+1))^2 + 1/2 w sum max(|z(t) - z(t-1)| - most, 0)^2

`measure_frames` writes matrix and gradient of each frame, `compute_step4` solves one Gauss-Newton step for all. The
matrix is a band: changes of step tie each unknown to itself, so a row reaches 2 K numbers ahead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.kernels.band_matrix import (
    clear_panels,
    compute_width,
    factor_panels,
    round_up,
    substitute_panels,
    view_band,
)
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import LANES4, LANES8, SCALAR, count_lanes, view_lanes

FIXED, HINGE, SLIDE = 0, 1, 2
ROTATION, DIRECTION, PLACE = 0, 1, 2
BASE_COLUMNS = 6
REFERENCE_FPS = 60.0  # at which weights of steps are stated
# how often unknowns go to limits in a step, how near to one they are at it, and the longest step of a round
MAX_LIMIT_ROUNDS, AT_LIMIT, MAX_STEP = 4, 1e-9, 0.6
_MIN_SINE = 0.2  # the error of a direction that points backwards is divided by at least this
_TINY = 1e-12
# nearer than their reach by less, the cost of a pair grows slower than a square: with an edge at the reach, steps would
# go to and fro, as each knows only the pairs that count where it begins. In lengths of a robot whose leg is 0.6 long
PAIR_ONSET = 0.004
SPEED_ONSET = 0.08  # the same of a speed, by the one from which on it counts


class Tree(NamedTuple):
    """A tree of n nodes, parents first. Node 0 is the base.

    parents    (n,)
    offsets    (n, 3) from the parent, in its frame
    turns      (n, 3, 3) rotation before the motion
    axes       (n, 3) of a hinge or slide
    kinds      (n,) FIXED, HINGE or SLIDE
    columns    (n,) unknown of a moving node: several nodes may share one
    ratios     (n,) the node's value is ratio * unknown + constant
    constants  (n,)
    """

    parents: NDArray[np.int64]
    offsets: NDArray[np.float64]
    turns: NDArray[np.float64]
    axes: NDArray[np.float64]
    kinds: NDArray[np.int64]
    columns: NDArray[np.int64]
    ratios: NDArray[np.float64]
    constants: NDArray[np.float64]


class Tasks(NamedTuple):
    """Tasks of all frames.

    kinds    (m,) ROTATION, DIRECTION or PLACE
    nodes    (m,)
    points   (m, 3) the direction or the point, in the node's frame
    targets  (F, m, 9) rotation matrix by rows, or the world direction or point in the first three
    weights  (F, m) of residuals; 0 where a frame has none
    """

    kinds: NDArray[np.int64]
    nodes: NDArray[np.int64]
    points: NDArray[np.float64]
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]


class CapsuleArrays(NamedTuple):
    """Pairs of capsules to keep apart.

    nodes    (p, 2)
    ends     (p, 4, 3) of the first and of the second one, in their nodes' frames
    reaches  (p,) distance of their axes from which on they count
    spans    (p,) distance of their middles from which on they never do, see `write_spans`
    """

    nodes: NDArray[np.int64]
    ends: NDArray[np.float64]
    reaches: NDArray[np.float64]
    spans: NDArray[np.float64]


class StepProblem(NamedTuple):
    """The linear problem of a step: arguments of `compute_step4`."""

    hessians: NDArray[np.float64]
    gradients: NDArray[np.float64]
    changes: NDArray[np.float64]
    excess: NDArray[np.float64]
    stiffness: NDArray[np.float64]
    free: NDArray[np.bool_]
    given: NDArray[np.float64]
    smoothing: NDArray[np.float64]
    damping: NDArray[np.float64]


class World(NamedTuple):
    """World frames of one pose.

    places  (n, 3)
    turns   (n, 3, 3)
    axes    (n, 3) of moving nodes
    """

    places: NDArray[np.float64]
    turns: NDArray[np.float64]
    axes: NDArray[np.float64]


class Row(NamedTuple):
    """Slopes of a residual by unknowns.

    The unknowns are those of a way from the base to a node.

    columns  (c,) unknowns
    slopes   (c, 3)
    """

    columns: NDArray[np.float64]
    slopes: NDArray[np.float64]


class Loads(NamedTuple):
    """Tasks of nodes, as forces on a body there.

    Places are from the base.

    A task pulls by its squared weight times what is missing, and resists motion by it: a task of a place as a mass
    there does, one of a rotation as an inertia. Tasks of a node and of those behind it add up.

    inertias  (n, 10) matrix xx xy xz yy yz zz, mass times place, mass
    pulls     (n, 6) moment and force
    motions   (n, 6) rotation and motion at the base, per unknown
    """

    inertias: NDArray[np.float64]
    pulls: NDArray[np.float64]
    motions: NDArray[np.float64]


@device_function
def place_nodes(tree, base_place, base_turn, values, world):
    """Write the world frames of all nodes."""
    for k in range(3):
        world.places[0, k] = base_place[k]
        for j in range(3):
            world.turns[0, k, j] = base_turn[k, j]
    for i in range(1, len(tree.parents)):
        p = tree.parents[i]
        up, out, own, offset = world.turns[p], world.turns[i], tree.turns[i], tree.offsets[i]
        for k in range(3):
            world.places[i, k] = world.places[p, k] + up[k, 0] * offset[0] + up[k, 1] * offset[1] + up[k, 2] * offset[2]
            for j in range(3):
                out[k, j] = up[k, 0] * own[0, j] + up[k, 1] * own[1, j] + up[k, 2] * own[2, j]
        if tree.kinds[i] == FIXED:
            continue
        axis = tree.axes[i]
        for k in range(3):
            world.axes[i, k] = out[k, 0] * axis[0] + out[k, 1] * axis[1] + out[k, 2] * axis[2]
        value = tree.ratios[i] * values[tree.columns[i] - BASE_COLUMNS] + tree.constants[i]
        if tree.kinds[i] == SLIDE:
            for k in range(3):
                world.places[i, k] += value * world.axes[i, k]
        else:
            turn_about(out, axis, value)


@inline
def turn_about(turn, axis, angle):
    """Turn a frame about an axis of its own, in place."""
    c, s = math.cos(angle), math.sin(angle)
    x, y, z, v = axis[0], axis[1], axis[2], 1.0 - c
    xx, xy, xz = v * x * x + c, v * x * y - s * z, v * x * z + s * y
    yx, yy, yz = v * x * y + s * z, v * y * y + c, v * y * z - s * x
    zx, zy, zz = v * x * z - s * y, v * y * z + s * x, v * z * z + c
    for k in range(3):
        a, b, d = turn[k, 0], turn[k, 1], turn[k, 2]
        turn[k, 0] = a * xx + b * yx + d * zx
        turn[k, 1] = a * xy + b * yy + d * zy
        turn[k, 2] = a * xz + b * yz + d * zz


@device_function
def write_place_slopes(tree, world, node, x, y, z, sign, row, start):
    """Write the slopes of a node's world point, times a sign.

    Return the count of all unknowns.
    """
    dx, dy, dz = x - world.places[0, 0], y - world.places[0, 1], z - world.places[0, 2]
    count = start
    for k in range(3):
        row.columns[count + k], row.columns[count + 3 + k] = k, 3 + k
        for j in range(3):
            row.slopes[count + k, j] = sign if j == k else 0.0
            row.slopes[count + 3 + k, j] = 0.0
    row.slopes[count + 3, 1], row.slopes[count + 3, 2] = -sign * dz, sign * dy
    row.slopes[count + 4, 0], row.slopes[count + 4, 2] = sign * dz, -sign * dx
    row.slopes[count + 5, 0], row.slopes[count + 5, 1] = -sign * dy, sign * dx
    count, i = count + 6, node
    while i > 0:
        if tree.kinds[i] != FIXED:
            ratio, axis = sign * tree.ratios[i], world.axes[i]
            row.columns[count] = tree.columns[i]
            if tree.kinds[i] == HINGE:
                ax, ay, az = x - world.places[i, 0], y - world.places[i, 1], z - world.places[i, 2]
                row.slopes[count, 0] = ratio * (axis[1] * az - axis[2] * ay)
                row.slopes[count, 1] = ratio * (axis[2] * ax - axis[0] * az)
                row.slopes[count, 2] = ratio * (axis[0] * ay - axis[1] * ax)
            else:
                for k in range(3):
                    row.slopes[count, k] = ratio * axis[k]
            count += 1
        i = tree.parents[i]
    return count


@device_function
def add_residual(row, count, missing, weight, hessian, gradient):
    """Add a residual to matrix and gradient. Its slopes are the first ones."""
    square = weight * weight
    for a in range(count):
        column, slope = int(row.columns[a]), square * row.slopes[a, 0]
        gradient[column] += slope * missing
        line = hessian[column]
        for b in range(count):
            line[int(row.columns[b])] += slope * row.slopes[b, 0]


@inline
def add_rotation_load(loads, node, weight, x, y, z):
    """Add a task of all three angles."""
    square, inertia, pull = weight * weight, loads.inertias[node], loads.pulls[node]
    inertia[0] += square
    inertia[3] += square
    inertia[5] += square
    pull[0] += square * x
    pull[1] += square * y
    pull[2] += square * z


@inline
def add_direction_load(loads, node, weight, dx, dy, dz, x, y, z):
    """Add a task of a direction. Turns about it cost nothing."""
    add_rotation_load(loads, node, weight, x, y, z)
    square, inertia = weight * weight, loads.inertias[node]
    inertia[0] -= square * dx * dx
    inertia[1] -= square * dx * dy
    inertia[2] -= square * dx * dz
    inertia[3] -= square * dy * dy
    inertia[4] -= square * dy * dz
    inertia[5] -= square * dz * dz


@inline
def add_place_load(loads, node, weight, px, py, pz, x, y, z):
    """Add a task of a place. It is given from the base."""
    square, inertia, pull = weight * weight, loads.inertias[node], loads.pulls[node]
    mx, my, mz = square * px, square * py, square * pz
    inertia[0] += my * py + mz * pz
    inertia[1] -= mx * py
    inertia[2] -= mx * pz
    inertia[3] += mx * px + mz * pz
    inertia[4] -= my * pz
    inertia[5] += mx * px + my * py
    inertia[6] += mx
    inertia[7] += my
    inertia[8] += mz
    inertia[9] += square
    pull[0] += my * z - mz * y
    pull[1] += mz * x - mx * z
    pull[2] += mx * y - my * x
    pull[3] += square * x
    pull[4] += square * y
    pull[5] += square * z


@device_function
def gather_loads(tree, world, loads):
    """Add the loads of nodes to those before them.

    Also write how nodes move.
    """
    base = world.places[0]
    for i in range(len(tree.parents) - 1, 0, -1):
        p = tree.parents[i]
        for k in range(10):
            loads.inertias[p, k] += loads.inertias[i, k]
        for k in range(6):
            loads.pulls[p, k] += loads.pulls[i, k]
        motion, ratio, axis = loads.motions[i], tree.ratios[i], world.axes[i]
        if tree.kinds[i] == HINGE:
            x, y, z = ratio * axis[0], ratio * axis[1], ratio * axis[2]
            ox, oy, oz = world.places[i, 0] - base[0], world.places[i, 1] - base[1], world.places[i, 2] - base[2]
            motion[0], motion[1], motion[2] = x, y, z
            motion[3], motion[4], motion[5] = oy * z - oz * y, oz * x - ox * z, ox * y - oy * x
        elif tree.kinds[i] == SLIDE:
            motion[0] = motion[1] = motion[2] = 0.0
            motion[3], motion[4], motion[5] = ratio * axis[0], ratio * axis[1], ratio * axis[2]


@inline
def resist(inertia, motion):
    """Compute moment and force of an inertia against a motion."""
    x, y, z, u, v, w = motion[0], motion[1], motion[2], motion[3], motion[4], motion[5]
    hx, hy, hz, mass = inertia[6], inertia[7], inertia[8], inertia[9]
    return (
        inertia[0] * x + inertia[1] * y + inertia[2] * z + hy * w - hz * v,
        inertia[1] * x + inertia[3] * y + inertia[4] * z + hz * u - hx * w,
        inertia[2] * x + inertia[4] * y + inertia[5] * z + hx * v - hy * u,
        mass * u + y * hz - z * hy,
        mass * v + z * hx - x * hz,
        mass * w + x * hy - y * hx,
    )


@inline
def write_base(loads, hessian, gradient):
    """Write matrix and gradient of the base."""
    inertia, pull = loads.inertias[0], loads.pulls[0]
    hx, hy, hz = inertia[6], inertia[7], inertia[8]
    for k in range(3):
        gradient[k], gradient[3 + k] = pull[3 + k], pull[k]
        hessian[k, k] = inertia[9]
    hessian[0, 4] = hessian[4, 0] = hz
    hessian[0, 5] = hessian[5, 0] = -hy
    hessian[1, 3] = hessian[3, 1] = -hz
    hessian[1, 5] = hessian[5, 1] = hx
    hessian[2, 3] = hessian[3, 2] = hy
    hessian[2, 4] = hessian[4, 2] = -hx
    hessian[3, 3], hessian[4, 4], hessian[5, 5] = inertia[0], inertia[3], inertia[5]
    hessian[3, 4] = hessian[4, 3] = inertia[1]
    hessian[3, 5] = hessian[5, 3] = inertia[2]
    hessian[4, 5] = hessian[5, 4] = inertia[4]


@device_function
def write_tasks(tree, world, loads, hessian, gradient):
    """Write matrix and gradient of all tasks.

    A node's inertia is that of all behind it, so a pair of unknowns is a single product of both motions.
    """
    for a in range(len(gradient)):
        gradient[a] = 0.0
        for b in range(len(gradient)):
            hessian[a, b] = 0.0
    gather_loads(tree, world, loads)
    write_base(loads, hessian, gradient)
    for i in range(1, len(tree.parents)):
        if tree.kinds[i] == FIXED:
            continue
        column, motion, pull = tree.columns[i], loads.motions[i], loads.pulls[i]
        line = hessian[column]
        x, y, z, u, v, w = resist(loads.inertias[i], motion)
        for k in range(6):
            gradient[column] += motion[k] * pull[k]
        for k, slope in enumerate((u, v, w, x, y, z)):
            line[k] += slope
            hessian[k, column] += slope
        line[column] += motion[0] * x + motion[1] * y + motion[2] * z + motion[3] * u + motion[4] * v + motion[5] * w
        before = tree.parents[i]
        while before > 0:
            if tree.kinds[before] != FIXED:
                up, other = loads.motions[before], tree.columns[before]
                slope = up[0] * x + up[1] * y + up[2] * z + up[3] * u + up[4] * v + up[5] * w
                line[other] += slope
                hessian[other, column] += slope  # twice where both nodes have the same unknown
            before = tree.parents[before]


@inline
def find_turn(turn, target):
    """Find the rotation vector from a world rotation to a target (9,)."""
    m = target
    xx = m[0] * turn[0, 0] + m[1] * turn[0, 1] + m[2] * turn[0, 2]
    yy = m[3] * turn[1, 0] + m[4] * turn[1, 1] + m[5] * turn[1, 2]
    zz = m[6] * turn[2, 0] + m[7] * turn[2, 1] + m[8] * turn[2, 2]
    xy = m[0] * turn[1, 0] + m[1] * turn[1, 1] + m[2] * turn[1, 2]
    yx = m[3] * turn[0, 0] + m[4] * turn[0, 1] + m[5] * turn[0, 2]
    xz = m[0] * turn[2, 0] + m[1] * turn[2, 1] + m[2] * turn[2, 2]
    zx = m[6] * turn[0, 0] + m[7] * turn[0, 1] + m[8] * turn[0, 2]
    yz = m[3] * turn[2, 0] + m[4] * turn[2, 1] + m[5] * turn[2, 2]
    zy = m[6] * turn[1, 0] + m[7] * turn[1, 1] + m[8] * turn[1, 2]
    x, y, z = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy)
    sine = math.sqrt(x * x + y * y + z * z)
    scale = math.atan2(sine, 0.5 * (xx + yy + zz - 1.0)) / max(sine, _TINY) if sine > _TINY else 1.0
    return scale * x, scale * y, scale * z


@device_function
def add_task(world, tasks, frame, task, loads):
    """Add a task of a frame to loads. Return its cost."""
    weight, kind, node = tasks.weights[frame, task], tasks.kinds[task], tasks.nodes[task]
    if weight == 0.0:
        return 0.0
    turn, target, point = world.turns[node], tasks.targets[frame, task], tasks.points[task]
    if kind == ROTATION:
        x, y, z = find_turn(turn, target)
        add_rotation_load(loads, node, weight, x, y, z)
        return 0.5 * weight * weight * (x * x + y * y + z * z)
    dx = turn[0, 0] * point[0] + turn[0, 1] * point[1] + turn[0, 2] * point[2]
    dy = turn[1, 0] * point[0] + turn[1, 1] * point[1] + turn[1, 2] * point[2]
    dz = turn[2, 0] * point[0] + turn[2, 1] * point[1] + turn[2, 2] * point[2]
    if kind == PLACE:
        px, py, pz = world.places[node, 0] + dx, world.places[node, 1] + dy, world.places[node, 2] + dz
        x, y, z = target[0] - px, target[1] - py, target[2] - pz
        base = world.places[0]
        add_place_load(loads, node, weight, px - base[0], py - base[1], pz - base[2], x, y, z)
        return 0.5 * weight * weight * (x * x + y * y + z * z)
    x, y, z = dy * target[2] - dz * target[1], dz * target[0] - dx * target[2], dx * target[1] - dy * target[0]
    sine, cosine = math.sqrt(x * x + y * y + z * z), dx * target[0] + dy * target[1] + dz * target[2]
    angle = math.atan2(sine, cosine)
    scale = angle / max(sine, _MIN_SINE if cosine < 0.0 else _TINY) if sine > _TINY else 1.0
    add_direction_load(loads, node, weight, dx, dy, dz, scale * x, scale * y, scale * z)
    return 0.5 * weight * weight * angle * angle


@inline
def place_point(world, node, point):
    """Compute the world place of a node's point."""
    turn, place = world.turns[node], world.places[node]
    return (
        place[0] + turn[0, 0] * point[0] + turn[0, 1] * point[1] + turn[0, 2] * point[2],
        place[1] + turn[1, 0] * point[0] + turn[1, 1] * point[1] + turn[1, 2] * point[2],
        place[2] + turn[2, 0] * point[0] + turn[2, 1] * point[1] + turn[2, 2] * point[2],
    )


@device_function
def write_spans(pairs):
    """Write the spans of pairs.

    Capsules whose middles are farther from each other are never near.
    """
    for p in range(len(pairs.spans)):
        ends, lengths = pairs.ends[p], 0.0
        for end in range(0, 4, 2):
            x, y, z = ends[end + 1, 0] - ends[end, 0], ends[end + 1, 1] - ends[end, 1], ends[end + 1, 2] - ends[end, 2]
            lengths += math.sqrt(x * x + y * y + z * z)
        pairs.spans[p] = pairs.reaches[p] + 0.5 * lengths


@inline
def place_middle(world, node, start, end):
    """Compute the sum of the world places of two points."""
    turn, place = world.turns[node], world.places[node]
    x, y, z = start[0] + end[0], start[1] + end[1], start[2] + end[2]
    return (
        2.0 * place[0] + turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] * z,
        2.0 * place[1] + turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] * z,
        2.0 * place[2] + turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] * z,
    )


@device_function
def are_apart(world, nodes, ends, span):
    """Return whether two capsules are too far apart to matter."""
    ax, ay, az = place_middle(world, nodes[0], ends[0], ends[1])
    bx, by, bz = place_middle(world, nodes[1], ends[2], ends[3])
    x, y, z = ax - bx, ay - by, az - bz
    return x * x + y * y + z * z > 4.0 * span * span


@device_function
def add_pair(tree, world, nodes, ends, reach, weight, row, hessian, gradient):
    """Add two near capsules to matrix and gradient. Return their cost.

    They count where they are nearer than `reach`.
    """
    ax, ay, az = place_point(world, nodes[0], ends[0])
    bx, by, bz = place_point(world, nodes[0], ends[1])
    cx, cy, cz = place_point(world, nodes[1], ends[2])
    ex, ey, ez = place_point(world, nodes[1], ends[3])
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = ex - cx, ey - cy, ez - cz
    wx, wy, wz = ax - cx, ay - cy, az - cz
    a, b, c = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    d, e = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    area = a * c - b * b
    s = min(max((b * e - c * d) / area, 0.0), 1.0) if area > 1e-9 * a * c else 0.0
    t = min(max((b * s + e) / max(c, _TINY), 0.0), 1.0)
    s = min(max((b * t - d) / max(a, _TINY), 0.0), 1.0)
    px, py, pz = ax + s * ux, ay + s * uy, az + s * uz
    qx, qy, qz = cx + t * vx, cy + t * vy, cz + t * vz
    x, y, z = px - qx, py - qy, pz - qz
    distance = math.sqrt(x * x + y * y + z * z)
    near = reach - distance
    if near <= 0.0:
        return 0.0
    depth, rise, bend = near - 0.5 * PAIR_ONSET, 1.0, 0.0  # with first and second derivative
    if near < PAIR_ONSET:
        depth, rise, bend = near * near / (2.0 * PAIR_ONSET), near / PAIR_ONSET, 1.0 / PAIR_ONSET
    scale = math.sqrt(rise * rise + depth * bend)
    inverse = scale / max(distance, 1e-6)
    x, y, z = inverse * x, inverse * y, inverse * z
    count = write_place_slopes(tree, world, nodes[0], px, py, pz, 1.0, row, 0)
    count = write_place_slopes(tree, world, nodes[1], qx, qy, qz, -1.0, row, count)
    for k in range(count):
        row.slopes[k, 0] = x * row.slopes[k, 0] + y * row.slopes[k, 1] + z * row.slopes[k, 2]
    add_residual(row, count, depth * rise / scale, weight, hessian, gradient)
    return 0.5 * weight * weight * depth * depth


@device_function
def measure_frame(tree, tasks, pairs, pair_weight, frame, base_place, base_turn, values, hessian, gradient, work):
    """Measure the residuals of a frame. Return its cost.

    The pose is one place (3,), one rotation (3, 3) and values (K - 6,); the rest is as for `measure_frames`.
    """
    n = len(tree.parents)
    world = World(
        view_lanes(SCALAR, work, 0, n, 3),
        view_lanes(SCALAR, work, 3 * n, n, 3, 3),
        view_lanes(SCALAR, work, 12 * n, n, 3),
    )
    loads = Loads(
        view_lanes(SCALAR, work, 15 * n, n, 10), view_lanes(SCALAR, work, 25 * n, n, 6),
        view_lanes(SCALAR, work, 31 * n, n, 6),
    )  # fmt: skip
    start, longest = 37 * n, 2 * (n + 7)
    row = Row(view_lanes(SCALAR, work, start, longest), view_lanes(SCALAR, work, start + longest, longest, 3))
    place_nodes(tree, base_place, base_turn, values, world)
    for i in range(n):
        for k in range(10):
            loads.inertias[i, k] = 0.0
        for k in range(6):
            loads.pulls[i, k] = 0.0
    cost = 0.0
    for m in range(len(tasks.kinds)):
        cost += add_task(world, tasks, frame, m, loads)
    write_tasks(tree, world, loads, hessian, gradient)
    for p in range(pairs.nodes.shape[0]):
        if not are_apart(world, pairs.nodes[p], pairs.ends[p], pairs.spans[p]):
            cost += add_pair(
                tree, world, pairs.nodes[p], pairs.ends[p], pairs.reaches[p], pair_weight, row, hessian,
                gradient,
            )  # fmt: skip
    return cost


@inline
def compute_measure_size(node_count):
    """Compute the size of the scratch memory of `measure_frame`, in numbers. `measure_frames` needs one more a pair."""
    return 37 * node_count + 8 * (node_count + 7)


@kernel("I1 F2 F3 F2 I1 I1 F1 F1 F2 F3 F2 I1 I1 F2 F3 F2 I2 F3 F1 f wF3 wF2 wF1 sF1 ->")
def measure_frames(
    parents, offsets, turns, axes, kinds, columns, ratios, constants,
    base_places, base_turns, values,
    task_kinds, task_nodes, task_points, task_targets, task_weights,
    pair_nodes, pair_ends, pair_reaches, pair_weight,
    hessians, gradients, costs, work,
):  # fmt: skip
    """Measure the residuals of all frames.

    base_places   (F, 3), and base_turns (F, 3, 3): world frame of the base
    values        (F, K - 6)
    pair_nodes    (p, 2) capsules that are to stay apart
    pair_ends     (p, 4, 3) ends of the first and of the second one, in their nodes' frames
    pair_reaches  (p,) distance of their axes from which on they count
    hessians      (F, K, K) out
    gradients     (F, K) out: slopes times what is missing
    costs         (F,) out
    work          scratch memory for `compute_measure_size` numbers, and one for each pair
    """
    tree = Tree(parents, offsets, turns, axes, kinds, columns, ratios, constants)
    tasks = Tasks(task_kinds, task_nodes, task_points, task_targets, task_weights)
    spans = view_lanes(SCALAR, work, compute_measure_size(len(parents)), len(pair_reaches))
    pairs = CapsuleArrays(pair_nodes, pair_ends, pair_reaches, spans)
    write_spans(pairs)
    for t in range(values.shape[0]):
        costs[t] = measure_frame(
            tree, tasks, pairs, pair_weight, t, base_places[t], base_turns[t], values[t], hessians[t],
            gradients[t], work,
        )  # fmt: skip


@kernel("F2 F3 F2 F2 F2 F2 F2 F1 f f wF2 wF2 wF2 wF3 wF2 -> f")
def measure_ties(
    base_places, base_turns, values, turns_by_rows, near, kept, most, smoothing, speed_weight, near_weight,
    changes, excess, stiffness, hessians, gradients,
):  # fmt: skip
    """Measure ties between frames, and to a motion. Return their cost.

    turns_by_rows  (F, 9) the rotations of the base once more
    near           (F, K - 6) values
    kept           (F, K) changes of step of a smooth motion
    most           (F - 1, K) largest steps
    smoothing      (K,) weights of squared changes of step
    speed_weight   weight of squared lengths of steps above the largest ones
    near_weight    weight of squared distances from values
    changes        (F, K) out: changes of step beside those kept; 0 in the first and the last frame
    excess         (F, K) out: by how much steps from the frame before are too long, with their sign, and
    stiffness      (F, K) out: weights of their squares that have the same slope and curvature as the cost
    hessians       (F, K, K), and gradients (F, K): distances from values are added
    """
    frames, unknowns = changes.shape
    cost = 0.0
    for k in range(unknowns):
        changes[0, k] = changes[frames - 1, k] = excess[0, k] = stiffness[0, k] = 0.0
    for t in range(1, frames):  # steps stand where excess will
        excess[t, 3], excess[t, 4], excess[t, 5] = find_turn(base_turns[t - 1], turns_by_rows[t])
        for k in range(3):
            excess[t, k] = base_places[t, k] - base_places[t - 1, k]
        for k in range(BASE_COLUMNS, unknowns):
            excess[t, k] = values[t, k - BASE_COLUMNS] - values[t - 1, k - BASE_COLUMNS]
    for t in range(1, frames - 1):
        for k in range(unknowns):
            change = excess[t + 1, k] - excess[t, k] - kept[t, k]
            changes[t, k] = change
            cost += smoothing[k] * change * change
    for t in range(1, frames):
        for k in range(unknowns):
            above = abs(excess[t, k]) - most[t - 1, k]
            if above <= 0.0:
                excess[t, k] = stiffness[t, k] = 0.0
                continue
            onset = SPEED_ONSET * most[t - 1, k]
            length, rise, bend = above - 0.5 * onset, 1.0, 0.0  # with first and second derivative
            if above < onset:
                length, rise, bend = above * above / (2.0 * onset), above / onset, 1.0 / onset
            curve = rise * rise + length * bend
            excess[t, k] = length * rise / curve if excess[t, k] > 0.0 else -length * rise / curve
            stiffness[t, k] = speed_weight * curve
            cost += speed_weight * length * length
    for t in range(frames):
        for k in range(BASE_COLUMNS, unknowns):
            off = values[t, k - BASE_COLUMNS] - near[t, k - BASE_COLUMNS]
            cost += near_weight * off * off
            gradients[t, k] -= near_weight * off
            hessians[t, k, k] += near_weight
    return 0.5 * cost


@inline
def compute_step_size(frame_count, unknown_count):
    """Compute the size of the scratch memory of a step, in numbers.

    It is enough for four and for eight lanes.
    """
    size = round_up(LANES8, frame_count * unknown_count)
    return size * (compute_width(LANES8, 2 * unknown_count + 1) + 2) + unknown_count


@device_function
def assemble_frame(lane_kind, problem, t, masks, band, right):
    """Write matrix and right side of a frame's rows. They are those of the unit matrix before.

    Unknowns that are not free go to the right side with their given steps.

    masks  (K,) scratch memory
    """
    free, given, changes = problem.free, problem.given, problem.changes
    excess, stiffness = problem.excess, problem.stiffness
    frames, unknowns = problem.gradients.shape
    last = frames - 1
    before, here, after = 1.0 if t > 1 else 0.0, 1.0 if 0 < t < last else 0.0, 1.0 if t + 1 < last else 0.0
    is_given = False
    for k in range(unknowns):
        masks[k] = 1.0 if free[t, k] else 0.0
        is_given = is_given or given[t, k] != 0.0
    for k in range(unknowns):
        if not free[t, k]:
            continue
        i, s = t * unknowns + k, problem.smoothing[k]
        row, line = band.rows[i], problem.hessians[t, k]
        own = i % count_lanes(lane_kind)  # where its diagonal stands
        value = problem.gradients[t, k] + 2.0 * s * here * changes[t, k]
        value -= s * before * changes[t - 1, k] if t > 0 else 0.0
        value -= s * after * changes[t + 1, k] if t < last else 0.0
        diagonal = line[k] + problem.damping[t] + s * (before + 4.0 * here + after)
        if is_given:
            for b in range(unknowns):
                value -= line[b] * given[t, b]
        beside = row[own + 1 : own + unknowns - k]
        for b in range(len(beside)):
            beside[b] = masks[k + 1 + b] * line[k + 1 + b]
        fast, next_fast = stiffness[t, k], stiffness[t + 1, k] if t < last else 0.0
        value += (next_fast * excess[t + 1, k] if t < last else 0.0) - fast * excess[t, k]
        if t < last:
            tie = -2.0 * s * (here + after) - next_fast
            if free[t + 1, k]:
                row[own + unknowns] = tie
            else:
                value -= tie * given[t + 1, k]
        if t + 1 < last:
            if free[t + 2, k]:
                row[own + 2 * unknowns] = s * after
            else:
                value -= s * after * given[t + 2, k]
        if t > 0 and not free[t - 1, k]:
            value += (2.0 * s * (before + here) + fast) * given[t - 1, k]
        if t > 1 and not free[t - 2, k]:
            value -= s * before * given[t - 2, k]
        row[own], right[i] = diagonal + fast + next_fast, value


@device_function
def solve_step(lane_kind, problem, x, work):
    """Solve for a step, as `compute_step4` does.

    Rows are factored as soon as they are written, while they are in the processor's cache.
    """
    frames, unknowns = problem.gradients.shape
    lanes = count_lanes(lane_kind)
    size, width = round_up(lane_kind, frames * unknowns), compute_width(lane_kind, 2 * unknowns + 1)
    band, right = view_band(lane_kind, work, 0, size, width), view_band(lane_kind, work, size * width, 1, size)
    reaches = view_lanes(SCALAR, work, size * (width + 1), size // lanes)
    masks = view_lanes(SCALAR, work, size * (width + 2), unknowns)
    for panel in range(len(reaches)):
        reaches[panel] = min(width, size - lanes * panel)
    for i in range(size):
        right.rows[0, i] = 0.0
    first, cleared, factored = 0, 0, 0
    for t in range(frames):
        end = len(reaches) if t + 1 == frames else (t + 1) * unknowns // lanes
        touched = min(end + 1, len(reaches))
        clear_panels(lane_kind, band, reaches, cleared, touched)
        assemble_frame(lane_kind, problem, t, masks, band, right.rows[0])
        first = factor_panels(lane_kind, band, reaches, first, factored, end, right)
        cleared, factored = touched, end
    substitute_panels(lane_kind, band, reaches, right)
    for t in range(frames):
        for k in range(unknowns):
            x[t, k] = right.rows[0, t * unknowns + k] if problem.free[t, k] else problem.given[t, k]


@kernel("F3 F2 F2 F2 F2 B2 F2 F1 F1 wF2 aF1 ->")
def compute_step4(hessians, gradients, changes, excess, stiffness, free, given, smoothing, damping, x, work):
    """Compute a Gauss-Newton step for all frames. Tiles have four lanes.

    changes    (F, K) changes of step now; 0 in the first and the last frame
    excess     (F, K) by how much steps from the frame before are too long, and
    stiffness  (F, K) weights of their squares; see `measure_ties`
    free       (F, K) unknowns that are solved for
    given      (F, K) steps of the others; 0 for free ones
    smoothing  (K,) weights of squared changes of step
    damping    (F,) added to the diagonal
    x          (F, K) out: the step
    work       scratch memory for `compute_step_size` numbers
    """
    problem = StepProblem(hessians, gradients, changes, excess, stiffness, free, given, smoothing, damping)
    solve_step(LANES4, problem, x, work)


@kernel("F3 F2 F2 F2 F2 B2 F2 F1 F1 wF2 aF1 ->")
def compute_step8(hessians, gradients, changes, excess, stiffness, free, given, smoothing, damping, x, work):
    """Compute a Gauss-Newton step as `compute_step4` does. Tiles have eight lanes."""
    problem = StepProblem(hessians, gradients, changes, excess, stiffness, free, given, smoothing, damping)
    solve_step(LANES8, problem, x, work)
