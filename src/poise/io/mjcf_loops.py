"""Closed loops of a compiled MJCF model.

They are `<connect>` and `<weld>` between bodies or sites.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poise.io.mjcf_elements import CompiledModel
from poise.io.mjcf_skeleton import SkeletonPlan
from poise.io.text_parsing import MAX_NUMBER
from poise.maths.arrays import Floats
from poise.model.joints import Hold, Loop, LoopFrame

_IDENTITY = (1.0, 0.0, 0.0, 0.0)


class _LoopEnd(NamedTuple):
    """Body of one loop end (0: world), and its frame there."""

    body_id: int
    frame: LoopFrame


def read_loops(compiled: CompiledModel, plan: SkeletonPlan) -> list[Loop]:
    """Read the loops active at the start.

    Inactive loops and those of mocap bodies get a note.
    """
    mj, model, loops = compiled.mj, compiled.model, list[Loop]()
    kind_by_code = {int(mj.mjtEq.mjEQ_CONNECT): "connect", int(mj.mjtEq.mjEQ_WELD): "weld"}
    for equality_id in range(model.neq):
        kind = kind_by_code.get(int(model.eq_type[equality_id]))
        if kind is None:
            continue
        loop_name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_EQUALITY, equality_id) or ""
        ends = _find_loop_ends(compiled, equality_id, kind)
        body_ids = [end.body_id for end in ends]
        frames = [end.frame for end in ends]
        joint_names = tuple(plan.rows[plan.row_by_body[body_id]].name if body_id else None for body_id in body_ids)
        label = loop_name or f"{kind} of " + " and ".join(repr(name or "world") for name in joint_names)
        if not model.eq_active0[equality_id]:
            plan.notes.append(f"the loop {label} (<{kind}>) is not active and was skipped")
        elif any(model.body_mocapid[body_id] >= 0 for body_id in body_ids):
            plan.notes.append(
                f"the loop {label} (<{kind}>) follows a mocap body, which is moved interactively: skipped"
            )
        elif any(not np.abs(frame).max() <= MAX_NUMBER for frame in frames):
            plan.notes.append(f"the loop {label} (<{kind}>) has numbers that are too large and was skipped")
        else:
            holds: tuple[Hold, ...] = ("point",) if kind == "connect" else ("point", "turn")
            first_joint, second_joint = joint_names
            loops.append(Loop(label, (first_joint, second_joint), (frames[0], frames[1]), holds))
    return loops


def _find_loop_ends(compiled: CompiledModel, equality_id: int, kind: str) -> list[_LoopEnd]:
    """Find the two ends of a loop."""
    model, mj = compiled.model, compiled.mj
    object_ids = int(model.eq_obj1id[equality_id]), int(model.eq_obj2id[equality_id])
    if int(model.eq_objtype[equality_id]) == int(mj.mjtObj.mjOBJ_SITE):
        return [
            _LoopEnd(int(model.site_bodyid[site_id]), _build_frame(model.site_pos[site_id], model.site_quat[site_id]))
            for site_id in object_ids
        ]
    data: Any = model.eq_data[equality_id]
    if kind == "connect":
        return [_LoopEnd(object_ids[0], _build_frame(data[:3])), _LoopEnd(object_ids[1], _build_frame(data[3:6]))]
    # For a weld, the anchor is in the frame of the second body, and the relative pose in that of the first.
    return [
        _LoopEnd(object_ids[0], _build_frame(data[3:6], data[6:10])),
        _LoopEnd(object_ids[1], _build_frame(data[:3])),
    ]


def _build_frame(position: Floats, rotation: Any = _IDENTITY) -> LoopFrame:
    x, y, z = (float(value) for value in position)
    qw, qx, qy, qz = (float(value) for value in rotation)
    return (x, y, z, qw, qx, qy, qz)
