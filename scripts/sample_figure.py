"""The bundled humanoid: joints in a T-pose and a walk in place, its trunk and arms made of sine curves.

Metres, +Y up, facing +Z, so the figure's left is +X. Every joint's rest rotation is the identity: the axes
of a joint's rest frame are the world's.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import sample_gait
from numpy.typing import NDArray

from poise.maths import rotations

Floats: TypeAlias = NDArray[np.float64]

FPS = 30
FRAMES = 31  # one second; the last frame equals the first, so that the clip loops
X, Y, Z = np.eye(3)

# Elbows lie a little behind and knees a little in front of a straight limb: an IK solver sees which way they bend.
_MIDDLE = [
    ("Hips", "", (0.0, 0.97, 0.0)),
    ("Spine", "Hips", (0.0, 1.07, 0.0)),
    ("Chest", "Spine", (0.0, 1.23, -0.01)),
    ("Neck", "Chest", (0.0, 1.47, -0.01)),
    ("Head", "Neck", (0.0, 1.56, 0.01)),
]
_LEFT = [
    ("Shoulder", "Chest", (0.03, 1.42, 0.0)),
    ("Arm", "Shoulder", (0.18, 1.42, 0.0)),
    ("ForeArm", "Arm", (0.46, 1.42, -0.012)),
    ("Hand", "ForeArm", (0.71, 1.42, 0.0)),
    ("UpLeg", "Hips", (0.095, 0.92, 0.0)),
    ("Leg", "UpLeg", (0.095, 0.50, 0.012)),
    ("Foot", "Leg", (0.095, 0.085, 0.0)),
    ("Toe", "Foot", (0.095, 0.02, 0.13)),
]
_ENDS = {"Head": (0.0, 0.19, 0.0), "Hand": (0.18, 0.0, 0.0), "Toe": (0.0, 0.0, 0.07)}
_SOLE = {"Foot": (0.0, -0.085, -0.06), "Toe": (0.0, -0.02, 0.0)}  # heel and ball, from their joint
_REACH = 0.832  # of the legs: knees are never quite straight
_RISE, _LATE = 0.018, 0.754  # of the hips in mid stance, and when that is


def _mirrored(point: tuple[float, float, float]) -> tuple[float, float, float]:
    return (-point[0], point[1], point[2])


def _joints() -> list[tuple[str, str, tuple[float, float, float]]]:
    rows = list(_MIDDLE)
    for side in ("Left", "Right"):
        for name, parent, point in _LEFT:
            above = parent if parent in ("Hips", "Chest") else side + parent
            rows.append((side + name, above, point if side == "Left" else _mirrored(point)))
    return rows


JOINTS = _joints()
NAMES = [name for name, _, _ in JOINTS]
ROW = {name: i for i, name in enumerate(NAMES)}
PARENTS = [ROW.get(parent, -1) for _, parent, _ in JOINTS]
POSITIONS = np.array([point for _, _, point in JOINTS])
OFFSETS = np.array(
    [p - (POSITIONS[parent] if parent >= 0 else 0) for p, parent in zip(POSITIONS, PARENTS, strict=True)]
)


def end_of(name: str) -> tuple[float, float, float] | None:
    """Offset of the end of a last bone from its joint (skull, finger tips, toe tips); None for other joints."""
    offset = _ENDS.get(name.removeprefix("Left").removeprefix("Right"))
    return _mirrored(offset) if offset and name.startswith("Right") else offset


def world_of(local: Floats, hips: Floats) -> tuple[Floats, Floats]:
    """World positions (..., n, 3) and rotations (..., n, 4) of local rotations and the position of the hips."""
    positions, turned = np.zeros((*local.shape[:-1], 3)), local.copy()
    positions[..., 0, :] = hips
    for i, parent in enumerate(PARENTS[1:], start=1):
        turned[..., i, :] = rotations.multiply(turned[..., parent, :], local[..., i, :])
        step = rotations.rotate(turned[..., parent, :], np.broadcast_to(OFFSETS[i], positions[..., i, :].shape))
        positions[..., i, :] = positions[..., parent, :] + step
    return positions, turned


def walk() -> tuple[Floats, Floats]:
    """Return local rotations (frames, n, 4) and positions of the hips (frames, 3) of one cycle of a walk in place.

    Feet stand on ground that passes under them (`sample_gait`); the hips are as high as the legs allow, up and down
    once for each step.
    """
    phase = 2 * np.pi * np.arange(FRAMES) / (FRAMES - 1)
    world = np.zeros((FRAMES, len(NAMES), 4))
    world[...] = rotations.IDENTITY
    _put_trunk(world, phase)
    steps = {side: _step(phase / (2 * np.pi) + late) for side, late in (("Left", 0.0), ("Right", 0.5))}
    hips = _hips(world, phase, steps)
    for side, sign, p in (("Left", 1.0, phase), ("Right", -1.0, phase + np.pi)):
        _put_leg(world, side, steps[side], hips)
        _put_arm(world, side, sign, p)
    local = world.copy()
    for i, parent in enumerate(PARENTS):
        if parent >= 0:
            local[:, i] = rotations.multiply(rotations.inverse(world[:, parent]), world[:, i])
    return local, hips


def _put_trunk(world: Floats, p: Floats) -> None:
    """Turn the pelvis with the forward leg, let it drop on the free side; the chest turns against it."""
    world[:, ROW["Hips"]] = rotations.multiply(
        rotations.about(Y, -0.09 * np.cos(p)), rotations.about(Z, 0.05 * np.sin(p))
    )
    lean = rotations.about(X, np.full(len(p), 0.03))
    world[:, ROW["Spine"]] = rotations.multiply(rotations.about(Y, 0.03 * np.cos(p)), lean)
    world[:, ROW["Chest"]] = rotations.multiply(rotations.about(Y, 0.12 * np.cos(p)), lean)
    world[:, ROW["Neck"]] = rotations.about(Y, 0.04 * np.cos(p))


def _step(u: Floats) -> sample_gait.Step:
    return sample_gait.step(u, np.array(_SOLE["Foot"])[1:], OFFSETS[ROW["LeftToe"]][1:])


def _hips(world: Floats, p: Floats, steps: dict[str, sample_gait.Step]) -> Floats:
    """Places (frames, 3) of the hips: as high as both legs reach, higher by a cosine while one of them stands."""
    hips = np.stack([0.02 * np.sin(p), -_RISE * np.cos(2 * p - _LATE), 0 * p], axis=-1)
    room = np.stack([_REACH**2 - (_away(world, side, steps[side], hips)[:, ::2] ** 2).sum(axis=1) for side in steps])
    drop = np.stack([_away(world, side, steps[side], hips)[:, 1] for side in steps])
    hips[:, 1] += (np.sqrt(room) + drop).min()
    return hips


def _away(world: Floats, side: str, foot: sample_gait.Step, hips: Floats) -> Floats:
    """From the top of a leg to its ankle (frames, 3)."""
    top = hips + rotations.rotate(world[:, ROW["Hips"]], np.broadcast_to(OFFSETS[ROW[side + "UpLeg"]], hips.shape))
    across = np.full(len(hips), POSITIONS[ROW[side + "Foot"], 0])
    return np.stack([across, *foot.ankle.T], axis=-1) - top


def _put_leg(world: Floats, side: str, foot: sample_gait.Step, hips: Floats) -> None:
    """Bend a leg of two bones in its plane, which leans sideways so that it meets the ankle."""
    away = _away(world, side, foot, hips)
    lean = np.arctan2(away[:, 0], -away[:, 1])
    thigh, shin = OFFSETS[ROW[side + "Leg"]], OFFSETS[ROW[side + "Foot"]]
    lengths, chord = [np.hypot(*bone[1:]) for bone in (thigh, shin)], np.linalg.norm(away, axis=1)
    at_hip = np.arccos((lengths[0] ** 2 + chord**2 - lengths[1] ** 2) / (2 * lengths[0] * chord))
    at_knee = np.arccos((lengths[0] ** 2 + lengths[1] ** 2 - chord**2) / (2 * lengths[0] * lengths[1]))
    forwards = np.arctan2(away[:, 2], np.hypot(away[:, 0], away[:, 1])) + at_hip  # of the thigh, up from straight down
    turn = -forwards + np.arctan2(thigh[2], -thigh[1])
    knee = np.pi - at_knee - np.arctan2(thigh[2], -thigh[1]) + np.arctan2(shin[2], -shin[1])
    for name, angle in (("UpLeg", turn), ("Leg", turn + knee)):
        world[:, ROW[side + name]] = rotations.multiply(rotations.about(Z, lean), rotations.about(X, angle))
    for name, angle in (("Foot", foot.foot), ("Toe", foot.toes)):
        world[:, ROW[side + name]] = rotations.about(X, angle)


def _put_arm(world: Floats, side: str, sign: float, p: Floats) -> None:
    """Hang the arm and swing it against the leg of its side; the elbow bends more in front."""
    chest = world[:, ROW["Chest"]]
    world[:, ROW[f"{side}Shoulder"]] = chest
    swing = rotations.multiply(
        rotations.about(X, 0.42 * np.cos(p) + 0.05), rotations.about(sign * Z, np.full(len(p), -1.32))
    )
    world[:, ROW[f"{side}Arm"]] = arm = rotations.multiply(chest, swing)
    elbow = rotations.about(-sign * Y, 0.45 - 0.22 * np.cos(p))
    world[:, ROW[f"{side}ForeArm"]] = world[:, ROW[f"{side}Hand"]] = rotations.multiply(arm, elbow)
