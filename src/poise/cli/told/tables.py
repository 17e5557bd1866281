"""Tables of solved targets, written as they are solved.

A row has the target, the status, and the joint values in the layout of `poise.read_values`; .npy has q only. Both are
written to FILE.part, which is renamed to FILE when complete. Ctrl-C leaves a readable FILE.part with the finished rows;
any other failure leaves no file.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from poise.cli.terminal import say
from poise.errors import FileError, UnsupportedError, listed
from poise.io.files import part_of, replace_file, resolve_target
from poise.io.values.rows import columns_of, joint_numbers, table_columns
from poise.model.skeleton import Skeleton
from poise.solvers.base.status import Status
from poise.solving.result import Result


def header_of(skeleton: Skeleton, measures: tuple[str, ...]) -> list[str]:
    """Build the column names. UnsupportedError where a joint value has the name of another column."""
    header = [*table_columns(measures), *columns_of(skeleton)]
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        raise UnsupportedError(f"two columns would have the same name: {listed(twice)}; write q to a .npy file")
    return header


def _rows(result: Result) -> Iterator[list[Any]]:
    outcomes = [str(Status(code)) for code in result.codes.tolist()]
    numbers = joint_numbers(result.problem.skeleton, result.q)
    columns = (result.targets, result.errors, result.iterations, numbers)
    for outcome, target, errors, count, values in zip(outcomes, *(column.tolist() for column in columns), strict=True):
        yield [*target, outcome, *errors, count, *values]


def csv_rows(results: Iterable[Result], file: TextIO, header: list[str]) -> None:
    """Write a header, then each solved chunk."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for result in results:
        writer.writerows(_rows(result))
        file.flush()


def print_json(results: Iterable[Result], file: TextIO, header: list[str]) -> None:
    """Write one JSON object, a line per row.

    It is {"columns": [...], "rows": [...]}; each chunk is written as it is solved.
    """
    file.write(f'{{"columns": {json.dumps(header)}, "rows": [')
    comma = "\n"
    for result in results:
        for row in _rows(result):
            file.write(comma + json.dumps(row, allow_nan=False))
            comma = ",\n"
        file.flush()
    file.write("]}\n")


def write_csv(results: Iterable[Result], out: Path, header: list[str]) -> None:
    """Write all rows to a file."""
    with _part_of(out) as part, part.open("w", newline="", encoding="utf-8") as file:
        csv_rows(results, file, header)


def write_npy(results: Iterable[Result], out: Path, count: int, nq: int) -> None:
    """Write q (count, nq) to a .npy file, row by row."""
    with _part_of(out) as part, part.open("wb") as file:
        done = 0
        _npy_head(file, count, nq)
        try:
            for result in results:
                file.write(result.q.tobytes())
                done += len(result.q)
        except KeyboardInterrupt:
            file.seek(0)
            _npy_head(file, done, nq)
            raise


def _npy_head(file: BinaryIO, count: int, nq: int) -> None:
    """Write the .npy header with the row count.

    NumPy pads the header for any row count, so it can be rewritten in place.
    """
    descr = np.lib.format.dtype_to_descr(np.dtype(np.float64))
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": (count, nq)})


@contextmanager
def _part_of(out: Path) -> Generator[Path]:
    """Open FILE.part for writing and rename it at the end. For a link both are at its target."""
    target = resolve_target(out)
    part = part_of(target)
    try:
        yield part
        replace_file(part, target)
    except KeyboardInterrupt:
        say(f"finished rows are in {part}", err=True)
        raise
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(out, f"cannot write: {error.strerror or error}") from error
        raise
