"""Feet on the ground: a clip planted as a whole, its report and contacts, and a grounder frame by frame."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import poise
from poise import samples

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
rig = poise.load(samples.path("humanoid.glb"))
walk = rig.clips[0]
hills = poise.Terrain.heightmap(samples.path("hills.npz"))

planted = poise.plant_feet(walk, hills, rig=rig)
print(planted.report.before.skate, planted.report.after.skate, planted.report.ok, list(planted.notes))
steps = {
    leg: {point: list(pairs) for point, pairs in points.items()} for leg, points in planted.contacts.intervals().items()
}
again = poise.Contacts.from_intervals(steps, planted.contacts.legs, planted.times)
print(again.legs, again.times[-1])
poise.save(planted, out / "on_hills.glb", like=rig)

pose = poise.plant_pose(rig.rest, poise.Terrain.slope(8))
grounder = poise.Grounder(walk, poise.Terrain.slope(8), blend_half_life=0.1)
for time in np.linspace(0.0, 0.2, 5):
    pose = grounder(walk.at(time), dt=1 / 30)
print(pose.shape, grounder.locked.any(), grounder.contacts.shape, float(hills.heights(np.zeros((1, 3)))[0]))
