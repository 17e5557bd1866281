"""Rigs: the contents of a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from poise.calls import late_binding
from poise.calls.argument_checks import check_entries, check_names, check_text, check_type
from poise.errors import InputError, UnknownNameError, quote_value
from poise.formatting import format_fields
from poise.maths.arrays import Floats, check_finite
from poise.model.clip import Clip
from poise.model.pose import Pose, check_same_skeleton
from poise.model.skeleton import Skeleton
from poise.runtime.immutable_values import FrozenValue
from poise.runtime.result_cache import get_or_compute

if TYPE_CHECKING:
    from poise.model.anatomy.roles import Roles


@dataclass(frozen=True, eq=False)
class Skin(FrozenValue):
    """Joints deforming a mesh, with their world bind transforms.

    Parameters
    ----------
    name
        Name of the skin.
    joints
        Names of the joints.
    bind
        (k, 4, 4) world bind matrices, in the order of `joints`: the inverses of glTF's inverse bind matrices. They may
        differ from the rest pose.
    """

    __repr__ = format_fields

    name: str
    joints: tuple[str, ...]
    bind: Floats

    def __post_init__(self) -> None:
        check_text(self.name, "the name of a skin")
        object.__setattr__(self, "joints", check_names(self.joints, "the joints of a skin"))
        bind = check_finite(self.bind, "the bind matrices of a skin", last_axis_length=4)
        if bind.shape != (len(self.joints), 4, 4):
            label = f"the bind matrices of {len(self.joints)} joints"
            raise InputError(f"{label} need the shape ({len(self.joints)}, 4, 4); theirs is {bind.shape}")
        object.__setattr__(self, "bind", bind)


@dataclass(frozen=True, eq=False)
class Rig(FrozenValue):
    """Contents of a file: skeleton, pose, clips, skins, notes.

    Parameters
    ----------
    skeleton
        The joints, with limits from the file and its sidecar.
    pose
        The pose in the file: the nodes of a glTF file, the only frame of a BVH file. It differs from `rest` in a file
        with a saved solved pose.
    clips
        The animations.
    skins
        The joints of each deformed mesh.
    humanoid
        VRM 1.0 bone names to joint names, from the sidecar and from the file's own map; `roles` adds those that are
        found.
    notes
        Repairs and ignored parts of the file, one sentence each.
    path
        The file that was read.
    sidecar_roles
        The roles in `humanoid` from the sidecar.
    poses
        Named poses: the keyframes of an MJCF file, the group states of an SRDF file. They need not be legal.
    disabled_pairs
        Pairs of links excluded from collision checks by the file, as names for `Skeleton.index`.
    """

    __repr__ = format_fields
    _repr_html_ = late_binding.represent_as_html

    skeleton: Skeleton
    pose: Pose
    clips: tuple[Clip, ...] = ()
    skins: tuple[Skin, ...] = ()
    humanoid: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    path: Path | None = None
    sidecar_roles: frozenset[str] = frozenset()
    poses: dict[str, Pose] = dataclasses.field(default_factory=dict[str, Pose])
    disabled_pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_type(self.skeleton, Skeleton, "the skeleton of a rig")
        check_same_skeleton(
            self.skeleton, check_type(self.pose, Pose, "the pose of a rig").skeleton, "the pose of a rig"
        )
        for name, entry_class in (("clips", Clip), ("skins", Skin), ("notes", str)):
            entries = check_entries(getattr(self, name), f"the {name} of a rig", "those of another rig")
            for entry in entries:
                check_type(entry, entry_class, f"each of the {name} of a rig")
            object.__setattr__(self, name, tuple(entries))
        for name in ("humanoid", "poses"):
            check_type(getattr(self, name), Mapping, f"`{name}` of a rig")
        for clip in self.clips:
            check_same_skeleton(self.skeleton, clip.skeleton, f"clip {clip.name!r} of a rig")
        for name, pose in self.poses.items():
            label = f"pose {quote_value(name)} of a rig"
            check_same_skeleton(self.skeleton, check_type(pose, Pose, label).skeleton, label)
        self._unify_free_root()

    def _unify_free_root(self) -> None:
        """Convert pose and clips to the skeleton's root. One may have a free root and the other not."""
        freed = self.skeleton.freed
        if self.pose.skeleton.freed != freed:
            object.__setattr__(self, "pose", self.pose.on(self.skeleton))
        if any(clip.skeleton.freed != freed for clip in self.clips):
            object.__setattr__(self, "clips", tuple(clip.on(self.skeleton) for clip in self.clips))
        if any(pose.skeleton.freed != freed for pose in self.poses.values()):
            object.__setattr__(self, "poses", {name: pose.on(self.skeleton) for name, pose in self.poses.items()})

    @cached_property  # one object: arrays cached for it are reused
    def rest(self) -> Pose:
        """The rest pose; a robot's is the legal pose nearest zero."""
        return Pose(self.skeleton, self.skeleton.rest_q)

    @cached_property
    def roles(self) -> Roles:
        """Roles of the joints. They are found at the first use."""
        return late_binding.find_roles(self)

    def clip(self, name: str) -> Clip:
        """Find a clip by name."""
        for clip in self.clips:
            if isinstance(name, str) and clip.name == name:  # pyright: ignore[reportUnnecessaryIsInstance]
                return clip
        raise UnknownNameError("clip", name, [clip.name for clip in self.clips])

    def named_pose(self, name: str) -> Pose:
        """Find a pose by name, such as an MJCF keyframe."""
        if not isinstance(name, str) or name not in self.poses:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnknownNameError("pose", name, self.poses)
        return self.poses[name]

    def with_skeleton(self, skeleton: Skeleton) -> Rig:
        """Return the rig on a skeleton with other limits. Poses and clips follow."""
        check_type(skeleton, Skeleton, "the new skeleton of a rig")
        if skeleton is self.skeleton:
            return self
        clips = tuple(clip.on(skeleton) for clip in self.clips)
        poses = {name: pose.on(skeleton) for name, pose in self.poses.items()}
        return dataclasses.replace(self, skeleton=skeleton, pose=self.pose.on(skeleton), clips=clips, poses=poses)


def free_root(rig: Rig) -> Rig:
    """Return a rig on its skeleton with a free root. It is one object, so that it is measured once."""
    skeleton = rig.skeleton.with_free_root()
    if skeleton is rig.skeleton:
        return rig
    return get_or_compute(rig, "free root", None, lambda: rig.with_skeleton(skeleton))


Saveable: TypeAlias = Rig | Clip | Pose
