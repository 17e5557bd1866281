"""Foot planting of one clip: checks, planting, output, report."""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from itertools import chain, count
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import typer

from poise import plot
from poise.cli.given.clips import clip_of
from poise.cli.given.contacts import check_contacts_file, contacts_of
from poise.cli.library.verbs import Row
from poise.cli.terminal import say
from poise.cli.told import outputs
from poise.cli.told.bars import bar
from poise.errors import FileError, InputError, UnsupportedError, naming, shown
from poise.ground.contact.contact_files import write_contacts
from poise.ground.contact.contacts import Contacts
from poise.ground.plant import Planted
from poise.io.files import write_atomically
from poise.io.registry import load, save
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.model.roles import Leg, Roles, humanoid
from poise.timing.clock import count_seconds

Putting: TypeAlias = Callable[[Rig, Clip, Contacts | None], Planted]  # plants or locks a clip

_PAGES, _NUMBERS = (".html", ".htm"), (".json",)
_STAGES = 4  # steps of the progress bar: reading, planting, writing, measuring


class PlantRequest(NamedTuple):
    """Clip, legs and contact file to plant."""

    file: Path
    clip: str | None
    legs: tuple[str, ...] | None
    contacts: Path | None
    include_root: Path | None = None


class Files(NamedTuple):
    """Output paths. None: not written."""

    out: Path
    report: Path | None
    plot: Path | None
    contacts: Path | None

    def check(self, source: Path) -> None:
        """Check all output paths before any work."""
        outputs.check_pose_file(self.out, source)
        if self.report is not None:
            if self.report.suffix.lower() not in (*_PAGES, *_NUMBERS):
                raise InputError(f"--report writes a page (.html) or numbers (.json), not {self.report.name!r}")
            outputs.check_place(self.report)
        if self.plot is not None:
            outputs.check_picture(self.plot)
        if self.contacts is not None:
            check_contacts_file(self.contacts)
            outputs.check_place(self.contacts)
        options = ("--out", "--report", "--plot", "--save-contacts")
        outputs.check_apart({name: path for name, path in zip(options, self, strict=True) if path is not None})


class Put(NamedTuple):
    """Planted clip with its name, notes and duration."""

    planted: Planted
    rig: Rig
    name: str
    notes: list[str]
    seconds: float


def put_clip(rig: Rig, clip: Clip, asked: PlantRequest, put: Putting, *, verb: str, taken: Container[str] = ()) -> Put:
    """Plant the feet of a clip. Its new name is unused."""
    contacts, source = contacts_of(asked.contacts, asked.file, rig, clip, asked.legs)
    began = perf_counter()
    planted = put(rig, clip, contacts)
    seconds = count_seconds(began)
    name = name_of(planted, taken, verb)
    return Put(planted, rig, name, [*rig.notes, *([source] * bool(source)), *planted.notes], seconds)


def clip_made(done: Put) -> Clip:
    """Build the clip to write."""
    return Clip(done.planted.times, done.planted.poses, done.name)


def put_one(
    asked: PlantRequest, files: Files, put: Putting, *, verb: str,
    advance: Callable[[int, str], None] = lambda _done, _now: None,
) -> Put:  # fmt: skip
    """Read a clip, plant its feet and write the outputs. `advance` is called before each stage."""
    rig = load(asked.file, include_root=asked.include_root)
    clip = _clip_of(rig, asked, verb)
    advance(1, "planting")
    with naming(asked.file):
        done = put_clip(rig, clip, asked, put, verb=verb, taken={clip.name for clip in rig.clips})
    advance(1, "writing")
    save(clip_made(done), files.out, like=rig)
    if files.contacts is not None:
        write_contacts(files.contacts, done.planted.contacts, clip.name)
    advance(1, "measuring")
    write_report(done.planted, files)
    advance(1, "done")
    return done


