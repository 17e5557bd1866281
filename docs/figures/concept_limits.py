"""Legal directions of a bone under four limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

import poise
from figures._style import BLUE, GREY, PALE, RED, figure, save
from poise.maths import rotations

BONE = np.array([0.0, 1.0, 0.0])
LIMITS = {
    "Range about x,\n-20 to 60": poise.Range.degrees(-20, 60, axis=(1, 0, 0)),
    "SwingTwist,\nswing 45": poise.SwingTwist.degrees(axis=(0, 1, 0), swing=45),
    "SwingTwist,\n(-20, 80) and (-60, 30)": poise.SwingTwist.degrees(axis=(0, 1, 0), swing=((-20, 80), (-60, 30))),
    "EulerBox ZXY,\nx (-30, 60), z (-50, 50)": poise.EulerBox.degrees("ZXY", x=(-30, 60), y=(-90, 90), z=(-50, 50)),
}
DEGREES = np.linspace(-100, 100, 61)
OUTSIDE = (85.0, 60.0)  # a direction [degrees] whose way inside is drawn


def draw(path: Path) -> None:
    """Swing a bone in every direction, away from straight up by an angle, and see what the limit says."""
    drawing, boards = figure(columns=4, height=2.5, sharey=True)
    across, along = np.meshgrid(DEGREES, DEGREES)
    swings = _swings(across, along)
    for board, (title, limit) in zip(boards, LIMITS.items(), strict=True):
        joint = _joint(limit)
        legal = _gap(joint, swings) < np.radians(2)
        board.pcolormesh(DEGREES, DEGREES, legal, cmap=ListedColormap([PALE, BLUE]), vmin=0, vmax=1, rasterized=True)
        moved = joint.legal(_swings(*np.array(OUTSIDE)[:, None]))[0]
        inside = _direction(moved)[0]
        board.annotate("", inside, OUTSIDE, arrowprops={"arrowstyle": "->", "color": RED, "linewidth": 1.4})
        board.plot([0], [0], "+", color=GREY)
        board.set(aspect="equal", xticks=[-90, 0, 90], yticks=[-90, 0, 90])
        board.set_title(title, size=7.5)
        board.set_xlabel("swing about x [deg]", size=7.5)
        board.grid(visible=False)
    boards[0].set_ylabel("swing about z [deg]", size=7.5)
    save(drawing, path)


def _joint(limit: poise.Range | poise.SwingTwist | poise.EulerBox) -> poise.Skeleton:
    kinds = [poise.Kind.BALL, poise.Kind.FIXED]
    return poise.Skeleton.build(["joint", "tip"], [-1, 0], kinds, offsets=[[0, 0, 0], BONE], limits=[limit, None])


def _swings(x: Any, z: Any) -> Any:
    """Rotations (..., 4) about the axis (x, 0, z) by its length [degrees]: no twist about the bone."""
    turn = np.radians(np.stack([x, 0 * x, z], axis=-1))
    angle = np.linalg.norm(turn, axis=-1)
    return rotations.about(turn / np.maximum(angle, 1e-12)[..., None], angle)


def _gap(joint: poise.Skeleton, q: Any) -> Any:
    """How far [rad] the direction of the bone is from that of the nearest legal rotation, the best twist of 12."""
    best = np.full(q.shape[:-1], np.inf)
    for twist in np.radians(np.arange(0, 360, 30)):
        turned = rotations.multiply(q, rotations.about(BONE, twist))
        moved = joint.legal(turned)[0]
        cosine = (rotations.rotate(turned, BONE) * rotations.rotate(moved, BONE)).sum(axis=-1)
        best = np.minimum(best, np.arccos(np.clip(cosine, -1, 1)))
    return best


def _direction(q: Any) -> Any:
    """The swing about x and z [degrees] that brings the bone where rotations (..., 4) bring it."""
    swing = rotations.rotation_between(BONE, rotations.rotate(q, BONE))
    angle = 2 * np.arccos(np.minimum(swing[..., :1], 1.0))
    sine = np.maximum(np.linalg.norm(swing[..., 1:], axis=-1, keepdims=True), 1e-12)
    return np.degrees(angle * swing[..., 1:] / sine)[..., [0, 2]]
