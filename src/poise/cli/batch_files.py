"""Commands, options and file paths of batch runs.

A command needs one line in the table of commands. It builds a `FileJob` from its options: a value called with an input
and an output path in a worker process. The call returns the table row.
"""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

import typer

from poise.errors import FileError, InputError, join_names
from poise.io.registry import find_writer, list_formats

ResultRow = dict[str, Any]  # table columns; "status" is "ok" or the kind of problem, "files" are the written ones


class BatchCommand(NamedTuple):
    """Table columns and kernel groups of a batch command.

    columns         table columns besides file, out, status and message
    sort_columns    columns that sort the rows, largest first
    kernel_groups   groups of `poise warmup`; a job with option-dependent kernels has `warm`
    progress_label  label of the progress bar
    """

    columns: tuple[str, ...]
    sort_columns: tuple[str, ...]
    kernel_groups: tuple[str, ...]
    progress_label: str


_FOOT_COLUMNS = ("frames", "skate_before", "skate_after", "sunk_after", "floating_after", "worse")

BATCH_COMMANDS: dict[str, BatchCommand] = {
    "convert": BatchCommand(("clips", "frames", "fps", "off", "share", "lost"), ("share",), (), "converting"),
    "plant": BatchCommand(_FOOT_COLUMNS, ("worse", "skate_after"), ("feet",), "planting"),
    "lock": BatchCommand(_FOOT_COLUMNS, ("worse", "skate_after"), ("feet",), "locking"),
    "retarget": BatchCommand(
        ("frames", "arms", "legs", "skate", "worse"), ("worse", "legs"), ("feet",), "retargeting"
    ),
    "solve": BatchCommand(
        ("frames", "missed", "position_error", "angle_error", "solver"),
        ("missed", "position_error", "angle_error"), (), "solving",
    ),
}  # fmt: skip


class FileJob(Protocol):
    """Job for one file of a batch. It is pickled for worker processes: a frozen dataclass of plain values."""

    def __call__(self, file: Path, out: Path) -> ResultRow:
        """Process a file, write the output, return the table row. An exception becomes the row of a failed file."""
        ...


class WarmFileJob(FileJob, Protocol):
    """Job with its own kernel compilation, before workers start."""

    def warm(self, file: Path) -> None:
        """Run a small part of the job on a file. Nothing is written."""
        ...


# --- Input and output paths of a batch -------------------------------------------------------------------------------
#
# Conflicts are rejected before any work.


_GLOB_CHARACTERS = "*?["


class FilePair(NamedTuple):
    """Input path and output path."""

    file: Path
    out: Path


class BatchOptions(NamedTuple):
    """Options of a batch.

    folder     output folder
    suffix     suffix of the outputs; None: that of each input
    overwrite  whether existing outputs are replaced
    processes  number of processes; None: one per core
    cluster    address of a scheduler; None: processes on this machine
    """

    folder: Path
    suffix: str | None = None
    overwrite: bool = False
    processes: int | None = None
    cluster: str | None = None


def is_batch(inputs: Sequence[Path], out: Path | None) -> bool:
    """Return whether a call is a batch. It has several files, a folder or a pattern, or writes to a folder."""
    return (
        len(inputs) > 1 or any(path.is_dir() or is_glob(path) for path in inputs) or (out is not None and out.is_dir())
    )


def is_glob(path: Path) -> bool:
    """Return whether a path is a glob pattern."""
    return any(character in str(path) for character in _GLOB_CHARACTERS) and not path.exists()


def plan_outputs(
    inputs: Sequence[Path], folder: Path, suffix: str | None, readable: Collection[str] | None = None
) -> list[FilePair]:
    """List every input file with its output path.

    A folder stands for all readable files in it and below it; their relative paths are preserved. A pattern is `*.bvh`,
    or `**/*.bvh` to include subfolders. `suffix` is that of the outputs; by default each keeps its own. `readable` are
    the suffixes that are looked for in folders; by default those that `load` reads.

    FileError for a missing file, InputError if two inputs have the same output, or an input would be overwritten.
    """
    file_pairs = [
        FilePair(file, folder / relative_path)
        for input_path in inputs
        for file, relative_path in _list_input_files(input_path, folder.resolve(), readable)
    ]
    first_pairs = {pair.file.resolve(): pair for pair in reversed(file_pairs)}
    unique_pairs = [pair for pair in file_pairs if first_pairs[pair.file.resolve()] is pair]
    if not unique_pairs:
        raise InputError(f"no file to work on in {join_names(map(str, inputs))}")
    if suffix is not None:
        unique_pairs = [
            pair._replace(out=pair.out.with_suffix("." + suffix.removeprefix("."))) for pair in unique_pairs
        ]
    for out in {pair.out.suffix: pair.out for pair in unique_pairs}.values():
        find_writer(out)
    _check_distinct_outputs(unique_pairs)
    return sorted(unique_pairs, key=lambda pair: str(pair.out))


