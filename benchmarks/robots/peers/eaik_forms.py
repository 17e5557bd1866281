"""EAIK: closed forms of six joints by subproblems (C++)."""

from __future__ import annotations

import numpy as np
from eaik.IK_URDF import UrdfRobot

from robots.models import Floats, Robot
from robots.peers import Peer, UnsupportedRobotError, nearest
from robots.peers.frames import tool


class Nearest(Peer):
    """All branches; those that reach, keep the limits and are nearest the start are chosen here, in NumPy."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Let it find its decomposition of the URDF."""
        self.robot = robot
        try:
            self.arm = UrdfRobot(robot.urdf)
        except Exception as error:
            raise UnsupportedRobotError(str(error)) from error
        if len(robot.joints) != 6 or not self.arm.hasKnownDecomposition():
            message = f"no known decomposition: {self.arm.getKinematicFamily()}"
            raise UnsupportedRobotError(message)
        self.back = np.linalg.inv(tool(self.arm.fwdKin, q, poses))

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call IK()."""
        return self.chosen(self.arm.IK(target @ self.back), start)

    def chosen(self, found: object, start: Floats) -> Floats | None:
        """Drop the least-squares branches, which do not reach."""
        return nearest(np.asarray(found.Q)[~np.asarray(found.is_LS)], start, self.robot)

    def batch(self, targets: Floats, starts: Floats, threads: int) -> Floats:
        """Call IK_batched() and choose for each target."""
        answers = np.full((len(targets), len(self.robot.joints)), np.nan)
        every = np.broadcast_to(starts, answers.shape)
        for k, found in enumerate(self.arm.IK_batched(targets @ self.back, threads)):
            q = self.chosen(found, every[k])
            if q is not None:
                answers[k] = q
        return answers


class Raw(Nearest):
    """Its own call alone: the first branch, limits not looked at."""

    def chosen(self, found: object, start: Floats) -> Floats | None:
        """Take what comes first."""
        return found.Q[0] if len(found.Q) else None
