"""Scenes of the page, packed with what their methods need.

Each method becomes a program of kernel calls: those of `poise.solve(start, goals, solver=...)` in Python, in their
order. A test compares the answers in all bits.
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
    COUNT_ITERATIONS,
)
from poise.kernels.thresholds import UNIT_SLACK
from poise.maths.arrays import Floats
from poise.model.kinematics import NO_OFFSETS, get_table
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem.chain import find_chain
from poise.problem.dof_layout import DIRECTION, TARGET_SIZES
from poise.problem.feasibility import _is_unlimited_ball_chain
from poise.problem.goals import Goal
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base import jacobian_method, lm_engine
from poise.solvers.base.interface import Request
from poise.solvers.base.random_starts import draw_restarts
from poise.solvers.ccd import CCD
from poise.solvers.fabrik import FABRIK
from poise.solvers.jacobian_transpose import JacobianTranspose
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.diagnosis import _LEGAL_TOLERANCE, _build_start_check
from poise.viewer import scenes
from poise.viewer.document.document import Document
from poise.viewer.offline.program import ArrayStore, Buffer, Program

SCENE_NAMES = ("ccd", "ccd_hinge", "ccd_hinge_range", "five_axes")
METHODS = {
    "ccd": "CCD",
    "fabrik": "FABRIK",
    "levenberg_marquardt": "Levenberg-Marquardt",
    "jacobian_transpose": "Jacobian transpose",
}


class Scene(NamedTuple):
    """A scene as it is solved: start pose, goals, and the problem of both."""

    document: Document
    start: Pose
    goals: tuple[Goal, ...]
    problem: Problem
    tolerance: Tolerance


def build_scene(name: str) -> Scene:
    """Build a scene of the viewer."""
    document = scenes.build_scene(name)
    start = document.solver_start
    goals = tuple(goal for chain in document.active_chains for goal in chain.build_goals(document.solver_skeleton))
    problem = Problem(start, goals)
    return Scene(document, start, goals, problem, problem.complete_tolerance(document.tolerance, None))


def export_scene(name: str, store: ArrayStore) -> dict[str, Any]:
    """Pack a scene with all methods."""
    scene = build_scene(name)
    problem, plan = scene.problem, scene.problem.plan
    min_reach, max_reach, origin = plan.term_reaches[0]
    return {
        "name": name,
        "joints": _describe_joints(scene),
        "start": scene.start.q.tolist(),
        "target": problem.build_target_rows([goal.rows() for goal in scene.goals], ())[0].tolist(),
        "bounds": problem.compute_error_bounds(scene.tolerance).tolist(),
        "factors": [dict(_get_paths(problem).angle_factors).get(i, 0) for i in range(len(problem.measures))],
        "reach": {
            "min": min_reach * plan.kernel_unit_in_world,
            "max": max_reach * plan.kernel_unit_in_world,
            "centre": _compute_world_point(problem, origin),
        },
        "maps": _export_maps(scene, store).pack(),
        "methods": {method: export_method(method, scene, store) for method in METHODS},
    }


def _describe_joints(scene: Scene) -> list[dict[str, Any]]:
    """Describe the joints for drawing: parent, hinge axis, range and first column of q."""
    skeleton = scene.problem.skeleton
    nodes = {node.row: node for node in scene.problem.plan.layout.nodes}
    joints: list[dict[str, Any]] = []
    for row, joint_name in enumerate(skeleton.names):
        limit, kind = skeleton.limits[row], skeleton.kinds[row]
        axis = getattr(limit, "axis", None) or (
            tuple(skeleton.axes[row].tolist()) if skeleton.axes[row].any() else None
        )
        low, high = (getattr(limit, "low", -math.inf), getattr(limit, "high", math.inf))
        joints.append({
            "name": joint_name,
            "parent": int(skeleton.parents[row]),
            "moves": row in nodes,
            "axis": axis if row in nodes else None,
            "range": [low, high] if row in nodes and math.isfinite(high - low) else None,
            "column": int(skeleton.q_start[row]),
            "quaternion": bool(kind >= Kind.BALL),
        })  # fmt: skip
    return joints


def _compute_world_point(problem: Problem, point: Floats) -> list[float]:
    base = problem.rigid_base_transforms.reshape(-1, 3, 4)[0]
    return (base[:, :3] @ (problem.plan.signed_kernel_unit * point) + base[:, 3]).tolist()


def _get_paths(problem: Problem) -> Any:
    assert problem.error_paths is not None
    return problem.error_paths


def _export_maps(scene: Scene, store: ArrayStore) -> Program:
    """Pack the forward kinematics of all joints, for drawing."""
    program, skeleton = Program(store), scene.problem.skeleton
    table = get_table(skeleton, None, NO_OFFSETS)
    q, maps = program.make_array(1, skeleton.nq), program.make_array(1, 12 * len(skeleton))
    program.call(
        kernels.kinematics.compute_world_maps4, table.constants, q, table.q_columns, np.empty((0, 0)),
        program.make_scratch(table.workspace_size), maps,
    )  # fmt: skip
    program.output(q=q, maps=maps, rows=table.joint_rows.tolist())
    return program


# --- Methods ---------------------------------------------------------------------------------------------------------


def export_method(method: str, scene: Scene, store: ArrayStore) -> dict[str, Any]:
    """Pack a method for a scene: its program, or the reason against it."""
    solver: Any = solvers.make_solver(method)
    try:
        solvers.check(solver, scene.problem, Request())
    except UnsupportedError as error:
        return {"refusal": str(error)}
    packed: dict[str, Any] = {"program": build_program(solver, scene, store).pack()}
    if _answers_by_line(solver, scene.problem):
        packed["line"] = _export_line(scene, store)
    return packed


def _answers_by_line(solver: Any, problem: Problem) -> bool:
    """Return whether a method straightens the chain towards targets out of reach. See `find_overextended`."""
    uses_line = isinstance(solver, LevenbergMarquardt) or (isinstance(solver, CCD) and solver._can_use_straight_line)
    return uses_line and problem.has_single_position and _is_unlimited_ball_chain(problem.plan)


def _export_line(scene: Scene, store: ArrayStore) -> dict[str, Any]:
    """Pack the answer to targets out of reach: a program, and the distance from which on it is used."""
    plan, program = scene.problem.plan, Program(store)
    _, max_reach, origin = plan.term_reaches[0]
    target = program.make_array(1, len(scene.problem.plan.target_columns) * 3)
    program.output(target=target, point=_add_kernel_targets(program, scene.problem, target))
    return {
        "check": program.pack(),
        "origin": origin.tolist(),
        "distance": max_reach + scene.tolerance.distance / plan.kernel_unit_in_world,
        "program": build_program(solvers.make_solver("fabrik"), scene, store).pack(),
    }


class _Solve(NamedTuple):
    """Program of a solve, with the arrays that all methods begin with.

    start_u  of the start, in the plan's coordinates
    """

    program: Program
    scene: Scene
    target: Buffer
    start: Buffer
    start_u: Buffer


class _Solution(NamedTuple):
    """Solution of a program: q, its measured errors, and the kernel's counts."""

    q: Buffer
    error_parts: Buffer
    counts: Buffer


