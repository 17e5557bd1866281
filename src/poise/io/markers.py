"""Markers of optical motion capture from C3D and TRC files. They are points over time, without a skeleton."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from poise.calls.argument_checks import check_names
from poise.errors import FileError, InputError, PoiseWarning, UnknownNameError
from poise.formatting import format_fields
from poise.io.files import as_path, guess_file_type, read_bytes
from poise.io.registry import MARKER_FORMATS
from poise.io.text_parsing import MAX_NAME_LENGTH, MAX_NUMBER, is_rate, parse_number, quote_excerpt
from poise.maths.arrays import Bools, Floats, Ints, copy_numbers_or_nan, freeze_array
from poise.model.clip import check_rate
from poise.model.joints import make_unique_names
from poise.runtime.immutable_values import FrozenValue

_DIMENSIONS = 3


@dataclass(frozen=True, eq=False)
class Markers(FrozenValue):
    """Marker positions in each frame.

    Parameters
    ----------
    positions
        (frames, markers, 3) [file units]; NaN where a marker is missing.
    names
        Name of each marker as in the file, often with the subject before a colon: "Walker:LSHO".
    fps
        Frames per second.
    first_frame
        Number of the first frame in the file.
    metres_per_unit
        None if unknown.
    up
        "x", "y" or "z"; None if unknown.
    notes
        Repairs and ignored content, a sentence each.
    path
        The source file.
    """

    __repr__ = format_fields

    positions: Floats
    names: tuple[str, ...]
    fps: float
    first_frame: int = 1
    metres_per_unit: float | None = None
    up: str | None = None
    notes: tuple[str, ...] = ()
    path: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", check_names(self.names, "the names of markers", "['LASI', 'RASI']"))
        points = copy_numbers_or_nan(self.positions, "positions of markers")
        if points.ndim != _DIMENSIONS or points.shape[-1] != _DIMENSIONS or points.shape[1] != len(self.names):
            message = f"{len(self.names)} markers need positions (frames, {len(self.names)}, 3), not {points.shape}"
            raise InputError(message)
        if np.isinf(points).any():
            message = "positions of markers are finite, or NaN where one is missing; some of these are infinite"
            raise InputError(message)
        points[np.isnan(points).any(axis=-1)] = np.nan
        freeze_array(points)
        object.__setattr__(self, "positions", points)
        object.__setattr__(self, "fps", check_rate(self.fps))

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def gaps(self) -> Bools:
        """Mask (frames, markers) of missing markers."""
        gaps: Bools = np.isnan(self.positions[..., 0])
        freeze_array(gaps)
        return gaps

    @cached_property
    def times(self) -> Floats:
        """Frame times (frames,) [s], the first frame at 0."""
        times = np.arange(len(self)) / self.fps
        freeze_array(times)
        return times

    def index(self, name: str) -> int:
        """Return the index of a marker.

        Its name may leave out the subject before the colon; UnknownNameError lists the names.
        """
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnknownNameError("marker", name, self.names)
        if name in self.names:
            return self.names.index(name)
        bare_names = [bare_name.rpartition(":")[2] for bare_name in self.names]
        if bare_names.count(name) != 1:
            candidate_names = [
                full_name for full_name, bare_name in zip(self.names, bare_names, strict=True) if bare_name == name
            ] or self.names
            raise UnknownNameError("marker", name, candidate_names, also=bare_names)
        return bare_names.index(name)

    def __getitem__(self, name: str) -> Floats:
        """Return the positions (frames, 3) of one marker."""
        return self.positions[:, self.index(name)]


# --- Units of length in marker files ---------------------------------------------------------------------------------


_METRES_PER_UNIT = {
    "mm": 1e-3, "millimeter": 1e-3, "millimeters": 1e-3, "millimetre": 1e-3, "millimetres": 1e-3,
    "cm": 1e-2, "centimeter": 1e-2, "centimeters": 1e-2, "centimetre": 1e-2, "centimetres": 1e-2,
    "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0,
    "in": 0.0254, "inch": 0.0254, "inches": 0.0254, "ft": 0.3048, "feet": 0.3048,
}  # fmt: skip


def find_metres_per_unit(unit: str) -> float | None:
    """Find the metres of one unit. None for an unknown word."""
    return _METRES_PER_UNIT.get(unit.strip().lower())


# --- `load_markers`: C3D and TRC, chosen by file suffix --------------------------------------------------------------


def load_markers(path: str | PathLike[str]) -> Markers:
    """Read the markers of a C3D or TRC file.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Markers
        Names and positions in the file's own unit and axes, NaN where a marker is missing. Repairs and ignored content
        give warnings (PoiseWarning) and are listed in `Markers.notes`.

    Raises
    ------
    FileError
        For a file that is missing, broken or of another format.
    """
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in MARKER_FORMATS:
        known_suffixes = ", ".join(sorted(MARKER_FORMATS))
        label = f"files named {suffix!r}" if suffix else "a file without a suffix"
        raise FileError(path, f"cannot read markers from {label}; known: {known_suffixes}")
    read = {".c3d": read_c3d, ".trc": read_trc}[suffix]
    markers = read(path, read_bytes(path, suffixes=MARKER_FORMATS))
    for note in markers.notes:
        warnings.warn(f"{path}: {note}", PoiseWarning, stacklevel=2)
    return markers


# --- C3D, the binary file of optical motion capture ------------------------------------------------------------------
#
# It has 512-byte blocks with a header, parameters, and frames of points.
#
# A point is x, y, z and a fourth number, negative where the point is missing. All are floats, or 16-bit integers
# times a scale. Analog samples between the points of the frames are ignored.


# --- Number formats of C3D files: Intel, DEC and MIPS ----------------------------------------------------------------
#
# DEC's 32-bit F float has its two 16-bit words swapped, a hidden bit of 1/2 and a bias of 128: (-1)^sign . 0.1mantissa
# . 2^(exponent - 128), and zero where the exponent is 0.


class FloatFormat(NamedTuple):
    """Number format of a processor: byte order and float type."""

    byte_order: str  # NumPy's byte order character
    is_dec: bool = False

    def decode_words(self, data: bytes | memoryview, *, is_signed: bool = True) -> Ints:
        """Decode 16-bit integers (k,)."""
        return np.frombuffer(data, f"{self.byte_order}{'i' if is_signed else 'u'}2").astype(np.int64)

    def decode_floats(self, data: bytes | memoryview) -> Floats:
        """Decode 32-bit floats (k,)."""
        if not self.is_dec:
            with np.errstate(invalid="ignore"):  # from a signalling NaN
                return np.frombuffer(data, f"{self.byte_order}f4").astype(np.float64)
        words = np.frombuffer(data, "<u2").astype(np.int64).reshape(-1, 2)
        exponent = (words[:, 0] >> 7) & 0xFF
        mantissa = ((words[:, 0] & 0x7F) << 16) | words[:, 1] | 0x800000
        magnitude = np.ldexp(mantissa.astype(np.float64), exponent - 128 - 24)
        signed_values = np.where(words[:, 0] & 0x8000, -magnitude, magnitude)
        return np.where(exponent == 0, 0.0, signed_values)


FLOAT_FORMATS = {84: FloatFormat("<"), 85: FloatFormat("<", is_dec=True), 86: FloatFormat(">")}


# --- Parameter section of a C3D file: groups of named values ---------------------------------------------------------


_VALUE_BYTES = {-1: 1, 1: 1, 2: 2, 4: 4}  # bytes of a letter, byte, integer, float
_MAX_PARAMETERS = 20_000  # maximum number of groups and parameters; real files have some hundreds


class C3dParameter(NamedTuple):
    """C3D parameter: flat numbers, or texts unless `texts` is None."""

    numbers: Floats | None
    texts: tuple[str, ...] | None


def read_parameters(path: Path, section: bytes, float_format: FloatFormat) -> dict[tuple[str, str], C3dParameter]:
    """Read all parameters by (GROUP, NAME) in capitals. `section` begins after the section's four bytes.

    FileError for a record too large for the section. Every record points to a later one, so reading always ends.
    """
    groups: dict[int, str] = {}
    records: list[tuple[int, str, C3dParameter]] = []
    position, record_count = 0, 0
    while position + 2 <= len(section) and section[position] and record_count < _MAX_PARAMETERS:
        record_count += 1
        name_length, group_number = (
            value - 256 if value > 127 else value  # noqa: PLR2004  (signed bytes)
            for value in section[position : position + 2]
        )
        name_length = abs(name_length)  # negative where the record is locked
        name = _decode_text(section[position + 2 : position + 2 + name_length]).upper()
        place = f"parameter {record_count} ({name[:20]!a})"
        start = position + 2 + name_length
        if start + 2 > len(section):
            raise FileError(path, "is cut off", place=place)
        (record_bytes,) = float_format.decode_words(section[start : start + 2], is_signed=False).tolist()
        if group_number < 0:
            groups[-group_number] = name
        elif group_number > 0:
            records.append((group_number, name, _parse_value(path, place, section[start + 2 :], float_format)))
        if record_bytes == 0:
            break
        position = start + record_bytes
        if position <= start + 1:
            raise FileError(path, "leads back to itself", place=place)
    return {(groups.get(group_number, ""), name): value for group_number, name, value in records}


def _parse_value(path: Path, place: str, record: bytes, float_format: FloatFormat) -> C3dParameter:
    if len(record) < 2:  # noqa: PLR2004  (kind, number of dimensions)
        raise FileError(path, "is cut off", place=place)
    value_type, dimensions = record[0] - 256 if record[0] > 127 else record[0], record[1]  # noqa: PLR2004
    if value_type not in _VALUE_BYTES:
        raise FileError(path, f"has values of the unknown kind {value_type}", place=place)
    dimension_sizes = list(record[2 : 2 + dimensions])
    value_count = math.prod(dimension_sizes)
    data = record[2 + dimensions : 2 + dimensions + value_count * _VALUE_BYTES[value_type]]
    if len(dimension_sizes) < dimensions or len(data) < value_count * _VALUE_BYTES[value_type]:
        raise FileError(path, f"says {value_count:,} values, which the section cannot hold", place=place)
    if value_type == -1:
        text_bytes = dimension_sizes[0] if dimension_sizes else 1
        return C3dParameter(
            None, tuple(_decode_text(data[i : i + text_bytes]) for i in range(0, len(data), max(text_bytes, 1)))
        )
    if value_type == 1:
        return C3dParameter(np.frombuffer(data, "u1").astype(np.float64), None)
    numbers = (
        float_format.decode_floats(data) if value_type == 4 else float_format.decode_words(data).astype(np.float64)  # noqa: PLR2004
    )
    return C3dParameter(numbers, None)


def _decode_text(data: bytes) -> str:
    return data.split(b"\0")[0].decode("utf-8", "replace").strip()


# --- C3D files -------------------------------------------------------------------------------------------------------


_BLOCK_BYTES = 512
_MAGIC_BYTE = 0x50  # the second byte of every C3D file
_MAX_FRAME_WORD = 65_535  # maximum 16-bit frame number; longer files have theirs in parameters
_DEFAULT_RATE_HZ = 100.0


class _C3dHeader(NamedTuple):
    """Header block of a C3D file."""

    point_count: int
    analog_count: int  # analog numbers per frame
    first_frame: int
    last_frame: int
    scale: float
    data_block: int
    rate: float


def read_c3d(path: Path, data: bytes) -> Markers:
    """Read the points of a C3D file. FileError for an incomplete or other file."""
    float_format, section = _find_section(path, data)
    parameters = read_parameters(path, section, float_format)
    header, notes = _read_c3d_header(data, float_format), list[str]()
    point_parameters = {name: value for (group, name), value in parameters.items() if group == "POINT"}
    point_count = _check_point_count(path, point_parameters, header)
    first_frame, frame_count = _find_frames(parameters, header)
    if not frame_count:
        notes.append(f"it holds no frames: the header says {header.first_frame} to {header.last_frame}")
    positions = _decode_positions(path, data, float_format, header, point_parameters, (point_count, frame_count))
    rate = _find_number(point_parameters, "RATE", header.rate)
    if not is_rate(rate):
        notes.append(f"a rate of {rate:g} frames per second cannot be used; {_DEFAULT_RATE_HZ:g} is used instead")
        rate = _DEFAULT_RATE_HZ
    unit = next(iter(_find_texts(point_parameters, "UNITS")), "")
    if find_metres_per_unit(unit) is None:
        notes.append(f"its unit {unit[:20]!r} is not known" if unit else "its unit is missing")
    try:
        names = _build_names(point_parameters, point_count, notes)
        return Markers(
            positions,
            names,
            rate,
            first_frame,
            find_metres_per_unit(unit),
            _find_up_axis(point_parameters),
            tuple(notes),
            path,
        )
    except InputError as error:
        raise FileError(path, str(error)) from error


def _find_section(path: Path, data: bytes) -> tuple[FloatFormat, bytes]:
    """Find the parameter section and its float format."""
    if len(data) < 2 or data[1] != _MAGIC_BYTE:  # noqa: PLR2004
        file_type = guess_file_type(data)
        raise FileError(path, f"not a C3D file; this looks like {file_type}" if file_type else "not a C3D file")
    if len(data) < _BLOCK_BYTES:
        raise FileError(path, f"is cut off: the header has {_BLOCK_BYTES} bytes and the file {len(data)}")
    start = (data[0] - 1) * _BLOCK_BYTES
    if start < _BLOCK_BYTES or start + 4 > len(data):
        raise FileError(path, f"its parameters begin in block {data[0]}, which the file does not have", place="header")
    float_format = FLOAT_FORMATS.get(data[start + 3])
    if float_format is None:
        known_codes = "84 (Intel), 85 (DEC) or 86 (MIPS)"
        raise FileError(path, f"the processor must be {known_codes}, not {data[start + 3]}", place="parameters")
    block_count = data[start + 2] or 256
    return float_format, data[start + 4 : start + block_count * _BLOCK_BYTES]


def _read_c3d_header(data: bytes, float_format: FloatFormat) -> _C3dHeader:
    words = float_format.decode_words(data[:48], is_signed=False).tolist()
    scale, rate = float_format.decode_floats(data[12:16]), float_format.decode_floats(data[20:24])
    return _C3dHeader(words[1], words[2], words[3], words[4], float(scale[0]), words[8], float(rate[0]))


def _check_point_count(path: Path, parameters: dict[str, C3dParameter], header: _C3dHeader) -> int:
    point_count = _find_number(parameters, "USED", header.point_count)
    if not point_count:
        raise FileError(
            path, "it holds no points, only analog channels" if header.analog_count else "it holds no points"
        )
    if point_count != header.point_count:
        reason = f"the header says {header.point_count:,} points and the parameters {point_count:,g}"
        raise FileError(path, reason, place="POINT:USED")
    return header.point_count


def _find_frames(parameters: dict[tuple[str, str], C3dParameter], header: _C3dHeader) -> tuple[int, int]:
    """Find the first frame's number and the frame count. They are 32-bit parameters where 16 bits are too few."""
    end_parameters = [parameters.get(("TRIAL", f"ACTUAL_{end}_FIELD")) for end in ("START", "END")]
    frame_numbers = [
        int(_join_words(parameter.numbers))
        for parameter in end_parameters
        if parameter is not None and parameter.numbers is not None and len(parameter.numbers)
    ]
    trial_range = (
        frame_numbers
        if len(frame_numbers) == len(end_parameters) and 0 < frame_numbers[0] <= frame_numbers[1]
        else None
    )
    if header.last_frame < header.first_frame or header.last_frame == _MAX_FRAME_WORD:
        if trial_range:
            return trial_range[0], trial_range[1] - trial_range[0] + 1
        frames_parameter = parameters.get(("POINT", "FRAMES"))
        frame_count = (
            0
            if frames_parameter is None or frames_parameter.numbers is None
            else int(_join_words(frames_parameter.numbers[:1]))
        )
        return header.first_frame, max(frame_count, header.last_frame - header.first_frame + 1, 0)
    return header.first_frame, header.last_frame - header.first_frame + 1


