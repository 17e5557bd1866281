"""Tracking of a jumping target: without damping, with damping, with a speed limit, saved as a clip."""

import sys
from pathlib import Path

import numpy as np

import poise
from poise import samples

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

rig = poise.load(samples.path("humanoid.glb"))
goal = poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm")
targets = np.tile([0.4, 1.2, 0.35], (90, 1))
targets[30:, 1] += 0.3  # after half a second it jumps up

for damping, speed in ((0.0, None), (0.05, None), (0.0, 2.0)):
    hand = poise.Tracker(rig.rest, goal, damping=damping, speed=speed)
    clip = hand.clip(targets, fps=60)
    heights = clip.poses.world_of("LeftHand").positions[:, 1]
    largest = np.abs(np.diff(heights[29:])).max()
    print(f"damping {damping}, speed {speed}: at most {1000 * largest:.0f} mm in one frame after the jump")

hand = poise.Tracker(rig.rest, goal, damping=0.05)
motion = hand.clip(targets, fps=60, name="reach")
left = np.linalg.norm(hand.pose.world["LeftHand"].positions - targets[-1])
print(motion, f"{1000 * left:.1f} mm left at its end")  # Clip('reach', 90 frames, 1.48 s) 0.0 mm left at its end
assert left < 0.01
poise.save(motion, out / "following.glb", like=rig)
assert [clip.name for clip in poise.load(out / "following.glb").clips] == ["walk", "reach"]