class _Moved(NamedTuple):
    """Answer of a kernel: coordinates u, and an array with the number that tells whether anything moved."""

    u: Buffer
    counts: Buffer
    moved_column: int


def build_program(solver: Any, scene: Scene, store: ArrayStore) -> Program:
    """Build the program of a solver for a scene. See `SingleTargetSolve.solve`."""
    program, problem, plan = Program(store), scene.problem, scene.problem.plan
    target = program.make_array(1, sum(TARGET_SIZES[measure.kind] for measure in problem.measures))
    start = program.make_array(1, problem.skeleton.nq)
    _add_checks(program, problem, target, start)
    start_u = program.make_array(1, plan.layout.nu)
    program.call(kernels.kernel_coordinates.convert_q_to_u, start, *plan.coordinate_map, start_u)
    solve = _Solve(program, scene, target, start, start_u)
    solution = _add_chain(solver, solve) if isinstance(solver, CCD | FABRIK) else _add_engine(solver, solve)
    iterations = solution.counts.take(COUNT_ITERATIONS, 1)
    program.output(target=target, start=start, q=solution.q, errors=solution.error_parts, iterations=iterations)
    return program


def _add_checks(program: Program, problem: Problem, target: Buffer, start: Buffer) -> None:
    """Scale directions to unit length, and check the start. See `directions` and `can_start`."""
    for measure in problem.measures:
        if measure.kind == DIRECTION:
            program.call(kernels.unit_rows.scale_rows_to_unit, target.take(measure.target_column, 1, 3), expected=(-1,))
    ball_columns, *check_arrays = _build_start_check(problem.skeleton)
    assert not len(ball_columns)  # the scenes have none; their limits would need a call of find_max_rotation_excess
    program.call(
        kernels.limits.is_valid_start, *check_arrays, start.take(0, problem.skeleton.nq), UNIT_SLACK, _LEGAL_TOLERANCE,
        expected=(1,),
    )  # fmt: skip


