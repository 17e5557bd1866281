"""Ten characters reach for one target."""

from __future__ import annotations

import math

from poise.viewer.document.chains import Vector, build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.scene_rigs import load_character

TITLE = "Crowd"
TEXT = "Ten humanoids reach for one target, all solved in one call."
HINT = "Drag the cube: ten figures reach for it"
ORDER = 100

_CHARACTER_COUNT = 10
_START_ANGLE_RAD, _END_ANGLE_RAD = math.radians(-125.0), math.radians(45.0)  # the target is on no character's right
_RADII_M = (0.62, 0.9)  # [m] of two rows; each fills the gaps of the other
_TARGET_HEIGHT_M = 1.45


def make() -> Document:
    """Build two rows of characters around the target."""
    rig, positions = load_character(), _compute_positions()
    x, z = _compute_position(0)
    chain = build_chain(rig.pose, "left_hand", "Spine", "LeftHand").replace(position=(-x, _TARGET_HEIGHT_M, -z))
    solvers = (SolverChoice(), SolverChoice("ccd"))
    return build_document(rig, chains=(chain,), solvers=solvers, character_positions=positions)


def _compute_positions() -> tuple[Vector, ...]:
    """Compute the positions (relative to the first) of all characters. Targets are in its frame."""
    (first_x, first_z), positions = _compute_position(0), [_compute_position(i) for i in range(_CHARACTER_COUNT)]
    return tuple((position_x - first_x, 0.0, position_z - first_z) for position_x, position_z in positions)


def _compute_position(character_index: int) -> tuple[float, float]:
    """Compute one position behind the target, relative to it."""
    radius, angle = (
        _RADII_M[character_index % len(_RADII_M)],
        _START_ANGLE_RAD + (_END_ANGLE_RAD - _START_ANGLE_RAD) * character_index / (_CHARACTER_COUNT - 1),
    )
    return radius * math.sin(angle), -radius * math.cos(angle)
