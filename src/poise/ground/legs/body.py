"""Lean of a body on tilted ground.

A figure on four legs goes up in front where its front feet stand higher. One on two legs leans into a slope that it
goes up, and back going down.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from poise.ground.figure.figure import Figure
from poise.ground.figure.motion import HIP, Motion
from poise.ground.figure.speeds import lone_frames, shots_of, velocities
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import SMOOTH_S, base_heights
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.frame_masks import find_following
from poise.maths.smoothing import average_hann
from poise.maths.vectors import UP, dot, normalise, project_horizontal

# of the slope, and [m/s] the speed at which it is half of that: a figure that stands does not lean. The same as of the
# live Grounder, after Leroux, Fung and Barbeau: Postural adaptation to walking on inclined surfaces (2002)
_LEANS, _STROLL = 0.3, 0.3
_STRIDE_S = 1.0  # [s] of two steps: the slope is that of a way so long, so that a body does not nod with its steps
_LEAST_LEAN_RAD = 0.01  # [rad] a smaller lean is not seen
_MOST_LEAN_RAD = _LEANS * np.tan(np.radians(35.0))  # [rad] steeper ground is climbed, or jumped from


@dataclass(frozen=True, eq=False)
class Lean:
    """A rotation and a displacement of the whole character.

    The rotation (F, 4) is about a centre (F, 3) [m], z up; then it is moved by (F, 3) [m].
    """

    turn: Floats
    centre: Floats
    shift: Floats

    def of(self, points: Floats) -> Floats:
        """Where points (F, ..., 3) go."""
        more = (slice(None), *[None] * (points.ndim - 2))
        centre = self.centre[more]
        return centre + rotations.rotate(self.turn[more], points - centre) + self.shift[more]

    def motion(self, motion: Motion) -> Motion:
        """The motion of the leaning figure."""
        turns = rotations.multiply(self.turn[:, None, None], motion.turns)
        return dataclasses.replace(motion, places=self.of(motion.places), turns=turns)


def lean_of(motion: Motion, feet: Feet) -> Lean | None:
    """Compute the lean of a body from the ground under its feet. None where it does not lean."""
    names = [leg.name for leg in motion.figure.legs]
    if any(name.startswith("front") for name in names) and any(name.startswith("hind") for name in names):
        return _tilt_on_four_legs(motion, feet)
    leans = len(names) == 2 and motion.step > 0.0 and not _has_feet_apart(motion.figure)  # noqa: PLR2004
    return _lean_into_slopes(motion, feet) if leans else None


def _has_feet_apart(figure: Figure) -> bool:
    """Return whether feet hang beside their legs. They do not lean with the body."""
    skeleton = figure.skeleton
    return any(skeleton.index(leg.lower) not in skeleton.list_path(skeleton.index(leg.foot)) for leg in figure.legs)


def _tilt_on_four_legs(motion: Motion, feet: Feet) -> Lean:
    """Tilt a figure on four legs.

    The angle is that of the line from the ground under the hind feet to that under the front feet, which are taken to
    be at least half as far apart as the hips; the centre is that of all hips.
    """
    front = np.array([leg.name.startswith("front") for leg in motion.figure.legs])
    hind = np.array([leg.name.startswith("hind") for leg in motion.figure.legs])
    hips = motion.places[:, :, HIP]
    forward = project_horizontal(hips[:, front].mean(axis=1) - hips[:, hind].mean(axis=1))
    ahead, apart = normalise(forward), np.linalg.norm(forward, axis=-1)
    way = feet.ankles[:, front].mean(axis=1) - feet.ankles[:, hind].mean(axis=1)
    higher = feet.rise[:, front].mean(axis=1) - feet.rise[:, hind].mean(axis=1)
    angle = np.arctan2(higher, np.maximum(dot(way, ahead), 0.5 * apart))
    angle = average_hann(angle, motion.frames(SMOOTH_S))
    centre = hips.mean(axis=1)
    return Lean(rotations.about(np.cross(ahead, UP), angle), centre, np.zeros_like(centre))


def _lean_into_slopes(motion: Motion, feet: Feet) -> Lean | None:
    """Lean a figure on two legs about the middle of its hips.

    It leans by a share of the slope along its way. A figure that stands does not lean; its way is v, its rise w:
    lean = 0.3 w v / (v² + v0²), as on 35 degrees at most.
    """
    centre, shots = motion.places[:, :, HIP].mean(axis=1), shots_of(motion)
    path = np.column_stack([centre[:, :2], base_heights(motion, feet.rise)])
    moves, lone = velocities(motion.times, path, shots, _STRIDE_S), lone_frames(motion)
    way = moves[:, :2]
    leans = (_LEANS * moves[:, 2] / ((way * way).sum(axis=1) + _STROLL**2))[:, None] * way
    leans *= np.minimum(1.0, _MOST_LEAN_RAD / np.maximum(np.linalg.norm(leans, axis=1), _MOST_LEAN_RAD))[:, None]
    leans = average_hann(leans[find_following(lone)], motion.frames(SMOOTH_S))
    leans[lone] = 0.0
    if np.abs(leans).max() < _LEAST_LEAN_RAD:
        return None
    turn = rotations.from_vector(np.column_stack([-leans[:, 1], leans[:, 0], np.zeros(len(leans))]))
    return Lean(turn, centre, np.zeros_like(centre))
