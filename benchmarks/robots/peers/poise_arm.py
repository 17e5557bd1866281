"""Poise itself: the prepared call, the plain call and the batch."""

from __future__ import annotations

import numpy as np

import poise
from robots.models import Floats, Robot
from robots.peers import Peer


class Prepared(Peer):
    """`reach = poise.prepare(...)`, then `reach(pose, start=q)` for each target."""

    solver: str | poise.LevenbergMarquardt = "auto"

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF and pack the chain."""
        self.arm = poise.load(robot.urdf)
        self.tip = robot.tip
        self.allowed = {"tolerance": tolerance, "angle_tolerance": tolerance, "solver": self.solver}
        goal = poise.Place(robot.tip, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
        self.reach = poise.prepare(self.arm.rest, goal, **self.allowed)

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call the prepared function."""
        answer = self.reach(target, start=start)
        return answer.q if answer.reached else None

    def batch(self, targets: Floats, starts: Floats, threads: int) -> Floats:
        """Call solve() once for all targets."""
        goal = poise.Place(self.tip, targets[:, :3, 3], targets[:, :3, :3])
        answers = poise.solve(poise.Pose(self.arm.skeleton, starts), goal, threads=threads, **self.allowed)
        return np.where(np.asarray(answers.reached)[:, None], answers.q, np.nan)


class Race(Prepared):
    """The same with `LevenbergMarquardt(race=True)`: whichever attempt arrives first is the answer."""

    solver = poise.LevenbergMarquardt(race=True)


class Plain(Prepared):
    """`poise.solve(...)` for each target: the chain is packed anew every time."""

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Build start and goal and solve."""
        goal = poise.Place(self.tip, target[:3, 3], target[:3, :3])
        answer = poise.solve(poise.Pose(self.arm.skeleton, start), goal, **self.allowed)
        return answer.q if answer.reached else None
