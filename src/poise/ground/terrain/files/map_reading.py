"""From what a person gives to a height map: arrays, npz files, pictures, and where they lie."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import FileError, InputError
from poise.ground.terrain.files.map_files import Sheet, read_map
from poise.ground.terrain.heightmap import HeightMap
from poise.ground.terrain.rays.plan_grid import PlanGrid
from poise.maths.arrays import Bools, Floats, finite, real, short

_LEAST = 2  # posts along an axis


def map_of(
    source: str | PathLike[str] | ArrayLike,
    *,
    size: ArrayLike | None,
    height: float | None,
    origin: ArrayLike | None,
    holes: bool,
    up: str,
) -> HeightMap:
    """Make a height map of a file or an array, see `Terrain.heightmap`."""
    if isinstance(source, str | PathLike):
        sheet = read_map(source, up)
        try:
            values, missing = _checked(sheet.values, holes=holes)
        except InputError as error:
            raise FileError(source, str(error)) from error
    else:
        sheet = Sheet(_array(source))
        values, missing = _checked(sheet.values, holes=holes)
    rows, cols = values.shape
    wide, deep = _extent(size, sheet, rows, cols)
    x, y, z = _middle(origin, up) if origin is not None else _own_middle(sheet, size)
    scale = sheet.height if height is None else _scale(height)
    grid = PlanGrid(x - 0.5 * wide, y - 0.5 * deep, wide / (cols - 1), deep / (rows - 1), cols - 1, rows - 1)
    if missing is not None:
        values = _filled(values, missing, grid)
    posts = np.ascontiguousarray(values[::-1]) * scale + z  # first row in the north, rows of posts go north
    if not np.isfinite(posts).all():
        message = f"heights times {scale:g} are more than a float can hold"
        raise InputError(message)
    return HeightMap(grid, posts, None if missing is None else _hollow(missing[::-1]))


def _array(source: Any) -> Floats:
    try:
        values = np.asarray(source)
    except (TypeError, ValueError):  # rows of different lengths
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "iuf":
        given = f"an array of {source.dtype}" if isinstance(source, np.ndarray) else short(source)
        message = f"a height map is a path or an array (rows, cols) of numbers, not {given}"
        raise InputError(message)
    return values.astype(np.float64)


def _checked(values: Floats, *, holes: bool) -> tuple[Floats, Bools | None]:
    """The posts, and which are missing, or None; sizes and values that make no ground are refused."""
    if values.ndim != 2 or min(values.shape) < _LEAST:  # noqa: PLR2004
        message = f"a height map has at least {_LEAST} rows and {_LEAST} columns; its shape is {values.shape}"
        raise InputError(message)
    wrong = np.isinf(values) if holes else ~np.isfinite(values)
    if wrong.any():
        row, col = np.argwhere(wrong)[0]
        hint = "; holes=True takes NaN for holes" if np.isnan(values[row, col]) else ""
        message = f"heights must be finite; row {row}, column {col} is {values[row, col]}{hint}"
        raise InputError(message)
    missing = np.isnan(values)
    if missing.all():
        message = "a height map needs at least one height; all are NaN"
        raise InputError(message)
    return values, missing if missing.any() else None


def _extent(size: ArrayLike | None, sheet: Sheet, rows: int, cols: int) -> tuple[float, float]:
    if size is None:
        return sheet.size or (float(cols - 1), float(rows - 1))
    given = finite(size, "the size of a height map")
    if given.shape not in ((), (1,), (2,)) or not (given > 0.0).all():
        message = f"the size of a height map is one length or two (along x, along rows), above 0; got {short(size)}"
        raise InputError(message)
    wide = float(given.flat[0])
    return wide, float(given[1]) if given.size > 1 else wide * (rows - 1) / (cols - 1)


def _own_middle(sheet: Sheet, size: ArrayLike | None) -> tuple[float, float, float]:
    """The middle of the map as the file says it, unless the caller gives another size, with which it would be wrong."""
    return sheet.middle if sheet.middle is not None and size is None else (0.0, 0.0, 0.0)


def _middle(origin: ArrayLike, up: str) -> tuple[float, float, float]:
    given = finite(origin, "the origin of a height map", last=3)
    if given.shape != (3,):
        message = f"the origin of a height map is three numbers; got an array of shape {given.shape}"
        raise InputError(message)
    x, y, z = given.tolist()
    return (x, -z, y) if up == "y" else (x, y, z)


def _scale(height: Any) -> float:
    scale = real(height, "the height of a height map")
    if not np.isfinite(scale):
        message = f"the height of a height map must be finite; got {scale:g}"
        raise InputError(message)
    return scale


def _hollow(missing: Bools) -> Bools:
    """Cells (rows, cols) of which a corner is missing."""
    return missing[:-1, :-1] | missing[1:, :-1] | missing[:-1, 1:] | missing[1:, 1:]


def _filled(values: Floats, missing: Bools, grid: PlanGrid) -> Floats:
    """Give missing posts the height of the nearest post in plan.

    In two passes (Saito, Toriwaki, Pattern Recognition 27, 1994): the nearest known post of each column, then the
    nearest of those over all columns.
    """
    rows = np.arange(len(values))[:, None]
    above = np.maximum.accumulate(np.where(missing, -np.inf, rows), axis=0)
    below = np.minimum.accumulate(np.where(missing, np.inf, rows)[::-1], axis=0)[::-1]
    nearest = np.where(rows - above <= below - rows, above, below)
    away = (np.abs(rows - nearest) * grid.deep) ** 2
    filled, cols = values.copy(), np.arange(values.shape[1]) * grid.wide
    for row in np.flatnonzero(missing.any(axis=1)):
        for part in np.array_split(np.flatnonzero(missing[row]), 1 + missing[row].sum() // 256):
            col = ((cols[part, None] - cols) ** 2 + away[row]).argmin(axis=1)
            filled[row, part] = values[nearest[row, col].astype(np.int64), col]
    return filled
