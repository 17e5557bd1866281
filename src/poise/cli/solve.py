"""`poise solve`: solve for a target and write the pose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from poise import solvers
from poise.calls.progress import show_progress_bar
from poise.cli import batch_files, solve_output, target_file
from poise.cli.goal_options import GOAL_HELP, GoalOptions, build_goals
from poise.cli.input_output_files import (
    IncludeRoot,
    apply_limits,
    check_overwrites_no_input,
    check_picture_path,
    check_pose_path,
    check_table_path,
    find_free_names,
    list_output_paths,
    load_rig,
    reject_all_clips,
    save_clips,
    save_with_note,
    select_clip,
)
from poise.cli.joint_option_groups import GroupedCommand, read_later_groups
from poise.cli.solve_output import build_header, find_max_error, write_csv, write_csv_rows, write_json_rows, write_npy
from poise.cli.solver_options import ANGLE_TOLERANCE_HELP, TOLERANCE_HELP, make_solver
from poise.cli.target_file import TargetTable, open_target_table
from poise.cli.terminal import say
from poise.errors import InputError, PoiseError
from poise.io.json_units import build_units
from poise.io.registry import ALL_CLIPS, load
from poise.io.text_parsing import is_number
from poise.maths.arrays import Ints
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton
from poise.problem.goals import Goal, Near
from poise.solvers.base.interface import Prefer, Status
from poise.solvers.natural.floor import FloorTerrain
from poise.solving.bake import Baked, bake
from poise.solving.result import Result
from poise.solving.solve import Prepared, prepare
from poise.solving.solve import solve as solve_goals

# --- Solves for a table of targets, or for every frame of a clip -----------------------------------------------------
#
# Targets are read, solved and written in chunks: memory does not grow with their number. Output after Ctrl-C:
#
# standard output   the rows printed so far (as JSON: a document without its end)
# a file            the rows so far, in FILE.part; FILE itself is created when the table is complete


class SolveOptions(NamedTuple):
    """Arguments of solve() besides start and goal."""

    solver: solvers.Solver
    tolerance: float | None
    angle_tolerance: float | None
    free_root: bool
    prefer: Prefer
    seeds: int | None
    threads: int | None


def solve_table(
    start: Pose, target_table: TargetTable, out: Path | None, options: SolveOptions, *, as_json: bool
) -> int:
    """Solve every row and write the result table.

    It goes to `out` (.csv, .npy of q) or standard output; return the exit code.
    """
    if out is not None:
        check_table_path(out)
    prepared = prepare(start, target_table.goal, **options._asdict())  # misuse is reported here, before any row
    reached_count = _write_results(_SolvedChunks(prepared, target_table), out, start.skeleton, as_json=as_json)
    if out is not None:
        summary: Any = {"targets": target_table.row_count, "reached": reached_count, "out": str(out)}
        say(json.dumps(summary) if as_json else f"{reached_count} of {target_table.row_count} reached; table in {out}")
    return 0 if reached_count == target_table.row_count else 1


class _SolvedChunks:
    """Iterator of solved chunks. It counts the reached targets."""

    def __init__(self, prepared: Prepared, target_table: TargetTable) -> None:
        self.prepared = prepared
        self.target_table = target_table
        self.reached_count = 0

    def __iter__(self) -> Iterator[Result]:
        with show_progress_bar("solving", self.target_table.row_count, shows_rate=True) as advance:
            for result in self.prepared.stream(self.target_table, chunk=target_file.CHUNK_ROWS):
                self.reached_count += int(np.sum(result.reached))
                yield result
                advance(len(result), "")


def _write_results(chunks: _SolvedChunks, out: Path | None, skeleton: Skeleton, *, as_json: bool) -> int:
    if out is not None and out.suffix.lower() == ".npy":
        write_npy(chunks, out, chunks.target_table.row_count, skeleton.nq)
        return chunks.reached_count
    header = build_header(skeleton, chunks.target_table.goal.measures)
    if out is not None:
        write_csv(chunks, out, header)
    else:
        stream = typer.get_text_stream("stdout")
        if as_json:
            write_json_rows(chunks, stream, header, skeleton.metres_per_unit)
        else:
            write_csv_rows(chunks, stream, header)
    return chunks.reached_count


# --- `poise solve --every-frame`: solve every frame of a clip --------------------------------------------------------
#
# Each frame starts from its own pose; the solved clip is written.


def build_frame_goals(clip: Clip, target_table: TargetTable | None, goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """Build the per-frame goals. The rows of a table are the targets of the first goal, one for each frame.

    A Near goal refers to each frame's own pose.
    """
    goals = tuple(
        Near(clip.poses, joints=goal.joints, weight=goal.weight) if isinstance(goal, Near) else goal for goal in goals
    )
    if target_table is None:
        return goals
    if target_table.row_count != len(clip):
        raise InputError(
            f"the clip {clip.name!r} has {len(clip)} frames, the table {target_table.row_count} targets: give one each"
        )
    return (target_table.goal.with_target(np.concatenate(list(target_table))), *goals)


def solve_clip(
    rig: Rig, clip: Clip, goals: tuple[Goal, ...], out: Path | None, options: SolveOptions, *, as_json: bool
) -> int:
    """Solve a clip, write it and print a summary. Return the exit code."""
    if out is not None:
        check_pose_path(out, rig.path)
    bake_arguments = _build_bake_options(options)
    baked = bake(clip, goals, **bake_arguments, progress=True)
    (name,) = find_free_names([baked.name], out, rig)
    baked = replace(baked, name=name)
    if out is not None:
        save_with_note(build_clip(baked), out, rig)
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

    goal_options: GoalOptions
    later_goal_options: tuple[GoalOptions, ...]
    clip: str | None
    limits: Path | None
    no_limits: bool
    solver_choice: tuple[str, tuple[str, ...], bool | None, float | str | FloorTerrain | None]
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
            check_pose_path(out, rig.path)
        output_paths = [None] * len(clips) if out is None else list_output_paths(out, clips)
        baked: list[Baked] = []
        with show_progress_bar("solving", sum(map(len, clips)), shows_rate=True) as advance:
            for clip in clips:
                baked.append(self._bake_clip(clip))
                advance(len(clip), clip.name)
        names = find_free_names([clip.name for clip in clips], out, rig)
        baked = [replace(clip, name=name) for clip, name in zip(baked, names, strict=True)]
        save_clips(
            [
                (build_clip(clip), output_path)
                for clip, output_path in zip(baked, output_paths, strict=True)
                if output_path is not None
            ],
            rig,
        )
        if as_json:
            documents = [build_json(clip, output_path) for clip, output_path in zip(baked, output_paths, strict=True)]
            typer.echo(json.dumps({"clips": documents}, indent=1, allow_nan=False))
        else:
            for clip, output_path in zip(baked, output_paths, strict=True):
                say(f"{clip.name!r}:" if output_path is None else f"{clip.name!r} in {output_path}:")
                _print_summary(clip)
        return 0 if all(bool(np.all(clip.result.reached)) for clip in baked) else 1

    def _bake_clip(self, clip: Clip) -> Baked:
        start = clip.at(0.0)
        goals = build_goals(self.goal_options, self.later_goal_options, start, includes_target=True)
        name, options, natural, floor = self.solver_choice
        solve_options = dict(self.solve_options)
        solver = make_solver(
            name, start, goals, solve_options["prefer"], options, free_root=solve_options["free_root"], natural=natural,
            floor=floor, **dict(self.solver_flags),
        )  # fmt: skip
        return bake(
            clip, build_frame_goals(clip, None, goals), **_build_bake_options(SolveOptions(solver, **solve_options))
        )

    def __call__(self, file: Path, out: Path) -> batch_files.ResultRow:
        """Solve a file's clips and return its row of the table."""
        rig = self._load_rig(file)
        clips = self._select_clips(rig)
        baked = [self._bake_clip(clip) for clip in clips]
        output_paths = list_output_paths(out, clips) if self.clip == ALL_CLIPS else [out]
        save_clips(
            [(build_clip(clip), output_path) for clip, output_path in zip(baked, output_paths, strict=True)], rig
        )
        missed_frames = [_find_missed_frames(clip) for clip in baked]
        missed_count = sum(map(len, missed_frames))
        messages = [
            solved.result.message(int(frames[0]))
            for solved, frames in zip(baked, missed_frames, strict=True)
            if len(frames)
        ]
        max_errors = {
            name: max((error for error in map(find_max_error, error_arrays) if error is not None), default=None)
            for name, error_arrays in (
                ("position_error", [solved.result.position_errors for solved in baked]),
                ("angle_error", [solved.result.angle_errors for solved in baked]),
            )
        }
        return {
            "status": "missed" if missed_count else "ok", "frames": sum(map(len, baked)), "missed": missed_count,
            **max_errors, "solver": baked[0].result.solver, "files": list(dict.fromkeys(map(str, output_paths))),
            "message": "; ".join(messages),
        }  # fmt: skip


