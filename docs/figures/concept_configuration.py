"""A target in the plane and in joint space, with the paths of solvers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._rope import rope
from figures._style import BLACK, BLUE, GREEN, PALE, RED, chain, figure, plane, save, target

GOAL = (1.1, 0.9, 0.0)
STARTS = {BLUE: (-2.6, 2.0), GREEN: (0.3, -2.2), RED: (1.2, 1.0)}  # [rad]


def draw(path: Path) -> None:
    """Measure a grid of q, then solve from three starts with a trace."""
    arm = rope(2, poise.Kind.HINGE)
    drawing, (left, right) = figure(columns=2, height=3.2)
    angles = np.linspace(-np.pi, np.pi, 121)
    q = np.stack(np.meshgrid(angles, angles), axis=-1)
    away = np.linalg.norm(arm.with_q(q).world_of("tip").positions - GOAL, axis=-1)
    degrees = np.degrees(angles)
    right.contourf(degrees, degrees, away, levels=12, cmap="Greys")
    plane(left, title="the arm")
    target(left, GOAL, label=None)
    for colour, start in STARTS.items():
        goal = poise.Position("tip", GOAL)
        way = poise.JacobianTranspose(bend=0, restarts=0, max_turn=0.2)
        found = poise.solve(arm.with_q(np.array(start)), goal, solver=way, tolerance=1e-3, trace=True)
        trail = np.degrees(found.trace.q)
        right.plot(trail[:, 0], trail[:, 1], color=colour, marker="o", markersize=2.5)
        right.plot(*trail[-1], "*", color=colour, markersize=11, markeredgecolor=BLACK)
        chain(left, arm.with_q(np.array(start)).world.positions, colour=PALE)
        chain(left, found.pose.world.positions, colour=colour)
    right.set(xlabel="q of joint 1 [degrees]", ylabel="q of joint 2 [degrees]", title="every q, dark: far from it")
    right.set(xticks=[-180, -90, 0, 90, 180], yticks=[-180, -90, 0, 90, 180])
    right.grid(visible=False)
    save(drawing, path)
