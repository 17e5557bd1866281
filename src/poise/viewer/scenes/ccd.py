"""An arm of ball joints reaches a cube with CCD."""

from __future__ import annotations

from poise.viewer.document.document import Document
from poise.viewer.scene_rigs import build_arm_scene

TITLE = "CCD"
TEXT = "An arm of five ball joints reaches the cube: each joint turns in closed form towards it, again and again."
HINT = "Drag the cube: the arm follows"
ORDER = 10


def make() -> Document:
    """Build the scene without hinges."""
    return build_arm_scene("plain")
