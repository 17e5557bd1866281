"""One solve of a method, packed as kernel calls for a page.

The calls are those of `poise.solve(start, goals, solver=...)` in Python for one target, in their order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from poise import kernels, solvers
from poise.errors import UnsupportedError
from poise.kernels.layout import (
    ARM_RESULT_ROW,
    ARM_WORKSPACE_PER_TARGET,
    COUNT_IS_MET,
    COUNT_ITERATIONS,
    DOF_HIGH,
    DOF_LOW,
    OUTCOME_IS_MET,
)
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.problem.chain import Chain
from poise.problem.dof_layout import BALL, DIRECTION, MOVE, TARGET_SIZES
from poise.problem.feasibility import find_free_reach
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR, find_static_transform
from poise.problem.goals import Goal
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base import jacobian_method, lm_engine
from poise.solvers.base.chain_solve import ChainSolve
from poise.solvers.base.interface import Request
from poise.solvers.base.jacobian_method import JacobianMethod
from poise.solvers.base.random_starts import draw_restarts
from poise.solvers.ccd import CCD
from poise.solvers.fabrik import FABRIK
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.viewer.offline.program import ArrayStore, Buffer, Program

METHODS = {
    "ccd": "CCD",
    "fabrik": "FABRIK",
    "levenberg_marquardt": "Levenberg-Marquardt",
    "jacobian_transpose": "Jacobian transpose",
    "damped_least_squares": "Damped least squares",
    "selectively_damped": "Selectively damped least squares",
}
_MOTION_WIDTHS = {BALL: 4, MOVE: 3}  # numbers of a link's motion that are coordinates; others have one
MAX_CURVE = 1200  # iterations with errors: of the Jacobian methods all


class Setup(NamedTuple):
    """A solve to pack: start pose, goals, and their problem."""

    start: Pose
    goals: tuple[Goal, ...]
    problem: Problem
    tolerance: Tolerance


class _Solve(NamedTuple):
    """Program of a solve, with the arrays at its beginning.

    start_u    of the start, in the plan's coordinates
    max_curve  number of iterations with errors; 0: no curve
    """

    program: Program
    setup: Setup
    target: Buffer
    start: Buffer
    start_u: Buffer
    max_curve: int


class _Curve(NamedTuple):
    """Errors of iterations: the first of each `stride` numbers.

    Their number is the sum of `counts` and `more`. With `is_distance` they are in file units.
    """

    numbers: Buffer
    stride: int
    counts: tuple[Buffer, ...]
    more: int
    is_squared: bool
    scale: float
    is_distance: bool


class _Rows(NamedTuple):
    """Poses of a trace. The page puts one row at a time into u; the row steps make q of it.

    numbers  of all rows
    stride   numbers from one row to the next
    u        where the page puts the coordinates of a row
    links    how they are made of the numbers: for each link its first column, its first coordinate, the number of
             both, and of a single one ratio, offset, lowest and highest value. Empty: they are the coordinates
    """

    numbers: Buffer
    stride: int
    u: Buffer
    links: list[list[float | None]]


class _Solution(NamedTuple):
    """Solution of a program: q with errors, counts and a curve."""

    q: Buffer
    error_parts: Buffer | None
    iterations: Buffer
    is_met: Buffer
    curve: _Curve | None
    rows: _Rows | None


class _Moved(NamedTuple):
    """Answer of a kernel: coordinates u, its counts, and its trace."""

    u: Buffer
    counts: Buffer
    curve: _Curve | None
    rows: _Rows | None


def check_method(solver: Any, problem: Problem) -> str | None:
    """Return the reason against a method in a page, or None."""
    try:
        solvers.check(solver, problem, Request())
    except UnsupportedError as error:
        return str(error)
    if problem.skeleton.loops or problem.plan.has_set_terms:
        return "closed loops, ranges and targets relative to joints are solved by Poise, not by this page"
    if isinstance(solver, FABRIK) and solver.bind(problem, problem.complete_tolerance(None, None), Request()) is None:
        return "FABRIK solves several chains together in Poise, not in this page"
    return None


def export_method(solver: Any, setup: Setup, store: ArrayStore, *, max_curve: int = 0) -> dict[str, Any]:
    """Pack a method: its program, or the reason against it."""
    refusal = check_method(solver, setup.problem)
    if refusal is not None:
        return {"refusal": refusal}
    packed: dict[str, Any] = {"program": build_program(solver, setup, store, max_curve=max_curve).pack()}
    line, base = _export_line(solver, setup, store), _export_base(setup.problem)
    return packed | ({} if line is None else {"line": line}) | ({} if base is None else {"base": base})


def _export_base(problem: Problem) -> dict[str, Any] | None:
    """Pack the joint above a chain, for other start poses.

    It is None where the joint never moves, and where joints inside the chain hold values of the start pose.
    """
    plan, row = problem.plan, problem.plan.layout.base_row
    if row < 0 or len(plan.layout.fixed_columns) or plan.length_error > EXPORTER_LENGTH_ERROR:
        return None
    if find_static_transform(problem.skeleton, row) is not None:
        return None
    return {"row": row, "divisors": plan.scale_divisors.tolist()}


def _export_line(solver: Any, setup: Setup, store: ArrayStore) -> dict[str, Any] | None:
    """Pack the straight answer to targets out of reach.

    It is a program, and the distance from which on it is used. See `find_free_reach`.
    """
    uses_line = isinstance(solver, LevenbergMarquardt) or (isinstance(solver, CCD) and solver.can_use_straight_line)
    reach = find_free_reach(setup.problem, setup.tolerance) if uses_line else None
    if reach is None:
        return None
    program = Program(store)
    target = program.make_array(1, len(setup.problem.plan.target_columns) * 3)
    base = program.make_constant(setup.problem.rigid_base_transforms)
    program.output(target=target, base=base, point=_add_kernel_targets(program, setup.problem, target))
    return {
        "check": program.pack(),
        "origin": reach.origin.tolist(),
        "distance": reach.max_distance,
        "program": build_program(solvers.make_solver("fabrik"), setup, store).pack(),
    }


def build_program(solver: Any, setup: Setup, store: ArrayStore, *, max_curve: int = 0) -> Program:
    """Build the program of a solver. See `SingleTargetSolve.solve`."""
    program, problem, plan = Program(store), setup.problem, setup.problem.plan
    target = program.make_array(1, sum(TARGET_SIZES[measure.kind] for measure in problem.measures))
    start = program.make_array(1, problem.skeleton.nq)
    for measure in problem.measures:
        if measure.kind == DIRECTION:
            program.call(kernels.unit_rows.scale_rows_to_unit, target.take(measure.target_column, 1, 3), expected=(-1,))
    start_u = program.make_array(1, plan.layout.nu)
    program.call(kernels.kernel_coordinates.convert_q_to_u, start, *plan.coordinate_map, start_u)
    solve = _Solve(program, setup, target, start, start_u, max_curve)
    solution = _add_chain(solver, solve) if isinstance(solver, CCD | FABRIK) else _add_engine(solver, solve)
    program.output(
        target=target, start=start, base=program.make_constant(problem.rigid_base_transforms),
        q=solution.q, iterations=solution.iterations, met=solution.is_met,
        **({} if solution.error_parts is None else {"errors": solution.error_parts}),
        **({} if solution.curve is None else {"curve": solution.curve._asdict()}),
        **({} if solution.rows is None else {"rows": solution.rows._asdict()}),
    )  # fmt: skip
    return program


def _add_row_steps(solve: _Solve, u: Buffer, q: Buffer) -> None:
    """Add the steps from u to q. See `build_trace`."""
    program, plan = solve.program, solve.setup.problem.plan
    program.begin_row_steps()
    program.call(
        kernels.kernel_coordinates.convert_u_to_q, u, np.ones(1, dtype=np.bool_), solve.start, *plan.coordinate_map,
        plan.turning_hinges[:0], q,
    )  # fmt: skip


def _add_kernel_targets(program: Program, problem: Problem, target: Buffer) -> Buffer:
    """Convert the target. See `Problem.compute_kernel_targets`."""
    plan = problem.plan
    kernel_targets = program.make_array(1, plan.target_width)
    base, unit = problem.rigid_base_transforms, plan.signed_kernel_unit
    program.call(kernels.kernel_coordinates.convert_targets, target, base, unit, plan.target_columns, kernel_targets)
    return kernel_targets


# --- Chains: CCD and FABRIK ------------------------------------------------------------------------------------------


def _add_chain(solver: CCD | FABRIK, solve: _Solve) -> _Solution:
    """Add the kernel of a chain. It converts and measures, too. See `ChainSolve.solve`."""
    program, (problem, tolerance) = solve.program, (solve.setup.problem, solve.setup.tolerance)
    bound = solver.bind(problem, tolerance, Request())
    assert isinstance(bound, ChainSolve)
    chain, (kernel, (tables, layout, work_size, _)) = bound.chain, bound.kernel
    link_count = len(chain.link_kinds)
    motions = program.make_array(1, link_count, 4)
    program.call(kernels.kernel_coordinates.convert_u_to_motions, solve.start_u, chain.link_conversions, motions)
    q, error_parts = program.make_array(1, problem.skeleton.nq), program.make_array(1, bound.measure_count, 2)
    outcomes, counts = program.make_array(1, 2), program.make_array(1, 2, letter="I")
    row_count = min(bound.max_trace_rows, solve.max_curve)
    traced_errors, rows = program.make_scratch(row_count), program.make_scratch(row_count * link_count * 4)
    program.call(
        kernel, tables, layout, chain.link_kinds, chain.frames, chain.reach_range, np.empty((0, 4)),
        problem.rigid_base_transforms, motions, solve.start, solve.target, q, error_parts, outcomes, counts,
        rows.take(0, row_count, link_count if row_count else 0, 4),
        traced_errors, program.make_scratch(work_size),
    )  # fmt: skip
    iterations = counts.take(COUNT_ITERATIONS, 1)
    curve = _Curve(traced_errors, 1, (iterations,), 1, is_squared=False, scale=bound.error_scale,
                   is_distance=problem.has_single_position)  # fmt: skip
    errors = error_parts if bound.measure_count else None
    is_met = outcomes.take(OUTCOME_IS_MET, 1)
    if not row_count:
        return _Solution(q, errors, iterations, is_met, None, None)
    u = program.make_array(1, problem.plan.layout.nu)
    _add_row_steps(solve, u, q)
    return _Solution(q, errors, iterations, is_met, curve, _Rows(rows, 4 * link_count, u, _list_links(chain)))


def _list_links(chain: Chain) -> list[list[float | None]]:
    """List how link motions become coordinates. See `convert_motions_to_u`."""
    links: list[list[float | None]] = []
    for i, (kind, u_column, *numbers) in enumerate(chain.link_conversions.tolist()):
        width = _MOTION_WIDTHS.get(int(kind), 1)
        links.append([4 * i, int(u_column), width, *(map(_to_json, numbers) if width == 1 else ())])
    return links


def _to_json(number: float) -> float | None:
    return number if math.isfinite(number) else None


# --- Arms and trees: Levenberg-Marquardt and the Jacobian methods ----------------------------------------------------


def _add_engine(solver: Any, solve: _Solve) -> _Solution:
    """Add the engine of an arm or tree, and measure its answer."""
    program, problem, plan = solve.program, solve.setup.problem, solve.setup.problem.plan
    if isinstance(solver, JacobianMethod):
        moved = _add_jacobian_method(solver, solve)
    else:
        moved = (_add_tree if solver.arm(problem) is None else _add_arm)(solver, solve)
    flag, q = program.make_array(1, letter="B"), program.make_array(1, problem.skeleton.nq)
    program.set_flag(flag, moved.counts, COUNT_ITERATIONS)
    program.call(
        kernels.kernel_coordinates.convert_u_to_q, moved.u, flag, solve.start, *plan.coordinate_map,
        problem.unwrapped_hinges, q,
    )  # fmt: skip
    iterations, is_met = moved.counts.take(COUNT_ITERATIONS, 1), moved.counts.take(COUNT_IS_MET, 1)
    errors = _add_measures(solve, q)
    if moved.rows is not None:
        _add_row_steps(solve, moved.u, q)
    return _Solution(q, errors, iterations, is_met, moved.curve, moved.rows)


def _add_measures(solve: _Solve, q: Buffer) -> Buffer | None:
    """Add the errors of an answer. None where the problem has no paths to its measures."""
    program, paths = solve.program, solve.setup.problem.error_paths
    if paths is None:
        return None
    error_parts = program.make_array(1, len(paths.spans), 2)
    program.call(
        kernels.goal_errors.measure4, paths.table, paths.spans, paths.measure_rows, q, paths.q_columns, solve.target,
        program.make_scratch((len(paths.q_columns) + 7) * 4), error_parts,
    )  # fmt: skip
    return error_parts


def _add_arm(solver: LevenbergMarquardt, solve: _Solve) -> _Moved:
    """Add the engine of a serial arm. See `ArmEngine.solve`."""
    program, problem = solve.program, solve.setup.problem
    engine: Any = solver.engine(problem, solve.setup.tolerance)
    packed_arm, layout = engine.pack_arrays(engine.options)
    m = engine.arm.link_count
    width = m + ARM_RESULT_ROW
    rows = program.make_array(1 + solve.max_curve, width)
    program.copy(solve.start_u, rows, m)
    program.call(
        kernels.arm_targets.solve_targets4, packed_arm, layout, solve.target, problem.rigid_base_transforms, rows, 0, 1,
        program.make_scratch(ARM_WORKSPACE_PER_TARGET + 2 * m), problem.arm_preferences,
    )  # fmt: skip
    counts = rows.take(m, 1, ARM_RESULT_ROW)
    # The kernel knows only the ratio of a goal's weights.
    weight = float(problem.plan.effectors[0, lm_engine.EFFECTOR_WEIGHT])
    curve = _make_curve(solve, rows.take(width, solve.max_curve, width), width, counts, weight)
    u = rows.take(0, 1, m)
    trace = _Rows(rows.take(width + 1, solve.max_curve * width - 1), width, u, _list_scaled_links(engine))
    return _Moved(u, counts, curve, trace if solve.max_curve else None)


def _list_scaled_links(engine: Any) -> list[list[float | None]]:
    """List how kernel values become coordinates, where they are scaled. See `ArmEngine._convert_to_u`."""
    scales, dofs = engine.arm.value_scales, engine.problem.plan.layout.dofs
    if (scales == 1).all():
        return []
    numbers = zip(scales.tolist(), dofs[:, DOF_LOW].tolist(), dofs[:, DOF_HIGH].tolist(), strict=True)
    return [[i, i, 1, scale, 0.0, _to_json(low), _to_json(high)] for i, (scale, low, high) in enumerate(numbers)]


def _add_tree(solver: LevenbergMarquardt, solve: _Solve) -> _Moved:
    """Add the engine of a tree. See `TreeEngine.solve`."""
    program, problem = solve.program, solve.setup.problem
    engine: Any = solver.engine(problem, solve.setup.tolerance)
    preferred_u, preference_weights = problem.preference
    settings = lm_engine.pack_tree_settings(engine.options, has_preference=problem.has_preference)
    tree_arrays, work_size = lm_engine.pack_tree_arrays(problem.plan, solve.setup.tolerance, engine.stiffness)
    kernel, limits = _choose_kernel(kernels.tree_lm, problem.plan.kernel_limits)
    shared_inputs = (engine.restart_draws, preferred_u[0], preference_weights, *limits, settings)
    scratch = [program.make_scratch(work_size)]
    return _add_tree_kernel(solve, kernel, tree_arrays, shared_inputs, scratch, lm_engine.NO_WORLD_TARGETS)


def _add_jacobian_method(solver: JacobianMethod, solve: _Solve) -> _Moved:
    """Add a Jacobian method. See `_run_kernel` in solvers/base/jacobian_method.py."""
    program, plan = solve.program, solve.setup.problem.plan
    tree_arrays, work_size = lm_engine.pack_tree_arrays(plan, solve.setup.tolerance)
    kernel, limits = _choose_kernel(kernels.jacobian_methods, plan.kernel_limits)
    dof_count = len(plan.layout.dofs)
    shared_inputs = (
        draw_restarts(dof_count), np.zeros(plan.layout.nu), np.zeros(dof_count), *limits,
        jacobian_method.get_max_residuals(plan, solver.clamp), jacobian_method.pack_method_settings(solver),
    )  # fmt: skip
    scratch = [program.make_scratch(work_size), program.make_scratch(jacobian_method.compute_scratch_size(plan))]
    return _add_tree_kernel(solve, kernel, tree_arrays, shared_inputs, scratch)


def _choose_kernel(kernel_module: Any, limits: Floats | None) -> tuple[Any, tuple[Floats, ...]]:
    """Return the kernel of four lanes, on any processor, and its limits. See `choose_kernel`."""
    return (kernel_module.plain4, ()) if limits is None else (kernel_module.solve4, (limits,))


def _add_tree_kernel(
    solve: _Solve, kernel: Any, tree_arrays: tuple[Any, ...], shared_inputs: tuple[Any, ...], scratch: list[Buffer],
    arrays_behind: tuple[Any, ...] = (),
) -> _Moved:  # fmt: skip
    program, nu = solve.program, solve.setup.problem.plan.layout.nu
    targets = _add_kernel_targets(program, solve.setup.problem, solve.target)
    u, errors, counts = program.make_array(1, nu), program.make_array(1), program.make_array(1, 3, letter="I")
    max_curve = solve.max_curve
    trace = program.make_scratch(max_curve * (nu + 1)).take(0, max_curve, nu + 1)
    program.call(
        kernel, *tree_arrays, targets, solve.start_u, *shared_inputs, *scratch, 0, 1, u, errors, counts,
        trace, *arrays_behind,
    )  # fmt: skip
    rows = _Rows(trace.take(1, max_curve * (nu + 1) - 1), nu + 1, u, []) if max_curve else None
    return _Moved(u, counts, _make_curve(solve, trace, nu + 1, counts), rows)


def _make_curve(solve: _Solve, numbers: Buffer, stride: int, counts: Buffer, weight: float = 1.0) -> _Curve | None:
    """Make the curve of an engine. A single position has distances; see `build_trace`."""
    if not solve.max_curve:
        return None
    plan = solve.setup.problem.plan
    scale, is_distance = weight, solve.setup.problem.has_single_position
    if len(plan.layout.terms) == 1 and is_distance:
        scale *= plan.kernel_unit_in_world / float(plan.effectors[0, lm_engine.EFFECTOR_WEIGHT])
    parts = tuple(counts.take(i, 1) for i in range(COUNT_IS_MET))
    return _Curve(numbers, stride, parts, 0, is_squared=True, scale=scale, is_distance=is_distance)
