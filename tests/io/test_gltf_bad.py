"""Broken and hostile glTF files: one FileError with file, place and reason, without a hang and without much memory."""

from __future__ import annotations

import base64
import json
import os
import struct
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from poise.errors import FileError
from poise.io.formats import gltf
from poise.io.gltf.container import read_inside
from poise.io.gltf.json_checks import BrokenError
from tests.io.gltf_samples import arm, arm_arrays, glb, saved, saved_arm, with_arrays
from tests.timeouts import assert_linear, no_hang

HUGE = 2**32 - 1
HEAD = '{"asset": {"version": "2.0"}, '


def refused(path: Path, reason: str) -> None:
    """Reading ends in a FileError that names the file and the reason, without a hang, without much memory."""
    tracemalloc.start()
    try:
        with no_hang(), pytest.raises(FileError, match=reason) as caught:
            gltf.read(path)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("glb_empty.glb", "empty"),
        ("glb_truncated_bin.glb", "says 162,852 bytes; the file has 60,000"),
        ("glb_wrong_total_length.glb", "says 10,000,000 bytes"),
        ("glb_bad_magic.glb", "not a glTF or GLB"),
        ("glb_version1.glb", "version 1 is not supported"),
        ("glb_json_is_array.glb", "is a list"),
        ("gltf_absolute_path.gltf", "was not opened"),
        ("gltf_missing_buffer_file.gltf", r"bad_inputs/not_there\.bin: No such file"),
        ("gltf_huge_accessor_count.gltf", r"accessors\[0\]: needs 8,589,934,590 bytes"),
        ("gltf_accessor_index_minus1.gltf", "-1 does not exist"),
        ("gltf_node_own_child.gltf", "own child"),
        ("gltf_zero_quaternion.gltf", "zero length"),
        ("gltf_skin_duplicate_joint.gltf", "more than once"),
    ],
)
def test_samples_that_must_be_refused(data, name, reason):
    refused(data / "bad_inputs" / name, reason)


def test_samples_that_may_load(data):
    folder = data / "bad_inputs"
    assert "compressed" in gltf.read(folder / "gltf_draco_required.gltf").notes[0]
    mirrored = gltf.read(folder / "gltf_negative_scale.gltf")
    assert mirrored.notes == ()
    assert (np.linalg.det(mirrored.rest.world.matrices[:, :3, :3]) < 0).any()


# --- containers --------------------------------------------------------------------------------------


def test_truncated_anywhere(tmp_path):
    whole = saved_arm(tmp_path / "a.glb").read_bytes()
    for length in [*range(1, 40), *range(40, len(whole), 7), len(whole) - 1]:
        (tmp_path / "b.glb").write_bytes(whole[:length])
        with pytest.raises(FileError):
            gltf.read(tmp_path / "b.glb")
        reported = whole[:8] + struct.pack("<I", length) + whole[12:length]  # the header knows
        (tmp_path / "c.glb").write_bytes(reported)
        with pytest.raises(FileError):
            gltf.read(tmp_path / "c.glb")
    text = saved_arm(tmp_path / "a.gltf").read_bytes()
    for length in range(1, len(text), 11):
        (tmp_path / "b.gltf").write_bytes(text[:length])
        with pytest.raises(FileError):
            gltf.read(tmp_path / "b.gltf")


def test_containers_that_lie(tmp_path):
    whole = saved_arm(tmp_path / "a.glb").read_bytes()
    path = tmp_path / "b.glb"
    for data, reason in (
        (whole[:12] + struct.pack("<I", HUGE) + whole[16:], "chunk 0: says 4,294,967,295 bytes"),
        (whole[:16] + b"BIN\0" + whole[20:], "must be the JSON chunk"),
        (struct.pack("<4sII", b"glTF", 2, 12) + whole[12:], "must be the JSON chunk"),
        (struct.pack("<4sII", b"glTF", 3, len(whole)) + whole[12:], "version 3"),
        (b"HIERARCHY ROOT", "looks like a BVH file"),
        (b"<robot/>", "looks like an XML"),
        (b"\0" * 50, "not "),
        ("{}".encode("utf-16"), "UTF-16"),
        (b'{"asset": {"version": "2.0"}, "x": "\xff"}', "not UTF-8"),
    ):
        path.write_bytes(data)
        refused(path, reason)


