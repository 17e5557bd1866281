"""Reading glTF: real files against independent forward kinematics, and what the format allows."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from poise.errors import FileError
from poise.io.formats import gltf
from poise.maths import rotations
from poise.model.clip import KeyedClip
from poise.model.limits import Range
from poise.model.skeleton import Coupling, Kind
from tests.io.gltf_samples import FILES, HALF, arm, arm_arrays, saved, saved_arm, with_arrays
from tests.timeouts import assert_linear, no_hang


def rows_of(rig, nodes) -> list[int]:
    row = {node: i for i, node in enumerate(rig.skeleton.source_ids)}
    return [row[int(node)] for node in nodes]


@pytest.mark.parametrize("name", FILES)
def test_forward_kinematics_agrees_with_independent_code(data, name):
    golden = np.load(data / "golden" / "fk_gltf.npz")
    rig = gltf.read(data / "glb" / name)
    rows = rows_of(rig, golden[f"{name}|joints"])
    rest = golden[f"{name}|rest"]
    size = max(np.ptp(rest[:, :3, 3], axis=0).max(), 1e-3)
    scale = np.maximum(1.0, np.array([1, 1, 1, size])) * 1e-6  # rotation and scale columns, then the place
    for pose in (rig.rest, rig.pose):
        assert (np.abs(pose.world.matrices[rows] - rest) <= scale).all()
    for k in range(2):
        if f"{name}|clip{k}|t" in golden.files:
            world = rig.clips[k].at(golden[f"{name}|clip{k}|t"]).world.matrices[:, rows]
            assert (np.abs(world - golden[f"{name}|clip{k}|world"]) <= scale).all()


@pytest.mark.parametrize("name", FILES)
def test_every_node_is_a_joint_and_skin_joints_are_balls(data, name):
    rig = gltf.read(data / "glb" / name)
    assert sorted(rig.skeleton.source_ids) == list(range(len(rig.skeleton)))
    for skin in rig.skins:
        assert all(rig.skeleton[joint].kind == Kind.BALL for joint in skin.joints)
        assert skin.bind.shape == (len(skin.joints), 4, 4)
        assert not skin.bind.flags.writeable
    for clip in rig.clips:
        assert isinstance(clip, KeyedClip)
        turned = {track.joint for track in clip.tracks if track.path == "rotation"}
        assert all(rig.skeleton.kinds[row] == Kind.BALL for row in turned)


@pytest.mark.parametrize("name", ["hand_left_webxr.glb", "human_female_m2m.glb", "knight_kaykit.glb"])
def test_bind_of_a_file_bound_at_rest_is_its_rest(data, name):
    rig = gltf.read(data / "glb" / name)
    for skin in rig.skins:
        rows = [rig.skeleton.index(joint) for joint in skin.joints]
        assert np.allclose(skin.bind, rig.rest.world.matrices[rows], atol=2e-5)


def test_humanoid_maps(data, tmp_path):
    rig = gltf.read(data / "glb" / "cryptovoxels.vrm")
    assert len(rig.humanoid) == 43
    assert rig.humanoid["hips"] in rig.skeleton
    vrm1 = {"VRMC_vrm": {"humanoid": {"humanBones": {"hips": {"node": 0}, "head": {"node": -1}, "neck": 3}}}}
    rig = gltf.read(saved_arm(tmp_path / "a.vrm", extensions=vrm1))
    assert rig.humanoid == {"hips": "shoulder"}
    assert "VRM human bones" in rig.notes[0]


def test_76_clips(data):
    assert len(gltf.read(data / "glb" / "knight_kaykit.glb").clips) == 76


def test_the_work_grows_with_the_clips_and_not_faster(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())

    def read(clips):
        path = saved(tmp_path / "a.glb", document | {"animations": document["animations"] * clips}, data)
        assert len(gltf.read(path).clips) == clips

    assert_linear(read, 50)


def test_reading_does_not_import_numba(data):
    code = (
        "import sys, pathlib; from poise.io.formats import gltf; "
        f"gltf.read(pathlib.Path({str(data / 'glb' / 'fox.glb')!r})); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_arm(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    s = rig.skeleton
    assert s.names == ("shoulder", "elbow", "hand")
    assert s.parents.tolist() == [-1, 0, 1]
    assert (s.metres_per_unit, s.up) == (1.0, "y")
    assert np.allclose(s.A[0], [0, 1, 0, HALF, 0, 0, HALF])
    assert s.B[2, :, :3].tolist() == np.diag([1.0, 2, 3]).tolist()
    assert np.array_equal(rig.pose.q, s.rest_q)
    assert rig.pose.translations is None
    clip = rig.clips[0]
    assert clip.duration == 1.5
    assert np.allclose(clip.at(0.0).q, s.rest_q)  # the first values hold before the first key
    step = clip.at(1.4).translations
    assert step is not None
    assert step[0].tolist() == [0, 1, 0]
    assert clip.at(1.5).translations[0].tolist() == [3, 1, 0]
    turn = clip.at(1.0).q[s.q_slice("elbow")]
    assert np.allclose(turn, [np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0])


def test_keys_of_a_clip_cannot_be_written_to(tmp_path):
    for track in gltf.read(saved_arm(tmp_path / "a.glb")).clips[0].tracks:
        for keys in (track.times, track.values):
            with pytest.raises(ValueError, match="read-only"):
                keys[0] = 9.0


def test_spline_follows_the_formula(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    s, span = 0.25, 1.0
    p0, m0, p1, m1 = [0, 0, 0, 1], [0, 0, 0.1, 0], [0, 0, HALF, HALF], [0, 0, 0.3, 0]
    expected = (
        (2 * s**3 - 3 * s**2 + 1) * np.array(p0)
        + span * (s**3 - 2 * s**2 + s) * np.array(m0)
        + (-2 * s**3 + 3 * s**2) * np.array(p1)
        + span * (s**3 - s**2) * np.array(m1)
    )
    expected /= np.linalg.norm(expected)
    found = rig.clips[0].at(0.75).q[rig.skeleton.q_slice("hand")]
    assert np.allclose(found, expected[[3, 0, 1, 2]], atol=1e-7)


def test_nodes_in_any_order_names_and_kinds(tmp_path):
    nodes = [{"name": "a"}, {"children": [0, 2]}, {"name": "a", "mesh": 0}, {"name": "cam", "camera": 0}]
    rig = gltf.read(saved(tmp_path / "a.gltf", {"asset": {"version": "2.1"}, "nodes": nodes}))
    s = rig.skeleton
    assert s.names == ("node_1", "a", "a_1", "cam")
    assert s.source_ids == (1, 0, 2, 3)
    assert s.parents.tolist() == [-1, 0, 0, -1]
    assert s.kinds.tolist() == [Kind.BALL, Kind.BALL, Kind.FIXED, Kind.FIXED]
    assert rig.notes == ("nodes shared a name and were renamed: a_1",)


def test_kinds_with_a_skin(tmp_path):
    nodes = [{"children": [1]}, {"children": [2, 3]}, {"mesh": 0, "children": [4]}, {}, {}, {}]
    document = {"asset": {"version": "2.0"}, "nodes": nodes, "skins": [{"joints": [1]}]}
    kinds = gltf.read(saved(tmp_path / "a.gltf", document)).skeleton.kinds
    assert [Kind(k).name for k in kinds.tolist()] == ["FIXED", "BALL", "FIXED", "BALL", "BALL", "FIXED"]


def test_matrices(tmp_path):
    turn = rotations.as_matrix(rotations.normalise([0.3, -0.2, 0.9, 0.1]))
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = turn @ np.diag([-2.0, 3, 0.5]), [4, 5, 6]
    shear = np.eye(4)
    shear[0, 1] = 0.5
    nodes = [{"matrix": whole.T.ravel().tolist(), "children": [1]}, {"matrix": shear.T.ravel().tolist()}]
    rig = gltf.read(saved(tmp_path / "a.gltf", {"asset": {"version": "2.0"}, "nodes": nodes}))
    assert np.allclose(rig.rest.world.matrices, [whole, whole @ shear], atol=1e-14)
    assert np.sign(np.diagonal(rig.skeleton.B[0, :, :3])).tolist() == [-1, 1, 1]
    assert rig.skeleton.B[1, 0, 1] == 0.5


def test_normalised_integers_strides_and_sparse_values(tmp_path):
    document, _ = with_arrays(arm(), arm_arrays())
    del document["skins"][0]["inverseBindMatrices"]
    document["animations"][0]["channels"] = document["animations"][0]["channels"][:1]
    times = np.array([0.5, 9, 1.5, 9], "<f4").tobytes()  # every other number: a stride of 8
    turns = np.array([[0, 0, 0, 32767], [0, 0, 0, 0]], "<i2").tobytes()
    replaced = np.array([1], "<u2").tobytes() + b"\0\0" + np.array([0, -32768, 0, 0], "<i2").tobytes()
    document["bufferViews"] = [
        {"buffer": 0, "byteLength": 16, "byteStride": 8},
        {"buffer": 0, "byteOffset": 16, "byteLength": 16},
        {"buffer": 0, "byteOffset": 32, "byteLength": 12},
    ]
    sparse = {
        "count": 1,
        "indices": {"bufferView": 2, "componentType": 5123},
        "values": {"bufferView": 2, "byteOffset": 4},
    }
    number = {"componentType": 5126, "count": 2, "type": "SCALAR", "bufferView": 0}
    turned = {"componentType": 5122, "count": 2, "type": "VEC4", "bufferView": 1, "normalized": True, "sparse": sparse}
    document["accessors"] = [number, number, turned]
    data = times + turns + replaced
    document["buffers"] = [{"byteLength": len(data)}]
    track = gltf.read(saved(tmp_path / "a.glb", document, data)).clips[0].tracks[0]
    assert track.times.tolist() == [0.5, 1.5]
    assert track.values.tolist() == [[1, 0, 0, 0], [0, 0, -1, 0]]


def one_track(tmp_path, data, turned):
    """The values of a track of two turns whose accessor is `turned`; its bytes begin eight bytes into the data."""
    document, _ = with_arrays(arm(), arm_arrays())
    del document["skins"][0]["inverseBindMatrices"]
    document["animations"][0]["channels"] = document["animations"][0]["channels"][:1]
    data = np.array([0.5, 1.5], "<f4").tobytes() + data
    document["bufferViews"] = [
        {"buffer": 0, "byteLength": 8},
        {"buffer": 0, "byteOffset": 8, "byteLength": len(data) - 8},
    ]
    times = {"componentType": 5126, "count": 2, "type": "SCALAR", "bufferView": 0}
    document["accessors"] = [times, times, {"count": 2, "type": "VEC4"} | turned]
    document["buffers"] = [{"byteLength": len(data)}]
    return gltf.read(saved(tmp_path / "a.glb", document, data)).clips[0].tracks[0].values.tolist()


def test_signed_bytes_are_turns(tmp_path):
    turns = np.array([[0, 0, 0, 127], [0, -128, 0, 0]], "i1").tobytes()
    values = one_track(tmp_path, turns, {"componentType": 5120, "normalized": True, "bufferView": 1})
    assert values == [[1, 0, 0, 0], [0, 0, -1, 0]]


def test_several_sparse_values_stand_in_rising_order(tmp_path):
    turns = np.array([[0, 0, 0, 1], [1, 0, 0, 0]], "<f4").tobytes()

    def read(*rows):
        indices = {"bufferView": 1, "byteOffset": 32, "componentType": 5121}
        sparse = {"count": 2, "indices": indices, "values": {"bufferView": 1}}
        return one_track(tmp_path, turns + bytes([*rows, 0, 0]), {"componentType": 5126, "sparse": sparse})

    assert read(0, 1) == [[1, 0, 0, 0], [0, 1, 0, 0]]
    for rows in ((1, 0), (1, 1)):
        with pytest.raises(FileError, match=r"accessors\[2\]\.sparse\.indices: must increase"):
            read(*rows)


def test_accessor_without_bytes_is_zeros_and_empty_sparse_is_allowed(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    document["accessors"][3] = {"componentType": 5126, "count": 2, "type": "VEC3"}
    rig = gltf.read(saved(tmp_path / "a.glb", document, data))
    assert rig.clips[0].tracks[1].values.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_external_buffer_in_a_sub_folder_with_escapes(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    (tmp_path / "my files").mkdir()
    (tmp_path / "my files" / "ä#.bin").write_bytes(data)
    document["buffers"][0]["uri"] = "./my%20files/../my%20files/%C3%A4%23.bin"
    assert len(gltf.read(saved(tmp_path / "a.gltf", document)).clips) == 1


def test_extras_hold_rest_limit_kind_and_order(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    rest = {"translation": [0, 7, 0], "rotation": [0, HALF, 0, HALF]}
    limit = {"range": [-1, None], "axis": [0, 0, 2]}
    document["nodes"][1]["extras"] = {"poise": {"rest": rest, "limit": limit, "order": "ZXY"}, "other": 1}
    rig = gltf.read(saved(tmp_path / "a.glb", document, data))
    s = rig.skeleton
    assert np.allclose(s.A[1], [0, 7, 0, HALF, 0, HALF, 0])
    assert s.limits[1] == Range(-1, np.inf, (0, 0, 1))
    assert s.limits[1].source == "extras"
    assert s.euler[1] == "ZXY"
    assert np.allclose(rig.pose.q[s.q_slice("elbow")], [HALF, 0, -HALF, 0])
    assert rig.pose.translations[1].tolist() == [0, 2, 0]
    assert np.allclose(rig.pose.world.positions[2], [-3.5, 1, 0])
    assert np.allclose(rig.rest.world.positions[1], [-7, 1, 0])


def test_extras_hold_free_hinge_slide_and_coupling(tmp_path):
    def node(kind, **more):
        return {"extras": {"poise": {"kind": kind} | more}}

    nodes = [
        node("free", rest={"translation": [1, 2, 3]}) | {"translation": [4, 5, 6], "children": [1]},
        node("hinge", axis=[0, 0, 1], value=7.0) | {"children": [2]},
        node("slide", axis=[2, 0, 0]) | {"children": [3]},
        node("hinge", axis=[0, 1, 0], coupling={"node": 1, "ratio": -2, "offset": 0.5}),
        node("fixed"),
    ]
    nodes[1]["rotation"] = [0, 0, np.sin(3.5), np.cos(3.5)]
    nodes[2]["translation"] = [0.25, 0, 0]
    nodes[2]["extras"]["poise"]["rest"] = {}
    rig = gltf.read(saved(tmp_path / "a.gltf", {"asset": {"version": "2.0"}, "nodes": nodes}))
    s = rig.skeleton
    assert [Kind(k).name for k in s.kinds.tolist()] == ["FREE", "HINGE", "SLIDE", "HINGE", "FIXED"]
    assert s.A[0].tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert s.rest_q[:7].tolist() == [1, 2, 3, 1, 0, 0, 0]
    assert s.couplings[3] == Coupling(1, -2, 0.5)
    assert rig.pose.q.tolist()[:7] == [4, 5, 6, 1, 0, 0, 0]
    assert rig.pose.q[8] == 0.25
    assert rig.pose.translations is None


@pytest.mark.parametrize(
    "poise",
    [
        3, {"kind": "joint"}, {"kind": 3}, {"kind": "hinge"}, {"kind": "hinge", "axis": [0, 0, 0]}, {"axis": [1, 0, 0]},
        {"order": "XXZ"}, {"order": 3}, {"rest": 1}, {"rest": {"translation": [1, 2]}}, {"rest": {"q": 3}},
        {"rest": {"rotation": [0, 0, 0, 0]}}, {"limit": {}}, {"limit": {"range": [1]}}, {"limit": {"range": [2, 1]}},
        {"limit": {"range": [True, 2]}}, {"limit": {"range": [0, 1], "axis": [0, 0, 0]}}, {"coupling": {"node": -1}},
        {"coupling": {"node": True}}, {"value": "1"},
    ],
)  # fmt: skip
def test_malformed_extras_are_ignored_with_a_note(tmp_path, poise):
    document, data = with_arrays(arm(), arm_arrays())
    document["nodes"][1]["extras"] = {"poise": poise}
    rig = gltf.read(saved(tmp_path / "a.glb", document, data))
    assert rig.skeleton.kinds.tolist() == [Kind.BALL] * 3
    assert rig.skeleton.limits == (None,) * 3
    assert rig.notes == ("extras.poise could not be understood and was ignored: elbow",)


def test_limits_that_do_not_fit_are_ignored_with_a_note(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    document["nodes"][1]["extras"] = {"poise": {"limit": {"range": [0, 1]}}}
    document["nodes"][2]["extras"] = ["not", "an", "object"]
    rig = gltf.read(saved(tmp_path / "a.glb", document, data))
    assert rig.skeleton.limits == (None,) * 3
    assert "does not fit" in rig.notes[0]


def test_extensions(tmp_path):
    understood = ["KHR_texture_basisu", "KHR_materials_unlit", "VRMC_vrm", "VRM", "KHR_draco_mesh_compression"]
    rig = gltf.read(saved_arm(tmp_path / "a.glb", extensionsRequired=understood))
    assert rig.notes == ("meshes are compressed (KHR_draco_mesh_compression) and not read; the skeleton is",)


def test_channels_that_move_no_node_are_left_out(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    channels = document["animations"][0]["channels"]
    channels[0]["target"]["path"] = "weights"
    del channels[1]["target"]["node"]
    channels.append({"sampler": 2, "target": {"node": 2, "path": "rotation"}})
    rig = gltf.read(saved(tmp_path / "a.glb", document, data))
    assert [rig.skeleton.names[track.joint] for track in rig.clips[0].tracks] == ["hand"]
    assert "another one moves already" in rig.notes[0]


def test_channels_after_one_that_is_ignored_are_read(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    channels = document["animations"][0]["channels"]
    wanted = gltf.read(saved(tmp_path / "a.glb", document, data)).clips[0].tracks
    channels.insert(1, dict(channels[0]))
    assert len(channels) > 2
    found = gltf.read(saved(tmp_path / "b.glb", document, data)).clips[0].tracks
    assert [(track.joint, track.path) for track in found] == [(track.joint, track.path) for track in wanted]


def test_singular_bind_matrix_becomes_the_rest(tmp_path):
    arrays = arm_arrays()
    arrays[0][1] = 0
    rig = gltf.read(saved(tmp_path / "a.glb", *with_arrays(arm(), arrays)))
    assert np.allclose(rig.skins[0].bind[1], rig.rest.world.matrices[1])
    assert np.array_equal(rig.skins[0].bind[0], np.eye(4))
    assert "cannot be inverted" in rig.notes[0]


def chain_of(path, count):
    """A file with nodes in one line, the tip first."""
    nodes = [{"translation": [0, 1, 0]} for _ in range(count)]
    for i, node in enumerate(nodes[1:]):
        node["children"] = [i]
    return saved(path, {"asset": {"version": "2.0"}, "nodes": nodes})


@pytest.mark.long
def test_the_longest_chain_is_read(tmp_path):
    with no_hang():
        rig = gltf.read(chain_of(tmp_path / "a.gltf", 65_536))
    assert rig.rest.world.positions[-1].tolist() == [0, 65_536, 0]


def test_the_work_grows_with_the_length_of_a_chain_and_not_faster(tmp_path):
    assert_linear(lambda count: gltf.read(chain_of(tmp_path / "a.gltf", count)), 200)


def test_the_least_version_that_is_read(tmp_path):
    assert gltf.read(saved(tmp_path / "a.gltf", {"asset": {"version": "2.1", "minVersion": "2.0"}})).notes == ()


@pytest.mark.parametrize("scene", [1, -1, "0", 0.0, True, []])
def test_a_scene_that_does_not_exist_is_noted(tmp_path, scene):
    document = {"asset": {"version": "2.0"}, "nodes": [{}], "scenes": [{"nodes": [0]}]}
    assert gltf.read(saved(tmp_path / "a.gltf", document | {"scene": 0})).notes == ()
    rig = gltf.read(saved(tmp_path / "a.gltf", document | {"scene": scene}))
    assert rig.notes == ("the scene to show does not exist (there are 1); all nodes were read, as always",)
    assert len(rig.skeleton) == 1
