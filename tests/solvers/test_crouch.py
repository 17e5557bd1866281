"""Crouches towards low targets: kernels/posture_crouch.py as plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from poise.kernels import posture_crouch
from poise.kernels.vec_quat import Vec

UP, FACING = Vec(0.0, 1.0, 0.0), Vec(0.0, 0.0, 1.0)
HIPS = np.array([0.0, 0.9, 0.0])
SPINE = HIPS + np.array([[0.0, 0.1, 0.0], [0.0, 0.25, 0.0]])
SHOULDERS = HIPS + np.array([[0.18, 0.5, 0.0], [-0.18, 0.5, 0.0]])
FEET = np.array([[0.1, 0.08, 0.0], [-0.1, 0.08, 0.0]])
ROOTS = FEET + np.array([0.0, 0.82, 0.0])
LEGS, REACH = np.full(2, 0.83), 0.57


def crouch(hands, near=0.0, hips=HIPS):
    """Depth, share and crouch for some hands."""
    hands, way = np.reshape(hands, (-1, 3)), hips - HIPS
    count, segments = len(hands), np.empty((len(hands), 3, 3))
    return posture_crouch.crouch(
        Vec(*hips), SPINE + way, FACING, UP, ROOTS + way, FEET, LEGS, SHOULDERS[:count] + way, hands,
        np.full(count, REACH), segments, near,
    )  # fmt: skip


def draw_hands(seed):
    """One or two hands that are out of reach of a standing figure, low, and ahead or behind."""
    draw = np.random.default_rng(seed)
    return draw.uniform([-0.4, 0.02, -0.7], [0.5, 0.6, 0.9], (1 + seed % 2, 3))


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("from_there", [-0.3, -0.05, 0.0, 0.1, 1.0])
def test_a_search_from_nearby_finds_the_same(seed, from_there):
    hands = draw_hands(seed)
    _, share, found = crouch(hands)
    _, near_share, near = crouch(hands, min(max(share + from_there, 0.0), 1.0))
    assert near_share == share
    assert near == found


@pytest.mark.parametrize(
    "hands",
    [[(0.7, 0.81, 0.64)], [(0.05, 0.81, -0.7), (-0.54, 0.88, -0.78)], [(0.34, 0.58, 0.33), (-0.29, 0.73, 0.86)]],
)
def test_hands_that_the_deepest_crouch_does_not_reach(hands):
    """They are in reach half-way down."""
    _, share, _ = crouch(hands)
    assert share < 0.7
    assert crouch(hands, 1.0)[1] == share


@pytest.mark.parametrize(
    "hands", [[(0.232, 0.806, 0.302), (0.185, 0.813, -0.241)], [(-0.121, 0.372, 0.265), (0.324, 0.559, -0.037)]]
)
def test_a_search_after_none_was_found_begins_at_standing(hands):
    """Both are in reach of two ranges of crouches."""
    _, share, _ = crouch(hands)
    assert share < 0.7
    assert crouch(hands, 1.0)[1] == share


@pytest.mark.parametrize("seed", range(24))
def test_an_arm_beyond_every_lean_is_too_short(seed):
    hands = draw_hands(seed)
    captured = []
    original = posture_crouch.find_min_crouch
    posture_crouch.find_min_crouch = lambda *known: captured.append(known[:4]) or original(*known)
    try:
        crouch(hands)
    finally:
        posture_crouch.find_min_crouch = original
    for share in np.linspace(0.0, 1.0, 33):
        for known in captured:
            if posture_crouch.is_beyond_lean(*known, share):
                assert posture_crouch.compute_crouch(*known, share, True).reach_excess > 0.0
