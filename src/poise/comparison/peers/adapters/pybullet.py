"""Adapter of PyBullet: `calculateInverseKinematics`, repeated until converged."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from poise.comparison.peers import adapter_base
from poise.comparison.peers.serial_chain import SerialArm, find_finite_limits
from poise.errors import UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.problem.problem import Tolerance

_LIBRARY = adapter_base.OptionalLibrary("pybullet", "pybullet", prints_on_import=True)
_MAX_CALLS, _CALL_ITERATIONS = 20, 100
_MIN_ANGLE_RAD = 3e-8  # [rad] resolution of its arc cosine of a quaternion product
_MAX_LINKS = 127  # maximum links of a body


class Pybullet(adapter_base.InProcessAdapter):
    """Adapter of PyBullet. It uses the null-space call for limited joints, else damped least squares."""

    name = "pybullet"
    versioned_name: ClassVar[str] = _LIBRARY.format_versioned_name("pybullet")
    goals: ClassVar[tuple[str, ...]] = ("Position", "Place")
    keeps_limits = True
    source = "Bullet's robotics API for Python (pip install pybullet)"
    notes = (
        "calculateInverseKinematics with 100 iterations, called up to 20 times from its own answer, clamped to the "
        "limits; with limits, ranges and rest values where anything is limited, which is the call that knows limits, "
        "else plain; a ball joint is three hinges"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, goal_kind: str, tolerance: Tolerance) -> None:
        adapter_base.check_goal_kind(self.name, self.goals, goal_kind)
        if len(arm.links) >= _MAX_LINKS:
            raise UnsupportedError(
                f"pybullet takes bodies of up to {_MAX_LINKS} links; this chain has {len(arm.links) + 1}"
            )
        self.bullet = _LIBRARY.load()
        self.arm, self.has_rotation = arm, goal_kind == "Place"
        self.tolerance = Tolerance(0.9 * tolerance.distance / arm.unit, max(0.9 * tolerance.angle, _MIN_ANGLE_RAD))
        self.client_id = self.bullet.connect(self.bullet.DIRECT)
        self.disconnect = weakref.finalize(self, self.bullet.disconnect, self.client_id)
        self.body_id = self._load_body(arm)
        self.limit_options = self._make_limit_options(arm)

    def _load_body(self, arm: SerialArm) -> int:
        with (
            tempfile.TemporaryDirectory() as folder,
            adapter_base.isolate_global_state(),
            adapter_base.silence_output(),
        ):
            path = Path(folder) / "chain.urdf"
            path.write_text(arm.format_urdf(), encoding="utf-8")
            return self.bullet.loadURDF(str(path), useFixedBase=True, physicsClientId=self.client_id)

    @staticmethod
    def _make_limit_options(arm: SerialArm) -> dict[str, list[float]]:
        """Make the arguments of the call with limits. Lists, because version 3.2.7 crashes on arrays here."""
        if not (np.isfinite(arm.low) | np.isfinite(arm.high)).any():
            return {}
        ranges = [find_finite_limits(link) for link in arm.links]
        low, high = ([value_range[i] for value_range in ranges] for i in (0, 1))
        return {"lowerLimits": low, "upperLimits": high, "jointRanges": [b - a for a, b in ranges]}

    def solve(self, target: Floats, values: Floats) -> Any:
        """Repeat the call until the tip reaches its target. The library's own forward kinematics decides."""
        point, rotation = target, None
        if self.has_rotation:
            point, rotation = target[:3, 3], np.roll(rotations.from_matrix(target[:3, :3]), -1)
        for call in range(_MAX_CALLS):
            if self._is_at_target(values, point, rotation):
                return values, True, call * _CALL_ITERATIONS
            values = adapter_base.clip_values(self.arm, self._call_solver(point, rotation, values))
        return values, self._is_at_target(values, point, rotation), _MAX_CALLS * _CALL_ITERATIONS

    def _call_solver(self, point: Floats, rotation: Floats | None, values: Floats) -> Floats:
        options: dict[str, Any] = dict(self.limit_options)
        if self.limit_options:
            options["restPoses"] = values.tolist()
        if rotation is not None:
            options["targetOrientation"] = rotation
        output = self.bullet.calculateInverseKinematics(
            self.body_id, len(self.arm.links), point, maxNumIterations=_CALL_ITERATIONS,
            residualThreshold=self.tolerance.distance,
            physicsClientId=self.client_id, **options,
        )  # fmt: skip
        return np.array(output)

    def _is_at_target(self, values: Floats, point: Floats, rotation: Floats | None) -> bool:
        """Set the joints and compare the tip with its target."""
        for joint, value in enumerate(values.tolist()):
            self.bullet.resetJointState(self.body_id, joint, value, physicsClientId=self.client_id)
        tip_state = self.bullet.getLinkState(
            self.body_id, len(self.arm.links), computeForwardKinematics=True, physicsClientId=self.client_id
        )
        if not np.linalg.norm(np.subtract(tip_state[4], point)) < self.tolerance.distance:
            return False
        return (
            rotation is None
            or 2.0 * np.arccos(min(1.0, abs(float(np.dot(tip_state[5], rotation))))) < self.tolerance.angle
        )

    def close(self) -> None:
        """Disconnect from the physics server."""
        self.disconnect()
