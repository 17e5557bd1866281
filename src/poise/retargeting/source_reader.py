"""Rotations and directions of the source, of single poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.kernels.source_reader import read_source
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.retargeting.added_joints import extend_poses
from poise.retargeting.body import Body
from poise.retargeting.robot_tasks import SourceDirection, SourceTurn
from poise.retargeting.root_path import RootMotion, Standing, scale_hips


class SourceReader:
    """Reads rotations, directions and hips of the source.

    They are in axes ahead, left, up.

    Parameters
    ----------
    bodies, standings
        Source and robot, and how both stand.
    sources
        What is read, by its row in the answer; None for rows that are not written.
    root
        How the hips move.
    """

    def __init__(
        self,
        bodies: tuple[Body, Body],
        standings: tuple[Standing, Standing],
        sources: Sequence[SourceTurn | SourceDirection | None],
        root: RootMotion,
    ) -> None:
        source = bodies[0]
        self._skeleton = source.skeleton
        turns = [(place, one) for place, one in enumerate(sources) if isinstance(one, SourceTurn)]
        bones = [(place, one) for place, one in enumerate(sources) if isinstance(one, SourceDirection)]
        ratio, height = scale_hips(bodies, standings, root)
        self._arguments = (
            np.array([max(one.row, 0) for _, one in turns], dtype=np.int64),
            np.array([_build_map(source.world_turn, one) for _, one in turns]).reshape(-1, 9, 16),
            np.array([place for place, _ in turns], dtype=np.int64),
            np.array([(one.start, one.end) for _, one in bones], dtype=np.int64).reshape(-1, 2),
            np.array([place for place, _ in bones], dtype=np.int64),
            np.ascontiguousarray(source.reference.world_axes),
            np.array([source.rows[f"{side}UpperLeg"] for side in SIDES], dtype=np.int64),
            ratio,
            height,
        )

    def read(self, pose: Pose, out: Floats) -> Floats:
        """Read a pose into rows of `out` (m, 9). Return where the robot's hips (3,) are to be."""
        world, path = extend_poses(pose, self._skeleton).world, np.empty(3)
        read_source(world.rotations, world.affine, *self._arguments, out, path)
        return path


def _build_map(left: Floats, turn: SourceTurn) -> Floats:
    """Build a map (9, 16) to rotation matrices.

    It takes the 16 products of the numbers of q to the matrix of left q right, or to one that is always the same.
    """
    units = np.eye(4)
    if turn.row < 0:  # the squares of a unit quaternion sum up to 1
        return np.outer(rotations.as_matrix(_join(turn.factors)).ravel(), units.ravel())
    turned = rotations.multiply(units[:, None, None], units[1:])  # vectors turn into q v and the inverse of q
    turned = rotations.multiply(turned, rotations.inverse(units)[:, None])[..., 1:]
    matrices = rotations.as_matrix(left) @ np.swapaxes(turned, 2, 3) @ rotations.as_matrix(_join(turn.factors))
    return matrices.reshape(16, 9).T


def _join(factors: tuple[Floats, ...]) -> Floats:
    """Multiply rotations (4,) from left to right."""
    product = factors[0]
    for factor in factors[1:]:
        product = rotations.multiply(product, factor)
    return product
