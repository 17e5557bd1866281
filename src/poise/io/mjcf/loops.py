"""Closed loops of an MJCF model. They are `<connect>` and `<weld>` between bodies or sites."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.io.mjcf.engine import CompiledModel
from poise.io.mjcf.rows import MjcfRows
from poise.io.numbers import LARGEST
from poise.maths.arrays import Floats
from poise.model.loops import Frame, Hold, Loop

_NO_TURN = (1.0, 0.0, 0.0, 0.0)


def read_loops(given: CompiledModel, found: MjcfRows) -> list[Loop]:
    """Collect the initially active loops.

    Inactive loops and those of mocap bodies get a note.
    """
    mj, m, loops = given.mj, given.model, list[Loop]()
    kinds = {int(mj.mjtEq.mjEQ_CONNECT): "connect", int(mj.mjtEq.mjEQ_WELD): "weld"}
    for i in range(m.neq):
        kind = kinds.get(int(m.eq_type[i]))
        if kind is None:
            continue
        name = mj.mj_id2name(m, mj.mjtObj.mjOBJ_EQUALITY, i) or ""
        ends = _ends(given, i, kind)
        bodies = [body for body, _ in ends]
        joints = tuple(found.rows[found.body_row[body]].name if body else None for body in bodies)
        what = name or f"{kind} of " + " and ".join(repr(joint or "world") for joint in joints)
        if not m.eq_active0[i]:
            found.notes.append(f"the loop {what} (<{kind}>) is not active and was skipped")
        elif any(m.body_mocapid[body] >= 0 for body in bodies):
            found.notes.append(
                f"the loop {what} (<{kind}>) follows a mocap body, which is moved interactively: skipped"
            )
        elif any(not np.abs(frame).max() <= LARGEST for _, frame in ends):
            found.notes.append(f"the loop {what} (<{kind}>) has numbers that are too large and was skipped")
        else:
            holds: tuple[Hold, ...] = ("point",) if kind == "connect" else ("point", "turn")
            first, second = joints
            loops.append(Loop(what, (first, second), (ends[0][1], ends[1][1]), holds))
    return loops


def _ends(given: CompiledModel, i: int, kind: str) -> list[tuple[int, Frame]]:
    """Find both bodies of equality i with their frames.

    Body 0 is the world.
    """
    m, mj = given.model, given.mj
    objects = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    if int(m.eq_objtype[i]) == int(mj.mjtObj.mjOBJ_SITE):
        return [(int(m.site_bodyid[site]), _frame(m.site_pos[site], m.site_quat[site])) for site in objects]
    data: Any = m.eq_data[i]
    if kind == "connect":
        return [(objects[0], _frame(data[:3])), (objects[1], _frame(data[3:6]))]
    # For a weld, the anchor is in the frame of the second body, and the relative pose in that of the first.
    return [(objects[0], _frame(data[3:6], data[6:10])), (objects[1], _frame(data[:3]))]


def _frame(point: Floats, turn: Any = _NO_TURN) -> Frame:
    x, y, z = (float(value) for value in point)
    a, b, c, d = (float(value) for value in turn)
    return (x, y, z, a, b, c, d)
