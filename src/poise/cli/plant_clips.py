"""Foot planting of one clip, or of every clip of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from itertools import chain, count
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import typer

from poise import plot
from poise.cli import output_paths
from poise.cli.batch_files import ResultRow
from poise.cli.clips import check_distinct_files, format_failure, list_output_paths, save_clips, select_clip
from poise.cli.ground_options import check_contacts_path, load_contacts
from poise.cli.progress import show_progress
from poise.cli.terminal import say
from poise.errors import FileError, InputError, PoiseError, UnsupportedError, escape_unprintable, prefix_file_name
from poise.ground.contact.contact_files import write_contacts
from poise.ground.contact.contacts import Contacts
from poise.ground.plant import Planted
from poise.io.clip_files import build_clip_paths
from poise.io.files import is_file, write_atomically
from poise.io.registry import load, save
from poise.maths.formatting import format_count
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.model.rig_roles import search_roles
from poise.model.roles import Leg, Roles
from poise.timing import count_seconds

PlantFunction: TypeAlias = Callable[[Rig, Clip, Contacts | None], Planted]  # plants or locks a clip

_PAGE_SUFFIXES, _NUMBER_SUFFIXES = (".html", ".htm"), (".json",)
_PROGRESS_STAGES = 4  # steps of the progress bar: reading, planting, writing, measuring


class PlantRequest(NamedTuple):
    """Clip, legs and contact file to plant."""

    file: Path
    clip: str | None
    legs: tuple[str, ...] | None
    contacts: Path | None
    include_root: Path | None = None


class OutputPaths(NamedTuple):
    """Output paths. None: not written."""

    out: Path
    report: Path | None
    plot: Path | None
    contacts: Path | None

    def check(self, source: Path) -> None:
        """Check all output paths before any work."""
        output_paths.check_pose_path(self.out, source)
        if self.report is not None:
            if self.report.suffix.lower() not in (*_PAGE_SUFFIXES, *_NUMBER_SUFFIXES):
                raise InputError(f"--report writes a page (.html) or numbers (.json), not {self.report.name!r}")
            output_paths.check_writable(self.report)
        if self.plot is not None:
            output_paths.check_picture_path(self.plot)
        if self.contacts is not None:
            check_contacts_path(self.contacts)
            output_paths.check_writable(self.contacts)
        options = ("--out", "--report", "--plot", "--save-contacts")
        output_paths.check_distinct_paths(
            {name: path for name, path in zip(options, self, strict=True) if path is not None}
        )


class PlantOutcome(NamedTuple):
    """Planted clip with its name, notes and duration."""

    planted: Planted
    rig: Rig
    name: str
    notes: list[str]
    seconds: float


def plant_clip(
    rig: Rig, clip: Clip, request: PlantRequest, plant: PlantFunction, *, verb: str, taken: Container[str] = ()
) -> PlantOutcome:
    """Plant the feet of a clip. Its new name is unused."""
    contacts, source = load_contacts(request.contacts, request.file, rig, clip, request.legs)
    began = perf_counter()
    planted = plant(rig, clip, contacts)
    seconds = count_seconds(began)
    name = find_clip_name(planted, taken, verb)
    return PlantOutcome(planted, rig, name, [*rig.notes, *([source] * bool(source)), *planted.notes], seconds)


def build_clip(outcome: PlantOutcome) -> Clip:
    """Build the clip to write."""
    return Clip(outcome.planted.times, outcome.planted.poses, outcome.name)


def plant_file(
    request: PlantRequest, files: OutputPaths, plant: PlantFunction, *, verb: str,
    advance: Callable[[int, str], None] = lambda _done, _now: None,
) -> PlantOutcome:  # fmt: skip
    """Read a clip, plant its feet and write the outputs. `advance` is called before each stage."""
    rig = load(request.file, include_root=request.include_root)
    clip = _select_source_clip(rig, request, verb)
    advance(1, "planting")
    with prefix_file_name(request.file):
        outcome = plant_clip(rig, clip, request, plant, verb=verb, taken={clip.name for clip in rig.clips})
    advance(1, "writing")
    save(build_clip(outcome), files.out, like=rig)
    if files.contacts is not None:
        write_contacts(files.contacts, outcome.planted.contacts, clip.name)
    advance(1, "measuring")
    write_report(outcome.planted, files)
    advance(1, "done")
    return outcome


def run_one_clip(
    request: PlantRequest, files: OutputPaths, plant: PlantFunction, *, verb: str, as_json: bool, strict: bool
) -> None:
    """Plant one clip, write the outputs and print a report.

    With `strict` the exit code is 1 if a measure exceeds its bound.
    """
    files.check(request.file)
    output_paths.check_not_an_input({"--contacts": request.contacts}, {"--out": files.out, "--report": files.report})
    with show_progress("reading", _PROGRESS_STAGES) as advance:
        outcome = plant_file(request, files, plant, verb=verb, advance=advance)
    planted = outcome.planted
    if as_json:
        typer.echo(json.dumps(build_json(outcome) | {"out": str(files.out)}, indent=1, allow_nan=False))
    else:
        _print_report(planted, outcome.rig, outcome.notes)
        say(f"clip {outcome.name!r} in {files.out}")
    if strict and not planted.report.ok:
        raise typer.Exit(1)


def build_row(outcome: PlantOutcome, *, strict: bool) -> ResultRow:
    """Build the table row of a clip. Units are cm/s and mm, as in the report."""
    report = outcome.planted.report.as_object()
    before, after, worse = report["before"], report["after"], outcome.planted.report.worse
    return {
        "status": "worse" if strict and worse else "ok", "frames": report["frames"], "skate_before": before["skate"],
        "skate_after": after["skate"], "sunk_after": after["sunk"], "floating_after": after["floating"],
        "worse": len(worse), "message": "; ".join(map(str, [*worse, *outcome.notes])),
    }  # fmt: skip


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Split comma-separated names. None stays None."""
    return None if text is None else tuple(name.strip() for name in text.split(","))


