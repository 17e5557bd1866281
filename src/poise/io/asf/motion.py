"""AMC motion: parse frames to a table of values, convert to q."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from poise.errors import FileError, listed
from poise.io.asf.parse import MOVES, ROOT, TURNS, AsfFile, Bone, angle_unit
from poise.io.asf.skeleton import Rows, turning_of
from poise.io.asf.words import TextLine, fail, lines_of, name, text_of
from poise.io.numbers import is_rate, number, shown, table
from poise.maths import euler
from poise.maths.arrays import Floats
from poise.model.skeleton import Kind

_USUAL_RATE = 120.0  # frame rate [Hz] of CMU and most others; the format has no standard field for it
_RATE = ":samples-per-second"
_FRAME = re.compile(r"^[^\S\n]*\d+[^\S\n]*(?:#.*)?$", re.ASCII | re.MULTILINE)


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
    text = text_of(path, data, "an AMC")
    first = _FRAME.search(text)
    head, body = (text[: first.start()], text[first.start() :]) if first else (text, "")
    angle, rate, notes = _header(path, lines_of(head))
    if not body:
        raise FileError(path, "not an AMC file: it has no frame (a line with only a number)")
    start = head.count("\n") + 1
    found = _fast(body, start) or _slow(path, lines_of(body, start))
    counted = [int(number[-18:]) for number in found.numbers]
    if counted != list(range(counted[0], counted[0] + len(counted))):
        notes.append("frame numbers are missing or go back; frames were read in file order")
    return AmcMotion(found.values, found.lines, len(counted), rate, angle, tuple(notes))


class _Found(NamedTuple):
    """Frame numbers as written, with values and lines of `AmcMotion`."""

    numbers: list[str]
    values: dict[str, Floats]
    lines: dict[str, int]


def _is_frame(line: TextLine) -> bool:
    return len(line.words) == 1 and line.words[0].isascii() and line.words[0].isdigit()


def _header(path: Path, lines: list[TextLine]) -> tuple[float | None, float, list[str]]:
    """Parse the angle unit, the rate, and notes."""
    angle: float | None = None
    rate: float | None = None
    for line in lines:
        key = line.words[0].lower()
        if not key.startswith(":"):
            fail(path, line.number, f"expected a :keyword or the number of a frame, not {shown(line.words[0])}")
        if key in (":degrees", ":radians"):
            angle = angle_unit(path, line, key[1:])
        elif key == _RATE:
            rate = _rate(path, line)
    if rate is not None:
        return angle, rate, []
    return angle, _USUAL_RATE, [f"the file has no frame rate; {_USUAL_RATE:g} frames per second assumed, as at CMU"]


def _rate(path: Path, line: TextLine) -> float:
    word = name(path, line, line.words[1:], "the number of samples per second")
    try:
        rate = number(word)
    except ValueError as error:
        fail(path, line.number, f"the samples per second: {error}")
    if not is_rate(rate):
        fail(path, line.number, f"{rate:g} samples per second cannot be used")
    return rate


def _layout(path: Path, lines: list[TextLine]) -> dict[str, TextLine]:
    """Index the lines of a frame by bone. FileError for a duplicate."""
    found: dict[str, TextLine] = {}
    for line in lines:
        key = line.words[0].lower()
        if key in found:
            fail(path, line.number, f"bone {shown(line.words[0])} comes twice in a frame")
        found[key] = line
    return found


def _fast(body: str, start: int) -> _Found | None:
    """Parse all frames at once if they are uniform.

    Each must have the words of the first one in the same positions; else return None.
    """
    if any(letter in body for letter in "#(),"):
        return None
    second = _FRAME.search(body, body.find("\n") + 1)
    lines = lines_of(body[: second.start()] if second else body, start)[1:]
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
            values[key] = table(columns).T.reshape(len(numbers), len(columns))
        except ValueError:
            return None
        at = end
    return _Found(numbers, values, {line.words[0].lower(): line.number for line in lines})


def _slow(path: Path, lines: list[TextLine]) -> _Found:
    """Parse frame by frame. It allows another order of bones and names the line at fault."""
    frames = [i for i, line in enumerate(lines) if _is_frame(line)]
    layout = _layout(path, lines[1 : frames[1] if len(frames) > 1 else len(lines)])
    if not layout:
        fail(path, lines[0].number, "this frame has no bones")
    result: dict[str, list[list[float]]] = {key: [] for key in layout}
    for at, end in zip(frames, [*frames[1:], len(lines)], strict=True):
        frame = _layout(path, lines[at + 1 : end])
        missing = next((line.words[0] for key, line in layout.items() if key not in frame), None)
        if missing is not None:
            _broken_frame(path, lines[at], f"has no bone {shown(missing)}, which others have")
        for key, line in frame.items():
            row = _row(path, line, layout.get(key))
            result[key].append(row)
    values = {key: np.array(rows, dtype=np.float64) for key, rows in result.items()}
    return _Found([lines[i].words[0] for i in frames], values, {key: line.number for key, line in layout.items()})


def _row(path: Path, line: TextLine, like: TextLine | None) -> list[float]:
    """Parse a line's values; FileError for another count than first."""
    bone = f"bone {shown(line.words[0])}"
    if like is None:
        fail(path, line.number, f"{bone} is not in the first frame")
    if len(line.words) != len(like.words):
        counts = f"{len(line.words) - 1} values; in the first frame it has {len(like.words) - 1}"
        fail(path, line.number, f"{bone} has {counts}")
    try:
        return [number(word) for word in line.words[1:]]
    except ValueError as error:
        fail(path, line.number, f"{bone}: {error}")


