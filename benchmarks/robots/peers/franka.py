"""frankik: the closed form of He and Liu for Franka arms, joint 7 given or sampled (C++)."""

from __future__ import annotations

from typing import Any, ClassVar

from frankik import FrankaKinematics, RobotType

from robots.models import Floats, Robot
from robots.peers import Peer


class Sampled(Peer):
    """Joint 7 sampled around the start's. inverse() takes the flange's pose, which is the tip of our chain."""

    options: ClassVar[dict[str, Any]] = {}

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Choose the arm."""
        self.arm = FrankaKinematics(robot_type=RobotType.PANDA)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call inverse()."""
        return self.arm.inverse(target, q0=start, **self.options)


class Wide(Sampled):
    """The best of samples over the whole range of joint 7: the only setting that solves nearly all."""

    options: ClassVar[dict[str, Any]] = {
        "global_solution": True, "q7_sample_interval": 332, "q7_sample_size": 200,
    }  # fmt: skip


class Given(Sampled):
    """Joint 7 as in the start, no search."""

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call inverse() with q7."""
        return self.arm.inverse(target, q0=start, q7=start[6])
