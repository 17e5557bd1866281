"""AMC files: search of the skeleton file, parser, conversion to q.

The AMC's own text names a file of the capture machine.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from poise.errors import FileError, join_names
from poise.io.asf.asf_file import (
    ROOT,
    ROTATION_DOFS,
    TRANSLATION_DOFS,
    AsfBone,
    AsfFile,
    AsfSkeleton,
    TextLine,
    decode_text,
    fail,
    find_rotation_order,
    parse_angle_unit,
    parse_name,
    split_lines,
)
from poise.io.text_parsing import is_rate, parse_number, parse_table, quote_excerpt
from poise.maths import euler
from poise.maths.arrays import Floats
from poise.model.skeleton import Kind

_ASF_SUFFIX = ".asf"


def find_asf(path: Path) -> Path:
    """Find the ASF file in the folder of an AMC file.

    It has the same name, else that of the subject, else it is the only one.

    The subject is the part before an underscore: `02.asf` of `02_01.amc`; the longest such name wins. A link out of the
    folder is not followed.
    """
    folder = path.parent
    try:
        candidates = sorted(
            candidate
            for candidate in folder.iterdir()
            if candidate.suffix.lower() == _ASF_SUFFIX and _is_inside(candidate, folder)
        )
    except OSError as error:
        raise FileError(path, f"cannot look for its .asf file: {error.strerror}") from error
    fitting = [
        candidate for candidate in candidates if f"{path.stem.lower()}_".startswith(f"{candidate.stem.lower()}_")
    ]
    if fitting:
        return max(fitting, key=lambda one: len(one.stem))
    if len(candidates) == 1:
        return candidates[0]
    subject = path.stem.partition("_")[0]
    names = dict.fromkeys((f"{path.stem}.asf", f"{subject}.asf"))
    advice = f"put its skeleton into the same folder, as {' or '.join(names)}"
    if candidates:
        raise FileError(
            path,
            (
                f"which .asf file belongs to it? {advice}; there are "
                f"{join_names(candidate.name for candidate in candidates)}"
            ),
        )
    raise FileError(path, f"an AMC file holds motion only, and there is no .asf file beside it; {advice}")


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().parent == folder.resolve()


# --- AMC motion: parse frames to a table of values, convert to q -----------------------------------------------------


_DEFAULT_RATE_HZ = 120.0  # frame rate [Hz] of CMU and most others; the format has no standard field for it
_RATE_KEYWORD = ":samples-per-second"
_FRAME_LINE = re.compile(r"^[^\S\n]*\d+[^\S\n]*(?:#.*)?$", re.ASCII | re.MULTILINE)


class AmcMotion(NamedTuple):
    """Content of an AMC file: values by bone, and their units.

    The values (frames, k) are keyed by the bone's name in lower case.
    """

    values: dict[str, Floats]
    lines: dict[str, int]  # line number of each bone in the first frame
    frames: int
    rate: float
    angle: float | None  # factor of angles to radians; None if the file has none
    notes: tuple[str, ...]


def parse_amc(path: Path, data: bytes) -> AmcMotion:
    """Parse the frames. FileError unless every frame has a number for every value."""
    text = decode_text(path, data, "an AMC")
    first = _FRAME_LINE.search(text)
    head, body = (text[: first.start()], text[first.start() :]) if first else (text, "")
    angle, rate, notes = _parse_header(path, split_lines(head))
    if not body:
        raise FileError(path, "not an AMC file: it has no frame (a line with only a number)")
    start = head.count("\n") + 1
    frames = _parse_uniform_frames(body, start) or _parse_frames(path, split_lines(body, start))
    counted = [int(number[-18:]) for number in frames.numbers]
    if counted != list(range(counted[0], counted[0] + len(counted))):
        notes.append("frame numbers are missing or go back; frames were read in file order")
    return AmcMotion(frames.values, frames.lines, len(counted), rate, angle, tuple(notes))


class _FrameTable(NamedTuple):
    """Frame numbers as written, with values and lines of `AmcMotion`."""

    numbers: list[str]
    values: dict[str, Floats]
    lines: dict[str, int]


def _is_frame(line: TextLine) -> bool:
    return len(line.words) == 1 and line.words[0].isascii() and line.words[0].isdigit()


def _parse_header(path: Path, lines: list[TextLine]) -> tuple[float | None, float, list[str]]:
    """Parse the angle unit, the rate, and notes."""
    angle: float | None = None
    rate: float | None = None
    for line in lines:
        key = line.words[0].lower()
        if not key.startswith(":"):
            fail(path, line.number, f"expected a :keyword or the number of a frame, not {quote_excerpt(line.words[0])}")
        if key in (":degrees", ":radians"):
            angle = parse_angle_unit(path, line, key[1:])
        elif key == _RATE_KEYWORD:
            rate = _parse_rate(path, line)
    if rate is not None:
        return angle, rate, []
    return (
        angle,
        _DEFAULT_RATE_HZ,
        [f"the file has no frame rate; {_DEFAULT_RATE_HZ:g} frames per second assumed, as at CMU"],
    )


def _parse_rate(path: Path, line: TextLine) -> float:
    word = parse_name(path, line, line.words[1:], "the number of samples per second")
    try:
        rate = parse_number(word)
    except ValueError as error:
        fail(path, line.number, f"the samples per second: {error}")
    if not is_rate(rate):
        fail(path, line.number, f"{rate:g} samples per second cannot be used")
    return rate


def _index_lines(path: Path, lines: list[TextLine]) -> dict[str, TextLine]:
    """Index the lines of a frame by bone. FileError for a duplicate."""
    lines_by_bone: dict[str, TextLine] = {}
    for line in lines:
        key = line.words[0].lower()
        if key in lines_by_bone:
            fail(path, line.number, f"bone {quote_excerpt(line.words[0])} comes twice in a frame")
        lines_by_bone[key] = line
    return lines_by_bone


def _parse_uniform_frames(body: str, start: int) -> _FrameTable | None:
    """Parse all frames at once if they are uniform.

    Each must have the words of the first one in the same positions; else return None.
    """
    if any(letter in body for letter in "#(),"):
        return None
    second = _FRAME_LINE.search(body, body.find("\n") + 1)
    lines = split_lines(body[: second.start()] if second else body, start)[1:]
    words = body.split()
    count = 1 + sum(len(line.words) for line in lines)
    numbers = words[::count]
    if not lines or len(words) % count or not all(map(str.isdigit, numbers)):
        return None
    values: dict[str, Floats] = {}
    at = 1
    for line in lines:
        bone, key, end = line.words[0], line.words[0].lower(), at + len(line.words)
        columns = [words[column::count] for column in range(at + 1, end)]
        if key in values or words[at::count].count(bone) != len(numbers):
            return None
        try:
            values[key] = parse_table(columns).T.reshape(len(numbers), len(columns))
        except ValueError:
            return None
        at = end
    return _FrameTable(numbers, values, {line.words[0].lower(): line.number for line in lines})


def _parse_frames(path: Path, lines: list[TextLine]) -> _FrameTable:
    """Parse frame by frame. It allows another order of bones and names the line at fault."""
    frames = [i for i, line in enumerate(lines) if _is_frame(line)]
    layout = _index_lines(path, lines[1 : frames[1] if len(frames) > 1 else len(lines)])
    if not layout:
        fail(path, lines[0].number, "this frame has no bones")
    result: dict[str, list[list[float]]] = {key: [] for key in layout}
    for at, end in zip(frames, [*frames[1:], len(lines)], strict=True):
        frame = _index_lines(path, lines[at + 1 : end])
        missing = next((line.words[0] for key, line in layout.items() if key not in frame), None)
        if missing is not None:
            _fail_frame(path, lines[at], f"has no bone {quote_excerpt(missing)}, which others have")
        for key, line in frame.items():
            row = _parse_values(path, line, layout.get(key))
            result[key].append(row)
    values = {key: np.array(rows, dtype=np.float64) for key, rows in result.items()}
    return _FrameTable([lines[i].words[0] for i in frames], values, {key: line.number for key, line in layout.items()})


def _parse_values(path: Path, line: TextLine, first_line: TextLine | None) -> list[float]:
    """Parse a line's values; FileError for another count than first."""
    bone = f"bone {quote_excerpt(line.words[0])}"
    if first_line is None:
        fail(path, line.number, f"{bone} is not in the first frame")
    if len(line.words) != len(first_line.words):
        counts = f"{len(line.words) - 1} values; in the first frame it has {len(first_line.words) - 1}"
        fail(path, line.number, f"{bone} has {counts}")
    try:
        return [parse_number(word) for word in line.words[1:]]
    except ValueError as error:
        fail(path, line.number, f"{bone}: {error}")