def test_wrong_suffix_and_trailing_bytes_are_noted(tmp_path):
    whole = saved_arm(tmp_path / "a.glb").read_bytes()
    (tmp_path / "b.gltf").write_bytes(whole)
    assert "is a GLB file" in gltf.read(tmp_path / "b.gltf").notes[0]
    saved_arm(tmp_path / "c.gltf").rename(tmp_path / "c.glb")
    assert "is a JSON file" in gltf.read(tmp_path / "c.glb").notes[0]
    (tmp_path / "d.glb").write_bytes(whole + b"more")
    assert "4 bytes after the end" in gltf.read(tmp_path / "d.glb").notes[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("{", "cannot be parsed"),
        ("{}", "asset.version is missing"),
        ('{"asset": {"version": 2}}', "asset.version is missing"),
        ('{"asset": []}', "asset: must be an object"),
        ('{"asset": {"version": "1.0"}}', "'1.0' is not supported"),
        ('{"asset": {"version": "2.0", "minVersion": "2.1"}}', r"needs a reader of glTF 2\.1"),
        ('{"asset": {"version": "2.0", "minVersion": "10.0"}}', r"needs a reader of glTF 10\.0"),
        ('{"asset": {"version": "2.0", "minVersion": 2}}', "minVersion must be"),
        ('{"asset": {"version": "2.0", "minVersion": "2.0.1"}}', "minVersion must be"),
        ('{"asset": {"version": "2.0"}, "x": NaN}', "NaN is not a JSON number"),
        ('{"asset": {"version": "2.0"}, "x": -Infinity}', "-Infinity"),
        (HEAD + '"x": ' + "9" * 5000 + "}", "cannot be parsed: a number has 5,000 digits"),
        ('{"asset": {"version": "2.0"}, "nodes": {}}', "nodes: must be a list"),
        ('{"asset": {"version": "2.0"}, "nodes": [3]}', r"nodes\[0\]: must be an object"),
        ('{"asset": {"version": "2.0"}, "extensionsRequired": [3]}', "list of strings"),
        ('{"asset": {"version": "2.0"}, "extensionsRequired": ["EXT_new"]}', "'EXT_new' is not understood"),
        (HEAD + '"nodes": [' + "{}," * 65_536 + "{}]}", "at most 65,536"),
        ("[" * 100_000, "nested too deeply"),
        (HEAD + '"x": ' + '{"a":' * 100_000 + "1" + "}" * 100_001, "nested too deeply"),
    ],
)
def test_json(tmp_path, text, reason):
    (tmp_path / "a.gltf").write_text(text)
    refused(tmp_path / "a.gltf", reason)


# --- nodes, skins, animations, accessors -------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([{"children": [1]}, {"children": [0]}], "cycle"),
        ([{}, {"children": [2]}, {"children": [3]}, {"children": [1]}], r"nodes\[1\]: .*cycle"),
        ([{"children": [2]}, {"children": [2]}, {}], "one parent"),
        ([{"children": [1, 1]}, {}], "twice a child"),
        ([{"children": [0]}], "own child"),
        ([{"children": [1]}], "child 1 does not exist"),
        ([{"children": [-1]}], "child -1 does not exist"),
        ([{"children": [True]}, {}], "child True does not exist"),
        ([{"children": [1.0]}, {}], "does not exist"),
        ([{"children": 1}, {}], "must be a list"),
        ([{"translation": [1, 2]}], "3 finite numbers"),
        ([{"translation": [1, 2, "3"]}], "3 finite numbers"),
        ([{"translation": [1, 2, True]}], "3 finite numbers"),
        ([{"translation": [1, 2, 10**400]}], "3 finite numbers"),
        ([{"rotation": [0, 0, 0, 0]}], r"nodes\[0\]: a rotation of zero length"),
        ([{"scale": None}], "3 finite numbers"),
        ([{"matrix": [1] * 15}], "16 finite numbers"),
        ([{"matrix": [1] * 16}], "not affine"),
        ([{"scale": [1e200] * 3, "children": [1]}, {"scale": [1e200] * 3}], "too large"),
    ],
)
def test_nodes(tmp_path, nodes, reason):
    refused(saved(tmp_path / "a.gltf", {"asset": {"version": "2.0"}, "nodes": nodes}), reason)


