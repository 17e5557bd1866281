"""The viewer's figure: one smooth skin about the humanoid's bones, with clothes painted on it, hair and eyes.

rounded bodies -> distance to their smooth union -> surface of a grid -> skin weights, and a texture seen from the front
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sample_figure import POSITIONS, ROW, Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

Distance = Callable[[Floats], Floats]

CELL_M = 0.0235  # of the grid
HAIR_CELL_M = 0.025
BLEND_M = 0.028  # within which two bodies grow together
WIDTH_M, HEIGHT_M = 2.0, 1.9  # seen by the texture
PIXELS = 384

SKIN, SHIRT, TROUSERS, SHOES, SOLES = (224, 172, 140), (38, 132, 138), (58, 74, 104), (46, 50, 60), (206, 208, 212)
HAIR, EYES, COLLAR = (72, 48, 36), (30, 30, 36), (28, 104, 112)
_CORNER = {"hair": 0.01, "eyes": 0.03}  # across the texture, where hair and eyes have their colours


class Skin(NamedTuple):
    """Triangles with one vertex per row; `weights` (k, 4) of a vertex sum to 255."""

    positions: Floats
    normals: Floats
    uv: Floats
    joints: NDArray[np.uint8]
    weights: NDArray[np.uint8]
    triangles: NDArray[np.uint16]


# --- Bodies ----------------------------------------------------------------------------------------------------------


def _ellipsoid(centre: tuple[float, float, float], radii: tuple[float, float, float]) -> Distance:
    middle, size = np.array(centre), np.array(radii)

    def distance(points: Floats) -> Floats:
        way = (points - middle) / size
        near = np.linalg.norm(way, axis=-1)
        return near * (near - 1.0) / np.maximum(np.linalg.norm(way / size, axis=-1), 1e-9)

    return distance


def _limb(start: Floats, end: Floats, radii: tuple[float, float]) -> Distance:
    a, way = np.asarray(start, dtype=float), np.asarray(end, dtype=float) - np.asarray(start, dtype=float)

    def distance(points: Floats) -> Floats:
        share = np.clip((points - a) @ way / (way @ way), 0.0, 1.0)
        return np.linalg.norm(points - a - share[..., None] * way, axis=-1) - (radii[0] + (radii[1] - radii[0]) * share)

    return distance


def _merge(bodies: list[Distance], blend: float) -> Distance:
    """Smooth union: nearest distance, less where two are equally near."""

    def distance(points: Floats) -> Floats:
        merged = bodies[0](points)
        for body in bodies[1:]:
            other = body(points)
            overlap = np.maximum(blend - np.abs(merged - other), 0.0) / blend
            merged = np.minimum(merged, other) - overlap**2 * blend / 4.0
        return merged

    return distance


def _at(name: str) -> Floats:
    return POSITIONS[ROW[name]]


def _body() -> Distance:
    bodies = [
        _ellipsoid((0, 0.955, -0.006), (0.158, 0.115, 0.112)),
        _ellipsoid((0, 1.10, -0.004), (0.128, 0.15, 0.092)),
        _ellipsoid((0, 1.285, -0.010), (0.158, 0.165, 0.112)),
        _limb(np.array([-0.125, 1.405, -0.012]), np.array([0.125, 1.405, -0.012]), (0.058, 0.058)),
        _limb(np.array([0, 1.40, -0.01]), np.array([0, 1.57, 0.012]), (0.058, 0.045)),
        _ellipsoid((0, 1.665, 0.018), (0.078, 0.108, 0.094)),
        _ellipsoid((0, 1.605, 0.036), (0.054, 0.062, 0.066)),
        _ellipsoid((0, 1.638, 0.112), (0.015, 0.026, 0.022)),
    ]
    for sign, side in ((1.0, "Left"), (-1.0, "Right")):
        x = np.array([sign, 1.0, 1.0])
        hip, knee, ankle = (_at(side + name) for name in ("UpLeg", "Leg", "Foot"))
        bodies += [
            _limb(_at(f"{side}Arm"), _at(f"{side}ForeArm"), (0.054, 0.042)),
            _limb(_at(f"{side}ForeArm"), _at(f"{side}Hand"), (0.043, 0.030)),
            _ellipsoid(tuple(x * (0.775, 1.417, 0.002)), (0.066, 0.024, 0.044)),
            _ellipsoid(tuple(x * (0.845, 1.415, 0.002)), (0.056, 0.019, 0.036)),
            _limb(x * (0.735, 1.412, 0.030), x * (0.800, 1.405, 0.066), (0.018, 0.015)),
            _ellipsoid(tuple(x * (0.078, 1.66, 0.004)), (0.014, 0.028, 0.020)),
            _limb(hip + np.array([0, 0.01, 0]), knee, (0.088, 0.060)),
            _limb(knee, ankle + np.array([0, 0.02, -0.004]), (0.060, 0.042)),
            _ellipsoid(tuple(knee * [1, 0.72, 1] + [0, 0, -0.022]), (0.045, 0.11, 0.046)),
            _ellipsoid(tuple(ankle * [1, 0, 1] + [0, 0.048, 0.060]), (0.050, 0.048, 0.160)),
            _ellipsoid(tuple(ankle * [1, 0, 1] + [0, 0.052, -0.030]), (0.043, 0.052, 0.050)),
        ]
    whole = _merge(bodies, BLEND_M)
    return lambda points: np.maximum(whole(points), 0.004 - points[..., 1])  # soles are flat


def _hair() -> Distance:
    cap = _merge(
        [_ellipsoid((0, 1.700, 0.004), (0.090, 0.092, 0.106)), _ellipsoid((0, 1.645, -0.040), (0.080, 0.09, 0.066))],
        0.03,
    )
    face = _ellipsoid((0, 1.618, 0.112), (0.088, 0.098, 0.094))
    return lambda points: np.maximum(cap(points), -face(points))


def _eyes() -> Distance:
    eyes = [_ellipsoid((sign * 0.030, 1.660, 0.104), (0.0105, 0.0125, 0.0095)) for sign in (1.0, -1.0)]
    return lambda points: np.minimum(eyes[0](points), eyes[1](points))


# --- Surface of a distance -------------------------------------------------------------------------------------------


def _surface(
    distance: Distance, low: tuple[float, ...], high: tuple[float, ...], cell: float
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Vertices, normals and triangles where a distance is zero: a vertex in each cell of a grid that it crosses."""
    axes = [np.arange(a, b + cell, cell) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    inside = distance(points) < 0.0
    corners = np.stack(
        [
            inside[i : i - 1 or None, j : j - 1 or None, k : k - 1 or None]
            for i in (0, 1)
            for j in (0, 1)
            for k in (0, 1)
        ]
    )
    crossed = corners.any(0) & ~corners.all(0)
    number = np.full(crossed.shape, -1)
    number[crossed] = np.arange(crossed.sum())
    vertices = points[:-1, :-1, :-1][crossed] + cell / 2.0
    for _ in range(6):
        gradient = _gradient(distance, vertices)
        way = distance(vertices)[:, None] * gradient / np.maximum((gradient**2).sum(-1, keepdims=True), 0.25)
        vertices = vertices - np.clip(way, -0.5 * cell, 0.5 * cell)
    quads: list[NDArray[np.int64]] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        first, second = (np.moveaxis(inside, axis, 0)[part] for part in (slice(None, -1), slice(1, None)))
        edges = np.argwhere(np.moveaxis(first != second, 0, axis))
        edges = edges[
            (edges[:, u] > 0)
            & (edges[:, v] > 0)
            & (edges[:, u] < inside.shape[u] - 1)
            & (edges[:, v] < inside.shape[v] - 1)
        ]
        steps = np.zeros((4, 3), int)
        steps[[1, 2], u] -= 1
        steps[[2, 3], v] -= 1
        around = np.stack([number[tuple((edges + step).T)] for step in steps], -1)
        leaves = inside[tuple(edges.T)]
        quads.append(np.where(leaves[:, None], around, around[:, ::-1]))
    quad = np.concatenate(quads)
    triangles = np.concatenate([quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]])
    normals = _gradient(distance, vertices)
    return vertices, normals / np.linalg.norm(normals, axis=-1, keepdims=True), triangles


