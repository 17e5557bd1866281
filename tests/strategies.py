"""Random skeletons, poses and vectors for the property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import poise


def rng_of(seed):
    return np.random.default_rng(seed)


seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e12])
vectors = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array)


def unit_quaternions(rng, *shape):
    q = rng.normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def random_skeleton(rng, n=8, *, scale=True, couple=True, kinds=(0, 1, 2, 3, 4)):
    """A random tree with every joint kind, couplings, and scales of either sign."""
    kinds = rng.choice(kinds, size=n)
    parents = [-1] + [int(rng.integers(-1, i)) if rng.random() < 0.1 else int(rng.integers(0, i)) for i in range(1, n)]
    couplings = [None] * n
    for kind in (1, 2):
        rows = np.flatnonzero(kinds == kind)
        if couple and len(rows) > 1:
            couplings[rows[1]] = poise.Coupling(int(rows[0]), float(rng.uniform(-2, 2)), float(rng.uniform(-1, 1)))
    return poise.Skeleton.build(
        [f"j{i}" for i in range(n)],
        parents,
        kinds,
        offsets=rng.normal(size=(n, 3)),
        rotations=unit_quaternions(rng, n),
        axes=rng.normal(size=(n, 3)),
        scales=rng.choice([-1.0, 0.5, 1.0, 2.0], size=(n, 1)) * np.ones(3) if scale else None,
        couplings=couplings,
    )


def random_q(rng, skeleton, *shape):
    q = rng.uniform(-2, 2, size=(*shape, skeleton.nq))
    for i, kind in enumerate(skeleton.kinds):
        if kind >= 3:
            start = skeleton.q_start[i] + (3 if kind == 4 else 0)
            q[..., start : start + 4] = unit_quaternions(rng, *shape)
    return q


def straight_chain(n=10, kind=3, length=1.0, axes=None, limits=None, direction=(0.0, 1.0, 0.0)):
    """n joints in a straight line and a fixed tip."""
    step = length * np.array(direction)
    return poise.Skeleton.build(
        [*(f"j{i}" for i in range(n)), "tip"],
        range(-1, n),
        [kind] * n + [0],
        offsets=[np.zeros(3), *[step] * n],
        axes=axes if axes is None else [*axes, (0.0, 0.0, 0.0)],
        limits=None if limits is None else [*limits, None],
    )


def generic_arm(limit=2.8):
    """Six hinges, no two axes alike, and a tool: a serial arm of one metre or so."""
    turns = np.random.default_rng(6).normal(size=(7, 4))
    return poise.Skeleton.build(
        [*(f"j{i}" for i in range(6)), "tool"],
        range(-1, 6),
        [1] * 6 + [0],
        offsets=[(0, 0, 0.1), (0, 0, 0.15), (0.3, 0, 0.05), (0.25, 0.05, 0), (0, 0.05, 0.1), (0, 0, 0.1), (0, 0, 0.1)],
        rotations=turns / np.linalg.norm(turns, axis=1, keepdims=True),
        axes=[(0, 0, 1)] * 6 + [(0, 0, 0)],
        limits=[poise.Range(-limit, limit)] * 6 + [None],
    )


def figure(*, free=True):
    """A hip with a spine and two legs of balls; a knee hinge with a range on each side."""
    names = ["hip", "spine", "chest", "head", "l_leg", "l_knee", "l_foot", "r_leg", "r_knee", "r_foot"]
    return poise.Skeleton.build(
        names,
        [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8],
        [4 if free else 3, 3, 3, 3, 3, 1, 3, 3, 1, 3],
        offsets=[
            (0, 1, 0), (0, 0.1, 0), (0, 0.3, 0), (0, 0.3, 0),
            (0.1, 0, 0), (0, -0.45, 0), (0, -0.45, 0), (-0.1, 0, 0), (0, -0.45, 0), (0, -0.45, 0),
        ],
        axes=[(1, 0, 0)] * 10,
        limits=[None] * 5 + [poise.Range(0, 2.5), None, None, poise.Range(0, 2.5), None],
    )  # fmt: skip
