"""Markers of optical motion capture, their units and their loader. They are points over time, without a skeleton."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from poise.errors import InputError, UnknownNameError
from poise.maths.arguments import names
from poise.maths.arrays import Bools, Floats, copy_numbers_or_nan, frozen
from poise.maths.in_words import in_words
from poise.maths.remember import FrozenValue
from poise.model.clip import checked_rate

_SPACE = 3


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

    __repr__ = in_words

    positions: Floats
    names: tuple[str, ...]
    fps: float
    first_frame: int = 1
    metres_per_unit: float | None = None
    up: str | None = None
    notes: tuple[str, ...] = ()
    path: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names(self.names, "the names of markers", "['LASI', 'RASI']"))
        points = copy_numbers_or_nan(self.positions, "positions of markers")
        if points.ndim != _SPACE or points.shape[-1] != _SPACE or points.shape[1] != len(self.names):
            message = f"{len(self.names)} markers need positions (frames, {len(self.names)}, 3), not {points.shape}"
            raise InputError(message)
        if np.isinf(points).any():
            message = "positions of markers are finite, or NaN where one is missing; some of these are infinite"
            raise InputError(message)
        points[np.isnan(points).any(axis=-1)] = np.nan
        frozen(points)
        object.__setattr__(self, "positions", points)
        object.__setattr__(self, "fps", checked_rate(self.fps))

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def gaps(self) -> Bools:
        """Mask (frames, markers) of missing markers."""
        gaps: Bools = np.isnan(self.positions[..., 0])
        frozen(gaps)
        return gaps

    @cached_property
    def times(self) -> Floats:
        """Frame times (frames,) [s], the first frame at 0."""
        times = np.arange(len(self)) / self.fps
        frozen(times)
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
