"""lock_feet(): feet stop sliding on the floor that the clip has, and nothing else moves."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import poise
from poise import Clip, Terrain, UnsupportedError, lock_feet, plant_feet
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import ANKLE, HIP, KNEE, motion_of, turning
from tests.ground.clips import TRAVELLING, clip_of
from tests.ground.motions import load

MORE = ("jumping_jacks_cmu1", "mocapbank", "jesse_dance_rokoko")
LOWEST = {"fox walks": 0.15}  # [m] of a fox as tall as a man: what it takes to hold all its feet where they stand
PLACED = ("knight walks", "robot walks", "fox walks", "woman walks")


@cache
def locked(data, name, stretch=0.0):
    if name in MORE:
        return lock_feet(load(data / f"bvh/{name}.bvh").clips[0], stretch=stretch)
    rig, clip = clip_of(data, name)
    return lock_feet(clip, rig=rig, stretch=stretch)


def legs_of(planted, clip):
    return motion_of(clip, planted.figure).places[:, :, : ANKLE + 1]


def bones(planted, clip):
    """Lengths (F, L, 2) of thighs and shins [m]."""
    return np.linalg.norm(np.diff(legs_of(planted, clip), axis=2), axis=3)


@pytest.mark.parametrize("name", [*TRAVELLING, *MORE])
def test_feet_that_slid_stand(data, name):
    report = locked(data, name).report
    assert report.before.skate > 0.7  # where feet were locked
    assert report.after.skate <= 0.01
    assert report.after.slip <= 0.1
    assert report.after.penetration <= (12.0 if name == "mocapbank" else 5.0)  # its leg kneels down in a frame or two


@pytest.mark.parametrize("name", [*TRAVELLING, *PLACED])
class TestNothingElse:
    def test_no_joint_but_those_of_legs_turns(self, data, name):
        planted = locked(data, name)
        s = planted.skeleton
        turned = {joint for leg in planted.figure.legs for joint in turning(leg)}
        for joint in set(s.names) - turned:
            part = s.q_slice(joint)
            part = slice(max(part.start, part.stop - 4), part.stop)  # a free joint's rotation
            np.testing.assert_array_equal(planted.poses.q[:, part], planted.source.poses.q[:, part])

    def test_bones_keep_their_lengths(self, data, name):
        planted = locked(data, name)
        if name != "robot walks":  # whose feet do not hang in its legs
            before, after = bones(planted, planted.source), bones(planted, planted)
            np.testing.assert_allclose(after, before, rtol=1e-9 if planted.poses.scales is None else 1e-5)

    def test_times_and_name_stay(self, data, name):
        planted = locked(data, name)
        np.testing.assert_allclose(planted.times, planted.source.times)
        assert planted.name == planted.source.name


@pytest.mark.parametrize("name", [*TRAVELLING, *PLACED])
def test_the_figure_moves_up_and_down_only(data, name):
    planted = locked(data, name)
    way = legs_of(planted, planted)[:, :, HIP] - legs_of(planted, planted.source)[:, :, HIP]
    np.testing.assert_allclose(way[..., :2], 0.0, atol=1e-9)
    assert np.abs(way[..., 2]).max() < LOWEST.get(name, 0.1)
    np.testing.assert_allclose(way, np.repeat(way[:, :1], way.shape[1], axis=1), atol=1e-9)


@pytest.mark.parametrize("name", PLACED)
def test_a_clip_in_place_stays_there_with_its_feet_still_over_the_passing_ground(data, name):
    planted = locked(data, name)
    assert planted.passed is not None
    assert planted.velocity is not None
    assert planted.report.after.skate <= 0.5
    assert any("it stays there" in note for note in planted.notes)
    passing = np.diff(planted.passed[:, :2], axis=0) / np.diff(planted.times)[:, None]
    np.testing.assert_allclose(passing, np.broadcast_to(passing[0], passing.shape), atol=1e-6)
    assert np.linalg.norm(passing[0]) == pytest.approx(np.linalg.norm(planted.velocity), rel=1e-6)


def test_the_floor_is_the_clips_own(data):
    clip = clip_of(data, "walk_mass")[1]
    rise = np.eye(clip.skeleton.nq)[1]
    low, high = (lock_feet(Clip(clip.times, clip.poses.with_q(clip.poses.q + up * rise))) for up in (500.0, 2000.0))
    moved = high.poses.world.positions - low.poses.world.positions
    np.testing.assert_allclose(moved, np.broadcast_to([0.0, 1500.0, 0.0], moved.shape), atol=1e-6)


def test_it_is_planting_on_that_floor(data):
    clip, plain = clip_of(data, "walk_mass")[1], locked(data, "walk_mass")
    again = plant_feet(clip, plain.terrain)
    np.testing.assert_array_equal(again.poses.q, plain.poses.q)
    assert isinstance(plain.terrain, Terrain)


class TestStretch:
    @pytest.mark.parametrize("name", ["fox runs", "jesse_dance_rokoko"])
    def test_by_two_in_a_hundred_at_most_and_only_where_a_leg_is_too_short(self, data, name):
        plain, stretched = (locked.__wrapped__(data, name, stretch) for stretch in (0.0, 0.02))
        grown = bones(plain, stretched) / bones(plain, plain)
        assert grown.max() <= 1.02 + 1e-9
        assert grown.min() >= 1.0 - 1e-9
        np.testing.assert_allclose(grown[..., 0], grown[..., 1], atol=1e-9)
        longer = grown[..., 0] > 1.0 + 1e-9
        assert 0 < longer.sum() < longer.size
        a, b = legs_of(plain, plain), legs_of(plain, stretched)
        stands = plain.contacts.any[~longer]
        moved = np.abs(b - a).max(axis=-1)[~longer]  # [m] before and after, the pelvis sinks less
        assert moved[:, HIP].max() < 0.025
        assert moved[stands, ANKLE].max() < 1e-9
        assert moved[~stands, ANKLE].max() < 0.035  # a foot that leaves the ground later catches up
        assert moved[:, KNEE].max() < 0.06  # it goes far where its leg is nearly straight
        chords = [np.linalg.norm(legs[:, :, ANKLE] - legs[:, :, HIP], axis=-1) for legs in (a, b)]
        assert (chords[1] > chords[0])[longer].all()

    def test_a_bvh_file_that_cannot_hold_it_says_so_and_is_not_written(self, data, tmp_path):
        stretched = locked(data, "jesse_dance_rokoko", 0.02)
        rig = load(data / "bvh/jesse_dance_rokoko.bvh")
        with pytest.raises(UnsupportedError, match=r"joint '\w+Leg' moves along X and the BVH file has no"):
            poise.save(stretched, tmp_path / "a.bvh", like=rig)
        assert list(tmp_path.iterdir()) == []

    def test_without_it_translations_stay_as_they_were(self, data):
        assert locked(data, "run_mass").poses.translations is None


def test_feet_on_the_lowest_rungs_of_a_climb_stay_there(data):
    """The floor was at the median of all stances, and those below it were pulled up by half a leg."""
    ladder = load(data / "bvh/cmu_01_03_climb_ladder.bvh")
    frames = slice(300, 1300, 4)
    climb = Clip(ladder.clips[0].times[frames], ladder.clips[0].poses[frames], "climb")
    before, after = (motion_of(clip, figure_of(climb)).places for clip in (climb, lock_feet(climb, rig=ladder)))
    assert np.ptp(before[:, :, ANKLE, 2]) > 0.8
    assert np.abs(after - before)[:, :, ANKLE, 2].max() < 0.12


def test_one_leg_alone(data):
    clip = clip_of(data, "walk_mass")[1]
    planted = lock_feet(clip, legs=["right"])
    assert planted.report.after.skate <= 0.1
    left = figure_of(clip).legs[0]
    for joint in turning(left):
        part = clip.skeleton.q_slice(joint)
        np.testing.assert_array_equal(planted.poses.q[:, part], clip.poses.q[:, part])


def test_one_leg_alone_is_locked_the_same_way_each_time():
    walk = poise.load(poise.sample("humanoid.bvh"))
    first, *others = (poise.lock_feet(walk.clips[0], rig=walk, legs=("left",)).poses.q for _ in range(4))
    assert all(np.array_equal(first, other) for other in others)
