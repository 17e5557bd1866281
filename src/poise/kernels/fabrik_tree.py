# pyright: standard
"""FABRIK for several effectors: branches drag the joints where they part, each by its share of the goals.

From the tips up, every joint is given the place that its bones want it at; where several meet (a sub-base: a chest
with two shoulders and a neck) that is their mean, weighted by the goals that hang on each. Then, from the root down,
joints are placed again and turned towards what their bones wanted. A joint with one bone turns by a shortest arc; one
with several is a rigid piece, and turns by what fits all of its bones best, in least squares.

Aristidou and Lasenby, Graphical Models 73(5), 2011, section 4.2, where the bones of a sub-base are free of each other.

    nodes, frames, terms, aims, targets  as in kernels/tree_arrays.py; all nodes BALL or FIXED, all terms POSITION
    first (n + 1,), bones (b, 2)         bones first[i]..first[i + 1] are those of node i: what is at their end, 0 a
                                         node or 1 a term, and its number
    shares (n + t,)                      the weight of the goals below each node; then of each term
"""

from __future__ import annotations

import math

import numpy as np

from poise.kernels.chain_finish import Symmetric, small_turn, solved, with_ball
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.linear import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    put_quat,
    put_vec,
    quat_at,
    quat_in,
    rotate,
    rotation_between,
    scale,
    sub,
    vec_at,
    vec_in,
)
from poise.kernels.tree_arrays import AT, BALL, MOTION, NODE, PARENT, WANTED

SLOW = 0.7  # with a finish: a sweep that leaves more than this share of the error is the last
FITS = 3  # Gauss-Newton steps of a fit; the next sweep fits again
FLOOR = 1e-12  # of a fit's own size: bones on one line leave the turn about it open


@inline
def bone_at(frames, aims, bones, b):
    """Bone b in its node's moved frame."""
    return vec_in(aims[bones[b, 1]], 0) if bones[b, 0] == 1 else vec_in(frames[bones[b, 1]], 0)


@inline
def end_wanted(terms, target, wanted, bones, b):
    """Where the end of bone b should be: its goal's target, or the place that the next node was given."""
    if bones[b, 0] == 1:
        return vec_in(target, terms[bones[b, 1], WANTED])
    return vec_at(wanted, bones[b, 1])


@inline
def share_of(shares, n, bones, b):
    """The weight of the goals below bone b."""
    return shares[n + bones[b, 1]] if bones[b, 0] == 1 else shares[bones[b, 1]]


@part
def fit(frames, terms, aims, first, bones, shares, target, wanted, pivot, i, turn):
    """Node i's rotation in the base frame that brings the ends of its bones nearest to where they should be."""
    n, begin, end = first.shape[0] - 1, first[i], first[i + 1]
    if end - begin == 1:
        bone, d = bone_at(frames, aims, bones, begin), sub(end_wanted(terms, target, wanted, bones, begin), pivot)
        return normalise(multiply(rotation_between(rotate(turn, bone), d), turn))
    for _ in range(FITS):
        a, push = Symmetric(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), Vec(0.0, 0.0, 0.0)
        for b in range(begin, end):
            weight = share_of(shares, n, bones, b)
            h = rotate(turn, bone_at(frames, aims, bones, b))
            d = sub(end_wanted(terms, target, wanted, bones, b), pivot)
            a = with_ball(a, scale(h, math.sqrt(weight)))
            push = add(push, scale(cross(h, d), weight))
        damping = FLOOR * (a.xx + a.yy + a.zz)
        if not damping > 0.0:
            return turn
        turn = normalise(multiply(small_turn(solved(a, damping, push)), turn))
    return turn


@part
def drag_to_targets(nodes, frames, terms, aims, first, bones, shares, target, points, turns, wanted):
    """From the tips up: where each node should be, if its bones had their way."""
    n = nodes.shape[0]
    for k in range(n):
        i = n - 1 - k
        if nodes[i, MOTION] != BALL:
            continue
        point = vec_at(points, i)
        turn = fit(frames, terms, aims, first, bones, shares, target, wanted, point, i, quat_at(turns, i))
        put_quat(turns, i, turn)
        total, sum_of = 0.0, Vec(0.0, 0.0, 0.0)
        for b in range(first[i], first[i + 1]):
            weight = share_of(shares, n, bones, b)
            proposal = sub(end_wanted(terms, target, wanted, bones, b), rotate(turn, bone_at(frames, aims, bones, b)))
            total, sum_of = total + weight, add(sum_of, scale(proposal, weight))
        put_vec(wanted, i, scale(sum_of, 1.0 / total) if total > 0.0 else point)


@part
def drag_to_root(nodes, frames, terms, aims, first, bones, shares, target, points, turns, wanted):
    """From the root down: each node where its parent has it, turned towards what its bones wanted."""
    for i in range(nodes.shape[0]):
        parent = nodes[i, PARENT]
        if parent >= 0:
            bone = rotate(quat_at(turns, parent), vec_in(frames[i], 0))
            put_vec(points, i, add(vec_at(points, parent), bone))
        if nodes[i, MOTION] == BALL:
            point, turn = vec_at(points, i), quat_at(turns, i)
            put_quat(turns, i, fit(frames, terms, aims, first, bones, shares, target, wanted, point, i, turn))


