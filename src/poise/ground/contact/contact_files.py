"""Contacts in files: a table of the sidecar, or JSON.

Both can be edited by hand.

[contacts."walk"]                                    # the sidecar <rig>.ik.toml: a table for each clip
left = { heel = [[0.82, 1.41]], ball = [[0.95, 1.63]] }

{"left": {"heel": [[0.82, 1.41]], "ball": [[0.95, 1.63]]}}    a .json file: one clip

Intervals are [start, end] in seconds: the first and the last time at which the point stands.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from poise.calls.argument_checks import check_names, check_text, check_type
from poise.errors import FileError, PoiseError
from poise.ground.contact.contacts import Contacts, frame_times, table_of
from poise.io.files import as_path, is_file, read_bytes, write_atomically
from poise.io.text_parsing import parse_json
from poise.maths.arrays import Floats

_BARE = re.compile(r"[A-Za-z0-9_-]+")  # a TOML key that needs no quotes


def load_contacts(path: str | PathLike[str], clip: str, legs: Sequence[str], times: Floats) -> Contacts | None:
    """Load a clip's contacts from a .toml or .json file.

    `save_contacts` writes such a file.

    Parameters
    ----------
    path
        The file.
    clip
        Name of the clip.
    legs
        The legs that the contacts are for.
    times
        (F,) times of the clip [s].

    Returns
    -------
    Contacts or None
        None if a sidecar does not speak of this clip.

    Raises
    ------
    FileError
        Naming the file, the leg and the reason.
    """
    path, clip = as_path(path), check_text(clip, "the name of the clip")
    legs, times = check_names(legs, "the legs", "['left', 'right']"), frame_times(times)
    if _is_json(path):
        place, table = "", parse_json(path, _text(path))
    else:
        tables = _contacts(_toml(_text(path), path), path)
        if clip not in tables:
            return None
        place, table = f"contacts.{_key(clip)}", tables[clip]
    try:
        return Contacts.from_intervals(table, legs, times)
    except PoiseError as error:
        raise FileError(path, str(error), place=place) from error


def save_contacts(contacts: Contacts, path: str | PathLike[str], clip: str) -> None:
    """Save a clip's contacts to a .toml or .json file.

    Other lines of a sidecar stay as they are. `load_contacts` reads the file.

    Parameters
    ----------
    contacts
        The contacts.
    path
        The file. The sidecar's table of this clip is replaced, or appended if there is none.
    clip
        Name of the clip.

    Raises
    ------
    FileError
        For a sidecar that holds the contacts in another form than a table of its own; it is left alone.
    """
    path, clip = as_path(path), check_text(clip, "the name of the clip")
    check_type(contacts, Contacts, "the first argument of save_contacts()")
    rows = {
        leg: {point: [[round(t, 4) for t in pair] for pair in pairs] for point, pairs in points.items()}
        for leg, points in contacts.intervals().items()
    }
    if _is_json(path):
        lines = [f"  {json.dumps(leg)}: {json.dumps(points)}" for leg, points in rows.items()]
        write_atomically(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
        return
    old = _text(path) if is_file(path) else ""
    document = _toml(old, path)
    new = _with_table(old, clip, [f"{_key(leg)} = {_inline(points)}" for leg, points in rows.items()])
    document["contacts"] = {**_contacts(document, path), clip: rows}
    try:
        data, kept = new.encode(), tomllib.loads(new) == document
    except ValueError:
        data, kept = b"", False
    if not kept:
        message = "the sidecar holds contacts in another form: write them as a table of their own, or take them out"
        raise FileError(path, message, place=f"contacts.{_key(clip)}")
    write_atomically(path, data)


def write_contacts(path: str | PathLike[str], contacts: Contacts, clip: str) -> None:
    """Old form of `save_contacts`, with the path first. The package warns about it."""
    save_contacts(contacts, path, clip)


def _is_json(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in {".json", ".toml"}:
        raise FileError(
            path, f"contacts are kept in .toml (a sidecar) or .json files, not {suffix or 'without a suffix'}"
        )
    return suffix == ".json"


def _text(path: Path) -> str:
    try:
        return read_bytes(path, may_be_empty=True).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(path, f"not a text in UTF-8: {error}") from error


def _toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"not a TOML file: {error}") from error


def _contacts(document: dict[str, Any], path: Path) -> dict[str, Any]:
    try:
        return table_of(document.get("contacts", {}), "contacts")
    except PoiseError as error:
        raise FileError(path, str(error)) from error


def _with_table(text: str, clip: str, rows: list[str]) -> str:
    """Replace or append the table of a clip in a text."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    table = [f"[contacts.{_key(clip)}]", *rows]
    headers = [(number, header) for number, line in enumerate(lines) if (header := _header(line)) is not None]
    places = [i for i, (_, header) in enumerate(headers) if header[:2] == ["contacts", clip]]
    if not places:
        return end.join([*lines, *([""] if lines else []), *table, ""])
    first = headers[places[0]][0]
    last = headers[places[-1] + 1][0] if places[-1] + 1 < len(headers) else len(lines)
    while last > first + 1 and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1  # what stands above the next table belongs to it
    return end.join([*lines[:first], *table, *lines[last:], ""])


def _header(line: str) -> list[str] | None:
    """Parse the keys of a table's opening line [a.b."c"]. Returns None for any other line."""
    if not line.lstrip().startswith("["):
        return None
    try:
        table: Any = tomllib.loads(line)
    except ValueError:
        return None
    keys: list[str] = []
    while isinstance(table, dict) and len(table) == 1:
        key, table = next(iter(table.items()))
        keys.append(key)
    return keys


def _inline(points: dict[str, list[list[float]]]) -> str:
    return "{ " + ", ".join(f"{point} = {pairs}" for point, pairs in points.items()) + " }"


def _key(name: str) -> str:
    """Format a TOML key: bare or in quotes. The escapes in quotes are those of JSON, as in TOML."""
    if _BARE.fullmatch(name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
