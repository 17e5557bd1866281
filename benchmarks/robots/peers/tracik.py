"""TRAC-IK through pytracik: KDL's Newton and an SQP race in two threads (C++)."""

from __future__ import annotations

import numpy as np
from trac_ik import TracIK

from robots.models import Floats, Robot
from robots.peers import Peer


class Speed(Peer):
    """Solver type Speed with the customary time limit of 5 ms."""

    timeout = 0.005

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF."""
        self.solver = TracIK(
            robot.base, robot.tip, robot.urdf, timeout=self.timeout, epsilon=0.5 * tolerance, solver_type="Speed"
        )

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call ik() with position and rotation."""
        return self.solver.ik(target[:3, 3], np.ascontiguousarray(target[:3, :3]), start)


class Patient(Speed):
    """The same with 50 ms."""

    timeout = 0.05
