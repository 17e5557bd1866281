"""Motion rows of a BVH file: text to numbers, numbers to q."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import NoReturn

import numpy as np

from poise.errors import FileError
from poise.io.bvh.document import Channels
from poise.io.bvh.parse import MotionHeader, line_at
from poise.io.numbers import LARGEST, shown
from poise.maths import euler
from poise.maths.arrays import Floats
from poise.model.skeleton import Skeleton

_BLANK = b" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0"  # blanks of NumPy's reader


def read_rows(path: Path, data: bytes, header: MotionHeader, width: int) -> tuple[Floats, list[str]]:
    """Read the motion values (frames, width), and notes. A note reports a frame count that differs from the header.

    If the header gives more frames than the file holds, all rows are used; if it gives fewer, only so many are used.
    """
    start = header.time_span[1]
    text = data[start:]
    values = _fast(text, width)
    if values is None:
        values = _SlowRows(path, data, start, width).read(header.frames)
    if not len(values):
        values = np.zeros((0, width))
    if len(values) and not (np.abs(values) <= LARGEST).all():
        _SlowRows(path, data, start, width).blame_value(values)
    notes: list[str] = []
    if header.frames != len(values):
        kept = min(header.frames, len(values))
        notes.append(f"the header says {header.frames} frames and the file holds {len(values)}; {kept} are used")
        values = values[:kept]
    return values, notes


def _fast(text: bytes, width: int) -> Floats | None:
    """Parse all rows at once. None unless every line is one row of `width` numbers."""
    if not text.strip(_BLANK):
        return None if text.strip() else np.zeros((0, width))
    try:
        values = np.loadtxt(BytesIO(text), comments=None, ndmin=2)
    except ValueError:
        return None
    return values if values.shape[1] == width else None


class _SlowRows:
    """Tolerant parser for broken or rewrapped rows. It also finds the number at fault."""

    def __init__(self, path: Path, data: bytes, start: int, width: int) -> None:
        self.path = path
        self.width = width
        first = line_at(data, start)
        lines = [line.split() for line in data[start:].splitlines()]
        self.rows = [(first + i, line) for i, line in enumerate(lines) if line]

    def read(self, frames: int) -> Floats:
        """Read rows with line breaks in other places.

        They are accepted if all numbers together are exactly the header's frames.
        """
        numbers = self._numbers()
        if not self.width:
            place = f"line {self.rows[0][0]}"
            raise FileError(self.path, f"{len(numbers)} numbers where no joint has channels", place=place)
        if len(numbers) != frames * self.width and any(len(row) != self.width for _, row in self.rows):
            self._blame_row()
        return numbers.reshape(-1, self.width)

    def _numbers(self) -> Floats:
        """Parse all words as numbers (k,). FileError names the line of the first invalid word."""
        words = [word for _, row in self.rows for word in row]
        try:
            numbers = np.array(words, dtype=np.float64)
        except ValueError:
            numbers = None
        if numbers is not None and not any(b"_" in word for word in words):  # NumPy reads 1_0 as 10 here
            return numbers
        line, odd = next((line, word) for line, row in self.rows for word in row if not _is_number(word))
        raise FileError(self.path, f"{shown(odd.decode('latin-1'))} is not a number", place=f"line {line}")

    def _blame_row(self) -> NoReturn:
        frame, (line, row) = next((i, at) for i, at in enumerate(self.rows) if len(at[1]) != self.width)
        raise FileError(
            self.path, f"frame {frame} has {len(row)} numbers; the channels need {self.width}", place=f"line {line}"
        )

    def blame_value(self, values: Floats) -> NoReturn:
        """Report the frame and column of an invalid number. It is not finite or too large."""
        frame, column = (int(k) for k in np.argwhere(~(np.abs(values) <= LARGEST))[0])
        at, place = frame * self.width + column, ""
        for line, row in self.rows:
            if at < len(row):
                place = f"line {line}"
                break
            at -= len(row)
        value = f"{values[frame, column]:g}"
        raise FileError(self.path, f"frame {frame}: number {column + 1} of the row is {value}", place=place)


def _is_number(word: bytes) -> bool:
    try:
        np.array([word], dtype=np.float64)  # the same parser as above
    except ValueError:
        return False
    return b"_" not in word


def q_of_values(skeleton: Skeleton, channels: tuple[Channels, ...], values: Floats) -> Floats:
    """Compute configurations (frames, nq) from motion values (frames, width).

    Positions are copied; degrees become quaternions.

    All joints of one rotation order are converted together.
    """
    q = np.tile(skeleton.zero_q(), (len(values), 1))
    by_order: dict[str, list[int]] = {}
    for i, joint in enumerate(channels):
        if joint.rotations:
            by_order.setdefault(joint.order, []).append(i)
        if joint.positions:
            start = int(skeleton.q_start[i])
            q[:, start : start + 3] = skeleton.rest_q[start : start + 3]
            for axis, column in joint.positions.items():
                q[:, start + "XYZ".index(axis)] = values[:, column]
    for order, rows in by_order.items():
        starts = np.array([skeleton.q_start[i] + (3 if channels[i].positions else 0) for i in rows])
        angles = np.radians(angles_of_values(channels, rows, order, values))
        q[:, starts[:, None] + np.arange(4)] = euler.to_quaternion(angles, order)
    return q


def angles_of_values(channels: tuple[Channels, ...], rows: list[int], order: str, values: Floats) -> Floats:
    """Select the angles (frames, rows, 3) [degrees] of joints of one order. An axis without a channel is zero."""
    angles = np.zeros((len(values), len(rows), 3))
    for k, letter in enumerate(order):
        have = [(at, channels[i].rotations[letter]) for at, i in enumerate(rows) if letter in channels[i].rotations]
        if have:
            at, columns = np.array(have).T
            angles[:, at, k] = values[:, columns]
    return angles
