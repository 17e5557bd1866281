"""Parsed sections of an ASF file: units, root, bones, hierarchy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from poise.errors import FileError
from poise.io.asf.words import TextLine, fail, lines_of, name, numbers, text_of
from poise.io.numbers import number, shown

ROOT = "root"
MOST_BONES = 10_000  # most bones of a file, as for BVH; far above any character
TURNS = ("rx", "ry", "rz")
MOVES = ("tx", "ty", "tz")
STRETCH = "l"
_LONGEST = 1e3  # largest length of a direction; lengths other than one are kept
_DEGREE = math.pi / 180.0
_USED = (":units", ":root", ":bonedata", ":hierarchy")
_USUAL_ROOT = {"order": "tx ty tz rx ry rz", "axis": "XYZ"}  # defaults needed for reading an AMC file
_ENDLESS = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


class Bone(NamedTuple):
    """A bone of :bonedata; angles in radians.

    line        first line in the file
    direction   as in the file, of unit length to its digits
    axis        angles of its own frame about the fixed axes x, y, z; `sequence` is the order of these rotations
    dof         "rx", "ry", "rz", "tx", "ty", "tz", "l", in the order of the values in an AMC file
    limits      (low, high) of the first of them; may be fewer
    """

    name: str
    line: int
    direction: tuple[float, float, float]
    length: float
    axis: tuple[float, float, float]
    sequence: str
    dof: tuple[str, ...]
    limits: tuple[tuple[float, float], ...]


class Root(NamedTuple):
    """Values of :root; angles in radians."""

    order: tuple[str, ...] = (*MOVES, *TURNS)
    sequence: str = "XYZ"
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)


class AsfFile(NamedTuple):
    """A whole ASF file. `length` is 1 without a unit of length; `angle` converts its angles to radians."""

    path: Path
    length: float
    angle: float
    root: Root
    bones: dict[str, Bone]  # by name in lower case
    parents: dict[str, str]  # name in lower case -> the parent's; parents first
    notes: tuple[str, ...] = ()


def parse_asf(path: Path, data: bytes) -> AsfFile:
    """Parse a file; FileError unless it is one tree of bones."""
    sections = _sections(path, lines_of(text_of(path, data, "an ASF")))
    length, angle = _units(path, sections.get(":units", []))
    root, notes = _root(path, sections.get(":root"), angle)
    for key, what in ((":bonedata", "bones"), (":hierarchy", "tree")):
        if key not in sections:
            raise FileError(path, f"not a whole ASF file: it has no {key} section with the {what}")
    bones = _bones(path, sections[":bonedata"], angle)
    return AsfFile(path, length, angle, root, bones, _tree(path, sections[":hierarchy"], bones), notes)


def _sections(path: Path, lines: list[TextLine]) -> dict[str, list[TextLine]]:
    """Split lines by keyword, the keyword's own words first."""
    found: dict[str, list[TextLine]] = {}
    here: list[TextLine] = []
    for line in lines:
        key = line.words[0].lower()
        if not key.startswith(":"):
            if not found:
                fail(path, line.number, f"not an ASF file: it begins with {shown(line.words[0])}, not with a :keyword")
            here.append(line)
            continue
        if key in _USED and key in found:
            fail(path, line.number, f"a second {key}")
        here = found.setdefault(key, [])
        if line.words[1:]:
            here.append(TextLine(line.number, line.words[1:]))
    return found


def _units(path: Path, lines: list[TextLine]) -> tuple[float, float]:
    length, angle = 1.0, _DEGREE
    for line in lines:
        key = line.words[0].lower()
        if key == "length":
            (length,) = numbers(path, line, line.words[1:], 1, "the unit of length")
            if not 1e-9 <= length <= 1e9:  # noqa: PLR2004  (plausible range)
                fail(path, line.number, f"invalid unit of length: {length:g}")
        elif key == "angle":
            angle = angle_unit(path, line, name(path, line, line.words[1:], "the unit of angles"))
    return length, angle


