"""Downloads keep what poise.save() promises, and load again as what they are."""

from __future__ import annotations

import base64
import json
import math
import warnings

import numpy as np
import pytest

import poise
from poise.errors import FileError, InputError, PoiseError, UnknownNameError, UnsupportedError
from poise.io import samples
from poise.io.gltf.container import unpack_document
from poise.maths import rotations
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.session.downloads import list_formats, save_clip, save_pose, save_sidecar


@pytest.fixture(params=["humanoid.glb", "humanoid.bvh", "arm.urdf"])
def rig(request) -> poise.Rig:
    return poise.load(samples.path(request.param))


def loaded(folder, file) -> poise.Rig:
    path = folder / file.name
    path.write_bytes(file.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return poise.load(path)


def bent(rig):
    return rig.rest.replace({"LeftForeArm": rotations.about(np.array([0.0, 1.0, 0.0]), 0.5)})


def test_every_offered_format_can_be_saved(rig):
    for name in list_formats(rig):
        file = save_pose(rig, rig.rest, name)
        assert file.data or name == "toml"
        assert file.mime
        assert file.name.startswith(rig.path.stem)


def test_the_files_own_format_comes_first():
    firsts = {name: list_formats(poise.load(samples.path(name)))[0] for name in samples.NAMES if name[:5] != "hills"}
    assert firsts == {"humanoid.glb": "glb", "humanoid.bvh": "bvh", "arm.urdf": "urdf"}


def test_what_is_no_format_is_named(rig):
    for name in ("fbx", "../x", ""):
        with pytest.raises(UnknownNameError, match="no format"):
            save_pose(rig, rig.rest, name)


def test_a_glb_keeps_its_document_and_shows_the_pose(tmp_path):
    rig = poise.load(samples.path("humanoid.glb"))
    file = save_pose(rig, bent(rig), "glb")
    assert file.name == "humanoid_posed.glb"
    old, new = unpack_document(samples.path("humanoid.glb").read_bytes(), ".glb"), unpack_document(file.data, ".glb")
    assert new.binary.startswith(old.binary)
    assert new.json["meshes"] == old.json["meshes"]
    again = loaded(tmp_path, file)
    np.testing.assert_allclose(again.pose.world.positions, bent(rig).world.positions, atol=1e-6)
    assert len(again.clips) == len(rig.clips)


def test_limits_that_were_set_are_in_the_glb(tmp_path):
    rig = poise.load(samples.path("humanoid.glb"))
    limit = poise.SwingTwist((0, 1, 0), 0.5)
    pose = poise.Pose(rig.skeleton.with_limits({"Neck": limit}), rig.rest.q)
    assert loaded(tmp_path, save_pose(rig, pose, "glb")).skeleton["Neck"].limit == limit


def test_a_bvh_keeps_its_hierarchy_and_shows_the_pose(tmp_path):
    rig = poise.load(samples.path("humanoid.bvh"))
    file = save_pose(rig, bent(rig), "bvh")
    head = samples.path("humanoid.bvh").read_bytes().partition(b"MOTION")[0]
    assert file.data.startswith(head)
    np.testing.assert_allclose(loaded(tmp_path, file).pose.world.positions, bent(rig).world.positions, atol=1e-4)


def test_a_urdf_keeps_its_bytes_and_takes_changed_limits(tmp_path):
    rig = poise.load(samples.path("arm.urdf"))
    assert save_pose(rig, rig.rest, "urdf").data == samples.path("arm.urdf").read_bytes()
    name = next(n for n, limit in zip(rig.skeleton.names, rig.skeleton.limits, strict=True) if limit)
    pose = poise.Pose(rig.skeleton.with_limits({name: poise.Range(-0.25, 0.5)}), rig.rest.q)
    assert loaded(tmp_path, save_pose(rig, pose, "urdf")).skeleton[name].limit == poise.Range(-0.25, 0.5)


def test_a_vrm_stays_one(data, tmp_path):
    rig = loaded(tmp_path, type("File", (), {"name": "a.vrm", "data": (data / "glb/cryptovoxels.vrm").read_bytes()}))
    file = save_pose(rig, rig.rest, "glb")
    assert file.name == "a_posed.vrm"
    assert loaded(tmp_path, file).humanoid == rig.humanoid


def test_joint_values_are_the_poses(rig):
    joints = json.loads(save_pose(rig, rig.rest, "json").data)["joints"]
    name, value = next(iter(joints.items()))
    np.testing.assert_allclose(rig.rest.q[rig.skeleton.q_slice(name)], value)
    header = save_pose(rig, rig.rest, "csv").data.splitlines()[0]
    assert name.encode() in header


def test_a_clip_is_appended_to_the_glb(tmp_path):
    rig = poise.load(samples.path("humanoid.glb"))
    clip = poise.Clip(rig.clips[0].times, rig.clips[0].poses, "on stairs/1")
    file = save_clip(rig, clip, "glb")
    assert file.name == "humanoid_on_stairs_1.glb"
    again = loaded(tmp_path, file)
    assert [each.name for each in again.clips] == ["walk", "on stairs/1"]
    np.testing.assert_allclose(again.clips[1].poses.world.positions, clip.poses.world.positions, atol=1e-5)


def test_a_clip_named_as_its_file_is_called_clip():
    rig = poise.load(samples.path("humanoid.bvh"))
    assert save_clip(rig, rig.clips[0], "bvh").name == "humanoid_clip.bvh"


@pytest.mark.parametrize("name", ["urdf", "toml"])
def test_clips_go_where_there_is_room_for_them(name):
    rig = poise.load(samples.path("humanoid.bvh"))
    with pytest.raises(UnsupportedError, match="holds no clip"):
        save_clip(rig, rig.clips[0], name)


def test_what_a_format_cannot_hold_is_named():
    rig = poise.load(samples.path("humanoid.glb"))
    with pytest.raises(PoiseError) as raised:
        save_clip(rig, rig.clips[0], "json")
    assert "Hips" in str(raised.value)


def test_a_buffer_that_has_gone_is_named_without_the_temporary_folder(tmp_path):
    rig = poise.load(samples.path("humanoid.glb"))
    poise.save(rig, tmp_path / "a.gltf")
    document = json.loads((tmp_path / "a.gltf").read_text())
    (tmp_path / "a.bin").write_bytes(base64.b64decode(document["buffers"][0]["uri"].partition(",")[2]))
    document["buffers"][0]["uri"] = "a.bin"
    (tmp_path / "a.gltf").write_text(json.dumps(document))
    moved = poise.load(tmp_path / "a.gltf")
    (tmp_path / "a.bin").unlink()
    with pytest.raises(FileError, match=r"^a_posed\.glb: cannot take along buffers\[0\]"):
        save_pose(moved, moved.rest, "glb")


def test_a_rig_without_a_file_is_called_rig():
    skeleton = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL] * 2, offsets=[[0, 0, 0], [0, 1, 0]])
    rig = poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))
    assert save_pose(rig, rig.rest, "glb").name == "rig_posed.glb"
    assert "urdf" not in list_formats(rig)
    with pytest.raises(UnsupportedError, match=r"^rig_posed\.urdf: "):
        save_pose(rig, rig.rest, "urdf")


