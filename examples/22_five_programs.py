"""Five common programs: a reach, a moving target, feet on hills, a robot in a batch, a comparison."""

import sys
from pathlib import Path

import numpy as np

import poise

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

# 1. load a rig, solve for a hand, save the file
rig = poise.load(poise.sample("humanoid"))
hand = poise.Position("LeftHand", [0.3, 1.2, 0.4], root="LeftArm")
result = poise.solve(rig.rest, hand)
print(result)  # reached: 0 mm left, 1 iteration, ... (natural, two_bone)
print(result.pose.world["LeftHand"].positions)  # [0.3 1.2 0.4]
poise.save(result.require().pose, out / "reach.glb")

# 2. follow a moving target, frame by frame; 16_view.py does so with a handle in the page
tracker = poise.Tracker(rig.rest, hand, solver=poise.CCD(iterations=4))
steps = [tracker([0.3, 1.2 + 0.003 * frame, 0.4], dt=1 / 60) for frame in range(60)]
assert steps[-1].error < 1e-3  # four sweeps a frame keep up to within a millimetre

# 3. put the feet of a walk on hills
hills = poise.Terrain.heightmap(poise.sample("hills"))
planted = poise.plant_feet(rig.clips[0], hills, rig=rig)
print(planted.report)
poise.save(planted.clip, out / "walk_on_hills.glb", like=rig)

# 4. a hundred thousand placements for a robot arm: a batch is a leading axis
arm = poise.load(poise.sample("arm"))
low, high = arm.skeleton.value_ranges.T
q = np.random.default_rng(0).uniform(low, high, (100_000, arm.skeleton.nq))
places = poise.Pose(arm.skeleton, q).world_of("tool")
answers = poise.solve(arm.rest, poise.Place("tool", places.positions, places.rotations))
print(f"{answers.reached.mean():.1%} reached in {answers.seconds:.2f} s")  # 100.0% reached in 0.44 s
np.save(out / "joints.npy", answers.pose.q)
assert answers.reached.mean() > 0.999

# 5. which method for this arm?
constant = poise.DampedLeastSquares(damping="constant")
table = poise.compare(rig.rest, hand, solvers=["ccd", "fabrik", constant], effort="quick")
print(table)
table.save(out / "compare.html")
