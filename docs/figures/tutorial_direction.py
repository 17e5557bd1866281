"""Shared gaze rotation, and an arm with its tool pointing down."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._style import BLUE, COLOURS, GREEN, LINES, RED, chain, figure, plane, save, target
from poise import samples

SHARES = {"Spine": 1, "Neck": 2, "Head": 3}
PLACES = np.array([[0.35, 0.0, 0.15], [0.45, 0.0, 0.35], [0.2, 0.0, 0.5]])


def draw(path: Path) -> None:
    """Solve both for a batch of targets."""
    drawing, (left, right) = figure(columns=2, height=2.9, width_ratios=(1.3, 1.0))
    _looks(left)
    _tools(right)
    save(drawing, path)


def _looks(axes: object) -> None:
    start = poise.load(samples.path("humanoid.glb")).rest
    degrees = np.linspace(0, 120, 49)
    head = start.world["Head"].positions
    way = np.stack([np.sin(np.radians(degrees)), 0 * degrees, np.cos(np.radians(degrees))], axis=-1)
    found = poise.solve(start, poise.LookAt("Head", head + 5 * way, over=SHARES))
    for name, colour, line in zip(SHARES, COLOURS, LINES, strict=False):
        w = found.pose.q[:, start.skeleton.q_slice(name)][:, 0]
        turns = np.degrees(2 * np.arccos(np.minimum(np.abs(w), 1.0)))
        axes.plot(degrees, turns, color=colour, linestyle=line, label=f"{name}, share {SHARES[name]}")
    axes.set(xlabel="the point is so far to the side [degrees]", ylabel="turn of the joint [degrees]")
    axes.legend()


def _tools(axes: object) -> None:
    arm = poise.load(samples.path("arm.urdf"))
    goals = [poise.Position("tool", PLACES), poise.Direction("tool", (0, 0, -1), axis=(1, 0, 0))]
    found = poise.solve(arm.rest, goals)
    plane(axes)
    for points, place, colour in zip(found.pose.world.positions, PLACES, (BLUE, RED, GREEN), strict=True):
        chain(axes, points[:, [0, 2]], colour=colour)
        target(axes, place[[0, 2]], label=None)
    axes.plot([-0.15, 0.6], [0, 0], color="0.6", linewidth=1)
