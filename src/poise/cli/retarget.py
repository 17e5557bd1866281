"""`poise retarget`: move one character as another one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from poise import plot as pictures
from poise.calls.progress import Advance, forward_progress, ignore_progress, show_progress_bar
from poise.cli import batch_files
from poise.cli.batch_run import read_file_stamp, run_batch
from poise.cli.input_output_files import (
    ClipOption,
    IncludeRoot,
    check_animated,
    check_distinct_outputs,
    check_overwrites_no_input,
    check_picture_path,
    check_pose_path,
    check_writable,
    find_free_names,
    list_output_paths,
    save_clips,
    select_clip,
)
from poise.cli.terminal import say
from poise.cli.terrain_options import TerrainOptions, build_cached_terrain
from poise.errors import FileError, InputError, PoiseError, prefix_file_name
from poise.formatting import format_count
from poise.ground.terrain.terrain import Terrain
from poise.ground.terrain.words import FORMS
from poise.io.registry import ALL_CLIPS, build_clip_paths, load
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.retargeting.match import Match, check_match, check_target, match_roles
from poise.retargeting.report import REPORT_SUFFIXES
from poise.retargeting.retarget import Retargeted
from poise.retargeting.retarget import retarget as retarget_clip

_NO_GROUND = "none"
_FILE_SPEED, _ANY_SPEED = "file", "any"
_ROBOT_SUFFIXES = ("urdf", "xml", "mjcf", "usd", "usda", "usdc", "usdz")  # formats that hold no clips
_PROGRESS_STAGES = 5  # of the progress bar: reading, three of retargeting, writing


class RootMode(StrEnum):
    """Motion of the hips."""

    TRAVEL = "travel"
    IN_PLACE = "in_place"
    KEEP = "keep"


class HandsMode(StrEnum):
    """Hands near each other."""

    TOUCH = "touch"
    DIRECTIONS = "directions"


class FirstFramesMode(StrEnum):
    """Treatment of a reference pose in front of a clip."""

    AUTO = "auto"
    KEEP = "keep"


class RetargetedClip(NamedTuple):
    """A clip of the target with its output paths."""

    source_name: str
    result: Retargeted
    out: Path
    report: Path | None
    plot: Path | None


class RetargetOutputs(NamedTuple):
    """Output paths of a file. None: not written."""

    out: Path
    report: Path | None = None
    plot: Path | None = None


@dataclass(frozen=True)
class RetargetJob:
    """Retargeting job for one file. The fields are the options as typed."""

    target: Path
    clip: str | None
    match: Path | None
    ground: str | None
    root: str
    hands: str
    first: str
    fps: float | None
    strict: bool
    include_root: Path | None = None
    stamps: tuple[tuple[int, ...], ...] = ()  # of target and match: with another one an interrupted job starts over
    speed: bool | float = True
    clear: bool = True

    def __call__(self, file: Path, out: Path) -> batch_files.ResultRow:
        """Process one file of a batch and return its table row."""
        return _build_row(self.run(file, RetargetOutputs(out), ignore_progress), strict=self.strict)

    def run(self, file: Path, outputs: RetargetOutputs, advance: Advance) -> list[RetargetedClip]:
        """Retarget the clips of a file and write the outputs."""
        source, target = load(file, include_root=self.include_root), _load_target(self.target, self.include_root)
        clips = self._select_clips(source, file)
        pairs = self.find_match(file, source, target)
        is_all = self.clip == ALL_CLIPS
        outs = list_output_paths(outputs.out, clips) if is_all else [outputs.out]
        reports, plots = (_list_paths(path, clips, is_all=is_all) for path in (outputs.report, outputs.plot))
        names = find_free_names([clip.name for clip in clips], outputs.out, target)
        advance(1, "retargeting")
        results: list[RetargetedClip] = []
        for clip, name, clip_out, clip_report, clip_plot in zip(clips, names, outs, reports, plots, strict=True):
            with prefix_file_name(file):
                done = self._retarget(clip, source, target, pairs, advance if len(clips) == 1 else ignore_progress)
            results.append(RetargetedClip(name, done, clip_out, clip_report, clip_plot))
        advance(0, "writing")
        save_clips([(Clip(one.result.times, one.result.poses, one.source_name), one.out) for one in results], target)
        for one in results:
            if one.report is not None:
                one.result.report.save(one.report)
            if one.plot is not None:
                pictures.draw_frames(one.result, one.plot)
        advance(1, "done")
        return results

    def _select_clips(self, source: Rig, file: Path) -> list[Clip]:
        check_animated(source, file, "retarget")
        return list(source.clips) if self.clip == ALL_CLIPS else [select_clip(source, self.clip, "poise retarget")]

    def find_match(self, file: Path, source: Rig, target: Rig) -> Match:
        """Load the match and check it, or match by roles. Errors name the file they are about."""
        self.check_target()
        if self.match is not None:
            return load_match(self.match, source, target)
        with prefix_file_name(file):
            return match_roles(source.roles, target.roles)

    def check_target(self) -> None:
        """Check the target and its joints in the match."""
        target = _load_target(self.target, self.include_root)
        if self.match is not None:
            load_match(self.match, None, target)
            return
        with prefix_file_name(self.target):
            check_target(target.roles)

    def _retarget(self, clip: Clip, source: Rig, target: Rig, pairs: Match, advance: Advance) -> Retargeted:
        root: Any = self.root
        hands: Any = self.hands
        first: Any = self.first
        return retarget_clip(
            clip, target, source=source, match=pairs,
            ground=parse_ground(self.ground), root=root, hands=hands, first=first, fps=self.fps,
            speed=self.speed, clear=self.clear,
            progress=forward_progress(advance),
        )  # fmt: skip


def _list_paths(path: Path | None, clips: list[Clip], *, is_all: bool) -> Sequence[Path | None]:
    """List the path of a report or a picture for each clip."""
    if path is None or not is_all:
        return [path] * len(clips)
    return build_clip_paths(path, [clip.name for clip in clips])


@cache
def _load_target(path: Path, include_root: Path | None) -> Rig:
    """Load the target, once in each process."""
    return load(path, include_root=include_root)


def load_match(path: Path, source: Rig | None, target: Rig) -> Match:
    """Load a match file for two characters. FileError names the row that does not go with them."""
    pairs = Match.load(path)
    try:
        return check_match(pairs, None if source is None else source.skeleton, target.skeleton)
    except PoiseError as error:
        raise FileError(path, str(error)) from error


def parse_speed(text: str) -> bool | float:
    """Parse the speed option."""
    if text in (_FILE_SPEED, _ANY_SPEED):
        return text == _FILE_SPEED
    with suppress(ValueError):
        value = float(text)
        if 0.0 < value < math.inf:
            return value
    raise InputError(f"--speed is {_FILE_SPEED}, {_ANY_SPEED} or a number of rad/s above 0, not {text!r}")


def parse_ground(spec: str | None) -> Terrain | bool | None:
    """Parse the ground option.

    None stands for level ground at 0, False for `none`.
    """
    if spec is None:
        return None
    return False if spec == _NO_GROUND else build_cached_terrain(TerrainOptions(spec))


def retarget(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="CLIP... TARGET", help="files with animations (or folders, patterns), and the rig that is to move"
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="write the clip here (.glb, .gltf, .vrm: with the target's meshes; .vrma, .bvh; of robots .csv, "
            ".json, .npz, .bvh); of many: the folder",
        ),
    ] = None,
    clip: ClipOption = None,
    match: Annotated[
        Path | None, typer.Option("--match", metavar="FILE", help="which joint moves which (.toml); default: by roles")
    ] = None,
    save_match: Annotated[
        Path | None, typer.Option("--save-match", metavar="FILE", help="write that table for editing (.toml)")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="print which joint moves which, and do no more")] = False,
    ground: Annotated[
        str | None,
        typer.Option(
            "--ground",
            metavar="TERRAIN",
            help=f"ground under the target: {_NO_GROUND} (no feet are planted), or one of {', '.join(FORMS)}; "
            "default: level ground at 0",
        ),
    ] = None,
    root: Annotated[
        RootMode, typer.Option("--root", help="hips: travel as in the source, in place, or positions times leg lengths")
    ] = RootMode.TRAVEL,
    hands: Annotated[
        HandsMode,
        typer.Option("--hands", help="hands near each other: keep their distance, or directions of arms only"),
    ] = HandsMode.TOUCH,
    first: Annotated[
        FirstFramesMode, typer.Option("--first", help="a reference pose in front of the clip: leave it out, or keep it")
    ] = FirstFramesMode.AUTO,
    speed: Annotated[
        str,
        typer.Option("--speed", help="largest speed of a robot's joints: file (its own), any, or a number (rad/s)"),
    ] = _FILE_SPEED,
    clear: Annotated[
        bool, typer.Option("--clear/--no-clear", help="keep arms, trunk and legs of a robot apart")
    ] = True,
    fps: Annotated[float | None, typer.Option("--fps", help="sample clips at this rate (frames per second)")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="write directions, feet and jumps: curves (.html), or .json, .txt")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="draw frames of the source over the target (.png, .svg, .pdf)")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="exit with 1 if a measure exceeds its bound")] = False,
    include_root: IncludeRoot = None,
    suffix: batch_files.FormatOption = None,
    overwrite: batch_files.OverwriteOption = False,
    processes: batch_files.ProcessesOption = None,
    cluster: batch_files.ClusterOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Move one character as another one. Joints are matched by their roles, feet stand where the source's do."""
    if len(files) < 2:  # noqa: PLR2004
        raise InputError("give clips and the rig that is to move: poise retarget CLIP... TARGET -o OUT")
    *clips, target = files
    parse_ground(ground)  # errors in the options are reported before any file is read
    if match is not None:
        Match.load(match)
    stamps = tuple(tuple(read_file_stamp(path)) for path in (target, match) if path is not None)
    job = RetargetJob(
        target, clip, match, ground, root.value, hands.value, first.value, fps, strict, include_root, stamps,
        parse_speed(speed), clear,
    )  # fmt: skip
    if out is None and not dry_run:
        raise InputError("give the output, -o OUT, or --dry-run to see which joint moves which")
    if (dry_run or save_match is not None) and (len(clips) != 1 or batch_files.is_batch(clips, None)):
        raise InputError("--dry-run and --save-match take one file with a clip, and the target")
    if dry_run and (report is not None or plot is not None):
        raise InputError("--dry-run moves nothing: there is nothing to measure or to draw for --report and --plot")
    inputs = {"CLIP": clips[0], "TARGET": target, "--match": match}
    check_overwrites_no_input({"--save-match": save_match}, inputs)
    if dry_run or out is None:
        _show_match(clips[0], job, save_match, is_printed=True, as_json=as_json)
        return
    if batch_files.is_batch(clips, out) or suffix is not None:
        batch_files.reject_single_file_options("retarget", report=report, plot=plot)
        batch_options = batch_files.build_batch_options(
            out, suffix or _choose_suffix(target), overwrite=overwrite, processes=processes, cluster=cluster
        )
        if save_match is not None:
            _show_match(clips[0], job, save_match, is_printed=False, as_json=as_json)
        job.check_target()  # once, and not for each file
        raise typer.Exit(
            run_batch("retarget", clips, batch_options, job, as_json=as_json, splits_clips=clip == ALL_CLIPS)
        )
    batch_files.reject_batch_options("retarget", overwrite=overwrite, processes=processes, cluster=cluster)
    outputs = RetargetOutputs(out, report, plot)
    check_overwrites_no_input({"--out": out, "--report": report, "--plot": plot}, inputs)
    _check_outputs(target, outputs, save_match)
    if save_match is not None:
        _show_match(clips[0], job, save_match, is_printed=False, as_json=as_json)
    with show_progress_bar("reading", _PROGRESS_STAGES) as advance:
        results = job.run(clips[0], outputs, advance)
    _print_results(results, as_json=as_json)
    if strict and not all(one.result.report.ok for one in results):
        raise typer.Exit(1)


