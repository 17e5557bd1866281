"""Search for the closest solution or all distinct solutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.maths.arrays import Bools, Floats, Ints
from poise.solvers.base.contract import Answer, Request
from poise.solvers.base.engine import Engine

_CLOSEST, _ALL = 64, 512  # default number of starts for "closest" and "all"
_SAME = 1e-3  # [rad, file units] smallest difference of distinct solutions
_FAMILY = 0.5  # [rad, file units] cluster radius of redundant chains, with continuous solution families
_TOGETHER = 65_536  # starts in memory at once


def closest(engine: Engine, targets: Floats, request: Request) -> Answer:
    """Return the solution nearest to the start.

    Distance is the sum of squared joint differences; candidates come from the start and the seeds.
    """
    count = request.seeds or _CLOSEST
    chunk = max(_TOGETHER // count, 1)
    problem, plan = engine.problem, engine.problem.plan
    u, met = np.zeros((len(targets), plan.layout.nu)), np.zeros(len(targets), dtype=bool)
    iterations = np.zeros(len(targets), dtype=np.int64)
    starts = np.broadcast_to(problem.starts, u.shape)
    for first in range(0, len(targets), chunk):
        rows = slice(first, first + chunk)
        u[rows], met[rows], iterations[rows] = _closest(
            engine.part(rows), targets[rows], starts[rows], count, request.threads
        )
        if request.progress is not None:
            request.progress(len(targets[rows]))
    missed = ~met
    if missed.any():  # the normal solve takes more iterations, and polishes the nearest pose
        part = engine.part(missed)
        found = part.first(part.kernel_targets(targets[missed]), starts[missed], threads=request.threads)
        u[missed], met[missed] = found.u, found.met
        iterations[missed] += found.iterations
    moved = (u != starts).any(axis=-1)
    return Answer(problem.q_of(u, moved), met, iterations, iterations * len(plan.layout.dofs))


def _closest(engine: Engine, targets: Floats, starts: Floats, count: int, threads: int) -> tuple[Floats, Bools, Ints]:
    plan = engine.problem.plan
    found, met, iterations = _attempts(engine, targets, starts, count, threads)
    every = np.repeat(starts, count, axis=0)
    found = plan.turned_near(found.reshape(every.shape), every).reshape(found.shape)
    away = (plan.differences(found, starts[:, None]) ** 2).sum(axis=-1)
    best = np.where(met, away, np.inf).argmin(axis=1)
    chosen = np.take_along_axis(found, best[:, None, None], axis=1)[:, 0]
    return chosen, np.any(met, axis=1), np.sum(iterations, axis=1)


def every(engine: Engine, targets: Floats, request: Request, apart: float | None) -> Answer:
    """Return all distinct solutions of one target, nearest first. The nearest one is the answer.

    Solutions that differ by whole turns count as one, at the turn nearest to the start within limits. Chains with more
    degrees of freedom than the goals constrain have continuous families of solutions. Of these one per cluster of
    radius `min_distance` is returned, chosen greedily from the nearest to the start on.
    """
    problem, plan = engine.problem, engine.problem.plan
    count = request.seeds or _ALL
    found, met, iterations = _attempts(engine, targets, problem.starts, count, request.threads)
    u = plan.turned_near(found[met], problem.starts)
    if not len(u):
        answer = closest(engine, targets, replace(request, seeds=1))
        return answer._replace(solutions=answer.q[answer.met])
    u = u[np.argsort((plan.differences(u, problem.starts) ** 2).sum(axis=-1), kind="stable")]
    radius = apart or (_FAMILY if len(plan.layout.dofs) > plan.layout.asked else _SAME)
    chosen: list[Floats] = []
    while len(u):
        chosen.append(u[0])
        u = u[plan.differences(u, u[0]).max(axis=-1) > radius]
    solutions = np.stack(chosen)
    q = problem.q_of(solutions, (solutions != problem.starts[0]).any(axis=-1))
    total = iterations.sum(axis=1)
    return Answer(q[:1], np.ones(1, dtype=bool), total, total * len(plan.layout.dofs), solutions=q)


def _attempts(engine: Engine, targets: Floats, starts: Floats, count: int, threads: int) -> tuple[Floats, Bools, Ints]:
    """Solve every target from every start: u (k, count, nu). Also return success and iterations (k, count)."""
    alone = replace(engine.options, restarts=0, polish=0)
    from_u = engine.attempts(starts, count).reshape(-1, starts.shape[-1])
    rows = np.repeat(engine.kernel_targets(targets), count, axis=0)
    found = engine.first(rows, from_u, threads=threads, options=alone)
    shape = (len(targets), count)
    return found.u.reshape(*shape, starts.shape[-1]), found.met.reshape(shape), found.iterations.reshape(shape)
