"""Joint limits in the JSON form of the page. Angles are in radians; null is an open end."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, cast

from poise.errors import InputError, PoiseError
from poise.maths.arrays import short
from poise.maths.euler import ORDERS
from poise.maths.remember import remember
from poise.model.anatomy.humanoid import humanoid
from poise.model.anatomy.joint_limits import SOURCE
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.rig import Rig
from poise.viewer.document.document import Document
from poise.viewer.protocol import number, one_of, text, truth, vector

_TYPES = ("range", "swing_twist", "euler")


def limit(document: Document, args: dict[str, Any]) -> Document:
    """Set or, with null, remove the limit of a joint. The start pose is moved inside."""
    joint = document.skeleton.names[document.skeleton.index(text(args, "joint"))]
    given = args.get("limit")
    made = None if given is None else read_limit(given)
    old = document.skeleton[joint].limit
    if made is not None and old is not None:
        made = dataclasses.replace(made, soft=old.soft)  # the page edits the ends only, not their softness
    return document.but(skeleton=document.skeleton.limited({joint: made}))


def anatomical(document: Document, args: dict[str, Any]) -> Document:
    """Add or remove human limits on joints without own limits. Other limits stay."""
    if not truth(args, "on"):
        gone = dict.fromkeys(_anatomical_in(document))
        return document.but(skeleton=document.skeleton.limited(gone))
    why = anatomical_state(document)["why"]
    if why is not None:
        raise InputError(why)
    return document.but(skeleton=document.skeleton.limited(_missing(document)), mode="limits")


def anatomical_state(document: Document) -> dict[str, Any]:
    """Describe whether human limits are on, or not available."""
    if _anatomical_in(document):
        return {"on": True, "why": None}
    people = _people(document.rig)
    why = (
        people
        if isinstance(people, str)
        else None
        if _missing(document)
        else "every joint of the character has a limit"
    )
    return {"on": False, "why": why}


def _anatomical_in(document: Document) -> list[str]:
    rows = zip(document.skeleton.names, document.skeleton.limits, strict=True)
    return [name for name, limit in rows if limit is not None and limit.source == SOURCE]


def _missing(document: Document) -> dict[str, Limit]:
    """Find human limits for joints without limits."""
    people = _people(document.rig)
    if isinstance(people, str):
        return {}
    return {name: limit for name, limit in people.items() if document.skeleton[name].limit is None}


def _people(rig: Rig) -> dict[str, Limit] | str:
    """Find the human limits of a rig, or the reason against them. The result is cached."""

    def found() -> dict[str, Limit] | str:
        try:
            return humanoid(rig).limits()
        except PoiseError as error:
            return str(error)

    return remember(rig, "limits of people", None, found)


def read_limit(given: Any) -> Limit:
    """Parse a limit from its JSON form."""
    if not isinstance(given, dict):
        raise InputError(f"a limit is an object with a type, not {short(given)}")
    args = cast("dict[str, Any]", given)
    kind = one_of(args, "type", _TYPES)
    if kind == "range":
        low, high = _ends(args, "low", "high")
        return Range(low, high, axis=vector(args, "axis") if args.get("axis") is not None else None)
    if kind == "swing_twist":
        across = vector(args, "across") if args.get("across") is not None else None
        return SwingTwist(vector(args, "axis"), _swing(args), _pair(args.get("twist"), "twist"), across)
    order = one_of(args, "order", ORDERS)
    ranges: dict[str, Any] = dict(zip(order.lower(), _pairs(args, "ranges", 3), strict=True))
    return EulerBox(order, **ranges)


def write_limit(limit: Limit) -> dict[str, Any]:
    """Format a limit as JSON. `read_limit` reads it; a swing adds its axes."""
    if isinstance(limit, Range):
        return {"type": "range", "low": _end(limit.low), "high": _end(limit.high), "axis": limit.axis}
    if isinstance(limit, SwingTwist):
        twist, across = [_end(end) for end in limit.twist], limit.across
        return {
            "type": "swing_twist", "axis": limit.axis, "swing": limit.sides, "twist": twist, "across": across,
            "swing_axes": limit.swing_axes,
        }  # fmt: skip
    ranges = [[_end(low), _end(high)] for low, high in limit.ranges]
    return {"type": "euler", "order": limit.order, "ranges": ranges}


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _ends(args: dict[str, Any], low: str, high: str) -> tuple[float, float]:
    ends = (
        -math.inf if args.get(low) is None else number(args, low),
        math.inf if args.get(high) is None else number(args, high),
    )
    if ends[0] > ends[1]:
        raise InputError(f"the low end {ends[0]:g} is above the high end {ends[1]:g}")
    return ends


def _pair(given: Any, what: str) -> tuple[float, float]:
    if not isinstance(given, list | tuple) or len(cast("list[Any]", given)) != 2:  # noqa: PLR2004
        raise InputError(f"{what} has a low and a high end, not {short(given)}")
    low, high = cast("list[Any]", given)
    return _ends({"low": low, "high": high}, "low", "high")


def _pairs(args: dict[str, Any], name: str, count: int) -> list[tuple[float, float]]:
    given = args.get(name)
    if not isinstance(given, list) or len(cast("list[Any]", given)) != count:
        raise InputError(f"{name} are {count} pairs of a low and a high end, not {short(given)}")
    return [_pair(pair, name) for pair in cast("list[Any]", given)]


def _swing(args: dict[str, Any]) -> Any:
    """Parse one half-angle, or two pairs of sides."""
    if isinstance(args.get("swing"), list):
        first, second = _pairs(args, "swing", 2)
        return (first, second)
    return number(args, "swing", 0.0, math.pi)
