# pyright: standard
"""Batched Jacobian methods for a tree.

Each lane has one problem. The driver is that of kernels/tree_lm.py with a choice of step rules.

kernels/tree_residual.py describes the arrays of a tree, kernels/tree_lm.py starts, seeds, u and trace. Further
arrays:

    clamps   (t,)         largest weighted residual of each term in one step
    settings (9,)         the columns METHOD_ of codes.py
    scratch               memory of compute_scratch_size numbers, 64-byte aligned like `work`
    errors   (k,)         weighted squared error of each result; 1e300 where the residual was never a number
    counts   (k, 3)       steps and attempts used; 1 where the goals were met

The result is the best measured pose. A preferred configuration is ignored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.arm.many import ATTEMPT, BEST, HUGE, PROBLEM, SPENT, STALL, note
from poise.kernels.codes import (
    ADAPTIVE,
    BALL,
    DAMPED,
    DOF_HIGH,
    DOF_LOW,
    HINGE,
    METHOD_BEND,
    METHOD_FIRST,
    METHOD_ITERATIONS,
    METHOD_MAX_TURN,
    METHOD_NUMERIC,
    METHOD_PATIENCE,
    METHOD_RESTARTS,
    METHOD_RULE,
    METHOD_SECOND,
    NODE_AT,
    NODE_DOF,
    NODE_MOTION,
    OPTIMAL,
    PSEUDO_INVERSE,
    TERM_ROW,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.tree.arrays import LAST, TreeArrays, carve
from poise.kernels.tree.differences import residuals_by_differences
from poise.kernels.tree.goal_rows.direction import across
from poise.kernels.tree.many import WIDEN, WIDEST_TURN, fill_frames, fill_lane, scatter
from poise.kernels.tree.step_rules import best_factor, cap, clamp_errors, damped, pseudo_inverse, selective, transpose
from poise.kernels.tree.tree import along, forward, freeze, freeze_turns, has_bound_turns, keep_turns, move, residuals
from poise.kernels.values.lanes import LANES4, LANES8, bits, fill, lane, maximum, minimum, part_of, select, sqrt, width
from poise.kernels.values.linear import Vec, dot, scale, vec_at, vec_in

# Rows of the book for these methods only:
GAIN = 3  # factor of the step
BENT = 4  # 1 once the lane's chain was bent, because no dof decreased its error
MARK = 5  # squared error at the last progress
CAREFUL = 6  # 1 in the last attempt, which refines the best pose and undoes steps with an increased error
# A squared error below this share of MARK_ERROR is progress; METHOD_PATIENCE steps without end an attempt.
STALL_SHARE = 0.95
SETTLED_SHARE = 1.0 - 1e-4  # the same share in the last attempt, which should converge
TIMES = 4.0  # factor by which the gain of the last attempt grows and shrinks
# Smallest cut of the last attempt's pseudo-inverse; smaller singular values help no unreachable goal.
SETTLING_CUT = 0.01
LATE = 0.75  # share of the iterations after which only the last attempt may start
VANISHED = 1e-18  # squared slope per squared error below which no dof decreases the error
SCRATCH_WIDTH = 8  # most lanes of a kernel


class Extra(NamedTuple):
    """Work memory beyond LaneView, as lanes.

    best    (nu,)     best pose so far
    home    (nu,), ahead (m,), slopes (nd, m): for finite differences
    vectors (m, m)    singular vectors, one a row
    sways   (nd,)     for the selective rule
    """

    best: Any
    home: Any
    ahead: Any
    slopes: Any
    vectors: Any
    sways: Any


class StepProblems(NamedTuple):
    """Arrays of a batch: problems, step settings and results."""

    frames: Any
    targets: Any
    starts: Any
    seeds: Any
    clamps: Any
    settings: Any
    u: Any
    errors: Any
    counts: Any


def scratch_size(nd: int, nu: int, rows: int) -> int:
    """Return the scratch size for a tree. It counts float64 aligned to 64 bytes, enough for a kernel of any width."""
    return SCRATCH_WIDTH * (2 * nu + rows + nd * rows + rows * rows + nd)


@inline
def carve_extra(kind, scratch, nd, nu, m):
    """Return the scratch as lanes."""
    w = width(kind)
    home = nu * w
    ahead = home + nu * w
    slopes = ahead + m * w
    vectors = slopes + nd * m * w
    sways = vectors + m * m * w
    return Extra(
        part_of(kind, scratch, 0, nu),
        part_of(kind, scratch, home, nu),
        part_of(kind, scratch, ahead, m),
        part_of(kind, scratch, slopes, nd, m),
        part_of(kind, scratch, vectors, m, m),
        part_of(kind, scratch, sways, nd),
    )


# --- lanes and problems ------------------------------------------------------------------------------------------


@part
def attempt(run, flat, w, l, start):
    """Start an attempt in lane l. The lane's previous state is cleared."""
    fill_lane(flat.u, w, l, start)
    fill_lane(flat.tested, w, l, start)
    flat.book[LAST * w + l], flat.book[MARK * w + l] = HUGE, HUGE
    flat.book[STALL * w + l], flat.book[BENT * w + l], flat.book[CAREFUL * w + l] = 0.0, 0.0, 0.0
    flat.book[GAIN * w + l] = run.settings[METHOD_FIRST] if run.settings[METHOD_RULE] == ADAPTIVE else 1.0


