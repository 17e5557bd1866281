"""Legs of a quadruped: four limbs standing on the ground.

A leg of an animal walking on its toes has three long bones: thigh, shin and the upright bones of the foot. `upper`
turns at the hip, `lower` at the knee, `foot` at the hock, far above the ground, and `toes` is the next joint. Knees
bend forward and elbows backward: without names this separates them from hocks, wrists and shoulders. A two-bone solver
places the hock; foot and toes follow. In a front leg they are upper arm, forearm and wrist; the shoulder blade is left
out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.maths.arrays import Floats
from poise.model.roles.facing import habitual
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.legs.segments import segments
from poise.model.roles.structure import Body, Pair, sides_said, start, unit
from poise.model.roles.vrm import SIDES
from poise.model.roles.words import cut

# confidence in four limbs standing like legs
STANDS = 0.8
_ORDER = ("front left", "front right", "hind left", "hind right")
FRONT, HIND = (
    frozenset({"front", "fore", "fl", "fr", "f"}),  # "LF" is split into l and f
    frozenset({"hind", "rear", "back", "hl", "hr", "rl", "rr", "lh", "rh", "h"}),
)


def legs(figure: Candidate, body: Body) -> dict[str, list[int]]:
    """Find the four legs, "front left" first. Each has the rows of upper, lower, foot and, if there are any, toes."""
    assert body.legs is not None
    assert body.arms is not None
    limbs = [*body.arms.limbs, *body.legs.limbs]
    down = unit(np.mean([figure.positions[rows[-1]] - figure.positions[rows[0]] for rows in limbs], axis=0))
    up = figure.up if figure.up is not None else -down
    said = sides_said(figure, limbs)
    ahead = _ahead(figure, body.arms, body.legs, said, up)
    left = np.cross(up, ahead)
    middle = np.mean([figure.positions[rows[0]] for rows in limbs], axis=0)
    found: dict[str, list[int]] = {}
    for rows, word in zip(limbs, said, strict=True):
        place = np.mean(figure.positions[rows], axis=0) - middle
        end = "front" if float((figure.positions[rows[0]] - middle) @ ahead) > 0.0 else "hind"
        side = word or ("left" if float(place @ left) > 0.0 else "right")
        found[f"{end} {side}"] = segments(figure, rows, down, ahead if end == "hind" else -ahead)
    return {name: found[name] for name in _ORDER if name in found}


def as_limbs(legs: Mapping[str, list[int]]) -> dict[str, Role]:
    """Map the four legs to the limb roles of a biped.

    Hind legs become legs and front legs become arms; the trunk search needs these.
    """
    parts = {"front": ("UpperArm", "LowerArm", "Hand"), "hind": ("UpperLeg", "LowerLeg", "Foot", "Toes")}
    return {
        f"{side}{role}": Role(row, STANDS, "one of four legs")
        for name, rows in legs.items()
        for end, side in [name.split()]
        for role, row in zip(parts[end], rows, strict=False)
    }


def _ahead(figure: Candidate, front: Pair, hind: Pair, said: list[str], up: Floats) -> Floats:
    """Find the forward direction (3,) of a quadruped.

    It comes from the words front and hind, the head's end, left and right, or the format.
    """
    limbs = [*front.limbs, *hind.limbs]
    words = [{word for row in rows for word in cut(figure.skeleton.names[row])} for rows in limbs]
    starts = [figure.positions[rows[0]] for rows in limbs]
    fronts = [point for point, one in zip(starts, words, strict=True) if one & FRONT]
    hinds = [point for point, one in zip(starts, words, strict=True) if one & HIND]
    if fronts and hinds:
        way = np.mean(fronts, axis=0) - np.mean(hinds, axis=0)
    elif front.attach != hind.attach:
        way = start(figure, front) - start(figure, hind)
    elif all(said):
        lefts, rights = ([point for point, one in zip(starts, said, strict=True) if one == side] for side in SIDES)
        way = np.cross(np.mean(lefts, axis=0) - np.mean(rights, axis=0), up)
    else:
        way = habitual(figure, up)
    return unit(way - up * float(way @ up))