def _add_kernel_targets(program: Program, problem: Problem, target: Buffer) -> Buffer:
    """Convert the target. See `Problem.compute_kernel_targets`."""
    plan = problem.plan
    kernel_targets = program.make_array(1, plan.target_width)
    base, unit = problem.rigid_base_transforms, plan.signed_kernel_unit
    program.call(kernels.kernel_coordinates.convert_targets, target, base, unit, plan.target_columns, kernel_targets)
    return kernel_targets


def _add_engine(solver: Any, solve: _Solve) -> _Solution:
    """Add the engine of an arm or tree, the conversion of its answer, and the measuring."""
    program, problem, plan = solve.program, solve.scene.problem, solve.scene.problem.plan
    if isinstance(solver, JacobianTranspose):
        moved = _add_jacobian_method(solver, solve)
    else:
        moved = (_add_tree if solver.arm(problem) is None else _add_arm)(solver, solve)
    flag, q = program.make_array(1, letter="B"), program.make_array(1, problem.skeleton.nq)
    program.set_flag(flag, moved.counts, moved.moved_column)
    program.call(
        kernels.kernel_coordinates.convert_u_to_q, moved.u, flag, solve.start, *plan.coordinate_map,
        problem.unwrapped_hinges, q,
    )  # fmt: skip
    paths = _get_paths(problem)
    error_parts = program.make_array(1, len(paths.spans), 2)
    program.call(
        kernels.goal_errors.measure4, paths.table, paths.spans, paths.measure_rows, q, paths.q_columns, solve.target,
        program.make_scratch((len(paths.q_columns) + 7) * 4), error_parts,
    )  # fmt: skip
    return _Solution(q, error_parts, moved.counts)


# --- Chains: CCD and FABRIK ------------------------------------------------------------------------------------------


def _add_chain(solver: CCD | FABRIK, solve: _Solve) -> _Solution:
    """Add the kernel of a chain, which converts and measures, too. See `ChainSolve.solve`."""
    program, (problem, tolerance) = solve.program, (solve.scene.problem, solve.scene.tolerance)
    chain = find_chain(problem, solver.name)
    motions = program.make_array(1, len(chain.link_kinds), 4)
    program.call(kernels.kernel_coordinates.convert_u_to_motions, solve.start_u, chain.link_conversions, motions)
    kernel, (tables, layout, work_size, _) = solver._pack(problem, chain, tolerance)
    q, error_parts = program.make_array(1, problem.skeleton.nq), program.make_array(1, len(problem.measures), 2)
    outcomes, counts = program.make_array(1, 2), program.make_array(1, 2, letter="I")
    program.call(
        kernel, tables, layout, chain.link_kinds, chain.frames, chain.reach_range, np.empty((0, 4)),
        problem.rigid_base_transforms, motions, solve.start, solve.target, q, error_parts, outcomes, counts,
        program.make_array(0, 0, 4), program.make_array(0), program.make_scratch(work_size),
    )  # fmt: skip
    return _Solution(q, error_parts, counts)


