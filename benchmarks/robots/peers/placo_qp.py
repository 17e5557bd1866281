"""PlaCo: its quadratic program, solved again and again until the frame is there (C++)."""

from __future__ import annotations

import numpy as np
import placo

from robots.models import Floats, Robot
from robots.peers import Peer

ROUNDS = 200
FLOATING = 7  # numbers of the floating base that comes first in its state


class FrameTask(Peer):
    """A soft frame task with joint limits; no restarts."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF and fix the base."""
        self.close = 0.9 * tolerance
        self.robot = placo.RobotWrapper(robot.urdf, placo.Flags.ignore_collisions)
        self.solver = placo.KinematicsSolver(self.robot)
        self.solver.mask_fbase(True)
        self.solver.enable_joint_limits(True)
        self.task = self.solver.add_frame_task(robot.tip, np.eye(4))
        self.task.configure("tip", "soft", 1.0, 1.0)
        self.solver.add_regularization_task(1e-6)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Put the start in, iterate until both errors are small."""
        state = self.robot.state.q
        state[FLOATING:] = start
        self.robot.state.q = state
        self.robot.update_kinematics()
        self.task.T_world_frame = target
        place, turn = self.task.position(), self.task.orientation()
        for _ in range(ROUNDS):
            try:
                self.solver.solve(True)
            except RuntimeError:  # the program has no solution
                return None
            self.robot.update_kinematics()
            if place.error_norm() < self.close and turn.error_norm() < self.close:
                return np.array(self.robot.state.q[FLOATING:])
        return None
