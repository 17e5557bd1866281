"""Writing glTF: only what changed, and everything reads back."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest

from poise import __version__, rotations
from poise.clip import Clip, KeyedClip, Track
from poise.errors import FileError, UnsupportedError
from poise.io import bvh, gltf, urdf
from poise.limits import Range
from poise.pose import Pose
from poise.skeleton import Coupling, Kind, Skeleton
from tests.io.gltf_samples import FILES, arm, arm_arrays, content, saved, saved_arm, with_arrays


def turned(pose: Pose, seed: int = 0) -> Pose:
    """Every ball joint turned at random."""
    s, q = pose.skeleton, pose.q.copy()
    rows = np.flatnonzero(s.kinds == Kind.BALL)
    turns = rotations.normalised(np.random.default_rng(seed).normal(size=(len(rows), 4)))
    q[s.q_start[rows][:, None] + np.arange(4)] = turns
    return pose.with_q(q)


def turn_between(a: Pose, b: Pose) -> float:
    """Largest difference of two poses' local rotations, q and -q being the same."""
    p, q = a.local_rotations, b.local_rotations
    return np.abs(p * np.sign((p * q).sum(axis=-1, keepdims=True)) - q).max()


def again(thing, path, skeleton):
    gltf.write(thing, path, skeleton)
    return gltf.read(path)


# --- unchanged ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".vrm"])
@pytest.mark.parametrize("name", FILES)
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


@pytest.mark.parametrize("name", FILES)
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
    limited = rig.with_skeleton(rig.skeleton.limited(limits))
    second = again(limited, tmp_path / "a.glb", limited.skeleton)
    assert second.skeleton == limited.skeleton
    assert {limit.source for limit in second.skeleton.limits if limit} == {"extras"}
    assert np.array_equal(second.pose.q, rig.pose.q)
    fewer = second.skeleton.limited({names[4]: None, names[7]: Range(-2, 2, axis)})
    third = again(Pose(fewer, fewer.rest_q), tmp_path / "b.glb", fewer)
    assert third.skeleton == fewer  # its rest is still where the first limit put it
    assert np.abs(third.pose.q - fewer.rest_q).max() < 1e-15
    none = third.skeleton.limited(dict.fromkeys(names))
    fourth = again(third.with_skeleton(none), tmp_path / "c.glb", none)
    assert fourth.skeleton == none


def test_matrix_nodes_get_parts_when_posed_and_shear_is_refused(tmp_path):
    whole = np.eye(4)
    whole[:3, :3] = rotations.as_matrix(rotations.normalised([0.3, -0.2, 0.9, 0.1])) @ np.diag([-2.0, 3, 0.5])
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


@pytest.mark.parametrize("name", [name for name in FILES if "hand_left" not in name])
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
    new = KeyedClip(rig.skeleton, (Track(3, "rotation", "STEP", np.zeros(1), np.array([[1.0, 0, 0, 0]])),), "new")
    changed = dataclasses.replace(rig, clips=(walk, KeyedClip(rig.skeleton, survey.tracks, "Look"), new))
    second = again(changed, tmp_path / "a.glb", rig.skeleton)
    assert [clip.name for clip in second.clips] == ["Look", "Walk", "new"]
    assert [len(clip.tracks) for clip in second.clips] == [len(survey.tracks), len(walk.tracks), 1]
    none = again(dataclasses.replace(second, clips=()), tmp_path / "b.glb", second.skeleton)
    assert none.clips == ()
    assert "animations" not in content(tmp_path / "b.glb")[0]


# --- files around the document -----------------------------------------------------------------------


