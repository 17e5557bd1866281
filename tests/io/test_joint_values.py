"""Joint values as JSON and CSV."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import poise
from poise.errors import FileError, UnsupportedError
from poise.io.formats import bvh, urdf
from poise.io.formats import joint_values as value_format
from poise.io.registry import list_formats, save
from poise.maths import rotations
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Coupling, Kind, Skeleton
from tests.timeouts import no_hang

SKELETON = Skeleton.build(
    ["root", "hinge", "slide", "tool", "ball, left", "mimic"],
    [-1, 0, 1, 2, 3, 4],
    [Kind.FREE, Kind.HINGE, Kind.SLIDE, Kind.FIXED, Kind.BALL, Kind.HINGE],
    axes=np.tile([0, 0, 1.0], (6, 1)),
    couplings=[None] * 5 + [Coupling(1, -2.0, 0.5)],
)
TURN = rotations.normalise([1, 2, 3, 4.0])
POSE = Pose(SKELETON, np.array([1, 2, 3, *TURN, 0.1, 1 / 3, *rotations.inverse(TURN)]))


def written(thing, path):
    value_format.write(thing, path, thing.skeleton)
    return path.read_text()


def random_poses(shape, seed=3):
    q = np.random.default_rng(seed).normal(size=(*shape, SKELETON.nq))
    for start in (3, 9):
        q[..., start : start + 4] = rotations.normalise(q[..., start : start + 4])
    return Pose(SKELETON, q)


def test_the_suffixes_are_registered_for_writing_only(tmp_path):
    assert list_formats()[".json"] is value_format
    assert list_formats()[".csv"] is value_format
    assert not hasattr(value_format, "read")
    save(POSE, tmp_path / "pose.json")
    assert (tmp_path / "pose.json").is_file()


def test_json_of_one_pose(tmp_path):
    document = json.loads(written(POSE, tmp_path / "pose.json"))
    assert document == {
        "joints": {
            "root": [1, 2, 3, *TURN.tolist()], "hinge": 0.1, "slide": 1 / 3,
            "ball, left": rotations.inverse(TURN).tolist(), "mimic": 0.3,
        }
    }  # fmt: skip


def test_csv_of_one_pose(tmp_path):
    header, row = written(POSE, tmp_path / "pose.csv").splitlines()
    assert header == (
        "root.px,root.py,root.pz,root.w,root.x,root.y,root.z,hinge,slide,"
        '"ball, left.w","ball, left.x","ball, left.y","ball, left.z",mimic'
    )
    assert [float(word) for word in row.split(",")][7:9] == [0.1, 1 / 3]


@pytest.mark.parametrize("suffix", [".json", ".csv"])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (0,)])
def test_poses_come_back_bit_for_bit(tmp_path, suffix, shape):
    poses = random_poses(shape)
    path = tmp_path / f"poses{suffix}"
    written(poses, path)
    again = poise.load_values(str(path), SKELETON)
    assert again.shape == (() if shape == () and suffix == ".json" else (int(np.prod(shape)),))
    # normalising a unit quaternion may change its last digit
    np.testing.assert_allclose(again.q.reshape(poses.q.shape), poses.q, rtol=4e-16)


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_a_clip_has_times(tmp_path, suffix):
    clip = Clip(np.array([0.0, 0.25, 1.5]), random_poses((3,)))
    path = tmp_path / f"clip{suffix}"
    text = written(clip, path)
    if suffix == ".json":
        assert json.loads(text)["times"] == [0.0, 0.25, 1.5]
    else:
        assert [line.split(",")[0] for line in text.splitlines()] == ["time", "0.0", "0.25", "1.5"]
    np.testing.assert_allclose(poise.load_values(path, SKELETON).q, clip.poses.q, rtol=4e-16)


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_real_rigs(data, tmp_path, suffix):
    panda = urdf.read(data / "urdf" / "panda.urdf")
    text = written(panda, tmp_path / f"panda{suffix}")  # a rig without clips: its pose
    assert "panda_finger_joint2" in text
    assert "panda_joint8" not in text
    walk = bvh.read(data / "bvh" / "run_mass.bvh").clips[0]
    for thing in (panda.pose, walk):
        path = tmp_path / f"again{suffix}"
        written(thing, path)
        again = poise.load_values(path, thing.skeleton)
        expected = thing.poses.q if isinstance(thing, Clip) else thing.q
        np.testing.assert_allclose(again.q.reshape(expected.shape), expected, rtol=1e-15, atol=1e-16)


def test_the_order_of_columns_and_a_missing_mimic_do_not_matter(tmp_path):
    path = tmp_path / "pose.csv"
    lines = [
        line.split(",") for line in written(POSE, path).replace('"ball, left', "ball").replace('"', "").splitlines()
    ]
    skeleton = Skeleton.build(
        ["ball" if name == "ball, left" else name for name in SKELETON.names], SKELETON.parents, SKELETON.kinds,
        axes=SKELETON.axes, couplings=SKELETON.couplings,
    )  # fmt: skip
    path.write_text("\ufeff" + "\r\n".join(",".join(line[-2::-1]) for line in lines) + "\r\n\r\n")
    np.testing.assert_allclose(poise.load_values(path, skeleton).q, POSE.q[None], rtol=4e-16)


def test_quaternions_are_scaled_to_length_one(tmp_path):
    path = tmp_path / "pose.json"
    document = json.loads(written(POSE, path))
    document["joints"]["root"][3:] = (10 * TURN).tolist()
    path.write_text(json.dumps(document))
    np.testing.assert_allclose(poise.load_values(path, SKELETON).q, POSE.q, rtol=1e-15)


def test_what_joint_values_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "no.json"
    moved = np.tile(SKELETON.A[:, :3], (1, 1))
    assert written(Pose(SKELETON, POSE.q, translations=moved), path)
    moved[2] = 1.0
    with pytest.raises(UnsupportedError, match="these have one: slide"):
        value_format.write(Pose(SKELETON, POSE.q, translations=moved), path, SKELETON)
    with pytest.raises(UnsupportedError, match="these have one: root, hinge"):
        value_format.write(Pose(SKELETON, POSE.q, scales=np.full((6, 3), 2.0)), path, SKELETON)
    clip = Clip(np.zeros(1), POSE.with_q(POSE.q[None]), "walk")
    with pytest.raises(UnsupportedError, match=r"this rig has clips; .* clips: 'walk'"):
        value_format.write(Rig(SKELETON, POSE, (clip,)), path, SKELETON)
    odd = Skeleton.build(["a", "a.w", "time"], [-1, 0, 1], [Kind.BALL, Kind.HINGE, Kind.HINGE], axes=np.ones((3, 3)))
    with pytest.raises(UnsupportedError, match=r"the same name: a\.w; save to a \.json file"):
        value_format.write(Pose(odd, odd.rest_q), tmp_path / "no.csv", odd)


# --- bad files -------------------------------------------------------------------------------------

GOOD = {
    "root": [0, 0, 0, 1, 0, 0, 0],
    "hinge": 0.25,
    "slide": 0,
    "ball, left": [1, 0, 0, 0],
}


def changed(**joints):
    given = {name.replace("ball", "ball, left"): value for name, value in joints.items()}
    kept = {name: value for name, value in (GOOD | given).items() if value != "gone"}
    return json.dumps({"joints": kept})


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (changed(hinge="gone", slide="gone"), "joints: no value for: hinge, slide"),
        (changed(hnge=1), "joints: no joint value 'hnge'; did you mean 'hinge'"),
        (changed(tool=1), "no joint value 'tool'"),
        (changed(hinge=[1]), "joints: 'hinge': '\\[1\\]' is not a joint value"),
        (changed(hinge="1"), "'hinge': '1' is not a joint value"),
        (changed(hinge=True), "'hinge': 'True' is not a joint value"),
        (changed(hinge=10**400), "'hinge': '1000"),
        (changed(ball=[1, 0, 0]), "'ball, left': needs a list of 4 numbers"),
        (changed(ball=1), "'ball, left': needs a list of 4 numbers"),
        (changed(ball=[0, 0, 0, 0]), "'ball, left' has a quaternion of zero length"),
        (changed(mimic=0.1), "'mimic' follows 'hinge' and its value does not agree"),
        (changed().replace("0.25", "NaN"), "not a JSON file: NaN is not a number"),
        (changed().replace("0.25", "-Infinity"), "not a JSON file: -Infinity is not a number"),
        (changed().replace("0.25", "1e999"), "'hinge': 'inf' is not a joint value"),
        (changed().replace("0.25", "9" * 5000), "not a JSON file"),
        (changed().replace("0.25", "null"), "'hinge': 'None' is not a joint value"),
        (changed().replace('"slide"', '"hinge": 1, "slide"'), "the key 'hinge' occurs twice"),
        (changed()[:-3], "not a JSON file"),
        ("[" * 100_000, "not a JSON file"),
        ("[]", "joint values are"),
        ("{}", "joint values are"),
        ('{"poses": {}}', "joint values are"),
        ('{"joints": []}', "joints: must be an object"),
        ('{"poses": [1]}', r"poses\[0\]: must be an object"),
        (b"\xff\xfe{}", "is not UTF-8 text"),
        ("", "the file is empty"),
    ],
)
def test_bad_json(tmp_path, text, match):
    path = tmp_path / "bad.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=match):
        poise.load_values(path, SKELETON)


HEAD = "root.px,root.py,root.pz,root.w,root.x,root.y,root.z,hinge,slide,b.w,b.x,b.y,b.z".replace("b.", "ball.")
ROW = "0,0,0,1,0,0,0,0.25,0,1,0,0,0"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (HEAD.replace("hinge", "hnge"), "header: no joint value 'hnge'; did you mean 'hinge'"),
        (HEAD.replace(",hinge", ""), "header: no value for: hinge"),
        (HEAD + ",hinge", "header: two columns have the same name"),
        (HEAD + f"\n{ROW},1", "row 2: 14 values under 13 columns"),
        (HEAD + f"\n{ROW}\n{ROW[:-2]}", "row 3: 12 values under 13 columns"),
        (HEAD + "\n" + ROW.replace("0.25", "nan"), "row 2: 'nan' is not a number"),
        (HEAD + "\n" + ROW.replace("0.25", ""), "row 2: '' is not a number"),
        (HEAD + "\n" + ROW.replace("0.25", "1e999"), "row 2: '1e999' is too large"),
        (HEAD + "\n" + ROW.replace("1,0,0,0", "0,0,0,0"), "has a quaternion of zero length"),
        (HEAD + ",mimic\n" + ROW + ",0.0\n" + ROW + ",0.1", "row 3: 'mimic' follows 'hinge'"),
        ('"' + HEAD, "not a CSV file"),
        ("\n\n", "the header is missing"),
    ],
)
def test_bad_csv(tmp_path, text, match):
    path = tmp_path / "bad.csv"
    skeleton = Skeleton.build(
        ["ball" if name == "ball, left" else name for name in SKELETON.names], SKELETON.parents, SKELETON.kinds,
        axes=SKELETON.axes, couplings=SKELETON.couplings,
    )  # fmt: skip
    path.write_text(text)
    with pytest.raises(FileError, match=match):
        poise.load_values(path, skeleton)


@pytest.mark.long
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60), st.integers(0, 200), st.integers(0, 200), st.sampled_from([".json", ".csv"]))
def test_mutated_files_give_a_pose_or_a_file_error(tmp_path, junk, start, end, suffix):
    path = tmp_path / f"mutated{suffix}"
    text = written(POSE, path)
    path.write_text(text[:start] + junk + text[end:], encoding="utf-8", errors="ignore")
    try:
        pose = poise.load_values(path, SKELETON)
    except FileError as error:
        assert str(path) in str(error)  # noqa: PT017  (a pose would be right as well)
    else:
        assert np.isfinite(pose.q).all()


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_twenty_thousand_joints_are_no_hang(tmp_path, suffix):
    n = 20_000
    skeleton = Skeleton.build([f"joint {i}" for i in range(n)], range(-1, n - 1), [Kind.BALL] * n)
    pose = Pose(skeleton, skeleton.rest_q)
    with no_hang():
        value_format.write(pose, tmp_path / f"long{suffix}", skeleton)
    with no_hang():
        again = poise.load_values(tmp_path / f"long{suffix}", skeleton)
    np.testing.assert_array_equal(again.q.reshape(-1), pose.q)
