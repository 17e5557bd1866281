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
from collections.abc import Collection, Generator, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TextIO

import typer

import poise
from poise.batch.parallel_jobs import Finished, iterate_completed, open_cluster
from poise.calls.progress import show_progress_bar
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
from poise.cli.input_output_files import check_batch_outputs
from poise.cli.terminal import say
from poise.errors import FileError, InputError, PoiseError, PoiseWarning, escape_controls, quote_path
from poise.io.files import encode_text, find_leftovers, write_atomically
from poise.io.json_units import FOOT_ROW_UNITS, build_units

_END_LINE = json.dumps({"ended": True})


def read_file_stamp(file: Path) -> list[int]:
    """Read size and modification time of a file. A changed file is processed again."""
    try:
        file_status = file.stat()
    except OSError:
        return []
    return [file_status.st_size, file_status.st_mtime_ns]


class Journal:
    """Checkpoint of a batch in its output folder, read at construction.

    Parameters
    ----------
    folder
        The output folder.
    command
        The command.
    job_text
        Complete description of the job: the repr of a `FileJob`.
    file_pairs
        Input and output paths.
    restart
        Start over after a completed run with failed files. An interrupted run is always resumed.
    """

    def __init__(
        self, folder: Path, command: str, job_text: str, file_pairs: Sequence[FilePair], *, restart: bool = False
    ) -> None:
        self.path: Path = folder / f".poise-{command}.journal"
        identity = [
            poise.__version__,
            command,
            job_text,
            [[str(pair.file.resolve()), str(pair.out.resolve())] for pair in file_pairs],
        ]
        self._job_hash = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        self._pairs_by_output = {str(pair.out): pair for pair in file_pairs}
        self.is_resumed: bool
        self.rows_by_output: dict[str, ResultRow]
        self.is_resumed, self.rows_by_output = self._read(restart=restart)
        self._file: TextIO | None = None

    def _read(self, *, restart: bool) -> tuple[bool, dict[str, ResultRow]]:
        """Read the checkpoint. Return whether this batch is resumed, and the rows of finished files by output path."""
        try:
            lines = self.path.read_text(encoding="utf-8").split("\n")
        except OSError:
            return False, {}
        first_line, *entry_lines = lines[:-1] or [""]  # an incomplete last line was cut off
        if _parse_line(first_line).get("job") != self._job_hash or (restart and _END_LINE in entry_lines):
            return False, {}
        rows: dict[str, ResultRow] = {}
        for entry in map(_parse_line, entry_lines):
            pair, row = self._pairs_by_output.get(entry.get("out", "")), entry.get("row", {})
            if pair is not None and row.get("status") != "failed" and _is_unchanged(entry, pair):
                rows[str(pair.out)] = row
        return True, rows

    def __enter__(self) -> Self:
        lines = [
            json.dumps({"job": self._job_hash}),
            *(self._format_line(name, row) for name, row in self.rows_by_output.items()),
        ]
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
        self.rows_by_output[str(pair.out)] = row
        assert self._file is not None
        self._file.write(self._format_line(str(pair.out), row) + "\n")
        self._file.flush()

    def _format_line(self, output_name: str, row: ResultRow) -> str:
        return json.dumps(
            {"out": output_name, "stamp": read_file_stamp(self._pairs_by_output[output_name].file), "row": row}
        )

    def end(self) -> None:
        """Finish the batch after its table is written.

        The checkpoint is deleted, unless files failed: a rerun retries those.
        """
        if all(row["status"] != "failed" for row in self.rows_by_output.values()):
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
    output_files = entry.get("row", {}).get("files") or [str(pair.out)]
    return entry.get("stamp") == read_file_stamp(pair.file) and all(Path(file).is_file() for file in output_files)


def remove_leftovers(outputs: Iterable[Path]) -> None:
    """Remove partial output files of a killed run. Other hidden files are not touched."""
    for path in find_leftovers(outputs):
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
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always", PoiseWarning)  # worker processes lack the command line's filters
            row = self.job(*pair)
        warning_texts = (
            str(warning.message).removeprefix(f"{escape_controls(str(pair.file))}: ") for warning in caught_warnings
        )
        message = row.get("message", "")
        warning_lines = [line for line in dict.fromkeys(warning_texts) if line not in message]
        return {**row, "message": "; ".join([message] * bool(message) + warning_lines)}


def run_batch(
    command_name: str,
    inputs: Sequence[Path],
    options: BatchOptions,
    job: FileJob,
    *,
    as_json: bool,
    splits_clips: bool = False,
    readable: Collection[str] | None = None,
) -> int:
    """Run a batch and return the exit code. 0: all succeeded, 1: some failed. Misuse is rejected before any work.

    splits_clips  whether each clip has its own output file, for formats of one clip per file
    readable      suffixes of the files in a folder; by default those that `load` reads
    """
    file_pairs = plan_outputs(inputs, options.folder, options.suffix, readable)
    batch_command, table_path = BATCH_COMMANDS[command_name], options.folder / f"poise-{command_name}.csv"
    conflicting_input = next(
        (pair.file for pair in file_pairs if str(pair.out).casefold() == str(table_path).casefold()), None
    )
    if conflicting_input is not None:
        raise InputError(
            f"{conflicting_input} would be written to {table_path}, where the table of all files goes: rename it"
        )
    journal = Journal(options.folder, command_name, repr(job), file_pairs, restart=options.overwrite)
    resumed_outputs = [pair.out for pair in file_pairs] if journal.is_resumed else []
    check_outputs_absent(
        [*file_pairs, FilePair(table_path, table_path)],
        [*resumed_outputs, *[table_path] * journal.is_resumed],
        overwrite=options.overwrite,
    )
    if splits_clips:
        check_batch_outputs(file_pairs, overwrite=options.overwrite or journal.is_resumed)
    _make_folders([*file_pairs, FilePair(table_path, table_path)])
    outputs = [*(pair.out for pair in file_pairs), table_path]
    if journal.is_resumed:
        remove_leftovers(outputs)
    remaining_pairs = [pair for pair in file_pairs if str(pair.out) not in journal.rows_by_output]
    if journal.rows_by_output:
        say(f"resuming: {len(journal.rows_by_output)} of {len(file_pairs)} were finished", err=True)
    with journal:
        try:
            _run_files(batch_command, remaining_pairs, options, job, journal)
        except KeyboardInterrupt:
            remove_leftovers(outputs)
            finished_text = f"{len(journal.rows_by_output)} of {len(file_pairs)} are finished and kept"
            say(f"stopped: {finished_text}; the same command resumes", err=True)
            raise typer.Exit(130) from None
    rows = [
        {"file": str(pair.file), "out": str(pair.out)} | journal.rows_by_output[str(pair.out)] for pair in file_pairs
    ]
    _write_table(table_path, batch_command, rows)
    journal.end()
    return _print_summary(rows, table_path, as_json=as_json)


