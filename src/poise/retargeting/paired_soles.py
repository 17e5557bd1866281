"""Sole and axes of a foot measured on its toes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE, TOES, Motion
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import median, normalise, remove_component
from poise.model.roles.bone_names import SIDES
from poise.retargeting.body import Segment

# [m] ankles of one figure are as high over both soles, to within this: a higher one is that of a foot on its toes
_MAX_UNLIKE_M = 0.05
# [m] shorter bones of a foot have no direction
_MIN_BONE_M = 0.005
# sine: knees that are straighter on average, within 6 degrees, show no side
_MIN_BEND_SINE = 0.1


class FootPair(NamedTuple):
    """A foot measured on its toes, and the other foot.

    sides         of the legs
    flat, raised  their columns among these
    turns         (2, 3, 3) from the joint of the flat foot to that of the raised one, and from toes to toes
    note          what is assumed
    """

    sides: tuple[str, ...]
    flat: int
    raised: int
    turns: Floats
    note: str

    def pair_soles(self, soles: Soles) -> Soles:
        """Give the raised foot the sole of the flat one."""
        points = [np.array(each) for each in (soles.heel, soles.ball, soles.tip)]
        for each, turn in zip(points, self.turns[[0, 0, 1]], strict=True):
            each[self.raised] = turn @ each[self.flat]
        return Soles(*points)

    def pair_segments(self, segments: Mapping[str, Segment]) -> dict[str, Segment]:
        """Give the raised foot and toes the axes of the flat ones."""
        paired = dict(segments)
        for part, turn in zip(("Foot", "Toes"), rotations.from_matrix(self.turns), strict=True):
            flat, raised = (segments.get(f"{self.sides[leg]}{part}") for leg in (self.flat, self.raised))
            if flat is not None and raised is not None:
                frame = rotations.multiply(turn, flat.row_frame)
                paired[f"{self.sides[self.raised]}{part}"] = Segment(raised.row, raised.row, frame, frame)
        return paired


def find_foot_pair(motion: Motion, soles: Soles) -> FootPair | None:
    """Find a foot measured on its toes. None where there is none.

    Both feet of a figure are taken as alike. Where one ankle is much higher over its sole than the other, that sole was
    measured on tiptoe: it is to get heel, ball and tip of the other foot, seen from the side.
    """
    sides = tuple(leg.side for leg in motion.figure.legs)
    heights = np.linalg.norm(soles.normals, axis=-1)
    is_pair = sorted(sides) == sorted(SIDES) and bool(soles.lengths.all() and motion.bends.all())
    if not is_pair or np.ptp(heights) <= _MAX_UNLIKE_M:
        return None
    flat, raised = int(heights.argmin()), int(heights.argmax())
    flat_axes, raised_axes = (_find_axes(motion, soles, leg) for leg in (flat, raised))
    note = f"the {sides[raised]} foot never stands flat: its sole is taken to be that of the other foot"
    return FootPair(sides, flat, raised, raised_axes @ np.swapaxes(flat_axes, -1, -2), note)


def _find_axes(motion: Motion, soles: Soles, leg: int) -> Floats:
    """Find the axes (2, 3, 3) of one foot and its toes.

    In each joint they are along the bone, to the figure's left, and their product. Toes without an end go by the foot's
    bone. Left is square to the sole, on the side that the bends of the knee show: the sole of a raised foot may have
    been measured upside down.
    """
    places, turns = motion.places[:, leg], motion.turns[:, leg]
    left = np.cross(soles.normals[leg], soles.ball[leg] - soles.heel[leg])
    bends = np.cross(normalise(places[:, KNEE] - places[:, HIP]), normalise(places[:, ANKLE] - places[:, KNEE]))
    shown = rotations.rotate(rotations.inverse(turns[:, FOOT]), bends).mean(axis=0)
    left = -left if float(normalise(left) @ shown) < -_MIN_BEND_SINE else left
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
    return median(rotations.rotate(rotations.inverse(turns), ways))


def _build_axes(bone: Floats, left: Floats) -> Floats:
    along = normalise(bone)
    across = normalise(remove_component(left, along))
    return np.stack([along, across, np.cross(along, across)], axis=1)
