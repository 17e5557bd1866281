"""glTF reader: nodes, skins, animations and humanoid map to a Rig."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from poise.errors import FileError, PoiseError
from poise.io.gltf.accessors import Accessors
from poise.io.gltf.asset import applied, as_in_gltf, read_said, without_added_root
from poise.io.gltf.buffers import Buffers
from poise.io.gltf.container import Container, GltfDocument, unpack
from poise.io.gltf.extras import read_extras
from poise.io.gltf.json import BrokenError, Json, objects, strings
from poise.io.gltf.nodes import Nodes, read_nodes
from poise.io.gltf.notes import Notes
from poise.io.gltf.read.clips import build_clip, raw_clips, read_tracks, turning_nodes
from poise.io.gltf.read.skeleton import build_skeleton
from poise.io.gltf.read.skins import build_skins, check_meshes, humanoid, raw_skins
from poise.maths.arrays import Floats
from poise.model.local import world
from poise.model.rig import Rig, Skin
from poise.model.skeleton import Skeleton

_DRACO = "KHR_draco_mesh_compression"
_HARMLESS = (
    "KHR_texture_", "EXT_texture_", "KHR_materials_", "KHR_lights_punctual", "KHR_mesh_quantization",
    "EXT_mesh_gpu_instancing", "EXT_meshopt_compression", "KHR_meshopt_compression", "VRM", "VRMC_", _DRACO,
)  # fmt: skip


def read_rig(path: Path, data: bytes) -> Rig:
    """Read the bytes of a file into a rig. Only FileError leaves this function."""
    try:
        return _rig(path, unpack(data, path.suffix.lower()))
    except BrokenError as error:
        raise FileError(path, error.reason, place=error.place) from error
    except FileError:
        raise
    except PoiseError as error:
        raise FileError(path, str(error)) from error


def _rig(path: Path, container: Container) -> Rig:
    document, notes = container.json, Notes(*container.notes)
    required = strings(document, "extensionsRequired")
    _check_extensions(required, notes)
    _check_scene(document, notes)
    kept, whole = without_added_root(document, read_said(document, notes), notes)
    nodes = read_nodes(kept, notes)
    buffers = Buffers(objects(document, "buffers"), container, path.parent)
    accessors = Accessors(document, buffers, required)
    accessors.check_all()
    check_meshes(document, accessors)
    skins = raw_skins(document, len(nodes.json), accessors, notes)
    clips = raw_clips(document, len(nodes.json), accessors, notes)
    said = read_extras(nodes.json, dict(zip(nodes.indices, nodes.names, strict=True)), notes)
    joints = {joint for skin in skins for joint in skin.joints}
    made = build_skeleton(nodes, joints, turning_nodes(clips), said, notes)
    tracks = read_tracks(clips, nodes, accessors, notes)
    built = tuple(build_clip(made.skeleton, keys, clip.name) for keys, clip in zip(tracks, clips, strict=True))
    source = GltfDocument(path.absolute(), container, made.pose, made.rest_q, built)
    roles, faces = humanoid(document, nodes, notes)
    skeleton = dataclasses.replace(applied(made.skeleton, whole, notes), source=source, roles=roles, faces=faces)
    rest = as_in_gltf(whole.up, whole.scale) @ _rest_world(skeleton, nodes)
    return Rig(
        skeleton,
        dataclasses.replace(made.pose, skeleton=skeleton),
        tuple(clip.on(skeleton) for clip in built),
        _turned_back(build_skins(skins, nodes, accessors, rest, notes), whole.up, whole.scale),
        roles,
        notes.sentences(),
        path,
    )


def _check_extensions(required: list[str], notes: Notes) -> None:
    for name in required:
        if not name.startswith(_HARMLESS):
            known = ", ".join(f"{known}*" if known.endswith("_") else known for known in _HARMLESS)
            raise BrokenError("extensionsRequired", f"{name[:80]!a} is not understood; understood are: {known}")
    if _DRACO in required:
        notes.add(f"meshes are compressed ({_DRACO}) and not read; the skeleton is")


def _check_scene(document: Json, notes: Notes) -> None:
    scene, count = document.get("scene"), len(objects(document, "scenes"))
    if scene is not None and not (type(scene) is int and 0 <= scene < count):
        notes.add(f"the scene to show does not exist (there are {count}); all nodes were read, as always")


def _turned_back(skins: tuple[Skin, ...], up: str | None, scale: float) -> tuple[Skin, ...]:
    """Undo rotation and scale of the axis root in bind matrices.

    The result is in the frame and unit of the skeleton.
    """
    if up in ("y", None) and scale == 1.0:
        return skins
    turned = [np.linalg.inv(as_in_gltf(up, scale)) @ skin.bind for skin in skins]
    for bind in turned:
        bind.setflags(write=False)
    return tuple(dataclasses.replace(skin, bind=bind) for skin, bind in zip(skins, turned, strict=True))


def _rest_world(skeleton: Skeleton, nodes: Nodes) -> Floats:
    """Compute the world transforms at rest from A and B. A tree whose numbers overflow is refused."""
    rest = world(nodes.parents, skeleton.A[:, :3], skeleton.A[:, 3:], skeleton.B[:, :, :3])
    bad = np.flatnonzero(~np.isfinite(rest).all(axis=(1, 2)))
    if len(bad):
        raise BrokenError(f"nodes[{nodes.indices[int(bad[0])]}]", "its position in the world is too large for a number")
    return rest