# --- Arms and trees: Levenberg-Marquardt and Jacobian transpose ------------------------------------------------------


def _add_arm(solver: LevenbergMarquardt, solve: _Solve) -> _Moved:
    """Add the engine of a serial arm. See `ArmEngine.solve`."""
    program, problem = solve.program, solve.scene.problem
    engine: Any = solver.engine(problem, solve.scene.tolerance)
    packed_arm, layout = engine._pack_arrays(engine.options)
    m = engine.arm.link_count
    rows = program.make_array(1, m + ARM_RESULT_ROW)
    program.copy(solve.start_u, rows, m)
    program.call(
        kernels.arm_targets.solve_targets4, packed_arm, layout, solve.target, problem.rigid_base_transforms, rows, 0, 1,
        program.make_scratch(ARM_WORKSPACE_PER_TARGET + 2 * m), problem.arm_preferences,
    )  # fmt: skip
    return _Moved(rows.take(0, 1, m), rows.take(m, 1, ARM_RESULT_ROW), COUNT_ITERATIONS)


def _add_tree(solver: LevenbergMarquardt, solve: _Solve) -> _Moved:
    """Add the engine of a tree. See `TreeEngine.solve`."""
    program, problem = solve.program, solve.scene.problem
    engine: Any = solver.engine(problem, solve.scene.tolerance)
    preferred_u, preference_weights = problem.preference
    settings = lm_engine._pack_tree_settings(engine.options, has_preference=problem.has_preference)
    tree_arrays, work_size = lm_engine.pack_tree_arrays(problem.plan, solve.scene.tolerance, engine.stiffness)
    kernel, limits = lm_engine.choose_kernel(kernels.tree_lm, problem.plan.kernel_limits)
    shared_inputs = (engine.restart_draws, preferred_u[0], preference_weights, *limits, settings)
    scratch = [program.make_scratch(work_size)]
    return _add_tree_kernel(solve, kernel, tree_arrays, shared_inputs, scratch, lm_engine.NO_WORLD_TARGETS)


def _add_jacobian_method(solver: JacobianTranspose, solve: _Solve) -> _Moved:
    """Add a Jacobian method. See `_run_kernel` in solvers/base/jacobian_method.py."""
    program, plan = solve.program, solve.scene.problem.plan
    tree_arrays, work_size = lm_engine.pack_tree_arrays(plan, solve.scene.tolerance)
    kernel, limits = lm_engine.choose_kernel(kernels.jacobian_methods, plan.kernel_limits)
    dof_count = len(plan.layout.dofs)
    shared_inputs = (
        draw_restarts(dof_count), np.zeros(plan.layout.nu), np.zeros(dof_count), *limits,
        jacobian_method._get_max_residuals(plan, solver.clamp), jacobian_method._pack_settings(solver),
    )  # fmt: skip
    scratch = [program.make_scratch(work_size), program.make_scratch(jacobian_method._compute_scratch_size(plan))]
    return _add_tree_kernel(solve, kernel, tree_arrays, shared_inputs, scratch)


def _add_tree_kernel(
    solve: _Solve, kernel: Any, tree_arrays: tuple[Any, ...], shared_inputs: tuple[Any, ...], scratch: list[Buffer],
    arrays_behind: tuple[Any, ...] = (),
) -> _Moved:  # fmt: skip
    program, nu = solve.program, solve.scene.problem.plan.layout.nu
    targets = _add_kernel_targets(program, solve.scene.problem, solve.target)
    u, errors, counts = program.make_array(1, nu), program.make_array(1), program.make_array(1, 3, letter="I")
    program.call(
        kernel, *tree_arrays, targets, solve.start_u, *shared_inputs, *scratch, 0, 1, u, errors, counts,
        program.make_array(0, nu + 1), *arrays_behind,
    )  # fmt: skip
    return _Moved(u, counts, COUNT_ITERATIONS)
