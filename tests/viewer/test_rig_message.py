"""The model and its frames say what the rig says: places, rotations, meshes; what cannot be shown is noted."""

from __future__ import annotations

import base64
import json
import struct
import warnings

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.io.gltf.container import pack_document, unpack_document
from poise.maths import rotations
from poise.model.skeleton import Kind, Skeleton
from poise.viewer import rig_message as frames
from poise.viewer.rig_message import build_rig_message, find_row_width, pack_frame_rows

REAL = (
    "glb/human_female_m2m.glb", "glb/knight_kaykit.glb", "glb/cesium_man.gltf", "glb/cryptovoxels.vrm", "glb/fox.glb",
    "glb/rigged_simple.gltf", "bvh/cmu_12_01_walk.bvh", "bvh/walk_makehuman_zup.bvh", "urdf/panda.urdf",
)  # fmt: skip


def loaded(path) -> poise.Rig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return poise.load(path)


def opened(glb):
    container = unpack_document(glb, ".glb")
    return container.json, container.binary or b""


def turned(pose, seed=0):
    """The pose with every ball joint somewhere else."""
    q, columns = pose.q.copy(), pose.skeleton.quaternion_columns
    q[columns] = rotations.normalise(np.random.default_rng(seed).normal(size=columns.shape))
    return poise.Pose(pose.skeleton, q, pose.translations, pose.scales)


def maps(model, rows):
    """World maps (n, 3, 4) as the page makes them of a frame of width 7: T(p) R(q) L."""
    linear = [np.eye(3) if j["linear"] is None else np.reshape(j["linear"], (3, 3)) for j in model.message["joints"]]
    turns = rotations.as_matrix(rows[:, 3:].astype(float)) @ np.array(linear)
    return np.concatenate([turns, rows[:, :3, None]], axis=-1)


@pytest.mark.parametrize("name", REAL)
def test_frames_with_the_model_give_the_world_in_any_pose(data, name):
    rig = loaded(data / name)
    model = build_rig_message(rig)
    json.dumps(model.message, allow_nan=False)
    for pose in (rig.rest, rig.pose, turned(rig.pose)):
        rows = pack_frame_rows(pose)
        assert rows.dtype == np.float32
        assert rows.shape == (len(rig.skeleton), find_row_width(pose)) == (len(rig.skeleton), 7)
        world = pose.world.affine
        np.testing.assert_allclose(maps(model, rows), world, atol=1e-5 * np.abs(world).max())


def bent_arm(scales):
    return Skeleton.build(
        ["a", "b", "c"], [-1, 0, 1], [Kind.BALL] * 3, offsets=[[0, 0, 0], [0, 1, 0], [0, 1, 0]], scales=scales
    )


def test_a_scale_that_shears_what_turns_needs_whole_maps():
    skeleton = bent_arm([[1, 2, 1], [1, 1, 1], [1, 1, 1]])
    pose = turned(poise.Pose(skeleton, skeleton.rest_q))
    assert find_row_width(pose) == 12
    np.testing.assert_allclose(pack_frame_rows(pose).reshape(-1, 3, 4), pose.world.affine, atol=1e-6)


@pytest.mark.parametrize(
    "scales",
    [
        [[2, 2, 2], [0.5, 0.5, 0.5], [3, 3, 3]],
        [[1, 1, 1], [1, 1, 1], [1, 2, 3]],
        [[-1, -1, -1], [1, 1, 1], [1, 1, 1]],
    ],
    ids=["uniform", "leaf", "mirrored"],
)
def test_scales_that_shear_nothing_need_no_maps(scales):
    skeleton = bent_arm(scales)
    rest = poise.Pose(skeleton, skeleton.rest_q)
    model = build_rig_message(poise.Rig(skeleton, rest))
    pose = turned(rest)
    assert find_row_width(pose) == 7
    np.testing.assert_allclose(maps(model, pack_frame_rows(pose)), pose.world.affine, atol=1e-5)


