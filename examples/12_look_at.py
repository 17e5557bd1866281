"""Gaze of head, neck and spine, with a reaching hand and a pole for its elbow."""

import numpy as np

import poise
from poise import samples

figure = poise.load(samples.path("humanoid.bvh"))
start = figure.rest
point = start.world["LeftArm"].positions + [0.2, -0.1, 0.35]
elbow = start.world["LeftForeArm"].positions

goals = [
    poise.LookAt("Head", point, over={"Spine": 1, "Neck": 2, "Head": 3}, offset=[0, 0.1, 0.08]),
    poise.Position("LeftHand", point, root="LeftArm"),
    poise.Pole("LeftForeArm", elbow + [0.5, -0.5, 0], root="LeftArm", tip="LeftHand"),
]
result = poise.solve(start, goals)
print(result)  # reached: 9.1e-08 and 6e-08 rad left, 1 iteration, ... (natural, levenberg_marquardt)
assert result.reached

quarter = np.linspace(0, 1, 5)
print("hand on its way:", result.blend(quarter).world["LeftHand"].positions.round(2).tolist())
