"""Skeletons and clips of a USD stage, from UsdSkel or UsdPhysics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np

from poise.errors import FileError, InputError, join_names
from poise.io.subprocess_reader import SubprocessReply
from poise.io.text_parsing import MAX_NUMBER, quote_excerpt
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, freeze_array
from poise.model.channels import Channel
from poise.model.clip import KeyedClip
from poise.model.joints import make_unique_names
from poise.model.limits import EulerBox, Limit, Range
from poise.model.loops import Hold, Loop, make_names_unique
from poise.model.rig import Skin
from poise.model.skeleton import Kind, Skeleton

_SHEAR_COSINE = 1e-5  # largest cosine between axes without shear; allows matrices printed with few digits


def decompose_matrices(matrices: Floats) -> tuple[Floats, Floats, Floats, Bools]:
    """Decompose matrices (n, 16) into translation, rotation and scale.

    Rotations are w x y z; the last result marks sheared matrices, for which the parts are not the whole.

    A mirrored matrix has a negative first scale. With a scale of zero the rotation is the nearest one.
    """
    matrices_4x4 = matrices.reshape(-1, 4, 4)
    linear = matrices_4x4[:, :3, :3].transpose(0, 2, 1)
    scales = np.linalg.norm(linear, axis=1)
    scales[:, 0] *= np.where(np.linalg.det(linear) < 0.0, -1.0, 1.0)
    axes = linear / np.where(scales == 0.0, 1.0, scales)[:, None, :]
    quaternions = rotations.from_matrix(rotations.rotation_part(axes)) if len(matrices_4x4) else np.zeros((0, 4))
    cosines = np.abs(np.einsum("nij,nik->njk", axes, axes) * (1.0 - np.eye(3))).max(axis=(1, 2), initial=0.0)
    return matrices_4x4[:, 3, :3].copy(), quaternions, scales, cosines > _SHEAR_COSINE


# --- Skeletons and clips of UsdSkel ----------------------------------------------------------------------------------
#
# Each skeleton is below a fixed joint at its prim.


_CHANNELS = (("translations", "translation", 3), ("rotations", "rotation", 4), ("scales", "scale", 3))


@dataclass(frozen=True, eq=False)
class PrimSkeleton:
    """One skeleton of the stage: path, joint rows and animation. The rows are by joint path."""

    path: str
    rows: dict[str, int]
    animation: str


@dataclass(frozen=True, eq=False)
class StageSkeletons:
    """All skeletons of a stage, joined to one skeleton."""

    skeleton: Skeleton
    prim_skeletons: list[PrimSkeleton]
    skins: tuple[Skin, ...]


def build_skeletons(reply: SubprocessReply, notes: list[str], units: dict[str, Any]) -> StageSkeletons:
    """Build the joints of every skeleton. FileError for arrays of inconsistent sizes."""
    names: list[str] = []
    parents: list[int] = []
    kinds: list[int] = []
    matrices: list[Floats] = []
    skin_arguments: list[tuple[str, list[int], Floats]] = []
    prim_skeletons: list[PrimSkeleton] = []
    source_paths: list[str] = []
    for entry in reply.header["skeletons"]:
        root_row = len(names)
        joint_paths: list[str] = entry["joints"]
        if len(set(joint_paths)) < len(joint_paths):
            raise FileError(reply.path, "its joints have the same path twice", place=entry["path"])
        rows = {path: root_row + 1 + i for i, path in enumerate(joint_paths)}
        parent_rows = [_find_parent(path, rows, root_row) for path in joint_paths]
        if any(parent >= row for parent, row in zip(parent_rows, rows.values(), strict=True)):
            raise FileError(reply.path, "its joints are not listed after their parents", place=entry["path"])
        rest_matrices, bind_matrices = _read_transforms(
            reply, entry, [parent - root_row - 1 for parent in parent_rows], notes
        )
        skeleton_name, joint_names = entry["path"].rsplit("/", 1)[-1], [path.rsplit("/", 1)[-1] for path in joint_paths]
        names += [f"{skeleton_name}_skeleton" if skeleton_name in joint_names else skeleton_name, *joint_names]
        source_paths += [entry["path"], *(f"{entry['path']}:{path}" for path in joint_paths)]
        parents += [-1, *parent_rows]
        kinds += [int(Kind.FIXED), *[int(Kind.BALL)] * len(joint_paths)]
        skeleton_matrix = _check_finite(reply, np.array(entry["world_matrix"], dtype=np.float64).reshape(1, 16))
        matrices += [skeleton_matrix, rest_matrices]
        skin_arguments.append((names[root_row], list(rows.values()), bind_matrices))
        prim_skeletons.append(PrimSkeleton(entry["path"], rows, entry["animation_path"]))
        if entry["is_animated"]:
            notes.append(f"the animation of the prim {entry['path']} itself is not read")
    offsets, quaternions, scales, is_sheared = decompose_matrices(np.concatenate(matrices))
    if is_sheared.any():
        sheared_names = join_names(names[i] for i in np.flatnonzero(is_sheared))
        notes.append(
            f"sheared rest transforms are not supported; only their rotation and scale were kept: {sheared_names}"
        )
    skeleton = Skeleton.build(
        names, parents, kinds, offsets=offsets, rotations=quaternions, scales=scales, source_ids=source_paths, **units
    )
    renamed_joints = [new for new, old in zip(skeleton.names, names, strict=True) if new != old]
    if renamed_joints:
        notes.append(f"joints with a duplicate name were renamed: {join_names(renamed_joints)}")
    return StageSkeletons(
        skeleton,
        prim_skeletons,
        tuple(_build_skin(skeleton, *arguments) for arguments in skin_arguments if len(arguments[2])),
    )


def _build_skin(skeleton: Skeleton, name: str, rows: list[int], bind_matrices: Floats) -> Skin:
    matrices = bind_matrices.reshape(-1, 4, 4).transpose(0, 2, 1).copy()
    matrices.setflags(write=False)
    return Skin(name, tuple(skeleton.names[row] for row in rows), matrices)


def _find_parent(path: str, rows: dict[str, int], root_row: int) -> int:
    """Find the row of the nearest joint above a path. The skeleton's own row where there is none."""
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        if path in rows:
            return rows[path]
    return root_row


