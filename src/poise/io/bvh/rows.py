"""Motion rows as text, and rotations as Euler angles in degrees."""

from __future__ import annotations

import numpy as np

from poise.errors import UnsupportedError
from poise.io.numbers import LARGEST
from poise.maths import euler
from poise.maths.arrays import Floats

_DECIMALS = 10  # decimals of a degree (2e-12 rad); 30.000000000000004 is printed as 30.0


def degrees_of(rotations: Floats, order: str, reference: Floats | None = None) -> Floats:
    """Compute Euler angles (frames, joints, 3) [degrees] of rotations (frames, joints, 4).

    They are nearest to the reference angles [rad] if given, else continuous from frame to frame.
    """
    angles: Floats = euler.from_quaternion(rotations, order)
    angles = euler.continuous(angles) if reference is None else euler.nearest(angles, reference)
    degrees: Floats = np.degrees(angles)
    return degrees.round(_DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0


def too_large(what: str) -> str:
    """Write the message for a number too large for the reader."""
    return f"{what} here is beyond {LARGEST:g}; no BVH file with such a number is read again"


def rows_text(values: Floats, newline: bytes) -> bytes:
    """Format one line per frame. Each number has the fewest digits that read back as the same number.

    UnsupportedError for a number too large for the reader.
    """
    if (np.abs(values) > LARGEST).any():
        raise UnsupportedError(too_large("a position"))
    lines = [" ".join(map(repr, row)).encode() for row in values.tolist()]
    return b"".join(line + newline for line in lines)
