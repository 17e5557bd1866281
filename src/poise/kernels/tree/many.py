# pyright: standard
"""Batched Levenberg-Marquardt for a tree.

Each lane has one problem; at its end it takes the next one. A lane at its end takes the next problem.

As for serial arms, kernels/arm/many.py. kernels/tree/arrays.py says what a tree is made of. Besides it

    starts   (1|k, nu)    configurations to start from
    seeds    (s, nd)      numbers in 0..1 that say where to start again, the same for all problems
    settings (6,)         the columns TREE_ of codes.py
    work     (work_size,) memory, 64-byte aligned; what it holds before does not matter
    u        (k, nu)      the answers
    errors   (k,)         weighted squared error of each answer; 1e300 where the residual was never a number
    counts   (k, 3)       iterations and attempts spent; 1 where the goals were met
    trace    (t, nu + 1)  error and configuration of the first problem before each of its iterations; t may be 0

A preferred configuration and soft limits come second to the goals. An attempt begins with both, and ends where the
goals are met and nothing moves any more. When it stalls, or its last iterations begin, the preferences are dropped and
the goals alone decide: what can be met is met, preferred or not.

Where the first attempt misses, the best pose it has seen settles before others are tried: that is the nearest pose of
the start's own basin. Another attempt takes its place where it meets the goals, or leaves clearly less.
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

# While a preferred configuration pulls, the error of the goals falls slowly, and may rise before it does:
PULLED_SHARE = 0.98  # takes the place of STALL_SHARE,
PULLED_PATIENCE = 10.0  # and so many iterations without progress are forgiven at first
SETTLED = 1e-7  # largest number of a step that moves nothing any more
STILL = 1e-14  # largest number of a step that is rounding: a straight limb pushed along itself cannot bend
CLOSING = 8.0  # last iterations of an attempt, for the goals alone
CLEAR = 1e-3  # of the rig's size: a pose far from the start must leave less than the nearest one by so much
WIDEN, WIDEST_TURN = 0.25, 2.0  # by how much more each restart turns the balls from the start, and the most [rad]


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

    Of n joints J J^T grows with n^3 and the squared error with n^2, in lengths of a link: damping in proportion to the
    error alone would let long chains jump, and turns as large as a short chain's crumple them, so that all of them end
    as a coil around the base (500 free hinges: 12 % of targets missed, with both in proportion to n none).
    """
    most = 0
    for t in range(tree.terms.shape[0]):
        most = max(most, tree.terms[t, 5] - tree.terms[t, 4])
    return max(1.0, most / LONG_WAY)


@part
def scatter(tree, seeds, number, share, u, w, l):
    """Randomize the start in lane l. Hinges and slides get any value in their range, balls stay near the start.

    A hinge without two ends turns up to half a turn either way, within the end it has; slides without two and moves
    stay. In a long chain hinges and balls turn less, see `crowd_of`.
    """
    spread = 1.0 / crowd_of(tree)
    for i in range(tree.nodes.shape[0]):
        motion, at, d = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_AT], tree.nodes[i, NODE_DOF]
        if motion == HINGE or motion == SLIDE:
            low, high, before = tree.dofs[d, DOF_LOW], tree.dofs[d, DOF_HIGH], u[at * w + l]
            # Both ends are known: anywhere between them.
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
            # Three numbers in -1..1 as a rotation vector: its corners are more likely than its faces, which a restart
            # may be.
            j = at * w + l
            old = Quat(u[j], u[j + w], u[j + 2 * w], u[j + 3 * w])
            q = multiply(about(scale(turn, 1.0 / max(angle, 1e-12)), spread * share * angle), old)
            u[j], u[j + w], u[j + 2 * w], u[j + 3 * w] = q.w, q.x, q.y, q.z


