"""PyBullet: calculateInverseKinematics, repeated from its own output until converged."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from poise.comparison.peers.library import InProcess, Library, checked, clipped, quietly, silence
from poise.comparison.peers.serial import SerialArm, ends
from poise.errors import UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats

_LIBRARY = Library("pybullet", "pybullet", prints=True)
_CALLS, _ITERATIONS = 20, 100
_FLOAT_ANGLE = 3e-8  # [rad] resolution of its arc cosine of a quaternion product
_MOST = 127  # maximum links of a body


class Pybullet(InProcess):
    """Null-space call for limited joints, else damped least squares."""

    name = "pybullet"
    label = _LIBRARY.label("pybullet")
    goals = ("Position", "Place")
    keeps_limits = True
    source = "Bullet's robotics API for Python (pip install pybullet)"
    notes = (
        "calculateInverseKinematics with 100 iterations, called up to 20 times from its own answer, clamped to the "
        "limits; with limits, ranges and rest values where anything is limited, which is the call that knows limits, "
        "else plain; a ball joint is three hinges"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, kind: str, tolerance: tuple[float, float]) -> None:
        checked(self.name, self.goals, kind)
        if len(arm.links) >= _MOST:
            raise UnsupportedError(f"pybullet takes bodies of up to {_MOST} links; this chain has {len(arm.links) + 1}")
        self.bullet = _LIBRARY.load()
        self.arm, self.turns = arm, kind == "Place"
        self.near = 0.9 * tolerance[0] / arm.unit, max(0.9 * tolerance[1], _FLOAT_ANGLE)
        self.world = self.bullet.connect(self.bullet.DIRECT)
        self.end = weakref.finalize(self, self.bullet.disconnect, self.world)
        self.body = self._read(arm)
        self.limits = self._limits(arm)

    def _read(self, arm: SerialArm) -> int:
        with tempfile.TemporaryDirectory() as folder, quietly(), silence():
            path = Path(folder) / "chain.urdf"
            path.write_text(arm.urdf(), encoding="utf-8")
            return self.bullet.loadURDF(str(path), useFixedBase=True, physicsClientId=self.world)

    @staticmethod
    def _limits(arm: SerialArm) -> dict[str, list[float]]:
        """Make the arguments of the call with limits. Lists, because version 3.2.7 crashes on arrays here."""
        if not (np.isfinite(arm.low) | np.isfinite(arm.high)).any():
            return {}
        pairs = [ends(link) for link in arm.links]
        low, high = ([pair[i] for pair in pairs] for i in (0, 1))
        return {"lowerLimits": low, "upperLimits": high, "jointRanges": [b - a for a, b in pairs]}

    def solve(self, target: Floats, values: Floats) -> Any:
        """Repeat the call until the tip reaches its target. The library's own forward kinematics decides."""
        point, turn = target, None
        if self.turns:
            point, turn = target[:3, 3], np.roll(rotations.from_matrix(target[:3, :3]), -1)
        for call in range(_CALLS):
            if self._there(values, point, turn):
                return values, True, call * _ITERATIONS
            values = clipped(self.arm, self._call(point, turn, values))
        return values, self._there(values, point, turn), _CALLS * _ITERATIONS

    def _call(self, point: Floats, turn: Floats | None, values: Floats) -> Floats:
        more: dict[str, Any] = dict(self.limits)
        if self.limits:
            more["restPoses"] = values.tolist()
        if turn is not None:
            more["targetOrientation"] = turn
        found = self.bullet.calculateInverseKinematics(
            self.body, len(self.arm.links), point, maxNumIterations=_ITERATIONS, residualThreshold=self.near[0],
            physicsClientId=self.world, **more,
        )  # fmt: skip
        return np.array(found)

    def _there(self, values: Floats, point: Floats, turn: Floats | None) -> bool:
        """Set the joints and compare the tip with its target."""
        for joint, value in enumerate(values.tolist()):
            self.bullet.resetJointState(self.body, joint, value, physicsClientId=self.world)
        state = self.bullet.getLinkState(
            self.body, len(self.arm.links), computeForwardKinematics=True, physicsClientId=self.world
        )
        if not np.linalg.norm(np.subtract(state[4], point)) < self.near[0]:
            return False
        return turn is None or 2.0 * np.arccos(min(1.0, abs(float(np.dot(state[5], turn))))) < self.near[1]

    def close(self) -> None:
        """Disconnect from the physics server."""
        self.end()
