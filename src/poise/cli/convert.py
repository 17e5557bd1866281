"""`poise convert`: convert files between formats. A line is printed for each loss."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli.given.opened import IncludeRoot
from poise.cli.library.options import Cluster, Format, Overwrite, Workers, library_of, only
from poise.cli.library.plan import is_library
from poise.cli.library.run import run as run_library
from poise.cli.library.verbs import Row
from poise.cli.terminal import say
from poise.cli.told import outputs
from poise.errors import InputError
from poise.libraries.clip_files import ALL
from poise.libraries.convert import Converted
from poise.libraries.convert import convert as run
from poise.maths.in_words import counted


class AnyAxis(StrEnum):
    """Up axis: x, y or z."""

    X = "x"
    Y = "y"
    Z = "z"


class RestPose(StrEnum):
    """Rest rotations of a BVH file."""

    ZERO = "zero"
    KEEP = "keep"


@dataclass(frozen=True)
class ConvertWork:
    """Conversion job for one file of a batch. The fields are the options as typed."""

    clip: str | None
    fps: float | None
    scale: float | None
    up: str | None
    rest: str | None
    root: str | None
    include_root: Path | None = None

    def __call__(self, file: Path, out: Path) -> Row:
        """Convert a file and return its row of the table."""
        given: dict[str, Any] = asdict(self)
        done = as_object(run(file, out, **given))
        told = {"clips": len(done["clips"]), "lost": "; ".join(done["lost"]), "message": "; ".join(done["notes"])}
        return {**done, **told, "status": "ok"}


def convert(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="IN OUT", help="a file and the new one; with -o FOLDER: files, folders, patterns"),
    ],
    *,
    clip: Annotated[
        str | None,
        typer.Option("--clip", metavar="NAME", help="which clip, or all: one file per clip for single-clip formats"),
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(
            "--fps", help="sample clips at this rate (frames per second); default: one at which each key is a frame"
        ),
    ] = None,
    scale: Annotated[
        float | None, typer.Option("--scale", help="multiply lengths; default: glTF in metres where the unit is known")
    ] = None,
    up: Annotated[AnyAxis | None, typer.Option("--up", help="rotate the character to this up axis")] = None,
    rest: Annotated[
        RestPose | None,
        typer.Option(
            "--rest", help="BVH: make zero rotation the rest pose, or keep the joints' frames; default: zero for others"
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            "--root", metavar="JOINT", help="convert this root's joints only; default for BVH: those of the hips"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="many files: the output folder")] = None,
    suffix: Format = None,
    include_root: IncludeRoot = None,
    overwrite: Overwrite = False,
    processes: Workers = None,
    cluster: Cluster = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Convert files between formats. Losses are listed."""
    work = ConvertWork(clip, fps, scale, up and up.value, rest and rest.value, root, include_root)
    if out is not None and (is_library(files, out) or suffix is not None):
        if suffix is None:
            raise InputError("many files need --format, the output format, such as --format bvh")
        library = library_of(out, suffix, overwrite=overwrite, processes=processes, cluster=cluster)
        raise typer.Exit(run_library("convert", files, library, work, as_json=as_json, each_clip=clip == ALL))
    only("convert", overwrite=overwrite, processes=processes, cluster=cluster, format=suffix)
    _say(run(*_two(files, out), **asdict(work)), as_json=as_json)


def _two(files: list[Path], out: Path | None) -> tuple[Path, Path]:
    """Return the input path and the output path."""
    pair = files if out is None else [*files, out]
    if len(pair) != 2:  # noqa: PLR2004
        raise InputError("give a file and the new one, poise convert IN OUT, or many with -o FOLDER --format SUFFIX")
    file, new = pair
    outputs.check_place(new)
    outputs.check_not_itself(new, file)
    return file, new


def _say(done: Converted, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(as_object(done), indent=1, allow_nan=False))
        return
    for path in done.files:
        say(f"wrote {path}")
    if done.clips:
        rate = f" at {done.fps:.6g} frames/s" if done.fps else ""
        say(f"{counted(len(done.clips), 'clip')}, {counted(done.frames, 'frame')}{rate}")
    for line in done.lost:
        say(f"lost: {line}")
    for note in done.notes:
        say(f"note: {note}")


def as_object(done: Converted) -> dict[str, Any]:
    """Build the JSON document of a conversion."""
    return {
        "files": [str(path) for path in done.files], "clips": list(done.clips), "frames": done.frames,
        "fps": done.fps, "off": done.off, "share": done.share, "lost": list(done.lost), "notes": list(done.notes),
    }  # fmt: skip
