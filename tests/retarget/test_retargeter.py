"""poise.Retargeter: the transfer of poise.retarget, one pose at a time, with feet placed live."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import poise
from poise import Terrain
from poise.io import samples
from tests.retarget.characters import build_character, build_clip, build_rig


def follow(live, clip):
    """The poses of a live character: positions (F, n, 3) and configurations (F, nq)."""
    step = float(np.median(np.diff(clip.times)))
    poses = [live(clip.poses[frame], step) for frame in range(len(clip))]
    return np.array([pose.world.positions for pose in poses]), np.array([pose.q for pose in poses])


def retarget_free(clip, target, **options):
    return poise.retarget(clip, target, ground=False, hands="directions", **options)


def measure_jumps(positions, rows):
    return np.percentile(np.linalg.norm(np.diff(positions[:, rows], 2, axis=0), axis=-1), 99.9, axis=0)


@pytest.fixture(scope="module")
def pair():
    return tuple(poise.load(samples.path(name)) for name in ("humanoid.bvh", "humanoid.glb"))


@pytest.mark.long
@pytest.mark.parametrize("name", ["mixamo_human_makehuman.glb", "cryptovoxels.vrm", "knight_kaykit.glb"])
def test_frames_are_those_of_the_batch(data, name):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb" / name)
    done = retarget_free(walk, target)
    positions, _ = follow(poise.Retargeter(walk, target), done.source)
    np.testing.assert_allclose(positions, done.poses.world.positions, atol=1e-9 * done.bodies[1].leg_length)


@pytest.mark.parametrize("options", [{}, {"has_twist": True, "spine": 5, "leaves": 9}, {"has_toes": False}])
def test_characters_of_other_joints_are_those_of_the_batch(options):
    source = build_rig(build_character([1.0] * 12), clips=(build_clip(build_character([1.0] * 12), 3),))
    target = build_rig(build_character([1.2, 0.8] * 6, **options))
    done = retarget_free(source, target)
    positions, _ = follow(poise.Retargeter(source, target), done.source)
    np.testing.assert_allclose(positions, done.poses.world.positions, atol=1e-12)


def test_a_character_moves_as_itself():
    skeleton = build_character([1.0] * 12, leaves=5)
    rig = build_rig(skeleton, clips=(build_clip(skeleton, 7),))
    positions, q = follow(poise.Retargeter(rig, rig), rig.clips[0])
    np.testing.assert_allclose(positions, rig.clips[0].poses.world.positions, atol=1e-12)
    columns = skeleton.q_slice("Leaf3")  # no role: it turns as in the source
    assert np.ptp(q[:, columns]) > 0.1
    assert np.array_equal(q[:, columns], rig.clips[0].poses.q[:, columns])


def test_a_match_turns_and_skips(pair):
    walk, figure = pair
    match = poise.match(walk, figure).with_joint("leftHand", turn=30.0).with_joint("rightLowerArm", skip=True)
    done = retarget_free(walk, figure, match=match)
    live = poise.Retargeter(walk, figure, match)
    positions, _ = follow(live, done.source)
    np.testing.assert_allclose(positions, done.poses.world.positions, atol=1e-9)
    assert live.match is match


def test_feet_stand_on_the_ground_without_jumps(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/mixamo_human_makehuman.glb")
    done = poise.retarget(walk, target, hands="directions")
    body, up = done.bodies[1], 1
    positions, _ = follow(poise.Retargeter(walk, target, ground=True), done.source)
    free, _ = follow(poise.Retargeter(walk, target), done.source)
    rows = [body.rows[f"{side}{end}"] for side in ("left", "right") for end in ("Hand", "Foot")]
    batch = done.poses.world.positions
    assert (measure_jumps(positions, rows) <= 2.0 * measure_jumps(batch, rows)).all()
    feet = [body.rows[f"{side}Foot"] for side in ("left", "right")]
    stands = done.contacts.heel & done.contacts.ball
    slides = [
        np.linalg.norm(np.diff(one[:, feet][..., [0, 2]], axis=0), axis=-1)[(stands[1:] & stands[:-1])]
        for one in (positions, free)
    ]
    assert np.median(slides[0]) < 0.2 * np.median(slides[1])
    assert positions[:, feet, up].min() > 0.0


def test_stairs_are_climbed_live(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/cryptovoxels.vrm")
    source = retarget_free(walk, target).source
    flat, stairs = (
        follow(poise.Retargeter(walk, target, ground=ground), source)[0]
        for ground in (True, Terrain.stairs(0.12, 0.35))
    )
    hips = target.skeleton.index(target.roles.joints["hips"])
    assert np.ptp(stairs[:, hips, 1]) > np.ptp(flat[:, hips, 1]) + 0.2


def test_same_calls_have_the_same_bits_and_reset_begins_anew(pair):
    walk, figure = pair
    clip = walk.clips[0]
    live, again = (poise.Retargeter(walk, figure, ground=True) for _ in range(2))
    first, bits = follow(live, clip)
    assert np.array_equal(bits, follow(again, clip)[1])
    assert not np.array_equal(bits, follow(live, clip)[1])  # feet stand where they last stood
    live.reset()
    assert np.array_equal(bits, follow(live, clip)[1])
    assert np.isfinite(first).all()


def test_a_copy_goes_its_own_way(pair):
    walk, figure = pair
    clip = walk.clips[0]
    for copied in (copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):  # noqa: S301  (our own)
        live = poise.Retargeter(walk, figure, ground=True)
        live(clip.poses[0])
        other = copied(live)
        expected = [live(clip.poses[frame]).q for frame in range(1, 6)]
        assert np.array_equal(expected, [other(clip.poses[frame]).q for frame in range(1, 6)])


def test_a_source_without_clips_shows_its_rest_pose(pair):
    walk, figure = pair
    source = poise.Rig(walk.skeleton, walk.rest)
    live = poise.Retargeter(source, figure, ground=True)
    shown = live(walk.clips[0].poses[0])
    assert shown.skeleton == figure.skeleton
    assert abs(live(source.rest).world["LeftFoot"].positions[1]) < 0.2


def test_wrong_calls_are_refused(pair):
    walk, figure = pair
    arm = poise.load(samples.path("arm.urdf"))
    live = poise.Retargeter(walk, figure)
    pose = walk.clips[0].poses[0]
    for arguments, message in (
        ((figure.rest,), "another skeleton than the source"),
        ((walk.clips[0].poses,), "one pose at a time"),
        ((pose, -1.0), "dt is the time since the last frame"),
        ((pose, float("nan")), "dt"),
        ((walk,), "takes a Pose"),
    ):
        with pytest.raises(poise.InputError, match=message):
            live(*arguments)
    with pytest.raises(poise.UnsupportedError, match="the target has no known"):
        poise.Retargeter(walk, arm)
    with pytest.raises(poise.InputError, match="the ground must be"):
        poise.Retargeter(walk, figure, ground="stairs")
    with pytest.raises(poise.InputError, match="the source must be"):
        poise.Retargeter(walk.clips[0], figure)
