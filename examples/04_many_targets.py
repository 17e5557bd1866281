"""Batches: ten thousand targets for a robot arm in one call."""

import numpy as np

import poise
from poise import samples

arm = poise.load(samples.path("arm.urdf"))
low, high = arm.skeleton.value_ranges.T
q = np.random.default_rng(1).uniform(low, high, size=(10_000, arm.skeleton.nq))
targets = poise.Pose(arm.skeleton, q).world["tool"].positions  # reachable by construction

solver = poise.CCD(iterations=1000)  # CCD needs many sweeps at the edge of the reach
answers = poise.solve(arm.rest, poise.Position("tool", targets), solver=solver, tolerance=1e-4)
print(answers)  # 9990 of 10000 reached, ... each (ccd)
missed = answers[~answers.reached]
for answer in missed[:3]:
    print(answer.message())  # limited: a pose without limits meets the target, none was found within them; ...

assert answers.reached.mean() > 0.99
