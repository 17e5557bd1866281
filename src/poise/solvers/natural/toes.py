"""Toes: legs on held toes with rising heels.

The foot stays as it stood while the shin can lean so far over it and the leg is long enough. Beyond that it turns about
the joint of the toes and the heel goes up, as little as will do; the toes stay on the ground.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.vectors import normalise
from poise.model.anatomy.standing_pose import compute_standing_transforms, find_standing_frame
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.limbs import Bends, find_middles, find_poles, find_rotation_columns
from poise.solvers.natural.surroundings import Surroundings, express_in_frame

MAX_SHIN_LEAN_RAD = np.radians(30.0)  # of a shin over its flat foot, weight on it; most people's ankles end there
_MAX_HEEL_RAD = np.radians(75.0)  # the heel goes up by, on the tips of the toes
_HALVINGS = 16  # of the heel's angle: to 0.001 degrees


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
    turns = pose.world.rotations.reshape(-1, len(pose.skeleton), 4)[:, held.foot]
    return places - rotations.rotate(turns, held.joint)


def raise_heels(
    held: HeldToes, bends: Bends, pose: Pose, stood: Pose, targets: Floats, lean: Floats | None, around: Surroundings
) -> RaisedFoot:
    """Raise heels over held toes by the least angle. Ankles and leg lengths set it.

    pose, stood  where the hips are, and how feet and toes are turned as they stand: poses (1|k,)
    targets      (k, 3|7) of the joints of the toes
    """
    count, skeleton, limb = len(targets), pose.skeleton, bends.limb
    turns = stood.world.rotations.reshape(-1, len(skeleton), 4)
    foot = np.broadcast_to(turns[:, held.foot], (count, 4))
    hips = np.broadcast_to(pose.world.positions.reshape(-1, len(skeleton), 3)[:, limb.first], (count, 3))
    toe_turns = targets[:, 3:7] if targets.shape[1] > 3 else np.broadcast_to(turns[:, held.toes], (count, 4))  # noqa: PLR2004
    across = rotations.rotate(foot, held.axes[2])

    def place_feet(angles: Floats) -> Floats:
        turned = rotations.multiply(rotations.about(across, angles), foot)
        return np.concatenate([targets[:, :3] - rotations.rotate(turned, held.joint), turned], axis=1)

    def is_too_flat(angles: Floats) -> Bools:
        feet = place_feet(angles)
        knees = find_middles(limb, hips, feet[:, :3], find_poles(bends, pose, feet, lean, around))
        shins = knees - feet[:, :3]
        ahead, up = (rotations.rotate(feet[:, 3:], axis) for axis in held.axes[:2])
        leans = np.arctan2((shins * ahead).sum(axis=1), (shins * up).sum(axis=1))
        return (leans > MAX_SHIN_LEAN_RAD) | (np.linalg.norm(feet[:, :3] - hips, axis=1) > sum(limb.lengths))

    low, high = np.zeros(count), np.where(is_too_flat(np.zeros(count)), _MAX_HEEL_RAD, 0.0)
    for _ in range(_HALVINGS if high.any() else 0):
        middle = 0.5 * (low + high)
        flat = is_too_flat(middle)
        low, high = np.where(flat, middle, low), np.where(flat, high, middle)
    return RaisedFoot(place_feet(high), np.array(toe_turns))


def turn_toes(held: HeldToes, pose: Pose, toe_turns: Floats) -> Floats:
    """Turn toes to world rotations (k, 4); return (k, nq)."""
    skeleton, q = pose.skeleton, pose.flat_q.copy()
    own = pose.world.rotations.reshape(-1, len(skeleton), 4)[:, held.toes]
    columns = find_rotation_columns(skeleton, held.toes)
    q[:, columns] = rotations.multiply(q[:, columns], rotations.multiply(rotations.inverse(own), toe_turns))
    return skeleton.bounds.clamp_by_kernel(q)
