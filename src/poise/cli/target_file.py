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

from poise.errors import FileError, InputError, join_names
from poise.io.files import suggest_similar_paths
from poise.io.text_parsing import parse_table
from poise.maths.arrays import Floats
from poise.problem.goals import Orientation, Place, Position

CHUNK_ROWS = 16_384  # rows in memory at once

_TARGET_SUFFIXES = (".csv", ".npy")
_POINT_COLUMNS, _QUATERNION_COLUMNS = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
_KIND_BY_WIDTH = {3: "position", 4: "orientation", 7: "place"}
_KIND_BY_SHAPE = {
    (3,): "position",
    (4,): "orientation",
    (3, 3): "orientation",
    (7,): "place",
    (3, 4): "place",
    (4, 4): "place",
}


@dataclass(frozen=True, eq=False)
class TargetTable:
    """Validated rows of a target file.

    There are `row_count` of them; iteration reads CHUNK_ROWS rows at a time, in the layout of `goal`.

    goal  goal of the kind of the rows; its own target is a placeholder
    """

    goal: Position | Orientation | Place
    row_count: int
    read_chunks: Callable[[], Iterator[Floats]]

    def __iter__(self) -> Iterator[Floats]:
        return self.read_chunks()


def open_target_table(path: Path, joint: str, root: str | None) -> TargetTable:
    """Open a target file, detect its kind and check every row.

    .npy  (k, 3) points, (k, 4) quaternions w x y z, (k, 7) both, (k, 3, 3) rotation matrices, (k, 4, 4) or (k, 3, 4)
          transforms
    .csv  columns x y z, qw qx qy qz or both, named in the first row among any others; or 3, 4 or 7 without names

    A table without rows is valid: `row_count` is 0. FileError names the file, the target and the reason.
    """
    if path.suffix.lower() not in _TARGET_SUFFIXES:
        raise FileError(path, "targets are read from .csv or .npy files")
    check_regular_file(path)
    kind, read_chunks = _open_npy(path) if path.suffix.lower() == ".npy" else _open_csv(path)
    goal = build_placeholder_goal(kind, joint, root)
    return TargetTable(goal, _count_valid_rows(path, goal, read_chunks), read_chunks)


def check_regular_file(path: Path) -> None:
    """Check for a regular file with content."""
    try:
        file_status = path.stat()
    except FileNotFoundError as error:
        raise FileError(path, f"{error.strerror}{suggest_similar_paths(path, _TARGET_SUFFIXES)}") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise FileError(path, getattr(error, "strerror", None) or str(error)) from error
    if not stat.S_ISREG(file_status.st_mode):
        raise FileError(path, "is not a regular file")
    if not file_status.st_size:
        raise FileError(path, "the file is empty")


def build_placeholder_goal(kind: str, joint: str, root: str | None) -> Position | Orientation | Place:
    """Build a goal of a kind with a placeholder target."""
    if kind == "position":
        return Position(joint, (0, 0, 0), root=root)
    if kind == "orientation":
        return Orientation(joint, (1, 0, 0, 0), root=root)
    return Place(joint, (0, 0, 0), (1, 0, 0, 0), root=root)


def _count_valid_rows(
    path: Path, goal: Position | Orientation | Place, read_chunks: Callable[[], Iterator[Floats]]
) -> int:
    """Count the rows. FileError for the first invalid target."""
    row_count = 0
    for rows in read_chunks():
        try:
            goal.parse(rows)
        except InputError:
            for i, row in enumerate(rows):
                try:
                    goal.parse(row)
                except InputError as error:
                    raise FileError(path, str(error), place=f"target {row_count + i}") from error
        row_count += len(rows)
    return row_count


# --- .npy --------------------------------------------------------------------------------------------------------


def _open_npy(path: Path) -> tuple[str, Callable[[], Iterator[Floats]]]:
    shape = map_npy(path).shape
    kind = _KIND_BY_SHAPE.get(shape[1:])
    if kind is None:
        raise FileError(path, f"targets need the shape (k, 3), (k, 4), (k, 7), (k, 4, 4) or (k, 3, 4), not {shape}")

    def read_chunks() -> Iterator[Floats]:
        # mapped again for each chunk: pages already read count as memory
        for chunk_start in range(0, shape[0], CHUNK_ROWS):
            yield np.array(map_npy(path)[chunk_start : chunk_start + CHUNK_ROWS], dtype=np.float64)

    return kind, read_chunks


