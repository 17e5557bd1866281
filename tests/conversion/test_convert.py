"""convert() and save(rest=...): one format as another, zero as the rest pose, and what is said to be lost."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.conversion.convert import find_displaced_joints
from poise.conversion.rig_edits import UnitChange, change_units, compute_axis_rotation
from poise.errors import InputError, PoiseWarning, UnknownNameError, UnsupportedError
from poise.io import samples
from poise.maths import rotations
from poise.model.channels import Channel
from poise.model.clip import Clip, KeyedClip
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Coupling, Kind, Skeleton
from tests.io.gltf_samples import content, places

FIGURE, WALK, ARM = (samples.path(name) for name in ("humanoid.glb", "humanoid.bvh", "arm.urdf"))


def shared(a, b):
    """Rows of the joints that both skeletons have."""
    names = [name for name in a.names if name in b.names]
    assert names
    return [a.index(name) for name in names], [b.index(name) for name in names]


def turned_rig():
    """A figure whose joints have rest rotations, a scaled node above them, and a clip."""
    rng = np.random.default_rng(5)
    turns = rotations.normalise(rng.normal(size=(6, 4)))
    skeleton = Skeleton.build(
        ["Armature", "Hips", "Spine", "Head", "Arm", "Hand"], [-1, 0, 1, 2, 2, 4], [Kind.FIXED] + [Kind.BALL] * 5,
        offsets=rng.normal(size=(6, 3)) * 50, rotations=turns, scales=[[0.01] * 3] + [[1] * 3] * 5,
    )  # fmt: skip
    q = rotations.normalise(rng.normal(size=(40, 5, 4))).reshape(40, 20)
    translations = np.broadcast_to(skeleton.A[:, :3], (40, 6, 3)).copy()
    translations[:, 1] += rng.normal(size=(40, 3))
    clip = Clip.at_rate(Pose(skeleton, q, translations), 30, "move")
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q), (clip,))


class TestRest:
    """Re-based, zero is the rest pose, joints are where they were, turned by a constant rotation each."""

    @pytest.mark.parametrize("file", ["made", "knight_kaykit.glb", "robot_quaternius.glb", "fox.glb"])
    @pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
    def test_places_stay_and_zero_is_the_rest_pose(self, file, tmp_path, request):
        rig = turned_rig() if file == "made" else poise.load(request.getfixturevalue("data") / "glb" / file)
        clip = rig.clips[0]
        made = {}
        for rest in ("keep", "zero"):
            poise.save(clip, tmp_path / "a.bvh", like=rig, rest=rest)
            made[rest] = poise.load(tmp_path / "a.bvh")
        old, new = (made[rest].clips[0].poses.world for rest in ("keep", "zero"))
        size = np.ptp(old.positions, axis=1).max()
        assert np.abs(new.positions - old.positions).max() < 1e-9 * size
        apart = rotations.multiply(rotations.inverse(old.rotations), new.rotations)
        assert np.abs(np.abs((apart * apart[:1]).sum(axis=-1)) - 1).max() < 1e-12
        assert np.abs(apart[0, :, 0]).min() < 0.99
        again = made["zero"].skeleton
        ours, theirs = shared(rig.skeleton, again)
        slack = 1e-9 if file == "made" else 1e-6  # writing takes shifts and scale that small for noise
        zero = Pose(again, again.rest_q).world
        np.testing.assert_allclose(zero.positions[theirs], rig.rest.world.positions[ours], atol=slack * size)
        np.testing.assert_allclose(np.abs(zero.rotations[theirs, 0]), 1, atol=1e-12)
        source = clip.at(np.minimum(made["zero"].clips[0].times, clip.times[-1])).world.positions
        assert np.abs(new.positions[:, theirs] - source[:, ours]).max() < slack * size

    def test_keep_is_the_default_of_save_and_keeps_the_frames(self, tmp_path):
        rig = turned_rig()
        poise.save(rig, tmp_path / "a.bvh")
        poise.save(rig, tmp_path / "b.bvh", rest="keep")
        assert (tmp_path / "a.bvh").read_bytes() == (tmp_path / "b.bvh").read_bytes()
        again = poise.load(tmp_path / "a.bvh")
        ours, theirs = shared(rig.skeleton, again.skeleton)
        turned = rotations.multiply(
            rotations.inverse(rig.clips[0].poses.world.rotations[:, ours]),
            again.clips[0].poses.world.rotations[:, theirs],
        )
        np.testing.assert_allclose(np.abs(turned[..., 0]), 1, atol=1e-12)

    def test_only_convert_of_another_format_starts_from_zero(self, tmp_path):
        poise.convert(ARM, tmp_path / "a.bvh")
        arm = poise.load(tmp_path / "a.bvh")
        np.testing.assert_allclose(
            Pose(arm.skeleton, arm.skeleton.rest_q).world["flange_tool"].positions,
            poise.load(ARM).rest.world["tool"].positions, atol=1e-9,
        )  # fmt: skip
        poise.convert(WALK, tmp_path / "same.bvh")
        assert (tmp_path / "same.bvh").read_bytes() == WALK.read_bytes()
        poise.convert(WALK, tmp_path / "zero.bvh", rest="zero")
        assert (tmp_path / "zero.bvh").read_bytes() == WALK.read_bytes()

    def test_other_formats_refuse_it(self, tmp_path):
        with pytest.raises(UnsupportedError, match="is for BVH files; glTF"):
            poise.save(turned_rig(), tmp_path / "a.glb", rest="zero")
        with pytest.raises(InputError, match="rest must be 'keep' or 'zero'"):
            poise.save(turned_rig(), tmp_path / "a.bvh", rest="nought")


class TestTimes:
    def test_keys_on_odd_frames_stay_where_they_are(self, tmp_path):
        s = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.BALL], offsets=[[0, 0, 0], [0, 1, 0]])
        times = np.arange(1, 31, 2) / 24
        angles = 2.0 * times
        values = np.stack([np.cos(angles), 0 * angles, 0 * angles, np.sin(angles)], axis=-1)
        clip = KeyedClip(s, (Channel(0, "rotation", "LINEAR", times, values),), "odd")
        poise.save(clip, tmp_path / "a.bvh")
        made = poise.load(tmp_path / "a.bvh").clips[0]
        assert made.fps == pytest.approx(24, rel=1e-12)
        far = made.at(times).world.positions[:, :2] - clip.at(times).world.positions
        assert np.abs(far).max() < 1e-9

    def test_where_no_rate_fits_the_distance_is_reported(self, tmp_path):
        s = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.BALL], offsets=[[0, 0, 0], [0, 1, 0]])
        times = np.array([0.0, 0.1, 0.21317, 0.29003, 0.5, 0.71773, 1.0])
        angles = 3.0 * np.sin(20.0 * times)
        q = np.stack([np.cos(angles), 0 * times, 0 * times, np.sin(angles), *[0 * times + k for k in (1, 0, 0, 0)]], -1)
        clip = Clip(times, Pose(s, q), "odd")
        with pytest.warns(PoiseWarning, match=r"no common frames: sampled at .* off at its own keys"):
            poise.save(clip, tmp_path / "a.bvh")
        done = poise.convert(Rig(s, Pose(s, s.rest_q), (clip,)), tmp_path / "a.bvh")
        assert any(line.startswith("exact keys: ") for line in done.lost)
        assert done.off > 0.1
        fine = poise.convert(Rig(s, Pose(s, s.rest_q), (clip,)), tmp_path / "a.bvh", fps=2000)
        assert fine.off < done.off / 20
        assert fine.fps == pytest.approx(2000)

    def test_times_below_zero(self, tmp_path):
        rig = turned_rig()
        early = Clip(rig.clips[0].times - 1 / 30, rig.clips[0].poses, "early")
        done = poise.convert(dataclasses.replace(rig, clips=(early,)), tmp_path / "a.glb")
        assert "clip 'early' began at -0.0333333 s and begins at 0 now" in done.notes
        assert done.share < 1e-5
        keyed = poise.load(tmp_path / "a.glb")
        tracks = tuple(track._replace(times=track.times - 0.5) for track in keyed.clips[0].tracks)
        shifted = KeyedClip(keyed.skeleton, tracks, "keyed")
        done = poise.convert(dataclasses.replace(keyed, clips=(shifted,)), tmp_path / "b.bvh")
        assert done.share < 1e-5
        assert poise.load(tmp_path / "b.bvh").clips[0].times[0] == 0

    def test_a_rate(self, tmp_path):
        done = poise.convert(FIGURE, tmp_path / "a.glb", fps=10)
        assert (done.fps, done.frames) == (pytest.approx(10), 11)
        assert len(poise.load(tmp_path / "a.glb").clips[0].times) == 11


class TestMoved:
    """Another unit, another axis up: the same figure in every frame."""

    @pytest.mark.parametrize("file", [FIGURE, WALK, ARM])
    @pytest.mark.parametrize(("old", "new"), [("y", "z"), ("z", "x"), ("x", "y"), ("y", "y")])
    def test_everything_is_where_it_was_but_for_the_move(self, file, old, new):
        rig = poise.load(file)
        rig = dataclasses.replace(rig, skeleton=dataclasses.replace(rig.skeleton, up=old))
        turn = compute_axis_rotation(old, new)
        other = change_units(rig, UnitChange(0.01, turn, new, 1.0))
        for a, b in ((rig.pose, other.pose), (rig.rest, other.rest)):
            expected = rotations.rotate(np.broadcast_to(turn, a.world.rotations.shape), 0.01 * a.world.positions)
            np.testing.assert_allclose(b.world.positions, expected, atol=1e-14)
        for a, b in zip(rig.clips, other.clips, strict=True):
            times = np.linspace(0, 1, 40)
            points, turns = a.at(times).world.positions, a.at(times).world.rotations
            expected = rotations.rotate(np.broadcast_to(turn, turns.shape), 0.01 * points)
            np.testing.assert_allclose(b.at(times).world.positions, expected, atol=1e-12)
        axes = rotations.rotate(turn, np.eye(3)["xyz".index(old)])
        np.testing.assert_allclose(axes, np.eye(3)["xyz".index(new)], atol=1e-15)
        assert (other.skeleton.up, other.skeleton.metres_per_unit, other.skeleton.source) == (new, 1.0, None)

    def test_slides_their_ranges_and_couplings_are_lengths(self):
        skeleton = Skeleton.build(
            ["base", "slide", "hinge", "follower"], [-1, 0, 1, 0], [Kind.FIXED, Kind.SLIDE, Kind.HINGE, Kind.SLIDE],
            offsets=[[0, 0, 0], [0, 0, 2], [1, 0, 0], [0, 3, 0]], axes=[[0, 0, 1]] * 4,
            limits=[None, Range(-1, 4, soft=2.0), Range(-1, 1), None],
            couplings=[None, None, None, Coupling(2, 3.0, 0.5)],
        )  # fmt: skip
        pose = Pose(skeleton, np.array([1.5, 0.25]))
        other = change_units(Rig(skeleton, pose), UnitChange(10.0, rotations.IDENTITY, None, None))
        np.testing.assert_allclose(other.pose.world.positions, 10 * pose.world.positions, atol=1e-12)
        slide = other.skeleton.limits[1]
        assert (slide.low, slide.high, slide.soft) == (-10, 40, 0.02)
        assert other.skeleton.limits[2] == Range(-1, 1)

    def test_a_vrm_animation_is_compared_in_its_own_unit_and_axes(self, tmp_path):
        rig = poise.load(FIGURE)
        s = dataclasses.replace(rig.skeleton, metres_per_unit=None, up=None)
        bare = dataclasses.replace(rig, skeleton=s, clips=(Clip(rig.clips[0].times, rig.clips[0].poses.on(s), "walk"),))
        turned = change_units(bare, UnitChange(100.0, compute_axis_rotation("y", "z"), None, None))
        done = poise.convert(turned, tmp_path / "a.vrma")
        assert done.share < 1e-3
        assert not [line for line in done.lost if "exact keys" in line]
        assert "unit guessed: 0.01 m" in done.notes
        assert "rotated: y is up now, and the character faces +z" in done.notes
        assert not [note for note in done.notes if "lengths were kept" in note]

    def test_what_lost_joints_carried_is_not_called_off_its_keys(self, data, tmp_path):
        """A VRM animation has no second neck: the head that it carried comes out elsewhere, and all else does not."""
        done = poise.convert(data / "bvh" / "cmu_12_01_walk.bvh", tmp_path / "a.vrma")
        assert done.share < 1e-4
        assert not [line for line in done.lost if "exact keys" in line]
        (line,) = [
            line for line in done.lost if line.startswith("the positions of these joints and their descendants: ")
        ]
        assert "Head, LeftHandIndex1, RightHandIndex1 (off by 0.02 of" in line

    def test_centimetres_become_metres_in_gltf_and_stay_in_bvh(self, tmp_path):
        rig = turned_rig()
        rig = dataclasses.replace(rig, skeleton=dataclasses.replace(rig.skeleton, metres_per_unit=0.01, up="z"))
        rig = dataclasses.replace(rig, pose=rig.rest, clips=(Clip(rig.clips[0].times, rig.clips[0].poses, "move"),))
        done = poise.convert(rig, tmp_path / "a.glb")
        assert "lengths were in centimetres and are in metres now" in done.notes
        size = np.ptp(rig.rest.world.positions, axis=0)
        np.testing.assert_allclose(np.ptp(poise.load(tmp_path / "a.glb").rest.world.positions, axis=0), 0.01 * size)
        poise.save(rig, tmp_path / "own.glb")  # in centimetres, below a node that scales
        done = poise.convert(tmp_path / "own.glb", tmp_path / "b.glb")
        assert "lengths were in centimetres and are in metres now" in done.notes
        for name in ("a", "b", "own"):  # none is scaled twice
            observed = places(content(tmp_path / f"{name}.glb")[0])
            at = np.array([observed[each] for each in rig.skeleton.names])
            np.testing.assert_allclose(np.ptp(at, axis=0), 0.01 * size[[0, 2, 1]], rtol=1e-6, atol=1e-9)
        done = poise.convert(rig, tmp_path / "a.bvh")
        assert "the unit: lengths are in centimetres, which the file cannot store" in done.lost
        again = poise.load(tmp_path / "a.bvh").rest.world
        points = np.array([again[name].positions for name in rig.skeleton.names])
        np.testing.assert_allclose(np.ptp(points, axis=0), size, rtol=1e-9)

    def test_up_turns_a_figure_whose_file_does_not_say(self, tmp_path):
        done = poise.convert(WALK, tmp_path / "z.bvh", up="z")
        assert "rotated: y was up, z is now" in done.notes
        assert done.share < 1e-9
        before, after = poise.load(WALK), poise.load(tmp_path / "z.bvh")
        head = before.clips[0].poses.world["Head"].positions
        np.testing.assert_allclose(
            after.clips[0].poses.world["Head"].positions, head[:, [0, 2, 1]] * [1, -1, 1], atol=1e-9
        )
        zero = Pose(after.skeleton, after.skeleton.rest_q).world["Head"].positions
        np.testing.assert_allclose(zero, before.rest.world["Head"].positions[[0, 2, 1]] * [1, -1, 1], atol=1e-9)
        done = poise.convert(tmp_path / "z.bvh", tmp_path / "z.glb")
        assert "the character stands along z, but y is up in glTF: use up y to rotate it" in done.notes

    def test_a_stick_does_not_say_which_way_is_up(self, tmp_path):
        s = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.BALL], offsets=[[0, 0, 0], [0, 1, 0]])
        with pytest.raises(InputError, match="the file has no up axis"):
            poise.convert(Rig(s, Pose(s, s.rest_q)), tmp_path / "a.bvh", up="z")

    @pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "a"])
    def test_scales_that_cannot_be(self, scale, tmp_path):
        with pytest.raises(InputError, match="scale"):
            poise.convert(WALK, tmp_path / "a.glb", scale=scale)
        assert not (tmp_path / "a.glb").exists()


class TestLost:
    def test_of_a_figure_written_as_bvh(self, tmp_path):
        lost = poise.convert(FIGURE, tmp_path / "a.bvh").lost
        assert "limits of 4 joints" in lost
        assert "1 mesh, with materials and skins" in lost
        assert "the unit: lengths are in metres, which the file cannot store" in lost

    def test_of_a_robot(self, tmp_path):
        rig = poise.load(ARM)
        moving = int(np.isin(rig.skeleton.kinds, (Kind.HINGE, Kind.SLIDE)).sum())
        lost = poise.convert(ARM, tmp_path / "a.bvh").lost
        assert f"the axes of {moving} hinges or slides: in the file they turn freely" in lost
        lost = poise.convert(ARM, tmp_path / "a.glb").lost
        assert not any(line.startswith(("limits", "the axes", "the unit")) for line in lost)
        assert poise.convert(ARM, tmp_path / "a.json").lost[0].startswith("the skeleton: ")

    def test_nothing_where_nothing_is(self, tmp_path):
        assert poise.convert(FIGURE, tmp_path / "a.glb").lost == ("4 named chains",)  # of the sidecar
        assert poise.convert(ARM, tmp_path / "a.urdf").lost == ()
        assert (tmp_path / "a.urdf").read_bytes() == ARM.read_bytes()

    def test_a_mesh_goes_with_the_document_when_lengths_change(self, tmp_path):
        assert "1 mesh, with materials and skins" in poise.convert(FIGURE, tmp_path / "a.glb", scale=2.0).lost


class TestCarried:
    """Joints that stand elsewhere because a joint above them is gone."""

    def skeleton(self, names):
        parents = {"hips": "", "spine": "hips", "extra": "spine", "head": "extra", "hat": "head", "leg": "hips"}
        above = [parents[name] for name in names]
        while not set(above) <= {"", *names}:
            above = [parents[up] if up and up not in names else up for up in above]
        rows = [names.index(up) if up else -1 for up in above]
        return Skeleton.build(names, rows, [Kind.BALL] * len(names), offsets=[[0, 1, 0]] * len(names))

    def clip(self, moving):
        s = self.skeleton(["hips", "spine", "extra", "head", "hat", "leg"])
        q = np.tile(s.rest_q, (2, 1))
        for joint in moving:
            q[1, s.q_slice(joint)] = [0.6, 0.8, 0, 0]
        return Clip.at_rate(Pose(s, q), 30)

    def test_below_a_joint_that_moved_and_is_gone(self):
        new = self.skeleton(["hips", "spine", "head", "hat", "leg"])
        assert find_displaced_joints(self.clip(["extra"]), new) == (["head"], ["head", "hat"])
        assert find_displaced_joints(self.clip(["spine", "head"]), new) == ([], [])
        assert find_displaced_joints(self.clip(["extra"]), self.clip([]).skeleton) == ([], [])

    def test_a_root_of_the_new_file_stands_by_itself(self):
        new = self.skeleton(["spine", "head", "hat"])
        assert find_displaced_joints(self.clip(["hips"]), new) == ([], [])
        assert find_displaced_joints(self.clip(["hips", "extra"]), new) == (["head"], ["head", "hat"])


class TestClips:
    @pytest.fixture
    def several(self, tmp_path):
        rig = poise.load(FIGURE)
        clip = rig.clips[0]
        other = Clip(clip.times * 2, clip.poses, "slow/walk")
        path = tmp_path / "several.glb"
        poise.save(dataclasses.replace(rig, clips=(clip, other)), path)
        return path

    def test_a_format_of_many_takes_all_of_them(self, several, tmp_path):
        assert poise.convert(several, tmp_path / "a.glb").clips == ("walk", "slow/walk")

    def test_a_format_of_one_needs_a_name_or_a_file_each(self, several, tmp_path):
        with pytest.raises(UnsupportedError, match="give 'all' for one file per clip: 'walk', 'slow/walk'"):
            poise.convert(several, tmp_path / "a.bvh")
        assert not list(tmp_path.glob("*.bvh"))
        done = poise.convert(several, tmp_path / "a.bvh", clip="all")
        assert [path.name for path in done.files] == ["a_walk.bvh", "a_slow_walk.bvh"]
        assert sorted(path.name for path in tmp_path.glob("*.bvh")) == ["a_slow_walk.bvh", "a_walk.bvh"]
        assert poise.load(done.files[1]).clips[0].duration == pytest.approx(2.0)

    def test_one_of_them(self, several, tmp_path):
        done = poise.convert(several, tmp_path / "a.glb", clip="slow/walk")
        assert [clip.name for clip in poise.load(tmp_path / "a.glb").clips] == ["slow/walk"]
        assert "not written: walk" in done.notes
        with pytest.raises(UnknownNameError, match="no clip 'run'"):
            poise.convert(several, tmp_path / "a.bvh", clip="run")

    def test_values_of_a_clip(self, tmp_path):
        done = poise.convert(WALK, tmp_path / "a.csv")
        assert (done.clips, done.frames, done.off) == (("humanoid",), 31, None)
