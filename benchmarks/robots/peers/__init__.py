"""What an adapter of a peer is. A module here is imported only in the environment of its peer."""

from __future__ import annotations

import numpy as np

from robots.models import Floats, Robot


class UnsupportedRobotError(Exception):
    """The peer cannot do this robot; the message says why."""


class Peer:
    """One way to solve. Poses are (4, 4) of the robot's tip in its base, joint vectors in the robot's order."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Get ready. `tolerance` [m and rad] is to be asked for; q (k, n) with its poses (k, 4, 4) are examples.

        The examples let closed forms with frames of their own find the fixed transform to the tip of the URDF.
        """
        raise NotImplementedError

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Return joint angles (n,), or None where the peer reports failure."""
        raise NotImplementedError

    def batch(self, targets: Floats, starts: Floats, threads: int) -> Floats:
        """Solve targets (k, 4, 4) in one call from one start (n,) or one each (k, n); NaN rows where it fails."""
        raise NotImplementedError


def nearest(branches: Floats | list[Floats], start: Floats, robot: Robot) -> Floats | None:
    """Of the branches (k, n), angles modulo 2 pi, the one inside the limits whose largest joint step is smallest."""
    if len(branches) == 0:
        return None
    turn = 2.0 * np.pi
    q = np.asarray(branches, dtype=np.float64)
    q = q - turn * np.round((q - start) / turn)
    q = np.where(q > robot.upper, q - turn, np.where(q < robot.lower, q + turn, q))
    q = q[((q >= robot.lower) & (q <= robot.upper)).all(axis=1)]
    return q[np.argmin(np.abs(q - start).max(axis=1))] if len(q) else None
