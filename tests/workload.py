"""How much is tried of what only repeats: all by `scripts/test --long`, else what a run of CI has time for.

What a commit draws is drawn for whole runs: where files or folders are named on the command line, all of them is tried.
Seconds of fuzz and of soak are variables of the environment: POISE_FUZZ_SECONDS, POISE_SOAK_SECONDS.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
LONG = "POISE_LONG" in os.environ
DRAWN_COMMIT = "POISE_DRAWN_COMMIT"  # variable of the environment; empty: everything is drawn
ROOT = Path(__file__).parent.parent


def amount(usual: T, full: T) -> T:
    """The usual amount, or the full one where all the time that it takes was asked for."""
    return full if LONG else usual


def is_drawn(name: str, parts: int) -> bool:
    """Whether this commit draws what is tried for one of so many commits: its hash decides, for each name anew.

    In full amounts everything is drawn, and where git knows no commit of this folder.
    """
    commit = find_commit()
    return LONG or not commit or zlib.crc32(f"{commit} {name}".encode()) % parts == 0


def draw(name: str, choices: Iterable[T], count: int) -> list[T]:
    """Draw some of several choices: where they begin is decided as by `is_drawn`, the next ones follow."""
    found, commit = list(choices), find_commit()
    if LONG or not commit or len(found) <= count:
        return found
    first = zlib.crc32(f"{commit} {name}".encode())
    return [found[i] for i in sorted({(first + k) % len(found) for k in range(count)})]


def find_commit() -> str:
    """Find the commit that draws. Workers of one run have that of their controller, whatever is committed meanwhile."""
    if DRAWN_COMMIT not in os.environ:
        os.environ[DRAWN_COMMIT] = run_git("rev-parse", "HEAD").decode().strip()
    return os.environ[DRAWN_COMMIT]


def draw_files(name: str, files: Iterable[Path], count: int) -> list[Path]:
    """Draw some of several files. Those that the last commit changed, or an edit after it, are among them."""
    found = list(files)
    drawn, touched = draw(name, found, count), find_touched_files()
    return [path for path in found if path in drawn or path in touched]


@cache
def find_touched_files() -> set[Path]:
    """Find the files of the repository that the last commit changed, or an edit after it."""
    changed = (
        run_git("diff", "--name-only", "HEAD~1") or run_git("diff", "--name-only", "HEAD"),  # a clone of one commit
        run_git("ls-files", "--others", "--exclude-standard"),
    )
    return {ROOT / line for text in changed for line in text.decode().splitlines()}


@cache
def run_git(*arguments: str) -> bytes:
    """Run git in the repository and return its output; empty where it fails."""
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False).stdout
    except OSError:
        return b""
