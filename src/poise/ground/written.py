"""Written: from what was decided in metres, z up, back to poses of the skeleton."""

from __future__ import annotations

import numpy as np

from poise import kernels, rotations
from poise.arrays import Floats
from poise.ground.figure import Figure
from poise.ground.legs import Turned
from poise.ground.motion import FOOT, Motion, turning
from poise.humanoid import Leg
from poise.pose import Pose
from poise.skeleton import Kind, Skeleton


def write_poses(poses: Pose, motion: Motion, offsets: Floats, turned: Turned) -> Pose:
    """Return the poses with the figure moved by offsets (F, 3) [m] and the legs turned."""
    figure = motion.figure
    moved = rotations.rotate(rotations.inverse(figure.turn), offsets * figure.metre)
    translations = poses.local_positions.copy()
    q = poses.q.copy()
    _move(poses, figure, moved, q, translations)
    for i, leg in enumerate(figure.legs):
        _turn(poses, figure, leg, turned.turns[:, i], q)
        if not _hangs_in(figure.skeleton, leg.foot, leg.lower):
            ankle = rotations.rotate(rotations.inverse(figure.turn), turned.ankles[:, i] * figure.metre)
            _place(poses, leg.foot, ankle - moved, translations)
    changed = (translations != poses.local_positions).any()
    return Pose(poses.skeleton, q, translations if changed else poses.translations, poses.scales)


def _hangs_in(skeleton: Skeleton, joint: str, above: str) -> bool:
    row, top = skeleton.index(joint), skeleton.index(above)
    while row > top:
        row = int(skeleton.parents[row])
    return row == top


def _parent_maps(poses: Pose, joint: str) -> Floats:
    """World maps (F, 3, 4) of what a joint hangs in."""
    parent = int(poses.skeleton.parents[poses.skeleton.index(joint)])
    if parent < 0:
        return np.broadcast_to(np.eye(3, 4), (len(poses), 3, 4))
    return poses.world.affine[:, parent]


def _move(poses: Pose, figure: Figure, moved: Floats, q: Floats, translations: Floats) -> None:
    """Move the whole figure (F, 3) [file units, file axes]."""
    skeleton, name = figure.skeleton, figure.mover
    row = skeleton.index(name)
    local = np.linalg.solve(_parent_maps(poses, name)[..., :3], moved[..., None])[..., 0]
    if skeleton.kinds[row] == Kind.FREE:
        start = skeleton.q_slice(name).start
        q[:, start : start + 3] += rotations.rotate(rotations.inverse(skeleton.A[row, 3:]), local)
    else:
        translations[:, row] += local


def _place(poses: Pose, joint: str, places: Floats, translations: Floats) -> None:
    """Put a joint at world places (F, 3), by its translation."""
    above = _parent_maps(poses, joint)
    local = np.linalg.solve(above[..., :3], (places - above[..., 3])[..., None])[..., 0]
    translations[:, poses.skeleton.index(joint)] = local


def _turn(poses: Pose, figure: Figure, leg: Leg, turns: Floats, q: Floats) -> None:
    """Write the turns (F, 4, 4) of a leg's parts."""
    skeleton = figure.skeleton
    names = turning(leg)
    for part, name in enumerate(names if leg.toes else names[:FOOT + 1]):
        above = [i for i in range(part) if _hangs_in(skeleton, name, names[i])]
        over = turns[:, above[-1]] if above else np.broadcast_to(rotations.IDENTITY, turns[:, 0].shape)
        row, rotation = skeleton.index(name), skeleton.q_slice(name)
        parent = int(skeleton.parents[row])
        world = poses.world[skeleton.names[parent]].rotations if parent >= 0 else np.array([rotations.IDENTITY])
        rest = rotations.multiply(rotations.multiply(figure.turn[None], world), skeleton.A[None, row, 3:])
        own = q[:, rotation.stop - 4 : rotation.stop].copy()
        rest = np.ascontiguousarray(np.broadcast_to(rest, own.shape))
        kernels.legs.passed_down(np.ascontiguousarray(over), np.ascontiguousarray(turns[:, part]), rest, own)
        q[:, rotation.stop - 4 : rotation.stop] = own
