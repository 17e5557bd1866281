"""Acclaim's ASF and AMC files: parsers, skeleton, and motion as q."""

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


def decode_text(path: Path, data: bytes, format_name: str) -> str:
    """Decode the text of a file, with LF line ends. FileError if it is not text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(path, f"is UTF-16 text; {format_name} file is plain text, so save it as UTF-8 or ASCII")
    if b"\0" in data:
        file_type = guess_file_type(data)
        raise FileError(
            path, f"not {format_name} file" + (f"; this looks like {file_type}" if file_type else ": it is not text")
        )
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def split_lines(text: str, first_number: int = 1) -> list[TextLine]:
    """Split text into numbered lines with words, without comments. Numbers begin at `first_number`."""
    lines = (
        TextLine(i, line_text.partition("#")[0].translate(_BLANK_CHARACTERS).split())
        for i, line_text in enumerate(text.split("\n"), first_number)
    )
    return [line for line in lines if line.words]


def fail(path: Path, line_number: int, reason: str) -> NoReturn:
    """Raise a FileError at a line."""
    raise FileError(path, reason, place=f"line {line_number}")


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

    line_number  first line in the file
    direction    as in the file, of unit length to its digits
    axis_angles  angles of its own frame about the fixed axes x, y, z; `sequence` is the order of these rotations
    dof          "rx", "ry", "rz", "tx", "ty", "tz", "l", in the order of the values in an AMC file
    limits       (low, high) of the first of them; may be fewer
    """

    name: str
    line_number: int
    direction: tuple[float, float, float]
    length: float
    axis_angles: tuple[float, float, float]
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
    """A whole ASF file. `length_unit` is 1 without a unit of length; `angle_factor` converts its angles to radians."""

    path: Path
    length_unit: float
    angle_factor: float
    root: AsfRoot
    bones: dict[str, AsfBone]  # by name in lower case
    parents: dict[str, str]  # name in lower case -> the parent's; parents first
    notes: tuple[str, ...] = ()


def parse_asf(path: Path, data: bytes) -> AsfFile:
    """Parse a file; FileError unless it is one tree of bones."""
    sections = _split_sections(path, split_lines(decode_text(path, data, "an ASF")))
    length_unit, angle_factor = _parse_units(path, sections.get(":units", []))
    root, notes = _parse_root(path, sections.get(":root"), angle_factor)
    for key, content in ((":bonedata", "bones"), (":hierarchy", "tree")):
        if key not in sections:
            raise FileError(path, f"not a whole ASF file: it has no {key} section with the {content}")
    bones = _parse_bones(path, sections[":bonedata"], angle_factor)
    return AsfFile(
        path, length_unit, angle_factor, root, bones, _build_tree(path, sections[":hierarchy"], bones), notes
    )


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
    length_unit, angle_factor = 1.0, _RAD_PER_DEGREE
    for line in lines:
        key = line.words[0].lower()
        if key == "length":
            (length_unit,) = parse_numbers(path, line, line.words[1:], 1, "the unit of length")
            if not 1e-9 <= length_unit <= 1e9:  # noqa: PLR2004  (plausible range)
                fail(path, line.number, f"invalid unit of length: {length_unit:g}")
        elif key == "angle":
            angle_factor = parse_angle_unit(path, line, parse_name(path, line, line.words[1:], "the unit of angles"))
    return length_unit, angle_factor


def parse_angle_unit(path: Path, line: TextLine, word: str) -> float:
    """Return radians per unit of "deg" or "rad", long or short."""
    if not word.lower().startswith(("deg", "rad")):
        fail(path, line.number, f"angles are in deg or rad, not in {quote_excerpt(word)}")
    return 1.0 if word.lower().startswith("rad") else _RAD_PER_DEGREE


