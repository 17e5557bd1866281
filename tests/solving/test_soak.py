"""Solve at random for a while (POISE_SOAK_SECONDS, default 5): nothing breaks, and memory stays flat."""

from __future__ import annotations

import os
import resource
import time

import numpy as np
import pytest

import poise
from tests.reference import slow_kinematics
from tests.strategies import random_q, random_skeleton, rng_of

pytestmark = pytest.mark.long

SECONDS = float(os.environ.get("POISE_SOAK_SECONDS", "5"))
WARM = 200  # solves after which the compiler and the caches have taken their memory
MOST_GROWTH_KB = 30_000


def test_random_rigs_for_a_while():
    rng = rng_of(int(time.time()) if "CI" not in os.environ else 7)
    end = time.monotonic() + SECONDS
    solved, after_warm_up = 0, 0
    while time.monotonic() < end or solved < WARM + 50:
        one_solve(rng, int(rng.integers(2, 12)))
        solved += 1
        if solved == WARM:
            after_warm_up = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - after_warm_up
    assert grown < MOST_GROWTH_KB, f"{grown} kB more after {solved} solves"


def one_solve(rng, n):
    s = random_skeleton(rng, n, couple=False)
    limits = {}
    for joint in s.names:
        low, high = np.sort(rng.uniform(-8, 8, size=2))
        if s[joint].kind and rng.random() < 0.5:
            limits[joint] = poise.Range(low, high, axis=None if s[joint].kind < 3 else tuple(rng.normal(size=3)))
    s = s.with_limits(limits)
    unit = 10 ** rng.uniform(-6, 6)
    target = rng.normal(size=3) * unit
    start = poise.Pose(s, random_q(rng, s))
    options = {"order": str(rng.choice(["base-first", "tip-first"])), "hinge": str(rng.choice(["exact", "project"]))}
    solver = poise.CCD(**options) if rng.random() < 0.5 else poise.LevenbergMarquardt(restarts=int(rng.integers(20)))
    result = poise.solve(start, poise.Position(f"j{n - 1}", target), solver=solver)
    assert np.isfinite(result.pose.q).all()
    assert result.violation <= 1e-9
    positions = slow_kinematics.world(s, result.pose.q)[:, :3, 3]
    error = np.linalg.norm(target - positions[-1])
    rounding = 1e-12 * max(1.0, np.abs(positions).max(), np.abs(target).max())  # of the coordinates
    assert abs(result.errors[0] - error) <= rounding
    assert result.message()
