"""Adapter of OptIK: sequential quadratic programming with restarts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from poise.comparison.peers import adapter_base
from poise.comparison.peers.serial_chain import SerialArm
from poise.errors import UnsupportedError
from poise.maths.arrays import Floats
from poise.problem.problem import Tolerance

_LIBRARY = adapter_base.OptionalLibrary("optik", "optik-py")
_START_OFFSET = 1e-8  # [rad, arm units] start offset: at zero rotation error its gradient is NaN


class Optik(adapter_base.InProcessAdapter):
    """Adapter of `Robot.ik` on the arm's URDF."""

    name = "optik"
    versioned_name: ClassVar[str] = _LIBRARY.format_versioned_name("optik")
    goals: ClassVar[tuple[str, ...]] = ("Position", "Place")
    keeps_limits = True
    source = "Rust library with Python bindings (pip install optik-py)"
    notes = (
        "mode speed, one thread, at most 0.1 s a target, restarts inside the limits, stops when its squared error is "
        "below a quarter of the squared tolerance; starts are moved by 1e-8, because with a rotation error of exactly "
        "zero it computes no number; a ball joint is three hinges"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, goal_kind: str, tolerance: Tolerance) -> None:
        adapter_base.check_goal_kind(self.name, self.goals, goal_kind)
        slide_name = next((link.name for link in arm.links if link.is_slide), None)
        if slide_name is not None:  # otherwise it ends the whole process
            raise UnsupportedError(f"optik supports hinges only; {slide_name!r} is a slide")
        optik = _LIBRARY.load()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "chain.urdf"
            path.write_text(arm.format_urdf(continuous=False), encoding="utf-8")
            self.robot = optik.Robot.from_urdf_file(str(path), "base", "tip")
        self.robot.set_parallelism(1)
        distance, angle = tolerance.distance / arm.unit, tolerance.angle
        error_bound = distance if goal_kind == "Position" else min(distance, angle)
        weights = {"angular_weight": np.zeros(3)} if goal_kind == "Position" else {}
        self.solver_config = optik.SolverConfig(
            solution_mode="speed", max_time=0.1, tol_f=0.25 * error_bound**2, **weights
        )
        self.arm, self.start_offsets = arm, _START_OFFSET * np.arange(1, len(arm.links) + 1)

    def solve(self, target: Floats, values: Floats) -> Any:
        """Call the library once from the start."""
        output = self.robot.ik(
            self.solver_config,
            adapter_base.make_transform(target),
            adapter_base.clip_values(self.arm, values + self.start_offsets),
        )
        return (None, False, None) if output is None else (np.array(output[0]), True, None)
