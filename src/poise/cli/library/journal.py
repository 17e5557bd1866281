"""Checkpoint of a batch: one line for each finished file. It is kept beside the new files while the batch runs.

The first line identifies the job: command, options, files. Lines are only appended: after a kill at most the last one
is incomplete. A run of the same job resumes from it and retries failed files; it is deleted when every file is done.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self, TextIO

import poise
from poise.cli.library.plan import FilePair
from poise.cli.library.verbs import Row
from poise.errors import FileError
from poise.io.files import find_leftovers, write_atomically

_ENDED = json.dumps({"ended": True})


def stamp_of(file: Path) -> list[int]:
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
    verb
        The command.
    job
        Complete description of the job: the repr of a `FileJob`.
    pairs
        Input and output paths.
    restart
        Start over after a completed run with failed files. An interrupted run is always resumed.
    """

    def __init__(self, folder: Path, verb: str, work: str, pairs: Sequence[FilePair], *, anew: bool = False) -> None:
        self.path = folder / f".poise-{verb}.journal"
        said = [poise.__version__, verb, work, [[str(pair.file.resolve()), str(pair.out.resolve())] for pair in pairs]]
        self._job = hashlib.sha256(json.dumps(said).encode()).hexdigest()
        self._pairs = {str(pair.out): pair for pair in pairs}
        self.is_resumed, self.rows = self._read(anew=anew)
        self._file: TextIO | None = None

    def _read(self, *, anew: bool) -> tuple[bool, dict[str, Row]]:
        """Read the checkpoint. Return whether this batch is resumed, and the rows of finished files by output path."""
        try:
            lines = self.path.read_text(encoding="utf-8").split("\n")
        except OSError:
            return False, {}
        first, *others = lines[:-1] or [""]  # an incomplete last line was cut off
        if _parsed(first).get("job") != self._job or (anew and _ENDED in others):
            return False, {}
        rows: dict[str, Row] = {}
        for entry in map(_parsed, others):
            pair, row = self._pairs.get(entry.get("out", "")), entry.get("row", {})
            if pair is not None and row.get("status") != "failed" and _is_there(entry, pair):
                rows[str(pair.out)] = row
        return True, rows

    def __enter__(self) -> Self:
        whole = [json.dumps({"job": self._job}), *(self._line(name, row) for name, row in self.rows.items())]
        write_atomically(self.path, "".join(f"{line}\n" for line in whole).encode())
        try:
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise FileError(self.path, f"cannot write here: {error.strerror}") from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, pair: FilePair, row: Row) -> None:
        """Record a finished file."""
        self.rows[str(pair.out)] = row
        assert self._file is not None
        self._file.write(self._line(str(pair.out), row) + "\n")
        self._file.flush()

    def _line(self, name: str, row: Row) -> str:
        return json.dumps({"out": name, "stamp": stamp_of(self._pairs[name].file), "row": row})

    def end(self) -> None:
        """Finish the batch after its table is written.

        The checkpoint is deleted, unless files failed: a rerun retries those.
        """
        if all(row["status"] != "failed" for row in self.rows.values()):
            self.path.unlink(missing_ok=True)
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{_ENDED}\n")


def _parsed(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_there(entry: dict[str, Any], pair: FilePair) -> bool:
    """Return whether input and outputs of a file are unchanged."""
    files = entry.get("row", {}).get("files") or [str(pair.out)]
    return entry.get("stamp") == stamp_of(pair.file) and all(Path(file).is_file() for file in files)


def sweep(outs: Iterable[Path]) -> None:
    """Remove partial output files of a killed run. Other hidden files are not touched."""
    for path in find_leftovers(outs):
        path.unlink(missing_ok=True)
