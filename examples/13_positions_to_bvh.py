"""Joint positions of motion capture or a motion model, fitted and saved as an animation."""

import sys
from pathlib import Path

import numpy as np

import poise
from poise import samples

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

walk = poise.load(samples.path("humanoid.bvh")).clips[0]
positions = walk.poses.world.positions.copy()  # (frames, joints, 3): the output of a motion model
positions[5:9, walk.skeleton.names.index("LeftHand")] = np.nan  # a marker hidden for a while

fitted = poise.fit(walk.skeleton, positions, fps=walk.fps, name="fitted")
print(fitted.message())  # 31 frames; 4.5e-05 left on average, at most 0.0046: 'LeftHand_end' in frame 6
poise.save(fitted, out / "fitted.bvh")

again = poise.load(out / "fitted.bvh").clips[0]
off = np.linalg.norm(again.poses.world.positions - positions, axis=-1)
print(f"largest distance after saving and loading: {np.nanmax(off):.2g}")  # ... 0.0046
assert np.nanmax(off) < 0.01  # metres: error of the fingers from the hidden hand
