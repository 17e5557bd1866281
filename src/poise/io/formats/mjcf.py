"""MJCF, MuJoCo's robot description, read only. Every joint becomes a skeleton row; q is qpos.

Row 0 is the world. A body with several joints is a chain of rows; the body is an alias of the last, or a fixed row
where that joint has an offset from it. Sites are fixed rows, keyframes are named poses. Metres, radians, z up.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from poise.errors import FileError, InputError
from poise.io.files import read_bytes
from poise.io.mjcf.bodies import document_of
from poise.io.mjcf.engine import CompiledModel, compiled, report_malformed
from poise.io.mjcf.include import read_whole
from poise.io.mjcf.loops import read_loops
from poise.io.mjcf.rows import MjcfRows, rows_of
from poise.io.mjcf.select import Selection, select
from poise.io.mjcf.values import couplings_of, keyframes_of, left_out, limits_of, rest_of
from poise.io.numbers import LARGEST
from poise.io.xml_files import NotWellFormedError
from poise.model.couplings import drop_blocking_ranges
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton

NAME = "MJCF"
SUFFIXES = (".xml", ".mjcf")
INCLUDES = True
INSTEAD = "save poses and clips as joint values (.json, .csv, .npz) or as .glb"


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
        whole = read_whole(path, read_bytes(path), include_root)
    except NotWellFormedError as error:
        raise report_malformed(error) from error
    selection = select(whole.root)
    model, notes = _compiled(path, selection)
    found = rows_of(model)
    try:
        skeleton = _skeleton(model, found)
    except InputError as error:
        raise FileError(path, str(error)) from error
    poses = keyframes_of(model, skeleton, found)
    notes = (*whole.notes, *notes, *found.notes, *_notes(selection))
    known = set(skeleton.names) | set(skeleton.aliases)
    pairs = tuple(pair for pair in selection.excluded if known.issuperset(pair))
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q), notes=notes, path=path, poses=poses, disabled_pairs=pairs)


def _compiled(path: Path, selection: Selection) -> tuple[CompiledModel, list[str]]:
    """Compile a model, without its loops if necessary. Loops may name removed parts; a note reports them."""
    try:
        return compiled(path, selection), []
    except FileError as error:
        if not selection.has_loops():
            raise
        model = compiled(path, selection.drop_loops())
        return model, [f"loops (<connect>, <weld>) are not read, so that poses may open them: {error.reason}"]


def _skeleton(model: CompiledModel, found: MjcfRows) -> Skeleton:
    """Build the skeleton. InputError for numbers that are too large and for limits without a legal value."""
    rows = found.rows
    places = np.array([row.offset for row in rows])
    if not (np.abs(places) <= LARGEST).all() or not (np.abs(model.model.qpos0) <= LARGEST).all():
        message = "a position or a reference value is too large"
        raise InputError(message)
    names, kinds, couplings = [row.name for row in rows], [row.kind for row in rows], couplings_of(model, found)
    limits, ignored = drop_blocking_ranges(names, np.array(kinds), limits_of(model, found), couplings)
    found.notes += ignored
    skeleton = Skeleton.build(
        names,
        [row.parent for row in rows],
        kinds,
        offsets=places,
        rotations=[row.rotation for row in rows],
        axes=[row.axis for row in rows],
        limits=limits,
        couplings=couplings,
        aliases=found.aliases,
        source_ids=[row.name if row.joint >= 0 else None for row in rows],
        metres_per_unit=1.0,
        up="z",
        source=document_of(model, found),
        loops=tuple(read_loops(model, found)),
    )
    rest, _ = skeleton.legal(rest_of(model, skeleton, found))
    return dataclasses.replace(skeleton, rest_q=rest)


def _notes(selection: Selection) -> list[str]:
    notes: list[str] = []
    if selection.left_out:
        notes.append(f"not read, so joints may move that these would hold: {left_out(selection.left_out)}")
    if selection.unknown:
        notes.append(f"unknown elements were ignored: {left_out(selection.unknown)}")
    return notes