def _read_transforms(
    reply: SubprocessReply, entry: dict[str, Any], parents: list[int], notes: list[str]
) -> tuple[Floats, Floats]:
    """Read rest and bind transforms, (n, 16) each. Rest is relative to the parents, bind in the world."""
    joint_count = len(parents)
    blocks = [reply.blocks[entry[f"{name}_block"]] for name in ("rest", "bind")]
    for name, block in zip(("rest", "bind"), blocks, strict=True):
        if block.size not in (0, 16 * joint_count):
            reason = f"{joint_count} joints need {joint_count} {name} transforms; there are {block.size / 16:g}"
            raise FileError(reply.path, reason, place=entry["path"])
    rest_matrices, bind_matrices = (_check_finite(reply, block.reshape(-1, 16)) for block in blocks)
    if not joint_count:
        return np.zeros((0, 16)), np.zeros((0, 16))
    if not len(rest_matrices) and not len(bind_matrices):
        raise FileError(reply.path, "has neither rest nor bind transforms", place=entry["path"])
    if len(rest_matrices):
        return rest_matrices, bind_matrices if len(bind_matrices) else np.zeros((0, 16))
    notes.append(f"the skeleton {entry['path']} has no rest transforms; its bind pose is used as its rest pose")
    world_matrices = bind_matrices.reshape(-1, 4, 4)
    if (np.abs(np.linalg.det(world_matrices)) < 1e-300).any():  # noqa: PLR2004
        raise FileError(reply.path, "a bind transform has no inverse", place=entry["path"])
    local_matrices = [
        m if p < 0 else m @ np.linalg.inv(world_matrices[p]) for m, p in zip(world_matrices, parents, strict=True)
    ]
    return np.array(local_matrices).reshape(-1, 16), bind_matrices


def _check_finite(reply: SubprocessReply, values: Floats) -> Floats:
    if not (np.abs(values) <= MAX_NUMBER).all():  # also catches NaN
        raise FileError(reply.path, "it holds a transform with a number that is not finite or too large")
    return values


# --- animations ----------------------------------------------------------------------------------


