"""Batch runs with a checkpoint file, and their result table.

The checkpoint is in the output folder while the batch runs. Its first line identifies the job: command, options, files.
Lines are only appended: after a kill at most the last one is incomplete. A run of the same job resumes from it and
retries failed files; it is deleted when every file is done.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import warnings
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TextIO

import typer

import poise
from poise.batch.each import Finished, iterate_completed, open_cluster
from poise.cli.batch_files import (
    BATCH_COMMANDS,
    BatchCommand,
    BatchOptions,
    FileJob,
    FilePair,
    ResultRow,
    check_outputs_absent,
    plan_outputs,
)
from poise.cli.files import check_batch_outputs
from poise.cli.progress import show_progress
from poise.cli.terminal import say
from poise.errors import FileError, InputError, PoiseError, PoiseWarning, escape_controls, quote_path
from poise.io.files import encode_text, find_leftovers, write_atomically

_END_LINE = json.dumps({"ended": True})


def read_file_stamp(file: Path) -> list[int]:
    """Read size and modification time of a file. A changed file is processed again."""
    try:
        status = file.stat()
    except OSError:
        return []
    return [status.st_size, status.st_mtime_ns]


class Journal:
    """Checkpoint of a batch in its output folder, read at construction.

    Parameters
    ----------
    folder
        The output folder.
    command
        The command.
    job
        Complete description of the job: the repr of a `FileJob`.
    pairs
        Input and output paths.
    restart
        Start over after a completed run with failed files. An interrupted run is always resumed.
    """

    def __init__(
        self, folder: Path, command: str, job: str, pairs: Sequence[FilePair], *, restart: bool = False
    ) -> None:
        self.path = folder / f".poise-{command}.journal"
        identity = [
            poise.__version__,
            command,
            job,
            [[str(pair.file.resolve()), str(pair.out.resolve())] for pair in pairs],
        ]
        self._job = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        self._pairs = {str(pair.out): pair for pair in pairs}
        self.is_resumed, self.rows = self._read(restart=restart)
        self._file: TextIO | None = None

    def _read(self, *, restart: bool) -> tuple[bool, dict[str, ResultRow]]:
        """Read the checkpoint. Return whether this batch is resumed, and the rows of finished files by output path."""
        try:
            lines = self.path.read_text(encoding="utf-8").split("\n")
        except OSError:
            return False, {}
        first_line, *entry_lines = lines[:-1] or [""]  # an incomplete last line was cut off
        if _parse_line(first_line).get("job") != self._job or (restart and _END_LINE in entry_lines):
            return False, {}
        rows: dict[str, ResultRow] = {}
        for entry in map(_parse_line, entry_lines):
            pair, row = self._pairs.get(entry.get("out", "")), entry.get("row", {})
            if pair is not None and row.get("status") != "failed" and _is_unchanged(entry, pair):
                rows[str(pair.out)] = row
        return True, rows

    def __enter__(self) -> Self:
        lines = [json.dumps({"job": self._job}), *(self._format_line(name, row) for name, row in self.rows.items())]
        write_atomically(self.path, "".join(f"{line}\n" for line in lines).encode())
        try:
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise FileError(self.path, f"cannot write here: {error.strerror}") from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, pair: FilePair, row: ResultRow) -> None:
        """Record a finished file."""
        self.rows[str(pair.out)] = row
        assert self._file is not None
        self._file.write(self._format_line(str(pair.out), row) + "\n")
        self._file.flush()

    def _format_line(self, name: str, row: ResultRow) -> str:
        return json.dumps({"out": name, "stamp": read_file_stamp(self._pairs[name].file), "row": row})

    def end(self) -> None:
        """Finish the batch after its table is written.

        The checkpoint is deleted, unless files failed: a rerun retries those.
        """
        if all(row["status"] != "failed" for row in self.rows.values()):
            self.path.unlink(missing_ok=True)
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{_END_LINE}\n")


def _parse_line(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_unchanged(entry: dict[str, Any], pair: FilePair) -> bool:
    """Return whether input and outputs of a file are unchanged."""
    files = entry.get("row", {}).get("files") or [str(pair.out)]
    return entry.get("stamp") == read_file_stamp(pair.file) and all(Path(file).is_file() for file in files)


def remove_leftovers(outs: Iterable[Path]) -> None:
    """Remove partial output files of a killed run. Other hidden files are not touched."""
    for path in find_leftovers(outs):
        path.unlink(missing_ok=True)


# --- Batch runs: plan, check, process on all cores, write a table ----------------------------------------------------
#
# The table begins with the worst files.


_MAX_WARM_FILES = 3  # files tried, to find one that compiles the kernels
_MAX_SHOWN_FAILURES = 5  # failed files listed on standard error


@dataclass(frozen=True)
class _PairJob:
    """Adapter of a job to `each`, called with a file pair."""

    job: FileJob

    def __call__(self, pair: FilePair) -> ResultRow:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PoiseWarning)  # worker processes lack the command line's filters
            row = self.job(*pair)
        warning_texts = (
            str(warning.message).removeprefix(f"{escape_controls(str(pair.file))}: ") for warning in caught
        )
        message = row.get("message", "")
        more = [line for line in dict.fromkeys(warning_texts) if line not in message]
        return {**row, "message": "; ".join([message] * bool(message) + more)}


def run_batch(
    name: str, inputs: Sequence[Path], options: BatchOptions, job: FileJob, *, as_json: bool, each_clip: bool = False
) -> int:
    """Run a batch and return the exit code. 0: all succeeded, 1: some failed. Misuse is rejected before any work.

    each_clip  whether each clip has its own output file, for formats of one clip per file
    """
    file_pairs = plan_outputs(inputs, options.folder, options.suffix)
    command, table = BATCH_COMMANDS[name], options.folder / f"poise-{name}.csv"
    taken = next((pair.file for pair in file_pairs if str(pair.out).casefold() == str(table).casefold()), None)
    if taken is not None:
        raise InputError(f"{taken} would be written to {table}, where the table of all files goes: rename it")
    journal = Journal(options.folder, name, repr(job), file_pairs, restart=options.overwrite)
    resumed = [pair.out for pair in file_pairs] if journal.is_resumed else []
    check_outputs_absent(
        [*file_pairs, FilePair(table, table)], [*resumed, *[table] * journal.is_resumed], overwrite=options.overwrite
    )
    if each_clip:
        check_batch_outputs(file_pairs, overwrite=options.overwrite or journal.is_resumed)
    _make_folders([*file_pairs, FilePair(table, table)])
    outputs = [*(pair.out for pair in file_pairs), table]
    if journal.is_resumed:
        remove_leftovers(outputs)
    remaining = [pair for pair in file_pairs if str(pair.out) not in journal.rows]
    if journal.rows:
        say(f"resuming: {len(journal.rows)} of {len(file_pairs)} were finished", err=True)
    with journal:
        try:
            _run_files(command, remaining, options, job, journal)
        except KeyboardInterrupt:
            remove_leftovers(outputs)
            status = (
                f"stopped: {len(journal.rows)} of {len(file_pairs)} are finished and kept; the same command resumes"
            )
            say(status, err=True)
            raise typer.Exit(130) from None
    rows = [{"file": str(pair.file), "out": str(pair.out)} | journal.rows[str(pair.out)] for pair in file_pairs]
    _write_table(table, command, rows)
    journal.end()
    return _print_summary(rows, table, as_json=as_json)


def _make_folders(file_pairs: Sequence[FilePair]) -> None:
    for folder in sorted({pair.out.parent for pair in file_pairs}):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(folder, f"cannot make this folder: {error.strerror}") from error


def _run_files(
    command: BatchCommand, remaining: list[FilePair], options: BatchOptions, job: FileJob, journal: Journal
) -> None:
    """Process the remaining files and record each finished one."""
    if not remaining:
        return
    _compile_kernels(command, job, remaining)
    with (
        _open_executor(options) as executor,
        show_progress(command.progress_label, len(remaining), rate=True) as advance,
    ):
        results = iterate_completed(
            remaining, _PairJob(job), executor=executor, processes=_count_processes(options, remaining)
        )
        try:
            for number, finished in results:
                journal.add(remaining[number], _build_row(finished))
                advance(1, "")
        finally:
            results.close()


def _compile_kernels(command: BatchCommand, job: FileJob, remaining: list[FilePair]) -> None:
    """Compile the needed kernels once, in this process. Workers load them from disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoiseWarning)  # warnings are in the row of each file
        _warm_up(command, job, remaining)


