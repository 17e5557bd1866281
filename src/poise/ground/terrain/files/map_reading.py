"""Height maps from arrays, npz files and pictures, with their placement."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_bool
from poise.errors import FileError, InputError
from poise.ground.terrain.files.map_files import FARTHEST, Sheet, check_shape, read_map
from poise.ground.terrain.heightmap import HeightMap
from poise.ground.terrain.rays.plan_grid import PlanGrid
from poise.maths.arrays import Bools, Floats, abbreviate, check_finite, check_real


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
    file = source if isinstance(source, str | PathLike) else None
    sheet = Sheet(_array(source)) if file is None else read_map(file, up)
    with _blamed_on(file):
        values, missing = _check_posts(sheet.values, holes=holes)
        rows, cols = values.shape
        if sheet.size is not None:
            _check_cells(sheet.size, rows, cols)
    wide, deep = _extent(size, sheet, rows, cols)
    x, y, z = _middle(origin, up) if origin is not None else _own_middle(sheet, size)
    grid = PlanGrid(x - 0.5 * wide, y - 0.5 * deep, wide / (cols - 1), deep / (rows - 1), cols - 1, rows - 1)
    if missing is not None:
        values = _fill_missing(values, missing, grid)
    with _blamed_on(file if height is None else None):
        posts = _posts(values, sheet.height if height is None else _scale(height), z)
    return HeightMap(grid, posts, None if missing is None else _hollow(missing[::-1]))


@contextmanager
def _blamed_on(file: str | PathLike[str] | None) -> Generator[None, None, None]:
    """Name the file in what is said about its numbers."""
    try:
        yield
    except InputError as error:
        if file is None:
            raise
        raise FileError(file, str(error)) from error


def _posts(values: Floats, scale: float, lift: float) -> Floats:
    """Build a height map of heights, first row in the south. Rows of posts go north."""
    with np.errstate(over="ignore"):
        posts = np.ascontiguousarray(values[::-1]) * scale + lift
    if not (np.abs(posts) <= FARTHEST).all():
        message = f"heights times {scale:g} are beyond {FARTHEST:g}"
        raise InputError(message)
    return posts


def _check_cells(size: tuple[float, float], rows: int, cols: int) -> None:
    """Refuse huge maps or tiny cells. Their slopes would be too large for a float."""
    if max(size) > FARTHEST or min(size[0] / (cols - 1), size[1] / (rows - 1)) < 1.0 / FARTHEST:
        message = f"a height map is at most {FARTHEST:g} long and its cells at least {1.0 / FARTHEST:g}"
        raise InputError(message)


def _array(source: Any) -> Floats:
    try:
        values = np.asarray(source)
    except (TypeError, ValueError):  # rows of different lengths
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "iuf":
        given = f"an array of {source.dtype}" if isinstance(source, np.ndarray) else abbreviate(source)
        message = f"a height map is a path or an array (rows, cols) of numbers, not {given}"
        raise InputError(message)
    return values.astype(np.float64)


def _check_posts(values: Floats, *, holes: bool) -> tuple[Floats, Bools | None]:
    """Return the posts and a mask of missing posts, or None. Sizes and values without a ground are refused."""
    check_shape(values)
    holes = check_bool(holes, "holes")
    wrong = np.isinf(values) if holes else ~np.isfinite(values)
    if wrong.any():
        row, col = np.argwhere(wrong)[0]
        hint = "; holes=True takes NaN for holes" if np.isnan(values[row, col]) else ""
        message = f"heights must be finite; row {row}, column {col} is {values[row, col]}{hint}"
        raise InputError(message)
    if (np.abs(values) > FARTHEST).any():
        message = f"heights must not be beyond {FARTHEST:g}"
        raise InputError(message)
    missing = np.isnan(values)
    if missing.all():
        message = "a height map needs at least one height; all are NaN"
        raise InputError(message)
    return values, missing if missing.any() else None


def _extent(size: ArrayLike | None, sheet: Sheet, rows: int, cols: int) -> tuple[float, float]:
    if size is None:
        return sheet.size or (float(cols - 1), float(rows - 1))
    given = check_finite(size, "the size of a height map")
    if given.shape not in ((), (1,), (2,)) or not (given > 0.0).all():
        message = (
            f"the size of a height map is one length or two (along x, along rows), above 0; got {abbreviate(size)}"
        )
        raise InputError(message)
    wide = float(given.flat[0])
    extent = wide, float(given[1]) if given.size > 1 else wide * (rows - 1) / (cols - 1)
    _check_cells(extent, rows, cols)
    return extent


def _own_middle(sheet: Sheet, size: ArrayLike | None) -> tuple[float, float, float]:
    """Return the map's middle from the file. The caller's size makes the file's middle wrong: then it is the origin."""
    return sheet.middle if sheet.middle is not None and size is None else (0.0, 0.0, 0.0)


def _middle(origin: ArrayLike, up: str) -> tuple[float, float, float]:
    given = check_finite(origin, "the origin of a height map")
    if given.shape != (3,):
        message = f"the origin of a height map is three numbers; got an array of shape {given.shape}"
        raise InputError(message)
    if (np.abs(given) > FARTHEST).any():
        message = f"the origin of a height map must not be beyond {FARTHEST:g}"
        raise InputError(message)
    x, y, z = given.tolist()
    return (x, -z, y) if up == "y" else (x, y, z)


def _scale(height: Any) -> float:
    scale = check_real(height, "the height of a height map")
    if not np.isfinite(scale):
        message = f"the height of a height map must be finite; got {scale:g}"
        raise InputError(message)
    return scale


def _hollow(missing: Bools) -> Bools:
    """Find cells (rows, cols) with a missing corner."""
    return missing[:-1, :-1] | missing[1:, :-1] | missing[:-1, 1:] | missing[1:, 1:]


def _fill_missing(values: Floats, missing: Bools, grid: PlanGrid) -> Floats:
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
