"""Input and output paths of a batch. Conflicts are rejected before any work."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from poise.errors import FileError, InputError, listed
from poise.io.registry import formats, writer

_MAGIC = "*?["


class FilePair(NamedTuple):
    """Input path and output path."""

    file: Path
    out: Path


class ManyFiles(NamedTuple):
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


def is_library(inputs: Sequence[Path], out: Path | None) -> bool:
    """Return whether a call is a batch. It has several files, a folder or a pattern, or writes to a folder."""
    return (
        len(inputs) > 1 or any(one.is_dir() or is_pattern(one) for one in inputs) or (out is not None and out.is_dir())
    )


def is_pattern(path: Path) -> bool:
    """Return whether a path is a glob pattern."""
    return any(letter in str(path) for letter in _MAGIC) and not path.exists()


def pairs(inputs: Sequence[Path], folder: Path, suffix: str | None) -> list[FilePair]:
    """List every input file with its output path.

    A folder stands for all readable files in it and below it; their relative paths are preserved. A pattern is `*.bvh`,
    or `**/*.bvh` to include subfolders. `suffix` is that of the outputs; by default each keeps its own.

    FileError for a missing file, InputError if two inputs have the same output, or an input would be overwritten.
    """
    found = [FilePair(file, folder / place) for one in inputs for file, place in _files(one, folder.resolve())]
    once = {pair.file.resolve(): pair for pair in reversed(found)}
    kept = [pair for pair in found if once[pair.file.resolve()] is pair]
    if not kept:
        raise InputError(f"no file to work on in {listed(map(str, inputs))}")
    if suffix is not None:
        kept = [pair._replace(out=pair.out.with_suffix("." + suffix.removeprefix("."))) for pair in kept]
    for out in {pair.out.suffix: pair.out for pair in kept}.values():
        writer(out)
    _check_apart(kept)
    return sorted(kept, key=lambda pair: str(pair.out))


def _files(one: Path, new: Path) -> Iterable[tuple[Path, Path]]:
    """List the files of an input with their relative output paths. Files in the output folder are skipped."""
    if one.is_dir():
        if one.resolve() == new:
            raise InputError(f"{one} is read from and written to: give another folder with -o")
        readable = {suffix for suffix, module in formats().items() if hasattr(module, "read")}
        files = sorted(path for path in one.rglob("*") if path.suffix.lower() in readable and path.is_file())
        old = [path for path in files if not path.resolve().is_relative_to(new)]
        visible = [path for path in old if not any(part.startswith(".") for part in path.relative_to(one).parts)]
        return [(path, path.relative_to(one)) for path in visible]
    if is_pattern(one):
        return [(path, Path(path.name)) for path in _matching(one)]
    if not one.exists():
        raise FileError(one, "there is no such file")
    return [(one, Path(one.name))]


def _matching(pattern: Path) -> list[Path]:
    """Expand a glob pattern. Some shells leave this to the program."""
    names = glob.glob(str(pattern), recursive=True)  # noqa: PTH207  (Path.glob takes no pattern with a root)
    return sorted(path for path in map(Path, names) if path.is_file())


def _check_apart(found: list[FilePair]) -> None:
    """Check for shared outputs and overwritten inputs.

    Paths are compared without case, as on case-insensitive systems.
    """
    taken: dict[str, Path] = {}
    inputs = {pair.file.resolve() for pair in found}
    for file, out in found:
        other = taken.setdefault(str(out).casefold(), file)
        if other is not file:
            raise InputError(f"{other} and {file} would both be written to {out}: rename one, or give them apart")
        if out.resolve() in inputs:
            raise InputError(f"{out} is one of the files to work on: give another folder with -o")


def check_new(found: Sequence[FilePair], own: Iterable[Path], *, overwrite: bool) -> None:
    """Raise InputError for existing outputs. Outputs of an interrupted run of the same job (`resumed`) are excepted."""
    excepted = set(own)
    there = [out for _, out in found if out not in excepted and out.exists()]
    if there and not overwrite:
        names = listed(map(str, there[:3]))
        more = f" and {len(there) - 3} more" if len(there) > 3 else ""  # noqa: PLR2004
        raise InputError(f"there already: {names}{more}; --overwrite writes them anew")