def _warm_up(command: BatchCommand, job: FileJob, remaining: list[FilePair]) -> None:
    if command.kernel_groups:
        from poise.precompile import list_steps  # noqa: PLC0415  (imports all kernels)

        for _, step in (pair for group in command.kernel_groups for pair in list_steps(group)):
            step()
    warm: Any = getattr(job, "warm", None)
    for pair in remaining[: _MAX_WARM_FILES if warm else 0]:
        try:
            warm(pair.file)
        except PoiseError:  # this file is reported as failed later; try another one
            continue
        return


def _count_processes(options: BatchOptions, remaining: list[FilePair]) -> int | None:
    if options.processes is not None:
        return min(options.processes, len(remaining))
    return 1 if len(remaining) == 1 else None


@contextmanager
def _open_executor(options: BatchOptions) -> Generator[Executor | None]:
    if options.cluster is None:
        yield None
        return
    with open_cluster(options.cluster, processes=options.processes) as executor:
        yield executor


def _build_row(finished: Finished) -> ResultRow:
    """Build the row of a file.

    A failed file has the reason; exceptions from outside Poise are prefixed with their type.
    """
    if finished.error is None:
        return finished.value
    error = finished.error
    message = str(error) if isinstance(error, PoiseError) else f"{type(error).__name__}: {error}"
    return {"status": "failed", "message": " ".join(message.split())}


