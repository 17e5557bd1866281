"""What cannot be meant in a file is told in one sentence that names the file: a table for each reader."""

from __future__ import annotations

import copy
import io
import json
import logging
import warnings
import zipfile

import numpy as np
import pytest

import poise
from poise.cli.target_file import open_target_table
from poise.ground.contact.contact_files import load_contacts
from poise.io import samples
from poise.io.joint_value_reader import load_values
from tests.io.gltf_samples import arm, arm_arrays, glb, with_arrays

ARM = poise.load(samples.path("arm.urdf"))
BVH = samples.path("humanoid.bvh").read_text()
HIERARCHY = BVH[: BVH.index("MOTION")]
URDF = samples.path("arm.urdf").read_text()


def motion(rows, frames=2, time="0.1"):
    return f"{HIERARCHY}MOTION\nFrames: {frames}\nFrame Time: {time}\n{rows}"


def row(first="0", width=66):
    return " ".join([first] + ["0"] * (width - 1))


BVH_FILES = {
    "a row of other width": (motion(f"{row()}\n{row(width=65)}\n"), "frame 1 has 65 numbers; the channels need 66"),
    "rows that do not divide": (motion(f"{row(width=50)}\n" * 3), "frame 0 has 50 numbers"),
    "an underscore": (motion(f"{row('1_0')}\n{row()}\n"), "'1_0' is not a number"),
    "digits of Arabic": (motion(f"{row('٣')}\n{row()}\n"), "is not a number"),
    "hexadecimal": (motion(f"{row('0x1p3')}\n{row()}\n"), "'0x1p3' is not a number"),
    "an underscore in the time": (motion(f"{row()}\n", 1, "0.1_0"), "the frame time: '0.1_0' is not a number"),
    "an underscore in an offset": (BVH.replace("OFFSET ", "OFFSET 1_", 1), "is not a number"),
}
URDF_FILES = {
    "an underscore": (URDF.replace('lower="-', 'lower="-1_', 1), "is not a number"),
    "digits of Arabic": (URDF.replace('lower="-', 'lower="-٣', 1), "is not a number"),
    "an attribute twice": (URDF.replace('xyz="', 'xyz="0 0 0" xyz="', 1), "duplicate attribute"),
}


def changed(**changes):
    return glb(*with_arrays(arm(**changes), arm_arrays()))


POINTS = {
    "an underscore": ("x,y,z\n1_0,2,3\n", "target 0: three numbers expected, not ['1_0', '2', '3']"),
    "digits of Arabic": ("1,2,٣\n", "target 0: three numbers expected"),
    "a row that is longer": ("x,y,z\n1,2,3\n1,2,3,4\n", "target 1: 4 values under 3 columns"),
    "a row that is longer, without names": ("1,2,3\n1,2,3,4\n", "target 1: 4 values under 3 columns"),
    "a row that is shorter": ("x,y,z,note\n1,2,3\n", "target 0: 3 values under 4 columns"),
    "a column twice": ("x,y,z,x\n1,2,3,4\n", "two columns are called x"),
}
HEIGHTS = np.arange(6.0).reshape(2, 3)
MAPS = {
    "3-D heights": ({"heights": np.ones((2, 2, 2))}, "its shape is (2, 2, 2)"),
    "3-D heights with a range": (
        {"heights": np.ones((2, 2, 2)), "xmin": 0, "xmax": 1, "ymin": 0, "ymax": 1},
        "its shape is (2, 2, 2)",
    ),
    "1-D heights": ({"heights": np.ones(4), "xmin": 1, "xmax": 0}, "its shape is (4,)"),
    "a single height": ({"elevation": np.float64(3)}, "its shape is ()"),
    "huge heights": ({"heights": np.full((2, 2), 1e300)}, "heights must not be beyond 1e+30"),
    "huge when scaled": ({"heights": np.full((2, 2), 1e20), "height": 1e20}, "heights times 1e+20 are beyond"),
    "a huge origin": ({"heights": HEIGHTS, "origin": [1e300, 0, 0]}, "origin: must not be beyond 1e+30"),
    "tiny cells": ({"heights": HEIGHTS, "size": [1e-300, 1]}, "its cells at least 1e-30"),
    "a tiny range": ({"heights": HEIGHTS, "xmin": 0, "xmax": 1e-300, "ymin": 0, "ymax": 1}, "at least 1e-30"),
    "a huge spacing": ({"heights": HEIGHTS, "spacing": [1e300, 1]}, "spacing: must not be beyond 1e+30"),
}
CONTACTS = {
    "a key twice": ('{"left": {"heel": []}, "left": {"heel": [[0, 1]]}}', "the key 'left' occurs twice"),
    "not a number": ('{"left": {"heel": [[0, NaN]]}}', "NaN is not a number"),
    "an underscore": ('{"left": {"heel": [[0, 1_0]]}}', "not a JSON file"),
}


def reported(read, path, sentence):
    """Reading fails in one sentence that names the file, and without a warning: pytest makes those errors."""
    with pytest.raises(poise.FileError) as error:
        read(path)
    assert sentence in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("case", BVH_FILES)
def test_bvh(case, tmp_path):
    path = tmp_path / "a.bvh"
    path.write_text(BVH_FILES[case][0], encoding="utf-8")
    reported(poise.load, path, BVH_FILES[case][1])


