"""FBX, Autodesk's exchange format, read with ufbx. It gives nodes, bind poses, takes and limits.

Every node but cameras and lights becomes a joint, A = translation and rotation, B = scale; they include pivots, pre-
and post-rotations and the rotation order. Lengths are the file's own. ufbx can crash on a damaged file and therefore
runs in a separate process, with limits of time and memory; see `poise.io.subprocess_reader`. FBX is not written: save
as .glb or .bvh.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from poise.errors import FileError, PoiseError, join_names
from poise.io import fbx_scene
from poise.io.files import guess_file_type, read_bytes
from poise.io.subprocess_reader import SubprocessReply, build_malformed_error, read_in_subprocess
from poise.maths.arrays import Floats
from poise.model.joints import make_unique_names
from poise.model.numpy_kinematics import compose_world_transforms
from poise.model.pose import Pose
from poise.model.rig import Rig, Skin
from poise.model.skeleton import Kind, Skeleton

NAME = "FBX"
SUFFIXES = (".fbx",)
UNSUPPORTED_HINT = "save as .glb or .bvh, which Blender, Maya, Unreal and Unity import"
_UFBX_BAD_UTF8 = "Bad UTF-8 string"  # warning text of ufbx
_MISSING_PACKAGE = (
    "FBX is read with the package ufbx: pip install 'poise[fbx]'; or save it as .glb with Blender "
    "(File > Import, then File > Export > glTF 2.0)"
)
_FILE_HEADS = (b"Kaydara FBX", b";")


def read(path: Path) -> Rig:
    """Read nodes, skins and takes. FileError for a file without a skeleton, or one that ufbx refuses or crashes on."""
    data = read_bytes(path)
    if find_spec("ufbx") is None:
        raise FileError(path, _MISSING_PACKAGE)
    file_type = guess_file_type(data)
    if file_type and not data.startswith(_FILE_HEADS):
        raise FileError(path, f"it is not an FBX file; it looks like {file_type}")
    reply = read_in_subprocess(path, data, "poise.io.fbx_worker", reader="ufbx", has_server=True)
    try:
        return _build_rig(path, reply)
    except FileError:
        raise
    except PoiseError as error:
        raise FileError(path, str(error)) from error


def _build_rig(path: Path, reply: SubprocessReply) -> Rig:
    nodes = fbx_scene.parse_nodes(reply)
    takes, rest_transforms = (
        fbx_scene.parse_takes(reply, len(nodes)),
        fbx_scene.parse_rest_transforms(reply, len(nodes)),
    )
    notes = _list_notes(reply, [item.name for item in (*nodes, *takes)])
    rotating_rows = {row for take in takes for row in take.find_rotating_rows(rest_transforms)}
    skeleton = fbx_scene.build_skeleton(reply, nodes, rest_transforms, rotating_rows, notes)
    if not (skeleton.kinds == Kind.BALL).any():
        node_count = len(nodes) + reply.header["cameras"] + reply.header["lights"]
        raise FileError(path, f"there is no skeleton in it: none of its {node_count} nodes is a bone or rotates")
    pose = Pose(skeleton, skeleton.rest_q)
    world_from_joint = _compute_rest_world(path, skeleton, rest_transforms)
    bones = [row for row, node in enumerate(nodes) if node.is_bone]
    notes += fbx_scene.check_size(skeleton, world_from_joint[:, :3, 3], bones)
    names = make_unique_names([take.name or f"take_{i}" for i, take in enumerate(takes)])
    clips = tuple(
        fbx_scene.build_clip(skeleton, rest_transforms, take, name) for take, name in zip(takes, names, strict=True)
    )
    notes += _note_late_starts(takes, list(names))
    return Rig(skeleton, pose, clips, _build_skins(reply, nodes, skeleton), notes=tuple(notes), path=path)


def _list_notes(reply: SubprocessReply, names: list[str]) -> list[str]:
    """List notes on repairs by ufbx and on unread content."""
    try:
        warnings = [" ".join(str(warning).split()) for warning in reply.header["warnings"]]
        notes = [f"ufbx says: {warning}" for warning in warnings if warning != _UFBX_BAD_UTF8]
        notes += [_note_bad_encoding(names)] if _UFBX_BAD_UTF8 in warnings else []
        if reply.header["constraints"] > 0:
            notes.append(f"{reply.header['constraints']} constraints, such as IK handles, are not evaluated")
        counts = [(reply.header[f"{equipment}s"], equipment) for equipment in ("camera", "light")]
        omitted_counts = [f"{count} {equipment}{'s' if count > 1 else ''}" for count, equipment in counts if count > 0]
        if omitted_counts:
            notes.append(
                f"{' and '.join(omitted_counts)} without joints below were left out: they are no part of the character"
            )
    except (TypeError, KeyError) as error:
        raise build_malformed_error(reply.path) from error
    return notes


def _note_bad_encoding(names: list[str]) -> str:
    """Note texts in another encoding than UTF-8. They matter only in names that are read."""
    bad_names = [name for name in names if "\ufffd" in name]
    if not bad_names:
        return "it has texts that are not UTF-8, none of them in a name that is read: nothing is lost"
    return (
        f"names are not UTF-8, and letters that could not be read became \ufffd: {join_names(bad_names)}; rename these "
        "in the "
        "program that wrote the file, and export it again"
    )


def _note_late_starts(takes: list[fbx_scene.FbxTake], names: list[str]) -> list[str]:
    """Note takes with a start other than 0. Their clips begin at 0."""
    return [
        f"take {name!r} begins at {take.start_time:.6g} s in the file; its clip begins at 0"
        for take, name in zip(takes, names, strict=True)
        if take.start_time != 0.0
    ]


def _compute_rest_world(path: Path, skeleton: Skeleton, rest_transforms: Floats) -> Floats:
    """Compute the world transforms of the rows at rest. A tree whose numbers overflow is refused."""
    linear = rest_transforms[:, 7:, None] * np.eye(3)
    world_from_joint = compose_world_transforms(
        skeleton.parents.tolist(), rest_transforms[:, :3], rest_transforms[:, fbx_scene.WXYZ], linear
    )
    overflow_rows = np.flatnonzero(~np.isfinite(world_from_joint).all(axis=(1, 2)))
    if len(overflow_rows):
        raise FileError(
            path, "its position in the world is too large for a number", place=skeleton.names[int(overflow_rows[0])]
        )
    return world_from_joint


def _build_skins(reply: SubprocessReply, nodes: list[fbx_scene.SceneNode], skeleton: Skeleton) -> tuple[Skin, ...]:
    """Build the skins: joints and world bind matrices of each mesh."""
    skins: list[Skin] = []
    try:
        for i, skin in enumerate(reply.header["skins"]):
            joints = [range(len(nodes))[row] for row in skin["joints"]]
            columns = reply.read_block(skin["bind"], (len(joints), 4, 3))
            bind = np.tile(np.eye(4), (len(joints), 1, 1))
            bind[:, :3] = columns.transpose(0, 2, 1)
            bind.setflags(write=False)
            names = tuple(skeleton.names[row] for row in joints)
            skins.append(Skin(str(skin["name"]) or f"skin_{i}", names, bind))
    except (TypeError, KeyError, IndexError) as error:
        raise build_malformed_error(reply.path) from error
    return tuple(skins)
