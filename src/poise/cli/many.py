"""`poise solve --targets`: many targets from a file, a table out, with progress; finished rows survive Ctrl-C."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from poise import solvers
from poise.arrays import Floats
from poise.errors import FileError, InputError
from poise.goals import Position
from poise.io._files import read_bytes
from poise.pose import Pose
from poise.result import Result, Status
from poise.skeleton import Kind, Skeleton
from poise.solve import solve

_CHUNK = 20_000


class Options(NamedTuple):
    """What is solved for every target."""

    joint: str
    root: str | None
    solver: solvers.Solver
    tolerance: float | None
    free_root: bool


def solve_table(start: Pose, targets: Path, out: Path | None, options: Options, *, as_json: bool) -> int:
    """Solve every row and write the table to `out` (.csv, .npy of q) or standard output; return the exit code."""
    points = read_targets(targets)
    if out is not None and out.suffix.lower() not in (".csv", ".npy"):
        raise FileError(out, "a table is written as .csv, or as .npy with q only")
    results = _chunks(start, points, options)
    if out is None:
        reached, text = _as_text(results, start.skeleton, as_json=as_json)
        typer.echo(text, nl=False)
    else:
        reached = _write_npy(results, out) if out.suffix.lower() == ".npy" else _write_csv(results, out, start.skeleton)
        said: Any = {"targets": len(points), "reached": reached, "out": str(out)}
        typer.echo(json.dumps(said) if as_json else f"{reached} of {len(points)} reached; table in {out}")
    return 0 if reached == len(points) else 1


def read_targets(path: Path) -> Floats:
    """Read points (k, 3): .npy, or .csv with columns x, y, z (named in the first row, or the first three)."""
    if path.suffix.lower() not in (".csv", ".npy"):
        raise FileError(path, "targets are read from .csv or .npy files")
    data = read_bytes(path)
    points = _npy_points(path) if path.suffix.lower() == ".npy" else _csv_points(path, data)
    if points.ndim != 2 or points.shape[1] != 3:  # noqa: PLR2004
        raise FileError(path, f"targets need the shape (k, 3); this file has {points.shape}")
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise FileError(path, "targets must be finite", place=f"target {row}")
    return points


def _npy_points(path: Path) -> Floats:
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="r")
        return np.asarray(array, dtype=np.float64)
    except (ValueError, TypeError, EOFError, OSError) as error:
        raise FileError(path, f"not a numeric .npy file: {error}") from error


def _csv_points(path: Path, data: bytes) -> Floats:
    try:
        rows = [row for row in csv.reader(StringIO(data.decode("utf-8-sig"))) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, f"not a CSV text file: {error}") from error
    columns = [0, 1, 2]
    names = [cell.strip().lower() for cell in rows[0]] if rows else []
    if {"x", "y", "z"} <= set(names):
        columns = [names.index(axis) for axis in "xyz"]
        rows = rows[1:]
    points = np.zeros((len(rows), 3))
    for i, row in enumerate(rows):
        try:
            points[i] = [float(row[column]) for column in columns]
        except (ValueError, IndexError) as error:
            raise FileError(path, f"three numbers expected, not {row!r}", place=f"target {i}") from error
    return points


def _chunks(start: Pose, points: Floats, options: Options) -> Iterator[tuple[Floats, Result]]:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("solving", total=len(points))
        for first in range(0, len(points), _CHUNK):
            part = points[first : first + _CHUNK]
            goal = Position(options.joint, part, root=options.root)
            yield (
                part,
                solve(start, goal, solver=options.solver, tolerance=options.tolerance, free_root=options.free_root),
            )
            progress.advance(task, len(part))


def _header(skeleton: Skeleton) -> list[str]:
    return ["x", "y", "z", "status", "error", "iterations", *q_names(skeleton)]


def q_names(skeleton: Skeleton) -> list[str]:
    """A name for each number in q: the joint's, with .w .x .y .z (and .tx ...) where it has several."""
    parts = {
        Kind.HINGE: ("",),
        Kind.SLIDE: ("",),
        Kind.BALL: (".w", ".x", ".y", ".z"),
        Kind.FREE: (".tx", ".ty", ".tz", ".w", ".x", ".y", ".z"),
    }
    names: list[str] = []
    for i, name in enumerate(skeleton.names):
        if not skeleton.couplings[i]:
            names += [name + part for part in parts.get(Kind(skeleton.kinds[i]), ())]
    return names


def _rows(part: Floats, result: Result) -> Iterator[list[Any]]:
    for i, point in enumerate(part):
        status = str(Status(int(result.codes[i])))
        yield [
            *point.tolist(),
            status,
            float(result.errors[i, 0]),
            int(result.iterations[i]),
            *result.pose.q[i].tolist(),
        ]


def _as_text(results: Iterator[tuple[Floats, Result]], skeleton: Skeleton, *, as_json: bool) -> tuple[int, str]:
    header, rows, reached = _header(skeleton), [], 0
    for part, result in results:
        rows += _rows(part, result)
        reached += int(np.sum(result.reached))
    if as_json:
        return reached, json.dumps({"columns": header, "rows": rows}) + "\n"
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return reached, text.getvalue()


def _write_csv(results: Iterator[tuple[Floats, Result]], out: Path, skeleton: Skeleton) -> int:
    """Write chunk by chunk under a .part name, renamed when complete; an interrupted run leaves the .part."""
    part_file = out.with_name(out.name + ".part")
    reached = 0
    try:
        with part_file.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_header(skeleton))
            for part, result in results:
                writer.writerows(_rows(part, result))
                file.flush()
                reached += int(np.sum(result.reached))
    except OSError as error:
        raise FileError(out, f"cannot write: {error.strerror}") from error
    except KeyboardInterrupt:
        print(f"interrupted; finished rows are in {part_file}", file=sys.stderr)  # noqa: T201
        raise
    except BaseException:
        part_file.unlink(missing_ok=True)
        raise
    part_file.replace(out)
    return reached


def _write_npy(results: Iterator[tuple[Floats, Result]], out: Path) -> int:
    parts = [(result.pose.q, int(np.sum(result.reached))) for _, result in results]
    if not parts:
        raise InputError("no targets: nothing to write")
    part_file = out.with_name(out.name + ".part")
    try:
        with part_file.open("wb") as file:
            np.save(file, np.concatenate([q for q, _ in parts]))
        part_file.replace(out)
    except OSError as error:
        raise FileError(out, f"cannot write: {error.strerror}") from error
    return sum(reached for _, reached in parts)
