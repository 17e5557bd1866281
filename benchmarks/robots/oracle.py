"""Forward kinematics that no peer shares with Poise: Pinocchio, in an environment of its own. It judges everything."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from robots.models import Floats, Robot


class Oracle:
    """Poses and errors of one robot."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.model = pin.buildModelFromUrdf(robot.urdf)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(robot.tip)
        if tuple(self.model.names)[1:] != robot.joints:
            message = f"{robot.name}: Pinocchio orders the joints differently"
            raise ValueError(message)

    def pose(self, q: Floats) -> Floats:
        """Pose of the tip (4, 4)."""
        pin.framesForwardKinematics(self.model, self.data, np.ascontiguousarray(q, dtype=np.float64))
        return self.data.oMf[self.frame].homogeneous.copy()

    def poses(self, q: Floats) -> Floats:
        """Poses (k, 4, 4) of configurations (k, n)."""
        return np.array([self.pose(row) for row in q]).reshape(len(q), 4, 4)

    def errors(self, q: Floats, targets: Floats) -> tuple[Floats, Floats]:
        """Distance [m] and angle [rad] of each answer (k, n) from its target (k, 4, 4); infinite where q is NaN.

        The angle is atan2(|vee(R - R^T)| / 2, (tr R - 1) / 2): exact near 0 and near pi, where acos is not.
        """
        known = np.isfinite(q).all(axis=1)
        distance, angle = np.full(len(q), np.inf), np.full(len(q), np.inf)
        reached, wanted = self.poses(q[known]), targets[known]
        distance[known] = np.linalg.norm(reached[:, :3, 3] - wanted[:, :3, 3], axis=1)
        turn = np.swapaxes(reached[:, :3, :3], 1, 2) @ wanted[:, :3, :3]
        odd = turn - np.swapaxes(turn, 1, 2)
        sine = 0.5 * np.linalg.norm(np.stack([odd[:, 2, 1], odd[:, 0, 2], odd[:, 1, 0]], axis=1), axis=1)
        angle[known] = np.arctan2(sine, 0.5 * (np.trace(turn, axis1=1, axis2=2) - 1.0))
        return distance, angle

    def within(self, q: Floats, slack: float) -> NDArray[np.bool_]:
        """Whether each answer (k, n) keeps the limits up to `slack` [rad]; False where q is NaN."""
        return ((q >= self.robot.lower - slack) & (q <= self.robot.upper + slack)).all(axis=1)

    def follow(self, target: Floats, q: Floats, *, steps: int = 500, tolerance: float = 1e-10) -> Floats | None:
        """Closed-loop inverse kinematics from q, q += J^+ log(target): None where it does not settle or leaves limits.

        It makes the tracking path: a path is only used if this simple loop follows it inside the limits.
        """
        wanted = pin.SE3(target[:3, :3], target[:3, 3])
        q = np.array(q, dtype=np.float64)
        for _ in range(steps):
            pin.framesForwardKinematics(self.model, self.data, q)
            left = self.data.oMf[self.frame].actInv(wanted)
            error = pin.log6(left).vector
            if np.linalg.norm(error) < tolerance:
                return q if self.within(q[None], 0.0)[0] else None
            jacobian = pin.Jlog6(left.inverse()) @ pin.computeFrameJacobian(self.model, self.data, q, self.frame)
            q = q + np.linalg.pinv(jacobian, rcond=1e-9) @ error
        return None
