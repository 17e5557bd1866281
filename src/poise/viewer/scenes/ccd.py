"""The classic: an arm of ball joints reaches a cube with cyclic coordinate descent."""

from __future__ import annotations

from poise.viewer.document.document import Document
from poise.viewer.scenes.base.arm import reaching

TITLE = "CCD"
TEXT = "An arm of five ball joints reaches the cube: each joint turns in closed form towards it, again and again."
ORDER = 10


def make() -> Document:
    """The arm without hinges."""
    return reaching("plain")
