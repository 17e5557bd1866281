"""One target: the values of a result, their use as numbers, and every outcome."""

from __future__ import annotations

import json

import poise
from poise import samples


def describe(result: poise.SingleResult) -> str:
    """Describe a result by its status."""
    match result.status:
        case poise.Status.reached:
            return f"reached to {1000 * result.error:.2f} mm"
        case poise.Status.out_of_reach | poise.Status.limited:
            return f"not possible: {result.status.sentence}"
        case _:
            return result.message()


def is_reachable(rig: poise.Rig, point: list[float]) -> bool:
    """Return whether the hand reaches a point."""
    reached: bool = poise.solve(rig.rest, poise.Position("LeftHand", point, root="LeftArm")).reached
    return reached


rig = poise.load(samples.path("humanoid.glb"))
goals = [
    poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm"),
    poise.LookAt("Head", (0.4, 1.2, 0.35)),
]
result = poise.solve(rig.rest, goals)
error: float = result.error
if result and error < 1e-3:
    print(result.status.name, result.joints, result.iterations, result.cost)
print(json.dumps({"reached": result.reached, "error": round(result.error, 6), "status": result.status.name}))
print(describe(result), is_reachable(rig, [0.4, 1.2, 0.35]), result.require().pose.world["LeftHand"].positions)

trials = [poise.solve(rig.rest, goals[0], solver=name) for name in ("ccd", "fabrik", "levenberg_marquardt")]
best = min(trials, key=lambda trial: trial.error)
print(best.solver, poise.solve(rig.rest, goals[0], trace=True).trace)

follow = poise.Tracker(rig.rest, goals[0], speed=3.0)
step = follow([0.3, 1.3, 0.4], dt=1 / 60)
moving: bool = step.status is poise.Status.on_the_way
print(moving, f"{step.error:.3f}", not step.reached)

try:
    poise.solve(rig.rest, poise.Position("LeftHand", [9, 9, 9])).require()
except poise.NotReachedError as missed:
    print(missed)
try:
    rig.skeleton["Hand"]
except poise.UnknownNameError as unknown:
    print(unknown)