def _fail_frame(path: Path, line: TextLine, reason: str) -> NoReturn:
    fail(path, line.number, f"frame {quote_excerpt(line.words[0])} {reason}")


# --- values to q ---------------------------------------------------------------------------------


def convert_to_q(path: Path, file: AsfFile, rows: AsfSkeleton, motion: AmcMotion) -> Floats:
    """Convert a motion to configurations (frames, nq).

    FileError where the bones or their values are not those of the ASF file.
    """
    skeleton, angle = rows.skeleton, file.angle if motion.angle is None else motion.angle
    freedoms = {ROOT: file.root.order} | {bone.name.lower(): bone.dof for bone in rows.bones}
    _check_bones(path, file, freedoms, motion)
    q = np.tile(skeleton.zero_q(), (motion.frames, 1))
    angles_by_order: dict[str, list[tuple[int, Floats]]] = {}
    for row, (key, dof) in enumerate(freedoms.items()):
        values, start = motion.values.get(key), int(skeleton.q_start[row])
        if values is None:
            continue
        rotation_order = find_rotation_order(dof)
        if row == 0:
            for axis, word in enumerate(TRANSLATION_DOFS):
                q[:, axis] = values[:, dof.index(word)] if word in dof else 0.0
            start += 3
        if skeleton.kinds[row] != Kind.FIXED:
            zeros = np.zeros(motion.frames)
            angles = [zeros if at < 0 else angle * values[:, at] for at in rotation_order.values]
            angles_by_order.setdefault(rotation_order.order, []).append((start, np.stack(angles, axis=-1)))
    for order, parts in angles_by_order.items():
        starts = np.array([start for start, _ in parts])
        q[:, starts[:, None] + np.arange(4)] = euler.to_quaternion(np.stack([a for _, a in parts], axis=1), order)
    return q