def find_clip_name(planted: Planted, taken: Container[str], verb: str) -> str:
    """Find an unused name for the new clip. A glTF file keeps the old clips too: walk_planted, walk_planted_1, ..."""
    name = f"{planted.name}_{verb}ed"
    others = (f"{name}_{i}" for i in count(1))
    return next(free for free in chain([name], others) if free not in taken)


def _select_source_clip(rig: Rig, request: PlantRequest, verb: str) -> Clip:
    if not rig.clips:
        raise FileError(request.file, f"holds no animation: there is nothing to {verb}")
    return select_clip(rig, request.clip, f"poise {verb}")


def write_report(planted: Planted, files: OutputPaths) -> None:
    """Write the requested report and picture."""
    if files.report is not None and files.report.suffix.lower() in _PAGE_SUFFIXES:
        planted.report.to_html(files.report)
    elif files.report is not None:
        write_atomically(files.report, planted.report.to_json().encode())
    if files.plot is not None:
        try:
            plot.draw_feet(files.plot, planted)
        except UnsupportedError as error:
            say(f"no picture: {error}", err=True)


def _print_report(planted: Planted, rig: Rig, notes: list[str]) -> None:
    """Print the report, the joints of each leg, and notes."""
    say(*str(planted.report).split("\n"))
    roles = search_roles(rig)
    for leg in planted.figure.legs:
        say(_format_leg(leg, roles))
    for worse in planted.report.worse:
        say(f"worse: {worse}")
    for note in notes:
        say(f"note: {note}")


def _format_leg(leg: Leg, roles: Roles) -> str:
    """Format the joints of a leg with its lowest confidence.

    Example: `left leg: Hip, Knee, Ankle (0.8: by its name)`.
    """
    joints = [joint for joint in (leg.upper, leg.lower, leg.foot, leg.toes) if joint]
    roles_of_leg = [role for role, joint in roles.joints.items() if joint in joints]
    least_confident = min(roles_of_leg, key=lambda role: roles.confidence[role], default=None)
    confidence_text = (
        ""
        if least_confident is None
        else f" ({roles.confidence[least_confident]:.1f}: {roles.reasons[least_confident]})"
    )
    return f"{leg.name} leg: {', '.join(map(escape_unprintable, joints))}{confidence_text}"


def build_json(outcome: PlantOutcome) -> dict[str, Any]:
    """Build the JSON document of a planted clip."""
    planted, character = outcome.planted, outcome.planted.figure
    return {
        **planted.report.as_object(),
        "clip": outcome.name,
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
    """Result of one clip: its outcome, or an error line."""

    source: Clip
    files: OutputPaths
    outcome: PlantOutcome | None
    failure: str


def list_clip_outputs(files: OutputPaths, clips: Sequence[Clip]) -> list[OutputPaths]:
    """List the output paths of each clip.

    The sidecar and a multi-clip file are shared, all other files are per clip.
    """
    names = [clip.name for clip in clips]
    pages = [
        [path] * len(names) if path is None else build_clip_paths(path, names) for path in (files.report, files.plot)
    ]
    contacts = list_contact_files(files.contacts, clips, "--save-contacts")
    return [OutputPaths(*each) for each in zip(list_output_paths(files.out, clips), *pages, contacts, strict=True)]


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
    request: PlantRequest, files: OutputPaths, plant: PlantFunction, *, verb: str, advance: Callable[[int, str], None]
) -> tuple[Rig, list[PlantedClip]]:
    """Plant every clip of a file and write the outputs.

    A failed clip does not affect the others. FileError if all clips fail, and for a missing contact file.
    """
    rig = load(request.file, include_root=request.include_root)
    if not rig.clips:
        raise FileError(request.file, f"holds no animation: there is nothing to {verb}")
    clip_outputs, contacts = (
        list_clip_outputs(files, rig.clips),
        list_contact_files(request.contacts, rig.clips, "--contacts"),
    )
    _check_clip_outputs(clip_outputs, contacts)
    results: list[PlantedClip] = []
    taken = {clip.name for clip in rig.clips}
    for clip, paths, contact_file in zip(rig.clips, clip_outputs, contacts, strict=True):
        advance(0, clip.name)
        try:
            outcome = plant_clip(rig, clip, request._replace(contacts=contact_file), plant, verb=verb, taken=taken)
        except PoiseError as error:
            results.append(PlantedClip(clip, paths, None, format_failure(clip, error)))
        else:
            taken.add(outcome.name)
            results.append(PlantedClip(clip, paths, outcome, ""))
        advance(1, clip.name)
    planted = [result for result in results if result.outcome is not None]
    if not planted:
        raise FileError(
            request.file, f"no clip of {len(results)} could be worked on; the first: {results[0].failure[8:]}"
        )
    _write_clips(planted, rig)
    return rig, results


