"""`poise solve --targets`: solve for a table of targets.

Targets are read, solved and written in chunks: memory does not grow with their number. Output after Ctrl-C:

standard output   the rows printed so far (as JSON: a document without its end)
a file            the rows so far, in FILE.part; FILE itself is created when the table is complete
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from poise import solvers
from poise.cli.given import targets as reading
from poise.cli.given.targets import Targets
from poise.cli.terminal import say
from poise.cli.told.bars import bar
from poise.cli.told.outputs import check_table
from poise.cli.told.tables import csv_rows, header_of, print_json, write_csv, write_npy
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.solvers.base.contract import Prefer
from poise.solving.prepared import Prepared
from poise.solving.result import Result
from poise.solving.solve import prepare


class SolveOptions(NamedTuple):
    """Arguments of solve() besides start and goal."""

    solver: solvers.Solver
    tolerance: float | None
    angle_tolerance: float | None
    free_root: bool
    prefer: Prefer
    seeds: int | None
    threads: int | None


def solve_table(start: Pose, targets: Targets, out: Path | None, how: SolveOptions, *, as_json: bool) -> int:
    """Solve every row and write the result table.

    It goes to `out` (.csv, .npy of q) or standard output; return the exit code.
    """
    if out is not None:
        check_table(out)
    reach = prepare(start, targets.goal, **how._asdict())  # misuse is reported here, before any row
    reached = _write(_Solved(reach, targets), out, start.skeleton, as_json=as_json)
    if out is not None:
        said: Any = {"targets": targets.count, "reached": reached, "out": str(out)}
        say(json.dumps(said) if as_json else f"{reached} of {targets.count} reached; table in {out}")
    return 0 if reached == targets.count else 1


class _Solved:
    """Iterator of solved chunks. It counts the reached targets."""

    def __init__(self, reach: Prepared, targets: Targets) -> None:
        self.reach = reach
        self.targets = targets
        self.reached = 0

    def __iter__(self) -> Iterator[Result]:
        with bar("solving", self.targets.count, rate=True) as advance:
            for result in self.reach.stream(self.targets, chunk=reading.CHUNK):
                self.reached += int(np.sum(result.reached))
                yield result
                advance(len(result), "")


def _write(solved: _Solved, out: Path | None, skeleton: Skeleton, *, as_json: bool) -> int:
    if out is not None and out.suffix.lower() == ".npy":
        write_npy(solved, out, solved.targets.count, skeleton.nq)
        return solved.reached
    header = header_of(skeleton, solved.targets.goal.measures)
    if out is not None:
        write_csv(solved, out, header)
    else:
        print_rows = print_json if as_json else csv_rows
        print_rows(solved, typer.get_text_stream("stdout"), header)
    return solved.reached
