"""FABRIK: forward and backward reaching of joint positions.

Joints are dragged as points, from the tip at its target, then from the base.

Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models 73(5),
2011; with limits Aristidou, Chrysanthou and Lasenby, Computer Animation and Virtual Worlds 27(1), 2016. Rotations of
balls without limits are computed once, at the end; with hinges or limits both passes rotate each bone within its joint.
So bone lengths are those of the skeleton.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.calls.argument_checks import check_bool, check_count, require_keywords
from poise.errors import InputError, UnsupportedError
from poise.kernels.layout import (
    BALL,
    COUNT_IS_MET,
    COUNT_ITERATIONS,
    COUNT_JOINT_STEPS,
    EFFECTOR_WEIGHT,
    NODE_END,
    TERM_END,
)
from poise.maths.arrays import Floats, Ints, check_real, get_scratch
from poise.model.skeleton import Kind
from poise.problem.chain import Chain, find_chain, pack_chain_tables
from poise.problem.dof_layout import POSITION
from poise.problem.goals import Position
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base import lm_engine
from poise.solvers.base.chain_solve import ChainKernel, ChainSolve
from poise.solvers.base.interface import Answer, Capabilities, Request, Trace, is_builtin, run_bound
from poise.solvers.base.thread_parts import select_rows, solve_in_parts


@require_keywords
@dataclass(frozen=True, kw_only=True)
class FABRIK:
    """Forward and backward reaching for Position goals. It moves ball joints and hinges within their limits.

    The joints are points: one pass drags them from the tip at its target towards the base, the next one from the base
    back out. Rotations of balls without limits are computed once, at the end; with hinges or limits both passes rotate
    each bone within its joint.

    Parameters
    ----------
    iterations
        Largest number of sweeps (forward and backward) and steps of the polish together, at most 1,000,000. With
        several goals each restart of the polish may take half as many again.
    bend
        [rad] A chain that is straight within this angle and misses its goal is bent by it first, always to the same
        side: sweeps cannot bend a straight chain with the target on its own line. 0 switches it off. With several goals
        nothing is bent.
    finish
        Whether to polish: damped Gauss-Newton steps of all joints at once take over from slow sweeps, from a sweep
        leaving more than seven tenths of the error (a nearly extended chain needs hundreds), or after three sweeps with
        limits. Without a polish it is the algorithm of the papers, for study.
    restarts
        Largest number of restarts from other poses within limits, at most 1,000,000, where limits or several goals
        stall the sweeps. Only with a polish. Their sweeps count as iterations.

    Notes
    -----
    A target out of reach of a chain without limits is answered in closed form: the chain is straightened towards it;
    for a target too near, the longest bone points towards it and all others point back.

    Balls rotate by shortest arcs from the start, in the new frame of their parent, so each bone keeps its twist. Joints
    with a bone of zero length move in the polish only. At joints shared by several goals (hands and head of one spine)
    the branches are averaged by the goals' weights.

    `FABRIK(finish=False, bend=0)` is the plain form.

    References
    ----------
    Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models
    73(5), 2011; with limits Aristidou, Chrysanthou and Lasenby, Computer Animation and Virtual Worlds 27(1), 2016.
    """

    iterations: int = 100
    bend: float = math.radians(2)
    finish: bool = True
    restarts: int = 8

    def __post_init__(self) -> None:
        checked_options: dict[str, Any] = {
            "iterations": check_count(self.iterations, "iterations"),
            "restarts": check_count(self.restarts, "restarts"),
            "bend": check_real(self.bend, "bend"),
            "finish": check_bool(self.finish, "finish"),
        }
        if not 0 <= checked_options["bend"] < math.pi / 2:
            raise InputError(f"bend must be an angle from 0 up to a quarter turn (pi/2 rad), not {self.bend!r}")
        for option, value in checked_options.items():
            object.__setattr__(self, option, value)  # NumPy numbers become Python ones

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "fabrik"

    @property
    def handles(self) -> Capabilities:
        """Positions on uncoupled balls and hinges."""
        return Capabilities(
            goals=("Position", "Pin"),
            joints=(Kind.HINGE, Kind.BALL),
            coupled=False,
            free_root=False,
            prefer=("first",),
        )

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W), as a chain or tree. A single Position goal is solved on a chain."""
        if not problem.joints:
            return lm_engine.answer_with_start(problem, targets, tolerance, request)
        if _is_chain(problem):
            return run_bound(self._bind_chain(problem, tolerance, request), targets)
        if any(measure.kind != POSITION for measure in problem.measures):
            raise UnsupportedError(
                "fabrik moves joints to points and holds no rotations: hold a point with Pin(..., rotation=False)"
            )
        return self._solve_tree(problem, targets, tolerance, request)

    def bind(self, problem: Problem, tolerance: Tolerance, request: Request) -> ChainSolve | None:
        """Bind the options to the problem of a chain; see `BoundSolve`."""
        return self._bind_chain(problem, tolerance, request) if problem.joints and _is_chain(problem) else None

    def _bind_chain(self, problem: Problem, tolerance: Tolerance, request: Request) -> ChainSolve:
        chain = find_chain(problem, self.name)
        kernel = self._pack_cached(problem, chain, tolerance)
        return ChainSolve(problem, chain, request, kernel, self.iterations + 1, chain.kernel_unit_in_world)

    def _pack_cached(self, problem: Problem, chain: Chain, tolerance: Tolerance) -> ChainKernel:
        if not is_builtin(self):
            return self._pack(problem, chain, tolerance)
        key = self, tolerance, problem.error_paths is None, problem.has_preference
        return get_or_compute(chain, "fabrik", key, lambda: self._pack(problem, chain, tolerance))

    def _pack(self, problem: Problem, chain: Chain, tolerance: Tolerance) -> ChainKernel:
        """Pack the kernel and its constant inputs."""
        has_limits = bool(chain.limits.any() or (chain.link_kinds != BALL).any())
        solve_kernel = kernels.fabrik.solve_limited if has_limits else kernels.fabrik.solve
        max_distance = tolerance.distance / chain.kernel_unit_in_world
        options = np.array([max_distance, self.iterations, self.bend, self.finish, self.restarts])
        work_size = kernels.fabrik.compute_work_size(len(chain.link_kinds))
        return ChainKernel(solve_kernel, pack_chain_tables(problem, chain, options, work_size))

    def _solve_tree(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Sweep over a tree, then polish missed targets."""
        plan = problem.plan
        kernel_targets, bone_arrays = (
            np.ascontiguousarray(problem.compute_kernel_targets(targets)),
            build_bone_arrays(plan),
        )
        k, nu = len(kernel_targets), plan.layout.nu
        max_sweeps = (self.iterations + 1) // 2 if self.finish else self.iterations
        u, kernel_counts = np.zeros((k, nu)), np.zeros((k, 3), dtype=np.int64)
        max_trace_rows = max_sweeps + 1 if request.trace else 0
        trace_u, trace_error = np.zeros((max_trace_rows, nu)), np.zeros(max_trace_rows)
        max_distance = tolerance.distance / plan.kernel_unit_in_world * lm_engine.KERNEL_TOLERANCE_RATIO
        start_u, option_row = np.ascontiguousarray(problem.start_u), np.array([max_distance, max_sweeps, self.finish])
        work_size = kernels.fabrik_tree.compute_work_size(len(plan.node_table), nu)

        def solve_range(first: int, last: int) -> None:
            rows = slice(first, last)
            kernels.fabrik_tree.solve(
                plan.node_table, select_rows(plan.frames, rows), plan.layout.dofs, plan.limit_rows, plan.term_table,
                plan.effectors, *bone_arrays, select_rows(start_u, rows), kernel_targets[rows], option_row,
                u[rows], kernel_counts[rows], trace_u, trace_error, get_scratch(work_size),
            )  # fmt: skip

        solve_in_parts(k, 1 if request.trace else request.threads, solve_range, request.progress)
        is_met, iterations, joint_updates = (
            kernel_counts[:, COUNT_IS_MET] > 0,
            kernel_counts[:, COUNT_ITERATIONS],
            kernel_counts[:, COUNT_JOINT_STEPS],
        )
        trace_count = int(iterations[0]) + 1 if k else 0
        errors, traced_u = trace_error[:trace_count], trace_u[:trace_count]
        is_missed = ~is_met
        if self.finish and self.iterations > max_sweeps and is_missed.any():
            options = lm_engine.LmOptions(
                iterations=self.iterations - max_sweeps,
                restarts=self.restarts,
                damping=_POLISH_DAMPING,
                min_damping=_MIN_POLISH_DAMPING,
                candidate_count=_POLISH_CANDIDATES,
                polish_iterations=self.iterations - max_sweeps,
            )
            engine = lm_engine.TreeEngine(problem, tolerance, options).select_rows(is_missed)
            max_trace_rows = lm_engine.count_trace_rows(problem, options) if request.trace else 0
            output = engine.solve(
                kernel_targets[is_missed], u[is_missed], threads=request.threads, max_trace_rows=max_trace_rows
            )
            u[is_missed], is_met[is_missed] = output.u, output.met
            iterations[is_missed] += output.iterations
            joint_updates[is_missed] += output.iterations * len(plan.node_table)
            if output.trace is not None:
                errors = np.concatenate([errors, np.sqrt(output.trace[1:, 0])])
                traced_u = np.concatenate([traced_u, output.trace[1:, 1:]])
        trace = (
            Trace(errors, problem.compute_q(traced_u, np.arange(len(traced_u)) > 0, traced=True))
            if request.trace
            else None
        )
        return Answer(problem.compute_q(u, iterations > 0), is_met, iterations, joint_updates, trace)


# Of the polish on trees; see LevenbergMarquardt
_POLISH_DAMPING = 0.04  # damping per squared error
_MIN_POLISH_DAMPING = 1e-8  # damping at an error of zero
_POLISH_CANDIDATES = 16  # starts compared for each restart of an arm; trees do not use it


def _is_chain(problem: Problem) -> bool:
    return len(problem.goals) == 1 and isinstance(problem.goals[0], Position)


class BoneArrays(NamedTuple):
    """Bones of each node, and weights of the goals at their ends. See `BoneTree` in kernels/fabrik_tree.py.

    first_bones   (n + 1,) first bone of each node
    bones         (b, 2) kind of the bone's end, and its node or term
    goal_weights  (n + t,) total weight of the goals below each node; then of each term
    """

    first_bones: Ints
    bones: Ints
    goal_weights: Floats


def build_bone_arrays(plan: Plan) -> BoneArrays:
    """List the bones of each node of a tree. They lead to its child nodes and to its goals' tips."""
    nodes, terms = plan.layout.nodes, plan.layout.terms
    bones_by_node: list[list[tuple[int, int]]] = [[] for _ in nodes]
    goal_weights = np.append(np.zeros(len(nodes)), plan.effectors[:, EFFECTOR_WEIGHT] ** 2)
    for t, term in enumerate(terms):
        bones_by_node[term.node_index].append((TERM_END, t))
        goal_weights[term.node_index] += goal_weights[len(nodes) + t]
    for i in range(len(nodes) - 1, -1, -1):
        if nodes[i].parent >= 0:
            bones_by_node[nodes[i].parent].append((NODE_END, i))
            goal_weights[nodes[i].parent] += goal_weights[i]
    first_bones = np.cumsum([0, *(len(bones) for bones in bones_by_node)])
    packed_bones = np.array([bone for bones in bones_by_node for bone in bones], dtype=np.int64).reshape(-1, 2)
    return BoneArrays(first_bones, packed_bones, goal_weights)


Solver = FABRIK
