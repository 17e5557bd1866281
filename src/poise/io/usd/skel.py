"""Skeletons and clips of UsdSkel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.errors import FileError, join_names
from poise.io.subprocess_reader import SubprocessReply
from poise.io.text_parsing import MAX_NUMBER
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, freeze_array
from poise.model.clip import KeyedClip, Track
from poise.model.rig import Skin
from poise.model.skeleton import Kind, Skeleton

_SHEAR_COSINE = 1e-5  # largest cosine between axes without shear; allows matrices printed with few digits


def decompose_matrices(matrices: Floats) -> tuple[Floats, Floats, Floats, Bools]:
    """Decompose matrices (n, 16) into translation, rotation and scale.

    Rotations are w x y z; the last result marks sheared matrices, for which the parts are not the whole.

    A mirrored matrix has a negative first scale. With a scale of zero the rotation is the nearest one.
    """
    matrices_4x4 = matrices.reshape(-1, 4, 4)
    linear = matrices_4x4[:, :3, :3].transpose(0, 2, 1)
    scales = np.linalg.norm(linear, axis=1)
    scales[:, 0] *= np.where(np.linalg.det(linear) < 0.0, -1.0, 1.0)
    axes = linear / np.where(scales == 0.0, 1.0, scales)[:, None, :]
    quaternions = rotations.from_matrix(rotations.rotation_part(axes)) if len(matrices_4x4) else np.zeros((0, 4))
    cosines = np.abs(np.einsum("nij,nik->njk", axes, axes) * (1.0 - np.eye(3))).max(axis=(1, 2), initial=0.0)
    return matrices_4x4[:, 3, :3].copy(), quaternions, scales, cosines > _SHEAR_COSINE


# --- Skeletons and clips of UsdSkel ----------------------------------------------------------------------------------
#
# Each skeleton is below a fixed joint at its prim.


_CHANNELS = (("translations", "translation", 3), ("rotations", "rotation", 4), ("scales", "scale", 3))


@dataclass(frozen=True, eq=False)
class SkelPart:
    """One skeleton of the stage: path, joint rows and animation. The rows are by joint path."""

    path: str
    rows: dict[str, int]
    animation: str


@dataclass(frozen=True, eq=False)
class StageSkeletons:
    """All skeletons of a stage as rows of one."""

    skeleton: Skeleton
    parts: list[SkelPart]
    skins: tuple[Skin, ...]


def build_skeletons(answer: SubprocessReply, notes: list[str], units: dict[str, Any]) -> StageSkeletons:
    """Build the joints of every skeleton. FileError for arrays of inconsistent sizes."""
    names: list[str] = []
    parents: list[int] = []
    kinds: list[int] = []
    matrices: list[Floats] = []
    binds: list[tuple[str, list[int], Floats]] = []
    parts: list[SkelPart] = []
    sources: list[str] = []
    for entry in answer.header["skeletons"]:
        base = len(names)
        joints: list[str] = entry["joints"]
        if len(set(joints)) < len(joints):
            raise FileError(answer.path, "its joints have the same path twice", place=entry["path"])
        rows = {path: base + 1 + i for i, path in enumerate(joints)}
        above = [_find_parent(path, rows, base) for path in joints]
        if any(parent >= row for parent, row in zip(above, rows.values(), strict=True)):
            raise FileError(answer.path, "its joints are not listed after their parents", place=entry["path"])
        rest, bind = _read_transforms(answer, entry, [parent - base - 1 for parent in above], notes)
        own, below = entry["path"].rsplit("/", 1)[-1], [path.rsplit("/", 1)[-1] for path in joints]
        names += [f"{own}_skeleton" if own in below else own, *below]
        sources += [entry["path"], *(f"{entry['path']}:{path}" for path in joints)]
        parents += [-1, *above]
        kinds += [int(Kind.FIXED), *[int(Kind.BALL)] * len(joints)]
        skeleton_matrix = _check_finite(answer, np.array(entry["place"], dtype=np.float64).reshape(1, 16))
        matrices += [skeleton_matrix, rest]
        binds.append((names[base], list(rows.values()), bind))
        parts.append(SkelPart(entry["path"], rows, entry["animation"]))
        if entry["moves"]:
            notes.append(f"the animation of the prim {entry['path']} itself is not read")
    offsets, quaternions, scales, sheared = decompose_matrices(np.concatenate(matrices))
    if sheared.any():
        bad = join_names(names[i] for i in np.flatnonzero(sheared))
        notes.append(f"sheared rest transforms are not supported; only their rotation and scale were kept: {bad}")
    skeleton = Skeleton.build(
        names, parents, kinds, offsets=offsets, rotations=quaternions, scales=scales, source_ids=sources, **units
    )
    renamed = [new for new, old in zip(skeleton.names, names, strict=True) if new != old]
    if renamed:
        notes.append(f"joints with a duplicate name were renamed: {join_names(renamed)}")
    return StageSkeletons(skeleton, parts, tuple(_build_skin(skeleton, *bind) for bind in binds if len(bind[2])))


def _build_skin(skeleton: Skeleton, name: str, rows: list[int], bind: Floats) -> Skin:
    matrices = bind.reshape(-1, 4, 4).transpose(0, 2, 1).copy()
    matrices.setflags(write=False)
    return Skin(name, tuple(skeleton.names[row] for row in rows), matrices)


def _find_parent(path: str, rows: dict[str, int], base: int) -> int:
    """Find the row of the nearest joint above a path. The skeleton's own row where there is none."""
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        if path in rows:
            return rows[path]
    return base


