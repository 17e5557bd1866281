"""The bundled humanoid's mesh: closed low-poly tubes around the bones, with smooth normals and skin weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sample_figure import POSITIONS, ROW, Floats, X, Y, Z

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIDES = 12
_BOXY = 0.8  # exponent of the cross-section: 1 is an ellipse, smaller is more like a box


class Mesh(NamedTuple):
    """Triangles with one vertex per row; `joints` and `weights` (k, 4), the weights of a vertex sum to 255."""

    positions: Floats
    normals: Floats
    joints: NDArray[np.uint8]
    weights: NDArray[np.uint8]
    triangles: NDArray[np.uint16]


class Tube(NamedTuple):
    """A closed tube along a straight line from `start` along the unit vector `along`.

    rings   (distance, half width along `wide`, half width across) per ring; the ends are closed by a point
    joints  the joints that move it, in order along the line
    bounds  (distance, half width of the blend) between each two of them
    """

    start: Floats
    along: Floats
    wide: Floats
    rings: list[tuple[float, float, float]]
    joints: list[str]
    bounds: list[tuple[float, float]]


def humanoid() -> Mesh:
    """Build the mesh of the whole figure in its T-pose."""
    tubes = [_torso(), _head()]
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        tubes += [_arm(side, sign), _leg(side), _foot(side)]
    parts = [_skinned(tube) for tube in tubes]
    starts = np.cumsum([0, *[len(part.positions) for part in parts]])
    triangles = [part.triangles + start for part, start in zip(parts, starts, strict=False)]
    return Mesh(
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.normals for part in parts]),
        np.concatenate([part.joints for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate(triangles).astype(np.uint16),
    )


def _torso() -> Tube:
    rings = [(0.0, 0.10, 0.07), (0.04, 0.16, 0.105), (0.11, 0.17, 0.11), (0.20, 0.145, 0.095), (0.27, 0.14, 0.09),
             (0.36, 0.16, 0.10), (0.47, 0.18, 0.11), (0.55, 0.17, 0.095), (0.60, 0.11, 0.07), (0.63, 0.06, 0.055),
             (0.72, 0.05, 0.052), (0.74, 0.03, 0.03)]  # fmt: skip
    bounds = [(0.21, 0.06), (0.37, 0.06), (0.62, 0.03)]
    return Tube(np.array([0, 0.86, -0.005]), Y, X, rings, ["Hips", "Spine", "Chest", "Neck"], bounds)


def _head() -> Tube:
    rings = [(0.01, 0.035, 0.05), (0.03, 0.055, 0.075), (0.09, 0.072, 0.092), (0.15, 0.075, 0.098),
             (0.20, 0.062, 0.083), (0.225, 0.035, 0.05)]  # fmt: skip
    return Tube(np.array([0, 1.515, 0.012]), Y, X, rings, ["Neck", "Head"], [(0.03, 0.03)])


def _arm(side: str, sign: float) -> Tube:
    rings = [(0.0, 0.045, 0.04), (0.05, 0.062, 0.058), (0.15, 0.052, 0.05), (0.26, 0.045, 0.043), (0.30, 0.043, 0.042),
             (0.34, 0.043, 0.041), (0.42, 0.039, 0.035), (0.52, 0.030, 0.024), (0.55, 0.030, 0.020),
             (0.60, 0.045, 0.020), (0.67, 0.045, 0.018), (0.72, 0.025, 0.012)]  # fmt: skip
    joints = [f"{side}{name}" for name in ("Shoulder", "Arm", "ForeArm", "Hand")]
    bounds = [(0.03, 0.05), (0.305, 0.045), (0.555, 0.03)]
    return Tube(np.array([sign * 0.155, 1.42, -0.006]), sign * X, Z, rings, joints, bounds)


def _leg(side: str) -> Tube:
    rings = [(0.0, 0.06, 0.06), (0.05, 0.088, 0.09), (0.16, 0.085, 0.088), (0.30, 0.070, 0.072), (0.40, 0.058, 0.06),
             (0.45, 0.055, 0.058), (0.50, 0.053, 0.056), (0.60, 0.055, 0.058), (0.72, 0.044, 0.046),
             (0.82, 0.034, 0.038), (0.86, 0.034, 0.04), (0.90, 0.028, 0.034)]  # fmt: skip
    joints = ["Hips", *[f"{side}{name}" for name in ("UpLeg", "Leg", "Foot")]]
    hip = POSITIONS[ROW[f"{side}UpLeg"]]
    return Tube(hip + 0.03 * Y, -Y, X, rings, joints, [(0.0, 0.05), (0.45, 0.06), (0.86, 0.03)])


def _foot(side: str) -> Tube:
    rings = [(0.0, 0.025, 0.022), (0.015, 0.036, 0.032), (0.06, 0.038, 0.034), (0.13, 0.044, 0.03),
             (0.19, 0.048, 0.026), (0.24, 0.042, 0.022), (0.262, 0.025, 0.014)]  # fmt: skip
    heel = POSITIONS[ROW[f"{side}Foot"]] * [1, 0, 0] + [0, 0.034, -0.06]
    return Tube(heel, Z, X, rings, [f"{side}Foot", f"{side}Toe"], [(0.19, 0.025)])


def _skinned(tube: Tube) -> Mesh:
    positions, triangles = _surface(tube)
    joints, weights = _weights(tube, (positions - tube.start) @ tube.along)
    return Mesh(positions, _normals(positions, triangles), joints, weights, triangles.astype(np.uint16))


def _surface(tube: Tube) -> tuple[Floats, NDArray[np.int64]]:
    """Vertices, ring after ring and both end points last, and triangles that run counter-clockwise from outside."""
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    across = np.cross(tube.along, tube.wide)
    u, v = (np.sign(c) * np.abs(np.where(np.abs(c) < 1e-9, 0.0, c)) ** _BOXY for c in (np.cos(angle), np.sin(angle)))
    rings = [
        tube.start + s * tube.along + np.outer(wide * u, tube.wide) + np.outer(thick * v, across)
        for s, wide, thick in tube.rings
    ]
    first, last = tube.rings[0][0], tube.rings[-1][0]
    ends = [tube.start + (first - 0.012) * tube.along, tube.start + (last + 0.012) * tube.along]
    here = np.arange(SIDES)
    following = (here + 1) % SIDES
    triangles: list[NDArray[np.int64]] = []
    for k in range(len(rings) - 1):
        a, b = here + k * SIDES, following + k * SIDES
        triangles += [np.stack([a, b, b + SIDES], -1), np.stack([a, b + SIDES, a + SIDES], -1)]
    bottom, top = len(rings) * SIDES, len(rings) * SIDES + 1
    final = (len(rings) - 1) * SIDES
    triangles.append(np.stack([following, here, np.full(SIDES, bottom)], -1))
    triangles.append(np.stack([here + final, following + final, np.full(SIDES, top)], -1))
    return np.concatenate([*rings, np.array(ends)]), np.concatenate(triangles)


def _normals(positions: Floats, triangles: NDArray[np.int64]) -> Floats:
    """Return unit vertex normals: the area-weighted mean of the faces around each vertex."""
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    normals = np.zeros_like(positions)
    for k in range(3):
        np.add.at(normals, triangles[:, k], np.cross(b - a, c - a))
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def _weights(tube: Tube, s: Floats) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Blend each two neighbouring joints by a smooth step around their bound; bytes that sum to 255."""
    steps = [np.ones_like(s)]
    for bound, width in tube.bounds:
        t = np.clip((s - bound + width) / (2 * width), 0.0, 1.0)
        steps.append(t * t * (3 - 2 * t))
    cumulative = np.round(255 * np.array([*steps, np.zeros_like(s)])).astype(int)  # differences sum to 255 exactly
    weights = np.zeros((len(s), 4), np.uint8)
    weights[:, : len(tube.joints)] = (cumulative[:-1] - cumulative[1:]).T
    joints = np.zeros((len(s), 4), np.uint8)
    joints[:, : len(tube.joints)] = [ROW[name] for name in tube.joints]
    joints[weights == 0] = 0
    return joints, weights
