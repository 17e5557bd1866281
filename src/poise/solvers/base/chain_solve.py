"""Driver of the chain kernels, for CCD and FABRIK."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from poise import solvers
from poise.kernels.layout import COUNT_ITERATIONS, COUNT_JOINT_STEPS, IS_FAR, OUTCOME_IS_MET
from poise.maths.arrays import Floats, Ints, get_scratch, prepare_for_kernel
from poise.problem.chain import Chain, PackedChain
from poise.problem.feasibility import FreeReach
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import quick_property
from poise.solvers.base.interface import Answer, MeasuredOutput, Request, Trace, merge_rows
from poise.solvers.base.thread_parts import select_rows, solve_in_parts

_NO_TRACES = np.zeros((0, 0, 4)), np.zeros(0)  # no kernel writes to them
_NO_FAR_REACHES = np.empty((0, 4))


class ChainKernel(NamedTuple):
    """Kernel of a chain with its constant inputs; see kernels/chain_targets.py."""

    call: Callable[..., int]
    packed: PackedChain


class FarLine(NamedTuple):
    """Straight line towards targets beyond a free chain's reach."""

    reach: FreeReach
    tolerance: Tolerance


class _ChainDetails(NamedTuple):
    """What a chain kernel says of its solutions.

    Fields: outcomes (k, 2), counts (k, 2), and the trace.
    """

    outcomes: Floats
    counts: Ints
    trace: Trace | None


@dataclass(frozen=True, eq=False)
class ChainSolve:
    """Chain bound to a kernel; see `BoundSolve`.

    max_trace_rows  of a trace, if one is requested
    error_scale     unit of the trace's errors
    far_line        closed form of targets out of reach, if any
    """

    problem: Problem
    chain: Chain
    request: Request
    kernel: ChainKernel
    max_trace_rows: int
    error_scale: float
    far_line: FarLine | None = None

    @quick_property
    def start_arrays(self) -> tuple[Any, ...]:
        """Kinds of the links, and arrays of the starts."""
        problem, chain, far_line = self.problem, self.chain, self.far_line
        return (
            chain.link_kinds,
            chain.frames,
            prepare_for_kernel(chain.reach_range),
            _NO_FAR_REACHES if far_line is None else far_line.reach.rows,
            problem.rigid_base_transforms,
            chain.pack_starts(problem),
            prepare_for_kernel(problem.start_rows),
        )

    @quick_property
    def measure_count(self) -> int:
        """Number of measured errors; 0 where the kernel cannot measure."""
        paths = self.problem.error_paths
        return 0 if paths is None else len(paths.spans)

    @property
    def has_measures(self) -> bool:
        """Whether the kernel measures the errors of its solutions."""
        return self.measure_count > 0

    def solve(self, targets: Floats) -> MeasuredOutput | Answer:
        """Solve for targets (k, W)."""
        k, (call, (tables, layout, work_size, _)) = len(targets), self.kernel
        start_arrays = self.start_arrays
        q, error_parts = np.empty((k, start_arrays[-1].shape[1])), np.empty((k, self.measure_count, 2))
        outcomes, counts = np.empty((k, 2)), np.empty((k, 2), dtype=np.int64)
        traces = self._make_traces() if self.request.trace else _NO_TRACES
        arrays = *start_arrays, prepare_for_kernel(targets), q, error_parts, outcomes, counts
        if k == 1 and self.request.progress is None:
            far_count = call(tables, layout, *arrays, *traces, get_scratch(work_size))
        else:
            far_count = self._solve_parts(arrays, traces)
        trace = None
        if self.request.trace and not far_count:
            trace = self._build_trace(*traces, int(counts[0, COUNT_ITERATIONS]) + 1)
        output = MeasuredOutput(q, error_parts if self.measure_count else None, _ChainDetails(outcomes, counts, trace))
        return self._straighten(targets, output) if far_count else output

    def _solve_parts(self, arrays: tuple[Any, ...], traces: tuple[Floats, Floats]) -> int:
        """Solve in parts for threads. `arrays` are those of the starts, the targets and the results."""
        call, (tables, layout, work_size, target_work_size) = self.kernel
        far_counts: list[int] = []

        def solve_range(first: int, last: int) -> None:
            rows = slice(first, last)
            inputs = [arrays[0], *[select_rows(array, rows) for array in arrays[1:-5]]]
            part = *inputs, *[array[rows] for array in arrays[-5:]]
            work = get_scratch(work_size + (last - first) * target_work_size)
            far_counts.append(call(tables, layout, *part, *traces, work))

        request = self.request
        solve_in_parts(len(arrays[-1]), 1 if request.trace else request.threads, solve_range, request.progress)
        return sum(far_counts)

    def _straighten(self, targets: Floats, output: MeasuredOutput) -> Answer:
        """Answer targets out of reach by FABRIK's closed form.

        `output` has the other targets.
        """
        assert self.far_line is not None
        problem, request = self.problem, replace(self.request, progress=None)
        is_far = output.details.outcomes[:, OUTCOME_IS_MET] == IS_FAR
        line = solvers.make_solver("fabrik").run(
            problem.select_rows(is_far), targets[is_far], self.far_line.tolerance, request
        )
        return line if is_far.all() else merge_rows(self.build_answer(targets, output), is_far, line)

    def _make_traces(self) -> tuple[Floats, Floats]:
        return np.zeros((self.max_trace_rows, len(self.chain.link_kinds), 4)), np.zeros(self.max_trace_rows)

    def _build_trace(self, x: Floats, errors: Floats, count: int) -> Trace:
        q = self.chain.motions_to_q(self.problem, x[:count], np.arange(count) > 0)
        return Trace(errors[:count] * self.error_scale, q)

    def build_answer(self, targets: Floats, output: MeasuredOutput) -> Answer:
        """Build the answer from the output of `solve`."""
        outcomes, counts, trace = output.details
        is_met = outcomes[:, OUTCOME_IS_MET] > 0
        return Answer(output.q, is_met, counts[:, COUNT_ITERATIONS], counts[:, COUNT_JOINT_STEPS], trace)
