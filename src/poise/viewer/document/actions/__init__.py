"""Actions of the page on a document, by name. Each is a function (document, arguments) -> document.

Each can be undone under its label. Missing or wrong arguments and unknown names raise a PoiseError. The page shows its
message, and the document stays unchanged.
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
    change    function for the change
    sees      whether `change` takes the displayed pose as well: new chains and pins begin there
    afresh    whether the next solve starts from the start pose, which shows the effect of the change
    undoable  whether it is a step of undo
    """

    label: str
    change: Callable[..., Document]
    sees: bool = False
    afresh: bool = False
    undoable: bool = True

    def make(self, document: Document, args: dict[str, Any], shown: Pose | None = None) -> Document:
        """Apply the action and return the changed document.

        Raise PoiseError for wrong arguments. `shown` is the displayed pose, by default the start pose.
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