@part
def begin(run, flat, w, l, k):
    """Load problem k into lane l. The start is its result until a better one is found."""
    start = run.starts[min(k, run.starts.shape[0] - 1)]
    flat.book[PROBLEM * w + l], flat.book[ATTEMPT * w + l] = k, 0.0
    flat.book[SPENT * w + l], flat.book[BEST * w + l] = 0.0, HUGE
    fill_lane(flat.targets, w, l, run.targets[k])
    if run.frames.shape[0] > 1:
        fill_frames(flat, w, l, run.frames[k])
    attempt(run, flat, w, l, start)
    run.errors[k] = HUGE
    for i in range(start.shape[0]):
        run.u[k, i] = start[i]


@part
def finish(run, flat, extra, l, w, is_met):
    """Write the result of lane l to its problem."""
    k = int(flat.book[PROBLEM * w + l])
    run.counts[k, 0], run.counts[k, 1] = int(flat.book[SPENT * w + l]), int(flat.book[ATTEMPT * w + l]) + 1
    run.counts[k, 2] = 1 if is_met else 0
    run.errors[k] = flat.book[BEST * w + l]
    # Still HUGE: the residual was never a number, and the start remains the result.
    if run.errors[k] < HUGE:
        for i in range(run.u.shape[1]):
            run.u[k, i] = lane(extra.best[i], l)


@part
def go_on(tree, limits, run, flat, extra, w, l, is_met, following, last):
    """Schedule lane l: restart, last attempt, or problem number `next_problem`.

    The last attempt starts at the best pose.

    Returns whether the lane took that problem; without any left it idles.
    """
    k, tries, restarts = (
        int(flat.book[PROBLEM * w + l]),
        int(flat.book[ATTEMPT * w + l]) + 1,
        run.settings[METHOD_RESTARTS],
    )
    spent, most, is_careful = (
        flat.book[SPENT * w + l],
        run.settings[METHOD_ITERATIONS],
        flat.book[CAREFUL * w + l] > 0.0,
    )
    if not is_met and not is_careful and restarts > 0.0 and spent < most and flat.book[BEST * w + l] < HUGE:
        flat.book[ATTEMPT * w + l] = tries
        attempt(run, flat, w, l, run.starts[min(k, run.starts.shape[0] - 1)])
        if tries <= restarts and spent < LATE * most:
            scatter(tree, run.seeds, tries - 1, min(WIDEN * tries, WIDEST_TURN), flat.u, w, l)
            keep_turns(tree, limits, flat.u, w, l)
            return False
        flat.book[CAREFUL * w + l] = 1.0
        for i in range(run.u.shape[1]):
            flat.u[i * w + l] = lane(extra.best[i], l)
        return False
    finish(run, flat, extra, l, w, is_met)
    if following < last:
        begin(run, flat, w, l, following)
        return True
    flat.book[PROBLEM * w + l] = -1.0
    return False


# --- an iteration ------------------------------------------------------------------------------------------------


@part
def measured(kind, tree, limits, lanes, extra, numeric):
    """Compute the residual and Jacobian of every lane.

    Returns the squared error, weighted, and whether every term is met.
    """
    if numeric:
        # Central differences compute forward kinematics themselves, twice for every dof.
        return residuals_by_differences(kind, tree, limits, lanes, extra.home, extra.ahead, extra.slopes)
    forward(tree, lanes)
    return residuals(kind, tree, limits, lanes)


@part
def taken_back(kind, lanes, error, settings):
    """Undo steps with an increased error.

    This applies to the adaptive rule and to a last attempt. Returns in which lanes.

    The step's gain grows where the error decreased and shrinks where it increased.
    """
    one, before = fill(kind, 1.0), lanes.book[LAST]
    careful, times, most = lanes.book[CAREFUL] > 0.0, TIMES, 1.0
    if settings[METHOD_RULE] == ADAPTIVE:
        careful, times, most = one > 0.0, settings[METHOD_SECOND], HUGE
    # Before the first step the last error is HUGE, and neither holds.
    rose, fell = careful & (error > before), careful & (error < before) & (before < HUGE)
    lanes.book[GAIN] = minimum(lanes.book[GAIN] * select(rose, one / times, select(fell, one * times, one)), one * most)
    if bits(rose) != 0:
        for i in range(lanes.u.shape[0]):
            lanes.u[i] = select(rose, lanes.tested[i], lanes.u[i])
    return rose


