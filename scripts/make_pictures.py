"""Make the README's picture from the bundled sample: `python scripts/make_pictures.py`."""

from __future__ import annotations

from pathlib import Path

import poise
from poise import plot, samples

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def main() -> None:
    """Solve the README's example and draw it."""
    rig = poise.load(samples.path("humanoid.glb"))
    goal = poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm")
    result = poise.solve(rig.rest, goal).require()
    chain = [*result.chain.joints, goal.joint]
    IMAGES.mkdir(parents=True, exist_ok=True)
    plot.draw_poses(
        IMAGES / "reach.png", [("rest", rig.rest), ("reached", result.pose)], target=goal.target, chain=chain
    )


if __name__ == "__main__":
    main()
