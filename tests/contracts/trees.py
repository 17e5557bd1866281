"""Random trees with limits, and random goals that a pose of theirs meets."""

from __future__ import annotations

import numpy as np

import poise
from poise import Aim, Direction, LookAt, Near, Orientation, Place, Pole, Position, Range
from poise.maths import rotations
from tests.contracts.problems import ROWS, Problem
from tests.strategies import random_q, random_skeleton


def near_q(rng, skeleton, q, amount):
    """Another legal configuration, every joint of which differs by up to about `amount`; q may be a batch."""
    out = q + rng.uniform(-amount, amount, size=q.shape)
    for columns in skeleton.quaternion_columns:
        turn = rotations.from_vector(rng.uniform(-amount, amount, size=(*q.shape[:-1], 3)))
        out[..., columns] = rotations.multiply(turn, q[..., columns])
    return skeleton.legal(out)[0]


def rotated(quaternion, vector):
    """Vectors turned by quaternions."""
    return rotations.rotate(quaternion, np.asarray(vector, dtype=float))


def goals_at(rng, pose, count, *, look=True):
    """Goals of random kinds for random joints, met by this pose."""
    goals = []
    for joint in rng.choice(pose.skeleton.names, size=count, replace=False):
        at = pose.world[joint]
        axis, offset = rng.normal(size=(2, 3))
        weight = float(rng.uniform(0.5, 2))
        point = at.positions + at.affine[..., :3] @ offset
        ahead = point + rng.uniform(0.5, 3) * rotated(at.rotations, axis)
        every = [
            Position(joint, at.positions, weight=weight),
            Position(joint, point, offset=offset, weight=weight),
            Orientation(joint, at.rotations, weight=weight),
            Place(joint, at.positions, at.rotations, weight=weight),
            Place(joint, point, at.rotations, offset=offset, weight=weight),
            Direction(joint, rotated(at.rotations, axis), axis=axis, weight=weight),
            Aim(joint, ahead, axis=axis, offset=offset, weight=weight),
        ]
        if look:
            every.append(LookAt(joint, ahead, axis=axis, offset=offset, weight=weight))
        above = pose.skeleton.ancestors(joint)
        if len(above) > 1:  # the joint is then the tip of a limb
            every.append(Pole(above[-1], pose.world[above[-1]].positions, root=above[0], tip=joint, weight=weight))
        goals.append(every[rng.integers(len(every))])
    return goals


def some_limits(rng, s, q):
    """Ranges for about half of the joints, the configuration q inside."""
    limits = {}
    for name in s.names:
        joint = s[name]
        if joint.kind in (1, 2) and joint.coupling is None and rng.random() < 0.5:
            value = q[s.q_start[joint.row]]
            limits[name] = Range(value - rng.uniform(0, 1), value + rng.uniform(0, 1))
    coupled = {name for name in s.names if s[name].coupling}
    return s.with_limits({name: limit for name, limit in limits.items() if name not in coupled})


def any_problem(rng, **options):
    """A random tree of eight joints and one to three goals, their targets met by legal poses near the start."""
    s = random_skeleton(rng, 8, **options)
    q = random_q(rng, s)
    s = some_limits(rng, s, q)
    start = poise.Pose(s, s.legal(q)[0])
    nearby = poise.Pose(s, near_q(rng, s, np.tile(start.q, (ROWS, 1)), 0.3))
    goals = goals_at(rng, nearby, int(rng.integers(1, 4)))
    return Problem(start, (*goals, Near(start)) if rng.random() < 0.3 else tuple(goals))
