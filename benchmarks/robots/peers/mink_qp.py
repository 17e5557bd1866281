"""mink: differential inverse kinematics as a quadratic program over MuJoCo, iterated until the frame is there."""

from __future__ import annotations

from pathlib import Path

import mink
import mujoco
import numpy as np

from robots.models import Floats, Robot
from robots.peers import Peer

ROUNDS = 200
KEEP_BODIES = '<mujoco><compiler fusestatic="false"/></mujoco>'  # else the fixed tip is merged into its parent


class FrameTask(Peer):
    """Gain 1, light damping, joint limits, solver daqp; no restarts."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF through MuJoCo's reader."""
        self.robot, self.close = robot, 0.9 * tolerance
        head, start, rest = Path(robot.urdf).read_text(encoding="utf-8").partition("<robot")
        tag, end, body = rest.partition(">")
        self.model = mujoco.MjModel.from_xml_string(head + start + tag + end + KEEP_BODIES + body)
        self.here = mink.Configuration(self.model)
        self.task = mink.FrameTask(
            robot.tip, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3, gain=1.0
        )
        self.limits = [mink.ConfigurationLimit(self.model, gain=1.0)]

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Integrate its velocity over unit time steps."""
        self.here.update(np.array(start))
        self.task.set_target(mink.SE3.from_matrix(target))
        for _ in range(ROUNDS):
            if np.linalg.norm(self.task.compute_error(self.here)) < self.close:
                return self.here.q.copy()
            try:
                velocity = mink.solve_ik(self.here, [self.task], 1.0, "daqp", damping=1e-9, limits=self.limits)
            except Exception:  # noqa: BLE001 - any exception of the solver counts as a failure
                return None
            self.here.update(np.clip(self.here.integrate(velocity, 1.0), self.robot.lower, self.robot.upper))
        return None
