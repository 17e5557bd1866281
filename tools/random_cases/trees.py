"""Random skeletons and poses: every kind of joint and limit, couplings, units, far bases, poses with lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

import poise
from poise import Coupling, EulerBox, Kind, Range, SwingTwist

Rng = np.random.Generator
ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
MIXES = (  # how likely fixed, hinge, slide, ball, free are
    (0.1, 0.4, 0.2, 0.25, 0.05),
    (0.1, 0.9, 0.0, 0.0, 0.0),
    (0.1, 0.0, 0.0, 0.9, 0.0),
    (0.1, 0.2, 0.7, 0.0, 0.0),
    (0.1, 0.0, 0.45, 0.45, 0.0),
    (0.1, 0.1, 0.1, 0.3, 0.4),
)


def turns(rng: Rng, *shape: int) -> Any:
    """Random unit quaternions (..., 4)."""
    q = rng.normal(size=(*shape, 4))
    return q / np.sqrt((q * q).sum(axis=-1, keepdims=True))


def range_of(rng: Rng, unit: float, **more: Any) -> Range:
    """A range that may leave zero out, have one end only, or be a point."""
    low, high = np.sort(unit * rng.uniform(-2.5, 2.5, size=2))
    draw = rng.random()
    if draw < 0.1:
        low = -np.inf
    elif draw < 0.2:
        high = np.inf
    elif draw < 0.25:
        high = low
    return Range(float(low), float(high), **more)


def ball_limit(rng: Rng, soft: float) -> Any:
    """A limit of a ball joint, of any kind."""
    draw, pick = rng.random(), rng.uniform
    if draw < 0.33:
        return range_of(rng, 1.0, axis=tuple(rng.normal(size=3)), soft=soft)
    if draw < 0.66:
        sides = ((-pick(0, 2), pick(0, 2)), (-pick(0, 2), pick(0, 2)))
        swing = sides if rng.random() < 0.5 else float(pick(0.05, 2.5))
        return SwingTwist(tuple(rng.normal(size=3)), swing=swing, twist=(-pick(0, 2), pick(0, 2)), soft=soft)
    ends = {letter: (-pick(0, 2), pick(0, 2)) for letter in "xyz" if rng.random() < 0.8}
    return EulerBox(str(rng.choice(ORDERS)), **ends, soft=soft)


def couplings_of(rng: Rng, kinds: Any, unit: float) -> list[Coupling | None]:
    """Some hinges coupled to the first hinge, some slides to the first slide."""
    found: list[Coupling | None] = [None] * len(kinds)
    for kind, length in ((Kind.HINGE, 1.0), (Kind.SLIDE, unit)):
        rows = np.flatnonzero(kinds == kind)
        for row in rows[1:]:
            if rng.random() < 0.12:
                ratio = float(rng.choice([-1, 1]) * rng.uniform(0.2, 2))
                found[row] = Coupling(int(rows[0]), ratio, float(length * rng.uniform(-0.5, 0.5)))
    return found


def skeleton_of(rng: Rng, unit: float) -> poise.Skeleton:
    """Two to ten joints in file units of `unit` a typical bone; limits only where they leave legal values."""
    n = int(rng.integers(2, 11))
    kinds = rng.choice(5, size=n, p=MIXES[rng.integers(len(MIXES))])
    parents = [-1] + [int(i - 1 if rng.random() < 0.8 else rng.integers(0, i)) for i in range(1, n)]
    offsets = unit * rng.normal(size=(n, 3)) * rng.choice([0.0, 1.0], p=[0.15, 0.85], size=(n, 1))
    offsets[0] += unit * rng.choice([0, 10, 1e3, 1e5], p=[0.7, 0.1, 0.1, 0.1]) * turns(rng)[:3]
    scales = np.ones((n, 1)) if rng.random() < 0.7 else rng.choice([-1.0, 0.5, 1.0, 2.0, 1.3], size=(n, 1))
    s = poise.Skeleton.build(
        [f"j{i}" for i in range(n)], parents, kinds, offsets=offsets, rotations=turns(rng, n),
        axes=rng.normal(size=(n, 3)), scales=scales * np.ones(3), couplings=couplings_of(rng, kinds, unit),
    )  # fmt: skip
    share, soft = rng.choice([0.0, 0.5, 1.0]), float(rng.random() < 0.05)
    for name, kind in zip(s.names, s.kinds, strict=True):
        if kind in {Kind.FIXED, Kind.FREE} or rng.random() > share:
            continue
        if kind == Kind.BALL:
            limit = ball_limit(rng, soft)
        else:
            limit = range_of(rng, unit if kind == Kind.SLIDE else 1.0, soft=soft)
        try:
            s = s.with_limits({name: limit})
        except poise.PoiseError:
            continue  # of two that are coupled no value would be left
    return s


def legal_q(rng: Rng, s: poise.Skeleton, unit: float, count: int) -> Any:
    """Legal configurations (count, nq)."""
    q = rng.uniform(-2.5, 2.5, size=(count, s.nq))
    for row, kind in enumerate(s.kinds):
        at = int(s.q_start[row])
        if kind == Kind.SLIDE and s.couplings[row] is None:
            q[:, at] *= unit
        elif kind == Kind.FREE:
            q[:, at : at + 3] *= unit
        if kind in (Kind.BALL, Kind.FREE):
            at += 3 if kind == Kind.FREE else 0
            q[:, at : at + 4] = turns(rng, count)
    return s.legal(q)[0]


def pose_of(rng: Rng, s: poise.Skeleton, unit: float) -> poise.Pose:
    """A legal pose; one in five has translations and uniform scales of its own."""
    q = legal_q(rng, s, unit, 1)[0]
    if rng.random() < 0.8:
        return poise.Pose(s, q)
    moved = s.A[:, :3] + 0.3 * unit * rng.normal(size=(len(s), 3))
    scales = rng.choice([1.0, 0.7, 1.4, -1.0], p=[0.6, 0.15, 0.15, 0.1], size=(len(s), 1)) * np.ones(3)
    return poise.Pose(s, q, moved, scales)
