"""BVH reader: document, HIERARCHY block, motion header and motion rows.

The document keeps the bytes and their spans; writing then replaces only the changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from poise.maths.arrays import Floats, frozen

MOST_JOINTS = 10_000  # maximum, End Sites included; ten times a film character; bounds the cost of a hostile file
_MOTION = re.compile(rb"(?<=[\s}])MOTION\s*\Z", re.IGNORECASE)  # a MOTION keyword at the end of the file
DEFAULT_FRAME_TIME = 1.0 / 30.0  # [s] if the file gives none
_USABLE_FRAME_TIME = (1e-6, 1e6)  # [s] range of accepted frame times


class BvhName(str):
    """Joint name from a BVH file. It is in `Skeleton.source_ids` of a skeleton read from BVH.

    Such a name is written back unchanged, even where a name from another format would be changed.
    """

    __slots__ = ()


def is_usable_time(seconds: float) -> bool:
    """Return whether a frame time is usable."""
    low, high = _USABLE_FRAME_TIME
    return low <= seconds <= high


@dataclass(frozen=True)
class Channels:
    """Motion columns of one joint. `positions` and `rotations` map an axis letter to its column.

    The order of `rotations` is that of the file, which is the rotation order.
    """

    positions: dict[str, int] = field(default_factory=dict[str, int])
    rotations: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def written_order(self) -> str:
        """Rotation channels as written. They are "ZXY", or fewer letters where some are missing."""
        return "".join(self.rotations)

    @property
    def order(self) -> str:
        """Rotation order, missing axes last. The angle of a missing axis is zero."""
        return completed(self.written_order)


def completed(order: str) -> str:
    """Complete a rotation order with its missing letters.

    "Z" becomes "ZXY"; none becomes "ZXY" as most files have it.
    """
    return order + "".join(letter for letter in ("XYZ" if order else "ZXY") if letter not in order)


@dataclass(frozen=True)
class BvhJoint:
    """Joint of the HIERARCHY block, or an End Site. An End Site has no name of its own and no channels."""

    name: str
    parent: int
    offset: tuple[float, float, float]
    channels: Channels
    is_end: bool


@dataclass(frozen=True, eq=False)
class BvhDocument:
    """BVH file: bytes, spans of the motion header, numbers.

    spans     spans of the frame count and of the frame time; None in a file without a MOTION block
    names     names of the skeleton's rows
    channels  channels of each row
    width     numbers in a motion row
    values    (frames, width) as written: degrees and file units
    times, q  those of the clip, to detect changes
    """

    data: bytes
    spans: tuple[tuple[int, int], tuple[int, int]] | None
    names: tuple[str, ...]
    channels: tuple[Channels, ...]
    width: int
    values: Floats
    times: Floats
    q: Floats

    def __post_init__(self) -> None:
        for array in (self.values, self.times, self.q):
            frozen(array)

    @cached_property
    def newline(self) -> bytes:
        """Line end of the file."""
        head = self.data if self.spans is None else self.data[: self.spans[1][1]]
        return b"\r\n" if b"\r\n" in head else b"\n" if b"\n" in head or b"\r" not in head else b"\r"

    def with_motion(self, count: int, frame_time: str | None, rows: bytes) -> bytes:
        """Return the file's bytes with other motion rows. The frame time stays as written if it is None."""
        if self.spans is None:
            time = repr(DEFAULT_FRAME_TIME) if frame_time is None else frame_time
            hierarchy = _MOTION.sub(b"", self.data).rstrip()
            lines = [hierarchy, b"MOTION", f"Frames: {count}".encode(), f"Frame Time: {time}".encode()]
            return self.newline.join([*lines, rows])
        (count_start, count_end), (time_start, time_end) = self.spans
        time = self.data[time_start:time_end] if frame_time is None else frame_time.encode()
        head = self.data[:count_start] + str(count).encode() + self.data[count_end:time_start]
        return head + time + self.newline + rows
