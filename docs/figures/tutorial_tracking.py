"""A jumping target, and the hand: immediate, damped, with a speed limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._style import BLACK, BLUE, GREEN, RED, figure, save
from poise import samples

FPS = 60
WAYS = {"at once": {}, "damping 0.08 s": {"damping": 0.08}, "speed 2 rad/s": {"speed": 2.0}}


def draw(path: Path) -> None:
    """Follow the same targets three times and draw the height of the hand over time."""
    start = poise.load(samples.path("humanoid.glb")).rest
    times = np.arange(int(1.2 * FPS)) / FPS
    targets = np.tile([0.4, 1.2, 0.35], (len(times), 1))
    targets[times >= 0.4, 1] += 0.3
    drawing, axes = figure(height=2.6)
    axes.plot(times, targets[:, 1], color=BLACK, linewidth=1.0, linestyle=":", label="target")
    for (label, options), colour, line in zip(WAYS.items(), (RED, BLUE, GREEN), ("-", "--", "-."), strict=True):
        hand = poise.Tracker(start, poise.Position("LeftHand", targets[0], root="LeftArm"), **options)
        hand.reset(poise.solve(start, poise.Position("LeftHand", targets[0], root="LeftArm")).pose)
        heights = hand.clip(targets, FPS).poses.world_of("LeftHand").positions[:, 1]
        axes.plot(times, heights, color=colour, linestyle=line, label=label)
    axes.set(xlabel="time [s]", ylabel="height of the hand [m]")
    axes.legend(loc="lower right")
    save(drawing, path)
