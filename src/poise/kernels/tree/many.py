# pyright: standard
"""Batched Levenberg-Marquardt for a tree.

Each lane has one problem; at its end it takes the next one.

It works like the driver of serial arms, kernels/arm/many.py. kernels/tree_residual.py describes the arrays of a tree.
Further arrays:

    starts   (1|k, nu)    configurations to start from
    seeds    (s, nd)      numbers in 0..1 that define the restarts, the same for all problems
    settings (6,)         the columns TREE_ of codes.py
    work                  memory of compute_workspace_size numbers, 64-byte aligned; its content is arbitrary
    u        (k, nu)      results
    errors   (k,)         weighted squared error of each result; 1e300 where the residual was never a number
    counts   (k, 3)       iterations and attempts used; 1 where the goals were met
    trace    (t, nu + 1)  error and configuration of the first problem before each of its iterations; t may be 0

A preferred configuration and soft limits have lower priority than the goals. An attempt begins with both, and ends
where the goals are met and the step is zero. When it stalls, or its last iterations begin, the preferences are dropped
and only the goals count.

If the first attempt misses, its best pose is polished before any restart: the result is the nearest pose in the start's
own basin. A restart replaces it if it meets the goals or has a clearly smaller error.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.arm.many import (
    ATTEMPT,
    BEST,
    HUGE,
    MOST,
    PROBLEM,
    SPENT,
    STALL,
    STALL_COUNT,
    STALL_SHARE,
    attempt,
    keep_best,
    keep_seen,
    note,
)
from poise.kernels.arm.seeds import seed_at
from poise.kernels.arm.serial import cautious, damping_of
from poise.kernels.codes import (
    BALL,
    DOF_HIGH,
    DOF_LOW,
    HINGE,
    LONG_WAY,
    NODE_AT,
    NODE_DOF,
    NODE_MOTION,
    SLIDE,
    TREE_FACTOR,
    TREE_FLOOR,
    TREE_ITERATIONS,
    TREE_POLISH,
    TREE_PULL,
    TREE_RESTARTS,
)
from poise.kernels.compiled import kernel, part
from poise.kernels.tree.arrays import CAUTION, LAST, LEFT, OWN, PULLING, TreeArrays, carve
from poise.kernels.tree.tree import (
    forward,
    freeze,
    freeze_turns,
    has_bound_turns,
    keep_turns,
    move,
    normal_matrix,
    pull_inside,
    pull_near,
    residuals,
)
from poise.kernels.values.lanes import LANES4, LANES8, bits, lane, minimum, select, width
from poise.kernels.values.linear import Quat, Vec, about, multiply, norm, scale
from poise.kernels.values.small_solve import factor_threes, substitute_rows

# With a preferred configuration the error of the goals decreases slowly, and may increase first:
PULLED_SHARE = 0.98  # error ratio of an iteration above which it counts as stalled, in place of STALL_SHARE
PULLED_PATIENCE = 10.0  # iterations without progress allowed at the beginning of an attempt
SETTLED = 1e-7  # largest number of a converged step
STILL = 1e-14  # largest number of a step below rounding: a straight limb pushed along itself cannot bend
CLOSING = 8.0  # last iterations of an attempt, for the goals only
CLEAR = 1e-3  # distance in rig sizes by which a restart must beat the result of the start's own basin
WIDEN, WIDEST_TURN = 0.25, 2.0  # rotation of the balls per restart and its maximum [rad]


class Problems(NamedTuple):
    """Arrays of a batch: problems, settings and results."""

    frames: Any
    targets: Any
    starts: Any
    seeds: Any
    settings: Any
    u: Any
    errors: Any


@part
def fill_lane(flat, w, l, numbers):
    """Write numbers into lane l."""
    for i in range(numbers.shape[0]):
        flat[i * w + l] = numbers[i]


@part
def crowd_of(tree):
    """Compute the longest path in units of LONG_WAY joints. It is at least 1.

    For n joints J J^T grows with n^3 and the squared error with n^2, in link lengths. With damping proportional to the
    error only, long chains would jump, and rotations as large as in a short chain would coil them around the base (500
    free hinges: 12 % of targets missed; with both in proportion to n none).
    """
    most = 0
    for t in range(tree.terms.shape[0]):
        most = max(most, tree.terms[t, 5] - tree.terms[t, 4])
    return max(1.0, most / LONG_WAY)


@part
def scatter(tree, seeds, number, share, u, w, l):
    """Randomize the start in lane l. Hinges and slides get any value in their range, balls stay near the start.

    A hinge without a finite range rotates by up to half a turn in both directions, within its one end if any; such
    slides and moves stay. In a long chain hinges and balls rotate less, see `compute_length_factor`.
    """
    spread = 1.0 / crowd_of(tree)
    for i in range(tree.nodes.shape[0]):
        motion, at, d = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_AT], tree.nodes[i, NODE_DOF]
        if motion == HINGE or motion == SLIDE:
            low, high, before = tree.dofs[d, DOF_LOW], tree.dofs[d, DOF_HIGH], u[at * w + l]
            # Both ends are finite: any value between them.
            if high - low < HUGE:
                u[at * w + l] = low + seed_at(seeds, number, d) * (high - low)
            elif motion == HINGE:
                turned = before + (2.0 * seed_at(seeds, number, d) - 1.0) * math.pi
                u[at * w + l] = min(max(turned, low), high)
            if motion == HINGE and spread < 1.0:
                u[at * w + l] = before + spread * (u[at * w + l] - before)
        elif motion == BALL:
            x, y, z = seed_at(seeds, number, d), seed_at(seeds, number, d + 1), seed_at(seeds, number, d + 2)
            turn = Vec(2.0 * x - 1.0, 2.0 * y - 1.0, 2.0 * z - 1.0)
            angle = norm(turn)
            # Three numbers in -1..1 as a rotation vector. It is not uniform (corners are more likely), which is good
            # enough for a restart.
            j = at * w + l
            old = Quat(u[j], u[j + w], u[j + 2 * w], u[j + 3 * w])
            q = multiply(about(scale(turn, 1.0 / max(angle, 1e-12)), spread * share * angle), old)
            u[j], u[j + w], u[j + 2 * w], u[j + 3 * w] = q.w, q.x, q.y, q.z


@part
def start_lane(flat, w, l, start, most, patience, pull, caution):
    """Start an attempt in lane l. The multipliers of the lane's previous attempt are cleared."""
    patience = patience if pull <= 0.0 else PULLED_PATIENCE
    attempt(flat.book, flat.u, w, l, start, start.shape[0], most, patience)
    flat.book[PULLING * w + l], flat.book[CAUTION * w + l], flat.book[LAST * w + l] = pull, caution, HUGE
    # `compute_push` reads the multipliers of the previous step, which belong to another problem.
    for r in range(flat.y.shape[0] // w):
        flat.y[r * w + l] = 0.0


@part
def fill_frames(flat, w, l, frames):
    """Write the frames (n, 9) of a problem into lane l."""
    for i in range(frames.shape[0]):
        for j in range(9):
            flat.frames[(9 * i + j) * w + l] = frames[i, j]


@part
def clearly_below(error):
    """Compute the squared error of a winning restart. Only then does it replace the result of the start's own basin."""
    left = max(math.sqrt(error) - CLEAR, 0.0)
    return left * left


@part
def begin(problems, flat, w, l, k):
    """Load problem k into lane l. The start is its result until a better one is found."""
    start = problems.starts[min(k, problems.starts.shape[0] - 1)]
    flat.book[PROBLEM * w + l], flat.book[ATTEMPT * w + l] = k, 0.0
    fill_lane(flat.targets, w, l, problems.targets[k])
    if problems.frames.shape[0] > 1:
        fill_frames(flat, w, l, problems.frames[k])
    start_lane(flat, w, l, start, problems.settings[TREE_ITERATIONS], 0.0, problems.settings[TREE_PULL], 0.0)
    problems.errors[k] = HUGE
    for i in range(start.shape[0]):
        problems.u[k, i] = start[i]


@part
def go_on(tree, limits, problems, flat, w, l, is_met, following, last):
    """Schedule lane l: restart, final polish, or problem number `next_problem`.

    Returns whether the lane took that problem; without any left it idles.
    """
    k, tries = int(flat.book[PROBLEM * w + l]), int(flat.book[ATTEMPT * w + l]) + 1
    flat.book[ATTEMPT * w + l] = tries
    starts, seeds, settings = problems.starts, problems.seeds, problems.settings
    restarts = int(settings[TREE_RESTARTS]) if seeds.shape[0] > 0 else 0
    settles = settings[TREE_POLISH] > 0.0
    if not is_met and tries == 1 and settles:
        # Polish the result of the start's own attempt, with a caution of 1, without preferences and without stalling.
        start_lane(flat, w, l, problems.u[k], settings[TREE_POLISH], settings[TREE_POLISH], 0.0, 1.0)
        return False
    again = tries - 1 if settles else tries
    if not is_met and again == 1 and settles:
        flat.book[LEFT * w + l] = problems.errors[k]
        flat.book[OWN * w + l] = clearly_below(problems.errors[k])
        problems.errors[k] = flat.book[OWN * w + l]
    if not is_met and again <= restarts:
        # Restart from the randomized start pose. The balls rotate farther with every attempt, so nearby poses are tried
        # first.
        start_lane(
            flat, w, l, starts[min(k, starts.shape[0] - 1)], settings[TREE_ITERATIONS], 0.0, settings[TREE_PULL], 0.0
        )
        scatter(tree, seeds, again - 1, min(WIDEN * again, WIDEST_TURN), flat.u, w, l)
        keep_turns(tree, limits, flat.u, w, l)
        return False
    # Polish the best pose of all restarts; the start's own is polished already.
    if not is_met and again == restarts + 1 and settles and problems.errors[k] < flat.book[OWN * w + l]:
        start_lane(flat, w, l, problems.u[k], settings[TREE_POLISH], settings[TREE_POLISH], 0.0, 1.0)
        return False
    if not is_met and settles and problems.errors[k] == flat.book[OWN * w + l]:
        problems.errors[k] = flat.book[LEFT * w + l]
    if following < last:
        begin(problems, flat, w, l, following)
        return True
    flat.book[PROBLEM * w + l] = -1.0
    return False


@part
def settle(book, error, met, most):
    """Update the progress of each lane by one iteration.

    `max_step` is the largest number of its step. Returns the mask of ended attempts.

    An attempt stalls when its error does not fall clearly below the best so far or, with a preference, below that of
    the previous iteration.
    """
    pulled, none = book[PULLING] > 0.0, 0.0 * book[PULLING]
    # Progress resets the count of iterations without progress; patience, a count below zero, stays.
    share, better = select(pulled, none + PULLED_SHARE, none + STALL_SHARE), minimum(book[STALL], 0.0)
    # Where the goals are met the error is rounding and no measure of progress; only the preference remains.
    stall = select(met, better, select(error > book[BEST] * share, book[STALL] + 1.0, better))
    tired, late = stall >= STALL_COUNT, book[SPENT] >= book[MOST] - CLOSING
    alone = book[PULLING] <= 0.0
    # Without a preference an attempt ends with its goals met or a step below rounding. With one it ends when converged;
    # a stalled attempt drops its preference and continues.
    ends = (met & (alone | (most <= SETTLED))) | ((tired | (most <= STILL)) & alone) | (book[SPENT] >= book[MOST])
    drops = pulled & (tired | late)
    # With a preference, compare with the previous iteration: the smallest error may precede the preference's effect.
    book[BEST] = select(pulled, error, minimum(book[BEST], error))
    book[STALL] = select(drops, none, stall)
    book[PULLING] = select(drops, none, book[PULLING])
    book[SPENT] = book[SPENT] + 1.0
    return ends


def solver(kind, name="solve"):
    """Make the kernel for lanes of this kind.

    It solves problems first..last, with a preferred configuration only if TREE_PULL > 0.

    It is a closure instead of a function called by kernels, because Numba optimises all code of a callee again in its
    caller. Its name is that of its cache files: kernels of one name share an index, which Numba writes without a lock.
    """

    def solve(
        nodes, frames, dofs, terms, aims, paths, row_ranges, targets, starts, seeds, near_u, near_on, limits, settings,
        work, first, last, u, errors, counts, trace,
    ):  # fmt: skip
        tree = TreeArrays(nodes, dofs, terms, aims, paths, row_ranges, near_u, near_on)
        problems = Problems(frames, targets, starts, seeds, settings, u, errors)
        w, nu, near, bound = width(kind), starts.shape[1], settings[TREE_PULL] > 0.0, has_bound_turns(limits)
        factor = settings[TREE_FACTOR] * crowd_of(tree)
        flat, lanes = carve(kind, work, nodes.shape[0], dofs.shape[0], nu, 3 * terms.shape[0], targets.shape[1])
        live = max(min(w, last - first), 0)
        following = first + live
        for l in range(w if live > 0 else 0):
            fill_frames(flat, w, l, frames[0])
            begin(problems, flat, w, l, first + min(l, live - 1))
            if l >= live:
                flat.book[PROBLEM * w + l] = -1.0
        while live > 0:
            forward(tree, lanes)
            error, met = residuals(kind, tree, limits, lanes)
            for i in range(nu):
                lanes.tested[i] = lanes.u[i]
            # Constant during a call: without preferences no pull is computed.
            if near:
                pull_near(kind, tree, lanes)
                pull_inside(kind, tree, limits, lanes)
            # Before `freeze_dofs`, which scales J by the ease.
            if bound:
                freeze_turns(kind, tree, limits, lanes, near)
            freeze(kind, tree, lanes, near)
            lanes.book[CAUTION], lanes.book[LAST] = cautious(lanes.book[CAUTION], lanes.book[LAST], error), error
            damping = damping_of(lanes.book[CAUTION], error, factor, settings[TREE_FLOOR])
            normal_matrix(kind, tree, lanes, damping)
            factor_threes(lanes.A, lanes.d)
            substitute_rows(lanes.A, lanes.d, lanes.rest, lanes.y)
            # The next iteration computes the residual of the new pose: `tested` holds the configuration of this error.
            most = move(kind, tree, lanes, near)
            if bound:
                for l in range(w):
                    keep_turns(tree, limits, flat.u, w, l)
            if trace.shape[0] > 0 and flat.book[PROBLEM * w] == first:
                note(
                    trace,
                    counts[first, 0] + counts[first, 1] + int(flat.book[SPENT * w]),
                    flat.tested,
                    w,
                    nu,
                    lane(error, 0),
                )
            ends, reached = bits(settle(lanes.book, error, met, most)), bits(met)
            for l in range(w):
                if flat.book[PROBLEM * w + l] < 0.0:
                    continue
                keep_seen(flat.book, flat.tested, w, l, nu, flat.book[CAUTION * w + l], lane(error, l), u, errors)
                if (ends >> l) & 1:
                    is_met = (reached >> l) & 1 == 1
                    keep_best(flat.book, flat.tested, w, l, nu, lane(error, l), is_met, u, errors, counts)
                    if go_on(tree, limits, problems, flat, w, l, is_met, following, last):
                        following += 1
                    elif flat.book[PROBLEM * w + l] < 0.0:
                        live -= 1

    solve.__qualname__ = name
    return kernel(solve)


solve4, solve8 = solver(LANES4, "solve4"), solver(LANES8, "solve8")
free4, free8 = solver(LANES4, "free4"), solver(LANES8, "free8")  # for plain trees
