"""Sidecar writer: chains, limits and roles as `apply_sidecar` reads them.

Angles are in radians: every number is read back bit for bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from poise.errors import InputError
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.skeleton import Kind, Skeleton

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def sidecar_text(
    skeleton: Skeleton,
    joints: Iterable[str] | None = None,
    chains: Mapping[str, tuple[str, str]] | None = None,
    roles: Mapping[str, str] | None = None,
) -> str:
    """Format a sidecar with the limits, chains and roles of a skeleton.

    joints  names of joints with written limits; one without a limit is written as free. Default: all with a limit
    chains  name -> (root, tip); default: the skeleton's own
    roles   VRM 1.0 bone names -> joint names

    A joint is written by its own name, which takes precedence over a glob of the same text. InputError for a name that
    no text file can hold and for a chain whose root is not above its tip.
    """
    chosen = [name for name, limit in zip(skeleton.names, skeleton.limits, strict=True) if limit is not None]
    names = chosen if joints is None else list(dict.fromkeys(skeleton.names[skeleton.index(name)] for name in joints))
    lines: list[str] = []
    pairs = skeleton.chains if chains is None else chains
    for name, (root, tip) in pairs.items():
        skeleton.chain(root, tip)
        lines.append(f"{quoted(name)} = {{ root = {quoted(root, bare=False)}, tip = {quoted(tip, bare=False)} }}")
    text = _table("[chains]", lines)
    for name in names:
        row = skeleton.index(name)
        text += _table(f"[joints.{quoted(name)}]", limit_lines(skeleton.limits[row], Kind(int(skeleton.kinds[row]))))
    given = [f"{quoted(role)} = {quoted(joint, bare=False)}" for role, joint in (roles or {}).items()]
    return text + _table("[humanoid]", given)


def _table(head: str, lines: list[str]) -> str:
    return "\n".join([head, *lines, "", ""]) if lines else ""


def limit_lines(limit: Limit | None, kind: Kind) -> list[str]:
    """Format the keys of a joint's limit. Without a limit they are those of one without bounds."""
    if limit is None:
        if kind == Kind.FIXED:
            raise InputError("a fixed joint has no limit to write")
        limit = EulerBox("XYZ") if kind in (Kind.BALL, Kind.FREE) else Range(-math.inf, math.inf)
    lines = (
        _range(limit) if isinstance(limit, Range) else _cone(limit) if isinstance(limit, SwingTwist) else _box(limit)
    )
    return [*lines, f"soft = {_number(limit.soft)}"] if limit.soft else lines


def _range(limit: Range) -> list[str]:
    ends = f"range = {_numbers((limit.low, limit.high))}"
    return [ends] if limit.axis is None else [f"axis = {_numbers(limit.axis)}", ends]


def _cone(limit: SwingTwist) -> list[str]:
    sides = ", ".join(_numbers(side) for side in limit.sides)
    lines = [f"axis = {_numbers(limit.axis)}", f"swing = [{sides}]", f"twist = {_numbers(limit.twist)}"]
    return lines if limit.across is None else [*lines, f"across = {_numbers(limit.across)}"]


def _box(limit: EulerBox) -> list[str]:
    lines = [f'order = "{limit.order}"']
    for letter, (low, high) in (("x", limit.x), ("y", limit.y), ("z", limit.z)):
        if math.isfinite(low) or math.isfinite(high):
            lines.append(f"{letter} = {_numbers((low, high))}")
    return lines


def _numbers(values: Iterable[float]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def _number(value: float) -> str:
    """Format a float for TOML. repr is the shortest text that reads back as the same number."""
    return repr(float(value))


def quoted(name: str, *, bare: bool = True) -> str:
    """Quote a name as a TOML key. With bare=False it is a TOML string."""
    if bare and _BARE.fullmatch(name):
        return name
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"the name {name!a} holds half a character, which no text file can; rename it"
        raise InputError(message) from error
    letters = (_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 0x20 or ord(c) == 0x7F else c) for c in name)  # noqa: PLR2004
    return f'"{"".join(letters)}"'
