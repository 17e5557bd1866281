"""Sidecar `<rig>.ik.toml`: chains, limits, closed loops and roles of a rig.

The file formats of most rigs have no place for them.

[chains]
left_arm = { root = "LeftArm", tip = "LeftHand" }

[joints."*ForeArm"]            # a joint name or a glob
axis = [0, 0, 1]               # ball joints only: makes the joint a hinge about this axis of its rest frame
range_deg = [0, 150]           # or range = [0, 2.6] in radians (hinge) or file units (slide)

[joints.LeftArm]               # a ball joint with swing cone and twist: poise.SwingTwist
axis = [1, 0, 0]
swing_deg = [45, 30]           # one half-angle, two, or two sides each: [[-20, 45], [-30, 30]]; or swing in radians
twist_deg = [-20, 20]          # or twist; without it the twist is free
across = [0, 1, 0]             # the first swing axis, if the swing is not a circle

[joints.Neck]                  # a ball with a range for each angle: poise.EulerBox
order = "ZXY"
x_deg = [-40, 50]              # and y_deg, z_deg; or x, y, z in radians; a missing one is free
soft = 0.5                     # any limit may be soft: the weight of its cost

[loops.rod]                    # a closed loop: poise.Loop
a = "Coupler"                  # the two joints
b = "Rocker"
point_a = [0.4, 0, 0]          # the points held together, in the frames of the joints [file units]; left out: the joint
point_b = [0, 0, 0.2]
rotation = [1, 0, 0, 0]        # w x y z of b in a; left out: only the points are held

[humanoid]                     # VRM 1.0 bone names: roles of joints, in place of those found by poise.find_roles
hips = "Bip01"

[contacts."walk"]              # foot contacts of the clip "walk" [s]: poise.ground.contact.contact_files
left = { heel = [[0.82, 1.41]], ball = [[0.95, 1.63]] }
"""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from poise.errors import FileError, InputError, PoiseError, UnknownNameError
from poise.io.files import is_file, read_bytes
from poise.io.text_parsing import quote_excerpt
from poise.model.limits import EulerBox, Limit, Range, SwingTwist, unit_axis
from poise.model.loops import Loop
from poise.model.roles.bone_names import BONES
from poise.model.skeleton import Kind, Skeleton

_KNOWN_TABLES = ("chains", "contacts", "humanoid", "joints", "loops")
_RANGE_KEYS = ("axis", "range", "range_deg", "soft")
_CONE_KEYS = ("axis", "swing", "swing_deg", "twist", "twist_deg", "across", "soft")
_LOOP_KEYS = ("a", "b", "point_a", "point_b", "rotation", "holds", "axis")
_BOX_KEYS = ("order", "x", "x_deg", "y", "y_deg", "z", "z_deg", "soft")


def apply_sidecar(skeleton: Skeleton, path: Path) -> Skeleton:
    """Apply chains, limits and loops of a sidecar. FileError names file, place and reason."""
    document = _parse_toml(path)
    unknown_tables = set(document) - set(_KNOWN_TABLES)
    if unknown_tables:
        raise FileError(path, f"unknown table {min(unknown_tables)!r}; known: {', '.join(_KNOWN_TABLES)}")
    for pattern, table in _list_tables(document, "joints", path):
        place = f"joints.{pattern!r}"
        try:
            skeleton = skeleton.with_limits({pattern: _parse_limit(table, place, path)})
        except FileError:
            raise
        except PoiseError as error:
            raise FileError(path, str(error), place=place) from error
    chains = dict(skeleton.chains)
    for name, table in _list_tables(document, "chains", path):
        chains[name] = _parse_chain(skeleton, name, table, path)
    return dataclasses.replace(_apply_loops(skeleton, document, path), chains=chains)


