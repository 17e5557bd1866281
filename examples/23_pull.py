"""Pulls: a hand is dragged to the floor, and takes the figure along fully, by half, or not at all."""

import poise
from poise import samples

figure = poise.load(samples.path("humanoid.glb"))
start = figure.rest
feet = [poise.Pin("leftFoot"), poise.Pin("rightFoot")]
floor = start.world["LeftFoot"].positions + [0.1, 0.0, 0.2]

for pull in (1.0, 0.5, 0.0):
    hand = poise.Position("leftHand", floor, pull=pull)
    result = poise.solve(start, [*feet, hand], free_root=True)
    hips = result.pose.world["Hips"].positions - start.world["Hips"].positions
    print(f"pull {pull:g}: hips {100 * hips[1]:+.0f} cm; {result.message()}")
    assert result.reached == (pull == 1.0)