def build_clip(baked: Baked) -> Clip:
    """Build the clip to write."""
    return Clip(baked.times, baked.poses, baked.name)


def build_json(baked: Baked, out: Path | None) -> dict[str, Any]:
    """Build the JSON document of a solved clip."""
    result, missed_frames = baked.result, _find_missed_frames(baked)
    return {
        "clip": baked.name, "frames": len(baked), "reached": len(baked) - len(missed_frames), "solver": result.solver,
        "units": build_units(baked.poses.skeleton.metres_per_unit),
        "worst_position_error": find_max_error(result.position_errors),
        "worst_angle_error": find_max_error(result.angle_errors),
        "missed": [{"frame": i, "status": str(Status(int(result.codes[i])))} for i in missed_frames.tolist()],
        "seconds": result.seconds, "out": None if out is None else str(out),
    }  # fmt: skip


def _find_missed_frames(baked: Baked) -> Ints:
    """Find the frames with missed targets."""
    return np.flatnonzero(~np.asarray(baked.result.reached))


def _print_summary(baked: Baked) -> None:
    """Print the reached count and the first missed frames."""
    result, missed_frames = baked.result, _find_missed_frames(baked)
    say(f"{len(baked) - len(missed_frames)} of {len(baked)} frames reached ({result.solver})")
    for i in missed_frames[:3].tolist():
        say(f"frame {i}, {baked.times[i]:.3f} s: {result.message(i)}")
    if len(missed_frames) > 3:  # noqa: PLR2004
        say(f"and {len(missed_frames) - 3} more")


