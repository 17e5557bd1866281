"""VRM animations, `.vrma`: motion for any VRM character. They are glTF with the extension VRMC_vrm_animation.

The nodes are in a T pose at rest; the extension maps human bones to nodes, and its bone names are Poise's roles. Facial
expressions and gaze are nodes as well: they are kept, and move no bone. Any character with known roles can be written:
see `poise.io.vrm_animation`.
"""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

from poise.errors import FileError, WriteWarning, join_names
from poise.io.files import read_bytes, write_checked
from poise.io.free_root_export import strip_free_root
from poise.io.gltf.json_checks import Json, read_object, read_objects
from poise.io.gltf.reader import VRM_ANIMATION, read_gltf_rig
from poise.io.gltf.source_document import GltfDocument
from poise.io.vrm_animation import encode_vrma
from poise.model.rig import Rig, Saveable
from poise.model.roles.bone_names import REQUIRED_BONES
from poise.model.skeleton import Skeleton

NAME = "VRM animation"
SUFFIXES = (".vrma",)
_VERSIONS = ("1.0", "1.0-draft")


def read(path: Path) -> Rig:
    """Read the skeleton, roles and animations of a file. Players show the first animation."""
    return _read_data(path, read_bytes(path))


def write(content: Saveable, path: Path, source_skeleton: Skeleton) -> None:
    """Write the clips of a rig, a clip, or a pose. A pose becomes a clip of one frame.

    UnsupportedError for characters with unknown roles, and for motion other than bone rotations and hip translation.
    Guesses and losses give a WriteWarning.
    """
    data, messages = encode_vrma(strip_free_root(content), path, source_skeleton.without_free_root)
    write_checked(path, data, _read_data)
    for message in messages:
        warnings.warn(f"{path}: {message}", WriteWarning, stacklevel=3)


def _read_data(path: Path, data: bytes) -> Rig:
    rig = read_gltf_rig(path, data)
    source = rig.skeleton.source
    assert isinstance(source, GltfDocument)
    extensions = read_object(source.container.json, "extensions")
    extension = extensions.get(VRM_ANIMATION)
    if not isinstance(extension, dict):
        reason = (
            "is a VRM model, not an animation; name it .vrm"
            if "VRMC_vrm" in extensions or "VRM" in extensions
            else (f"is glTF without {VRM_ANIMATION}, which says what its nodes are; name it .glb or .gltf")
        )
        raise FileError(path, reason, place="extensions")
    return dataclasses.replace(
        rig, notes=(*rig.notes, *_list_notes(extension, rig, len(read_objects(source.container.json, "animations"))))
    )


def _list_notes(extension: Json, rig: Rig, animation_count: int) -> list[str]:
    notes: list[str] = []
    if extension.get("specVersion") not in _VERSIONS:
        notes.append(f"its version {extension.get('specVersion')!r:.40} is not known; it was read as {_VERSIONS[0]}")
    missing_roles = [role for role in REQUIRED_BONES if role not in rig.humanoid]
    if missing_roles:
        notes.append(f"required VRM bones are missing in it: {join_names(missing_roles)}")
    if not animation_count:
        notes.append("it holds no animation")
    if animation_count > 1:
        notes.append(f"it holds {animation_count} animations; most programs play the first")
    return notes
