"""Skeleton rows, limits, couplings and keyframes of a compiled MJCF model.

A body with several joints is a chain of skeleton joints, each at the `pos` of its MuJoCo joint:

    first joint   A = body . T(pos)              the next   A = T(-pos before) . T(pos)
    the body      the last joint, or if its `pos` is not zero, a fixed joint T(-pos)

A subtracts the joint's `ref`, and a free joint has the identity as A, so q equals MuJoCo's qpos number by number; a
coupled joint has no number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from poise.errors import join_names
from poise.io.joint_value_columns import compute_joint_numbers, list_movable_joints
from poise.io.mjcf_elements import CompiledModel
from poise.io.text_parsing import MAX_NUMBER
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joints import Kind
from poise.model.limits import Limit, Range, SwingTwist
from poise.model.pose import Pose
from poise.model.skeleton import Coupling, Skeleton

_KIND_BY_CODE = (Kind.FREE, Kind.BALL, Kind.SLIDE, Kind.HINGE)  # joint kind by mjtJoint
_ZERO_VECTOR, _IDENTITY = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
_AXIS_TOLERANCE = 1e-6  # maximum deviation of an axis named x, y or z


class SkeletonRow(NamedTuple):
    """Row of the future skeleton. `joint_id` is its joint's id in MuJoCo, -1 for a body or a site."""

    name: str
    parent: int
    kind: Kind
    offset: Floats
    rotation: Floats
    axis: Floats
    joint_id: int = -1


@dataclass
class SkeletonPlan:
    """Rows of the future skeleton, parents first.

    row_by_body   row number by MuJoCo's id of the body
    row_by_joint  row number by MuJoCo's id of the joint
    aliases       row number by name of a body
    notes         notes for the user, such as on renamed bodies
    """

    rows: list[SkeletonRow] = field(default_factory=list[SkeletonRow])
    row_by_body: dict[int, int] = field(default_factory=dict[int, int])
    row_by_joint: dict[int, int] = field(default_factory=dict[int, int])
    aliases: dict[str, int] = field(default_factory=dict[str, int])
    notes: list[str] = field(default_factory=list[str])


def build_plan(compiled: CompiledModel) -> SkeletonPlan:
    """Plan the skeleton rows of a model. Bodies are in MuJoCo's order, so q is in the order of qpos; sites follow."""
    return _PlanBuilder(compiled).build()


