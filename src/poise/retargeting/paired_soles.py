"""Soles of a foot on its toes, from the other foot."""

from __future__ import annotations

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, TOES, Motion
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import normalise, remove_component
from poise.model.roles.bone_names import SIDES

# [m] ankles of one figure are as high over both soles, to within this: a higher one is that of a foot on its toes
_MAX_UNLIKE_M = 0.05
# [m] shorter bones of a foot have no direction
_MIN_BONE_M = 0.005


def pair_soles(motion: Motion, soles: Soles) -> tuple[Soles, tuple[str, ...]]:
    """Replace the sole of a foot on its toes. Also return a note.

    Both feet of a figure are taken as alike. Where one ankle is much higher over its sole than the other, that sole was
    measured on tiptoe: it gets heel, ball and tip of the other foot, seen from the side.
    """
    sides = [leg.side for leg in motion.figure.legs]
    if sorted(sides) != sorted(SIDES):
        return soles, ()
    heights = np.linalg.norm(soles.normals, axis=-1)
    if np.ptp(heights) <= _MAX_UNLIKE_M or not soles.lengths.all():
        return soles, ()
    flat, raised = int(heights.argmin()), int(heights.argmax())
    if not motion.bends.all():
        return soles, ()
    flat_axes, raised_axes = (_find_axes(motion, soles, leg) for leg in (flat, raised))
    ankle_turn, toe_turn = raised_axes @ np.swapaxes(flat_axes, -1, -2)
    heel, ball, tip = soles.heel.copy(), soles.ball.copy(), soles.tip.copy()
    heel[raised], ball[raised], tip[raised] = (
        ankle_turn @ soles.heel[flat], ankle_turn @ soles.ball[flat], toe_turn @ soles.tip[flat]
    )  # fmt: skip
    note = f"the {sides[raised]} foot never stands flat: its sole is taken to be that of the other foot"
    return Soles(heel, ball, tip), (note,)


def _find_axes(motion: Motion, soles: Soles, leg: int) -> Floats:
    """Find the axes (2, 3, 3) of one foot and its toes.

    They are in the joints of both. They are along the bone, to the figure's left, and their product. Toes without an end go by the foot's bone.
    """
    places, turns = motion.places[:, leg], motion.turns[:, leg]
    left = np.cross(soles.normals[leg], soles.ball[leg] - soles.heel[leg])
    bone = _find_bone(turns[:, FOOT], places[:, BALL] - places[:, ANKLE])
    to_toes = rotations.multiply(rotations.inverse(turns[:, TOES]), turns[:, FOOT])
    end = _find_bone(turns[:, TOES], places[:, END] - places[:, BALL])
    if float(np.linalg.norm(end)) < _MIN_BONE_M:
        end = rotations.rotate(to_toes, bone).mean(axis=0)
    return np.stack([_build_axes(bone, left), _build_axes(end, rotations.rotate(to_toes, left).mean(axis=0))])


def _find_bone(turns: Floats, ways: Floats) -> Floats:
    """Find a bone (3,) in the frame of its joint.

    ways  (F, 3) along it, in the world
    """
    return np.median(rotations.rotate(rotations.inverse(turns), ways), axis=0)


def _build_axes(bone: Floats, left: Floats) -> Floats:
    along = normalise(bone)
    across = normalise(remove_component(left, along))
    return np.stack([along, across, np.cross(along, across)], axis=1)
