"""Solves for a table of targets, or for every frame of a clip.

Targets are read, solved and written in chunks: memory does not grow with their number. Output after Ctrl-C:

standard output   the rows printed so far (as JSON: a document without its end)
a file            the rows so far, in FILE.part; FILE itself is created when the table is complete
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from poise import solvers
from poise.cli import goal_options as asked
from poise.cli import output_paths
from poise.cli import target_file as reading
from poise.cli.batch_files import ResultRow
from poise.cli.clips import find_free_names, list_output_paths, save_clips, select_clip
from poise.cli.output_paths import check_table_path
from poise.cli.progress import show_progress
from poise.cli.rig_options import apply_limits
from poise.cli.solve_result import build_header, find_max_error, write_csv, write_csv_rows, write_json_rows, write_npy
from poise.cli.target_file import TargetTable
from poise.cli.terminal import say
from poise.errors import InputError
from poise.io.clip_files import ALL_CLIPS
from poise.io.registry import load
from poise.maths.arrays import Ints
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton
from poise.problem.goals import Goal, Near
from poise.solvers.base.interface import Prefer, Status
from poise.solving.bake import Baked, bake
from poise.solving.result import Result
from poise.solving.solve import Prepared, prepare


class SolveOptions(NamedTuple):
    """Arguments of solve() besides start and goal."""

    solver: solvers.Solver
    tolerance: float | None
    angle_tolerance: float | None
    free_root: bool
    prefer: Prefer
    seeds: int | None
    threads: int | None


def solve_table(start: Pose, targets: TargetTable, out: Path | None, options: SolveOptions, *, as_json: bool) -> int:
    """Solve every row and write the result table.

    It goes to `out` (.csv, .npy of q) or standard output; return the exit code.
    """
    if out is not None:
        check_table_path(out)
    prepared = prepare(start, targets.goal, **options._asdict())  # misuse is reported here, before any row
    reached = _write_results(_SolvedChunks(prepared, targets), out, start.skeleton, as_json=as_json)
    if out is not None:
        summary: Any = {"targets": targets.count, "reached": reached, "out": str(out)}
        say(json.dumps(summary) if as_json else f"{reached} of {targets.count} reached; table in {out}")
    return 0 if reached == targets.count else 1


class _SolvedChunks:
    """Iterator of solved chunks. It counts the reached targets."""

    def __init__(self, prepared: Prepared, targets: TargetTable) -> None:
        self.prepared = prepared
        self.targets = targets
        self.reached = 0

    def __iter__(self) -> Iterator[Result]:
        with show_progress("solving", self.targets.count, rate=True) as advance:
            for result in self.prepared.stream(self.targets, chunk=reading.CHUNK):
                self.reached += int(np.sum(result.reached))
                yield result
                advance(len(result), "")


def _write_results(solved: _SolvedChunks, out: Path | None, skeleton: Skeleton, *, as_json: bool) -> int:
    if out is not None and out.suffix.lower() == ".npy":
        write_npy(solved, out, solved.targets.count, skeleton.nq)
        return solved.reached
    header = build_header(skeleton, solved.targets.goal.measures)
    if out is not None:
        write_csv(solved, out, header)
    else:
        print_rows = write_json_rows if as_json else write_csv_rows
        print_rows(solved, typer.get_text_stream("stdout"), header)
    return solved.reached


# --- `poise solve --every-frame`: solve every frame of a clip --------------------------------------------------------
#
# Each frame starts from its own pose; the solved clip is written.


def build_frame_goals(clip: Clip, rows: TargetTable | None, goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """Build the per-frame goals. The rows of a table are the targets of the first goal, one for each frame.

    A Near goal refers to each frame's own pose.
    """
    goals = tuple(
        Near(clip.poses, joints=goal.joints, weight=goal.weight) if isinstance(goal, Near) else goal for goal in goals
    )
    if rows is None:
        return goals
    if rows.count != len(clip):
        raise InputError(
            f"the clip {clip.name!r} has {len(clip)} frames, the table {rows.count} targets: give one each"
        )
    return (rows.goal.with_target(np.concatenate(list(rows))), *goals)


def solve_clip(
    rig: Rig, clip: Clip, goals: tuple[Goal, ...], out: Path | None, options: SolveOptions, *, as_json: bool
) -> int:
    """Solve a clip, write it and print a summary. Return the exit code."""
    if out is not None:
        output_paths.check_pose_path(out, rig.path)
    bake_options = _build_bake_options(options)
    with show_progress("solving", len(clip), rate=True) as advance:
        baked = bake(clip, goals, **bake_options, progress=lambda done: advance(done, ""))
    (name,) = find_free_names([baked.name], out, rig)
    baked = replace(baked, name=name)
    if out is not None:
        output_paths.save_with_note(build_clip(baked), out, rig)
    if as_json:
        typer.echo(json.dumps(build_json(baked, out), indent=1, allow_nan=False))
    else:
        _print_summary(baked)
        if out is not None:
            say(f"clip {baked.name!r} in {out}")
    return 0 if bool(np.all(baked.result.reached)) else 1


def _build_bake_options(options: SolveOptions) -> dict[str, Any]:
    """Build the arguments of bake()."""
    bake_options = options._asdict()
    if bake_options.pop("prefer") != "first" or bake_options.pop("seeds") is not None:
        raise InputError("--every-frame takes the first pose found in each frame; --prefer and --seeds go without it")
    return bake_options


@dataclass(frozen=True)
class SolveClipJob:
    """Job for one clip, solved frame by frame. The fields are the options as typed."""

    goal_options: asked.GoalOptions
    other_goal_options: tuple[asked.GoalOptions, ...]
    clip: str | None
    limits: Path | None
    no_limits: bool
    solver: tuple[str, tuple[str, ...], bool | None]
    solver_flags: tuple[tuple[str, Any], ...]
    solve_options: tuple[tuple[str, Any], ...]  # SolveOptions without the solver
    include_root: Path | None = None

    def warm(self, file: Path) -> None:
        """Solve two frames to compile the kernels."""
        clip = self._select_clips(self._load_rig(file))[0]
        self._bake_clip(Clip(clip.times[:2], clip.poses[:2], clip.name))

    def _load_rig(self, file: Path) -> Rig:
        return apply_limits(load(file, include_root=self.include_root), self.limits, no_limits=self.no_limits)

    def _select_clips(self, rig: Rig) -> tuple[Clip, ...]:
        """Return the selected clips: one, or all."""
        if self.clip == ALL_CLIPS and rig.clips:
            return rig.clips
        return (select_clip(rig, None if self.clip == ALL_CLIPS else self.clip),)

    def solve_all(self, rig: Rig, out: Path | None, *, as_json: bool) -> int:
        """Solve every clip of a file, write and report each. Return the exit code."""
        clips = self._select_clips(rig)
        if out is not None:
            output_paths.check_pose_path(out, rig.path)
        files = [None] * len(clips) if out is None else list_output_paths(out, clips)
        baked: list[Baked] = []
        with show_progress("solving", sum(map(len, clips)), rate=True) as advance:
            for clip in clips:
                baked.append(self._bake_clip(clip))
                advance(len(clip), clip.name)
        names = find_free_names([clip.name for clip in clips], out, rig)
        baked = [replace(clip, name=name) for clip, name in zip(baked, names, strict=True)]
        save_clips([(build_clip(clip), file) for clip, file in zip(baked, files, strict=True) if file is not None], rig)
        if as_json:
            documents = [build_json(clip, file) for clip, file in zip(baked, files, strict=True)]
            typer.echo(json.dumps({"clips": documents}, indent=1, allow_nan=False))
        else:
            for clip, file in zip(baked, files, strict=True):
                say(f"{clip.name!r}:" if file is None else f"{clip.name!r} in {file}:")
                _print_summary(clip)
        return 0 if all(bool(np.all(clip.result.reached)) for clip in baked) else 1

    def _bake_clip(self, clip: Clip) -> Baked:
        start = clip.at(0.0)
        goals = asked.build_goals(self.goal_options, self.other_goal_options, start, main=True)
        name, options, natural = self.solver
        solve_options = dict(self.solve_options)
        solver = asked.make_solver(
            name, start, goals, solve_options["prefer"], options, free_root=solve_options["free_root"], natural=natural,
            **dict(self.solver_flags),
        )  # fmt: skip
        return bake(
            clip, build_frame_goals(clip, None, goals), **_build_bake_options(SolveOptions(solver, **solve_options))
        )

    def __call__(self, file: Path, out: Path) -> ResultRow:
        """Solve a file's clips and return its row of the table."""
        rig = self._load_rig(file)
        clips = self._select_clips(rig)
        baked = [self._bake_clip(clip) for clip in clips]
        files = list_output_paths(out, clips) if self.clip == ALL_CLIPS else [out]
        save_clips([(build_clip(clip), new) for clip, new in zip(baked, files, strict=True)], rig)
        missed = [_find_missed_frames(clip) for clip in baked]
        count = sum(map(len, missed))
        messages = [
            solved.result.message(int(frames[0])) for solved, frames in zip(baked, missed, strict=True) if len(frames)
        ]
        errors = {
            name: max((e for e in map(find_max_error, error_arrays) if e is not None), default=None)
            for name, error_arrays in (
                ("position_error", [solved.result.position_errors for solved in baked]),
                ("angle_error", [solved.result.angle_errors for solved in baked]),
            )
        }
        return {
            "status": "missed" if count else "ok", "frames": sum(map(len, baked)), "missed": count, **errors,
            "solver": baked[0].result.solver, "files": list(dict.fromkeys(map(str, files))),
            "message": "; ".join(messages),
        }  # fmt: skip


