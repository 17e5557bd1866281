"""py-ikgeo-kinematics: closed forms of six joints by subproblems (Rust), poses as SciPy transforms."""

from __future__ import annotations

import numpy as np
from py_ikgeo_kinematics import KinematicModel
from py_ikgeo_kinematics import Robot as GeoRobot
from scipy.spatial.transform import RigidTransform

from robots.models import Floats, Robot
from robots.peers import Peer, UnsupportedRobotError, nearest
from robots.peers.frames import screws, tool


class Nearest(Peer):
    """Its branches come nearest first, limits not looked at: the first inside them, by whole turns if needed.

    Its batch call answers most targets wrongly (version 0.0.2), so it is solved one by one.
    """

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Give it the screw axes."""
        self.robot = robot
        if len(robot.joints) != 6:
            message = "six joints only"
            raise UnsupportedRobotError(message)
        axes, steps, _ = screws(robot.urdf)
        try:
            self.arm = GeoRobot(KinematicModel(axes.T.copy(), steps.T.copy()), degrees=False)
        except Exception as error:
            raise UnsupportedRobotError(str(error)) from error
        self.back = np.linalg.inv(tool(lambda row: self.arm.forward(row).as_matrix(), q, poses))

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call inverse()."""
        branches = self.arm.inverse(RigidTransform.from_matrix(target @ self.back), current_joints=start)
        for branch in branches:
            q = np.array(branch)
            if ((q >= self.robot.lower) & (q <= self.robot.upper)).all():
                return q
        return nearest(branches, start, self.robot)