def _check_clip_outputs(clip_outputs: list[OutputPaths], contacts: Sequence[Path | None]) -> None:
    """Check output conflicts and contact files before any work."""
    options = {"--out": 0, "--report": 1, "--plot": 2, "--save-contacts": 3}
    check_distinct_files(
        {option: [path for files in clip_outputs if (path := files[i]) is not None] for option, i in options.items()}
    )
    written = [
        path for files in clip_outputs for path in files[:2]
    ]  # --save-contacts may overwrite the file of --contacts
    for path in contacts:
        if path is not None and not is_file(path):
            raise FileError(
                path, "there is no such file; --clip all takes a contact file for each clip, NAME_CLIP.json"
            )
        for new in written:
            output_paths.check_not_an_input({"--contacts": path}, {"--out or --report": new})


def _write_clips(planted: list[PlantedClip], rig: Rig) -> None:
    save_clips(
        [(build_clip(result.outcome), result.files.out) for result in planted if result.outcome is not None], rig
    )
    for result in planted:
        if result.outcome is None:
            continue
        if result.files.contacts is not None:
            write_contacts(result.files.contacts, result.outcome.planted.contacts, result.source.name)
        write_report(result.outcome.planted, result.files)


def run_all_clips(
    request: PlantRequest, files: OutputPaths, plant: PlantFunction, *, verb: str, as_json: bool, strict: bool
) -> None:
    """Plant every clip and print a line for each.

    The exit code is 1 if a clip failed and, with `strict`, if a measure exceeds its bound.
    """
    files.check(request.file)
    count = len(load(request.file, include_root=request.include_root).clips)
    with show_progress("planting", count) as advance:
        rig, results = plant_all_clips(request, files, plant, verb=verb, advance=advance)
    if as_json:
        typer.echo(json.dumps(_build_clips_json(results), indent=1, allow_nan=False))
    else:
        _print_clip_reports(rig, results)
    is_worse = any(result.outcome is not None and not result.outcome.planted.report.ok for result in results)
    if any(result.failure for result in results) or (strict and is_worse):
        raise typer.Exit(1)


def _print_clip_reports(rig: Rig, results: list[PlantedClip]) -> None:
    """Print a line for each clip, regressions, and distinct notes."""
    notes: dict[str, list[str]] = {}
    for result in results:
        if result.outcome is None:
            say(result.failure, err=True)
            continue
        report = result.outcome.planted.report
        before, after = report.before, report.after
        say(
            f"clip {result.outcome.name!r} in {result.files.out}: "
            f"{format_count(len(result.outcome.planted), 'frame')}, foot skate "
            f"{before.skate:.1f} -> {after.skate:.1f} cm/s, "
            f"deepest {before.penetration:.1f} -> {after.penetration:.1f} mm"
        )
        for worse in report.worse:
            say(f"  worse: {worse}")
        for note in result.outcome.notes:
            notes.setdefault(note, []).append(result.source.name)
    for note, clips in notes.items():
        where = "" if len(clips) == len(rig.clips) else f" ({', '.join(map(escape_unprintable, clips))})"
        say(f"note: {note}{where}")


def _build_clips_json(results: list[PlantedClip]) -> dict[str, Any]:
    """Build the JSON document: planted clips, and failures."""
    clips = [
        build_json(result.outcome) | {"source": result.source.name, "out": str(result.files.out)}
        for result in results
        if result.outcome
    ]
    failed = [{"clip": result.source.name, "message": result.failure} for result in results if result.failure]
    return {"clips": clips, "failed": failed}


def build_clips_row(results: list[PlantedClip], *, strict: bool) -> ResultRow:
    """Build the table row of a file with planted clips.

    It has sums of frames and regressions, and the maximum of each measure.
    """
    rows = [build_row(result.outcome, strict=strict) for result in results if result.outcome is not None]
    failed = [result.failure for result in results if result.failure]
    worst = ("skate_before", "skate_after", "sunk_after", "floating_after")
    messages = dict.fromkeys([*failed, *(row["message"] for row in rows if row["message"])])
    status = "worse" if any(row["status"] == "worse" for row in rows) else "ok"
    return {
        "status": "partly" if failed else status,
        **{name: sum(row[name] for row in rows) for name in ("frames", "worse")},
        **{name: max(row[name] for row in rows) for name in worst},
        "files": sorted({str(result.files.out) for result in results if result.outcome is not None}),
        "message": "; ".join(messages),
    }  # fmt: skip