def test_saving_elsewhere_takes_external_files_along(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    document["buffers"][0]["uri"] = "arm.bin"
    document["images"] = [{"uri": "skin.png"}, {"uri": "../secret.png"}, {"uri": "missing.png"}]
    (tmp_path / "arm.bin").write_bytes(data + b"rest of a longer file")
    (tmp_path / "skin.png").write_bytes(b"png")
    rig = gltf.read(saved(tmp_path / "a.gltf", document))
    gltf.write(rig, tmp_path / "same.gltf", rig.skeleton)
    assert json.loads((tmp_path / "same.gltf").read_text()) == document
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "secret.png").write_bytes(b"secret")
    for name in ("b.gltf", "b.glb"):
        second = again(turned(rig.pose), other / name, rig.skeleton)
        assert second.skeleton == rig.skeleton
        images = [image["uri"] for image in second.skeleton.source.container.json["images"]]
        assert images == ["data:image/png;base64,cG5n", "../secret.png", "missing.png"]
    (tmp_path / "arm.bin").unlink()
    with pytest.raises(FileError, match=r"arm\.bin"):
        gltf.write(rig, other / "c.gltf", rig.skeleton)


def test_new_keys_of_a_gltf_file_get_a_buffer_of_their_own(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    document["buffers"][0]["uri"] = "arm.bin"
    (tmp_path / "arm.bin").write_bytes(data)
    rig = gltf.read(saved(tmp_path / "a.gltf", document))
    second = again(rig.clips[0], tmp_path / "b.gltf", rig.skeleton)
    buffers = second.skeleton.source.container.json["buffers"]
    assert buffers[0] == document["buffers"][0]
    assert len(buffers) == 2
    assert len(second.clips) == 2


def test_a_glb_without_buffers_gets_a_bin(tmp_path):
    rig = gltf.read(saved(tmp_path / "a.glb", {"asset": {"version": "2.0"}, "nodes": [{}]}))
    clip = Clip(np.array([0.0]), Pose(rig.skeleton, np.array([[0.0, 1, 0, 0]])), "a")
    second = again(clip, tmp_path / "b.glb", rig.skeleton)
    assert second.clips[0].at(0.0).q.tolist() == [0, 1, 0, 0]


def test_infinite_numbers_elsewhere_cannot_be_saved(tmp_path):
    (tmp_path / "a.gltf").write_text('{"asset": {"version": "2.0"}, "extras": 1e999}')
    rig = gltf.read(tmp_path / "a.gltf")
    with pytest.raises(UnsupportedError, match="too large"):
        gltf.write(rig, tmp_path / "b.gltf", rig.skeleton)


# --- bare skeletons ----------------------------------------------------------------------------------


BVH = ("bvhio_example", "jesse_dance_rokoko", "jumping_jacks_cmu1", "mocapbank", "walk_makehuman_zup", "walk_mass")


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("name", BVH)
@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_bvh_to_gltf(data, tmp_path, name, suffix):
    rig = bvh.read(data / "bvh" / f"{name}.bvh")
    second = again(rig, tmp_path / f"a{suffix}", rig.skeleton)
    _assert_same_joints(rig.skeleton, second.skeleton)
    assert np.array_equal(second.pose.q, rig.pose.q)
    for a, b in zip(rig.clips, second.clips, strict=True):
        assert np.allclose(a.times, b.times, atol=1e-5)
        assert turn_between(a.poses, b.poses) < 1e-6
        size = np.abs(a.poses.world.positions).max()
        assert np.abs(a.poses.local_positions - b.poses.local_positions).max() < 1e-6 * size


def _assert_same_joints(a: Skeleton, b: Skeleton) -> None:
    for key in ("names", "limits", "couplings", "euler"):
        assert getattr(a, key) == getattr(b, key)
    for key in ("parents", "kinds", "axes", "A", "B", "rest_q"):
        assert np.array_equal(getattr(a, key), getattr(b, key)), key


def _limited_robot() -> Skeleton:
    return Skeleton.build(
        ["base", "turn", "slide", "follow", "ball"],
        [-1, 0, 1, 2, 3],
        [Kind.FREE, Kind.HINGE, Kind.SLIDE, Kind.HINGE, Kind.BALL],
        offsets=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 2]],
        rotations=rotations.normalised([[1, 0, 0, 0], [1, 2, 3, 4], [4, 3, 2, 1], [1, -1, 1, 1], [0, 1, 0, 0.1]]),
        axes=[[0, 0, 0], [1, 2, 3], [0, 1, 1], [0, 0, 1], [0, 0, 0]],
        scales=[[1, 1, 1], [1, 1, 1], [2, 2, 2], [1, 1, 1], [-1, 1, 1]],
        limits=[None, Range(0.5, 9), Range(-1, np.inf), Range(-20, 0), Range(-1, 1, (0.6, 0, 0.8))],
        couplings=[None, None, None, Coupling(1, -2.0, 0.5), None],
    )