def _write_table(table: Path, command: BatchCommand, rows: list[ResultRow]) -> None:
    """Write the table: failed files first, then the worst. It holds no times, to make it reproducible."""
    rows.sort(
        key=lambda row: (row["status"] != "failed", row["status"] == "ok", _build_sort_key(command, row), row["file"])
    )
    text = io.StringIO()
    columns = ["file", "out", "status", *command.columns, "message"]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
    write_atomically(table, encode_text(text.getvalue()))


def _build_sort_key(command: BatchCommand, row: ResultRow) -> list[float]:
    return [-float(row.get(column) or 0.0) for column in command.sort_columns]


def _list_failed(rows: list[ResultRow]) -> list[ResultRow]:
    return [row for row in rows if row["status"] == "failed"]


def _print_summary(rows: list[ResultRow], table: Path, *, as_json: bool) -> int:
    not_ok = [row for row in rows if row["status"] != "ok"]
    failed = _list_failed(rows)
    if as_json:
        document: dict[str, Any] = {
            "files": len(rows),
            "ok": len(rows) - len(not_ok),
            "table": str(table),
            "rows": rows,
        }
        typer.echo(json.dumps(document, indent=1))
        return 1 if not_ok else 0
    for row in failed[:_MAX_SHOWN_FAILURES]:
        file_name = escape_controls(quote_path(row["file"]))
        say(f"failed: {row['file']}: {row['message'].removeprefix(f'{file_name}: ')}", err=True)
    if len(failed) > _MAX_SHOWN_FAILURES:
        say(f"and {len(failed) - _MAX_SHOWN_FAILURES} more", err=True)
    others = f", {len(not_ok) - len(failed)} with problems" if len(not_ok) > len(failed) else ""
    failures = f", {len(failed)} failed (the same command retries them)" if failed else ""
    say(f"{len(rows) - len(not_ok)} of {len(rows)} files good{others}{failures}; table in {table}")
    return 1 if not_ok else 0
