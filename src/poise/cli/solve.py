"""`poise solve`: bring a joint of a rig to a target and write the pose."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from poise import solvers
from poise.cli import many, outputs
from poise.errors import InputError, UnsupportedError
from poise.goals import Position
from poise.pose import Pose
from poise.result import Result
from poise.rig import Rig, load, save
from poise.sidecar import apply_sidecar
from poise.skeleton import Kind
from poise.solve import solve as run
from poise.status import Status


class Order(StrEnum):
    """Sweep orders of ccd."""

    TIP_FIRST = "tip-first"
    BASE_FIRST = "base-first"


class Hinge(StrEnum):
    """Hinge methods of ccd."""

    EXACT = "exact"
    PROJECT = "project"


def solve(
    file: Annotated[Path, typer.Argument(help="a glTF, GLB, VRM, BVH or URDF file")],
    *,
    joint: Annotated[str, typer.Option("--joint", help="the joint or link to bring to the target (TIP)")],
    root: Annotated[str | None, typer.Option(help="first joint that may move; default: the limb's own")] = None,
    to: Annotated[
        tuple[float, float, float] | None, typer.Option("--to", metavar="X Y Z", help="target, world, file units")
    ] = None,
    targets: Annotated[Path | None, typer.Option(help="many targets: .csv with columns x y z, or .npy (k, 3)")] = None,
    from_clip: Annotated[str | None, typer.Option("--from-clip", help="start from a clip's pose")] = None,
    time: Annotated[float | None, typer.Option(help="time in that clip [s]; default: 0")] = None,
    solver: Annotated[str, typer.Option(help="auto or a solver's name")] = "auto",
    iterations: Annotated[int | None, typer.Option(min=0, help="most iterations")] = None,
    tolerance: Annotated[float | None, typer.Option(help="largest distance that counts as reached")] = None,
    limits: Annotated[Path | None, typer.Option(help="a sidecar file (.ik.toml) with hinges and ranges")] = None,
    no_limits: Annotated[bool, typer.Option("--no-limits", help="ignore every limit")] = False,
    free_root: Annotated[bool, typer.Option("--free-root", help="let the free root joint move too")] = False,
    order: Annotated[Order | None, typer.Option(help="ccd: sweep order")] = None,
    hinge: Annotated[Hinge | None, typer.Option(help="ccd: hinge method")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="write the pose (or the table) here")] = None,
    plot: Annotated[Path | None, typer.Option(help="write a picture before/after (.png, .svg, .pdf)")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Bring a joint to a target. Exit code 0: reached, 1: not reached, 2: misuse or a bad file."""
    _refuse_contradictions(to, targets, from_clip, time, plot)
    rig = load(file)
    _note(rig)
    rig = _limited(rig, limits, no_limits=no_limits)
    start = rig.clip(from_clip).at(time or 0.0) if from_clip is not None else rig.pose
    chosen = _solver(solver, iterations=iterations, order=order, hinge=hinge)
    if targets is not None:
        options = many.Options(joint, root, chosen, tolerance, free_root)
        raise typer.Exit(many.solve_table(start, targets, out, options, as_json=as_json))
    assert to is not None
    if out is not None:
        outputs.check_pose_file(out)
    if plot is not None:
        outputs.check_picture(plot)
    goal = Position(joint, to, root=root)
    run(start, goal, solver=chosen, tolerance=tolerance, free_root=free_root)  # loads the compiled kernels: not timed
    result = run(start, goal, solver=chosen, tolerance=tolerance, free_root=free_root)
    if out is not None:
        save(result.pose, out, like=rig)
    if plot is not None:
        _draw(plot, start, result, goal)
    _print(result, goal, as_json=as_json)  # last: after a printed result nothing can fail
    raise typer.Exit(0 if result.reached else 1)


def _refuse_contradictions(
    to: tuple[float, float, float] | None,
    targets: Path | None,
    from_clip: str | None,
    time: float | None,
    plot: Path | None,
) -> None:
    """Refuse options that would be ignored."""
    if to is None and targets is None:
        raise InputError("give a target with --to X Y Z, or many with --targets FILE")
    if to is not None and targets is not None:
        raise InputError("give one target with --to X Y Z or many with --targets FILE, not both")
    if targets is not None and plot is not None:
        raise InputError("--plot draws one pose: give it with --to, not with --targets")
    if time is not None and from_clip is None:
        raise InputError("--time needs --from-clip: it is the time in that clip")


def _note(rig: Rig) -> None:
    for note in rig.notes:
        typer.echo(f"note: {note}", err=True)


def _limited(rig: Rig, limits: Path | None, *, no_limits: bool) -> Rig:
    if no_limits and limits is not None:
        raise InputError("give --limits FILE or --no-limits, not both")
    s = rig.skeleton
    if no_limits:
        return rig.with_skeleton(
            s.limited({name: None for name, limit in zip(s.names, s.limits, strict=True) if limit})
        )
    return rig if limits is None else rig.with_skeleton(apply_sidecar(s, limits))


def _solver(name: str, **options: Any) -> solvers.Solver:
    """Make a solver from the options that were given on the command line."""
    given = {
        key: value.value if isinstance(value, StrEnum) else value for key, value in options.items() if value is not None
    }
    return solvers.named("ccd" if name == "auto" else name, **given)


def _print(result: Result, goal: Position, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(as_object(result, goal), indent=1, allow_nan=False))
        return
    if result.moved_inside:
        typer.echo(f"start outside its limits, moved inside first: {', '.join(result.moved_inside)}")
    typer.echo(str(result))


def as_object(result: Result, goal: Position) -> dict[str, Any]:
    """One result, for JSON."""
    pose = result.pose
    s = pose.skeleton
    return {
        "status": str(result.status),
        "reached": result.reached,
        "message": result.message(),
        "position_error": float(result.errors[0]),
        "tolerance": result.tolerance,
        "iterations": int(result.iterations),
        "microseconds": result.seconds * 1e6,
        "solver": result.solver,
        "joint": goal.joint,
        "target": goal.target.tolist(),
        "position": pose.world[goal.joint].positions.tolist(),
        "moved_inside": list(result.moved_inside),
        "joints": {name: joint_value(pose, name) for name in result.joints},
        "local": {name: r.tolist() for name, r in zip(s.names, pose.local_rotations, strict=True)},
    }


def joint_value(pose: Pose, name: str) -> float | list[float]:
    """A joint's own value: a number for a hinge or slide (also a coupled one), a list for others."""
    joint = pose.skeleton[name]
    numbers = pose.q[pose.skeleton.q_slice(name)]
    if joint.kind in (Kind.HINGE, Kind.SLIDE):
        ratio, offset = pose.skeleton.coupling_rows[joint.row]
        return float(ratio * numbers[0] + offset)
    return numbers.tolist()


def _draw(path: Path, start: Pose, result: Result, goal: Position) -> None:
    """Draw the picture; without matplotlib the command still finishes and says how to get it."""
    from poise import plot  # noqa: PLC0415  (only when a picture is asked for)

    title = str(Status(int(result.codes))).replace("_", " ")
    chain = [*result.joints, goal.joint]
    try:
        plot.draw_poses(path, [("start", start), (title, result.pose)], target=goal.target, chain=chain)
    except UnsupportedError as error:
        typer.echo(f"no picture: {error}", err=True)
