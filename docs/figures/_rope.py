"""Chains for figures: a rope of equal bones, and the bend of each joint."""

from __future__ import annotations

from typing import Any

import numpy as np

import poise


def rope(bones: int = 10, kind: poise.Kind = poise.Kind.BALL) -> poise.Pose:
    """A straight chain along +y with bones of length 1, from `bone_0` to `tip`; hinges turn about z."""
    axes = [[0, 0, float(kind == poise.Kind.HINGE)]] * bones + [[0, 0, 0]]
    skeleton = poise.Skeleton.build(
        [*(f"bone_{i}" for i in range(bones)), "tip"],
        range(-1, bones),
        [kind] * bones + [poise.Kind.FIXED],
        offsets=[[0, 0, 0], *[[0, 1, 0]] * bones],
        axes=axes,
    )
    return poise.Pose(skeleton, skeleton.rest_q)


def bends(pose: poise.Pose) -> Any:
    """Angles (..., bones) [degrees] between each bone and the one before it; the first: from straight up."""
    ways = np.diff(pose.world.positions, axis=-2)
    ways = ways / np.linalg.norm(ways, axis=-1, keepdims=True)
    before = np.concatenate([np.broadcast_to([0.0, 1.0, 0.0], ways[..., :1, :].shape), ways[..., :-1, :]], axis=-2)
    return np.degrees(np.arccos(np.clip((ways * before).sum(axis=-1), -1, 1)))
