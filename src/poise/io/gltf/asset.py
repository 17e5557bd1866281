"""`asset.extras.poise`: document-wide data of documents built from a skeleton.

    {"up": "z", "metres_per_unit": 0.01,             null where unknown
     "in_metres": true,                              the added node scales to metres; without it, there is no scale
     "aliases": {"tool0": "joint_7"},                further names of joints
     "chains": {"left_arm": {"root": "LeftArm", "tip": "LeftHand"}}}

In glTF y is up and lengths are metres. For another up axis or another known unit, all roots are children of an added
node, the last of the document. It turns that axis to +Y and scales to metres; its extras are {"added": "up"} or, for
scale only, {"added": "unit"}. Reading strips the unchanged node, and all numbers are those originally written. A node
that other programs moved, animated or put elsewhere is an ordinary joint.
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
_UNITS = (
    1e-6,
    1e6,
)  # [m] range of scaled units; beyond it 32-bit bind matrices lose precision, and the document keeps its unit
_MOST_STEPS = 1_000_000  # maximum steps from tips to roots of all chains together; real rigs need some hundreds
_IGNORED = "asset.extras.poise could not be understood and was ignored"


class Said(NamedTuple):
    """Content of `asset.extras.poise`. The defaults are those of glTF; joints are given by name."""

    up: str | None = "y"
    metres_per_unit: float | None = 1.0
    aliases: dict[str, str] = {}  # noqa: RUF012  (never changed)
    chains: dict[str, tuple[str, str]] = {}  # noqa: RUF012
    in_metres: bool = False

    @property
    def scale(self) -> float:
        """Scale of the added node."""
        return self.metres_per_unit if self.in_metres and self.metres_per_unit is not None else 1.0


# --- reading -------------------------------------------------------------------------------------


def read_said(document: Json, notes: Notes) -> Said:
    """Read `asset.extras.poise`. A malformed one is ignored with a note."""
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
    in_metres = said.get("in_metres", False)
    if not isinstance(in_metres, bool) or (in_metres and metres is None):
        raise MalformedError
    aliases = {text(alias): _name(joint) for alias, joint in _object(said.get("aliases", {})).items()}
    chains = {text(name): _ends(_object(ends)) for name, ends in _object(said.get("chains", {})).items()}
    return Said(up, metres, aliases, chains, in_metres)


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
    """Strip the node added above the roots. Return the other nodes, and their up axis and unit."""
    nodes = objects(document, "nodes")
    if not nodes or not (said.up in _TO_Y or said.in_metres):
        return nodes, said
    if _is_as_written(nodes, said) and len(nodes) - 1 not in _used(document):
        return nodes[:-1], said
    if said.up in _TO_Y:
        notes.add(f"the node that rotates {said.up} to up is not as poise wrote it; y was taken as up, as in glTF")
        said = said._replace(up="y")
    if said.in_metres:
        notes.add("the node that scales to metres is not as poise wrote it; metres were taken, as in glTF")
        said = said._replace(metres_per_unit=1.0, in_metres=False)
    return nodes, said


def _is_as_written(nodes: list[Json], said: Said) -> bool:
    """Return whether the last node is the unchanged axis root.

    It is marked, rotated and scaled as expected, and the parent of all other roots.
    """
    *others, last = nodes
    lists: list[Any] = [node.get("children") for node in others]
    claimed = {child for children in lists if isinstance(children, list) for child in _integers(children)}
    roots = [i for i in range(len(others)) if i not in claimed]
    wanted = _node(said.up, said.scale, roots)
    return last | {"name": wanted["name"]} == wanted and len(others) not in claimed


def _used(document: Json) -> set[int]:
    """Find the nodes used by skins and animations."""
    lists: list[Any] = [skin.get("joints") for skin in objects(document, "skins")]
    used = {joint for joints in lists if isinstance(joints, list) for joint in _integers(joints)}
    for animation in objects(document, "animations"):
        used |= set(_integers([mapping(channel, "target").get("node") for channel in objects(animation, "channels")]))
    return used


def _integers(values: list[Any]) -> list[int]:
    return [value for value in values if type(value) is int]


def applied(skeleton: Skeleton, said: Said, notes: Notes) -> Skeleton:
    """Apply unit, up axis, aliases and chains to a skeleton. Unknown joint names are ignored with a note."""
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
    """Check the root of each chain to be above its tip."""
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


def to_metres(skeleton: Skeleton) -> float:
    """Compute the scale of the axis root.

    It is 1 for the metre or an unknown unit, and for a skeleton without joints.
    """
    metres = skeleton.metres_per_unit
    return metres if metres is not None and len(skeleton) and _UNITS[0] <= metres <= _UNITS[1] else 1.0


def said_of(skeleton: Skeleton) -> Json:
    """Build `asset.extras.poise` of a skeleton. It is empty where glTF's defaults hold."""
    said: Json = {}
    if skeleton.up != "y":
        said["up"] = skeleton.up
    if skeleton.metres_per_unit != 1.0:
        said["metres_per_unit"] = skeleton.metres_per_unit
    if to_metres(skeleton) != 1.0:
        said["in_metres"] = True
    if skeleton.aliases:
        said["aliases"] = {alias: skeleton.names[row] for alias, row in skeleton.aliases.items()}
    if skeleton.chains:
        said["chains"] = {name: {"root": root, "tip": tip} for name, (root, tip) in skeleton.chains.items()}
    return said


def added_root(up: str | None, scale: float, roots: list[int]) -> Json | None:
    """Build the axis root, from `up` to +Y and to metres. None where both already hold or are unknown."""
    return _node(up, scale, roots) if up in _TO_Y or scale != 1.0 else None


def _node(up: str | None, scale: float, roots: list[int]) -> Json:
    added = "up" if up in _TO_Y else "unit"
    node: Json = {"name": f"poise_{added}", "children": roots, "extras": {"poise": {"added": added}}}
    if up in _TO_Y:
        node["rotation"] = _TO_Y[up]
    if scale != 1.0:
        node["scale"] = [scale, scale, scale]
    return node


def as_in_gltf(up: str | None, scale: float) -> Floats:
    """Build the matrix (4, 4) of the axis root. It is the identity where there is none."""
    result = np.eye(4)
    if up in _AS_MATRIX:
        result[:3, :3] = _AS_MATRIX[up]
    result[:3, :3] *= scale
    return result