def angle_unit(path: Path, line: TextLine, word: str) -> float:
    """Return radians per unit of "deg" or "rad", long or short."""
    if not word.lower().startswith(("deg", "rad")):
        fail(path, line.number, f"angles are in deg or rad, not in {shown(word)}")
    return 1.0 if word.lower().startswith("rad") else _DEGREE


def _root(path: Path, lines: list[TextLine] | None, angle: float) -> tuple[Root, tuple[str, ...]]:
    """Parse the root, with a note on defaults taken."""
    root, said = Root(), set[str]()
    for line in lines or ():
        key, words = line.words[0].lower(), line.words[1:]
        if key == "order":
            root = root._replace(order=_dof(path, line, words))
        elif key == "axis":
            root = root._replace(sequence=_sequence(path, line, words))
        elif key == "position":
            x, y, z = numbers(path, line, words, 3, "the position of the root")
            root = root._replace(position=(x, y, z))
        elif key == "orientation":
            x, y, z = numbers(path, line, words, 3, "the orientation of the root")
            root = root._replace(orientation=(x * angle, y * angle, z * angle))
        said.add(key)
    left = [f"{key} ({usual})" for key, usual in _USUAL_ROOT.items() if key not in said]
    what = "it has no :root section" if lines is None else ":root is incomplete"
    return root, ((f"{what}; defaults used: {', '.join(left)}",) if left else ())


def _dof(path: Path, line: TextLine, words: list[str]) -> tuple[str, ...]:
    dof = tuple(word.lower() for word in words)
    for word in dof:
        if word not in (*TURNS, *MOVES, STRETCH):
            fail(path, line.number, f"{shown(word)} is not a degree of freedom; known: rx ry rz tx ty tz l")
        if dof.count(word) > 1:
            fail(path, line.number, f"the degree of freedom {word} is listed twice")
    return dof


def _sequence(path: Path, line: TextLine, words: list[str]) -> str:
    sequence = "".join(words).upper()
    if sorted(sequence) != ["X", "Y", "Z"]:
        fail(path, line.number, f"the axes must be X, Y and Z in some sequence, not {shown(' '.join(words))}")
    return sequence


# --- bones ---------------------------------------------------------------------------------------


def _bones(path: Path, lines: list[TextLine], angle: float) -> dict[str, Bone]:
    bones: dict[str, Bone] = {}
    for begin, fields in _blocks(path, lines):
        bone = _bone(path, begin, fields, angle)
        key = bone.name.lower()
        if key in bones or key == ROOT:
            fail(path, begin, f"a second bone {shown(bone.name)}")
        if len(bones) >= MOST_BONES:
            fail(path, begin, f"more than {MOST_BONES:,} bones")
        bones[key] = bone
    return bones


def _blocks(path: Path, lines: list[TextLine]) -> list[tuple[int, dict[str, TextLine]]]:
    """Split begin ... end blocks into first line and lines by word. Lines of numbers continue the line above."""
    blocks: list[tuple[int, dict[str, TextLine]]] = []
    fields: dict[str, TextLine] | None = None
    last: TextLine | None = None
    for line in lines:
        word = line.words[0].lower()
        if word == "begin" and fields is None:
            fields, last = {}, None
            blocks.append((line.number, fields))
        elif fields is None or word == "begin":
            expected = "'begin'" if fields is None else "'end' before the next 'begin'"
            fail(path, line.number, f"expected {expected} in :bonedata, not {shown(line.words[0])}")
        elif word == "end":
            fields = None
        elif word[0].isalpha() and word not in _ENDLESS:
            if word in fields:
                fail(path, line.number, f"a second {shown(line.words[0])} of one bone")
            last = fields[word] = TextLine(line.number, line.words[1:])
        elif last is not None:
            last.words.extend(line.words)
    if fields is not None:
        fail(path, blocks[-1][0], "this bone has no 'end'; the file ends in it")
    return blocks


