"""Repair of small XML faults in URDF files.

Faults that other readers tolerate are replaced by blanks or `_`; every byte keeps its position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_DECLARATION = re.compile(rb"\s*(<\?xml\s[^<>]*\?>)")
_MARK = b"\xef\xbb\xbf"  # byte order mark of UTF-8
_NOT_NEWLINE = re.compile(rb"[^\r\n]")
_ROBOT = re.compile(rb"<(/?)robot(?=[\s/>])[^<>]*>")
_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)")
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f]")
_INSTEAD = b"_"  # replaces a character that XML does not allow; names keep their length


def repair_xml(data: bytes) -> tuple[bytes, list[str]]:
    """Replace tolerable faults by blanks or `_`.

    Return the bytes and a sentence for each kind of fault found. Faults are text before the first element, an XML
    declaration that does not begin the file, dashes within comments, a bare `&`, control characters, and content after
    the robot.
    """
    notes: list[str] = []
    first = len(_MARK) if data.startswith(_MARK) else 0
    begin = data.find(b"<", first)
    if begin > first and data[first:begin].strip():
        data = _blanked(data, first, begin)
        notes.append("the text before the first element is ignored")
    start, end = first, first
    while declaration := _DECLARATION.match(data, end):
        start = declaration.end() if declaration.start(1) == first else start  # a declaration at the beginning is valid
        end = declaration.end()
    if end > start:
        data = _blanked(data, start, end)
        notes.append("the XML declaration does not begin the file, and is ignored")
    data, count = _without_dashes(data)
    if count:
        notes.append(f"comments with two dashes in them, which XML does not allow, are ignored ({count})")
    for fault, what in ((_AMPERSAND, "a bare &"), (_CONTROL, "a control character")):
        data, count = fault.subn(_INSTEAD, data)
        if count:
            notes.append(f"XML does not allow {what}, which is read as _ ({count})")
    end = _end_of_robot(data)
    if end < len(data):
        data = _blanked(data, end, len(data))
        notes.append("the content after the end of <robot> is ignored")
    return data, notes


def _blanked(data: bytes, start: int, end: int) -> bytes:
    return data[:start] + _NOT_NEWLINE.sub(b" ", data[start:end]) + data[end:]


def _comments(data: bytes) -> Iterator[tuple[int, int]]:
    """Find the start and the end of each comment. The time is linear in the file size, also for unclosed comments."""
    end = 0
    while (start := data.find(b"<!--", end)) >= 0 and (close := data.find(b"-->", start + 4)) >= 0:
        end = close + 3
        yield start, end


def _without_dashes(data: bytes) -> tuple[bytes, int]:
    """Blank out comments with two dashes in them.

    Return the bytes and the number of these comments.
    """
    bad = [(a, b) for a, b in _comments(data) if b"--" in data[a + 4 : b - 3] or data[a + 4 : b - 3].endswith(b"-")]
    return _all_blanked(data, bad), len(bad)


def _all_blanked(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    parts: list[bytes] = []
    done = 0
    for start, end in spans:
        parts += [data[done:start], _NOT_NEWLINE.sub(b" ", data[start:end])]
        done = end
    return b"".join([*parts, data[done:]])


def _end_of_robot(data: bytes) -> int:
    """Find the byte after the first <robot>. It is the end of the file if only blanks and comments follow."""
    data = _all_blanked(data, list(_comments(data)))
    depth = 0
    for tag in _ROBOT.finditer(data):
        depth += -1 if tag[1] else not tag[0].endswith(b"/>")
        if depth <= 0:
            return tag.end() if data[tag.end() :].strip() else len(data)
    return len(data)
