"""`poise plant` and `poise lock`: foot planting of clips.

`plant` places the feet on a terrain, `lock` on the clip's own flat floor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, count
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

from poise import plot
from poise.call_clock import count_seconds
from poise.calls.progress import Advance, ProgressFunction, forward_progress, ignore_progress, show_progress_bar
from poise.cli import batch_files
from poise.cli.batch_run import run_batch
from poise.cli.input_output_files import (
    ClipOption,
    IncludeRoot,
    check_animated,
    check_distinct_outputs,
    check_overwrites_no_input,
    check_picture_path,
    check_pose_path,
    check_writable,
    list_output_paths,
    save_clips,
    select_clip,
)
from poise.cli.terminal import say
from poise.cli.terrain_options import DirectionOption, TerrainOptions, build_terrain
from poise.errors import (
    FileError,
    InputError,
    PoiseError,
    UnsupportedError,
    escape_unprintable,
    prefix_file_name,
    quote_path,
)
from poise.formatting import format_count
from poise.ground.contact.contact_files import save_contacts
from poise.ground.contact.contacts import Contacts
from poise.ground.plant import Planted, free_base, load_clip_contacts, lock_feet, plant_feet
from poise.ground.terrain.words import FORMS
from poise.io.files import build_sidecar_path, is_file, write_atomically
from poise.io.registry import ALL_CLIPS, build_clip_paths, load, save
from poise.io.robot_motion import load_motion
from poise.model.anatomy.roles import Roles
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.model.rig_roles import find_roles
from poise.model.roles import Leg

# --- Foot planting of one clip, or of every clip of a file -----------------------------------------------------------


PlantFunction: TypeAlias = Callable[
    [Rig, Clip, Contacts | None, ProgressFunction | None], Planted
]  # plants or locks a clip

_PAGE_SUFFIXES, _NUMBER_SUFFIXES = (".html", ".htm"), (".json",)
_VALUE_SUFFIXES = (".npz", ".csv", ".json")
_CONTACT_SUFFIXES = (".json", ".toml")
_PROGRESS_STAGES = 6  # stages of the progress bar: reading, three of planting, writing, measuring


class PlantRequest(NamedTuple):
    """Clip, legs and contact file to plant. `robot` is the rig of joint values."""

    file: Path
    clip: str | None
    legs: tuple[str, ...] | None
    contact_file: Path | None
    include_root: Path | None = None
    robot: Path | None = None

    def load(self) -> Rig:
        """Load the rig with its clips. Joint values are a clip of the robot."""
        has_values = self.file.suffix.lower() in _VALUE_SUFFIXES
        if has_values and not is_file(self.file):
            raise FileError(self.file, "there is no such file")
        if self.robot is not None:
            if not has_values and is_file(self.file):
                raise FileError(self.file, "holds no joint values: leave out --robot")
            return _load_robot(self.robot, self.file, self.include_root)
        if has_values:
            raise FileError(self.file, "holds joint values: name their robot, --robot RIG")
        return load(self.file, include_root=self.include_root)


def _load_robot(robot: Path, file: Path, include_root: Path | None) -> Rig:
    """Load a robot with joint values as its clip."""
    rig = load(robot, include_root=include_root)
    try:
        clip = free_base(load_motion(file, rig))
    except FileError as error:
        raise FileError(file, f"{error.reason}; the robot is that of {quote_path(robot)}", place=error.place) from error
    return replace(rig.with_skeleton(clip.skeleton), clips=(clip,))


class OutputPaths(NamedTuple):
    """Output paths. None: not written."""

    out: Path
    report: Path | None
    plot: Path | None
    contact_file: Path | None

    def check(self, source: Path) -> None:
        """Check all output paths before any work."""
        check_pose_path(self.out, source)
        if self.report is not None:
            if self.report.suffix.lower() not in (*_PAGE_SUFFIXES, *_NUMBER_SUFFIXES):
                raise InputError(f"--report writes a page (.html) or numbers (.json), not {self.report.name!r}")
            check_writable(self.report)
        if self.plot is not None:
            check_picture_path(self.plot)
        if self.contact_file is not None:
            _check_contacts_path(self.contact_file)
            check_writable(self.contact_file)
        options = ("--out", "--report", "--plot", "--save-contacts")
        check_distinct_outputs({option: [path] for option, path in zip(options, self, strict=True)})


def _load_contacts(
    path: Path | None, file: Path, rig: Rig, clip: Clip, legs: Sequence[str] | None
) -> tuple[Contacts | None, str]:
    """Load the contacts of these legs.

    Return them with a note about their source; (None, "") if no file has contacts of the clip.

    path  contact file; FileError if it lacks the clip. None: the sidecar of `file`, if it has contacts
    legs  names of legs; None: all legs of the character
    """
    contact_file = path or build_sidecar_path(file)
    if path is None and not is_file(contact_file):
        return None, ""
    contacts = load_clip_contacts(contact_file, clip, rig, legs)
    if contacts is None:
        if path is not None:
            raise FileError(path, f"holds no contacts of the clip {clip.name!r}")
        return None, ""
    return contacts, f"contacts are those of {contact_file}"


def _check_contacts_path(path: Path) -> None:
    """Check the suffix of a contact file."""
    if path.suffix.lower() not in _CONTACT_SUFFIXES:
        raise FileError(path, f"contacts are kept in files that end with {' or '.join(_CONTACT_SUFFIXES)}")


class PlantOutcome(NamedTuple):
    """Planted clip with its name, notes and duration."""

    planted: Planted
    rig: Rig
    clip_name: str
    notes: list[str]
    seconds: float


def plant_clip(
    rig: Rig,
    clip: Clip,
    request: PlantRequest,
    plant_function: PlantFunction,
    *,
    command: str,
    used_names: Container[str] = (),
    progress: ProgressFunction | None = None,
) -> PlantOutcome:
    """Plant the feet of a clip. Its new name is unused."""
    contacts, contact_note = _load_contacts(request.contact_file, request.file, rig, clip, request.legs)
    start_time = perf_counter()
    planted = plant_function(rig, clip, contacts, progress)
    seconds = count_seconds(start_time)
    new_name = find_clip_name(planted, used_names, command)
    return PlantOutcome(
        planted, rig, new_name, [*rig.notes, *([contact_note] * bool(contact_note)), *planted.notes], seconds
    )


def build_clip(outcome: PlantOutcome) -> Clip:
    """Build the clip to write."""
    return Clip(outcome.planted.times, outcome.planted.poses, outcome.clip_name)


def plant_file(
    request: PlantRequest, outputs: OutputPaths, plant_function: PlantFunction, *, command: str,
    advance: Advance = ignore_progress,
) -> PlantOutcome:  # fmt: skip
    """Read a clip, plant its feet and write the outputs. `advance` is called before each stage."""
    rig = request.load()
    clip = _select_source_clip(rig, request, command)
    advance(1, "planting")
    with prefix_file_name(request.file):
        outcome = plant_clip(
            rig, clip, request, plant_function, command=command, used_names={clip.name for clip in rig.clips},
            progress=forward_progress(advance),
        )  # fmt: skip
    advance(0, "writing")
    save(build_clip(outcome), outputs.out, like=rig)
    if outputs.contact_file is not None:
        save_contacts(outcome.planted.contacts, outputs.contact_file, clip.name)
    advance(1, "measuring")
    write_report(outcome.planted, outputs)
    advance(1, "done")
    return outcome


def run_one_clip(
    request: PlantRequest,
    outputs: OutputPaths,
    plant_function: PlantFunction,
    *,
    command: str,
    as_json: bool,
    strict: bool,
) -> None:
    """Plant one clip, write the outputs and print a report.

    With `strict` the exit code is 1 if a measure exceeds its bound.
    """
    outputs.check(request.file)
    check_overwrites_no_input(
        {"--out": outputs.out, "--report": outputs.report},
        {"--contacts": request.contact_file, "--robot": request.robot},
    )
    with show_progress_bar("reading", _PROGRESS_STAGES) as advance:
        outcome = plant_file(request, outputs, plant_function, command=command, advance=advance)
    planted = outcome.planted
    if as_json:
        typer.echo(json.dumps(build_json(outcome) | {"out": str(outputs.out)}, indent=1, allow_nan=False))
    else:
        _print_report(planted, outcome.rig, outcome.notes)
        say(f"clip {outcome.clip_name!r} in {outputs.out}")
    if strict and not planted.report.ok:
        raise typer.Exit(1)


def build_row(outcome: PlantOutcome, *, strict: bool) -> batch_files.ResultRow:
    """Build the table row of a clip. Units are cm/s and mm, as in the report."""
    report = outcome.planted.report.as_object()
    before, after, regressions = report["before"], report["after"], outcome.planted.report.worse
    return {
        "status": "worse" if strict and regressions else "ok", "frames": report["frames"],
        "skate_before": before["skate"], "skate_after": after["skate"], "sunk_after": after["sunk"],
        "floating_after": after["floating"], "worse": len(regressions),
        "message": "; ".join(map(str, [*regressions, *outcome.notes])),
    }  # fmt: skip


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Split comma-separated names. None stays None."""
    return None if text is None else tuple(name.strip() for name in text.split(","))