@part
def keep_best(lanes, extra, error, met):
    """Store the measured pose of each lane if it is the best.

    `tested` gets the poses of all lanes, for comparison with the next ones.
    """
    # A pose within every tolerance beats one with a smaller weighted error.
    better = met | (error < lanes.book[BEST])
    lanes.book[BEST] = select(better, error, lanes.book[BEST])
    for i in range(lanes.u.shape[0]):
        lanes.tested[i] = lanes.u[i]
        extra.best[i] = select(better, lanes.u[i], extra.best[i])


@part
def vanished(kind, tree, lanes, error):
    """Find stationary lanes with a chain not yet bent. No dof lowers their error."""
    steepest = fill(kind, 0.0)
    for d in range(tree.dofs.shape[0]):
        slope = along(kind, tree, lanes.J, d, lanes.e)
        steepest = maximum(steepest, slope * slope)
    # A stationary point without goals met, as for a straight chain with the target on its line. Bend once only, or a
    # chain out of reach of its target would bend forever.
    return (steepest <= VANISHED * error) & (lanes.book[BENT] <= 0.0)


@part
def side_of(kind, tree, lanes):
    """Find an axis perpendicular to the largest residual. All balls bend about it."""
    zero = fill(kind, 0.0)
    largest, most = Vec(zero, zero, zero + 1.0), zero
    for t in range(tree.terms.shape[0]):
        left = vec_in(lanes.e, tree.terms[t, TERM_ROW])
        size = dot(left, left)
        larger = size > most
        most = select(larger, size, most)
        largest = Vec(
            select(larger, left.x, largest.x), select(larger, left.y, largest.y), select(larger, left.z, largest.z)
        )
    return across(scale(largest, 1.0 / sqrt(maximum(dot(largest, largest), zero + 1.0 / HUGE))))


@part
def pull_bent(kind, tree, lanes, bends, bend):
    """Make the step bend the chains of the lanes `bends`.

    Hinges bend into the wider part of their range, balls to one common side.
    """
    zero, angle = fill(kind, 0.0), select(bends, fill(kind, bend), fill(kind, 0.0))
    for r in range(lanes.y.shape[0]):
        # Lanes that bend take no other step; the other lanes take theirs, without any pull.
        lanes.y[r] = select(bends, zero, lanes.y[r])
    for d in range(tree.dofs.shape[0]):
        lanes.pull[d] = zero
    side = side_of(kind, tree, lanes)
    for i in range(tree.nodes.shape[0]):
        motion, d = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_DOF]
        if motion == HINGE:
            value = lanes.u[tree.nodes[i, NODE_AT]]
            # Into the wider part of its range, where the hinge can rotate further.
            room = tree.dofs[d, DOF_HIGH] - value >= value - tree.dofs[d, DOF_LOW]
            lanes.pull[d] = select(room, angle, -angle)
        elif motion == BALL:
            for c in range(3):
                # All balls rotate about one axis of the base frame: rotations about their own axes would cancel.
                lanes.pull[d + c] = angle * dot(side, vec_at(lanes.axes, 3 * i + c))
    lanes.book[BENT] = select(bends, zero + 1.0, lanes.book[BENT])
    # A bend increases the error and must not be undone.
    lanes.book[LAST] = select(bends, zero + HUGE, lanes.book[LAST])


@part
def choose_step(kind, tree, lanes, extra, settings, error):
    """Compute the step y by the rule and cap it. A last attempt scales it by its gain."""
    rule, share = int(settings[METHOD_RULE]), lanes.book[GAIN]
    if rule == ADAPTIVE:
        transpose(lanes, share)
        share = fill(kind, 1.0)
    elif rule == OPTIMAL:
        transpose(lanes, best_factor(kind, tree, lanes))
    elif rule == PSEUDO_INVERSE:
        cut = fill(kind, settings[METHOD_FIRST])
        # With goals out of reach, small singular values cause large useless steps, and the pose would not converge.
        settling = maximum(cut, fill(kind, SETTLING_CUT))
        pseudo_inverse(kind, tree, lanes, extra.vectors, select(lanes.book[CAREFUL] > 0.0, settling, cut))
    elif rule == DAMPED:
        damped(kind, tree, lanes, error * settings[METHOD_SECOND] + settings[METHOD_FIRST])
    else:
        selective(kind, tree, lanes, extra.vectors, extra.sways, settings[METHOD_FIRST])
    cap(kind, tree, lanes, settings[METHOD_MAX_TURN], share)


