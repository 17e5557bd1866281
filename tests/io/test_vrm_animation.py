"""VRM animations: files of others against their truth, and what is written of every kind of figure."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from poise.model.roles.bone_names import REQUIRED_BONES
from tests.timeouts import PROCESS, no_hang

EXTENSION = "VRMC_vrm_animation"


@pytest.fixture(scope="module")
def walk(data):
    return poise.load(data / "vrma" / "walk_cmu.vrma")


@pytest.fixture(scope="module")
def armature(data, tmp_path_factory):
    """The harder kind: turned bones below a node with a turn and a scale, uneven keys, steps."""
    path = tmp_path_factory.mktemp("armature") / "walk.vrma"
    script, clip = data / "vrma" / "make_vrma.py", data / "bvh" / "cmu_12_01_walk.bvh"
    options = ["--metres-per-unit", "0.0564444", "--style", "armature"]
    done = subprocess.run(
        [sys.executable, "-B", script, clip, path, *options],
        capture_output=True,
        text=True,
        timeout=PROCESS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return path


def quietly(call, *arguments):
    """The value of a call and what it warned of."""
    with warnings.catch_warnings(record=True, action="always") as reported:
        value = call(*arguments)
    return value, [str(one.message) for one in reported]


def document(path):
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    return json.loads(data[20 : 20 + length])


def turned(rig, pose, role):
    """The rotation of a bone since rest, in the world: (..., 4)."""
    row = rig.skeleton.index(rig.humanoid[role])
    return rotations.multiply(pose.world.rotations[..., row, :], rotations.inverse(rig.rest.world.rotations[row]))


def check_truth(rig, truth, steps=()):
    poses = rig.clips[0].at(truth["t"])
    for i, bone in enumerate(truth["bones"].tolist()):
        if bone in steps:
            continue
        at = poses.world[rig.humanoid[bone]].positions
        assert np.abs(at - truth["position"][:, i]).max() < 2e-6
        wanted = truth["rotation_xyzw"][:, i][:, [3, 0, 1, 2]]
        assert np.abs((turned(rig, poses, bone) * wanted).sum(axis=-1)).min() > 1 - 1e-6
        rest = rig.rest.world[rig.humanoid[bone]].positions
        assert np.abs(rest - truth["rest_position"][i]).max() < 2e-6


class TestReading:
    def test_the_plain_kind_equals_its_truth(self, data, walk):
        truth = np.load(data / "vrma" / "walk_cmu_truth.npz")
        check_truth(walk, truth)
        assert list(walk.humanoid) == truth["bones"].tolist()
        assert walk.notes == ()
        assert walk.skeleton.faces == "+z"
        assert walk.skeleton.metres_per_unit == 1.0
        found = poise.find_roles(walk)
        assert set(found.reasons.values()) == {"the file's VRM map"}
        assert [clip.name for clip in walk.clips] == ["clip"]

    @pytest.mark.long
    def test_the_harder_kind_equals_its_truth(self, armature):
        truth = np.load(armature.with_name("walk_truth.npz"))
        steps = truth["step"].tolist()
        assert steps == ["leftHand", "rightHand"]
        rig = poise.load(armature)
        check_truth(rig, truth, steps)
        assert rig.humanoid["hips"] == "Bone.000"
        for hand in steps:  # which hold each second key
            held, i = rig.clips[0].at(truth["t"][:-1:2]), truth["bones"].tolist().index(hand)
            wanted = truth["rotation_xyzw"][:-1:2, i][:, [3, 0, 1, 2]]
            assert np.abs((turned(rig, held, hand) * wanted).sum(axis=-1)).min() > 1 - 1e-6

    def test_expressions_are_joints_that_move_nothing(self, walk):
        happy = walk.clips[0].at([0.0, walk.clips[0].duration / 2]).local_positions[:, walk.skeleton.index("happy")]
        np.testing.assert_allclose(happy, [[0, 0, 0], [1, 0, 0]], atol=1e-3)
        assert walk.skeleton["happy"].parent is None

    def test_what_is_no_animation(self, data, tmp_path):
        path = tmp_path / "a.vrma"
        path.write_bytes((data / "glb" / "cryptovoxels.vrm").read_bytes())
        with pytest.raises(
            poise.FileError, match=r"a\.vrma: extensions: is a VRM model, not an animation; name it \.vrm"
        ):
            poise.load(path)
        path.write_bytes(samples.path("humanoid.glb").read_bytes())
        with pytest.raises(poise.FileError, match="is glTF without VRMC_vrm_animation"):
            poise.load(path)

    @pytest.mark.parametrize(
        ("change", "note"),
        [
            (lambda d: d["extensions"][EXTENSION].update(specVersion="3.0"), "its version '3.0' is not known"),
            (lambda d: d["extensions"][EXTENSION].update(specVersion={}), "its version {} is not known"),
            (lambda d: bones(d).pop("leftFoot"), "required VRM bones are missing in it: leftFoot"),
            (lambda d: bones(d).update(hips={"node": 99}), "lead to no node and were ignored: hips"),
            (
                lambda d: d["extensions"][EXTENSION].update(humanoid=[]),
                "required VRM bones are missing in it: hips, spine",
            ),
            (
                lambda d: d["animations"].append(d["animations"][0]),
                "it holds 2 animations; most programs play the first",
            ),
            (lambda d: d.pop("animations"), "it holds no animation"),
        ],
    )
    def test_what_is_odd_is_reported(self, data, tmp_path, change, note):
        path = tmp_path / "odd.vrma"
        path.write_bytes(changed(data, change))
        _, reported = quietly(poise.load, path)
        assert any(note in one for one in reported), reported


def bones(d):
    return d["extensions"][EXTENSION]["humanoid"]["humanBones"]


def changed(data, change):
    """The plain file with other JSON."""
    whole = (data / "vrma" / "walk_cmu.vrma").read_bytes()
    (length,) = struct.unpack_from("<I", whole, 12)
    d = json.loads(whole[20 : 20 + length])
    change(d)
    text = json.dumps(d).encode()
    text += b" " * (-len(text) % 4)
    rest = whole[20 + length :]
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A) + text + rest


BAD = {
    "cut in the keys": (lambda whole: whole[:40_000], "GLB header: says 62,612 bytes; the file has 40,000"),
    "cut in the header": (lambda whole: whole[:10], "is cut off"),
    "no glTF": (lambda _: b"HIERARCHY\n", "it looks like a BVH file"),
    "a huge count": (lambda d: d["accessors"][0].update(count=2**32 - 1), "accessors[0]"),
    "a negative count": (lambda d: d["accessors"][0].update(count=-1), "accessors[0]"),
    "a circle": (lambda d: d["nodes"][5].update(children=[0]), "nodes"),
    "a node in itself": (lambda d: d["nodes"][5].update(children=[5]), "nodes[5]"),
    "a rotation of length zero": (lambda d: d["nodes"][3].update(rotation=[0, 0, 0, 0]), "nodes[3]"),
    "NaN": (lambda d: d["nodes"][3].update(translation=[0, float("nan"), 0]), "NaN is not a JSON number"),
    "a track of nothing": (
        lambda d: d["animations"][0]["channels"][0].update(sampler=999),
        "animations[0].channels[0]",
    ),
    "an extension that is a list": (lambda d: d["extensions"].update({EXTENSION: []}), "without VRMC_vrm_animation"),
    "no extension": (lambda d: d.pop("extensions"), "without VRMC_vrm_animation"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_meant_is_refused(data, tmp_path, name):
    path, (change, sentence) = tmp_path / "bad.vrma", BAD[name]
    whole = (data / "vrma" / "walk_cmu.vrma").read_bytes()
    in_bytes = name.startswith("cut") or name == "no glTF"
    path.write_bytes(change(whole) if in_bytes else changed(data, change))
    with no_hang(), pytest.raises(poise.FileError) as refusal:
        poise.load(path)
    assert str(refusal.value).startswith(str(path))
    assert sentence in str(refusal.value)


class TestKept:
    """Written back: the document that was read, with other motion."""

    @pytest.mark.parametrize("what", ["rig", "clip"])
    def test_what_is_unchanged_is_the_same_file(self, data, walk, tmp_path, what):
        path = tmp_path / "same.vrma"
        poise.save(walk if what == "rig" else walk.clips[0], path)
        assert path.read_bytes() == (data / "vrma" / "walk_cmu.vrma").read_bytes()

    def test_a_limb_is_moved_and_expressions_stay(self, walk, tmp_path):
        clip, path = walk.clips[0], tmp_path / "waving.vrma"
        targets = clip.poses.world["head"].positions + np.array([0.3, 0.1, 0.2])
        baked = poise.bake(clip, poise.Position("leftHand", targets))
        poise.save(baked, path)
        rig = poise.load(path)
        (again,) = rig.clips
        for joint in ("leftHand", "rightHand", "head", "rightToes"):
            there = again.at(clip.times).world[joint].positions
            assert np.abs(there - baked.poses.world[joint].positions).max() < 2e-6
        assert np.abs(again.at(clip.times).world["leftHand"].positions - targets).max() < 1e-3
        own = {(track.joint, track.path): track for track in clip.tracks}
        for joint, path_, kind in (("happy", "translation", "LINEAR"), ("blink", "translation", "STEP")):
            (track,) = (track for track in again.tracks if track.joint == walk.skeleton.index(joint))
            assert track.interpolation == kind
            assert np.array_equal(track.values, own[track.joint, path_].values)
        message_text = document(path)
        assert message_text["extensions"] == walk.skeleton.source.container.json["extensions"]
        assert len(message_text["animations"]) == 1
        assert message_text["nodes"] == walk.skeleton.source.container.json["nodes"]

    def test_other_times_take_the_expressions_along(self, walk, tmp_path):
        path = tmp_path / "short.vrma"
        poses = walk.clips[0].at(np.arange(31) / 30.0)
        poise.save(poise.Clip.at_rate(poses, 30.0, "short"), path)
        again = poise.load(path).clips[0]
        blink = walk.skeleton.index("blink")
        assert again.duration == pytest.approx(1.0)
        assert np.abs(again.at(0.5).local_positions[blink] - walk.clips[0].at(0.5).local_positions[blink]).max() < 1e-6

    def test_a_pose_is_a_clip_of_one_frame(self, walk, tmp_path):
        path, pose = tmp_path / "pose.vrma", walk.clips[0].at(1.0)
        poise.save(pose, path)
        again = poise.load(path)
        assert len(again.clips[0]) == 1
        assert np.abs(again.clips[0].poses[0].world.positions - pose.world.positions).max() < 2e-6
        assert np.array_equal(again.rest.world.positions, walk.rest.world.positions)

    def test_one_frame_of_another_pose_keeps_its_expressions(self, walk, tmp_path):
        poise.save(walk.clips[0].at(1.0), tmp_path / "frame.vrma")
        rig = poise.load(tmp_path / "frame.vrma")
        happy = rig.skeleton.index("happy")
        bent = rig.clips[0].poses.replace({"leftUpperArm": [[np.cos(0.25), 0.0, 0.0, np.sin(0.25)]]})
        poise.save(poise.Clip([0.0], bent), tmp_path / "bent.vrma")
        again = poise.load(tmp_path / "bent.vrma").clips[0]
        assert len(again) == 1
        assert np.abs(again.poses.world["leftHand"].positions - bent.world["leftHand"].positions).max() < 2e-6
        (track,) = (track for track in again.tracks if track.joint == happy)
        np.testing.assert_array_equal(track.values, bent.local_positions[:, happy])

    def test_a_rig_in_another_pose_is_refused(self, walk, tmp_path):
        bent = poise.Rig(walk.skeleton, walk.clips[0].at(1.0), walk.clips)
        with pytest.raises(poise.UnsupportedError, match="are its T pose, which stays"):
            poise.save(bent, tmp_path / "bent.vrma")

    @pytest.mark.parametrize("path", ["translations", "scales"])
    def test_bones_that_slide_are_refused(self, walk, tmp_path, path):
        poses = walk.clips[0].poses
        scales = np.ones((len(poses), len(walk.skeleton), 3))
        values = (poses.translations if path == "translations" else scales).copy()
        values[5, walk.skeleton.index("leftLowerArm")] *= 1.1
        given = {"translations": poses.translations, "scales": None} | {path: values}
        clip = poise.Clip(walk.clips[0].times, poise.Pose(walk.skeleton, poses.q, **given))
        with pytest.raises(poise.UnsupportedError, match="slide or are scaled: leftLowerArm"):
            poise.save(clip, tmp_path / "slid.vrma")
        assert list(tmp_path.iterdir()) == []

    def test_the_motion_of_another_figure(self, walk, data, tmp_path):
        other = poise.load(samples.path("humanoid.glb")).clips[0]
        with pytest.raises(poise.UnsupportedError, match="not those of the VRM animation"):
            poise.save(other, tmp_path / "other.vrma", like=walk)

    def test_one_frame_of_another_format(self, walk, tmp_path):
        poise.save(walk.clips[0], tmp_path / "walk.glb")
        clip = poise.load(tmp_path / "walk.glb").clips[0]
        frame = poise.Clip([0.0], poise.Pose(clip.skeleton, clip.poses.q[:1]))
        poise.save(frame, tmp_path / "frame.vrma")
        again = poise.load(tmp_path / "frame.vrma").clips[0]
        assert len(again) == 1
        np.testing.assert_allclose(
            again.poses.world["leftHand"].positions, frame.poses.world["leftHand"].positions, atol=1e-5
        )

    def test_to_other_formats_and_back(self, walk, tmp_path):
        poise.save(walk.clips[0], tmp_path / "walk.glb")
        again = poise.load(tmp_path / "walk.glb")
        for joint in ("leftHand", "rightToes"):
            there = again.clips[-1].at(walk.clips[0].times).world[joint].positions
            assert np.abs(there - walk.clips[0].poses.world[joint].positions).max() < 2e-6


class TestNew:
    """Of a figure from any other file."""

    def test_the_rest_pose_is_normalised(self, tmp_path):
        clip, path = poise.load(samples.path("humanoid.glb")).clips[0], tmp_path / "new.vrma"
        poise.save(clip, path)
        message_text, rig = document(path), poise.load(path)
        assert message_text["extensionsUsed"] == [EXTENSION]
        assert message_text["extensions"][EXTENSION]["specVersion"] == "1.0"
        assert set(REQUIRED_BONES) <= set(bones(message_text))
        assert all(set(node) <= {"name", "translation", "children"} for node in message_text["nodes"])
        paths = {(c["target"]["path"], c["target"]["node"]) for c in message_text["animations"][0]["channels"]}
        assert {node for path, node in paths if path == "translation"} == {bones(message_text)["hips"]["node"]}
        assert {path for path, _ in paths} == {"translation", "rotation"}
        assert "skins" not in message_text
        assert rig.notes == ()
        for joint in rig.skeleton.names:
            there = rig.clips[0].at(clip.times).world[joint].positions
            np.testing.assert_allclose(there, clip.poses.world[joint].positions, atol=2e-6)

    def test_the_truth_from_the_source_of_the_plain_kind(self, data, tmp_path):
        """Its maker took rows 2, 6, ... of the BVH file; bones below the neck have no joint without a role above."""
        truth, path = np.load(data / "vrma" / "walk_cmu_truth.npz"), tmp_path / "own.vrma"
        rig = poise.load(data / "bvh" / "cmu_12_01_walk.bvh")
        _, reported = quietly(poise.save, poise.Clip(truth["t"], rig.clips[0].poses[2::4], "walk"), path)
        assert ["moving joints other than human bones" in one for one in reported] == [True, False]
        assert "'Head' is displaced by up to 4" in reported[0]
        assert "the unit of this character is unknown" in reported[1]
        own = poise.load(path)
        poses = own.clips[0].at(truth["t"])
        for i, bone in enumerate(truth["bones"].tolist()):
            if bone not in ("neck", "head"):
                at = poses.world[own.humanoid[bone]].positions
                assert np.abs(at - truth["position"][:, i]).max() < 5e-6

    @pytest.mark.parametrize("kind", ["A", "hang", "up", "rolled"])
    def test_one_motion_from_every_rest_pose(self, data, tmp_path, kind):
        """The files hold one motion on rest poses that differ, so that VRM figures have to show the same.

        How bones are rolled at rest does not show in a BVH file: then places are the same, but for the head, which a
        joint without a role carries.
        """
        found = []
        for name in ("T", kind):
            path = tmp_path / f"{name}.vrma"
            quietly(poise.save, poise.load(data / "bvh" / "rest" / f"walk_{name}.bvh").clips[0], path)
            found.append(poise.load(path))
        wanted, rig = found
        assert rig.humanoid == wanted.humanoid
        np.testing.assert_allclose(rig.rest.world.positions, wanted.rest.world.positions, atol=1e-4)
        poses, truth = (each.clips[0].at(wanted.clips[0].times) for each in (rig, wanted))
        known = [i for i, name in enumerate(rig.skeleton.names) if kind != "rolled" or name != "Head"]
        there, wanted_there = (each.world.positions[:, known] for each in (poses, truth))
        np.testing.assert_allclose(there, wanted_there, atol=2e-4)
        if kind != "rolled":
            alike = np.abs((poses.world.rotations * truth.world.rotations).sum(axis=-1))
            assert alike.min() > np.cos(np.radians(0.5) / 2)

    @pytest.mark.parametrize(
        "file",
        ["asf/02_01.amc", "glb/mixamo_human_makehuman.glb", "glb/human_anim_m2m.glb", "glb/cryptovoxels.vrm",
         "glb/knight_kaykit.glb", "bvh/walk_makehuman_zup.bvh"],
    )  # fmt: skip
    def test_figures_stand_in_a_t_pose_and_look_along_z(self, data, tmp_path, file):
        rig, _ = quietly(poise.load, data / file)
        path = tmp_path / "figure.vrma"
        quietly(poise.save, rig.clips[0] if rig.clips else rig.rest, path)
        own = poise.load(path)
        world = own.rest.world

        def way(start, end):
            line = world[own.humanoid[end]].positions - world[own.humanoid[start]].positions
            return line / np.linalg.norm(line)

        for side, sign in (("left", 1), ("right", -1)):
            assert way(f"{side}UpperArm", f"{side}LowerArm")[0] * sign > 0.99
            assert way(f"{side}LowerArm", f"{side}Hand")[0] * sign > 0.99
            assert way(f"{side}UpperLeg", f"{side}LowerLeg")[1] < -0.99
        assert way("hips", "head")[1] > 0.95
        if "leftToes" in own.humanoid:
            assert way("leftFoot", "leftToes")[2] > 0.6
        height = world.positions[:, 1]
        assert -0.05 < height.min() < 0.2
        assert 0.8 < height.max() < 2.2

    def test_a_rest_pose_that_is_none(self, data, tmp_path):
        clip = poise.load(data / "bvh" / "rest" / "walk_line.bvh").clips[0]
        with pytest.raises(
            poise.UnsupportedError,
            match="no T pose can be found for this character: the rest pose shows no body directions",
        ):
            poise.save(clip, tmp_path / "line.vrma")

    def test_an_animal_a_robot_and_a_batch(self, data, tmp_path):
        for file in ("glb/fox.glb", "urdf"):
            rig = poise.load(data / file) if "." in file else poise.load(samples.path("arm.urdf"))
            with pytest.raises(poise.UnsupportedError, match="these roles have no joint: .*; a sidecar can name them"):
                poise.save(rig.rest, tmp_path / "none.vrma")
        walk = poise.load(samples.path("humanoid.glb")).clips[0]
        with pytest.raises(poise.UnsupportedError, match="has no times; save a Clip instead"):
            poise.save(walk.poses, tmp_path / "none.vrma")
        with pytest.raises(poise.UnsupportedError, match="without frames"):
            poise.save(poise.Clip(np.zeros(0), walk.poses[:0]), tmp_path / "none.vrma")
        assert list(tmp_path.iterdir()) == []

    def test_a_solved_limb_then_every_format(self, data, tmp_path):
        rig, _ = quietly(poise.load, data / "asf" / "02_01.amc")
        start = rig.clips[0].poses[0]
        result = poise.solve(
            start, poise.Position("rightHand", start.world["rwrist"].positions + np.array([-1.0, 2.0, 1.0]))
        )
        assert result.reached
        path = tmp_path / "reached.vrma"
        quietly(poise.save, result.pose, path)
        own = poise.load(path)
        hand = own.clips[0].poses[0].world[own.humanoid["rightHand"]].positions
        np.testing.assert_allclose(hand, result.pose.world["rwrist"].positions * 0.0254 / 0.45, atol=1e-5)