def find_clip_name(planted: Planted, used_names: Container[str], command: str) -> str:
    """Find an unused name for the new clip. A glTF file keeps the old clips too: walk_planted, walk_planted_1, ..."""
    name = f"{planted.name}_{command}ed"
    numbered_names = (f"{name}_{i}" for i in count(1))
    return next(candidate for candidate in chain([name], numbered_names) if candidate not in used_names)


def _select_source_clip(rig: Rig, request: PlantRequest, command: str) -> Clip:
    check_animated(rig, request.file, command)
    return select_clip(rig, request.clip, f"poise {command}")


def write_report(planted: Planted, outputs: OutputPaths) -> None:
    """Write the requested report and picture."""
    if outputs.report is not None and outputs.report.suffix.lower() in _PAGE_SUFFIXES:
        planted.report.to_html(outputs.report)
    elif outputs.report is not None:
        write_atomically(outputs.report, planted.report.to_json().encode())
    if outputs.plot is not None:
        try:
            plot.draw_feet(planted, outputs.plot)
        except UnsupportedError as error:
            say(f"no picture: {error}", err=True)


def _print_report(planted: Planted, rig: Rig, notes: list[str]) -> None:
    """Print the report, the joints of each leg, and notes."""
    say(*str(planted.report).split("\n"))
    roles = find_roles(rig)
    for leg in planted.figure.legs:
        say(_format_leg(leg, roles))
    for regression in planted.report.worse:
        say(f"worse: {regression}")
    for note in notes:
        say(f"note: {note}")


