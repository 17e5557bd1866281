"""Skeleton, keyframes, loops, shapes and masses of a compiled MJCF model.

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
from poise.io.joint_values import compute_joint_numbers, list_movable_joints
from poise.io.mjcf_elements import MIN_MASS, CompiledModel
from poise.io.text_parsing import MAX_NUMBER
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joints import Hold, Kind, Loop, LoopFrame
from poise.model.limits import Limit, Range, SwingTwist
from poise.model.pose import Pose
from poise.model.skeleton import Coupling, Skeleton

_KIND_BY_CODE = (Kind.FREE, Kind.BALL, Kind.SLIDE, Kind.HINGE)  # joint kind by mjtJoint
_ZERO, _IDENTITY_ROTATION = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
_AXIS_TOLERANCE = 1e-6  # maximum deviation of an axis named x, y or z


class MjcfJoint(NamedTuple):
    """One skeleton joint. `mujoco_id` is the MuJoCo id of its joint, -1 for a body or a site."""

    name: str
    parent: int
    kind: Kind
    offset: Floats
    rotation: Floats
    axis: Floats
    mujoco_id: int = -1


@dataclass
class MjcfJoints:
    """All skeleton joints, parents first. It maps bodies and joints of the model to them, and notes renames."""

    joints: list[MjcfJoint] = field(default_factory=list[MjcfJoint])
    index_by_body: dict[int, int] = field(default_factory=dict[int, int])
    index_by_joint: dict[int, int] = field(default_factory=dict[int, int])
    aliases: dict[str, int] = field(default_factory=dict[str, int])
    notes: list[str] = field(default_factory=list[str])


def build_joints(compiled: CompiledModel) -> MjcfJoints:
    """Build the skeleton joints. Bodies are in MuJoCo's order, so q is in the order of qpos; sites follow."""
    return _JointBuilder(compiled).build()