def build_clips(reply: SubprocessReply, skeletons: StageSkeletons, notes: list[str]) -> tuple[KeyedClip, ...]:
    """Build a clip for each animation of a skeleton. Those bound to one come first, then those matching its joints."""
    clips: list[KeyedClip] = []
    rate = reply.header["time_codes_per_second"]
    for entry in reply.header["animations"]:
        prim_skeleton = _match_skeleton(entry, skeletons.prim_skeletons)
        if prim_skeleton is None:
            notes.append(f"the animation {entry['path']} moves no joint of a skeleton in the file and is left out")
            continue
        clip = _build_clip(reply, entry, prim_skeleton, skeletons.skeleton, rate if rate > 0.0 else 24.0, notes)
        if clip is not None:
            clips.append(clip)
    return tuple(clips)


def _match_skeleton(entry: dict[str, Any], prim_skeletons: list[PrimSkeleton]) -> PrimSkeleton | None:
    bound_skeletons = [prim_skeleton for prim_skeleton in prim_skeletons if prim_skeleton.animation == entry["path"]]
    matching_skeletons = [
        prim_skeleton
        for prim_skeleton in prim_skeletons
        if entry["joints"] and set(entry["joints"]) <= set(prim_skeleton.rows)
    ]
    return next((prim_skeleton for prim_skeleton in [*bound_skeletons, *matching_skeletons]), None)


def _build_clip(
    reply: SubprocessReply,
    entry: dict[str, Any],
    prim_skeleton: PrimSkeleton,
    skeleton: Skeleton,
    rate: float,
    notes: list[str],
) -> KeyedClip | None:
    time_codes = reply.read_block(entry["time_block"], reply.blocks[entry["time_block"]].shape)
    joints: list[str] = entry["joints"]
    keys_by_path: dict[str, Floats] = {}
    for name, path, component_count in _CHANNELS:
        block = None if entry[name] is None else reply.blocks[entry[name]]
        if block is None or block.size != len(time_codes) * len(joints) * component_count:
            notes.append(f"the animation {entry['path']} does not have as many {name} as joints and is left out")
            return None
        keys_by_path[path] = reply.read_block(entry[name], (len(time_codes), len(joints), component_count))
    if not keys_by_path["rotation"].any(axis=-1).all():
        raise FileError(reply.path, "holds a rotation of zero length", place=entry["path"])
    if max(np.abs(block).max(initial=0.0) for block in keys_by_path.values()) > MAX_NUMBER:
        raise FileError(reply.path, "holds a number too large", place=entry["path"])
    times = (time_codes - time_codes[0]) / rate
    freeze_array(times)
    unknown_joints = [joint for joint in joints if joint not in prim_skeleton.rows]
    if unknown_joints:
        notes.append(
            f"the animation {entry['path']} moves joints missing from its skeleton: {join_names(unknown_joints)}"
        )
    name = entry["path"].rsplit("/", 1)[-1]
    if time_codes[0] != 0.0:
        notes.append(f"animation {name!r} begins at {time_codes[0] / rate:.6g} s in the file; its clip begins at 0")
    tracks = [
        _build_track(prim_skeleton.rows[joint], path, times, keys_by_path[path][:, k])
        for k, joint in enumerate(joints)
        if joint in prim_skeleton.rows
        for _, path, _ in _CHANNELS
    ]
    return KeyedClip(skeleton, tuple(tracks), name) if tracks else None


def _build_track(row: int, path: Any, times: Floats, values: Floats) -> Channel:
    values = rotations.normalise(values) if path == "rotation" else values.copy()
    freeze_array(values)
    return Channel(row, path, "LINEAR", times, values)


# --- Skeleton of UsdPhysics bodies and joints ------------------------------------------------------------------------
#
# Joints that would close a loop are left out, with a note.


_KIND_BY_JOINT = {"revolute": Kind.HINGE, "prismatic": Kind.SLIDE, "fixed": Kind.FIXED, "spherical": Kind.BALL}
_ROTATION_LIMIT_NAMES = ("rotX", "rotY", "rotZ")
_WORLD = ""  # path of the world, the default body of a joint


# Position and rotation of a row relative to the previous one.
_IDENTITY_TRANSFORM = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])


class _SingleMotion(NamedTuple):
    """One motion of a physics joint: path, kind, axis and limit. It becomes one row of the skeleton."""

    path: str
    kind: Kind
    axis: Floats
    limit: Limit | None