def _gradient(distance: Distance, points: Floats, step: float = 2e-3) -> Floats:
    shifts = step * np.eye(3)
    return np.stack([distance(points + shift) - distance(points - shift) for shift in shifts], -1) / (2.0 * step)


# --- Skin ------------------------------------------------------------------------------------------------------------


_BONES = [  # joint, where its part begins and ends
    ("Hips", "Hips", "Spine"), ("Spine", "Spine", "Chest"), ("Chest", "Chest", "Neck"), ("Neck", "Neck", "Head"),
    *((f"{s}{a}", f"{s}{a}", f"{s}{b}") for s in ("Left", "Right") for a, b in (
        ("Shoulder", "Arm"), ("Arm", "ForeArm"), ("ForeArm", "Hand"), ("UpLeg", "Leg"), ("Leg", "Foot"),
        ("Foot", "Toe"))),
]  # fmt: skip
_LASTS = {
    "Head": (0, 0.19, 0),
    "LeftHand": (0.18, 0, 0),
    "RightHand": (-0.18, 0, 0),
    "LeftToe": (0, 0, 0.07),
    "RightToe": (0, 0, 0.07),
}
_SHARPNESS = 7.0  # of the weights: the power of the ratio of distances
_THICKNESS_M = {"Hips": 0.09, "Spine": 0.09, "Chest": 0.09, "Head": 0.05, "UpLeg": 0.05}


