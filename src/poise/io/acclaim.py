"""ASF and AMC files: parsers, skeleton, and conversion of motion to q."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from poise.errors import FileError, join_names
from poise.io.files import guess_file_type
from poise.io.text_parsing import MAX_NAME_LENGTH, is_rate, parse_number, parse_table, quote_excerpt
from poise.maths import euler, rotations
from poise.maths.arrays import Floats
from poise.model.joints import make_unique_names
from poise.model.limits import EulerBox, Limit, Range
from poise.model.skeleton import Kind, Skeleton

_BLANK_CHARACTERS = str.maketrans("(),", "   ")  # brackets and commas count as blanks


class TextLine(NamedTuple):
    """A line with words, and its number in the file from 1."""

    number: int
    words: list[str]


def decode_text(path: Path, data: bytes, kind: str) -> str:
    """Decode the text of a file, with LF line ends. FileError if it is not text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(path, f"is UTF-16 text; {kind} file is plain text, so save it as UTF-8 or ASCII")
    if b"\0" in data:
        looks = guess_file_type(data)
        raise FileError(path, f"not {kind} file" + (f"; this looks like {looks}" if looks else ": it is not text"))
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def split_lines(text: str, first: int = 1) -> list[TextLine]:
    """Split text into numbered lines with words, without comments. Numbers begin at `first`."""
    lines = (
        TextLine(i, row.partition("#")[0].translate(_BLANK_CHARACTERS).split())
        for i, row in enumerate(text.split("\n"), first)
    )
    return [line for line in lines if line.words]


def fail(path: Path, line: int, reason: str) -> NoReturn:
    """Raise a FileError at a line."""
    raise FileError(path, reason, place=f"line {line}")


def parse_numbers(path: Path, line: TextLine, words: list[str], count: int, label: str) -> list[float]:
    """Parse exactly `count` numbers, or fail."""
    if len(words) != count:
        fail(path, line.number, f"{label}: {count} numbers expected, found {len(words)}")
    try:
        return [parse_number(word) for word in words]
    except ValueError as error:
        fail(path, line.number, f"{label}: {error}")


def parse_name(path: Path, line: TextLine, words: list[str], label: str) -> str:
    """Parse a name: one word of usual length."""
    if len(words) != 1 or len(words[0]) > MAX_NAME_LENGTH:
        fail(path, line.number, f"{label} must be one word, not {quote_excerpt(' '.join(words))}")
    return words[0]


# --- Parsed sections of an ASF file: units, root, bones, hierarchy ---------------------------------------------------


ROOT = "root"
MAX_BONES = 10_000  # most bones of a file, as for BVH; far above any character
ROTATION_DOFS = ("rx", "ry", "rz")
TRANSLATION_DOFS = ("tx", "ty", "tz")
LENGTH_DOF = "l"
_MAX_DIRECTION_LENGTH = 1e3  # largest length of a direction; lengths other than one are kept
_RAD_PER_DEGREE = math.pi / 180.0
_UNIQUE_KEYWORDS = (":units", ":root", ":bonedata", ":hierarchy")
_DEFAULT_ROOT = {"order": "tx ty tz rx ry rz", "axis": "XYZ"}  # defaults needed for reading an AMC file
_INFINITIES = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


class AsfBone(NamedTuple):
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


class AsfRoot(NamedTuple):
    """Values of :root; angles in radians."""

    order: tuple[str, ...] = (*TRANSLATION_DOFS, *ROTATION_DOFS)
    sequence: str = "XYZ"
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)


class AsfFile(NamedTuple):
    """A whole ASF file. `length` is 1 without a unit of length; `angle` converts its angles to radians."""

    path: Path
    length: float
    angle: float
    root: AsfRoot
    bones: dict[str, AsfBone]  # by name in lower case
    parents: dict[str, str]  # name in lower case -> the parent's; parents first
    notes: tuple[str, ...] = ()


def parse_asf(path: Path, data: bytes) -> AsfFile:
    """Parse a file; FileError unless it is one tree of bones."""
    sections = _split_sections(path, split_lines(decode_text(path, data, "an ASF")))
    length, angle = _parse_units(path, sections.get(":units", []))
    root, notes = _parse_root(path, sections.get(":root"), angle)
    for key, content in ((":bonedata", "bones"), (":hierarchy", "tree")):
        if key not in sections:
            raise FileError(path, f"not a whole ASF file: it has no {key} section with the {content}")
    bones = _parse_bones(path, sections[":bonedata"], angle)
    return AsfFile(path, length, angle, root, bones, _build_tree(path, sections[":hierarchy"], bones), notes)


