"""Run the Levenberg-Marquardt kernels on batches of targets. Targets are spread over SIMD lanes and threads.

The result of a problem depends neither on its index in the batch, nor on the batch size or the threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.codes import DOF_EASE, REACH_EACH, REACH_TOLD
from poise.maths.arrays import Bools, Floats, Ints, for_kernel
from poise.maths.lanes import lane_width, scratch
from poise.maths.remember import remember
from poise.problem.arm import Arm, ArmArrays, reach_in_u
from poise.problem.layout import DOFS, FIXED, POSITION, SLIDE
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.contract import Answer, Request, Trace
from poise.solvers.base.stiffness import Stiffness, eases
from poise.timing.clock import get_pauses, share_pauses

_CHUNK = 2048  # problems per chunk of a thread
_PULL = 0.5  # share of the way to a preferred pose covered by a step
_SEEDS = 256
_SETTLING = 150  # iterations allowed for converging to a preferred pose
_POLISHES = 3  # largest number of polished results, see kernels/arm/many.py
_KEPT = 128  # settings in the cache
_LONGEST_TRACE = 100_000
INSIDE = 1 - 1e-6  # ratio of kernel to public tolerance, so rounding cannot undo a success


@dataclass(frozen=True)
class Options:
    """Iteration options of the engine. See kernels/arm/many.py."""

    iterations: int
    restarts: int
    damping: float
    floor: float
    candidates: int
    polish: int
    race: bool = False
    pull: float = _PULL


class Found(NamedTuple):
    """Kernel output: u (k, nu), success (k,), iterations (k,) and trace."""

    u: Floats
    met: Bools
    iterations: Ints
    trace: Floats | None = None


def in_chunks(
    count: int, threads: int, work: Callable[[int, int], None], progress: Callable[[int], None] | None
) -> None:
    """Call work(first, last) on chunks of 0..count.

    Kernels release the interpreter lock, so threads run in parallel.
    """
    if count <= _CHUNK and progress is None:
        work(0, count)
        return
    starts = range(0, count, _CHUNK)

    def do(first: int) -> int:
        last = min(first + _CHUNK, count)
        work(first, last)
        return last - first

    if threads <= 1 or len(starts) <= 1:
        for first in starts:
            done = do(first)
            if progress is not None:
                progress(done)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (not needed by single solves)

    with ThreadPoolExecutor(min(threads, len(starts)), initializer=share_pauses, initargs=(get_pauses(),)) as pool:
        for done in pool.map(do, starts):
            if progress is not None:
                progress(done)


def arm_settings(arm: Arm, unit: float, tolerance: Tolerance, options: Options) -> Floats:
    """Pack the settings of kernels/arm/many.py."""
    distance = tolerance.distance / unit * INSIDE if arm.weights[0] else math.inf
    angle = 2 * math.sin(min(tolerance.angle, math.pi) / 2) * INSIDE if arm.weights[1] else math.inf
    return np.array([
        distance**2, angle**2, *arm.weights, options.damping, options.floor, options.iterations, options.restarts,
        options.candidates, *arm.reach, options.polish, options.race,
    ], dtype=np.float64)  # fmt: skip


@dataclass(frozen=True, eq=False)
class ArmEngine:
    """Levenberg-Marquardt engine of a serial arm."""

    problem: Problem
    arm: Arm
    tolerance: Tolerance
    options: Options

    def first(
        self, targets: Floats, starts: Floats, *, threads: int, trace: int = 0,
        progress: Callable[[int], None] | None = None, options: Options | None = None,
    ) -> Found:  # fmt: skip
        """Solve targets (k, W) from starts u (1|k, m). Targets come from `pack_targets`."""
        arm, k = self.arm, len(targets)
        numbers, layout = self._packed(options or self.options)
        rows, m = np.zeros((k + trace, arm.size + REACH_TOLD)), arm.size
        rows[:k, :m] = starts
        bases = self.problem.rigid_bases
        bases = np.repeat(bases, k // len(bases), axis=0) if 1 < len(bases) < k else bases  # several starts per target
        solve = kernels.arm.reach.reach8 if lane_width() == 8 else kernels.arm.reach.reach4  # noqa: PLR2004

        def work(first: int, last: int) -> None:
            solve(numbers, layout, targets, bases, rows, first, last, scratch((REACH_EACH + 2 * m) * (last - first)))

        in_chunks(k, 1 if trace else threads, work, progress)
        u, told = rows[:k, :m].copy(), rows[:k, m:]
        iterations, history = told[:, 0].astype(np.int64), None
        if trace:
            history = rows[1 : 1 + int(told[0, :2].sum()), : m + 1].copy()
            history[:, 0] *= self.problem.plan.aims[0, 7] ** 2  # the kernel knows only the ratio of a goal's weights
            history[:, 1:] = self._inside(history[:, 1:])
        return Found(u, told[:, 2] > 0, iterations, history)

    def _packed(self, options: Options) -> ArmArrays:
        plan, arm = self.problem.plan, self.arm

        def make() -> ArmArrays:
            return reach_in_u(self.problem, arm, arm_settings(arm, plan.unit, self.tolerance, options))

        return remember(plan, "arm in u", (self.tolerance, options), make)

    def _inside(self, x: Floats) -> Floats:
        """Convert kernel values x (k, m) into u within ranges.

        Dividing slides by their gain may round them past a range end.
        """
        if (self.arm.gains == 1).all():
            return x
        dofs = self.problem.plan.layout.dofs
        return np.clip(x / self.arm.gains, dofs[:, 0], dofs[:, 1])

    def part(self, rows: Bools | slice) -> ArmEngine:
        """Return the engine for some of the starts. An engine with one start for all targets is returned unchanged."""
        return replace(self, problem=self.problem.part(rows))

    def kernel_targets(self, rows: Floats) -> Floats:
        """Convert world targets (k, W) for the kernels."""
        return for_kernel(rows)

    def attempts(self, starts: Floats, count: int) -> Floats:
        """Return `count` starts (k, count, m): the start, then seeds."""
        seeds = self._inside(mixed(self.arm.seeds, count - 1))
        shape = (len(starts), count - 1, self.arm.size)
        return np.concatenate([starts[:, None], np.broadcast_to(seeds, shape)], axis=1)


@dataclass(frozen=True, eq=False)
class TreeEngine:
    """Levenberg-Marquardt engine of any tree and goals."""

    problem: Problem
    tolerance: Tolerance
    options: Options
    stiffness: Stiffness = 0.0

    def first(
        self, targets: Floats, starts: Floats, *, threads: int, trace: int = 0,
        progress: Callable[[int], None] | None = None, options: Options | None = None,
    ) -> Found:  # fmt: skip
        """Solve kernel targets (k, width) from starts u (1|k, nu)."""
        problem, plan = self.problem, self.problem.plan
        k, nu = len(targets), plan.layout.nu
        packed, size = packed_tree(plan, self.tolerance, self.stiffness)
        settings = _settings(options or self.options, prefers=problem.prefers)
        u, errors, counts = np.zeros((k, nu)), np.zeros(k), np.zeros((k, 3), dtype=np.int64)
        history, starts = np.zeros((trace, nu + 1)), for_kernel(starts)
        preferred, on = problem.preference
        rest = on, plan.binding, settings
        solve = getattr(kernels.tree.many, f"{'free' if plan.binding is None else 'solve'}{lane_width()}")

        def work(first: int, last: int) -> None:
            for near, begin, end in _alike(preferred, k, first, last):
                solve(
                    *packed, targets, starts, self.seeds, near, *rest, scratch(size), begin, end, u, errors, counts,
                    history,
                )  # fmt: skip

        in_chunks(k, 1 if trace else threads, work, progress)
        return Found(u, counts[:, 2] > 0, counts[:, 0], history[: int(counts[0, :2].sum())] if trace else None)

    @property
    def seeds(self) -> Floats:
        """(s, nd) numbers in 0..1 for random restarts."""
        return seeds_of(len(self.problem.plan.layout.dofs))

    def part(self, rows: Bools | slice) -> TreeEngine:
        """Return the engine for some of the starts. An engine with one start for all targets is returned unchanged."""
        return replace(self, problem=self.problem.part(rows))

    def kernel_targets(self, rows: Floats) -> Floats:
        """Convert world targets (k, W) for the kernels."""
        return self.problem.kernel_targets(rows)

    def attempts(self, starts: Floats, count: int) -> Floats:
        """Return `count` starts (k, count, nu): the start, then random ones."""
        plan, seeds = self.problem.plan, self.seeds
        out = np.repeat(starts[:, None], count, axis=1)
        for i, seed in enumerate(mixed(seeds, count - 1), 1):
            out[:, i] = plan.scattered(starts, seed, min(0.25 * i, 2.0))
        return out


def _alike(preferred: Floats, count: int, first: int, last: int) -> Iterator[tuple[Floats, int, int]]:
    """Split problems first..last by preferred configuration (1|k, nu).

    Yields the configuration, begin and end of each part of the `count` problems. The kernels take one configuration for
    all lanes. Several starts of a problem are adjacent.
    """
    if len(preferred) == 1:
        yield preferred[0], first, last
        return
    each = count // max(len(preferred), 1) or 1
    for begin, end in pairwise(sorted({first, last, *range(first - first % each + each, last, each)})):
        yield preferred[begin // each], begin, end


def packed_tree(plan: Plan, tolerance: Tolerance, stiffness: Stiffness = 0.0) -> tuple[tuple[Any, ...], int]:
    """Pack the inputs of kernels/tree, and their scratch size. They serve many.py and steps.py."""

    def make() -> tuple[tuple[Any, ...], int]:
        from poise.kernels.tree.arrays import work_size  # noqa: PLC0415  (imports Numba)

        dofs, aims = eased(plan, stiffness), aims_within(plan, tolerance)
        packed = plan.nodes, plan.frames, dofs, plan.terms, aims, plan.paths, plan.row_ranges
        return packed, work_size(len(plan.nodes), len(dofs), plan.layout.nu, 3 * len(plan.terms), plan.width)

    return remember(plan, "tree", (tolerance, stiffness), make)


@lru_cache(_KEPT)
def _settings(options: Options, *, prefers: bool) -> Floats:
    """Pack the settings of kernels/tree/many.py."""
    pull, iterations = options.pull if prefers else 0.0, _iterations(options, prefers=prefers)
    return np.array([options.damping, options.floor, iterations, options.restarts, options.polish, pull])


def _iterations(options: Options, *, prefers: bool) -> int:
    """Return the maximum iterations of one restart."""
    return max(options.iterations, _SETTLING) if prefers and options.iterations else options.iterations


def trace_rows(problem: Problem, options: Options) -> int:
    """Return the maximum rows of a trace.

    There is one for each iteration of all restarts, and one where each begins.
    """
    each = _iterations(options, prefers=problem.prefers) + 1
    return min(each * (options.restarts + 1) + _POLISHES * (options.polish + 1), _LONGEST_TRACE)


def aims_within(plan: Plan, tolerance: Tolerance) -> Floats:
    """Build the aims of a plan with their tolerances."""

    def make() -> Floats:
        aims = plan.aims.copy()
        for i, term in enumerate(plan.layout.terms):
            if term.kind == POSITION:
                aims[i, 8] = (tolerance.distance / plan.unit * INSIDE) ** 2
            else:
                aims[i, 8] = (2 * math.sin(min(tolerance.angle, math.pi) / 2) * INSIDE) ** 2
        return aims

    return remember(plan, "aims", tolerance, make)


def eased(plan: Plan, stiffness: Stiffness = 0.0) -> Floats:
    """Build the dofs with mobility scaled for slides and stiffness.

    One rig size of a slide counts as one radian, so file units do not matter. Stiff joints take smaller steps; for
    coupled joints the leader's stiffness counts.
    """

    def make() -> Floats:
        dofs = plan.layout.dofs.copy()
        for dof in {node.dof for node in plan.layout.nodes if node.kind == SLIDE}:
            dofs[dof, DOF_EASE] *= plan.size**2
        stiff = eases(plan.skeleton, stiffness)
        leading = {node.dof: node for node in reversed(plan.layout.nodes) if node.kind != FIXED}
        for node in leading.values():
            dofs[node.dof : node.dof + DOFS[node.kind], DOF_EASE] *= stiff[node.row]
        return dofs

    return remember(plan, "eased", stiffness, make)


def mixed(seeds: Floats, count: int) -> Floats:
    """Return `count` seeds, extending the table (s, n). Seeds beyond the table recombine its numbers.

    The kernels use the same rule, see kernels/arm/seeds.py.
    """
    number, column = np.arange(count)[:, None], np.arange(seeds.shape[1])
    return seeds[(number + column * (number // len(seeds))) % len(seeds), column]


@cache
def seeds_of(dofs: int) -> Floats:
    """Draw numbers (s, nd) in 0..1 for random restarts. They are the same for all problems."""
    return np.random.default_rng(7).random((_SEEDS, dofs))


Engine = ArmEngine | TreeEngine


# --- answers -----------------------------------------------------------------------------------------------------


def answer_of(problem: Problem, found: Found) -> Answer:
    """Convert kernel output into an answer with q."""
    history = None if found.trace is None else trace_of(problem, found.trace[:, 0], found.trace[:, 1:])
    q = problem.q_of(found.u, found.iterations > 0)
    return Answer(q, found.met, found.iterations, found.iterations * len(problem.plan.layout.dofs), history)


def trace_of(problem: Problem, errors: Floats, u: Floats) -> Trace:
    """Build a trace from squared errors (t,) and u (t, nu). For a single position the errors are distances."""
    plan, terms = problem.plan, problem.plan.layout.terms
    lone = len(terms) == 1 and terms[0].kind == POSITION
    scale = plan.unit / float(plan.aims[0, 7]) if lone else 1.0
    return Trace(np.sqrt(errors) * scale, problem.q_of(u, np.arange(len(u)) > 0, traced=True))


def standing_still(problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
    """Answer with the start where no joint can move.

    For prefer="all" it is the only solution, if it meets the goals.
    """
    k = len(targets)
    none = np.zeros(k, dtype=np.int64)
    q = np.broadcast_to(problem.start.flat_q, (k, problem.skeleton.nq)).copy()
    errors = problem.errors(q, targets)
    met = problem.met(errors, tolerance)
    history = Trace(np.linalg.norm(errors[:1], axis=-1), q[:1]) if request.trace else None
    return Answer(q, met, none, none, history, q[met] if request.prefer == "all" else None)
