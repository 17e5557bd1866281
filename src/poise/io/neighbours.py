"""Suggestions of existing paths similar to a missing one."""

from __future__ import annotations

import os
from collections.abc import Collection
from itertools import islice
from pathlib import Path

_MOST = 2000  # maximum number of compared names per folder; takes some milliseconds
_ALIKE = 0.75  # minimum similarity ratio (difflib); 0.6 would suggest `talk2` for `walk`
_OFFERED = 2


def offer_neighbours(path: Path, suffixes: Collection[str] = ()) -> str:
    """Write a hint with existing paths similar to a missing one.

    Empty where none is similar.

    Parameters
    ----------
    path
        The missing path.
    suffixes
        Accepted suffixes in small letters, besides the path's own.
    """
    parts = path.parts
    there = next((i for i in range(len(parts), 0, -1) if os.path.isdir(Path(*parts[:i]))), 0)  # noqa: PTH112
    if there >= len(parts):
        return ""
    folder = Path(*parts[:there])
    names = _near(folder, parts[there], is_last=there == len(parts) - 1, suffixes=suffixes)
    if there == len(parts) - 1:
        return _hint([repr(str(folder / name)) for name in names])
    found = [folder / name / Path(*parts[there + 1 :]) for name in names]
    exact = [repr(str(path)) for path in found if os.path.lexists(path)]
    return _hint(exact or [repr(str(folder / name) + os.sep) for name in names])


def _near(folder: Path, missing: str, *, is_last: bool, suffixes: Collection[str]) -> list[str]:
    """Find names in a folder similar to a missing one.

    Only files, or only folders, are compared.
    """
    import difflib  # noqa: PLC0415  (loaded only after a mistyped name)

    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MOST) if entry.is_dir() != is_last]
    except OSError:
        return []
    stem, suffix = _split(missing, is_file=is_last)
    stems: dict[str, list[str]] = {}
    for name in sorted(names):
        own_stem, own_suffix = _split(name, is_file=is_last)
        if own_suffix == suffix or own_suffix in suffixes:
            stems.setdefault(own_stem, []).append(name)
    near = difflib.get_close_matches(stem, stems, n=_OFFERED, cutoff=_ALIKE)
    alike = {name: difflib.SequenceMatcher(None, missing.casefold(), name.casefold()).ratio() for name in names}
    return [name for one in near for name in sorted(stems[one], key=lambda name: -alike[name])]


def _split(name: str, *, is_file: bool) -> tuple[str, str]:
    """Split a name into stem and suffix in small letters.

    A folder has no suffix.
    """
    path = Path(name.casefold())
    return (path.stem, path.suffix) if is_file else (path.name, "")


def _hint(offered: list[str]) -> str:
    return f"; did you mean {' or '.join(offered[:_OFFERED])}?" if offered else ""
