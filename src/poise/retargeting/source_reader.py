"""Rotations and directions of the source, of single poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.retargeting.body import Body
from poise.retargeting.robot_tasks import SourceDirection, SourceTurn


class SourceReader:
    """Reads rotations and directions of the source, in axes ahead, left, up."""

    def __init__(self, source: Body, turns: Sequence[SourceTurn], directions: Sequence[SourceDirection]) -> None:
        self._rows = np.array([max(one.row, 0) for one in turns], dtype=np.int64)
        self._maps = np.array([_build_map(source.world_turn, one) for one in turns]).reshape(-1, 9, 16)
        self._starts = np.array([one.start for one in directions], dtype=np.int64)
        self._ends = np.array([one.end for one in directions], dtype=np.int64)
        self._axes = rotations.as_matrix(source.world_turn)

    def read(self, pose: Pose) -> tuple[Floats, Floats]:
        """Read rotation matrices (r, 9) and directions (d, 3)."""
        world = pose.world
        q = world.rotations[self._rows]
        products = (q[:, :, None] * q[:, None]).reshape(-1, 16, 1)
        steps = (world.positions[self._ends] - world.positions[self._starts]) @ self._axes.T
        lengths = np.sqrt((steps * steps).sum(axis=1, keepdims=True))
        return (self._maps @ products)[:, :, 0], steps / np.maximum(lengths, 1e-300)


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
