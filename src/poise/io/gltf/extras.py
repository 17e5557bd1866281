"""`extras.poise` of nodes and of the asset: data without a glTF property.

    {"kind": "ball", "order": "ZXY",                       kind of joint; Euler order of the file it came from
     "rest": {"translation": [x, y, z], "rotation": [x, y, z, w], "scale": [x, y, z], "q": [...]},
     "limit": {"range": [low or null, high or null], "axis": [x, y, z]},   or one of these, all with "soft": 0.5
              {"axis": [x, y, z], "swing": [[low, high], [low, high]], "twist": [low or null, high or null],
               "across": [x, y, z]}
              {"order": "ZXY", "x": [low or null, high or null], "y": ..., "z": ...}
     "axis": [x, y, z], "value": 7.0,                      hinge and slide: the axis; q, with full turns
     "coupling": {"node": 3, "ratio": -1.0, "offset": 0.0}}

All keys are optional. `rest` is the rest pose of a node in another pose; its `q` is present only if the rest differs
from the zero pose clamped to the limits.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any, NamedTuple, cast

import numpy as np

from poise.errors import InputError
from poise.io.gltf.accessors import normalize_quaternions
from poise.io.gltf.container import (
    BrokenError,
    Json,
    MalformedExtrasError,
    NoteCollector,
    clean_text,
    parse_finite_list,
    parse_finite_number,
    read_object,
    read_objects,
)
from poise.maths.arrays import Floats
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.skeleton import Coupling, Kind, Skeleton

_KINDS_BY_NAME = {kind.name.lower(): kind for kind in Kind}
_EULER_ORDERS = {"".join(letters) for k in range(1, 4) for letters in itertools.permutations("XYZ", k)}


class NodeRest(NamedTuple):
    """Rest transform of a node, stored beside its pose."""

    translation: Floats
    rotation: Floats
    scale: Floats | None
    q: list[float] | None


class NodeExtras(NamedTuple):
    """Content of a node's `extras.poise`. Missing values are None or empty."""

    kind: Kind | None = None
    euler_order: str = ""
    rest: NodeRest | None = None
    limit: Limit | None = None
    axis: list[float] | None = None
    joint_value: float | None = None
    coupling: Coupling | None = None


def is_readable(value: Any, node_count: int) -> bool:
    """Return whether a node's `extras.poise` can be read. The document has `node_count` nodes."""
    try:
        _parse_node_extras(_require_object(value), node_count)
    except (MalformedExtrasError, InputError, BrokenError):
        return False
    return True


def read_node_extras(nodes: list[Json], names: dict[int, str], notes: NoteCollector) -> dict[int, NodeExtras]:
    """Read every node's `extras.poise`, by node index. A malformed one is ignored with a note."""
    extras_by_node: dict[int, NodeExtras] = {}
    for i, node in enumerate(nodes):
        extras = node.get("extras")
        if not isinstance(extras, dict) or "poise" not in extras:
            continue
        try:
            extras_by_node[i] = _parse_node_extras(_require_object(cast("Json", extras)["poise"]), len(nodes))
        except (MalformedExtrasError, InputError, BrokenError):
            notes.add("extras.poise could not be understood and was ignored", names[i])
    return extras_by_node


def _parse_node_extras(data: Json, node_count: int) -> NodeExtras:
    kind = _KINDS_BY_NAME.get(_require_string(data["kind"])) if "kind" in data else None
    euler_order = _require_string(data.get("order", ""))
    axis = _require_vector(data["axis"]) if "axis" in data else None
    if ("kind" in data and kind is None) or (euler_order and euler_order not in _EULER_ORDERS):
        raise MalformedExtrasError
    if (kind in (Kind.HINGE, Kind.SLIDE)) != (axis is not None) or axis == [0.0, 0.0, 0.0]:
        raise MalformedExtrasError
    return NodeExtras(
        kind,
        euler_order,
        _parse_rest(_require_object(data["rest"])) if "rest" in data else None,
        _parse_limit(_require_object(data["limit"])) if "limit" in data else None,
        axis,
        _require_number(data["value"]) if "value" in data else None,
        _parse_coupling(_require_object(data["coupling"]), node_count) if "coupling" in data else None,
    )