def test_number_too_large_for_a_double(tmp_path):
    (tmp_path / "a.gltf").write_text('{"asset": {"version": "2.0"}, "nodes": [{"translation": [0, 0, 1e999]}]}')
    refused(tmp_path / "a.gltf", "3 finite numbers")


def put(*path):
    """Return a change of the arm's document: the last of `path` is put at the keys before it."""

    def change(document: dict) -> None:
        place = document
        for key in path[:-2]:
            place = place[key]
        place[path[-2]] = path[-1]

    return change


SAMPLER, CHANNEL = ("animations", 0, "samplers", 0), ("animations", 0, "channels", 0)
CHANGES = [
    (put("skins", 0, "joints", [0, 3]), "joint 3 does not exist"),
    (put("skins", 0, "joints", [-1]), "joint -1 does not exist"),
    (put("skins", 0, "joints", [False]), "joint False does not exist"),
    (put("skins", 0, "joints", []), "at least one"),
    (put("skins", 0, "inverseBindMatrices", -1), "accessor -1"),
    (put("skins", 0, "inverseBindMatrices", 1), "needs 3 bind matrices"),
    (put(*SAMPLER, "input", 99), "accessor 99"),
    (put(*SAMPLER, "output", -1), "accessor -1"),
    (put(*SAMPLER, "output", 1), "accessors.1. has 2 of 1"),
    (put(*SAMPLER, "input", 2), "single numbers"),
    (put(*SAMPLER, "interpolation", "BEZIER"), "LINEAR, STEP or CUBICSPLINE"),
    (put(*SAMPLER, "interpolation", "CUBICSPLINE"), "need 6 values"),
    (put(*CHANNEL, "sampler", 3), "sampler 3"),
    (put(*CHANNEL, "target", "node", -1), "node -1"),
    (put(*CHANNEL, "target", 3), "must be an object"),
    (put("accessors", 1, "count", HUGE), "needs 17,179,869,180 bytes"),
    (put("accessors", 1, "count", 2**70), "bytes"),
    (put("accessors", 1, "count", -1), "not below zero"),
    (put("accessors", 1, "count", True), "not below zero"),
    (put("accessors", 1, "count", 0), "one or more"),
    (put("accessors", 1, "byteOffset", 4), "needs 12 bytes"),
    (put("accessors", 1, "byteOffset", 2), "aligned"),
    (put("accessors", 1, "byteOffset", -4), "not below zero"),
    (put("accessors", 1, "componentType", 5124), "unknown"),
    (put("accessors", 1, "type", ["SCALAR"]), "unknown"),
    (put("accessors", 1, "bufferView", 9), "bufferView 9"),
    (put("accessors", 1, "bufferView", True), "bufferView True"),
    (put("accessors", 1, {"componentType": 5126, "count": HUGE, "type": "SCALAR"}), "need 4,294,967,295 values"),
    (put("accessors", 1, "sparse", {"count": 3}), "replaces 3 elements of 2"),
    (put("accessors", 1, "sparse", 3), "must be an object"),
    (put("accessors", 1, "sparse", {"count": 1, "indices": {"bufferView": 0, "componentType": 5126}}), "5121, 5123"),
    (put("accessors", 1, "sparse", {"count": 1, "indices": {"bufferView": 0, "componentType": 5125}}), "increase"),
    (put("bufferViews", 1, "byteStride", 2), "overlap"),
    (put("bufferViews", 1, "byteStride", HUGE - 3), "bytes"),
    (put("bufferViews", 1, "byteLength", HUGE), "its buffer has"),
    (put("bufferViews", 1, "byteOffset", -8), "not below zero"),
    (put("bufferViews", 1, "buffer", -1), "buffer -1"),
    (put("buffers", 0, "byteLength", HUGE), "says 4,294,967,295 bytes"),
    (put("buffers", 0, "byteLength", 1.5), "not below zero"),
    (put("buffers", 0, "uri", 3), "must be a string"),
    (put("buffers", 0, "uri", "data:,abc"), "bytes"),
    (put("meshes", [{"primitives": [{"attributes": {"POSITION": 77}}]}]), "accessor of 'POSITION' 77"),
    (put("meshes", [{"primitives": [{"attributes": {}, "indices": -1}]}]), "-1 does not exist"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES)
def test_lying_counts_and_indices(tmp_path, change, reason):
    document, data = with_arrays(arm(), arm_arrays())
    change(document)
    refused(saved(tmp_path / "a.glb", document, data), reason)


@pytest.mark.parametrize(
    ("which", "values", "reason"),
    [
        (1, [[1.0], [0.5]], "go back"),
        (1, [[0.0], [np.nan]], "accessors.1.: holds nan"),
        (2, [[0, 0, 0, 1], [0, np.inf, 0, 0]], "accessors.2.: holds inf"),
        (2, [[0, 0, 0, 1], [0, 0, 0, 0]], "accessors.2.: holds a rotation of zero length"),
        (4, np.zeros((6, 4)), "accessors.4.: holds a rotation of zero length"),
        (0, np.full((3, 16), -np.inf), "accessors.0.: holds -inf"),
    ],
)
def test_keys_that_are_no_numbers(tmp_path, which, values, reason):
    arrays = arm_arrays()
    arrays[which] = np.array(values)
    refused(saved(tmp_path / "a.glb", *with_arrays(arm(), arrays)), reason)


def test_overlapping_accessors_cannot_fill_the_memory(tmp_path):
    """A thousand accessors over the same megabyte: legal views, a gigabyte of numbers."""
    data = b"\0" * 1_000_000
    accessors = [{"bufferView": 0, "componentType": 5121, "count": 1_000_000, "type": "SCALAR"}]
    accessors += [{"bufferView": 0, "componentType": 5121, "count": 1_000_000, "type": "VEC4"} for _ in range(1000)]
    document = {
        "asset": {"version": "2.0"}, "nodes": [{}], "buffers": [{"byteLength": len(data)}],
        "bufferViews": [{"buffer": 0, "byteLength": len(data)}], "accessors": accessors[:1] * 1001,
        "animations": [{"channels": [], "samplers": []}],
    }  # fmt: skip
    document["skins"] = [{"joints": [0]}]
    small = {"bufferView": 0, "componentType": 5121, "count": 62_500, "type": "MAT4"}
    document["accessors"] = [small] * 1000
    document["skins"] = [{"joints": [0], "inverseBindMatrices": i} for i in range(1000)]
    refused(saved(tmp_path / "a.glb", document, data), "more numbers than the file's bytes can hold")


def test_accessors_without_bytes_cannot_fill_the_memory(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    document["accessors"][0] = {"componentType": 5126, "count": HUGE, "type": "MAT4"}
    refused(saved(tmp_path / "a.glb", document, data), "more numbers than the file's bytes can hold")


def test_compressed_animation_is_refused_with_a_sentence(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    document["extensionsRequired"] = ["EXT_meshopt_compression"]
    document["bufferViews"][4]["extensions"] = {"EXT_meshopt_compression": {"buffer": 0}}
    refused(saved(tmp_path / "a.glb", document, data), "compressed with EXT_meshopt_compression")
    document["extensionsRequired"] = []  # then the plain bytes are there as well
    assert len(gltf.read(saved(tmp_path / "a.glb", document, data)).clips) == 1


def test_a_glb_without_its_bin(tmp_path):
    document, _ = with_arrays(arm(), arm_arrays())
    (tmp_path / "a.glb").write_bytes(glb(document))
    refused(tmp_path / "a.glb", "no BIN chunk")


@pytest.mark.parametrize("uri", ["data:;base64,####", "data:application/octet-stream;base64,AAA", "data:text/plain,AA"])
def test_data_uris(tmp_path, uri):
    document, data = with_arrays(arm(), arm_arrays())
    document["buffers"][0] = {"byteLength": len(data), "uri": uri + "A" * 4 * len(data)}
    refused(saved(tmp_path / "a.gltf", document), r"buffers\[0\]")


# --- other files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.bin", "%2e%2e/secret.bin", "%2E%2E%2Fsecret.bin", "sub/../../secret.bin", "./../secret.bin",
        "..\\secret.bin", "..%5Csecret.bin", "sub\\secret.bin", "SECRET", "/etc/passwd", "%2Fetc%2Fpasswd",
        "//host/secret.bin", "\\\\host\\secret.bin", "file:///etc/passwd", "FILE:secret.bin", "http://host/a.bin",
        "file%3A///etc/passwd", "C:/secret.bin", "C:secret.bin", "link.bin", "folder_link/secret.bin", "a%00.bin",
        "secret.bin\0", "%ff.bin", "", ".", "sub", "loop.bin", "x" * 5000, "\ud800.bin",
    ],
)  # fmt: skip
def test_nothing_outside_the_folder_is_opened(tmp_path, uri):
    document, data = with_arrays(arm(), arm_arrays())
    folder = tmp_path / "asset"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(data)
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "folder_link").symlink_to(tmp_path)
    (folder / "loop.bin").symlink_to(folder / "loop.bin")
    document["buffers"][0]["uri"] = uri.replace("SECRET", str(tmp_path / "secret.bin"))
    refused(saved(folder / "a.gltf", document), r"buffers\[0\]")


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    document, _ = with_arrays(arm(), arm_arrays())
    document["buffers"][0]["uri"] = "pipe.bin"
    os.mkfifo(tmp_path / "pipe.bin")
    refused(saved(tmp_path / "a.gltf", document), "not a regular file")
    os.mkfifo(tmp_path / "b.gltf")
    refused(tmp_path / "b.gltf", "not a regular file")
    refused(tmp_path, "not a regular file|directory")
    refused(tmp_path / "none.glb", "No such file")


