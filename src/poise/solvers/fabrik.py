"""FABRIK: forward and backward reaching of joint positions.

Joints are dragged as points, from the tip at its target, then from the base.

Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models 73(5),
2011; with limits Aristidou, Chrysanthou and Lasenby, Computer Animation and Virtual Worlds 27(1), 2016. Rotations are
computed once, at the end, so bone lengths are those of the skeleton.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.errors import InputError, UnsupportedError
from poise.kernels.layout import BALL
from poise.maths.arguments import check_bool, count, require_keywords
from poise.maths.arrays import Floats, Ints, real
from poise.maths.caching import get_or_compute
from poise.model.skeleton import Kind
from poise.problem.chain import Chain, find_chain
from poise.problem.dof_layout import POSITION
from poise.problem.goals import Position
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base import lm_engine
from poise.solvers.base.interface import Answer, Capabilities, Request, Trace, is_builtin


@require_keywords
@dataclass(frozen=True, kw_only=True)
class FABRIK:
    """Forward and backward reaching for Position goals. It moves ball joints and hinges within their limits.

    The joints are points: one pass drags them from the tip at its target towards the base, the next one from the base
    back out. Rotations are computed once, at the end.

    Parameters
    ----------
    iterations
        Largest number of sweeps (forward and backward) and steps of the finish together, at most 1,000,000. With
        several goals each restart of the finish may take half as many again.
    bend
        [rad] A chain that is straight within this angle and misses its goal is bent by it first, always to the same
        side: sweeps cannot bend a straight chain with the target on its own line. 0 switches it off. With several goals
        nothing is bent.
    finish
        Whether damped Gauss-Newton steps of all joints at once take over from slow sweeps: from a sweep leaving more
        than seven tenths of the error (a nearly extended chain needs hundreds), or after three sweeps with limits.
        Without a finish it is the algorithm of the papers, for study.
    restarts
        Largest number of restarts from other poses within limits, at most 1,000,000, where limits or several goals
        stall the sweeps. Only with a finish. Their sweeps count as iterations.

    Notes
    -----
    A target out of reach of a chain without limits is answered in closed form: the chain is straightened towards it;
    for a target too near, the longest bone points towards it and all others point back.

    Balls rotate by shortest arcs from the start, in the new frame of their parent, so each bone keeps its twist. Joints
    with a bone of zero length move in the finish only. At joints shared by several goals (hands and head of one spine)
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
        numbers: dict[str, Any] = {
            "iterations": count("iterations", self.iterations),
            "restarts": count("restarts", self.restarts),
            "bend": real(self.bend, "bend"),
            "finish": check_bool("finish", self.finish),
        }
        if not 0 <= numbers["bend"] < math.pi / 2:
            raise InputError(f"bend must be an angle from 0 up to a quarter turn (pi/2 rad), not {self.bend!r}")
        for option, number in numbers.items():
            object.__setattr__(self, option, number)  # NumPy numbers become Python ones

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
        if len(problem.goals) == 1 and isinstance(problem.goals[0], Position):
            return self._solve_chain(problem, find_chain(problem, self.name), targets, tolerance, request)
        if any(measure.kind != POSITION for measure in problem.measures):
            raise UnsupportedError(
                "fabrik moves joints to points and holds no rotations: hold a point with Pin(..., rotation=False)"
            )
        return self._solve_tree(problem, targets, tolerance, request)

    def _solve_chain(
        self, problem: Problem, chain: Chain, targets: Floats, tolerance: Tolerance, request: Request
    ) -> Answer:
        k, m = len(targets), len(chain.kinds)
        x, errors, counts = np.zeros((k, m, 4)), np.zeros(k), np.zeros((k, 2), dtype=np.int64)
        max_trace_rows = self.iterations + 1 if request.trace else 0
        trace_x, trace_error = np.zeros((max_trace_rows, m, 4)), np.zeros(max_trace_rows)
        solve, packed_chain, options = self._pack_cached(chain, tolerance)
        starts_and_targets = (
            chain.pack_starts(problem),
            np.ascontiguousarray(chain.pack_targets(problem, targets)[:, :3]),
        )
        solve(*packed_chain, *starts_and_targets, options, x, errors, counts, trace_x, trace_error)
        history = None
        if request.trace:
            trace_count = int(counts[0, 0]) + 1
            trace_q = chain.motions_to_q(problem, trace_x[:trace_count], np.arange(trace_count) > 0, traced=True)
            history = Trace(trace_error[:trace_count] * chain.unit, trace_q)
        q = chain.motions_to_q(problem, x, counts[:, 1] > 0)
        return Answer(q, errors <= options[0], counts[:, 0], counts[:, 1], history)

    def _pack_cached(self, chain: Chain, tolerance: Tolerance) -> tuple[Any, tuple[Any, ...], Floats]:
        if not is_builtin(self):
            return self._pack(chain, tolerance)
        return get_or_compute(chain, "fabrik", (self, tolerance), lambda: self._pack(chain, tolerance))

    def _pack(self, chain: Chain, tolerance: Tolerance) -> tuple[Any, tuple[Any, ...], Floats]:
        """Pack the kernel, its chain inputs and options."""
        limited = bool(chain.limits.any() or (chain.kinds != BALL).any())
        solve = kernels.fabrik.solve_limited if limited else kernels.fabrik.solve
        packed_chain = (chain.kinds, chain.axes, chain.ranges, chain.limits, chain.frames, chain.points)
        max_distance = tolerance.distance / chain.unit
        return solve, packed_chain, np.array([max_distance, self.iterations, self.bend, self.finish, self.restarts])

    def _solve_tree(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Sweep over a tree, then polish missed targets."""
        plan = problem.plan
        aims, branches = np.ascontiguousarray(problem.compute_kernel_targets(targets)), build_branches(plan)
        k, nu = len(aims), plan.layout.nu
        sweeps = (self.iterations + 1) // 2 if self.finish else self.iterations
        u, counts = np.zeros((k, nu)), np.zeros((k, 3), dtype=np.int64)
        rows = sweeps + 1 if request.trace else 0
        trace_u, trace_error = np.zeros((rows, nu)), np.zeros(rows)
        max_distance = tolerance.distance / plan.unit * lm_engine.KERNEL_TOLERANCE_RATIO
        kernels.fabrik_tree.solve(
            plan.nodes, plan.frames, plan.layout.dofs, plan.limits, plan.terms, plan.aims, *branches,
            np.ascontiguousarray(problem.start_u), aims, np.array([max_distance, sweeps, self.finish]), u, counts,
            trace_u,
            trace_error,
        )  # fmt: skip
        met, iterations, updates = counts[:, 2] > 0, counts[:, 0], counts[:, 1]
        trace_count = int(iterations[0]) + 1 if k else 0
        errors, traced_u = trace_error[:trace_count], trace_u[:trace_count]
        is_missed = ~met
        if self.finish and self.iterations > sweeps and is_missed.any():
            options = lm_engine.LmOptions(
                self.iterations - sweeps, self.restarts, _ENGINE_DAMPING, 1e-8, 16, self.iterations - sweeps
            )
            engine = lm_engine.TreeEngine(problem, tolerance, options).select_rows(is_missed)
            rows = lm_engine.count_trace_rows(problem, options) if request.trace else 0
            output = engine.solve_first(aims[is_missed], u[is_missed], threads=request.threads, trace=rows)
            u[is_missed], met[is_missed] = output.u, output.met
            iterations[is_missed] += output.iterations
            updates[is_missed] += output.iterations * len(plan.nodes)
            if output.trace is not None:
                errors = np.concatenate([errors, np.sqrt(output.trace[1:, 0])])
                traced_u = np.concatenate([traced_u, output.trace[1:, 1:]])
        history = (
            Trace(errors, problem.compute_q(traced_u, np.arange(len(traced_u)) > 0, traced=True))
            if request.trace
            else None
        )
        return Answer(problem.compute_q(u, iterations > 0), met, iterations, updates, history)


_ENGINE_DAMPING = 0.04  # damping per squared error of the engine, see LevenbergMarquardt


class Branches(NamedTuple):
    """Bones of each node, with weights, for kernels/fabrik_tree.py."""

    first_bones: Ints
    bones: Ints
    branch_weights: Floats


def build_branches(plan: Plan) -> Branches:
    """List the bones of each node of a tree. They lead to its child nodes and to its goals' tips."""
    nodes, terms = plan.layout.nodes, plan.layout.terms
    ends: list[list[tuple[int, int]]] = [[] for _ in nodes]
    shares = np.append(np.zeros(len(nodes)), plan.aims[:, 7] ** 2)
    for t, term in enumerate(terms):
        ends[term.node].append((1, t))
        shares[term.node] += shares[len(nodes) + t]
    for i in range(len(nodes) - 1, -1, -1):
        if nodes[i].parent >= 0:
            ends[nodes[i].parent].append((0, i))
            shares[nodes[i].parent] += shares[i]
    first = np.cumsum([0, *(len(bones) for bones in ends)])
    packed_bones = np.array([end for bones in ends for end in bones], dtype=np.int64).reshape(-1, 2)
    return Branches(first, packed_bones, shares)


Solver = FABRIK
