"""Ten characters reach for one target."""

from __future__ import annotations

import math

from poise.viewer.document.chains import Vector, chain_of
from poise.viewer.document.document import Choice, Document, document_of
from poise.viewer.scenes.base.figure import figure

TITLE = "Crowd"
TEXT = "Ten humanoids reach for one target, all solved in one call."
ORDER = 100

_COUNT = 10
_FROM, _TO = math.radians(-125.0), math.radians(45.0)  # the target is on no character's right
_RADII = (0.62, 0.9)  # [m] of two rows; each fills the gaps of the other
_HEIGHT = 1.45


def make() -> Document:
    """Build two rows of characters around the target."""
    rig, places = figure(), _places()
    x, z = _stand(0)
    chain = chain_of(rig.pose, "left_hand", "Spine", "LeftHand").but(position=(-x, _HEIGHT, -z))
    return document_of(rig, chains=(chain,), solvers=(Choice(), Choice("ccd")), places=places)


def _places() -> tuple[Vector, ...]:
    """Compute the positions (relative to the first) of all characters. Targets are in its frame."""
    (x, z), stands = _stand(0), [_stand(i) for i in range(_COUNT)]
    return tuple((at_x - x, 0.0, at_z - z) for at_x, at_z in stands)


def _stand(i: int) -> tuple[float, float]:
    """Compute one position behind the target, relative to it."""
    radius, angle = _RADII[i % len(_RADII)], _FROM + (_TO - _FROM) * i / (_COUNT - 1)
    return radius * math.sin(angle), -radius * math.cos(angle)
