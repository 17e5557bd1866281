"""Feet on uneven ground, each leg solved in closed form."""

from __future__ import annotations

from poise.model.pose import Pose
from poise.viewer.document.actions import place_on_ground
from poise.viewer.document.chains import TargetedChain, Vector, build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.scene_rigs import load_character, lower_hips

TITLE = "Feet on the ground"
TEXT = "Two legs on uneven ground, solved in closed form: slide a foot over the bumps, and its knee follows."
HINT = "Slide a foot over the ground: its knee follows"
ORDER = 60

_HIP_DROP_M = 0.18  # [m] lowering of the hips, which lets the legs bend
_TERRAIN_SPEC = "noise:0.25,0.8"
_LEFT_FOOT_XZ_M, _RIGHT_FOOT_XZ_M = (0.2, 0.16), (-0.18, -0.16)  # x and z of the feet [m]


def make() -> Document:
    """Build a stride over bumps."""
    rig = load_character()
    start = lower_hips(rig.pose, _HIP_DROP_M)
    chains = (_build_leg_chain(start, "Left", _LEFT_FOOT_XZ_M), _build_leg_chain(start, "Right", _RIGHT_FOOT_XZ_M))
    two_bone = SolverChoice("two_bone", (("keep_tip", True),))
    solvers = (two_bone, SolverChoice("ccd"))
    document = build_document(rig, chains=chains, solvers=solvers, terrain_spec=_TERRAIN_SPEC).replace(start=start)
    return document.replace(chains=tuple(place_on_ground(document, chain) for chain in chains))


def _build_leg_chain(pose: Pose, side: str, xz: tuple[float, float]) -> TargetedChain:
    chain = build_chain(pose, f"{side.lower()}_foot", f"{side}UpLeg", f"{side}Foot", stays_on_ground=True)
    return chain.replace(position=_replace_xz(chain.position, xz))


def _replace_xz(position: Vector, xz: tuple[float, float]) -> Vector:
    return (xz[0], position[1], xz[1])
