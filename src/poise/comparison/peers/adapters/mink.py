"""mink: differential inverse kinematics over MuJoCo.

Each step is a quadratic program, repeated until the frame reaches its target.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.comparison.peers.library import InProcess, Library, as_place, checked, clipped
from poise.comparison.peers.serial import SerialArm
from poise.maths.arrays import Floats

_LIBRARY = Library("mink", "mink", ("daqp",))
_ROUNDS = 200
# otherwise the tip is merged
_HEAD = '<mujoco><compiler fusestatic="false" boundmass="0.1" boundinertia="0.1"/></mujoco>'


class Mink(InProcess):
    """`mink.solve_ik` with one FrameTask, integrated over unit time steps."""

    name = "mink"
    label = _LIBRARY.label("mink")
    goals = ("Position", "Place")
    keeps_limits = True
    source = "Python library on MuJoCo, by Kevin Zakka (pip install mink daqp)"
    notes = (
        "one FrameTask, gain 1, damping 1e-3 of its error, limits as constraints, solver daqp, up to 200 rounds from "
        "the start without restarts; for a point its rotation costs nothing; a ball joint is three hinges"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, kind: str, tolerance: tuple[float, float]) -> None:
        checked(self.name, self.goals, kind)
        self.mink, mujoco = _LIBRARY.load(), Library("mujoco", "mujoco").load()
        head, start, rest = arm.urdf().partition('<robot name="chain">')
        self.model = mujoco.MjModel.from_xml_string(head + start + _HEAD + rest)
        self.here = self.mink.Configuration(self.model)
        self.turns = kind == "Place"
        self.task = self.mink.FrameTask(
            "tip", "body", position_cost=1.0, orientation_cost=float(self.turns), lm_damping=1e-3, gain=1.0
        )
        self.limits = [self.mink.ConfigurationLimit(self.model, gain=1.0)]
        self.arm, self.near = arm, (0.9 * tolerance[0] / arm.unit, 0.9 * tolerance[1])

    def solve(self, target: Floats, values: Floats) -> Any:
        """Repeat steps until the task's error is small."""
        here, task = self.here, self.task
        here.update(clipped(self.arm, values))
        task.set_target(self.mink.SE3.from_matrix(as_place(target)))
        for step in range(_ROUNDS):
            error = task.compute_error(here)
            if self._reached(error):
                return here.q.copy(), True, step
            try:
                velocity = self.mink.solve_ik(here, [task], 1.0, "daqp", damping=1e-9, limits=self.limits)
            except Exception:  # noqa: BLE001  (any error of the QP solver is a failure)
                return here.q.copy(), False, step
            here.update(clipped(self.arm, here.integrate(velocity, 1.0)))
        return here.q.copy(), False, _ROUNDS

    def _reached(self, error: Floats) -> bool:
        there = bool(np.linalg.norm(error[:3]) < self.near[0])
        return there and (not self.turns or bool(np.linalg.norm(error[3:]) < self.near[1]))
