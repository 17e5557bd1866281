"""Repair of small XML faults in URDF files.

Faults that other readers forgive are replaced by blanks, so that every byte keeps its position.
"""

from __future__ import annotations

import re

_DECLARATION = re.compile(rb"\s*(<\?xml\s[^<>]*\?>)")
_MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of a file
_NOT_NEWLINE = re.compile(rb"[^\r\n]")
_ROOT_END = b"</robot>"


def well_formed(data: bytes) -> tuple[bytes, list[str]]:
    """Replace forgivable faults by blanks.

    Return the bytes and a sentence for each kind of fault; no sentence where no fault was found.

    An XML declaration that does not begin the file, dashes within comments, and what follows the robot.
    """
    notes: list[str] = []
    first = len(_MARK) if data.startswith(_MARK) else 0
    start, end = first, first
    while declaration := _DECLARATION.match(data, end):
        start = declaration.end() if declaration.start(1) == first else start  # that one is where it must be
        end = declaration.end()
    if end > start:
        data = _blanked(data, start, end)
        notes.append("the XML declaration does not begin the file, and is ignored")
    data, count = _without_dashes(data)
    if count:
        notes.append(f"comments with two dashes in them, which XML does not allow, are passed over ({count})")
    end = data.rfind(_ROOT_END) + len(_ROOT_END)
    if end >= len(_ROOT_END) and _is_more(data[end:]):
        data = _blanked(data, end, len(data))
        notes.append("what follows the end of <robot> is ignored")
    return data, notes


def _blanked(data: bytes, start: int, end: int) -> bytes:
    return data[:start] + _NOT_NEWLINE.sub(b" ", data[start:end]) + data[end:]


def _without_dashes(data: bytes) -> tuple[bytes, int]:
    """Blank out comments with two dashes in them.

    Return the bytes and the number of these comments.
    """
    parts: list[bytes] = []
    done = count = 0
    while (start := data.find(b"<!--", done)) >= 0 and (end := data.find(b"-->", start + 4)) >= 0:
        inside = data[start + 4 : end]
        end += 3
        bad = b"--" in inside or inside.endswith(b"-")
        count += bad
        parts += [data[done:start], _NOT_NEWLINE.sub(b" ", data[start:end]) if bad else data[start:end]]
        done = end
    return b"".join([*parts, data[done:]]), count


def _is_more(rest: bytes) -> bool:
    """Return whether anything but blanks and comments remains.

    Comments are well formed by now.
    """
    return bool(re.sub(rb"<!--.*?-->", b"", rest, flags=re.DOTALL).strip())
