"""A whole body, packed for a page.

A page puts together any problem of its parts: it pulls one and holds others. It packs the nodes on the ways to these
parts as Python packs them, so that its answers have the bits of the portable level. What Python gives are the arrays of
all parts together:

    nodes      row, kind, parent, first column of q, kind of the joint (6 columns with the number of its dofs)
    offsets, rotations, scales, couplings   frames of the nodes [file units], see problem/frame_packing.py
    dofs       lowest and highest value, whether it is a number of u, weight; those of a node stand together
    limits, hinged_balls, turning           rows of each node; zeros where it has none
    parts      for each part its node, the map of its points, the scale above it and its rotation

web/js/engine/tree.js reads them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poise import kernels
from poise.errors import PoiseError
from poise.kernels.layout import HINGED_BALL_ROW
from poise.maths.arrays import Floats, Ints
from poise.model.clip import Clip
from poise.model.kinematics import LocalOffsets, get_table, pack_local_offsets
from poise.model.pose import Pose
from poise.problem import dof_layout
from poise.problem.goals import LookAt, Place
from poise.problem.problem import Problem
from poise.solvers.base.lm_engine import KERNEL_TOLERANCE_RATIO
from poise.solvers.base.random_starts import draw_restarts
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.viewer.body_parts import find_parts, has_whole_body, is_of_limb
from poise.viewer.document.document import Document
from poise.viewer.document.pulls import PULLED_PIN_WEIGHT
from poise.viewer.document.whole_body import MAX_YAW_RAD, PIN_WEIGHT, PITCH_RANGE_RAD, find_gaze_axes, find_root
from poise.viewer.offline.methods import Setup, export_method
from poise.viewer.offline.natural_poses import export_natural_poses
from poise.viewer.offline.program import ArrayStore, Program

RESTARTS = 6  # of a pull in a page: a target beyond reach gets so many, and a drag does not wait
GAZE_RESTARTS = 0  # a head at its limits stays there
PINNED_ROLES = "leftFoot", "rightFoot", "leftHand", "rightHand"  # that a click pins


def export_body(document: Document, store: ArrayStore, clip: Clip | None = None) -> dict[str, Any] | None:
    """Pack a whole body with and without limits.

    None where a page cannot solve it. A pull begins at the frame of the clip that is shown.
    """
    is_alone = len(document.character_positions) == 1 and not document.is_driven
    if document.scope != "body" or not is_alone or not has_whole_body(document.rig):
        return None
    modes: dict[str, Any] = {}
    for name, title, limited in list_modes(document):
        try:
            modes[name] = {"title": title, **_export_mode(limited, store)}
        except PoiseError:
            return None
    joints = document.rig.roles.joints
    return {
        "modes": modes,
        "pins": [chain.tip for chain in document.chains if chain.kind == "pin" and (chain.enabled or clip is not None)],
        "pinnable": [joints[role] for role in PINNED_ROLES if role in joints],
        "pin_weight": PIN_WEIGHT,
        "pulled_pin_weight": PULLED_PIN_WEIGHT,
        "frames": _export_frames(document, clip, store),
        "limbs": [part for part in dict.fromkeys(find_parts(document.rig)) if is_of_limb(document.rig, part)],
        "hips": joints["hips"],
        "axes": find_gaze_axes(document.start).tolist(),
        "floor": document.floor_height,
    }


def build_gaze(document: Document) -> LookAt | None:
    """Build the goal of a head looking ahead. None without a head.

    Head and neck turn, and no joint that carries arms: what is pulled and pinned stays where it is.
    """
    head = document.rig.roles.joints.get("head")
    if head is None:
        return None
    start = document.solver_start
    ahead = start.world[head].positions + find_gaze_axes(document.start)[0]
    return LookAt(head, ahead, over=(*start.skeleton.chain(None, head), head))


def _export_gaze(document: Document, store: ArrayStore) -> dict[str, Any] | None:
    """Pack the solve of a gaze. It comes after that of the body, from the start pose of head and neck."""
    goal = build_gaze(document)
    if goal is None or goal.over is None:
        return None
    start = document.solver_start
    setup = Setup(start, (goal,), problem := Problem(start, (goal,)), problem.complete_tolerance(None, None))
    packed = export_method(LevenbergMarquardt(restarts=GAZE_RESTARTS), setup, store)
    if "refusal" in packed:
        return None
    columns = [start.skeleton.q_slice(name) for name, _ in goal.over]
    return {
        "head": goal.joint,
        "range": {"yaw": MAX_YAW_RAD, "pitch": PITCH_RANGE_RAD},
        "columns": [[each.start, each.stop] for each in columns],
        "group": {"chains": [goal.joint], **packed},
    }


def _export_frames(document: Document, clip: Clip | None, store: ArrayStore) -> list[int] | None:
    """Pack the configurations of a clip, in single precision."""
    if clip is None or not len(clip):
        return None
    q = clip.poses.on(document.solver_skeleton).q.astype(np.float32)
    return [store.add(q), q.size]


def list_modes(document: Document) -> list[tuple[str, str, Document]]:
    """List the ways to solve as name, title and document.

    Limits are those of the file, or else those of humans. The mode of the document comes first.
    """
    modes = _list_limits(document)
    return modes[::-1] if document.limit_mode == "plain" else modes


def _list_limits(document: Document) -> list[tuple[str, str, Document]]:
    free = document.replace(limit_mode="plain")
    if any(limit is not None for limit in document.skeleton.limits):
        return [("limits", "Limits of the file", document.replace(limit_mode="limits")), ("free", "No limits", free)]
    try:
        limited = document.skeleton.with_limits(document.rig.roles.limits())
    except PoiseError:
        return [("free", "No limits", free)]
    human = document.replace(skeleton=limited, start=document.start.on(limited), limit_mode="limits")
    return [("limits", "Human limits", human), ("free", "No limits", free)]


def build_part_goals(document: Document) -> tuple[Place, ...]:
    """Build a goal for each part at its start place."""
    start, skeleton = document.solver_start, document.solver_skeleton
    world = start.world
    parts = dict.fromkeys(find_parts(document.rig))
    rows = {part: skeleton.index(part) for part in parts}
    return tuple(
        Place(part, world.positions[row], world.rotations[row], root=find_root(skeleton, part))
        for part, row in rows.items()
    )


def _export_mode(document: Document, store: ArrayStore) -> dict[str, Any]:
    start, goals = document.solver_start, build_part_goals(document)
    problem = Problem(start, goals, free_root=document.free_root)
    plan = problem.plan
    tolerance = problem.complete_tolerance(document.tolerance, None)
    kernel_distance = tolerance.distance / abs(plan.base_scale) * KERNEL_TOLERANCE_RATIO
    kernel_chord = 2 * np.sin(min(tolerance.angle, np.pi) / 2) * KERNEL_TOLERANCE_RATIO
    options = LevenbergMarquardt(restarts=RESTARTS).tree_options
    arrays = {
        "start": start.q,
        "base": problem.rigid_base_transforms[0],
        "draws": draw_restarts(len(plan.layout.dofs))[:RESTARTS].ravel(),
        **_export_nodes(problem),
        **_export_parts(problem),
    }
    return {
        "arrays": {name: [store.add(array), len(array)] for name, array in _flatten(arrays).items()},
        "names": [goal.joint for goal in goals],
        "rows": [problem.skeleton.index(goal.joint) for goal in goals],
        "base_scale": plan.base_scale,
        "tolerance": tolerance.distance,
        "tolerance2": [float(kernel_distance) ** 2, float(kernel_chord) ** 2],
        "angle": tolerance.angle,
        "damping": [options.damping, options.min_damping],
        "iterations": options.iterations,
        "restarts": options.restarts,
        "polish": options.polish_iterations,
        "maps": export_maps(start, store).pack(),
        "gaze": _export_gaze(document, store),
        "natural": export_natural_poses(document, store),
    }


def _flatten(arrays: dict[str, Any]) -> dict[str, Floats]:
    return {name: np.ascontiguousarray(array, dtype=np.float64).ravel() for name, array in arrays.items()}


def _export_nodes(problem: Problem) -> dict[str, Floats | Ints]:
    plan, skeleton = problem.plan, problem.skeleton
    layout, tree = plan.layout, plan.tree
    coordinate_map = plan.coordinate_map
    hinged = {int(u_start): i for i, (_, u_start) in enumerate(coordinate_map.hinged_balls)}
    turning = {int(row[0]): row for row in plan.turning_hinges}
    hinged_rows, turning_rows = np.zeros((len(layout.nodes), HINGED_BALL_ROW)), np.zeros((len(layout.nodes), 3))
    nodes: list[tuple[int, ...]] = []
    dofs: list[Floats] = []
    for i, (node, is_turning) in enumerate(zip(layout.nodes, plan.turning_nodes, strict=True)):
        count, kind = dof_layout.DOF_COUNTS[node.kind], int(skeleton.kinds[node.row])
        nodes.append((node.row, node.kind, node.parent, node.q_start, kind, count))
        dofs.extend(layout.dofs[node.dof_start : node.dof_start + count])
        if node.kind == dof_layout.HINGE and node.u_start in hinged:
            hinged_rows[i] = coordinate_map.hinged_ball_limits[hinged[node.u_start]]
        elif is_turning and node.q_start in turning:
            turning_rows[i] = 1.0, *turning[node.q_start][1:]
    coupled = np.isin(skeleton.kinds[[node.row for node in layout.nodes]], (dof_layout.HINGE, dof_layout.SLIDE))
    couplings = np.where(coupled[:, None], skeleton.coupling_rows[[node.row for node in layout.nodes]], (1.0, 0.0))
    return {
        "nodes": np.array(nodes),
        "offsets": tree.node_offsets[0],
        "rotations": tree.node_rotations[0],
        "scales": np.broadcast_to(tree.node_scales, (1, len(nodes)))[0],
        "couplings": couplings,
        "dofs": np.array(dofs),
        "limits": plan.limit_rows,
        "hinged_balls": hinged_rows,
        "turning": turning_rows,
    }


def _export_parts(problem: Problem) -> dict[str, Floats | Ints]:
    """Pack the frames of the parts, by the number of their goals."""
    layout, tree = problem.plan.layout, problem.plan.tree
    rows = np.zeros((len(problem.goals), 18))
    for term, frame in zip(layout.terms, tree.term_frames, strict=True):
        if term.kind == dof_layout.ROTATION:
            numbers = term.node_index, *frame.maps[0].ravel(), float(np.ravel(frame.scale)[0]), *frame.rotation[0]
            rows[term.goal_index] = numbers
    return {"parts": rows}


def export_maps(start: Pose, store: ArrayStore) -> Program:
    """Pack the forward kinematics of all joints, for drawing."""
    program, skeleton = Program(store), start.skeleton
    offsets = LocalOffsets(
        None if start.translations is None else start.translations[None],
        None if start.scales is None else start.scales[None],
    )
    table = get_table(skeleton, None, offsets)
    q, maps = program.make_array(1, skeleton.nq), program.make_array(1, 12 * len(skeleton))
    has_offsets = start.translations is not None or start.scales is not None
    packed_offsets = pack_local_offsets(table, offsets) if has_offsets else np.empty((0, 0))
    program.call(
        kernels.kinematics.compute_world_maps4, table.constants, q, table.q_columns, packed_offsets,
        program.make_scratch(table.workspace_size), maps,
    )  # fmt: skip
    program.output(q=q, maps=maps, rows=table.joint_rows.tolist())
    return program
