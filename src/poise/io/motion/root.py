"""Floating base of a skeleton, and its frame in the world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.errors import InputError, UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joints import Kind
from poise.model.skeleton import Skeleton

_HERE = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


class MotionRoot(NamedTuple):
    """Free root of a skeleton: its row and base frame. The frame is x y z w x y z in the world."""

    skeleton: Skeleton
    row: int
    frame: Floats

    @property
    def name(self) -> str:
        """Name of the root joint."""
        return self.skeleton.names[self.row]

    def in_world(self, own: Floats) -> tuple[Floats, Floats]:
        """Convert q (..., 7) to world positions and rotations.

        They are (..., 3) and (..., 4). An identity frame keeps all bits.
        """
        if np.array_equal(self.frame, _HERE):
            return own[..., :3], own[..., 3:]
        place, turn = self.frame[:3], self.frame[3:]
        return place + rotations.rotate(turn, own[..., :3]), rotations.multiply(turn, own[..., 3:])

    def in_q(self, position: Floats, rotation: Floats) -> Floats:
        """Convert world positions and rotations to q. It is the inverse of `to_world`."""
        if np.array_equal(self.frame, _HERE):
            return np.concatenate([position, rotation], axis=-1)
        back = rotations.inverse(self.frame[3:])
        moved = rotations.rotate(back, position - self.frame[:3])
        return np.concatenate([moved, rotations.multiply(back, rotation)], axis=-1)


def root_of(skeleton: Skeleton) -> MotionRoot | None:
    """Find the root of a skeleton, made free if necessary.

    None where no joint can be free, as where the first is a hinge.

    UnsupportedError for a root below a moving or scaled joint.
    """
    try:
        free = skeleton.with_free_root()
    except InputError:
        return None
    row = free.freed.row if free.freed else int(np.flatnonzero(free.kinds == Kind.FREE)[0])
    frame = _HERE
    for above in free.way(row):
        fixed = above == row or (free.kinds[above] == Kind.FIXED and np.array_equal(free.B[above], np.eye(3, 4)))
        if not fixed:
            message = (
                f"a motion file has the root's position in the world, and {free.names[row]!r} is below "
                f"{free.names[above]!r}, which moves or scales it"
            )
            raise UnsupportedError(message)
        offset, turn = free.A[above, :3], free.A[above, 3:]
        frame = np.concatenate([frame[:3] + rotations.rotate(frame[3:], offset), rotations.multiply(frame[3:], turn)])
    return MotionRoot(free, row, frame)
