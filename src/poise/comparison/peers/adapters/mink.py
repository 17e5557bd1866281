"""Adapter of mink: quadratic programs over MuJoCo.

Each step solves one program; steps are repeated until the tip reaches its target.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from poise.comparison.peers import adapter_base
from poise.comparison.peers.serial_chain import SerialArm
from poise.maths.arrays import Floats
from poise.problem.problem import Tolerance

_LIBRARY = adapter_base.OptionalLibrary("mink", "mink", ("daqp",))
_MAX_STEPS = 200
# fusestatic="false": otherwise the tip is merged into its parent
_COMPILER_XML = '<mujoco><compiler fusestatic="false" boundmass="0.1" boundinertia="0.1"/></mujoco>'


class Mink(adapter_base.InProcessAdapter):
    """Adapter of `mink.solve_ik` with one FrameTask, integrated over unit time steps."""

    name = "mink"
    versioned_name: ClassVar[str] = _LIBRARY.format_versioned_name("mink")
    goals: ClassVar[tuple[str, ...]] = ("Position", "Place")
    keeps_limits = True
    source = "Python library on MuJoCo, by Kevin Zakka (pip install mink daqp)"
    notes = (
        "one FrameTask, gain 1, damping 1e-3 of its error, limits as constraints, solver daqp, up to 200 rounds from "
        "the start without restarts; for a point its rotation costs nothing; a ball joint is three hinges"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, goal_kind: str, tolerance: Tolerance) -> None:
        adapter_base.check_goal_kind(self.name, self.goals, goal_kind)
        self.mink, mujoco = _LIBRARY.load(), adapter_base.OptionalLibrary("mujoco", "mujoco").load()
        xml_prefix, robot_tag, xml_suffix = arm.format_urdf().partition('<robot name="chain">')
        self.model = mujoco.MjModel.from_xml_string(xml_prefix + robot_tag + _COMPILER_XML + xml_suffix)
        self.configuration = self.mink.Configuration(self.model)
        self.has_rotation = goal_kind == "Place"
        self.task = self.mink.FrameTask(
            "tip", "body", position_cost=1.0, orientation_cost=float(self.has_rotation), lm_damping=1e-3, gain=1.0
        )
        self.limits = [self.mink.ConfigurationLimit(self.model, gain=1.0)]
        self.arm, self.tolerance = arm, Tolerance(0.9 * tolerance.distance / arm.unit, 0.9 * tolerance.angle)

    def solve(self, target: Floats, values: Floats) -> Any:
        """Repeat steps until the task's error is small."""
        configuration, task = self.configuration, self.task
        configuration.update(adapter_base.clip_values(self.arm, values))
        task.set_target(self.mink.SE3.from_matrix(adapter_base.make_transform(target)))
        for step in range(_MAX_STEPS):
            error = task.compute_error(configuration)
            if self._is_reached(error):
                return configuration.q.copy(), True, step
            try:
                velocity = self.mink.solve_ik(configuration, [task], 1.0, "daqp", damping=1e-9, limits=self.limits)
            except Exception:  # noqa: BLE001  (any error of the QP solver is a failure)
                return configuration.q.copy(), False, step
            configuration.update(adapter_base.clip_values(self.arm, configuration.integrate(velocity, 1.0)))
        return configuration.q.copy(), False, _MAX_STEPS

    def _is_reached(self, error: Floats) -> bool:
        is_position_reached = bool(np.linalg.norm(error[:3]) < self.tolerance.distance)
        return is_position_reached and (not self.has_rotation or bool(np.linalg.norm(error[3:]) < self.tolerance.angle))
