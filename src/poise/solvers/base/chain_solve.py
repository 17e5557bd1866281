"""Driver of the chain kernels, for CCD and FABRIK."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise import solvers
from poise.kernels.layout import COUNT_ITERATIONS, COUNT_JOINT_STEPS
from poise.maths.arrays import Bools, Floats, Ints, get_scratch
from poise.problem.chain import Chain
from poise.problem.feasibility import FreeReach
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import quick_property
from poise.solvers.base.interface import Answer, Request, Trace, solve_out_of_reach
from poise.solvers.base.thread_parts import select_rows, solve_in_parts


class FarLine(NamedTuple):
    """Straight line towards targets beyond a free chain's reach.

    Fields: the solver of the other targets, the reach, and the tolerance.
    """

    solver: solvers.Solver
    reach: FreeReach
    tolerance: Tolerance


class _ChainOutput(NamedTuple):
    """Output of a chain kernel.

    Fields: q (k, nq), errors (k, ...), counts (k, 2), and the trace.
    """

    q: Floats
    errors: Floats
    counts: Ints
    trace: Trace | None


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainSolve:
    """Chain bound to a kernel and its options; see `BoundSolve`.

    joint_arrays  arrays of the joints, first arguments of the kernel
    tip_arrays    arrays of the tip, which follow the frames
    starts        (1|k, m, 4) link motions of the starts
    pack_targets  converts world targets for the kernel
    error_shape   shape of the errors of one target
    find_met      finds the met targets (k,) from their errors
    error_scale   unit of the trace's errors
    far_line      closed form of targets out of reach, if any
    """

    chain: Chain
    problem: Problem
    request: Request
    solve_kernel: Callable[..., None]
    joint_arrays: tuple[Any, ...]
    tip_arrays: tuple[Floats, ...]
    starts: Floats
    pack_targets: Callable[[Problem, Floats], Floats]
    options: Floats
    error_shape: tuple[int, ...]
    find_met: Callable[[Floats], Bools]
    work_size: int
    max_trace_rows: int
    error_scale: float
    far_line: FarLine | None = None

    def solve(self, targets: Floats) -> _ChainOutput | Answer:
        """Solve for targets (k, W)."""
        problem, request, chain, far_line = self.problem, self.request, self.chain, self.far_line
        kernel_targets = self.pack_targets(problem, targets)
        is_far = None if far_line is None else far_line.reach.find_far(kernel_targets)
        if far_line is not None and is_far is not None:
            return solve_out_of_reach(far_line.solver, problem, targets, far_line.tolerance, request, is_far)
        k, m = len(targets), len(chain.link_kinds)
        x, errors, counts = np.zeros((k, m, 4)), np.zeros((k, *self.error_shape)), np.zeros((k, 2), dtype=np.int64)
        traces = self.no_traces
        if request.trace:
            traces = np.zeros((self.max_trace_rows, m, 4)), np.zeros(self.max_trace_rows)
        arrays: tuple[Any, ...] = chain.frames, *self.tip_arrays, self.starts, kernel_targets, x, errors, counts
        if k == 1 and request.progress is None:
            self._call_kernel(arrays, traces)
        else:

            def solve_range(first: int, last: int) -> None:
                rows = slice(first, last)
                input_count = len(arrays) - 3
                inputs = [select_rows(array, rows) for array in arrays[:input_count]]
                self._call_kernel((*inputs, *[array[rows] for array in arrays[input_count:]]), traces)

            solve_in_parts(k, 1 if request.trace else request.threads, solve_range, request.progress)
        q = chain.motions_to_q(problem, x, counts[:, COUNT_JOINT_STEPS] > 0)
        trace = self._build_trace(*traces, int(counts[0, COUNT_ITERATIONS]) + 1) if request.trace else None
        return _ChainOutput(q, errors, counts, trace)

    def _call_kernel(self, arrays: tuple[Any, ...], traces: tuple[Floats, Floats]) -> None:
        """Call the kernel.

        arrays  frames, tips, starts, targets, and three of the output
        """
        self.solve_kernel(
            *self.joint_arrays, *arrays[:-3], self.options, *arrays[-3:], *traces, get_scratch(self.work_size)
        )

    @quick_property
    def no_traces(self) -> tuple[Floats, Floats]:
        """Empty traces: no kernel writes to them."""
        return np.zeros((0, len(self.chain.link_kinds), 4)), np.zeros(0)

    def _build_trace(self, x: Floats, errors: Floats, count: int) -> Trace:
        q = self.chain.motions_to_q(self.problem, x[:count], np.arange(count) > 0, is_trace=True)
        return Trace(errors[:count] * self.error_scale, q)

    def build_answer(self, targets: Floats, output: _ChainOutput) -> Answer:
        """Build the answer from the output of `solve`."""
        q, errors, counts, trace = output
        return Answer(q, self.find_met(errors), counts[:, COUNT_ITERATIONS], counts[:, COUNT_JOINT_STEPS], trace)
