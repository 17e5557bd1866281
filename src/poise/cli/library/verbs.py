"""Commands with batch support. A command joins by one line in the table.

The verb itself makes a `Work` of what was typed: a value that is called with a file and its new file, in another
process, and gives the row of the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

Row = dict[str, Any]  # columns of the table; "status" is "ok", or a word for what is wrong; "files" are those written


class Verb(NamedTuple):
    """Table columns and kernel groups of a batch command.

    columns  of the table, beside file, out, status and message
    worst    the columns by which rows are sorted, the largest first
    kernels  groups of kernels, as `poise warmup` calls them; a work whose kernels depend on what was typed has `warm`
    does     in words, for the bar
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
