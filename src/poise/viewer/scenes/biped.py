"""A whole-body reach with pinned feet."""

from __future__ import annotations

from poise.viewer.document.chains import chain_of
from poise.viewer.document.document import Choice, Document, document_of
from poise.viewer.scenes.base.figure import HIPS, figure

TITLE = "Biped"
TEXT = "A hand reaches, both feet stay: hips, spine and legs follow. Drag the target to the floor, or out of reach."
ORDER = 50

_TARGET, _AHEAD = (0.35, 0.6, 0.5), (0.2, 1.0, 2.0)


def make() -> Document:
    """Build a reach to the ground in front of the knees."""
    rig = figure()
    chains = (
        chain_of(rig.pose, "left_hand", HIPS, "LeftHand").but(position=_TARGET),
        chain_of(rig.pose, "right_hand", HIPS, "RightHand", enabled=False),
        chain_of(rig.pose, "head", None, "Head", "look", weight=0.3).but(position=_AHEAD),
        chain_of(rig.pose, "left_foot", HIPS, "LeftFoot", "pin"),
        chain_of(rig.pose, "right_foot", HIPS, "RightFoot", "pin"),
    )
    return document_of(rig, chains=chains, solvers=(Choice("auto"), Choice("ccd")), free_root=True)
