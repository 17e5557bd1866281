"""Targets from a file: points (k, 3) from .csv or .npy."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from tokenize import TokenError

import numpy as np

from poise.arrays import Floats
from poise.errors import FileError
from poise.goals import FARTHEST
from poise.io._files import read_bytes


def read_targets(path: Path) -> Floats:
    """Read points (k, 3): .npy, or .csv with columns x, y, z (named in the first row, or the first three).

    A table without rows is no mistake: k is 0. FileError names the file, the target and the reason.
    """
    if path.suffix.lower() not in (".csv", ".npy"):
        raise FileError(path, "targets are read from .csv or .npy files")
    data = read_bytes(path)
    points = _npy_points(path) if path.suffix.lower() == ".npy" else _csv_points(path, data)
    if points.ndim != 2 or points.shape[1] != 3:  # noqa: PLR2004
        raise FileError(path, f"targets need the shape (k, 3); this file has {points.shape}")
    _refuse(path, ~np.isfinite(points), "targets must be finite")
    _refuse(path, np.abs(points) > FARTHEST, f"targets lie within {FARTHEST:g} of the origin")
    return points


def _refuse(path: Path, wrong: np.ndarray, reason: str) -> None:
    if wrong.any():
        raise FileError(path, reason, place=f"target {int(np.flatnonzero(wrong.any(axis=1))[0])}")


def _npy_points(path: Path) -> Floats:
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="r")  # mapped: a header cannot ask for memory
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
            what = getattr(array, "dtype", "an archive")
            raise FileError(path, f"not a numeric .npy file: it holds {what}")
        return np.asarray(array, dtype=np.float64)
    except (ValueError, TypeError, EOFError, OSError, SyntaxError, TokenError) as error:
        raise FileError(path, f"not a numeric .npy file: {error}") from error


def _csv_points(path: Path, data: bytes) -> Floats:
    try:
        rows = [row for row in csv.reader(StringIO(data.decode("utf-8-sig"))) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, f"not a CSV text file: {error}") from error
    columns = [0, 1, 2]
    names = [cell.strip().lower() for cell in rows[0]] if rows else []
    if {"x", "y", "z"} <= set(names):
        columns = [names.index(axis) for axis in "xyz"]
        rows = rows[1:]
    points = np.zeros((len(rows), 3))
    for i, row in enumerate(rows):
        try:
            points[i] = [float(row[column]) for column in columns]
        except (ValueError, IndexError) as error:
            raise FileError(path, f"three numbers expected, not {row!r}", place=f"target {i}") from error
    return points