@part
def settle(book, error, met, settings):
    """Update the progress of each lane by one iteration.

    Returns the mask of ended attempts. The other lanes take a step, which counts.
    """
    zero = 0.0 * book[SPENT]
    # Compare with the last mark, not the previous step: small decreases add up to progress, oscillation does not.
    fell = error < book[MARK] * select(book[CAREFUL] > 0.0, zero + SETTLED_SHARE, zero + STALL_SHARE)
    book[MARK] = select(fell, error, book[MARK])
    book[STALL] = select(fell, zero, book[STALL] + 1.0)
    ends = met | (book[SPENT] >= settings[METHOD_ITERATIONS]) | (book[STALL] >= settings[METHOD_PATIENCE])
    book[SPENT] = book[SPENT] + select(ends, zero, zero + 1.0)
    return ends


def solver(kind, name="solve"):
    """Make the kernel for lanes of this kind.

    It solves problems first..last; it is a closure with a name, see kernels/tree_lm.py.
    """

    def solve(
        nodes, frames, dofs, terms, aims, paths, row_ranges, targets, starts, seeds, near_u, near_on, limits, clamps,
        settings, work, scratch, first, last, u, errors, counts, trace,
    ):  # fmt: skip
        tree = TreeArrays(nodes, dofs, terms, aims, paths, row_ranges, near_u, near_on)
        run = StepProblems(frames, targets, starts, seeds, clamps, settings, u, errors, counts)
        w, nu, numeric, bound = width(kind), starts.shape[1], settings[METHOD_NUMERIC] > 0.0, has_bound_turns(limits)
        flat, lanes = carve(kind, work, nodes.shape[0], dofs.shape[0], nu, 3 * terms.shape[0], targets.shape[1])
        extra = carve_extra(kind, scratch, dofs.shape[0], nu, 3 * terms.shape[0])
        live = max(min(w, last - first), 0)
        following = first + live
        for l in range(w if live > 0 else 0):
            fill_frames(flat, w, l, frames[0])
            begin(run, flat, w, l, first + min(l, live - 1))
            if l >= live:
                flat.book[PROBLEM * w + l] = -1.0
        while live > 0:
            error, met = measured(kind, tree, limits, lanes, extra, numeric)
            if bits(taken_back(kind, lanes, error, settings)) != 0:
                # A lane with an undone step needs its previous residual and Jacobian again. Measuring the other lanes
                # twice changes nothing.
                error, met = measured(kind, tree, limits, lanes, extra, numeric)
            lanes.book[LAST] = error
            keep_best(lanes, extra, error, met)
            if bound:
                freeze_turns(kind, tree, limits, lanes, False)
            freeze(kind, tree, lanes, False)
            bends = vanished(kind, tree, lanes, error)
            # A lane at its end steps along with the others; its result is stored already.
            ends, reached = bits(settle(lanes.book, error, met, settings)), bits(met)
            if trace.shape[0] > 0 and flat.book[PROBLEM * w] == first:
                row = int(flat.book[SPENT * w] + flat.book[ATTEMPT * w]) - 1 + (ends & 1)
                note(trace, row, flat.tested, w, nu, lane(error, 0))
            clamp_errors(tree, lanes, clamps)
            choose_step(kind, tree, lanes, extra, settings, error)
            # `apply_step` reads `pull` only where some lane bends, which is rare: other steps need not add zeros.
            bent = settings[METHOD_BEND] > 0.0 and bits(bends) != 0
            if bent:
                pull_bent(kind, tree, lanes, bends, settings[METHOD_BEND])
            move(kind, tree, lanes, bent)
            for l in range(w if bound else 0):
                keep_turns(tree, limits, flat.u, w, l)
            for l in range(w if ends != 0 else 0):
                if (ends >> l) & 1 and flat.book[PROBLEM * w + l] >= 0.0:
                    is_met = (reached >> l) & 1 == 1
                    if go_on(tree, limits, run, flat, extra, w, l, is_met, following, last):
                        following += 1
                    elif flat.book[PROBLEM * w + l] < 0.0:
                        live -= 1

    solve.__qualname__ = name
    return kernel(solve)


solve4, solve8 = solver(LANES4, "solve4"), solver(LANES8, "solve8")
free4, free8 = solver(LANES4, "free4"), solver(LANES8, "free8")  # for plain trees
