"""An arm of ball joints reaches a cube with CCD."""

from __future__ import annotations

from poise.viewer.document.document import Document
from poise.viewer.scenes.base.arm import reaching

TITLE = "CCD"
TEXT = "An arm of five ball joints reaches the cube: each joint turns in closed form towards it, again and again."
ORDER = 10


def make() -> Document:
    """Build the scene without hinges."""
    return reaching("plain")
