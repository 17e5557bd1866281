"""Robot motion from csv files of numbers. A row has x y z, a rotation, and a column for each joint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from poise.errors import FileError
from poise.io.motion.table import ROOT, MotionTable, Told, even_times, in_order
from poise.io.numbers import LARGEST, is_number, table
from poise.maths.arrays import Floats


def has_names(data: bytes) -> bool:
    """Return whether the first line is a header of names. `poise.save` writes one."""
    first = data[:100_000].split(b"\n", 1)[0].decode("utf-8-sig", "replace").strip()
    return not first.startswith("#") and not is_number(first.split(",", 1)[0].strip())


def from_csv(path: Path, data: bytes, given: Told) -> MotionTable:
    """Parse the rows of a csv file. FileError names a wrong row, and data missing from both file and caller."""
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FileError(path, f"is not UTF-8 text: {error.reason}") from error
    said = _remark(lines[0]) if lines[0].startswith("#") else {}
    rows = [(k, line.split(",")) for k, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    wide = len(rows[0][1]) if rows else 0
    uneven = next((k for k, row in rows if len(row) != wide), None)
    if wide < ROOT or uneven is not None:
        message = f"every row needs x y z, a rotation and a value for each joint, as many as the first: {wide} numbers"
        raise FileError(path, message, place=f"row {uneven or 1}")
    values = parsed(path, rows)
    fps, start = (said.get(key) for key in ("fps", "start"))
    times = even_times(path, len(values), given.fps or plain(fps), plain(start) or 0.0)
    order = given.order or (said.get("quaternion") if said.get("quaternion") in ("xyzw", "wxyz") else None)
    rotation = in_order(path, values[:, 3:ROOT], order, "the root's rotation")
    names: Any = said.get("joints")
    joints = tuple(names) if isinstance(names, list) and all(isinstance(one, str) for one in names) else None
    return MotionTable(times, values[:, :3], rotation, values[:, ROOT:], given.joints or joints)


def parsed(path: Path, rows: list[tuple[int, list[str]]]) -> Floats:
    """Parse words into numbers (rows, columns). `rows` have their line numbers, for FileError."""
    try:
        return table([row for _, row in rows])
    except ValueError:
        for k, row in rows:  # find the invalid row
            try:
                table([row])
            except ValueError as error:
                raise FileError(path, str(error), place=f"row {k}") from error
        raise


def _remark(line: str) -> dict[str, Any]:
    """Parse the first line of a file from `poise.save_motion`. Other remarks give an empty dict."""
    try:
        said = json.loads(line.lstrip("# "))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def plain(value: Any) -> float | None:
    """Return a JSON number as a float. None for anything else."""
    return float(value) if type(value) in (int, float) and abs(value) <= LARGEST else None
