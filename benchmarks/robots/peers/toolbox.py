"""Robotics Toolbox for Python: its C++ solvers on the elementary transforms of the URDF."""

from __future__ import annotations

from typing import Any, ClassVar

import roboticstoolbox

from robots.models import Floats, Robot
from robots.peers import Peer


class Chan(Peer):
    """ik_LM with Chan's damping. Its residual is half a squared error: e < t is asked as tol = t^2 / 4."""

    method = "ik_LM"
    options: ClassVar[dict[str, Any]] = {"method": "chan", "k": 1.0}

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF as a sequence of elementary transforms."""
        chain = roboticstoolbox.Robot.URDF(robot.urdf).ets(start=robot.base, end=robot.tip)
        self.call = getattr(chain, self.method)
        self.residual = 0.25 * tolerance**2

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call the solver with limits on; it restarts by itself up to 100 times."""
        answer = self.call(target, q0=start, tol=self.residual, joint_limits=True, **self.options)
        return answer.q if answer.success else None


class Sugihara(Chan):
    """ik_LM with Sugihara's damping."""

    options: ClassVar[dict[str, Any]] = {"method": "sugihara", "k": 1e-4}


class GaussNewton(Chan):
    """ik_GN."""

    method = "ik_GN"
    options: ClassVar[dict[str, Any]] = {"pinv": True}


class Newton(Chan):
    """ik_NR."""

    method = "ik_NR"
    options: ClassVar[dict[str, Any]] = {"pinv": True}
