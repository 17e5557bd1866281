"""Legs of the bundled walk: feet that stand on ground which passes under them, knees worked out for them.

Metres; the ground passes towards -z. A cycle is one unit of u, the heel strikes at 0. Angles are about x: a foot's
positive pitch lowers its toes.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

STRIDE = 1.05  # how far the ground passes in a cycle
FLAT, HEEL_OFF, TOE_OFF = 0.07, 0.38, 0.62  # when the sole is down, when the heel leaves, when the toes leave
_PITCH = ((0.0, -0.28), (FLAT, 0.0), (HEEL_OFF, 0.0), (TOE_OFF, 0.75), (0.9, -0.25), (1.0, -0.28))
_UNDER = 0.31  # when the ankle passes under the hips
_CLEAR = 0.05  # how much higher a foot swings than from stance to stance
_TOES = 0.25  # in which the toes come back in line with the foot


class Step(NamedTuple):
    """One foot over time: pitch of foot and toes [rad], and the ankle (n, 2): height, and place along z."""

    foot: Floats
    toes: Floats
    ankle: Floats


def step(u: Floats, heel: Floats, ball: Floats) -> Step:
    """A foot at u (n,); heel on the ground and the toes' joint from the ankle at rest, (2,) height and along z each."""
    u = u % 1.0
    foot = _pitch(u)
    toes = np.where(u < FLAT, foot, 0.0)
    toes = np.where(u > TOE_OFF, foot * _eased((u - TOE_OFF) / _TOES), toes)
    return Step(foot, toes, np.where((u < TOE_OFF)[:, None], _stance(u, heel, ball), _swing(u, heel, ball)))


def _pitch(u: Floats) -> Floats:
    times, angles = np.array(_PITCH).T
    row = np.clip(np.searchsorted(times, u, side="right") - 1, 0, len(times) - 2)
    share = _eased((u - times[row]) / (times[row + 1] - times[row]))
    return angles[row] + share * (angles[row + 1] - angles[row])


def _stance(u: Floats, heel: Floats, ball: Floats) -> Floats:
    """The ankle of a foot that turns about its heel, stands, turns about its toes' joint."""
    pivot = np.where((u < HEEL_OFF)[:, None], heel, ball)
    ankle = np.stack([0 * u - heel[0], STRIDE * (_UNDER - u)], axis=-1)
    return ankle + pivot - _turned(pivot, _pitch(u))


def _swing(u: Floats, heel: Floats, ball: Floats) -> Floats:
    """The ankle from toe-off to heel strike: a cubic with the places and speeds of both ends, and a bit higher."""
    share, span, small = (u - TOE_OFF) / (1 - TOE_OFF), 1 - TOE_OFF, 1e-6
    off = _stance(np.array([TOE_OFF - small, TOE_OFF]), heel, ball)
    on = _stance(np.array([0.0, small]), heel, ball)
    speeds = [span * (pair[1] - pair[0]) / small for pair in (off, on)]
    t = share[:, None]
    cubic = (
        (2 * t**3 - 3 * t**2 + 1) * off[1]
        + (t**3 - 2 * t**2 + t) * speeds[0]
        + (3 * t**2 - 2 * t**3) * on[0]
        + (t**3 - t**2) * speeds[1]
    )
    return cubic + _CLEAR * np.stack([np.sin(np.pi * share) ** 2, 0 * share], axis=-1)


def _turned(point: Floats, pitch: Floats) -> Floats:
    """A point (n, 2), height and along z, turned about x."""
    height, along = point[..., 0], point[..., 1]
    sine, cosine = np.sin(pitch), np.cos(pitch)
    return np.stack([cosine * height - sine * along, sine * height + cosine * along], axis=-1)


def _eased(share: Floats) -> Floats:
    share = np.clip(share, 0.0, 1.0)
    return share * share * (3 - 2 * share)
