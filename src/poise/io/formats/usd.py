"""USD: `.usd`, `.usda`, `.usdc` and `.usdz`, read with usd-core.

It gives skeletons of UsdSkel, or the joints of UsdPhysics.

Lengths are the file's own. Layers outside the file's folder are refused unopened. The stage is opened in a separate
process; see `poise.io.subprocess_reader`. USD is not written: save as .glb, .bvh or .urdf.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import FileError, PoiseError, join_names
from poise.io.files import read_bytes
from poise.io.subprocess_reader import SubprocessReply, build_malformed_error, read_in_subprocess
from poise.io.text_parsing import MAX_NUMBER
from poise.io.usd_skeletons import PhysicsTree, build_clips, build_skeletons
from poise.model.numpy_kinematics import compose_world_transforms
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton

NAME = "USD"
SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
HAS_INCLUDES = True
UNSUPPORTED_HINT = "save as .glb or .bvh, which Blender, Maya, Houdini and Omniverse import"
_MISSING_PACKAGE = (
    "USD is read with the package usd-core: pip install 'poise[usd]'; or save it as .glb with Blender "
    "(File > Import > Universal Scene Description, then File > Export > glTF 2.0)"
)
_FILE_HEADS = {".usda": (b"#usda",), ".usdc": (b"PXR-USDC",), ".usdz": (b"PK\x03\x04",)}


def read(path: Path, *, include_root: Path | None = None) -> Rig:
    """Read skeletons and animations, else physics joints. FileError for a stage that has neither, or is broken.

    Parameters
    ----------
    path
        The file.
    include_root
        A folder from which layers may be included, besides the file's own.
    """
    data = read_bytes(path)
    if find_spec("pxr") is None:
        raise FileError(path, _MISSING_PACKAGE)
    file_heads = _FILE_HEADS.get(path.suffix.lower(), sum(_FILE_HEADS.values(), ()))
    if not data.startswith(file_heads):
        raise FileError(path, f"it is not a {path.suffix} file: it does not begin as one")
    include_arguments = () if include_root is None else (str(include_root.absolute()),)
    reply = read_in_subprocess(
        path, data, "poise.io.usd_worker", reader="usd-core", arguments=(str(path.absolute()), *include_arguments)
    )
    try:
        return _build_rig(path, reply)
    except FileError:
        raise
    except PoiseError as error:
        raise FileError(path, str(error)) from error
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise build_malformed_error(path) from error


def _build_rig(path: Path, reply: SubprocessReply) -> Rig:
    header, notes = reply.header, list[str]()
    if header["missing_layers"]:
        notes.append(f"layers that it refers to are not there: {join_names(header['missing_layers'])}")
    units = _read_units(header, notes)
    if any(entry["joints"] for entry in header["skeletons"]):
        stage_skeletons = build_skeletons(reply, notes, units)
        clips = build_clips(reply, stage_skeletons, notes)
        _check_positions(path, stage_skeletons.skeleton)
        if header["joints"]:
            notes.append(f"the {len(header['joints'])} physics joints beside the skeleton are not read")
        single_frames = [clip for clip in clips if len(clip.times) == 1]  # the displayed pose, as in a BVH of one frame
        pose = (
            single_frames[0].poses[0]
            if len(clips) == 1 and single_frames
            else Pose(stage_skeletons.skeleton, stage_skeletons.skeleton.rest_q)
        )
        return Rig(stage_skeletons.skeleton, pose, clips, stage_skeletons.skins, notes=tuple(notes), path=path)
    physics_tree = PhysicsTree(reply, notes)
    if header["mistyped_attributes"]:
        notes.append(
            f"attributes of another type than USD gives them are not read: {join_names(header['mistyped_attributes'])}"
        )
    if header["unsupported_joint_types"]:
        notes.append(f"physics joints of other kinds are not read: {join_names(header['unsupported_joint_types'])}")
    if not physics_tree.names:
        raise FileError(
            path, f"there is no skeleton in it: none of its {header['prim_count']} prims is one, or a joint"
        )
    skeleton = physics_tree.build_skeleton(units)
    _check_positions(path, skeleton)
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q), notes=tuple(notes), path=path)


def _read_units(header: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    metres_per_unit, up = float(header["metres_per_unit"]), header["up"]
    if not (math.isfinite(metres_per_unit) and 0.0 < metres_per_unit <= MAX_NUMBER):
        notes.append("metersPerUnit is no length above zero; the unit is taken as unknown")
    is_known = math.isfinite(metres_per_unit) and 0.0 < metres_per_unit <= MAX_NUMBER
    return {"metres_per_unit": metres_per_unit if is_known else None, "up": up if up in ("x", "y", "z") else None}


def _check_positions(path: Path, skeleton: Skeleton) -> None:
    """Refuse a tree with overflowing positions."""
    world_from_joint = compose_world_transforms(
        skeleton.parents.tolist(), skeleton.A[:, :3], skeleton.A[:, 3:], skeleton.B[:, :, :3]
    )
    overflow_rows = np.flatnonzero(~np.isfinite(world_from_joint).all(axis=(1, 2)))
    if len(overflow_rows):
        raise FileError(
            path, "its position in the world is too large for a number", place=skeleton.names[int(overflow_rows[0])]
        )