def _parse_root(path: Path, lines: list[TextLine] | None, angle_factor: float) -> tuple[AsfRoot, tuple[str, ...]]:
    """Parse the root, with a note on defaults taken."""
    root, present_keys = AsfRoot(), set[str]()
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
            root = root._replace(orientation=(x * angle_factor, y * angle_factor, z * angle_factor))
        present_keys.add(key)
    defaults = [f"{key} ({default})" for key, default in _DEFAULT_ROOT.items() if key not in present_keys]
    cause = "it has no :root section" if lines is None else ":root is incomplete"
    return root, ((f"{cause}; defaults used: {', '.join(defaults)}",) if defaults else ())


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


def _parse_bones(path: Path, lines: list[TextLine], angle_factor: float) -> dict[str, AsfBone]:
    bones: dict[str, AsfBone] = {}
    for begin_line, fields in _split_blocks(path, lines):
        bone = _parse_bone(path, begin_line, fields, angle_factor)
        key = bone.name.lower()
        if key in bones or key == ROOT:
            fail(path, begin_line, f"a second bone {quote_excerpt(bone.name)}")
        if len(bones) >= MAX_BONES:
            fail(path, begin_line, f"more than {MAX_BONES:,} bones")
        bones[key] = bone
    return bones


class _BoneBlock(NamedTuple):
    """Line of 'begin', and a bone's lines by first word."""

    begin_line: int
    fields: dict[str, TextLine]


def _split_blocks(path: Path, lines: list[TextLine]) -> list[_BoneBlock]:
    """Split :bonedata into its begin ... end blocks. Lines of numbers continue the line above."""
    blocks: list[_BoneBlock] = []
    fields: dict[str, TextLine] | None = None
    last_line: TextLine | None = None
    for line in lines:
        word = line.words[0].lower()
        if word == "begin" and fields is None:
            fields, last_line = {}, None
            blocks.append(_BoneBlock(line.number, fields))
        elif fields is None or word == "begin":
            expected = "'begin'" if fields is None else "'end' before the next 'begin'"
            fail(path, line.number, f"expected {expected} in :bonedata, not {quote_excerpt(line.words[0])}")
        elif word == "end":
            fields = None
        elif word[0].isalpha() and word not in _INFINITIES:
            if word in fields:
                fail(path, line.number, f"a second {quote_excerpt(line.words[0])} of one bone")
            last_line = fields[word] = TextLine(line.number, line.words[1:])
        elif last_line is not None:
            last_line.words.extend(line.words)
    if fields is not None:
        fail(path, blocks[-1].begin_line, "this bone has no 'end'; the file ends in it")
    return blocks


def _parse_bone(path: Path, begin_line: int, fields: dict[str, TextLine], angle_factor: float) -> AsfBone:
    for key in ("name", "direction", "length"):
        if key not in fields:
            fail(path, begin_line, f"this bone has no {key}")
    name_line = fields["name"]
    bone_name = parse_name(path, name_line, name_line.words, "the name of a bone")
    label = f"bone {quote_excerpt(bone_name)}"
    x, y, z = parse_numbers(path, fields["direction"], fields["direction"].words, 3, f"{label}, direction")
    (length,) = parse_numbers(path, fields["length"], fields["length"].words, 1, f"{label}, length")
    direction_length = math.hypot(x, y, z)
    if direction_length > _MAX_DIRECTION_LENGTH:
        fail(path, fields["direction"].number, f"{label}: a direction has the length 1, not {direction_length:g}")
    if length and not direction_length:
        fail(path, fields["direction"].number, f"{label} has no direction, though it has a length")
    axis_angles, sequence = _parse_axis(path, fields.get("axis"), label, angle_factor)
    dof_line = fields.get("dof")
    dof_names = () if dof_line is None else _parse_dof(path, dof_line, dof_line.words)
    limits = _parse_limits(path, fields.get("limits"), label, dof_names, angle_factor)
    return AsfBone(bone_name, begin_line, (x, y, z), length, axis_angles, sequence, dof_names, limits)