def _parse_rest(data: Json) -> NodeRest:
    x, y, z, w = _require_numbers(data.get("rotation", [0, 0, 0, 1]), 4)
    q = data.get("q")
    return NodeRest(
        np.array(_require_vector(data.get("translation", [0, 0, 0]))),
        normalize_quaternions(np.array([[w, x, y, z]]))[0],
        np.array(_require_vector(data["scale"])) if "scale" in data else None,
        None if q is None else _require_numbers(q, len(cast("list[Any]", q)) if isinstance(q, list) else -1),
    )


def _parse_limit(data: Json) -> Limit:
    soft = _require_number(data.get("soft", 0.0))
    if "order" in data:
        x, y, z = (_parse_range(data.get(letter, [None, None])) for letter in "xyz")
        return EulerBox(_require_string(data["order"]), x=x, y=y, z=z, source="extras", soft=soft)
    axis = _parse_axis(data, "axis")
    if "swing" in data:
        swing = cast("list[Any]", data["swing"]) if isinstance(data["swing"], list) else []
        if axis is None or len(swing) != 2:  # noqa: PLR2004
            raise MalformedExtrasError
        sides = (_parse_range(swing[0]), _parse_range(swing[1]))
        return SwingTwist(
            axis, sides, _parse_range(data.get("twist", [None, None])), _parse_axis(data, "across"), "extras", soft
        )
    low, high = _parse_range(data.get("range"))
    return Range(low, high, axis, "extras", soft)


def _parse_range(value: Any) -> tuple[float, float]:
    """Parse a range (low, high). Null is an open end."""
    if not isinstance(value, list) or len(cast("list[Any]", value)) != 2:  # noqa: PLR2004
        raise MalformedExtrasError
    low, high = cast("list[Any]", value)
    return -math.inf if low is None else _require_number(low), math.inf if high is None else _require_number(high)


def _parse_axis(data: Json, key: str) -> tuple[float, float, float] | None:
    if key not in data:
        return None
    x, y, z = _require_vector(data[key])
    return (x, y, z)


def _parse_coupling(data: Json, node_count: int) -> Coupling:
    leader = data.get("node")
    if type(leader) is not int or not 0 <= leader < node_count:
        raise MalformedExtrasError
    return Coupling(leader, _require_number(data.get("ratio", 1.0)), _require_number(data.get("offset", 0.0)))


def _require_object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise MalformedExtrasError
    return cast("Json", value)


def _require_string(value: Any) -> str:
    if not isinstance(value, str):
        raise MalformedExtrasError
    return value


def _require_number(value: Any) -> float:
    number = parse_finite_number(value)
    if number is None:
        raise MalformedExtrasError
    return number


def _require_numbers(value: Any, count: int) -> list[float]:
    values = parse_finite_list(value, count)
    if values is None:
        raise MalformedExtrasError
    return values


def _require_vector(value: Any) -> list[float]:
    return _require_numbers(value, 3)


# --- writing -------------------------------------------------------------------------------------


def format_limit(limit: Limit) -> Json:
    """Format a limit. An infinite end is null."""
    if isinstance(limit, EulerBox):
        data: Json = {"order": limit.order} | {letter: _format_range(getattr(limit, letter)) for letter in "xyz"}
    elif isinstance(limit, SwingTwist):
        data = {
            "axis": list(limit.axis),
            "swing": [list(side) for side in limit.sides],
            "twist": _format_range(limit.twist),
        }
        data |= {} if limit.across is None else {"across": list(limit.across)}
    else:
        data = {"range": _format_range((limit.low, limit.high))}
        data |= {} if limit.axis is None else {"axis": list(limit.axis)}
    return data | ({"soft": limit.soft} if limit.soft else {})


def _format_range(ends: tuple[float, float]) -> list[float | None]:
    return [end if math.isfinite(end) else None for end in ends]


def to_xyzw(rotation: Floats) -> list[float]:
    """Convert a quaternion w x y z to glTF's order.

    No component leaves -1 to 1, as the specification asks: a quaternion of unit length can have 1.0000000000000002.
    """
    w, x, y, z = np.clip(rotation, -1.0, 1.0).tolist()
    return [x, y, z, w]


def format_kind(kind: int) -> str:
    """Format a joint kind."""
    return Kind(kind).name.lower()


