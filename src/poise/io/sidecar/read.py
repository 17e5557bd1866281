"""Sidecar `<rig>.ik.toml`: chains, limits and roles of a rig. It is for rigs whose files cannot hold them.

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

[humanoid]                     # VRM 1.0 bone names: roles of joints, in place of those found by poise.humanoid
hips = "Bip01"

[contacts."walk"]              # foot contacts of the clip "walk" [s]: poise.ground.contact_files
left = { heel = [[0.82, 1.41]], ball = [[0.95, 1.63]] }
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from poise.errors import FileError, PoiseError, UnknownNameError
from poise.io.files import read_bytes
from poise.io.numbers import shown
from poise.model.limits import EulerBox, Limit, Range, SwingTwist, unit_axis
from poise.model.roles.vrm import BONES
from poise.model.skeleton import Skeleton

_TABLES = ("chains", "contacts", "humanoid", "joints")
_RANGE_KEYS = ("axis", "range", "range_deg", "soft")
_CONE_KEYS = ("axis", "swing", "swing_deg", "twist", "twist_deg", "across", "soft")
_BOX_KEYS = ("order", "x", "x_deg", "y", "y_deg", "z", "z_deg", "soft")


def apply_sidecar(skeleton: Skeleton, path: Path) -> Skeleton:
    """Apply the chains and limits of a sidecar to a skeleton. FileError names file, place and reason."""
    document = _parse(path)
    unknown = set(document) - set(_TABLES)
    if unknown:
        raise FileError(path, f"unknown table {min(unknown)!r}; known: {', '.join(_TABLES)}")
    for pattern, table in _tables(document, "joints", path):
        place = f"joints.{pattern!r}"
        try:
            skeleton = skeleton.limited({pattern: _limit(table, place, path)})
        except FileError:
            raise
        except PoiseError as error:
            raise FileError(path, str(error), place=place) from error
    chains = dict(skeleton.chains)
    for name, table in _tables(document, "chains", path):
        chains[name] = _chain(skeleton, name, table, path)
    return dataclasses.replace(skeleton, chains=chains)


def roles_in(skeleton: Skeleton, path: Path) -> dict[str, str]:
    """Read the table `humanoid` of a sidecar.

    It maps VRM 1.0 bone names to joint names; FileError names file, place and reason.
    """
    table = _parse(path).get("humanoid", {})
    if not isinstance(table, dict):
        raise FileError(path, "must be a table", place="humanoid")
    roles: dict[str, str] = {}
    for role, joint in cast("dict[str, Any]", table).items():
        try:
            roles[_role(role)] = skeleton.names[skeleton.index(joint)]
        except PoiseError as error:
            raise FileError(path, str(error), place=f"humanoid.{role!r}") from error
    for joint in set(roles.values()):
        twice = [role for role, other in roles.items() if other == joint]
        if len(twice) > 1:
            raise FileError(
                path, f"{joint!r} is given to {' and '.join(twice)}; a joint has one role", place="humanoid"
            )
    return roles


def _role(name: str) -> str:
    if name not in BONES:
        raise UnknownNameError("role", name, BONES)
    return name


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bytes(path, may_be_empty=True).decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of thousands of digits
        raise FileError(path, f"not a TOML file: {error}") from error


def _tables(document: dict[str, Any], key: str, path: Path) -> list[tuple[str, dict[str, Any]]]:
    tables = document.get(key, {})
    if not isinstance(tables, dict):
        raise FileError(path, "must be a table", place=key)
    rows = cast("dict[str, Any]", tables)
    for name, table in rows.items():
        if not isinstance(table, dict):
            raise FileError(path, "must be a table", place=f"{key}.{name!r}")
    return list(rows.items())


def _limit(table: dict[str, Any], place: str, path: Path) -> Limit:
    if "order" in table:
        keys, make = _BOX_KEYS, _box
    elif {"swing", "swing_deg", "twist", "twist_deg", "across"}.intersection(table):
        keys, make = _CONE_KEYS, _cone
    else:
        keys, make = _RANGE_KEYS, _range
    unknown = set(table) - set(keys)
    if unknown:
        known = dict.fromkeys((*_RANGE_KEYS, *_CONE_KEYS, *_BOX_KEYS))
        if unknown <= set(known):
            given = ", ".join(repr(key) for key in table if key in keys)
            raise FileError(path, f"{min(unknown)!r} does not go with {given}", place=place)
        raise FileError(path, f"unknown key {min(unknown)!r}; known: {', '.join(known)}", place=place)
    for key in keys:
        if key in table and f"{key}_deg" in table:
            raise FileError(path, f"give {key} or {key}_deg, not both", place=place)
    return make(table, place, path)


def _box(table: dict[str, Any], place: str, path: Path) -> EulerBox:
    rule = "the range of an angle is two numbers [low, high]"
    ranges: dict[str, Any] = {}
    for letter in "xyz":
        given = [key for key in (letter, f"{letter}_deg") if key in table]
        for key in given:
            ends = _numbers(table[key], 2, rule, place, path)
            ranges[letter] = tuple(map(math.radians, ends)) if key.endswith("_deg") else tuple(ends)
    return EulerBox(table["order"], **ranges, source="sidecar", soft=table.get("soft", 0.0))


def _cone(table: dict[str, Any], place: str, path: Path) -> SwingTwist:
    three = "an axis is three numbers [x, y, z]"
    if "axis" not in table:
        raise FileError(path, "a swing and twist needs the axis of the twist: axis = [x, y, z]", place=place)
    axis, across = (
        unit_axis(_numbers(table[key], 3, three, place, path)) if key in table else None for key in ("axis", "across")
    )
    swing = _nested(table["swing_deg"], math.radians) if "swing_deg" in table else table.get("swing", math.pi)
    twist = (-math.inf, math.inf)
    for key in ("twist", "twist_deg"):
        if key in table:
            low, high = _numbers(table[key], 2, "a twist is two numbers [low, high]", place, path)
            twist = (math.radians(low), math.radians(high)) if key == "twist_deg" else (low, high)
    return SwingTwist(cast("Any", axis), swing, twist, across, "sidecar", table.get("soft", 0.0))


def _nested(value: Any, convert: Callable[[float], float]) -> Any:
    """Convert the numbers in nested lists. Other values stay, to be refused by the limit itself."""
    if isinstance(value, list):
        return [_nested(each, convert) for each in cast("list[Any]", value)]
    try:
        return convert(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    except OverflowError:  # an integer of hundreds of digits
        return value


def _range(table: dict[str, Any], place: str, path: Path) -> Range:
    ends = table.get("range", table.get("range_deg", [-math.inf, math.inf]))
    low, high = _numbers(ends, 2, "a range is two numbers [low, high]", place, path)
    axis = None
    if "axis" in table:
        axis = unit_axis(_numbers(table["axis"], 3, "an axis is three numbers [x, y, z]", place, path))
    if "range_deg" in table:
        return Range.degrees(low, high, axis, "sidecar", table.get("soft", 0.0))
    return Range(low, high, axis, "sidecar", table.get("soft", 0.0))


def _numbers(value: Any, count: int, rule: str, place: str, path: Path) -> list[float]:
    numbers: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    if len(numbers) != count or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
        raise FileError(path, f"{rule}, not {shown(str(value))}", place=place)
    try:
        return [float(n) for n in numbers]
    except OverflowError as error:
        raise FileError(path, f"{rule}; one here is too large", place=place) from error


def _chain(skeleton: Skeleton, name: str, table: dict[str, Any], path: Path) -> tuple[str, str]:
    place = f"chains.{name!r}"
    root, tip = table.get("root"), table.get("tip")
    if not (isinstance(root, str) and isinstance(tip, str)) or set(table) != {"root", "tip"}:
        raise FileError(path, "a chain is { root = NAME, tip = NAME }", place=place)
    try:
        skeleton.chain(root, tip)
    except PoiseError as error:
        raise FileError(path, str(error), place=place) from error
    return root, tip
