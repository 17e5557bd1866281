"""ur_analytic_ik: the closed form of Universal Robots' arms (C++)."""

from __future__ import annotations

import numpy as np
from ur_analytic_ik import ur5

from robots.models import Floats, Robot
from robots.peers import Peer, nearest
from robots.peers.frames import UrFrames


class Nearest(Peer):
    """All branches; the nearest inside the limits is chosen here."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Find the frames of its table."""
        self.robot = robot
        self.carried = UrFrames(lambda row: np.array(ur5.forward_kinematics(*row)), q, poses)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call inverse_kinematics()."""
        return nearest(ur5.inverse_kinematics(self.carried(target)), start, self.robot)


class Closest(Nearest):
    """Its own choice of the nearest branch, limits of two turns assumed."""

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call inverse_kinematics_closest()."""
        found = ur5.inverse_kinematics_closest(self.carried(target), *start)
        return np.asarray(found[0], dtype=np.float64) if len(found) else None