def _join_words(words: Floats) -> float:
    """Join 16-bit words, low one first, into an unsigned number. A float is kept as it is."""
    unsigned = [word + 65_536 if word < 0 else word for word in words.tolist() if np.isfinite(word)]
    return sum(word * 65_536**i for i, word in enumerate(unsigned[:2]))


def _decode_positions(
    path: Path,
    data: bytes,
    float_format: FloatFormat,
    header: _C3dHeader,
    parameters: dict[str, C3dParameter],
    counts: tuple[int, int],
) -> Floats:
    """Decode positions (frames, points, 3). A missing point is NaN."""
    point_count, frame_count = counts
    scale = _find_number(parameters, "SCALE", header.scale)
    if not np.isfinite(scale) or scale == 0.0 or abs(scale) > MAX_NUMBER:
        raise FileError(path, f"a scale of {scale:g} cannot be used", place="POINT:SCALE")
    block = header.data_block or int(_find_number(parameters, "DATA_START", 0.0))
    start, number_bytes = (block - 1) * _BLOCK_BYTES, 4 if scale < 0.0 else 2
    frame_bytes = (4 * point_count + header.analog_count) * number_bytes
    available_bytes = max(len(data) - start, 0) if start >= _BLOCK_BYTES else 0
    if frame_count * frame_bytes > available_bytes:
        reason = (
            f"says {frame_count:,} frames of {frame_bytes:,} bytes from block {block} on; the file has "
            f"{available_bytes:,} bytes there"
        )
        raise FileError(path, reason, place="header")
    frame_data = memoryview(data)[start : start + frame_count * frame_bytes]
    numbers = (
        float_format.decode_floats(frame_data)
        if scale < 0.0
        else float_format.decode_words(frame_data).astype(np.float64)
    )
    samples = numbers.reshape(frame_count, 4 * point_count + header.analog_count)[:, : 4 * point_count].reshape(
        frame_count, point_count, 4
    )
    positions = samples[..., :3] * (1.0 if scale < 0.0 else scale)
    is_missing = (samples[..., 3] < 0.0) | np.isnan(samples).any(axis=-1)
    positions[is_missing] = np.nan
    overflow_indices = np.argwhere(np.abs(positions) > MAX_NUMBER)
    if len(overflow_indices):
        frame_index, point_index = overflow_indices[0][:2].tolist()
        raise FileError(
            path, f"point {point_index + 1} is beyond {MAX_NUMBER:g}", place=f"frame {header.first_frame + frame_index}"
        )
    return positions


