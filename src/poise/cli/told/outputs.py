"""Checks of output paths before any work."""

from __future__ import annotations

import os
from pathlib import Path

from poise.cli.terminal import say
from poise.errors import FileError, InputError, UnsupportedError
from poise.io.files import resolve_target
from poise.io.registry import describe_lost_loops, save, writer
from poise.model.rig import Rig, Saveable

TABLES = (".csv", ".npy")
_PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
_NO_POSE = (".urdf",)


def check_pose_file(path: Path, source: Path | None) -> None:
    """Check the path of a pose file. Its format holds poses, its folder is writable, and it is not the source."""
    if path.suffix.lower() in _PICTURES:
        raise InputError(
            f"{path}: a pose is written to a file of a rig, such as posed.glb; --plot {path} draws a picture"
        )
    writer(path)
    if path.suffix.lower() in _NO_POSE:
        raise UnsupportedError(f"{path}: a URDF file holds no pose; write joint values to a .json or .csv file")
    check_place(path)
    if source is not None:
        check_not_itself(path, source)


def save_and_note(thing: Saveable, path: Path, rig: Rig) -> None:
    """Write a pose or clips of a rig.

    A note on standard error lists the closed loops if the format cannot hold them.
    """
    save(thing, path, like=rig)
    lost = describe_lost_loops(rig.skeleton, path)
    if lost:
        say(f"note: {path}: {lost}", err=True)


def check_picture(path: Path) -> None:
    """Check the path of a picture."""
    from poise import plot  # noqa: PLC0415  (imports the ground package)

    if path.suffix.lower() not in plot.SUFFIXES:
        raise InputError(f"cannot draw to {path.name!r}: the name of a picture ends with {', '.join(plot.SUFFIXES)}")
    check_place(path)


def check_table(path: Path) -> None:
    """Check the path of a table."""
    if path.suffix.lower() not in TABLES:
        raise FileError(path, "a table is written as .csv, or as .npy with q only")
    check_place(path)


def check_place(path: Path) -> None:
    """Check the folder of a new file. Links are followed.

    The folder must exist and be writable.
    """
    folder = resolve_target(path).parent
    if not folder.is_dir():
        raise FileError(path, f"cannot write here: there is no folder {str(folder)!r}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(path, f"cannot write here: the folder {str(folder)!r} takes no files")


def check_apart(paths: dict[str, Path]) -> None:
    """Check for two options with the same output file."""
    taken: dict[str, str] = {}
    for option, path in paths.items():
        other = taken.setdefault(os.path.realpath(path), option)  # Path.resolve() fails for cyclic links
        if other != option:
            raise InputError(f"{other} and {option} would both write {path}: give two files")


def check_not_read(read: dict[str, Path | None], written: dict[str, Path | None]) -> None:
    """Check for outputs over an input file."""
    for writes, new in written.items():
        for reads, old in read.items():
            if new is not None and old is not None and is_same_file(new, old):
                raise InputError(f"{writes} would write over {new}, which {reads} reads: give another file")


def check_not_itself(new: Path, file: Path) -> None:
    """Check for an output over its own source."""
    if new == file or is_same_file(new, file):
        raise InputError(f"{new} would be written over itself: give the new file another name")


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are the same existing file."""
    try:
        return one.samefile(other)
    except OSError:
        return False