def _parse_axis(
    path: Path, line: TextLine | None, label: str, angle_factor: float
) -> tuple[tuple[float, float, float], str]:
    if line is None:
        return (0.0, 0.0, 0.0), "XYZ"
    x, y, z = parse_numbers(path, line, line.words[:3], 3, f"{label}, axis")
    return (x * angle_factor, y * angle_factor, z * angle_factor), _parse_sequence(
        path, line, line.words[3:] or ["XYZ"]
    )


def _parse_limits(
    path: Path, line: TextLine | None, label: str, dof: tuple[str, ...], angle_factor: float
) -> tuple[tuple[float, float], ...]:
    if line is None:
        return ()
    if len(line.words) % 2 or len(line.words) > 2 * len(dof):
        end_count = len(line.words)
        fail(path, line.number, f"{label}: {end_count} ends of limits for {len(dof)} degrees of freedom; each has two")
    try:
        ends = [_INFINITIES[word.lower()] if word.lower() in _INFINITIES else parse_number(word) for word in line.words]
    except ValueError as error:
        fail(path, line.number, f"{label}, limits: {error}")
    ranges = list(zip(ends[::2], ends[1::2], strict=True))
    for (low, high), word in zip(ranges, dof, strict=False):
        if low > high or math.inf == low or high == -math.inf:
            fail(path, line.number, f"{label}: the limits of {word}, {low:g} to {high:g}, are empty")
    unit_factors = [angle_factor if word in ROTATION_DOFS else 1.0 for word in dof]
    return tuple((low * unit, high * unit) for (low, high), unit in zip(ranges, unit_factors, strict=False))


# --- the tree ------------------------------------------------------------------------------------


def _build_tree(path: Path, lines: list[TextLine], bones: dict[str, AsfBone]) -> dict[str, str]:
    """Build parents by bone, parents first. FileError unless every bone is connected to the root exactly once."""
    children: dict[str, list[str]] = {}
    child_names: set[str] = set()
    for line in lines:
        words = [word.lower() for word in line.words]
        if words in (["begin"], ["end"]):
            continue
        for word, written_name in zip(words, line.words, strict=True):
            if word not in bones and word != ROOT:
                fail(path, line.number, f"there is no bone {quote_excerpt(written_name)}")
        for word, written_name in zip(words[1:], line.words[1:], strict=True):
            if word in child_names or word == ROOT:
                fail(path, line.number, f"{quote_excerpt(written_name)} has two parents, or one twice")
            child_names.add(word)
        children.setdefault(words[0], []).extend(words[1:])
    parents: dict[str, str] = {}
    pending_bones = [(child, ROOT) for child in reversed(children.get(ROOT, []))]
    while pending_bones:
        child, parent = pending_bones.pop()
        parents[child] = parent
        pending_bones += [(grandchild, child) for grandchild in reversed(children.get(child, []))]
    lost_bone = next((bone for key, bone in bones.items() if key not in parents), None)
    if lost_bone is not None:
        reason = "is its own ancestor" if lost_bone.name.lower() in child_names else "is missing from :hierarchy"
        fail(
            path,
            lost_bone.line_number,
            f"bone {quote_excerpt(lost_bone.name)} {reason}, so it is not connected to the root",
        )
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
_UNLIMITED_RANGE = (-np.inf, np.inf)


class RotationOrder(NamedTuple):
    """Rotation order of a row and the column of each angle. The letters are in the order of the product."""

    order: str
    columns: tuple[int, ...]  # column of each letter's value in the bone's row of an AMC file; -1: none