def _split_sections(path: Path, lines: list[TextLine]) -> dict[str, list[TextLine]]:
    """Split lines by keyword, the keyword's own words first."""
    sections: dict[str, list[TextLine]] = {}
    section: list[TextLine] = []
    for line in lines:
        key = line.words[0].lower()
        if not key.startswith(":"):
            if not sections:
                fail(
                    path,
                    line.number,
                    f"not an ASF file: it begins with {quote_excerpt(line.words[0])}, not with a :keyword",
                )
            section.append(line)
            continue
        if key in _UNIQUE_KEYWORDS and key in sections:
            fail(path, line.number, f"a second {key}")
        section = sections.setdefault(key, [])
        if line.words[1:]:
            section.append(TextLine(line.number, line.words[1:]))
    return sections


def _parse_units(path: Path, lines: list[TextLine]) -> tuple[float, float]:
    length, angle = 1.0, _RAD_PER_DEGREE
    for line in lines:
        key = line.words[0].lower()
        if key == "length":
            (length,) = parse_numbers(path, line, line.words[1:], 1, "the unit of length")
            if not 1e-9 <= length <= 1e9:  # noqa: PLR2004  (plausible range)
                fail(path, line.number, f"invalid unit of length: {length:g}")
        elif key == "angle":
            angle = parse_angle_unit(path, line, parse_name(path, line, line.words[1:], "the unit of angles"))
    return length, angle


def parse_angle_unit(path: Path, line: TextLine, word: str) -> float:
    """Return radians per unit of "deg" or "rad", long or short."""
    if not word.lower().startswith(("deg", "rad")):
        fail(path, line.number, f"angles are in deg or rad, not in {quote_excerpt(word)}")
    return 1.0 if word.lower().startswith("rad") else _RAD_PER_DEGREE


def _parse_root(path: Path, lines: list[TextLine] | None, angle: float) -> tuple[AsfRoot, tuple[str, ...]]:
    """Parse the root, with a note on defaults taken."""
    root, keys = AsfRoot(), set[str]()
    for line in lines or ():
        key, words = line.words[0].lower(), line.words[1:]
        if key == "order":
            root = root._replace(order=_parse_dof(path, line, words))
        elif key == "axis":
            root = root._replace(sequence=_parse_sequence(path, line, words))
        elif key == "position":
            x, y, z = parse_numbers(path, line, words, 3, "the position of the root")
            root = root._replace(position=(x, y, z))
        elif key == "orientation":
            x, y, z = parse_numbers(path, line, words, 3, "the orientation of the root")
            root = root._replace(orientation=(x * angle, y * angle, z * angle))
        keys.add(key)
    defaults = [f"{key} ({usual})" for key, usual in _DEFAULT_ROOT.items() if key not in keys]
    problem = "it has no :root section" if lines is None else ":root is incomplete"
    return root, ((f"{problem}; defaults used: {', '.join(defaults)}",) if defaults else ())


def _parse_dof(path: Path, line: TextLine, words: list[str]) -> tuple[str, ...]:
    dof = tuple(word.lower() for word in words)
    for word in dof:
        if word not in (*ROTATION_DOFS, *TRANSLATION_DOFS, LENGTH_DOF):
            fail(path, line.number, f"{quote_excerpt(word)} is not a degree of freedom; known: rx ry rz tx ty tz l")
        if dof.count(word) > 1:
            fail(path, line.number, f"the degree of freedom {word} is listed twice")
    return dof


def _parse_sequence(path: Path, line: TextLine, words: list[str]) -> str:
    sequence = "".join(words).upper()
    if sorted(sequence) != ["X", "Y", "Z"]:
        fail(path, line.number, f"the axes must be X, Y and Z in some sequence, not {quote_excerpt(' '.join(words))}")
    return sequence


# --- bones ---------------------------------------------------------------------------------------


def _parse_bones(path: Path, lines: list[TextLine], angle: float) -> dict[str, AsfBone]:
    bones: dict[str, AsfBone] = {}
    for begin, fields in _split_blocks(path, lines):
        bone = _parse_bone(path, begin, fields, angle)
        key = bone.name.lower()
        if key in bones or key == ROOT:
            fail(path, begin, f"a second bone {quote_excerpt(bone.name)}")
        if len(bones) >= MAX_BONES:
            fail(path, begin, f"more than {MAX_BONES:,} bones")
        bones[key] = bone
    return bones


def _split_blocks(path: Path, lines: list[TextLine]) -> list[tuple[int, dict[str, TextLine]]]:
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
            fail(path, line.number, f"expected {expected} in :bonedata, not {quote_excerpt(line.words[0])}")
        elif word == "end":
            fields = None
        elif word[0].isalpha() and word not in _INFINITIES:
            if word in fields:
                fail(path, line.number, f"a second {quote_excerpt(line.words[0])} of one bone")
            last = fields[word] = TextLine(line.number, line.words[1:])
        elif last is not None:
            last.words.extend(line.words)
    if fields is not None:
        fail(path, blocks[-1][0], "this bone has no 'end'; the file ends in it")
    return blocks


