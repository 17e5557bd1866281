"""Make the README's picture from the bundled sample: `python scripts/make_pictures.py`."""

from __future__ import annotations

from pathlib import Path

import poise
from poise import plot, samples

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def main() -> None:
    """Draw the README's example, a solve with limits by classic CCD and its trace, and a walk on hills."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    rest = poise.load(samples.path("humanoid.glb")).rest
    goal = poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm")
    result = poise.solve(rest, goal).require()
    poses = [("rest", rest), ("reached", result.pose)]
    plot.draw_poses(IMAGES / "reach.png", poses, target=goal.target, chain=[*result.joints, goal.joint])

    elbow = poise.Range.degrees(-150, 0, axis=(0, 1, 0))
    shoulder = poise.SwingTwist.degrees((1, 0, 0), swing=((-50, 30), (-70, 90)), twist=(-40, 40))
    start = poise.Pose(rest.skeleton.limited({"LeftForeArm": elbow, "LeftArm": shoulder}), rest.q)
    goal = poise.Position("LeftHand", [0.3, 1.2, 0.3], root="LeftArm")
    result = poise.solve(start, goal, solver=poise.CCD(order="tip-first", finish=False), trace=True).require()
    plot.draw_solve(IMAGES / "solve.png", start, result, target=goal.target)

    rig, hills = poise.load(samples.path("humanoid.glb")), poise.Terrain.heightmap(samples.path("hills.npz"))
    plot.draw_feet(IMAGES / "feet.png", poise.plant_feet(rig.clips[0], hills, rig=rig))


if __name__ == "__main__":
    main()