# --- the sidecar --------------------------------------------------------------------------------------------------


@pytest.fixture
def figure(tmp_path) -> poise.Rig:
    """A rig with a sidecar that says something of everything."""
    (tmp_path / "figure.glb").write_bytes(samples.path("humanoid.glb").read_bytes())
    (tmp_path / "figure.ik.toml").write_text(
        samples.path("humanoid.glb").with_suffix(".ik.toml").read_text()
        + '\n[contacts."walk"]  # by hand\nleft = { heel = [[0.1, 0.5]], ball = [] }\n\n[humanoid]\nhips = "Hips"\n'
    )
    return poise.load(tmp_path / "figure.glb")


def test_the_sidecar_loads_beside_the_rig_as_it_was_edited(figure, tmp_path):
    limit = poise.EulerBox("YXZ", x=(-0.5, 0.5), soft=0.25)
    skeleton = figure.skeleton.with_limits({"Neck": limit, "LeftForeArm": None})
    file = save_sidecar(figure, skeleton, {"reach": ("Spine", "LeftHand")})
    assert file.name == "figure.ik.toml"
    (tmp_path / file.name).write_bytes(file.data)
    again = poise.load(tmp_path / "figure.glb")
    assert again.skeleton["Neck"].limit == limit
    assert not again.skeleton["LeftForeArm"].limit.bounded
    kept = again.skeleton["LeftLeg"].limit
    assert (kept.low, kept.high) == (0.0, math.radians(150))
    assert dict(again.skeleton.chains) == {"reach": ("Spine", "LeftHand")}


def test_what_the_viewer_does_not_edit_stays_in_the_sidecar(figure, tmp_path):
    file = save_sidecar(figure, figure.skeleton, None)
    (tmp_path / file.name).write_bytes(file.data)
    again = poise.load(tmp_path / "figure.glb")
    assert again.skeleton == figure.skeleton
    assert again.humanoid == {"hips": "Hips"}
    assert b'[contacts."walk"]  # by hand\nleft = { heel = [[0.1, 0.5]], ball = [] }' in file.data


def test_a_chain_that_leads_nowhere_is_refused(figure):
    with pytest.raises(InputError, match="not above"):
        save_sidecar(figure, figure.skeleton, {"x": ("LeftHand", "Spine")})
