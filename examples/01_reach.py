"""Load a character, solve for its hand, save the pose in the same kind of file."""

import sys
from pathlib import Path

import poise
from poise import samples

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

rig = poise.load(samples.path("humanoid.glb"))
result = poise.solve(rig.rest, poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm"))
print(result)  # reached: 0 mm left, 1 iteration, ... (natural, two_bone)
poise.save(result.pose, out / "reach.glb")  # the same file with the new pose: mesh, skin and clips kept

assert result.reached
assert poise.load(out / "reach.glb").clips[0].name == "walk"
