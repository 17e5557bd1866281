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
from poise.io import acclaim
from poise.io.files import name_clip, read_bytes
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig

NAME = "ASF/AMC"
SUFFIXES = (".asf", ".amc")
INSTEAD = "save as .bvh or .glb"


def read(path: Path) -> Rig:
    """Read a skeleton, or a motion with its skeleton.

    The skeleton is the ASF file beside the motion; the clip is named like the file.

    A motion of one frame is also `Rig.pose`. FileError names the faulty file of the two.
    """
    data = read_bytes(path)
    if path.suffix.lower() == SUFFIXES[0]:
        file, rows, notes = _read_skeleton(path, data)
        return Rig(rows.skeleton, Pose(rows.skeleton, rows.skeleton.rest_q), notes=tuple(notes), path=path)
    motion = acclaim.parse_amc(path, data)
    asf_path = acclaim.find_asf(path)
    file, rows, notes = _read_skeleton(asf_path, read_bytes(asf_path))
    return _build_moving_rig(path, file, rows, motion, notes)


def _read_skeleton(path: Path, data: bytes) -> tuple[acclaim.AsfFile, acclaim.AsfSkeleton, list[str]]:
    file = acclaim.parse_asf(path, data)
    try:
        rows = acclaim.build_skeleton(file)
    except InputError as error:
        raise FileError(path, str(error)) from error
    if not np.isfinite(rows.skeleton.A).all():
        raise FileError(path, "its bones are too long for numbers")
    return file, rows, _list_notes(file, rows)


def _list_notes(file: acclaim.AsfFile, rows: acclaim.AsfSkeleton) -> list[str]:
    notes = list(file.notes)
    slides = [bone.name for bone in rows.bones if set(bone.dof) - set(acclaim.ROTATION_DOFS)]
    if slides:
        notes.append(
            f"bones slide or stretch (tx ty tz l), which is not read; only their rotations are: {join_names(slides)}"
        )
    partly_limited = [bone.name for bone in rows.bones if len(bone.limits) not in (0, len(bone.dof))]
    if partly_limited:
        notes.append(
            f"bones have limits for some of their degrees of freedom; the others are free: {join_names(partly_limited)}"
        )
    if any((*file.root.position, *file.root.orientation)):
        notes.append(
            "the root has a position or rotation of its own; it is applied to all frames, which programs do differently"
        )
    if "l" in file.root.order:
        notes.append("the root stretches (l), which is not read")
    return notes


def _build_moving_rig(
    path: Path, file: acclaim.AsfFile, rows: acclaim.AsfSkeleton, motion: acclaim.AmcMotion, notes: list[str]
) -> Rig:
    skeleton = rows.skeleton
    q = acclaim.convert_to_q(path, file, rows, motion)
    missing = [bone.name for bone in rows.bones if bone.dof and bone.name.lower() not in motion.values]
    missing += [acclaim.ROOT] * (acclaim.ROOT not in motion.values)
    if missing:
        notes.append(f"the file has no values for these, which stay at zero: {join_names(missing)}")
    violations = acclaim.describe_limit_violations(file, rows.bones, motion)
    clip = Clip.at_rate(Pose(skeleton, q), motion.rate, name_clip(path))
    pose = Pose(skeleton, q[0] if len(q) == 1 else skeleton.rest_q)
    all_notes = (*notes, *motion.notes, *([violations] if violations else []))
    return dataclasses.replace(Rig(skeleton, pose, (clip,), path=path), notes=all_notes)