def _apply_loops(skeleton: Skeleton, document: dict[str, Any], path: Path) -> Skeleton:
    """Apply the loops of a sidecar. One with the name of a loop of the file replaces it."""
    for name, table in _list_tables(document, "loops", path):
        place = f"loops.{name!r}"
        unknown_keys = set(table) - set(_LOOP_KEYS)
        if unknown_keys or not {"a", "b"}.issubset(table):
            reason = f"unknown key {min(unknown_keys)!r}" if unknown_keys else "a loop needs the joints a and b"
            raise FileError(path, f"{reason}; known: {', '.join(_LOOP_KEYS)}", place=place)
        try:
            loops = {loop.name: loop for loop in skeleton.loops} | {name: Loop(**table, name=name)}
            skeleton = skeleton.with_loops(loops.values())
        except PoiseError as error:
            raise FileError(path, str(error), place=place) from error
    return skeleton


def read_roles(skeleton: Skeleton, path: Path) -> dict[str, str]:
    """Read the table `humanoid` of a sidecar.

    It maps VRM 1.0 bone names to joint names; FileError names file, place and reason.
    """
    table = _parse_toml(path).get("humanoid", {})
    if not isinstance(table, dict):
        raise FileError(path, "must be a table", place="humanoid")
    roles: dict[str, str] = {}
    for role, joint in cast("dict[str, Any]", table).items():
        try:
            roles[_check_role(role)] = skeleton.names[skeleton.index(joint)]
        except PoiseError as error:
            raise FileError(path, str(error), place=f"humanoid.{role!r}") from error
    for joint in set(roles.values()):
        duplicates = [role for role, other_joint in roles.items() if other_joint == joint]
        if len(duplicates) > 1:
            raise FileError(
                path, f"{joint!r} is given to {' and '.join(duplicates)}; a joint has one role", place="humanoid"
            )
    return roles


def _check_role(name: str) -> str:
    if name not in BONES:
        raise UnknownNameError("role", name, BONES)
    return name


def _parse_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bytes(path, may_be_empty=True).decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of thousands of digits
        raise FileError(path, f"not a TOML file: {error}") from error


def _list_tables(document: dict[str, Any], key: str, path: Path) -> list[tuple[str, dict[str, Any]]]:
    tables = document.get(key, {})
    if not isinstance(tables, dict):
        raise FileError(path, "must be a table", place=key)
    typed_tables = cast("dict[str, Any]", tables)
    for name, table in typed_tables.items():
        if not isinstance(table, dict):
            raise FileError(path, "must be a table", place=f"{key}.{name!r}")
    return list(typed_tables.items())


def _parse_limit(table: dict[str, Any], place: str, path: Path) -> Limit:
    if "order" in table:
        allowed_keys, parse = _BOX_KEYS, _parse_box
    elif {"swing", "swing_deg", "twist", "twist_deg", "across"}.intersection(table):
        allowed_keys, parse = _CONE_KEYS, _parse_cone
    else:
        allowed_keys, parse = _RANGE_KEYS, _parse_range
    unknown_keys = set(table) - set(allowed_keys)
    if unknown_keys:
        known_keys = dict.fromkeys((*_RANGE_KEYS, *_CONE_KEYS, *_BOX_KEYS))
        if unknown_keys <= set(known_keys):
            present_keys = ", ".join(repr(key) for key in table if key in allowed_keys)
            raise FileError(path, f"{min(unknown_keys)!r} does not go with {present_keys}", place=place)
        raise FileError(path, f"unknown key {min(unknown_keys)!r}; known: {', '.join(known_keys)}", place=place)
    for key in allowed_keys:
        if key in table and f"{key}_deg" in table:
            raise FileError(path, f"give {key} or {key}_deg, not both", place=place)
    return parse(table, place, path)


