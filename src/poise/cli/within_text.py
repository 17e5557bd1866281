"""Ranges of goals in words, such as `within=z:-0.05..0.05,turn-z:free`."""

from __future__ import annotations

import math
from typing import NoReturn

from poise.errors import InputError, UnknownNameError
from poise.io.text_parsing import is_number, quote_excerpt
from poise.model.limits import Limit, Range, SwingTwist
from poise.problem.goal_ranges import Interval, Within

WITHIN_HELP = (
    "x, y, z:LOW..HIGH in file units, turn-x, -y, -z:LOW..HIGH in degrees, or swing:DEG,twist:LOW..HIGH about z; "
    "free for LOW..HIGH; axes:joint"
)

_POSITION_PARTS = ("x", "y", "z")
_TURN_AXES = {"turn-x": (1.0, 0.0, 0.0), "turn-y": (0.0, 1.0, 0.0), "turn-z": (0.0, 0.0, 1.0)}
_PARTS = (*_POSITION_PARTS, *_TURN_AXES, "swing", "twist", "axes")
_EXAMPLES = {"swing": "20", "axes": "joint"} | dict.fromkeys((*_TURN_AXES, "twist"), "-30..30")
_FREE = (-math.inf, math.inf)
_EXACT = (0.0, 0.0)
_MAX_SWING_DEG = 180.0


def parse_within(text: str) -> Within:
    """Parse a range. InputError names the part that cannot be read, and how to write it."""
    values: dict[str, str] = {}
    previous_part = ""
    for part in (part.strip() for part in text.split(",")):
        name, colon, value = (word.strip() for word in part.partition(":"))
        if not colon:
            _refuse_without_colon(part, previous_part)
        if name not in _PARTS:
            raise UnknownNameError("part of within", name, _PARTS, plural="parts of within")
        if name in values:
            raise InputError(f"within names {name} twice")
        values[name], previous_part = value, part
    axes = values.pop("axes", "target")
    if axes not in ("target", "joint"):
        raise InputError(f"axes of within are target or joint, not {quote_excerpt(axes)}")
    x, y, z = (_parse_interval(name, values[name]) if name in values else _EXACT for name in _POSITION_PARTS)
    return Within(x, y, z, turn=_parse_turn(values), axes="joint" if axes == "joint" else "target")


def _refuse_without_colon(part: str, previous_part: str) -> NoReturn:
    if previous_part and is_number(part):
        raise InputError(f"the ends of {previous_part},{part} of within have a comma; write {previous_part}..{part}")
    name, equals, value = (word.strip() for word in part.partition("="))
    if name not in _PARTS:
        raise InputError(
            f"{quote_excerpt(part)} is no part of within; parts are written NAME:LOW..HIGH with commas between, "
            "such as z:-0.05..0.05"
        )
    repair = f"{name}:{value}" if equals and value else _format_example(name)
    raise InputError(f"the part {quote_excerpt(part)} of within has no colon; write {repair}")


def _parse_turn(values: dict[str, str]) -> Limit | None:
    """Parse the set of rotations. None is exact."""
    names = [name for name in values if name in _TURN_AXES]
    if len(names) > 1:
        raise InputError(
            f"within has two turns, {names[0]} and {names[1]}; keep one, or write swing:20,twist:-30..30 for both"
        )
    if names and ("swing" in values or "twist" in values):
        other = "swing" if "swing" in values else "twist"
        raise InputError(f"within has {names[0]} and {other}; keep {names[0]}, or swing with twist")
    if names:
        return Range.degrees(*_parse_interval(names[0], values[names[0]]), axis=_TURN_AXES[names[0]])
    if "swing" in values:
        twist = _parse_interval("twist", values["twist"]) if "twist" in values else _EXACT
        return SwingTwist.degrees((0.0, 0.0, 1.0), _parse_swing(values["swing"]), twist)
    if "twist" in values:
        raise InputError(f"twist of within needs swing:DEG; a turn about z alone is turn-z:{values['twist']}")
    return None


def _parse_interval(name: str, text: str) -> Interval:
    """Parse LOW..HIGH or `free`."""
    if text.lower() == "free":
        return _FREE
    low_text, dots, high_text = text.partition("..")
    if not dots:
        size = abs(_parse_end(name, text, text))
        raise InputError(f"{name}:{text} of within has one end; write {name}:{-size:g}..{size:g}, or {name}:free")
    low, high = (_parse_end(name, end, text) for end in (low_text, high_text))
    if low > high:
        raise InputError(f"{name}:{text} of within goes down; write {name}:{high_text.strip()}..{low_text.strip()}")
    if low == high and math.isinf(low):
        raise InputError(f"{name}:{text} of within has no value inside; write {name}:free")
    return low, high


def _parse_end(name: str, end: str, text: str) -> float:
    """Parse an end of a range. It may be inf."""
    try:
        value = float(end) if end.isascii() and "_" not in end else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InputError(
            f"{name}:{text} of within has {quote_excerpt(end.strip())} for a number; write {_format_example(name)}"
        )
    return value


def _parse_swing(text: str) -> float:
    low_text, dots, high_text = text.partition("..")
    swing = _parse_end("swing", high_text if dots else low_text, text)
    if dots:
        raise InputError(f"swing:{text} of within is one angle, the same on all sides; write swing:{abs(swing):g}")
    if not 0.0 <= swing <= _MAX_SWING_DEG:
        raise InputError(f"swing:{text} of within is an angle from 0 to 180 degrees; write {_format_example('swing')}")
    return swing


def _format_example(name: str) -> str:
    return f"{name}:{_EXAMPLES.get(name, '-0.05..0.05')}"
