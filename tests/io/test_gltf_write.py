"""Writing glTF into the document that was read: only what changed, and everything reads back."""

from __future__ import annotations

import base64
import dataclasses
import pickle

import numpy as np
import pytest

from poise.errors import UnsupportedError
from poise.io.formats import gltf
from poise.maths import rotations
from poise.model.channels import Channel
from poise.model.clip import Clip, KeyedClip
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from tests.io.gltf_samples import (
    FILES,
    again,
    arm,
    arm_arrays,
    content,
    glb,
    saved,
    saved_arm,
    turn_between,
    turned,
    with_arrays,
)

LARGE = "fox_anims_m2m.glb", "knight_kaykit.glb", "mannequiny_gdquest.glb", "robot_quaternius.glb"  # of many clips
NAMES = [pytest.param(name, marks=pytest.mark.long if name in LARGE else ()) for name in FILES]

# --- unchanged ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".vrm"])
@pytest.mark.parametrize("name", NAMES)
def test_an_unchanged_rig_is_the_same_document(data, tmp_path, name, suffix):
    rig = gltf.read(data / "glb" / name)
    second = again(rig, tmp_path / f"a{suffix}", rig.skeleton)
    before, bytes_before = content(data / "glb" / name)
    after, bytes_after = content(tmp_path / f"a{suffix}")
    first = before["buffers"][0].pop("uri", None), after["buffers"][0].pop("uri", None)
    assert before == after
    assert (first[1] is None) == (suffix != ".gltf")
    length = before["buffers"][0]["byteLength"]
    assert bytes_after[:length] == bytes_before[:length]
    assert second.skeleton == rig.skeleton
    assert np.array_equal(second.pose.q, rig.pose.q)
    for a, b in zip(rig.clips, second.clips, strict=True):
        assert all(np.array_equal(x.values, y.values) for x, y in zip(a.tracks, b.tracks, strict=True))


def test_an_unchanged_glb_is_the_same_to_the_byte_in_its_bin(data, tmp_path):
    path = data / "glb" / "fox.glb"
    rig = gltf.read(path)
    gltf.write(rig, tmp_path / "a.glb", rig.skeleton)
    assert content(tmp_path / "a.glb")[1] == content(path)[1]


def test_unknown_chunks_and_odd_strings_stay(tmp_path):
    path = saved_arm(tmp_path / "a.glb", extras={"text": "ä\ud800 雪", "number": 1e-7, "big": 2**70})
    data = path.read_bytes() + b"\4\0\0\0ABCDwxyz"
    path.write_bytes(data[:8] + len(data).to_bytes(4, "little") + data[12:])
    rig = gltf.read(path)
    gltf.write(rig, tmp_path / "b.glb", rig.skeleton)
    assert (tmp_path / "b.glb").read_bytes().endswith(b"\4\0\0\0ABCDwxyz")
    assert content(tmp_path / "b.glb")[0] == content(path)[0]


# --- poses and limits --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_pose_reads_back_with_the_same_rest(data, tmp_path, name):
    rig = gltf.read(data / "glb" / name)
    pose = turned(rig.pose)
    for suffix in (".glb", ".gltf"):
        second = again(pose, tmp_path / f"a{suffix}", rig.skeleton)
        assert second.skeleton == rig.skeleton  # A, B and rest_q bit for bit
        assert np.abs(second.pose.q - pose.q).max() < 1e-12
        assert len(second.clips) == len(rig.clips)
    third = again(turned(second.pose, 1), tmp_path / "b.glb", second.skeleton)
    assert third.skeleton == rig.skeleton
    back = again(dataclasses.replace(third, pose=third.rest), tmp_path / "c.glb", third.skeleton)
    assert np.abs(back.pose.q - rig.skeleton.rest_q).max() < 1e-15


def test_a_pose_changes_only_the_nodes_that_differ(data, tmp_path):
    path = data / "glb" / "fox.glb"
    rig = gltf.read(path)
    joint = rig.skeleton.names[5]
    pose = rig.pose.replace({joint: [1, 2, 3, 4]})
    gltf.write(pose, tmp_path / "a.glb", rig.skeleton)
    (before, bytes_before), (after, bytes_after) = content(path), content(tmp_path / "a.glb")
    assert bytes_before == bytes_after
    node = rig.skeleton[joint].source_id
    old, new = before["nodes"][node], after["nodes"][node]
    assert [i for i, n in enumerate(after["nodes"]) if n != before["nodes"][i]] == [node]
    assert after | {"nodes": 0} == before | {"nodes": 0}
    assert {key for key in new if new[key] != old.get(key)} == {"rotation", "extras"}
    assert np.allclose(new["extras"]["poise"]["rest"]["rotation"], old["rotation"], atol=1e-7)


