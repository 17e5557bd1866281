"""`poise fit`: fit a skeleton to marker or joint positions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from poise.call_clock import count_seconds
from poise.cli.convert import UpAxisXYZ
from poise.cli.input_output_files import (
    IncludeRoot,
    check_overwrites_no_input,
    check_pose_path,
    find_free_names,
    load_rig,
    save_with_note,
)
from poise.cli.target_file import check_regular_file, map_npy
from poise.cli.terminal import say
from poise.conversion.rig_edits import compute_axis_rotation
from poise.errors import FileError, InputError, UnsupportedError, join_names
from poise.io.json_units import build_units
from poise.io.markers import Markers, load_markers
from poise.io.registry import MARKER_FORMATS
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.solving.fit import Fitted
from poise.solving.fit import fit as fit_skeleton

_ARRAY_FPS = 30.0  # frames per second of a .npy file without --fps, as in poise.fit()


class JointPositions(NamedTuple):
    """Measured positions of joints, in the unit and axes of the file.

    joints           names of the columns; None: all joints of the skeleton
    positions        (frames, joints, 3), NaN where missing
    fps              frames per second
    metres_per_unit  None if unknown
    up               None if unknown
    notes            repairs of the file
    """

    joints: tuple[str, ...] | None
    positions: Floats
    fps: float
    metres_per_unit: float | None
    up: str | None
    notes: tuple[str, ...]


def fit(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="MARKERS", help="markers: C3D or TRC; or joint positions: .npy (frames, joints, 3), NaN: missing"
        ),
    ],
    *,
    rig_file: Annotated[
        Path, typer.Option("--on", metavar="RIG", help="a rig: its skeleton is fitted, from the rest pose")
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="write the clip here (.glb, .gltf, .vrm, .vrma, .bvh, .json, .csv, .npz)"),
    ],
    joints: Annotated[
        str | None,
        typer.Option(
            "--joints",
            metavar="NAMES",
            help="JOINT=MARKER,...; for .npy: the joint of each column; default: markers named like joints, all joints",
        ),
    ] = None,
    fps: Annotated[
        float | None, typer.Option("--fps", help="frames per second; default: those of the file, 30 for .npy")
    ] = None,
    twist_half_life: Annotated[
        float,
        typer.Option("--twist-half-life", help="half-life of twist that the positions leave open (seconds)"),
    ] = 0.5,
    refine: Annotated[
        bool,
        typer.Option("--refine/--no-refine", help="refine frames with other bone lengths by least squares"),
    ] = True,
    name: Annotated[str | None, typer.Option("--name", help="name of the clip; default: that of the file")] = None,
    scale: Annotated[
        float | None,
        typer.Option("--scale", help="multiply positions; default: into the rig's unit where both units are known"),
    ] = None,
    up: Annotated[
        UpAxisXYZ | None,
        typer.Option("--up", help="up axis of the positions; default: that of the file, else the rig's"),
    ] = None,
    limits: Annotated[Path | None, typer.Option(help="a sidecar file (.ik.toml) with limits")] = None,
    no_limits: Annotated[bool, typer.Option("--no-limits", help="ignore every limit")] = False,
    include_root: IncludeRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Fit a skeleton to marker or joint positions. The clip has rotations, bone lengths are those of the rig."""
    _check_numbers({"--fps": fps, "--twist-half-life": twist_half_life, "--scale": scale})
    check_pose_path(out, file)
    check_overwrites_no_input({"--out": out}, {"--on": rig_file})
    rig = load_rig(rig_file, limits, no_limits=no_limits, include_root=include_root)
    measured = load_joint_positions(file, rig, joints)
    positions, note = convert_positions(measured, rig, scale, up and up.value)
    start_time = perf_counter()
    try:
        fitted = fit_skeleton(
            rig.rest,
            positions,
            joints=measured.joints,
            fps=measured.fps if fps is None else fps,
            twist_half_life=twist_half_life,
            refine=refine,
        )
    except (InputError, UnsupportedError) as error:
        raise FileError(file, str(error)) from error
    seconds = count_seconds(start_time)
    (clip_name,) = find_free_names([file.stem if name is None else name], out, rig)
    save_with_note(Clip(fitted.times, fitted.poses, clip_name), out, rig)
    notes = [*measured.notes, *([note] if note else [])]
    if as_json:
        document = build_json(fitted, rig) | {"clip": clip_name, "notes": notes, "seconds": seconds, "out": str(out)}
        typer.echo(json.dumps(document, indent=1, allow_nan=False))
        return
    say(fitted.message(), f"clip {clip_name!r} in {out}", *(f"note: {note}" for note in notes))