def find_rotation_order(dof: tuple[str, ...]) -> RotationOrder:
    """Find the rotation order of degrees of freedom.

    The first rotation is the last letter. A missing axis never comes first. A single missing axis comes in the middle,
    so the other two cannot cause gimbal lock.
    """
    letters = [word[1].upper() for word in dof if word in ROTATION_DOFS][::-1]
    missing_letters = [letter for letter in "XYZ" if letter not in letters]
    order = "".join([*letters[:1], *missing_letters, *letters[1:]])
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
    row_by_key = {ROOT: 0} | {key: i for i, key in enumerate(file.parents, 1)}
    parents = [-1] + [row_by_key[parent] for parent in file.parents.values()]
    axis_rotations = np.array(
        [rotations.IDENTITY] + [compute_rotation(bone.axis_angles, bone.sequence) for bone in bones]
    )
    ends = np.array([np.zeros(3)] + [np.multiply(bone.direction, bone.length) for bone in bones])
    leaves = sorted(set(range(1, len(parents))) - set(parents))
    leaves = [row for row in leaves if ends[row].any()]
    names = make_unique_names([ROOT, *(bone.name for bone in bones), *(f"{bones[row - 1].name}_end" for row in leaves)])
    parent_rows = [*parents[1:], *leaves]
    offsets = rotations.rotate(rotations.inverse(axis_rotations[parent_rows]), ends[parent_rows])
    rotations_in_parent = rotations.multiply(rotations.inverse(axis_rotations[parents[1:]]), axis_rotations[1:])
    identity_rotations = np.tile(rotations.IDENTITY, (len(leaves), 1))
    skeleton = Skeleton.build(
        names,
        [-1, *parent_rows],
        [Kind.FREE, *(_choose_kind(bone) for bone in bones), *([Kind.FIXED] * len(leaves))],
        offsets=np.concatenate([[file.root.position], offsets.reshape(-1, 3)]),
        rotations=np.concatenate(
            [
                [compute_rotation(file.root.orientation, file.root.sequence)],
                rotations_in_parent.reshape(-1, 4),
                identity_rotations,
            ]
        ),
        limits=[None, *(_build_limit(bone) for bone in bones), *([None] * len(leaves))],
        euler=[
            _format_euler_order(file.root.order),
            *(_format_euler_order(bone.dof) for bone in bones),
            *([""] * len(leaves)),
        ],
        source_ids=[ROOT, *(bone.name for bone in bones), *([None] * len(leaves))],
        metres_per_unit=None if file.length_unit == 1.0 else _INCH_M / file.length_unit,
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
            *limits.get(rotation_dofs[0], _UNLIMITED_RANGE),
            (float(axis[0]), float(axis[1]), float(axis[2])),
            source="file",
        )
    if not rotation_dofs:
        return None
    x, y, z = (limits.get(word, _UNLIMITED_RANGE) if word in rotation_dofs else (0.0, 0.0) for word in ROTATION_DOFS)
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
    name_matches = [
        candidate for candidate in candidates if f"{path.stem.lower()}_".startswith(f"{candidate.stem.lower()}_")
    ]
    if name_matches:
        return max(name_matches, key=lambda one: len(one.stem))
    if len(candidates) == 1:
        return candidates[0]
    subject = path.stem.partition("_")[0]
    suggested_names = dict.fromkeys((f"{path.stem}.asf", f"{subject}.asf"))
    advice = f"put its skeleton into the same folder, as {' or '.join(suggested_names)}"
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
    line_numbers: dict[str, int]  # line number of each bone in the first frame
    frame_count: int
    rate: float
    angle_factor: float | None  # factor of angles to radians; None if the file has none
    notes: tuple[str, ...]


def parse_amc(path: Path, data: bytes) -> AmcMotion:
    """Parse the frames. FileError unless every frame has a number for every value."""
    text = decode_text(path, data, "an AMC")
    first_match = _FRAME_LINE.search(text)
    head, body = (text[: first_match.start()], text[first_match.start() :]) if first_match else (text, "")
    angle_factor, rate, notes = _parse_header(path, split_lines(head))
    if not body:
        raise FileError(path, "not an AMC file: it has no frame (a line with only a number)")
    start_line = head.count("\n") + 1
    frame_table = _parse_uniform_frames(body, start_line) or _parse_frames(path, split_lines(body, start_line))
    frame_numbers = [int(number[-18:]) for number in frame_table.numbers]
    if frame_numbers != list(range(frame_numbers[0], frame_numbers[0] + len(frame_numbers))):
        notes.append("frame numbers are missing or go back; frames were read in file order")
    return AmcMotion(frame_table.values, frame_table.line_numbers, len(frame_numbers), rate, angle_factor, tuple(notes))


