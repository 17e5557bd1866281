"""ikdh: the algorithm of Husty and Pfurner for any six joints given as a DH table (C++), in degrees."""

from __future__ import annotations

import ikdh
import numpy as np

from robots.models import Floats, Robot
from robots.peers import Peer, nearest
from robots.peers.frames import UR5_DH, UrFrames


class All(Peer):
    """All branches; the nearest is chosen here."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Write the UR5's table."""
        self.robot = robot
        table = ikdh.DHTable(UR5_DH["a"], UR5_DH["d"], UR5_DH["alpha"], [0.0] * 6)
        limits = list(zip(np.degrees(robot.lower), np.degrees(robot.upper), strict=True))
        self.solver = ikdh.Solver(table, ikdh.JointLimits(limits))
        self.carried = UrFrames(lambda row: np.array(ikdh.forward_kin(table, np.degrees(row))), q, poses)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Take its answers."""
        return nearest([np.radians(q) for q in self.solver.solve(self.carried(target))], start, self.robot)


class FromSeed(All):
    """Its own Newton from the start."""

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call solve_from_seed()."""
        found = self.solver.solve_from_seed(self.carried(target), np.degrees(start))
        return np.radians(found[0]) if found else None
