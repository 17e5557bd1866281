"""Output conflicts of `--clip all` with many files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from poise.cli.told.clips import new_files
from poise.errors import InputError, PoiseError
from poise.io.registry import read
from poise.libraries.clip_files import holds_one_clip


def check_library(pairs: Sequence[tuple[Path, Path]], *, overwrite: bool) -> None:
    """Check a batch with `--clip all` for output conflicts.

    A conflict is a file written twice, or an existing file overwritten.

    Clip names are in the files. Only files with possible conflicts are read: outputs named A and A_B, or an existing
    file A_B.
    """
    several = [pair for pair in pairs if holds_one_clip(pair[1])]
    near = _near([out for _, out in several])
    taken: dict[str, Path] = {}
    for file, out in several:
        for path in _outs(file, out) if _key(out) in near else [out]:
            other = taken.setdefault(str(path).casefold(), file)
            if other is not file:
                raise InputError(f"{other} and {file} would both be written to {path}: rename one, or give them apart")
            if path.exists() and not overwrite:
                raise InputError(f"there already: {path}; --overwrite writes it anew")


def _key(out: Path) -> tuple[str, str]:
    return str(out.parent), out.stem.casefold()


def _near(outs: Sequence[Path]) -> set[tuple[str, str]]:
    """Find outputs with a common name prefix. They are compared with each other and with existing files."""
    keys = {_key(out) for out in outs}
    old = {_key(path) for folder in {out.parent for out in outs} if folder.is_dir() for path in folder.iterdir()}
    near: set[tuple[str, str]] = set()
    for folder, stem in keys | old:
        starts = {(folder, stem[:i]) for i, letter in enumerate(stem) if letter == "_"} & keys
        near |= starts
        if starts:
            near.add((folder, stem))
    return near & keys


def _outs(file: Path, out: Path) -> list[Path]:
    try:
        return new_files(out, read(file).clips)
    except PoiseError:  # reported when the file is processed
        return [out]