# --- Command ---------------------------------------------------------------------------------------------------------


class SolutionPreference(StrEnum):
    """Preferred one of several solutions."""

    FIRST = "first"
    CLOSEST = "closest"
    ALL = "all"


class SweepOrder(StrEnum):
    """Sweep orders of ccd."""

    TIP_FIRST = "tip-first"
    BASE_FIRST = "base-first"
    WINDOW = "window"


class HingeMethod(StrEnum):
    """Hinge methods of ccd."""

    EXACT = "exact"
    PROJECT = "project"


def solve(  # `Command` below accepts repeated --joint
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="a rig; with --every-frame also many, folders, patterns")
    ],
    *,
    joint: Annotated[
        str | None,
        typer.Option("--joint", metavar="JOINT", help="the joint or link to bring to the target; repeatable"),
    ] = None,
    root: Annotated[
        str | None, typer.Option("--root", metavar="JOINT", help="first joint that may move; default: the limb's own")
    ] = None,
    to: Annotated[
        tuple[float, float, float] | None,
        typer.Option("--to", metavar="X Y Z", help="target position in the world (file units)"),
    ] = None,
    rotation: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(
            "--rotation", metavar="W X Y Z", help="target rotation in the world (quaternion); alone or with --to"
        ),
    ] = None,
    direction: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            "--direction",
            metavar="X Y Z",
            help="direction in the world in which an axis of the joint points; also with --to",
        ),
    ] = None,
    axis: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            "--axis", metavar="X Y Z", help="axis of the joint that --direction or --look-at turns; default: 0 0 1"
        ),
    ] = None,
    look_at: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            "--look-at",
            metavar="X Y Z",
            help="aim the joint at this world point (file units); its ancestors turn as well",
        ),
    ] = None,
    pole: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            "--pole",
            metavar="X Y Z",
            help="with --to: the knee or elbow above the joint points to this point (file units)",
        ),
    ] = None,
    near: Annotated[
        bool, typer.Option("--near", help="stay as near to the start pose, or each frame's own, as other goals allow")
    ] = False,
    goal: Annotated[list[str] | None, typer.Option("--goal", metavar="WORDS", help=GOAL_HELP)] = None,
    targets: Annotated[
        Path | None,
        typer.Option(
            help="many targets: .csv with columns x y z and/or qw qx qy qz, or .npy (k, 3), (k, 4), (k, 7) or matrices"
        ),
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option("--clip", metavar="NAME", help="start from a clip's pose; with --every-frame: the clip, or all"),
    ] = None,
    from_pose: Annotated[
        str | None, typer.Option("--from-pose", help="start from a named pose: a keyframe of MJCF, a state of SRDF")
    ] = None,
    time: Annotated[float | None, typer.Option(help="time in that clip (seconds); default: 0")] = None,
    every_frame: Annotated[
        bool, typer.Option("--every-frame", help="solve each frame of the clip, with --targets a row for each")
    ] = False,
    tolerance: Annotated[float | None, typer.Option(help=TOLERANCE_HELP)] = None,
    angle_tolerance: Annotated[float | None, typer.Option("--angle-tolerance", help=ANGLE_TOLERANCE_HELP)] = None,
    prefer: Annotated[
        SolutionPreference, typer.Option(help="the first pose found, the closest to the start, or all distinct ones")
    ] = SolutionPreference.FIRST,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="starts to try for closest (default: 64) and all (default: 512)")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="number of threads; default: all processors for many targets")
    ] = None,
    solver: Annotated[str, typer.Option(help="auto or a solver's name")] = "auto",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="an option of --solver; `poise solvers NAME` lists them"),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            min=0, help="option `iterations` of the solver: its maximum iterations; default: the solver's own"
        ),
    ] = None,
    restarts: Annotated[
        int | None, typer.Option(min=0, help="number of restarts from other poses; default: the solver's own")
    ] = None,
    damping: Annotated[
        float | None,
        typer.Option(help="levenberg_marquardt: damping of a step, above 0; larger is slower and more stable"),
    ] = None,
    order: Annotated[SweepOrder | None, typer.Option(help="ccd: sweep order")] = None,
    hinge: Annotated[HingeMethod | None, typer.Option(help="ccd: hinge method")] = None,
    limits: Annotated[Path | None, typer.Option(help="a sidecar file (.ik.toml) with limits")] = None,
    no_limits: Annotated[bool, typer.Option("--no-limits", help="ignore every limit")] = False,
    include_root: IncludeRoot = None,
    free_root: Annotated[
        bool,
        typer.Option(
            "--free-root", help="let the root move and rotate as well: the hips of a character, the base of a robot"
        ),
    ] = False,
    natural: Annotated[
        bool | None,
        typer.Option(
            help="prefer human-like poses for characters (knees forward, elbows back); default: with --solver auto"
        ),
    ] = None,
    floor: Annotated[
        str | None,
        typer.Option(
            metavar="HEIGHT|auto|TERRAIN",
            help="floor that knees, feet and hands of a character stay above; auto: under the feet that are pinned; "
            "a terrain as of poise plant, such as slope:10 or hills.png",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="write the pose (or the table) here; of many files: the folder")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="write a picture before/after (.png, .svg, .pdf)")] = None,
    suffix: batch_files.FormatOption = None,
    overwrite: batch_files.OverwriteOption = False,
    processes: batch_files.ProcessesOption = None,
    cluster: batch_files.ClusterOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Bring joints to their targets. Exit code 0: reached, 1: not reached, 2: misuse or a bad file."""
    goal_options = GoalOptions(joint, root, to, rotation, direction, axis, look_at, pole, near, goal or ())
    later_goal_options = read_later_groups(context)
    if targets is not None:
        _check_target_options(
            goal_options, later_goal_options, plot=plot, prefer=prefer, is_single_pose=not every_frame
        )
    if every_frame and (time is not None or plot is not None):
        raise InputError("--every-frame solves a whole clip: --time and --plot are for one pose")
    check_overwrites_no_input({"--out": out, "--plot": plot}, {"--targets": targets})
    if from_pose is not None and (every_frame or clip is not None):
        raise InputError("--from-pose conflicts with the start of --clip and --every-frame: give one")
    _check_seeds(seeds, prefer, every_frame=every_frame)
    if time is not None and clip is None:
        raise InputError("--time needs --clip: it is the time in that clip")
    if not every_frame:
        reject_all_clips(clip, "a pose starts from one clip, and --every-frame solves them all")
    elif targets is not None:
        reject_all_clips(clip, "the rows of --targets are the frames of one clip")
    solver_flags: dict[str, Any] = {
        "iterations": iterations,
        "restarts": restarts,
        "damping": damping,
        "order": order,
        "hinge": hinge,
    }
    solve_options = {
        "tolerance": tolerance, "angle_tolerance": angle_tolerance, "free_root": free_root,
        "prefer": prefer.value, "seeds": seeds, "threads": threads,
    }  # fmt: skip
    ground = _parse_floor(floor)
    solver_choice, flags = (solver, tuple(option or ()), natural, ground), tuple(solver_flags.items())
    job = SolveClipJob(
        goal_options,
        tuple(later_goal_options),
        clip,
        limits,
        no_limits,
        solver_choice,
        flags,
        tuple(solve_options.items()),
        include_root,
    )
    if batch_files.is_batch(files, out if every_frame else None) or suffix is not None:
        from poise.cli.batch_run import run_batch  # noqa: PLC0415  (needed for a batch only)

        _check_file_words(files)
        if not every_frame:
            raise InputError("poise solve with many files needs --every-frame: it solves their clips")
        batch_files.reject_single_file_options("solve", targets=targets)
        batch_options = batch_files.build_batch_options(
            out, suffix, overwrite=overwrite, processes=processes, cluster=cluster
        )
        raise typer.Exit(run_batch("solve", files, batch_options, job, as_json=as_json, splits_clips=clip == ALL_CLIPS))
    batch_files.reject_batch_options("solve", overwrite=overwrite, processes=processes, cluster=cluster)
    rig = load_rig(files[0], limits, no_limits=no_limits, include_root=include_root)
    if clip == ALL_CLIPS:
        raise typer.Exit(job.solve_all(rig, out, as_json=as_json))
    chosen_clip = select_clip(rig, clip) if every_frame or clip is not None else None
    start = _select_start(rig, chosen_clip, time, from_pose)
    target_table = None if targets is None else open_target_table(targets, joint or "", root)
    goals = build_goals(goal_options, later_goal_options, start, includes_target=target_table is None)
    all_goals = goals if target_table is None else (target_table.goal, *goals)
    chosen_solver = make_solver(
        solver, start, all_goals, prefer.value, option or (), free_root=free_root, natural=natural, floor=ground,
        **solver_flags,
    )  # fmt: skip
    options = SolveOptions(chosen_solver, tolerance, angle_tolerance, free_root, prefer.value, seeds, threads)
    if every_frame and chosen_clip is not None:
        frame_goals = build_frame_goals(chosen_clip, target_table, goals)
        raise typer.Exit(solve_clip(rig, chosen_clip, frame_goals, out, options, as_json=as_json))
    if target_table is not None:
        raise typer.Exit(solve_table(start, target_table, out, options, as_json=as_json))
    raise typer.Exit(_solve_pose(rig, start, goals, options, out, plot, as_json=as_json))


def _solve_pose(
    rig: Rig,
    start: Pose,
    goals: tuple[Goal, ...],
    options: SolveOptions,
    out: Path | None,
    plot: Path | None,
    *,
    as_json: bool,
) -> int:
    """Solve one pose, write and print the results. Return the exit code."""
    if out is not None:
        check_pose_path(out, rig.path)
    if plot is not None:
        check_picture_path(plot)
    result = solve_goals(start, goals, **options._asdict(), trace=plot is not None)
    written: list[str] = []
    if out is not None:
        save_with_note(result.pose, out, rig)
        written.append(str(out))
    if plot is not None and solve_output.draw_result(plot, start, result):
        written.append(str(plot))
    # last: nothing may fail after the result is printed
    solve_output.print_result(result, options.prefer, as_json=as_json)
    if written and not as_json:
        say(f"written: {', '.join(written)}")
    return 0 if result.reached else 1


def _parse_floor(text: str | None) -> float | str | FloorTerrain | None:
    """Parse --floor: a height, "auto" or a terrain."""
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        return _parse_terrain_floor(text)


def _parse_terrain_floor(text: str) -> FloorTerrain:
    from poise.ground.terrain.words import terrain_of  # noqa: PLC0415  (only for a floor of this kind)

    try:
        return terrain_of(text)
    except PoiseError as error:
        raise InputError(
            f"--floor is a height along the up axis, auto, or a terrain such as slope:10, not {text!r}: {error}"
        ) from error


def _select_start(rig: Rig, clip: Clip | None, time: float | None, pose_name: str | None) -> Pose:
    """Return the start pose. It is a clip's at a time, a named pose, or the file's own."""
    if clip is None:
        return rig.pose if pose_name is None else rig.named_pose(pose_name)
    clip_start, clip_end = clip.times[[0, -1]] if len(clip.times) else (0.0, 0.0)
    # The range begins at 0, the default of --time; a rounded time may be half a frame beyond the last key.
    if time is not None and not min(clip_start, 0.0) <= time <= clip_end + (0.5 / clip.fps if clip.fps else 0.0):
        raise InputError(f"--time {time:g}: the clip {clip.name!r} goes from {clip_start:g} to {clip_end:g} s")
    return clip.at(0.0 if time is None else time)


def _check_seeds(seeds: int | None, prefer: SolutionPreference, *, every_frame: bool) -> None:
    """Reject --seeds for a single search. --every-frame has its own message for both options."""
    if seeds is not None and prefer == SolutionPreference.FIRST and not every_frame:
        raise InputError(
            "--seeds is how many starts to try for --prefer closest or all, and the default, first, stops when one is "
            f"there: write --prefer closest --seeds {seeds}"
        )


def _check_file_words(files: list[Path]) -> None:
    """Reject words after the file name other than files. Such words are usually a joint or a target."""
    stray_words = [
        str(file)
        for file in files[1:]
        if not ((file.suffix and not is_number(str(file))) or file.exists() or batch_files.is_glob(file))
    ]
    if stray_words:
        raise InputError(
            f"{stray_words[0]!r} is no file: the joint and its target are options, "
            "poise solve FILE --joint JOINT --to X Y Z"
        )


def _check_target_options(
    goal_options: GoalOptions,
    later_goal_options: list[GoalOptions],
    *,
    plot: Path | None,
    prefer: SolutionPreference,
    is_single_pose: bool,
) -> None:
    """Reject options without effect beside --targets."""
    if later_goal_options and is_single_pose:
        raise InputError("--targets solves for one --joint; others go with --to, or with --every-frame")
    if goal_options.joint is None:
        raise InputError("--targets needs --joint JOINT: the rows are that joint's targets")
    if goal_options.to is not None or goal_options.rotation is not None:
        raise InputError(
            "give one target with --to X Y Z and --rotation W X Y Z, or many with --targets FILE, not both"
        )
    if is_single_pose and (
        goal_options.direction
        or goal_options.look_at
        or goal_options.pole
        or goal_options.near
        or goal_options.goal_texts
    ):
        raise InputError("--targets solves for one goal: other goals go with --to, or with --every-frame")
    if plot is not None:
        raise InputError("--plot draws one pose: give it with --to, not with --targets")
    if prefer == SolutionPreference.ALL:
        raise InputError("--prefer all lists the solutions of one target: give it with --to, not with --targets")


Command = GroupedCommand
