"""C3D, the binary file of optical motion capture.

It has 512-byte blocks with a header, parameters, and frames of points.

A point is x, y, z and a fourth number, negative where the point is missing. All are floats, or 16-bit integers times a
scale. Analog samples between the points of the frames are ignored.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import FileError, InputError
from poise.io.files import guessed_kind
from poise.io.markers.machine import MACHINES, Machine
from poise.io.markers.markers import Markers
from poise.io.markers.parameters import C3dParameter, read_parameters
from poise.io.markers.units import metres_of
from poise.io.numbers import LARGEST, LONGEST_NAME, is_rate
from poise.maths.arrays import Floats
from poise.model.joints import unique_names

_BLOCK = 512
_KEY = 0x50  # the second byte of every C3D file
_FULL = 65_535  # maximum 16-bit frame number; longer files have theirs in parameters
_DEFAULT_RATE = 100.0


class _Header(NamedTuple):
    """Header block of a C3D file."""

    points: int
    analog: int  # analog numbers per frame
    first: int
    last: int
    scale: float
    data_block: int
    rate: float


def read(path: Path, data: bytes) -> Markers:
    """Read the points of a C3D file. FileError for an incomplete or other file."""
    machine, section = _section(path, data)
    parameters = read_parameters(path, section, machine)
    header, notes = _header(data, machine), list[str]()
    said = {name: value for (group, name), value in parameters.items() if group == "POINT"}
    points = _points(path, said, header)
    first, count = _frames(parameters, header)
    if not count:
        notes.append(f"it holds no frames: the header says {header.first} to {header.last}")
    positions = _positions(path, data, machine, header, said, (points, count))
    rate = _number(said, "RATE", header.rate)
    if not is_rate(rate):
        notes.append(f"a rate of {rate:g} frames per second cannot be used; {_DEFAULT_RATE:g} is used instead")
        rate = _DEFAULT_RATE
    unit = next(iter(_texts(said, "UNITS")), "")
    if metres_of(unit) is None:
        notes.append(f"its unit {unit[:20]!r} is not known" if unit else "its unit is missing")
    try:
        names = _names(said, points, notes)
        return Markers(positions, names, rate, first, metres_of(unit), _up(said), tuple(notes), path)
    except InputError as error:
        raise FileError(path, str(error)) from error


def _section(path: Path, data: bytes) -> tuple[Machine, bytes]:
    """Find the parameter section and its float format."""
    if len(data) < 2 or data[1] != _KEY:  # noqa: PLR2004
        looks = guessed_kind(data)
        raise FileError(path, f"not a C3D file; this looks like {looks}" if looks else "not a C3D file")
    if len(data) < _BLOCK:
        raise FileError(path, f"is cut off: the header has {_BLOCK} bytes and the file {len(data)}")
    start = (data[0] - 1) * _BLOCK
    if start < _BLOCK or start + 4 > len(data):
        raise FileError(path, f"its parameters begin in block {data[0]}, which the file does not have", place="header")
    machine = MACHINES.get(data[start + 3])
    if machine is None:
        known = "84 (Intel), 85 (DEC) or 86 (MIPS)"
        raise FileError(path, f"the processor must be {known}, not {data[start + 3]}", place="parameters")
    blocks = data[start + 2] or 256
    return machine, data[start + 4 : start + blocks * _BLOCK]


def _header(data: bytes, machine: Machine) -> _Header:
    words = machine.words(data[:48], signed=False).tolist()
    scale, rate = machine.floats(data[12:16]), machine.floats(data[20:24])
    return _Header(words[1], words[2], words[3], words[4], float(scale[0]), words[8], float(rate[0]))


def _points(path: Path, said: dict[str, C3dParameter], header: _Header) -> int:
    used = _number(said, "USED", header.points)
    if not used:
        raise FileError(path, "it holds no points, only analog channels" if header.analog else "it holds no points")
    if used != header.points:
        reason = f"the header says {header.points:,} points and the parameters {used:,g}"
        raise FileError(path, reason, place="POINT:USED")
    return header.points


def _frames(parameters: dict[tuple[str, str], C3dParameter], header: _Header) -> tuple[int, int]:
    """Find the first frame's number and the frame count. They are 32-bit parameters where 16 bits are too few."""
    ends = [parameters.get(("TRIAL", f"ACTUAL_{end}_FIELD")) for end in ("START", "END")]
    found = [
        int(_whole(one.numbers)) for one in ends if one is not None and one.numbers is not None and len(one.numbers)
    ]
    trial = found if len(found) == len(ends) and 0 < found[0] <= found[1] else None
    if header.last < header.first or header.last == _FULL:
        if trial:
            return trial[0], trial[1] - trial[0] + 1
        frames = parameters.get(("POINT", "FRAMES"))
        count = 0 if frames is None or frames.numbers is None else int(_whole(frames.numbers[:1]))
        return header.first, max(count, header.last - header.first + 1, 0)
    return header.first, header.last - header.first + 1


