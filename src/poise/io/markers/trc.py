r"""TRC, the text file of markers, with tabs between fields. The field of a missing marker is empty.

Rows may end in empty fields, so fields are counted by their tabs. Three header lines, a line with the names (each above
three columns), one with X1 Y1 Z1 ..., perhaps an empty one, then a row per frame: number, time, coordinates.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from poise.errors import FileError
from poise.io.files import guess_file_type
from poise.io.markers.markers import Markers, find_metres_per_unit
from poise.io.text_parsing import MAX_NAME_LENGTH, MAX_NUMBER, is_rate, parse_number, quote_excerpt
from poise.maths.arrays import Floats
from poise.model.joints import make_unique_names

_MAX_MARKERS = 10_000
_MISSING_WORDS = ("", "nan")
_MAX_TIME_DEVIATION = 0.1  # [frames] larger deviations of times from the rate give a note


class _TrcHeader(NamedTuple):
    """Header lines above the rows."""

    rate: float
    frames: int | None
    unit: str
    names: tuple[str, ...]
    first_line: int  # index of the first line below the header


def read(path: Path, data: bytes) -> Markers:
    """Read the markers of a TRC file. FileError for a row whose fields do not fit."""
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip()[:12].lower().startswith(b"pathfiletype"):
        file_type = guess_file_type(data)
        raise FileError(
            path, f"not a TRC file; this looks like {file_type}" if file_type else "not a TRC file: no PathFileType"
        )
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    notes: list[str] = []
    head = _read_header(path, lines, notes)
    rows = [(i, line) for i, line in enumerate(lines[head.first_line :], head.first_line + 1) if line.strip()]
    if rows and re.match(r"\s*[Xx]1\b", rows[0][1]):
        rows = rows[1:]
    table = _read_table(path, rows, len(head.names), notes)
    if head.frames not in (None, len(table)):
        notes.append(f"the header says {head.frames} frames and the file holds {len(table)}, which are used")
    positions = table[:, 2:].reshape(len(table), len(head.names), 3)
    is_partial = np.isnan(positions).any(axis=-1) & ~np.isnan(positions).all(axis=-1)
    if is_partial.any():
        notes.append(f"{int(is_partial.sum())} positions have only a part of their coordinates; they count as missing")
    first = _find_first_frame(table, notes)
    _check_times(table[:, 1], head.rate, notes)
    metres = find_metres_per_unit(head.unit)
    if metres is None:
        notes.append(f"its unit {quote_excerpt(head.unit)} is not known" if head.unit else "its unit is missing")
    return Markers(positions, head.names, head.rate, first, metres, None, tuple(notes), path)


def _fail(path: Path, line: int, reason: str) -> NoReturn:
    raise FileError(path, reason, place=f"line {line}")


def _read_header(path: Path, lines: list[str], notes: list[str]) -> _TrcHeader:
    keys = next((i for i, line in enumerate(lines) if line.strip().lower().startswith("datarate")), None)
    if keys is None or keys + 2 >= len(lines):
        raise FileError(
            path, "its header is cut off: no line that begins with DataRate, one with values, and the names"
        )
    values = dict(zip(lines[keys].lower().split(), lines[keys + 1].split(), strict=False))
    place = keys + 2
    rate = _parse_number(path, place, values.get("datarate", ""), "the data rate")
    if not is_rate(rate):
        _fail(path, place, f"a data rate of {rate:g} frames per second cannot be used")
    frames = values.get("numframes")
    count = None if frames is None else int(_parse_number(path, place, frames, "the number of frames"))
    at = next((i for i in range(keys + 2, len(lines)) if lines[i].strip()), len(lines))
    names = _read_names(path, at + 1, lines[at] if at < len(lines) else "", notes)
    marker_count = values.get("nummarkers")
    if marker_count is not None and _parse_number(path, place, marker_count, "the number of markers") != len(names):
        _fail(path, at + 1, f"the header says {quote_excerpt(marker_count)} markers, and {len(names)} are named here")
    return _TrcHeader(rate, count, values.get("units", ""), names, at + 1)


def _parse_number(path: Path, line: int, word: str, label: str) -> float:
    try:
        return parse_number(word)
    except ValueError as error:
        _fail(path, line, f"{label}: {error}")


def _read_names(path: Path, place: int, line: str, notes: list[str]) -> tuple[str, ...]:
    """Read the marker names.

    Each is above the first of its three columns, or, where a program wrote no empty fields, in a row.
    """
    words = [word.strip() for word in (line.split("\t") if "\t" in line else line.split())]
    if words[:1] != ["Frame#"] or len(words) < 3:  # noqa: PLR2004
        _fail(path, place, "expected the line 'Frame# Time NAME ...' with the names of the markers")
    raw_names = [word for word in words[2:] if word]
    if len(raw_names) > _MAX_MARKERS or any(len(word) > MAX_NAME_LENGTH for word in raw_names):
        _fail(path, place, f"more than {_MAX_MARKERS:,} markers, or a name of more than {MAX_NAME_LENGTH:,} letters")
    names = make_unique_names(raw_names)
    if list(names) != raw_names:
        notes.append("duplicate marker names were numbered")
    return names


def _read_table(path: Path, rows: list[tuple[int, str]], markers: int, notes: list[str]) -> Floats:
    """Read frame number, time and coordinates (frames, 2 + 3 markers). Empty fields are NaN."""
    width = 2 + 3 * markers
    cells: list[list[str]] = []
    short_count = 0
    for line, row in rows:
        fields = row.split("\t") if "\t" in row else row.split()
        if len(fields) < width:
            if "\t" not in row or (len(fields) - 2) % 3 or len(fields) < 2:  # noqa: PLR2004
                _fail(path, line, f"this row has {len(fields)} fields; {markers} markers need {width}")
            short_count += 1
            fields += [""] * (width - len(fields))
        elif any(field.strip() for field in fields[width:]):
            _fail(path, line, f"this row has {len(fields)} fields; {markers} markers need {width}")
        cells.append(fields[:width])
    if short_count:
        notes.append(f"{short_count} rows end early; their last markers count as missing")
    table = _parse_floats(path, [line for line, _ in rows], cells).reshape(len(cells), width)
    missing = np.argwhere(np.isnan(table[:, :2]))
    if len(missing):
        _fail(path, rows[int(missing[0][0])][0], "this row has no frame number or no time")
    return table


def _parse_floats(path: Path, lines: list[int], cells: list[list[str]]) -> Floats:
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
        [[_parse_field(path, line, field) for field in row] for line, row in zip(lines, cells, strict=True)]
    )


def _parse_field(path: Path, line: int, field: str) -> float:
    word = field.strip()
    return np.nan if word.lower().lstrip("+-") in _MISSING_WORDS else _parse_number(path, line, word, "a coordinate")


def _find_first_frame(table: Floats, notes: list[str]) -> int:
    """Find the first frame's number. A note reports gaps in the numbers."""
    if not len(table):
        return 1
    numbers = table[:, 0].tolist()
    if any(after - before != 1.0 for before, after in pairwise(numbers)) or numbers[0] != round(numbers[0]):
        notes.append("the frame numbers have gaps or go back; the rows are used in order")
    return round(numbers[0])


def _check_times(times: Floats, rate: float, notes: list[str]) -> None:
    steady = times[:1] + np.arange(len(times)) / rate
    if len(times) and np.abs(times - steady).max() * rate > max(_MAX_TIME_DEVIATION, 1e-6 * len(times)):
        notes.append(f"its times do not match its rate of {rate:g} frames per second, which is used")
