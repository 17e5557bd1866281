"""Hundreds of joints: the engine neither jumps nor crumples them."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Kind, Position, Range, SwingTwist
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from tests.reference import slow_kinematics
from tests.strategies import rng_of

TARGETS = 24
AXES = np.eye(3)


def long_chain(kind, n, limit=None):
    """A straight chain of length 1 along y, of n joints of one sort; every tenth of a mixed one is a slide."""
    slides = [kind == "mixed" and i % 10 == 5 for i in range(n)]
    turning = Kind.BALL if kind == "balls" else Kind.HINGE
    kinds = [Kind.SLIDE if slide else turning for slide in slides]
    planar = [AXES[2]] * n
    across = {"planar": planar, "balls": planar, "random": rng_of(3).normal(size=(n, 3))}
    axes = across.get(kind, [AXES[2 * (i % 2)] for i in range(n)])
    bound = {
        None: None,
        Kind.HINGE: Range(-(limit or 0), limit or 0),
        Kind.BALL: SwingTwist(axis=(0, 1, 0), swing=limit or 0.1, twist=(-(limit or 0), limit or 0)),
    }[turning if limit else None]
    return poise.Skeleton.build(
        [*(f"j{i}" for i in range(n)), "tip"],
        range(-1, n),
        [*kinds, Kind.FIXED],
        offsets=[np.zeros(3), *[(0, 1 / n, 0)] * n],
        axes=[*(AXES[1] if slide else axis for slide, axis in zip(slides, axes, strict=True)), np.zeros(3)],
        limits=[*(Range(-0.5 / n, 0.5 / n) if slide else bound for slide in slides), None],
    )


def places(skeleton, kind, limit):
    """Inside reach (TARGETS, 3): in all directions, some on the line of the chain and behind its base."""
    rng = rng_of(1)
    if limit:  # what legal poses reach
        count = skeleton.nq // (4 if kind == "balls" else 1)
        q = limit * rng.uniform(0.05, 0.9, size=(TARGETS, 1)) * rng.uniform(-1, 1, size=(TARGETS, skeleton.nq))
        if kind == "balls":
            q = q.reshape(TARGETS, count, 4)
            q[..., 0] = 1.0
            q = (q / np.linalg.norm(q, axis=-1, keepdims=True)).reshape(TARGETS, -1)
        return poise.Pose(skeleton, skeleton.legal(q)[0]).world["tip"].positions
    way = rng.normal(size=(TARGETS, 3)) * ((1, 1, 0) if kind == "planar" else 1)
    found = rng.uniform(0.05, 0.95, size=(TARGETS, 1)) * way / np.linalg.norm(way, axis=1, keepdims=True)
    found[:4] = [(0, 0.5, 0), (0, -0.5, 0), (0, 1e-3, 0), (0, -0.9, 0)]
    return found


KINDS = ("hinges", "random", "planar", "balls", "mixed")


def assert_all_reached(kind, n, limit):
    s = long_chain(kind, n, limit)
    wanted = places(s, kind, limit)
    start = poise.Pose(s, s.rest_q)
    result = poise.solve(start, Position("tip", wanted), tolerance=1e-4)
    assert result.reached.all(), result.errors[~result.reached]
    assert result.violation <= 1e-9
    for row in (0, TARGETS - 1):
        tip = slow_kinematics.world(s, result.q[row])[-1][:3, 3]
        assert np.linalg.norm(tip - wanted[row]) <= 1e-4
    assert poise.solve(start, Position("tip", wanted[5]), tolerance=1e-4).reached


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [30, 64, 100])
def test_a_long_chain(kind, n):
    assert_all_reached(kind, n, None)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "limit"), [(200, None), (500, None), (100, 0.3), (500, 0.3), (500, 0.03)])
def test_a_very_long_chain(kind, n, limit):
    assert_all_reached(kind, n, limit)


def test_other_attempts_start_where_the_kernel_starts_them():
    """Restarts of modes that look at many solutions are made over arrays: long chains are not crumpled there."""
    s = long_chain("hinges", 400)
    result = poise.solve(poise.Pose(s, s.rest_q), Position("tip", [0.3, 0.2, 0.1]), solver=LevenbergMarquardt())
    plan = result.problem.plan
    starts = plan.q_to_u(s.rest_q[None])
    for seed in rng_of(2).random((4, 400)):
        u = plan.randomize_starts(starts, seed, 2.0)
        assert np.abs(u).max() <= np.pi * 16 / 400
        assert np.abs(u).max() > 0.9 * np.pi * 16 / 400
