"""Side views: straight, or unrolled along a turning path."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from poise.ground.figure.motion import ANKLE, END, HIP, Motion
from poise.maths.arrays import Floats, Ints

_STRIDE, _MOST = 0.45, 14  # [m] between drawn legs, and their largest number
_STILL = 0.3  # [m] for shorter displacements the direction of the feet is the view's
_SWAY = 0.15  # [m] distance between path corners; smaller motion of the hips is sway
_FARTHER = 1.2  # ratio of path length to displacement above which the path is unrolled
_LONG = 1.0  # [m] shorter paths are never unrolled


class Straight(NamedTuple):
    """Side view along a fixed direction (2,). `origin` (2,) is its zero; the legs of `frames` (n,) are drawn."""

    along: Floats
    middle: Floats
    frames: Ints

    label = "along the path [m]"

    def seen(self, points: Floats) -> Floats:
        """Project points (n, ..., 3) [m] to along and up."""
        return np.stack([(points[..., :2] - self.middle) @ self.along, points[..., 2]], axis=-1)

    def below(self, motion: Motion, along: Floats) -> Floats:
        """Find ground positions (L, k, 2) on the line of each foot. They lie at the distances `along` (k,)."""
        left = np.array([-self.along[1], self.along[0]])
        ankles = motion.places[:, :, ANKLE, :2] - self.middle
        aside = np.median(ankles @ left, axis=0)
        return self.middle + along[:, None] * self.along + aside[:, None, None] * left


class Unrolled(NamedTuple):
    """Side view along a turning path, unrolled into a line. The drawing is monotone in time.

    distances         (F,) distance along the path in every frame [m]
    corner_distances  (k,) distance along the path at its corners [m]
    corners           (k, 2) positions of the corners [m]
    angles            (k,) directions of the path at the corners [rad], unwrapped
    frames            (n,) frames with drawn legs
    """

    went: Floats
    ends: Floats
    corners: Floats
    angles: Floats
    frames: Ints

    label = "along the unrolled path [m]"

    def seen(self, points: Floats) -> Floats:
        """Project points (n, ..., 3) [m] to along and up. The distance along the path is each frame's own."""
        went = self.went[self.frames]
        places, ahead = self._at(went)
        shape = (-1, *(1,) * (points.ndim - 2), 2)
        along = ((points[..., :2] - places.reshape(shape)) * ahead.reshape(shape)).sum(axis=-1)
        return np.stack([along + went.reshape(shape[:-1]), points[..., 2]], axis=-1)

    def below(self, motion: Motion, along: Floats) -> Floats:
        """Find ground positions (L, k, 2) beside the path.

        They are offset as far as each foot, at the distances `along` (k,).
        """
        places, ahead = self._at(self.went)
        offsets = motion.places[:, :, ANKLE, :2] - places[:, None]
        aside = np.median((offsets * _left(ahead)[:, None]).sum(axis=-1), axis=0)
        places, ahead = self._at(along)
        return places + aside[:, None, None] * _left(ahead)

    def _at(self, along: Floats) -> tuple[Floats, Floats]:
        """Interpolate positions (k, 2) and directions (k, 2) of the path.

        Beyond its ends the path is extended straight.
        """
        on = np.clip(along, 0.0, self.ends[-1])
        places = np.stack([np.interp(on, self.ends, self.corners[:, axis]) for axis in range(2)], axis=-1)
        angle = np.interp(on, self.ends, self.angles)
        ahead = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return places + (along - on)[:, None] * ahead, ahead


SideView: TypeAlias = Straight | Unrolled


def view_of(motion: Motion) -> SideView:
    """Choose the side view of a motion: straight or unrolled."""
    hips = motion.places[:, :, HIP, :2].mean(axis=1)
    corners = _corners(hips)
    length = float(np.linalg.norm(np.diff(hips[corners], axis=0), axis=1).sum())
    far = float(np.linalg.norm(hips[-1] - hips[0]))
    return _unrolled(hips, corners) if length > max(_FARTHER * far, _LONG) else _straight(motion, hips, far)


def _straight(motion: Motion, hips: Floats, far: float) -> Straight:
    way = hips[-1] - hips[0]
    if far < _STILL:
        way = (motion.places[:, :, END, :2] - motion.places[:, :, ANKLE, :2]).mean(axis=(0, 1))
    length = float(np.linalg.norm(way))
    along = way / length if length > 0 else np.array([1.0, 0.0])
    count = int(np.clip(np.ceil(far / _STRIDE), 1, _MOST)) + 1
    return Straight(along, hips[0], np.unique(np.linspace(0, len(motion) - 1, count).round().astype(int)))


def _corners(hips: Floats) -> list[int]:
    """Find the frames of path corners. In each the hips (F, 2) have moved on from the corner before."""
    frames = [0]
    for frame, place in enumerate(hips):
        if np.linalg.norm(place - hips[frames[-1]]) >= _SWAY:
            frames.append(frame)
    return frames


def _unrolled(hips: Floats, corners: list[int]) -> Unrolled:
    places = hips[corners]
    steps = np.diff(places, axis=0)
    ends = np.concatenate([[0.0], np.linalg.norm(steps, axis=1).cumsum()])
    angles = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    angles = np.concatenate([angles[:1], 0.5 * (angles[1:] + angles[:-1]), angles[-1:]])
    went = np.interp(np.arange(len(hips)), corners, ends)
    count = int(np.clip(np.ceil(ends[-1] / _STRIDE), 1, _MOST)) + 1
    frames = np.searchsorted(went, np.linspace(0.0, ends[-1], count)).clip(0, len(hips) - 1)
    return Unrolled(went, ends, places, angles, np.unique(frames))


def _left(ahead: Floats) -> Floats:
    """Rotate directions (..., 2) by 90 degrees to the left."""
    return np.stack([-ahead[..., 1], ahead[..., 0]], axis=-1)