def _choose_suffix(target: Path) -> str:
    """Choose the format of a folder job.

    It is the target's own; files of robots hold no clips, so their joint values are written.
    """
    suffix = target.suffix.lower().lstrip(".")
    return "csv" if suffix in _ROBOT_SUFFIXES else suffix


def _check_outputs(target: Path, outputs: RetargetOutputs, save_path: Path | None) -> None:
    """Check all output paths before any work."""
    out, report, picture = outputs
    check_pose_path(out, target)
    if picture is not None:
        check_picture_path(picture)
    if report is not None:
        if report.suffix.lower() not in REPORT_SUFFIXES:
            raise InputError(f"--report writes a page (.html), numbers (.json) or a table (.txt), not {report.name!r}")
        check_writable(report)
    check_distinct_outputs({"--out": [out], "--report": [report], "--plot": [picture], "--save-match": [save_path]})


def _show_match(file: Path, job: RetargetJob, save_path: Path | None, *, is_printed: bool, as_json: bool) -> None:
    """Print and save the match."""
    if save_path is not None:
        check_writable(save_path)
    source, target = load(file, include_root=job.include_root), _load_target(job.target, job.include_root)
    pairs = job.find_match(file, source, target)
    if save_path is not None:
        pairs.save(save_path)
    if is_printed and as_json:
        typer.echo(json.dumps(_build_match_json(pairs), indent=1))
    elif is_printed:
        say(*str(pairs).split("\n"))


