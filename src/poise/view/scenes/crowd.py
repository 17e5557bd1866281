"""Ten characters reach for one target."""

from __future__ import annotations

import math

from poise.view.chains import Vector, chain_of
from poise.view.document import Choice, Document, document_of
from poise.view.scenes._figure import figure

TITLE = "Crowd"
TEXT = "Ten humanoids reach for one target, all solved in one call."
ORDER = 100

_COUNT = 10
_FROM, _TO = math.radians(-110.0), math.radians(20.0)  # so that the target is on nobody's right
_RADII = (0.7, 0.95)  # [m] of two rows, one in the gaps of the other
_HEIGHT = 1.3


def make() -> Document:
    """An arc of characters around the target."""
    rig, places = figure(), _arc()
    x, _, z = places[0]
    chain = chain_of(rig.pose, "left_hand", "Spine", "LeftHand").but(position=(-x, _HEIGHT, -z))
    return document_of(rig, chains=(chain,), solvers=(Choice(), Choice("ccd")), places=places)


def _arc() -> tuple[Vector, ...]:
    """Where they stand: two rows behind the origin, which is the target's place."""
    stands = [(_RADII[i % 2], _FROM + (_TO - _FROM) * i / (_COUNT - 1)) for i in range(_COUNT)]
    return tuple((radius * math.sin(angle), 0.0, -radius * math.cos(angle)) for radius, angle in stands)
