"""`load_markers`: C3D and TRC, chosen by file suffix."""

from __future__ import annotations

import importlib
import warnings
from os import PathLike

from poise.errors import FileError, PoiseWarning
from poise.io.files import read_bytes
from poise.io.markers.markers import Markers
from poise.io.paths import as_path
from poise.io.registry import MARKERS


def load_markers(path: str | PathLike[str]) -> Markers:
    """Read the markers of a C3D or TRC file.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Markers
        Names and positions in the file's own unit and axes, NaN where a marker is missing. Repairs and ignored content
        give warnings (PoiseWarning) and are listed in `Markers.notes`.

    Raises
    ------
    FileError
        For a file that is missing, broken or of another format.
    """
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in MARKERS:
        known = ", ".join(sorted(MARKERS))
        which = f"files named {suffix!r}" if suffix else "a file without a suffix"
        raise FileError(path, f"cannot read markers from {which}; known: {known}")
    markers: Markers = importlib.import_module(f"poise.io.markers.{suffix[1:]}").read(
        path, read_bytes(path, suffixes=MARKERS)
    )
    for note in markers.notes:
        warnings.warn(f"{path}: {note}", PoiseWarning, stacklevel=2)
    return markers
