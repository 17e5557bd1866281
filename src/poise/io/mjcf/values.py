"""Limits, couplings and keyframes of an MJCF model."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from poise.errors import listed
from poise.io.mjcf.engine import CompiledModel
from poise.io.mjcf.rows import MjcfRows
from poise.io.numbers import LARGEST
from poise.io.values.rows import joint_numbers, moving_rows
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joints import Kind
from poise.model.limits import Limit, Range, SwingTwist
from poise.model.pose import Pose
from poise.model.skeleton import Coupling, Skeleton

_AGREES = 1e-6  # [rad or m] tolerated error of a coupled joint's value in a keyframe


def limits_of(given: CompiledModel, found: MjcfRows) -> list[Limit | None]:
    """Build a limit for each joint. Ball joints get a note: MuJoCo bounds their total angle."""
    m, limits, notes = given.model, [], found.notes
    for row in found.rows:
        limit: Limit | None = None
        if row.joint >= 0 and m.jnt_limited[row.joint]:
            low, high = (float(end) for end in m.jnt_range[row.joint])
            if row.kind in (Kind.HINGE, Kind.SLIDE):
                limit = _range(low, high)
            elif row.kind == Kind.BALL and high < math.pi:
                limit = SwingTwist((0.0, 0.0, 1.0), swing=high, twist=(-high, high), source="file")
                notes.append(
                    f"ball joint {row.name!r} may turn by {high:.4g} rad in all; it was read as a swing and a twist of "
                    "that much each"
                )
        limits.append(limit)
    return limits


def _range(low: float, high: float) -> Range | None:
    """Build a range. An end of too large magnitude is open."""
    low, high = (end if abs(end) <= LARGEST else math.copysign(math.inf, end) for end in (low, high))
    return Range(low, high, source="file") if math.isfinite(low) or math.isfinite(high) else None


def couplings_of(given: CompiledModel, found: MjcfRows) -> list[Coupling | None]:
    """Build the linear couplings between two joints. Unsupported equalities get a note."""
    m, couplings = given.model, dict[int, Coupling]()
    for i in np.flatnonzero(m.eq_type == given.mj.mjtEq.mjEQ_JOINT).tolist():
        follower, leader = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        offset, ratio, *bends = (float(value) for value in m.eq_data[i, :5])
        row = found.joint_row[follower]
        name = found.rows[row].name
        if not m.eq_active0[i]:
            found.notes.append(f"the equality of joint {name!r} is not active and was skipped")
        elif leader < 0 or ratio == 0.0 or any(bends):
            kind = "curved" if any(bends) else "constant"
            found.notes.append(f"the {kind} equality of joint {name!r} is not read: the joint moves independently")
        elif row in couplings or _leads_to(found.joint_row[leader], row, couplings):
            found.notes.append(f"a further equality of joint {name!r} was skipped: it has a leader already")
        else:
            start, its = (float(m.qpos0[m.jnt_qposadr[joint]]) for joint in (leader, follower))
            couplings[row] = Coupling(found.joint_row[leader], ratio, its + offset - ratio * start)
    return [couplings.get(i) for i in range(len(found.rows))]


def _leads_to(row: int, other: int, couplings: dict[int, Coupling]) -> bool:
    """Return whether a joint follows another, or is it. A coupling between them would close a cycle."""
    while row != other and row in couplings:
        row = couplings[row].leader
    return row == other


def rest_of(given: CompiledModel, skeleton: Skeleton, found: MjcfRows) -> Floats:
    """Read the initial configuration qpos0."""
    return _q(given.model.qpos0, given.model, skeleton, found)


def keyframes_of(given: CompiledModel, skeleton: Skeleton, found: MjcfRows) -> dict[str, Pose]:
    """Build the keyframe poses by name. An unnamed keyframe is called by its number."""
    m, poses = given.model, dict[str, Pose]()
    for i in range(m.nkey):
        own = given.mj.mj_id2name(m, given.mj.mjtObj.mjOBJ_KEY, i)
        name = own or f"key{i}"
        qpos = m.key_qpos[i]
        if not (np.abs(qpos) <= LARGEST).all():
            found.notes.append(f"keyframe {name!r} has a value that is too large, and was skipped")
            continue
        q = _q(qpos, m, skeleton, found)
        off = _disagree(qpos, q, m, skeleton, found)
        if off:
            found.notes.append(f"keyframe {name!r} has other values than the equalities give: {listed(off)}")
        poses[name] = Pose(skeleton, q)
    return poses


def _q(qpos: Floats, m: Any, skeleton: Skeleton, found: MjcfRows) -> Floats:
    """Convert qpos to q (nq,), with rotations of unit length. Coupled joints are omitted."""
    q = skeleton.zero_q()
    for joint, row in found.joint_row.items():
        if skeleton.couplings[row] is None:
            start, kind = int(m.jnt_qposadr[joint]), Kind(skeleton.kinds[row])
            part = qpos[start : start + kind.nq].copy()
            if kind in (Kind.BALL, Kind.FREE):
                part[-4:] = rotations.normalised(part[-4:]) if part[-4:].any() else (1.0, 0.0, 0.0, 0.0)
            at = int(skeleton.q_start[row])
            q[at : at + kind.nq] = part
    return q


def _disagree(qpos: Floats, q: Floats, m: Any, skeleton: Skeleton, found: MjcfRows) -> list[str]:
    """Find coupled joints with a conflicting value in qpos."""
    rows = [row for row, size in moving_rows(skeleton) for _ in range(size)]
    value_of = dict(zip(rows, joint_numbers(skeleton, q).tolist(), strict=True))
    return [
        found.rows[row].name
        for joint, row in found.joint_row.items()
        if skeleton.couplings[row] and abs(value_of[row] - float(qpos[m.jnt_qposadr[joint]])) > _AGREES
    ]


def left_out(counts: Counter[str]) -> str:
    """Format counts for a note: "connect (2), tendons (4)"."""
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