def _format_leg(leg: Leg, roles: Roles) -> str:
    """Format the joints of a leg with its lowest confidence.

    Example: `left leg: Hip, Knee, Ankle (0.8: by its name)`.
    """
    joints = [joint for joint in (leg.upper, leg.lower, leg.foot, leg.toes) if joint]
    roles_of_leg = [role for role, joint in roles.joints.items() if joint in joints]
    least_confident_role = min(roles_of_leg, key=lambda role: roles.confidence[role], default=None)
    confidence_text = (
        ""
        if least_confident_role is None
        else f" ({roles.confidence[least_confident_role]:.1f}: {roles.reasons[least_confident_role]})"
    )
    return f"{leg.name} leg: {', '.join(map(escape_unprintable, joints))}{confidence_text}"


def build_json(outcome: PlantOutcome) -> dict[str, Any]:
    """Build the JSON document of a planted clip."""
    planted, character = outcome.planted, outcome.planted.figure
    report = planted.report.as_object()
    return {
        **report,
        "clip": outcome.clip_name,
        "units": {**report["units"], "metre": "file units", "velocity": "m/s"},
        "notes": outcome.notes,
        "joints": {leg.name: [leg.upper, leg.lower, leg.foot, leg.toes] for leg in character.legs},
        "up": character.up,
        "metre": character.metre,
        "velocity": None if planted.velocity is None else planted.velocity.tolist(),
        "seconds": outcome.seconds,
    }


