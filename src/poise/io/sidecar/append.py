"""Appending limits to a sidecar: existing lines and comments stay.

The standard library reads TOML but does not write it. Appended tables need no full TOML writer; parsing the text before
and after shows that nothing else changed. This avoids a dependency.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poise.errors import FileError
from poise.io.files import is_file, read_bytes
from poise.io.sidecar.write import quoted
from poise.model.limits import SwingTwist

_DIGITS = 6  # decimals of an axis; a direction error of 1e-6 is negligible for a limit


def sidecar_as_is(path: Path) -> str:
    """Read the text of a sidecar. It is empty where there is none; FileError for a file that is not TOML."""
    if not is_file(path):
        return ""
    try:
        text = read_bytes(path, may_be_empty=True).decode("utf-8")
        tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"not a TOML file: {error}") from error
    return text


def with_limits(path: Path, text: str, limits: Mapping[str, SwingTwist], why: Mapping[str, str], head: str) -> str:
    """Append tables of further joints to a sidecar's text, in degrees.

    limits    limits by joint name; a joint with a table in the text is refused
    comments  a comment for each limit
    heading   a comment above all

    FileError where the joints of the text cannot be extended, as in `joints = {...}`.
    """
    lines = [f"# {head}"]
    added: dict[str, Any] = {}
    for joint, limit in limits.items():
        rows = _rows(limit)
        added[joint] = rows
        keys = [f"{key} = {_listed(value)}" for key, value in rows.items()]
        lines += [f"# {why[joint]}", f"[joints.{quoted(joint)}]", *keys, ""]
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else end if text.endswith(("\n", "\r")) else 2 * end
    new = text + gap + end.join(lines)
    before = tomllib.loads(text)
    joints = before.get("joints", {})
    try:
        kept = tomllib.loads(new) == before | {"joints": {**joints, **added}} and not set(joints) & set(added)
    except (ValueError, TypeError):
        kept = False
    if not kept:
        message = "limits cannot be added: write its joints as tables of their own, such as [joints.Neck]"
        raise FileError(path, message, place="joints")
    return new


def _rows(limit: SwingTwist) -> dict[str, Any]:
    """Build the keys of a limit, angles in degrees."""
    axes = {"axis": limit.axis, "across": limit.swing_axes[0]}
    angles = {
        "swing_deg": [[_degrees(end) for end in side] for side in limit.sides],
        "twist_deg": [_degrees(end) for end in limit.twist],
    }
    return {name: [round(x, _DIGITS) + 0.0 for x in axis] for name, axis in axes.items()} | angles


def _degrees(angle: float) -> float:
    return round(math.degrees(angle), 4) + 0.0


def _listed(value: list[Any]) -> str:
    return f"[{', '.join(_listed(one) if isinstance(one, list) else repr(one) for one in value)}]"
