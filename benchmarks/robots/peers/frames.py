"""Geometry that peers want in other forms than a URDF: screw axes, DH tables, fixed transforms between frames."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable

import numpy as np

from robots.models import Floats

UR5_DH = {  # standard Denavit-Hartenberg, one row per joint [m, rad]
    "a": [0.0, -0.425, -0.39225, 0.0, 0.0, 0.0],
    "d": [0.089159, 0.0, 0.0, 0.10915, 0.09465, 0.0823],
    "alpha": [np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0],
}


def rotation(roll: float, pitch: float, yaw: float) -> Floats:
    """Rz(yaw) Ry(pitch) Rx(roll), as URDF means it."""
    x, y, z = (np.array([np.cos(angle), np.sin(angle)]) for angle in (roll, pitch, yaw))
    about_x = np.array([[1, 0, 0], [0, x[0], -x[1]], [0, x[1], x[0]]])
    about_y = np.array([[y[0], 0, y[1]], [0, 1, 0], [-y[1], 0, y[0]]])
    about_z = np.array([[z[0], -z[1], 0], [z[1], z[0], 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def screws(urdf: str) -> tuple[Floats, Floats, Floats]:
    """Axes (n, 3), the steps from point to point on them (n + 1, 3) and the tip's rotation (3, 3), all at q = 0."""
    place, axes, points = np.eye(4), [], []
    for joint in ET.parse(urdf).getroot().findall("joint"):  # noqa: S314 - a file of ours; chains come in order
        step = np.eye(4)
        origin = joint.find("origin")
        step[:3, :3] = rotation(*map(float, origin.get("rpy").split()))
        step[:3, 3] = [float(value) for value in origin.get("xyz").split()]
        place = place @ step
        if joint.get("type") != "fixed":
            axes.append(place[:3, :3] @ [float(value) for value in joint.find("axis").get("xyz").split()])
            points.append(place[:3, 3])
    steps = np.diff([np.zeros(3), *points, place[:3, 3]], axis=0)
    return np.array(axes), steps, place[:3, :3]


def tool(forward: Callable[[Floats], Floats], q: Floats, poses: Floats) -> Floats:
    """X (4, 4) with pose = forward(q) X for all examples. Raises ValueError where there is none."""
    fixed = np.linalg.inv(forward(q[0])) @ poses[0]
    off = max(np.abs(forward(row) @ fixed - pose).max() for row, pose in zip(q, poses, strict=True))
    if off > 1e-6:
        message = f"the peer's own model differs from the URDF by {off:.3g}"
        raise ValueError(message)
    return fixed


HALF_TURN = np.diag([-1.0, -1.0, 1.0, 1.0])  # the base of the DH table of a UR arm against that of its URDF


class UrFrames:
    """Carries poses of the UR5's URDF to the frames of its DH table: P = H T X."""

    def __init__(self, forward: Callable[[Floats], Floats], q: Floats, poses: Floats) -> None:
        self.after = np.linalg.inv(tool(lambda row: HALF_TURN @ forward(row), q, poses))

    def __call__(self, pose: Floats) -> Floats:
        """Pose (4, 4) of the DH table's last frame in its base."""
        return HALF_TURN @ pose @ self.after


def quaternion_xyzw(turn: Floats) -> Floats:
    """Unit quaternion x y z w of a rotation matrix, by the largest of its four squares."""
    squares = np.array([1 + turn[0, 0] - turn[1, 1] - turn[2, 2], 1 - turn[0, 0] + turn[1, 1] - turn[2, 2],
                        1 - turn[0, 0] - turn[1, 1] + turn[2, 2], 1 + np.trace(turn)])  # fmt: skip
    products = np.array([
        [squares[0], turn[0, 1] + turn[1, 0], turn[0, 2] + turn[2, 0], turn[2, 1] - turn[1, 2]],
        [turn[0, 1] + turn[1, 0], squares[1], turn[1, 2] + turn[2, 1], turn[0, 2] - turn[2, 0]],
        [turn[0, 2] + turn[2, 0], turn[1, 2] + turn[2, 1], squares[2], turn[1, 0] - turn[0, 1]],
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1], squares[3]],
    ])  # fmt: skip
    row = products[np.argmax(squares)]
    return row / np.linalg.norm(row)
