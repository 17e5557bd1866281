"""Whether answers are where they were asked to be, inside their limits, and no whole turn too far."""

from __future__ import annotations

import warnings
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import poise
from poise import Kind
from poise.maths import rotations
from robot_cases.targets import Bools, Floats, Limb

NEAR = 1e-6  # [m, rad] what counts as reached, which is Poise's own default for robots
INSIDE = 1e-9  # [rad, m] by how much a limit may be exceeded
TURN = 2 * np.pi


class Judged(NamedTuple):
    """Of answers (k, nq): how far the tip is from its target, what is reached, what stands whole turns too far."""

    distances: Floats
    angles: Floats
    reached: Bools
    turned: Bools


def judged(limb: Limb, q: Floats, goal: poise.Place, start: Floats) -> Judged:
    """Look at the answers q (k, nq) to a goal of k places from a start (nq,) or (k, nq)."""
    s = limb.rest.skeleton
    at = poise.Pose(s, q).world_of(limb.tip)
    distances = np.linalg.norm(at.positions - goal.position, axis=-1)
    left = rotations.multiply(rotations.inverse(goal.rotation), at.rotations)
    angles = 2 * np.arcsin(np.minimum(np.linalg.norm(left[..., 1:], axis=-1), 1.0))
    inside = ((q >= s.value_ranges[:, 0] - INSIDE) & (q <= s.value_ranges[:, 1] + INSIDE)).all(axis=-1)
    still = np.ones(s.nq, dtype=bool)
    still[limb.columns] = False
    kept = (q[:, still] == np.broadcast_to(start, q.shape)[:, still]).all(axis=-1)
    reached = (distances <= NEAR) & (angles <= NEAR) & inside & kept
    return Judged(distances, angles, reached, needless_turn(limb, q, start))


def needless_turn(limb: Limb, q: Floats, start: Floats) -> Bools:
    """(k,) whether some hinge could stand a whole turn nearer to its start, inside its limits."""
    columns = limb.columns[limb.hinges]
    low, high = limb.ranges[limb.hinges].T
    value, was = q[:, columns], np.broadcast_to(start, q.shape)[:, columns]
    other = value - TURN * np.sign(value - was)
    nearer = np.abs(other - was) < np.abs(value - was) - INSIDE
    return (nearer & (other >= low) & (other <= high)).any(axis=-1)


class Pinocchio:
    """A robot as Pinocchio reads it: another forward kinematics of the same file.

    ImportError where it is missing, ValueError where it does not read the file.
    """

    def __init__(self, path: Path, skeleton: poise.Skeleton) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a compiled module, when it is imported
            self._pin = import_module("pinocchio")
        self._model = self._pin.buildModelFromXML(path.read_text(encoding="utf-8"), mimic=True)
        self._data = self._model.createData()
        self._skeleton = skeleton

    @cached_property
    def _joints(self) -> list[tuple[int, Any]]:
        s, model = self._skeleton, self._model
        rows = [i for i, kind in enumerate(s.kinds) if kind not in {Kind.FIXED, Kind.FREE} and s.couplings[i] is None]
        return [(int(s.q_start[row]), model.joints[model.getJointId(str(s.source_ids[row]))]) for row in rows]

    def away(self, limb: Limb, q: Floats, goal: poise.Place) -> float:
        """The largest difference [m, or of a matrix] between the first places and where it has the tip in q (k, nq)."""
        row, kinds = self._skeleton.index(limb.tip), self._pin.FrameType
        kind = kinds.FIXED_JOINT if self._skeleton.kinds[row] == Kind.FIXED else kinds.JOINT
        frame, most = self._model.getFrameId(str(self._skeleton.source_ids[row]), kind), 0.0
        turns = rotations.as_matrix(goal.rotation)
        for values, position, turn in zip(q, goal.position, turns, strict=False):
            self._pin.framesForwardKinematics(self._model, self._data, self._q(values))
            place = self._data.oMf[frame]
            most = max(most, np.abs(place.translation - position).max(), np.abs(place.rotation - turn).max())
        return float(most)

    def _q(self, values: Floats) -> Floats:
        theirs = self._pin.neutral(self._model)
        for column, joint in self._joints:
            value = values[column]
            theirs[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(value), np.sin(value)) if joint.nq == 2 else value
        return theirs
