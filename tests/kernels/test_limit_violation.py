"""The judge's compiled measure of violated limits beside its array twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise import Range, SwingTwist
from poise.solving.diagnosis import compute_max_violation
from tests.reference.slow_limits import violation
from tests.strategies import random_q, rng_of, seeds, unit_quaternions

pytestmark = pytest.mark.long

RANGES = [(-0.5, 1.2), (0.0, 0.0), (-np.pi, np.pi), (2.9, 3.5), (-9.0, -7.5), (-50.0, 50.0)]


def ball_and_hinges(low, high, axis=(1, 0, 0), *, soft=0.0):
    """A hinge, a slide and a ball with this range, and a ball with a cone."""
    s = poise.Skeleton.build("abcde", range(-1, 4), [1, 2, 3, 3, 3], axes=[(0, 0, 1)] * 5)
    plain, turned = Range(low, high, soft=soft), Range(low, high, axis=axis, soft=soft)
    return s.with_limits(
        {"a": plain, "b": plain, "c": turned, "d": SwingTwist((0, 0, 1), swing=0.8, twist=(-0.4, 0.7))}
    )


def both(skeleton, q):
    return compute_max_violation(skeleton, q), violation(skeleton, q)


class TestTwin:
    @given(seeds, st.sampled_from(RANGES), st.sampled_from([0.0, 1e-15, 1e-10, 1e-3, 3.0]))
    def test_it_measures_what_the_arrays_do(self, seed, ends, off):
        rng = rng_of(seed)
        axis = rng.normal(size=3)
        skeleton = ball_and_hinges(*ends, axis=axis / np.linalg.norm(axis))
        q, _ = skeleton.legal(random_q(rng, skeleton, 5))
        q += off * rng.uniform(-1, 1, size=q.shape)
        q[:, 2:] /= np.repeat(np.linalg.norm(q[:, 2:].reshape(5, 3, 4), axis=-1), 4, axis=-1)
        for row in (q, *q[:, None]):
            compiled, arrays = both(skeleton, row)
            assert abs(compiled - arrays) <= 1e-12 * max(1.0, arrays)

    @pytest.mark.parametrize("ends", RANGES)
    @pytest.mark.parametrize("turn", [(0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, -1), (-1, 0, 0, 0), (0, -1, 0, 0)])
    def test_half_turns_about_the_axis_and_across_it(self, ends, turn):
        skeleton = ball_and_hinges(*ends)
        q = np.array([skeleton.rest_q])
        q[0, 2:6] = turn
        compiled, arrays = both(skeleton, q)
        assert abs(compiled - arrays) <= 1e-12

    @pytest.mark.parametrize("at", range(6))
    def test_nan_is_not_overlooked(self, at):
        skeleton = ball_and_hinges(-0.5, 1.2)
        q = np.stack([skeleton.rest_q] * 3)
        q[1, at] = np.nan
        assert np.isnan(compute_max_violation(skeleton, q))


def test_soft_limits_and_free_joints_are_never_violated():
    rng = rng_of(3)
    for skeleton in (ball_and_hinges(-0.1, 0.1, soft=1.0), ball_and_hinges(-0.1, 0.1).with_limits({"*": None})):
        q = random_q(rng, skeleton, 4)
        q[:, 6:10] = (1, 0, 0, 0)
        q[:, 2:6] = [1, 0, 0, 0]
        assert compute_max_violation(skeleton, q) == 0.0 == violation(skeleton, q)


def test_a_knee_off_its_axis_is_measured():
    skeleton = ball_and_hinges(-0.5, 1.2).with_limits({"d": None})
    q = np.array([skeleton.rest_q])
    q[0, 2:6] = unit_quaternions(rng_of(4))
    assert compute_max_violation(skeleton, q) > 0.1
    q[0, 2:6] = np.cos(0.3), np.sin(0.3), 0, 0
    assert compute_max_violation(skeleton, q) <= 1e-15
    q[0, 2:6] = np.cos(0.3), np.sin(0.3) * np.cos(1e-3), np.sin(0.3) * np.sin(1e-3), 0
    assert compute_max_violation(skeleton, q) == pytest.approx(2e-3 * np.sin(0.3), rel=1e-3)
