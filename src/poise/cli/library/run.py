"""Batch runs: plan, check, process on all cores, write a table. The table begins with the worst files."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Generator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from poise.cli.library.clips import check_library
from poise.cli.library.journal import Journal, sweep
from poise.cli.library.plan import FilePair, ManyFiles, check_new, pairs
from poise.cli.library.verbs import VERBS, Row, Verb, Work
from poise.cli.terminal import say
from poise.cli.told.bars import bar
from poise.errors import FileError, InputError, PoiseError, PoiseWarning, one_line, quoted_path
from poise.io.files import encode_text, write_atomically
from poise.libraries.cluster import cluster
from poise.libraries.each import Finished, completed

_TRIED = 3  # files tried, to find one that compiles the kernels
_SHOWN = 5  # failed files listed on standard error


@dataclass(frozen=True)
class _EachFile:
    """Adapter of a job to `each`, called with a file pair."""

    work: Work

    def __call__(self, pair: FilePair) -> Row:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PoiseWarning)  # worker processes lack the command line's filters
            row = self.work(*pair)
        told = (str(warning.message).removeprefix(f"{one_line(str(pair.file))}: ") for warning in caught)
        message = row.get("message", "")
        more = [line for line in dict.fromkeys(told) if line not in message]
        return {**row, "message": "; ".join([message] * bool(message) + more)}


def run(
    name: str, inputs: Sequence[Path], library: ManyFiles, work: Work, *, as_json: bool, each_clip: bool = False
) -> int:
    """Run a batch and return the exit code. 0: all succeeded, 1: some failed. Misuse is rejected before any work.

    each_clip  whether each clip has its own output file, for formats of one clip per file
    """
    found = pairs(inputs, library.folder, library.suffix)
    verb, table = VERBS[name], library.folder / f"poise-{name}.csv"
    taken = next((pair.file for pair in found if str(pair.out).casefold() == str(table).casefold()), None)
    if taken is not None:
        raise InputError(f"{taken} would be written to {table}, where the table of all files goes: rename it")
    journal = Journal(library.folder, name, repr(work), found, anew=library.overwrite)
    own = [pair.out for pair in found] if journal.is_resumed else []
    check_new([*found, FilePair(table, table)], [*own, *[table] * journal.is_resumed], overwrite=library.overwrite)
    if each_clip:
        check_library(found, overwrite=library.overwrite or journal.is_resumed)
    _make_folders([*found, FilePair(table, table)])
    new = [*(pair.out for pair in found), table]
    if journal.is_resumed:
        sweep(new)
    left = [pair for pair in found if str(pair.out) not in journal.rows]
    if journal.rows:
        say(f"resuming: {len(journal.rows)} of {len(found)} were finished", err=True)
    with journal:
        try:
            _work(verb, left, library, work, journal)
        except KeyboardInterrupt:
            sweep(new)
            done = f"stopped: {len(journal.rows)} of {len(found)} are finished and kept; the same command resumes"
            say(done, err=True)
            raise typer.Exit(130) from None
    rows = [{"file": str(pair.file), "out": str(pair.out)} | journal.rows[str(pair.out)] for pair in found]
    _write_table(table, verb, rows)
    journal.end()
    return _say(rows, table, as_json=as_json)


def _make_folders(found: Sequence[FilePair]) -> None:
    for folder in sorted({pair.out.parent for pair in found}):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(folder, f"cannot make this folder: {error.strerror}") from error


def _work(verb: Verb, left: list[FilePair], library: ManyFiles, work: Work, journal: Journal) -> None:
    """Process the remaining files and record each finished one."""
    if not left:
        return
    _compile(verb, work, left)
    with _executor(library) as executor, bar(verb.does, len(left), rate=True) as advance:
        everything = completed(left, _EachFile(work), executor=executor, processes=_count(library, left))
        try:
            for number, finished in everything:
                journal.add(left[number], _row(finished))
                advance(1, "")
        finally:
            everything.close()


def _compile(verb: Verb, work: Work, left: list[FilePair]) -> None:
    """Compile the needed kernels once, in this process. Workers load them from disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoiseWarning)  # warnings are in the row of each file
        _warm(verb, work, left)


def _warm(verb: Verb, work: Work, left: list[FilePair]) -> None:
    if verb.kernels:
        from poise.machine.warmup import steps  # noqa: PLC0415  (imports all kernels)

        for _, step in (pair for group in verb.kernels for pair in steps(group)):
            step()
    warm: Any = getattr(work, "warm", None)
    for pair in left[: _TRIED if warm else 0]:
        try:
            warm(pair.file)
        except PoiseError:  # this file is reported as failed later; try another one
            continue
        return


def _count(library: ManyFiles, left: list[FilePair]) -> int | None:
    if library.processes is not None:
        return min(library.processes, len(left))
    return 1 if len(left) == 1 else None


@contextmanager
def _executor(library: ManyFiles) -> Generator[Executor | None]:
    if library.cluster is None:
        yield None
        return
    with cluster(library.cluster, processes=library.processes) as executor:
        yield executor


def _row(finished: Finished) -> Row:
    """Build the row of a file.

    A failed file has the reason; exceptions from outside Poise are prefixed with their type.
    """
    if finished.error is None:
        return finished.value
    error = finished.error
    said = str(error) if isinstance(error, PoiseError) else f"{type(error).__name__}: {error}"
    return {"status": "failed", "message": " ".join(said.split())}


def _write_table(table: Path, verb: Verb, rows: list[Row]) -> None:
    """Write the table: failed files first, then the worst. It holds no times, to make it reproducible."""
    rows.sort(key=lambda row: (row["status"] != "failed", row["status"] == "ok", _badness(verb, row), row["file"]))
    text = io.StringIO()
    columns = ["file", "out", "status", *verb.columns, "message"]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
    write_atomically(table, encode_text(text.getvalue()))


def _badness(verb: Verb, row: Row) -> list[float]:
    return [-float(row.get(column) or 0.0) for column in verb.worst]


def _failed(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "failed"]


def _say(rows: list[Row], table: Path, *, as_json: bool) -> int:
    bad = [row for row in rows if row["status"] != "ok"]
    failed = _failed(rows)
    if as_json:
        said: dict[str, Any] = {"files": len(rows), "ok": len(rows) - len(bad), "table": str(table), "rows": rows}
        typer.echo(json.dumps(said, indent=1))
        return 1 if bad else 0
    for row in failed[:_SHOWN]:
        named = one_line(quoted_path(row["file"]))
        say(f"failed: {row['file']}: {row['message'].removeprefix(f'{named}: ')}", err=True)
    if len(failed) > _SHOWN:
        say(f"and {len(failed) - _SHOWN} more", err=True)
    others = f", {len(bad) - len(failed)} with problems" if len(bad) > len(failed) else ""
    failures = f", {len(failed)} failed (the same command retries them)" if failed else ""
    say(f"{len(rows) - len(bad)} of {len(rows)} files good{others}{failures}; table in {table}")
    return 1 if bad else 0
