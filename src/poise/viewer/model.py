"""Describe a rig to the page: joints, bones and one GLB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from poise.ground.figure.figure import up_of_legs
from poise.io.gltf.container import GltfDocument
from poise.io.urdf.document import UrdfDocument
from poise.maths.arrays import Bools
from poise.model.rig import Rig
from poise.model.roles import humanoid
from poise.model.roles.vrm import BONES
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.parts.bones import bones_of, shown_rows, size_of
from poise.viewer.parts.gltf import glb_of
from poise.viewer.parts.rows import drawn
from poise.viewer.parts.rows import frame_rows as frame_rows
from poise.viewer.parts.rows import width_of as width_of
from poise.viewer.parts.urdf import robot_glb


@dataclass(frozen=True, eq=False)
class Model:
    """Messages about a rig, sent to the page once.

    message  the message "model"; the sender may replace its `id` and `name`
    asset    its GLB, or None: bones are drawn
    notes    one sentence for each part that cannot be shown
    """

    message: dict[str, Any]
    asset: bytes | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Meshes:
    """GLB of a rig, its node per joint, and missing shapes. Joints whose shapes are `lost` are drawn as capsules."""

    glb: bytes | None = None
    nodes: tuple[int | None, ...] | None = None
    lost: tuple[bool, ...] = ()
    skin: bool = False
    notes: tuple[str, ...] = ()


def model_of(rig: Rig, places: Sequence[Sequence[float]] = ((0.0, 0.0, 0.0),), packages: Sequence[Path] = ()) -> Model:
    """Build the messages about a rig.

    `positions` shift the copies of a crowd, `packages` are folders with its meshes.
    """
    skeleton = rig.skeleton
    roles = humanoid(rig)
    role_of = {joint: role for role, joint in roles.joints.items() if role in BONES}
    up = up_of(rig)
    shown = shown_rows(rig)
    size = size_of(skeleton, shown)
    meshes = _meshes(rig, packages)
    message: dict[str, Any] = {
        "kind": "model",
        "id": 0,
        "name": rig.path.name if rig.path is not None else "rig",
        "format": _format(skeleton),
        "metres_per_unit": skeleton.metres_per_unit,
        "up": up,
        "size": size,
        "places": [[float(x) for x in place] for place in places],
        "joints": _joints(skeleton, role_of, shown, meshes.lost, size, up),
        "nodes": list(meshes.nodes) if meshes.glb is not None and meshes.nodes is not None else None,
        "asset": meshes.glb is not None,
        "skin": meshes.skin,
    }
    return Model(message, meshes.glb, meshes.notes)


def _joints(
    skeleton: Skeleton, role_of: dict[str, str], shown: Bools, lost: Sequence[bool], size: float, up: str
) -> list[dict[str, Any]]:
    bones = bones_of(skeleton, shown, role_of, size, up)
    linear = drawn(skeleton).linear
    plain = (linear == np.eye(3)).all(axis=(1, 2))
    single = (skeleton.kinds == Kind.HINGE) | (skeleton.kinds == Kind.SLIDE)
    return [
        {
            "name": name,
            "parent": int(skeleton.parents[i]),
            "kind": Kind(int(skeleton.kinds[i])).name.lower(),
            "axis": skeleton.axes[i].tolist() if single[i] else None,
            "role": role_of.get(name),
            "A": skeleton.A[i].tolist(),
            "linear": None if plain[i] else linear[i].ravel().tolist(),
            "bone": bones[i].tolist(),
            "thick": bool(lost) and lost[i],
            "shown": bool(shown[i]),
        }
        for i, name in enumerate(skeleton.names)
    ]


def up_of(rig: Rig) -> str:
    """Find the up axis of a rig.

    The file's own axis counts first, then the direction from the feet to the hips, then y.
    """
    roles = None if rig.skeleton.up else humanoid(rig)
    legs = () if roles is None else (*roles.legs, *roles.apart)
    return rig.skeleton.up or (up_of_legs(rig.pose, legs) if legs else "y")


def _format(skeleton: Skeleton) -> str:
    """Return the short name of the rig's source format."""
    document = skeleton.source
    if isinstance(document, GltfDocument):
        return document.path.suffix.lower().lstrip(".") or "glb"
    kinds = {"BvhDocument": "bvh", "UrdfDocument": "urdf"}
    return kinds.get(type(document).__name__, "skeleton")


def _meshes(rig: Rig, packages: Sequence[Path]) -> _Meshes:
    skeleton = rig.skeleton
    document = skeleton.source
    if isinstance(document, GltfDocument):
        nodes = tuple(int(str(node)) for node in skeleton.source_ids)
        asset = glb_of(document, set(nodes))
        return _Meshes(asset.glb, nodes, (), asset.skin, asset.notes)
    if isinstance(document, UrdfDocument) and rig.path is not None:
        robot = robot_glb(skeleton, rig.path, packages)
        return _Meshes(robot.glb, robot.nodes, robot.lost, notes=robot.notes)
    return _Meshes(lost=(isinstance(document, UrdfDocument),) * len(skeleton))