def _make_folders(file_pairs: Sequence[FilePair]) -> None:
    for folder in sorted({pair.out.parent for pair in file_pairs}):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(folder, f"cannot make this folder: {error.strerror}") from error


def _run_files(
    batch_command: BatchCommand, remaining_pairs: list[FilePair], options: BatchOptions, job: FileJob, journal: Journal
) -> None:
    """Process the remaining files and record each finished one."""
    if not remaining_pairs:
        return
    _compile_kernels(batch_command, job, remaining_pairs)
    with (
        _open_executor(options) as executor,
        show_progress_bar(batch_command.progress_label, len(remaining_pairs), shows_rate=True) as advance,
    ):
        results = iterate_completed(
            remaining_pairs, _PairJob(job), executor=executor, processes=_count_processes(options, remaining_pairs)
        )
        try:
            for pair_index, finished in results:
                journal.add(remaining_pairs[pair_index], _build_row(finished))
                advance(1, "")
        finally:
            results.close()


def _compile_kernels(batch_command: BatchCommand, job: FileJob, remaining_pairs: list[FilePair]) -> None:
    """Compile the needed kernels once, in this process. Workers load them from disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoiseWarning)  # warnings are in the row of each file
        _warm_up(batch_command, job, remaining_pairs)


def _warm_up(batch_command: BatchCommand, job: FileJob, remaining_pairs: list[FilePair]) -> None:
    if batch_command.kernel_groups:
        from poise.precompile import list_steps  # noqa: PLC0415  (imports all kernels)

        for _, step in (named_step for group in batch_command.kernel_groups for named_step in list_steps(group)):
            step()
    warm_job: Any = getattr(job, "warm", None)
    for pair in remaining_pairs[: _MAX_WARM_FILES if warm_job else 0]:
        try:
            warm_job(pair.file)
        except PoiseError:  # this file is reported as failed later; try another one
            continue
        return


def _count_processes(options: BatchOptions, remaining_pairs: list[FilePair]) -> int | None:
    if options.processes is not None:
        return min(options.processes, len(remaining_pairs))
    return 1 if len(remaining_pairs) == 1 else None


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


def _write_table(table_path: Path, batch_command: BatchCommand, rows: list[ResultRow]) -> None:
    """Write the table: failed files first, then the worst. It holds no times, to make it reproducible."""
    rows.sort(
        key=lambda row: (
            row["status"] != "failed",
            row["status"] == "ok",
            _build_sort_key(batch_command, row),
            row["file"],
        )
    )
    csv_buffer = io.StringIO()
    columns = ["file", "out", "status", *batch_command.columns, "message"]
    writer = csv.DictWriter(csv_buffer, columns, extrasaction="ignore", restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
    write_atomically(table_path, encode_text(csv_buffer.getvalue()))


def _build_sort_key(batch_command: BatchCommand, row: ResultRow) -> list[float]:
    return [-float(row.get(column) or 0.0) for column in batch_command.sort_columns]


def _list_failed(rows: list[ResultRow]) -> list[ResultRow]:
    return [row for row in rows if row["status"] == "failed"]


def _print_summary(rows: list[ResultRow], table_path: Path, *, as_json: bool) -> int:
    problem_rows = [row for row in rows if row["status"] != "ok"]
    failed_rows = _list_failed(rows)
    if as_json:
        document: dict[str, Any] = {
            "files": len(rows),
            "ok": len(rows) - len(problem_rows),
            "table": str(table_path),
            "units": build_units(None, **FOOT_ROW_UNITS),
            "rows": rows,
        }
        typer.echo(json.dumps(document, indent=1))
        return 1 if problem_rows else 0
    for row in failed_rows[:_MAX_SHOWN_FAILURES]:
        file_name = escape_controls(quote_path(row["file"]))
        say(f"failed: {row['file']}: {row['message'].removeprefix(f'{file_name}: ')}", err=True)
    if len(failed_rows) > _MAX_SHOWN_FAILURES:
        say(f"and {len(failed_rows) - _MAX_SHOWN_FAILURES} more", err=True)
    problem_text = (
        f", {len(problem_rows) - len(failed_rows)} with problems" if len(problem_rows) > len(failed_rows) else ""
    )
    failure_text = f", {len(failed_rows)} failed (the same command retries them)" if failed_rows else ""
    say(f"{len(rows) - len(problem_rows)} of {len(rows)} files good{problem_text}{failure_text}; table in {table_path}")
    return 1 if problem_rows else 0
