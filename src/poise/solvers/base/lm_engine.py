"""Levenberg-Marquardt engines of serial arms and of trees.

Steps are damped least squares in dual form, x += J^T (J J^T + l I)^-1 e: the system has the size of the goals, not of
the rig. The damping follows the squared error, so no line search is needed. Values at a limit with an outward gradient
are fixed. An attempt with less than 20 % improvement in four iterations is followed by a restart; if no attempt meets
the goals, the best one is refined to convergence. On a tree the first attempt is refined before any restart, and a
restart replaces it only if it meets the goals or is clearly nearer.

- A serial arm (up to 16 hinges and slides, one goal at its end) has 6 x 6 systems and its own kernels (arm_lm.py,
  arm_targets.py). A restart takes the seed with the tip nearest to the target, of 16 out of 2,048 seeds with known
  tips; this costs less than one forward kinematics. A single target runs several attempts in the lanes, in the order of
  a batch, with the same bits. With `Near` the answer is moved along the self-motion of the arm (arm_preference.py).
- A tree (tree_lm.py, tree_residual.py) has hinges, slides, balls, a free root, couplings and weighted goals. `Near`
  acts in the null space of the goals and is dropped before the end of an attempt.
- For chains above 16 joints the damping grows with the number of joints, and the rotations of a restart shrink with it:
  J J^T grows with n^3 and the squared error with n^2.
- One position beyond the reach of a free ball chain is not iterated: the chain is stretched in closed form.
- Hinges end as few full rotations from their start as their range allows, except with `Near`, soft limits or couplings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.layout import (
    ARM_RESULT_ROW,
    ARM_WORKSPACE_PER_TARGET,
    COUNT_IS_MET,
    COUNT_ITERATIONS,
    DOF_HIGH,
    DOF_LOW,
    DOF_WEIGHT,
    EFFECTOR_TOLERANCE2,
    EFFECTOR_WEIGHT,
)
from poise.maths.arrays import (
    Bools,
    Floats,
    Ints,
    find_simd_width,
    get_scratch,
    prepare_for_kernel,
)
from poise.problem.arm_packing import Arm, ArmArrays, pack_for_u
from poise.problem.dof_layout import DOF_COUNTS, POSITION, SLIDE
from poise.problem.feasibility import MAX_CLOSED_GAP
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.problem.tree_packing import pack_tree_tables
from poise.runtime.result_cache import copy_with, get_or_compute, quick_property
from poise.solvers.base.interface import Answer, MeasuredOutput, Request, Trace
from poise.solvers.base.random_starts import draw_restarts, extend_table
from poise.solvers.base.stiffness import Stiffness, compute_joint_weights
from poise.solvers.base.thread_parts import solve_in_parts

_PREFERENCE_SHARE = 0.5  # share of the way to a preferred pose covered by a step
_MIN_PREFERENCE_ITERATIONS = 150  # iterations allowed for converging to a preferred pose
_MAX_POLISHES = 3  # largest number of polished results, see kernels/arm_lm.py
_MAX_CACHED_SETTINGS = 128  # settings in the cache
_MAX_TRACE_ROWS = 100_000
_MAX_TIE_GAP = 0.3 * MAX_CLOSED_GAP  # [file units, rad] gap of a loop that a kernel calls closed
_MIN_TIE_GAP = 3e-13  # the same in kernel units: rounding of large rigs
_NO_TRACE = np.empty((0, 0))
_NO_ROWS, _NO_FAR_REACHES = np.empty((0, 0)), np.empty((0, 4))
# Of kernel targets, which need no conversion and are not measured; see kernels/tree_targets.py.
NO_WORLD_TARGETS = np.empty(0), np.empty(0, dtype=np.int64), *[_NO_ROWS] * 6, np.empty((0, 0, 0))
KERNEL_TOLERANCE_RATIO = 1 - 1e-6  # ratio of kernel to public tolerance, so rounding cannot undo a success


@dataclass(frozen=True)
class LmOptions:
    """Iteration options of the engine.

    iterations         largest number of steps of one attempt
    restarts           largest number of restarts
    damping            damping per squared error; lengths in units of the rig's size
    min_damping        damping at an error of zero
    candidate_count    starts compared for each restart of an arm
    polish_iterations  largest number of steps from the best attempt where none met the goals
    first_finish_wins  whether the restart of an arm that finishes first wins; else the first in their order
    preference_share   share of the way to a preferred pose covered by a step
    """

    iterations: int
    restarts: int
    damping: float
    min_damping: float
    candidate_count: int
    polish_iterations: int
    first_finish_wins: bool = False
    preference_share: float = _PREFERENCE_SHARE


class KernelOutput(NamedTuple):
    """Kernel output: u (k, nu), success (k,), iterations (k,) and trace."""

    u: Floats
    met: Bools
    iterations: Ints
    trace: Floats | None = None


def choose_kernel(kernel_module: Any, limits: Floats | None) -> tuple[Callable[..., int], tuple[Floats, ...]]:
    """Return the kernel of a module for this processor, and its limits.

    Trees without limits have a faster kernel without that argument.
    """
    suffix = find_simd_width()
    if limits is None:
        return getattr(kernel_module, f"plain{suffix}"), ()
    return getattr(kernel_module, f"solve{suffix}"), (limits,)


def pack_arm_settings(arm: Arm, unit: float, tolerance: Tolerance, options: LmOptions) -> Floats:
    """Pack the settings of kernels/arm_lm.py."""
    max_distance = tolerance.distance / unit * KERNEL_TOLERANCE_RATIO if arm.weights[0] else math.inf
    max_chord = 2 * math.sin(min(tolerance.angle, math.pi) / 2) * KERNEL_TOLERANCE_RATIO if arm.weights[1] else math.inf
    return np.array([
        max_distance**2, max_chord**2, *arm.weights, options.damping, options.min_damping, options.iterations,
        options.restarts,
        options.candidate_count, *arm.reach_range, options.polish_iterations, options.first_finish_wins,
    ], dtype=np.float64)  # fmt: skip


def choose_arm_kernel(target_count: int) -> Callable[..., tuple[int, int]]:
    """Choose the lanes of an arm's kernel. A lone target takes four on every processor.

    Its attempts run side by side, and most succeed at the first: eight lanes take a fifth longer. Both kernels give
    the same bits (tests/kernels/test_lanes.py).
    """
    has_wide_lanes = target_count > 1 and find_simd_width() == 8  # noqa: PLR2004  (float64 in a register of AVX-512)
    return kernels.arm_targets.solve_targets8 if has_wide_lanes else kernels.arm_targets.solve_targets4


@dataclass(frozen=True, eq=False)
class ArmEngine:
    """Levenberg-Marquardt engine of a serial arm."""

    problem: Problem
    arm: Arm
    tolerance: Tolerance
    options: LmOptions

    def solve(
        self, targets: Floats, start_u: Floats, *, threads: int, max_trace_rows: int = 0,
        progress: Callable[[int], None] | None = None, options: LmOptions | None = None,
    ) -> KernelOutput:  # fmt: skip
        """Solve targets (k, W) from starts u (1|k, m). Targets come from `pack_targets`."""
        arm, k = self.arm, len(targets)
        packed_arm, layout = self.pack_arrays(options or self.options)
        buffer, m = np.zeros((k + max_trace_rows, arm.link_count + ARM_RESULT_ROW)), arm.link_count
        buffer[:k, :m] = start_u
        base_transforms = self.problem.rigid_base_transforms
        base_transforms = (
            np.repeat(base_transforms, k // len(base_transforms), axis=0)
            if 1 < len(base_transforms) < k
            else base_transforms
        )  # several starts per target
        solve_kernel, preferences = choose_arm_kernel(k), self.problem.arm_preferences
        if 1 < len(preferences) < k:
            preferences = np.repeat(preferences, k // len(preferences), axis=0)

        def solve_range(first: int, last: int) -> None:
            solve_kernel(
                packed_arm,
                layout,
                targets,
                base_transforms,
                buffer,
                first,
                last,
                get_scratch((ARM_WORKSPACE_PER_TARGET + 2 * m) * (last - first)),
                preferences,
            )

        solve_in_parts(k, 1 if max_trace_rows else threads, solve_range, progress)
        u, output_columns = buffer[:k, :m].copy(), buffer[:k, m:]
        iterations, trace_rows = output_columns[:, COUNT_ITERATIONS].astype(np.int64), None
        if max_trace_rows:
            trace_rows = buffer[1 : 1 + int(output_columns[0, :COUNT_IS_MET].sum()), : m + 1].copy()
            # The kernel knows only the ratio of a goal's weights.
            trace_rows[:, 0] *= self.problem.plan.effectors[0, EFFECTOR_WEIGHT] ** 2
            trace_rows[:, 1:] = self._convert_to_u(trace_rows[:, 1:])
        return KernelOutput(u, output_columns[:, COUNT_IS_MET] > 0, iterations, trace_rows)

    def pack_arrays(self, options: LmOptions) -> ArmArrays:
        """Pack the constants of the kernel."""
        plan, arm = self.problem.plan, self.arm

        def build_arrays() -> ArmArrays:
            return pack_for_u(
                self.problem, arm, pack_arm_settings(arm, plan.kernel_unit_in_world, self.tolerance, options)
            )

        return get_or_compute(plan, "arm arrays in u", (self.tolerance, options), build_arrays)

    def _convert_to_u(self, x: Floats) -> Floats:
        """Convert kernel values x (k, m) into u within ranges.

        Dividing slides by their scale may round them past a range end.
        """
        if (self.arm.value_scales == 1).all():
            return x
        dofs = self.problem.plan.layout.dofs
        return np.clip(x / self.arm.value_scales, dofs[:, DOF_LOW], dofs[:, DOF_HIGH])

    def with_problem(self, problem: Problem) -> ArmEngine:
        """Return the engine for other starts of the same plan."""
        return replace(self, problem=problem)

    def select_rows(self, rows: Bools | slice) -> ArmEngine:
        """Return the engine for some of the starts. An engine with one start for all targets is returned unchanged."""
        return replace(self, problem=self.problem.select_rows(rows))

    def pack_targets(self, targets: Floats) -> Floats:
        """Convert world targets (k, W) for the kernels."""
        return prepare_for_kernel(targets)

    def build_starts(self, start_u: Floats, start_count: int) -> Floats:
        """Return `start_count` starts (k, start_count, m): the start, then seeds."""
        seeds = self._convert_to_u(extend_table(self.arm.seeds, start_count - 1))
        shape = (len(start_u), start_count - 1, self.arm.link_count)
        return np.concatenate([start_u[:, None], np.broadcast_to(seeds, shape)], axis=1)


class TreeDetails(NamedTuple):
    """What the kernel says of measured solutions.

    Fields: kernel targets, u (k, nu) and counts (k, 3).
    """

    kernel_targets: Floats
    u: Floats
    counts: Ints

    def build_output(self) -> KernelOutput:
        """Build the kernel output."""
        return KernelOutput(self.u, self.counts[:, COUNT_IS_MET] > 0, self.counts[:, COUNT_ITERATIONS])


class _TreeInputs(NamedTuple):
    """Inputs of kernels/tree_lm.py, without starts and targets.

    preferences    (1|k, nu) preferred configurations
    shared_inputs  their weights, the limits where the kernel takes them, and the settings
    """

    solve_kernel: Callable[..., int]
    tree_arrays: tuple[Any, ...]
    workspace_size: int
    preferences: Floats
    shared_inputs: tuple[Floats, ...]


class _TargetInputs(NamedTuple):
    """The same for world targets, with the tables of kernels/tree_targets.py.

    before, between, behind  constant arguments before the targets, behind the starts, and behind the trace
    measure_count            number of measured errors; 0 where the kernel cannot measure
    """

    solve_kernel: Callable[..., int]
    before: tuple[Any, ...]
    between: tuple[Any, ...]
    behind: tuple[Any, ...]
    work_size: int
    measure_count: int


@dataclass(frozen=True, eq=False)
class TreeEngine:
    """Levenberg-Marquardt engine of any tree and goals."""

    problem: Problem
    tolerance: Tolerance
    options: LmOptions
    stiffness: Stiffness = 0.0

    def solve(
        self, targets: Floats, start_u: Floats, *, threads: int, max_trace_rows: int = 0,
        progress: Callable[[int], None] | None = None, options: LmOptions | None = None,
    ) -> KernelOutput:  # fmt: skip
        """Solve kernel targets (k, width) from starts u (1|k, nu)."""
        inputs = self._inputs
        if options is not None:
            inputs = inputs._replace(shared_inputs=(*inputs.shared_inputs[:-1], self._pack_settings(options)))
        return self._run(inputs, targets, start_u, threads, max_trace_rows, progress)

    def approach_start(
        self, targets: Floats, output: KernelOutput, start_u: Floats, others_u: Floats, *, threads: int
    ) -> KernelOutput:
        """Move answers with met goals towards their starts u (1|k, nu).

        Ranges leave room: of the configurations in them, the one nearest to the start is wanted. The starts are
        preferred configurations here, with equal weights. One run begins at the answers, one at other configurations
        `others_u` (k, nu), such as the answers for the targets alone. The nearest one with met goals is returned.
        """
        still = replace(self.options, iterations=0, restarts=0, polish_iterations=0)
        moving = replace(still, iterations=self.options.iterations)
        u, is_met, iterations = output.u, output.met, output.iterations
        way = np.where(is_met, self._measure_way(u, start_u), np.inf)
        for begin_u, options in ((output.u, moving), (others_u, still), (others_u, moving)):
            inputs = self._build_preferring_inputs(start_u, options)
            nearer = self._run(inputs, targets, begin_u, threads)
            nearer_way = np.where(nearer.met, self._measure_way(nearer.u, start_u), np.inf)
            is_nearer = nearer_way < way
            u, way = np.where(is_nearer[:, None], nearer.u, u), np.minimum(way, nearer_way)
            is_met, iterations = is_met | nearer.met, iterations + nearer.iterations
        # A start inside its ranges stays bit for bit.
        return output._replace(u=u, met=is_met, iterations=np.where(output.iterations > 0, iterations, 0))

    def _build_preferring_inputs(self, start_u: Floats, options: LmOptions) -> _TreeInputs:
        """Build inputs with the starts as preferred configurations."""
        settings, inputs = pack_tree_settings(options, has_preference=True), self._inputs
        weights = np.ones(len(self.problem.plan.layout.dofs))
        return inputs._replace(
            preferences=prepare_for_kernel(start_u), shared_inputs=(weights, *inputs.shared_inputs[1:-1], settings)
        )

    def _measure_way(self, u: Floats, start_u: Floats) -> Floats:
        """Measure the squared way (k,) from starts, without whole turns."""
        plan = self.problem.plan
        return (plan.compute_differences(plan.unwrap_near(u, start_u), start_u) ** 2).sum(axis=-1)

    def _run(
        self, inputs: _TreeInputs, targets: Floats, start_u: Floats, threads: int, max_trace_rows: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> KernelOutput:  # fmt: skip
        solve_kernel, tree_arrays, workspace_size, preferences, shared_inputs = inputs
        k, nu = len(targets), self.problem.plan.layout.nu
        u, errors, kernel_counts = np.zeros((k, nu)), np.zeros(k), np.zeros((k, 3), dtype=np.int64)
        trace_buffer = np.zeros((max_trace_rows, nu + 1)) if max_trace_rows else _NO_TRACE
        start_u = prepare_for_kernel(start_u)

        def solve_range(first: int, last: int) -> None:
            for preferred_u, begin, end in _split_by_preference(preferences, k, first, last):
                solve_kernel(
                    *tree_arrays, targets, start_u, self.restart_draws, preferred_u, *shared_inputs,
                    get_scratch(workspace_size), begin, end,
                    u, errors, kernel_counts,
                    trace_buffer, *NO_WORLD_TARGETS,
                )  # fmt: skip

        solve_in_parts(k, 1 if max_trace_rows else threads, solve_range, progress)
        return KernelOutput(
            u,
            kernel_counts[:, COUNT_IS_MET] > 0,
            kernel_counts[:, COUNT_ITERATIONS],
            trace_buffer[: int(kernel_counts[0, :COUNT_IS_MET].sum())] if max_trace_rows else None,
        )

    def solve_targets(self, targets: Floats, far_reaches: Floats = _NO_FAR_REACHES) -> MeasuredOutput:
        """Solve a few targets and measure, in one kernel call.

        Targets are (k, W), in the world.

        With a target beyond `far_reaches` (0|1|k, 4) nothing is solved but the targets converted, and the q of the
        output has no rows.
        """
        solve_kernel, before, between, behind, work_size, measure_count = self._target_inputs
        start_u, base_transforms, start_q, local_offsets = self._start_arrays
        k, plan = len(targets), self.problem.plan
        kernel_targets, u = np.empty((k, plan.target_width)), np.empty((k, start_u.shape[1]))
        counts, q = np.zeros((k, 3), dtype=np.int64), np.empty((k, start_q.shape[1]))
        error_parts = np.empty((k, measure_count, 2))
        far_count = solve_kernel(
            *before, kernel_targets, start_u, *between, get_scratch(work_size), 0, k, u, np.empty(k), counts, _NO_TRACE,
            *behind, targets, base_transforms, far_reaches, start_q, local_offsets, q, error_parts,
        )  # fmt: skip
        details = TreeDetails(kernel_targets, u, counts)
        return MeasuredOutput(q[:0] if far_count else q, error_parts if measure_count else None, details)

    @quick_property
    def _target_inputs(self) -> _TargetInputs:
        """Inputs of the kernel for world targets, without starts and targets."""
        (solve_kernel, tree_arrays, work_size, preferences, shared_inputs) = self._inputs
        packed = pack_tree_tables(self.problem)
        between = self.restart_draws, preferences[0], *shared_inputs
        work_size = max(work_size, packed.work_size)
        return _TargetInputs(solve_kernel, tree_arrays, between, packed[:2], work_size, packed.measure_count)

    @quick_property
    def _start_arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Starts for world targets: u, base transforms, q and local offsets."""
        problem = self.problem
        world = problem.world_measures if problem.error_paths is None else None
        offsets = _NO_ROWS if world is None else world.local_offsets
        start_u, start_q = prepare_for_kernel(problem.start_u), prepare_for_kernel(problem.start_rows)
        return start_u, problem.rigid_base_transforms, start_q, offsets

    @property
    def can_solve_targets(self) -> bool:
        """Whether all problems have one preferred configuration, so `solve_targets` serves them."""
        return len(self._inputs.preferences) == 1

    @quick_property
    def _inputs(self) -> _TreeInputs:
        """Inputs of the kernel, without starts and targets."""
        plan = self.problem.plan
        tree_arrays, workspace_size = pack_tree_arrays(plan, self.tolerance, self.stiffness)
        solve_kernel, limits = choose_kernel(kernels.tree_lm, plan.kernel_limits)
        preferences, preference_weights = self.problem.preference
        shared_inputs = preference_weights, *limits, self._pack_settings(self.options)
        return _TreeInputs(solve_kernel, tree_arrays, workspace_size, preferences, shared_inputs)

    def _pack_settings(self, options: LmOptions) -> Floats:
        return pack_tree_settings(options, has_preference=self.problem.has_preference)

    @quick_property
    def restart_draws(self) -> Floats:
        """(s, nd) random numbers of the restarts, in 0..1."""
        return draw_restarts(len(self.problem.plan.layout.dofs))

    def with_problem(self, problem: Problem) -> TreeEngine:
        """Return the engine for other starts of the same plan and goals."""
        return copy_with(self, {"problem": problem}, ("_inputs", "_target_inputs", "restart_draws"))

    def select_rows(self, rows: Bools | slice) -> TreeEngine:
        """Return the engine for some of the starts. An engine with one start for all targets is returned unchanged."""
        return replace(self, problem=self.problem.select_rows(rows))

    def pack_targets(self, targets: Floats) -> Floats:
        """Convert world targets (k, W) for the kernels."""
        return self.problem.compute_kernel_targets(targets)

    def build_starts(self, start_u: Floats, start_count: int) -> Floats:
        """Return `start_count` starts (k, start_count, nu): the start, then random ones."""
        plan, all_start_u = self.problem.plan, np.repeat(start_u[:, None], start_count, axis=1)
        for i, draws in enumerate(extend_table(self.restart_draws, start_count - 1), 1):
            all_start_u[:, i] = plan.randomize_starts(start_u, draws, min(0.25 * i, 2.0))
        return all_start_u


