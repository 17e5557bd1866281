"""A five-axis arm with a position and a tool direction. Three axes serve the position of the tip, two its direction."""

from __future__ import annotations

from functools import cache

import numpy as np

from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document

TITLE = "Five axes, one direction"
TEXT = "An arm of five hinges: its tool goes to the target and keeps its direction. Turn the target to turn the tool."
HINT = "Press E and turn the cube: the tool turns along"
ORDER = 40

_JOINTS = (  # name, offset from the parent [m], axis, range [degrees], angle in the start pose [degrees]
    ("turret", (0.0, 0.12, 0.0), (0, 1, 0), 180.0, 0.0),
    ("shoulder", (0.0, 0.16, 0.0), (1, 0, 0), 110.0, 25.0),
    ("elbow", (0.0, 0.45, 0.0), (1, 0, 0), 150.0, 80.0),
    ("roll", (0.0, 0.2, 0.0), (0, 1, 0), 180.0, 0.0),
    ("bend", (0.0, 0.2, 0.0), (1, 0, 0), 120.0, 75.0),
)
_TOOL_OFFSET_M = (0.0, 0.18, 0.0)
_TOOL_AXIS = (0.0, 1.0, 0.0)  # the tool, in its own frame
_TARGET_POSITION_M, _TARGET_DIRECTION = (0.52, 0.25, 0.25), (0.0, -1.0, 0.0)


@cache
def build_arm() -> Rig:
    """Build the arm, its elbow bent and tool straight down."""
    names = ["stand", *(name for name, *_ in _JOINTS), "tool"]
    skeleton = Skeleton.build(
        names,
        range(-1, len(names) - 1),
        [Kind.FIXED, *(Kind.HINGE for _ in _JOINTS), Kind.FIXED],
        offsets=[(0.0, 0.0, 0.0), *(offset for _, offset, *_ in _JOINTS), _TOOL_OFFSET_M],
        axes=[(0, 0, 0), *(axis for _, _, axis, *_ in _JOINTS), (0, 0, 0)],
        limits=[None, *(Range.degrees(-max_angle, max_angle) for *_, max_angle, _ in _JOINTS), None],
        rest_q=np.radians([angle for *_, angle in _JOINTS]),
        up="y",
        metres_per_unit=1.0,
    )
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q))


def make() -> Document:
    """Build the scene, the tool above the target, pointing down."""
    rig = build_arm()
    chain = build_chain(rig.pose, "tool", "turret", "tool", "direction", axis=_TOOL_AXIS)
    chains = (chain.replace(position=_TARGET_POSITION_M, direction=_TARGET_DIRECTION),)
    return build_document(rig, chains=chains, solvers=(SolverChoice("ccd"), SolverChoice("levenberg_marquardt")))
