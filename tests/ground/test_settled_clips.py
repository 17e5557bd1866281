"""Clips whose legs are settled on the ground: promises that hold for all of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from poise import Terrain, lock_feet, plant_feet
from poise.ground.contact.soles import HEEL_POINT
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import ANKLE, FOOT, HIP, KNEE, motion_of
from poise.ground.found import analyse_clip
from poise.ground.legs.legs import measure_leans
from poise.ground.stages import in_clip
from poise.io import samples
from poise.maths import rotations
from tests.ground.clips import clip_of
from tests.ground.motions import load

SAMPLES = Path(samples.__file__).parent
HARD = (
    "knight runs",
    "knight walks otherwise",
    "robot runs",
)  # each popped once when its feet were locked


@cache
def locked(data, name):
    rig, clip = clip_of(data, name)
    return lock_feet(clip, rig=rig)


@pytest.mark.parametrize("name", HARD)
class TestLocked:
    def test_nothing_pops(self, data, name):
        report = locked(data, name).report
        assert not [str(worse) for worse in report.worse if worse.measure not in ("pelvis", "d2")]
        assert (report.jumps.after <= report.jumps.bound + 3.0).all()  # mm a frame, of drawn feet

    def test_contacts_given_back_give_the_same(self, data, name):
        planted = locked(data, name)
        again = lock_feet(planted.source, contacts=planted.contacts, soles=planted.soles)
        np.testing.assert_array_equal(again.poses.q, planted.poses.q)

    def test_all_feet_stand_in_all_their_contacts(self, data, name):
        assert locked(data, name).report.after.skate <= 0.01


def test_heels_that_leave_early_leave_no_foot_without_a_contact(data):
    """The ball of its right foot slides away 0.06 s before the heel."""
    rig = load(data / "glb/knight_kaykit.glb")
    planted = lock_feet(rig.clip("2H_Melee_Attack_Stab"), rig=rig)
    found = in_clip(analyse_clip(planted.source, planted.figure, None, None, "travel"))
    assert (found.heel & ~found.ball).any()
    np.testing.assert_array_equal(planted.contacts.any, found.any)


@pytest.mark.parametrize("name", ["dash_root.001", "air_jump_root.001"])
class TestNeverStanding:
    """Its ankles come to 0.25 m below the place of its root: there is no floor at 0 to lift them over."""

    def test_locked_it_is_its_source(self, data, name):
        rig = load(data / "glb/mannequiny_gdquest.glb")
        planted = lock_feet(rig.clip(name), rig=rig)
        assert not planted.contacts.any.any()
        np.testing.assert_allclose(planted.poses.q, planted.source.poses.q, atol=1e-9)

    def test_on_flat_ground_it_is_lifted_as_a_whole_where_it_would_be_in_it(self, data, name):
        rig = load(data / "glb/mannequiny_gdquest.glb")
        planted = plant_feet(rig.clip(name), Terrain.flat(), rig=rig)
        before, after = (motion_of(clip, planted.figure).places for clip in (planted.source, planted))
        ways = (after - before)[..., [HIP, ANKLE], 2]
        assert ways.max() > 0.3
        assert np.ptp(ways, axis=(1, 2)).max() < 0.15  # m; its legs stay about as long
        assert planted.report.ok


# Down stairs (-1) and up: joints popped by 33 to 160 mm per frame^2 beyond their bounds once.
STEPPED = [("asf/02_01.amc", -1), ("asf/02_01.amc", 1), ("bvh/cmu_12_01_walk.bvh", -1)]


class TestPlanted:
    @pytest.mark.long
    @pytest.mark.parametrize(("file", "way"), STEPPED)
    def test_walks_on_stairs_do_not_pop(self, data, file, way):
        rig = load(data / file)
        clip = rig.clips[0]
        hips = clip.poses.world.positions[:, 0]
        along = (hips[-1] - hips[0]) * way * [1.0, 0.0, 1.0]
        planted = plant_feet(clip, Terrain.stairs(0.15, 0.3, direction=along), rig=rig)
        jumps = planted.report.jumps
        assert (jumps.after <= jumps.bound + 5.0).all()  # mm a frame
        assert planted.report.after.skate <= 0.01

    def test_heels_leave_the_ground_before_shins_lie_down(self, data):
        """The foot behind was flat until its shin leant ahead over it by 63 degrees."""
        rig = load(data / "bvh/walk_mass.bvh")
        planted = plant_feet(rig.clips[0], Terrain.stairs(0.15, 0.3, direction=(0, 0, -1)), rig=rig)
        motion = motion_of(planted, planted.figure)
        shins = motion.places[:, :, KNEE] - motion.places[:, :, ANKLE]
        leans = np.degrees(np.arcsin(measure_leans(shins, motion.turns[:, :, FOOT], planted.soles)))
        assert leans[planted.contacts.ball].max() < 60.0

    def test_a_foot_held_back_at_a_riser_catches_up_over_its_swing(self):
        planted = plant_feet(load(SAMPLES / "humanoid.glb").clips[0], Terrain.stairs(0.15, 0.3))
        jumps = planted.report.jumps
        assert (jumps.after <= jumps.bound).all()  # 53 mm over where it had to catch up in two frames


@pytest.mark.parametrize("fps", [240.0, 480.0])
def test_clips_of_many_frames_do_not_pop(fps):
    """Knees leapt by 32 and 101 mm a frame beyond their bound."""
    clip = load(SAMPLES / "humanoid.glb").clips[0].resample(fps)
    jumps = plant_feet(clip, Terrain.slope(-12)).report.jumps
    assert (jumps.after <= jumps.bound - 5.0).all()


def test_feet_without_toes_roll_over_their_balls(data):
    """They stayed flat until the toe-off, while heels of the source were up by 8 cm."""
    planted = lock_feet(load(data / "fbx/cmu_91_50_m2m.fbx").clips[0])
    source, result = (planted.soles.points(motion)[:, :, HEEL_POINT, 2] for motion in planted.report.motions)
    rolls = planted.contacts.ball & (source > 0.05)
    assert rolls.sum() > 5
    assert np.median((result / source)[rolls]) > 0.6


def test_contacts_given_back_on_steep_stairs_are_held_as_they_are():
    clip, steep = load(SAMPLES / "humanoid.glb").clips[0], Terrain.stairs(0.3, 0.3)
    once = plant_feet(clip, steep)
    again = plant_feet(clip, steep, contacts=once.contacts)
    np.testing.assert_array_equal(again.contacts.any, once.contacts.any)
    np.testing.assert_array_equal(again.poses.q, once.poses.q)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "direction", "most"),
    [
        ("knight runs", 1.0, 0.15),
        ("knight runs", -1.0, 0.1),
        ("fox runs", 1.0, 0.22),
        ("fox runs", -1.0, 0.22),
    ],
)
def test_legs_of_who_runs_on_stairs_are_not_thrown_up(data, name, direction, most):
    """Of all frames, in how many a foot is 0.35 m higher under its hip than animated."""
    rig, clip = clip_of(data, name)
    figure = figure_of(clip, rig=rig)
    hips = plant_feet(clip, Terrain.flat(up=figure.up), rig=rig).report.motions[1].places[:, :, HIP].mean(axis=1)
    way = direction * rotations.rotate(rotations.inverse(figure.turn), (hips[-1] - hips[0]) * [1.0, 1.0, 0.0])
    planted = plant_feet(clip, Terrain.stairs(0.15, 0.30, direction=way, up=figure.up), rig=rig)
    source, result = (motion.places[:, :, ANKLE, 2] - motion.places[:, :, HIP, 2] for motion in planted.report.motions)
    higher = np.where(planted.contacts.any, 0.0, result - source)
    assert (higher > 0.35).mean() < most
