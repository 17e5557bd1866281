"""BVH reader: document, HIERARCHY block, motion header and motion rows.

The document keeps the bytes and their spans; writing then replaces only the changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from poise.errors import FileError
from poise.io.files import guess_file_type
from poise.io.text_parsing import MAX_NAME_LENGTH, MAX_NUMBER, parse_number, quote_excerpt
from poise.maths import euler
from poise.maths.arrays import Floats, freeze_array
from poise.model.skeleton import Skeleton

MAX_JOINTS = 10_000  # maximum, End Sites included; ten times a film character; bounds the cost of a hostile file
_TRAILING_MOTION = re.compile(rb"(?<=[\s}])MOTION\s*\Z", re.IGNORECASE)  # a MOTION keyword at the end of the file
DEFAULT_FRAME_TIME_S = 1.0 / 30.0  # [s] if the file gives none
_FRAME_TIME_RANGE_S = (1e-6, 1e6)  # [s] range of accepted frame times


class BvhName(str):
    """Joint name from a BVH file. It is in `Skeleton.source_ids` of a skeleton read from BVH.

    Such a name is written back unchanged, even where a name from another format would be changed.
    """

    __slots__ = ()


def is_usable_frame_time(seconds: float) -> bool:
    """Return whether a frame time is usable."""
    low, high = _FRAME_TIME_RANGE_S
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
        return complete_rotation_order(self.written_order)


def complete_rotation_order(order: str) -> str:
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

    header_spans  spans of the frame count and of the frame time; None in a file without a MOTION block
    names         names of the skeleton's rows
    channels      channels of each row
    column_count  numbers in a motion row
    values        (frames, column_count) as written: degrees and file units
    times, q      those of the clip, to detect changes
    """

    data: bytes
    header_spans: tuple[tuple[int, int], tuple[int, int]] | None
    names: tuple[str, ...]
    channels: tuple[Channels, ...]
    column_count: int
    values: Floats
    times: Floats
    q: Floats

    def __post_init__(self) -> None:
        for array in (self.values, self.times, self.q):
            freeze_array(array)

    @cached_property
    def newline(self) -> bytes:
        """Line end of the file."""
        head = self.data if self.header_spans is None else self.data[: self.header_spans[1][1]]
        return b"\r\n" if b"\r\n" in head else b"\n" if b"\n" in head or b"\r" not in head else b"\r"

    def replace_motion(self, frame_count: int, frame_time: str | None, rows: bytes) -> bytes:
        """Return the file's bytes with other motion rows. The frame time stays as written if it is None."""
        if self.header_spans is None:
            written_time = repr(DEFAULT_FRAME_TIME_S) if frame_time is None else frame_time
            hierarchy = _TRAILING_MOTION.sub(b"", self.data).rstrip()
            lines = [hierarchy, b"MOTION", f"Frames: {frame_count}".encode(), f"Frame Time: {written_time}".encode()]
            return self.newline.join([*lines, rows])
        (count_start, count_end), (time_start, time_end) = self.header_spans
        written_time = self.data[time_start:time_end] if frame_time is None else frame_time.encode()
        head = self.data[:count_start] + str(frame_count).encode() + self.data[count_end:time_start]
        return head + written_time + self.newline + rows


# --- HIERARCHY block and motion header, scanned in one pass without recursion ----------------------------------------


_WORD_PATTERN = re.compile(rb"[{}]|[^\s{}]+")
_NAME_PATTERN = re.compile(rb"[^{}\r\n]*")
_FRAMES_PATTERN = re.compile(rb"\s*Frames\s*:\s*(\S+)", re.IGNORECASE)
_FRAME_TIME_PATTERN = re.compile(rb"\s*Frame[ \t]*Time\s*:\s*(\S+)", re.IGNORECASE)
_AXES = ("X", "Y", "Z")
_MAX_CHANNELS = 6


class BvhMotionHeader(NamedTuple):
    """Head of the MOTION block.

    Spans are positions in the bytes of the file.
    """

    frame_count: int
    count_span: tuple[int, int]
    frame_time: float
    time_span: tuple[int, int]


