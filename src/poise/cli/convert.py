"""`poise convert`: convert files between formats. A line is printed for each loss."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli import batch_files
from poise.cli.batch_run import run_batch
from poise.cli.input_output_files import IncludeRoot, check_overwrites_no_input, check_writable
from poise.cli.terminal import say
from poise.conversion.convert import Converted
from poise.conversion.convert import convert as convert_file
from poise.errors import InputError
from poise.formatting import format_count
from poise.io.json_units import build_units
from poise.io.registry import ALL_CLIPS


class UpAxisXYZ(StrEnum):
    """Up axis: x, y or z."""

    X = "x"
    Y = "y"
    Z = "z"


class RestPoseMode(StrEnum):
    """Rest rotations of a BVH file."""

    ZERO = "zero"
    KEEP = "keep"


@dataclass(frozen=True)
class ConvertJob:
    """Conversion job for one file of a batch. The fields are the options as typed."""

    clip: str | None
    fps: float | None
    scale: float | None
    up: str | None
    rest: str | None
    root: str | None
    include_root: Path | None = None

    def __call__(self, file: Path, out: Path) -> batch_files.ResultRow:
        """Convert a file and return its row of the table."""
        options: dict[str, Any] = asdict(self)
        result = build_json(convert_file(file, out, **options))
        text_columns = {
            "clips": len(result["clips"]),
            "lost": "; ".join(result["lost"]),
            "message": "; ".join(result["notes"]),
        }
        return {**result, **text_columns, "status": "ok"}


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
    up: Annotated[UpAxisXYZ | None, typer.Option("--up", help="rotate the character to this up axis")] = None,
    rest: Annotated[
        RestPoseMode | None,
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
    suffix: batch_files.FormatOption = None,
    include_root: IncludeRoot = None,
    overwrite: batch_files.OverwriteOption = False,
    processes: batch_files.ProcessesOption = None,
    cluster: batch_files.ClusterOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Convert files between formats. Losses are listed."""
    job = ConvertJob(clip, fps, scale, up and up.value, rest and rest.value, root, include_root)
    if out is not None and (batch_files.is_batch(files, out) or suffix is not None):
        if suffix is None:
            raise InputError("many files need --format, the output format, such as --format bvh")
        batch_options = batch_files.build_batch_options(
            out, suffix, overwrite=overwrite, processes=processes, cluster=cluster
        )
        raise typer.Exit(
            run_batch("convert", files, batch_options, job, as_json=as_json, splits_clips=clip == ALL_CLIPS)
        )
    batch_files.reject_batch_options(
        "convert", overwrite=overwrite, processes=processes, cluster=cluster, format=suffix
    )
    _print_result(convert_file(*_parse_paths(files, out), **asdict(job), progress=True), as_json=as_json)


def _parse_paths(files: list[Path], out: Path | None) -> tuple[Path, Path]:
    """Return the input path and the output path."""
    paths = files if out is None else [*files, out]
    if len(paths) != 2:  # noqa: PLR2004
        raise InputError("give a file and the new one, poise convert IN OUT, or many with -o FOLDER --format SUFFIX")
    source, output = paths
    check_writable(output)
    check_overwrites_no_input({"OUT": output}, {"IN": source})
    return source, output


def _print_result(result: Converted, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(build_json(result) | {"units": build_units(None)}, indent=1, allow_nan=False))
        return
    for path in result.files:
        say(f"wrote {path}")
    if result.clips:
        rate_text = f" at {result.fps:.6g} frames/s" if result.fps else ""
        say(f"{format_count(len(result.clips), 'clip')}, {format_count(result.frames, 'frame')}{rate_text}")
    for loss in result.lost:
        say(f"lost: {loss}")
    for note in result.notes:
        say(f"note: {note}")


def build_json(result: Converted) -> dict[str, Any]:
    """Build the JSON document of a conversion."""
    return {
        "files": [str(path) for path in result.files], "clips": list(result.clips), "frames": result.frames,
        "fps": result.fps, "off": result.off, "share": result.share, "lost": list(result.lost),
        "notes": list(result.notes),
    }  # fmt: skip
