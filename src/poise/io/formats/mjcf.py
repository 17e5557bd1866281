"""MJCF, MuJoCo's robot description, read only. Every joint becomes a skeleton row; q is qpos.

Row 0 is the world. A body with several joints is a chain of rows; the body is an alias of the last, or a fixed row
where that joint has an offset from it. Sites are fixed rows, keyframes are named poses. Metres, radians, z up.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from poise.errors import FileError, InputError
from poise.io import mjcf_elements, mjcf_loops, mjcf_meshes, mjcf_shapes, mjcf_skeleton
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
    """Read an MJCF file. Its meshes are not opened. The rest pose is qpos0 clamped to the limits.

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
    subset = mjcf_elements.strip_model(document.root)
    compiled, notes = _compile_model(path, subset)
    plan = mjcf_skeleton.build_plan(compiled)
    try:
        skeleton = _build_skeleton(compiled, plan, mjcf_meshes.list_mesh_files(document.root, path, include_root))
    except InputError as error:
        raise FileError(path, str(error)) from error
    poses = mjcf_skeleton.build_keyframes(compiled, skeleton, plan)
    notes = (*document.notes, *notes, *plan.notes, *_list_notes(subset))
    known_names = set(skeleton.names) | set(skeleton.aliases)
    disabled_pairs = tuple(pair for pair in subset.excluded_pairs if known_names.issuperset(pair))
    return Rig(
        skeleton, Pose(skeleton, skeleton.rest_q), notes=notes, path=path, poses=poses, disabled_pairs=disabled_pairs
    )


def _compile_model(path: Path, subset: mjcf_elements.ModelSubset) -> tuple[mjcf_elements.CompiledModel, list[str]]:
    """Compile a model, without its loops if necessary. Loops may name removed parts; a note reports them."""
    try:
        return mjcf_elements.compile_model(path, subset), []
    except FileError as error:
        if not subset.has_loops():
            raise
        compiled = mjcf_elements.compile_model(path, subset.drop_loops())
        return compiled, [f"loops (<connect>, <weld>) are not read, so that poses may open them: {error.reason}"]


def _build_skeleton(
    compiled: mjcf_elements.CompiledModel, plan: mjcf_skeleton.SkeletonPlan, files: dict[str, mjcf_meshes.MeshFile]
) -> Skeleton:
    """Build the skeleton. InputError for numbers that are too large and for limits without a legal value."""
    rows = plan.rows
    offsets = np.array([row.offset for row in rows])
    if not (np.abs(offsets) <= MAX_NUMBER).all() or not (np.abs(compiled.model.qpos0) <= MAX_NUMBER).all():
        message = "a position or a reference value is too large"
        raise InputError(message)
    names, kinds, couplings = (
        [row.name for row in rows],
        [row.kind for row in rows],
        mjcf_skeleton.build_couplings(compiled, plan),
    )
    limits, range_notes = drop_blocking_ranges(
        names, np.array(kinds), mjcf_skeleton.build_limits(compiled, plan), couplings
    )
    plan.notes += range_notes
    skeleton = Skeleton.build(
        names,
        [row.parent for row in rows],
        kinds,
        offsets=offsets,
        rotations=[row.rotation for row in rows],
        axes=[row.axis for row in rows],
        limits=limits,
        couplings=couplings,
        aliases=plan.aliases,
        source_ids=[row.name if row.joint_id >= 0 else None for row in rows],
        metres_per_unit=1.0,
        up="z",
        source=mjcf_shapes.build_document(compiled, plan, files),
        loops=mjcf_loops.read_loops(compiled, plan),
    )
    rest_q, _ = skeleton.legal(mjcf_skeleton.read_rest_q(compiled, skeleton, plan))
    return dataclasses.replace(skeleton, rest_q=rest_q)


def _list_notes(subset: mjcf_elements.ModelSubset) -> list[str]:
    notes: list[str] = []
    if subset.omitted_counts:
        notes.append(
            f"not read, so joints may move that these would hold: {mjcf_skeleton.format_counts(subset.omitted_counts)}"
        )
    if subset.unknown_counts:
        notes.append(f"unknown elements were ignored: {mjcf_skeleton.format_counts(subset.unknown_counts)}")
    return notes
