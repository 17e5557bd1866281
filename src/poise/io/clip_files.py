"""File names of single clips, for formats with one clip per file.

Reports, pictures and contact files are named alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from poise.io.registry import find_writer

ALL_CLIPS = "all"  # in place of a clip name: every clip
_MAX_NAME_BYTES = 200  # bytes of a file name: systems allow 255, and temporary names are longer
_FORBIDDEN_CHARACTERS = re.compile(r'[\x00-\x1f<>:"/\\|?*\ud800-\udfff]')


def is_single_clip_format(path: Path) -> bool:
    """Return whether a format holds one clip only. FileError for a format without writer."""
    module: Any = find_writer(path)
    return bool(getattr(module, "ONE_CLIP", False))


def build_clip_paths(path: Path, names: Sequence[str]) -> list[Path]:
    """Build the file path of each clip. It is `path` itself for one clip, else NAME_CLIP.bvh.

    Characters not allowed in file names become underscores, too long names are cut, and clips of equal names (ignoring
    case) get a number.
    """
    if len(names) == 1:
        return [path]
    taken: set[str] = set()
    paths: list[Path] = []
    for clip in names:
        clip_name = _shorten_name(_FORBIDDEN_CHARACTERS.sub("_", clip), path).strip(". ") or "clip"
        name, k = f"{path.stem}_{clip_name}", 0
        while name.casefold() in taken:
            k += 1
            name = f"{path.stem}_{clip_name}_{k}"
        taken.add(name.casefold())
        paths.append(path.with_name(name + path.suffix))
    return paths


def _shorten_name(name: str, path: Path) -> str:
    """Shorten a clip name to the free file name length."""
    max_bytes = max(_MAX_NAME_BYTES - len(os.fsencode(path.name)), 1)
    return name.encode()[:max_bytes].decode(errors="ignore")
