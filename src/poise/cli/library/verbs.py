"""Commands with batch support. A command joins by one line in the table.

The command builds a `FileJob` from its options: a value called with an input and an output path in a worker process,
which returns the table row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

Row = dict[str, Any]  # table columns; "status" is "ok" or the kind of problem, "files" are the written ones


class Verb(NamedTuple):
    """Table columns and kernel groups of a batch command.

    columns         table columns besides file, out, status and message
    sort_columns    columns that sort the rows, largest first
    kernel_groups   groups of `poise warmup`; a job with option-dependent kernels has `warm`
    progress_label  label of the progress bar
    """

    columns: tuple[str, ...]
    worst: tuple[str, ...]
    kernels: tuple[str, ...]
    does: str


_FEET = ("frames", "skate_before", "skate_after", "sunk_after", "floating_after", "worse")

VERBS: dict[str, Verb] = {
    "convert": Verb(("clips", "frames", "fps", "off", "share", "lost"), ("share",), (), "converting"),
    "plant": Verb(_FEET, ("worse", "skate_after"), ("feet",), "planting"),
    "lock": Verb(_FEET, ("worse", "skate_after"), ("feet",), "locking"),
    "solve": Verb(
        ("frames", "missed", "position_error", "angle_error", "solver"),
        ("missed", "position_error", "angle_error"), (), "solving",
    ),
}  # fmt: skip


class Work(Protocol):
    """Job for one file of a batch. It is pickled for worker processes: a frozen dataclass of plain values."""

    def __call__(self, file: Path, out: Path) -> Row:
        """Process a file, write the output, return the table row. An exception becomes the row of a failed file."""
        ...


class WarmWork(Work, Protocol):
    """Job with its own kernel compilation, before workers start."""

    def warm(self, file: Path) -> None:
        """Run a small part of the job on a file. Nothing is written."""
        ...