def _check_numbers(values: dict[str, float | None]) -> None:
    """Check options for finite numbers above 0."""
    for option, value in values.items():
        if value is not None and not 0 < value < np.inf:
            raise InputError(f"{option} is a finite number above 0, not {value:g}")


def load_joint_positions(file: Path, rig: Rig, joints: str | None) -> JointPositions:
    """Load positions of joints from markers or a .npy file."""
    joint_texts = None if joints is None else tuple(text.strip() for text in joints.split(","))
    suffix = file.suffix.lower()
    if suffix in MARKER_FORMATS:
        return _select_markers(load_markers(file), file, rig, joint_texts)
    if suffix != ".npy":
        known_suffixes = ", ".join((*sorted(MARKER_FORMATS), ".npy"))
        raise FileError(file, f"positions are read from {known_suffixes} files")
    check_regular_file(file)
    column_joints = rig.skeleton.names if joint_texts is None else joint_texts
    for joint in column_joints:
        rig.skeleton.index(joint)
    positions = np.array(map_npy(file), dtype=np.float64)
    shape = (len(positions) if positions.ndim else 0, len(column_joints), 3)
    if positions.shape != shape:
        message = f"positions of {len(column_joints)} joints have the shape (frames, {len(column_joints)}, 3)"
        raise FileError(file, f"{message}, not {positions.shape}; --joints names the joints of the columns")
    return JointPositions(joint_texts, positions, _ARRAY_FPS, None, None, ())


def _select_markers(markers: Markers, file: Path, rig: Rig, joint_texts: Sequence[str] | None) -> JointPositions:
    """Select the requested markers, or those with joint names."""
    if joint_texts is None:
        bare_names = [name.rpartition(":")[2] for name in markers.names]
        pairs = [(joint, joint) for joint in rig.skeleton.names if bare_names.count(joint) == 1]
        if not pairs:
            message = f"no marker has the name of a joint; markers: {join_names(markers.names)}"
            raise FileError(file, f"{message}. Give --joints JOINT=MARKER,JOINT=MARKER")
    else:
        pairs = [(joint.strip(), marker.strip()) for joint, _, marker in (text.partition("=") for text in joint_texts)]
    for joint, _ in pairs:
        rig.skeleton.index(joint)
    columns = [markers.index(marker or joint) for joint, marker in pairs]
    return JointPositions(
        tuple(joint for joint, _ in pairs),
        markers.positions[:, columns],
        markers.fps,
        markers.metres_per_unit,
        markers.up,
        markers.notes,
    )


def convert_positions(
    measured: JointPositions, rig: Rig, scale: float | None, positions_up: str | None
) -> tuple[Floats, str]:
    """Convert positions to the unit and up axis of a rig. Also return a note on an unknown unit."""
    rig_metres, note = rig.skeleton.metres_per_unit, ""
    if scale is None and measured.metres_per_unit is not None and rig_metres is not None:
        scale = measured.metres_per_unit / rig_metres
    elif scale is None:
        scale = 1.0
        unknown_text = "positions" if measured.metres_per_unit is None else "rig"
        note = f"the unit of the {unknown_text} is unknown: positions are used as they are; --scale multiplies them"
    source_up, target_up = positions_up or measured.up, rig.skeleton.up
    positions = scale * measured.positions
    if source_up is None or target_up is None or source_up == target_up:
        return positions, note
    return rotations.rotate(compute_axis_rotation(source_up, target_up), positions), note


def build_json(fitted: Fitted, rig: Rig) -> dict[str, Any]:
    """Build the JSON document of a fit. Distances are null without any observed position."""
    residuals = fitted.residuals
    is_observed = bool(np.isfinite(residuals).any())
    frame, column = np.unravel_index(np.nanargmax(residuals), residuals.shape) if is_observed else (0, 0)
    return {
        "frames": len(fitted),
        "fps": fitted.fps,
        "joints": list(fitted.joints),
        "mean_residual": float(np.nanmean(residuals)) if is_observed else None,
        "max_residual": float(residuals[frame, column]) if is_observed else None,
        "worst_joint": fitted.joints[column] if is_observed else None,
        "worst_frame": int(frame) if is_observed else None,
        "units": build_units(rig.skeleton.metres_per_unit),
    }
