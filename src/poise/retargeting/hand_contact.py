"""Distance of hands near each other, in arm lengths."""

from __future__ import annotations

import numpy as np

from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade, count_frames
from poise.maths.smoothing import average_hann, smoothstep
from poise.maths.vectors import length
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.retargeting.body import Body
from poise.retargeting.limb_ends import ARM, move_limb_ends
from poise.retargeting.root_path import turn_back, turn_positions

# [arm lengths] hands that are nearer than the first begin to count, those nearer than the second count in full
_FAR, _NEAR = 0.9, 0.4
# [s] half the window over which their weight is smoothed
WEIGHT_HALF_WINDOW_S = 0.075
# [s] over which it fades before and after an arm bears
BEARING_FADE_S = 0.15


def compute_touch_weights(times: Floats, positions: Floats, body: Body, bears: Bools) -> Floats:
    """Compute how much (F,) the distance of hands counts, 0 to 1.

    positions  (F, n, 3) of the source
    bears      (F,) frames in which an arm bears: its hand stays on the ground. The weight fades before and after
    """
    distance = length(_find_separation(positions, body)) / body.arm_length
    weights = smoothstep(np.clip((_FAR - distance) / (_FAR - _NEAR), 0.0, 1.0))
    smooth = average_hann(weights, count_frames(times, WEIGHT_HALF_WINDOW_S))
    return smooth * compute_fade(times, bears[:, None], BEARING_FADE_S)[:, 0] if bears.any() else smooth


def bring_hands_together(poses: Pose, weights: Floats, source_positions: Floats, bodies: tuple[Body, Body]) -> Pose:
    """Bring the target's hands as near as those of the source.

    weights           (F,) of each frame; a frame of weight 0 stays bit for bit
    source_positions  (F, n, 3)

    Both hands move, their middle stays. Arms bend in their own plane; hands keep their rotation in the world.
    """
    frames = np.flatnonzero(weights > 0.0)
    if not len(frames):
        return poses
    source, target = bodies
    separation = turn_positions(source, _find_separation(source_positions, source)[frames])
    wanted = turn_back(target, separation * (target.arm_length / source.arm_length))
    change = 0.5 * weights[frames, None] * (wanted - _find_separation(poses.world.positions, target)[frames])
    moves = np.zeros((len(weights), len(SIDES), 3))
    moves[frames] = np.stack([change, -change], axis=1)
    return move_limb_ends(poses, target, ARM, moves)


def measure_hand_distances(positions: Floats, body: Body) -> Floats:
    """Measure the distance (F,) of both wrists in arm lengths."""
    return length(_find_separation(positions, body)) / body.arm_length


def _find_separation(positions: Floats, body: Body) -> Floats:
    return positions[:, body.rows["leftHand"]] - positions[:, body.rows["rightHand"]]