@pytest.mark.parametrize("case", URDF_FILES)
def test_urdf(case, tmp_path):
    path = tmp_path / "a.urdf"
    path.write_text(URDF_FILES[case][0], encoding="utf-8")
    reported(poise.load, path, URDF_FILES[case][1])


@pytest.mark.parametrize("case", POINTS)
def test_targets(case, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(POINTS[case][0], encoding="utf-8")
    reported(lambda path: list(open_target_table(path, "tool", None)), path, POINTS[case][1])


@pytest.mark.parametrize("case", MAPS)
def test_height_maps(case, tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **MAPS[case][0])
    reported(poise.Terrain.heightmap, path, MAPS[case][1])


@pytest.mark.parametrize("case", CONTACTS)
def test_contacts(case, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(CONTACTS[case][0])
    reported(lambda path: load_contacts(path, "walk", ["left"], np.linspace(0, 1, 9)), path, CONTACTS[case][1])


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([("heights.npy", npy(HEIGHTS)), ("heights", npy(HEIGHTS))], "two arrays have one name"),
        ([("heights", b"no array at all")], "heights: must be numbers, not"),
        ([("heights.npy", npy(HEIGHTS)), ("size", b"12")], "size: must be 2 finite numbers"),
    ],
)
def test_archives(entries, sentence, tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries:
            archive.writestr(name, data)
    reported(poise.Terrain.heightmap, path, sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 4 3\nusemtl a\nf 1 3 2\ng b\nf 1 4 3 2\n", "faces are no triangles"),
        ("v 0 0 1_0\nv 1 0 0\nv 1 0 1\nf 1 2 3\n", "cannot be read"),
        ("v 0 0 0\nv 1 0 0\nv 1 0 1\nf 1 2 9\n", "cannot be read"),
    ],
)
def test_meshes(text, sentence, tmp_path):
    path = tmp_path / "a.obj"
    path.write_text(text)
    reported(poise.Terrain.mesh, path, sentence)


def test_an_odd_stl_file_prints_nothing(tmp_path, capsys, monkeypatch):
    for name in (None, "trimesh"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])  # as in a program that says nothing of logging
    path = tmp_path / "a.stl"
    corners = "".join(f"vertex {corner}\n" for corner in ("0 0 0", "1 0 0", "0 1 0"))
    path.write_text(f"solid a\nfacet normal 0 1_0 1\nouter loop\n{corners}endloop\nendfacet\nendsolid a\n")
    assert poise.Terrain.mesh(path).heights([0.2, 0, -0.2]) == 0.0  # normals are those of the corners
    assert capsys.readouterr() == ("", "")


# --- glTF: what stands beside the skeleton may be odd; what is saved with it is right or refused --------------------

NODES = arm()["nodes"]
ODD = {
    "a node's name": {"nodes": [NODES[0] | {"name": ["a"]}, *NODES[1:]]},
    "an animation's name": {"animations": [arm()["animations"][0] | {"name": {"a": 1}}]},
    "a skin's name": {"skins": [arm()["skins"][0] | {"name": 7}]},
    "the images": {"images": 3},
    "an image": {"images": [3]},
    "an image's uri": {"images": [{"uri": [1]}]},
    "the extras of a node": {"nodes": [NODES[0] | {"extras": [1]}, *NODES[1:]]},
    "the extras of poise": {"nodes": [NODES[0] | {"extras": {"poise": [1]}}, *NODES[1:]]},
    "a rest in the extras": {"nodes": [NODES[0] | {"extras": {"poise": {"rest": {"rotation": "a"}}}}, *NODES[1:]]},
    "the extras of the asset": {"asset": {"version": "2.0", "extras": {"poise": {"up": ["z"], "chains": [1]}}}},
}


@pytest.mark.parametrize("case", ODD)
def test_gltf(case, tmp_path):
    """Loaded, with a note where a name was replaced; saved here, elsewhere and as another container, or refused."""
    path = tmp_path / "a.glb"
    path.write_bytes(changed(**copy.deepcopy(ODD[case])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", poise.PoiseWarning)
        rig = poise.load(path)
        assert ("names that are no text were replaced" in "".join(rig.notes)) == case.endswith("name")
        wave = poise.Clip(np.array([0.0, 1.0]), rig.clips[0].at(np.array([0.5, 1.0])), "new")
        (tmp_path / "else").mkdir()
        for place in ("b.glb", "b.gltf", "else/b.glb", "else/b.gltf"):
            for thing in (rig, wave):
                try:
                    poise.save(thing, tmp_path / place)
                except poise.PoiseError as error:
                    assert "images" in str(error) or "extras" in str(error)  # noqa: PT017  (saving is right, too)
                    continue
                assert poise.load(tmp_path / place).skeleton.names == rig.skeleton.names


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"joints": {"shoulder": None}}, "'None' is not a joint value"),
        ({"poses": [], "times": None, "more": 1}, "joint values are"),
    ],
)
def test_joint_values(document, sentence, tmp_path):
    path = tmp_path / "a.json"
    whole = {name: 0.0 for name in ARM.skeleton.names if ARM.skeleton[name].kind != poise.Kind.FIXED}
    if "joints" in document:
        document = {"joints": whole | document["joints"]}
    path.write_text(json.dumps(document))
    reported(lambda path: load_values(path, ARM.skeleton), path, sentence)