def _parse_box(table: dict[str, Any], place: str, path: Path) -> EulerBox:
    rule = "the range of an angle is two numbers [low, high]"
    ranges: dict[str, Any] = {}
    for letter in "xyz":
        keys = [key for key in (letter, f"{letter}_deg") if key in table]
        for key in keys:
            ends = _parse_numbers(table[key], 2, rule, place, path)
            ranges[letter] = tuple(map(math.radians, ends)) if key.endswith("_deg") else tuple(ends)
    return EulerBox(table["order"], **ranges, source="sidecar", soft=table.get("soft", 0.0))


def _parse_cone(table: dict[str, Any], place: str, path: Path) -> SwingTwist:
    axis_rule = "an axis is three numbers [x, y, z]"
    if "axis" not in table:
        raise FileError(path, "a swing and twist needs the axis of the twist: axis = [x, y, z]", place=place)
    axis, across = (
        unit_axis(_parse_numbers(table[key], 3, axis_rule, place, path)) if key in table else None
        for key in ("axis", "across")
    )
    swing = _convert_nested(table["swing_deg"], math.radians) if "swing_deg" in table else table.get("swing", math.pi)
    twist = (-math.inf, math.inf)
    for key in ("twist", "twist_deg"):
        if key in table:
            low, high = _parse_numbers(table[key], 2, "a twist is two numbers [low, high]", place, path)
            twist = (math.radians(low), math.radians(high)) if key == "twist_deg" else (low, high)
    return SwingTwist(cast("Any", axis), swing, twist, across, "sidecar", table.get("soft", 0.0))


