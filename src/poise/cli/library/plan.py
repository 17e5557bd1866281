"""Which files are meant, and what each new one is called: refused before any work where two would be one."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from poise.errors import FileError, InputError, listed
from poise.io.registry import formats, writer

_MAGIC = "*?["


class FilePair(NamedTuple):
    """A file, and the new one."""

    file: Path
    out: Path


class ManyFiles(NamedTuple):
    """What was typed of a library: where to, and how.

    folder     of the new files
    suffix     of the new files, None for each its own
    overwrite  whether files that are there are written anew
    processes  how many; None for one a core
    cluster    address of a scheduler, None for this machine's processes
    """

    folder: Path
    suffix: str | None = None
    overwrite: bool = False
    processes: int | None = None
    cluster: str | None = None


def is_library(inputs: Sequence[Path], out: Path | None) -> bool:
    """Whether a call means a library: several files, a folder, a pattern; or a folder to write to."""
    return (
        len(inputs) > 1 or any(one.is_dir() or is_pattern(one) for one in inputs) or (out is not None and out.is_dir())
    )


def is_pattern(path: Path) -> bool:
    """Whether a name stands for the files that it matches."""
    return any(letter in str(path) for letter in _MAGIC) and not path.exists()


def pairs(inputs: Sequence[Path], folder: Path, suffix: str | None) -> list[FilePair]:
    """Every file with its new one.

    A folder stands for all files in it, and below it, that can be read; their places below it are kept. A pattern is
    `*.bvh`, or `**/*.bvh` for the folders below, too. `suffix` is that of the new files; by default each keeps its own.

    FileError for a file that is not there, InputError where two inputs would give one file, or an input would be lost.
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
    """Files that an input stands for, each with its place in the folder of new ones, which are not meant."""
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
    """Files that a pattern matches; a shell that leaves patterns alone leaves them to this."""
    names = glob.glob(str(pattern), recursive=True)  # noqa: PTH207  (Path.glob takes no pattern with a root)
    return sorted(path for path in map(Path, names) if path.is_file())


def _check_apart(found: list[FilePair]) -> None:
    """No two inputs give one file, on no system; and no new file is an input."""
    taken: dict[str, Path] = {}
    inputs = {pair.file.resolve() for pair in found}
    for file, out in found:
        other = taken.setdefault(str(out).casefold(), file)
        if other is not file:
            raise InputError(f"{other} and {file} would both be written to {out}: rename one, or give them apart")
        if out.resolve() in inputs:
            raise InputError(f"{out} is one of the files to work on: give another folder with -o")


def check_new(found: Sequence[FilePair], own: Iterable[Path], *, overwrite: bool) -> None:
    """InputError where new files are there already, those of an interrupted run of the same job (`own`) excepted."""
    excepted = set(own)
    there = [out for _, out in found if out not in excepted and out.exists()]
    if there and not overwrite:
        names = listed(map(str, there[:3]))
        more = f" and {len(there) - 3} more" if len(there) > 3 else ""  # noqa: PLR2004
        raise InputError(f"there already: {names}{more}; --overwrite writes them anew")