def _robot_poses(s: Skeleton, count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    q = np.cumsum(rng.normal(size=(count, s.nq)) * 0.3, axis=0) + s.rest_q
    q[:, 3:7] = rotations.normalised(q[:, 3:7])
    q[:, -4:] = rotations.about(np.array([0.6, 0, 0.8]), rng.uniform(-1, 1, count))
    return s.legal(q)[0]


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_robots_read_back_with_hinges_slides_and_couplings(tmp_path, suffix):
    s = _limited_robot()
    q = _robot_poses(s, 40)
    pose = Pose(s, q[-1])
    second = again(pose, tmp_path / f"a{suffix}", s)
    _assert_same_joints(s, second.skeleton)
    assert np.abs(second.pose.q - pose.q).max() < 1e-12
    assert np.abs(second.pose.world.matrices - pose.world.matrices).max() < 1e-12
    third = again(Pose(second.skeleton, q[0]), tmp_path / f"b{suffix}", second.skeleton)
    assert third.skeleton == second.skeleton
    assert np.abs(third.pose.q - q[0]).max() < 1e-12
    clip = Clip.at_rate(Pose(s, q), 30, "move")
    for like in (s, second.skeleton):
        found = again(clip, tmp_path / f"c{suffix}", like).clips[0]
        assert np.abs(found.poses.q - q).max() < 1e-5
        assert np.abs(found.poses.world.positions - clip.poses.world.positions).max() < 1e-5


def test_urdf_to_gltf(data, tmp_path):
    rig = urdf.read(data / "urdf" / "panda.urdf")
    pose = Pose(rig.skeleton, rig.skeleton.legal(np.linspace(-2, 2, rig.skeleton.nq))[0])
    second = again(pose, tmp_path / "a.glb", rig.skeleton)
    _assert_same_joints(rig.skeleton, second.skeleton)
    assert np.abs(second.pose.world.matrices - pose.world.matrices).max() < 1e-12


def test_bare_corners(tmp_path):
    one = Skeleton.build(["a"], [-1], [Kind.BALL])
    gltf.write(Pose(one, one.rest_q), tmp_path / "a.glb", one)
    assert content(tmp_path / "a.glb")[0]["asset"] == {"version": "2.0", "generator": f"poise {__version__}"}
    empty = Skeleton.build([], [], [])
    assert len(again(Pose(empty, np.zeros(0)), tmp_path / "a.glb", empty).skeleton) == 0
    two = Skeleton.build(["a", "b"], [-1, -1], [Kind.BALL, Kind.FIXED], scales=[[0, 1, 1], [1, 1, 1]])
    _assert_same_joints(two, again(turned(Pose(two, two.rest_q)), tmp_path / "a.glb", two).skeleton)
    assert "skins" not in content(tmp_path / "a.glb")[0]
    flat = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.BALL], scales=[[0, 1, 1], [1, 1, 1]])
    assert (
        "inverseBindMatrices"
        not in again(Pose(flat, flat.rest_q), tmp_path / "a.glb", flat).skeleton.source.container.json["skins"][0]
    )
    sheared = dataclasses.replace(two, B=np.tile(np.eye(3, 4) + 0.1, (2, 1, 1)))
    with pytest.raises(UnsupportedError, match="more than a scale"):
        gltf.write(Pose(sheared, sheared.rest_q), tmp_path / "b.glb", sheared)