class _PlanBuilder:
    def __init__(self, compiled: CompiledModel) -> None:
        self.mj, self.model = compiled.mj, compiled.model
        self.plan = SkeletonPlan()
        object_types = self.mj.mjtObj
        self.joint_names = self._read_names(object_types.mjOBJ_JOINT, self.model.njnt)
        self.body_names = self._read_names(object_types.mjOBJ_BODY, self.model.nbody)
        self.site_names = self._read_names(object_types.mjOBJ_SITE, self.model.nsite)
        self.used_names = set(self.joint_names) - {""}  # joints keep their names, bodies and sites give way

    def _read_names(self, object_type: Any, count: int) -> list[str]:
        return [self.mj.mj_id2name(self.model, object_type, i) or "" for i in range(count)]

    def build(self) -> SkeletonPlan:
        """Build all rows."""
        world = self._find_free_name("world", "body")
        self._append_row(SkeletonRow(world, -1, Kind.FIXED, _ZERO_VECTOR, _IDENTITY, _ZERO_VECTOR))
        self.plan.row_by_body[0] = 0
        for body_id in range(1, self.model.nbody):
            self._add_body(body_id)
        for site_id in range(self.model.nsite):
            name = self._find_free_name(self.site_names[site_id] or f"site{site_id}", "site")
            parent = self.plan.row_by_body[int(self.model.site_bodyid[site_id])]
            offset_and_rotation = (self.model.site_pos[site_id].copy(), self.model.site_quat[site_id].copy())
            self._append_row(SkeletonRow(name, parent, Kind.FIXED, *offset_and_rotation, _ZERO_VECTOR))
        return self.plan

    def _append_row(self, row: SkeletonRow) -> int:
        self.plan.rows.append(row)
        return len(self.plan.rows) - 1

    def _add_body(self, body_id: int) -> None:
        model, name = self.model, self.body_names[body_id] or f"body{body_id}"
        parent = self.plan.row_by_body[int(model.body_parentid[body_id])]
        offset, rotation = model.body_pos[body_id].copy(), model.body_quat[body_id].copy()
        first_joint_id, joint_count = int(model.body_jntadr[body_id]), int(model.body_jntnum[body_id])
        joint_ids = range(first_joint_id, first_joint_id + joint_count)
        for joint_id in joint_ids:
            kind = _KIND_BY_CODE[int(model.jnt_type[joint_id])]
            joint_position = _ZERO_VECTOR if kind in (Kind.FREE, Kind.SLIDE) else model.jnt_pos[joint_id]
            unnamed_row = self._build_row(
                joint_id, kind, parent, offset + rotations.rotate(rotation, joint_position), rotation
            )
            parent = self.plan.row_by_joint[joint_id] = self._append_row(
                unnamed_row._replace(name=self._find_joint_name(joint_id, joint_ids, body_id))
            )
            offset, rotation = -joint_position, _IDENTITY
        body_name = self.body_names[body_id]
        if joint_count and not offset.any():
            self._add_alias(body_name, parent)
        else:
            parent = self._append_row(
                SkeletonRow(self._find_free_name(name, "body"), parent, Kind.FIXED, offset, rotation, _ZERO_VECTOR)
            )
        self.plan.row_by_body[body_id] = parent

    def _build_row(self, joint_id: int, kind: Kind, parent: int, offset: Floats, rotation: Floats) -> SkeletonRow:
        """Build the row of an unnamed joint from its rest frame."""
        if kind == Kind.FREE:  # qpos is the pose in the world, not a displacement
            return SkeletonRow("", parent, kind, _ZERO_VECTOR, _IDENTITY, _ZERO_VECTOR, joint_id)
        axis = _ZERO_VECTOR if kind == Kind.BALL else self.model.jnt_axis[joint_id].copy()
        reference = float(self.model.qpos0[self.model.jnt_qposadr[joint_id]])
        if kind == Kind.SLIDE and reference:
            offset = offset - reference * rotations.rotate(rotation, axis)
        elif kind == Kind.HINGE and reference:
            rotation = rotations.multiply(rotation, rotations.about(axis, -reference))
        return SkeletonRow("", parent, kind, offset, rotation, axis, joint_id)

    def _find_joint_name(self, joint_id: int, joint_ids: Sequence[int], body_id: int) -> str:
        """Find the name of a joint. An unnamed joint is called like its body, with its axis if there are several."""
        joint_name = self.joint_names[joint_id]
        if joint_name:
            return joint_name
        name = self.body_names[body_id] or f"body{body_id}"
        return self._find_free_name(name if len(joint_ids) == 1 else f"{name}_{self._format_axis(joint_id)}", "")

    def _format_axis(self, joint_id: int) -> str:
        kind, axis = _KIND_BY_CODE[int(self.model.jnt_type[joint_id])], np.abs(self.model.jnt_axis[joint_id])
        largest = int(axis.argmax())
        if kind in (Kind.HINGE, Kind.SLIDE) and axis[largest] > 1.0 - _AXIS_TOLERANCE:
            return ("t" if kind == Kind.SLIDE else "") + "xyz"[largest]
        return kind.name.lower()

    def _add_alias(self, body_name: str, row: int) -> None:
        """Add the body as an alias, unless a joint has its name."""
        if not body_name or body_name == self.plan.rows[row].name:
            return
        if body_name in self.used_names:
            self.plan.notes.append(
                f"body {body_name!r} and a joint have the same name; it means the joint, and the body is found under "
                f"its own joint {self.plan.rows[row].name!r}"
            )
            return
        self.used_names.add(body_name)
        self.plan.aliases[body_name] = row

    def _find_free_name(self, preferred: str, label: str) -> str:
        """Find an unused name. A note is added if a body or a site is renamed."""
        name, suffix = preferred, 0
        while name in self.used_names:
            suffix += 1
            name = "_".join(part for part in (preferred, label, "" if label and suffix == 1 else str(suffix)) if part)
        if name != preferred and label:
            self.plan.notes.append(f"{label} {preferred!r} is called {name!r} here: its name is taken")
        self.used_names.add(name)
        return name


# --- Limits, couplings and keyframes of an MJCF model ----------------------------------------------------------------


_COUPLING_TOLERANCE = 1e-6  # [rad or m] tolerated error of a coupled joint's value in a keyframe


def build_limits(compiled: CompiledModel, plan: SkeletonPlan) -> list[Limit | None]:
    """Build a limit for each joint. Ball joints get a note: MuJoCo bounds their total angle."""
    model, limits, notes = compiled.model, [], plan.notes
    for row in plan.rows:
        limit: Limit | None = None
        if row.joint_id >= 0 and model.jnt_limited[row.joint_id]:
            low, high = (float(end) for end in model.jnt_range[row.joint_id])
            if row.kind in (Kind.HINGE, Kind.SLIDE):
                limit = _build_range(low, high)
            elif row.kind == Kind.BALL and high < math.pi:
                limit = SwingTwist((0.0, 0.0, 1.0), swing=high, twist=(-high, high), source="file")
                notes.append(
                    f"ball joint {row.name!r} may turn by {high:.4g} rad in all; it was read as a swing and a "
                    "twist of that much each"
                )
        limits.append(limit)
    return limits


def _build_range(low: float, high: float) -> Range | None:
    """Build a range. An end of too large magnitude is open."""
    low, high = (end if abs(end) <= MAX_NUMBER else math.copysign(math.inf, end) for end in (low, high))
    return Range(low, high, source="file") if math.isfinite(low) or math.isfinite(high) else None