def build_clip(baked: Baked) -> Clip:
    """Build the clip to write."""
    return Clip(baked.times, baked.poses, baked.name)


def build_json(baked: Baked, out: Path | None) -> dict[str, Any]:
    """Build the JSON document of a solved clip."""
    result, missed = baked.result, _find_missed_frames(baked)
    return {
        "clip": baked.name, "frames": len(baked), "reached": len(baked) - len(missed), "solver": result.solver,
        "worst_position_error": find_max_error(result.position_errors),
        "worst_angle_error": find_max_error(result.angle_errors),
        "missed": [{"frame": i, "status": str(Status(int(result.codes[i])))} for i in missed.tolist()],
        "seconds": result.seconds, "out": None if out is None else str(out),
    }  # fmt: skip


def _find_missed_frames(baked: Baked) -> Ints:
    """Find the frames with missed targets."""
    return np.flatnonzero(~np.asarray(baked.result.reached))


def _print_summary(baked: Baked) -> None:
    """Print the reached count and the first missed frames."""
    result, missed = baked.result, _find_missed_frames(baked)
    say(f"{len(baked) - len(missed)} of {len(baked)} frames reached ({result.solver})")
    for i in missed[:3].tolist():
        say(f"frame {i}, {baked.times[i]:.3f} s: {result.message(i)}")
    if len(missed) > 3:  # noqa: PLR2004
        say(f"and {len(missed) - 3} more")
