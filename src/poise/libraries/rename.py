"""Renaming of the joints of a rig."""

from __future__ import annotations

import dataclasses

from poise.model.clip import Clip, KeyedClip
from poise.model.pose import Pose
from poise.model.rig import Rig, Skin
from poise.model.skeleton import Skeleton


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
    skeleton = _skeleton(rig.skeleton, names, new)
    return dataclasses.replace(
        rig,
        skeleton=skeleton,
        pose=_pose(rig.pose, skeleton),
        clips=tuple(_clip(clip, skeleton) for clip in rig.clips),
        skins=tuple(Skin(one.name, tuple(new[name] for name in one.joints), one.bind) for one in rig.skins),
        humanoid={role: new.get(joint, joint) for role, joint in rig.humanoid.items()},
        poses={name: _pose(pose, skeleton) for name, pose in rig.poses.items()},
        disabled_pairs=tuple((new.get(one, one), new.get(other, other)) for one, other in rig.disabled_pairs),
    )


def _skeleton(s: Skeleton, names: tuple[str, ...], new: dict[str, str]) -> Skeleton:
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


def _pose(pose: Pose, skeleton: Skeleton) -> Pose:
    return Pose(skeleton, pose.q, pose.translations, pose.scales)


def _clip(clip: Clip, skeleton: Skeleton) -> Clip:
    if isinstance(clip, KeyedClip):
        return KeyedClip(skeleton, clip.tracks, clip.name)
    return Clip(clip.times, _pose(clip.poses, skeleton), clip.name)
