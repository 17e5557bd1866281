"""Writing glTF: buffers and images in other files, and where new bytes go."""

from __future__ import annotations

import json

import numpy as np
import pytest

from poise.errors import FileError, UnsupportedError
from poise.io.formats import gltf
from poise.model.clip import Clip
from poise.model.pose import Pose
from tests.io.gltf_samples import again, arm, arm_arrays, saved, turned, with_arrays


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