def _check_bones(path: Path, file: AsfFile, freedoms: dict[str, tuple[str, ...]], motion: AmcMotion) -> None:
    for key, values in motion.values.items():
        if key not in freedoms:
            fail(
                path,
                motion.lines[key],
                f"bone {quote_excerpt(key)} is not in {file.path.name}; is that the right skeleton?",
            )
        width, dof = values.shape[1], freedoms[key]
        if width != len(dof):
            wanted = f"{len(dof)} ({' '.join(dof)})" if dof else "none"
            fail(
                path,
                motion.lines[key],
                f"bone {quote_excerpt(key)} has {width} values; {file.path.name} gives it {wanted}",
            )


def describe_limit_violations(file: AsfFile, bones: tuple[AsfBone, ...], motion: AmcMotion) -> str:
    """Describe values outside the ASF file's limits. Empty where there are none."""
    angle = file.angle if motion.angle is None else motion.angle
    count, total, worst = 0, 0, dict[str, float]()
    for bone in bones:
        values = motion.values.get(bone.name.lower())
        if values is None:
            continue
        total += values.size
        for (low, high), word, column in zip(bone.limits, bone.dof, values.T, strict=False):
            converted = column * (angle if word in ROTATION_DOFS else 1.0)
            excess = np.maximum(low - converted, converted - high)
            over = excess > 1e-9 * max(1.0, float(np.abs(converted).max()))
            if over.any():
                count += int(over.sum())
                worst[bone.name] = max(worst.get(bone.name, 0.0), math.degrees(float(excess.max())))
    if not count:
        return ""
    names = join_names(
        f"{bone} by {excess_angle:.3g}" for bone, excess_angle in sorted(worst.items(), key=lambda one: -one[1])
    )
    return (
        f"{count:,} of {total:,} values ({100 * count / total:.2g} %) lie outside of the limits in "
        f"{file.path.name} and were kept; solve() and bake() move such joints inside, at most [degrees]: {names}"
    )
