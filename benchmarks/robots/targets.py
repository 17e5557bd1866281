"""Make the targets of one robot (run in Pinocchio's environment): `python -m robots.targets ROBOT OUT.npz`."""

from __future__ import annotations

import sys

import numpy as np

from robots import models
from robots.models import Floats
from robots.oracle import Oracle

TARGETS = 10_000
WAYPOINTS, RADIUS = 500, 0.1
FAR = 3.0  # m from the base: beyond every one of these robots
UNREACHABLE, AT_START = 100, 50
NEAR = 1e-9  # rad
CENTRES = {  # joint angles at the circle's centre, well inside the limits
    "panda": [0.0, -0.3, 0.0, -2.0, 0.0, 1.9, 0.785],
    "ur5": [0.3, -1.2, 1.6, -1.9, -1.4, 0.2],
    "iiwa14": [0.2, 0.5, 0.1, -1.4, 0.1, 0.9, 0.2],
    "pr2": [-0.5, 0.3, -0.6, -1.2, 0.4, -0.8, 0.3],
}


def circle(oracle: Oracle, centre: Floats) -> tuple[Floats, Floats]:
    """Poses (500, 4, 4) on a circle of 0.1 m, orientation kept, and the configuration (n,) that it starts from.

    The first plane of yz, xy, xz whose circle can be followed inside the limits is taken.
    """
    at = np.linspace(0.0, 2.0 * np.pi, WAYPOINTS)
    for first, second in ((1, 2), (0, 1), (0, 2)):
        path = np.repeat(oracle.pose(centre)[None], WAYPOINTS, axis=0)
        path[:, first, 3] += RADIUS * np.cos(at)
        path[:, second, 3] += RADIUS * np.sin(at)
        start = q = oracle.follow(path[0], centre)
        for waypoint in path:
            q = None if q is None else oracle.follow(waypoint, q)
        if start is not None and q is not None:
            return path, start
    message = f"{oracle.robot.name}: no circle around its centre can be followed"
    raise ValueError(message)


def make(name: str) -> dict[str, Floats]:
    """All targets of a robot; `q` are the configurations that reach `T`, `mid` and `rand` the starts."""
    robot = models.load(name)
    oracle, rng = Oracle(robot), np.random.default_rng(0)
    joints = len(robot.joints)
    q = rng.uniform(robot.lower, robot.upper, (TARGETS, joints))
    rand = rng.uniform(robot.lower, robot.upper, (TARGETS, joints))
    poses = oracle.poses(q)
    far = poses[:UNREACHABLE].copy()
    far[:, :3, 3] *= FAR / np.linalg.norm(far[:, :3, 3], axis=1, keepdims=True)
    away = rng.normal(size=(AT_START, joints))
    near = rand[:AT_START] + NEAR * away / np.linalg.norm(away, axis=1, keepdims=True)
    made = {
        "q": q, "T": poses, "mid": robot.mid, "rand": rand, "far": far, "same": oracle.poses(rand[:AT_START]),
        "near": oracle.poses(np.clip(near, robot.lower, robot.upper)),
    }  # fmt: skip
    if name in CENTRES:
        made["path"], made["path_start"] = circle(oracle, np.array(CENTRES[name]))
    return made


if __name__ == "__main__":
    np.savez(sys.argv[2], **make(sys.argv[1]))
