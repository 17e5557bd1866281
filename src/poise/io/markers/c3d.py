"""C3D, the binary file of optical motion capture.

It has 512-byte blocks with a header, parameters, and frames of points.

A point is x, y, z and a fourth number, negative where the point is missing. All are floats, or 16-bit integers times a
scale. Analog samples between the points of the frames are ignored.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import FileError, InputError
from poise.io.files import guess_file_type
from poise.io.markers.markers import Markers, find_metres_per_unit
from poise.io.text_parsing import MAX_NAME_LENGTH, MAX_NUMBER, is_rate
from poise.maths.arrays import Floats, Ints
from poise.model.joints import make_unique_names

# --- Number formats of C3D files: Intel, DEC and MIPS ----------------------------------------------------------------
#
# DEC's 32-bit F float has its two 16-bit words swapped, a hidden bit of 1/2 and a bias of 128: (-1)^sign . 0.1mantissa
# . 2^(exponent - 128), and zero where the exponent is 0.


class FloatFormat(NamedTuple):
    """Number format of a processor: byte order and float type."""

    byte_order: str  # NumPy's byte order character
    is_dec: bool = False

    def decode_words(self, data: bytes | memoryview, *, signed: bool = True) -> Ints:
        """Decode 16-bit integers (k,)."""
        return np.frombuffer(data, f"{self.byte_order}{'i' if signed else 'u'}2").astype(np.int64)

    def decode_floats(self, data: bytes | memoryview) -> Floats:
        """Decode 32-bit floats (k,)."""
        if not self.is_dec:
            with np.errstate(invalid="ignore"):  # from a signalling NaN
                return np.frombuffer(data, f"{self.byte_order}f4").astype(np.float64)
        halves = np.frombuffer(data, "<u2").astype(np.int64).reshape(-1, 2)
        exponent = (halves[:, 0] >> 7) & 0xFF
        mantissa = ((halves[:, 0] & 0x7F) << 16) | halves[:, 1] | 0x800000
        size = np.ldexp(mantissa.astype(np.float64), exponent - 128 - 24)
        signed = np.where(halves[:, 0] & 0x8000, -size, size)
        return np.where(exponent == 0, 0.0, signed)


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
    values: list[tuple[int, str, C3dParameter]] = []
    at, count = 0, 0
    while at + 2 <= len(section) and section[at] and count < _MAX_PARAMETERS:
        count += 1
        length, group = (value - 256 if value > 127 else value for value in section[at : at + 2])  # noqa: PLR2004
        length = abs(length)  # negative where the record is locked
        name = _decode_text(section[at + 2 : at + 2 + length]).upper()
        place = f"parameter {count} ({name[:20]!a})"
        start = at + 2 + length
        if start + 2 > len(section):
            raise FileError(path, "is cut off", place=place)
        (step,) = float_format.decode_words(section[start : start + 2], signed=False).tolist()
        if group < 0:
            groups[-group] = name
        elif group > 0:
            values.append((group, name, _parse_value(path, place, section[start + 2 :], float_format)))
        if step == 0:
            break
        at = start + step
        if at <= start + 1:
            raise FileError(path, "leads back to itself", place=place)
    return {(groups.get(group, ""), name): value for group, name, value in values}


def _parse_value(path: Path, place: str, record: bytes, float_format: FloatFormat) -> C3dParameter:
    if len(record) < 2:  # noqa: PLR2004  (kind, number of dimensions)
        raise FileError(path, "is cut off", place=place)
    kind, dimensions = record[0] - 256 if record[0] > 127 else record[0], record[1]  # noqa: PLR2004
    if kind not in _VALUE_BYTES:
        raise FileError(path, f"has values of the unknown kind {kind}", place=place)
    sizes = list(record[2 : 2 + dimensions])
    count = math.prod(sizes)
    data = record[2 + dimensions : 2 + dimensions + count * _VALUE_BYTES[kind]]
    if len(sizes) < dimensions or len(data) < count * _VALUE_BYTES[kind]:
        raise FileError(path, f"says {count:,} values, which the section cannot hold", place=place)
    if kind == -1:
        width = sizes[0] if sizes else 1
        return C3dParameter(None, tuple(_decode_text(data[i : i + width]) for i in range(0, len(data), max(width, 1))))
    if kind == 1:
        return C3dParameter(np.frombuffer(data, "u1").astype(np.float64), None)
    numbers = float_format.decode_floats(data) if kind == 4 else float_format.decode_words(data).astype(np.float64)  # noqa: PLR2004
    return C3dParameter(numbers, None)


def _decode_text(data: bytes) -> str:
    return data.split(b"\0")[0].decode("utf-8", "replace").strip()


# ---------------------------------------------------------------------------------------------------------------------


_BLOCK_BYTES = 512
_FILE_KEY = 0x50  # the second byte of every C3D file
_MAX_FRAME_WORD = 65_535  # maximum 16-bit frame number; longer files have theirs in parameters
_DEFAULT_RATE_HZ = 100.0


class _C3dHeader(NamedTuple):
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
    float_format, section = _find_section(path, data)
    parameters = read_parameters(path, section, float_format)
    header, notes = _read_header(data, float_format), list[str]()
    point_parameters = {name: value for (group, name), value in parameters.items() if group == "POINT"}
    points = _check_point_count(path, point_parameters, header)
    first, count = _find_frames(parameters, header)
    if not count:
        notes.append(f"it holds no frames: the header says {header.first} to {header.last}")
    positions = _decode_positions(path, data, float_format, header, point_parameters, (points, count))
    rate = _find_number(point_parameters, "RATE", header.rate)
    if not is_rate(rate):
        notes.append(f"a rate of {rate:g} frames per second cannot be used; {_DEFAULT_RATE_HZ:g} is used instead")
        rate = _DEFAULT_RATE_HZ
    unit = next(iter(_find_texts(point_parameters, "UNITS")), "")
    if find_metres_per_unit(unit) is None:
        notes.append(f"its unit {unit[:20]!r} is not known" if unit else "its unit is missing")
    try:
        names = _build_names(point_parameters, points, notes)
        return Markers(
            positions,
            names,
            rate,
            first,
            find_metres_per_unit(unit),
            _find_up_axis(point_parameters),
            tuple(notes),
            path,
        )
    except InputError as error:
        raise FileError(path, str(error)) from error


def _find_section(path: Path, data: bytes) -> tuple[FloatFormat, bytes]:
    """Find the parameter section and its float format."""
    if len(data) < 2 or data[1] != _FILE_KEY:  # noqa: PLR2004
        file_type = guess_file_type(data)
        raise FileError(path, f"not a C3D file; this looks like {file_type}" if file_type else "not a C3D file")
    if len(data) < _BLOCK_BYTES:
        raise FileError(path, f"is cut off: the header has {_BLOCK_BYTES} bytes and the file {len(data)}")
    start = (data[0] - 1) * _BLOCK_BYTES
    if start < _BLOCK_BYTES or start + 4 > len(data):
        raise FileError(path, f"its parameters begin in block {data[0]}, which the file does not have", place="header")
    float_format = FLOAT_FORMATS.get(data[start + 3])
    if float_format is None:
        known = "84 (Intel), 85 (DEC) or 86 (MIPS)"
        raise FileError(path, f"the processor must be {known}, not {data[start + 3]}", place="parameters")
    blocks = data[start + 2] or 256
    return float_format, data[start + 4 : start + blocks * _BLOCK_BYTES]


def _read_header(data: bytes, float_format: FloatFormat) -> _C3dHeader:
    words = float_format.decode_words(data[:48], signed=False).tolist()
    scale, rate = float_format.decode_floats(data[12:16]), float_format.decode_floats(data[20:24])
    return _C3dHeader(words[1], words[2], words[3], words[4], float(scale[0]), words[8], float(rate[0]))


def _check_point_count(path: Path, parameters: dict[str, C3dParameter], header: _C3dHeader) -> int:
    used = _find_number(parameters, "USED", header.points)
    if not used:
        raise FileError(path, "it holds no points, only analog channels" if header.analog else "it holds no points")
    if used != header.points:
        reason = f"the header says {header.points:,} points and the parameters {used:,g}"
        raise FileError(path, reason, place="POINT:USED")
    return header.points


def _find_frames(parameters: dict[tuple[str, str], C3dParameter], header: _C3dHeader) -> tuple[int, int]:
    """Find the first frame's number and the frame count. They are 32-bit parameters where 16 bits are too few."""
    ends = [parameters.get(("TRIAL", f"ACTUAL_{end}_FIELD")) for end in ("START", "END")]
    values = [
        int(_join_words(one.numbers))
        for one in ends
        if one is not None and one.numbers is not None and len(one.numbers)
    ]
    trial = values if len(values) == len(ends) and 0 < values[0] <= values[1] else None
    if header.last < header.first or header.last == _MAX_FRAME_WORD:
        if trial:
            return trial[0], trial[1] - trial[0] + 1
        frames = parameters.get(("POINT", "FRAMES"))
        count = 0 if frames is None or frames.numbers is None else int(_join_words(frames.numbers[:1]))
        return header.first, max(count, header.last - header.first + 1, 0)
    return header.first, header.last - header.first + 1


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
    size: tuple[int, int],
) -> Floats:
    """Decode positions (frames, points, 3). A missing point is NaN."""
    points, count = size
    scale = _find_number(parameters, "SCALE", header.scale)
    if not np.isfinite(scale) or scale == 0.0 or abs(scale) > MAX_NUMBER:
        raise FileError(path, f"a scale of {scale:g} cannot be used", place="POINT:SCALE")
    block = header.data_block or int(_find_number(parameters, "DATA_START", 0.0))
    start, width = (block - 1) * _BLOCK_BYTES, 4 if scale < 0.0 else 2
    frame = (4 * points + header.analog) * width
    available = max(len(data) - start, 0) if start >= _BLOCK_BYTES else 0
    if count * frame > available:
        reason = (
            f"says {count:,} frames of {frame:,} bytes from block {block} on; the file has {available:,} bytes there"
        )
        raise FileError(path, reason, place="header")
    rows = memoryview(data)[start : start + count * frame]
    numbers = float_format.decode_floats(rows) if scale < 0.0 else float_format.decode_words(rows).astype(np.float64)
    samples = numbers.reshape(count, 4 * points + header.analog)[:, : 4 * points].reshape(count, points, 4)
    positions = samples[..., :3] * (1.0 if scale < 0.0 else scale)
    is_missing = (samples[..., 3] < 0.0) | np.isnan(samples).any(axis=-1)
    positions[is_missing] = np.nan
    bad = np.argwhere(np.abs(positions) > MAX_NUMBER)
    if len(bad):
        where, which = bad[0][:2].tolist()
        raise FileError(path, f"point {which + 1} is beyond {MAX_NUMBER:g}", place=f"frame {header.first + where}")
    return positions


