"""Search from several starts: random starts, closest solution, all solutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.limit_bounds import clamp_angles
from poise.model.limits import Range
from poise.model.skeleton import Kind, Skeleton
from poise.solvers.base.interface import Answer, Request
from poise.solvers.base.lm_engine import Engine

DRAWS_PER_JOINT = 6  # random numbers in 0..1 per joint
_FULL_TURN_RAD = 2 * np.pi


def draw_random_starts(
    skeleton: Skeleton,
    q: Floats,
    rows: tuple[int, ...],
    share: float,
    draws: Floats,
    *,
    length: float,
    translates: bool,
) -> Floats:
    """Draw random values for the joints in `rows` of q (k, nq). The result is within limits if q is.

    share       largest offset, as a share of a joint's range; of half a turn, or of `length` for slides, where the
                range is infinite. Values are uniform in the allowed part
    draws       (rows, DRAWS_PER_JOINT) numbers in 0..1, the same for every configuration
    length      [file units]
    translates  whether a free joint translates as well
    """
    q = q.copy()
    for row, numbers in zip(rows, draws, strict=True):
        first, kind, limit = int(skeleton.q_start[row]), skeleton.kinds[row], skeleton.limits[row]
        if kind in (Kind.HINGE, Kind.SLIDE):
            half_width = np.pi if kind == Kind.HINGE else length
            low, high = skeleton.value_ranges[first]
            q[:, first] = _draw_in_range(q[:, first], low, high, share, half_width, numbers[0])
            continue
        if kind == Kind.FREE:
            for axis in range(3 if translates else 0):
                column, (low, high) = first + axis, skeleton.value_ranges[first + axis]
                q[:, column] = _draw_in_range(q[:, column], low, high, share, length, numbers[3 + axis])
            first += 3
        quaternions = q[:, first : first + 4]
        if isinstance(limit, Range) and limit.axis is not None:
            angle = clamp_angles(rotations.twist_angle(quaternions, np.array(limit.axis)), limit.low, limit.high)
            new_angle = _draw_in_range(angle, limit.low, limit.high, share, np.pi, numbers[0])
            q[:, first : first + 4] = rotations.about(np.array(limit.axis), new_angle)
        else:
            rotation = np.broadcast_to(_draw_rotation(share * np.pi, numbers), quaternions.shape)
            q[:, first : first + 4] = rotations.normalised(rotations.multiply(rotation, quaternions))
    return skeleton.legal(q)[0]


def _draw_in_range(value: Floats, low: float, high: float, share: float, unbounded_width: float, draw: float) -> Floats:
    """Draw values (k,) from low..high within an offset.

    The offset is a share of the range, or of `unbounded_width` where the range is infinite.
    """
    span = high - low
    reach = share * (span if np.isfinite(span) else unbounded_width)
    from_, to = np.maximum(low, value - reach), np.minimum(high, value + reach)
    return np.clip(from_ + draw * (to - from_), low, high)


def _draw_rotation(max_angle: float, draws: Floats) -> Floats:
    """Draw a rotation by at most `max_angle` [rad], uniformly in rotation vectors."""
    height, around = 2 * draws[0] - 1, _FULL_TURN_RAD * draws[1]
    radius = np.sqrt(1 - height * height)
    axis = np.array([radius * np.cos(around), radius * np.sin(around), height])
    return rotations.about(axis, max_angle * np.cbrt(draws[2]))


# --- Search for the closest solution or all distinct solutions -------------------------------------------------------


_CLOSEST_START_COUNT, _ALL_START_COUNT = 64, 512  # default number of starts for "closest" and "all"
_MIN_SOLUTION_DISTANCE = 1e-3  # [rad, file units] smallest difference of distinct solutions
_FAMILY_RADIUS = 0.5  # [rad, file units] cluster radius of redundant chains, with continuous solution families
_MAX_PARALLEL_STARTS = 65_536  # starts in memory at once


def solve_closest(engine: Engine, targets: Floats, request: Request) -> Answer:
    """Return the solution nearest to the start.

    Distance is the sum of squared joint differences; candidates come from the start and the seeds.
    """
    count = request.seeds or _CLOSEST_START_COUNT
    chunk = max(_MAX_PARALLEL_STARTS // count, 1)
    problem, plan = engine.problem, engine.problem.plan
    u, met = np.zeros((len(targets), plan.layout.nu)), np.zeros(len(targets), dtype=bool)
    iterations = np.zeros(len(targets), dtype=np.int64)
    starts = np.broadcast_to(problem.starts, u.shape)
    for first in range(0, len(targets), chunk):
        rows = slice(first, first + chunk)
        u[rows], met[rows], iterations[rows] = _solve_closest_chunk(
            engine.select_rows(rows), targets[rows], starts[rows], count, request.threads
        )
        if request.progress is not None:
            request.progress(len(targets[rows]))
    missed = ~met
    if missed.any():  # the normal solve takes more iterations, and polishes the nearest pose
        part = engine.select_rows(missed)
        output = part.solve_first(part.pack_targets(targets[missed]), starts[missed], threads=request.threads)
        u[missed], met[missed] = output.u, output.met
        iterations[missed] += output.iterations
    moved = (u != starts).any(axis=-1)
    return Answer(problem.q_of(u, moved), met, iterations, iterations * len(plan.layout.dofs))


def _solve_closest_chunk(
    engine: Engine, targets: Floats, starts: Floats, count: int, threads: int
) -> tuple[Floats, Bools, Ints]:
    plan = engine.problem.plan
    solutions, met, iterations = _solve_from_all_starts(engine, targets, starts, count, threads)
    start_of_solution = np.repeat(starts, count, axis=0)
    solutions = plan.unwrap_near(solutions.reshape(start_of_solution.shape), start_of_solution).reshape(solutions.shape)
    squared_distance = (plan.compute_differences(solutions, starts[:, None]) ** 2).sum(axis=-1)
    best = np.where(met, squared_distance, np.inf).argmin(axis=1)
    nearest = np.take_along_axis(solutions, best[:, None, None], axis=1)[:, 0]
    return nearest, np.any(met, axis=1), np.sum(iterations, axis=1)


def solve_all(engine: Engine, targets: Floats, request: Request, min_distance: float | None) -> Answer:
    """Return all distinct solutions of one target, nearest first. The nearest one is the answer.

    Solutions that differ by whole turns count as one, at the turn nearest to the start within limits. Chains with more
    degrees of freedom than the goals constrain have continuous families of solutions. Of these one per cluster of
    radius `min_distance` is returned, chosen greedily from the nearest to the start on.
    """
    problem, plan = engine.problem, engine.problem.plan
    count = request.seeds or _ALL_START_COUNT
    all_u, met, iterations = _solve_from_all_starts(engine, targets, problem.starts, count, request.threads)
    u = plan.unwrap_near(all_u[met], problem.starts)
    if not len(u):
        answer = solve_closest(engine, targets, replace(request, seeds=1))
        return answer._replace(solutions=answer.q[answer.met])
    u = u[np.argsort((plan.compute_differences(u, problem.starts) ** 2).sum(axis=-1), kind="stable")]
    radius = min_distance or (
        _FAMILY_RADIUS if len(plan.layout.dofs) > plan.layout.target_dofs else _MIN_SOLUTION_DISTANCE
    )
    distinct: list[Floats] = []
    while len(u):
        distinct.append(u[0])
        u = u[plan.compute_differences(u, u[0]).max(axis=-1) > radius]
    solutions = np.stack(distinct)
    q = problem.q_of(solutions, (solutions != problem.starts[0]).any(axis=-1))
    total = iterations.sum(axis=1)
    return Answer(q[:1], np.ones(1, dtype=bool), total, total * len(plan.layout.dofs), solutions=q)


def _solve_from_all_starts(
    engine: Engine, targets: Floats, starts: Floats, count: int, threads: int
) -> tuple[Floats, Bools, Ints]:
    """Solve every target from every start: u (k, count, nu). Also return success and iterations (k, count)."""
    single_start_options = replace(engine.options, restarts=0, polish_iterations=0)
    from_u = engine.build_starts(starts, count).reshape(-1, starts.shape[-1])
    rows = np.repeat(engine.pack_targets(targets), count, axis=0)
    output = engine.solve_first(rows, from_u, threads=threads, options=single_start_options)
    shape = (len(targets), count)
    return output.u.reshape(*shape, starts.shape[-1]), output.met.reshape(shape), output.iterations.reshape(shape)
