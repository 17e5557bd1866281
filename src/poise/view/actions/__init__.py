"""What the page may change in a document: functions (document, arguments) -> document, by name.

Each can be undone under its label. An argument that is missing or wrong, and a name that does not exist, is a
PoiseError whose sentence the page shows; the document stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from poise.view.actions import chains, limits, method, targets, timeline
from poise.view.document import Document


class Action(NamedTuple):
    """A change: its name for undo, and what makes it."""

    label: str
    make: Callable[[Document, dict[str, Any]], Document]


ACTIONS: dict[str, Action] = {
    "target": Action("move target", targets.target),
    "pole": Action("move pole", targets.pole),
    "handle": Action("move handle", targets.handle),
    "chain_add": Action("add chain", chains.add),
    "chain_remove": Action("remove chain", chains.remove),
    "chain_change": Action("change chain", chains.change),
    "pin": Action("pin", chains.pin),
    "limit": Action("change limit", limits.limit),
    "solver": Action("choose solver", method.solver),
    "option": Action("change option", method.option),
    "mode": Action("switch limits", method.mode),
    "run": Action("change pace", method.run),
    "from": Action("change where solving starts", method.origin),
    "tolerance": Action("change tolerance", method.tolerance),
    "free_root": Action("free the root", method.free_root),
    "views": Action("change views", method.views),
    "clip": Action("choose clip", timeline.clip),
    "plant": Action("plant feet", timeline.plant),
    "terrain": Action("change terrain", timeline.terrain),
}
