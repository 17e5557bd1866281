"""Actions of the page on a document, by name. Each is a function (document, arguments) -> document.

Each can be undone under its label. An argument that is missing or wrong, and a name that does not exist, is a
PoiseError whose sentence the page shows; the document stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from poise.model.pose import Pose
from poise.viewer.document.actions import bones, chains, controls, limits, method, targets, timeline
from poise.viewer.document.document import Document


class Action(NamedTuple):
    """A change of the document.

    label     its name for undo
    change    what makes it
    sees      whether it is told the pose that the page shows: new chains and pins begin there
    afresh    what is solved next is solved from the start pose, so that the difference can be seen
    undoable  whether it is a step of undo
    """

    label: str
    change: Callable[..., Document]
    sees: bool = False
    afresh: bool = False
    undoable: bool = True

    def make(self, document: Document, args: dict[str, Any], shown: Pose | None = None) -> Document:
        """Apply the action and return the changed document.

        Raise PoiseError for wrong arguments. Without `shown` it is the start pose.
        """
        if not self.sees:
            return self.change(document, args)
        return self.change(document, args, document.started if shown is None else shown)


ACTIONS: dict[str, Action] = {
    "target": Action("move target", targets.target),
    "pole": Action("move pole", targets.pole),
    "control": Action("use control", controls.control, undoable=False),
    "handle": Action("move handle", targets.handle),
    "chain_add": Action("add chain", chains.add, sees=True),
    "chain_remove": Action("remove chain", chains.remove),
    "chain_change": Action("change chain", chains.change, sees=True),
    "pin": Action("pin", chains.pin, sees=True),
    "turn": Action("turn bone", bones.turn, sees=True),
    "unkey": Action("remove key", bones.unkey),
    "limit": Action("change limit", limits.limit),
    "anatomical": Action("switch anatomical limits", limits.anatomical, afresh=True),
    "solver": Action("choose solver", method.solver, afresh=True),
    "option": Action("change option", method.option, afresh=True),
    "mode": Action("switch limits", method.mode, afresh=True),
    "run": Action("change pace", method.run),
    "from": Action("change where solving starts", method.origin),
    "tolerance": Action("change tolerance", method.tolerance),
    "free_root": Action("free the root", method.free_root),
    "views": Action("change views", method.views, undoable=False),
    "clip": Action("choose clip", timeline.clip),
    "plant": Action("plant feet", timeline.plant),
    "terrain": Action("change terrain", timeline.terrain),
}