def _list_input_files(
    input_path: Path, output_folder: Path, readable: Collection[str] | None
) -> Iterable[tuple[Path, Path]]:
    """List the files of an input with their relative output paths. Files in the output folder are skipped."""
    if input_path.is_dir():
        if input_path.resolve() == output_folder:
            raise InputError(f"{input_path} is read from and written to: give another folder with -o")
        readable_suffixes = readable or {suffix for suffix, module in list_formats().items() if hasattr(module, "read")}
        files = sorted(
            path for path in input_path.rglob("*") if path.suffix.lower() in readable_suffixes and path.is_file()
        )
        input_files = [path for path in files if not path.resolve().is_relative_to(output_folder)]
        visible_files = [
            path for path in input_files if not any(part.startswith(".") for part in path.relative_to(input_path).parts)
        ]
        return [(path, path.relative_to(input_path)) for path in visible_files]
    if is_glob(input_path):
        return [(path, Path(path.name)) for path in _match_files(input_path)]
    if not input_path.exists():
        raise FileError(input_path, "there is no such file")
    return [(input_path, Path(input_path.name))]


def _match_files(pattern: Path) -> list[Path]:
    """Expand a glob pattern. Some shells leave this to the program."""
    names = glob.glob(str(pattern), recursive=True)  # noqa: PTH207  (Path.glob takes no pattern with a root)
    return sorted(path for path in map(Path, names) if path.is_file())


def _check_distinct_outputs(file_pairs: list[FilePair]) -> None:
    """Check for shared outputs and overwritten inputs.

    Paths are compared without case, as on case-insensitive systems.
    """
    inputs_by_output: dict[str, Path] = {}
    input_files = {pair.file.resolve() for pair in file_pairs}
    for file, out in file_pairs:
        other_file = inputs_by_output.setdefault(str(out).casefold(), file)
        if other_file is not file:
            raise InputError(
                f"{other_file} and {file} would both be written to {out}: rename one, or process them separately"
            )
        if out.resolve() in input_files:
            raise InputError(f"{out} is one of the files to work on: give another folder with -o")


def check_outputs_absent(file_pairs: Sequence[FilePair], resumed_outputs: Iterable[Path], *, overwrite: bool) -> None:
    """Raise InputError for existing outputs.

    Outputs of an interrupted run of the same job (`resumed_outputs`) are excepted.
    """
    excepted_outputs = set(resumed_outputs)
    existing_outputs = [out for _, out in file_pairs if out not in excepted_outputs and out.exists()]
    if existing_outputs and not overwrite:
        names = join_names(map(str, existing_outputs[:3]))
        remainder_text = f" and {len(existing_outputs) - 3} more" if len(existing_outputs) > 3 else ""  # noqa: PLR2004
        raise InputError(f"these outputs exist: {names}{remainder_text}; --overwrite replaces them")


# --- Options of batch processing, common to all commands -------------------------------------------------------------


FormatOption = Annotated[
    str | None, typer.Option("--format", metavar="SUFFIX", help="many files: output format, such as bvh")
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="many files: overwrite existing outputs")]
ProcessesOption = Annotated[
    int | None, typer.Option("--processes", min=1, help="many files: number of processes; default: one per core")
]
ClusterOption = Annotated[
    str | None, typer.Option("--cluster", metavar="ADDRESS", help="many files: a Dask scheduler, tcp://... or local")
]


def build_batch_options(
    out: Path | None, suffix: str | None, *, overwrite: bool, processes: int | None, cluster: str | None
) -> BatchOptions:
    """Build the batch options. InputError where the folder is missing or is a file."""
    if out is None:
        raise InputError("many files need -o FOLDER, the output folder")
    if out.is_symlink() and not out.exists():
        raise InputError(f"-o {out} is a link that leads nowhere: many files need a folder")
    if out.exists() and not out.is_dir():
        raise InputError(f"-o {out} is a file: many files need a folder")
    return BatchOptions(out, suffix, overwrite, processes, cluster)


def reject_single_file_options(command: str, **options: object) -> None:
    """Reject single-file options in a batch. Each keyword is the name of an option."""
    _reject_options(f"poise {command} with many files", "that is for one file", options)


def reject_batch_options(command: str, **options: object) -> None:
    """Reject batch options for a single file."""
    _reject_options(f"poise {command} with one file", "give several, or a folder", options)


def _reject_options(call_text: str, advice: str, options: Mapping[str, object]) -> None:
    rejected_options = [f"--{name.replace('_', '-')}" for name, value in options.items() if value not in (None, False)]
    if rejected_options:
        raise InputError(f"{call_text} takes no {' or '.join(rejected_options)}: {advice}")
