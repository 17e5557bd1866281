"""All solutions of a closed form, in the peer's own environment: `all_branches.py PEER ROBOT TARGETS.npz OUT.npz`.

TARGETS holds q (k, n) and their poses T (k, 4, 4); OUT gets branches (b, n), of which target each is, and seconds (k,).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from robots import models
from robots.models import Floats

EXAMPLES = 50  # poses that show which fixed transform leads to the tip of the URDF


def eaik(robot: models.Robot, q: Floats, poses: Floats) -> Callable[[Floats], Floats]:
    """EAIK's branches, its least-squares ones as well: whoever judges sees which reach."""
    from robots.peers.eaik_forms import Nearest  # noqa: PLC0415 - one peer's package is here

    peer = Nearest()
    peer.load(robot, 1e-6, q, poses)
    return lambda pose: np.asarray(peer.arm.IK(pose @ peer.back).Q)


def ssik(robot: models.Robot, q: Floats, poses: Floats) -> Callable[[Floats], Floats]:
    """Ssik's branches, from the module that the package ships for the arm."""
    from robots.peers.ssik_forms import Seeded  # noqa: PLC0415 - one peer's package is here

    peer = Seeded()
    peer.load(robot, 1e-6, q, poses)
    return lambda pose: np.array([answer.q for answer in peer.arm.solve(pose, enumerate_windings=False)])


def main(name: str, robot_name: str, targets: str, out: str) -> None:
    """Solve every target."""
    robot, given = models.load(robot_name), np.load(targets)
    solve = {"eaik": eaik, "ssik": ssik}[name](robot, given["q"][:EXAMPLES], given["T"][:EXAMPLES])
    solve(given["T"][0])
    branches, owners, seconds = [], [], []
    for k, pose in enumerate(given["T"]):
        began = time.perf_counter()
        found = solve(pose)
        seconds.append(time.perf_counter() - began)
        branches.append(found.reshape(-1, len(robot.joints)))
        owners += [k] * len(branches[-1])
    np.savez(out, branches=np.concatenate(branches), of=np.array(owners, dtype=np.int64), seconds=np.array(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