# --- parameters ----------------------------------------------------------------------------------


def _find_number(parameters: dict[str, C3dParameter], name: str, default: float) -> float:
    """Find the first number of a parameter. 16-bit integers are unsigned where they are counts."""
    parameter = parameters.get(name)
    if parameter is None or parameter.numbers is None or not len(parameter.numbers):
        return default
    number = float(parameter.numbers[0])
    return number + 65_536 if name == "USED" and number < 0 else number


def _find_texts(parameters: dict[str, C3dParameter], name: str) -> tuple[str, ...]:
    parameter = parameters.get(name)
    return parameter.texts if parameter is not None and parameter.texts else ()


def _build_names(parameters: dict[str, C3dParameter], point_count: int, notes: list[str]) -> tuple[str, ...]:
    """Build the point names from the labels.

    Labels beyond 255 continue in LABELS2, LABELS3, ...; a point without one is named by its number.
    """
    labels = list(_find_texts(parameters, "LABELS"))
    suffix = 2
    while f"LABELS{suffix}" in parameters and len(labels) < point_count:
        labels += _find_texts(parameters, f"LABELS{suffix}")
        suffix += 1
    padded_labels = [label[:MAX_NAME_LENGTH] for label in labels[:point_count]] + [""] * (point_count - len(labels))
    unnamed_count = sum(not label for label in padded_labels)
    if unnamed_count:
        notes.append(f"{unnamed_count} of {point_count} points have no label and are called by their number")
    wanted_names = [label or f"point_{i}" for i, label in enumerate(padded_labels, 1)]
    names = make_unique_names(wanted_names)
    if names != tuple(wanted_names):
        notes.append("duplicate labels were numbered")
    return names


