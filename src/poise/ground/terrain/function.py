"""Ground from a Python function."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from poise.errors import InputError, UnsupportedError
from poise.ground.terrain.rays.march import march
from poise.ground.terrain.surface import Normal, Sample, Strike, normal_of
from poise.maths.arrays import Floats

_FAR = 1e-8  # of a coordinate: far from the origin a step grows with it, so that rounding stays small
_STEEPEST = 4.0  # rays take ground for no steeper than this (76 degrees)
_SMALLEST, _REACH = 10.0, 1e6  # steps of the differences: a ray's smallest step, and how far it is followed


@dataclass(frozen=True, eq=False)
class Function:
    """Height field h = f(x, y) of the caller. Its frame has the up axis `up`: f(x, z) for "y".

    Normals come from `normal(x, y)` -> (n, 3) in the same frame, or else from central differences over +-`step`.
    """

    f: Callable[[Floats, Floats], Any]
    up: str
    normal: Callable[[Floats, Floats], Any] | None
    step: float

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        for f in (self.f, self.normal):
            try:
                pickle.dumps(f)
            except Exception as error:  # any: what a callable of somebody's own raises
                name = getattr(f, "__qualname__", type(f).__name__)
                message = (
                    f"the terrain's function {name} cannot be pickled: define it with a name, at the top of a module"
                )
                raise UnsupportedError(message) from error
        return Function, (self.f, self.up, self.normal, self.step)

    def heights(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Return heights at x, y. InputError for values of another shape or not finite."""
        first, second = (x, -y) if self.up == "y" else (x, y)
        return self._evaluate(self.f, first, second, first.shape, "a height")

    def _evaluate(self, f: Callable[..., Any], a: Floats, b: Floats, shape: tuple[int, ...], what: str) -> Floats:
        given = f(a, b)
        try:
            values = np.broadcast_to(np.asarray(given).astype(np.float64, casting="same_kind"), shape)
        except (TypeError, ValueError) as error:
            form = f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
            message = f"the terrain function must give {what} per place, shape {shape} here; it gave {form}"
            raise InputError(message) from error
        wrong = ~np.isfinite(values)
        if wrong.any():
            k = int(wrong.reshape(len(a), -1).any(axis=1).argmax())
            place = f"x = {a[k]:g}, {'z' if self.up == 'y' else 'y'} = {b[k]:g}"
            message = f"the terrain function gave {values[wrong][0]} at {place}; it must be finite everywhere"
            raise InputError(message)
        return values

    def sample(self, x: Floats, y: Floats, z: Floats) -> Sample:
        """Heights and normals; all is inside."""
        return Sample(self.heights(x, y, z), self._normal(x, y, z), inside=True)

    def _normal(self, x: Floats, y: Floats, z: Floats) -> Normal:
        if self.normal is not None:
            return self._evaluate_normals(self.normal, x, y)
        reach_x, reach_y = (np.maximum(self.step, _FAR * np.abs(axis)) for axis in (x, y))
        east, west, north, south = x + reach_x, x - reach_x, y + reach_y, y - reach_y
        slope_x = (self.heights(east, y, z) - self.heights(west, y, z)) / (east - west)
        slope_y = (self.heights(x, north, z) - self.heights(x, south, z)) / (north - south)
        return normal_of(slope_x, slope_y)

    def _evaluate_normals(self, normals: Callable[[Floats, Floats], Any], x: Floats, y: Floats) -> Normal:
        first, second = (x, -y) if self.up == "y" else (x, y)
        given = self._evaluate(normals, first, second, (len(x), 3), "a normal")
        size = np.sqrt((given * given).sum(axis=1))
        a, b, c = (given / np.where(size > 0.0, size, 1.0)[:, None]).T
        normal = (a, -c, b) if self.up == "y" else (a, b, c)
        if not (normal[2] > 0.0).all():
            message = f"the terrain's normals must point up (along {self.up}); one is {given[normal[2].argmin()]}"
            raise InputError(message)
        return normal

    def hit(self, origins: Floats, directions: Floats) -> Strike:
        """Find first hits by marching. Ground steeper than 76 degrees or narrower than ten steps may be passed over."""
        smallest, reach = _SMALLEST * self.step, _REACH * self.step
        distances = march(self.heights, origins, directions, _STEEPEST, smallest, reach)
        x, y, z = (origins + np.where(np.isfinite(distances), distances, 0.0)[:, None] * directions).T
        return Strike(distances, self._normal(x, y, z))
