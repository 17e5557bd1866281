"""Use the sliders, buttons and texts of a program."""

from __future__ import annotations

import dataclasses
from typing import Any

from poise.errors import UnknownNameError
from poise.viewer.document.document import Document
from poise.viewer.protocol import number, text


def control(document: Document, args: dict[str, Any]) -> Document:
    """Move a slider, press a button, or write a text."""
    name = text(args, "name")
    found = next((one for one in document.controls if one.name == name), None)
    if found is None:
        raise UnknownNameError("control", name, [one.name for one in document.controls])
    if found.kind == "slider":
        value: Any = number(args, "value", found.low, found.high)
    else:
        value = text(args, "value") if found.kind == "text" else int(found.value) + 1
    used = dataclasses.replace(found, value=value)
    return document.but(controls=tuple(used if one.name == name else one for one in document.controls))
