"""One rope, one target, two methods side by side."""

from __future__ import annotations

from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.scene_rigs import build_rope

TITLE = "Two methods"
TEXT = "The same rope twice, CCD on the left and FABRIK on the right, for one target: drag it and compare the curves."
HINT = "Drag the cube: one rope, two methods"
ORDER = 80

_TARGET_POSITION_M = (0.7, 1.1, 0.15)


def make() -> Document:
    """Build two views of the rope."""
    rig = build_rope()
    chain = build_chain(rig.pose, "rope", "hook", "tip").replace(position=_TARGET_POSITION_M)
    methods = (SolverChoice("ccd"), SolverChoice("fabrik"))
    return build_document(rig, chains=(chain,), solvers=methods, view_count=2, limit_mode="plain")
