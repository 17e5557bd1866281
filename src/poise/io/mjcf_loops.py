"""Closed loops of a compiled MJCF model.

They are `<connect>` and `<weld>` between bodies or sites. The world is a body, too: row 0 of the skeleton.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poise.io.mjcf_elements import CompiledModel
from poise.io.mjcf_skeleton import SkeletonPlan
from poise.io.text_parsing import MAX_NUMBER
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.loops import Loop, make_names_unique

_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_TORQUE_SCALE_COLUMN = 10  # of a weld's numbers


class _LoopEnd(NamedTuple):
    """Body of one loop end (0: world), and its frame there."""

    body_id: int
    position: Floats
    rotation: Floats


def read_loops(compiled: CompiledModel, plan: SkeletonPlan) -> tuple[Loop, ...]:
    """Read the loops active at the start.

    Inactive loops, those of mocap bodies and those within one body get a note.
    """
    mj, model, loops = compiled.mj, compiled.model, list[Loop]()
    kind_by_code = {int(mj.mjtEq.mjEQ_CONNECT): "connect", int(mj.mjtEq.mjEQ_WELD): "weld"}
    for equality_id in range(model.neq):
        kind = kind_by_code.get(int(model.eq_type[equality_id]))
        if kind is None:
            continue
        ends = _find_loop_ends(compiled, equality_id, kind)
        joints = [plan.rows[plan.row_by_body[end.body_id]].name for end in ends]
        name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_EQUALITY, equality_id) or ""
        label = f"the loop {name or ' and '.join(map(repr, joints))} (<{kind}>)"
        reason = _explain_skip(compiled, equality_id, ends, joints)
        if reason:
            plan.notes.append(f"{label} {reason}")
        else:
            has_rotation = kind == "weld" and _holds_rotation(model.eq_data[equality_id], label, plan.notes)
            loops.append(_build_loop(joints, ends, name, has_rotation=has_rotation))
    return make_names_unique(loops)


def _explain_skip(compiled: CompiledModel, equality_id: int, ends: list[_LoopEnd], joints: list[str]) -> str:
    """Explain why a loop is not read. "" for all others."""
    model = compiled.model
    if not model.eq_active0[equality_id]:
        return "is not active and was skipped"
    if any(model.body_mocapid[end.body_id] >= 0 for end in ends):
        return "follows a mocap body, which is moved interactively: skipped"
    if any(not np.abs([*end.position, *end.rotation]).max() <= MAX_NUMBER for end in ends):
        return "has numbers that are too large and was skipped"
    if joints[0] == joints[1]:
        return "ties a body to itself and was skipped"
    return ""


def _holds_rotation(data: Any, label: str, notes: list[str]) -> bool:
    """Return whether a weld holds the rotation. Its torquescale weighs the angle in a simulation; 0 leaves it out."""
    torque_scale = float(data[_TORQUE_SCALE_COLUMN])
    if torque_scale == 0.0:
        notes.append(f"{label} has torquescale 0: it holds the points only")
    elif torque_scale != 1.0:
        notes.append(f"torquescale of {label} is ignored: a closed loop is closed in both position and rotation")
    return torque_scale != 0.0


def _build_loop(joints: list[str], ends: list[_LoopEnd], name: str, *, has_rotation: bool) -> Loop:
    (a, b), (end_a, end_b) = joints, ends
    point_a, point_b = (tuple(map(float, end.position)) for end in ends)
    rotation = None
    if has_rotation:  # b's frame in a's, where both frames of the ends coincide
        rotation = tuple(rotations.multiply(end_a.rotation, rotations.inverse(end_b.rotation)).tolist())
    return Loop(a, b, point_a, point_b, rotation, name=name)  # pyright: ignore[reportArgumentType]  (tuples of 3 and 4)


def _find_loop_ends(compiled: CompiledModel, equality_id: int, kind: str) -> list[_LoopEnd]:
    """Find the two ends of a loop."""
    model, mj = compiled.model, compiled.mj
    object_ids = int(model.eq_obj1id[equality_id]), int(model.eq_obj2id[equality_id])
    if int(model.eq_objtype[equality_id]) == int(mj.mjtObj.mjOBJ_SITE):
        return [
            _LoopEnd(int(model.site_bodyid[site_id]), model.site_pos[site_id].copy(), model.site_quat[site_id].copy())
            for site_id in object_ids
        ]
    data: Any = model.eq_data[equality_id].copy()
    if kind == "connect":
        return [_LoopEnd(object_ids[0], data[:3], _IDENTITY), _LoopEnd(object_ids[1], data[3:6], _IDENTITY)]
    # For a weld, the anchor is in the frame of the second body, and the relative pose in that of the first.
    return [_LoopEnd(object_ids[0], data[3:6], data[6:10]), _LoopEnd(object_ids[1], data[:3], _IDENTITY)]
