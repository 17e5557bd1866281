"""Result of one solve: text, JSON or picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer

from poise.cli.given.goals import word_of
from poise.cli.terminal import say
from poise.errors import UnsupportedError
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem.goals import Goal, Near, Orientation, Place, Position, is_of_joint, is_optional
from poise.solvers.base.contract import Prefer
from poise.solving.result import Result


def show(result: Result, prefer: Prefer, *, as_json: bool) -> None:
    """Print the result as a sentence or as JSON."""
    if as_json:
        typer.echo(json.dumps(as_object(result, prefer), indent=1, allow_nan=False))
        return
    if result.moved_inside:
        say(f"start outside its limits, moved inside first: {', '.join(result.moved_inside)}")
    say(*str(result).split("\n"))
    count = len(_solutions(result))
    if count:
        say(f"{count} distinct solution{'s' * (count > 1)}; this is the one nearest to the start")


def as_object(result: Result, prefer: Prefer) -> dict[str, Any]:
    """Build the JSON document of a result.

    Values without a goal are null. `goal` to `rotation` are of the first goal.
    """
    pose, goal = result.pose, _first(result)
    position, rotation = _asked(goal)
    at = pose.world[goal.joint] if is_of_joint(goal) else None
    return {
        "status": str(result.status),
        "reached": bool(result.reached),
        "message": result.message(),
        "goal": word_of(type(goal)),
        "prefer": prefer,
        "position_error": largest(result.position_errors),
        "angle_error": largest(result.angle_errors),
        "tolerance": result.tolerance,
        "angle_tolerance": result.angle_tolerance,
        "cost": float(np.asarray(result.cost)),
        "iterations": int(result.iterations),
        "microseconds": result.seconds * 1e6,
        "solver": result.solver,
        "natural": result.natural,
        "joint": goal.joint if is_of_joint(goal) else None,
        "target": None if position is None else position.tolist(),
        "target_rotation": None if rotation is None else rotation.tolist(),
        "position": None if at is None else at.positions.tolist(),
        "rotation": None if at is None else at.rotations.tolist(),
        "goals": [_goal(result, i) for i in range(len(result.goals))],
        "moved_inside": list(result.moved_inside),
        "open_loops": [loop._asdict() for loop in result.open_loops()],
        "joints": _values(pose, result.joints),
        "solutions": [_values(solution, result.joints) for solution in _solutions(result)],
        "local": {name: r.tolist() for name, r in zip(pose.skeleton.names, pose.local_rotations, strict=True)},
    }


def _first(result: Result) -> Goal:
    """Return the first goal of a joint. Without one, return the first goal other than Near."""
    asked = [goal for goal in result.goals if not isinstance(goal, Near)]
    return next(filter(is_of_joint, asked), asked[0])


def _goal(result: Result, i: int) -> dict[str, Any]:
    """Build the JSON document of one goal."""
    goal = result.goals[i]
    return {
        "goal": word_of(type(goal)),
        "joint": goal.joint if is_of_joint(goal) else None,
        "target": goal.rows().tolist() if goal.width else None,
        "weight": goal.weight,
        "optional": is_optional(goal),
        "position_error": _number(result.position_errors[i]),
        "angle_error": _number(result.angle_errors[i]),
    }


def _asked(goal: Goal) -> tuple[Floats | None, Floats | None]:
    """Return the target point and rotation of a goal."""
    if isinstance(goal, Position):
        return goal.target, None
    if isinstance(goal, Orientation):
        return None, goal.rotation
    return (goal.position, goal.rotation) if isinstance(goal, Place) else (None, None)


def largest(errors: Floats) -> float | None:
    """Return the largest error, or None if all are NaN."""
    asked = errors[~np.isnan(errors)]
    return float(asked.max()) if len(asked) else None


def _number(error: np.floating[Any]) -> float | None:
    return None if np.isnan(error) else float(error)


def _solutions(result: Result) -> list[Pose]:
    return [] if result.solutions_q is None else [result.solutions[i] for i in range(len(result.solutions_q))]


def _values(pose: Pose, joints: tuple[str, ...]) -> dict[str, float | list[float]]:
    return {name: joint_value(pose, name) for name in joints}


def joint_value(pose: Pose, name: str) -> float | list[float]:
    """Return the value of a joint. It is a number for a hinge or slide (also a coupled one), a list for others."""
    joint = pose.skeleton[name]
    numbers = pose.q[pose.skeleton.q_slice(name)]
    if joint.kind in (Kind.HINGE, Kind.SLIDE):
        ratio, offset = pose.skeleton.coupling_rows[joint.row]
        return float(ratio * numbers[0] + offset)
    return numbers.tolist()


def draw(path: Path, start: Pose, result: Result) -> bool:
    """Draw the picture and return whether it was written. Without matplotlib a note says how to install it."""
    from poise import plot  # noqa: PLC0415  (needed for a picture only)

    try:
        plot.draw_solve(path, start, result, target=_asked(_first(result))[0])
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)
        return False
    return True
