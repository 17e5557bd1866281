# pyright: standard
"""FABRIK for several effectors. At a branching joint each branch counts by the weight of its goals.

A sweep has two passes. From the tips to the root each joint gets a wanted position at which the end of its bone would
be right; a joint with several bones (a chest with two shoulders and a neck) gets the mean of its bones' wanted
positions, weighted by the goals below each. From the root to the tips each joint is placed at its parent's end and
rotated towards the wanted positions of its bones, inside its limit. A joint with one bone rotates by a shortest arc;
one with several bones is rigid and gets the least-squares rotation of all of them.

Aristidou and Lasenby, Graphical Models 73(5), 2011, section 4.2. There the bones of a sub-base are independent.

    nodes, frames, terms, aims, targets  see kernels/tree_residual.py; no SLIDE or MOVE, all terms POSITION
    first (n + 1,), bones (b, 2)         node i has the bones first[i]..first[i + 1]: kind of its end (0 a node, 1 a
                                         term) and the end's number
    shares (n + t,)                      total weight of the goals below each node; then of each term
"""

from __future__ import annotations

import math

import numpy as np

from poise.kernels.chain.chain_finish import Symmetric, small_turn, solved, with_ball
from poise.kernels.codes import (
    BALL,
    DOF_HIGH,
    DOF_LOW,
    FIXED,
    HINGE,
    NO_LEVERAGE,
    NODE_AT,
    NODE_DOF,
    NODE_MOTION,
    NODE_PARENT,
    TERM_NODE,
    TERM_WANTED,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limits.angles import best_angle, clamp
from poise.kernels.limits.rotations import nearest_turn
from poise.kernels.values.linear import (
    Vec,
    about,
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

SLOW = 0.7  # error ratio of a sweep above which sweeps end, if a finish follows
FITS = 3  # Gauss-Newton steps of a rotation fit; the next sweep fits again
FLOOR = 1e-12  # damping of a fit relative to its trace; bones on one line leave a rotation about it undefined


@inline
def bone_at(frames, aims, bones, b):
    """Return bone b in its node's moved frame."""
    return vec_in(aims[bones[b, 1]], 0) if bones[b, 0] == 1 else vec_in(frames[bones[b, 1]], 0)


@inline
def end_wanted(terms, target, wanted, bones, b):
    """Return the wanted end of bone b. It is a goal's target, or the wanted position of the next node."""
    if bones[b, 0] == 1:
        return vec_in(target, terms[bones[b, 1], TERM_WANTED])
    return vec_at(wanted, bones[b, 1])


@inline
def share_of(shares, n, bones, b):
    """Return the total goal weight below bone b."""
    return shares[n + bones[b, 1]] if bones[b, 0] == 1 else shares[bones[b, 1]]


@part
def fit(frames, terms, aims, first, bones, shares, target, wanted, pivot, i, turn):
    """Fit node i's rotation to the wanted ends of its bones. The rotation is in the base frame."""
    n, begin, end = first.shape[0] - 1, first[i], first[i + 1]
    if end - begin == 1:
        bone, d = bone_at(frames, aims, bones, begin), sub(end_wanted(terms, target, wanted, bones, begin), pivot)
        # A shortest arc keeps the twist about the bone; a fit would leave it undefined.
        return normalise(multiply(rotation_between(rotate(turn, bone), d), turn))
    for _ in range(FITS):
        a, push = Symmetric(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), Vec(0.0, 0.0, 0.0)
        for b in range(begin, end):
            weight = share_of(shares, n, bones, b)
            h = rotate(turn, bone_at(frames, aims, bones, b))
            d = sub(end_wanted(terms, target, wanted, bones, b), pivot)
            # The normal equations of a ball joint in the finish: h is the bone, d its wanted end.
            a = with_ball(a, scale(h, math.sqrt(weight)))
            push = add(push, scale(cross(h, d), weight))
        damping = FLOOR * (a.xx + a.yy + a.zz)
        # All bones have zero length or no goals below: nothing to fit.
        if not damping > 0.0:
            return turn
        turn = normalise(multiply(small_turn(solved(a, damping, push)), turn))
    return turn


@part
def drag_to_targets(nodes, frames, terms, aims, first, bones, shares, target, points, turns, wanted):
    """Run the pass from the tips to the root. Each node gets the weighted mean of its wanted positions."""
    n = nodes.shape[0]
    for k in range(n):
        i = n - 1 - k
        if nodes[i, NODE_MOTION] == FIXED:
            continue
        # Rotate first, then compute the wanted position: where a rotation is enough, the joint need not move.
        point = vec_at(points, i)
        turn = fit(frames, terms, aims, first, bones, shares, target, wanted, point, i, quat_at(turns, i))
        put_quat(turns, i, turn)
        total, sum_of = 0.0, Vec(0.0, 0.0, 0.0)
        for b in range(first[i], first[i + 1]):
            weight = share_of(shares, n, bones, b)
            proposal = sub(end_wanted(terms, target, wanted, bones, b), rotate(turn, bone_at(frames, aims, bones, b)))
            total, sum_of = total + weight, add(sum_of, scale(proposal, weight))
        put_vec(wanted, i, scale(sum_of, 1.0 / total) if total > 0.0 else point)


@inline
def best_value(frames, terms, aims, first, bones, shares, target, wanted, point, frame, low, high, value, i):
    """Fit a hinge value to the wanted ends of its bones. The hinge rotates about z of its frame."""
    n, cosine, sine = first.shape[0] - 1, 0.0, 0.0
    now = about(Vec(0.0, 0.0, 1.0), value)
    for b in range(first[i], first[i + 1]):
        h = rotate(now, bone_at(frames, aims, bones, b))
        d = rotate(conjugate(frame), sub(end_wanted(terms, target, wanted, bones, b), point))
        weight = share_of(shares, n, bones, b)
        cosine += weight * (h.x * d.x + h.y * d.y)
        sine += weight * (h.x * d.y - h.y * d.x)
    # All bones lie along the axis: any angle is equal, and an arc tangent of rounding errors would spin the hinge.
    if cosine * cosine + sine * sine <= NO_LEVERAGE * NO_LEVERAGE * shares[i] * shares[i]:
        return value
    return best_angle(value + math.atan2(sine, cosine), low, high)


@inline
def best_motion(frames, terms, aims, first, bones, shares, target, wanted, point, frame, limit, now, i):
    """Fit a ball motion to the wanted ends of its bones. One bone alone gets the shortest arc, so its twist stays."""
    if first[i + 1] - first[i] == 1:
        bone, end = bone_at(frames, aims, bones, first[i]), end_wanted(terms, target, wanted, bones, first[i])
        q = multiply(rotation_between(rotate(now, bone), rotate(conjugate(frame), sub(end, point))), now)
    else:
        turn = fit(frames, terms, aims, first, bones, shares, target, wanted, point, i, multiply(frame, now))
        q = multiply(conjugate(frame), turn)
    return nearest_turn(limit, normalise(q))


@part
def drag_to_root(
    nodes, frames, dofs, limits, terms, aims, first, bones, shares, target, points, turns, wanted, u
):  # fmt: skip
    """Run the root-to-tips pass within the limits.

    Each node follows its parent and rotates towards the wanted ends of its bones.
    """
    for i in range(nodes.shape[0]):
        at, dof = nodes[i, NODE_AT], nodes[i, NODE_DOF]
        if nodes[i, NODE_PARENT] >= 0:
            put_vec(points, i, place_of(nodes, frames, points, turns, i))
        point, frame = vec_at(points, i), frame_of(nodes, frames, turns, i)
        if nodes[i, NODE_MOTION] == HINGE:
            low, high = dofs[dof, DOF_LOW], dofs[dof, DOF_HIGH]
            one, other = coupled(frames, low, i), coupled(frames, high, i)
            value = best_value(
                frames, terms, aims, first, bones, shares, target, wanted, point, frame, min(one, other),
                max(one, other), coupled(frames, u[at], i), i,
            )  # fmt: skip
            # Division by the ratio may leave the range by rounding.
            u[at] = clamp((value - frames[i, 8]) / frames[i, 7], low, high)
        elif nodes[i, NODE_MOTION] == BALL:
            q = best_motion(
                frames, terms, aims, first, bones, shares, target, wanted, point, frame, limits[i], quat_in(u, at), i
            )  # fmt: skip
            u[at], u[at + 1], u[at + 2], u[at + 3] = q.w, q.x, q.y, q.z
        put_quat(turns, i, multiply(frame, motion_at(nodes, frames, u, i)))


@part
def left_of(terms, aims, target, points, turns):
    """Measure the largest tip error and the weighted sum.

    The second is the root of the weighted sum of squares.
    """
    largest, total = 0.0, 0.0
    for t in range(terms.shape[0]):
        node = terms[t, TERM_NODE]
        tip = add(vec_at(points, node), rotate(quat_at(turns, node), vec_in(aims[t], 0)))
        away = sub(vec_in(target, terms[t, TERM_WANTED]), tip)
        largest = max(largest, norm(away))
        total += aims[t, 7] * aims[t, 7] * dot(away, away)
    return largest, math.sqrt(total)


@inline
def frame_of(nodes, frames, turns, i):
    """Return the base-frame rotation of node i before its motion."""
    r = quat_in(frames[i], 3)
    return multiply(quat_at(turns, nodes[i, NODE_PARENT]), r) if nodes[i, NODE_PARENT] >= 0 else r


@inline
def coupled(frames, number, i):
    """Compute hinge i's value from its number in u. The hinge may follow one outside all paths to goals."""
    return frames[i, 7] * number + frames[i, 8]


@inline
def motion_at(nodes, frames, u, i):
    """Return the motion of node i."""
    if nodes[i, NODE_MOTION] == BALL:
        return quat_in(u, nodes[i, NODE_AT])
    value = coupled(frames, u[nodes[i, NODE_AT]], i) if nodes[i, NODE_MOTION] == HINGE else 0.0
    return about(Vec(0.0, 0.0, 1.0), value)


@inline
def place_of(nodes, frames, points, turns, i):
    """Compute the position of node i from its parent's."""
    parent = nodes[i, NODE_PARENT]
    return add(vec_at(points, parent), rotate(quat_at(turns, parent), vec_in(frames[i], 0)))


@part
def put_points(nodes, frames, u, points, turns):
    """Fill positions and moved-frame rotations of all nodes."""
    for i in range(nodes.shape[0]):
        is_root = nodes[i, NODE_PARENT] < 0
        put_vec(points, i, vec_in(frames[i], 0) if is_root else place_of(nodes, frames, points, turns, i))
        put_quat(turns, i, multiply(frame_of(nodes, frames, turns, i), motion_at(nodes, frames, u, i)))


@kernel
def solve(
    nodes, frames, dofs, limits, terms, aims, first, bones, shares, starts, targets, options, u_out, counts, trace_u,
    trace_error,
):  # fmt: skip
    """Solve k targets (k, width) within the limits. Each has its own start (1|k, nu).

    options: tolerance, most sweeps, whether to end when sweeps converge slowly. counts (k, 3): sweeps, single joint
    updates, 1 if all goals are met. trace_u (sweeps + 1 or 0, nu) and trace_error are filled for the last target.
    """
    n = nodes.shape[0]
    points, turns, wanted, u = np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 3)), np.empty(starts.shape[1])
    for k in range(targets.shape[0]):
        search(
            nodes, frames[min(k, frames.shape[0] - 1)], dofs, limits, terms, aims, first, bones, shares,
            starts[min(k, starts.shape[0] - 1)], targets[k], options, u_out[k], counts[k], points, turns, wanted, u,
            trace_u, trace_error,
        )  # fmt: skip