def _find_up_axis(parameters: dict[str, C3dParameter]) -> str | None:
    """Find the up axis of the screen. None for a negative axis."""
    axis = next(iter(_find_texts(parameters, "Y_SCREEN")), "").strip().upper()
    return axis[1].lower() if axis in ("+X", "+Y", "+Z") else None


# --- TRC, the text file of markers, with tabs between fields ---------------------------------------------------------
#
# The field of a missing marker is empty.
#
# Rows may end in empty fields, so fields are counted by their tabs. Three header lines, a line with the names (each
# above three columns), one with X1 Y1 Z1 ..., perhaps an empty one, then a row per frame: number, time, coordinates.


_MAX_MARKERS = 10_000
_MISSING_WORDS = ("", "nan")
_MAX_TIME_DEVIATION = 0.1  # [frames] larger deviations of times from the rate give a note


class _TrcHeader(NamedTuple):
    """Header lines above the rows."""

    rate: float
    frame_count: int | None
    unit: str
    names: tuple[str, ...]
    first_line: int  # index of the first line below the header


def read_trc(path: Path, data: bytes) -> Markers:
    """Read the markers of a TRC file. FileError for a row whose fields do not fit."""
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip()[:12].lower().startswith(b"pathfiletype"):
        file_type = guess_file_type(data)
        raise FileError(
            path, f"not a TRC file; this looks like {file_type}" if file_type else "not a TRC file: no PathFileType"
        )
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    notes: list[str] = []
    header = _read_trc_header(path, lines, notes)
    rows = [(i, line) for i, line in enumerate(lines[header.first_line :], header.first_line + 1) if line.strip()]
    if rows and re.match(r"\s*[Xx]1\b", rows[0][1]):
        rows = rows[1:]
    table = _read_table(path, rows, len(header.names), notes)
    if header.frame_count not in (None, len(table)):
        notes.append(f"the header says {header.frame_count} frames and the file holds {len(table)}, which are used")
    positions = table[:, 2:].reshape(len(table), len(header.names), 3)
    is_partial = np.isnan(positions).any(axis=-1) & ~np.isnan(positions).all(axis=-1)
    if is_partial.any():
        notes.append(f"{int(is_partial.sum())} positions have only a part of their coordinates; they count as missing")
    first_frame = _find_first_frame(table, notes)
    _check_times(table[:, 1], header.rate, notes)
    metres_per_unit = find_metres_per_unit(header.unit)
    if metres_per_unit is None:
        notes.append(f"its unit {quote_excerpt(header.unit)} is not known" if header.unit else "its unit is missing")
    return Markers(positions, header.names, header.rate, first_frame, metres_per_unit, None, tuple(notes), path)


