"""A clip: frames, a goal for all of them, a new file, and a fit to positions."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import poise
from poise import samples

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
walk = poise.load(samples.path("humanoid.bvh")).clips[0]
hand = np.add(walk.poses.world["LeftHand"].positions, [0.0, 0.05, 0.0])

baked = poise.bake(walk, poise.Position("LeftHand", hand, root="LeftArm"))
print(baked, baked.result.reached.all(), baked.result.error.max(), baked.result.status[0])
poise.save(baked, out / "raised.glb")

clip = poise.load(out / "raised.glb").clips[0]
pose: poise.Pose = clip.at(0.5)
print(clip.name, len(clip), clip.times[-1], pose.world.positions.shape, pose.q[:4])

half = clip.resample(clip.fps / 2)
print(
    half.fps,
    half.poses[0].blend(half.poses[1], 0.5).q.shape,
    [leg.name for leg in poise.find_roles(clip.skeleton).legs],
)
fitted = poise.fit(walk.skeleton, walk.poses.world.positions, fps=30)
print(fitted, np.abs(fitted.poses.world.positions - walk.poses.world.positions).max())
