"""EmbodiK: solve_position of its prioritised solver over Pinocchio (C++)."""

from __future__ import annotations

import embodik
import numpy as np

from robots.models import Floats, Robot
from robots.peers import Peer


class Position(Peer):
    """Settings that solve most; its defaults stop far from 1e-6."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF."""
        self.tip = robot.tip
        self.solver = embodik.KinematicsSolver(embodik.RobotModel(robot.urdf))
        self.options = embodik.PositionIKOptions()
        self.options.position_tolerance = self.options.orientation_tolerance = 0.9 * tolerance
        self.options.max_iterations, self.options.dt = 500, 0.1
        self.options.stagnation_iterations, self.options.stagnation_tolerance = 50, 1e-12
        self.options.primary_allow_min_error_fallback = True

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call solve_position()."""
        answer = self.solver.solve_position(start, target, self.tip, self.options)
        return np.array(answer.q_solution) if answer.status == embodik.SolverStatus.SUCCESS else None
