"""Calls of layers above the caller, set by the public namespace.

`poise/__init__.py` runs before every other module and may know all layers. It imports them on the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

draw_result: Callable[..., None]  # poise.plot.draw_result, for Result.plot
find_roles: Callable[[Any], Any]  # poise.find_roles, for Rig.roles
