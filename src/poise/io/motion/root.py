"""Which joint of a skeleton a motion's root is, and its place in the world."""

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
    """The root of a skeleton whose root is free: its row, and the place x y z w x y z of its frame in the world."""

    skeleton: Skeleton
    row: int
    frame: Floats

    @property
    def name(self) -> str:
        """Its name."""
        return self.skeleton.names[self.row]

    def in_world(self, own: Floats) -> tuple[Floats, Floats]:
        """Positions (..., 3) and rotations (..., 4) in the world for numbers (..., 7) in q; the same bits if it can."""
        if np.array_equal(self.frame, _HERE):
            return own[..., :3], own[..., 3:]
        place, turn = self.frame[:3], self.frame[3:]
        return place + rotations.rotate(turn, own[..., :3]), rotations.multiply(turn, own[..., 3:])

    def in_q(self, position: Floats, rotation: Floats) -> Floats:
        """What `in_world` undoes."""
        if np.array_equal(self.frame, _HERE):
            return np.concatenate([position, rotation], axis=-1)
        back = rotations.inverse(self.frame[3:])
        moved = rotations.rotate(back, position - self.frame[:3])
        return np.concatenate([moved, rotations.multiply(back, rotation)], axis=-1)


def root_of(skeleton: Skeleton) -> MotionRoot | None:
    """The root of a skeleton, made free if it is not; None where no joint can be, as where the first is a hinge.

    UnsupportedError for one that hangs on something that moves or scales it.
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
                f"a motion file has the root's place in the world, and {free.names[row]!r} hangs on "
                f"{free.names[above]!r}, which moves or scales it"
            )
            raise UnsupportedError(message)
        offset, turn = free.A[above, :3], free.A[above, 3:]
        frame = np.concatenate([frame[:3] + rotations.rotate(frame[3:], offset), rotations.multiply(frame[3:], turn)])
    return MotionRoot(free, row, frame)
