"""ik-geo: closed forms by subproblems for families that the caller names (Rust)."""

from __future__ import annotations

from ik_geo import Robot as IkGeoRobot

from robots.models import Floats, Robot
from robots.peers import Peer, nearest
from robots.peers.frames import screws


class ThreeParallel(Peer):
    """The UR family. Its Python interface takes rotation matrices column by column: the transpose."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Give it the screw axes."""
        self.robot = robot
        axes, steps, home = screws(robot.urdf)
        self.arm = IkGeoRobot.three_parallel_two_intersecting(axes, steps)
        self.home = home.T

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call get_ik(); the nearest branch inside the limits is chosen here."""
        found = self.arm.get_ik((target[:3, :3] @ self.home).T.copy(), target[:3, 3])
        return nearest([q for q, least_squares in found if not least_squares], start, self.robot)