# --- `--clip all` of `poise plant` and `poise lock` ------------------------------------------------------------------
#
# The feet of every clip are planted, each with its own contacts.


class PlantedClip(NamedTuple):
    """Result of one clip: its outcome, or the reason of its failure."""

    source_clip: Clip
    outputs: OutputPaths
    outcome: PlantOutcome | None
    failure_reason: str  # "" for a planted clip

    def format_failure(self) -> str:
        """Format the failure as a line."""
        return f"failed: {self.failure_reason}"


def list_clip_outputs(outputs: OutputPaths, clips: Sequence[Clip]) -> list[OutputPaths]:
    """List the output paths of each clip.

    The sidecar and a multi-clip file are shared, all other files are per clip.
    """
    names = [clip.name for clip in clips]
    page_paths = [
        [path] * len(names) if path is None else build_clip_paths(path, names)
        for path in (outputs.report, outputs.plot)
    ]
    contact_files = list_contact_files(outputs.contact_file, clips, "--save-contacts")
    return [
        OutputPaths(*clip_paths)
        for clip_paths in zip(list_output_paths(outputs.out, clips), *page_paths, contact_files, strict=True)
    ]


def list_contact_files(path: Path | None, clips: Sequence[Clip], option: str) -> Sequence[Path | None]:
    """List the contact file of each clip. It is NAME_CLIP.json; a sidecar (.toml) has a table for each clip name."""
    names = [clip.name for clip in clips]
    if path is None:
        return [None] * len(names)
    if path.suffix.lower() == ".json":
        return build_clip_paths(path, names)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(
            f"{option} {path}: two clips are called {repeated!r}, and a sidecar tells them by name; give a .json file"
        )
    return [path] * len(names)


def plant_all_clips(
    request: PlantRequest,
    outputs: OutputPaths,
    plant_function: PlantFunction,
    *,
    command: str,
    advance: Advance,
) -> tuple[Rig, list[PlantedClip]]:
    """Plant every clip of a file and write the outputs.

    A failed clip does not affect the others. FileError if all clips fail, and for a missing contact file.
    """
    rig = request.load()
    check_animated(rig, request.file, command)
    clip_outputs, contact_files = (
        list_clip_outputs(outputs, rig.clips),
        list_contact_files(request.contact_file, rig.clips, "--contacts"),
    )
    _check_clip_outputs(clip_outputs, contact_files, request.robot)
    results: list[PlantedClip] = []
    used_names = {clip.name for clip in rig.clips}
    for clip, clip_paths, contact_file in zip(rig.clips, clip_outputs, contact_files, strict=True):
        advance(0, clip.name)
        try:
            outcome = plant_clip(
                rig,
                clip,
                request._replace(contact_file=contact_file),
                plant_function,
                command=command,
                used_names=used_names,
            )
        except PoiseError as error:
            results.append(PlantedClip(clip, clip_paths, None, f"clip {clip.name!r}: {error}"))
        else:
            used_names.add(outcome.clip_name)
            results.append(PlantedClip(clip, clip_paths, outcome, ""))
        advance(1, clip.name)
    planted_clips = [result for result in results if result.outcome is not None]
    if not planted_clips:
        raise FileError(
            request.file, f"no clip of {len(results)} could be worked on; the first: {results[0].failure_reason}"
        )
    _write_clips(planted_clips, rig)
    return rig, results