# --- parameters ----------------------------------------------------------------------------------


def _find_number(parameters: dict[str, C3dParameter], name: str, default: float) -> float:
    """Find the first number of a parameter. 16-bit integers are unsigned where they are counts."""
    value = parameters.get(name)
    if value is None or value.numbers is None or not len(value.numbers):
        return default
    number = float(value.numbers[0])
    return number + 65_536 if name == "USED" and number < 0 else number


def _find_texts(parameters: dict[str, C3dParameter], name: str) -> tuple[str, ...]:
    value = parameters.get(name)
    return value.texts if value is not None and value.texts else ()


def _build_names(parameters: dict[str, C3dParameter], count: int, notes: list[str]) -> tuple[str, ...]:
    """Build the point names from the labels.

    Labels beyond 255 continue in LABELS2, LABELS3, ...; a point without one is named by its number.
    """
    labels = list(_find_texts(parameters, "LABELS"))
    suffix = 2
    while f"LABELS{suffix}" in parameters and len(labels) < count:
        labels += _find_texts(parameters, f"LABELS{suffix}")
        suffix += 1
    padded_labels = [label[:MAX_NAME_LENGTH] for label in labels[:count]] + [""] * (count - len(labels))
    unnamed = sum(not label for label in padded_labels)
    if unnamed:
        notes.append(f"{unnamed} of {count} points have no label and are called by their number")
    wanted = [label or f"point_{i}" for i, label in enumerate(padded_labels, 1)]
    names = make_unique_names(wanted)
    if names != tuple(wanted):
        notes.append("duplicate labels were numbered")
    return names


def _find_up_axis(parameters: dict[str, C3dParameter]) -> str | None:
    """Find the up axis of the screen. None for a negative axis."""
    axis = next(iter(_find_texts(parameters, "Y_SCREEN")), "").strip().upper()
    return axis[1].lower() if axis in ("+X", "+Y", "+Z") else None
