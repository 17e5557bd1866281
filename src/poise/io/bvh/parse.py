"""HIERARCHY block and motion header, scanned in one pass without recursion."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, NoReturn

from poise.errors import FileError
from poise.io.bvh.document import MOST_JOINTS, BvhJoint, Channels
from poise.io.files import guessed_kind
from poise.io.numbers import LONGEST_NAME, number, shown

_WORD = re.compile(rb"[{}]|[^\s{}]+")
_NAME = re.compile(rb"[^{}\r\n]*")
_FRAMES = re.compile(rb"\s*Frames\s*:\s*(\S+)", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"\s*Frame[ \t]*Time\s*:\s*(\S+)", re.IGNORECASE)
_AXES = ("X", "Y", "Z")
_MOST_CHANNELS = 6


class MotionHeader(NamedTuple):
    """Head of the MOTION block.

    Spans are positions in the bytes of the file.
    """

    frames: int
    count_span: tuple[int, int]
    frame_time: float
    time_span: tuple[int, int]


class Header(NamedTuple):
    """BVH file up to its motion rows.

    `motion` is None in a file without a MOTION block.
    """

    nodes: list[BvhJoint]
    width: int
    motion: MotionHeader | None


def parse_header(path: Path, data: bytes) -> Header:
    """Read everything up to the first motion row."""
    _refuse_other_kinds(path, data)
    scanner = Scanner(path, data)
    tree = _Hierarchy(scanner)
    if not tree.read():
        return Header(tree.nodes, tree.width, None)
    if scanner.is_at_end():
        return Header(tree.nodes, tree.width, None)
    count, count_span = scanner.field(_FRAMES, "'Frames: COUNT' after MOTION")
    if not re.fullmatch(r"\+?\d{1,18}", count, re.ASCII):
        scanner.fail(f"the number of frames must be a whole number, not {shown(count)}")
    time_text, time_span = scanner.field(_FRAME_TIME, "'Frame Time: SECONDS' after the number of frames")
    frame_time = scanner.value(time_text, "the frame time")
    return Header(tree.nodes, tree.width, MotionHeader(int(count), count_span, frame_time, time_span))


def _refuse_other_kinds(path: Path, data: bytes) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(path, "is UTF-16 text; a BVH file is plain text, so save it as UTF-8 or ASCII")
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start[:9].upper() == b"HIERARCHY":  # noqa: SIM201  (as in the format's rule)
        looks_like = guessed_kind(data)
        raise FileError(path, f"not a BVH file; this looks like {looks_like}" if looks_like else "not a BVH file")


class Scanner:
    """Word scanner over the bytes of a file; it knows its position."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        self.at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.word_at = self.at

    def word(self) -> str:
        """Read the next word or brace. It is empty at the end of the file."""
        match = _WORD.search(self.data, self.at)
        if not match:
            self.at = self.word_at = len(self.data)
            return ""
        self.word_at, self.at = match.span()
        return match.group().decode("latin-1")

    def is_at_end(self) -> bool:
        """Return whether only blanks are left."""
        return not self.data[self.at :].strip()

    def back(self) -> None:
        """Unread the last word."""
        self.at = self.word_at

    def name(self) -> str:
        """Read a name: the rest of the line up to a brace. Names may hold spaces, but not at their ends."""
        match = _NAME.match(self.data, self.at)
        raw = match.group() if match else b""
        self.word_at, self.at = self.at, self.at + len(raw)
        if b"\0" in raw:
            self.fail("a name holds a zero byte")
        if len(raw.strip()) > LONGEST_NAME:
            self.fail(f"a name has more than {LONGEST_NAME} characters")
        try:
            return raw.decode("utf-8").strip()
        except UnicodeDecodeError:
            return raw.decode("latin-1").strip()

    def field(self, pattern: re.Pattern[bytes], wanted: str) -> tuple[str, tuple[int, int]]:
        """Read a line of the motion header. Return its value and the value's span."""
        match = pattern.match(self.data, self.at)
        if not match:
            self.word()
            self.fail(f"expected {wanted}")
        self.word_at, self.at = match.span(1)
        return match.group(1).decode("latin-1"), match.span(1)

    def value(self, text: str, what: str) -> float:
        """Read a number or fail."""
        try:
            return number(text)
        except ValueError as error:
            self.fail(f"{what}: {error}")

    def fail(self, reason: str) -> NoReturn:
        """Raise a FileError at the last word."""
        if self.word_at >= len(self.data):
            reason += "; the file ends here"
        raise FileError(self.path, reason, place=f"line {line_at(self.data, self.word_at)}")


