"""Two hands on a box, one relative to the other."""

from __future__ import annotations

import math
from typing import Any

from poise.model.limits import Range
from poise.model.pose import Pose
from poise.problem.goal_ranges import Within
from poise.problem.goals import Position
from poise.solving.solve import solve
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.scene_rigs import load_character

TITLE = "Two hands"
TEXT = "The left hand is held beside the right one, wherever that goes. It may slide along the box and turn about it."
HINT = "Drag the right hand: the left one stays at the box"
ORDER = 92

_HAND_X_M, _HAND_YZ_M = 0.2, (1.15, 0.38)
_SLIDE_M = 0.08  # to both sides
_TARGET_POSITION_M = (-0.1, 1.28, 0.4)  # of the right hand
_BOX_RATIO = 0.7  # width of the box, as a fraction of the distance of the hands at the start


def make() -> Document:
    """Build the scene, both hands in front of the chest."""
    rig = load_character()
    start = _raise_hands(rig.pose)
    # The fingers lie along x in the frame of the hand.
    grip = Within(x=(-_SLIDE_M, _SLIDE_M), turn=Range(-math.inf, math.inf, axis=(1, 0, 0)))
    held: dict[str, Any] = {"relative_to": "RightHand", "follow": True, "within": grip}
    right = build_chain(start, "right_hand", "RightArm", "RightHand").replace(position=_TARGET_POSITION_M)
    left = build_chain(start, "left_hand", "LeftArm", "LeftHand", "place", **held)
    x, y, z = (_BOX_RATIO * value for value in left.position)
    chains = (right, left.replace(position=(x, y, z)))
    solvers = (SolverChoice(), SolverChoice("damped_least_squares"))
    return build_document(rig, chains=chains, solvers=solvers).replace(start=start)


def _raise_hands(pose: Pose) -> Pose:
    goals = [Position(f"{side}Hand", (x, *_HAND_YZ_M)) for side, x in (("Left", _HAND_X_M), ("Right", -_HAND_X_M))]
    return solve(pose, goals).pose
