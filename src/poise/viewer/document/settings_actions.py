"""Actions on the settings of solving and on joint limits."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, cast

from poise import solvers
from poise.errors import InputError, PoiseError, UnknownNameError
from poise.maths.arrays import abbreviate
from poise.maths.caching import get_or_compute
from poise.maths.euler import ORDERS
from poise.model.anatomy.humanoid import humanoid
from poise.model.anatomy.joint_limits import LIMIT_SOURCE
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.rig import Rig
from poise.solvers.base.option_parsing import list_parameters
from poise.viewer.document.document import AUTO, Document, SolverChoice
from poise.viewer.protocol import read_bool, read_choice, read_number, read_text, read_vector


def choose_solver(document: Document, args: dict[str, Any]) -> Document:
    """Choose the solver of a view, with default options."""
    name = read_text(args, "name")
    if name != AUTO:
        solvers.named(name)
    return _replace_choice(document, args, SolverChoice(name))


def set_option(document: Document, args: dict[str, Any]) -> Document:
    """Set an option of a view's solver. It is written as on the command line; null restores the default."""
    choice, name = document.solvers[_read_view(args)], read_text(args, "name")
    parameters_by_name = (
        {} if choice.name == AUTO else {one.name: one for one in list_parameters(type(solvers.named(choice.name)))}
    )
    if name not in parameters_by_name:
        raise UnknownNameError(
            f"option of {choice.name}", name, tuple(parameters_by_name), plural=f"options of {choice.name}"
        )
    if args.get("value") is None:
        options = tuple(pair for pair in choice.options if pair[0] != name)
        return _replace_choice(document, args, SolverChoice(choice.name, options))
    value = args["value"]
    written_value = (
        str(value).lower() if isinstance(value, bool) else f"{value!r}" if isinstance(value, float) else str(value)
    )
    return _replace_choice(document, args, choice.with_option(name, parameters_by_name[name].read(written_value[:200])))


def _read_view(args: dict[str, Any]) -> int:
    return _read_whole_number(args, "view", 0, 1)


def _read_whole_number(args: dict[str, Any], name: str, low: int, high: int) -> int:
    value = read_number(args, name, low, high)
    if value != int(value):
        raise InputError(f"{name} is a whole number, not {value:g}")
    return int(value)


def _replace_choice(document: Document, args: dict[str, Any], choice: SolverChoice) -> Document:
    pair = list(document.solvers)
    pair[_read_view(args)] = choice
    return document.replace(solvers=(pair[0], pair[1]))


def set_mode(document: Document, args: dict[str, Any]) -> Document:
    """Set the limit mode: all limits, hinge axes only, or none. Raise InputError where it makes no difference."""
    value = read_choice(args, "value", ("limits", "hinge", "plain"))
    obstacle = document.list_modes()[value]
    if obstacle is not None:
        raise InputError(obstacle)
    return document.replace(mode=value)


def set_run(document: Document, args: dict[str, Any]) -> Document:
    """Set the pace: live, iterate or single steps.

    Live solves to the end for each target, iterate does one iteration a frame.
    """
    return document.replace(run=read_choice(args, "value", ("live", "iterate", "step")))


def set_origin(document: Document, args: dict[str, Any]) -> Document:
    """Set the initial pose of solves: displayed pose or start pose."""
    return document.replace(origin=read_choice(args, "value", ("last", "start")))


def set_tolerance(document: Document, args: dict[str, Any]) -> Document:
    """Set the tolerance [file units]. Null restores the library's own."""
    value = args.get("value")
    return document.replace(tolerance=None if value is None else read_number(args, "value", 1e-12, 1e6))


def switch_free_root(document: Document, args: dict[str, Any]) -> Document:
    """Switch the motion of the root."""
    return document.replace(free_root=read_bool(args, "on"))


def set_view_count(document: Document, args: dict[str, Any]) -> Document:
    """Set the number of views, one or two."""
    return document.replace(views=_read_whole_number(args, "count", 1, 2))


# --- Joint limits in the JSON form of the page -----------------------------------------------------------------------
#
# Angles are in radians; null is an open end.


_LIMIT_TYPES = ("range", "swing_twist", "euler")


def set_limit(document: Document, args: dict[str, Any]) -> Document:
    """Set or, with null, remove the limit of a joint. The start pose is moved inside."""
    joint = document.skeleton.names[document.skeleton.index(read_text(args, "joint"))]
    value = args.get("limit")
    new_limit = None if value is None else read_limit(value)
    old = document.skeleton[joint].limit
    if new_limit is not None and old is not None:
        new_limit = dataclasses.replace(new_limit, soft=old.soft)  # the page edits the ends only, not their softness
    return document.replace(skeleton=document.skeleton.limited({joint: new_limit}))


