"""MJCF, MuJoCo's robot description, read only. Every joint becomes a skeleton row; q is qpos.

Row 0 is the world. A body with several joints is a chain of rows; the body is an alias of the last, or a fixed row
where that joint has an offset from it. Sites are fixed rows, keyframes are named poses. Metres, radians, z up.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from poise.errors import FileError, InputError
from poise.io import mjcf_elements, mjcf_skeleton
from poise.io.files import read_bytes
from poise.io.text_parsing import MAX_NUMBER, NotWellFormedError
from poise.model.joints import drop_blocking_ranges
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton

NAME = "MJCF"
SUFFIXES = (".xml", ".mjcf")
HAS_INCLUDES = True
UNSUPPORTED_HINT = "save poses and clips as joint values (.json, .csv, .npz) or as .glb"


def read(path: Path, *, include_root: Path | None = None) -> Rig:
    """Read an MJCF file without its meshes. The rest pose is qpos0 clamped to the limits.

    FileError for anything but one finite model, and where MuJoCo is not installed; `Rig.notes` lists the unsupported
    content.

    Parameters
    ----------
    path
        The file.
    include_root
        A folder from which files may be included, besides the file's own.
    """
    try:
        document = mjcf_elements.read_expanded(path, read_bytes(path), include_root)
    except NotWellFormedError as error:
        raise mjcf_elements.report_malformed(error) from error
    selection = mjcf_elements.strip_model(document.root)
    model, notes = _compile_model(path, selection)
    mjcf_joints = mjcf_skeleton.build_joints(model)
    try:
        skeleton = _build_skeleton(model, mjcf_joints)
    except InputError as error:
        raise FileError(path, str(error)) from error
    poses = mjcf_skeleton.build_keyframes(model, skeleton, mjcf_joints)
    notes = (*document.notes, *notes, *mjcf_joints.notes, *_list_notes(selection))
    known_names = set(skeleton.names) | set(skeleton.aliases)
    disabled_pairs = tuple(pair for pair in selection.excluded_pairs if known_names.issuperset(pair))
    return Rig(
        skeleton, Pose(skeleton, skeleton.rest_q), notes=notes, path=path, poses=poses, disabled_pairs=disabled_pairs
    )


def _compile_model(path: Path, selection: mjcf_elements.ModelSubset) -> tuple[mjcf_elements.CompiledModel, list[str]]:
    """Compile a model, without its loops if necessary. Loops may name removed parts; a note reports them."""
    try:
        return mjcf_elements.compile_model(path, selection), []
    except FileError as error:
        if not selection.has_loops():
            raise
        model = mjcf_elements.compile_model(path, selection.drop_loops())
        return model, [f"loops (<connect>, <weld>) are not read, so that poses may open them: {error.reason}"]


def _build_skeleton(model: mjcf_elements.CompiledModel, mjcf_joints: mjcf_skeleton.MjcfJoints) -> Skeleton:
    """Build the skeleton. InputError for numbers that are too large and for limits without a legal value."""
    joints = mjcf_joints.joints
    offsets = np.array([joint.offset for joint in joints])
    if not (np.abs(offsets) <= MAX_NUMBER).all() or not (np.abs(model.model.qpos0) <= MAX_NUMBER).all():
        message = "a position or a reference value is too large"
        raise InputError(message)
    names, kinds, couplings = (
        [joint.name for joint in joints],
        [joint.kind for joint in joints],
        mjcf_skeleton.build_couplings(model, mjcf_joints),
    )
    limits, range_notes = drop_blocking_ranges(
        names, np.array(kinds), mjcf_skeleton.build_limits(model, mjcf_joints), couplings
    )
    mjcf_joints.notes += range_notes
    skeleton = Skeleton.build(
        names,
        [joint.parent for joint in joints],
        kinds,
        offsets=offsets,
        rotations=[joint.rotation for joint in joints],
        axes=[joint.axis for joint in joints],
        limits=limits,
        couplings=couplings,
        aliases=mjcf_joints.aliases,
        source_ids=[joint.name if joint.mujoco_id >= 0 else None for joint in joints],
        metres_per_unit=1.0,
        up="z",
        source=mjcf_skeleton.build_document(model, mjcf_joints),
        loops=tuple(mjcf_skeleton.read_loops(model, mjcf_joints)),
    )
    rest_q, _ = skeleton.legal(mjcf_skeleton.read_rest_q(model, skeleton, mjcf_joints))
    return dataclasses.replace(skeleton, rest_q=rest_q)


def _list_notes(selection: mjcf_elements.ModelSubset) -> list[str]:
    notes: list[str] = []
    if selection.omitted_counts:
        notes.append(
            "not read, so joints may move that these would hold: "
            f"{mjcf_skeleton.format_counts(selection.omitted_counts)}"
        )
    if selection.unknown_counts:
        notes.append(f"unknown elements were ignored: {mjcf_skeleton.format_counts(selection.unknown_counts)}")
    return notes
