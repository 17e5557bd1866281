"""ikpy: SciPy's bounded least squares on finite differences."""

from __future__ import annotations

import logging
import warnings

import numpy as np
from ikpy.chain import Chain

from robots.models import Floats, Robot
from robots.peers import Peer


class Full(Peer):
    """Whole pose. It never reports failure: its answers are judged like all others."""

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Read the URDF."""
        logging.disable(logging.CRITICAL)
        warnings.simplefilter("ignore")
        self.chain = Chain.from_urdf_file(robot.urdf, base_elements=[robot.base])
        self.moves = np.array([link.joint_type == "revolute" for link in self.chain.links])
        self.chain.active_links_mask = self.moves

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Call inverse_kinematics_frame()."""
        every = np.zeros(len(self.moves))
        every[self.moves] = start
        answer = self.chain.inverse_kinematics_frame(
            target, initial_position=every, orientation_mode="all", backend="numpy"
        )
        return np.array(answer)[self.moves]
