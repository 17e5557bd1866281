"""A robot arm: single placements, batches, all solutions, and an unreachable target."""

import numpy as np

import poise
from poise import samples

arm = poise.load(samples.path("arm.urdf"))
low, high = arm.skeleton.value_ranges.T
q = np.random.default_rng(0).uniform(low, high, (10_000, arm.skeleton.nq))
there = poise.Pose(arm.skeleton, q).world_of("tool")  # reachable placements, by forward kinematics

answers = poise.solve(arm.rest, poise.Place("tool", there.positions, there.rotations))
print(answers)  # 10000 of 10000 reached, ... each (levenberg_marquardt)
assert answers.reached.all()
assert answers.position_errors.max() < 1e-6
assert answers.angle_errors.max() < 1e-6

reach = poise.prepare(arm.rest, poise.Place("tool", [0, 0, 0], [1, 0, 0, 0]))  # packed once for many calls
matrix = there.matrices[0]
# from the start pose, and from the solution, which takes no iteration
print(reach(matrix), reach(matrix, start=q[0]).iterations)

every = poise.solve(arm.rest, poise.Place.from_matrix("tool", matrix), prefer="all")
print(len(every.solutions), "ways to stand there")  # 9 ways to stand there
near = poise.solve(arm.rest, poise.Place.from_matrix("tool", matrix), prefer="closest", seeds=512)
assert np.linalg.norm(near.q - arm.rest.q) <= np.linalg.norm(every.solutions.q - arm.rest.q, axis=1).min() + 1e-6

far = poise.solve(arm.rest, poise.Place("tool", [9, 0, 0], [1, 0, 0, 0]))
print(far)  # out of reach: the target is 8.002 m beyond the longest reach of 1 m; ...
assert far.status is poise.Status.out_of_reach