def _broken_frame(path: Path, line: TextLine, reason: str) -> NoReturn:
    fail(path, line.number, f"frame {shown(line.words[0])} {reason}")


# --- values to q ---------------------------------------------------------------------------------


def q_of_motion(path: Path, file: AsfFile, rows: Rows, motion: AmcMotion) -> Floats:
    """Convert a motion to configurations (frames, nq).

    FileError where the bones or their values are not those of the ASF file.
    """
    skeleton, angle = rows.skeleton, file.angle if motion.angle is None else motion.angle
    freedoms = {ROOT: file.root.order} | {bone.name.lower(): bone.dof for bone in rows.bones}
    _check_bones(path, file, freedoms, motion)
    q = np.tile(skeleton.zero_q(), (motion.frames, 1))
    turned: dict[str, list[tuple[int, Floats]]] = {}
    for row, (key, dof) in enumerate(freedoms.items()):
        values, start = motion.values.get(key), int(skeleton.q_start[row])
        if values is None:
            continue
        turning = turning_of(dof)
        if row == 0:
            for axis, word in enumerate(MOVES):
                q[:, axis] = values[:, dof.index(word)] if word in dof else 0.0
            start += 3
        if skeleton.kinds[row] != Kind.FIXED:
            zeros = np.zeros(motion.frames)
            angles = [zeros if at < 0 else angle * values[:, at] for at in turning.values]
            turned.setdefault(turning.order, []).append((start, np.stack(angles, axis=-1)))
    for order, parts in turned.items():
        starts = np.array([start for start, _ in parts])
        q[:, starts[:, None] + np.arange(4)] = euler.to_quaternion(np.stack([a for _, a in parts], axis=1), order)
    return q


def _check_bones(path: Path, file: AsfFile, freedoms: dict[str, tuple[str, ...]], motion: AmcMotion) -> None:
    for key, values in motion.values.items():
        if key not in freedoms:
            fail(path, motion.lines[key], f"bone {shown(key)} is not in {file.path.name}; is that the right skeleton?")
        width, dof = values.shape[1], freedoms[key]
        if width != len(dof):
            wanted = f"{len(dof)} ({' '.join(dof)})" if dof else "none"
            fail(path, motion.lines[key], f"bone {shown(key)} has {width} values; {file.path.name} gives it {wanted}")


def outside_limits(file: AsfFile, bones: tuple[Bone, ...], motion: AmcMotion) -> str:
    """Describe values outside the ASF file's limits. Empty where there are none."""
    angle = file.angle if motion.angle is None else motion.angle
    outside, total, worst = 0, 0, dict[str, float]()
    for bone in bones:
        values = motion.values.get(bone.name.lower())
        if values is None:
            continue
        total += values.size
        for (low, high), word, column in zip(bone.limits, bone.dof, values.T, strict=False):
            given = column * (angle if word in TURNS else 1.0)
            excess = np.maximum(low - given, given - high)
            over = excess > 1e-9 * max(1.0, float(np.abs(given).max()))
            if over.any():
                outside += int(over.sum())
                worst[bone.name] = max(worst.get(bone.name, 0.0), math.degrees(float(excess.max())))
    if not outside:
        return ""
    names = listed(f"{bone} by {most:.3g}" for bone, most in sorted(worst.items(), key=lambda one: -one[1]))
    return (
        f"{outside:,} of {total:,} values ({100 * outside / total:.2g} %) lie outside of the limits in "
        f"{file.path.name} and were kept; solve() and bake() move such joints inside, at most [degrees]: {names}"
    )