class BvhHeader(NamedTuple):
    """BVH file up to its motion rows.

    `motion` is None in a file without a MOTION block.
    """

    joints: list[BvhJoint]
    column_count: int
    motion: BvhMotionHeader | None


def parse_header(path: Path, data: bytes) -> BvhHeader:
    """Read everything up to the first motion row."""
    _reject_other_formats(path, data)
    scanner = BvhScanner(path, data)
    parser = _HierarchyParser(scanner)
    if not parser.read():
        return BvhHeader(parser.joints, parser.column_count, None)
    if scanner.is_at_end():
        return BvhHeader(parser.joints, parser.column_count, None)
    count_text, count_span = scanner.read_field(_FRAMES_PATTERN, "'Frames: COUNT' after MOTION")
    if not re.fullmatch(r"\+?\d{1,18}", count_text, re.ASCII):
        scanner.fail(f"the number of frames must be a whole number, not {quote_excerpt(count_text)}")
    time_text, time_span = scanner.read_field(_FRAME_TIME_PATTERN, "'Frame Time: SECONDS' after the number of frames")
    frame_time = scanner.parse_value(time_text, "the frame time")
    return BvhHeader(
        parser.joints, parser.column_count, BvhMotionHeader(int(count_text), count_span, frame_time, time_span)
    )


def _reject_other_formats(path: Path, data: bytes) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(path, "is UTF-16 text; a BVH file is plain text, so save it as UTF-8 or ASCII")
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start[:9].upper() == b"HIERARCHY":  # noqa: SIM201  (as in the format's rule)
        file_type = guess_file_type(data)
        raise FileError(path, f"not a BVH file; this looks like {file_type}" if file_type else "not a BVH file")


class BvhScanner:
    """Word scanner over the bytes of a file; it knows its position."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        self.position = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.word_start = self.position

    def read_word(self) -> str:
        """Read the next word or brace. It is empty at the end of the file."""
        match = _WORD_PATTERN.search(self.data, self.position)
        if not match:
            self.position = self.word_start = len(self.data)
            return ""
        self.word_start, self.position = match.span()
        return match.group().decode("latin-1")

    def is_at_end(self) -> bool:
        """Return whether only blanks are left."""
        return not self.data[self.position :].strip()

    def unread_word(self) -> None:
        """Unread the last word."""
        self.position = self.word_start

    def read_name(self) -> str:
        """Read a name: the rest of the line up to a brace. Names may hold spaces, but not at their ends."""
        match = _NAME_PATTERN.match(self.data, self.position)
        raw_name = match.group() if match else b""
        self.word_start, self.position = self.position, self.position + len(raw_name)
        if b"\0" in raw_name:
            self.fail("a name holds a zero byte")
        if len(raw_name.strip()) > MAX_NAME_LENGTH:
            self.fail(f"a name has more than {MAX_NAME_LENGTH} characters")
        try:
            return raw_name.decode("utf-8").strip()
        except UnicodeDecodeError:
            return raw_name.decode("latin-1").strip()

    def read_field(self, pattern: re.Pattern[bytes], expected: str) -> tuple[str, tuple[int, int]]:
        """Read a line of the motion header. Return its value and the value's span."""
        match = pattern.match(self.data, self.position)
        if not match:
            self.read_word()
            self.fail(f"expected {expected}")
        self.word_start, self.position = match.span(1)
        return match.group(1).decode("latin-1"), match.span(1)

    def parse_value(self, text: str, label: str) -> float:
        """Read a number or fail."""
        try:
            return parse_number(text)
        except ValueError as error:
            self.fail(f"{label}: {error}")

    def fail(self, reason: str) -> NoReturn:
        """Raise a FileError at the last word."""
        if self.word_start >= len(self.data):
            reason += "; the file ends here"
        raise FileError(self.path, reason, place=f"line {find_line_number(self.data, self.word_start)}")


