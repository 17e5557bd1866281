"""Axes of elbows and knees, from how clips bend them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import cross, length, normalise
from poise.model.clip import Clip
from poise.model.pose import Transforms
from poise.model.roles.bone_names import SIDES

LIMBS = (("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot"))

# sine: a limb that is bent less does not show its axis
_MIN_BEND_SINE = float(np.sin(np.radians(12.0)))
# length of the sum of bends, of the sum of their lengths: below it they have no common axis
_MIN_AGREEMENT = 0.9
# bent frames without which a clip shows nothing
_MIN_BENT_FRAMES = 5
# clips that are measured, and frames of all of them; of more, every nth: 4 of a knight's 76 clips show the same axes
_MAX_MEASURED_CLIPS, _MAX_MEASURED_FRAMES = 16, 1000


class SampledWorld(NamedTuple):
    """World positions and rotations of frames.

    positions  (F, n, 3)
    rotations  (F, 4) of some joints, by row
    """

    positions: Floats
    rotations: Mapping[int, Floats]


def sample_worlds(clips: Sequence[Clip], rows: Iterable[int]) -> list[SampledWorld]:
    """Sample the frames of clips for measuring a character. Rotations are those of the joints in these rows."""
    chosen = [clip for clip in clips if len(clip)]
    chosen = chosen[:: max(1, -(-len(chosen) // _MAX_MEASURED_CLIPS))]
    total = sum(len(clip) for clip in chosen)
    stride = max(1, -(-total // _MAX_MEASURED_FRAMES))
    worlds = [(clip.poses if stride == 1 else clip.poses[::stride]).world for clip in chosen]
    measured = sorted(set(rows))
    sampled: list[SampledWorld] = []
    for world in worlds:
        turns = Transforms(world.skeleton, world.affine[:, measured]).rotations
        sampled.append(SampledWorld(world.positions, {row: turns[:, column] for column, row in enumerate(measured)}))
    return sampled


def measure_bend_axes(
    rows: Mapping[str, int], carriers: Mapping[str, int], poses: Sequence[SampledWorld]
) -> dict[str, Floats]:
    """Measure the axes (3,) of elbows and knees in clips.

    rows      joints of roles
    carriers  joints whose rotations count for a segment
    poses     of the clips, see `sample_worlds`

    Each axis is in the frame of the segment's carrier: the sum over bent frames of e1 x (e1 of the segment below), for
    the segment above the hinge and for the one below. It is left out where the frames do not agree.
    """
    axes: dict[str, Floats] = {}
    if not poses:
        return axes
    for side in SIDES:
        for parts in LIMBS:
            roles = [f"{side}{part}" for part in parts]
            if not all(role in rows for role in roles):
                continue
            bends, turns = _measure_bends(poses, [rows[role] for role in roles], [carriers[role] for role in roles[:2]])
            for role, turn in zip(roles[:2], turns, strict=True):
                axis = _average_bends(rotations.rotate(rotations.inverse(turn), bends))
                if axis is not None:
                    axes[role] = axis
    return axes


def _measure_bends(poses: Sequence[SampledWorld], rows: list[int], carriers: list[int]) -> tuple[Floats, list[Floats]]:
    """Measure bend vectors (F, 3) and rotations (F, 4) of carriers."""
    positions = np.concatenate([points[:, rows] for points, _ in poses])
    upper, lower = normalise(positions[:, 1] - positions[:, 0]), normalise(positions[:, 2] - positions[:, 1])
    return cross(upper, lower), [np.concatenate([turns[carrier] for _, turns in poses]) for carrier in carriers]


def _average_bends(bends: Floats) -> Floats | None:
    """Average bend vectors (F, 3) of the bent frames. None where they are few or do not agree."""
    sines = length(bends)
    bent = sines > _MIN_BEND_SINE
    if bent.sum() < _MIN_BENT_FRAMES:
        return None
    total = bends[bent].sum(axis=0)
    agreed = float(np.linalg.norm(total))
    return total / agreed if agreed >= _MIN_AGREEMENT * float(sines[bent].sum()) else None