class _JointBuilder:
    def __init__(self, compiled: CompiledModel) -> None:
        self.mj, self.model = compiled.mj, compiled.model
        self.result = MjcfJoints()
        object_types = self.mj.mjtObj
        self.joint_names = self._read_names(object_types.mjOBJ_JOINT, self.model.njnt)
        self.body_names = self._read_names(object_types.mjOBJ_BODY, self.model.nbody)
        self.site_names = self._read_names(object_types.mjOBJ_SITE, self.model.nsite)
        self.used_names = set(self.joint_names) - {""}  # joints keep their names, bodies and sites give way

    def _read_names(self, object_type: Any, count: int) -> list[str]:
        return [self.mj.mj_id2name(self.model, object_type, i) or "" for i in range(count)]

    def build(self) -> MjcfJoints:
        """Build all joints."""
        world = self._find_free_name("world", "body")
        self._add(MjcfJoint(world, -1, Kind.FIXED, _ZERO, _IDENTITY_ROTATION, _ZERO))
        self.result.index_by_body[0] = 0
        for body in range(1, self.model.nbody):
            self._add_body(body)
        for site in range(self.model.nsite):
            name = self._find_free_name(self.site_names[site] or f"site{site}", "site")
            parent = self.result.index_by_body[int(self.model.site_bodyid[site])]
            offset_and_rotation = (self.model.site_pos[site].copy(), self.model.site_quat[site].copy())
            self._add(MjcfJoint(name, parent, Kind.FIXED, *offset_and_rotation, _ZERO))
        return self.result

    def _add(self, joint: MjcfJoint) -> int:
        self.result.joints.append(joint)
        return len(self.result.joints) - 1

    def _add_body(self, body: int) -> None:
        model, name = self.model, self.body_names[body] or f"body{body}"
        parent = self.result.index_by_body[int(model.body_parentid[body])]
        offset, rotation = model.body_pos[body].copy(), model.body_quat[body].copy()
        first_joint, joint_count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        joints = range(first_joint, first_joint + joint_count)
        for joint in joints:
            kind = _KIND_BY_CODE[int(model.jnt_type[joint])]
            joint_offset = _ZERO if kind in (Kind.FREE, Kind.SLIDE) else model.jnt_pos[joint]
            unnamed_joint = self._build_joint(
                joint, kind, parent, offset + rotations.rotate(rotation, joint_offset), rotation
            )
            parent = self.result.index_by_joint[joint] = self._add(
                unnamed_joint._replace(name=self._find_joint_name(joint, joints, body))
            )
            offset, rotation = -joint_offset, _IDENTITY_ROTATION
        body_name = self.body_names[body]
        if joint_count and not offset.any():
            self._add_alias(body_name, parent)
        else:
            parent = self._add(
                MjcfJoint(self._find_free_name(name, "body"), parent, Kind.FIXED, offset, rotation, _ZERO)
            )
        self.result.index_by_body[body] = parent

    def _build_joint(self, joint: int, kind: Kind, parent: int, offset: Floats, rotation: Floats) -> MjcfJoint:
        """Build a joint without a name, from its rest frame."""
        if kind == Kind.FREE:  # qpos is the pose in the world, not a displacement
            return MjcfJoint("", parent, kind, _ZERO, _IDENTITY_ROTATION, _ZERO, joint)
        axis = _ZERO if kind == Kind.BALL else self.model.jnt_axis[joint].copy()
        reference = float(self.model.qpos0[self.model.jnt_qposadr[joint]])
        if kind == Kind.SLIDE and reference:
            offset = offset - reference * rotations.rotate(rotation, axis)
        elif kind == Kind.HINGE and reference:
            rotation = rotations.multiply(rotation, rotations.about(axis, -reference))
        return MjcfJoint("", parent, kind, offset, rotation, axis, joint)

    def _find_joint_name(self, joint: int, joints: Sequence[int], body: int) -> str:
        """Find the name of a joint. An unnamed joint is called like its body, with its axis if there are several."""
        joint_name = self.joint_names[joint]
        if joint_name:
            return joint_name
        name = self.body_names[body] or f"body{body}"
        return self._find_free_name(name if len(joints) == 1 else f"{name}_{self._format_axis(joint)}", "")

    def _format_axis(self, joint: int) -> str:
        kind, axis = _KIND_BY_CODE[int(self.model.jnt_type[joint])], np.abs(self.model.jnt_axis[joint])
        largest = int(axis.argmax())
        if kind in (Kind.HINGE, Kind.SLIDE) and axis[largest] > 1.0 - _AXIS_TOLERANCE:
            return ("t" if kind == Kind.SLIDE else "") + "xyz"[largest]
        return kind.name.lower()

    def _add_alias(self, body: str, index: int) -> None:
        """Add the body as an alias, unless a joint has its name."""
        if not body or body == self.result.joints[index].name:
            return
        if body in self.used_names:
            self.result.notes.append(
                f"body {body!r} and a joint have the same name; it means the joint, and the body is found under its "
                f"own joint {self.result.joints[index].name!r}"
            )
            return
        self.used_names.add(body)
        self.result.aliases[body] = index

    def _find_free_name(self, preferred: str, label: str) -> str:
        """Find an unused name. A note is added if a body or a site is renamed."""
        name, suffix = preferred, 0
        while name in self.used_names:
            suffix += 1
            name = "_".join(part for part in (preferred, label, "" if label and suffix == 1 else str(suffix)) if part)
        if name != preferred and label:
            self.result.notes.append(f"{label} {preferred!r} is called {name!r} here: its name is taken")
        self.used_names.add(name)
        return name


# --- Limits, couplings and keyframes of an MJCF model ----------------------------------------------------------------


_COUPLING_TOLERANCE = 1e-6  # [rad or m] tolerated error of a coupled joint's value in a keyframe