@part
def start_lane(flat, w, l, start, most, patience, pull, caution):
    """Start an attempt in lane l. The multipliers of what the lane did before must not reach it."""
    patience = patience if pull <= 0.0 else PULLED_PATIENCE
    attempt(flat.book, flat.u, w, l, start, start.shape[0], most, patience)
    flat.book[PULLING * w + l], flat.book[CAUTION * w + l], flat.book[LAST * w + l] = pull, caution, HUGE
    # `pushed` reads the multipliers of the step before, which were those of another problem.
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
    """Load problem k into lane l. Until something better is found, the start is its answer."""
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

    Returns whether it took that problem; with none left it idles.
    """
    k, tries = int(flat.book[PROBLEM * w + l]), int(flat.book[ATTEMPT * w + l]) + 1
    flat.book[ATTEMPT * w + l] = tries
    starts, seeds, settings = problems.starts, problems.seeds, problems.settings
    restarts = int(settings[TREE_RESTARTS]) if seeds.shape[0] > 0 else 0
    settles = settings[TREE_POLISH] > 0.0
    if not is_met and tries == 1 and settles:
        # Where the start's own attempt leads, with a caution of 1 and without preferences; it may not stall.
        start_lane(flat, w, l, problems.u[k], settings[TREE_POLISH], settings[TREE_POLISH], 0.0, 1.0)
        return False
    again = tries - 1 if settles else tries
    if not is_met and again == 1 and settles:
        flat.book[LEFT * w + l] = problems.errors[k]
        flat.book[OWN * w + l] = clearly_below(problems.errors[k])
        problems.errors[k] = flat.book[OWN * w + l]
    if not is_met and again <= restarts:
        # From the start pose again, turned away from it: balls farther with every attempt, so that what lies near is
        # tried first.
        start_lane(
            flat, w, l, starts[min(k, starts.shape[0] - 1)], settings[TREE_ITERATIONS], 0.0, settings[TREE_PULL], 0.0
        )
        scatter(tree, seeds, again - 1, min(WIDEN * again, WIDEST_TURN), flat.u, w, l)
        keep_turns(tree, limits, flat.u, w, l)
        return False
    # The best pose of all attempts settles, too; the start's own has.
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

    `max_step` is the largest number of its step. Returns whose attempt ends.

    An attempt is tired when its error does not fall: clearly below the best so far, or where it is pulled aside
    meanwhile, at all below the one before.
    """
    pulled, none = book[PULLING] > 0.0, 0.0 * book[PULLING]
    # Progress sets a count of vain iterations back to zero; patience, a count below zero, stays as it is.
    share, better = select(pulled, none + PULLED_SHARE, none + STALL_SHARE), minimum(book[STALL], 0.0)
    # Where the goals are met the error is rounding, and says nothing about progress: what is left to do is the pull.
    stall = select(met, better, select(error > book[BEST] * share, book[STALL] + 1.0, better))
    tired, late = stall >= STALL_COUNT, book[SPENT] >= book[MOST] - CLOSING
    alone = book[PULLING] <= 0.0
    # Alone, goals that are met are the end, and steps that are rounding. Pulled, only when nothing moves any more; and
    # a tired attempt drops its pull and goes on.
    ends = (met & (alone | (most <= SETTLED))) | ((tired | (most <= STILL)) & alone) | (book[SPENT] >= book[MOST])
    drops = pulled & (tired | late)
    # Pulled, compare with the iteration before: the least error so far may come from before the pull took over.
    book[BEST] = select(pulled, error, minimum(book[BEST], error))
    book[STALL] = select(drops, none, stall)
    book[PULLING] = select(drops, none, book[PULLING])
    book[SPENT] = book[SPENT] + 1.0
    return ends


def solver(kind, name="solve"):
    """Make the kernel for lanes of this kind.

    It solves problems first..last, with a preferred configuration only if TREE_PULL > 0.

    A closure, not a function that kernels call: Numba optimises all of a callee's code again in its caller. Its name is
    that of its files on the disk: kernels of one name share an index, which Numba writes without a lock.
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
            # Known to be constant for a call: without preferences nothing of the pull is worked out.
            if near:
                pull_near(kind, tree, lanes)
                pull_inside(kind, tree, limits, lanes)
            # Before freeze, which scales J by the ease.
            if bound:
                freeze_turns(kind, tree, limits, lanes, near)
            freeze(kind, tree, lanes, near)
            lanes.book[CAUTION], lanes.book[LAST] = cautious(lanes.book[CAUTION], lanes.book[LAST], error), error
            damping = damping_of(lanes.book[CAUTION], error, factor, settings[TREE_FLOOR])
            normal_matrix(kind, tree, lanes, damping)
            factor_threes(lanes.A, lanes.d)
            substitute_rows(lanes.A, lanes.d, lanes.rest, lanes.y)
            # The residual of the new pose comes with the next iteration: `tested` keeps what the error belongs to.
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