@part
def left_of(terms, aims, target, points, turns):
    """The largest distance of a tip from its target, and the root of the weighted sum of squares."""
    largest, total = 0.0, 0.0
    for t in range(terms.shape[0]):
        node = terms[t, NODE]
        tip = add(vec_at(points, node), rotate(quat_at(turns, node), vec_in(aims[t], 0)))
        away = sub(vec_in(target, terms[t, WANTED]), tip)
        largest = max(largest, norm(away))
        total += aims[t, 7] * aims[t, 7] * dot(away, away)
    return largest, math.sqrt(total)


@inline
def frame_of(nodes, frames, turns, i):
    """Rotation of node i's frame in the base frame, before its motion."""
    r = quat_in(frames[i], 3)
    return multiply(quat_at(turns, nodes[i, PARENT]), r) if nodes[i, PARENT] >= 0 else r


@inline
def motion_at(nodes, u, i):
    """The motion of node i."""
    return quat_in(u, nodes[i, AT]) if nodes[i, MOTION] == BALL else Quat(1.0, 0.0, 0.0, 0.0)


@part
def put_points(nodes, frames, u, points, turns):
    """Where the nodes are, and how their moved frames are turned."""
    for i in range(nodes.shape[0]):
        parent, point = nodes[i, PARENT], vec_in(frames[i], 0)
        if parent >= 0:
            point = add(vec_at(points, parent), rotate(quat_at(turns, parent), point))
        put_vec(points, i, point)
        put_quat(turns, i, multiply(frame_of(nodes, frames, turns, i), motion_at(nodes, u, i)))


@part
def put_motions(nodes, frames, aims, first, bones, start, turns, u):
    """The motions that turn the bones as `turns` has them; where there is one bone, with the twist of the start."""
    for i in range(nodes.shape[0]):
        if nodes[i, MOTION] != BALL:
            continue
        back = conjugate(frame_of(nodes, frames, turns, i))
        q = multiply(back, quat_at(turns, i))
        if first[i + 1] - first[i] == 1:
            bone, before = bone_at(frames, aims, bones, first[i]), motion_at(nodes, start, i)
            q = multiply(rotation_between(rotate(before, bone), rotate(q, bone)), before)
        q = normalise(q)
        for j in range(4):
            u[nodes[i, AT] + j] = q[j]
        put_quat(turns, i, multiply(conjugate(back), q))


@kernel
def solve(nodes, frames, terms, aims, first, bones, shares, starts, targets, options, u_out, counts, trace_u, trace_error):
    """Solve k targets (k, width), each from its own start (1|k, nu).

    options: tolerance, most sweeps, whether to end where sweeps creep. counts (k, 3): sweeps, single joint updates,
    1 if all goals are met. trace_u (sweeps + 1 or 0, nu) and trace_error are filled for the last target.
    """
    n = nodes.shape[0]
    points, turns, wanted = np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 3))
    for k in range(targets.shape[0]):
        search(
            nodes, frames[min(k, frames.shape[0] - 1)], terms, aims, first, bones, shares,
            starts[min(k, starts.shape[0] - 1)], targets[k], options, u_out[k], counts[k], points, turns, wanted,
            trace_u, trace_error,
        )  # fmt: skip


@part
def search(
    nodes, frames, terms, aims, first, bones, shares, start, target, options, u, count, points, turns, wanted, trace_u,
    trace_error,
):  # fmt: skip
    """Sweep until all goals are met, the sweeps are used up, or gain little. u becomes the motions then."""
    tolerance, sweeps, finishes = options[0], int(options[1]), options[2] > 0.0
    for j in range(start.shape[0]):
        u[j] = start[j]
    put_points(nodes, frames, u, points, turns)
    largest, error = left_of(terms, aims, target, points, turns)
    count[0] = 0
    before, least = math.inf, error
    record(trace_u, trace_error, 0, u, error)
    while largest > tolerance and error < math.inf and count[0] < sweeps and not (finishes and error > SLOW * before):
        before = error
        drag_to_targets(nodes, frames, terms, aims, first, bones, shares, target, points, turns, wanted)
        drag_to_root(nodes, frames, terms, aims, first, bones, shares, target, points, turns, wanted)
        largest, error = left_of(terms, aims, target, points, turns)
        count[0] += 1
        if error < least:
            least = error
            put_motions(nodes, frames, aims, first, bones, start, turns, u)
        record(trace_u, trace_error, count[0], u, error)
    count[1] = count[0] * nodes.shape[0]
    count[2] = 1 if largest <= tolerance else 0


@inline
def record(trace_u, trace_error, row, u, error):
    """Keep the state after a sweep, if a trace was asked for."""
    if row < trace_error.shape[0]:
        for j in range(u.shape[0]):
            trace_u[row, j] = u[j]
        trace_error[row] = error
