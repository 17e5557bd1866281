"""Limits of ball joints as rows of numbers for the kernels. kernels/turn_limits.py says what stands in a row."""

from __future__ import annotations

import numpy as np

from poise import rotations
from poise.arrays import Floats
from poise.euler import axes_of
from poise.limits import EulerBox, Limit, SwingTwist

LIMIT = 12  # numbers of a row, as in kernels/turn_limits.py, which brings Numba in
NONE, SWING_TWIST, EULER_BOX, RANGE = 0.0, 1.0, 2.0, 3.0


def turn_row(limit: Limit | None) -> Floats:
    """The row (LIMIT,) of a limit; zeros where it binds no turn (None, a Range)."""
    row = np.zeros(LIMIT)
    if isinstance(limit, SwingTwist):
        x, y = limit.swing_axes
        row[0], row[1:5] = SWING_TWIST, _frame(x, y, limit.axis)
        row[5:11] = np.array([*limit.sides, limit.twist]).ravel()
        row[11] = limit.soft
    elif isinstance(limit, EulerBox):
        i, j, k, sign = axes_of(limit.order)
        row[0], row[1:5] = EULER_BOX, _frame(np.eye(3)[i], np.eye(3)[j], sign * np.eye(3)[k])
        first, second, (low, high) = limit.ranges
        third = (low, high) if sign > 0 else (-high, -low)  # z of the frame is the last axis or its opposite
        row[5:11] = np.array([first, second, third]).ravel()
        row[11] = limit.soft
    return row


def _frame(*axes: object) -> Floats:
    """The rotation (4,) that takes x, y and z to three perpendicular axes."""
    return rotations.from_matrix(np.stack(axes, axis=-1))  # pyright: ignore[reportCallIssue, reportArgumentType]