# --- `asset.extras.poise`: document-wide data of documents built from a skeleton -------------------------------------
#
# {"up": "z", "metres_per_unit": 0.01,             null where unknown
# "in_metres": true,                              the added node scales to metres; without it, there is no scale
# "aliases": {"tool0": "joint_7"},                further names of joints
# "chains": {"left_arm": {"root": "LeftArm", "tip": "LeftHand"}}}
#
# In glTF y is up and lengths are metres. For another up axis or another known unit, all roots are children of an added
# node, the last of the document. It turns that axis to +Y and scales to metres; its extras are {"added": "up"} or, for
# scale only, {"added": "unit"}. Reading strips the unchanged node, and all numbers are those originally written. A node
# that other programs moved, animated or put elsewhere is an ordinary joint.


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
        """Scale of the added node."""
        return self.metres_per_unit if self.is_in_metres and self.metres_per_unit is not None else 1.0


# --- reading -------------------------------------------------------------------------------------


def read_asset_extras(document: Json, notes: NoteCollector) -> AssetExtras:
    """Read `asset.extras.poise`. A malformed one is ignored with a note."""
    extras = read_object(document, "asset").get("extras")
    if not isinstance(extras, dict) or "poise" not in extras:
        return AssetExtras()
    try:
        return _parse_asset_extras(_require_object(cast("Json", extras)["poise"]))
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
        clean_text(alias): _require_name(joint) for alias, joint in _require_object(data.get("aliases", {})).items()
    }
    chains = {
        clean_text(name): _parse_chain_ends(_require_object(ends))
        for name, ends in _require_object(data.get("chains", {})).items()
    }
    return AssetExtras(up, metres_per_unit, aliases, chains, is_in_metres)


def _parse_chain_ends(data: Json) -> tuple[str, str]:
    return _require_name(data.get("root")), _require_name(data.get("tip"))


def _require_name(value: Any) -> str:
    return clean_text(_require_string(value))


def strip_axis_root(document: Json, asset_extras: AssetExtras, notes: NoteCollector) -> tuple[list[Json], AssetExtras]:
    """Strip the node added above the roots. Return the other nodes, and their up axis and unit."""
    nodes = read_objects(document, "nodes")
    if not nodes or not (asset_extras.up in _Y_UP_QUATERNIONS or asset_extras.is_in_metres):
        return nodes, asset_extras
    if _is_axis_root_unchanged(nodes, asset_extras) and len(nodes) - 1 not in _find_used_nodes(document):
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


def _is_axis_root_unchanged(nodes: list[Json], asset_extras: AssetExtras) -> bool:
    """Return whether the last node is the unchanged axis root.

    It is marked, rotated and scaled as expected, and the parent of all other roots.
    """
    *other_nodes, last_node = nodes
    child_lists: list[Any] = [node.get("children") for node in other_nodes]
    child_indices = {
        child for children in child_lists if isinstance(children, list) for child in _select_integers(children)
    }
    roots = [i for i in range(len(other_nodes)) if i not in child_indices]
    expected = _build_axis_node(asset_extras.up, asset_extras.scale, roots)
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


# --- writing -------------------------------------------------------------------------------------


def compute_metre_scale(skeleton: Skeleton) -> float:
    """Compute the scale of the axis root.

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


def build_axis_root(up: str | None, scale: float, roots: list[int]) -> Json | None:
    """Build the axis root, from `up` to +Y and to metres. None where both already hold or are unknown."""
    return _build_axis_node(up, scale, roots) if up in _Y_UP_QUATERNIONS or scale != 1.0 else None


def _build_axis_node(up: str | None, scale: float, roots: list[int]) -> Json:
    marker = "up" if up in _Y_UP_QUATERNIONS else "unit"
    node: Json = {"name": f"poise_{marker}", "children": roots, "extras": {"poise": {"added": marker}}}
    if up in _Y_UP_QUATERNIONS:
        node["rotation"] = _Y_UP_QUATERNIONS[up]
    if scale != 1.0:
        node["scale"] = [scale, scale, scale]
    return node


def build_axis_matrix(up: str | None, scale: float) -> Floats:
    """Build the matrix (4, 4) of the axis root. It is the identity where there is none."""
    matrix = np.eye(4)
    if up in _Y_UP_MATRICES:
        matrix[:3, :3] = _Y_UP_MATRICES[up]
    matrix[:3, :3] *= scale
    return matrix
