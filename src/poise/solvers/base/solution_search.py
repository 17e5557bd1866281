"""Search for the closest solution, or for all distinct solutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.maths.arrays import (
    Bools,
    Floats,
    Ints,
)
from poise.solvers.base.interface import Answer, Request
from poise.solvers.base.lm_engine import Engine

_CLOSEST_START_COUNT, _ALL_START_COUNT = 64, 512  # default number of starts for "closest" and "all"
_MIN_SOLUTION_DISTANCE = 1e-3  # [rad, file units] smallest difference of distinct solutions
_FAMILY_RADIUS = 0.5  # [rad, file units] cluster radius of redundant chains, with continuous solution families
_MAX_PARALLEL_STARTS = 65_536  # starts in memory at once


def solve_closest(engine: Engine, targets: Floats, request: Request) -> Answer:
    """Return the solution nearest to the start.

    Distance is the sum of squared joint differences; candidates come from the start and further starts.
    """
    start_count = request.seeds or _CLOSEST_START_COUNT
    chunk_size = max(_MAX_PARALLEL_STARTS // start_count, 1)
    problem, plan = engine.problem, engine.problem.plan
    u, is_met = np.zeros((len(targets), plan.layout.nu)), np.zeros(len(targets), dtype=bool)
    iterations = np.zeros(len(targets), dtype=np.int64)
    start_u = np.broadcast_to(problem.start_u, u.shape)
    for first in range(0, len(targets), chunk_size):
        rows = slice(first, first + chunk_size)
        u[rows], is_met[rows], iterations[rows] = _solve_closest_chunk(
            engine.select_rows(rows), targets[rows], start_u[rows], start_count, request.threads
        )
        if request.progress is not None:
            request.progress(len(targets[rows]))
    is_missed = ~is_met
    if is_missed.any():  # the normal solve takes more iterations, and polishes the nearest pose
        missed_engine = engine.select_rows(is_missed)
        output = missed_engine.solve(
            missed_engine.pack_targets(targets[is_missed]), start_u[is_missed], threads=request.threads
        )
        u[is_missed], is_met[is_missed] = output.u, output.met
        iterations[is_missed] += output.iterations
    is_moved = (u != start_u).any(axis=-1)
    return Answer(problem.compute_q(u, is_moved), is_met, iterations, iterations * len(plan.layout.dofs))


def _solve_closest_chunk(
    engine: Engine, targets: Floats, start_u: Floats, start_count: int, threads: int
) -> tuple[Floats, Bools, Ints]:
    plan = engine.problem.plan
    solutions, is_met, iterations = _solve_from_all_starts(engine, targets, start_u, start_count, threads)
    start_of_solution = np.repeat(start_u, start_count, axis=0)
    solutions = plan.unwrap_near(solutions.reshape(start_of_solution.shape), start_of_solution).reshape(solutions.shape)
    squared_distance = (plan.compute_differences(solutions, start_u[:, None]) ** 2).sum(axis=-1)
    best_index = np.where(is_met, squared_distance, np.inf).argmin(axis=1)
    nearest_u = np.take_along_axis(solutions, best_index[:, None, None], axis=1)[:, 0]
    return nearest_u, np.any(is_met, axis=1), np.sum(iterations, axis=1)


def solve_all(engine: Engine, targets: Floats, request: Request, min_distance: float | None) -> Answer:
    """Return all distinct solutions of one target, nearest first. The nearest one is the answer.

    Solutions that differ by whole turns count as one, at the turn nearest to the start within limits. Chains with more
    degrees of freedom than the goals constrain have continuous families of solutions. Of these one per cluster of
    radius `min_distance` is returned, chosen greedily from the nearest to the start on.
    """
    problem, plan = engine.problem, engine.problem.plan
    start_count = request.seeds or _ALL_START_COUNT
    all_u, is_met, iterations = _solve_from_all_starts(engine, targets, problem.start_u, start_count, request.threads)
    u = plan.unwrap_near(all_u[is_met], problem.start_u)
    if not len(u):
        answer = solve_closest(engine, targets, replace(request, seeds=1))
        return answer._replace(solutions=answer.q[answer.met])
    u = u[np.argsort((plan.compute_differences(u, problem.start_u) ** 2).sum(axis=-1), kind="stable")]
    radius = min_distance or (
        _FAMILY_RADIUS if len(plan.layout.dofs) > plan.layout.target_dofs else _MIN_SOLUTION_DISTANCE
    )
    distinct_u: list[Floats] = []
    while len(u):
        distinct_u.append(u[0])
        u = u[plan.compute_differences(u, u[0]).max(axis=-1) > radius]
    solutions = np.stack(distinct_u)
    q = problem.compute_q(solutions, (solutions != problem.start_u[0]).any(axis=-1))
    iteration_total = iterations.sum(axis=1)
    return Answer(q[:1], np.ones(1, dtype=bool), iteration_total, iteration_total * len(plan.layout.dofs), solutions=q)


def _solve_from_all_starts(
    engine: Engine, targets: Floats, start_u: Floats, start_count: int, threads: int
) -> tuple[Floats, Bools, Ints]:
    """Solve every target from every start: u (k, start_count, nu).

    Also return success and iterations (k, start_count).
    """
    single_start_options = replace(engine.options, restarts=0, polish_iterations=0)
    all_start_u = engine.build_starts(start_u, start_count).reshape(-1, start_u.shape[-1])
    repeated_targets = np.repeat(engine.pack_targets(targets), start_count, axis=0)
    output = engine.solve(repeated_targets, all_start_u, threads=threads, options=single_start_options)
    batch_shape = (len(targets), start_count)
    return (
        output.u.reshape(*batch_shape, start_u.shape[-1]),
        output.met.reshape(batch_shape),
        output.iterations.reshape(batch_shape),
    )