def _bone(path: Path, begin: int, fields: dict[str, TextLine], angle: float) -> Bone:
    for key in ("name", "direction", "length"):
        if key not in fields:
            fail(path, begin, f"this bone has no {key}")
    given = fields["name"]
    called = name(path, given, given.words, "the name of a bone")
    what = f"bone {shown(called)}"
    x, y, z = numbers(path, fields["direction"], fields["direction"].words, 3, f"{what}, direction")
    (length,) = numbers(path, fields["length"], fields["length"].words, 1, f"{what}, length")
    size = math.hypot(x, y, z)
    if size > _LONGEST:
        fail(path, fields["direction"].number, f"{what}: a direction has the length 1, not {size:g}")
    if length and not size:
        fail(path, fields["direction"].number, f"{what} has no direction, though it has a length")
    axis, sequence = _axis(path, fields.get("axis"), what, angle)
    dof = fields.get("dof")
    freedoms = () if dof is None else _dof(path, dof, dof.words)
    limits = _limits(path, fields.get("limits"), what, freedoms, angle)
    return Bone(called, begin, (x, y, z), length, axis, sequence, freedoms, limits)


def _axis(path: Path, line: TextLine | None, what: str, angle: float) -> tuple[tuple[float, float, float], str]:
    if line is None:
        return (0.0, 0.0, 0.0), "XYZ"
    x, y, z = numbers(path, line, line.words[:3], 3, f"{what}, axis")
    return (x * angle, y * angle, z * angle), _sequence(path, line, line.words[3:] or ["XYZ"])


def _limits(
    path: Path, line: TextLine | None, what: str, dof: tuple[str, ...], angle: float
) -> tuple[tuple[float, float], ...]:
    if line is None:
        return ()
    if len(line.words) % 2 or len(line.words) > 2 * len(dof):
        ends = len(line.words)
        fail(path, line.number, f"{what}: {ends} ends of limits for {len(dof)} degrees of freedom; each has two")
    try:
        ends = [_ENDLESS[word.lower()] if word.lower() in _ENDLESS else number(word) for word in line.words]
    except ValueError as error:
        fail(path, line.number, f"{what}, limits: {error}")
    pairs = list(zip(ends[::2], ends[1::2], strict=True))
    for (low, high), word in zip(pairs, dof, strict=False):
        if low > high or math.inf == low or high == -math.inf:
            fail(path, line.number, f"{what}: the limits of {word}, {low:g} to {high:g}, are empty")
    units = [angle if word in TURNS else 1.0 for word in dof]
    return tuple((low * unit, high * unit) for (low, high), unit in zip(pairs, units, strict=False))


# --- the tree ------------------------------------------------------------------------------------


def _tree(path: Path, lines: list[TextLine], bones: dict[str, Bone]) -> dict[str, str]:
    """Build parents by bone, parents first. FileError unless every bone is connected to the root exactly once."""
    children: dict[str, list[str]] = {}
    known: set[str] = set()
    for line in lines:
        words = [word.lower() for word in line.words]
        if words in (["begin"], ["end"]):
            continue
        for word, written in zip(words, line.words, strict=True):
            if word not in bones and word != ROOT:
                fail(path, line.number, f"there is no bone {shown(written)}")
        for word, written in zip(words[1:], line.words[1:], strict=True):
            if word in known or word == ROOT:
                fail(path, line.number, f"{shown(written)} has two parents, or one twice")
            known.add(word)
        children.setdefault(words[0], []).extend(words[1:])
    parents: dict[str, str] = {}
    waiting = [(child, ROOT) for child in reversed(children.get(ROOT, []))]
    while waiting:
        child, parent = waiting.pop()
        parents[child] = parent
        waiting += [(below, child) for below in reversed(children.get(child, []))]
    lost = next((bone for key, bone in bones.items() if key not in parents), None)
    if lost is not None:
        reason = "is its own ancestor" if lost.name.lower() in known else "is missing from :hierarchy"
        fail(path, lost.line, f"bone {shown(lost.name)} {reason}, so it is not connected to the root")
    return parents