def build_couplings(compiled: CompiledModel, plan: SkeletonPlan) -> list[Coupling | None]:
    """Build the linear couplings between two joints. Unsupported equalities get a note."""
    model, couplings = compiled.model, dict[int, Coupling]()
    for equality_id in np.flatnonzero(model.eq_type == compiled.mj.mjtEq.mjEQ_JOINT).tolist():
        follower_id, leader_id = int(model.eq_obj1id[equality_id]), int(model.eq_obj2id[equality_id])
        offset, ratio, *higher_terms = (float(value) for value in model.eq_data[equality_id, :5])
        follower_row = plan.row_by_joint[follower_id]
        name = plan.rows[follower_row].name
        if not model.eq_active0[equality_id]:
            plan.notes.append(f"the equality of joint {name!r} is not active and was skipped")
        elif leader_id < 0 or ratio == 0.0 or any(higher_terms):
            curve_label = "curved" if any(higher_terms) else "constant"
            plan.notes.append(
                f"the {curve_label} equality of joint {name!r} is not read: the joint moves independently"
            )
        elif follower_row in couplings or _is_follower(plan.row_by_joint[leader_id], follower_row, couplings):
            plan.notes.append(f"a further equality of joint {name!r} was skipped: it has a leader already")
        else:
            leader_reference, follower_reference = (
                float(model.qpos0[model.jnt_qposadr[joint_id]]) for joint_id in (leader_id, follower_id)
            )
            couplings[follower_row] = Coupling(
                plan.row_by_joint[leader_id], ratio, follower_reference + offset - ratio * leader_reference
            )
    return [couplings.get(i) for i in range(len(plan.rows))]


def _is_follower(row: int, leader_row: int, couplings: dict[int, Coupling]) -> bool:
    """Return whether a joint follows another, or is it. A coupling between them would close a cycle."""
    while row != leader_row and row in couplings:
        row = couplings[row].leader
    return row == leader_row


def read_rest_q(compiled: CompiledModel, skeleton: Skeleton, plan: SkeletonPlan) -> Floats:
    """Read the initial configuration qpos0."""
    return _read_q(compiled.model.qpos0, compiled.model, skeleton, plan)


def build_keyframes(compiled: CompiledModel, skeleton: Skeleton, plan: SkeletonPlan) -> dict[str, Pose]:
    """Build the keyframe poses by name. An unnamed keyframe is called by its number."""
    model, poses = compiled.model, dict[str, Pose]()
    for keyframe_id in range(model.nkey):
        keyframe_name = compiled.mj.mj_id2name(model, compiled.mj.mjtObj.mjOBJ_KEY, keyframe_id)
        name = keyframe_name or f"key{keyframe_id}"
        qpos = model.key_qpos[keyframe_id]
        if not (np.abs(qpos) <= MAX_NUMBER).all():
            plan.notes.append(f"keyframe {name!r} has a value that is too large, and was skipped")
            continue
        q = _read_q(qpos, model, skeleton, plan)
        conflicts = _find_conflicts(qpos, q, model, skeleton, plan)
        if conflicts:
            plan.notes.append(f"keyframe {name!r} has other values than the equalities give: {join_names(conflicts)}")
        poses[name] = Pose(skeleton, q)
    return poses


def _read_q(qpos: Floats, model: Any, skeleton: Skeleton, plan: SkeletonPlan) -> Floats:
    """Convert qpos to q (nq,), with rotations of unit length. Coupled joints are omitted."""
    q = skeleton.zero_q()
    for joint_id, row in plan.row_by_joint.items():
        if skeleton.couplings[row] is None:
            qpos_start, kind = int(model.jnt_qposadr[joint_id]), Kind(skeleton.kinds[row])
            joint_values = qpos[qpos_start : qpos_start + kind.nq].copy()
            if kind in (Kind.BALL, Kind.FREE):
                joint_values[-4:] = (
                    rotations.normalise(joint_values[-4:]) if joint_values[-4:].any() else (1.0, 0.0, 0.0, 0.0)
                )
            start_column = int(skeleton.q_start[row])
            q[start_column : start_column + kind.nq] = joint_values
    return q


def _find_conflicts(qpos: Floats, q: Floats, model: Any, skeleton: Skeleton, plan: SkeletonPlan) -> list[str]:
    """Find coupled joints with a conflicting value in qpos."""
    rows = [row for row, value_count in list_movable_joints(skeleton) for _ in range(value_count)]
    value_by_row = dict(zip(rows, compute_joint_numbers(skeleton, q).tolist(), strict=True))
    return [
        plan.rows[row].name
        for joint_id, row in plan.row_by_joint.items()
        if skeleton.couplings[row]
        and abs(value_by_row[row] - float(qpos[model.jnt_qposadr[joint_id]])) > _COUPLING_TOLERANCE
    ]


def format_counts(counts: Counter[str]) -> str:
    """Format counts for a note: "connect (2), tendons (4)"."""
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
