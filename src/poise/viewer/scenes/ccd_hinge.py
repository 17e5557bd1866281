"""The CCD arm with unlimited hinges."""

from __future__ import annotations

from poise.viewer.document.document import Document
from poise.viewer.scene_rigs import build_arm_scene

TITLE = "CCD + hinge"
TEXT = "Each joint of the arm turns about one axis only, as far as it likes."
HINT = "Drag the cube: each joint turns about one axis"
ORDER = 20


def make() -> Document:
    """Build the scene with hinges."""
    return build_arm_scene("hinge")
