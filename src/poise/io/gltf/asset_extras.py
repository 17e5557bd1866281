"""Extras of a glTF document: unit, up axis, aliases and chains.

`asset.extras.poise` of documents built from a skeleton:

    {"up": "z", "metres_per_unit": 0.01,             null where unknown
     "in_metres": true,                              the conversion node scales to metres; without it, there is no scale
     "aliases": {"tool0": "joint_7"},                further names of joints
     "chains": {"left_arm": {"root": "LeftArm", "tip": "LeftHand"}}}

In glTF y is up and lengths are metres. For another up axis or another known unit, all roots are children of a
conversion node, the last of the document. It rotates that axis to +Y and scales to metres; its extras are
{"added": "up"} or, for scale only, {"added": "unit"}. The reader strips the unchanged node, and all numbers are those
originally written. A conversion node moved or animated by another program is an ordinary joint.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, cast

import numpy as np

from poise.io.gltf.json_checks import (
    Json,
    MalformedExtrasError,
    NoteCollector,
    clean_text,
    parse_finite_number,
    read_object,
    read_objects,
    require_object,
    require_string,
)
from poise.maths.arrays import Floats
from poise.model.skeleton import Skeleton

_SQRT_HALF = 0.5**0.5


_Y_UP_QUATERNIONS = {
    "z": [-_SQRT_HALF, 0.0, 0.0, _SQRT_HALF],
    "x": [0.0, 0.0, _SQRT_HALF, _SQRT_HALF],
}  # rotations x y z w


_Y_UP_MATRICES = {"z": [[1, 0, 0], [0, 0, 1], [0, -1, 0]], "x": [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}


_UNIT_RANGE_M = (
    1e-6,
    1e6,
)  # [m] range of scaled units; beyond it 32-bit bind matrices lose precision, and the document keeps its unit


_MAX_CHAIN_STEPS = 1_000_000  # maximum steps from tips to roots of all chains together; real rigs need some hundreds


_MALFORMED_NOTE = "asset.extras.poise could not be understood and was ignored"


class AssetExtras(NamedTuple):
    """Content of `asset.extras.poise`. The defaults are those of glTF; joints are given by name."""

    up: str | None = "y"
    metres_per_unit: float | None = 1.0
    aliases: dict[str, str] = {}  # noqa: RUF012  (never changed)
    chains: dict[str, tuple[str, str]] = {}  # noqa: RUF012
    is_in_metres: bool = False

    @property
    def scale(self) -> float:
        """Scale of the conversion node."""
        return self.metres_per_unit if self.is_in_metres and self.metres_per_unit is not None else 1.0


def read_asset_extras(document: Json, notes: NoteCollector) -> AssetExtras:
    """Read `asset.extras.poise`. A malformed one is ignored with a note."""
    extras = read_object(document, "asset").get("extras")
    if not isinstance(extras, dict) or "poise" not in extras:
        return AssetExtras()
    try:
        return _parse_asset_extras(require_object(cast("Json", extras)["poise"]))
    except MalformedExtrasError:
        notes.add(_MALFORMED_NOTE)
        return AssetExtras()


def _parse_asset_extras(data: Json) -> AssetExtras:
    up, metres_per_unit = data.get("up", "y"), data.get("metres_per_unit", 1.0)
    if up not in ("x", "y", "z", None):
        raise MalformedExtrasError
    if metres_per_unit is not None:
        metres_per_unit = parse_finite_number(metres_per_unit)
        if metres_per_unit is None or metres_per_unit <= 0.0:
            raise MalformedExtrasError
    is_in_metres = data.get("in_metres", False)
    if not isinstance(is_in_metres, bool) or (is_in_metres and metres_per_unit is None):
        raise MalformedExtrasError
    aliases = {
        clean_text(alias): _require_name(joint) for alias, joint in require_object(data.get("aliases", {})).items()
    }
    chains = {
        clean_text(name): _parse_chain_ends(require_object(ends))
        for name, ends in require_object(data.get("chains", {})).items()
    }
    return AssetExtras(up, metres_per_unit, aliases, chains, is_in_metres)


def _parse_chain_ends(data: Json) -> tuple[str, str]:
    return _require_name(data.get("root")), _require_name(data.get("tip"))


def _require_name(value: Any) -> str:
    return clean_text(require_string(value))


def strip_conversion_node(
    document: Json, asset_extras: AssetExtras, notes: NoteCollector
) -> tuple[list[Json], AssetExtras]:
    """Strip the conversion node above the roots. Return the other nodes, and their up axis and unit."""
    nodes = read_objects(document, "nodes")
    if not nodes or not (asset_extras.up in _Y_UP_QUATERNIONS or asset_extras.is_in_metres):
        return nodes, asset_extras
    if _is_conversion_node_unchanged(nodes, asset_extras) and len(nodes) - 1 not in _find_used_nodes(document):
        return nodes[:-1], asset_extras
    if asset_extras.up in _Y_UP_QUATERNIONS:
        notes.add(
            f"the node that rotates {asset_extras.up} to up is not as poise wrote it; y was taken as up, as in glTF"
        )
        asset_extras = asset_extras._replace(up="y")
    if asset_extras.is_in_metres:
        notes.add("the node that scales to metres is not as poise wrote it; metres were taken, as in glTF")
        asset_extras = asset_extras._replace(metres_per_unit=1.0, is_in_metres=False)
    return nodes, asset_extras


def _is_conversion_node_unchanged(nodes: list[Json], asset_extras: AssetExtras) -> bool:
    """Return whether the last node is the unchanged conversion node.

    It is marked, rotated and scaled as expected, and the parent of all other roots.
    """
    *other_nodes, last_node = nodes
    child_lists: list[Any] = [node.get("children") for node in other_nodes]
    child_indices = {
        child for children in child_lists if isinstance(children, list) for child in _select_integers(children)
    }
    roots = [i for i in range(len(other_nodes)) if i not in child_indices]
    expected = _format_conversion_node(asset_extras.up, asset_extras.scale, roots)
    return last_node | {"name": expected["name"]} == expected and len(other_nodes) not in child_indices


def _find_used_nodes(document: Json) -> set[int]:
    """Find the nodes used by skins and animations."""
    joint_lists: list[Any] = [skin.get("joints") for skin in read_objects(document, "skins")]
    used_nodes = {joint for joints in joint_lists if isinstance(joints, list) for joint in _select_integers(joints)}
    for animation in read_objects(document, "animations"):
        used_nodes |= set(
            _select_integers(
                [read_object(channel, "target").get("node") for channel in read_objects(animation, "channels")]
            )
        )
    return used_nodes


def _select_integers(values: list[Any]) -> list[int]:
    return [value for value in values if type(value) is int]


def apply_asset_extras(skeleton: Skeleton, asset_extras: AssetExtras, notes: NoteCollector) -> Skeleton:
    """Apply unit, up axis, aliases and chains to a skeleton. Unknown joint names are ignored with a note."""
    skeleton = dataclasses.replace(skeleton, up=asset_extras.up, metres_per_unit=asset_extras.metres_per_unit)
    rows = {name: row for row, name in enumerate(skeleton.names)}
    try:
        aliases = {alias: _find_row(joint, rows) for alias, joint in asset_extras.aliases.items()}
        _check_chains(asset_extras.chains, skeleton.parents.tolist(), aliases | rows)
    except MalformedExtrasError:
        notes.add("the aliases and chains in asset.extras.poise do not fit the joints and were ignored")
        return skeleton
    return dataclasses.replace(skeleton, aliases=aliases, chains=dict(asset_extras.chains))


def _check_chains(chains: dict[str, tuple[str, str]], parents: list[int], rows: dict[str, int]) -> None:
    """Check the root of each chain to be above its tip."""
    remaining_steps = _MAX_CHAIN_STEPS
    for root, tip in chains.values():
        root_row, row = _find_row(root, rows), parents[_find_row(tip, rows)]
        while row not in (root_row, -1):
            row, remaining_steps = parents[row], remaining_steps - 1
        if row < 0 or remaining_steps < 0:
            raise MalformedExtrasError


def _find_row(name: str, rows: dict[str, int]) -> int:
    if name not in rows:
        raise MalformedExtrasError
    return rows[name]


def compute_metre_scale(skeleton: Skeleton) -> float:
    """Compute the scale of the conversion node.

    It is 1 for the metre or an unknown unit, and for a skeleton without joints.
    """
    metres_per_unit = skeleton.metres_per_unit
    return (
        metres_per_unit
        if metres_per_unit is not None and len(skeleton) and _UNIT_RANGE_M[0] <= metres_per_unit <= _UNIT_RANGE_M[1]
        else 1.0
    )


def build_asset_extras(skeleton: Skeleton) -> Json:
    """Build `asset.extras.poise` of a skeleton. It is empty where glTF's defaults hold."""
    data: Json = {}
    if skeleton.up != "y":
        data["up"] = skeleton.up
    if skeleton.metres_per_unit != 1.0:
        data["metres_per_unit"] = skeleton.metres_per_unit
    if compute_metre_scale(skeleton) != 1.0:
        data["in_metres"] = True
    if skeleton.aliases:
        data["aliases"] = {alias: skeleton.names[row] for alias, row in skeleton.aliases.items()}
    if skeleton.chains:
        data["chains"] = {name: {"root": root, "tip": tip} for name, (root, tip) in skeleton.chains.items()}
    return data


def build_conversion_node(up: str | None, scale: float, roots: list[int]) -> Json | None:
    """Build the conversion node, from `up` to +Y and to metres. None where both already hold or are unknown."""
    return _format_conversion_node(up, scale, roots) if up in _Y_UP_QUATERNIONS or scale != 1.0 else None


def _format_conversion_node(up: str | None, scale: float, roots: list[int]) -> Json:
    marker = "up" if up in _Y_UP_QUATERNIONS else "unit"
    node: Json = {"name": f"poise_{marker}", "children": roots, "extras": {"poise": {"added": marker}}}
    if up in _Y_UP_QUATERNIONS:
        node["rotation"] = _Y_UP_QUATERNIONS[up]
    if scale != 1.0:
        node["scale"] = [scale, scale, scale]
    return node


def build_conversion_matrix(up: str | None, scale: float) -> Floats:
    """Build the matrix (4, 4) of the conversion node. It is the identity where there is none."""
    matrix = np.eye(4)
    if up in _Y_UP_MATRICES:
        matrix[:3, :3] = _Y_UP_MATRICES[up]
    matrix[:3, :3] *= scale
    return matrix