def _check_clip_outputs(
    clip_outputs: list[OutputPaths], contact_files: Sequence[Path | None], robot: Path | None
) -> None:
    """Check output conflicts and contact files before any work."""
    for path in filter(None, (path for outputs in clip_outputs for path in outputs)):
        check_writable(path)
    check_distinct_outputs(
        {
            "--out": [outputs.out for outputs in clip_outputs],
            "--report": [outputs.report for outputs in clip_outputs],
            "--plot": [outputs.plot for outputs in clip_outputs],
            "--save-contacts": [outputs.contact_file for outputs in clip_outputs],
        }
    )
    # --save-contacts may overwrite the file of --contacts
    written_paths = [path for outputs in clip_outputs for path in (outputs.out, outputs.report)]
    for output in written_paths:
        check_overwrites_no_input({"--out or --report": output}, {"--robot": robot})
    for path in contact_files:
        if path is not None and not is_file(path):
            raise FileError(
                path, "there is no such file; --clip all takes a contact file for each clip, NAME_CLIP.json"
            )
        for output in written_paths:
            check_overwrites_no_input({"--out or --report": output}, {"--contacts": path})


def _write_clips(planted_clips: list[PlantedClip], rig: Rig) -> None:
    save_clips(
        [(build_clip(result.outcome), result.outputs.out) for result in planted_clips if result.outcome is not None],
        rig,
    )
    for result in planted_clips:
        if result.outcome is None:
            continue
        if result.outputs.contact_file is not None:
            save_contacts(result.outcome.planted.contacts, result.outputs.contact_file, result.source_clip.name)
        write_report(result.outcome.planted, result.outputs)


def run_all_clips(
    request: PlantRequest,
    outputs: OutputPaths,
    plant_function: PlantFunction,
    *,
    command: str,
    as_json: bool,
    strict: bool,
) -> None:
    """Plant every clip and print a line for each.

    The exit code is 1 if a clip failed and, with `strict`, if a measure exceeds its bound.
    """
    outputs.check(request.file)
    clip_count = len(request.load().clips)
    with show_progress_bar("planting", clip_count) as advance:
        rig, results = plant_all_clips(request, outputs, plant_function, command=command, advance=advance)
    if as_json:
        typer.echo(json.dumps(_build_clips_json(results), indent=1, allow_nan=False))
    else:
        _print_clip_reports(rig, results)
    has_regression = any(result.outcome is not None and not result.outcome.planted.report.ok for result in results)
    if any(result.failure_reason for result in results) or (strict and has_regression):
        raise typer.Exit(1)


def _print_clip_reports(rig: Rig, results: list[PlantedClip]) -> None:
    """Print a line for each clip, regressions, and distinct notes."""
    clips_by_note: dict[str, list[str]] = {}
    for result in results:
        if result.outcome is None:
            say(result.format_failure(), err=True)
            continue
        report = result.outcome.planted.report
        before, after = report.before, report.after
        say(
            f"clip {result.outcome.clip_name!r} in {result.outputs.out}: "
            f"{format_count(len(result.outcome.planted), 'frame')}, foot skate "
            f"{before.skate:.1f} -> {after.skate:.1f} cm/s, "
            f"deepest {before.penetration:.1f} -> {after.penetration:.1f} mm"
        )
        for regression in report.worse:
            say(f"  worse: {regression}")
        for note in result.outcome.notes:
            clips_by_note.setdefault(note, []).append(result.source_clip.name)
    for note, clips in clips_by_note.items():
        clips_text = "" if len(clips) == len(rig.clips) else f" ({', '.join(map(escape_unprintable, clips))})"
        say(f"note: {note}{clips_text}")


def _build_clips_json(results: list[PlantedClip]) -> dict[str, Any]:
    """Build the JSON document: planted clips, and failures."""
    clips = [
        build_json(result.outcome) | {"source": result.source_clip.name, "out": str(result.outputs.out)}
        for result in results
        if result.outcome
    ]
    failures = [
        {"clip": result.source_clip.name, "message": result.format_failure()}
        for result in results
        if result.failure_reason
    ]
    return {"clips": clips, "failed": failures}