def _convert_nested(value: Any, convert: Callable[[float], float]) -> Any:
    """Convert the numbers in nested lists. Other values stay, to be refused by the limit itself."""
    if isinstance(value, list):
        return [_convert_nested(item, convert) for item in cast("list[Any]", value)]
    try:
        return convert(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    except OverflowError:  # an integer of hundreds of digits
        return value


def _parse_range(table: dict[str, Any], place: str, path: Path) -> Range:
    ends = table.get("range", table.get("range_deg", [-math.inf, math.inf]))
    low, high = _parse_numbers(ends, 2, "a range is two numbers [low, high]", place, path)
    axis = None
    if "axis" in table:
        axis = unit_axis(_parse_numbers(table["axis"], 3, "an axis is three numbers [x, y, z]", place, path))
    if "range_deg" in table:
        return Range.degrees(low, high, axis, "sidecar", table.get("soft", 0.0))
    return Range(low, high, axis, "sidecar", table.get("soft", 0.0))


def _parse_numbers(value: Any, count: int, rule: str, place: str, path: Path) -> list[float]:
    numbers: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    if len(numbers) != count or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
        raise FileError(path, f"{rule}, not {quote_excerpt(str(value))}", place=place)
    try:
        return [float(n) for n in numbers]
    except OverflowError as error:
        raise FileError(path, f"{rule}; one here is too large", place=place) from error


def _parse_chain(skeleton: Skeleton, name: str, table: dict[str, Any], path: Path) -> tuple[str, str]:
    place = f"chains.{name!r}"
    root, tip = table.get("root"), table.get("tip")
    if not (isinstance(root, str) and isinstance(tip, str)) or set(table) != {"root", "tip"}:
        raise FileError(path, "a chain is { root = NAME, tip = NAME }", place=place)
    try:
        skeleton.chain(root, tip)
    except PoiseError as error:
        raise FileError(path, str(error), place=place) from error
    return root, tip


# --- Sidecar writer: chains, limits and roles as `apply_sidecar` reads them ------------------------------------------
#
# Angles are in radians: every number is read back bit for bit.


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def format_sidecar(
    skeleton: Skeleton,
    joints: Iterable[str] | None = None,
    chains: Mapping[str, tuple[str, str]] | None = None,
    roles: Mapping[str, str] | None = None,
) -> str:
    """Format a sidecar with limits, chains, loops and roles.

    joints  names of joints with written limits; one without a limit is written as free. Default: all with a limit
    chains  name -> (root, tip); default: the skeleton's own
    roles   VRM 1.0 bone names -> joint names

    A joint is written by its own name, which takes precedence over a glob of the same text. InputError for a name that
    no text file can hold and for a chain whose root is not above its tip.
    """
    limited_names = [name for name, limit in zip(skeleton.names, skeleton.limits, strict=True) if limit is not None]
    names = (
        limited_names
        if joints is None
        else list(dict.fromkeys(skeleton.names[skeleton.index(name)] for name in joints))
    )
    lines: list[str] = []
    chain_ends = skeleton.chains if chains is None else chains
    for name, (root, tip) in chain_ends.items():
        skeleton.chain(root, tip)
        lines.append(
            f"{quote_key(name)} = "
            f"{{ root = {quote_key(root, allows_bare=False)}, tip = {quote_key(tip, allows_bare=False)} }}"
        )
    text = _format_table("[chains]", lines)
    for name in names:
        joint_index = skeleton.index(name)
        text += _format_table(
            f"[joints.{quote_key(name)}]",
            format_limit_lines(skeleton.limits[joint_index], Kind(int(skeleton.kinds[joint_index]))),
        )
    for loop in skeleton.loops:
        text += _format_table(f"[loops.{quote_key(loop.name)}]", _format_loop_lines(loop))
    role_lines = [f"{quote_key(role)} = {quote_key(joint, allows_bare=False)}" for role, joint in (roles or {}).items()]
    return text + _format_table("[humanoid]", role_lines)


def _format_loop_lines(loop: Loop) -> list[str]:
    """Format the keys of a loop. Those with the default value are left out."""
    lines = [f"{key} = {quote_key(joint, allows_bare=False)}" for key, joint in zip("ab", loop.joints, strict=True)]
    plain = Loop(loop.a, loop.b, rotation=loop.rotation)
    for key in ("point_a", "point_b", "rotation", "axis"):
        values = getattr(loop, key)
        if values is not None and (key == "rotation" or values != getattr(plain, key)):
            lines.append(f"{key} = {_format_numbers(values)}")
    return lines if loop.holds == plain.holds else [*lines, f"holds = {list(loop.holds)}"]


def _format_table(heading: str, lines: list[str]) -> str:
    return "\n".join([heading, *lines, "", ""]) if lines else ""


def format_limit_lines(limit: Limit | None, kind: Kind) -> list[str]:
    """Format the keys of a joint's limit. Without a limit they are those of one without bounds."""
    if limit is None:
        if kind == Kind.FIXED:
            raise InputError("a fixed joint has no limit to write")
        limit = EulerBox("XYZ") if kind in (Kind.BALL, Kind.FREE) else Range(-math.inf, math.inf)
    lines = (
        _format_range(limit)
        if isinstance(limit, Range)
        else _format_cone(limit)
        if isinstance(limit, SwingTwist)
        else _format_box(limit)
    )
    return [*lines, f"soft = {_format_number(limit.soft)}"] if limit.soft else lines


def _format_range(limit: Range) -> list[str]:
    range_line = f"range = {_format_numbers((limit.low, limit.high))}"
    return [range_line] if limit.axis is None else [f"axis = {_format_numbers(limit.axis)}", range_line]


def _format_cone(limit: SwingTwist) -> list[str]:
    sides = ", ".join(_format_numbers(side) for side in limit.sides)
    lines = [f"axis = {_format_numbers(limit.axis)}", f"swing = [{sides}]", f"twist = {_format_numbers(limit.twist)}"]
    return lines if limit.across is None else [*lines, f"across = {_format_numbers(limit.across)}"]


def _format_box(limit: EulerBox) -> list[str]:
    lines = [f'order = "{limit.order}"']
    for letter, (low, high) in (("x", limit.x), ("y", limit.y), ("z", limit.z)):
        if math.isfinite(low) or math.isfinite(high):
            lines.append(f"{letter} = {_format_numbers((low, high))}")
    return lines


def _format_numbers(values: Iterable[float]) -> str:
    return f"[{', '.join(map(_format_number, values))}]"


def _format_number(value: float) -> str:
    """Format a float for TOML. repr is the shortest text that reads back as the same number."""
    return repr(float(value))


def quote_key(name: str, *, allows_bare: bool = True) -> str:
    """Quote a name as a TOML key. With allows_bare=False it is a TOML string."""
    if allows_bare and _BARE_KEY.fullmatch(name):
        return name
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"the name {name!a} holds half a character, which no text file can; rename it"
        raise InputError(message) from error
    escaped_letters = (_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 0x20 or ord(c) == 0x7F else c) for c in name)  # noqa: PLR2004
    return f'"{"".join(escaped_letters)}"'


