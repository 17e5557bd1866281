"""A whole character: hands and head move, one foot stays, the rest changes little."""

import numpy as np

import poise
from poise import samples

figure = poise.load(samples.path("humanoid.bvh"))
start = figure.rest
hips = figure.skeleton.names[0]
hand, head = (start.world[name].positions for name in ("LeftHand", "Head"))

goals = [
    poise.Position("LeftHand", hand + [-0.15, 0.25, 0.2], root=hips),
    poise.Direction("Head", [0.4, 0, 1], root="Neck"),
    poise.Pin("LeftFoot", root=hips),
    poise.Pin("RightFoot", root=hips),
    poise.Near(start),
]
result = poise.solve(start, goals, free_root=True)
print(result)  # reached: 1.3e-09 and 8e-10 rad left, 19 iterations, ... (levenberg_marquardt)
assert result.reached
assert np.linalg.norm(result.pose.world["LeftFoot"].positions - start.world["LeftFoot"].positions) <= result.tolerance
