"""Soles: the points of a foot that touch the ground, in the frames of its joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poise import rotations
from poise.arrays import Bools, Floats
from poise.ground.motion import ANKLE, BALL, END, FOOT, HIP, TOES, Motion
from poise.ground.speeds import shots_of, velocities
from poise.pose import Pose

if TYPE_CHECKING:
    from poise.ground.contacts import Contacts

HEEL_POINT, BALL_POINT, TIP_POINT = range(3)

_HEEL = 0.3  # the heel is behind the ankle by this share of the distance from ankle to ball, seen from above
_TIP = 0.5  # and the tip of toes without an end joint ahead of the ball by this one
_FOOT = 0.13  # ankle to ball over the length of the leg, where no joint says it (a foot of 0.152 of the height)
_STEEP = 2.0  # a foot that rises by more than this from ball to ankle stands on its toes: hocks, not heels
_NEAR_ZERO = 0.15  # [m] a lowest joint at most this high stands on a floor at 0
_THICKNESS = 0.02  # [m] from the lowest joint of a foot to its sole, where the floor is not at 0
_LOW = 0.05  # [m] a foot is low that is at most this much above its lowest stance: clips drift by that
_SLOW = 0.3  # [m/s]
_LOWEST = 0.1  # the share of all frames taken as lowest, where none is slow
_FRAMES = 100  # flat frames that are looked at: a median needs no more


@dataclass(frozen=True, eq=False)
class Soles:
    """Points on the sole of each of L feet [m].

    heel, ball  (L, 3) in the foot's frame, from the ankle
    tip         (L, 3) in the toes' frame, from the ball's joint (of a foot without toes: in the foot's, from the ankle)
    """

    heel: Floats
    ball: Floats
    tip: Floats

    def points(self, motion: Motion) -> Floats:
        """(F, L, 3, 3) heel, ball and tip of each foot in every frame [m], z up."""
        foot, toes = motion.turns[:, :, FOOT], motion.turns[:, :, TOES]
        ankle, joint = motion.places[:, :, ANKLE], motion.places[:, :, BALL]
        return np.stack(
            [
                ankle + rotations.rotate(foot, np.broadcast_to(self.heel, ankle.shape)),
                ankle + rotations.rotate(foot, np.broadcast_to(self.ball, ankle.shape)),
                joint + rotations.rotate(toes, np.broadcast_to(self.tip, joint.shape)),
            ],
            axis=2,
        )


def find_soles(motion: Motion, contacts: Contacts | None = None, *, slow: bool = True) -> Soles:
    """Find heel, ball and tip of each foot from the frames in which it stands flat.

    contacts  flat is where heel and ball stand; if None, where ankle and ball are slow and low
    slow      False: flat is where ankle and ball are lowest, however they move (clips that do not travel)

    In flat stance heel, ball and tip are on the floor: the heel behind the ankle by 0.3 of the distance from ankle to
    ball, the ball under its joint, the tip under the end of the toes (toes without one: 0.5 of that distance ahead of
    the ball). Each is the median over the flat frames, so that a floor that drifts averages out. A foot that never
    stands flat is measured where it is lowest.

    The floor is at 0 where the lowest joint of the foot stands at most 0.15 m above it, otherwise 0.02 m under that
    joint. A foot without toes is taken to point where the figure faces, as long as a foot of the leg's length is;
    of a figure on four legs it is one point under the ankle, and so are heel and ball of a foot that stands on its
    toes (a hock).
    """
    flats = _flat_frames(motion, contacts, slow=slow)
    ahead = _ahead(motion)
    return Soles(*(np.stack(points) for points in zip(*(
        _sole(motion, leg, flats[leg], ahead) for leg in range(len(flats))), strict=True)))  # fmt: skip


class _Sole(NamedTuple):
    heel: Floats
    ball: Floats
    tip: Floats


def _sole(motion: Motion, leg: int, frames: np.ndarray, facing: Floats) -> _Sole:
    """The points of one foot, median over its flat frames."""
    places, turns = motion.places[frames, leg], motion.turns[frames, leg]
    ankle, joint, end = places[:, ANKLE], places[:, BALL], places[:, END]
    floor = _floor(places)
    ahead = _level(joint - ankle)
    if not motion.figure.legs[leg].toes:
        many = len(motion.figure.legs) > 2  # noqa: PLR2004  (on four legs)
        ahead = 0.0 * ahead if many else facing[frames] * (_FOOT * _leg_length(places))
        joint = end = ankle + ahead
    steep = np.median(ankle[:, 2] - joint[:, 2]) > _STEEP * np.median(np.linalg.norm(ahead, axis=1))
    heel = joint if steep else ankle - _HEEL * ahead
    if np.abs(end - joint).max() == 0.0:
        end = joint + _TIP * ahead
    to_foot, to_toes = rotations.inverse(turns[:, FOOT]), rotations.inverse(turns[:, TOES])
    base = ankle if not motion.figure.legs[leg].toes else places[:, BALL]
    points = [
        rotations.rotate(to_foot, _lowered(heel, floor) - ankle),
        rotations.rotate(to_foot, _lowered(joint, floor) - ankle),
        rotations.rotate(to_toes, _lowered(end, floor) - base),
    ]
    return _Sole(*np.median(np.stack(points), axis=1))


def _level(vectors: Floats) -> Floats:
    return vectors * [1.0, 1.0, 0.0]


def _lowered(points: Floats, floor: float) -> Floats:
    lowered = points.copy()
    lowered[:, 2] = floor
    return lowered


def _floor(places: Floats) -> float:
    """Height of the floor under a foot in flat stance."""
    lowest = float(np.median(places[:, ANKLE:, 2].min(axis=1)))
    return 0.0 if 0.0 <= lowest <= _NEAR_ZERO else lowest - _THICKNESS


def _leg_length(places: Floats) -> float:
    bones = np.linalg.norm(np.diff(places[:1, HIP : ANKLE + 1], axis=1), axis=2)
    return float(bones.sum())


def _ahead(motion: Motion) -> Floats:
    """Unit vectors (F, 3) where the figure faces, level: right of it are the hips of its right legs.

    Without a left and a right leg: where the knees are ahead of the ankles; zero where nothing says it.
    """
    names = [leg.name.lower() for leg in motion.figure.legs]
    left = [i for i, name in enumerate(names) if "left" in name]
    right = [i for i, name in enumerate(names) if "right" in name]
    if left and right:
        across = motion.places[:, left, HIP].mean(axis=1) - motion.places[:, right, HIP].mean(axis=1)
        ahead = np.stack([across[:, 1], -across[:, 0], np.zeros(len(across))], axis=1)
    else:
        hips, knees, ankles = (motion.places[:, :, place].mean(axis=1) for place in range(3))
        ahead = _level(knees - (hips + ankles) / 2)
    length = np.linalg.norm(ahead, axis=1, keepdims=True)
    return ahead / np.where(length > 0, length, 1.0)


def _flat_frames(motion: Motion, contacts: Contacts | None, *, slow: bool) -> list[np.ndarray]:
    """The frames in which each foot stands flat; where it never does, those in which it is lowest."""
    places = motion.places[:, :, [ANKLE, BALL]]
    over = (places[..., 2] - places[..., 2].min(axis=0)).max(axis=2)  # (F, L) both joints
    flat: Bools
    if contacts is not None:
        flat = contacts.heel & contacts.ball
    elif slow:
        flat = _slow(motion, places)
        low = [np.quantile(over[flat[:, leg], leg], _LOWEST) if flat[:, leg].any() else 0.0 for leg in range(flat.shape[1])]
        flat &= over <= np.array(low) + _LOW
    else:
        flat = np.zeros(over.shape, dtype=np.bool_)
    return [_some(np.flatnonzero(flat[:, leg]), over[:, leg]) for leg in range(over.shape[1])]


def _slow(motion: Motion, places: Floats) -> Bools:
    shots = shots_of(motion)
    speed = np.sqrt((velocities(motion.times, places, shots, 0.05) ** 2).sum(axis=-1)).max(axis=2)
    alone = (shots.first == shots.last) & (len(motion) > 1)
    return (speed < _SLOW) & ~alone[:, None]


def _some(flat: np.ndarray, over: Floats) -> np.ndarray:
    """At most a hundred of the flat frames, evenly; of none, the lowest."""
    if not len(flat):
        count = max(1, int(_LOWEST * len(over)))
        flat = np.sort(np.argsort(over, kind="stable")[:count])
    return flat if len(flat) <= _FRAMES else flat[np.linspace(0, len(flat) - 1, _FRAMES).astype(np.int64)]
