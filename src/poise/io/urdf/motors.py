"""Motors of URDF joints: <limit> velocity and effort, <safety_controller>."""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.io.numbers import LARGEST, is_number, shown
from poise.io.urdf.document import Attributes, JointElement
from poise.model.motors import Motor, SafetyController

_SAFETY = {"soft_lower_limit": "lower", "soft_upper_limit": "upper", "k_position": "k_position",
           "k_velocity": "k_velocity"}  # fmt: skip


class ReadMotor(NamedTuple):
    """Motor of a joint, if any, and notes on bad numbers."""

    motor: Motor | None
    notes: list[str]


def read_motor(joint: JointElement) -> ReadMotor:
    """Read the motor of a joint. Negative and non-numeric values are ignored with a note."""
    notes: list[str] = []
    limit, safety = joint.limit or {}, joint.safety_controller
    velocity, effort = (_least_zero(joint, limit, name, notes) for name in ("velocity", "effort"))
    controller = None
    if safety is not None:
        found = {field: _value(joint, safety, name, notes) for name, field in _SAFETY.items()}
        controller = SafetyController(**{field: value for field, value in found.items() if value is not None})
    nothing = velocity is None and effort is None and controller is None
    return ReadMotor(None if nothing else Motor(velocity, effort, controller), notes)


def _least_zero(joint: JointElement, attributes: Attributes, name: str, notes: list[str]) -> float | None:
    value = _value(joint, attributes, name, notes)
    if value is not None and value < 0.0:
        notes.append(f"the {name} {value:g} of joint {joint.name!r} is below zero, and is ignored")
        return None
    return value


def _value(joint: JointElement, attributes: Attributes, name: str, notes: list[str]) -> float | None:
    """Read a finite number of an attribute, or None. Infinity means no limit and gives None."""
    text = attributes.get(name, "").strip()
    if name not in attributes or text.lower().lstrip("+-") in ("inf", "infinity"):
        return None
    if not is_number(text):
        notes.append(f"the {name} of joint {joint.name!r} is no number but {shown(text)}, and is ignored")
        return None
    value = float(text)
    return value if math.isfinite(value) and abs(value) <= LARGEST else None
