"""Motors of joints: largest speed and force, from robot descriptions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from poise.errors import InputError
from poise.maths.arrays import real, short


@dataclass(frozen=True)
class SafetyController:
    """A brake of a joint near its soft limits.

    It is read from files and written back; solvers ignore it. Angles are radians, lengths file units.

    Parameters
    ----------
    lower, upper
        Ends of the range [rad, file units] within which the controller does not act.
    k_position
        [1/s] The largest speed per radian or unit of distance to the end.
    k_velocity
        [N m s/rad, N s/unit] The largest force per unit of remaining speed.
    """

    lower: float = 0.0
    upper: float = 0.0
    k_position: float = 0.0
    k_velocity: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = real(getattr(self, field.name), f"the {field.name} of a safety controller")
            if not math.isfinite(value):
                raise InputError(f"the {field.name} of a safety controller must be finite, not {value:g}")
            object.__setattr__(self, field.name, value)


@dataclass(frozen=True)
class Motor:
    """The drive of one joint: largest speed, force, safety controller.

    None stands for a value missing in the file. It is read from files and written back; solvers do not use it.

    Parameters
    ----------
    velocity
        The largest speed: [rad/s] of a hinge, [file units/s] of a slide, at least 0.
    effort
        The largest force: [N m] of a hinge, [N] of a slide, at least 0.
    safety
        The safety controller.
    """

    velocity: float | None = None
    effort: float | None = None
    safety: SafetyController | None = None

    def __post_init__(self) -> None:
        for name in ("velocity", "effort"):
            given = getattr(self, name)
            if given is None:
                continue
            value = real(given, f"the {name} of a motor")
            if not 0.0 <= value < math.inf:
                raise InputError(f"the {name} of a motor must be finite and at least 0, not {value:g}")
            object.__setattr__(self, name, value)
        if self.safety is not None and not isinstance(self.safety, SafetyController):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"the safety of a motor is a poise.SafetyController or None, not {short(self.safety)}"
            raise InputError(message)
