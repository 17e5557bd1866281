"""PyBullet's calculateInverseKinematics, called again from its own answer until the tip is there."""

from __future__ import annotations

import numpy as np
import pybullet

from robots.models import Floats, Robot
from robots.peers import Peer
from robots.peers.frames import quaternion_xyzw

CALLS = 20
FLOAT_ANGLE = 3e-8  # rad: acos of a quaternion product in doubles sees no less


class NullSpace(Peer):
    """The call with limits, ranges and rest poses: the only one that knows limits."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF in a world without a window."""
        pybullet.connect(pybullet.DIRECT)
        self.close = 0.9 * tolerance
        self.body = pybullet.loadURDF(robot.urdf, useFixedBase=True)
        infos = [pybullet.getJointInfo(self.body, i) for i in range(pybullet.getNumJoints(self.body))]
        self.tip = next(info[0] for info in infos if info[12].decode() == robot.tip)
        self.moves = [info[0] for info in infos if info[2] == pybullet.JOINT_REVOLUTE]
        self.limits = {  # lists: NumPy arrays for these crash version 3.2.7
            "lowerLimits": robot.lower.tolist(), "upperLimits": robot.upper.tolist(),
            "jointRanges": (robot.upper - robot.lower).tolist(),
        }  # fmt: skip

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """At most CALLS calls of 100 iterations."""
        point, turn, q = target[:3, 3], quaternion_xyzw(target[:3, :3]), start
        for _ in range(CALLS):
            if self.there(q, point, turn):
                return q
            q = np.array(
                pybullet.calculateInverseKinematics(
                    self.body, self.tip, point, turn, maxNumIterations=100, residualThreshold=self.close,
                    restPoses=[float(value) for value in q], **self.limits,
                )
            )  # fmt: skip
        return q if self.there(q, point, turn) else None

    def there(self, q: Floats, point: Floats, turn: Floats) -> bool:
        """Set the joints and compare the tip with its target."""
        for joint, value in zip(self.moves, q, strict=True):
            pybullet.resetJointState(self.body, joint, value)
        state = pybullet.getLinkState(self.body, self.tip, computeForwardKinematics=True)
        angle = 2.0 * np.arccos(min(1.0, abs(float(np.dot(state[5], turn)))))
        return bool(np.linalg.norm(np.subtract(state[4], point)) < self.close and angle < max(self.close, FLOAT_ANGLE))