def test_no_frame_takes_a_rotation_apart(monkeypatch):
    """A decomposition per joint and frame would be slow: what scales leave of it is known beforehand."""
    skeleton = bent_arm([[1.00001, 1, 1], [0.5, 0.5, 0.5], [1, 2, 3]])
    pose = turned(poise.Pose(skeleton, skeleton.rest_q))
    first = pack_frame_rows(pose)
    monkeypatch.setattr(frames, "rotation_part", None)
    np.testing.assert_array_equal(pack_frame_rows(pose), first)


def test_scales_of_a_pose_count_only_where_they_differ():
    skeleton = bent_arm([[2, 2, 2], [1, 1, 1], [1, 1, 1]])
    own = np.array([[2.0, 2, 2], [1, 1, 1], [1, 1, 1]])
    assert find_row_width(poise.Pose(skeleton, skeleton.rest_q, scales=own)) == 7
    assert find_row_width(poise.Pose(skeleton, skeleton.rest_q, scales=own * 1.5)) == 12


def test_a_batch_is_a_frame_each():
    clip = poise.load(samples.path("humanoid.glb")).clips[0]
    rows = pack_frame_rows(clip.poses)
    assert rows.shape == (len(clip), len(clip.skeleton), 7)
    np.testing.assert_array_equal(rows[7], pack_frame_rows(clip.poses[7]))
    assert pack_frame_rows(clip.poses, 12).shape == (len(clip), len(clip.skeleton), 12)


# --- the message --------------------------------------------------------------------------------------------------


def test_the_sample_is_described():
    rig = poise.load(samples.path("humanoid.glb"))
    model = build_rig_message(rig, [(0, 0, 0), (1, 0, 0)])
    message = model.message
    assert (message["kind"], message["name"], message["format"], message["up"]) == ("model", "humanoid.glb", "glb", "y")
    assert message["places"] == [[0, 0, 0], [1, 0, 0]]
    assert message["metres_per_unit"] == 1.0
    assert 1.4 < message["size"] < 1.8
    assert message["asset"]
    assert message["skin"]
    joints = {joint["name"]: joint for joint in message["joints"]}
    assert joints["LeftUpLeg"]["role"] == "leftUpperLeg"
    assert joints["LeftUpLeg"]["parent"] == rig.skeleton.index("Hips")
    assert joints["LeftUpLeg"]["kind"] == "ball"
    assert [name for name, joint in joints.items() if not joint["shown"]] == ["Body"]
    assert not any(joint["thick"] for joint in message["joints"])


@pytest.mark.parametrize("name", ["humanoid.glb", "humanoid.bvh", "arm.urdf"])
def test_bones_end_where_the_next_joint_is(name):
    rig = poise.load(samples.path(name))
    joints = build_rig_message(rig).message["joints"]
    world = rig.rest.world
    ends = world.positions + rotations.rotate(world.rotations, np.array([joint["bone"] for joint in joints]))
    for i, joint in enumerate(joints):
        children = [k for k in rig.skeleton.children[i] if joints[k]["shown"]]
        away = [k for k in children if np.linalg.norm(world.positions[k] - world.positions[i]) > 1e-6]
        if away:
            assert min(np.linalg.norm(world.positions[k] - ends[i]) for k in away) < 1e-6, joint["name"]
        else:
            length = np.linalg.norm(joint["bone"])
            assert 0 < length < 0.1 * build_rig_message(rig).message["size"], joint["name"]


@pytest.mark.parametrize("factor", [1e-3, 0.5, 20.0])
def test_bones_grow_with_the_figure(factor):
    """Those of leaves, too, which end nowhere: a share of the bone above, or of the whole."""
    names, offsets = (
        ["root", "long", "leaf", "short", "leaf2"],
        np.array([(0, 0, 0), (2, 0, 0), (0, 3, 0), (0.2, 0, 0)]),
    )
    offsets = np.concatenate([offsets, [(0, 0, 0.05)]])

    def bones(size):
        skeleton = Skeleton.build(names, [-1, 0, 1, 0, 3], [Kind.BALL] * 5, offsets=offsets * size)
        return np.array(
            [
                joint["bone"]
                for joint in build_rig_message(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))).message[
                    "joints"
                ]
            ]
        )

    np.testing.assert_allclose(bones(factor), factor * bones(1.0), rtol=1e-9)


