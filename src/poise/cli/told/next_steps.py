"""Next commands to try, ready to run from the current folder."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from poise.cli.told.outputs import is_same_file


def program() -> str:
    """Find the shell command for `poise`. It is its name where the shell finds this installation, else a path."""
    called = Path(sys.argv[0])
    if called.stem != "poise":  # python -m poise
        return f"{_found('python', Path(sys.executable))} -m poise"
    return _found("poise", called)


def _found(name: str, file: Path) -> str:
    on_path = shutil.which(name)
    if on_path is not None and is_same_file(Path(on_path), file):
        return name
    return shlex.quote(_short(file))


def _short(file: Path) -> str:
    """Return the shorter of the absolute and relative path. The relative one starts with a folder, as shells need."""
    whole = os.path.abspath(file)  # noqa: PTH100  (links, as in .venv/bin, must not be resolved)
    try:
        near = os.path.relpath(whole)
    except ValueError:  # on another drive
        return whole
    near = near if os.sep in near else os.path.join(os.curdir, near)  # noqa: PTH118  (Path drops the dot)
    return min(near, whole, key=len)


def next_steps(files: Path, *, posed: str, walk: str) -> list[tuple[str, str]]:
    """List three commands to try with the demo's files. Each has a description.

    Parameters
    ----------
    files
        The folder of the demo's files.
    posed, walk
        The names of a posed character and of a character with the clip "walk" in it.
    """
    poise = program()
    place = {name: shlex.quote(str(files / name)) for name in (posed, walk, "mine.glb", "mine.png", "stairs.glb")}
    page = shlex.quote(str(files / "stairs.html"))
    solve = f"{poise} solve {place[posed]} --joint RightHand --to -0.4 1.2 0.35 -o {place['mine.glb']}"
    plant = f"{poise} plant {place[walk]} --clip walk --terrain stairs:0.15,0.30 -o {place['stairs.glb']}"
    return [
        ("drag a hand in the browser", f"{poise} view {place[posed]}"),
        ("solve for a target of your own", f"{solve} --plot {place['mine.png']}"),
        ("put a walk on stairs", f"{plant} --report {page}"),
    ]
