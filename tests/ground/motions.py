"""Motions for the tests of ground/: of real clips, and of two legs that are moved by hand."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

import poise
from poise.ground.figure.figure import Figure, figure_of
from poise.ground.figure.motion import Motion, motion_of
from poise.model.roles import Leg
from poise.model.skeleton import Kind

STANDING = np.array([[0.0, 0.0, 0.9], [0.0, 0.0, 0.5], [0.0, 0.0, 0.1], [0.0, -0.15, 0.03], [0.0, -0.2, 0.02]])
"""Hip, knee, ankle, ball and end of a leg that stands and faces -y [m]."""
SIDES = {"left": 0.1, "right": -0.1}
PARTS = ("upper", "lower", "foot", "toes", "end")


@cache
def load(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return poise.load(path)


@cache
def motion(path, clip=None, fps=None):
    """The legs of a clip, at its own rate or another."""
    rig = load(path)
    found = rig.clips[0] if clip is None else rig.clip(clip)
    found = found.resample(fps) if fps else found
    return motion_of(found, figure_of(found))


@cache
def two_legs(toes=True, ahead=0.15):
    """A figure of two legs, z up, in metres, whose balls are `ahead` of the ankles; its left is +x, it faces -y."""
    standing = STANDING * [1.0, ahead / 0.15, 1.0]
    names, parents, offsets = ["hips"], [-1], [np.zeros(3)]
    for side, x in SIDES.items():
        for row, part in enumerate(PARTS):
            names.append(f"{side} {part}")
            parents.append(len(names) - 2 if row else 0)
            offsets.append(standing[row] - standing[row - 1] if row else np.array([x, 0.0, 0.9]))
    skeleton = poise.Skeleton.build(names, parents, [Kind.BALL] * len(names), offsets=offsets)
    legs = tuple(
        Leg(side, f"{side} upper", f"{side} lower", f"{side} foot", f"{side} toes" if toes else None) for side in SIDES
    )
    return Figure(skeleton, legs, "z", 1.0, "hips", "hips")


def moved(left, right, fps=60.0, *, times=None):
    """Two legs that stand, each moved as a whole by offsets (F, 3) [m]."""
    offsets = np.stack(np.broadcast_arrays(left, right), axis=1).astype(float)
    start = np.stack([STANDING + np.array([x, 0.0, 0.0]) for x in SIDES.values()])
    turns = np.zeros((*offsets.shape[:2], 4, 4))
    turns[..., 0] = 1.0
    times = np.arange(len(offsets)) / fps if times is None else np.asarray(times, dtype=float)
    return Motion(two_legs(), times, start + offsets[:, :, None, :], turns)


def path(frames, **columns):
    """Offsets (F, 3) from columns x, y, z."""
    zeros = np.zeros(frames)
    return np.stack(np.broadcast_arrays(*(columns.get(axis, zeros) for axis in "xyz")), axis=1)
