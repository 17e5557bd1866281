"""Methods of a comparison and their capabilities.

Capabilities are named as in tables; a solver declares its own, an adapter knows those of its library.
"""

from __future__ import annotations

from poise.model.limits import LIMITS
from poise.model.limits import NAMES as LIMIT_NAMES
from poise.problem.goals import NAMES as GOALS
from poise.solvers.base.capabilities import ALL_JOINTS, ALL_PREFERENCES, Capabilities


def ability_groups() -> list[tuple[str, list[str]]]:
    """List the capabilities in groups."""
    joints = [f"{kind.name.lower()}s" for kind in ALL_JOINTS]
    return [
        ("goals", list(GOALS)),
        ("several", ["several goals", "at several joints"]),
        ("joints", [*joints, "coupled", "free root"]),
        ("limits", [*LIMIT_NAMES, "soft"]),
        ("prefer", [repr(one) for one in ALL_PREFERENCES]),
    ]


def declared(handles: Capabilities) -> dict[str, bool]:
    """List the capabilities of a solver."""
    found = {name: name in handles.goals for name in GOALS}
    found |= {f"{kind.name.lower()}s": kind in handles.joints for kind in ALL_JOINTS}
    found |= {kind.__name__: handles.keeps(kind) for kind in LIMITS}
    found |= {repr(one): one in handles.prefer for one in ALL_PREFERENCES}
    return found | {
        "several goals": handles.several,
        "at several joints": handles.several and not handles.one_joint,
        "coupled": handles.coupled,
        "free root": handles.free_root,
        "soft": handles.soft,
    }
