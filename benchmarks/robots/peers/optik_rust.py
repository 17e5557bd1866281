"""OptIK: sequential quadratic programming with restarts (Rust)."""

from __future__ import annotations

import numpy as np
import optik

from robots.models import Floats, Robot
from robots.peers import Peer


class Speed(Peer):
    """The first answer found, at most 0.1 s, one thread. The objective is a squared error."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF."""
        self.robot = optik.Robot.from_urdf_file(robot.urdf, robot.base, robot.tip)
        self.robot.set_parallelism(1)
        self.config = optik.SolverConfig(solution_mode="speed", max_time=0.1, tol_f=0.25 * tolerance**2)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call ik()."""
        answer = self.robot.ik(self.config, target, start)
        return None if answer is None else np.array(answer[0])
