"""Rig: what a file holds; load() and save() find the format by the file's suffix."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pkgutil
import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from poise import io
from poise.arrays import Floats
from poise.clip import Clip
from poise.errors import FileError, InputError, PoiseWarning, UnknownNameError
from poise.pose import Pose
from poise.sidecar import apply_sidecar, roles_in, sidecar_of
from poise.skeleton import Skeleton

if TYPE_CHECKING:
    from os import PathLike

_LATER = {
    ".fbx": "FBX", ".usd": "USD", ".usda": "USD", ".usdc": "USD", ".usdz": "USD",
    ".xml": "MJCF", ".mjcf": "MJCF", ".npz": "AMASS npz", ".amc": "ASF/AMC", ".asf": "ASF/AMC",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Skin:
    """Which joints deform a mesh, and their world transforms when it was bound to them.

    bind  (k, 4, 4) world bind matrices, in the order of `joints`: the inverses of glTF's inverse bind
    matrices. They may differ from the rest pose.
    """

    name: str
    joints: tuple[str, ...]
    bind: Floats


@dataclass(frozen=True, eq=False)
class Rig:
    """What a file holds.

    skeleton  the joints, with limits from the file and its sidecar
    pose      the pose the file shows; differs from `rest` in a file that a solved pose was saved to: the
              nodes of a glTF file, the only frame of a BVH file
    clips     the animations
    skins     bind poses
    humanoid  VRM 1.0 bone names -> joint names, from the sidecar and the file's own map; see `poise.humanoid`
    notes     what was repaired or ignored while reading, a sentence each
    sidecar_roles  the roles in `humanoid` that the sidecar gives
    """

    skeleton: Skeleton
    pose: Pose
    clips: tuple[Clip, ...] = ()
    skins: tuple[Skin, ...] = ()
    humanoid: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    path: Path | None = None
    sidecar_roles: frozenset[str] = frozenset()

    @cached_property  # one value, so that what is packed for it is found again
    def rest(self) -> Pose:
        """The rest pose; for a robot, zero moved to the nearest legal value."""
        return Pose(self.skeleton, self.skeleton.rest_q)

    def clip(self, name: str) -> Clip:
        """Find a clip by name."""
        for clip in self.clips:
            if clip.name == name:
                return clip
        raise UnknownNameError("clip", name, [clip.name for clip in self.clips])

    def with_skeleton(self, skeleton: Skeleton) -> Rig:
        """Return the rig with other limits on its skeleton, in its pose and clips too."""
        clips = tuple(clip.on(skeleton) for clip in self.clips)
        return dataclasses.replace(
            self, skeleton=skeleton, pose=dataclasses.replace(self.pose, skeleton=skeleton), clips=clips
        )


Saveable: TypeAlias = Rig | Clip | Pose


class Format(Protocol):
    """What a module in `poise.io` offers."""

    NAME: str
    SUFFIXES: tuple[str, ...]

    @staticmethod
    def read(path: Path) -> Rig:
        """Read a file."""
        ...

    @staticmethod
    def write(thing: Saveable, path: Path, like: Skeleton) -> None:
        """Write a file. `like.source` is the document to keep, if it is of this format."""
        ...


def _named_like(suffix: str) -> Any:
    """The format module of this name, if it reads or writes such files: the others need not be imported then."""
    name = suffix.removeprefix(".")
    if not name.isidentifier() or importlib.util.find_spec(f"poise.io.{name}") is None:
        return None
    module = importlib.import_module(f"poise.io.{name}")
    return module if suffix in getattr(module, "SUFFIXES", ()) else None


@cache
def formats() -> dict[str, Any]:
    """Every suffix with the module that reads and writes it. The folder `poise.io` is the registry."""
    names = [m.name for m in pkgutil.iter_modules(io.__path__) if not m.name.startswith("_")]
    modules = [importlib.import_module(f"poise.io.{name}") for name in names]
    return {suffix: module for module in modules for suffix in module.SUFFIXES}


def load(path: str | PathLike[str]) -> Rig:
    """Read a rig from a file: glTF, GLB, VRM, BVH or URDF, found by the suffix.

    A sidecar `<rig>.ik.toml` beside the file adds chains, hinge axes, ranges and roles. What was repaired or
    ignored is warned about (PoiseWarning) and kept in `Rig.notes`.

    Raises FileError for a file that is missing, broken or of a format that is not supported.
    """
    path = Path(path)
    module = _format(path, "read")
    rig: Rig = module.read(path)
    sidecar = sidecar_of(path)
    if sidecar.is_file():
        rig = _with_roles(rig.with_skeleton(apply_sidecar(rig.skeleton, sidecar)), roles_in(rig.skeleton, sidecar))
    for note in rig.notes:
        warnings.warn(f"{path}: {note}", PoiseWarning, stacklevel=2)
    return rig


def _with_roles(rig: Rig, roles: dict[str, str]) -> Rig:
    """Return the rig with the roles of its sidecar, which win over the file's for a role and for a joint."""
    kept = {role: joint for role, joint in rig.humanoid.items() if joint not in roles.values()}
    return dataclasses.replace(rig, humanoid=kept | roles, sidecar_roles=frozenset(roles))


def save(thing: Saveable, path: str | PathLike[str], *, like: Rig | Skeleton | None = None) -> None:
    """Write a rig, a clip or a pose. The format is found by the suffix.

    What the skeleton was read from is kept and only what changed is written; `like` names another rig
    whose document is to be kept. With neither, a bare skeleton is written. The file is written under a
    temporary name first: it is complete or it is not there.

    Raises FileError for an unknown suffix or a folder that cannot be written, UnsupportedError for what
    the format cannot hold, InputError for anything but a rig, a clip or a pose.
    """
    if not isinstance(thing, Rig | Clip | Pose):
        raise InputError(f"save() writes a Rig, Clip or Pose, such as result.pose, not {_kind(thing)}")
    if not (like is None or isinstance(like, Rig | Skeleton)):
        raise InputError(f"like must be a Rig or a Skeleton, not {_kind(like)}")
    path = Path(path)
    skeleton = like.skeleton if isinstance(like, Rig) else like or thing.skeleton
    writer(path).write(thing, path, skeleton)


def _kind(thing: object) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"


def writer(path: Path) -> Any:
    """Find the module that writes this kind of file; FileError if there is none."""
    return _format(path, "write")


def _format(path: Path, verb: str) -> Any:
    suffix = path.suffix.lower()
    module = _named_like(suffix) or formats().get(suffix)
    if module is not None and hasattr(module, verb):
        return module
    if suffix in _LATER:
        raise FileError(path, f"{_LATER[suffix]} files are not supported yet")
    known = ", ".join(sorted(s for s, m in formats().items() if hasattr(m, verb)))
    raise FileError(path, f"cannot {verb} files named {suffix or 'without a suffix'!r}; known: {known}")