def test_the_longest_bone_has_a_short_end():
    """A leaf goes on for a share of the bone that leads to it, but never for a tenth of the figure."""
    skeleton = Skeleton.build("abc", [-1, 0, 1], [Kind.BALL] * 3, offsets=[(0, 0, 0), (0.1, 0, 0), (0, 3, 0)])
    joints = build_rig_message(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))).message["joints"]
    assert 0 < np.linalg.norm(joints[2]["bone"]) < 0.1 * 3


def test_toes_without_an_end_are_level():
    """On the way of the foot they would stick out of the shoe, down into the floor."""
    rig = poise.load(samples.path("humanoid.glb"))
    joints = {joint["name"]: joint for joint in build_rig_message(rig).message["joints"]}
    world = rig.rest.world["LeftToe"]
    way = rotations.rotate(world.rotations, np.array(joints["LeftToe"]["bone"]))
    assert abs(way[1]) < 1e-9
    assert way[2] > 0.02


def test_bones_follow_the_body_not_the_limbs():
    rig = poise.load(samples.path("humanoid.bvh"))
    joints = {joint["name"]: joint for joint in build_rig_message(rig).message["joints"]}
    world = rig.rest.world
    for name, then in (("Hips", "Spine"), ("Chest", "Neck"), ("LeftArm", "LeftForeArm")):
        way = world[then].positions - world[name].positions
        np.testing.assert_allclose(
            joints[name]["bone"], rotations.rotate(rotations.inverse(world[name].rotations), way)
        )


def test_a_bone_goes_straight_on_where_names_say_nothing():
    names = ["p", "q", "left", "on", "right", "l2", "o2", "r2", "twist"]
    offsets = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0.1, 0], [0, -1, 0], [0, 1, 0], [1, 0, 0], [0, -1, 0], [2, 0, 0]]
    skeleton = Skeleton.build(names, [-1, 0, 1, 1, 1, 2, 3, 4, 1], [Kind.BALL] * 9, offsets=offsets)
    joints = build_rig_message(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))).message["joints"]
    np.testing.assert_allclose(joints[1]["bone"], [1, 0.1, 0])  # not to the leaf, and not to a side
    np.testing.assert_allclose(joints[0]["bone"], [1, 0, 0])


def test_up_is_found_where_the_file_does_not_say(data):
    assert build_rig_message(loaded(data / "bvh/walk_makehuman_zup.bvh")).message["up"] == "z"
    assert build_rig_message(loaded(data / "bvh/cmu_12_01_walk.bvh")).message["up"] == "y"


def test_hinges_have_their_axis():
    joints = build_rig_message(poise.load(samples.path("arm.urdf"))).message["joints"]
    skeleton = poise.load(samples.path("arm.urdf")).skeleton
    for joint in joints:
        hinge = skeleton[joint["name"]]
        assert joint["axis"] == (None if hinge.axis is None else list(hinge.axis))


def test_a_single_joint_has_a_size_and_a_bone():
    skeleton = Skeleton.build(["only"], [-1], [Kind.BALL])
    model = build_rig_message(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q)))
    assert model.message["size"] == 1.0
    assert np.linalg.norm(model.message["joints"][0]["bone"]) > 0
    assert model.asset is None
    assert model.message["nodes"] is None
    assert model.message["format"] == "skeleton"


# --- the GLB ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in REAL if name.startswith("glb/")])
def test_everything_is_in_one_glb_and_nodes_are_the_rows(data, name):
    rig = loaded(data / name)
    model = build_rig_message(rig)
    document, binary = opened(model.asset)
    assert document["buffers"] == [{"byteLength": len(binary)}]
    assert "animations" not in document
    assert all("bufferView" in image or image["uri"].startswith("data:") for image in document.get("images", []))
    assert all(view["byteOffset"] + view["byteLength"] <= len(binary) for view in document["bufferViews"])
    nodes = model.message["nodes"]
    assert sorted(nodes) == list(range(len(document["nodes"])))
    for row, node in enumerate(nodes):
        assert document["nodes"][node].get("name", rig.skeleton.names[row])[:3] == rig.skeleton.names[row][:3]
    reached, waiting = set(), list(document["scenes"][document["scene"]]["nodes"])
    while waiting:
        node = waiting.pop()
        reached.add(node)
        waiting += document["nodes"][node].get("children", [])
    assert reached == set(nodes)