def find_line_number(data: bytes, position: int) -> int:
    """Find the line number, from 1, of a byte. Lines end with LF, or with CR where there is no LF."""
    return data.count(b"\n" if b"\n" in data else b"\r", 0, position) + 1


class _HierarchyParser:
    """Parser of the joint tree. `open_joints` holds the joints whose brace is not closed yet."""

    def __init__(self, scanner: BvhScanner) -> None:
        self.scanner = scanner
        self.joints: list[BvhJoint] = []
        self.column_count = 0
        self.open_joints: list[_OpenJoint] = []

    def read(self) -> bool:
        """Read the hierarchy up to MOTION or the end of the file.

        Return whether MOTION follows.
        """
        self.scanner.read_word()
        while (word := self.scanner.read_word().upper()) != "MOTION" or self.open_joints:
            if not self.open_joints:
                if not word and self.joints:
                    return False
                if word != "ROOT":
                    self.scanner.fail(
                        f"expected {'ROOT or MOTION' if self.joints else 'ROOT'}, not {quote_excerpt(word)}"
                    )
                self._open_joint(word)
            else:
                self._parse_statement(word)
        if not self.joints:
            self.scanner.fail("the hierarchy has no ROOT")
        return True

    def _parse_statement(self, word: str) -> None:
        """Parse one statement inside the braces of a joint."""
        open_joint = self.open_joints[-1]
        if word in ("JOINT", "END"):
            if open_joint.is_end:
                self.scanner.fail(f"an End Site cannot hold another joint ({word})")
            self._open_joint(word)
        elif word == "OFFSET" and open_joint.offset is None:
            open_joint.offset = self._parse_offset(open_joint.name)
        elif word == "CHANNELS" and open_joint.channels is None and not open_joint.is_end:
            open_joint.channels = self._parse_channels(open_joint.name)
        elif word == "}":
            self._close_joint()
        elif word in ("OFFSET", "CHANNELS"):
            reason = "an End Site has no channels" if open_joint.is_end and word == "CHANNELS" else f"a second {word}"
            self.scanner.fail(f"joint {quote_excerpt(open_joint.name)}: {reason}")
        elif word in ("", "MOTION", "ROOT"):
            self.scanner.fail(f"joint {quote_excerpt(open_joint.name)} is not closed: a '}}' is missing")
        else:
            self.scanner.fail(f"joint {quote_excerpt(open_joint.name)}: unknown word {quote_excerpt(word)}")

    def _open_joint(self, word: str) -> None:
        if len(self.joints) >= MAX_JOINTS:
            self.scanner.fail(f"more than {MAX_JOINTS} joints")
        name = self.scanner.read_name()
        if self.scanner.read_word() != "{":
            self.scanner.fail(f"expected '{{' after {word} {quote_excerpt(name)}")
        is_end = word == "END"
        parent = self.open_joints[-1].row if self.open_joints else -1
        self.open_joints.append(
            _OpenJoint(len(self.joints), f"{self.open_joints[-1].name} End Site" if is_end else name, is_end=is_end)
        )
        self.joints.append(BvhJoint(name, parent, (0.0, 0.0, 0.0), Channels(), is_end))

    def _close_joint(self) -> None:
        closed_joint = self.open_joints.pop()
        if closed_joint.offset is None:
            self.scanner.fail(f"joint {quote_excerpt(closed_joint.name)} has no OFFSET")
        joint = self.joints[closed_joint.row]
        self.joints[closed_joint.row] = BvhJoint(
            joint.name, joint.parent, closed_joint.offset, closed_joint.channels or Channels(), closed_joint.is_end
        )

    def _parse_offset(self, name: str) -> tuple[float, float, float]:
        label = f"the OFFSET of {quote_excerpt(name)}"
        x, y, z = (self.scanner.parse_value(self.scanner.read_word(), label) for _ in range(3))
        return x, y, z

    def _parse_channels(self, name: str) -> Channels:
        count_text = self.scanner.read_word()
        if not re.fullmatch(r"\d", count_text, re.ASCII) or int(count_text) > _MAX_CHANNELS:
            self.scanner.fail(
                f"joint {quote_excerpt(name)}: a joint has 0 to 6 channels, not {quote_excerpt(count_text)}"
            )
        channels = Channels()
        for _ in range(int(count_text)):
            word = self.scanner.read_word()
            columns = _find_columns(channels, word)
            if columns is None:
                self.scanner.fail(
                    f"joint {quote_excerpt(name)} says {count_text} channels, but {quote_excerpt(word)} is not a "
                    "channel"
                )
            if word[0].upper() in columns:
                self.scanner.fail(f"joint {quote_excerpt(name)} has the channel {quote_excerpt(word)} twice")
            columns[word[0].upper()] = self.column_count
            self.column_count += 1
        if _find_columns(channels, self.scanner.read_word()) is not None:
            self.scanner.fail(f"joint {quote_excerpt(name)} says {count_text} channels and lists more")
        self.scanner.unread_word()
        return channels


