"""ASF and AMC: Acclaim's skeleton and motion, two text files. They belong together, as in CMU's motion library.

Every bone becomes a ball joint at the start of the bone, with the bone's own axes; with one degree of freedom its range
makes it a hinge. Bones without children end in a fixed joint. Limits are the file's. An AMC file has no skeleton: its
ASF file must be beside it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from poise.errors import FileError, InputError, join_names
from poise.io import asf_amc
from poise.io.files import name_clip, read_bytes
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig

NAME = "ASF/AMC"
SUFFIXES = (".asf", ".amc")
UNSUPPORTED_HINT = "save as .bvh or .glb"


def read(path: Path) -> Rig:
    """Read a skeleton, or a motion with its skeleton.

    The skeleton is the ASF file beside the motion; the clip is named like the file.

    A motion of one frame is also `Rig.pose`. FileError names the faulty file of the two.
    """
    data = read_bytes(path)
    if path.suffix.lower() == SUFFIXES[0]:
        file, asf_skeleton, notes = _read_skeleton(path, data)
        return Rig(
            asf_skeleton.skeleton,
            Pose(asf_skeleton.skeleton, asf_skeleton.skeleton.rest_q),
            notes=tuple(notes),
            path=path,
        )
    motion = asf_amc.parse_amc(path, data)
    asf_path = asf_amc.find_asf(path)
    file, asf_skeleton, notes = _read_skeleton(asf_path, read_bytes(asf_path))
    return _build_moving_rig(path, file, asf_skeleton, motion, notes)


def _read_skeleton(path: Path, data: bytes) -> tuple[asf_amc.AsfFile, asf_amc.AsfSkeleton, list[str]]:
    file = asf_amc.parse_asf(path, data)
    try:
        asf_skeleton = asf_amc.build_skeleton(file)
    except InputError as error:
        raise FileError(path, str(error)) from error
    if not np.isfinite(asf_skeleton.skeleton.A).all():
        raise FileError(path, "its bones are too long for numbers")
    return file, asf_skeleton, _list_notes(file, asf_skeleton)


def _list_notes(file: asf_amc.AsfFile, asf_skeleton: asf_amc.AsfSkeleton) -> list[str]:
    notes = list(file.notes)
    sliding_bones = [bone.name for bone in asf_skeleton.bones if set(bone.dof) - set(asf_amc.ROTATION_DOFS)]
    if sliding_bones:
        notes.append(
            "bones slide or stretch (tx ty tz l), which is not read; only their rotations are: "
            f"{join_names(sliding_bones)}"
        )
    partly_limited_bones = [bone.name for bone in asf_skeleton.bones if len(bone.limits) not in (0, len(bone.dof))]
    if partly_limited_bones:
        notes.append(
            "bones have limits for some of their degrees of freedom; the others are free: "
            f"{join_names(partly_limited_bones)}"
        )
    if any((*file.root.position, *file.root.orientation)):
        notes.append(
            "the root has a position or rotation of its own; it is applied to all frames, which programs do differently"
        )
    if "l" in file.root.order:
        notes.append("the root stretches (l), which is not read")
    return notes


def _build_moving_rig(
    path: Path, file: asf_amc.AsfFile, asf_skeleton: asf_amc.AsfSkeleton, motion: asf_amc.AmcMotion, notes: list[str]
) -> Rig:
    skeleton = asf_skeleton.skeleton
    q = asf_amc.convert_to_q(path, file, asf_skeleton, motion)
    missing_bones = [bone.name for bone in asf_skeleton.bones if bone.dof and bone.name.lower() not in motion.values]
    missing_bones += [asf_amc.ROOT] * (asf_amc.ROOT not in motion.values)
    if missing_bones:
        notes.append(f"the file has no values for these, which stay at zero: {join_names(missing_bones)}")
    violation_note = asf_amc.describe_limit_violations(file, asf_skeleton.bones, motion)
    clip = Clip.at_rate(Pose(skeleton, q), motion.rate, name_clip(path))
    pose = Pose(skeleton, q[0] if len(q) == 1 else skeleton.rest_q)
    all_notes = (*notes, *motion.notes, *([violation_note] if violation_note else []))
    return dataclasses.replace(Rig(skeleton, pose, (clip,), path=path), notes=all_notes)
