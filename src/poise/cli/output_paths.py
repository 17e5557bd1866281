"""Checks of output paths before any work."""

from __future__ import annotations

import os
from pathlib import Path

from poise.cli.terminal import say
from poise.errors import FileError, InputError, UnsupportedError
from poise.io.files import resolve_target
from poise.io.registry import describe_lost_loops, find_writer, save
from poise.model.rig import Rig, Saveable

TABLE_SUFFIXES = (".csv", ".npy")
_PICTURE_SUFFIXES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
_POSELESS_SUFFIXES = (".urdf",)


def check_pose_path(path: Path, source: Path | None) -> None:
    """Check the path of a pose file. Its format holds poses, its folder is writable, and it is not the source."""
    if path.suffix.lower() in _PICTURE_SUFFIXES:
        raise InputError(
            f"{path}: a pose is written to a file of a rig, such as posed.glb; --plot {path} draws a picture"
        )
    find_writer(path)
    if path.suffix.lower() in _POSELESS_SUFFIXES:
        raise UnsupportedError(f"{path}: a URDF file holds no pose; write joint values to a .json or .csv file")
    check_writable(path)
    if source is not None:
        check_differs_from_input(path, source)


def save_with_note(thing: Saveable, path: Path, rig: Rig) -> None:
    """Write a pose or clips of a rig.

    A note on standard error lists the closed loops if the format cannot hold them.
    """
    save(thing, path, like=rig)
    lost = describe_lost_loops(rig.skeleton, path)
    if lost:
        say(f"note: {path}: {lost}", err=True)


def check_picture_path(path: Path) -> None:
    """Check the path of a picture."""
    from poise import plot  # noqa: PLC0415  (imports the ground package)

    if path.suffix.lower() not in plot.SUFFIXES:
        raise InputError(f"cannot draw to {path.name!r}: the name of a picture ends with {', '.join(plot.SUFFIXES)}")
    check_writable(path)


def check_table_path(path: Path) -> None:
    """Check the path of a table."""
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise FileError(path, "a table is written as .csv, or as .npy with q only")
    check_writable(path)


def check_writable(path: Path) -> None:
    """Check the folder of a new file. Links are followed.

    The folder must exist and be writable.
    """
    folder = resolve_target(path).parent
    if not folder.is_dir():
        raise FileError(path, f"cannot write here: there is no folder {str(folder)!r}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(path, f"cannot write here: the folder {str(folder)!r} takes no files")


def check_distinct_paths(paths: dict[str, Path]) -> None:
    """Check for two options with the same output file."""
    taken: dict[str, str] = {}
    for option, path in paths.items():
        other = taken.setdefault(os.path.realpath(path), option)  # Path.resolve() fails for cyclic links
        if other != option:
            raise InputError(f"{other} and {option} would both write {path}: give two files")


def check_not_an_input(read: dict[str, Path | None], written: dict[str, Path | None]) -> None:
    """Check for outputs over an input file."""
    for writes, new in written.items():
        for reads, old in read.items():
            if new is not None and old is not None and is_same_file(new, old):
                raise InputError(f"{writes} would write over {new}, which {reads} reads: give another file")


def check_differs_from_input(new: Path, file: Path) -> None:
    """Check for an output over its own source."""
    if new == file or is_same_file(new, file):
        raise InputError(f"{new} would be written over itself: give the new file another name")


def is_same_file(first: Path, second: Path) -> bool:
    """Return whether two paths are the same existing file."""
    try:
        return first.samefile(second)
    except OSError:
        return False
