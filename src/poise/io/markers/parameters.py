"""Parameter section of a C3D file: groups of named values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import FileError
from poise.io.markers.machine import Machine
from poise.maths.arrays import Floats

_SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}  # bytes of a letter, byte, integer, float
_MOST = 20_000  # maximum number of groups and parameters; real files have some hundreds


class C3dParameter(NamedTuple):
    """C3D parameter: flat numbers, or texts unless `texts` is None."""

    numbers: Floats | None
    texts: tuple[str, ...] | None


def read_parameters(path: Path, section: bytes, machine: Machine) -> dict[tuple[str, str], C3dParameter]:
    """Read all parameters by (GROUP, NAME) in capitals. `section` begins after the section's four bytes.

    FileError for a record too large for the section. Every record points to a later one, so reading always ends.
    """
    groups: dict[int, str] = {}
    found: list[tuple[int, str, C3dParameter]] = []
    at, count = 0, 0
    while at + 2 <= len(section) and section[at] and count < _MOST:
        count += 1
        length, group = (value - 256 if value > 127 else value for value in section[at : at + 2])  # noqa: PLR2004
        length = abs(length)  # negative where the record is locked
        name = _text(section[at + 2 : at + 2 + length]).upper()
        place = f"parameter {count} ({name[:20]!a})"
        start = at + 2 + length
        if start + 2 > len(section):
            raise FileError(path, "is cut off", place=place)
        (step,) = machine.words(section[start : start + 2], signed=False).tolist()
        if group < 0:
            groups[-group] = name
        elif group > 0:
            found.append((group, name, _value(path, place, section[start + 2 :], machine)))
        if step == 0:
            break
        at = start + step
        if at <= start + 1:
            raise FileError(path, "leads back to itself", place=place)
    return {(groups.get(group, ""), name): value for group, name, value in found}


def _value(path: Path, place: str, rest: bytes, machine: Machine) -> C3dParameter:
    if len(rest) < 2:  # noqa: PLR2004  (kind, number of dimensions)
        raise FileError(path, "is cut off", place=place)
    kind, dimensions = rest[0] - 256 if rest[0] > 127 else rest[0], rest[1]  # noqa: PLR2004
    if kind not in _SIZES:
        raise FileError(path, f"has values of the unknown kind {kind}", place=place)
    sizes = list(rest[2 : 2 + dimensions])
    count = math.prod(sizes)
    data = rest[2 + dimensions : 2 + dimensions + count * _SIZES[kind]]
    if len(sizes) < dimensions or len(data) < count * _SIZES[kind]:
        raise FileError(path, f"says {count:,} values, which the section cannot hold", place=place)
    if kind == -1:
        width = sizes[0] if sizes else 1
        return C3dParameter(None, tuple(_text(data[i : i + width]) for i in range(0, len(data), max(width, 1))))
    if kind == 1:
        return C3dParameter(np.frombuffer(data, "u1").astype(np.float64), None)
    numbers = machine.floats(data) if kind == 4 else machine.words(data).astype(np.float64)  # noqa: PLR2004
    return C3dParameter(numbers, None)


def _text(data: bytes) -> str:
    return data.split(b"\0")[0].decode("utf-8", "replace").strip()