def _fail(path: Path, line_number: int, reason: str) -> NoReturn:
    raise FileError(path, reason, place=f"line {line_number}")


def _read_trc_header(path: Path, lines: list[str], notes: list[str]) -> _TrcHeader:
    key_index = next((i for i, line in enumerate(lines) if line.strip().lower().startswith("datarate")), None)
    if key_index is None or key_index + 2 >= len(lines):
        raise FileError(
            path, "its header is cut off: no line that begins with DataRate, one with values, and the names"
        )
    values = dict(zip(lines[key_index].lower().split(), lines[key_index + 1].split(), strict=False))
    value_line = key_index + 2
    rate = _parse_number(path, value_line, values.get("datarate", ""), "the data rate")
    if not is_rate(rate):
        _fail(path, value_line, f"a data rate of {rate:g} frames per second cannot be used")
    frame_text = values.get("numframes")
    frame_count = (
        None if frame_text is None else int(_parse_number(path, value_line, frame_text, "the number of frames"))
    )
    name_index = next((i for i in range(key_index + 2, len(lines)) if lines[i].strip()), len(lines))
    names = _read_names(path, name_index + 1, lines[name_index] if name_index < len(lines) else "", notes)
    marker_text = values.get("nummarkers")
    if marker_text is not None and _parse_number(path, value_line, marker_text, "the number of markers") != len(names):
        _fail(
            path,
            name_index + 1,
            f"the header says {quote_excerpt(marker_text)} markers, and {len(names)} are named here",
        )
    return _TrcHeader(rate, frame_count, values.get("units", ""), names, name_index + 1)