class _FrameTable(NamedTuple):
    """Frame numbers as written, with values and lines of `AmcMotion`."""

    numbers: list[str]
    values: dict[str, Floats]
    line_numbers: dict[str, int]


def _is_frame(line: TextLine) -> bool:
    return len(line.words) == 1 and line.words[0].isascii() and line.words[0].isdigit()


def _parse_header(path: Path, lines: list[TextLine]) -> tuple[float | None, float, list[str]]:
    """Parse the angle unit, the rate, and notes."""
    angle_factor: float | None = None
    rate: float | None = None
    for line in lines:
        key = line.words[0].lower()
        if not key.startswith(":"):
            fail(path, line.number, f"expected a :keyword or the number of a frame, not {quote_excerpt(line.words[0])}")
        if key in (":degrees", ":radians"):
            angle_factor = parse_angle_unit(path, line, key[1:])
        elif key == _RATE_KEYWORD:
            rate = _parse_rate(path, line)
    if rate is not None:
        return angle_factor, rate, []
    return (
        angle_factor,
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


def _parse_uniform_frames(body: str, start_line: int) -> _FrameTable | None:
    """Parse all frames at once if they are uniform.

    Each must have the words of the first one in the same positions; else return None.
    """
    if any(letter in body for letter in "#(),"):
        return None
    second_match = _FRAME_LINE.search(body, body.find("\n") + 1)
    lines = split_lines(body[: second_match.start()] if second_match else body, start_line)[1:]
    words = body.split()
    words_per_frame = 1 + sum(len(line.words) for line in lines)
    frame_words = words[::words_per_frame]
    if not lines or len(words) % words_per_frame or not all(map(str.isdigit, frame_words)):
        return None
    values: dict[str, Floats] = {}
    start_word = 1
    for line in lines:
        bone, key, end_word = line.words[0], line.words[0].lower(), start_word + len(line.words)
        columns = [words[column::words_per_frame] for column in range(start_word + 1, end_word)]
        if key in values or words[start_word::words_per_frame].count(bone) != len(frame_words):
            return None
        try:
            values[key] = parse_table(columns).T.reshape(len(frame_words), len(columns))
        except ValueError:
            return None
        start_word = end_word
    return _FrameTable(frame_words, values, {line.words[0].lower(): line.number for line in lines})


def _parse_frames(path: Path, lines: list[TextLine]) -> _FrameTable:
    """Parse frame by frame. It allows another order of bones and names the line at fault."""
    frame_starts = [i for i, line in enumerate(lines) if _is_frame(line)]
    first_frame = _index_lines(path, lines[1 : frame_starts[1] if len(frame_starts) > 1 else len(lines)])
    if not first_frame:
        fail(path, lines[0].number, "this frame has no bones")
    rows_by_bone: dict[str, list[list[float]]] = {key: [] for key in first_frame}
    for start, end in zip(frame_starts, [*frame_starts[1:], len(lines)], strict=True):
        frame_lines = _index_lines(path, lines[start + 1 : end])
        missing_bone = next((line.words[0] for key, line in first_frame.items() if key not in frame_lines), None)
        if missing_bone is not None:
            _fail_frame(path, lines[start], f"has no bone {quote_excerpt(missing_bone)}, which others have")
        for key, line in frame_lines.items():
            row = _parse_values(path, line, first_frame.get(key))
            rows_by_bone[key].append(row)
    values = {key: np.array(rows, dtype=np.float64) for key, rows in rows_by_bone.items()}
    return _FrameTable(
        [lines[i].words[0] for i in frame_starts], values, {key: line.number for key, line in first_frame.items()}
    )


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


def convert_to_q(path: Path, file: AsfFile, asf_skeleton: AsfSkeleton, motion: AmcMotion) -> Floats:
    """Convert a motion to configurations (frames, nq).

    FileError where the bones or their values are not those of the ASF file.
    """
    skeleton, angle_factor = (
        asf_skeleton.skeleton,
        file.angle_factor if motion.angle_factor is None else motion.angle_factor,
    )
    dofs_by_bone = {ROOT: file.root.order} | {bone.name.lower(): bone.dof for bone in asf_skeleton.bones}
    _check_bones(path, file, dofs_by_bone, motion)
    q = np.tile(skeleton.zero_q(), (motion.frame_count, 1))
    angles_by_order: dict[str, list[tuple[int, Floats]]] = {}
    for row, (key, dof) in enumerate(dofs_by_bone.items()):
        values, start = motion.values.get(key), int(skeleton.q_start[row])
        if values is None:
            continue
        rotation_order = find_rotation_order(dof)
        if row == 0:
            for axis, word in enumerate(TRANSLATION_DOFS):
                q[:, axis] = values[:, dof.index(word)] if word in dof else 0.0
            start += 3
        if skeleton.kinds[row] != Kind.FIXED:
            zeros = np.zeros(motion.frame_count)
            angles = [zeros if column < 0 else angle_factor * values[:, column] for column in rotation_order.columns]
            angles_by_order.setdefault(rotation_order.order, []).append((start, np.stack(angles, axis=-1)))
    for order, entries in angles_by_order.items():
        quaternion_starts = np.array([start for start, _ in entries])
        q[:, quaternion_starts[:, None] + np.arange(4)] = euler.to_quaternion(
            np.stack([a for _, a in entries], axis=1), order
        )
    return q


def _check_bones(path: Path, file: AsfFile, dofs_by_bone: dict[str, tuple[str, ...]], motion: AmcMotion) -> None:
    for key, values in motion.values.items():
        if key not in dofs_by_bone:
            fail(
                path,
                motion.line_numbers[key],
                f"bone {quote_excerpt(key)} is not in {file.path.name}; is that the right skeleton?",
            )
        width, dof = values.shape[1], dofs_by_bone[key]
        if width != len(dof):
            expected = f"{len(dof)} ({' '.join(dof)})" if dof else "none"
            fail(
                path,
                motion.line_numbers[key],
                f"bone {quote_excerpt(key)} has {width} values; {file.path.name} gives it {expected}",
            )


def describe_limit_violations(file: AsfFile, bones: tuple[AsfBone, ...], motion: AmcMotion) -> str:
    """Describe values outside the ASF file's limits. Empty where there are none."""
    angle_factor = file.angle_factor if motion.angle_factor is None else motion.angle_factor
    violation_count, value_count, excess_by_bone = 0, 0, dict[str, float]()
    for bone in bones:
        values = motion.values.get(bone.name.lower())
        if values is None:
            continue
        value_count += values.size
        for (low, high), word, column in zip(bone.limits, bone.dof, values.T, strict=False):
            bone_values = column * (angle_factor if word in ROTATION_DOFS else 1.0)
            excess = np.maximum(low - bone_values, bone_values - high)
            is_outside = excess > 1e-9 * max(1.0, float(np.abs(bone_values).max()))
            if is_outside.any():
                violation_count += int(is_outside.sum())
                excess_by_bone[bone.name] = max(excess_by_bone.get(bone.name, 0.0), math.degrees(float(excess.max())))
    if not violation_count:
        return ""
    names = join_names(
        f"{bone} by {excess_angle:.3g}"
        for bone, excess_angle in sorted(excess_by_bone.items(), key=lambda item: -item[1])
    )
    return (
        f"{violation_count:,} of {value_count:,} values ({100 * violation_count / value_count:.2g} %) lie outside "
        "of the limits in "
        f"{file.path.name} and were kept; solve() and bake() move such joints inside, at most [degrees]: {names}"
    )
