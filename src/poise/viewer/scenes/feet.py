"""Feet on uneven ground, each leg solved in closed form."""

from __future__ import annotations

from poise.model.pose import Pose
from poise.viewer.document.actions.targets import grounded
from poise.viewer.document.chains import ChainTarget, Vector, chain_of
from poise.viewer.document.document import Choice, Document, document_of
from poise.viewer.scenes.base.figure import figure, lowered

TITLE = "Feet on the ground"
TEXT = "Two legs on uneven ground, solved in closed form: slide a foot over the bumps, and its knee follows."
ORDER = 60

_LOWER = 0.18  # [m] lowering of the hips, which lets the legs bend
_GROUND = "noise:0.25,0.8"
_LEFT, _RIGHT = (0.2, 0.16), (-0.18, -0.16)  # x and z of the feet [m]


def make() -> Document:
    """Build a stride over bumps."""
    rig = figure()
    start = lowered(rig.pose, _LOWER)
    chains = (_leg(start, "Left", _LEFT), _leg(start, "Right", _RIGHT))
    two_bone = Choice("two_bone", (("keep_tip", True),))
    solvers = (two_bone, Choice("ccd"))
    document = document_of(rig, chains=chains, solvers=solvers, terrain=_GROUND).but(start=start)
    return document.but(chains=tuple(grounded(document, chain) for chain in chains))


def _leg(pose: Pose, side: str, place: tuple[float, float]) -> ChainTarget:
    chain = chain_of(pose, f"{side.lower()}_foot", f"{side}UpLeg", f"{side}Foot", ground=True)
    return chain.but(position=_over(chain.position, place))


def _over(position: Vector, place: tuple[float, float]) -> Vector:
    return (place[0], position[1], place[1])