def map_npy(path: Path) -> np.ndarray:
    """Map the array of numbers of a .npy file into memory."""
    try:
        array: Any = np.load(path, allow_pickle=False, mmap_mode="r")  # mapped: a forged header cannot allocate memory
    except (ValueError, TypeError, EOFError, OSError, SyntaxError, TokenError) as error:
        # NumPy's own words for other files name its options for unsafe loading.
        reason = "it is no .npy file, or has Python objects" if "pickle" in str(error) else str(error)
        raise FileError(path, f"not a numeric .npy file: {reason}") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
        raise FileError(path, f"not a numeric .npy file: it holds {getattr(array, 'dtype', 'an archive')}")
    return array


# --- .csv --------------------------------------------------------------------------------------------------------


def _open_csv(path: Path) -> tuple[str, Callable[[], Iterator[Floats]]]:
    first_cells = next(_read_lines(path), [])
    column_names = [cell.strip().lower() for cell in first_cells]
    is_header = not {*_POINT_COLUMNS, *_QUATERNION_COLUMNS}.isdisjoint(column_names)
    if is_header:
        columns = _find_columns(path, column_names)
    elif first_cells and not any(map(_is_float, first_cells)):
        detail = f"columns: {join_names(column_names)} (named in the first row, commas between)"
        raise FileError(path, f"no column {' '.join(_POINT_COLUMNS)} or {' '.join(_QUATERNION_COLUMNS)}; {detail}")
    else:
        columns = list(range(len(first_cells)))
        if len(columns) not in _KIND_BY_WIDTH:
            detail = f"three numbers (x y z), four (qw qx qy qz) or seven expected, not {first_cells!r}"
            raise FileError(path, detail, place="target 0")

    def read_chunks() -> Iterator[Floats]:
        rows, row_count = islice(_read_lines(path), int(is_header), None), 0
        while chunk := list(islice(rows, CHUNK_ROWS)):
            yield _parse_rows(path, chunk, columns, len(first_cells), row_count)
            row_count += len(chunk)

    return _KIND_BY_WIDTH[len(columns)], read_chunks


def _is_float(cell: str) -> bool:
    """Return whether a cell is a number, nan and inf included."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_lines(path: Path) -> Iterator[list[str]]:
    """Iterate over the rows, without blank ones."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield from filter(None, csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, f"not a CSV text file: {error}") from error
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from error


def _find_columns(path: Path, column_names: list[str]) -> list[int]:
    """Find the columns of the point and the quaternion."""
    needed_names = [
        name
        for group in (_POINT_COLUMNS, _QUATERNION_COLUMNS)
        if not set(group).isdisjoint(column_names)
        for name in group
    ]
    missing = [name for name in needed_names if name not in column_names]
    if missing:
        columns_text = (
            f"targets have {' '.join(_POINT_COLUMNS)}, {' '.join(_QUATERNION_COLUMNS)} or both; columns: "
            f"{join_names(column_names)}"
        )
        raise FileError(path, f"no column {', '.join(missing)}: {columns_text}")
    repeated = [name for name in needed_names if column_names.count(name) > 1]
    if repeated:
        raise FileError(path, f"two columns are called {repeated[0]}")
    return [column_names.index(name) for name in needed_names]


def _parse_rows(path: Path, rows: list[list[str]], columns: list[int], cell_count: int, first_index: int) -> Floats:
    """Parse rows of text to numbers (k, columns).

    Each row has `cell_count` cells; the first row is target `first_index`.
    """
    pick_cells = itemgetter(*columns)
    for i, row in enumerate(rows):
        if len(row) != cell_count:
            raise FileError(path, f"{len(row)} values under {cell_count} columns", place=f"target {first_index + i}")
    try:
        return parse_table([pick_cells(row) for row in rows])
    except ValueError as error:
        i, reason = next(
            (i, error_text) for i, row in enumerate(rows) if (error_text := _find_number_error(pick_cells(row)))
        )
        count_word = {3: "three", 4: "four", 7: "seven"}[len(columns)]
        message = f"{count_word} numbers expected, not {rows[i]!r}: {reason}"
        raise FileError(path, message, place=f"target {first_index + i}") from error


def _find_number_error(cells: Sequence[str]) -> str:
    """Return the error of invalid numbers, or an empty text."""
    try:
        parse_table([cells])
    except ValueError as error:
        return str(error)
    return ""