@pytest.mark.parametrize("name", ["glb/fox.glb", "glb/cesium_man.gltf", "glb/knight_kaykit.glb"])
def test_the_bytes_of_meshes_are_the_files_own(data, name):
    rig = loaded(data / name)
    document, binary = opened(build_rig_message(rig).asset)
    container = rig.skeleton.source.container
    from poise.io.gltf.container import Buffers

    buffers = Buffers(container.json["buffers"], container, rig.path.parent)
    for mesh in document["meshes"]:
        for primitive in mesh["primitives"]:
            for i in primitive["attributes"].values():
                old, new = (doc["bufferViews"][doc["accessors"][i]["bufferView"]] for doc in (container.json, document))
                start, length = new["byteOffset"], new["byteLength"]
                before = buffers[old["buffer"]][old.get("byteOffset", 0) :][:length]
                assert binary[start : start + length] == before


def test_animations_are_not_sent(data):
    path = data / "glb/knight_kaykit.glb"
    assert len(build_rig_message(loaded(path)).asset) < 0.5 * path.stat().st_size


def test_the_turn_of_an_added_root_is_left_to_the_page(tmp_path):
    skeleton = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL] * 2, up="z", metres_per_unit=0.01)
    poise.save(poise.Pose(skeleton, skeleton.rest_q), tmp_path / "bare.glb")
    container = unpack_document((tmp_path / "bare.glb").read_bytes(), ".glb")
    triangle = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
    container.json["meshes"] = [{"primitives": [{"attributes": {"POSITION": len(container.json["accessors"])}}]}]
    container.json["accessors"].append(triangle)
    container.json["nodes"][1]["mesh"] = 0
    (tmp_path / "bare.glb").write_bytes(pack_document(container))
    again = loaded(tmp_path / "bare.glb")
    model = build_rig_message(again)
    assert model.message["up"] == "z"
    document, _ = opened(model.asset)
    assert len(document["nodes"]) == len(again.skeleton) + 1
    assert not any({"rotation", "scale"} & node.keys() for node in document["nodes"])


