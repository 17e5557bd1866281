"""File names of single clips, for formats with one clip per file.

Reports, pictures and contact files are named alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from poise.io.registry import writer

ALL = "all"  # in place of a clip name: every clip
_LONGEST = 200  # bytes of a file name: systems allow 255, and temporary names are longer
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"/\\|?*\ud800-\udfff]')


def holds_one_clip(path: Path) -> bool:
    """Return whether a format holds one clip only. FileError for a format without writer."""
    module: Any = writer(path)
    return bool(getattr(module, "ONE_CLIP", False))


def clip_paths(path: Path, names: Sequence[str]) -> list[Path]:
    """Build the file path of each clip. It is `path` itself for one clip, else NAME_CLIP.bvh.

    Characters not allowed in file names become underscores, too long names are cut, and clips of equal names (ignoring
    case) get a number.
    """
    if len(names) == 1:
        return [path]
    taken: set[str] = set()
    paths: list[Path] = []
    for clip in names:
        plain = _short(_NOT_IN_NAMES.sub("_", clip), path).strip(". ") or "clip"
        name, k = f"{path.stem}_{plain}", 0
        while name.casefold() in taken:
            k += 1
            name = f"{path.stem}_{plain}_{k}"
        taken.add(name.casefold())
        paths.append(path.with_name(name + path.suffix))
    return paths


def _short(name: str, path: Path) -> str:
    """Shorten a clip name to the free file name length."""
    room = max(_LONGEST - len(os.fsencode(path.name)), 1)
    return name.encode()[:room].decode(errors="ignore")