def line_at(data: bytes, at: int) -> int:
    """Find the line number, from 1, of a byte. Lines end with LF, or with CR where there is no LF."""
    return data.count(b"\n" if b"\n" in data else b"\r", 0, at) + 1


class _Hierarchy:
    """Parser of the joint tree. `open_joints` holds the joints whose brace is not closed yet."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.nodes: list[BvhJoint] = []
        self.width = 0
        self.open: list[_Open] = []

    def read(self) -> bool:
        """Read the hierarchy up to MOTION or the end of the file.

        Return whether MOTION follows.
        """
        self.scanner.word()
        while (word := self.scanner.word().upper()) != "MOTION" or self.open:
            if not self.open:
                if not word and self.nodes:
                    return False
                if word != "ROOT":
                    self.scanner.fail(f"expected {'ROOT or MOTION' if self.nodes else 'ROOT'}, not {shown(word)}")
                self._begin(word)
            else:
                self._statement(word)
        if not self.nodes:
            self.scanner.fail("the hierarchy has no ROOT")
        return True

    def _statement(self, word: str) -> None:
        """Parse one statement inside the braces of a joint."""
        top = self.open[-1]
        if word in ("JOINT", "END"):
            if top.is_end:
                self.scanner.fail(f"an End Site cannot hold another joint ({word})")
            self._begin(word)
        elif word == "OFFSET" and top.offset is None:
            top.offset = self._offset(top.name)
        elif word == "CHANNELS" and top.channels is None and not top.is_end:
            top.channels = self._channels(top.name)
        elif word == "}":
            self._close()
        elif word in ("OFFSET", "CHANNELS"):
            why = "an End Site has no channels" if top.is_end and word == "CHANNELS" else f"a second {word}"
            self.scanner.fail(f"joint {shown(top.name)}: {why}")
        elif word in ("", "MOTION", "ROOT"):
            self.scanner.fail(f"joint {shown(top.name)} is not closed: a '}}' is missing")
        else:
            self.scanner.fail(f"joint {shown(top.name)}: unknown word {shown(word)}")

    def _begin(self, word: str) -> None:
        if len(self.nodes) >= MOST_JOINTS:
            self.scanner.fail(f"more than {MOST_JOINTS} joints")
        name = self.scanner.name()
        if self.scanner.word() != "{":
            self.scanner.fail(f"expected '{{' after {word} {shown(name)}")
        is_end = word == "END"
        parent = self.open[-1].row if self.open else -1
        self.open.append(_Open(len(self.nodes), f"{self.open[-1].name} End Site" if is_end else name, is_end=is_end))
        self.nodes.append(BvhJoint(name, parent, (0.0, 0.0, 0.0), Channels(), is_end))

    def _close(self) -> None:
        done = self.open.pop()
        if done.offset is None:
            self.scanner.fail(f"joint {shown(done.name)} has no OFFSET")
        node = self.nodes[done.row]
        self.nodes[done.row] = BvhJoint(node.name, node.parent, done.offset, done.channels or Channels(), done.is_end)

    def _offset(self, name: str) -> tuple[float, float, float]:
        what = f"the OFFSET of {shown(name)}"
        x, y, z = (self.scanner.value(self.scanner.word(), what) for _ in range(3))
        return x, y, z

    def _channels(self, name: str) -> Channels:
        text = self.scanner.word()
        if not re.fullmatch(r"\d", text, re.ASCII) or int(text) > _MOST_CHANNELS:
            self.scanner.fail(f"joint {shown(name)}: a joint has 0 to 6 channels, not {shown(text)}")
        channels = Channels()
        for _ in range(int(text)):
            word = self.scanner.word()
            columns = _columns(channels, word)
            if columns is None:
                self.scanner.fail(f"joint {shown(name)} says {text} channels, but {shown(word)} is not a channel")
            if word[0].upper() in columns:
                self.scanner.fail(f"joint {shown(name)} has the channel {shown(word)} twice")
            columns[word[0].upper()] = self.width
            self.width += 1
        if _columns(channels, self.scanner.word()) is not None:
            self.scanner.fail(f"joint {shown(name)} says {text} channels and lists more")
        self.scanner.back()
        return channels


class _Open:
    """Joint before its closing brace."""

    def __init__(self, row: int, name: str, *, is_end: bool) -> None:
        self.row = row
        self.name = name
        self.is_end = is_end
        self.offset: tuple[float, float, float] | None = None
        self.channels: Channels | None = None


def _columns(channels: Channels, word: str) -> dict[str, int] | None:
    """Find the columns for a channel such as "Xposition" or "zROTATION". None for any other word."""
    axis, what = word[:1].upper(), word[1:].lower()
    if axis not in _AXES:
        return None
    return {"position": channels.positions, "rotation": channels.rotations}.get(what)
