"""A leg in closed form: pole for the knee, soft reach, fixed foot rotation."""

import numpy as np

import poise
from poise import samples

start = poise.load(samples.path("humanoid.glb")).rest  # its sidecar makes the knees one-sided hinges
foot, knee = (start.world[name].positions for name in ("LeftFoot", "LeftLeg"))

leg = poise.TwoBone(pole=knee + [0.5, 0, 2], soft=0.1, keep_tip=True)
result = poise.solve(start, poise.Position("LeftFoot", foot + [0.1, 0.25, 0.2], root="LeftUpLeg"), solver=leg)
print(result)  # reached: 0 mm left, 1 iteration, ... (two_bone)
assert result.reached
assert np.allclose(result.pose.world["LeftFoot"].rotations, start.world["LeftFoot"].rotations)

lower = foot + np.linspace(0, -0.3, 4)[:, None] * [0, 1, 0]  # ever farther down: the leg never straightens completely
below = poise.solve(start, poise.Position("LeftFoot", lower, root="LeftUpLeg"), solver=leg)
print(below.pose.world_of("LeftFoot").positions[:, 1], poise.Status(int(below.status[-1])))  # ... out_of_reach
