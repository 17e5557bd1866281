"""The bundled six-axis arm from URDF with a full target. It reaches any position with any rotation within reach."""

from __future__ import annotations

from poise.io import samples
from poise.io.registry import load
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document

TITLE = "Robot arm"
TEXT = "Six hinges with ranges, read from a URDF file: the tool goes to the place and rotation of the target."
HINT = "Drag the cube, then press E and turn it"
ORDER = 90

_TARGET_POSITION_M = (0.3, -0.35, 0.25)


def make() -> Document:
    """Build the scene, the tool pointing down as at rest."""
    rig = load(samples.path("arm.urdf"))
    chain = build_chain(rig.pose, "tool", None, "tool", "place").replace(position=_TARGET_POSITION_M)
    return build_document(rig, chains=(chain,), solvers=(SolverChoice(), SolverChoice("damped_least_squares")))