class _OpenJoint:
    """Joint before its closing brace."""

    def __init__(self, row: int, name: str, *, is_end: bool) -> None:
        self.row = row
        self.name = name
        self.is_end = is_end
        self.offset: tuple[float, float, float] | None = None
        self.channels: Channels | None = None


def _find_columns(channels: Channels, word: str) -> dict[str, int] | None:
    """Find the columns for a channel such as "Xposition" or "zROTATION". None for any other word."""
    axis, suffix = word[:1].upper(), word[1:].lower()
    if axis not in _AXES:
        return None
    return {"position": channels.positions, "rotation": channels.rotations}.get(suffix)


# --- Motion rows of a BVH file: text to numbers, numbers to q --------------------------------------------------------


_NON_BLANK_PATTERN = re.compile(
    rb"[^ \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0]"
)  # the others are blanks of NumPy's reader
_MAX_BLOCK_ROTATIONS = 4096  # rotations converted at once; more need more memory for intermediate arrays


def read_motion_rows(path: Path, data: bytes, header: BvhMotionHeader, column_count: int) -> tuple[Floats, list[str]]:
    """Read the motion values (frames, column_count), and notes. A note reports a frame count unlike the header.

    If the header gives more frames than the file holds, all rows are used; if it gives fewer, only so many are used.
    """
    start = header.time_span[1]
    values = _parse_rows_fast(data, start, column_count)
    if values is None:
        values = _TolerantRows(path, data, start, column_count).read(header.frame_count)
    if not len(values):
        values = np.zeros((0, column_count))
    if values.size and not (values.min() >= -MAX_NUMBER and values.max() <= MAX_NUMBER):
        _TolerantRows(path, data, start, column_count).report_bad_value(values)
    notes: list[str] = []
    if header.frame_count != len(values):
        used_count = min(header.frame_count, len(values))
        notes.append(
            f"the header says {header.frame_count} frames and the file holds {len(values)}; {used_count} are used"
        )
        values = values[:used_count]
    return values, notes


def _parse_rows_fast(data: bytes, start: int, column_count: int) -> Floats | None:
    """Parse all rows at once. None unless every line is one row of `column_count` numbers."""
    if not _NON_BLANK_PATTERN.search(data, start):
        return None if data[start:].strip() else np.zeros((0, column_count))
    text = BytesIO(data)  # shares the bytes
    text.seek(start)
    try:
        values = np.loadtxt(text, comments=None, ndmin=2)
    except ValueError:
        return None
    return values if values.shape[1] == column_count else None