def build_limits(compiled: CompiledModel, joints: MjcfJoints) -> list[Limit | None]:
    """Build a limit for each joint. Ball joints get a note: MuJoCo bounds their total angle."""
    model, limits, notes = compiled.model, [], joints.notes
    for joint in joints.joints:
        limit: Limit | None = None
        if joint.mujoco_id >= 0 and model.jnt_limited[joint.mujoco_id]:
            low, high = (float(end) for end in model.jnt_range[joint.mujoco_id])
            if joint.kind in (Kind.HINGE, Kind.SLIDE):
                limit = _build_range(low, high)
            elif joint.kind == Kind.BALL and high < math.pi:
                limit = SwingTwist((0.0, 0.0, 1.0), swing=high, twist=(-high, high), source="file")
                notes.append(
                    f"ball joint {joint.name!r} may turn by {high:.4g} rad in all; it was read as a swing and a "
                    "twist of "
                    "that much each"
                )
        limits.append(limit)
    return limits


def _build_range(low: float, high: float) -> Range | None:
    """Build a range. An end of too large magnitude is open."""
    low, high = (end if abs(end) <= MAX_NUMBER else math.copysign(math.inf, end) for end in (low, high))
    return Range(low, high, source="file") if math.isfinite(low) or math.isfinite(high) else None


def build_couplings(compiled: CompiledModel, joints: MjcfJoints) -> list[Coupling | None]:
    """Build the linear couplings between two joints. Unsupported equalities get a note."""
    model, couplings = compiled.model, dict[int, Coupling]()
    for i in np.flatnonzero(model.eq_type == compiled.mj.mjtEq.mjEQ_JOINT).tolist():
        follower, leader = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
        offset, ratio, *higher_terms = (float(value) for value in model.eq_data[i, :5])
        follower_index = joints.index_by_joint[follower]
        name = joints.joints[follower_index].name
        if not model.eq_active0[i]:
            joints.notes.append(f"the equality of joint {name!r} is not active and was skipped")
        elif leader < 0 or ratio == 0.0 or any(higher_terms):
            curve_label = "curved" if any(higher_terms) else "constant"
            joints.notes.append(
                f"the {curve_label} equality of joint {name!r} is not read: the joint moves independently"
            )
        elif follower_index in couplings or _is_follower(joints.index_by_joint[leader], follower_index, couplings):
            joints.notes.append(f"a further equality of joint {name!r} was skipped: it has a leader already")
        else:
            leader_reference, follower_reference = (
                float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (leader, follower)
            )
            couplings[follower_index] = Coupling(
                joints.index_by_joint[leader], ratio, follower_reference + offset - ratio * leader_reference
            )
    return [couplings.get(i) for i in range(len(joints.joints))]


def _is_follower(index: int, leader_index: int, couplings: dict[int, Coupling]) -> bool:
    """Return whether a joint follows another, or is it. A coupling between them would close a cycle."""
    while index != leader_index and index in couplings:
        index = couplings[index].leader
    return index == leader_index


def read_rest_q(compiled: CompiledModel, skeleton: Skeleton, joints: MjcfJoints) -> Floats:
    """Read the initial configuration qpos0."""
    return _read_q(compiled.model.qpos0, compiled.model, skeleton, joints)


def build_keyframes(compiled: CompiledModel, skeleton: Skeleton, joints: MjcfJoints) -> dict[str, Pose]:
    """Build the keyframe poses by name. An unnamed keyframe is called by its number."""
    model, poses = compiled.model, dict[str, Pose]()
    for i in range(model.nkey):
        keyframe_name = compiled.mj.mj_id2name(model, compiled.mj.mjtObj.mjOBJ_KEY, i)
        name = keyframe_name or f"key{i}"
        qpos = model.key_qpos[i]
        if not (np.abs(qpos) <= MAX_NUMBER).all():
            joints.notes.append(f"keyframe {name!r} has a value that is too large, and was skipped")
            continue
        q = _read_q(qpos, model, skeleton, joints)
        conflicts = _find_conflicts(qpos, q, model, skeleton, joints)
        if conflicts:
            joints.notes.append(f"keyframe {name!r} has other values than the equalities give: {join_names(conflicts)}")
        poses[name] = Pose(skeleton, q)
    return poses


