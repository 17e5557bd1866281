"""What plant_feet() and lock_feet() cannot use: one sentence; and what they can do without."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise import Clip, InputError, Kind, Pose, Skeleton, Terrain, UnsupportedError, lock_feet, plant_feet
from poise.cli import main
from poise.ground.contact.contacts import Contacts
from poise.ground.plant import even
from poise.ground.terrain.mesh import Mesh
from tests.ground.clips import clip_of
from tests.ground.motions import load

FLAT = Terrain.flat()
FRAME = np.pad(np.full((48, 48), np.nan), 1)  # a height map that is nothing but its border


@pytest.fixture(scope="module")
def walk(data):
    return clip_of(data, "walk_mass")[1]


@pytest.fixture(scope="module")
def planted(walk):
    return plant_feet(walk, FLAT)


def first(clip, frames, times=None):
    """The first frames of a clip, at their times or others."""
    return Clip(clip.times[:frames] if times is None else np.asarray(times, dtype=float), clip.poses[:frames])


def at_rest(skeleton, frames=2, height=0.0):
    q = np.tile(skeleton.rest_q, (frames, 1))
    q[:, 1] += height
    return Clip(np.arange(frames) / 30.0, Pose(skeleton, q))


def stick_figure():
    """Straight legs without toes, which no frame bends; y up, in metres."""
    names, parents, offsets = ["hips", "spine", "head"], [-1, 0, 1], [(0, 0, 0), (0, 0.3, 0), (0, 0.3, 0)]
    for side, x in (("left", 0.1), ("right", -0.1)):
        for part, offset in (("UpperLeg", (x, 0, 0)), ("LowerLeg", (0, -0.42, 0)), ("Foot", (0, -0.4, 0))):
            parents.append(0 if part == "UpperLeg" else len(names) - 1)
            names.append(side + part)
            offsets.append(offset)
    return Skeleton.build(names, parents, [Kind.FREE] + [Kind.BALL] * (len(names) - 1), offsets=offsets)


def same(a, b, metre):
    return np.abs(a.poses.world.positions - b.poses.world.positions).max() <= 0.001 * metre


class TestFigures:
    def test_no_legs(self, data):
        arm = load(data / "urdf/panda.urdf").skeleton
        with pytest.raises(UnsupportedError, match=r"no legs that can be told: name them in the sidecar"):
            plant_feet(at_rest(arm), FLAT)

    def test_legs_that_are_only_guessed(self, data, tmp_path):
        """As natural poses do: below a confidence of 0.8 nothing is done with them."""
        rig = load(data / "glb/cesium_man.gltf")
        match = r"left leg is known with a confidence of 0.5 only \('node_7' as leftUpperLeg: .*\), and 0.8 is needed"
        for call in (lambda: plant_feet(rig.clips[0], FLAT, rig=rig), lambda: lock_feet(rig.clips[0], rig=rig)):
            with pytest.raises(UnsupportedError, match=match):
                call()
        roles = dict(poise.find_roles(rig).joints)
        message = rig.with_skeleton(dataclasses.replace(rig.skeleton, roles=roles))
        assert [leg.name for leg in lock_feet(message.clips[0]).figure.legs] == ["left", "right"]

    @pytest.mark.parametrize("command", [["plant", "--terrain", "flat"], ["lock"]])
    def test_legs_that_are_only_guessed_end_a_command(self, data, tmp_path, capsys, monkeypatch, command):
        clip, out = data / "glb/cesium_man.gltf", tmp_path / "out.gltf"
        monkeypatch.setattr("sys.argv", ["poise", command[0], str(clip), *command[1:], "-o", str(out)])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 2
        (sentence,) = capsys.readouterr().err.strip().splitlines()
        assert 'say so in the sidecar\'s [humanoid] table, leftUpperLeg = "node_7", leftLowerLeg = "node_8"' in sentence
        assert not out.exists()

    def test_legs_without_feet(self):
        whole = stick_figure()
        keep = [i for i, name in enumerate(whole.names) if "Foot" not in name]
        names = [whole.names[i] for i in keep]
        parents = [names.index(whole.names[whole.parents[i]]) if i else -1 for i in keep]
        footless = Skeleton.build(names, parents, whole.kinds[keep], offsets=whole.A[keep, :3])
        with pytest.raises(UnsupportedError, match="no legs that can be told"):
            plant_feet(at_rest(footless), FLAT)

    def test_straight_legs_without_toes_bend_to_the_front_where_they_must(self):
        clip = at_rest(stick_figure(), 40, height=0.85)
        bumps = Terrain.function(lambda x, z: 0.08 * (x > 0) + 0.0 * z)
        planted = plant_feet(clip, bumps)
        assert planted.notes == ()
        ankles = [planted.poses.world[side + "Foot"].positions[20, 1] for side in ("left", "right")]
        assert ankles[0] - ankles[1] == pytest.approx(0.08, abs=1e-3)
        assert planted.poses.world["leftLowerLeg"].positions[20, 2] > 0.05

    @pytest.mark.parametrize(
        ("legs", "words"),
        [
            (["tail"], "no leg 'tail'; legs: left, right"),
            ([], "no leg ''; legs: left, right"),
            ([3], r"legs, of left, right, are names, .*; one of them is 3"),
            (["left", "left"], "a leg is named twice: left, left"),
            ([["left"]], r"legs, of left, right, are names, .*; one of them is \['left'\]"),
            (3, r"legs, of left, right, are several names, .*, not 3"),
        ],
    )
    def test_legs_that_are_not_there(self, walk, legs, words):
        with pytest.raises(InputError, match=words):
            plant_feet(walk, FLAT, legs=legs)

    def test_one_name_is_one_leg(self, walk):
        assert plant_feet(walk, FLAT, legs="left").contacts.legs == ("left",)


class TestClips:
    @pytest.mark.parametrize("what", ["Rig", "Pose", "NoneType"])
    def test_what_is_no_clip(self, data, walk, what):
        given = {"Rig": clip_of(data, "walk_mass")[0], "Pose": walk.poses, "NoneType": None}[what]
        for function in (lambda: plant_feet(given, FLAT), lambda: lock_feet(given)):
            with pytest.raises(InputError, match=rf"give a Clip, such as rig.clips\[0\], not a {what}"):
                function()

    def test_no_frames(self, walk):
        with pytest.raises(InputError, match="has no frames: there is nothing to plant"):
            plant_feet(first(walk, 0), FLAT)
        with pytest.raises(InputError, match="has no frames: there is nothing to plant"):
            lock_feet(first(walk, 0))

    @pytest.mark.parametrize("frames", [1, 2, 3])
    def test_few_frames(self, walk, frames):
        for planted in (plant_feet(first(walk, frames), FLAT), lock_feet(first(walk, frames))):
            assert len(planted) == frames
            assert np.isfinite(planted.poses.q).all()
            assert np.isfinite(planted.report.after.skate)

    def test_one_frame_with_its_toes_in_the_ground(self, walk):
        planted = plant_feet(first(walk, 1), Terrain.function(lambda x, z: 0.5 * np.sin(3.0 * z) + 0.0 * x))
        assert np.isfinite(planted.poses.q).all()

    def test_one_frame_of_four_legs(self, data):
        rig, clip = clip_of(data, "fox walks")
        assert len(plant_feet(first(clip, 1), Terrain.slope(15), rig=rig)) == 1

    def test_frames_at_one_time(self, walk):
        assert len(plant_feet(first(walk, 3, [0, 0, 0]), FLAT)) == 3

    def test_uneven_times_are_sampled_evenly_and_that_is_reported(self, walk):
        times = walk.times.copy()
        times[60:] += 0.2
        planted = plant_feet(first(walk, len(walk), times), FLAT)
        assert "its frames lie unevenly in time" in planted.notes[0]
        np.testing.assert_allclose(np.diff(planted.times), planted.times[1], atol=1e-9)
        assert planted.times[-1] == pytest.approx(times[-1], abs=planted.times[1])

    def test_a_few_frames_a_second_are_sampled_more_often_and_that_is_reported(self, walk):
        planted = plant_feet(walk.resample(10), FLAT)
        assert planted.notes[0] == "sampled at 30 frames a second: its frames are few"

    @pytest.mark.parametrize(("rate", "sampled"), [(22.0, 30), (23.9, 30), (23.976, 0), (24.0, 0), (25.0, 0)])
    def test_below_24_frames_a_second_30_are_taken(self, walk, rate, sampled):
        clip, notes = even(walk.resample(rate))
        assert notes == ((f"sampled at {sampled} frames a second: its frames are few",) if sampled else ())
        assert clip.fps == pytest.approx(sampled or rate)

    def test_a_t_pose_stays_what_it_is(self, data):
        rig, clip = clip_of(data, "knight in a T-pose")
        planted = plant_feet(clip, FLAT, rig=rig)
        assert same(planted, clip, planted.figure.metre)


class TestTerrains:
    @pytest.mark.parametrize("what", [None, "flat", 0.0])
    def test_what_is_no_terrain(self, walk, what):
        with pytest.raises(InputError, match=r"terrain is a poise.Terrain, such as Terrain.flat\(\), not"):
            plant_feet(walk, what)

    def test_nan_heights_name_the_place(self, walk):
        with pytest.raises(InputError, match=r"the terrain function gave nan at x = .*, z = .*finite everywhere"):
            plant_feet(walk, Terrain.function(lambda x, z: np.where(z > -150.0, np.nan, 0.0) + 0.0 * x))

    def test_a_terrain_smaller_than_the_path_goes_on_level_and_that_is_reported(self, walk, planted):
        x, _, z = planted.poses.world[planted.figure.legs[0].foot].positions[-1]
        small = plant_feet(walk, Terrain.heightmap(np.zeros((5, 5)), size=(100.0, 100.0), origin=(x, 0.0, z)))
        assert "plants are beyond the ground's edge or over a hole: the nearest ground's height" in small.notes[0]
        np.testing.assert_allclose(small.poses.q, planted.poses.q, atol=1e-9)

    @pytest.mark.parametrize(
        ("terrain", "words"),
        [
            (Terrain.heightmap(np.zeros((5, 5)), size=20), "x -10 to 10, z -10 to 10; scale it"),
            (Terrain.heightmap(np.zeros((5, 5)), size=20, up="z", origin=(1, 2, 3)), "x -9 to 11, z -12 to 8; scale"),
            (Terrain.heightmap(np.zeros((3, 3)), size=(20, 10), origin=(5, 0, 7), unit=3.0), "x -15 to 45, z 6 to 36;"),
            (Terrain.heightmap(FRAME, size=1000, holes=True), "x -500 to 500, z -500 to 500, with holes;"),
            (
                Terrain(Mesh(np.array([[[0.0, 0, 7], [4, 0, 7], [0, 2, 7]]])), unit=1.0).scale_by(2),
                "x 0 to 8, z -4 to 0; scale",
            ),
        ],
    )
    def test_a_terrain_under_no_foot_is_refused(self, walk, terrain, words):
        feet = r"none of the 3 places .* at x -42\.\d to -25\.\d, z -214 to -77\.\d, and it goes from "
        with pytest.raises(InputError, match=feet + words):
            plant_feet(walk, terrain)

    @pytest.mark.parametrize("terrain", [Terrain.slope(85), Terrain.noise(1e9), Terrain.stairs(5, 0.3)])
    def test_ground_that_no_leg_reaches(self, walk, terrain):
        with pytest.raises(
            InputError, match=r"at \d\.\d{3} s the (left|right) foot would stand .* m beyond the end of its leg"
        ):
            plant_feet(walk, terrain)


class TestNumbersAndWords:
    @pytest.mark.parametrize("value", [-0.01, 2.0, np.nan, np.inf, "a", None, [0.1, 0.2], True])
    @pytest.mark.parametrize("name", ["steepest", "farthest", "stretch"])
    def test_out_of_range(self, walk, name, value):
        with pytest.raises(InputError, match=f"{name} must be"):
            plant_feet(walk, FLAT, **{name: value})

    def test_stretch_of_a_locked_clip_is_checked_too(self, walk):
        with pytest.raises(InputError, match="stretch must be from 0 to 0.5, not -1"):
            lock_feet(walk, stretch=-1)

    @pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "a", [1, 2], True])
    def test_no_metre(self, walk, value):
        with pytest.raises(InputError, match="a metre must be a (positive )?number"):
            plant_feet(walk, FLAT, metre=value)

    @pytest.mark.parametrize("value", ["x", "Y", ["y"], 1])
    def test_no_axis(self, walk, value):
        with pytest.raises(InputError, match="up must be 'y' or 'z', not"):
            plant_feet(walk, FLAT, up=value)

    @pytest.mark.parametrize("value", ["stay", None, ["keep"]])
    def test_no_word_for_clips_in_place(self, walk, value):
        for function in (lambda: plant_feet(walk, FLAT, in_place=value), lambda: lock_feet(walk, in_place=value)):
            with pytest.raises(InputError, match="in_place must be 'travel' or 'keep' or 'refuse', not"):
                function()

    def test_a_clip_in_place_is_refused_where_that_is_requested(self, data, walk):
        rig, clip = clip_of(data, "knight walks")
        with pytest.raises(UnsupportedError, match=r"'Walking_A' walks in place \(the ground passes at [\d.]+ m/s\)"):
            plant_feet(clip, FLAT, rig=rig, in_place="refuse")
        assert plant_feet(walk, FLAT, in_place="refuse").velocity is None


class TestGivenContacts:
    def test_of_other_legs(self, walk, planted):
        with pytest.raises(InputError, match="these contacts are of the legs left, right; the clip's: left"):
            plant_feet(walk, FLAT, contacts=planted.contacts, legs=["left"])

    @pytest.mark.parametrize("frames", [0, 50])
    def test_of_another_length(self, walk, planted, frames):
        c = planted.contacts
        cut = Contacts(c.legs, c.times[:frames], c.heel[:frames], c.ball[:frames])
        with pytest.raises(InputError, match=rf"contacts are of {frames} frames .* Contacts.from_intervals makes them"):
            plant_feet(walk, FLAT, contacts=cut)

    def test_of_other_times(self, walk, planted):
        later = dataclasses.replace(planted.contacts, times=planted.contacts.times + 0.01)
        with pytest.raises(InputError, match="these contacts are of 132 frames"):
            plant_feet(walk, FLAT, contacts=later)

    def test_whose_arrays_do_not_fit(self, walk, planted):
        with pytest.raises(InputError, match=r"of shape \(132,\) do not go with heel of shape \(5, 2\)"):
            plant_feet(walk, FLAT, contacts=dataclasses.replace(planted.contacts, heel=planted.contacts.heel[:5]))

    def test_that_are_none(self, walk):
        with pytest.raises(InputError, match=r"contacts are a poise.Contacts, .* not a dict"):
            plant_feet(walk, FLAT, contacts={})

    def test_that_never_stand_change_little_and_that_is_reported(self, walk, planted):
        never = np.zeros_like(planted.contacts.heel)
        idle = plant_feet(walk, FLAT, contacts=dataclasses.replace(planted.contacts, heel=never, ball=never))
        assert idle.notes == idle.report.notes == ("never stands: left, right",)
        assert np.isfinite(idle.poses.q).all()

    def test_soles_of_other_feet(self, walk, planted):
        one = dataclasses.replace(planted.soles, **{k: v[:1] for k, v in vars(planted.soles).items()})
        with pytest.raises(InputError, match="these soles are of 1 feet; the clip's legs: 2"):
            plant_feet(walk, FLAT, soles=one)
        with pytest.raises(InputError, match="soles are a poise.Soles, such as planted.soles, not a int"):
            plant_feet(walk, FLAT, soles=3)


def test_a_rig_of_another_figure(data, walk):
    with pytest.raises(poise.UnknownNameError, match="no joint 'b_"):
        plant_feet(walk, FLAT, rig=load(data / "glb/fox.glb"))
