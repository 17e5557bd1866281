"""`poise solve`: solve for a target and write the pose."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli import goal_options as asked
from poise.cli import output_paths, solve_many, solve_result
from poise.cli.batch_files import (
    ClusterOption,
    FormatOption,
    OverwriteOption,
    ProcessesOption,
    build_batch_options,
    is_batch,
    is_glob,
    reject_batch_options,
    reject_single_file_options,
)
from poise.cli.clips import reject_all_clips, select_clip
from poise.cli.goal_options import GOAL_HELP, GroupedCommand, read_groups
from poise.cli.rig_options import ANGLE_TOLERANCE_HELP, TOLERANCE_HELP, IncludeRoot, load_rig
from poise.cli.target_file import open_target_table
from poise.cli.terminal import say
from poise.errors import InputError
from poise.io.clip_files import ALL_CLIPS
from poise.io.text_parsing import is_number
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.problem.goals import Goal
from poise.solving.solve import solve as run


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
    iterations: Annotated[int | None, typer.Option(min=0, help="maximum iterations; default: the solver's own")] = None,
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
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="write the pose (or the table) here; of many files: the folder")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="write a picture before/after (.png, .svg, .pdf)")] = None,
    suffix: FormatOption = None,
    overwrite: OverwriteOption = False,
    processes: ProcessesOption = None,
    cluster: ClusterOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Bring joints to their targets. Exit code 0: reached, 1: not reached, 2: misuse or a bad file."""
    goal_options = asked.GoalOptions(joint, root, to, rotation, direction, axis, look_at, pole, near, goal or ())
    other_goals = read_groups(context)
    if targets is not None:
        _check_target_options(goal_options, other_goals, plot=plot, prefer=prefer, single_pose=not every_frame)
    if every_frame and (time is not None or plot is not None):
        raise InputError("--every-frame solves a whole clip: --time and --plot are for one pose")
    output_paths.check_not_an_input({"--targets": targets}, {"--out": out, "--plot": plot})
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
    solver_choice, flags = (solver, tuple(option or ()), natural), tuple(solver_flags.items())
    job = solve_many.SolveClipJob(
        goal_options,
        tuple(other_goals),
        clip,
        limits,
        no_limits,
        solver_choice,
        flags,
        tuple(solve_options.items()),
        include_root,
    )
    if is_batch(files, out if every_frame else None) or suffix is not None:
        from poise.cli.batch_run import run_batch as run_library  # noqa: PLC0415  (needed for a batch only)

        _check_file_words(files)
        if not every_frame:
            raise InputError("poise solve with many files needs --every-frame: it solves their clips")
        reject_single_file_options("solve", targets=targets)
        batch = build_batch_options(out, suffix, overwrite=overwrite, processes=processes, cluster=cluster)
        raise typer.Exit(run_library("solve", files, batch, job, as_json=as_json, each_clip=clip == ALL_CLIPS))
    reject_batch_options("solve", overwrite=overwrite, processes=processes, cluster=cluster)
    rig = load_rig(files[0], limits, no_limits=no_limits, include_root=include_root)
    if clip == ALL_CLIPS:
        raise typer.Exit(job.solve_all(rig, out, as_json=as_json))
    chosen_clip = select_clip(rig, clip) if every_frame or clip is not None else None
    start = _select_start(rig, chosen_clip, time, from_pose)
    rows = None if targets is None else open_target_table(targets, joint or "", root)
    goals = asked.build_goals(goal_options, other_goals, start, main=rows is None)
    all_goals = goals if rows is None else (rows.goal, *goals)
    chosen_solver = asked.make_solver(
        solver, start, all_goals, prefer.value, option or (), free_root=free_root, natural=natural, **solver_flags
    )
    options = solve_many.SolveOptions(
        chosen_solver, tolerance, angle_tolerance, free_root, prefer.value, seeds, threads
    )
    if every_frame and chosen_clip is not None:
        each = solve_many.build_frame_goals(chosen_clip, rows, goals)
        raise typer.Exit(solve_many.solve_clip(rig, chosen_clip, each, out, options, as_json=as_json))
    if rows is not None:
        raise typer.Exit(solve_many.solve_table(start, rows, out, options, as_json=as_json))
    raise typer.Exit(_solve_pose(rig, start, goals, options, out, plot, as_json=as_json))


def _solve_pose(
    rig: Rig,
    start: Pose,
    goals: tuple[Goal, ...],
    options: solve_many.SolveOptions,
    out: Path | None,
    plot: Path | None,
    *,
    as_json: bool,
) -> int:
    """Solve one pose, write and print the results. Return the exit code."""
    if out is not None:
        output_paths.check_pose_path(out, rig.path)
    if plot is not None:
        output_paths.check_picture_path(plot)
    result = run(start, goals, **options._asdict(), trace=plot is not None)
    written: list[str] = []
    if out is not None:
        output_paths.save_with_note(result.pose, out, rig)
        written.append(str(out))
    if plot is not None and solve_result.draw_result(plot, start, result):
        written.append(str(plot))
    solve_result.print_result(
        result, options.prefer, as_json=as_json
    )  # last: nothing may fail after the result is printed
    if written and not as_json:
        say(f"written: {', '.join(written)}")
    return 0 if result.reached else 1


def _select_start(rig: Rig, clip: Clip | None, time: float | None, pose_name: str | None) -> Pose:
    """Return the start pose. It is a clip's at a time, a named pose, or the file's own."""
    if clip is None:
        return rig.pose if pose_name is None else rig.named_pose(pose_name)
    first, last = clip.times[[0, -1]] if len(clip.times) else (0.0, 0.0)
    # The range begins at 0, the default of --time; a rounded time may be half a frame beyond the last key.
    if time is not None and not min(first, 0.0) <= time <= last + (0.5 / clip.fps if clip.fps else 0.0):
        raise InputError(f"--time {time:g}: the clip {clip.name!r} goes from {first:g} to {last:g} s")
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
    words = [
        str(file)
        for file in files[1:]
        if not ((file.suffix and not is_number(str(file))) or file.exists() or is_glob(file))
    ]
    if words:
        raise InputError(
            f"{words[0]!r} is no file: the joint and its target are options, poise solve FILE --joint JOINT --to X Y Z"
        )


def _check_target_options(
    goal_options: asked.GoalOptions,
    other_goals: list[asked.GoalOptions],
    *,
    plot: Path | None,
    prefer: SolutionPreference,
    single_pose: bool,
) -> None:
    """Reject options without effect beside --targets."""
    if other_goals and single_pose:
        raise InputError("--targets solves for one --joint; others go with --to, or with --every-frame")
    if goal_options.joint is None:
        raise InputError("--targets needs --joint JOINT: the rows are that joint's targets")
    if goal_options.to is not None or goal_options.rotation is not None:
        raise InputError(
            "give one target with --to X Y Z and --rotation W X Y Z, or many with --targets FILE, not both"
        )
    if single_pose and (
        goal_options.direction or goal_options.look_at or goal_options.pole or goal_options.near or goal_options.words
    ):
        raise InputError("--targets solves for one goal: other goals go with --to, or with --every-frame")
    if plot is not None:
        raise InputError("--plot draws one pose: give it with --to, not with --targets")
    if prefer == SolutionPreference.ALL:
        raise InputError("--prefer all lists the solutions of one target: give it with --to, not with --targets")


Command = GroupedCommand
