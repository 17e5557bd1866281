"""Adapter of the Robotics Toolbox: its compiled Levenberg-Marquardt."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from poise.comparison.peers import adapter_base
from poise.comparison.peers.serial_chain import SerialArm, find_finite_limits, invert_rigid
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.problem.problem import Tolerance

_LIBRARY = adapter_base.OptionalLibrary("roboticstoolbox", "roboticstoolbox-python")
_Z_AXIS = np.array([0.0, 0.0, 1.0])


class Roboticstoolbox(adapter_base.InProcessAdapter):
    """Adapter of `ETS.ik_LM` on elementary transforms made from the arm."""

    name = "roboticstoolbox"
    versioned_name: ClassVar[str] = _LIBRARY.format_versioned_name("roboticstoolbox")
    goals: ClassVar[tuple[str, ...]] = ("Position", "Place")
    keeps_limits = True
    source = "Robotics Toolbox for Python, by Peter Corke (pip install roboticstoolbox-python)"
    notes = (
        "ik_LM in C++ with Chan's damping (k = 1), up to 100 searches of 30 iterations from random values, answers "
        "outside the limits rejected, residual a quarter of the squared tolerance; a ball joint is three hinges"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, goal_kind: str, tolerance: Tolerance) -> None:
        adapter_base.check_goal_kind(self.name, self.goals, goal_kind)
        toolbox = _LIBRARY.load()
        self.arm, self.chain = arm, _build_chain(toolbox, arm)
        distance, angle = tolerance.distance / arm.unit, tolerance.angle
        self.max_residual = 0.25 * (distance if goal_kind == "Position" else min(distance, angle)) ** 2
        self.error_mask = np.array([1.0, 1, 1, 0, 0, 0]) if goal_kind == "Position" else np.ones(6)

    def solve(self, target: Floats, values: Floats) -> Any:
        """Call the library once from the start."""
        output = self.chain.ik_LM(
            adapter_base.make_transform(target),
            q0=adapter_base.clip_values(self.arm, values),
            tol=self.max_residual,
            mask=self.error_mask,
            joint_limits=True,
        )
        return np.array(output.q), bool(output.success), int(output.iterations)


def _build_chain(toolbox: Any, arm: SerialArm) -> Any:
    """Convert the arm to elementary transforms. They rotate about z and slide along z only."""
    ET, transforms, axis_from_link = toolbox.ET, [], np.eye(4)  # noqa: N806  (its own name)
    for link in arm.links:
        link_from_axis = np.eye(4)
        link_from_axis[:3, :3] = rotations.as_matrix(rotations.rotation_between(_Z_AXIS, link.axis))
        is_unlimited = not link.is_slide and np.isinf(link.low) and np.isinf(link.high)
        value_range = [-np.pi, np.pi] if is_unlimited else list(find_finite_limits(link))
        transforms += [
            ET.SE3(axis_from_link @ link.transform @ link_from_axis),
            (ET.tz if link.is_slide else ET.Rz)(qlim=value_range),
        ]
        axis_from_link = invert_rigid(link_from_axis)
    return toolbox.ETS([*transforms, ET.SE3(axis_from_link @ arm.tip_transform)])