def test_translations_and_scales_of_a_pose(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    moved = np.array([[1.0, 2, 3], [0, 2, 0], [0, 1.5, 0]])
    grown = np.array([[1.0, 1, 1], [1, 1, 1], [2, 2, 2]])
    pose = Pose(rig.skeleton, rig.pose.q, moved, grown)
    second = again(pose, tmp_path / "b.glb", rig.skeleton)
    assert second.skeleton == rig.skeleton
    assert np.array_equal(second.pose.translations, moved)
    assert np.array_equal(second.pose.scales, grown)
    assert np.array_equal(second.pose.q, rig.pose.q)
    third = again(second, tmp_path / "c.gltf", second.skeleton)
    assert np.array_equal(third.pose.scales, grown)


def test_limits_read_back_bit_for_bit(data, tmp_path):
    rig = gltf.read(data / "glb" / "fox.glb")
    names = rig.skeleton.names
    axis = (0.1, -0.7, 0.3)
    limits = {names[4]: Range(0.1, 1 / 3, axis), names[6]: Range(-np.inf, 0.2, axis), names[7]: Range(-1, 1, axis)}
    limited = rig.with_skeleton(rig.skeleton.with_limits(limits))
    second = again(limited, tmp_path / "a.glb", limited.skeleton)
    assert second.skeleton == limited.skeleton
    assert {limit.source for limit in second.skeleton.limits if limit} == {"extras"}
    assert np.array_equal(second.pose.q, rig.pose.q)
    fewer = second.skeleton.with_limits({names[4]: None, names[7]: Range(-2, 2, axis)})
    third = again(Pose(fewer, fewer.rest_q), tmp_path / "b.glb", fewer)
    assert third.skeleton == fewer  # its rest is still where the first limit put it
    assert np.abs(third.pose.q - fewer.rest_q).max() < 1e-15
    none = third.skeleton.with_limits(dict.fromkeys(names))
    fourth = again(third.with_skeleton(none), tmp_path / "c.glb", none)
    assert fourth.skeleton == none


def test_turns_of_a_hinge_beyond_a_whole_one_are_kept_in_its_document(tmp_path):
    hinge = {"name": "wheel", "extras": {"poise": {"kind": "hinge", "axis": [0, 0, 1]}}}
    rig = gltf.read(saved(tmp_path / "a.gltf", {"asset": {"version": "2.0"}, "nodes": [hinge]}))
    for value in (9.0, 0.1):
        second = again(rig.pose.replace({"wheel": value}), tmp_path / "b.gltf", rig.skeleton)
        assert second.pose.q.tolist() == [value]
    unchanged = again(rig.pose, tmp_path / "b.gltf", rig.skeleton)
    assert unchanged.skeleton.source.container.json["nodes"] == [hinge]


def test_matrix_nodes_get_parts_when_posed_and_shear_is_refused(tmp_path):
    whole = np.eye(4)
    whole[:3, :3] = rotations.as_matrix(rotations.normalise([0.3, -0.2, 0.9, 0.1])) @ np.diag([-2.0, 3, 0.5])
    document = {"asset": {"version": "2.0"}, "nodes": [{"matrix": whole.T.ravel().tolist(), "children": [1]}, {}]}
    rig = gltf.read(saved(tmp_path / "a.gltf", document))
    second = again(rig, tmp_path / "b.gltf", rig.skeleton)
    assert "matrix" in second.skeleton.source.container.json["nodes"][0]
    pose = turned(rig.pose)
    second = again(pose, tmp_path / "b.gltf", rig.skeleton)
    assert second.skeleton == rig.skeleton
    assert np.abs(second.pose.world.matrices - pose.world.matrices).max() < 1e-14
    whole[0, 1] += 1
    document["nodes"][0]["matrix"] = whole.T.ravel().tolist()
    rig = gltf.read(saved(tmp_path / "a.gltf", document))
    with pytest.raises(UnsupportedError, match="shear"):
        gltf.write(turned(rig.pose), tmp_path / "c.gltf", rig.skeleton)
    assert not (tmp_path / "c.gltf").exists()


def test_extras_of_others_stay_and_odd_ones_are_refused_only_where_needed(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    document["nodes"][0]["extras"] = {"mine": [1], "poise": "broken"}
    document["nodes"][1]["extras"] = "text"
    rig = gltf.read(saved(tmp_path / "a.glb", document, data))
    second = again(rig.pose.replace({"shoulder": [1, 1, 0, 0]}), tmp_path / "b.glb", rig.skeleton)
    assert second.skeleton == rig.skeleton
    assert content(tmp_path / "b.glb")[0]["nodes"][0]["extras"]["mine"] == [1]
    assert content(tmp_path / "b.glb")[0]["nodes"][1]["extras"] == "text"
    with pytest.raises(UnsupportedError, match="not an object"):
        gltf.write(rig.pose.replace({"elbow": [1, 1, 0, 0]}), tmp_path / "c.glb", rig.skeleton)


def test_a_batch_is_refused(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    for like in (rig.skeleton, dataclasses.replace(rig.skeleton, source=None)):
        with pytest.raises(UnsupportedError, match="save a Clip"):
            gltf.write(Pose(rig.skeleton, np.tile(rig.pose.q, (2, 1))), tmp_path / "b.glb", like)


def test_like_keeps_another_document(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    lost = pickle.loads(pickle.dumps(turned(rig.pose)))  # noqa: S301
    assert lost.skeleton.source is None
    second = again(lost, tmp_path / "b.glb", rig.skeleton)
    assert len(second.clips) == 1
    assert np.abs(second.pose.q - lost.q).max() < 1e-12
    other = Skeleton.build(["knee"], [-1], [Kind.BALL])
    with pytest.raises(UnsupportedError, match="no joints knee"):
        gltf.write(Pose(other, other.rest_q), tmp_path / "c.glb", rig.skeleton)


# --- clips -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [each for each in NAMES if "hand_left" not in each.values[0]])
def test_clips_read_back(data, tmp_path, name):
    path = data / "glb" / name
    rig = gltf.read(path)
    s = rig.skeleton
    poses = Pose(s, np.stack([turned(rig.pose, seed).q for seed in range(5)]))
    for clip in [*rig.clips[:2], Clip(np.array([0, 0.25, 0.5, 1, 2]), poses, "new"), *_sampled(rig)]:
        second = again(clip, tmp_path / "a.glb", s)
        assert len(second.clips) == len(rig.clips) + 1
        found = second.clips[-1]
        assert np.allclose(found.times, clip.times, atol=1e-6)
        assert turn_between(found.poses, clip.poses) < 1e-6
        size = max(1.0, np.abs(clip.poses.local_positions).max())
        assert np.abs(found.poses.local_positions - clip.poses.local_positions).max() < 1e-6 * size
        before, old = content(path)
        after, new = content(tmp_path / "a.glb")
        length = before["buffers"][0]["byteLength"]
        assert new[:length] == old[:length]
        assert after["animations"][:-1] == before.get("animations", [])
        assert len({animation.get("name") for animation in after["animations"][-2:]}) == len(after["animations"][-2:])


def _sampled(rig) -> list[Clip]:
    return [Clip(clip.times, clip.poses, "sampled") for clip in rig.clips[:1]]


def test_a_keyed_clip_keeps_its_steps_and_splines(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    second = again(rig.clips[0], tmp_path / "b.glb", rig.skeleton)
    assert [clip.name for clip in second.clips] == ["wave", "wave_1"]
    for a, b in zip(*(clip.tracks for clip in second.clips), strict=True):
        assert (a.joint, a.path, a.interpolation) == (b.joint, b.path, b.interpolation)
        assert np.array_equal(a.times, b.times)
        assert np.abs(a.values - b.values).max() < 1e-7


def test_a_spline_of_one_key_becomes_a_key(tmp_path):
    """A spline of glTF has two keys or more; of two keys at one time in 32 bits one is left."""
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    values = np.arange(18.0).reshape(2, 3, 3)
    for times in (np.array([1.0]), np.array([1000.0, 1000.0 + 1e-6])):
        track = Channel(1, "translation", "CUBICSPLINE", times, values[: len(times)])
        second = again(KeyedClip(rig.skeleton, (track,)), tmp_path / "b.glb", rig.skeleton).clips[1]
        assert second.tracks[0].interpolation == "LINEAR"
        assert second.tracks[0].values.tolist() == values[len(times) - 1 : len(times), 1].tolist()


@pytest.mark.parametrize("kept", [False, True])
def test_components_of_quaternions_stay_within_one(tmp_path, kept):
    """The product of a rotation and its inverse has 1.0000000000000002, which the specification forbids."""
    turns = rotations.normalise(np.random.default_rng(3).normal(size=(40, 4)))
    names = [f"joint_{i}" for i in range(40)]
    skeleton = Skeleton.build(names, [-1, *range(39)], [Kind.BALL] * 40, rotations=turns)
    pose = Pose(skeleton, rotations.inverse(turns).reshape(160))
    assert pose.local_rotations.max() > 1.0
    path = tmp_path / "a.gltf"
    if kept:
        gltf.write(Pose(skeleton, skeleton.rest_q), path, skeleton)
        skeleton = gltf.read(path).skeleton
        pose = pose.on(skeleton)
    gltf.write(pose, path, skeleton)
    nodes = content(path)[0]["nodes"]
    message = [node.get("rotation", [0.0, 0.0, 0.0, 1.0]) for node in nodes]
    message += [node["extras"]["poise"]["rest"]["rotation"] for node in nodes]
    assert np.abs(message).max() == 1.0


def test_times_in_32_bits_stay_distinct_and_have_bounds(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    times = np.array([1000.0, 1000.0 + 1e-6, 1001.1])
    poses = Pose(rig.skeleton, np.stack([turned(rig.pose, seed).q for seed in range(3)]))
    second = again(Clip(times, poses), tmp_path / "b.glb", rig.skeleton)
    assert second.clips[1].times.tolist() == [1000.0, float(np.float32(1001.1))]
    document = content(tmp_path / "b.glb")[0]
    accessor = document["accessors"][document["animations"][1]["samplers"][0]["input"]]
    assert (accessor["min"], accessor["max"]) == ([1000.0], [float(np.float32(1001.1))])


def test_a_still_clip_keeps_its_duration(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    clip = Clip(np.array([0, 3.0]), Pose(rig.skeleton, np.tile(rig.pose.q, (2, 1))))
    assert again(clip, tmp_path / "b.glb", rig.skeleton).clips[1].duration == 3.0


def test_clips_that_gltf_cannot_hold_are_refused(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    s, q = rig.skeleton, rig.pose.q[None]
    huge = np.tile([1e39, 0, 0], (1, 3, 1))
    for clip, reason in (
        (Clip(np.array([-1.0]), Pose(s, q)), "start at 0"),
        (Clip(np.zeros(0), Pose(s, q[:0])), "no frames"),
        (KeyedClip(s, ()), "no frames"),
        (Clip(np.array([0.0]), Pose(s, q, huge)), "too large"),
    ):
        with pytest.raises(UnsupportedError, match=reason):
            gltf.write(clip, tmp_path / "b.glb", s)
    assert not (tmp_path / "b.glb").exists()


def test_a_rig_can_drop_rename_and_add_clips(data, tmp_path):
    rig = gltf.read(data / "glb" / "fox.glb")
    survey, walk, _ = rig.clips
    new = KeyedClip(rig.skeleton, (Channel(3, "rotation", "STEP", np.zeros(1), np.array([[1.0, 0, 0, 0]])),), "new")
    changed = dataclasses.replace(rig, clips=(walk, KeyedClip(rig.skeleton, survey.tracks, "Look"), new))
    second = again(changed, tmp_path / "a.glb", rig.skeleton)
    assert [clip.name for clip in second.clips] == ["Look", "Walk", "new"]
    assert [len(clip.tracks) for clip in second.clips] == [len(survey.tracks), len(walk.tracks), 1]
    none = again(dataclasses.replace(second, clips=()), tmp_path / "b.glb", second.skeleton)
    assert none.clips == ()
    assert "animations" not in content(tmp_path / "b.glb")[0]


@pytest.mark.parametrize("uri", [None, "data:application/octet-stream;base64,"])
@pytest.mark.parametrize("suffix", ["glb", "gltf"])
def test_a_first_buffer_that_is_not_the_bin(tmp_path, uri, suffix):
    """A GLB may have a BIN beside a first buffer that is a data URI, or says null: new bytes go where they fit."""
    document, data = with_arrays(arm(), arm_arrays())
    text = uri and uri + base64.b64encode(data).decode()
    document["buffers"] = [{"byteLength": len(data), "uri": text}]
    path = tmp_path / "a.glb"
    path.write_bytes(glb(document, b"other bytes." if text else data))
    rig = gltf.read(path)
    wave = Clip(np.array([0.0, 1.0]), rig.clips[0].at(np.array([0.5, 1.0])), "new")
    there = again(wave, tmp_path / f"b.{suffix}", rig.skeleton)
    assert [clip.name for clip in there.clips] == ["wave", "new"]
    np.testing.assert_allclose(there.clips[1].poses.world.positions, wave.poses.world.positions, atol=1e-6)
    np.testing.assert_array_equal(there.clips[0].poses.q, rig.clips[0].poses.q)


def test_nothing_is_written_that_is_not_read_again(tmp_path, monkeypatch):
    """Whatever a writer makes is read before it gets its name: here one that forgets the bytes."""
    rig, path = gltf.read(saved_arm(tmp_path / "a.glb")), tmp_path / "b.glb"
    path.write_bytes(b"before")
    monkeypatch.setattr(gltf, "encode_gltf", lambda *_: glb(with_arrays(arm(), arm_arrays())[0], b""))
    with pytest.raises(UnsupportedError, match=r"b\.glb was not written, as it could not be read again: buffers\[0\]"):
        gltf.write(rig, path, rig.skeleton)
    assert path.read_bytes() == b"before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.glb", "b.glb"]
