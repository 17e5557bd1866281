"""Calls of layers above the caller, set by the public namespace.

`poise/__init__.py` runs before every other module and may know all layers. It imports them on the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

draw_result: Callable[..., None]  # poise.plot.draw_result, for Result.plot
find_roles: Callable[[Any], Any]  # poise.find_roles, for Rig.roles
format_html: Callable[[Any], str | None]  # poise.notebook.format_html, for represent_as_html


def represent_as_html(self: Any) -> str | None:
    """Return a picture and a table as HTML. Used as the `_repr_html_` of a class, which notebooks call."""
    return format_html(self)  # noqa: F821  (set by the public namespace)
