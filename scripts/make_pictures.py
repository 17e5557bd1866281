"""Make the README's pictures from the bundled samples: `python scripts/make_pictures.py`."""

from __future__ import annotations

from pathlib import Path

import poise
from poise import plot, samples

IMAGES = Path(__file__).parent.parent / "docs" / "images"
COMPARED = ("two_bone", "ccd", "fabrik", "levenberg_marquardt")


def main() -> None:
    """Draw the README's five tasks, and a solve with limits by classic CCD and its trace."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    rig = poise.load(samples.path("humanoid.glb"))
    draw_reach(rig.rest)
    draw_arm(poise.load(samples.path("arm.urdf")).rest)
    draw_whole(rig.rest)
    draw_limits(rig.rest)
    hills = poise.Terrain.heightmap(samples.path("hills.npz"))
    plot.draw_feet(poise.plant_feet(rig.clips[0], hills, rig=rig), IMAGES / "feet.png")
    hand = poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm")
    poise.compare(rig.rest, hand, solvers=COMPARED, effort="quick").save(IMAGES / "compare.png")


def draw_reach(rest: poise.Pose) -> None:
    """A hand at a target, the elbow bent as people do."""
    goal = poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm")
    result = poise.solve(rest, goal).require()
    poses = [("rest", rest), ("reached", result.pose)]
    plot.draw_poses(poses, IMAGES / "reach.png", target=goal.target, chain=[*result.joints, goal.joint])


def draw_arm(rest: poise.Pose) -> None:
    """A tool that points down at a place."""
    goal = poise.Place("tool", [0.3, 0.25, 0.3], rest.world["tool"].rotations)
    result = poise.solve(rest, goal).require()
    poses = [("rest", rest), ("tool at its place, pointing down", result.pose)]
    plot.draw_poses(poses, IMAGES / "arm.png", target=goal.position, chain=[*result.joints, goal.joint])


def draw_whole(rest: poise.Pose) -> None:
    """Sitting: hips on a chair, hands on the knees, the feet where they were."""
    feet = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
    hips = poise.Position("Hips", [0, 0.55, -0.35])
    hands = [poise.Position("LeftHand", [0.15, 0.65, 0.05]), poise.Position("RightHand", [-0.15, 0.65, 0.05])]
    result = poise.solve(rest, [*feet, hips, *hands], free_root=True).require()
    poses = [("rest", rest), ("hips on a chair, hands on the knees", result.pose)]
    plot.draw_poses(poses, IMAGES / "whole.png", target=hips.target, chain=["Hips"])


def draw_limits(rest: poise.Pose) -> None:
    """A solve with limits, the way of the tip, and the error after each sweep."""
    elbow = poise.Range.degrees(-150, 0, axis=(0, 1, 0))
    shoulder = poise.SwingTwist.degrees((1, 0, 0), swing=((-50, 30), (-70, 90)), twist=(-40, 40))
    start = poise.Pose(rest.skeleton.with_limits({"LeftForeArm": elbow, "LeftArm": shoulder}), rest.q)
    goal = poise.Position("LeftHand", [0.3, 1.2, 0.3], root="LeftArm")
    result = poise.solve(start, goal, solver=poise.CCD(order="tip-first", finish=False), trace=True).require()
    plot.draw_solve(start, result, IMAGES / "solve.png", target=goal.target)


if __name__ == "__main__":
    main()
