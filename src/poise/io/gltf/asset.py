"""`asset.extras.poise`: what poise says about the whole of a document that it made from nothing but a skeleton.

    {"up": "z", "metres_per_unit": 0.01,             null where the skeleton does not say
     "aliases": {"tool0": "joint_7"},                further names of joints
     "chains": {"left_arm": {"root": "LeftArm", "tip": "LeftHand"}}}

In glTF y is up. Where another axis is, all roots hang below one more node, the last of the document, which
turns that axis to +Y; its own extras say {"added": "up"}. Reading takes it away again, but only where it is
as it was written: a node that other programs moved, animated or put elsewhere is a joint like any other.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, cast

import numpy as np

from poise.io.gltf.json import Json, MalformedError, finite_number, mapping, objects, text
from poise.io.gltf.notes import Notes
from poise.maths.arrays import Floats
from poise.model.skeleton import Skeleton

_HALF = 0.5**0.5
_TO_Y = {"z": [-_HALF, 0.0, 0.0, _HALF], "x": [0.0, 0.0, _HALF, _HALF]}  # rotations x y z w
_AS_MATRIX = {"z": [[1, 0, 0], [0, 0, 1], [0, -1, 0]], "x": [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}
_MARK = {"poise": {"added": "up"}}
_MOST_STEPS = 1_000_000  # from tips up to roots, of all chains together: real rigs need some hundreds
_IGNORED = "asset.extras.poise could not be understood and was ignored"


class Said(NamedTuple):
    """What `asset.extras.poise` says; without it, what every glTF file means. Joints are called by name."""

    up: str | None = "y"
    metres_per_unit: float | None = 1.0
    aliases: dict[str, str] = {}  # noqa: RUF012  (never changed)
    chains: dict[str, tuple[str, str]] = {}  # noqa: RUF012


# --- reading -------------------------------------------------------------------------------------


def read_said(document: Json, notes: Notes) -> Said:
    """Read `asset.extras.poise`; a malformed one is ignored with a note."""
    extras = mapping(document, "asset").get("extras")
    if not isinstance(extras, dict) or "poise" not in extras:
        return Said()
    try:
        return _parse(_object(cast("Json", extras)["poise"]))
    except MalformedError:
        notes.add(_IGNORED)
        return Said()


def _parse(said: Json) -> Said:
    up, metres = said.get("up", "y"), said.get("metres_per_unit", 1.0)
    if up not in ("x", "y", "z", None):
        raise MalformedError
    if metres is not None:
        metres = finite_number(metres)
        if metres is None or metres <= 0.0:
            raise MalformedError
    aliases = {text(alias): _name(joint) for alias, joint in _object(said.get("aliases", {})).items()}
    chains = {text(name): _ends(_object(ends)) for name, ends in _object(said.get("chains", {})).items()}
    return Said(up, metres, aliases, chains)


def _ends(said: Json) -> tuple[str, str]:
    return _name(said.get("root")), _name(said.get("tip"))


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise MalformedError
    return cast("Json", value)


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise MalformedError
    return text(value)


def without_added_root(document: Json, said: Said, notes: Notes) -> tuple[list[Json], Said]:
    """Return the nodes without the one that was added to turn +Y up, and what is up in them."""
    nodes = objects(document, "nodes")
    if said.up not in _TO_Y or not nodes:
        return nodes, said
    if _is_as_written(nodes, said.up) and len(nodes) - 1 not in _used(document):
        return nodes[:-1], said
    notes.add(f"the node that turns {said.up} up is not there as poise wrote it; y was taken as up, as glTF has it")
    return nodes, said._replace(up="y")


def _is_as_written(nodes: list[Json], up: str) -> bool:
    """Whether the last node is the added one: marked, turned as `up` needs, and the parent of all other roots."""
    *others, last = nodes
    lists: list[Any] = [node.get("children") for node in others]
    claimed = {child for children in lists if isinstance(children, list) for child in _integers(children)}
    roots = [i for i in range(len(others)) if i not in claimed]
    wanted = {"rotation": _TO_Y[up], "children": roots, "extras": _MARK}
    return {key: value for key, value in last.items() if key != "name"} == wanted and len(others) not in claimed


def _used(document: Json) -> set[int]:
    """Nodes that skins and animations name."""
    lists: list[Any] = [skin.get("joints") for skin in objects(document, "skins")]
    used = {joint for joints in lists if isinstance(joints, list) for joint in _integers(joints)}
    for animation in objects(document, "animations"):
        used |= set(_integers([mapping(channel, "target").get("node") for channel in objects(animation, "channels")]))
    return used


def _integers(values: list[Any]) -> list[int]:
    return [value for value in values if type(value) is int]


def applied(skeleton: Skeleton, said: Said, notes: Notes) -> Skeleton:
    """Give a skeleton its unit, up axis, aliases and chains; names that lead nowhere are ignored with a note."""
    skeleton = dataclasses.replace(skeleton, up=said.up, metres_per_unit=said.metres_per_unit)
    rows = {name: row for row, name in enumerate(skeleton.names)}
    try:
        aliases = {alias: _row(joint, rows) for alias, joint in said.aliases.items()}
        _check_chains(said.chains, skeleton.parents.tolist(), aliases | rows)
    except MalformedError:
        notes.add("the aliases and chains in asset.extras.poise do not fit the joints and were ignored")
        return skeleton
    return dataclasses.replace(skeleton, aliases=aliases, chains=dict(said.chains))


def _check_chains(chains: dict[str, tuple[str, str]], parents: list[int], rows: dict[str, int]) -> None:
    """Refuse chains whose root is not above their tip."""
    steps = _MOST_STEPS
    for root, tip in chains.values():
        top, at = _row(root, rows), parents[_row(tip, rows)]
        while at not in (top, -1):
            at, steps = parents[at], steps - 1
        if at < 0 or steps < 0:
            raise MalformedError


def _row(name: str, rows: dict[str, int]) -> int:
    if name not in rows:
        raise MalformedError
    return rows[name]


# --- writing -------------------------------------------------------------------------------------


def said_of(skeleton: Skeleton) -> Json:
    """Write what a reader would not know otherwise; empty where glTF means the same."""
    said: Json = {}
    if skeleton.up != "y":
        said["up"] = skeleton.up
    if skeleton.metres_per_unit != 1.0:
        said["metres_per_unit"] = skeleton.metres_per_unit
    if skeleton.aliases:
        said["aliases"] = {alias: skeleton.names[row] for alias, row in skeleton.aliases.items()}
    if skeleton.chains:
        said["chains"] = {name: {"root": root, "tip": tip} for name, (root, tip) in skeleton.chains.items()}
    return said


def added_root(up: str | None, roots: list[int]) -> Json | None:
    """Make the node that turns `up` to +Y; None where +Y is up already or nothing is known."""
    if up not in _TO_Y:
        return None
    return {"name": "poise_up", "rotation": _TO_Y[up], "children": roots, "extras": _MARK}


def turned_to_y(up: str | None) -> Floats:
    """Turn (4, 4) of the added node; the identity where there is none."""
    result = np.eye(4)
    if up in _AS_MATRIX:
        result[:3, :3] = _AS_MATRIX[up]
    return result
