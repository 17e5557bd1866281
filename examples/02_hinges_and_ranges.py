"""Joint limits: make a ball joint a hinge with a range, and find the blocking limit."""

import poise
from poise import samples

rig = poise.load(samples.path("humanoid.glb"))  # its sidecar humanoid.ik.toml makes elbows and knees hinges
print(rig.skeleton["LeftForeArm"].limit)  # Range(low=0.0, high=2.618, axis=(0.0, -1.0, 0.0), ...)

stiff = rig.skeleton.with_limits({"*Arm": poise.Range.degrees(-5, 5, axis=(0, 0, 1))})
pose = poise.Pose(stiff, stiff.rest_q)
result = poise.solve(pose, poise.Position("LeftHand", [0.4, 1.8, 0.2], root="LeftArm"))
print(result)  # limited: a pose without limits meets the target, ...; LeftArm at its highest, 0.08727 rad (5 deg); ...

assert result.status is poise.Status.limited
assert result.violation <= 1e-9  # limits hold in every result, reached or not
