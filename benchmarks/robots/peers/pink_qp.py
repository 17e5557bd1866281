"""Pink: differential inverse kinematics as a quadratic program over Pinocchio, iterated until the frame is there."""

from __future__ import annotations

import numpy as np
import pink
import pinocchio as pin

from robots.models import Floats, Robot
from robots.peers import Peer

ROUNDS = 200


class FrameTask(Peer):
    """Gain 1, light damping, joint limits, solver daqp; no restarts."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF."""
        self.robot, self.close = robot, 0.9 * tolerance
        self.model = pin.buildModelFromUrdf(robot.urdf)
        self.data = self.model.createData()
        self.task = pink.tasks.FrameTask(robot.tip, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3, gain=1.0)
        self.limits = [pink.limits.ConfigurationLimit(self.model, config_limit_gain=1.0)]

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Integrate its velocity over unit time steps; clipped, since one ulp outside is an exception."""
        self.task.set_target(pin.SE3(target[:3, :3], target[:3, 3]))
        here = pink.Configuration(self.model, self.data, start)
        for _ in range(ROUNDS):
            if np.linalg.norm(self.task.compute_error(here)) < self.close:
                return here.q
            try:
                velocity = pink.solve_ik(here, [self.task], 1.0, solver="daqp", limits=self.limits)
            except Exception:  # noqa: BLE001 - any exception of the solver counts as a failure
                return None
            q = np.clip(pin.integrate(self.model, here.q, velocity), self.robot.lower, self.robot.upper)
            here = pink.Configuration(self.model, self.data, q)
        return None
