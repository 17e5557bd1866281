"""Extras of glTF nodes: joint kinds, limits, axes, couplings and rest poses.

`node.extras.poise` holds the data of a joint that glTF has no property for:

    {"kind": "ball", "order": "ZXY",                       kind of joint; Euler order of the file it came from
     "rest": {"translation": [x, y, z], "rotation": [x, y, z, w], "scale": [x, y, z], "q": [...]},
     "limit": {"range": [low or null, high or null], "axis": [x, y, z]},   or one of these, all with "soft": 0.5
              {"axis": [x, y, z], "swing": [[low, high], [low, high]], "twist": [low or null, high or null],
               "across": [x, y, z]}                           axis of the first swing, see SwingTwist
              {"order": "ZXY", "x": [low or null, high or null], "y": ..., "z": ...}
     "axis": [x, y, z], "value": 7.0,                      hinge and slide: the axis; q, with full turns
     "coupling": {"node": 3, "ratio": -1.0, "offset": 0.0}}

All keys are optional. `rest` is the rest pose of a node in another pose; its `q` is present only if the rest differs
from the zero pose clamped to the limits.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple, cast

import numpy as np

from poise.errors import InputError
from poise.io.gltf.accessors import normalise_quaternions
from poise.io.gltf.json_checks import (
    BrokenError,
    Json,
    MalformedExtrasError,
    NoteCollector,
    require_number,
    require_numbers,
    require_object,
    require_string,
    require_vector,
)
from poise.maths.arrays import Floats
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.skeleton import Coupling, Kind

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
        _parse_node_extras(require_object(value), node_count)
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
            extras_by_node[i] = _parse_node_extras(require_object(cast("Json", extras)["poise"]), len(nodes))
        except (MalformedExtrasError, InputError, BrokenError):
            notes.add("extras.poise could not be understood and was ignored", names[i])
    return extras_by_node


def _parse_node_extras(content: Json, node_count: int) -> NodeExtras:
    kind = _KINDS_BY_NAME.get(require_string(content["kind"])) if "kind" in content else None
    euler_order = require_string(content.get("order", ""))
    axis = require_vector(content["axis"]) if "axis" in content else None
    if ("kind" in content and kind is None) or (euler_order and euler_order not in _EULER_ORDERS):
        raise MalformedExtrasError
    if (kind in (Kind.HINGE, Kind.SLIDE)) != (axis is not None) or axis == [0.0, 0.0, 0.0]:
        raise MalformedExtrasError
    return NodeExtras(
        kind,
        euler_order,
        _parse_rest(require_object(content["rest"])) if "rest" in content else None,
        _parse_limit(require_object(content["limit"])) if "limit" in content else None,
        axis,
        require_number(content["value"]) if "value" in content else None,
        _parse_coupling(require_object(content["coupling"]), node_count) if "coupling" in content else None,
    )


def _parse_rest(content: Json) -> NodeRest:
    x, y, z, w = require_numbers(content.get("rotation", [0, 0, 0, 1]), 4)
    q = content.get("q")
    return NodeRest(
        np.array(require_vector(content.get("translation", [0, 0, 0]))),
        normalise_quaternions(np.array([[w, x, y, z]]))[0],
        np.array(require_vector(content["scale"])) if "scale" in content else None,
        None if q is None else require_numbers(q, len(cast("list[Any]", q)) if isinstance(q, list) else -1),
    )


def _parse_limit(content: Json) -> Limit:
    soft = require_number(content.get("soft", 0.0))
    if "order" in content:
        x, y, z = (_parse_range(content.get(letter, [None, None])) for letter in "xyz")
        return EulerBox(require_string(content["order"]), x=x, y=y, z=z, source="extras", soft=soft)
    axis = _parse_axis(content, "axis")
    if "swing" in content:
        swing = cast("list[Any]", content["swing"]) if isinstance(content["swing"], list) else []
        if axis is None or len(swing) != 2:  # noqa: PLR2004
            raise MalformedExtrasError
        swing_ranges = (_parse_range(swing[0]), _parse_range(swing[1]))
        return SwingTwist(
            axis,
            swing_ranges,
            _parse_range(content.get("twist", [None, None])),
            _parse_axis(content, "across"),
            "extras",
            soft,
        )
    low, high = _parse_range(content.get("range"))
    return Range(low, high, axis, "extras", soft)


def _parse_range(value: Any) -> tuple[float, float]:
    """Parse a range (low, high). Null is an open end."""
    if not isinstance(value, list) or len(cast("list[Any]", value)) != 2:  # noqa: PLR2004
        raise MalformedExtrasError
    low, high = cast("list[Any]", value)
    return -math.inf if low is None else require_number(low), math.inf if high is None else require_number(high)


def _parse_axis(content: Json, key: str) -> tuple[float, float, float] | None:
    if key not in content:
        return None
    x, y, z = require_vector(content[key])
    return (x, y, z)


def _parse_coupling(content: Json, node_count: int) -> Coupling:
    leader = content.get("node")
    if type(leader) is not int or not 0 <= leader < node_count:
        raise MalformedExtrasError
    return Coupling(leader, require_number(content.get("ratio", 1.0)), require_number(content.get("offset", 0.0)))


def format_limit(limit: Limit) -> Json:
    """Format a limit. An infinite end is null."""
    if isinstance(limit, EulerBox):
        content: Json = {"order": limit.order} | {letter: _format_range(getattr(limit, letter)) for letter in "xyz"}
    elif isinstance(limit, SwingTwist):
        content = {
            "axis": list(limit.axis),
            "swing": [list(side) for side in limit.sides],
            "twist": _format_range(limit.twist),
        }
        content |= {} if limit.across is None else {"across": list(limit.across)}
    else:
        content = {"range": _format_range((limit.low, limit.high))}
        content |= {} if limit.axis is None else {"axis": list(limit.axis)}
    return content | ({"soft": limit.soft} if limit.soft else {})


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
