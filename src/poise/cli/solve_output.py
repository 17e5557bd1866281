"""Output of solves: text, JSON, pictures, tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

import numpy as np
import typer

from poise.cli.goal_options import format_goal_kind
from poise.cli.limit_json import build_within_json
from poise.cli.terminal import say
from poise.errors import FileError, UnsupportedError, join_names
from poise.io.files import name_part_file, replace_file, resolve_target
from poise.io.joint_value_columns import compute_joint_numbers, list_columns, list_table_columns
from poise.io.json_units import build_units
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goal_ranges import get_reference, get_within
from poise.problem.goals import Goal, Near, Orientation, Place, Position, is_joint_goal, is_optional
from poise.solvers.base.interface import Prefer, Status
from poise.solving.result import Result


def print_result(result: Result, prefer: Prefer, *, as_json: bool) -> None:
    """Print the result as a sentence or as JSON."""
    if as_json:
        typer.echo(json.dumps(build_json(result, prefer), indent=1, allow_nan=False))
        return
    if result.moved_inside:
        say(f"start outside its limits, moved inside first: {', '.join(result.moved_inside)}")
    say(*str(result).split("\n"))
    solution_count = len(_list_solutions(result))
    if solution_count:
        say(f"{solution_count} distinct solution{'s' * (solution_count > 1)}; this is the one nearest to the start")


def build_json(result: Result, prefer: Prefer) -> dict[str, Any]:
    """Build the JSON document of a result.

    Values without a goal are null. `goal` to `rotation` are of the first goal.
    """
    pose, goal = result.pose, _select_first_goal(result)
    position, rotation = _find_target(goal)
    joint_transform = pose.world[goal.joint] if is_joint_goal(goal) else None
    return {
        "status": str(result.status),
        "reached": bool(result.reached),
        "message": result.message(),
        "goal": format_goal_kind(type(goal)),
        "prefer": prefer,
        "units": build_units(pose.skeleton.metres_per_unit),
        "position_error": find_max_error(result.position_errors),
        "angle_error": find_max_error(result.angle_errors),
        "tolerance": result.tolerance,
        "angle_tolerance": result.angle_tolerance,
        "cost": float(np.asarray(result.cost)),
        "iterations": int(result.iterations),
        "microseconds": result.seconds * 1e6,
        "solver": result.solver,
        "natural": result.natural,
        "joint": goal.joint if is_joint_goal(goal) else None,
        "target": None if position is None else position.tolist(),
        "target_rotation": None if rotation is None else rotation.tolist(),
        "position": None if joint_transform is None else joint_transform.positions.tolist(),
        "rotation": None if joint_transform is None else joint_transform.rotations.tolist(),
        "goals": [_build_goal_json(result, i) for i in range(len(result.goals))],
        "moved_inside": list(result.moved_inside),
        "open_loops": [loop._asdict() for loop in result.open_loops()],
        "joints": _build_joint_values(pose, result.joints),
        "solutions": [_build_joint_values(solution, result.joints) for solution in _list_solutions(result)],
        "local": {
            name: rotation_q.tolist()
            for name, rotation_q in zip(pose.skeleton.names, pose.local_rotations, strict=True)
        },
    }


def _select_first_goal(result: Result) -> Goal:
    """Return the first goal of a joint. Without one, return the first goal other than Near."""
    target_goals = [goal for goal in result.goals if not isinstance(goal, Near)]
    return next(filter(is_joint_goal, target_goals), target_goals[0])


def _build_goal_json(result: Result, goal_index: int) -> dict[str, Any]:
    """Build the JSON document of one goal."""
    goal = result.goals[goal_index]
    within = get_within(goal)
    return {
        "goal": format_goal_kind(type(goal)),
        "joint": goal.joint if is_joint_goal(goal) else None,
        "target": goal.rows().tolist() if goal.width else None,
        "weight": goal.weight,
        "optional": is_optional(goal),
        "pull": getattr(goal, "pull", None),
        "relative_to": get_reference(goal),
        "follow": bool(getattr(goal, "follow", False)),
        "within": None if within is None else build_within_json(within),
        "position_error": _convert_error(result.position_errors[goal_index]),
        "angle_error": _convert_error(result.angle_errors[goal_index]),
    }


class _GoalTarget(NamedTuple):
    """Target of a goal; None where the goal has none."""

    position: Floats | None
    rotation: Floats | None


def _find_target(goal: Goal) -> _GoalTarget:
    """Return the target of a goal."""
    if isinstance(goal, Position):
        return _GoalTarget(goal.target, None)
    if isinstance(goal, Orientation):
        return _GoalTarget(None, goal.rotation)
    return _GoalTarget(goal.position, goal.rotation) if isinstance(goal, Place) else _GoalTarget(None, None)


def _find_world_target(result: Result) -> Floats | None:
    """Return the target position of the first goal in the world. A relative one is where its joint now has it."""
    goal = _select_first_goal(result)
    position, reference = _find_target(goal).position, get_reference(goal)
    if position is None or reference is None:
        return position
    affine = result.pose.world[reference].affine
    return affine[:, :3] @ position + affine[:, 3]


def find_max_error(errors: Floats) -> float | None:
    """Return the largest error, or None if all are NaN."""
    finite_errors = errors[~np.isnan(errors)]
    return float(finite_errors.max()) if len(finite_errors) else None


def _convert_error(error: np.floating[Any]) -> float | None:
    return None if np.isnan(error) else float(error)


def _list_solutions(result: Result) -> list[Pose]:
    return [] if result.solutions_q is None else [result.solutions[i] for i in range(len(result.solutions_q))]


def _build_joint_values(pose: Pose, joints: tuple[str, ...]) -> dict[str, float | list[float]]:
    return {name: read_joint_value(pose, name) for name in joints}


def read_joint_value(pose: Pose, name: str) -> float | list[float]:
    """Return the value of a joint. It is a number for a hinge or slide (also a coupled one), a list for others."""
    joint = pose.skeleton[name]
    joint_q = pose.q[pose.skeleton.q_slice(name)]
    if joint.kind in (Kind.HINGE, Kind.SLIDE):
        ratio, offset = pose.skeleton.coupling_rows[joint.row]
        return float(ratio * joint_q[0] + offset)
    return joint_q.tolist()


def draw_result(path: Path, start: Pose, result: Result) -> bool:
    """Draw the picture and return whether it was written. Without matplotlib a note says how to install it."""
    from poise import plot  # noqa: PLC0415  (needed for a picture only)

    try:
        plot.draw_solve(start, result, path, target=_find_world_target(result))
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)
        return False
    return True


# --- Tables of solved targets, written as they are solved ------------------------------------------------------------
#
# A row has the target, the status, and the joint values in the layout of `poise.load_values`; .npy has q only. Both are
# written to FILE.part, which is renamed to FILE when complete. Ctrl-C leaves a readable FILE.part with the finished
# rows; any other failure leaves no file.


def build_header(skeleton: Skeleton, measures: tuple[str, ...]) -> list[str]:
    """Build the column names. UnsupportedError where a joint value has the name of another column."""
    header = [*list_table_columns(measures), *list_columns(skeleton)]
    repeated = sorted({column for column in header if header.count(column) > 1})
    if repeated:
        raise UnsupportedError(f"two columns would have the same name: {join_names(repeated)}; write q to a .npy file")
    return header


def _build_rows(result: Result) -> Iterator[list[Any]]:
    status_texts = [str(Status(code)) for code in result.codes.tolist()]
    joint_numbers = compute_joint_numbers(result.problem.skeleton, result.q)
    columns = (result.targets, result.errors, result.iterations, joint_numbers)
    for status_text, target, errors, iterations, values in zip(
        status_texts, *(column.tolist() for column in columns), strict=True
    ):
        yield [*target, status_text, *errors, iterations, *values]


def write_csv_rows(results: Iterable[Result], file: TextIO, header: list[str]) -> None:
    """Write a header, then each solved chunk."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for result in results:
        writer.writerows(_build_rows(result))
        file.flush()


