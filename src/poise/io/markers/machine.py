"""Number formats of C3D files: Intel, DEC and MIPS.

DEC's 32-bit F float has its two 16-bit words swapped, a hidden bit of 1/2 and a bias of 128: (-1)^sign . 0.1mantissa .
2^(exponent - 128), and zero where the exponent is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats, Ints


class Machine(NamedTuple):
    """Number format of a processor: byte order and float type."""

    order: str  # NumPy's byte order character
    is_dec: bool = False

    def words(self, data: bytes | memoryview, *, signed: bool = True) -> Ints:
        """Decode 16-bit integers (k,)."""
        return np.frombuffer(data, f"{self.order}{'i' if signed else 'u'}2").astype(np.int64)

    def floats(self, data: bytes | memoryview) -> Floats:
        """Decode 32-bit floats (k,)."""
        if not self.is_dec:
            with np.errstate(invalid="ignore"):  # from a signalling NaN
                return np.frombuffer(data, f"{self.order}f4").astype(np.float64)
        halves = np.frombuffer(data, "<u2").astype(np.int64).reshape(-1, 2)
        exponent = (halves[:, 0] >> 7) & 0xFF
        mantissa = ((halves[:, 0] & 0x7F) << 16) | halves[:, 1] | 0x800000
        size = np.ldexp(mantissa.astype(np.float64), exponent - 128 - 24)
        signed = np.where(halves[:, 0] & 0x8000, -size, size)
        return np.where(exponent == 0, 0.0, signed)


MACHINES = {84: Machine("<"), 85: Machine("<", is_dec=True), 86: Machine(">")}
