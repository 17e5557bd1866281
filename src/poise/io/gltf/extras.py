"""`extras.poise` of nodes and of the asset: data without a glTF property. Poise writes and reads it.

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

import itertools
import math
from typing import Any, NamedTuple, cast

import numpy as np

from poise.errors import InputError
from poise.io.gltf.accessors import unit_rows
from poise.io.gltf.json import BrokenError, Json, MalformedError, finite_list, finite_number
from poise.io.gltf.notes import Notes
from poise.maths.arrays import Floats
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.skeleton import Coupling, Kind

_KINDS = {kind.name.lower(): kind for kind in Kind}
_ORDERS = {"".join(letters) for k in range(1, 4) for letters in itertools.permutations("XYZ", k)}


class Rest(NamedTuple):
    """Rest transform of a node, stored beside its pose."""

    translation: Floats
    rotation: Floats
    scale: Floats | None
    q: list[float] | None


class Extras(NamedTuple):
    """Content of a node's `extras.poise`. Missing values are None or empty."""

    kind: Kind | None = None
    order: str = ""
    rest: Rest | None = None
    limit: Limit | None = None
    axis: list[float] | None = None
    value: float | None = None
    coupling: Coupling | None = None


def understood(value: Any, count: int) -> bool:
    """Return whether a node's `extras.poise` can be read. The document has `count` nodes."""
    try:
        _parse(_object(value), count)
    except (MalformedError, InputError, BrokenError):
        return False
    return True


def read_extras(nodes: list[Json], names: dict[int, str], notes: Notes) -> dict[int, Extras]:
    """Read every node's `extras.poise`, by node index. A malformed one is ignored with a note."""
    result: dict[int, Extras] = {}
    for i, node in enumerate(nodes):
        extras = node.get("extras")
        if not isinstance(extras, dict) or "poise" not in extras:
            continue
        try:
            result[i] = _parse(_object(cast("Json", extras)["poise"]), len(nodes))
        except (MalformedError, InputError, BrokenError):
            notes.add("extras.poise could not be understood and was ignored", names[i])
    return result


def _parse(said: Json, count: int) -> Extras:
    kind = _KINDS.get(_string(said["kind"])) if "kind" in said else None
    order = _string(said.get("order", ""))
    axis = _three(said["axis"]) if "axis" in said else None
    if ("kind" in said and kind is None) or (order and order not in _ORDERS):
        raise MalformedError
    if (kind in (Kind.HINGE, Kind.SLIDE)) != (axis is not None) or axis == [0.0, 0.0, 0.0]:
        raise MalformedError
    return Extras(
        kind,
        order,
        _rest(_object(said["rest"])) if "rest" in said else None,
        _limit(_object(said["limit"])) if "limit" in said else None,
        axis,
        _number(said["value"]) if "value" in said else None,
        _coupling(_object(said["coupling"]), count) if "coupling" in said else None,
    )


def _rest(said: Json) -> Rest:
    x, y, z, w = _numbers(said.get("rotation", [0, 0, 0, 1]), 4)
    q = said.get("q")
    return Rest(
        np.array(_three(said.get("translation", [0, 0, 0]))),
        unit_rows(np.array([[w, x, y, z]]))[0],
        np.array(_three(said["scale"])) if "scale" in said else None,
        None if q is None else _numbers(q, len(cast("list[Any]", q)) if isinstance(q, list) else -1),
    )


def _limit(said: Json) -> Limit:
    soft = _number(said.get("soft", 0.0))
    if "order" in said:
        x, y, z = (_ends(said.get(letter, [None, None])) for letter in "xyz")
        return EulerBox(_string(said["order"]), x=x, y=y, z=z, source="extras", soft=soft)
    axis = _axis(said, "axis")
    if "swing" in said:
        swing = cast("list[Any]", said["swing"]) if isinstance(said["swing"], list) else []
        if axis is None or len(swing) != 2:  # noqa: PLR2004
            raise MalformedError
        sides = (_ends(swing[0]), _ends(swing[1]))
        return SwingTwist(axis, sides, _ends(said.get("twist", [None, None])), _axis(said, "across"), "extras", soft)
    low, high = _ends(said.get("range"))
    return Range(low, high, axis, "extras", soft)


def _ends(value: Any) -> tuple[float, float]:
    """Parse a range (low, high). Null is an open end."""
    if not isinstance(value, list) or len(cast("list[Any]", value)) != 2:  # noqa: PLR2004
        raise MalformedError
    low, high = cast("list[Any]", value)
    return -math.inf if low is None else _number(low), math.inf if high is None else _number(high)


def _axis(said: Json, key: str) -> tuple[float, float, float] | None:
    if key not in said:
        return None
    x, y, z = _three(said[key])
    return (x, y, z)


def _coupling(said: Json, count: int) -> Coupling:
    leader = said.get("node")
    if type(leader) is not int or not 0 <= leader < count:
        raise MalformedError
    return Coupling(leader, _number(said.get("ratio", 1.0)), _number(said.get("offset", 0.0)))


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise MalformedError
    return cast("Json", value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise MalformedError
    return value


def _number(value: Any) -> float:
    number = finite_number(value)
    if number is None:
        raise MalformedError
    return number


def _numbers(value: Any, count: int) -> list[float]:
    found = finite_list(value, count)
    if found is None:
        raise MalformedError
    return found


def _three(value: Any) -> list[float]:
    return _numbers(value, 3)


# --- writing -------------------------------------------------------------------------------------


def limit_json(limit: Limit) -> Json:
    """Format a limit. An infinite end is null."""
    if isinstance(limit, EulerBox):
        said: Json = {"order": limit.order} | {letter: _pair_json(getattr(limit, letter)) for letter in "xyz"}
    elif isinstance(limit, SwingTwist):
        said = {
            "axis": list(limit.axis),
            "swing": [list(side) for side in limit.sides],
            "twist": _pair_json(limit.twist),
        }
        said |= {} if limit.across is None else {"across": list(limit.across)}
    else:
        said = {"range": _pair_json((limit.low, limit.high))}
        said |= {} if limit.axis is None else {"axis": list(limit.axis)}
    return said | ({"soft": limit.soft} if limit.soft else {})


def _pair_json(pair: tuple[float, float]) -> list[float | None]:
    return [end if math.isfinite(end) else None for end in pair]


def xyzw(rotation: Floats) -> list[float]:
    """Convert a quaternion w x y z to glTF's order.

    No component leaves -1 to 1, as the specification asks: a quaternion of unit length can have 1.0000000000000002.
    """
    w, x, y, z = np.clip(rotation, -1.0, 1.0).tolist()
    return [x, y, z, w]


def kind_json(kind: int) -> str:
    """Format a joint kind."""
    return Kind(kind).name.lower()
