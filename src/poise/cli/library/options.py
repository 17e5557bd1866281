"""Options of batch processing, common to all commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from poise.cli.library.plan import ManyFiles
from poise.errors import InputError

Format = Annotated[
    str | None, typer.Option("--format", metavar="SUFFIX", help="many files: output format, such as bvh")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="many files: overwrite existing outputs")]
Workers = Annotated[
    int | None, typer.Option("--processes", min=1, help="many files: number of processes; default: one per core")
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="ADDRESS", help="many files: a Dask scheduler, tcp://... or local")
]


def library_of(
    out: Path | None, suffix: str | None, *, overwrite: bool, processes: int | None, cluster: str | None
) -> ManyFiles:
    """Build the batch options. InputError where the folder is missing or is a file."""
    if out is None:
        raise InputError("many files need -o FOLDER, the output folder")
    if out.is_symlink() and not out.exists():
        raise InputError(f"-o {out} is a link that leads nowhere: many files need a folder")
    if out.exists() and not out.is_dir():
        raise InputError(f"-o {out} is a file: many files need a folder")
    return ManyFiles(out, suffix, overwrite, processes, cluster)


def refuse(verb: str, **given: object) -> None:
    """Reject single-file options in a batch. Each keyword is the name of an option."""
    wrong = [f"--{name.replace('_', '-')}" for name, value in given.items() if value not in (None, False)]
    if wrong:
        raise InputError(f"poise {verb} with many files takes no {' or '.join(wrong)}: that is for one file")


def only(verb: str, **given: object) -> None:
    """Reject batch options for a single file."""
    wrong = [f"--{name.replace('_', '-')}" for name, value in given.items() if value not in (None, False)]
    if wrong:
        raise InputError(f"poise {verb} with one file takes no {' or '.join(wrong)}: give several, or a folder")
