"""Target files (.csv, .npy), read in chunks. Rows are points, rotations or both; files may be larger than memory."""

from __future__ import annotations

import csv
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from poise.errors import FileError, InputError, listed
from poise.io.neighbours import offer_neighbours
from poise.io.numbers import table
from poise.maths.arrays import Floats
from poise.problem.goals import Orientation, Place, Position

CHUNK = 16_384  # rows in memory at once

_SUFFIXES = (".csv", ".npy")
_POINT, _TURN = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
_WIDTHS = {3: "position", 4: "orientation", 7: "place"}
_SHAPES = {
    (3,): "position",
    (4,): "orientation",
    (3, 3): "orientation",
    (7,): "place",
    (3, 4): "place",
    (4, 4): "place",
}


@dataclass(frozen=True, eq=False)
class Targets:
    """Validated rows of a target file.

    There are `count` of them; iteration reads CHUNK rows at a time, in the layout of `goal`.

    goal  goal of the kind of the rows; its own target is a placeholder
    """

    goal: Position | Orientation | Place
    count: int
    read: Callable[[], Iterator[Floats]]

    def __iter__(self) -> Iterator[Floats]:
        return self.read()


def open_targets(path: Path, joint: str, root: str | None) -> Targets:
    """Open a target file, detect its kind and check every row.

    .npy  (k, 3) points, (k, 4) quaternions w x y z, (k, 7) both, (k, 3, 3) rotation matrices, (k, 4, 4) or (k, 3, 4)
          transforms
    .csv  columns x y z, qw qx qy qz or both, named in the first row among any others; or 3, 4 or 7 without names

    A table without rows is valid: count is 0. FileError names the file, the target and the reason.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise FileError(path, "targets are read from .csv or .npy files")
    _check_regular(path)
    kind, read = _npy(path) if path.suffix.lower() == ".npy" else _csv(path)
    goal = example(kind, joint, root)
    return Targets(goal, _checked(path, goal, read), read)


def _check_regular(path: Path) -> None:
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise FileError(path, f"{error.strerror}{offer_neighbours(path, _SUFFIXES)}") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise FileError(path, getattr(error, "strerror", None) or str(error)) from error
    if not stat.S_ISREG(found.st_mode):
        raise FileError(path, "is not a regular file")
    if not found.st_size:
        raise FileError(path, "the file is empty")


def example(kind: str, joint: str, root: str | None) -> Position | Orientation | Place:
    """Build a goal of a kind with a placeholder target."""
    if kind == "position":
        return Position(joint, (0, 0, 0), root=root)
    if kind == "orientation":
        return Orientation(joint, (1, 0, 0, 0), root=root)
    return Place(joint, (0, 0, 0), (1, 0, 0, 0), root=root)


def _checked(path: Path, goal: Position | Orientation | Place, read: Callable[[], Iterator[Floats]]) -> int:
    """Count the rows. FileError for the first invalid target."""
    count = 0
    for rows in read():
        try:
            goal.parse(rows)
        except InputError:
            for i, row in enumerate(rows):
                try:
                    goal.parse(row)
                except InputError as error:
                    raise FileError(path, str(error), place=f"target {count + i}") from error
        count += len(rows)
    return count


# --- .npy --------------------------------------------------------------------------------------------------------


def _npy(path: Path) -> tuple[str, Callable[[], Iterator[Floats]]]:
    shape = _mapped(path).shape
    kind = _SHAPES.get(shape[1:])
    if kind is None:
        raise FileError(path, f"targets need the shape (k, 3), (k, 4), (k, 7), (k, 4, 4) or (k, 3, 4), not {shape}")

    def read() -> Iterator[Floats]:
        for first in range(0, shape[0], CHUNK):  # mapped again for each chunk: pages already read count as memory
            yield np.array(_mapped(path)[first : first + CHUNK], dtype=np.float64)

    return kind, read


def _mapped(path: Path) -> np.ndarray:
    try:
        array: Any = np.load(path, allow_pickle=False, mmap_mode="r")  # mapped: a forged header cannot allocate memory
    except (ValueError, TypeError, EOFError, OSError, SyntaxError, TokenError) as error:
        raise FileError(path, f"not a numeric .npy file: {error}") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
        raise FileError(path, f"not a numeric .npy file: it holds {getattr(array, 'dtype', 'an archive')}")
    return array


# --- .csv --------------------------------------------------------------------------------------------------------


def _csv(path: Path) -> tuple[str, Callable[[], Iterator[Floats]]]:
    first = next(_lines(path), [])
    names = [cell.strip().lower() for cell in first]
    is_header = not {*_POINT, *_TURN}.isdisjoint(names)
    if is_header:
        columns = _columns(path, names)
    elif first and not any(map(_is_float, first)):
        reason = f"columns: {listed(names)} (named in the first row, commas between)"
        raise FileError(path, f"no column {' '.join(_POINT)} or {' '.join(_TURN)}; {reason}")
    else:
        columns = list(range(len(first)))
        if len(columns) not in _WIDTHS:
            reason = f"three numbers (x y z), four (qw qx qy qz) or seven expected, not {first!r}"
            raise FileError(path, reason, place="target 0")

    def read() -> Iterator[Floats]:
        lines, count = islice(_lines(path), int(is_header), None), 0
        while block := list(islice(lines, CHUNK)):
            yield _numbers(path, block, columns, len(first), count)
            count += len(block)

    return _WIDTHS[len(columns)], read


def _is_float(cell: str) -> bool:
    """Return whether a cell is a number, nan and inf included."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _lines(path: Path) -> Iterator[list[str]]:
    """Iterate over the rows, without blank ones."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield from filter(None, csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, f"not a CSV text file: {error}") from error
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from error


def _columns(path: Path, names: list[str]) -> list[int]:
    """Find the columns of the point and the quaternion."""
    wanted = [name for group in (_POINT, _TURN) if not set(group).isdisjoint(names) for name in group]
    missing = [name for name in wanted if name not in names]
    if missing:
        known = f"targets have {' '.join(_POINT)}, {' '.join(_TURN)} or both; columns: {listed(names)}"
        raise FileError(path, f"no column {', '.join(missing)}: {known}")
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise FileError(path, f"two columns are called {twice[0]}")
    return [names.index(name) for name in wanted]


def _numbers(path: Path, rows: list[list[str]], columns: list[int], width: int, first: int) -> Floats:
    """Parse rows of text to numbers (k, columns). Each row has `width` cells; the first row is target `first`."""
    pick = itemgetter(*columns)
    for i, row in enumerate(rows):
        if len(row) != width:
            raise FileError(path, f"{len(row)} values under {width} columns", place=f"target {first + i}")
    try:
        return table([pick(row) for row in rows])
    except ValueError as error:
        i, reason = next((i, said) for i, row in enumerate(rows) if (said := _refusal(pick(row))))
        how_many = {3: "three", 4: "four", 7: "seven"}[len(columns)]
        message = f"{how_many} numbers expected, not {rows[i]!r}: {reason}"
        raise FileError(path, message, place=f"target {first + i}") from error


def _refusal(cells: Sequence[str]) -> str:
    """Return the error of invalid numbers, or an empty text."""
    try:
        table([cells])
    except ValueError as error:
        return str(error)
    return ""