# --- Appending limits to a sidecar: existing lines and comments stay -------------------------------------------------
#
# The standard library reads TOML but does not write it. Appended tables need no full TOML writer; parsing the text
# before and after shows that nothing else changed. This avoids a dependency.


_AXIS_DECIMALS = 6  # decimals of an axis; a direction error of 1e-6 is negligible for a limit


def read_sidecar_text(path: Path) -> str:
    """Read the text of a sidecar. It is empty where there is none; FileError for a file that is not TOML."""
    if not is_file(path):
        return ""
    try:
        text = read_bytes(path, may_be_empty=True).decode("utf-8")
        tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"not a TOML file: {error}") from error
    return text


def append_limits(
    path: Path, text: str, limits: Mapping[str, SwingTwist | Range], comments: Mapping[str, str], heading: str
) -> str:
    """Append tables of further joints to a sidecar's text, in degrees.

    limits    limits by joint name; a joint with a table in the text is refused
    comments  a comment for each limit
    heading   a comment above all

    FileError where the joints of the text cannot be extended, as in `joints = {...}`.
    """
    lines = [f"# {heading}"]
    added_tables: dict[str, Any] = {}
    for joint, limit in limits.items():
        limit_keys = _build_limit_keys(limit)
        added_tables[joint] = limit_keys
        key_lines = [f"{key} = {_format_list(value)}" for key, value in limit_keys.items()]
        lines += [f"# {comments[joint]}", f"[joints.{quote_key(joint)}]", *key_lines, ""]
    line_end = "\r\n" if "\r\n" in text else "\n"
    separator = "" if not text else line_end if text.endswith(("\n", "\r")) else 2 * line_end
    new_text = text + separator + line_end.join(lines)
    old_document = tomllib.loads(text)
    old_tables = old_document.get("joints", {})
    try:
        is_preserved = tomllib.loads(new_text) == old_document | {"joints": {**old_tables, **added_tables}} and not set(
            old_tables
        ) & set(added_tables)
    except (ValueError, TypeError):
        is_preserved = False
    if not is_preserved:
        message = "limits cannot be added: write its joints as tables of their own, such as [joints.Neck]"
        raise FileError(path, message, place="joints")
    return new_text


def _build_limit_keys(limit: SwingTwist | Range) -> dict[str, Any]:
    """Build the keys of a limit with an axis, angles in degrees."""
    axes: dict[str, Any] = {"axis": limit.axis}
    if isinstance(limit, Range):
        angles: dict[str, Any] = {"range_deg": [_round_degrees(limit.low), _round_degrees(limit.high)]}
    else:
        axes["across"] = limit.swing_axes[0]
        angles = {
            "swing_deg": [[_round_degrees(end) for end in side] for side in limit.sides],
            "twist_deg": [_round_degrees(end) for end in limit.twist],
        }
    return {name: [round(x, _AXIS_DECIMALS) + 0.0 for x in axis] for name, axis in axes.items()} | angles


def _round_degrees(angle: float) -> float:
    return round(math.degrees(angle), 4) + 0.0


def _format_list(value: list[Any]) -> str:
    return f"[{', '.join(_format_list(item) if isinstance(item, list) else repr(item) for item in value)}]"
