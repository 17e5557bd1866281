"""The sidecar `<rig>.ik.toml`: chains, hinge axes and ranges for rigs whose files cannot hold them.

[chains]
left_arm = { root = "LeftArm", tip = "LeftHand" }

[joints."*ForeArm"]            # a joint name or a glob
axis = [0, 0, 1]               # ball joints only: makes the joint a hinge about this axis of its rest frame
range_deg = [0, 150]           # or range = [0, 2.6] in radians (hinge) or file units (slide)
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from poise.errors import FileError, PoiseError
from poise.io._files import read_bytes
from poise.io._numbers import shown
from poise.limits import Range, unit_axis

if TYPE_CHECKING:
    from poise.skeleton import Skeleton

_JOINT_KEYS = ("axis", "range", "range_deg")


def sidecar_of(path: Path) -> Path:
    """Where the sidecar of a rig file is: beside it, its suffix replaced by .ik.toml."""
    return path.with_suffix(".ik.toml")


def apply_sidecar(skeleton: Skeleton, path: Path) -> Skeleton:
    """Return the skeleton with the chains and limits of a sidecar file; FileError names file, place and reason."""
    document = _parse(path)
    unknown = set(document) - {"chains", "joints"}
    if unknown:
        raise FileError(path, f"unknown table {min(unknown)!r}; known: chains, joints")
    for pattern, table in _tables(document, "joints", path):
        place = f"joints.{pattern!r}"
        try:
            skeleton = skeleton.limited({pattern: _range(table, place, path)})
        except FileError:
            raise
        except PoiseError as error:
            raise FileError(path, str(error), place=place) from error
    chains = dict(skeleton.chains)
    for name, table in _tables(document, "chains", path):
        chains[name] = _chain(skeleton, name, table, path)
    return dataclasses.replace(skeleton, chains=chains)


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


def _range(table: dict[str, Any], place: str, path: Path) -> Range:
    unknown = set(table) - set(_JOINT_KEYS)
    if unknown:
        raise FileError(path, f"unknown key {min(unknown)!r}; known: {', '.join(_JOINT_KEYS)}", place=place)
    if "range" in table and "range_deg" in table:
        raise FileError(path, "give range or range_deg, not both", place=place)
    ends = table.get("range", table.get("range_deg", [-math.inf, math.inf]))
    low, high = _numbers(ends, 2, "a range is two numbers [low, high]", place, path)
    axis = None
    if "axis" in table:
        axis = unit_axis(_numbers(table["axis"], 3, "an axis is three numbers [x, y, z]", place, path))
    if "range_deg" in table:
        return Range.degrees(low, high, axis, "sidecar")
    return Range(low, high, axis, "sidecar")


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