def _read_transforms(
    answer: SubprocessReply, entry: dict[str, Any], parents: list[int], notes: list[str]
) -> tuple[Floats, Floats]:
    """Read rest and bind transforms, (n, 16) each. Rest is relative to the parents, bind in the world."""
    n = len(parents)
    blocks = [answer.blocks[entry[name]] for name in ("rest", "bind")]
    for name, block in zip(("rest", "bind"), blocks, strict=True):
        if block.size not in (0, 16 * n):
            reason = f"{n} joints need {n} {name} transforms; there are {block.size / 16:g}"
            raise FileError(answer.path, reason, place=entry["path"])
    rest, bind = (_check_finite(answer, block.reshape(-1, 16)) for block in blocks)
    if not n:
        return np.zeros((0, 16)), np.zeros((0, 16))
    if not len(rest) and not len(bind):
        raise FileError(answer.path, "has neither rest nor bind transforms", place=entry["path"])
    if len(rest):
        return rest, bind if len(bind) else np.zeros((0, 16))
    notes.append(f"the skeleton {entry['path']} has no rest transforms; its bind pose is used as its rest pose")
    world = bind.reshape(-1, 4, 4)
    if (np.abs(np.linalg.det(world)) < 1e-300).any():  # noqa: PLR2004
        raise FileError(answer.path, "a bind transform has no inverse", place=entry["path"])
    local = [m if p < 0 else m @ np.linalg.inv(world[p]) for m, p in zip(world, parents, strict=True)]
    return np.array(local).reshape(-1, 16), bind


def _check_finite(answer: SubprocessReply, values: Floats) -> Floats:
    if not (np.abs(values) <= MAX_NUMBER).all():  # also catches NaN
        raise FileError(answer.path, "it holds a transform with a number that is not finite or too large")
    return values


# --- animations ----------------------------------------------------------------------------------


def build_clips(answer: SubprocessReply, skeletons: StageSkeletons, notes: list[str]) -> tuple[KeyedClip, ...]:
    """Build a clip for each animation of a skeleton. Those bound to one come first, then those matching its joints."""
    clips: list[KeyedClip] = []
    rate = answer.header["rate"]
    for entry in answer.header["animations"]:
        part = _match_part(entry, skeletons.parts)
        if part is None:
            notes.append(f"the animation {entry['path']} moves no joint of a skeleton in the file and is left out")
            continue
        clip = _build_clip(answer, entry, part, skeletons.skeleton, rate if rate > 0.0 else 24.0, notes)
        if clip is not None:
            clips.append(clip)
    return tuple(clips)


def _match_part(entry: dict[str, Any], parts: list[SkelPart]) -> SkelPart | None:
    bound = [part for part in parts if part.animation == entry["path"]]
    fitting = [part for part in parts if entry["joints"] and set(entry["joints"]) <= set(part.rows)]
    return next((part for part in [*bound, *fitting]), None)


def _build_clip(
    answer: SubprocessReply, entry: dict[str, Any], part: SkelPart, skeleton: Skeleton, rate: float, notes: list[str]
) -> KeyedClip | None:
    codes = answer.read_block(entry["times"], answer.blocks[entry["times"]].shape)
    joints: list[str] = entry["joints"]
    values: dict[str, Floats] = {}
    for name, path, width in _CHANNELS:
        block = None if entry[name] is None else answer.blocks[entry[name]]
        if block is None or block.size != len(codes) * len(joints) * width:
            notes.append(f"the animation {entry['path']} does not have as many {name} as joints and is left out")
            return None
        values[path] = answer.read_block(entry[name], (len(codes), len(joints), width))
    if not values["rotation"].any(axis=-1).all():
        raise FileError(answer.path, "holds a rotation of zero length", place=entry["path"])
    if max(np.abs(block).max(initial=0.0) for block in values.values()) > MAX_NUMBER:
        raise FileError(answer.path, "holds a number too large", place=entry["path"])
    times = (codes - codes[0]) / rate
    freeze_array(times)
    unknown = [joint for joint in joints if joint not in part.rows]
    if unknown:
        notes.append(f"the animation {entry['path']} moves joints missing from its skeleton: {join_names(unknown)}")
    name = entry["path"].rsplit("/", 1)[-1]
    if codes[0] != 0.0:
        notes.append(f"animation {name!r} begins at {codes[0] / rate:.6g} s in the file; its clip begins at 0")
    tracks = [
        _build_track(part.rows[joint], path, times, values[path][:, k])
        for k, joint in enumerate(joints)
        if joint in part.rows
        for _, path, _ in _CHANNELS
    ]
    return KeyedClip(skeleton, tuple(tracks), name) if tracks else None


def _build_track(row: int, path: Any, times: Floats, values: Floats) -> Track:
    values = rotations.normalised(values) if path == "rotation" else values.copy()
    freeze_array(values)
    return Track(row, path, "LINEAR", times, values)
