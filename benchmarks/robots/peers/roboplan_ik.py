"""RoboPlan's SimpleIk: damped pseudo-inverse with restarts over Pinocchio (C++)."""

from __future__ import annotations

import numpy as np
from roboplan import core, simple_ik

from robots.models import Floats, Robot
from robots.peers import Peer


class SimpleIk(Peer):
    """100 iterations, 20 restarts, 50 ms at most; full steps, as these settings solve most."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF as a scene with one group."""
        self.scene = core.Scene("arm", core.loadUrdfSceneDescription(robot.urdf))
        self.scene.addGroupFromChain("arm", robot.base, robot.tip)
        options = simple_ik.SimpleIkOptions(
            group_name="arm", max_iters=100, max_time=0.05, max_restarts=20, step_size=1.0, damping=1e-3,
            max_linear_error_norm=0.9 * tolerance, max_angular_error_norm=0.9 * tolerance, check_collisions=False,
        )  # fmt: skip
        self.solver = simple_ik.SimpleIk(self.scene, options)
        self.goal = core.CartesianConfiguration()
        self.goal.base_frame, self.goal.tip_frame = robot.base, robot.tip
        self.start, self.answer = core.JointConfiguration(), core.JointConfiguration()
        self.start.joint_names = list(robot.joints)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call solveIk()."""
        self.goal.tform = target
        self.start.positions = start
        found = self.solver.solveIk(self.goal, self.start, self.answer)
        return np.array(self.answer.positions) if found else None
