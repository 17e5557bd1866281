"""The answer to one solve, for people, for programs and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer

from poise.arrays import Floats
from poise.errors import UnsupportedError
from poise.goals import Orientation, Place, Position
from poise.pose import Pose
from poise.request import Prefer
from poise.result import Result
from poise.skeleton import Kind
from poise.status import Status

Aim = Position | Orientation | Place


def show(result: Result, goal: Aim, prefer: Prefer, *, as_json: bool) -> None:
    """Print the answer: a sentence, or one JSON object."""
    if as_json:
        typer.echo(json.dumps(as_object(result, goal, prefer), indent=1, allow_nan=False))
        return
    if result.moved_inside:
        typer.echo(f"start outside its limits, moved inside first: {', '.join(result.moved_inside)}")
    typer.echo(str(result))
    count = len(_solutions(result))
    if count:
        typer.echo(f"{count} distinct solution{'s' * (count > 1)}; this is the one nearest to the start")


def as_object(result: Result, goal: Aim, prefer: Prefer) -> dict[str, Any]:
    """One result, for JSON; what the goal does not ask for is null."""
    pose = result.pose
    position, rotation = _asked(goal)
    at = pose.world[goal.joint]
    return {
        "status": str(result.status),
        "reached": bool(result.reached),
        "message": result.message(),
        "goal": type(goal).__name__.lower(),
        "prefer": prefer,
        "position_error": _number(result.position_errors[0]),
        "angle_error": _number(result.angle_errors[0]),
        "tolerance": result.tolerance,
        "angle_tolerance": result.angle_tolerance,
        "cost": float(np.asarray(result.cost)),
        "iterations": int(result.iterations),
        "microseconds": result.seconds * 1e6,
        "solver": result.solver,
        "joint": goal.joint,
        "target": None if position is None else position.tolist(),
        "target_rotation": None if rotation is None else rotation.tolist(),
        "position": at.positions.tolist(),
        "rotation": at.rotations.tolist(),
        "moved_inside": list(result.moved_inside),
        "joints": _values(pose, result.joints),
        "solutions": [_values(solution, result.joints) for solution in _solutions(result)],
        "local": {name: r.tolist() for name, r in zip(pose.skeleton.names, pose.local_rotations, strict=True)},
    }


def _asked(goal: Aim) -> tuple[Floats | None, Floats | None]:
    """The point and the rotation that are wanted."""
    if isinstance(goal, Position):
        return goal.target, None
    if isinstance(goal, Orientation):
        return None, goal.rotation
    return goal.position, goal.rotation


def _number(error: np.floating[Any]) -> float | None:
    """An error, or None where there is none of its kind."""
    return None if np.isnan(error) else float(error)


def _solutions(result: Result) -> list[Pose]:
    return [] if result.solutions_q is None else [result.solutions[i] for i in range(len(result.solutions_q))]


def _values(pose: Pose, joints: tuple[str, ...]) -> dict[str, float | list[float]]:
    return {name: joint_value(pose, name) for name in joints}


def joint_value(pose: Pose, name: str) -> float | list[float]:
    """A joint's own value: a number for a hinge or slide (also a coupled one), a list for others."""
    joint = pose.skeleton[name]
    numbers = pose.q[pose.skeleton.q_slice(name)]
    if joint.kind in (Kind.HINGE, Kind.SLIDE):
        ratio, offset = pose.skeleton.coupling_rows[joint.row]
        return float(ratio * numbers[0] + offset)
    return numbers.tolist()


def draw(path: Path, start: Pose, result: Result, goal: Aim) -> None:
    """Draw the picture; without matplotlib the command still finishes and says how to get it."""
    from poise import plot  # noqa: PLC0415  (only when a picture is asked for)

    title = str(Status(int(result.codes))).replace("_", " ")
    chain = [*result.joints, goal.joint]
    try:
        plot.draw_poses(path, [("start", start), (title, result.pose)], target=_asked(goal)[0], chain=chain)
    except UnsupportedError as error:
        typer.echo(f"no picture: {error}", err=True)
