"""Solve a batch of targets and build its Result."""

from __future__ import annotations

from poise import solvers
from poise.maths.arrays import Floats
from poise.problem.feasibility import has_closed_loops
from poise.problem.goals import Goal
from poise.problem.problem import Problem, Tolerance
from poise.runtime.immutable_values import freeze_arrays
from poise.solvers.base.interface import Request
from poise.solvers.natural.natural import Natural
from poise.solving.batch import solve_and_measure
from poise.solving.diagnosis import get_restraints
from poise.solving.result import Result


def solve_batch(
    problem: Problem,
    targets: Floats,
    solver: solvers.Solver,
    tolerance: Tolerance,
    request: Request,
    shape: tuple[int, ...],
    clamped_joints: tuple[str, ...],
    start_time: float,
    goals: tuple[Goal, ...] | None = None,
) -> Result:
    """Solve a problem for targets (k, W) and measure the answer.

    shape           batch axes of the Result
    clamped_joints  joints with a start outside their limits
    goals           goals with the targets, if the caller supplied goals
    """
    measured = solve_and_measure(problem, targets, solver, tolerance, request)
    answer, is_reached = measured.answer, problem.is_met(measured.errors, tolerance)
    if problem.skeleton.loops:
        is_reached &= has_closed_loops(problem, answer.q)
    is_reached = is_reached.reshape(shape)
    freeze_arrays((answer.trace,))
    fields = {
        "problem": problem,
        "targets": targets,
        "q": answer.q.reshape(*shape, answer.q.shape[-1]),
        "errors": measured.errors.reshape(*shape, measured.errors.shape[-1]),
        "reached": is_reached if shape else bool(is_reached),
        "iterations": answer.iterations.reshape(shape),
        "joint_updates": answer.joint_updates.reshape(shape),
        "solver": solver.name,
        "natural": isinstance(solver, Natural),
        "moved_inside": clamped_joints,
        "trace": answer.trace,
        "solutions_q": answer.solutions,
        "tolerances": tolerance,
        "restrained": solver if problem.has_pulls or get_restraints(solver) else None,
    }
    return Result(fields if goals is None else fields | {"goals": goals}, start_time)