def test_what_became_a_pipe_after_it_was_looked_at_is_not_waited_for(tmp_path):
    """A file can be exchanged between a look at it and its reading: the reader itself does not wait, either."""
    os.mkfifo(tmp_path / "pipe.bin")
    message = []

    def read():
        try:
            read_inside(tmp_path, "pipe.bin", "buffers[0]")
        except BrokenError as error:
            message.append(str(error))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(10.0)
    assert len(message) == 1
    assert "not a regular file" in message[0]


def test_a_shorter_external_buffer(tmp_path):
    document, data = with_arrays(arm(), arm_arrays())
    document["buffers"][0]["uri"] = "arm.bin"
    (tmp_path / "arm.bin").write_bytes(data[:-1])
    refused(saved(tmp_path / "a.gltf", document), f"says {len(data)} bytes; there are {len(data) - 1}")


def test_long_and_odd_strings_stay_short_in_messages(tmp_path):
    long = "x" * 100_000
    refused(saved(tmp_path / "a.gltf", {"asset": {"version": long}}), "not supported")
    for bad in (long, [long], {"a": long}, 10**4000):
        refused(saved(tmp_path / "a.gltf", {"asset": {"version": "2.0"}, "nodes": [{"scale": bad}]}), "3 finite")
    nodes = [{"name": "\ud800"}, {"name": 7}, {"name": base64.b64encode(b"ok").decode()}]
    path = saved(tmp_path / "a.gltf", {"asset": {"version": "2.0"}, "nodes": nodes})
    assert json.loads(path.read_text())["nodes"] == nodes
    assert gltf.read(path).skeleton.names == ("?", "node_1", "b2s=")


def nodes_read(path, count):
    path.write_text(HEAD + '"nodes": [' + "{}," * (count - 1) + "{}]}")
    return len(gltf.read(path).skeleton)


def test_the_most_nodes_are_read(tmp_path):
    with no_hang():
        assert nodes_read(tmp_path / "a.gltf", 65_536) == 65_536


def test_the_work_grows_with_the_nodes_and_not_faster(tmp_path):
    assert_linear(lambda count: nodes_read(tmp_path / "a.gltf", count), 200)
