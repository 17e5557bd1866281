"""The CCD arm with hinges and ranges."""

from __future__ import annotations

from poise.viewer.document.document import Document
from poise.viewer.scene_rigs import build_arm_scene

TITLE = "CCD + hinge + range"
TEXT = "Hinges that stop at the ends of their ranges: an arc turns amber where one does. Drag the cube behind the arm."
HINT = "Drag the cube behind the arm: joints stop at their arcs"
ORDER = 30


def make() -> Document:
    """Build the scene with hinges and ranges."""
    return build_arm_scene("limits")
