"""Many targets: arrays of the result, masks, statuses, and chunks of a stream."""

from __future__ import annotations

import numpy as np

import poise
from poise import samples

arm = poise.load(samples.path("arm.urdf"))
low, high = arm.skeleton.value_ranges.T
q = np.random.default_rng(1).uniform(low, high, (300, arm.skeleton.nq))
points = poise.Pose(arm.skeleton, q).world["tool"].positions.copy()
points[7] *= 20.0

answers = poise.solve(arm.rest, poise.Position("tool", points))
print(answers.reached.all(), answers.reached.mean(), answers.error.max(), answers.error[answers.reached].mean())
print(answers.status[7], answers.status[7].sentence, int((answers.status == poise.Status.out_of_reach).sum()))
print(np.flatnonzero(~answers.reached), len(answers), answers.shape, answers.iterations.sum(), answers.codes.max())
print(answers.position_errors.max(axis=0), answers.pose[3].world["tool"].positions, answers.message(7))


def count_missed(answers: poise.BatchResult) -> int:
    """Count the missed targets, with the types of a batch."""
    print(answers.error.shape, answers.status[0], answers.cost.sum())
    return int((~answers.reached).sum())


reach = poise.prepare(arm.rest, poise.Position("tool", points[0]))
print(count_missed(answers), reach(points[1]).error, reach(points).error.max())
print(sum(int(part.reached.sum()) for part in reach.stream(points, chunk=100)))
