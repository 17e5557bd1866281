"""`--clip all` of `poise plant` and `poise lock`. The feet of every clip are planted, each with its own contacts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from poise.cli.library.verbs import Row
from poise.cli.planted import feet
from poise.cli.terminal import say
from poise.cli.told import outputs
from poise.cli.told.bars import bar
from poise.cli.told.clips import check_apart, new_files, save_clips, told
from poise.errors import FileError, InputError, PoiseError, shown
from poise.ground.contact.contact_files import write_contacts
from poise.io.files import is_file
from poise.io.registry import load
from poise.libraries.clip_files import clip_paths
from poise.maths.in_words import counted
from poise.model.clip import Clip
from poise.model.rig import Rig


class PutClip(NamedTuple):
    """Result of one clip: its outcome, or an error line."""

    source: Clip
    files: feet.Files
    put: feet.Put | None
    failed: str


def files_of(files: feet.Files, clips: Sequence[Clip]) -> list[feet.Files]:
    """List the output paths of each clip.

    The sidecar and a multi-clip file are shared, all other files are per clip.
    """
    names = [clip.name for clip in clips]
    pages = [[path] * len(names) if path is None else clip_paths(path, names) for path in (files.report, files.plot)]
    contacts = contact_files(files.contacts, clips, "--save-contacts")
    return [feet.Files(*each) for each in zip(new_files(files.out, clips), *pages, contacts, strict=True)]


def contact_files(path: Path | None, clips: Sequence[Clip], option: str) -> Sequence[Path | None]:
    """List the contact file of each clip. It is NAME_CLIP.json; a sidecar (.toml) has a table for each clip name."""
    names = [clip.name for clip in clips]
    if path is None:
        return [None] * len(names)
    if path.suffix.lower() == ".json":
        return clip_paths(path, names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"{option} {path}: two clips are called {twice!r}, and a sidecar tells them by name; give a .json file"
        )
    return [path] * len(names)


def put_all(
    asked: feet.PlantRequest, files: feet.Files, put: feet.Putting, *, verb: str, advance: Callable[[int, str], None]
) -> tuple[Rig, list[PutClip]]:
    """Plant every clip of a file and write the outputs.

    A failed clip does not affect the others. FileError if all clips fail, and for a missing contact file.
    """
    rig = load(asked.file, include_root=asked.include_root)
    if not rig.clips:
        raise FileError(asked.file, f"holds no animation: there is nothing to {verb}")
    each, contacts = files_of(files, rig.clips), contact_files(asked.contacts, rig.clips, "--contacts")
    _check(each, contacts)
    done: list[PutClip] = []
    taken = {clip.name for clip in rig.clips}
    for clip, own, held in zip(rig.clips, each, contacts, strict=True):
        advance(0, clip.name)
        try:
            made = feet.put_clip(rig, clip, asked._replace(contacts=held), put, verb=verb, taken=taken)
        except PoiseError as error:
            done.append(PutClip(clip, own, None, told(clip, error)))
        else:
            taken.add(made.name)
            done.append(PutClip(clip, own, made, ""))
        advance(1, clip.name)
    good = [one for one in done if one.put is not None]
    if not good:
        raise FileError(asked.file, f"no clip of {len(done)} could be worked on; the first: {done[0].failed[8:]}")
    _write(good, rig)
    return rig, done


def _check(each: list[feet.Files], contacts: Sequence[Path | None]) -> None:
    """Check output conflicts and contact files before any work."""
    options = {"--out": 0, "--report": 1, "--plot": 2, "--save-contacts": 3}
    check_apart({option: [path for files in each if (path := files[i]) is not None] for option, i in options.items()})
    written = [path for files in each for path in files[:2]]  # --save-contacts may overwrite the file of --contacts
    for path in contacts:
        if path is not None and not is_file(path):
            raise FileError(
                path, "there is no such file; --clip all takes a contact file for each clip, NAME_CLIP.json"
            )
        for new in written:
            outputs.check_not_read({"--contacts": path}, {"--out or --report": new})


def _write(good: list[PutClip], rig: Rig) -> None:
    save_clips([(feet.clip_made(one.put), one.files.out) for one in good if one.put is not None], rig)
    for one in good:
        if one.put is None:
            continue
        if one.files.contacts is not None:
            write_contacts(one.files.contacts, one.put.planted.contacts, one.source.name)
        feet.write_report(one.put.planted, one.files)


def run(
    asked: feet.PlantRequest, files: feet.Files, put: feet.Putting, *, verb: str, as_json: bool, strict: bool
) -> None:
    """Plant every clip and print a line for each.

    The exit code is 1 if a clip failed and, with `strict`, if a measure exceeds its bound.
    """
    files.check(asked.file)
    count = len(load(asked.file, include_root=asked.include_root).clips)
    with bar("planting", count) as advance:
        rig, done = put_all(asked, files, put, verb=verb, advance=advance)
    if as_json:
        typer.echo(json.dumps(_as_object(done), indent=1, allow_nan=False))
    else:
        _say(rig, done)
    is_worse = any(one.put is not None and not one.put.planted.report.ok for one in done)
    if any(one.failed for one in done) or (strict and is_worse):
        raise typer.Exit(1)


def _say(rig: Rig, done: list[PutClip]) -> None:
    """Print a line for each clip, regressions, and distinct notes."""
    notes: dict[str, list[str]] = {}
    for one in done:
        if one.put is None:
            say(one.failed, err=True)
            continue
        report = one.put.planted.report
        before, after = report.before, report.after
        say(
            f"clip {one.put.name!r} in {one.files.out}: {counted(len(one.put.planted), 'frame')}, foot skate "
            f"{before.skate:.1f} -> {after.skate:.1f} cm/s, "
            f"deepest {before.penetration:.1f} -> {after.penetration:.1f} mm"
        )
        for worse in report.worse:
            say(f"  worse: {worse}")
        for note in one.put.notes:
            notes.setdefault(note, []).append(one.source.name)
    for note, clips in notes.items():
        where = "" if len(clips) == len(rig.clips) else f" ({', '.join(map(shown, clips))})"
        say(f"note: {note}{where}")


def _as_object(done: list[PutClip]) -> dict[str, Any]:
    """Build the JSON document: planted clips, and failures."""
    clips = [
        feet.as_object(one.put) | {"source": one.source.name, "out": str(one.files.out)} for one in done if one.put
    ]
    failed = [{"clip": one.source.name, "message": one.failed} for one in done if one.failed]
    return {"clips": clips, "failed": failed}


def row_of(done: list[PutClip], *, strict: bool) -> Row:
    """Build the table row of a file with planted clips.

    It has sums of frames and regressions, and the maximum of each measure.
    """
    rows = [feet.row_of(one.put, strict=strict) for one in done if one.put is not None]
    failed = [one.failed for one in done if one.failed]
    worst = ("skate_before", "skate_after", "sunk_after", "floating_after")
    said = dict.fromkeys([*failed, *(row["message"] for row in rows if row["message"])])
    status = "worse" if any(row["status"] == "worse" for row in rows) else "ok"
    return {
        "status": "partly" if failed else status,
        **{name: sum(row[name] for row in rows) for name in ("frames", "worse")},
        **{name: max(row[name] for row in rows) for name in worst},
        "files": sorted({str(one.files.out) for one in done if one.put is not None}), "message": "; ".join(said),
    }  # fmt: skip