def _parse_number(path: Path, line_number: int, word: str, label: str) -> float:
    try:
        return parse_number(word)
    except ValueError as error:
        _fail(path, line_number, f"{label}: {error}")


def _read_names(path: Path, line_number: int, line: str, notes: list[str]) -> tuple[str, ...]:
    """Read the marker names.

    Each is above the first of its three columns, or, where a program wrote no empty fields, in a row.
    """
    words = [word.strip() for word in (line.split("\t") if "\t" in line else line.split())]
    if words[:1] != ["Frame#"] or len(words) < 3:  # noqa: PLR2004
        _fail(path, line_number, "expected the line 'Frame# Time NAME ...' with the names of the markers")
    raw_names = [word for word in words[2:] if word]
    if len(raw_names) > _MAX_MARKERS or any(len(word) > MAX_NAME_LENGTH for word in raw_names):
        _fail(
            path, line_number, f"more than {_MAX_MARKERS:,} markers, or a name of more than {MAX_NAME_LENGTH:,} letters"
        )
    names = make_unique_names(raw_names)
    if list(names) != raw_names:
        notes.append("duplicate marker names were numbered")
    return names


def _read_table(path: Path, rows: list[tuple[int, str]], marker_count: int, notes: list[str]) -> Floats:
    """Read frame number, time and coordinates (frames, 2 + 3 markers). Empty fields are NaN."""
    column_count = 2 + 3 * marker_count
    cells: list[list[str]] = []
    short_count = 0
    for line_number, row in rows:
        fields = row.split("\t") if "\t" in row else row.split()
        if len(fields) < column_count:
            if "\t" not in row or (len(fields) - 2) % 3 or len(fields) < 2:  # noqa: PLR2004
                _fail(
                    path, line_number, f"this row has {len(fields)} fields; {marker_count} markers need {column_count}"
                )
            short_count += 1
            fields += [""] * (column_count - len(fields))
        elif any(field.strip() for field in fields[column_count:]):
            _fail(path, line_number, f"this row has {len(fields)} fields; {marker_count} markers need {column_count}")
        cells.append(fields[:column_count])
    if short_count:
        notes.append(f"{short_count} rows end early; their last markers count as missing")
    table = _parse_floats(path, [line_number for line_number, _ in rows], cells).reshape(len(cells), column_count)
    incomplete_rows = np.argwhere(np.isnan(table[:, :2]))
    if len(incomplete_rows):
        _fail(path, rows[int(incomplete_rows[0][0])][0], "this row has no frame number or no time")
    return table


