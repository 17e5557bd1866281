"""A whole-body reach with pinned feet."""

from __future__ import annotations

from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.scene_rigs import HIPS, load_character

TITLE = "Biped"
TEXT = "A hand reaches, both feet stay: hips, spine and legs follow. Drag the target to the floor, or out of reach."
HINT = "Drag the cube to the floor"
ORDER = 50

_TARGET_POSITION_M, _GAZE_POINT_M = (0.35, 0.6, 0.5), (0.2, 1.0, 2.0)


def make() -> Document:
    """Build a whole-body reach with pinned feet."""
    rig = load_character()
    chains = (
        build_chain(rig.pose, "left_hand", HIPS, "LeftHand").replace(position=_TARGET_POSITION_M),
        build_chain(rig.pose, "right_hand", HIPS, "RightHand", enabled=False),
        build_chain(rig.pose, "head", None, "Head", "look", weight=0.3).replace(position=_GAZE_POINT_M),
        build_chain(rig.pose, "left_foot", HIPS, "LeftFoot", "pin"),
        build_chain(rig.pose, "right_foot", HIPS, "RightFoot", "pin"),
    )
    return build_document(rig, chains=chains, solvers=(SolverChoice("auto"), SolverChoice("ccd")), free_root=True)
