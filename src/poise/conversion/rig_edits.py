"""Changes of a rig: unit and up axis, joint names, one root."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from poise.errors import InputError, UnsupportedError, join_names, quote_value
from poise.formatting import format_count
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model import loops
from poise.model.channels import Channel
from poise.model.clip import Clip, KeyedClip
from poise.model.joints import Coupling, Motor
from poise.model.limits import Limit, Range
from poise.model.pose import Pose
from poise.model.rig import Rig, Skin
from poise.model.rig_roles import find_roles
from poise.model.skeleton import Kind, Skeleton


class UnitChange(NamedTuple):
    """Scale and rotation applied to a rig.

    scale     factor of lengths
    rotation  (4,) rotation of the whole character about the origin
    up        the new up axis
    metres    the new unit [m]
    """

    scale: float
    rotation: Floats
    up: str | None
    metres: float | None


def compute_axis_rotation(old: str, new: str) -> Floats:
    """Compute the shortest rotation (4,) between two axes, "x", "y" or "z"."""
    axes = np.eye(3)
    return rotations.rotation_between(axes["xyz".index(old)], axes["xyz".index(new)])


def change_units(rig: Rig, change: UnitChange) -> Rig:
    """Scale and rotate a rig. The source document and its meshes are dropped."""
    skeleton = _change_skeleton(rig.skeleton, change)
    pose = _change_pose(rig.pose, skeleton, change)
    clips = tuple(_change_clip(clip, skeleton, change) for clip in rig.clips)
    return dataclasses.replace(rig, skeleton=skeleton, pose=pose, clips=clips, skins=())


def _change_skeleton(skeleton: Skeleton, change: UnitChange) -> Skeleton:
    A, B = skeleton.A.copy(), skeleton.B.copy()  # noqa: N806
    A[:, :3] *= change.scale
    B[:, :, 3] *= change.scale
    roots = skeleton.parents < 0
    A[roots, :3] = rotations.rotate(change.rotation, A[roots, :3])
    A[roots, 3:] = rotations.multiply(np.broadcast_to(change.rotation, A[roots, 3:].shape), A[roots, 3:])
    return dataclasses.replace(
        skeleton,
        A=A,
        B=B,
        rest_q=_scale_q(skeleton, skeleton.rest_q, change.scale),
        limits=tuple(_scale_limit(skeleton, i, change.scale) for i in range(len(skeleton))),
        couplings=tuple(_scale_coupling(skeleton, i, change.scale) for i in range(len(skeleton))),
        motors={name: _scale_motor(skeleton, name, motor, change.scale) for name, motor in skeleton.motors.items()},
        loops=tuple(loop.scale(change.scale) for loop in skeleton.loops),
        up=change.up,
        metres_per_unit=change.metres,
        faces=_rotate_facing(skeleton.faces, change.rotation),
        source=None,
    )


def _scale_q(skeleton: Skeleton, q: Floats, scale: float) -> Floats:
    """Scale the lengths in q.

    These are slides and positions of free joints; the latter are in the joint's own frame.
    """
    scaled_q = q.copy()
    for i in np.flatnonzero((skeleton.kinds == Kind.SLIDE) | (skeleton.kinds == Kind.FREE)).tolist():
        if skeleton.couplings[i] is None:
            start = int(skeleton.q_start[i])
            scaled_q[..., start : start + (1 if skeleton.kinds[i] == Kind.SLIDE else 3)] *= scale
    return scaled_q


def _scale_limit(skeleton: Skeleton, joint_index: int, scale: float) -> Limit | None:
    limit = skeleton.limits[joint_index]
    if not isinstance(limit, Range) or skeleton.kinds[joint_index] != Kind.SLIDE:
        return limit
    return dataclasses.replace(limit, low=limit.low * scale, high=limit.high * scale, soft=limit.soft / scale**2)


def _scale_coupling(skeleton: Skeleton, joint_index: int, scale: float) -> Coupling | None:
    """Scale a coupling for the lengths of slides.

    A follower's value is ratio * leader + offset; each of the two may be a length.
    """
    coupling = skeleton.couplings[joint_index]
    if coupling is None:
        return None
    follower_scale, leader_scale = (
        scale if skeleton.kinds[i] == Kind.SLIDE else 1.0 for i in (joint_index, coupling.leader)
    )
    return coupling._replace(
        ratio=coupling.ratio * follower_scale / leader_scale, offset=coupling.offset * follower_scale
    )


def _scale_motor(skeleton: Skeleton, joint: str, motor: Motor, scale: float) -> Motor:
    """Scale the lengths of the motor of a slide.

    These are its speed and the bounds of its safety controller; forces stay in newtons.
    """
    if skeleton.kinds[skeleton.index(joint)] != Kind.SLIDE:
        return motor
    safety = motor.safety
    if safety is not None:
        safety = dataclasses.replace(
            safety, lower=safety.lower * scale, upper=safety.upper * scale, k_velocity=safety.k_velocity / scale
        )
    return dataclasses.replace(
        motor, velocity=None if motor.velocity is None else motor.velocity * scale, safety=safety
    )


def _rotate_facing(faces: str | None, rotation: Floats) -> str | None:
    """Rotate a facing direction, "+z" or "-z"."""
    if faces is None:
        return None
    facing = rotations.rotate(rotation, np.eye(3)["xyz".index(faces[-1])] * (-1.0 if faces.startswith("-") else 1.0))
    axis = int(np.abs(facing).argmax())
    return f"{'-' if facing[axis] < 0 else '+'}{'xyz'[axis]}"


def _change_pose(pose: Pose, skeleton: Skeleton, change: UnitChange) -> Pose:
    translations = pose.translations
    if translations is not None:
        translations = translations * change.scale
        roots = skeleton.parents < 0
        translations[..., roots, :] = rotations.rotate(change.rotation, translations[..., roots, :])
    return Pose(skeleton, _scale_q(skeleton, pose.q, change.scale), translations, pose.scales)


def _change_clip(clip: Clip, skeleton: Skeleton, change: UnitChange) -> Clip:
    if isinstance(clip, KeyedClip):
        tracks = tuple(_change_track(track, skeleton, change) for track in clip.tracks)
        return KeyedClip(skeleton, tracks, clip.name)
    return Clip(clip.times, _change_pose(clip.poses, skeleton, change), clip.name)


def _change_track(track: Channel, skeleton: Skeleton, change: UnitChange) -> Channel:
    """Scale and rotate keys and tangents. Both are linear in the translation or quaternion, as is the change."""
    values: Any = track.values
    is_root = skeleton.parents[track.joint] < 0
    if track.path == "translation":
        values = values * change.scale
        values = rotations.rotate(change.rotation, values) if is_root else values
    elif track.path == "rotation" and is_root:
        values = rotations.multiply(np.broadcast_to(change.rotation, values.shape), values)
    return track._replace(values=values)


# --- Renaming of the joints of a rig ---------------------------------------------------------------------------------


def rename_joints(rig: Rig, names: tuple[str, ...]) -> Rig:
    """Rename the joints of a rig.

    The source document, which has the old names, is dropped.

    Parameters
    ----------
    rig
        The rig.
    names
        A unique name for each joint. Chains, roles and all other references are renamed as well.
    """
    new_names = dict(zip(rig.skeleton.names, names, strict=True))
    skeleton = _rename_skeleton(rig.skeleton, names, new_names)
    return dataclasses.replace(
        rig,
        skeleton=skeleton,
        pose=_replace_pose_skeleton(rig.pose, skeleton),
        clips=tuple(_replace_clip_skeleton(clip, skeleton) for clip in rig.clips),
        skins=tuple(Skin(skin.name, tuple(new_names[name] for name in skin.joints), skin.bind) for skin in rig.skins),
        humanoid={role: new_names.get(joint, joint) for role, joint in rig.humanoid.items()},
        poses={name: _replace_pose_skeleton(pose, skeleton) for name, pose in rig.poses.items()},
        disabled_pairs=tuple(
            (new_names.get(first, first), new_names.get(second, second)) for first, second in rig.disabled_pairs
        ),
    )


def _rename_skeleton(skeleton: Skeleton, names: tuple[str, ...], new_names: dict[str, str]) -> Skeleton:
    return dataclasses.replace(
        skeleton,
        names=names,
        aliases={alias: row for alias, row in skeleton.aliases.items() if alias not in names},
        chains={
            name: (new_names.get(root, root), new_names.get(tip, tip)) for name, (root, tip) in skeleton.chains.items()
        },
        roles={role: new_names.get(joint, joint) for role, joint in skeleton.roles.items()},
        loops=tuple(loops.rename_joints(loop, new_names) for loop in skeleton.loops),
        motors={new_names.get(joint, joint): motor for joint, motor in skeleton.motors.items()},
        source=None,
    )


def _replace_pose_skeleton(pose: Pose, skeleton: Skeleton) -> Pose:
    return Pose(skeleton, pose.q, pose.translations, pose.scales)


def _replace_clip_skeleton(clip: Clip, skeleton: Skeleton) -> Clip:
    if isinstance(clip, KeyedClip):
        return KeyedClip(skeleton, clip.tracks, clip.name)
    return Clip(clip.times, _replace_pose_skeleton(clip.poses, skeleton), clip.name)


# --- Selection of one root's tree, for single-root formats -----------------------------------------------------------


class _Subtree(NamedTuple):
    """Subset of the joints of a skeleton, as a skeleton.

    joint_indices  (k,) indices in the whole skeleton, parents first
    skeleton       the new skeleton
    columns        (nq,) columns in the q of the whole skeleton
    ratio          (nq,) factors of the values: 1, except for followers of a joint in another tree
    offset         (nq,) offsets added then
    """

    joint_indices: list[int]
    skeleton: Skeleton
    columns: list[int]
    ratio: Floats
    offset: Floats

    def select_q(self, whole_q: Floats) -> Floats:
        """Select q (..., nq) from the q of the whole skeleton."""
        return whole_q[..., self.columns] * self.ratio + self.offset


def keep_one_root(rig: Rig, root: str | None, *, needs_one_root: bool) -> tuple[Rig, list[str]]:
    """Keep the joints below one root only.

    Return the rig and a line about the removed joints; a rig of one tree is returned unchanged.

    Parameters
    ----------
    rig
        A rig.
    root
        Name of the root. None: the root of the hips if one tree is needed.
    needs_one_root
        Whether the format holds one tree only.

    Raises
    ------
    InputError
        If `root` is not a root.
    UnsupportedError
        If one tree is needed and none or several of them have hips, by role.
    """
    skeleton = rig.skeleton
    root_indices = np.flatnonzero(skeleton.parents < 0).tolist()
    moving_roots = [root_index for root_index in root_indices if skeleton.moving_depth[root_index] > 0]
    if root is not None:
        root_index = skeleton.index(root) if root in skeleton else -1
        if root_index not in root_indices:
            raise InputError(
                f"root: {quote_value(root)} is no root of this rig; its roots are: "
                f"{_format_root_names(skeleton, moving_roots or root_indices)}"
            )
    elif needs_one_root and len(moving_roots) > 1:
        root_index = _find_character_root(rig, moving_roots)
    else:
        return rig, []
    subtree = _build_subtree(skeleton, root_index)
    removed_names = [name for name in skeleton.names if name not in subtree.skeleton]
    if not removed_names:
        return rig, []
    label = format_count(len(removed_names), "joint that does", "joints that do")
    return _select_rig(rig, subtree), [
        f"{label} not hang on {skeleton.names[root_index]!r}: {join_names(removed_names)}"
    ]


def _format_root_names(skeleton: Skeleton, joint_indices: list[int]) -> str:
    return join_names(repr(skeleton.names[joint_index]) for joint_index in joint_indices)


def _find_character_root(rig: Rig, roots: list[int]) -> int:
    """Find the root of the only tree with hips."""
    skeleton = rig.skeleton
    hip_roots = [joint_index for joint_index in roots if "hips" in find_roles(_build_tree_rig(rig, joint_index)).joints]
    if len(hip_roots) == 1:
        return hip_roots[0]
    counts_text = f"{len(hip_roots)} of them have hips" if hip_roots else "none of them has hips"
    raise UnsupportedError(
        f"the new format holds one tree of joints; this rig has {len(roots)} roots, and {counts_text}: "
        f"name one as root (--root NAME): {_format_root_names(skeleton, hip_roots or roots)}"
    )


def _build_tree_rig(rig: Rig, root: int) -> Rig:
    """Build a rig of one tree at rest, for role detection."""
    return _select_rig(dataclasses.replace(rig, clips=(), poses={}), _build_subtree(rig.skeleton, root))


def _build_subtree(whole_skeleton: Skeleton, root: int) -> _Subtree:
    """Build the skeleton below a root. A follower of a joint in another tree gets its own values."""
    is_inside = np.zeros(len(whole_skeleton), dtype=bool)
    for joint_index, parent in enumerate(whole_skeleton.parents.tolist()):
        is_inside[joint_index] = joint_index == root or (parent >= 0 and is_inside[parent])
    joint_indices: list[int] = np.flatnonzero(is_inside).tolist()
    new_indices = {joint_index: i for i, joint_index in enumerate(joint_indices)} | {-1: -1}
    couplings = [whole_skeleton.couplings[joint_index] for joint_index in joint_indices]
    inner_couplings = [
        coupling._replace(leader=new_indices[coupling.leader]) if coupling and coupling.leader in new_indices else None
        for coupling in couplings
    ]
    value_joints = [
        (joint_index, Kind(whole_skeleton.kinds[joint_index]).nq)
        for joint_index, coupling in zip(joint_indices, inner_couplings, strict=True)
        if coupling is None
    ]
    columns = [
        int(whole_skeleton.q_start[joint_index]) + i
        for joint_index, value_count in value_joints
        for i in range(value_count)
    ]
    ratio, offset = np.repeat(
        whole_skeleton.coupling_rows[[joint_index for joint_index, _ in value_joints]],
        [value_count for _, value_count in value_joints],
        axis=0,
    ).T
    skeleton = dataclasses.replace(
        whole_skeleton,
        names=tuple(whole_skeleton.names[joint_index] for joint_index in joint_indices),
        parents=np.array([new_indices[joint_index] for joint_index in whole_skeleton.parents[joint_indices].tolist()]),
        kinds=whole_skeleton.kinds[joint_indices],
        axes=whole_skeleton.axes[joint_indices],
        A=whole_skeleton.A[joint_indices],
        B=whole_skeleton.B[joint_indices],
        rest_q=whole_skeleton.rest_q[columns] * ratio + offset,
        limits=tuple(whole_skeleton.limits[joint_index] for joint_index in joint_indices),
        couplings=tuple(inner_couplings),
        source_ids=tuple(whole_skeleton.source_ids[joint_index] for joint_index in joint_indices),
        euler=tuple(whole_skeleton.euler[joint_index] for joint_index in joint_indices),
        source=None,
        freed=whole_skeleton.freed._replace(row=new_indices[whole_skeleton.freed.row])
        if whole_skeleton.freed is not None and whole_skeleton.freed.row in new_indices
        else None,
        **_select_named_parts(whole_skeleton, new_indices),
    )
    return _Subtree(joint_indices, skeleton, columns, ratio, offset)


def _select_named_parts(skeleton: Skeleton, new_indices: dict[int, int]) -> dict[str, Any]:
    """Select aliases, chains and roles of the kept joints."""
    kept_names = {name for name in (*skeleton.names, *skeleton.aliases) if skeleton.index(name) in new_indices}
    return {
        "aliases": {name: new_indices[row] for name, row in skeleton.aliases.items() if row in new_indices},
        "chains": {name: ends for name, ends in skeleton.chains.items() if kept_names.issuperset(ends)},
        "loops": loops.select_loops(skeleton.loops, kept_names),
        "motors": {joint: motor for joint, motor in skeleton.motors.items() if joint in kept_names},
        "roles": {role: joint for role, joint in skeleton.roles.items() if joint in kept_names},
    }


def _select_rig(rig: Rig, subtree: _Subtree) -> Rig:
    """Select the data of a rig for a subtree. The source document and its meshes are dropped."""
    skeleton = subtree.skeleton
    return dataclasses.replace(
        rig,
        skeleton=skeleton,
        pose=_select_pose(rig.pose, subtree),
        clips=tuple(_select_tree_clip(clip, subtree) for clip in rig.clips),
        skins=(),
        humanoid={role: joint for role, joint in rig.humanoid.items() if joint in skeleton},
        poses={name: _select_pose(pose, subtree) for name, pose in rig.poses.items()},
        disabled_pairs=tuple(pair for pair in rig.disabled_pairs if pair[0] in skeleton and pair[1] in skeleton),
    )


def _select_pose(pose: Pose, subtree: _Subtree) -> Pose:
    local_arrays = [
        None if values is None else values[..., subtree.joint_indices, :] for values in (pose.translations, pose.scales)
    ]
    return Pose(subtree.skeleton, subtree.select_q(pose.q), *local_arrays)


def _select_tree_clip(clip: Clip, subtree: _Subtree) -> Clip:
    if isinstance(clip, KeyedClip):
        new_indices = {joint_index: i for i, joint_index in enumerate(subtree.joint_indices)}
        tracks = tuple(
            track._replace(joint=new_indices[track.joint]) for track in clip.tracks if track.joint in new_indices
        )
        return KeyedClip(subtree.skeleton, tracks, clip.name)
    return Clip(clip.times, _select_pose(clip.poses, subtree), clip.name)