def _parse_floats(path: Path, line_numbers: list[int], cells: list[list[str]]) -> Floats:
    """Parse the numbers of all fields. They are parsed at once unless `parse_number` might refuse one."""
    text = "".join(map("".join, cells))
    if text.isascii() and "_" not in text:
        try:
            values = np.array([[float(field) if field.strip() else np.nan for field in row] for row in cells])
        except ValueError:
            values = np.array(np.inf)
        if not (np.abs(values) > MAX_NUMBER).any():
            return values
    return np.array(
        [
            [_parse_field(path, line_number, field) for field in row]
            for line_number, row in zip(line_numbers, cells, strict=True)
        ]
    )


def _parse_field(path: Path, line_number: int, field: str) -> float:
    word = field.strip()
    return (
        np.nan
        if word.lower().lstrip("+-") in _MISSING_WORDS
        else _parse_number(path, line_number, word, "a coordinate")
    )


def _find_first_frame(table: Floats, notes: list[str]) -> int:
    """Find the first frame's number. A note reports gaps in the numbers."""
    if not len(table):
        return 1
    numbers = table[:, 0].tolist()
    if any(after - before != 1.0 for before, after in pairwise(numbers)) or numbers[0] != round(numbers[0]):
        notes.append("the frame numbers have gaps or go back; the rows are used in order")
    return round(numbers[0])


def _check_times(times: Floats, rate: float, notes: list[str]) -> None:
    expected_times = times[:1] + np.arange(len(times)) / rate
    if len(times) and np.abs(times - expected_times).max() * rate > max(_MAX_TIME_DEVIATION, 1e-6 * len(times)):
        notes.append(f"its times do not match its rate of {rate:g} frames per second, which is used")
