"""Motion tables: npz and csv files as arrays.

The caller gives hints for missing data. Every file gives times, root, and joint values.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import FileError, InputError
from poise.io.numbers import is_rate
from poise.maths.arrays import Floats
from poise.model.clip import checked_rate

ROOT = 7  # columns of a root: x y z and a rotation


class Told(NamedTuple):
    """Hints of the caller for data missing in a file."""

    order: str | None = None
    fps: float | None = None
    joints: tuple[str, ...] | None = None


class MotionTable(NamedTuple):
    """Content of a motion file.

    Rotations are w x y z or None; `values` has a column per joint, named in `joints` if known.
    """

    times: Floats
    position: Floats | None
    rotation: Floats | None
    values: Floats
    joints: tuple[str, ...] | None


def even_times(path: Path, frames: int, fps: float | None, start: float = 0.0) -> Floats:
    """Build frame times at a constant rate. FileError where neither file nor caller gives the rate."""
    if fps is None:
        raise FileError(path, "does not give its frames per second; give fps=30, for example")
    try:
        rate = checked_rate(fps)
    except InputError as error:
        raise FileError(path, str(error), place="fps") from error
    if not is_rate(rate):
        raise FileError(path, f"{rate:g} frames per second is no plausible rate", place="fps")
    times = np.arange(frames) / rate
    return start + times if start else times


def in_order(path: Path, rotation: Floats, order: str | None, name: str) -> Floats:
    """Convert rotations to w x y z. FileError where their order is unknown."""
    if order is None:
        raise FileError(
            path,
            f"does not say the order of {name}; give quaternion='xyzw' (GMR, Unitree) or 'wxyz' (MuJoCo, Isaac Lab)",
        )
    return rotation if order == "wxyz" else rotation[:, [3, 0, 1, 2]]