def _build_range(low: float, high: float) -> Range | None:
    """Build a range from two ends.

    None where neither is finite.
    """
    low, high = (low if low > -MAX_NUMBER else -math.inf), (high if high < MAX_NUMBER else math.inf)
    return None if math.isinf(low) and math.isinf(high) else Range(low, high, source="file")


class PhysicsTree:
    """Tree of physics joints and bodies as rows of a skeleton.

    A joint has a row at its frame, then its child body one.
    """

    def __init__(self, reply: SubprocessReply, notes: list[str]) -> None:
        self.reply = reply
        self.notes = notes
        self.names: list[str] = []
        self.parents: list[int] = []
        self.kinds: list[int] = []
        self.axes: list[tuple[float, ...]] = []
        self.transforms: list[tuple[Floats, Floats]] = []
        self.limits: list[Limit | None] = []
        self.sources: list[str] = []
        self.row_by_body: dict[str, int] = {}
        self.aliases: dict[str, int] = {}
        self.loop_joints: list[dict[str, Any]] = []  # joints closing a loop
        self.body_transforms: dict[str, tuple[Floats, Floats, Floats]] = {
            path: self._read_body_transform(matrix) for path, matrix in reply.header["bodies"].items()
        }
        self.body_transforms[_WORLD] = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), np.ones(3)
        self._build_trees()

    def _read_body_transform(self, matrix: list[float]) -> tuple[Floats, Floats, Floats]:
        values = np.array(matrix, dtype=np.float64).reshape(1, 16)
        if not (np.abs(values) <= MAX_NUMBER).all():
            raise FileError(self.reply.path, "the transform of a body is not finite or too large")
        position, quaternion, scale, _ = decompose_matrices(values)
        return position[0], quaternion[0], scale[0]

    def _build_trees(self) -> None:
        """Build trees from bodies without a joint above. They come in file order; remaining joints close loops."""
        joints = [joint for joint in self.reply.header["joints"] if joint["is_enabled"] and any(joint["bodies"])]
        remaining_joints = [joint for joint in joints if not joint["is_outside_articulation"]]
        closing_joints = [joint for joint in joints if joint["is_outside_articulation"]]
        world_joints = [joint for joint in remaining_joints if _WORLD in joint["bodies"]]
        remaining_joints = [joint for joint in remaining_joints if _WORLD not in joint["bodies"]]
        for joint in joints:
            self._check_joint(joint)
        for joint in sorted(world_joints, key=lambda joint: joint["kind"] != "fixed"):
            body = joint["bodies"][0] or joint["bodies"][1]
            if body not in self.row_by_body and joint["kind"] == "fixed":
                self._add_root(body, Kind.FIXED)
            elif body not in self.row_by_body:
                self._add_to_world(joint)
            elif joint["kind"] != "fixed":
                closing_joints.append(joint)
        while remaining_joints:
            next_joint = next(
                (j for j in remaining_joints if any(body in self.row_by_body for body in j["bodies"])), None
            )
            if next_joint is None:
                child_bodies = {joint["bodies"][1] for joint in remaining_joints}
                root_body = next(
                    (j["bodies"][0] for j in remaining_joints if j["bodies"][0] not in child_bodies),
                    remaining_joints[0]["bodies"][0],
                )
                self._add_root(root_body, Kind.FREE if root_body in self.reply.header["dynamic_bodies"] else Kind.FIXED)
                continue
            remaining_joints.remove(next_joint)
            if all(body in self.row_by_body for body in next_joint["bodies"]):
                closing_joints.append(next_joint)
            else:
                self._add_joint(next_joint, is_reversed=next_joint["bodies"][0] not in self.row_by_body)
        closing_joints = [joint for joint in closing_joints if not self._add_detached(joint)]
        self.loop_joints = [joint for joint in closing_joints if self._find_constraints(joint)[0]]
        has_fixed_root = any(
            parent < 0 and kind == Kind.FIXED for parent, kind in zip(self.parents, self.kinds, strict=True)
        )
        if not has_fixed_root and any(_WORLD in joint["bodies"] for joint in self.loop_joints):
            self._add_world()
        if closing_joints:
            paths = join_names(joint["path"] for joint in closing_joints)
            self.notes.append(
                f"joints that close a loop are not part of the tree, and poses can open the loop: {paths}"
            )

    def _check_joint(self, joint: dict[str, Any]) -> None:
        """Replace an axis or limits without a meaning, with a note."""
        if joint["axis"] not in ("X", "Y", "Z"):
            self.notes.append(
                f"the axis {quote_excerpt(joint['axis'])} of joint {joint['path']} is not X, Y or Z: X is read"
            )
            joint["axis"] = "X"
        if math.isnan(joint["lower_limit"]) or math.isnan(joint["upper_limit"]):
            self.notes.append(f"the range of joint {joint['path']} is ignored: a limit is not a number")
            joint["lower_limit"], joint["upper_limit"] = -math.inf, math.inf

    def _add_detached(self, joint: dict[str, Any]) -> bool:
        """Add a detached joint if it carries a body of its own. It stands apart from its articulation."""
        is_in_tree = [body == _WORLD or body in self.row_by_body for body in joint["bodies"]]
        if sum(is_in_tree) != 1:
            return False
        if _WORLD in joint["bodies"]:
            self._add_to_world(joint)
        else:
            self._add_joint(joint, is_reversed=not is_in_tree[0])
        return True

    def _add_to_world(self, joint: dict[str, Any]) -> None:
        """Add rows for a joint between a body and the world.

        They are below a row for the world itself.
        """
        self._add_world()
        self._add_joint(joint, is_reversed=joint["bodies"][1] == _WORLD)

    def _add_world(self) -> None:
        """Add a fixed row for the world, unless it has one."""
        if _WORLD not in self.row_by_body:
            origin, identity_rotation, _ = self.body_transforms[_WORLD]
            self.row_by_body[_WORLD] = self._add_row(
                self._choose_world_name(), -1, Kind.FIXED, (origin, identity_rotation)
            )

    def _choose_world_name(self) -> str:
        """Choose an unused name for the world.

        No body and no joint of the file has it.
        """
        paths = [*self.reply.header["bodies"], *(joint["path"] for joint in self.reply.header["joints"])]
        used_names = {path.rsplit("/", 1)[-1] for path in paths}
        return next(name for name in chain(["world"], (f"world_{i}" for i in count(1))) if name not in used_names)

    def _find_constraints(self, joint: dict[str, Any]) -> tuple[tuple[Hold, ...], str]:
        """Find the constraints of a loop joint, and its free axis.

        The axis is X, Y or Z.
        """
        axis = joint["axis"]
        holds_by_kind: dict[str, tuple[Hold, ...]] = {
            "fixed": ("point", "turn"), "revolute": ("point", "axis"), "prismatic": ("line", "turn"),
            "spherical": ("point",),
        }  # fmt: skip
        if joint["kind"] in holds_by_kind:
            return holds_by_kind[joint["kind"]], axis
        range_by_motion: dict[str, list[float]] = joint["limits"]
        free_axes = {
            motion: [
                letter
                for letter in "XYZ"
                if not range_by_motion.get(motion + letter, [0.0, 1.0])[0]
                > range_by_motion.get(motion + letter, [0.0, 1.0])[1]
            ]
            for motion in ("trans", "rot")
        }
        single_axes = [axes[0] for axes in free_axes.values() if len(axes) == 1]
        shared_axis = single_axes[0] if len(set(single_axes)) == 1 else ""  # rotation and translation share one axis
        position_holds: dict[int, tuple[Hold, ...]] = {0: ("point",), 1: ("line",) if shared_axis else ()}
        rotation_holds: dict[int, tuple[Hold, ...]] = {0: ("turn",), 1: ("axis",) if shared_axis else ()}
        return position_holds.get(len(free_axes["trans"]), ()) + rotation_holds.get(
            len(free_axes["rot"]), ()
        ), shared_axis or axis

    def _find_loop_end(self, joint: dict[str, Any], body_index: int) -> tuple[int, Floats, Floats]:
        """Find the row of a loop's end, with a frame.

        The frame is that of the joint, in the row. The world is its own row, or a fixed root.
        """
        position, quaternion = self._read_frame(joint, body_index)
        row = self.row_by_body.get(joint["bodies"][body_index])
        if row is not None:
            return row, position, quaternion
        roots = zip(self.parents, self.kinds, strict=True)
        row = next(i for i, (parent, kind) in enumerate(roots) if parent < 0 and kind == Kind.FIXED)
        origin, rotation = self.transforms[row]
        inverse_rotation = rotations.inverse(rotation)
        return (
            row,
            rotations.rotate(inverse_rotation, position - origin),
            rotations.multiply(inverse_rotation, quaternion),
        )

    def _build_loop(self, joint: dict[str, Any], names: Sequence[str]) -> Loop | None:
        """Build a Loop between two named rows from a joint. None where it ties a row to itself."""
        holds, axis = self._find_constraints(joint)
        (row_a, point_a, rotation_a), (row_b, point_b, rotation_b) = (self._find_loop_end(joint, i) for i in range(2))
        if row_a == row_b:
            return None
        has_rotation = "turn" in holds or "axis" in holds
        rotation: Any = rotations.multiply(rotation_a, rotations.inverse(rotation_b)) if has_rotation else None
        axis_in_a: Any = rotations.rotate(rotation_a, np.eye(3)["XYZ".index(axis)])
        name, points = joint["path"].rsplit("/", 1)[-1], (tuple(point_a.tolist()), tuple(point_b.tolist()))
        return Loop(names[row_a], names[row_b], *points, rotation, holds=holds, axis=axis_in_a, name=name)

    def _add_row(
        self, path: str, parent: int, kind: Kind, transform: tuple[Floats, Floats], limit: Limit | None = None
    ) -> int:
        self.names.append(path.rsplit("/", 1)[-1])
        self.sources.append(path)
        self.parents.append(parent)
        self.kinds.append(int(kind))
        self.transforms.append(transform)
        self.limits.append(limit)
        self.axes.append((0.0, 0.0, 0.0))
        return len(self.names) - 1

    def _add_root(self, body: str, kind: Kind) -> None:
        """Add the row of a body without a joint above. It is free where a simulation would let it fall."""
        position, quaternion, _ = self.body_transforms[body]
        self.row_by_body[body] = self._add_row(body, -1, kind, (position, quaternion))

    def _add_joint(self, joint: dict[str, Any], *, is_reversed: bool) -> None:
        """Add rows for a joint and its child body.

        `is_reversed` where the file has the two bodies in the other order.
        """
        parent_body, child_body = joint["bodies"][::-1] if is_reversed else joint["bodies"]
        parent_index, child_index = (1, 0) if is_reversed else (0, 1)
        row, transform = self.row_by_body[parent_body], self._read_frame(joint, parent_index)
        motions = self._split_motions(joint, is_reversed=is_reversed)
        for motion in reversed(motions) if is_reversed else motions:
            row = self._add_row(motion.path, row, motion.kind, transform, motion.limit)
            if motion.kind in (Kind.HINGE, Kind.SLIDE):
                self.axes[row] = tuple((-motion.axis if is_reversed else motion.axis).tolist())
            transform = _IDENTITY_TRANSFORM
        position, quaternion = self._read_frame(joint, child_index)
        if not position.any() and not quaternion[1:].any():  # identical frames: the body is an alias of the joint
            self.row_by_body[child_body] = row
            self.aliases[child_body.rsplit("/", 1)[-1]] = row
            return
        inverse_rotation = rotations.inverse(quaternion)
        self.row_by_body[child_body] = self._add_row(
            child_body, row, Kind.FIXED, (-rotations.rotate(inverse_rotation, position), inverse_rotation)
        )

    def _read_frame(self, joint: dict[str, Any], body_index: int) -> tuple[Floats, Floats]:
        """Return the joint's frame in one of its scaled bodies."""
        position, quaternion = (
            np.array(joint[name][body_index], dtype=np.float64) for name in ("frame_positions", "frame_rotations")
        )
        if not (np.abs(position) <= MAX_NUMBER).all() or not np.isfinite(quaternion).all() or not quaternion.any():
            raise FileError(
                self.reply.path, "its frame is not finite, or its rotation has no length", place=joint["path"]
            )
        return position * self.body_transforms[joint["bodies"][body_index]][2], rotations.normalise(quaternion)

    def _split_motions(self, joint: dict[str, Any], *, is_reversed: bool) -> list[_SingleMotion]:
        """Split a joint into motions, from its first body's frame on.

        The slides of a joint of six freedoms come first, then its rotation. The last motion has the joint's own name,
        the slides before it add the letter of their axis.
        """
        kind, limit = self._read_motion(joint, is_reversed=is_reversed)
        axis = np.eye(3)["XYZ".index(joint["axis"])]
        main_motion = _SingleMotion(joint["path"], kind, axis, limit)
        if joint["kind"] != "free":
            return [main_motion]
        slides: list[_SingleMotion] = []
        for letter, slide_axis in zip("XYZ", np.eye(3), strict=True):
            low, high = joint["limits"].get(f"trans{letter}", (-math.inf, math.inf))
            if not low > high:
                slides.append(
                    _SingleMotion(f"{joint['path']}_{letter.lower()}", Kind.SLIDE, slide_axis, _build_range(low, high))
                )
        if slides and kind == Kind.FIXED:
            return [*slides[:-1], slides[-1]._replace(path=joint["path"])]
        return [*slides, main_motion]

    def _read_motion(self, joint: dict[str, Any], *, is_reversed: bool) -> tuple[Kind, Limit | None]:
        kind = _KIND_BY_JOINT.get(joint["kind"])
        try:
            if kind is not None and kind in (Kind.HINGE, Kind.SLIDE):
                return kind, self._read_range(joint)  # the axis is negated for reversed bodies
            if kind == Kind.BALL and max(joint["cone_angles"]) >= 0.0:
                self.notes.append(f"the cone that limits the spherical joint {joint['path']} is not read")
            return (kind, None) if kind is not None else self._read_rotation_limits(joint, is_reversed=is_reversed)
        except InputError as error:
            raise FileError(self.reply.path, str(error), place=joint["path"]) from error

    def _read_range(self, joint: dict[str, Any]) -> Range | None:
        unit_factor = math.pi / 180.0 if joint["kind"] == "revolute" else 1.0
        low, high = float(joint["lower_limit"]) * unit_factor, float(joint["upper_limit"]) * unit_factor
        if low > high:
            self.notes.append(
                f"the range of joint {joint['path']} is ignored: its lower limit {joint['lower_limit']:g} is above "
                f"its upper limit {joint['upper_limit']:g}"
            )
            return None
        return _build_range(low, high)

    def _read_rotation_limits(self, joint: dict[str, Any], *, is_reversed: bool) -> tuple[Kind, Limit | None]:
        """Read the rotation limits of a joint with six freedoms.

        A freedom is locked where low is above high.
        """
        limits: dict[str, list[float]] = joint["limits"]
        ranges = [
            tuple(math.radians(angle) for angle in limits[name]) if name in limits else (-math.inf, math.inf)
            for name in _ROTATION_LIMIT_NAMES
        ]
        ranges = [(0.0, 0.0) if low > high else (low, high) for low, high in ranges]
        if all(angle_range == (0.0, 0.0) for angle_range in ranges):
            return Kind.FIXED, None
        if is_reversed:
            self.notes.append(f"the limits of {joint['path']} are measured from the other body, and are not read")
            return Kind.BALL, None
        x, y, z = ranges
        box = EulerBox("XYZ", x=x, y=y, z=z, source="file")
        return Kind.BALL, box if any(math.isfinite(angle) for angle_range in ranges for angle in angle_range) else None

    def build_skeleton(self, units: dict[str, Any]) -> Skeleton:
        """Build the skeleton with zero at coinciding joint frames."""
        offsets, quaternions = zip(*self.transforms, strict=True)
        units = units | {"aliases": {name: row for name, row in self.aliases.items() if name not in self.names}}
        names = make_unique_names(self.names)
        renamed_joints = [new for new, old in zip(names, self.names, strict=True) if new != old]
        if renamed_joints:
            self.notes.append(f"bodies and joints with a duplicate name were renamed: {join_names(renamed_joints)}")
        loops = [loop for joint in self.loop_joints if (loop := self._build_loop(joint, names)) is not None]
        return Skeleton.build(
            self.names, self.parents, self.kinds, offsets=np.array(offsets), rotations=np.array(quaternions),
            axes=np.array(self.axes), limits=self.limits, source_ids=self.sources,
            loops=make_names_unique(loops), **units,
        )  # fmt: skip
