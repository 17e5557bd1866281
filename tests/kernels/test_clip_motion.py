"""Limits of a clip's steps and the motion after them, beside the same in arrays."""

from __future__ import annotations

import numpy as np
import pytest

from poise.kernels.clip_least_squares import AT_LIMIT, BASE_COLUMNS, MAX_STEP
from poise.kernels.clip_motion import find_free, limit_step, move_frames
from poise.maths import rotations
from tests.strategies import rng_of

FRAMES, JOINTS = 9, 5
LOW, HIGH = np.array([-1.0, -1.0, -np.inf, 0.2, -1.0]), np.array([1.0, 0.5, np.inf, 0.2, 1.0])


def make_values(rng):
    """Make values (F, 5) within limits, some of them at one."""
    values = np.clip(rng.normal(size=(FRAMES, JOINTS)), LOW, HIGH)
    values[0], values[1] = np.where(np.isfinite(LOW), LOW, 0.0), np.where(np.isfinite(HIGH), HIGH, 0.0)
    return values


@pytest.mark.parametrize("seed", range(5))
def test_free_are_unknowns_that_may_go_on(seed):
    rng = rng_of(seed)
    values, gradients = make_values(rng), rng.normal(size=(FRAMES, BASE_COLUMNS + JOINTS))
    is_moving, free = rng.random(FRAMES) < 0.8, np.zeros(gradients.shape, np.bool_)
    find_free(values, gradients, LOW, HIGH, is_moving, free)
    ways = gradients[:, BASE_COLUMNS:]
    stays = ((values <= LOW + AT_LIMIT) & (ways < 0.0)) | ((values >= HIGH - AT_LIMIT) & (ways > 0.0)) | (LOW == HIGH)
    assert np.array_equal(free[:, :BASE_COLUMNS], np.tile(is_moving[:, None], BASE_COLUMNS))
    assert np.array_equal(free[:, BASE_COLUMNS:], is_moving[:, None] & ~stays)


@pytest.mark.parametrize("seed", range(5))
def test_steps_over_a_limit_go_to_it(seed):
    rng = rng_of(seed)
    values, step = make_values(rng), rng.normal(size=(FRAMES, BASE_COLUMNS + JOINTS))
    step[3:5] *= 1e-3
    before = rng.random(step.shape) < 0.8
    free, given, is_limited = before.copy(), np.full(step.shape, np.nan), np.zeros(FRAMES, np.bool_)
    count = limit_step(values, step, LOW, HIGH, free, given, is_limited)
    ways, over = step[:, BASE_COLUMNS:], np.zeros(step.shape, np.bool_)
    over[:, BASE_COLUMNS:] = (ways < LOW - values - AT_LIMIT) | (ways > HIGH - values + AT_LIMIT)
    over &= before
    expected = np.zeros(step.shape)
    expected[:, BASE_COLUMNS:] = np.where(over[:, BASE_COLUMNS:], np.clip(ways, LOW - values, HIGH - values), 0.0)
    assert count == over.sum() > 0
    assert np.array_equal(free, before & ~over)
    assert np.array_equal(given, expected)
    assert np.array_equal(is_limited, over.any(axis=1))


@pytest.mark.parametrize("size", [0.0, 1e-12, 0.1, 3.0])
def test_frames_move_by_their_share_of_a_step(size):
    rng = rng_of(int(10 * size))
    places, values = rng.normal(size=(FRAMES, 3)), make_values(rng)
    turns = rotations.as_matrix(rotations.normalise(rng.normal(size=(FRAMES, 4))))
    step, share = size * rng.normal(size=(FRAMES, BASE_COLUMNS + JOINTS)), rng.uniform(0.0, 1.0, FRAMES)
    step[2], rest = 0.0, np.full(BASE_COLUMNS + JOINTS, 0.05)
    moved = np.empty_like(places), np.empty_like(turns), np.empty_like(values)
    is_moved = np.zeros(FRAMES, np.bool_)
    move_frames(places, turns, values, step, share, rest, LOW, HIGH, *moved, is_moved)
    part = share[:, None] * step
    assert np.array_equal(is_moved, (np.abs(part) > rest).any(axis=1))
    part = part * min(1.0, MAX_STEP / max(np.abs(part[:, 3:]).max(), 1e-300))
    turned = rotations.as_matrix(rotations.from_vector(part[:, 3:BASE_COLUMNS])) @ turns
    np.testing.assert_allclose(moved[0], places + part[:, :3], atol=1e-14)
    np.testing.assert_allclose(moved[1], turned, atol=1e-14)
    np.testing.assert_allclose(moved[2], np.clip(values + part[:, BASE_COLUMNS:], LOW, HIGH), atol=1e-14)
