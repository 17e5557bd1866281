"""Pinocchio with the loop that its documentation shows, made robust: clamped joints, short steps, restarts."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from robots.models import Floats, Robot
from robots.peers import Peer

DAMPING = 1e-6
STEPS, TRIES = 100, 20
LONGEST = 1.0  # rad, all joints together


class Clamped(Peer):
    """Damped least squares in Python over Pinocchio's C++ kernels."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF."""
        self.robot, self.close = robot, 0.9 * tolerance
        self.model = pin.buildModelFromUrdf(robot.urdf)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(robot.tip)
        self.rng = np.random.default_rng(0)
        self.damping = DAMPING * np.eye(6)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Try from the start, then from random configurations."""
        wanted = pin.SE3(target[:3, :3], target[:3, 3])
        for _ in range(TRIES):
            q = self.descend(wanted, start)
            if q is not None:
                return q
            start = self.rng.uniform(self.robot.lower, self.robot.upper)
        return None

    def descend(self, wanted: pin.SE3, q: Floats) -> Floats | None:
        """At most STEPS steps from q; None where the error stays above the tolerance."""
        for _ in range(STEPS):
            pin.framesForwardKinematics(self.model, self.data, q)
            left = self.data.oMf[self.frame].actInv(wanted)
            error = pin.log6(left).vector
            if np.linalg.norm(error) < self.close:
                return q
            jacobian = pin.Jlog6(left.inverse()).dot(pin.computeFrameJacobian(self.model, self.data, q, self.frame))
            step = jacobian.T.dot(np.linalg.solve(jacobian.dot(jacobian.T) + self.damping, error))
            length = np.linalg.norm(step)
            q = q + (step if length <= LONGEST else step * (LONGEST / length))
            q = np.minimum(np.maximum(q, self.robot.lower), self.robot.upper)
        return None
