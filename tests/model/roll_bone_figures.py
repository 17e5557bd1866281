"""The sample figure with roll bones in its arms and legs, its joints turned in any way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import poise
from poise.io import samples
from poise.maths import rotations
from tests.model.transformed_rigs import UPS

FIGURE = poise.load(samples.path("humanoid.glb"))
LIMBS = (("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot"))


def find_bones(parts, joints):
    """The rows' names of the bones of both sides: (side, part, name of its joint, name of the next)."""
    return [
        (side, parts.index(first), joints[side + first], joints[side + last])
        for side in ("left", "right")
        for first, last in pairwise(parts)
    ]


def figure_with_rolls(upper_arm=(), forearm=(), thigh=(), shin=(), *, leaves=(), seed=None, scale=1.0, up="y", aside=0):
    """The figure with roll bones at fractions of its limbs' bones, and leaves beside the forearm's.

    seed    of the joints' rotations at rest; None for those of the sample
    aside   by what fraction of its bone each roll bone stands beside the line
    """
    joints = poise.find_roles(FIGURE).joints
    skeleton = FIGURE.skeleton
    numbers = zip(skeleton.names, skeleton.parents.tolist(), strict=True)
    parents = {name: skeleton.names[parent] if parent >= 0 else None for name, parent in numbers}
    points = dict(zip(skeleton.names, FIGURE.rest.world.positions, strict=True))
    for parts, fractions in ((LIMBS[0], (upper_arm, forearm)), (LIMBS[1], (thigh, shin))):
        for _, number, first, last in find_bones(parts, joints):
            start, end = points[first], points[last]
            across = np.cross(end - start, [0.3, 0.2, 0.9])
            across *= aside * np.linalg.norm(end - start) / np.linalg.norm(across)
            way = [f"{first}Roll{i}" for i in range(len(fractions[number]))]
            for name, carrier, fraction in zip(way, [first, *way], fractions[number], strict=False):
                parents[name], points[name] = carrier, start + fraction * (end - start) + across
            parents[last] = way[-1] if way else parents[last]
            if parts[number] == "LowerArm":
                for i, fraction in enumerate(leaves):
                    parents[f"{first}Twist{i}"] = first
                    points[f"{first}Twist{i}"] = start + fraction * (end - start)
    order: list[str] = []
    while len(order) < len(parents):
        order += [name for name in parents if name not in order and (parents[name] is None or parents[name] in order)]
    rows = [-1 if parents[name] is None else order.index(parents[name]) for name in order]
    return _build(order, rows, np.array([points[name] for name in order]), joints, seed, scale, up)


def _build(names, parents, points, joints, seed, scale, up):
    count = len(names)
    frames = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    if seed is not None:
        frames = np.random.default_rng(seed).normal(size=(count, 4))
        frames /= np.linalg.norm(frames, axis=1, keepdims=True)
    points = scale * rotations.rotate(UPS[up], points)
    own, offsets = frames.copy(), points.copy()
    for row, parent in enumerate(parents):
        if parent >= 0:
            back = rotations.inverse(frames[parent])
            own[row], offsets[row] = (
                rotations.multiply(back, frames[row]),
                rotations.rotate(back, points[row] - points[parent]),
            )
    kinds = [poise.Kind.BALL] * count
    return poise.Skeleton.build(names, parents, kinds, offsets=offsets, rotations=own, up=up, roles=dict(joints))


def rest_of(skeleton):
    """Its pose at rest."""
    return poise.Pose(skeleton, skeleton.rest_q)
