"""FABRIK with several effectors: two hands and a head on one spine."""

import numpy as np

import poise
from poise import samples

figure = poise.load(samples.path("humanoid.bvh"))
start = figure.rest
moves = {"LeftHand": [-0.2, 0.3, 0.2], "RightHand": [0.1, -0.1, 0.3], "Head": [0.05, -0.03, 0.1]}
goals = [poise.Position(name, start.world[name].positions + by, root="Spine") for name, by in moves.items()]

result = poise.solve(start, goals, solver="fabrik")
print(result)  # reached: 2.8e-05 left, 5 iterations, ... (fabrik)
assert result.reached
assert result.violation <= 1e-9  # the elbows are one-sided hinges
np.testing.assert_array_equal(result.pose.world["LeftFoot"].positions, start.world["LeftFoot"].positions)

plain = poise.solve(start, goals, solver=poise.FABRIK(finish=False))  # the algorithm of the papers, for study
print(plain)  # stalled: 0.196 left, 100 iterations, ... (fabrik)
assert result.iterations < plain.iterations