def build_clips_row(results: list[PlantedClip], *, strict: bool) -> batch_files.ResultRow:
    """Build the table row of a file with planted clips.

    It has sums of frames and regressions, and the maximum of each measure.
    """
    rows = [build_row(result.outcome, strict=strict) for result in results if result.outcome is not None]
    failures = [result.format_failure() for result in results if result.failure_reason]
    max_columns = ("skate_before", "skate_after", "sunk_after", "floating_after")
    messages = dict.fromkeys([*failures, *(row["message"] for row in rows if row["message"])])
    status = "worse" if any(row["status"] == "worse" for row in rows) else "ok"
    return {
        "status": "partly" if failures else status,
        **{name: sum(row[name] for row in rows) for name in ("frames", "worse")},
        **{name: max(row[name] for row in rows) for name in max_columns},
        "files": sorted({str(result.outputs.out) for result in results if result.outcome is not None}),
        "message": "; ".join(messages),
    }  # fmt: skip


# --- Commands --------------------------------------------------------------------------------------------------------


class InPlaceMode(StrEnum):
    """Treatment of a clip walking in place."""

    TRAVEL = "travel"
    KEEP = "keep"
    REFUSE = "refuse"


class StrideMode(StrEnum):
    """Step length on stairs."""

    KEEP = "keep"
    FIT = "fit"


class UpAxis(StrEnum):
    """Up axis: y or z."""

    Y = "y"
    Z = "z"


_Clips = Annotated[
    list[Path],
    typer.Argument(
        metavar="CLIP",
        help="a file with an animation: glTF, GLB, VRM, VRMA, BVH, FBX, USD or AMC; joint values of a --robot; or "
        "many, folders, patterns",
    ),
]
_Out = Annotated[
    Path,
    typer.Option(
        "-o",
        "--out",
        help="write the clip here (.glb, .gltf, .vrm, .vrma, .bvh, .json, .csv, .npz); of many: the folder",
    ),
]
_Robot = Annotated[
    Path | None,
    typer.Option("--robot", metavar="RIG", help="robot of a CLIP of joint values (.npz, .csv, .json): URDF, MJCF, USD"),
]
_Legs = Annotated[str | None, typer.Option("--legs", metavar="NAMES", help="legs to plant: left,right; default: all")]
_Contacts = Annotated[
    Path | None,
    typer.Option(help="contact intervals of heels and balls (.json, .toml); default: the sidecar's, else detected"),
]
_InPlace = Annotated[
    InPlaceMode, typer.Option("--in-place", help="in-place clips: add travel, keep them in place, or reject them")
]
_UnitsPerMetre = Annotated[
    float | None, typer.Option("--metre", help="file units per metre; default: for a character height of 1.7 m")
]
_Up = Annotated[UpAxis | None, typer.Option("--up", help="the clip's up axis; default: away from the feet")]
_Stretch = Annotated[
    float, typer.Option("--stretch", min=0.0, help="maximum stretch of a leg that is too short: 0.02 is 2 %")
]
_FeetOnly = Annotated[
    bool, typer.Option("--feet-only", help="plant feet only, not hands, elbows, knees and hips on the ground")
]
_Report = Annotated[Path | None, typer.Option("--report", help="write measures and curves (.html), or numbers (.json)")]
_Plot = Annotated[Path | None, typer.Option("--plot", help="write a picture from the side (.png, .svg, .pdf)")]
_SaveContacts = Annotated[
    Path | None, typer.Option(help="write the contacts for editing: .json, or a table in a sidecar (.toml)")
]
_Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="exit with 1 if a foot measure (skate, penetration, spikes, error) exceeds its bound"
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]


class _BatchArguments(NamedTuple):
    """Batch options as typed."""

    suffix: str | None
    overwrite: bool
    processes: int | None
    cluster: str | None