def _read_q(qpos: Floats, model: Any, skeleton: Skeleton, joints: MjcfJoints) -> Floats:
    """Convert qpos to q (nq,), with rotations of unit length. Coupled joints are omitted."""
    q = skeleton.zero_q()
    for joint, index in joints.index_by_joint.items():
        if skeleton.couplings[index] is None:
            qpos_start, kind = int(model.jnt_qposadr[joint]), Kind(skeleton.kinds[index])
            joint_values = qpos[qpos_start : qpos_start + kind.nq].copy()
            if kind in (Kind.BALL, Kind.FREE):
                joint_values[-4:] = (
                    rotations.normalise(joint_values[-4:]) if joint_values[-4:].any() else (1.0, 0.0, 0.0, 0.0)
                )
            start_column = int(skeleton.q_start[index])
            q[start_column : start_column + kind.nq] = joint_values
    return q


def _find_conflicts(qpos: Floats, q: Floats, model: Any, skeleton: Skeleton, joints: MjcfJoints) -> list[str]:
    """Find coupled joints with a conflicting value in qpos."""
    indices = [index for index, size in list_movable_joints(skeleton) for _ in range(size)]
    value_by_index = dict(zip(indices, compute_joint_numbers(skeleton, q).tolist(), strict=True))
    return [
        joints.joints[index].name
        for joint, index in joints.index_by_joint.items()
        if skeleton.couplings[index]
        and abs(value_by_index[index] - float(qpos[model.jnt_qposadr[joint]])) > _COUPLING_TOLERANCE
    ]


def format_counts(counts: Counter[str]) -> str:
    """Format counts for a note: "connect (2), tendons (4)"."""
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))


# --- Closed loops of an MJCF model -----------------------------------------------------------------------------------
#
# They are `<connect>` and `<weld>` between bodies or sites.


_IDENTITY_WXYZ = (1.0, 0.0, 0.0, 0.0)


def read_loops(compiled: CompiledModel, skeleton_joints: MjcfJoints) -> list[Loop]:
    """Collect the initially active loops.

    Inactive loops and those of mocap bodies get a note.
    """
    mj, model, loops = compiled.mj, compiled.model, list[Loop]()
    kind_by_code = {int(mj.mjtEq.mjEQ_CONNECT): "connect", int(mj.mjtEq.mjEQ_WELD): "weld"}
    for i in range(model.neq):
        kind = kind_by_code.get(int(model.eq_type[i]))
        if kind is None:
            continue
        name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_EQUALITY, i) or ""
        end_frames = _find_ends(compiled, i, kind)
        bodies = [body for body, _ in end_frames]
        joints = tuple(
            skeleton_joints.joints[skeleton_joints.index_by_body[body]].name if body else None for body in bodies
        )
        label = name or f"{kind} of " + " and ".join(repr(joint or "world") for joint in joints)
        if not model.eq_active0[i]:
            skeleton_joints.notes.append(f"the loop {label} (<{kind}>) is not active and was skipped")
        elif any(model.body_mocapid[body] >= 0 for body in bodies):
            skeleton_joints.notes.append(
                f"the loop {label} (<{kind}>) follows a mocap body, which is moved interactively: skipped"
            )
        elif any(not np.abs(frame).max() <= MAX_NUMBER for _, frame in end_frames):
            skeleton_joints.notes.append(f"the loop {label} (<{kind}>) has numbers that are too large and was skipped")
        else:
            holds: tuple[Hold, ...] = ("point",) if kind == "connect" else ("point", "turn")
            first, second = joints
            loops.append(Loop(label, (first, second), (end_frames[0][1], end_frames[1][1]), holds))
    return loops


