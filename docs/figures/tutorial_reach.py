"""The character at rest and at the target of the first tutorial."""

from __future__ import annotations

from pathlib import Path

import poise
from poise import plot, samples

TARGET = (0.4, 1.2, 0.35)


def draw(path: Path) -> None:
    """Solve and draw both poses."""
    rig = poise.load(samples.path("humanoid.glb"))
    result = poise.solve(rig.rest, poise.Position("LeftHand", TARGET, root="LeftArm"))
    poses = [("at rest", rig.rest), ("reached", result.pose)]
    plot.draw_poses(poses, path, target=TARGET, chain=[*result.joints, "LeftHand"])