def write_json_rows(results: Iterable[Result], file: TextIO, header: list[str], metres_per_unit: float | None) -> None:
    """Write one JSON object, a line per row.

    It is {"columns": [...], "units": {...}, "rows": [...]}; each chunk is written as it is solved.
    """
    units = json.dumps(build_units(metres_per_unit))
    file.write(f'{{"columns": {json.dumps(header)}, "units": {units}, "rows": [')
    comma = "\n"
    for result in results:
        for row in _build_rows(result):
            file.write(comma + json.dumps(row, allow_nan=False))
            comma = ",\n"
        file.flush()
    file.write("]}\n")


def write_csv(results: Iterable[Result], out: Path, header: list[str]) -> None:
    """Write all rows to a file."""
    with _open_part_file(out) as part_path, part_path.open("w", newline="", encoding="utf-8") as file:
        write_csv_rows(results, file, header)


def write_npy(results: Iterable[Result], out: Path, target_count: int, nq: int) -> None:
    """Write q (count, nq) to a .npy file, row by row."""
    with _open_part_file(out) as part_path, part_path.open("wb") as file:
        written_count = 0
        _write_npy_header(file, target_count, nq)
        try:
            for result in results:
                file.write(result.q.tobytes())
                written_count += len(result.q)
        except KeyboardInterrupt:
            file.seek(0)
            _write_npy_header(file, written_count, nq)
            raise


def _write_npy_header(file: BinaryIO, row_count: int, nq: int) -> None:
    """Write the .npy header with the row count.

    NumPy pads the header for any row count, so it can be rewritten in place.
    """
    dtype_description = np.lib.format.dtype_to_descr(np.dtype(np.float64))
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype_description, "fortran_order": False, "shape": (row_count, nq)}
    )


@contextmanager
def _open_part_file(out: Path) -> Generator[Path]:
    """Open FILE.part for writing and rename it at the end. For a link both are at its target."""
    target_path = resolve_target(out)
    part_path = name_part_file(target_path)
    try:
        yield part_path
        replace_file(part_path, target_path)
    except KeyboardInterrupt:
        say(f"finished rows are in {part_path}", err=True)
        raise
    except BaseException as error:
        part_path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(out, f"cannot write: {error.strerror or error}") from error
        raise
