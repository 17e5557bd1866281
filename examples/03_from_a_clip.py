"""Start from a frame of an animation, and convert a clip from BVH to GLB and back."""

import sys
from pathlib import Path

import numpy as np

import poise
from poise import samples

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

walk = poise.load(samples.path("humanoid.bvh")).clips[0]
print(walk)  # Clip('humanoid', 31 frames, 1 s)
start = walk.at(0.5)
hand = start.world["RightHand"].positions
result = poise.solve(start, poise.Position("RightHand", hand + [0, 0.3, 0.1])).require()
print(result)  # reached: 3.2e-09 left, 1 iteration, ... (natural, levenberg_marquardt)

poise.save(walk, out / "walk.glb")  # a skeleton with the animation
again = poise.load(out / "walk.glb").clips[0]
names = walk.skeleton.names
assert again.skeleton.names == names
difference = np.abs(again.at(0.5).world.positions - start.world.positions).max()
print(f"largest difference after BVH -> GLB: {difference:.2g}")  # ... 3.9e-08
assert difference < 1e-5