def _parse_bone(path: Path, begin: int, fields: dict[str, TextLine], angle: float) -> AsfBone:
    for key in ("name", "direction", "length"):
        if key not in fields:
            fail(path, begin, f"this bone has no {key}")
    name_line = fields["name"]
    bone_name = parse_name(path, name_line, name_line.words, "the name of a bone")
    label = f"bone {quote_excerpt(bone_name)}"
    x, y, z = parse_numbers(path, fields["direction"], fields["direction"].words, 3, f"{label}, direction")
    (length,) = parse_numbers(path, fields["length"], fields["length"].words, 1, f"{label}, length")
    size = math.hypot(x, y, z)
    if size > _MAX_DIRECTION_LENGTH:
        fail(path, fields["direction"].number, f"{label}: a direction has the length 1, not {size:g}")
    if length and not size:
        fail(path, fields["direction"].number, f"{label} has no direction, though it has a length")
    axis, sequence = _parse_axis(path, fields.get("axis"), label, angle)
    dof = fields.get("dof")
    freedoms = () if dof is None else _parse_dof(path, dof, dof.words)
    limits = _parse_limits(path, fields.get("limits"), label, freedoms, angle)
    return AsfBone(bone_name, begin, (x, y, z), length, axis, sequence, freedoms, limits)


def _parse_axis(path: Path, line: TextLine | None, label: str, angle: float) -> tuple[tuple[float, float, float], str]:
    if line is None:
        return (0.0, 0.0, 0.0), "XYZ"
    x, y, z = parse_numbers(path, line, line.words[:3], 3, f"{label}, axis")
    return (x * angle, y * angle, z * angle), _parse_sequence(path, line, line.words[3:] or ["XYZ"])


def _parse_limits(
    path: Path, line: TextLine | None, label: str, dof: tuple[str, ...], angle: float
) -> tuple[tuple[float, float], ...]:
    if line is None:
        return ()
    if len(line.words) % 2 or len(line.words) > 2 * len(dof):
        ends = len(line.words)
        fail(path, line.number, f"{label}: {ends} ends of limits for {len(dof)} degrees of freedom; each has two")
    try:
        ends = [_INFINITIES[word.lower()] if word.lower() in _INFINITIES else parse_number(word) for word in line.words]
    except ValueError as error:
        fail(path, line.number, f"{label}, limits: {error}")
    pairs = list(zip(ends[::2], ends[1::2], strict=True))
    for (low, high), word in zip(pairs, dof, strict=False):
        if low > high or math.inf == low or high == -math.inf:
            fail(path, line.number, f"{label}: the limits of {word}, {low:g} to {high:g}, are empty")
    units = [angle if word in ROTATION_DOFS else 1.0 for word in dof]
    return tuple((low * unit, high * unit) for (low, high), unit in zip(pairs, units, strict=False))


# --- the tree ------------------------------------------------------------------------------------


def _build_tree(path: Path, lines: list[TextLine], bones: dict[str, AsfBone]) -> dict[str, str]:
    """Build parents by bone, parents first. FileError unless every bone is connected to the root exactly once."""
    children: dict[str, list[str]] = {}
    known: set[str] = set()
    for line in lines:
        words = [word.lower() for word in line.words]
        if words in (["begin"], ["end"]):
            continue
        for word, written in zip(words, line.words, strict=True):
            if word not in bones and word != ROOT:
                fail(path, line.number, f"there is no bone {quote_excerpt(written)}")
        for word, written in zip(words[1:], line.words[1:], strict=True):
            if word in known or word == ROOT:
                fail(path, line.number, f"{quote_excerpt(written)} has two parents, or one twice")
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
        fail(path, lost.line, f"bone {quote_excerpt(lost.name)} {reason}, so it is not connected to the root")
    return parents


# --- Skeleton of ASF bones -------------------------------------------------------------------------------------------
#
# A bone rotates about the end of its parent. With C the rotation of its own axes and M that of its values, the file's
# convention is
#
# world = world_parent . T(end of the parent) . C . M . C^-1
#
# A joint here has the frame world . C, so its values rotate it about its own axes: A = C_parent^-1 . T . C and J = M.
# The values rotate about fixed axes in their order in the file: "rx ry rz" is Rz Ry Rx.


_INCH_M = 0.0254
_UNLIMITED = (-np.inf, np.inf)


class RotationOrder(NamedTuple):
    """Rotation order of a row and the column of each angle. The letters are in the order of the product."""

    order: str
    values: tuple[int, ...]  # column of each letter's value in the bone's row of an AMC file; -1: none


