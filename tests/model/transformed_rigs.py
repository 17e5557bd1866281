"""Copies of skeletons that are the same figure in another guise: bones rolled, another unit, up, or other names."""

from __future__ import annotations

import numpy as np

import poise
from poise.maths import rotations
from poise.model.joints import Kind

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
UPS = {"y": UPRIGHT, "z": rotations.about(np.array([1.0, 0.0, 0.0]), np.pi / 2)}


def in_another_guise(rig, *, seed=3, scale=1.0, up="y", names=None, says_up=True):
    """The skeleton of a rig that is y up: every joint turned at random, all of it scaled and turned to another up.

    Joints stand where they stood. Names are those of the rig, or others; roles are given as a sidecar would.
    """
    s, turn = rig.skeleton, UPS[up]
    points = scale * rotations.rotate(turn, rig.rest.world.positions)
    frames = np.random.default_rng(seed).normal(size=(len(s), 4))
    frames /= np.linalg.norm(frames, axis=1, keepdims=True)
    own, offsets = [], []
    for row, parent in enumerate(s.parents.tolist()):
        back = rotations.inverse(frames[parent]) if parent >= 0 else UPRIGHT
        own.append(rotations.multiply(back, frames[row]))
        offsets.append(rotations.rotate(back, points[row] - (points[parent] if parent >= 0 else 0.0)))
    kinds = [Kind.FIXED if kind == Kind.FIXED else Kind.BALL for kind in s.kinds]
    called = list(s.names) if names is None else names
    known = poise.find_roles(rig).joints
    roles = {} if names is None else {role: called[s.index(joint)] for role, joint in known.items()}
    return poise.Skeleton.build(
        called, s.parents.tolist(), kinds, offsets=np.array(offsets), rotations=np.array(own),
        up=up if says_up else None, roles=roles,
    )  # fmt: skip


def nonsense(count):
    """Names that say nothing."""
    return [f"q{number}" for number in range(count)]