@dataclass(frozen=True)
class PlantJob:
    """Foot planting job for one file. The fields are the options as typed."""

    command: str
    terrain: TerrainOptions | None
    clip: str | None
    legs: tuple[str, ...] | None
    options: tuple[tuple[str, Any], ...]
    strict: bool
    include_root: Path | None = None
    robot: Path | None = None

    def plant_clip(
        self, rig: Rig, clip: Clip, contacts: Contacts | None, progress: ProgressFunction | None = None
    ) -> Planted:
        """Plant or lock a clip."""
        options = dict(self.options)
        if self.terrain is None:
            return lock_feet(clip, rig=rig, legs=self.legs, contacts=contacts, progress=progress, **options)
        terrain = build_terrain(self.terrain, clip, rig, self.legs, up=options["up"], metre=options["metre"])
        return plant_feet(clip, terrain, rig=rig, legs=self.legs, contacts=contacts, progress=progress, **options)

    def __call__(self, file: Path, out: Path) -> batch_files.ResultRow:
        """Process one file of a batch and return its table row."""
        request = PlantRequest(file, self.clip, self.legs, None, self.include_root, self.robot)
        outputs = OutputPaths(out, None, None, None)
        check_overwrites_no_input({"-o": out}, {"--robot": self.robot})
        if self.clip == ALL_CLIPS:
            _, planted_clips = plant_all_clips(
                request, outputs, self.plant_clip, command=self.command, advance=ignore_progress
            )
            return build_clips_row(planted_clips, strict=self.strict)
        outcome = plant_file(request, outputs, self.plant_clip, command=self.command)
        return build_row(outcome, strict=self.strict)


def _run_command(
    job: PlantJob,
    clips: list[Path],
    outputs: OutputPaths,
    contact_file: Path | None,
    batch_arguments: _BatchArguments,
    *,
    as_json: bool,
) -> None:
    """Plant the feet of one clip, or of a batch."""
    if not (batch_files.is_batch(clips, outputs.out) or batch_arguments.suffix is not None):
        batch_files.reject_batch_options(
            job.command,
            overwrite=batch_arguments.overwrite,
            processes=batch_arguments.processes,
            cluster=batch_arguments.cluster,
        )
        request = PlantRequest(clips[0], job.clip, job.legs, contact_file, job.include_root, job.robot)
        run_clips = run_all_clips if job.clip == ALL_CLIPS else run_one_clip
        run_clips(request, outputs, job.plant_clip, command=job.command, as_json=as_json, strict=job.strict)
        return
    batch_files.reject_single_file_options(
        job.command, contacts=contact_file, report=outputs.report, plot=outputs.plot, save_contacts=outputs.contact_file
    )
    batch_options = batch_files.build_batch_options(
        outputs.out,
        batch_arguments.suffix,
        overwrite=batch_arguments.overwrite,
        processes=batch_arguments.processes,
        cluster=batch_arguments.cluster,
    )
    raise typer.Exit(
        run_batch(
            job.command,
            clips,
            batch_options,
            job,
            as_json=as_json,
            splits_clips=job.clip == ALL_CLIPS,
            readable=None if job.robot is None else _VALUE_SUFFIXES,
        )
    )


