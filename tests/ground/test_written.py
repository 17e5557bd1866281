"""Written: poses say what was decided, and nothing else of them changes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise import Clip, Kind, Pose, Skeleton
from poise.ground.figure.figure import Figure, figure_of
from poise.ground.figure.motion import ANKLE, motion_of, turning
from poise.ground.legs.legs import Turned
from poise.ground.legs.write_back import hangs_in, moved_poses, write_poses
from poise.maths import rotations
from poise.model.roles import Leg
from tests.ground.clips import clip_of
from tests.ground.feet import unturned
from tests.ground.motions import PARTS, SIDES, STANDING
from tests.strategies import rng_of, unit_quaternions

NAMES = ("walk_mass", "cmu_12_01_walk", "knight walks", "robot walks", "fox walks", "woman walks")


def some_turns(shape, seed=1, share=0.2):
    return rotations.slerp(
        np.broadcast_to(rotations.IDENTITY, (*shape, 4)), unit_quaternions(rng_of(seed), *shape), share
    )


def turned_of(motion, seed=1):
    """Turns for every part of every leg, a pelvis that goes up, and where the ankles come."""
    turned = dataclasses.replace(
        unturned(motion), turns=some_turns(motion.turns.shape[:3], seed), up=0.1 * rng_of(seed).random(len(motion))
    )
    for i, leg in enumerate(motion.figure.legs):
        if not leg.toes:
            turned.turns[:, i, 3] = turned.turns[:, i, 2]
    return turned


@pytest.fixture(params=NAMES)
def case(request, data):
    rig, clip = clip_of(data, request.param)
    clip = Clip(clip.times[:12], clip.poses[:12])
    motion = motion_of(clip, figure_of(clip, rig=rig))
    return clip.poses, motion


def none(motion):
    return np.zeros((len(motion), 3))


class TestRealFigures:
    def test_parts_turn_in_the_world_as_requested(self, case):
        poses, motion = case
        turned = turned_of(motion)
        written = motion_of(
            Clip(motion.times, write_poses(poses, motion, turned, none(motion), none(motion))), motion.figure
        )
        wanted = rotations.multiply(turned.turns, motion.turns)
        difference = rotations.multiply(rotations.inverse(wanted), written.turns)
        assert np.linalg.norm(rotations.as_vector(difference), axis=-1).max() < 1e-7

    def test_hips_move_by_the_offset_and_no_more(self, case):
        poses, motion = case
        turned = turned_of(motion)
        offsets = 0.1 * rng_of(2).normal(size=(len(motion), 3))
        written = write_poses(poses, motion, turned, offsets, 0.5 * offsets)
        hips = motion_of(Clip(motion.times, written), motion.figure).places[:, :, 0] - motion.places[:, :, 0]
        wanted = 0.5 * offsets + turned.up[:, None] * [0.0, 0.0, 1.0]
        np.testing.assert_allclose(hips, np.broadcast_to(wanted[:, None], hips.shape), atol=1e-9)

    def test_all_other_joints_keep_their_bits(self, case):
        poses, motion = case
        written = write_poses(poses, motion, turned_of(motion), none(motion), none(motion))
        s = poses.skeleton
        changed = {name for leg in motion.figure.legs for name in turning(leg)} | {motion.figure.mover}
        for name in set(s.names) - changed:
            part = s.q_slice(name)
            np.testing.assert_array_equal(written.q[:, part], poses.q[:, part])
        mover = s.q_slice(motion.figure.mover)
        if s.kinds[s.index(motion.figure.mover)] == Kind.FREE:  # where it is changes, how it is turned does not
            np.testing.assert_array_equal(
                written.q[:, mover.stop - 4 : mover.stop], poses.q[:, mover.stop - 4 : mover.stop]
            )

    def test_nothing_to_do_changes_nothing(self, case):
        poses, motion = case
        same = write_poses(poses, motion, unturned(motion), none(motion), none(motion))
        np.testing.assert_allclose(same.q, poses.q, atol=1e-9)
        moved = np.abs(same.local_positions - poses.local_positions).max()
        assert moved <= 1e-9 * motion.figure.metre
        assert same.scales is poses.scales or np.array_equal(same.scales, poses.scales)

    def test_feet_come_where_they_hang_or_are_put(self, case):
        poses, motion = case
        turned = turned_of(motion)
        s = poses.skeleton
        written = motion_of(
            Clip(motion.times, write_poses(poses, motion, turned, none(motion), none(motion))), motion.figure
        )
        for i, leg in enumerate(motion.figure.legs):
            if hangs_in(s, leg.foot, leg.lower):
                lengths = np.linalg.norm(np.diff(motion.places[:, i, : ANKLE + 1], axis=1), axis=2)
                after = np.linalg.norm(np.diff(written.places[:, i, : ANKLE + 1], axis=1), axis=2)
                np.testing.assert_allclose(after, lengths, atol=1e-9 if poses.scales is None else 1e-6)
            else:
                np.testing.assert_allclose(written.places[:, i, ANKLE], turned.ankles[:, i], atol=1e-9)

    def test_moved_poses_move_every_joint(self, case):
        poses, motion = case
        offsets = rng_of(4).normal(size=(len(motion), 3))
        moved = moved_poses(poses, motion.figure, offsets)
        before, after = (
            rotations.rotate(motion.figure.turn, p.world.positions / motion.figure.metre) for p in (poses, moved)
        )
        below = [hangs_in(poses.skeleton, name, motion.figure.mover) for name in poses.skeleton.names]
        np.testing.assert_allclose((after - before)[:, below], np.repeat(offsets[:, None], sum(below), 1), atol=1e-9)


def test_translations_that_no_file_gave_stay_none(data):
    clip = clip_of(data, "walk_mass")[1]
    poses, motion = clip.poses, motion_of(clip, figure_of(clip))
    assert poses.translations is None
    assert write_poses(poses, motion, turned_of(motion), none(motion) + 0.1, none(motion)).translations is None


def test_a_detached_foot_of_the_robot_is_put_by_its_translation(data):
    rig, clip = clip_of(data, "robot walks")
    figure = figure_of(clip, rig=rig)
    assert not any(hangs_in(clip.skeleton, leg.foot, leg.lower) for leg in figure.legs)
    motion = motion_of(clip, figure)
    turned = dataclasses.replace(unturned(motion), ankles=motion.places[:, :, ANKLE] + 0.05, up=np.full(len(clip), 0.2))
    written = motion_of(Clip(clip.times, write_poses(clip.poses, motion, turned, none(motion), none(motion))), figure)
    np.testing.assert_allclose(written.places[:, :, ANKLE], turned.ankles, atol=1e-9)


def built(kind, *, scales=(1.0, 1.0, 1.0), turn=(1.0, 0.0, 0.0, 0.0), up="z"):
    """Two legs under a mover of a kind, all in a fixed root that is turned and scaled; with a pose."""
    names, parents, offsets = ["root", "hips"], [-1, 0], [np.zeros(3), np.array([0.0, 0.0, 0.9])]
    for side, x in SIDES.items():
        for row, part in enumerate(PARTS):
            parents.append(len(names) - 1 if row else 1)
            names.append(f"{side} {part}")
            offsets.append(STANDING[row] - STANDING[row - 1] if row else np.array([x, 0.0, 0.0]))
    count = len(names)
    sizes, turns = np.ones((count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    sizes[0], turns[:2] = scales, turn
    kinds = [Kind.FIXED, kind] + [Kind.BALL] * (count - 2)
    skeleton = Skeleton.build(names, parents, kinds, offsets=offsets, rotations=turns, scales=sizes)
    legs = tuple(Leg(s, f"{s} upper", f"{s} lower", f"{s} foot", f"{s} toes") for s in SIDES)
    rng = rng_of(5)
    q = np.tile(skeleton.rest_q, (4, 1))
    start = skeleton.q_slice("hips").stop
    q[:, start:] = some_turns((4, 10), 6).reshape(4, -1)
    q[:, start - 4 : start] = unit_quaternions(rng, 4)
    return Pose(skeleton, q), Figure(skeleton, legs, up, 1.0, "hips", "hips")


QUARTER = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)


@pytest.mark.parametrize("kind", [Kind.FREE, Kind.BALL])
@pytest.mark.parametrize("turn", [(1.0, 0.0, 0.0, 0.0), QUARTER], ids=["upright", "turned"])
@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (0.01, 0.01, 0.01), (-1.0, 1.0, 1.0), (-2.0, -2.0, -2.0)])
class TestParents:
    def test_scaled_mirrored_and_turned(self, kind, turn, scales):
        poses, figure = built(kind, scales=scales, turn=turn)
        clip = Clip(np.arange(4) / 30.0, poses)
        motion = motion_of(clip, figure)
        turned, offsets = turned_of(motion), 0.1 * rng_of(3).normal(size=(4, 3))
        written = motion_of(Clip(clip.times, write_poses(poses, motion, turned, offsets, none(motion))), figure)
        moved = offsets + turned.up[:, None] * [0.0, 0.0, 1.0]
        hips = written.places[:, :, 0] - motion.places[:, :, 0]
        np.testing.assert_allclose(hips, np.repeat(moved[:, None], 2, axis=1), atol=1e-9)
        wanted = rotations.multiply(turned.turns, motion.turns)
        apart = rotations.multiply(rotations.inverse(wanted), written.turns)
        assert np.linalg.norm(rotations.as_vector(apart), axis=-1).max() < 1e-7
        for part, (a, b) in enumerate(((0, 1), (1, 2), (2, 3), (3, 4))):
            before = motion.places[:, :, b] - motion.places[:, :, a]
            after = written.places[:, :, b] - written.places[:, :, a]
            np.testing.assert_allclose(after, rotations.rotate(turned.turns[:, :, part], before), atol=1e-9)


def test_legs_are_made_longer_by_their_translations_alone():
    poses, figure = built(Kind.FREE)
    motion = motion_of(Clip(np.arange(4) / 30.0, poses), figure)
    lengths = np.array([[1.0, 1.0], [1.02, 1.0], [1.0, 1.0], [1.01, 1.0]])
    turned = Turned(np.zeros(4), unturned(motion).turns, motion.places[:, :, ANKLE], np.zeros((4, 2)), lengths)
    written = write_poses(poses, motion, turned, none(motion), none(motion))
    after = motion_of(Clip(motion.times, written), figure)
    bones = [np.linalg.norm(np.diff(m.places, axis=2), axis=3) for m in (motion, after)]
    np.testing.assert_allclose(bones[1][..., :2] / bones[0][..., :2], np.repeat(lengths[..., None], 2, 2), atol=1e-12)
    np.testing.assert_allclose(bones[1][..., 2:], bones[0][..., 2:], atol=1e-12)
    assert written.translations is not None


def test_saved_and_read_again_it_is_the_same(data, tmp_path):
    rig, clip = clip_of(data, "walk_mass")
    motion = motion_of(clip, figure_of(clip))
    written = Clip(clip.times, write_poses(clip.poses, motion, turned_of(motion), none(motion), none(motion)))
    poise.save(written, tmp_path / "a.bvh", like=rig)
    again = poise.load(tmp_path / "a.bvh").clips[0]
    np.testing.assert_allclose(again.poses.world.positions, written.poses.world.positions, atol=2e-3)
