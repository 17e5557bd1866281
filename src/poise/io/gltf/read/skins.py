"""Skins and the humanoid map of VRM."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from poise.io.gltf.accessors import Accessors
from poise.io.gltf.json import BrokenError, Json, index, mapping, objects, text
from poise.io.gltf.nodes import Nodes
from poise.io.gltf.notes import Notes
from poise.maths.arrays import Floats
from poise.model.rig import Skin

VRM_ANIMATION = "VRMC_vrm_animation"
_SINGULAR = 1e-12  # minimum determinant relative to the product of the columns' lengths


class RawSkin(NamedTuple):
    """Skin with checked node indices. `accessor` is None where the bind matrices are identities."""

    name: str
    joints: list[int]
    accessor: int | None


def raw_skins(document: Json, node_count: int, accessors: Accessors, notes: Notes) -> list[RawSkin]:
    """Parse the skins and check their joints and bind matrices."""
    return [
        _raw_skin(skin, notes.name_of(skin, f"skin_{i}"), f"skins[{i}]", node_count, accessors)
        for i, skin in enumerate(objects(document, "skins"))
    ]


def _raw_skin(skin: Json, name: str, place: str, node_count: int, accessors: Accessors) -> RawSkin:
    listed: Any = skin.get("joints")
    if not isinstance(listed, list) or not listed:
        raise BrokenError(place, "its joints must be a list of at least one node")
    joints = [index(joint, node_count, place, "joint") for joint in cast("list[Any]", listed)]
    if len(set(joints)) < len(joints):
        twice = next(joint for joint in joints if joints.count(joint) > 1)
        raise BrokenError(place, f"lists node {twice} more than once; the joints of a skin are unique")
    if "inverseBindMatrices" not in skin:
        return RawSkin(name, joints, None)
    accessor = index(skin["inverseBindMatrices"], len(accessors), place, "accessor")
    layout = accessors.layout(accessor)
    if layout.components != 16 or layout.elements < len(joints):  # noqa: PLR2004
        raise BrokenError(place, f"needs {len(joints)} bind matrices; accessors[{accessor}] has {layout.elements}")
    return RawSkin(name, joints, accessor)


def check_meshes(document: Json, accessors: Accessors) -> None:
    """Check the accessors of meshes. Their numbers are not read."""
    for m, mesh in enumerate(objects(document, "meshes")):
        for p, primitive in enumerate(objects(mesh, "primitives", f"meshes[{m}]")):
            place = f"meshes[{m}].primitives[{p}]"
            for name, accessor in mapping(primitive, "attributes", place).items():
                index(accessor, len(accessors), place, f"accessor of {name[:40]!a}")
            if "indices" in primitive:
                index(primitive["indices"], len(accessors), place, "accessor of the indices")


def build_skins(raw: list[RawSkin], nodes: Nodes, accessors: Accessors, rest: Floats, notes: Notes) -> tuple[Skin, ...]:
    """Build the skins. `rest` (n, 4, 4) are the world transforms of the rows at rest."""
    values = accessors.floats(skin.accessor for skin in raw if skin.accessor is not None)
    result: list[Skin] = []
    for skin in raw:
        rows = [nodes.rows[joint] for joint in skin.joints]
        names = tuple(nodes.names[row] for row in rows)
        if skin.accessor is None:
            bind = np.tile(np.eye(4), (len(rows), 1, 1))
        else:
            inverse = values[skin.accessor][: len(rows)].reshape(-1, 4, 4).transpose(0, 2, 1)
            bind, singular = _inverted(inverse, rest[rows])
            for k in np.flatnonzero(singular):
                notes.add("bind matrices cannot be inverted; the rest transform was used", names[k])
        bind.setflags(write=False)
        result.append(Skin(skin.name, names, bind))
    return tuple(result)


def _inverted(matrices: Floats, instead: Floats) -> tuple[Floats, np.ndarray]:
    """Invert affine matrices (k, 4, 4). Singular ones are replaced by `fallback`; return also their mask."""
    linear = matrices[:, :3, :3]
    lengths = np.sqrt((linear * linear).sum(axis=1)).prod(axis=1)
    singular = np.abs(np.linalg.det(linear)) <= _SINGULAR * lengths
    singular |= (matrices[:, 3] != [0, 0, 0, 1]).any(axis=1)
    safe = np.where(singular[:, None, None], np.eye(4), matrices)
    return np.where(singular[:, None, None], instead, np.linalg.inv(safe)), singular


def humanoid(document: Json, nodes: Nodes, notes: Notes) -> tuple[dict[str, str], str | None]:
    """Read the VRM humanoid map and the facing direction.

    The map leads from VRM 1.0 bone names to joint names, of VRM 0.x, 1.0 or an animation; the direction is "-z" or
    "+z".

    Entries without a node are noted.
    """
    extensions = mapping(document, "extensions")
    result: dict[str, str] = {}
    old, new = _vrm0(extensions), _vrm1(extensions)
    for bone, node in [*old, *new]:
        if isinstance(bone, str) and type(node) is int and 0 <= node < len(nodes.rows):
            result[text(bone)] = nodes.names[nodes.rows[node]]
        else:
            notes.add("VRM human bones lead to no node and were ignored", text(bone) or "(unnamed)")
    return result, "+z" if new else "-z" if old else None


def _vrm0(extensions: Json) -> list[tuple[Any, Any]]:
    bones = _inner(_inner(extensions, "VRM"), "humanoid").get("humanBones")
    entries = (
        [cast("Json", b) for b in cast("list[Any]", bones) if isinstance(b, dict)] if isinstance(bones, list) else []
    )
    return [(_renamed(entry.get("bone")), entry.get("node")) for entry in entries]


def _renamed(bone: Any) -> Any:
    """Rename a VRM 0.x bone to its 1.0 name. Only the first two of the thumb differ."""
    if not isinstance(bone, str):
        return bone
    return bone.replace("ThumbProximal", "ThumbMetacarpal").replace("ThumbIntermediate", "ThumbProximal")


def _vrm1(extensions: Json) -> list[tuple[Any, Any]]:
    """Read the bones of a VRM 1.0 model or animation."""
    maps = [_inner(_inner(_inner(extensions, of), "humanoid"), "humanBones") for of in ("VRMC_vrm", VRM_ANIMATION)]
    return [(name, _inner(bones, name).get("node")) for bones in maps for name in bones]


def _inner(parent: Json, key: str) -> Json:
    value = parent.get(key)
    return cast("Json", value) if isinstance(value, dict) else {}
