"""Markers of optical motion capture, their units and their loader. They are points over time, without a skeleton."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from poise.errors import FileError, InputError, PoiseWarning, UnknownNameError
from poise.io.files import as_path, read_bytes
from poise.io.registry import MARKER_FORMATS
from poise.maths.arguments import check_names
from poise.maths.arrays import Bools, Floats, copy_numbers_or_nan, freeze_array
from poise.maths.caching import FrozenValue
from poise.maths.formatting import format_fields
from poise.model.clip import check_rate

_DIMENSIONS = 3


@dataclass(frozen=True, eq=False)
class Markers(FrozenValue):
    """Marker positions in each frame.

    Parameters
    ----------
    positions
        (frames, markers, 3) [file units]; NaN where a marker is missing.
    names
        Name of each marker as in the file, often with the subject before a colon: "Walker:LSHO".
    fps
        Frames per second.
    first_frame
        Number of the first frame in the file.
    metres_per_unit
        None if unknown.
    up
        "x", "y" or "z"; None if unknown.
    notes
        Repairs and ignored content, a sentence each.
    path
        The source file.
    """

    __repr__ = format_fields

    positions: Floats
    names: tuple[str, ...]
    fps: float
    first_frame: int = 1
    metres_per_unit: float | None = None
    up: str | None = None
    notes: tuple[str, ...] = ()
    path: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", check_names(self.names, "the names of markers", "['LASI', 'RASI']"))
        points = copy_numbers_or_nan(self.positions, "positions of markers")
        if points.ndim != _DIMENSIONS or points.shape[-1] != _DIMENSIONS or points.shape[1] != len(self.names):
            message = f"{len(self.names)} markers need positions (frames, {len(self.names)}, 3), not {points.shape}"
            raise InputError(message)
        if np.isinf(points).any():
            message = "positions of markers are finite, or NaN where one is missing; some of these are infinite"
            raise InputError(message)
        points[np.isnan(points).any(axis=-1)] = np.nan
        freeze_array(points)
        object.__setattr__(self, "positions", points)
        object.__setattr__(self, "fps", check_rate(self.fps))

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def gaps(self) -> Bools:
        """Mask (frames, markers) of missing markers."""
        gaps: Bools = np.isnan(self.positions[..., 0])
        freeze_array(gaps)
        return gaps

    @cached_property
    def times(self) -> Floats:
        """Frame times (frames,) [s], the first frame at 0."""
        times = np.arange(len(self)) / self.fps
        freeze_array(times)
        return times

    def index(self, name: str) -> int:
        """Return the index of a marker.

        Its name may leave out the subject before the colon; UnknownNameError lists the names.
        """
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnknownNameError("marker", name, self.names)
        if name in self.names:
            return self.names.index(name)
        bare = [one.rpartition(":")[2] for one in self.names]
        if bare.count(name) != 1:
            known = [whole for whole, one in zip(self.names, bare, strict=True) if one == name] or self.names
            raise UnknownNameError("marker", name, known, also=bare)
        return bare.index(name)

    def __getitem__(self, name: str) -> Floats:
        """Return the positions (frames, 3) of one marker."""
        return self.positions[:, self.index(name)]


# --- Units of length in marker files ---------------------------------------------------------------------------------


_METRES_PER_UNIT = {
    "mm": 1e-3, "millimeter": 1e-3, "millimeters": 1e-3, "millimetre": 1e-3, "millimetres": 1e-3,
    "cm": 1e-2, "centimeter": 1e-2, "centimeters": 1e-2, "centimetre": 1e-2, "centimetres": 1e-2,
    "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0,
    "in": 0.0254, "inch": 0.0254, "inches": 0.0254, "ft": 0.3048, "feet": 0.3048,
}  # fmt: skip


def find_metres_per_unit(unit: str) -> float | None:
    """Find the metres of one unit. None for an unknown word."""
    return _METRES_PER_UNIT.get(unit.strip().lower())


# --- `load_markers`: C3D and TRC, chosen by file suffix --------------------------------------------------------------


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
    if suffix not in MARKER_FORMATS:
        known = ", ".join(sorted(MARKER_FORMATS))
        label = f"files named {suffix!r}" if suffix else "a file without a suffix"
        raise FileError(path, f"cannot read markers from {label}; known: {known}")
    markers: Markers = importlib.import_module(f"poise.io.markers.{suffix[1:]}").read(
        path, read_bytes(path, suffixes=MARKER_FORMATS)
    )
    for note in markers.notes:
        warnings.warn(f"{path}: {note}", PoiseWarning, stacklevel=2)
    return markers