def _whole(words: Floats) -> float:
    """Join 16-bit words, low one first, into an unsigned number. A float is kept as it is."""
    unsigned = [word + 65_536 if word < 0 else word for word in words.tolist() if np.isfinite(word)]
    return sum(word * 65_536**i for i, word in enumerate(unsigned[:2]))


def _positions(
    path: Path, data: bytes, machine: Machine, header: _Header, said: dict[str, C3dParameter], size: tuple[int, int]
) -> Floats:
    """Decode positions (frames, points, 3). A missing point is NaN."""
    points, count = size
    scale = _number(said, "SCALE", header.scale)
    if not np.isfinite(scale) or scale == 0.0 or abs(scale) > LARGEST:
        raise FileError(path, f"a scale of {scale:g} cannot be used", place="POINT:SCALE")
    block = header.data_block or int(_number(said, "DATA_START", 0.0))
    start, width = (block - 1) * _BLOCK, 4 if scale < 0.0 else 2
    frame = (4 * points + header.analog) * width
    left = max(len(data) - start, 0) if start >= _BLOCK else 0
    if count * frame > left:
        reason = f"says {count:,} frames of {frame:,} bytes from block {block} on; the file has {left:,} bytes there"
        raise FileError(path, reason, place="header")
    rows = memoryview(data)[start : start + count * frame]
    numbers = machine.floats(rows) if scale < 0.0 else machine.words(rows).astype(np.float64)
    given = numbers.reshape(count, 4 * points + header.analog)[:, : 4 * points].reshape(count, points, 4)
    positions = given[..., :3] * (1.0 if scale < 0.0 else scale)
    unseen = (given[..., 3] < 0.0) | np.isnan(given).any(axis=-1)
    positions[unseen] = np.nan
    bad = np.argwhere(np.abs(positions) > LARGEST)
    if len(bad):
        where, which = bad[0][:2].tolist()
        raise FileError(path, f"point {which + 1} is beyond {LARGEST:g}", place=f"frame {header.first + where}")
    return positions


# --- parameters ----------------------------------------------------------------------------------


def _number(said: dict[str, C3dParameter], name: str, otherwise: float) -> float:
    """Find the first number of a parameter. 16-bit integers are unsigned where they are counts."""
    value = said.get(name)
    if value is None or value.numbers is None or not len(value.numbers):
        return otherwise
    number = float(value.numbers[0])
    return number + 65_536 if name == "USED" and number < 0 else number


def _texts(said: dict[str, C3dParameter], name: str) -> tuple[str, ...]:
    value = said.get(name)
    return value.texts if value is not None and value.texts else ()


def _names(said: dict[str, C3dParameter], count: int, notes: list[str]) -> tuple[str, ...]:
    """Build the point names from the labels.

    Labels beyond 255 continue in LABELS2, LABELS3, ...; a point without one is named by its number.
    """
    labels = list(_texts(said, "LABELS"))
    more = 2
    while f"LABELS{more}" in said and len(labels) < count:
        labels += _texts(said, f"LABELS{more}")
        more += 1
    given = [label[:LONGEST_NAME] for label in labels[:count]] + [""] * (count - len(labels))
    unnamed = sum(not label for label in given)
    if unnamed:
        notes.append(f"{unnamed} of {count} points have no label and are called by their number")
    wanted = [label or f"point_{i}" for i, label in enumerate(given, 1)]
    names = unique_names(wanted)
    if names != tuple(wanted):
        notes.append("duplicate labels were numbered")
    return names


def _up(said: dict[str, C3dParameter]) -> str | None:
    """Find the up axis of the screen. None for a negative axis."""
    axis = next(iter(_texts(said, "Y_SCREEN")), "").strip().upper()
    return axis[1].lower() if axis in ("+X", "+Y", "+Z") else None
