"""Whole clips: every frame from its own pose."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Position
from poise.io import samples
from tests.strategies import figure, random_q, rng_of, straight_chain


@pytest.fixture(scope="module")
def walk():
    return poise.load(samples.path("humanoid.bvh")).clips[0]


def test_an_empty_clip():
    chain = straight_chain(3)
    clip = poise.Clip(np.zeros(0), poise.Pose(chain, np.zeros((0, chain.nq))))
    assert len(poise.bake(clip, Position("tip", [1, 1, 1]))) == 0


def test_what_does_not_fit_is_reported(walk):
    with pytest.raises(poise.InputError, match=r"one target, or one for each frame; this Position has .* \(3,\)"):
        poise.bake(walk, Position("RightHand", np.zeros((3, 3))))
    with pytest.raises(poise.InputError, match="give a Clip"):
        poise.bake(walk.poses[0], Position("RightHand", [0, 0, 0]))


def test_preferences_and_a_free_root_where_each_frame_has_lengths_of_its_own():
    s = figure()
    q = random_q(rng_of(1), s, 2)
    lengths = s.A[:, :3] * np.array([1.0, 1.5])[:, None, None]
    clip = poise.Clip(np.arange(2.0), poise.Pose(s, q, translations=lengths), "walk")
    goals = [Position("l_foot", [1, 1, 1]), poise.LookAt("head", [3, 2, 1], axis=(0, 0, 1)), poise.Near(clip.poses[0])]
    baked = poise.bake(clip, goals, free_root=True)
    assert baked.result.reached.all()
    alone = poise.solve(clip.poses[1], goals, free_root=True)
    np.testing.assert_array_equal(baked.poses.q[1], alone.q)
