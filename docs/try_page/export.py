"""Scenes of the page, packed with what their methods need.

Each method becomes a program of kernel calls: those of `poise.solve(start, goals, solver=...)` in Python, in their
order. A test compares the answers in all bits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise import solvers
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem.goals import Goal
from poise.problem.problem import Problem
from poise.viewer import scenes
from poise.viewer.document.document import Document
from poise.viewer.offline.body import export_maps
from poise.viewer.offline.methods import METHODS as PAGE_METHODS
from poise.viewer.offline.methods import Setup, export_method
from poise.viewer.offline.program import ArrayStore

METHODS = {name: PAGE_METHODS[name] for name in ("ccd", "fabrik", "levenberg_marquardt", "jacobian_transpose")}
SCENE_NAMES = ("ccd", "ccd_hinge", "ccd_hinge_range", "five_axes")


class Scene(NamedTuple):
    """A scene as it is solved."""

    document: Document
    setup: Setup

    @property
    def start(self) -> Pose:
        """Start pose."""
        return self.setup.start

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Goals of its chains."""
        return self.setup.goals

    @property
    def problem(self) -> Problem:
        """Problem of both."""
        return self.setup.problem


def build_scene(name: str) -> Scene:
    """Build a scene of the viewer."""
    document = scenes.build_scene(name)
    start = document.solver_start
    goals = tuple(goal for chain in document.active_chains for goal in chain.build_goals(document.solver_skeleton))
    problem = Problem(start, goals)
    tolerance = problem.complete_tolerance(document.tolerance, None)
    return Scene(document, Setup(start, goals, problem, tolerance))


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
        "bounds": problem.compute_error_bounds(scene.setup.tolerance).tolist(),
        "factors": [dict(problem.error_paths.angle_factors).get(i, 0) for i in range(len(problem.measures))],
        "reach": {
            "min": min_reach * plan.kernel_unit_in_world,
            "max": max_reach * plan.kernel_unit_in_world,
            "centre": _compute_world_point(problem, origin),
        },
        "maps": export_maps(scene.start, store).pack(),
        "methods": {method: export_method(solvers.make_solver(method), scene.setup, store) for method in METHODS},
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