class _TolerantRows:
    """Tolerant parser for broken or rewrapped rows. It also finds the number at fault."""

    def __init__(self, path: Path, data: bytes, start: int, column_count: int) -> None:
        self.path = path
        self.column_count = column_count
        first_line = find_line_number(data, start)
        lines = [line.split() for line in data[start:].splitlines()]
        self.rows = [(first_line + i, line) for i, line in enumerate(lines) if line]

    def read(self, frame_count: int) -> Floats:
        """Read rows with line breaks in other places.

        They are accepted if all numbers together are exactly the header's frames.
        """
        numbers = self._parse_numbers()
        if not self.column_count:
            place = f"line {self.rows[0][0]}"
            raise FileError(self.path, f"{len(numbers)} numbers where no joint has channels", place=place)
        if len(numbers) != frame_count * self.column_count and any(
            len(row) != self.column_count for _, row in self.rows
        ):
            self._report_bad_row()
        return numbers.reshape(-1, self.column_count)

    def _parse_numbers(self) -> Floats:
        """Parse all words as numbers (k,). FileError names the line of the first invalid word."""
        words = [word for _, row in self.rows for word in row]
        try:
            numbers = np.array(words, dtype=np.float64)
        except ValueError:
            numbers = None
        if numbers is not None and not any(b"_" in word for word in words):  # NumPy reads 1_0 as 10 here
            return numbers
        line, bad_word = next((line, word) for line, row in self.rows for word in row if not _is_number(word))
        raise FileError(self.path, f"{quote_excerpt(bad_word.decode('latin-1'))} is not a number", place=f"line {line}")

    def _report_bad_row(self) -> NoReturn:
        frame, (line, row) = next(
            (i, numbered_row) for i, numbered_row in enumerate(self.rows) if len(numbered_row[1]) != self.column_count
        )
        raise FileError(
            self.path,
            f"frame {frame} has {len(row)} numbers; the channels need {self.column_count}",
            place=f"line {line}",
        )

    def report_bad_value(self, values: Floats) -> NoReturn:
        """Report the frame and column of an invalid number. It is not finite or too large."""
        frame, column = (int(k) for k in np.argwhere(~(np.abs(values) <= MAX_NUMBER))[0])
        offset, place = frame * self.column_count + column, ""
        for line, row in self.rows:
            if offset < len(row):
                place = f"line {line}"
                break
            offset -= len(row)
        value = f"{values[frame, column]:g}"
        raise FileError(self.path, f"frame {frame}: number {column + 1} of the row is {value}", place=place)


def _is_number(word: bytes) -> bool:
    try:
        np.array([word], dtype=np.float64)  # the same parser as above
    except ValueError:
        return False
    return b"_" not in word


def compute_q(skeleton: Skeleton, channels: tuple[Channels, ...], values: Floats) -> Floats:
    """Compute configurations (frames, nq) from motion values (frames, column_count).

    Positions are copied; degrees become quaternions.

    All joints of one rotation order are converted together.
    """
    q = np.tile(skeleton.zero_q(), (len(values), 1))
    rows_by_order: dict[str, list[int]] = {}
    for i, joint in enumerate(channels):
        if joint.rotations:
            rows_by_order.setdefault(joint.order, []).append(i)
        if joint.positions:
            start_column = int(skeleton.q_start[i])
            q[:, start_column : start_column + 3] = skeleton.rest_q[start_column : start_column + 3]
            for axis, column in joint.positions.items():
                q[:, start_column + "XYZ".index(axis)] = values[:, column]
    for order, rows in rows_by_order.items():
        quaternion_starts = np.array([skeleton.q_start[i] + (3 if channels[i].positions else 0) for i in rows])
        columns = quaternion_starts[:, None] + np.arange(4)
        block_length = max(_MAX_BLOCK_ROTATIONS // len(rows), 1)
        for start in range(0, len(values), block_length):
            block = slice(start, start + block_length)
            angles = np.radians(select_angles(channels, rows, order, values[block]))
            q[block, columns] = euler.to_quaternion(angles, order)
    return q


def select_angles(channels: tuple[Channels, ...], rows: list[int], order: str, values: Floats) -> Floats:
    """Select the angles (frames, rows, 3) [degrees] of joints of one order. An axis without a channel is zero."""
    angles = np.zeros((len(values), len(rows), 3))
    for k, letter in enumerate(order):
        slot_columns = [
            (slot, channels[i].rotations[letter]) for slot, i in enumerate(rows) if letter in channels[i].rotations
        ]
        if slot_columns:
            slot, columns = np.array(slot_columns).T
            angles[:, slot, k] = values[:, columns]
    return angles