def switch_anatomical_limits(document: Document, args: dict[str, Any]) -> Document:
    """Add or remove human limits on joints without own limits. Other limits stay."""
    if not read_bool(args, "on"):
        gone = dict.fromkeys(_list_anatomical_joints(document))
        return document.replace(skeleton=document.skeleton.limited(gone))
    obstacle = describe_anatomical_limits(document)["why"]
    if obstacle is not None:
        raise InputError(obstacle)
    return document.replace(skeleton=document.skeleton.limited(_find_missing_limits(document)), mode="limits")


def describe_anatomical_limits(document: Document) -> dict[str, Any]:
    """Describe whether human limits are on, or not available."""
    if _list_anatomical_joints(document):
        return {"on": True, "why": None}
    human_limits = _find_human_limits(document.rig)
    obstacle = (
        human_limits
        if isinstance(human_limits, str)
        else None
        if _find_missing_limits(document)
        else "every joint of the character has a limit"
    )
    return {"on": False, "why": obstacle}


def _list_anatomical_joints(document: Document) -> list[str]:
    rows = zip(document.skeleton.names, document.skeleton.limits, strict=True)
    return [name for name, limit in rows if limit is not None and limit.source == LIMIT_SOURCE]


def _find_missing_limits(document: Document) -> dict[str, Limit]:
    """Find human limits for joints without limits."""
    human_limits = _find_human_limits(document.rig)
    if isinstance(human_limits, str):
        return {}
    return {name: limit for name, limit in human_limits.items() if document.skeleton[name].limit is None}


def _find_human_limits(rig: Rig) -> dict[str, Limit] | str:
    """Find the human limits of a rig, or the reason against them. The result is cached."""

    def find_limits() -> dict[str, Limit] | str:
        try:
            return humanoid(rig).limits()
        except PoiseError as error:
            return str(error)

    return get_or_compute(rig, "limits of people", None, find_limits)


def read_limit(value: Any) -> Limit:
    """Parse a limit from its JSON form."""
    if not isinstance(value, dict):
        raise InputError(f"a limit is an object with a type, not {abbreviate(value)}")
    args = cast("dict[str, Any]", value)
    kind = read_choice(args, "type", _LIMIT_TYPES)
    if kind == "range":
        low, high = _read_ends(args, "low", "high")
        return Range(low, high, axis=read_vector(args, "axis") if args.get("axis") is not None else None)
    if kind == "swing_twist":
        across = read_vector(args, "across") if args.get("across") is not None else None
        return SwingTwist(read_vector(args, "axis"), _read_swing(args), _read_pair(args.get("twist"), "twist"), across)
    order = read_choice(args, "order", ORDERS)
    ranges: dict[str, Any] = dict(zip(order.lower(), _read_pairs(args, "ranges", 3), strict=True))
    return EulerBox(order, **ranges)


def write_limit(limit: Limit) -> dict[str, Any]:
    """Format a limit as JSON. `read_limit` reads it; a swing adds its axes."""
    if isinstance(limit, Range):
        return {"type": "range", "low": _format_end(limit.low), "high": _format_end(limit.high), "axis": limit.axis}
    if isinstance(limit, SwingTwist):
        twist, across = [_format_end(end) for end in limit.twist], limit.across
        return {
            "type": "swing_twist", "axis": limit.axis, "swing": limit.sides, "twist": twist, "across": across,
            "swing_axes": limit.swing_axes,
        }  # fmt: skip
    ranges = [[_format_end(low), _format_end(high)] for low, high in limit.ranges]
    return {"type": "euler", "order": limit.order, "ranges": ranges}


def _format_end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _read_ends(args: dict[str, Any], low: str, high: str) -> tuple[float, float]:
    ends = (
        -math.inf if args.get(low) is None else read_number(args, low),
        math.inf if args.get(high) is None else read_number(args, high),
    )
    if ends[0] > ends[1]:
        raise InputError(f"the low end {ends[0]:g} is above the high end {ends[1]:g}")
    return ends


def _read_pair(value: Any, label: str) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(cast("list[Any]", value)) != 2:  # noqa: PLR2004
        raise InputError(f"{label} has a low and a high end, not {abbreviate(value)}")
    low, high = cast("list[Any]", value)
    return _read_ends({"low": low, "high": high}, "low", "high")


def _read_pairs(args: dict[str, Any], name: str, count: int) -> list[tuple[float, float]]:
    value = args.get(name)
    if not isinstance(value, list) or len(cast("list[Any]", value)) != count:
        raise InputError(f"{name} are {count} pairs of a low and a high end, not {abbreviate(value)}")
    return [_read_pair(pair, name) for pair in cast("list[Any]", value)]


def _read_swing(args: dict[str, Any]) -> Any:
    """Parse one half-angle, or two pairs of sides."""
    if isinstance(args.get("swing"), list):
        first, second = _read_pairs(args, "swing", 2)
        return (first, second)
    return read_number(args, "swing", 0.0, math.pi)