def _find_ends(compiled: CompiledModel, equality: int, kind: str) -> list[tuple[int, LoopFrame]]:
    """Find both bodies of an equality with their frames.

    Body 0 is the world.
    """
    model, mj = compiled.model, compiled.mj
    object_ids = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    if int(model.eq_objtype[equality]) == int(mj.mjtObj.mjOBJ_SITE):
        return [
            (int(model.site_bodyid[site]), _build_frame(model.site_pos[site], model.site_quat[site]))
            for site in object_ids
        ]
    data: Any = model.eq_data[equality]
    if kind == "connect":
        return [(object_ids[0], _build_frame(data[:3])), (object_ids[1], _build_frame(data[3:6]))]
    # For a weld, the anchor is in the frame of the second body, and the relative pose in that of the first.
    return [(object_ids[0], _build_frame(data[3:6], data[6:10])), (object_ids[1], _build_frame(data[:3]))]


def _build_frame(point: Floats, rotation: Any = _IDENTITY_WXYZ) -> LoopFrame:
    x, y, z = (float(value) for value in point)
    a, b, c, d = (float(value) for value in rotation)
    return (x, y, z, a, b, c, d)


# --- Shapes and masses of an MJCF model ------------------------------------------------------------------------------


Point = tuple[float, float, float]


class Geom(NamedTuple):
    """Primitive shape attached to a joint.

    joint_name   name of the joint
    kind         "plane", "sphere", "capsule", "ellipsoid", "cylinder" or "box"
    size         as in MuJoCo: radius and half lengths [m]
    offset       x y z in the joint's frame [m]
    rotation     w x y z
    can_collide  whether it takes part in collisions (contype, conaffinity)
    """

    joint_name: str
    kind: str
    size: Point
    offset: Point
    rotation: tuple[float, float, float, float]
    can_collide: bool


@dataclass(frozen=True, eq=False)
class MjcfDocument:
    """`Skeleton.source` of an MJCF robot. It is never written back.

    model      name of the model
    geoms      its primitive shapes; meshes and height fields are omitted
    inertials  by joint name: the mass [kg] and its centre in the joint's frame [m], if the file has both
    """

    model: str
    geoms: tuple[Geom, ...] = ()
    inertials: dict[str, tuple[float, Point]] = field(default_factory=dict[str, tuple[float, Point]])


# --- Primitive shapes and masses of a compiled MJCF model ------------------------------------------------------------


_GEOM_KINDS = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}  # geom kind by mjtGeom


def build_document(compiled: CompiledModel, joints: MjcfJoints) -> MjcfDocument:
    """Build the document of shapes and masses."""
    names = {body: joints.joints[joint_index].name for body, joint_index in joints.index_by_body.items()}
    return MjcfDocument(compiled.name, _build_geoms(compiled.model, names), _build_inertials(compiled, names))


def _build_geoms(model: Any, names: dict[int, str]) -> tuple[Geom, ...]:
    return tuple(
        Geom(
            names[int(model.geom_bodyid[i])],
            _GEOM_KINDS[int(model.geom_type[i])],
            _to_point(model.geom_size[i]),
            _to_point(model.geom_pos[i]),
            (*model.geom_quat[i].tolist(),),
            bool(model.geom_contype[i] or model.geom_conaffinity[i]),
        )
        for i in range(model.ngeom)
        if int(model.geom_type[i]) in _GEOM_KINDS
    )


def _build_inertials(compiled: CompiledModel, names: dict[int, str]) -> dict[str, tuple[float, Point]]:
    """Build the masses by joint name. The result is empty if one mass is unknown: the centre of mass would be wrong."""
    model = compiled.model
    if any(body for body in compiled.bodies_without_mass):
        return {}
    inertials: dict[str, tuple[float, Point]] = {}
    for body, name in names.items():
        mass, centre = float(model.body_mass[body]), model.body_ipos[body]
        if body and MIN_MASS < mass < np.inf and np.isfinite(centre).all():
            inertials[name] = (mass, _to_point(centre))
    return inertials


def _to_point(values: Floats) -> Point:
    x, y, z = values.tolist()
    return (x, y, z)