def find_rotation_order(dof: tuple[str, ...]) -> RotationOrder:
    """Find the rotation order of degrees of freedom.

    The first rotation is the last letter. A missing axis never comes first. A single missing axis comes in the middle,
    so the other two cannot cause gimbal lock.
    """
    letters = [word[1].upper() for word in dof if word in ROTATION_DOFS][::-1]
    missing = [letter for letter in "XYZ" if letter not in letters]
    order = "".join([*letters[:1], *missing, *letters[1:]])
    return RotationOrder(order, tuple(dof.index(f"r{x.lower()}") if x in letters else -1 for x in order))


def compute_rotation(angles: tuple[float, float, float], sequence: str) -> Floats:
    """Compute the rotation (4,) of angles about fixed axes [rad]. They rotate in a sequence: "XYZ" is Rz Ry Rx."""
    order = sequence[::-1]
    return euler.to_quaternion([angles["XYZ".index(letter)] for letter in order], order)


class AsfSkeleton(NamedTuple):
    """The skeleton with the bone of each row after the root. Leaf ends have none."""

    skeleton: Skeleton
    bones: tuple[AsfBone, ...]


def build_skeleton(file: AsfFile) -> AsfSkeleton:
    """Build the skeleton with a free root and ball joints.

    Every bone with a rotation is a ball, as in other files of characters.

    A bone with one value is a ball limited to one axis by its range.
    """
    bones = [file.bones[key] for key in file.parents]
    rows = {ROOT: 0} | {key: i for i, key in enumerate(file.parents, 1)}
    parents = [-1] + [rows[parent] for parent in file.parents.values()]
    axis_rotations = np.array([rotations.IDENTITY] + [compute_rotation(bone.axis, bone.sequence) for bone in bones])
    ends = np.array([np.zeros(3)] + [np.multiply(bone.direction, bone.length) for bone in bones])
    leaves = sorted(set(range(1, len(parents))) - set(parents))
    leaves = [row for row in leaves if ends[row].any()]
    names = make_unique_names([ROOT, *(bone.name for bone in bones), *(f"{bones[row - 1].name}_end" for row in leaves)])
    above = [*parents[1:], *leaves]
    offsets = rotations.rotate(rotations.inverse(axis_rotations[above]), ends[above])
    rotations_in_parent = rotations.multiply(rotations.inverse(axis_rotations[parents[1:]]), axis_rotations[1:])
    still = np.tile(rotations.IDENTITY, (len(leaves), 1))
    skeleton = Skeleton.build(
        names,
        [-1, *above],
        [Kind.FREE, *(_choose_kind(bone) for bone in bones), *([Kind.FIXED] * len(leaves))],
        offsets=np.concatenate([[file.root.position], offsets.reshape(-1, 3)]),
        rotations=np.concatenate(
            [[compute_rotation(file.root.orientation, file.root.sequence)], rotations_in_parent.reshape(-1, 4), still]
        ),
        limits=[None, *(_build_limit(bone) for bone in bones), *([None] * len(leaves))],
        euler=[
            _format_euler_order(file.root.order),
            *(_format_euler_order(bone.dof) for bone in bones),
            *([""] * len(leaves)),
        ],
        source_ids=[ROOT, *(bone.name for bone in bones), *([None] * len(leaves))],
        metres_per_unit=None if file.length == 1.0 else _INCH_M / file.length,
    )
    return AsfSkeleton(skeleton, tuple(bones))


def _find_rotation_dofs(bone: AsfBone) -> list[str]:
    return [word for word in bone.dof if word in ROTATION_DOFS]


def _choose_kind(bone: AsfBone) -> Kind:
    return Kind.BALL if _find_rotation_dofs(bone) else Kind.FIXED


def _format_euler_order(dof: tuple[str, ...]) -> str:
    """Format the rotation order with only the file's axes."""
    return "".join(word[1].upper() for word in dof if word in ROTATION_DOFS)[::-1]


def _build_limit(bone: AsfBone) -> Limit | None:
    """Build a range for one rotation value, else an Euler box. An axis missing in the box stays at zero."""
    limits = dict(zip(bone.dof, bone.limits, strict=False))
    rotation_dofs = _find_rotation_dofs(bone)
    if len(rotation_dofs) == 1:
        axis = np.eye(3)[ROTATION_DOFS.index(rotation_dofs[0])]
        return Range(
            *limits.get(rotation_dofs[0], _UNLIMITED), (float(axis[0]), float(axis[1]), float(axis[2])), source="file"
        )
    if not rotation_dofs:
        return None
    x, y, z = (limits.get(word, _UNLIMITED) if word in rotation_dofs else (0.0, 0.0) for word in ROTATION_DOFS)
    box = EulerBox(find_rotation_order(bone.dof).order, x=x, y=y, z=z, source="file")
    return box if box.bounded else None


# --- AMC files: search of the skeleton file, parser, conversion to q -------------------------------------------------
#
# The AMC's own text names a file of the capture machine.


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
