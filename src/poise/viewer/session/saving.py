"""Downloads of the page, written with `poise.save()`. These are the posed rig, a clip and the sidecar."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from poise.errors import FileError, PoiseError, UnknownNameError, UnsupportedError
from poise.io.files import is_file, read_bytes, sidecar_of
from poise.io.gltf.container import GltfDocument
from poise.io.registry import save
from poise.io.sidecar.write import sidecar_text
from poise.io.urdf.document import UrdfDocument
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

_MIMES = {
    "glb": "model/gltf-binary",
    "gltf": "model/gltf+json",
    "bvh": "text/plain",
    "urdf": "application/xml",
    "json": "application/json",
    "csv": "text/csv",
    "toml": "application/toml",
}
_UNFIT = re.compile(r"[^\w.-]+")
_LONGEST = 100  # characters of a download's stem
_CONTACTS = re.compile(r"""\s*\[\s*(contacts|"contacts"|'contacts')\s*[.\]]""")


class Saved(NamedTuple):
    """A file for download."""

    name: str
    mime: str
    data: bytes


def formats_of(rig: Rig) -> tuple[str, ...]:
    """List the save formats of a rig, its own first. "toml" is the sidecar."""
    source = rig.skeleton.source
    own = ("glb", "gltf") if isinstance(source, GltfDocument) else ("urdf",) if isinstance(source, UrdfDocument) else ()
    others = [name for name in ("glb", "gltf", "bvh", "json", "csv") if name not in own and _can(rig, name)]
    if type(source).__name__ == "BvhDocument":
        others.sort(key=lambda name: name != "bvh")
    return (*own, *others, "toml")


def _can(rig: Rig, format: str) -> bool:  # noqa: A002
    try:
        saved_pose(rig, rig.rest, format)
    except PoiseError:
        return False
    return True


def saved_pose(rig: Rig, pose: Pose, format: str) -> Saved:  # noqa: A002  (the name in the page's messages)
    """Write the rig's file in a pose.

    Everything else in it is kept. As "urdf": with the current limits. Raise UnsupportedError for content that the
    format cannot hold.
    """
    name = f"{_stem(rig)}_posed"
    if format == "toml":
        return saved_sidecar(rig, pose.skeleton, None)
    if format == "urdf":
        return _saved(dataclasses.replace(rig.with_skeleton(pose.skeleton), clips=()), rig, name, format)
    return _saved(pose, rig, name, format)


def saved_clip(rig: Rig, clip: Clip, format: str) -> Saved:  # noqa: A002
    """Write the rig's file with a clip.

    It is appended to a glTF document, or becomes the frames of a BVH file or joint values.
    """
    if format in ("toml", "urdf"):
        raise UnsupportedError(f"a {format} file holds no clip; save a pose, or the clip to glb, bvh, json or csv")
    stem, called = _stem(rig), _UNFIT.sub("_", clip.name)[:_LONGEST].strip("._")
    return _saved(clip, rig, f"{stem}_{called if called not in ('', stem) else 'clip'}", format)


def saved_sidecar(rig: Rig, skeleton: Skeleton, chains: Mapping[str, tuple[str, str]] | None) -> Saved:
    """Write the sidecar with limits and chains. `chains` None keeps the rig's own; entries of other joints stay.

    Its name is the one that load() searches beside the rig's file.
    """
    joints = [
        name
        for name, old, new in zip(skeleton.names, rig.skeleton.limits, skeleton.limits, strict=True)
        if old is not None or new is not None
    ]
    roles = {role: joint for role, joint in rig.humanoid.items() if role in rig.sidecar_roles}
    text = sidecar_text(skeleton, joints, chains, roles) + _contacts(rig)
    return Saved(f"{_stem(rig)}.ik.toml", _MIMES["toml"], text.encode())


def _saved(thing: Saveable, rig: Rig, stem: str, format: str) -> Saved:  # noqa: A002
    if format not in _MIMES:
        raise UnknownNameError("format", format, _MIMES)
    vrm = rig.path is not None and rig.path.suffix.lower() == ".vrm" and isinstance(rig.skeleton.source, GltfDocument)
    name = f"{stem}.{'vrm' if vrm and format == 'glb' else format}"
    with tempfile.TemporaryDirectory(prefix="poise-") as folder:
        path = Path(folder) / name
        try:
            save(thing, path, like=rig)
        except FileError as error:  # without the path of the temporary folder
            raise FileError(name, error.reason, place=error.place) from error
        except UnsupportedError as error:
            raise UnsupportedError(str(error).replace(str(path), name)) from error
        return Saved(name, _MIMES[format], path.read_bytes())


def _stem(rig: Rig) -> str:
    stem = rig.path.stem if rig.path is not None else "rig"
    return _UNFIT.sub("_", stem)[:_LONGEST].strip("._") or "rig"


def _contacts(rig: Rig) -> str:
    """Read the `contacts` tables of the rig's sidecar as text. The viewer does not edit them."""
    path = sidecar_of(rig.path) if rig.path is not None else None
    if path is None or not is_file(path):
        return ""
    try:
        text = read_bytes(path, may_be_empty=True).decode("utf-8")
        said = tomllib.loads(text).get("contacts")
        lines, inside = list[str](), False
        for line in text.splitlines(keepends=True):
            inside = bool(_CONTACTS.match(line)) if line.lstrip().startswith("[") else inside
            lines += [line] if inside else []
        kept = "".join(lines)
        return kept if tomllib.loads(kept).get("contacts") == said else ""
    except (PoiseError, ValueError, RecursionError):
        return ""
