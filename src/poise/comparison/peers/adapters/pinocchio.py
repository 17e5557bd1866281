"""Adapter of Pinocchio: damped least squares over its kinematics."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from poise.comparison.peers.adapter_base import InProcessAdapter, OptionalLibrary, check_goal_kind
from poise.comparison.peers.serial_chain import SerialArm
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.euler import from_quaternion, to_quaternion
from poise.problem.problem import Tolerance

_LIBRARY = OptionalLibrary("pinocchio", "pin")
_DAMPING = 1e-6
_MAX_STEPS, _MAX_ATTEMPTS = 100, 20
_MAX_STEP_RAD = 1.0  # [rad] maximum step of all joints together


class Pinocchio(InProcessAdapter):
    """Adapter with damped least squares in Python, and spherical joints for balls."""

    name = "pinocchio"
    versioned_name: ClassVar[str] = _LIBRARY.format_versioned_name("pinocchio")
    goals: ClassVar[tuple[str, ...]] = ("Position", "Place")
    keeps_limits = True
    source = "C++ library for rigid-body dynamics with Python bindings (pip install pin)"
    notes = (
        "its documented inverse kinematics loop in Python, damping 1e-6, full steps of at most 1 rad, values clamped "
        "to the limits after each, up to 20 tries of 100 steps, the first from the start, others from random values"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, goal_kind: str, tolerance: Tolerance) -> None:
        check_goal_kind(self.name, self.goals, goal_kind)
        self.pin = _LIBRARY.load()
        self.arm, self.tolerance = arm, Tolerance(0.9 * tolerance.distance / arm.unit, 0.9 * tolerance.angle)
        self.has_rotation = goal_kind == "Place"
        self.model, self.value_columns, self.quaternion_columns, tip_frame = _build_model(self.pin, arm)
        self.model_data, self.tip_frame = self.model.createData(), tip_frame
        single_links = [i for i in range(len(arm.links)) if not any(ball <= i < ball + 3 for ball in arm.ball_links)]
        self.single_links = np.array(single_links, dtype=np.int64)
        self.low, self.high = arm.low[self.single_links], arm.high[self.single_links]
        self.sample_ranges = (
            np.where(np.isfinite(self.low), self.low, -np.pi),
            np.where(np.isfinite(self.high), self.high, np.pi),
        )
        self.damping = _DAMPING * np.eye(6 if self.has_rotation else 3)
        self.rng = np.random.default_rng(0)

    def solve(self, target: Floats, values: Floats) -> Any:
        """Solve from the start, then from random values."""
        library_target = self.pin.SE3(target[:3, :3], target[:3, 3]) if self.has_rotation else target
        start_q, step_count, best = self._to_library_q(values), 0, (np.inf, values)
        for _ in range(_MAX_ATTEMPTS):
            configuration, remaining_error, steps = self._descend(library_target, start_q)
            step_count += steps
            if remaining_error <= 1.0:
                return self._to_values(configuration), True, step_count
            if remaining_error < best[0]:
                best = remaining_error, self._to_values(configuration)
            start_q = self._sample_q()
        return best[1], False, step_count

    def _descend(self, target: Any, configuration: Floats) -> tuple[Floats, float, int]:
        """Take damped steps until the target is reached.

        Returns the configuration, the remaining error in tolerances and the number of steps.
        """
        for step in range(_MAX_STEPS):
            error, jacobian = self._linearize(target, configuration)
            remaining_error = self._compute_error(error)
            if remaining_error <= 1.0:
                return configuration, remaining_error, step
            displacement = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + self.damping, error)
            length = float(np.linalg.norm(displacement))
            configuration = self.pin.integrate(
                self.model,
                configuration,
                displacement if length <= _MAX_STEP_RAD else displacement * (_MAX_STEP_RAD / length),
            )
            configuration[self.value_columns] = np.minimum(
                np.maximum(configuration[self.value_columns], self.low), self.high
            )
        return configuration, self._compute_error(self._linearize(target, configuration)[0]), _MAX_STEPS

    def _linearize(self, target: Any, configuration: Floats) -> tuple[Floats, Floats]:
        """Compute the error and its Jacobian.

        A transform's error is its logarithm, a point's is in the axes of the base.
        """
        pin, model, data = self.pin, self.model, self.model_data
        pin.framesForwardKinematics(model, data, configuration)
        tip = data.oMf[self.tip_frame]
        if not self.has_rotation:
            jacobian = pin.computeFrameJacobian(model, data, configuration, self.tip_frame, pin.LOCAL_WORLD_ALIGNED)
            return target - tip.translation, jacobian[:3]
        target_in_tip = tip.actInv(target)
        jacobian = pin.computeFrameJacobian(model, data, configuration, self.tip_frame)
        return pin.log6(target_in_tip).vector, pin.Jlog6(target_in_tip.inverse()) @ jacobian

    def _compute_error(self, error: Floats) -> float:
        distance = float(np.linalg.norm(error[:3])) / self.tolerance.distance
        return max(distance, float(np.linalg.norm(error[3:])) / self.tolerance.angle) if self.has_rotation else distance

    def _to_library_q(self, values: Floats) -> Floats:
        """Convert values to the library's configuration. Each ball joint has a quaternion x y z w."""
        result = np.empty(self.model.nq)
        result[self.value_columns] = values[self.single_links]
        for ball, column in zip(self.arm.ball_links, self.quaternion_columns, strict=True):
            result[column : column + 4] = np.roll(to_quaternion(values[ball : ball + 3], "XYZ"), -1)
        return result

    def _to_values(self, configuration: Floats) -> Floats:
        result = np.empty(len(self.arm.links))
        result[self.single_links] = configuration[self.value_columns]
        for ball, column in zip(self.arm.ball_links, self.quaternion_columns, strict=True):
            result[ball : ball + 3] = from_quaternion(np.roll(configuration[column : column + 4], 1), "XYZ")
        return result

    def _sample_q(self) -> Floats:
        result = np.empty(self.model.nq)
        result[self.value_columns] = self.rng.uniform(*self.sample_ranges)
        for column in self.quaternion_columns:
            result[column : column + 4] = rotations.normalise(self.rng.normal(size=4))
        return result


def _build_model(pin: Any, arm: SerialArm) -> tuple[Any, NDArray[np.int64], list[int], int]:
    """Build the library's model of the arm.

    Also returns the columns of values and quaternions in its configuration, and the frame number of the tip.
    """
    model, parent, link_index = pin.Model(), 0, 0
    value_columns: list[int] = []
    quaternion_columns: list[int] = []
    while link_index < len(arm.links):
        link, is_ball = arm.links[link_index], link_index in arm.ball_links
        joint_class = pin.JointModelPrismaticUnaligned if link.is_slide else pin.JointModelRevoluteUnaligned
        joint = pin.JointModelSpherical() if is_ball else joint_class(link.axis)
        parent = model.addJoint(parent, joint, pin.SE3(link.transform), link.name)
        (quaternion_columns if is_ball else value_columns).append(model.joints[parent].idx_q)
        link_index += 3 if is_ball else 1
    tip_frame = model.addFrame(pin.Frame("tip", parent, 0, pin.SE3(arm.tip_transform), pin.FrameType.OP_FRAME))
    return model, np.array(value_columns, dtype=np.int64), quaternion_columns, tip_frame
