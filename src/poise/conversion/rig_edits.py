"""Changes of a rig: unit and up axis, joint names, one root."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from poise.errors import InputError, UnsupportedError, join_names, quote_value
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.formatting import format_count
from poise.model.clip import Clip, KeyedClip, Track
from poise.model.joints import Coupling, Motor, select_loops
from poise.model.limits import Limit, Range
from poise.model.pose import Pose
from poise.model.rig import Rig, Skin
from poise.model.rig_roles import search_roles
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


def _change_skeleton(s: Skeleton, change: UnitChange) -> Skeleton:
    A, B = s.A.copy(), s.B.copy()  # noqa: N806
    A[:, :3] *= change.scale
    B[:, :, 3] *= change.scale
    roots = s.parents < 0
    A[roots, :3] = rotations.rotate(change.rotation, A[roots, :3])
    A[roots, 3:] = rotations.multiply(np.broadcast_to(change.rotation, A[roots, 3:].shape), A[roots, 3:])
    return dataclasses.replace(
        s,
        A=A,
        B=B,
        rest_q=_scale_q(s, s.rest_q, change.scale),
        limits=tuple(_scale_limit(s, i, change.scale) for i in range(len(s))),
        couplings=tuple(_scale_coupling(s, i, change.scale) for i in range(len(s))),
        motors={name: _scale_motor(s, name, motor, change.scale) for name, motor in s.motors.items()},
        loops=tuple(loop.scale(change.scale).rotate(change.rotation) for loop in s.loops),
        up=change.up,
        metres_per_unit=change.metres,
        faces=_rotate_facing(s.faces, change.rotation),
        source=None,
    )


def _scale_q(s: Skeleton, q: Floats, scale: float) -> Floats:
    """Scale the lengths in q.

    These are slides and positions of free joints; the latter are in the joint's own frame.
    """
    result = q.copy()
    for i in np.flatnonzero((s.kinds == Kind.SLIDE) | (s.kinds == Kind.FREE)).tolist():
        if s.couplings[i] is None:
            start = int(s.q_start[i])
            result[..., start : start + (1 if s.kinds[i] == Kind.SLIDE else 3)] *= scale
    return result


def _scale_limit(s: Skeleton, joint_index: int, scale: float) -> Limit | None:
    limit = s.limits[joint_index]
    if not isinstance(limit, Range) or s.kinds[joint_index] != Kind.SLIDE:
        return limit
    return dataclasses.replace(limit, low=limit.low * scale, high=limit.high * scale, soft=limit.soft / scale**2)


def _scale_coupling(s: Skeleton, joint_index: int, scale: float) -> Coupling | None:
    """Scale a coupling for the lengths of slides.

    A follower's value is ratio * leader + offset; each of the two may be a length.
    """
    coupling = s.couplings[joint_index]
    if coupling is None:
        return None
    own, led = (scale if s.kinds[i] == Kind.SLIDE else 1.0 for i in (joint_index, coupling.leader))
    return coupling._replace(ratio=coupling.ratio * own / led, offset=coupling.offset * own)


def _scale_motor(s: Skeleton, joint: str, motor: Motor, scale: float) -> Motor:
    """Scale the lengths of the motor of a slide.

    These are its speed and the bounds of its safety controller; forces stay in newtons.
    """
    if s.kinds[s.index(joint)] != Kind.SLIDE:
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


def _change_track(track: Track, skeleton: Skeleton, change: UnitChange) -> Track:
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
    new = dict(zip(rig.skeleton.names, names, strict=True))
    skeleton = _rename_skeleton(rig.skeleton, names, new)
    return dataclasses.replace(
        rig,
        skeleton=skeleton,
        pose=_replace_pose_skeleton(rig.pose, skeleton),
        clips=tuple(_replace_clip_skeleton(clip, skeleton) for clip in rig.clips),
        skins=tuple(Skin(one.name, tuple(new[name] for name in one.joints), one.bind) for one in rig.skins),
        humanoid={role: new.get(joint, joint) for role, joint in rig.humanoid.items()},
        poses={name: _replace_pose_skeleton(pose, skeleton) for name, pose in rig.poses.items()},
        disabled_pairs=tuple((new.get(one, one), new.get(other, other)) for one, other in rig.disabled_pairs),
    )


def _rename_skeleton(s: Skeleton, names: tuple[str, ...], new: dict[str, str]) -> Skeleton:
    return dataclasses.replace(
        s,
        names=names,
        aliases={alias: row for alias, row in s.aliases.items() if alias not in names},
        chains={name: (new.get(root, root), new.get(tip, tip)) for name, (root, tip) in s.chains.items()},
        roles={role: new.get(joint, joint) for role, joint in s.roles.items()},
        loops=tuple(
            dataclasses.replace(loop, joints=tuple(joint and new.get(joint, joint) for joint in loop.joints))
            for loop in s.loops
        ),
        motors={new.get(joint, joint): motor for joint, motor in s.motors.items()},
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


def keep_one_root(rig: Rig, root: str | None, *, needed: bool) -> tuple[Rig, list[str]]:
    """Keep the joints below one root only.

    Return the rig and a line about the removed joints; a rig of one tree is returned unchanged.

    Parameters
    ----------
    rig
        A rig.
    root
        Name of the root. None: the root of the hips if one tree is `needed`.
    needed
        Whether the format holds one tree only.

    Raises
    ------
    InputError
        If `root` is not a root.
    UnsupportedError
        If one tree is needed and none or several of them have hips, by role.
    """
    s = rig.skeleton
    roots = np.flatnonzero(s.parents < 0).tolist()
    moving = [root_index for root_index in roots if s.moving_depth[root_index] > 0]
    if root is not None:
        root_index = s.index(root) if root in s else -1
        if root_index not in roots:
            raise InputError(
                f"root: {quote_value(root)} is no root of this rig; its roots are: "
                f"{_format_root_names(s, moving or roots)}"
            )
    elif needed and len(moving) > 1:
        root_index = _find_character_root(rig, moving)
    else:
        return rig, []
    subtree = _build_subtree(s, root_index)
    removed = [name for name in s.names if name not in subtree.skeleton]
    if not removed:
        return rig, []
    label = format_count(len(removed), "joint that does", "joints that do")
    return _select_rig(rig, subtree), [f"{label} not hang on {s.names[root_index]!r}: {join_names(removed)}"]


def _format_root_names(s: Skeleton, joint_indices: list[int]) -> str:
    return join_names(repr(s.names[row]) for row in joint_indices)


def _find_character_root(rig: Rig, roots: list[int]) -> int:
    """Find the root of the only tree with hips."""
    s = rig.skeleton
    with_hips = [row for row in roots if "hips" in search_roles(_build_tree_rig(rig, row)).joints]
    if len(with_hips) == 1:
        return with_hips[0]
    counts_text = f"{len(with_hips)} of them have hips" if with_hips else "none of them has hips"
    raise UnsupportedError(
        f"the new format holds one tree of joints; this rig has {len(roots)} roots, and {counts_text}: "
        f"name one as root (--root NAME): {_format_root_names(s, with_hips or roots)}"
    )


def _build_tree_rig(rig: Rig, root: int) -> Rig:
    """Build a rig of one tree at rest, for role detection."""
    return _select_rig(dataclasses.replace(rig, clips=(), poses={}), _build_subtree(rig.skeleton, root))


def _build_subtree(s: Skeleton, root: int) -> _Subtree:
    """Build the skeleton below a root. A follower of a joint in another tree gets its own values."""
    is_inside = np.zeros(len(s), dtype=bool)
    for row, parent in enumerate(s.parents.tolist()):
        is_inside[row] = row == root or (parent >= 0 and is_inside[parent])
    joint_indices: list[int] = np.flatnonzero(is_inside).tolist()
    new = {row: i for i, row in enumerate(joint_indices)} | {-1: -1}
    couplings = [s.couplings[row] for row in joint_indices]
    within = [c._replace(leader=new[c.leader]) if c and c.leader in new else None for c in couplings]
    value_joints = [(row, Kind(s.kinds[row]).nq) for row, c in zip(joint_indices, within, strict=True) if c is None]
    columns = [int(s.q_start[row]) + i for row, size in value_joints for i in range(size)]
    ratio, offset = np.repeat(
        s.coupling_rows[[row for row, _ in value_joints]], [size for _, size in value_joints], axis=0
    ).T
    skeleton = dataclasses.replace(
        s,
        names=tuple(s.names[row] for row in joint_indices),
        parents=np.array([new[row] for row in s.parents[joint_indices].tolist()]),
        kinds=s.kinds[joint_indices],
        axes=s.axes[joint_indices],
        A=s.A[joint_indices],
        B=s.B[joint_indices],
        rest_q=s.rest_q[columns] * ratio + offset,
        limits=tuple(s.limits[row] for row in joint_indices),
        couplings=tuple(within),
        source_ids=tuple(s.source_ids[row] for row in joint_indices),
        euler=tuple(s.euler[row] for row in joint_indices),
        source=None,
        freed=s.freed._replace(row=new[s.freed.row]) if s.freed is not None and s.freed.row in new else None,
        **_select_named_parts(s, new),
    )
    return _Subtree(joint_indices, skeleton, columns, ratio, offset)


def _select_named_parts(s: Skeleton, new: dict[int, int]) -> dict[str, Any]:
    """Select aliases, chains and roles of the kept joints."""
    kept_names = {name for name in (*s.names, *s.aliases) if s.index(name) in new}
    return {
        "aliases": {name: new[row] for name, row in s.aliases.items() if row in new},
        "chains": {name: ends for name, ends in s.chains.items() if kept_names.issuperset(ends)},
        "loops": select_loops(s.loops, kept_names),
        "motors": {joint: motor for joint, motor in s.motors.items() if joint in kept_names},
        "roles": {role: joint for role, joint in s.roles.items() if joint in kept_names},
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
    parts = [
        None if values is None else values[..., subtree.joint_indices, :] for values in (pose.translations, pose.scales)
    ]
    return Pose(subtree.skeleton, subtree.select_q(pose.q), *parts)


def _select_tree_clip(clip: Clip, subtree: _Subtree) -> Clip:
    if isinstance(clip, KeyedClip):
        new = {row: i for i, row in enumerate(subtree.joint_indices)}
        tracks = tuple(track._replace(joint=new[track.joint]) for track in clip.tracks if track.joint in new)
        return KeyedClip(subtree.skeleton, tracks, clip.name)
    return Clip(clip.times, _select_pose(clip.poses, subtree), clip.name)
