"""Measure joint motion and its smoothness along a path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.comparison.trials.task import Task
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.skeleton import Kind


class Smoothness(NamedTuple):
    """Largest first, second and third joint differences along a path.

    Differences are from frame to frame, for any joint.

    step          [rad a frame]
    acceleration  [rad a frame^2]
    jerk          [rad a frame^3]
    """

    step: float
    acceleration: float
    jerk: float


def moved(task: Task, a: Floats, b: Floats) -> Floats:
    """Compute joint displacements (k, joints, 3) between configurations.

    They are a and b, (k, nq). Only moving joints count.

    A ball joint has the rotation vector b a^-1 [rad]. Hinges and slides use the first component: an angle [rad] (the
    shorter way round if no limit forbids it), or a distance as a share of the chain's length.
    """
    skeleton, length = task.start.skeleton, _length(task)
    out = np.zeros((len(a), len(task.joints), 3))
    for i, name in enumerate(task.joints):
        joint, first = skeleton[name], skeleton.q_slice(name).start
        coupling = skeleton.couplings[skeleton.index(name)]
        factor = 1.0 if coupling is None else coupling.ratio
        if joint.kind == Kind.HINGE:
            turn = factor * (b[:, first] - a[:, first])
            free = np.isinf(skeleton.value_ranges[first]).all() and factor == 1.0
            out[:, i, 0] = (turn + np.pi) % (2 * np.pi) - np.pi if free else turn
        elif joint.kind == Kind.SLIDE:
            out[:, i, 0] = factor * (b[:, first] - a[:, first]) / length
        elif joint.kind in (Kind.BALL, Kind.FREE):
            at = slice(skeleton.q_slice(name).stop - 4, skeleton.q_slice(name).stop)
            out[:, i] = rotations.as_vector(rotations.multiply(b[:, at], rotations.inverse(a[:, at])))
    return out


def travel(task: Task, q: Floats, starts: Floats) -> Floats:
    """Compute distances (k,) of poses q (k, nq) from their starts.

    It is the root of the sum of squared joint rotations [rad].
    """
    return np.sqrt((moved(task, np.broadcast_to(starts, q.shape), q) ** 2).sum(axis=(1, 2)))


def smoothness(task: Task, q: Floats) -> Smoothness:
    """Measure the smoothness of poses q (k, nq) along a path.

    NaN for too few frames or for an answer without numbers.
    """
    steps = moved(task, q[:-1], q[1:])
    found: list[float] = []
    for _ in range(3):
        sizes = np.sqrt((steps**2).sum(axis=-1))
        found.append(float(sizes.max()) if sizes.size else float("nan"))
        steps = np.diff(steps, axis=0)
    return Smoothness(*found)


def _length(task: Task) -> float:
    """Return the chain's length [file units], or 1 without one."""
    return task.problem.plan.length or 1.0