def _weigh(points: Floats) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Weights of the four nearest bones; bytes that sum to 255."""
    segments = [(joint, _at(a), _at(b)) for joint, a, b in _BONES]
    segments += [(joint, _at(joint), _at(joint) + np.array(way)) for joint, way in _LASTS.items()]
    gaps = []
    for joint, a, b in segments:
        thick = _THICKNESS_M.get(joint.removeprefix("Left").removeprefix("Right"), 0.03)
        gap = _limb(a, b, (0.0, 0.0))(points) / thick
        side = 1.0 if joint.startswith("Left") else -1.0 if joint.startswith("Right") else 0.0
        gaps.append(gap + 1e3 * (side * points[:, 0] < -0.004))
    raw = (np.array(gaps).T + 0.2) ** -_SHARPNESS
    order = np.argsort(-raw, axis=-1, kind="stable")[:, :4]
    chosen = np.take_along_axis(raw, order, -1)
    shares = np.round(255 * np.cumsum(chosen, -1) / chosen.sum(-1, keepdims=True)).astype(int)
    weights = np.diff(shares, axis=-1, prepend=0).astype(np.uint8)
    rows = np.array([ROW[joint] for joint, *_ in segments])[order].astype(np.uint8)
    rows[weights == 0] = 0
    return rows, weights


def skin() -> Skin:
    """Build the whole skin in the T-pose."""
    parts = []
    for name, distance, low, high, cell in (
        ("body", _body(), (-0.945, -0.03, -0.20), (0.95, 1.82, 0.24), CELL_M),
        ("hair", _hair(), (-0.121, 1.50, -0.16), (0.13, 1.84, 0.17), HAIR_CELL_M),
        ("eyes", _eyes(), (-0.0455, 1.64, 0.085), (0.05, 1.68, 0.12), 0.007),
    ):
        positions, normals, triangles = _surface(distance, low, high, cell)
        uv = np.stack([positions[:, 0] / WIDTH_M + 0.5, 1.0 - positions[:, 1] / HEIGHT_M], -1)
        if name in _CORNER:
            uv[:] = _CORNER[name], 0.005
            joints, weights = np.zeros((len(positions), 4), np.uint8), np.zeros((len(positions), 4), np.uint8)
            joints[:, 0], weights[:, 0] = ROW["Head"], 255
        else:
            joints, weights = _weigh(positions)
        parts.append(Skin(positions, normals, uv, joints, weights, triangles.astype(np.uint16)))
    starts = np.cumsum([0, *[len(part.positions) for part in parts]])
    triangles = [part.triangles + start for part, start in zip(parts, starts, strict=False)]
    fields = [np.concatenate([part[k] for part in parts]) for k in range(5)]
    return Skin(*fields, np.concatenate(triangles).astype(np.uint16))  # pyright: ignore[reportArgumentType]


def texture() -> bytes:
    """Paint the clothes as PNG, seen from the front."""
    x = (np.arange(PIXELS) + 0.5) / PIXELS * WIDTH_M - WIDTH_M / 2.0
    y = HEIGHT_M - (np.arange(PIXELS) + 0.5) / PIXELS * HEIGHT_M
    x, y = np.meshgrid(np.abs(x), y)
    image = np.zeros((PIXELS, PIXELS, 3), np.uint8)
    image[:] = SKIN
    neckline = 1.435 + 0.4 * x  # higher at the side of the neck
    image[((y < neckline) | (x > 0.1)) & (x < 0.345) & (y < 1.55)] = SHIRT
    image[(y < neckline) & (y > neckline - 0.02) & (x < 0.1)] = COLLAR
    image[(x > 0.325) & (x < 0.345) & (y > 1.2)] = COLLAR
    image[(y < 1.0) & (x < 0.4)] = TROUSERS
    image[(y < 0.112) & (x < 0.4)] = SHOES
    image[(y < 0.022) & (x < 0.4)] = SOLES
    image[: PIXELS // 64, : int(0.02 * PIXELS)] = HAIR
    image[: PIXELS // 64, int(0.02 * PIXELS) : int(0.04 * PIXELS)] = EYES
    rows = np.concatenate([np.zeros((PIXELS, 1), np.uint8), image.reshape(PIXELS, -1)], -1)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", PIXELS, PIXELS, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    ]
    chunks = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
