"""`poise convert`: a file of one format as a file of another, and what was lost, in lines."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli.told import outputs
from poise.errors import InputError
from poise.libraries.convert import Converted
from poise.libraries.convert import convert as run


class AnyAxis(StrEnum):
    """An up axis."""

    X = "x"
    Y = "y"
    Z = "z"


class RestPose(StrEnum):
    """Where zero rotation is in a BVH file."""

    ZERO = "zero"
    KEEP = "keep"


def convert(
    file: Annotated[Path, typer.Argument(metavar="IN", help="any file that poise reads")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="the new file; its suffix says the format")],
    *,
    clip: Annotated[
        str | None, typer.Option("--clip", metavar="NAME", help="which clip, or all: a file each where one holds one")
    ] = None,
    fps: Annotated[
        float | None, typer.Option("--fps", help="sample clips at this rate; default: one at which each key is a frame")
    ] = None,
    scale: Annotated[
        float | None, typer.Option("--scale", help="multiply lengths; default: glTF in metres where the unit is known")
    ] = None,
    up: Annotated[AnyAxis | None, typer.Option("--up", help="turn the figure so that this axis is up")] = None,
    rest: Annotated[
        RestPose | None,
        typer.Option(
            "--rest", help="BVH: make zero rotation the rest pose, or keep the joints' frames; default: zero for others"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Write a file of one format as a file of another, and say what the new one cannot hold."""
    outputs.check_place(out)
    if out.resolve() == file.resolve():
        raise InputError(f"{out} would be written over itself: give the new file another name")
    given: dict[str, Any] = {
        "clip": clip,
        "fps": fps,
        "scale": scale,
        "up": up and up.value,
        "rest": rest and rest.value,
    }
    _say(run(file, out, **given), as_json=as_json)


def _say(done: Converted, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(as_object(done), indent=1, allow_nan=False))
        return
    for path in done.files:
        typer.echo(f"wrote {path}")
    if done.clips:
        rate = f" at {done.fps:.6g} frames/s" if done.fps else ""
        clips = f"{len(done.clips)} clip{'s' * (len(done.clips) > 1)}"
        typer.echo(f"{clips}, {done.frames} frames{rate}")
    for line in done.lost:
        typer.echo(f"lost: {line}")
    for note in done.notes:
        typer.echo(f"note: {note}")


def as_object(done: Converted) -> dict[str, Any]:
    """Everything that is known of a new file, for JSON."""
    return {
        "files": [str(path) for path in done.files], "clips": list(done.clips), "frames": done.frames,
        "fps": done.fps, "off": done.off, "share": done.share, "lost": list(done.lost), "notes": list(done.notes),
    }  # fmt: skip