def document_with(tmp_path, change):
    """The model of a triangle whose document was changed."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4").tobytes()
    uri = "data:application/octet-stream;base64," + base64.b64encode(points).decode()
    document = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": len(points), "uri": uri}],
        "bufferViews": [{"buffer": 0, "byteLength": len(points)}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        "images": [{"uri": "skin.png"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
        "nodes": [{"name": "root", "children": [1]}, {"name": "body", "mesh": 0}],
        "scenes": [{"nodes": [0]}],
    }
    change(document)
    (tmp_path / "rig").mkdir(exist_ok=True)
    (tmp_path / "rig" / "body.gltf").write_text(json.dumps(document))
    return build_rig_message(loaded(tmp_path / "rig" / "body.gltf"))


PNG = b"\x89PNG\r\n\x1a\n" + b"picture"


def test_keys_that_no_channel_uses_may_name_any_accessor_or_none(tmp_path):
    """Nothing reads them: what an animation's sampler says of its keys is not the page's to stumble over."""
    samplers = [{}, {"input": None, "output": 7}, {"input": -1, "output": "1"}]
    model = document_with(
        tmp_path, lambda document: document.update(animations=[{"samplers": samplers, "channels": []}])
    )
    document, _ = opened(model.asset)
    assert len(document["accessors"]) == 1


def test_a_picture_beside_the_file_is_taken_along(tmp_path):
    (tmp_path / "rig").mkdir()
    (tmp_path / "rig" / "skin.png").write_bytes(PNG)
    model = document_with(tmp_path, dict)
    assert [joint["shown"] for joint in model.message["joints"]] == [True, False]  # a node with a mesh is no bone
    document, binary = opened(model.asset)
    (image,) = document["images"]
    view = document["bufferViews"][image["bufferView"]]
    assert image["mimeType"] == "image/png"
    assert binary[view["byteOffset"] :][: view["byteLength"]] == PNG
    assert model.notes == ()


@pytest.mark.parametrize(
    "uri", ["missing.png", "../secret.png", "/etc/passwd", "link.png", "http://x.org/a.png", "a.txt"]
)
def test_a_picture_elsewhere_is_not_opened(tmp_path, uri):
    (tmp_path / "secret.png").write_bytes(PNG)
    (tmp_path / "rig").mkdir()
    (tmp_path / "rig" / "a.txt").write_text("words")
    (tmp_path / "rig" / "link.png").symlink_to(tmp_path / "secret.png")
    model = document_with(tmp_path, lambda document: document["images"][0].update(uri=uri))
    document, binary = opened(model.asset)
    assert document["images"][0]["uri"].startswith("data:image/png;base64,")
    assert b"picture" not in binary
    (note,) = model.notes
    assert "images[0] is shown white" in note


@pytest.mark.parametrize("name", ["KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression"])
def test_packed_meshes_are_noted_and_bones_shown(tmp_path, name):
    def required(document):
        document["extensionsUsed"] = document["extensionsRequired"] = [name]

    model = document_with(tmp_path, required)
    assert model.asset is None
    assert not model.message["asset"]
    assert model.message["nodes"] is None
    assert "compressed" in model.notes[0]


def test_the_draco_file_of_the_data_shows_bones(data):
    model = build_rig_message(loaded(data / "bad_inputs/gltf_draco_required.gltf"))
    assert model.asset is None
    assert "Draco" in model.notes[0]


def test_what_may_be_packed_is_shown_unpacked(tmp_path):
    def used(document):
        document["extensionsUsed"] = ["KHR_draco_mesh_compression", "KHR_lights_punctual", "KHR_materials_unlit"]
        packed = {"KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {}}}
        document["meshes"][0]["primitives"][0]["extensions"] = packed
        document["nodes"][0]["extensions"] = {"KHR_lights_punctual": {"light": 0}}

    document, _ = opened(document_with(tmp_path, used).asset)
    assert document["extensionsUsed"] == ["KHR_materials_unlit"]
    assert document["meshes"][0]["primitives"][0]["extensions"] == {}
    assert document["nodes"][0]["extensions"] == {}


def test_ktx2_textures_become_white(tmp_path):
    def basis(document):
        document["extensionsUsed"] = document["extensionsRequired"] = ["KHR_texture_basisu"]
        document["textures"] = [{"extensions": {"KHR_texture_basisu": {"source": 0}}}]

    model = document_with(tmp_path, basis)
    document, _ = opened(model.asset)
    assert "extensionsRequired" not in document
    assert document["images"][document["textures"][0]["source"]]["uri"].startswith("data:image/png")
    assert any("KTX2" in note for note in model.notes)


def test_a_mesh_that_would_not_fit_is_noted(tmp_path):
    def huge(document):
        document["accessors"][0] = {"componentType": 5126, "count": 15_000_003, "type": "VEC3"}

    model = document_with(tmp_path, huge)
    assert model.asset is None
    assert "5,000,001 triangles" in model.notes[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["nodes"][0].update(extensions=3),
        lambda d: d["textures"].append(3),
        lambda d: d["images"][0].update(bufferView=[1], uri=None),
        lambda d: d["accessors"][0].update(sparse={"indices": 3}),
        lambda d: d["meshes"][0]["primitives"][0].update(targets=[3]),
        lambda d: d.update(extensionsUsed=3),
    ],
)
def test_what_is_malformed_is_noted(tmp_path, change):
    model = document_with(tmp_path, change)
    assert model.asset is None or model.notes
    assert len(model.message["joints"]) == 2


def test_a_rig_without_meshes_has_no_glb(tmp_path):
    rig = poise.load(samples.path("humanoid.bvh"))
    poise.save(rig.rest, tmp_path / "bare.glb")
    for bare in (rig, poise.load(tmp_path / "bare.glb")):
        model = build_rig_message(bare)
        assert model.asset is None
        assert model.message["asset"] is False
        assert all(joint["shown"] for joint in model.message["joints"])


def test_the_glb_header_is_right():
    glb = build_rig_message(poise.load(samples.path("humanoid.glb"))).asset
    assert struct.unpack_from("<4sII", glb) == (b"glTF", 2, len(glb))