def plant(
    files: _Clips,
    *,
    terrain: Annotated[str, typer.Option("--terrain", metavar="TERRAIN", help=f"one of {', '.join(FORMS)}")],
    out: _Out,
    clip: ClipOption = None,
    robot: _Robot = None,
    legs: _Legs = None,
    contacts: _Contacts = None,
    in_place: _InPlace = InPlaceMode.TRAVEL,
    stride: Annotated[
        StrideMode, typer.Option("--stride", help="keep the step length, or fit it to at most one stair tread per step")
    ] = StrideMode.KEEP,
    terrain_size: Annotated[
        str | None,
        typer.Option("--terrain-size", metavar="X,Y", help="extent of a height map, first post to last (clip units)"),
    ] = None,
    terrain_height: Annotated[
        float | None, typer.Option("--terrain-height", help="height of white in a height map (clip units)")
    ] = None,
    terrain_origin: Annotated[
        str | None,
        typer.Option("--terrain-origin", metavar="X,Y[,Z]", help="position of the centre of a height map (clip units)"),
    ] = None,
    terrain_up: Annotated[
        UpAxis | None, typer.Option("--terrain-up", help="up in a terrain file; default: y, and z for STL")
    ] = None,
    terrain_unit: Annotated[
        float | None,
        typer.Option(
            "--terrain-unit",
            metavar="CLIP_UNITS",
            help="length of one terrain unit in the clip; default: 1 for files, a metre for shapes",
        ),
    ] = None,
    terrain_direction: DirectionOption = None,
    feet_only: _FeetOnly = False,
    units_per_metre: _UnitsPerMetre = None,
    up: _Up = None,
    stretch: _Stretch = 0.0,
    report: _Report = None,
    plot: _Plot = None,
    save_contacts: _SaveContacts = None,
    strict: _Strict = False,
    include_root: IncludeRoot = None,
    suffix: batch_files.FormatOption = None,
    overwrite: batch_files.OverwriteOption = False,
    processes: batch_files.ProcessesOption = None,
    cluster: batch_files.ClusterOption = None,
    as_json: _Json = False,
) -> None:
    """Plant the feet of a clip on a terrain. Heels and balls stay fixed in contact, the hips follow the ground."""
    terrain_up_axis = terrain_up and terrain_up.value
    ground = TerrainOptions(
        terrain, terrain_size, terrain_height, terrain_origin, terrain_up_axis, terrain_unit, terrain_direction
    )
    ground.check()  # errors in the options are reported before any file is read
    check_overwrites_no_input({"--out": out, "--report": report, "--plot": plot}, {"--terrain": Path(terrain)})
    options = _build_plant_options(
        up=up, units_per_metre=units_per_metre, stretch=stretch, in_place=in_place, feet_only=feet_only
    )
    options |= {"stride": stride.value}
    job = PlantJob("plant", ground, clip, split_names(legs), tuple(options.items()), strict, include_root, robot)
    batch_arguments = _BatchArguments(suffix, overwrite, processes, cluster)
    _run_command(job, files, OutputPaths(out, report, plot, save_contacts), contacts, batch_arguments, as_json=as_json)


def lock(
    files: _Clips,
    *,
    out: _Out,
    clip: ClipOption = None,
    robot: _Robot = None,
    legs: _Legs = None,
    contacts: _Contacts = None,
    in_place: _InPlace = InPlaceMode.KEEP,
    feet_only: _FeetOnly = False,
    units_per_metre: _UnitsPerMetre = None,
    up: _Up = None,
    stretch: _Stretch = 0.0,
    report: _Report = None,
    plot: _Plot = None,
    save_contacts: _SaveContacts = None,
    strict: _Strict = False,
    include_root: IncludeRoot = None,
    suffix: batch_files.FormatOption = None,
    overwrite: batch_files.OverwriteOption = False,
    processes: batch_files.ProcessesOption = None,
    cluster: batch_files.ClusterOption = None,
    as_json: _Json = False,
) -> None:
    """Remove foot sliding from a clip. The feet are held still on the flat floor of the clip itself."""
    options = _build_plant_options(
        up=up, units_per_metre=units_per_metre, stretch=stretch, in_place=in_place, feet_only=feet_only
    )
    job = PlantJob("lock", None, clip, split_names(legs), tuple(options.items()), strict, include_root, robot)
    batch_arguments = _BatchArguments(suffix, overwrite, processes, cluster)
    _run_command(job, files, OutputPaths(out, report, plot, save_contacts), contacts, batch_arguments, as_json=as_json)


def _build_plant_options(
    *, up: UpAxis | None, units_per_metre: float | None, stretch: float, in_place: InPlaceMode, feet_only: bool
) -> dict[str, Any]:
    """Build the common arguments of plant_feet() and lock_feet()."""
    character_options = {"up": up and up.value, "metre": units_per_metre, "stretch": stretch}
    return character_options | {"in_place": in_place.value, "feet_only": feet_only}
