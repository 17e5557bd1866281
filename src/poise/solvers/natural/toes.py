"""Toes: legs on held toes with rising heels.

The foot stays as it stood while the shin can lean so far over it and the leg is long enough. Beyond that it turns about
the joint of the toes and the heel goes up, as little as will do; the toes stay on the ground.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import normalise
from poise.model.anatomy.standing_pose import compute_standing_transforms, find_standing_frame
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.body_maps import find_points, find_turns, list_turns
from poise.solvers.natural.limbs import Bends, find_middles, find_poles, find_rotation_columns
from poise.solvers.natural.surroundings import Surroundings, express_in_frame

MAX_SHIN_LEAN_RAD = np.radians(30.0)  # of a shin over its flat foot, weight on it; most people's ankles end there
_MAX_HEEL_RAD = np.radians(75.0)  # the heel goes up by, on the tips of the toes
# Steps of halving, to 2.3 degrees, and of false position after them: to a thousandth of a degree in 99 of 100 heels.
_HALVINGS, _FALSE_POSITIONS = 5, 5


class HeldToes(NamedTuple):
    """Held toes and their foot.

    foot, toes  rows of the skeleton, the second a child of the first
    joint       (3,) the joint of the toes, in the foot's frame
    axes        (3, 3) the foot's directions ahead, up and across, in its frame; the heel goes up about the last
    """

    foot: int
    toes: int
    joint: Floats
    axes: Floats


class RaisedFoot(NamedTuple):
    """Targets (k, 7) of a foot, and rotations (k, 4) of toes."""

    targets: Floats
    toe_turns: Floats


def find_held_toes(skeleton: Skeleton, foot: int, toes: int) -> HeldToes | None:
    """Find how toes hang on their foot. None with joints in between."""
    if int(skeleton.parents[toes]) != foot or skeleton.kinds[toes] not in (Kind.BALL, Kind.FREE):
        return None
    return get_or_compute(skeleton, "held toes", (foot, toes), lambda: _find_held_toes(skeleton, foot, toes))


def _find_held_toes(skeleton: Skeleton, foot: int, toes: int) -> HeldToes | None:
    maps, figure = compute_standing_transforms(skeleton), find_standing_frame(skeleton)
    way = maps[toes, :3, 3] - maps[foot, :3, 3]
    ahead = way - figure.up * float(way @ figure.up)
    if not np.linalg.norm(ahead) > 0.0:
        return None
    ahead = normalise(ahead)
    axes = np.stack([ahead, figure.up, np.cross(figure.up, ahead)])
    frame = maps[foot]
    return HeldToes(foot, toes, express_in_frame(frame, way), normalise(express_in_frame(frame, axes)))


def stand_flat(held: HeldToes, pose: Pose, places: Floats) -> Floats:
    """Return ankles (k, 3) of flat feet over toe places (k, 3)."""
    return places - rotations.rotate(find_turns(pose, held.foot), held.joint)


def raise_heels(
    held: HeldToes, bends: Bends, pose: Pose, stood: Pose, targets: Floats, lean: Floats | None, around: Surroundings
) -> RaisedFoot:
    """Raise heels over held toes by the least angle. Ankles and leg lengths set it.

    pose, stood  where the hips are, and how feet and toes are turned as they stand: poses (1|k,)
    targets      (k, 3|7) of the joints of the toes
    """
    count, limb = len(targets), bends.limb
    turns = list_turns(stood, [held.foot, held.toes])
    foot = np.broadcast_to(turns[:, 0], (count, 4))
    hips = np.broadcast_to(find_points(pose, limb.first), (count, 3))
    toe_turns = targets[:, 3:7] if targets.shape[1] > 3 else np.broadcast_to(turns[:, 1], (count, 4))  # noqa: PLR2004
    across = rotations.rotate(foot, held.axes[2])

    def place_feet(angles: Floats) -> Floats:
        turned = rotations.multiply(rotations.about(across, angles), foot)
        return np.concatenate([targets[:, :3] - rotations.rotate(turned, held.joint), turned], axis=1)

    def measure_excess(angles: Floats) -> Floats:
        """Measure how far shins lean too much, or legs are too short."""
        feet = place_feet(angles)
        knees = find_middles(limb, hips, feet[:, :3], find_poles(bends, pose, feet, lean, around))
        shins = knees - feet[:, :3]
        ahead, up = (rotations.rotate(feet[:, 3:], axis) for axis in held.axes[:2])
        leans = np.arctan2((shins * ahead).sum(axis=1), (shins * up).sum(axis=1))
        short = np.linalg.norm(feet[:, :3] - hips, axis=1) / sum(limb.lengths) - 1.0
        return np.maximum(leans - MAX_SHIN_LEAN_RAD, short)

    return RaisedFoot(place_feet(_find_heels(measure_excess, count)), np.array(toe_turns))


def _find_heels(measure_excess: Callable[[Floats], Floats], count: int) -> Floats:
    """Find the least angles (count,) of heels without excess.

    Halving finds an interval that ends without excess: a high heel may be too far from the hip again. False position,
    which halves the excess of an end that stays twice (Dowell and Jarratt, 1971), narrows it.
    """
    low, high = np.zeros(count), np.full(count, _MAX_HEEL_RAD)
    low_excess, high_excess = measure_excess(low), np.full(count, np.nan)
    is_raised = low_excess > 0.0
    stays = np.zeros(count)
    for step in range(_HALVINGS + _FALSE_POSITIONS if is_raised.any() else 0):
        angles = 0.5 * (low + high)
        if step >= _HALVINGS:
            is_between = is_raised & (high_excess <= 0.0)  # false where no angle was without excess
            size = np.where(is_between, high_excess - low_excess, 1.0)
            angles = np.where(is_between, (low * high_excess - high * low_excess) / size, angles)
        excess = measure_excess(angles)
        is_low = excess > 0.0
        high_excess = np.where(is_low, high_excess * np.where(stays > 0.0, 0.5, 1.0), excess)
        low_excess = np.where(is_low, excess, low_excess * np.where(stays < 0.0, 0.5, 1.0))
        low, high = np.where(is_low, angles, low), np.where(is_low, high, angles)
        stays = np.where(is_low, 1.0, -1.0) if step >= _HALVINGS else stays
    return np.where(is_raised, high, 0.0)


def turn_toes(held: HeldToes, pose: Pose, toe_turns: Floats) -> Floats:
    """Turn toes to world rotations (k, 4); return (k, nq)."""
    skeleton, q = pose.skeleton, pose.flat_q.copy()
    own = find_turns(pose, held.toes)
    columns = find_rotation_columns(skeleton, held.toes)
    q[:, columns] = rotations.multiply(q[:, columns], rotations.multiply(rotations.inverse(own), toe_turns))
    return skeleton.bounds.clamp_by_kernel(q)