def run(asked: PlantRequest, files: Files, put: Putting, *, verb: str, as_json: bool, strict: bool) -> None:
    """Plant one clip, write the outputs and print a report.

    With `strict` the exit code is 1 if a measure exceeds its bound.
    """
    files.check(asked.file)
    outputs.check_not_read({"--contacts": asked.contacts}, {"--out": files.out, "--report": files.report})
    with bar("reading", _STAGES) as advance:
        done = put_one(asked, files, put, verb=verb, advance=advance)
    planted = done.planted
    if as_json:
        typer.echo(json.dumps(as_object(done) | {"out": str(files.out)}, indent=1, allow_nan=False))
    else:
        _say(planted, done.rig, done.notes)
        say(f"clip {done.name!r} in {files.out}")
    if strict and not planted.report.ok:
        raise typer.Exit(1)


def row_of(done: Put, *, strict: bool) -> Row:
    """Build the table row of a clip. Units are cm/s and mm, as in the report."""
    report = done.planted.report.as_object()
    before, after, worse = report["before"], report["after"], done.planted.report.worse
    return {
        "status": "worse" if strict and worse else "ok", "frames": report["frames"], "skate_before": before["skate"],
        "skate_after": after["skate"], "sunk_after": after["sunk"], "floating_after": after["floating"],
        "worse": len(worse), "message": "; ".join(map(str, [*worse, *done.notes])),
    }  # fmt: skip


def names_of(text: str | None) -> tuple[str, ...] | None:
    """Split comma-separated names. None stays None."""
    return None if text is None else tuple(name.strip() for name in text.split(","))


def name_of(planted: Planted, taken: Container[str], verb: str) -> str:
    """Find an unused name for the new clip. A glTF file keeps the old clips too: walk_planted, walk_planted_1, ..."""
    name = f"{planted.name}_{verb}ed"
    others = (f"{name}_{i}" for i in count(1))
    return next(free for free in chain([name], others) if free not in taken)


def _clip_of(rig: Rig, asked: PlantRequest, verb: str) -> Clip:
    if not rig.clips:
        raise FileError(asked.file, f"holds no animation: there is nothing to {verb}")
    return clip_of(rig, asked.clip, f"poise {verb}")


def write_report(planted: Planted, files: Files) -> None:
    """Write the requested report and picture."""
    if files.report is not None and files.report.suffix.lower() in _PAGES:
        planted.report.to_html(files.report)
    elif files.report is not None:
        write_atomically(files.report, planted.report.to_json().encode())
    if files.plot is not None:
        try:
            plot.draw_feet(files.plot, planted)
        except UnsupportedError as error:
            say(f"no picture: {error}", err=True)


def _say(planted: Planted, rig: Rig, notes: list[str]) -> None:
    """Print the report, the joints of each leg, and notes."""
    say(*str(planted.report).split("\n"))
    roles = humanoid(rig)
    for leg in planted.figure.legs:
        say(_leg_line(leg, roles))
    for worse in planted.report.worse:
        say(f"worse: {worse}")
    for note in notes:
        say(f"note: {note}")


def _leg_line(leg: Leg, roles: Roles) -> str:
    """Format the joints of a leg with its lowest confidence.

    Example: `left leg: Hip, Knee, Ankle (0.8: by its name)`.
    """
    joints = [joint for joint in (leg.upper, leg.lower, leg.foot, leg.toes) if joint]
    known = [role for role, joint in roles.joints.items() if joint in joints]
    least = min(known, key=lambda role: roles.confidence[role], default=None)
    sure = "" if least is None else f" ({roles.confidence[least]:.1f}: {roles.reasons[least]})"
    return f"{leg.name} leg: {', '.join(map(shown, joints))}{sure}"


def as_object(done: Put) -> dict[str, Any]:
    """Build the JSON document of a planted clip."""
    planted, figure = done.planted, done.planted.figure
    return {
        **planted.report.as_object(),
        "clip": done.name,
        "notes": done.notes,
        "joints": {leg.name: [leg.upper, leg.lower, leg.foot, leg.toes] for leg in figure.legs},
        "up": figure.up,
        "metre": figure.metre,
        "velocity": None if planted.velocity is None else planted.velocity.tolist(),
        "seconds": done.seconds,
    }