def _split_by_preference(
    preferences: Floats, problem_count: int, first: int, last: int
) -> Iterator[tuple[Floats, int, int]]:
    """Split problems first..last by preferred configuration (1|k, nu).

    Yields the configuration, begin and end of each part of the `problem_count` problems. The kernels take one
    configuration for all lanes. Several starts of a problem are adjacent.
    """
    if len(preferences) == 1:
        yield preferences[0], first, last
        return
    starts_per_problem = problem_count // max(len(preferences), 1) or 1
    for begin, end in pairwise(
        sorted({first, last, *range(first - first % starts_per_problem + starts_per_problem, last, starts_per_problem)})
    ):
        yield preferences[begin // starts_per_problem], begin, end


def pack_tree_arrays(plan: Plan, tolerance: Tolerance, stiffness: Stiffness = 0.0) -> tuple[tuple[Any, ...], int]:
    """Pack the arrays of a tree and its workspace size. They are for tree_lm.py and jacobian_methods.py."""

    def build_arrays() -> tuple[tuple[Any, ...], int]:
        from poise.kernels.lane_workspace import compute_workspace_size  # noqa: PLC0415  (imports Numba)

        dofs, effectors = build_scaled_dofs(plan, stiffness), build_effectors(plan, tolerance)
        tree_arrays = plan.node_table, plan.frames, dofs, plan.term_table, effectors, plan.path_nodes, plan.row_ranges
        return tree_arrays, compute_workspace_size(
            len(plan.node_table), len(dofs), plan.layout.nu, 3 * len(plan.term_table), plan.target_width
        )

    return get_or_compute(plan, "tree arrays", (tolerance, stiffness), build_arrays)


@lru_cache(_MAX_CACHED_SETTINGS)
def pack_tree_settings(options: LmOptions, *, has_preference: bool) -> Floats:
    """Pack the settings of kernels/tree_lm.py."""
    preference_share, iterations = (
        options.preference_share if has_preference else 0.0,
        _compute_max_iterations(options, has_preference=has_preference),
    )
    return np.array(
        [
            options.damping,
            options.min_damping,
            iterations,
            options.restarts,
            options.polish_iterations,
            preference_share,
        ]
    )


def _compute_max_iterations(options: LmOptions, *, has_preference: bool) -> int:
    """Return the maximum iterations of one restart."""
    return (
        max(options.iterations, _MIN_PREFERENCE_ITERATIONS)
        if has_preference and options.iterations
        else options.iterations
    )


def count_trace_rows(problem: Problem, options: LmOptions) -> int:
    """Return the maximum rows of a trace.

    There is one for each iteration of all restarts, and one where each begins.
    """
    rows_per_restart = _compute_max_iterations(options, has_preference=problem.has_preference) + 1
    return min(
        rows_per_restart * (options.restarts + 1) + _MAX_POLISHES * (options.polish_iterations + 1), _MAX_TRACE_ROWS
    )


def build_effectors(plan: Plan, tolerance: Tolerance) -> Floats:
    """Build the effectors of a plan with their tolerances."""

    def fill_tolerances() -> Floats:
        effectors = plan.effectors.copy()
        for i, term in enumerate(plan.layout.terms):
            if term.is_tie:
                bound = _MAX_TIE_GAP / plan.compute_target_unit(i) if term.kind == POSITION else _MAX_TIE_GAP
                effectors[i, EFFECTOR_TOLERANCE2] = max(bound, _MIN_TIE_GAP) ** 2
            elif term.kind == POSITION:
                effectors[i, EFFECTOR_TOLERANCE2] = (
                    tolerance.distance / plan.compute_target_unit(i) * KERNEL_TOLERANCE_RATIO
                ) ** 2
            else:
                effectors[i, EFFECTOR_TOLERANCE2] = (
                    2 * math.sin(min(tolerance.angle, math.pi) / 2) * KERNEL_TOLERANCE_RATIO
                ) ** 2
        return effectors

    return get_or_compute(plan, "effectors", tolerance, fill_tolerances)


def build_scaled_dofs(plan: Plan, stiffness: Stiffness = 0.0) -> Floats:
    """Build the dofs with joint weights scaled for slides and stiffness.

    One rig size of a slide counts as one radian, so file units do not matter. Stiff joints take smaller steps; for
    coupled joints the leader's stiffness counts.
    """

    def scale_dofs() -> Floats:
        dofs = plan.layout.dofs.copy()
        for dof_start in {node.dof_start for node in plan.layout.nodes if node.kind == SLIDE}:
            dofs[dof_start, DOF_WEIGHT] *= plan.kernel_unit_in_base**2
        joint_weights = compute_joint_weights(plan.skeleton, stiffness)
        rows = np.zeros(len(dofs), dtype=np.int64)
        for node in reversed(plan.layout.nodes):  # the first of coupled nodes is the leader
            rows[node.dof_start : node.dof_start + DOF_COUNTS[node.kind]] = node.row
        dofs[:, DOF_WEIGHT] *= joint_weights[rows]
        return dofs

    return get_or_compute(plan.tree, "scaled dofs", (stiffness, plan.kernel_unit_in_base), scale_dofs)


Engine = ArmEngine | TreeEngine


# --- answers -----------------------------------------------------------------------------------------------------


def build_answer(problem: Problem, output: KernelOutput, q: Floats | None = None) -> Answer:
    """Convert kernel output into an answer. Its q (k, nq) may be known already."""
    trace = None if output.trace is None else build_trace(problem, output.trace[:, 0], output.trace[:, 1:])
    q = problem.compute_q(output.u, output.iterations > 0) if q is None else q
    return Answer(q, output.met, output.iterations, output.iterations * len(problem.plan.layout.dofs), trace)


def build_trace(problem: Problem, squared_errors: Floats, u: Floats) -> Trace:
    """Build a trace from squared errors (t,) and u (t, nu). For a single position the errors are distances."""
    plan, terms = problem.plan, problem.plan.layout.terms
    is_single_position = len(terms) == 1 and terms[0].kind == POSITION
    scale = plan.kernel_unit_in_world / float(plan.effectors[0, EFFECTOR_WEIGHT]) if is_single_position else 1.0
    return Trace(np.sqrt(squared_errors) * scale, problem.compute_q(u, np.arange(len(u)) > 0, traced=True))


def answer_with_start(problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
    """Answer with the start where no joint can move.

    For prefer="all" it is the only solution, if it meets the goals.
    """
    k = len(targets)
    zero_counts = np.zeros(k, dtype=np.int64)
    q = np.broadcast_to(problem.start.flat_q, (k, problem.skeleton.nq)).copy()
    errors = problem.compute_errors(q, targets)
    is_met = problem.is_met(errors, tolerance)
    trace = Trace(np.linalg.norm(errors[:1], axis=-1), q[:1]) if request.trace else None
    return Answer(q, is_met, zero_counts, zero_counts, trace, q[is_met] if request.prefer == "all" else None)
