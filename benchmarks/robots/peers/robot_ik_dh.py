"""robot-ik: damped least squares for six joints given as a DH table (C++)."""

from __future__ import annotations

import numpy as np
from robot_ik.ik import FastIKSolver

from robots.models import Floats, Robot
from robots.peers import Peer
from robots.peers.frames import UR5_DH, UrFrames


class Damped(Peer):
    """1000 iterations at most, no restarts."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Write the UR5's table."""
        self.close = 0.9 * tolerance
        rows = np.stack([UR5_DH["a"], UR5_DH["alpha"], UR5_DH["d"], np.zeros(6)], axis=1)
        self.solver = FastIKSolver(rows, np.stack([robot.lower, robot.upper], axis=1))
        self.carried = UrFrames(lambda row: np.array(self.solver.forward_kinematics(row)), q, poses)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call ik_solve()."""
        found, q, *_ = self.solver.ik_solve(
            self.carried(target), start, max_iterations=1000, position_tolerance=self.close,
            orientation_tolerance=self.close,
        )  # fmt: skip
        return np.array(q) if found else None
