"""A four-bar linkage: a closed loop of crank, coupler and rocker."""

from __future__ import annotations

import math
from functools import cache

from poise.model.loops import Loop
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document

TITLE = "Four bars"
TEXT = "A closed loop: the rocker follows, and the coupler stays tied to it. Drag the target round, or out of reach."
HINT = "Drag the cube: the loop stays closed"
ORDER = 94

_CRANK_M, _COUPLER_M, _ROCKER_M, _GROUND_M = 0.2, 0.4, 0.35, 0.45
_CRANK_RAD, _TARGET_CRANK_RAD = 0.9, 2.2  # angles of the crank in the start pose and for the target, from x towards y
_TIP_M = (0.22, 0.18, 0.0)  # the point of the coupler at the target, in its frame


@cache
def build_linkage() -> Rig:
    """Build the linkage in the plane xy. The bars lie along x in their frames."""
    skeleton = Skeleton.build(
        ["ground", "crank", "coupler", "tip", "rocker"],
        [-1, 0, 1, 2, 0],
        [Kind.FIXED, Kind.HINGE, Kind.HINGE, Kind.FIXED, Kind.HINGE],
        offsets=[(0, 0.3, 0), (0, 0, 0), (_CRANK_M, 0, 0), _TIP_M, (_GROUND_M, 0, 0)],
        axes=[(0, 0, 0), (0, 0, 1), (0, 0, 1), (0, 0, 0), (0, 0, 1)],
        rest_q=_compute_q(_CRANK_RAD),
        up="y",
        metres_per_unit=1.0,
    )
    loop = Loop("coupler", "rocker", (_COUPLER_M, 0, 0), (_ROCKER_M, 0, 0), name="rod")
    skeleton = skeleton.with_loops([loop])
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q))


def _compute_q(crank_angle: float) -> list[float]:
    """Compute q of the closed linkage for an angle of the crank."""
    elbow_x, elbow_y = _CRANK_M * math.cos(crank_angle), _CRANK_M * math.sin(crank_angle)
    diagonal = math.hypot(_GROUND_M - elbow_x, elbow_y)
    slope = math.atan2(-elbow_y, _GROUND_M - elbow_x)
    coupler = slope + _find_angle(_COUPLER_M, diagonal, _ROCKER_M)
    return [crank_angle, coupler - crank_angle, slope + math.pi - _find_angle(_ROCKER_M, diagonal, _COUPLER_M)]


def _find_angle(a: float, b: float, opposite: float) -> float:
    """Find the angle [rad] between two sides of a triangle."""
    return math.acos((a * a + b * b - opposite * opposite) / (2 * a * b))


def make() -> Document:
    """Build the scene, the target on the path of the tip."""
    rig = build_linkage()
    chain = build_chain(rig.pose, "tip", "crank", "tip")
    chain = chain.with_target_at(Pose(rig.skeleton, _compute_q(_TARGET_CRANK_RAD)))
    return build_document(rig, chains=(chain,), solvers=(SolverChoice(), SolverChoice("levenberg_marquardt")))
