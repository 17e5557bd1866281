"""Endless bumpy ground: gradient noise, deterministic for a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.ground.terrain.rays.march import march
from poise.ground.terrain.surface import Sample, Strike, normal_of
from poise.maths.arrays import Floats, Ints

_EAST, _NORTH = np.array([0, 1, 0, 1])[:, None], np.array([0, 0, 1, 1])[:, None]  # the corners of a cell
_ANGLES = np.arange(256) * (2.0 * np.pi / 256)
_COS, _SIN = np.cos(_ANGLES), np.sin(_ANGLES)
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93], dtype=np.uint64)  # well mixed bits
_FAR = 2.0**52  # cells from the origin: beyond, a float has no fraction left
_FULL = 2.0**0.5  # gradient noise with unit gradients stays within 1 / sqrt(2) in the plane
_SMALLEST, _REACH = 1e-3, 1e3  # wavelengths: a ray's smallest step, and how far it is followed
STEEPEST = 3.0  # amplitudes per wavelength; the worst four gradients make a slope of 2.93


@dataclass(frozen=True)
class Noise:
    """Perlin gradient noise with a fifth-degree fade.

    Gradients are those of Perlin, SIGGRAPH 1985; the fade 6 t^5 - 15 t^4 + 10 t^3 is that of Perlin, SIGGRAPH 2002.

    A square lattice of spacing `wavelength` carries a unit gradient at each corner, drawn by mixing its integer
    coordinates and the seed; between corners the gradients' planes are blended. Second derivatives are continuous,
    heights are within +-amplitude, and 0 at the corners of the lattice, so at the origin. Nothing repeats.
    """

    amplitude: float
    wavelength: float
    seed: int

    def heights(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Heights at x, y."""
        u, v, i, j = self._cells(x, y)
        gx, gy = self._gradients(i, j)
        return _total(_weights(_fade(u), _fade(v)) * (gx * (u - _EAST) + gy * (v - _NORTH))) * self._scale

    @property
    def _scale(self) -> float:
        return self.amplitude * _FULL

    def sample(self, x: Floats, y: Floats, z: Floats) -> Sample:
        """Heights and normals, both in closed form; all is inside."""
        u, v, i, j = self._cells(x, y)
        gx, gy = self._gradients(i, j)
        ramps = gx * (u - _EAST) + gy * (v - _NORTH)
        a, b = _fade(u), _fade(v)
        weights = _weights(a, b)
        east = _fade_slope(u) * ((1.0 - b) * (ramps[1] - ramps[0]) + b * (ramps[3] - ramps[2]))
        north = _fade_slope(v) * ((1.0 - a) * (ramps[2] - ramps[0]) + a * (ramps[3] - ramps[1]))
        steepness = self._scale / self.wavelength
        normal = normal_of((_total(weights * gx) + east) * steepness, (_total(weights * gy) + north) * steepness)
        return Sample(_total(weights * ramps) * self._scale, normal, inside=True)

    def _cells(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Ints, Ints]:
        """Place within the cell, 0 to 1, and the cell's integer coordinates."""
        u, v = x / self.wavelength, y / self.wavelength
        i, j = np.floor(u), np.floor(v)
        east, north = (np.minimum(np.maximum(cell, -_FAR), _FAR).astype(np.int64) for cell in (i, j))
        return u - i, v - j, east, north

    def _gradients(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Unit gradients (4, n) at the corners of cells."""
        east, north = (i + _EAST).view(np.uint64), (j + _NORTH).view(np.uint64)
        bits = (east * _ODD[0]) ^ ((north + np.uint64(self.seed)) * _ODD[1])
        bits = ((bits ^ (bits >> np.uint64(32))) * _ODD[2]) >> np.uint64(56)
        return _COS[bits], _SIN[bits]

    def hit(self, origins: Floats, directions: Floats) -> Strike:
        """Find first hits by marching. The steepest slope bounds the steps, see `march`."""
        low, high = -abs(self.amplitude), abs(self.amplitude)
        steepest = STEEPEST * high / self.wavelength
        smallest, reach = _SMALLEST * self.wavelength, _REACH * self.wavelength
        distances = march(self.heights, origins, directions, steepest, smallest, reach, (low, high))
        x, y, z = (origins + np.where(np.isfinite(distances), distances, 0.0)[:, None] * directions).T
        return Strike(distances, self.sample(x, y, z).normal)


def _fade(t: Floats) -> Floats:
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


def _fade_slope(t: Floats) -> Floats:
    return 30.0 * t * t * (t * (t - 2.0) + 1.0)


def _weights(a: Floats, b: Floats) -> Floats:
    """Shares (4, n) of the corners."""
    both = a * b
    return np.stack([1.0 - a - b + both, a - both, b - both, both])


def _total(parts: Floats) -> Floats:
    """Sum over the corners in a fixed order. A single place gets the same bits as in a batch."""
    return (parts[0] + parts[1]) + (parts[2] + parts[3])
