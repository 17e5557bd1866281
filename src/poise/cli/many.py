"""`poise solve --targets`: many targets from a file, a table out, with progress.

Targets are solved in chunks and their rows are written as soon as a chunk is done. What survives Ctrl-C:

standard output   the rows printed so far (as JSON: a document without its end)
.csv              the rows so far, in FILE.part; the file itself appears when the table is whole
.npy              nothing: it is written whole, at the end
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from poise import solvers
from poise.arrays import Floats
from poise.cli.outputs import check_table
from poise.cli.targets import read_targets
from poise.errors import FileError, UnsupportedError, listed
from poise.goals import Position
from poise.io._files import write_atomically
from poise.io._values_rows import TABLE_COLUMNS, columns_of, joint_numbers
from poise.pose import Pose
from poise.result import Result
from poise.skeleton import Skeleton
from poise.solve import prepare
from poise.status import Status

_CHUNK = 20_000


class Options(NamedTuple):
    """What is solved for every target."""

    joint: str
    root: str | None
    solver: solvers.Solver
    tolerance: float | None
    free_root: bool


class Part(NamedTuple):
    """A chunk of targets (k, 3) and their result."""

    points: Floats
    result: Result


def solve_table(start: Pose, targets: Path, out: Path | None, options: Options, *, as_json: bool) -> int:
    """Solve every row and write the table to `out` (.csv, .npy of q) or standard output; return the exit code.

    A .csv has the target, the outcome and the joint values as `poise.io.values.read_values` reads them.
    """
    if out is not None:
        check_table(out)
    points = read_targets(targets)
    goal = Position(options.joint, (0, 0, 0), root=options.root)
    reach = prepare(
        start, goal, solver=options.solver, tolerance=options.tolerance, free_root=options.free_root
    )  # misuse is said here, before any row
    reached = _write(_Parts(reach, points), out, start.skeleton, as_json=as_json)
    if out is not None:
        said: Any = {"targets": len(points), "reached": reached, "out": str(out)}
        typer.echo(json.dumps(said) if as_json else f"{reached} of {len(points)} reached; table in {out}")
    return 0 if reached == len(points) else 1


class _Parts:
    """The chunks, solved as they are asked for; counts the targets that were reached."""

    def __init__(self, reach: Callable[[Floats], Result], points: Floats) -> None:
        self.reach = reach
        self.points = points
        self.reached = 0

    def __iter__(self) -> Iterator[Part]:
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("solving", total=len(self.points))
            for first in range(0, len(self.points), _CHUNK):
                points = self.points[first : first + _CHUNK]
                result = self.reach(points)
                self.reached += int(np.sum(result.reached))
                yield Part(points, result)
                progress.advance(task, len(points))


def _write(parts: _Parts, out: Path | None, skeleton: Skeleton, *, as_json: bool) -> int:
    if out is not None and out.suffix.lower() == ".npy":
        _write_npy(parts, out, skeleton)
    elif out is not None:
        _write_csv(parts, out, _header(skeleton))
    else:
        print_rows = _print_json if as_json else _csv_rows
        print_rows(parts, typer.get_text_stream("stdout"), _header(skeleton))
    return parts.reached


def _header(skeleton: Skeleton) -> list[str]:
    header = [*TABLE_COLUMNS, *columns_of(skeleton)]
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        raise UnsupportedError(f"two columns would have the same name: {listed(twice)}; write q to a .npy file")
    return header


def _rows(part: Part) -> Iterator[list[Any]]:
    result = part.result
    numbers = joint_numbers(result.pose.skeleton, result.pose.q)
    for i, point in enumerate(part.points):
        outcome = [str(Status(int(result.codes[i]))), float(result.errors[i, 0]), int(result.iterations[i])]
        yield [*point.tolist(), *outcome, *numbers[i].tolist()]


def _csv_rows(parts: Iterable[Part], file: TextIO, header: list[str]) -> None:
    """Write a header, then each chunk as it is solved."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for part in parts:
        writer.writerows(_rows(part))
        file.flush()


def _print_json(parts: Iterable[Part], file: TextIO, header: list[str]) -> None:
    """Write one object {"columns": [...], "rows": [...]}, a line per row, each chunk as it is solved."""
    file.write(f'{{"columns": {json.dumps(header)}, "rows": [')
    comma = "\n"
    for part in parts:
        for row in _rows(part):
            file.write(comma + json.dumps(row, allow_nan=False))
            comma = ",\n"
        file.flush()
    file.write("]}\n")


def _write_csv(parts: Iterable[Part], out: Path, header: list[str]) -> None:
    """Write under a .part name, renamed when complete; Ctrl-C leaves the .part, any other failure nothing."""
    part_file = out.with_name(out.name + ".part")
    try:
        with part_file.open("w", newline="", encoding="utf-8") as file:
            _csv_rows(parts, file, header)
        part_file.replace(out)
    except KeyboardInterrupt:
        typer.echo(f"finished rows are in {part_file}", err=True)
        raise
    except BaseException as error:
        if part_file.is_file():
            part_file.unlink()
        if isinstance(error, OSError):
            raise FileError(out, f"cannot write: {error.strerror or error}") from error
        raise


def _write_npy(parts: Iterable[Part], out: Path, skeleton: Skeleton) -> None:
    q = np.concatenate([np.zeros((0, skeleton.nq)), *(part.result.pose.q for part in parts)])
    file = io.BytesIO()
    np.save(file, q)
    write_atomically(out, file.getvalue())
