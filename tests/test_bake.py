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


def raised(clip, joint, by):
    return clip.poses.world[joint].positions + by


def test_each_frame_is_the_solve_from_its_own_pose(walk):
    targets = raised(walk, "RightHand", [0, 0.05, 0])
    baked = poise.bake(walk, Position("RightHand", targets))
    assert baked.result.reached.mean() > 0.9
    np.testing.assert_array_equal(baked.times, walk.times)
    assert (baked.name, len(baked), baked.skeleton) == (walk.name, len(walk), walk.skeleton)
    for i in (0, 7, len(walk) - 1):
        one = poise.solve(walk.poses[i], Position("RightHand", targets[i]))
        np.testing.assert_array_equal(baked.poses.q[i], one.q)


def test_one_target_serves_all_frames_and_joints_that_do_not_move_keep_their_bits(walk):
    target = walk.poses[0].world["LeftFoot"].positions
    baked = poise.bake(walk, Position("LeftFoot", target))
    np.testing.assert_array_equal(baked.poses.q[0], walk.poses.q[0])
    moved = np.zeros(walk.skeleton.nq, dtype=bool)
    for name in baked.result.joints:
        moved[walk.skeleton.q_slice(name)] = True
    np.testing.assert_array_equal(baked.poses.q[:, ~moved], walk.poses.q[:, ~moved])


@pytest.mark.parametrize("suffix", [".bvh", ".glb"])
def test_it_saves_like_a_clip(walk, tmp_path, suffix):
    baked = poise.bake(walk, Position("RightHand", raised(walk, "RightHand", [0, 0.05, 0])))
    poise.save(baked, tmp_path / f"baked{suffix}")
    again = poise.load(tmp_path / f"baked{suffix}").clips[0]
    at = again.at(walk.times[9]).world["RightHand"].positions
    np.testing.assert_allclose(at, baked.poses.world["RightHand"].positions[9], atol=1e-4)


def test_translations_and_scales_go_along():
    chain = straight_chain(3)
    stretched = chain.A[:, :3] * np.linspace(1, 2, 4)[:, None, None]
    poses = poise.Pose(chain, np.tile(chain.rest_q, (4, 1)), translations=stretched)
    clip = poise.Clip.at_rate(poses, 10, "stretch")
    baked = poise.bake(clip, Position("tip", [1, 1, 1]))
    assert baked.result.reached.all()
    np.testing.assert_array_equal(baked.poses.translations, stretched)
    lengths = np.linalg.norm(np.diff(baked.poses.world.positions, axis=1), axis=-1)
    np.testing.assert_allclose(lengths, np.linalg.norm(stretched[:, 1:], axis=-1), rtol=1e-12)


def test_an_empty_clip():
    chain = straight_chain(3)
    clip = poise.Clip(np.zeros(0), poise.Pose(chain, np.zeros((0, chain.nq))))
    assert len(poise.bake(clip, Position("tip", [1, 1, 1]))) == 0


def test_what_does_not_fit_is_said(walk):
    with pytest.raises(poise.InputError, match=r"one target, or one for each frame; this Position has .* \(3,\)"):
        poise.bake(walk, Position("RightHand", np.zeros((3, 3))))
    with pytest.raises(poise.InputError, match="give a Clip"):
        poise.bake(walk.poses[0], Position("RightHand", [0, 0, 0]))


def test_preferences_and_a_free_root_where_each_frame_has_lengths_of_its_own():
    s = figure()
    q = random_q(rng_of(1), s, 2)
    lengths = s.A[:, :3] * np.array([1.0, 1.5])[:, None, None]
    clip = poise.Clip(np.arange(2.0), poise.Pose(s, q, translations=lengths), "walk")
    goals = [Position("l_foot", [1, 1, 1]), poise.LookAt("head", [3, 2, 1]), poise.Near(clip.poses[0])]
    baked = poise.bake(clip, goals, free_root=True)
    assert baked.result.reached.all()
    alone = poise.solve(clip.poses[1], goals, free_root=True)
    np.testing.assert_array_equal(baked.poses.q[1], alone.q)
