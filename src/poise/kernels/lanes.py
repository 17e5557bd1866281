# pyright: standard
"""Operations on float64 and SIMD lanes, from one source.

A register holds one number of several problems; a lane is the part of one problem. These functions complete + - * /,
comparisons, & and |.

A kernel takes a `LaneKind` first: SCALAR works on float64, LANES4 and LANES8 on 4 and 8 problems at once. In Python a
lane value is a float (SCALAR) or a NumPy array of `count_lanes` numbers, so tests and coverage run the same source
without a compiler; `jit/lane_lowering.py` compiles them to vector instructions. Branches on lane values are impossible:
use `select`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from poise.kernels.device_functions import inline_ordered


class LaneKind:
    """Constant for a kernel's value type. float64 (width 1) or lanes of this width; kernels take it first."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __repr__(self) -> str:
        return f"LaneKind({self.width})"


SCALAR, LANES4, LANES8 = LaneKind(1), LaneKind(4), LaneKind(8)


def select(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition holds, else `b`."""
    return np.where(condition, a, b) if isinstance(condition, np.ndarray) else a if condition else b


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller value."""
    return np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger value."""
    return np.maximum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else max(a, b)


def sqrt(a: Any) -> Any:
    """Return the square root."""
    return np.sqrt(a) if isinstance(a, np.ndarray) else math.sqrt(a)


def round_half_even(a: Any) -> Any:
    """Round to the nearest whole number, halves to even."""
    return np.rint(a) if isinstance(a, np.ndarray) else float(round(a))


def mask_to_bits(mask: Any) -> int:
    """Return the truth values as integer bits, lane 0 lowest."""
    return sum(1 << i for i, is_set in enumerate(mask) if is_set) if isinstance(mask, np.ndarray) else int(mask)


def get_lane(value: Any, i: int) -> float:
    """Return the number in one lane."""
    return float(value[i]) if isinstance(value, np.ndarray) else value


def set_lane(value: Any, i: int, lane_value: float) -> Any:
    """Return a copy of the value with one lane replaced."""
    if not isinstance(value, np.ndarray):
        return lane_value
    value = value.copy()  # values are immutable: other references must not change
    value[i] = lane_value
    return value


def count_lanes(lane_kind: LaneKind) -> int:
    """Return the number of lanes."""
    return lane_kind.width


def broadcast(lane_kind: LaneKind, number: float) -> Any:
    """Broadcast the number to every lane."""
    return number if lane_kind.width == 1 else np.full(lane_kind.width, number)


def stack_array(lane_kind: LaneKind, n: int) -> Any:
    """Return n values on the caller's stack; n is a constant."""
    return np.zeros(n) if lane_kind.width == 1 else np.zeros((n, lane_kind.width))


def stack_matrix(lane_kind: LaneKind, n: int, m: int) -> Any:
    """Return n x m values on the caller's stack; both are constants."""
    return np.zeros((n, m)) if lane_kind.width == 1 else np.zeros((n, m, lane_kind.width))


def view_lanes(lane_kind: LaneKind, work: Any, start: int, *extents: int) -> Any:
    """View part of a flat float64 work array as lanes. The view is (n,), (n, m) or (n, m, l), from element `start` on.

    Value i of lane l is `work[start + i * width + l]`, for writing single lanes. The work array and `start` must be
    aligned to 64 bytes: `count_lanes` times a multiple of the width.
    """
    memory = work[start : start + math.prod(extents) * lane_kind.width]
    return memory.reshape(extents) if lane_kind.width == 1 else memory.reshape(*extents, lane_kind.width)


@inline_ordered
def half_angle_sincos(x):
    """Return sine and cosine of x / 2.

    Accurate to 1e-15 for |x| < 1e5 [rad]. Both may be negated: they are w and z of the rotation by x about z.

    A quaternion and its negative are the same rotation, so x / 2 is reduced only to a quarter turn, without a quadrant
    and without branches: all lanes take the same steps. Pi is subtracted in three parts (Cody and Waite), the first two
    of 33 bits, so their products with the number of half turns are exact. The polynomials are Chebyshev fits of (sin r
    / r - 1) / r^2 and (cos r - 1 + r^2 / 2) / r^4 over r^2 in 0..(pi / 2)^2.
    """
    # x / (2 pi) rounded, and the remainder of x / 2 after so many half turns.
    half_turns = round_half_even(x * 0.15915494309189535)
    r = x * 0.5 - half_turns * 3.14159265346825122834
    r = r - half_turns * 1.21542010126079319532e-10
    r = r - half_turns * 4.04453249759190126308e-21
    r2 = r * r
    # Horner's scheme for sine and cosine: two independent chains of products.
    sine_series = r2 * 2.7314368769379893e-15 - 7.643969663988074e-13
    sine_series = (sine_series * r2 + 1.6058977292642743e-10) * r2 - 2.505210761669045e-08
    sine_series = (sine_series * r2 + 2.7557319219160833e-06) * r2 - 1.9841269841254966e-04
    sine_series = (sine_series * r2 + 8.333333333333316e-03) * r2 - 1.6666666666666666e-01
    cosine_series = r2 * 4.6464228378080794e-14 - 1.1466251369215444e-11
    cosine_series = (cosine_series * r2 + 2.087668153639063e-09) * r2 - 2.7557318573107296e-07
    cosine_series = (cosine_series * r2 + 2.480158729891222e-05) * r2 - 1.3888888888884765e-03
    cosine_series = cosine_series * r2 + 4.166666666666666e-02
    return r + r * r2 * sine_series, 1.0 - r2 * 0.5 + r2 * r2 * cosine_series
