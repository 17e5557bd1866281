"""Move a character as another one: a whole clip, with its report, then live, pose by pose."""

import sys
from pathlib import Path

import numpy as np

import poise
from poise import samples

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
walk, figure = (poise.load(samples.path(name)) for name in ("humanoid.bvh", "humanoid.glb"))

match = poise.match(walk, figure)  # by roles, no table is needed
print(repr(match))
done = poise.retarget(walk, figure, match=match)
print(done.report.title)
for fact in done.report.facts[:2]:
    print(fact)
assert done.report.ok, done.report.worse
poise.save(done, folder / "walks.bvh", like=figure)

live = poise.Retargeter(walk, figure, match, ground=True)
poses = walk.clips[0].poses
shown = [live(poses[frame], 1 / 30) for frame in range(len(poses))]
hips = np.array([pose.world["Hips"].positions for pose in shown])
print(f"live: {len(shown)} poses, hips at {hips[:, 1].mean():.2f} m")