def _build_match_json(pairs: Match) -> dict[str, Any]:
    rows = [
        {"role": row.role, "from": row.source, "to": row.target, "turn": row.turn, "skip": row.skip, "note": row.note}
        for row in pairs.joints
    ]
    return {"match": rows, "notes": list(pairs.notes), "units": {"turn": "degrees"}}


def _print_results(results: list[RetargetedClip], *, as_json: bool) -> None:
    if as_json:
        documents = [
            {
                **one.result.report.as_object(), "clip": one.source_name, "out": str(one.out),
                "match": _build_match_json(one.result.match)["match"],
            }
            for one in results
        ]  # fmt: skip
        units = {"limbs": "degrees", "skate": "cm/s", "depth": "mm", "floating": "mm", "jumps": "limb lengths"}
        document = documents[0] if len(documents) == 1 else {"clips": documents}
        typer.echo(json.dumps(document | {"units": units}, indent=1, allow_nan=False))
        return
    for one in results:
        if len(results) == 1:
            say(*str(one.result.report).split("\n"))
        else:
            for sentence in one.result.report.worse:
                say(f"worse: clip {one.source_name!r}: {sentence}")
            for note in one.result.report.notes:
                say(f"note: clip {one.source_name!r}: {note}")
        say(f"clip {one.source_name!r} in {one.out}: {format_count(len(one.result), 'frame')}")


def _build_row(results: list[RetargetedClip], *, strict: bool) -> batch_files.ResultRow:
    """Build the table row of a file.

    It has sums of frames and losses, and the largest error and skate of all clips.
    """
    reports = [one.result.report for one in results]
    losses = [sentence for report in reports for sentence in report.worse]
    notes = dict.fromkeys([*losses, *(note for report in reports for note in report.notes)])
    return {
        "status": "worse" if strict and losses else "ok",
        "frames": sum(report.frames for report in reports),
        "arms": _find_largest_error(reports, "Arm"),
        "legs": _find_largest_error(reports, "Leg"),
        "skate": max((report.feet["skate"] for report in reports if report.feet is not None), default=0.0),
        "worse": len(losses),
        "files": sorted({str(one.out) for one in results}),
        "message": "; ".join(notes),
    }


def _find_largest_error(reports: list[Any], part: str) -> float:
    errors = (limb.p95 for report in reports for limb in report.limbs if limb.role.endswith(part))
    return max(errors, default=0.0)  # of a match that skips all of them there is none