@part
def search(
    nodes, frames, dofs, limits, terms, aims, first, bones, shares, start, target, options, best, count, points, turns,
    wanted, u, trace_u, trace_error,
):  # fmt: skip
    """Sweep until goals are met, sweeps run out or progress ends. `best` gets the best configuration."""
    tolerance, sweeps, finishes = options[0], int(options[1]), options[2] > 0.0
    copy_numbers(start, u)
    copy_numbers(start, best)
    put_points(nodes, frames, u, points, turns)
    largest, error = left_of(terms, aims, target, points, turns)
    before, least = math.inf, error
    count[0] = 0
    record(trace_u, trace_error, 0, u, error)
    # If a finish follows, sweeps pay only while each reduces the error to 70 % or less.
    while largest > tolerance and error < math.inf and count[0] < sweeps and not (finishes and error > SLOW * before):
        before = error
        drag_to_targets(nodes, frames, terms, aims, first, bones, shares, target, points, turns, wanted)
        drag_to_root(nodes, frames, dofs, limits, terms, aims, first, bones, shares, target, points, turns, wanted, u)
        largest, error = left_of(terms, aims, target, points, turns)
        count[0] += 1
        # Conflicting limits and branches can let a sweep raise the error, so store the best.
        if error < least or largest <= tolerance:
            least = error
            copy_numbers(u, best)
        record(trace_u, trace_error, count[0], u, error)
    count[1] = count[0] * nodes.shape[0]
    count[2] = 1 if largest <= tolerance else 0


@inline
def copy_numbers(source, to):
    """Copy a configuration."""
    for j in range(source.shape[0]):
        to[j] = source[j]


@inline
def record(trace_u, trace_error, row, u, error):
    """Record the state after a sweep, if tracing."""
    if row < trace_error.shape[0]:
        copy_numbers(u, trace_u[row])
        trace_error[row] = error
