"""A figure on its hands and knees, which sways: what bears slides along with it."""

from __future__ import annotations

import numpy as np

import poise
from poise import Clip, Pose
from poise.maths import rotations
from poise.model.skeleton import Kind

STANDING = {
    "hips": (None, (0.0, 0.0, 0.95)),
    "chest": ("hips", (0.0, 0.0, 1.2)),
    "head": ("chest", (0.0, 0.0, 1.6)),
    **{
        f"{side}{part}": (f"{side}{above}" if above not in ("hips", "chest") else above, (x * sign, y, z))
        for side, sign in (("left", 1.0), ("right", -1.0))
        for part, above, x, y, z in (
            ("UpperArm", "chest", 0.18, 0.0, 1.45),
            ("LowerArm", "UpperArm", 0.18, 0.1, 1.18),
            ("Hand", "LowerArm", 0.18, 0.0, 0.92),
            ("UpperLeg", "hips", 0.1, 0.0, 0.9),
            ("LowerLeg", "UpperLeg", 0.1, -0.02, 0.5),
            ("Foot", "LowerLeg", 0.1, 0.0, 0.08),
            ("Toes", "Foot", 0.1, -0.14, 0.02),
        )
    },
}
"""Joints of a figure that stands and faces -y: what each hangs in, and where it is [m], z up."""

_FLOOR = {"Hand": 0.06, "LowerLeg": 0.05}  # how high wrists and knees are over the floor


def skeleton():
    """The figure: all joints turn freely, and the hips move, too."""
    names = list(STANDING)
    parents = [names.index(above) if above else -1 for above, _ in STANDING.values()]
    places = np.array([place for _, place in STANDING.values()])
    offsets = [place - (places[above] if above >= 0 else 0.0) for place, above in zip(places, parents, strict=True)]
    kinds = [Kind.FREE, *[Kind.BALL] * (len(names) - 1)]
    return poise.Skeleton.build(names, parents, kinds, offsets=offsets)


def on_all_fours(frames=120, fps=60.0, sway=0.03, pitch=74.0):
    """A clip on hands and knees: thighs and arms hang down, shins lie behind, and the body sways by `sway` [m]."""
    body = skeleton()
    q = np.repeat(body.rest_q[None], frames, axis=0)
    turns = {"hips": pitch, "UpperLeg": -pitch, "LowerLeg": 90.0, "Foot": 70.0, "UpperArm": -pitch, "head": -40.0}
    for name in STANDING:
        part = name.removeprefix("left").removeprefix("right")
        if part in turns:
            stop = body.q_slice(name).stop
            q[:, stop - 4 : stop] = rotations.about(np.array([1.0, 0.0, 0.0]), np.radians(turns[part]))
    place = body.q_slice("hips").start
    world = Pose(body, q[0]).world
    lowest = min(world[f"left{part}"].positions[2] - height for part, height in _FLOOR.items())
    phase = np.linspace(0.0, 2.0 * np.pi * frames / fps / 2.0, frames)
    q[:, place] += sway * np.sin(phase)
    q[:, place + 1] += sway * np.sin(2.0 * phase)
    q[:, place + 2] += 0.2 * sway * np.cos(phase) - lowest
    return Clip(np.arange(frames) / fps, Pose(body, q), "on all fours")
